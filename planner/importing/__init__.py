"""Launches of frameworks read as plans: what a present command line or file says of a job."""

from planner.importing.imported import Imported

__all__ = ["Imported"]

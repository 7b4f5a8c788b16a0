"""Launches of frameworks read as plans: what a present command line or file says of a job."""

from planner.importing.imported import Imported, Noted
from planner.importing.reading import SOURCES, LaunchRead, read_launch

__all__ = ["SOURCES", "Imported", "LaunchRead", "Noted", "read_launch"]

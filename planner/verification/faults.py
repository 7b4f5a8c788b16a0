"""What is wrong with a certificate."""

from __future__ import annotations


class Fault(Exception):  # noqa: N818  (the finding of a check, no mistake of the program)
    """The first thing that does not hold, in one line."""

"""What can go wrong, drawn as a tree; a caller picks the level to catch.

    PlannerError               every error that planner raises on purpose
    |- InputError              the question cannot be asked (exit code 2)
    |- InfeasibleError         proved: no plan satisfies the constraints (exit code 3)
    |- TimeLimitError          the time limit ended before any plan was found (exit code 4)
    `- UnfinishedError         a study stopped before its end, and can go on (exit code 5)

The message of each is one line per mistake: what is wrong, what is allowed, the nearest valid
value. A traceback is for our own bugs only.
"""

from __future__ import annotations


class PlannerError(Exception):
    """Root of the tree; `exit_code` is what the command line returns."""

    exit_code = 1


class InputError(PlannerError):
    """Raised when a name, number or file that the user gave cannot be used."""

    exit_code = 2


class InfeasibleError(PlannerError):
    """Raised by the Python API when a plan is demanded and it is proved that none exists."""

    exit_code = 3


class TimeLimitError(PlannerError):
    """Raised when the time limit ends the search before it has found any plan."""

    exit_code = 4


class UnfinishedError(PlannerError):
    """Raised when a study stops before its end; what was solved is stored, and it can go on."""

    exit_code = 5

"""What a command returns, and what can go wrong, as a tree: a caller picks the level to catch.

    PlannerError               every error that planner raises on purpose
    |- InputError              the question cannot be asked (exit code 2)
    |- InfeasibleError         proved: no plan satisfies the constraints (exit code 3)
    |- TimeLimitError          the time limit ended before any plan was found (exit code 4)
    `- UnfinishedError         a study stopped before its end, and can go on (exit code 5)

The message of each is one line per mistake: what is wrong, what is allowed, the nearest valid
value. A traceback is for our own bugs only.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command returns; `--help`, docs/support.md and every command take them from here.

    Attributes:
        meaning: What it says, in a few words.
    """

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        """A number with what it says."""
        code = int.__new__(cls, value)
        code._value_, code.meaning = value, meaning
        return code

    OK = 0, "ok"
    CHECK_FAILED = 1, "a check failed"
    INPUT = 2, "bad input"
    INFEASIBLE = 3, "proved that no plan fits"
    TIME_LIMIT = 4, "time limit without a plan"
    UNFINISHED = 5, "stopped, and the same command goes on"
    DEFECT = 70, "a defect of planner"
    HUNG_UP = 129, "terminal closed"
    INTERRUPTED = 130, "interrupted"
    TERMINATED = 143, "terminated"

    @classmethod
    def without_plan(cls, status: str) -> ExitCode:
        """That of a search which ended so, and has no plan."""
        return cls.INFEASIBLE if status == "infeasible" else cls.TIME_LIMIT


class PlannerError(Exception):
    """Root of the tree; `exit_code` is what the command line returns."""

    exit_code = ExitCode.CHECK_FAILED


class InputError(PlannerError):
    """Raised when a name, number or file that the user gave cannot be used."""

    exit_code = ExitCode.INPUT


class InfeasibleError(PlannerError):
    """Raised where a plan, or a schedule of one, is demanded and it is proved that none exists."""

    exit_code = ExitCode.INFEASIBLE


class TimeLimitError(PlannerError):
    """Raised when the time limit ends the search before it has found any plan."""

    exit_code = ExitCode.TIME_LIMIT


class UnfinishedError(PlannerError):
    """Raised when a study stops before its end; what was solved is stored, and it can go on."""

    exit_code = ExitCode.UNFINISHED

"""What is printed, where that is asked: it is kept among the variables, and changes as they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.frameworks.reading.shell.states import Array

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

OUT = "-out"
"""The name under which it is kept."""


def silenced(shell: Shell, *, silent: bool) -> str | Array | None:
    """Stops to keep what is printed; what was kept so far."""
    return shell.variables.pop(OUT, None) if silent else None


def heard(shell: Shell, before: str | Array | None) -> None:
    """Goes on to keep what is printed."""
    if before is not None:
        shell.variables[OUT] = before

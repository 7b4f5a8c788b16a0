"""Clocks of the operations of a plan on the command line: what is asked for, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frozen_records import dataclass
from planner.base.errors import InfeasibleError, InputError
from planner.base.files import check_writable
from planner.base.messages import shown
from planner.base.units import parse_seconds
from planner.base.vocabulary import PER_OPERATION

if TYPE_CHECKING:
    from planner.plan import Plan
    from planner.question.resolved import Resolved
    from planner.results.operation_clocks import OperationClocks

Clocks = Annotated[
    str | None,
    typer.Option(
        help="per-operation: the clock of each pass of each stage and micro-batch that needs the "
        "least energy in the same time, against the best clock per stage.",
        metavar="per-operation",
    ),
]
SwitchingTime = Annotated[
    str | None,
    typer.Option(
        help="With --clocks: how long a stage stands still while its clock changes "
        "(default: 10ms, assumed).",
        metavar="TIME",
    ),
]
Frequencies = Annotated[
    Path | None,
    typer.Option(
        help="With --clocks: write the clocks as a frequency plan for Zeus (Perseus), a Python "
        "list per stage (.py).",
        metavar="FILE",
    ),
]


LIMITED = {
    "max_power": "With --clocks: what all may draw together at every moment, e.g. 40kW: the "
    "shortest step that keeps to it, with clocks and pauses, and its bound.",
    "power_boundary": "Where --max-power holds: chip, node, node_and_fabric or facility (PUE times "
    "that).",
}
"""Fields of the question that limit power at every moment, with their help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedClocks:
    """What is asked of clocks: seconds of a change, and the file; none where nothing is."""

    switching_s: float
    file: Path | None


def asked_clocks(
    clocks: str | None,
    switching_time: str | None,
    frequencies: Path | None,
    limited: Mapping[str, Any],
) -> AskedClocks | None:
    """What the flags ask for; `limited`: those of a limit on power.

    Raises:
        InputError: A value is none of those allowed, or a flag is there without the other.
    """
    named = {name.replace("_", "-"): value for name, value in limited.items()}
    given = {"switching-time": switching_time, "frequencies": frequencies, **named}
    for name, value in given.items():
        if value is not None and clocks is None:
            raise InputError(f"{name}: has no effect without --clocks {PER_OPERATION}; add it")
    if clocks is None:
        return None
    if clocks != PER_OPERATION:
        raise InputError(f"clocks: {shown(clocks)} is not {PER_OPERATION}, the only value here")
    if frequencies is not None:
        if frequencies.suffix.lower() != ".py":
            raise InputError(
                f"frequencies: {shown(str(frequencies))}: Zeus reads a frequency plan from a .py "
                "file; name one"
            )
        check_writable(frequencies)
    from planner.results.operation_clocks import SWITCHING_S  # noqa: PLC0415  (numpy)

    seconds = SWITCHING_S
    if switching_time is not None:
        seconds = parse_seconds(switching_time, "switching-time")
    if not 0 <= seconds <= 1:
        raise InputError(
            f"switching-time: {shown(switching_time)} is not from 0 s to 1 s; nearest: "
            f"{'0s' if seconds < 0 else '1s'}"
        )
    return AskedClocks(switching_s=seconds, file=frequencies)


def check_schedule(
    found: OperationClocks | None, files: Mapping[str, Path | None] | None = None
) -> None:
    """Ends a command whose plan has no schedule that keeps to the limit on power.

    Args:
        found: The clocks, where they were asked for.
        files: By flag, those that would show a schedule: only where one is asked for; None: always.

    Raises:
        InfeasibleError: There is none.
    """
    if found is None or found.under_power is None or found.under_power.found is not None:
        return
    asked = [flag for flag, path in (files or {}).items() if path is not None]
    if files is not None and not asked:
        return
    from planner.search.infeasible.numbers import rounded_up  # noqa: PLC0415  (not for --help)

    least = f"{rounded_up(found.under_power.needed_w / 1e3)}kW"
    raise InfeasibleError(
        f"{(*asked, 'max-power')[0]}: no schedule keeps to max-power; --max-power {least} has one"
    )


def clocks_found(
    resolved: Resolved, plan: Plan, asked: AskedClocks, *, quiet: bool
) -> OperationClocks:
    """The clocks of a plan's operations.

    Raises:
        InputError: It has none, or the file cannot say them.
    """
    from planner.answers.spaces.operations import clocks_of_plan  # noqa: PLC0415  (not for --help)
    from planner.cli.output import progress_bar  # noqa: PLC0415  (not for --help)

    if asked.file is not None:
        from planner.search.operations.frequencies import clock_mhz  # noqa: PLC0415

        clock_mhz(resolved.cost.chip, 1.0)
    with progress_bar(wanted=not quiet, verb="choosing") as progress:
        return clocks_of_plan(resolved, plan, asked.switching_s, progress)

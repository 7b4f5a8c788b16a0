"""Clocks per operation in a terminal: what they save, by the seconds that a change takes."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from frozen_records import dataclass
from planner.base.units import (
    plain,
    plural,
    show_joules,
    show_percent,
    show_seconds,
    show_watts,
)
from planner.cost.energy.boundaries import MEASURED
from planner.report.tables.tables import section, table
from planner.results.operation_clocks import WORTH, OperationClocks, PausedClocks, UnderPower
from planner.search.infeasible.numbers import rounded_up

_HEADER = ("a change takes", "energy", "saved", "at most", "changes")
_ROUNDING = 1e-6
_POWER = ("clocks", "step time", "at most")
_FRONT = ("step time", "per stage", "per operation", "mixed", "bound")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClocksTable:
    """A table about clocks, for a terminal or a page.

    Attributes:
        title: What it shows.
        words: Before it.
        header, rows: Its cells.
        right: Names of the columns of numbers.
    """

    title: str
    words: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...]

    @property
    def view(self) -> RenderableType:
        """In a terminal."""
        words = (Text(line) for line in self.words)
        return section(self.title, *words, table(self.header, self.rows, right=self.right))


def clocks_lines(found: OperationClocks) -> list[str]:
    """What is used, in a sentence or two."""
    chosen = found.chosen
    what = (
        f"per operation {show_joules(chosen.energy_j)}, {show_percent(chosen.saved)} less than the "
        f"best clock per stage in the same {show_seconds(found.limit_s)}, if a change of the clock "
        f"takes {show_seconds(found.switching_s)}"
    )
    if not found.worth:
        what += f": under {show_percent(WORTH)}, so they stay per stage"
    limited = found.under_power
    return [what] if limited is None else [what, _power_line(limited)]


def _power_line(limited: UnderPower) -> str:
    """The step under a limit on power at every moment, or why there is none."""
    within = f"at every moment at most {show_watts(limited.limit_w)} {MEASURED[limited.boundary]}"
    if limited.found is None:
        return (
            f"{within}: no schedule fits (proved), one pass alone beside waiting chips draws more "
            f"at every clock; --max-power {_rounded_up(limited.needed_w)} has one"
        )
    step = f"{show_seconds(limited.found.step_time_s)} a step with clocks and pauses"
    return f"{within}: {step}, {_proved(limited.found)}"


def _proved(found: PausedClocks) -> str:
    """How near the bound is."""
    if found.gap < _ROUNDING:
        return "no clocks and pauses take less (proved)"
    return (
        f"none take less than {show_seconds(found.bound_s)} (proved, {show_percent(found.gap)} "
        "below)"
    )


def _rounded_up(watts: float) -> str:
    """A limit that is no less, as a flag takes it."""
    return f"{rounded_up(watts / 1e3)}kW"


def _power_table(limited: UnderPower) -> ClocksTable:
    """The plan as it is, at one clock, and with clocks and pauses, under a limit on power."""
    found, rows = limited.found, []
    as_it_is = show_seconds(limited.as_it_is_s), show_watts(limited.as_it_is_w)
    rows.append(("as it is, without the limit", *as_it_is))
    if limited.one_clock is not None:
        clock, seconds = limited.one_clock
        rows.append((f"one clock for all, {plain(clock)}", show_seconds(seconds), ""))
    line = _power_line(limited)
    words = [f"{line[:1].upper()}{line[1:]}."]
    if found is not None:
        rows.append((
            f"a clock for each, {plural(found.pauses, 'pause')}",
            show_seconds(found.step_time_s), show_watts(found.most_w),
        ))  # fmt: skip
        rows.append(("no schedule takes less than", show_seconds(found.bound_s), ""))
        without = (
            f"{show_joules(found.energy_j)} a step; without the pauses "
            f"{show_watts(found.without_pauses_w)} at most."
        )
        words.append(without)
    return ClocksTable(
        title="Under a limit on power at every moment, simulated",
        words=tuple(words),
        header=_POWER,
        rows=tuple(rows),
        right=_POWER[1:],
    )


def clocks_tables(found: OperationClocks) -> list[ClocksTable]:
    """The comparison with the best clock per stage, the front, and a limit on power."""
    limited = [] if found.under_power is None else [_power_table(found.under_power)]
    return [_against_stages(found), _longer(found), *limited]


def _longer(found: OperationClocks) -> ClocksTable:
    """The front."""
    points = [
        (
            show_seconds(one.step_time_s),
            *(show_joules(part) for part in (one.per_stage_j, one.per_operation_j, one.mixed_j)),
            show_joules(one.bound_j),
        )
        for one in found.front
    ]
    return ClocksTable(
        title="Longer steps, changes taking no time (mixed: two clocks within an operation)",
        words=(),
        header=_FRONT,
        rows=tuple(points),
        right=_FRONT,
    )


def _against_stages(found: OperationClocks) -> ClocksTable:
    """The comparison with the best clock per stage."""
    base = found.per_stage_j
    rows = [
        (
            show_seconds(one.switching_s) if one.switching_s else "0 s",
            show_joules(one.energy_j),
            show_percent(max(one.saved, 0.0)),
            show_percent(max(1 - one.bound_j / base, 0.0)),
            f"{one.switches:,}",
        )
        for one in found.choices
    ]
    gap = (base - found.per_stage_bound_j) / base
    proved = "proved" if gap < _ROUNDING else f"proved to {show_percent(gap)}"
    stages = ", ".join(plain(clock) for clock in found.per_stage)
    words = (
        f"{plural(found.operations, 'operation')}; best clock per stage {show_joules(base)} "
        f"({stages}), {proved}. "
        "While a clock changes, the stage stands still."
    )
    return ClocksTable(
        title="Clocks per operation in the same simulated time",
        words=(words,),
        header=_HEADER,
        rows=tuple(rows),
        right=_HEADER,
    )

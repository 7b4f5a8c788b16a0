"""The answer of `planner check` as Rich tables for a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.commands import path_typed
from planner.base.units import show_bytes, show_percent, show_seconds
from planner.evidence.checked.answer import DIVERGED, INSIDE, MEMORY, Checked, CheckResult
from planner.evidence.training_logs.readers import READERS
from planner.report.tables.tables import indented, section, table

_NAMES = {
    "step_time_s": "step time",
    "tokens_per_s_per_chip": "tokens/s per chip",
    MEMORY: "memory per chip",
}


def check_view(result: CheckResult, written: Path | None = None) -> RenderableType:
    """What is inside of its interval, what is likely off, and what would tell."""
    parts: list[RenderableType] = [
        Text(_verdict(result), style="bold"),
        Text(_steps(result)),
        Text(),
        _quantities(result),
    ]
    if result.others:
        parts += [Text(), section("Plans that the log looks like", _others(result))]
    if result.suspects:
        tells = [f"{one.tells}: {one.command}" for one in result.suspects]
        parts += [Text(), section("Which part is off, if one alone is", _suspects(result))]
        parts += [Text(), section("What would tell them apart", indented(tells))]
    remarks = [*result.remarks]
    if written is not None:
        reads = f"planner calibrate --runs {path_typed(written)} reads it"
        remarks += [f"{written} has the run; {reads}"]
        remarks += [f"the row does not say all: {line}" for line in result.row_lacks]
    if remarks:
        parts += [Text(), section("Notes", indented(remarks))]
    return Group(*parts)


def _verdict(result: CheckResult) -> str:
    title = READERS[result.framework].title
    if result.status == DIVERGED:
        return f"{result.file} ({title}): the loss is no number"
    listed = [one for one in result.quantities if one.name != "tokens_per_s_per_chip"]
    outside = [_NAMES[one.name] for one in listed if not one.inside]
    if result.status == INSIDE:
        below = "".join(f", {_NAMES[one.name]} not above it" for one in listed if one.is_below)
        return f"{result.file} ({title}): inside of the interval{below}"
    return f"{result.file} ({title}): outside of the interval: {', '.join(outside)}"


def _steps(result: CheckResult) -> str:
    steps = result.steps
    rule = f"the first {steps.warm_up} of a launch warm up"
    if steps.first <= steps.warm_up:
        rule = "of so short a log the later half counts"
    if steps.counted == 1:
        return f"one line counts, of step {steps.last}; {rule}"
    return (
        f"{steps.counted} lines of steps {steps.first} to {steps.last} count; {rule}; nine tenths "
        f"lie within {show_percent(steps.spread)} of the median"
    )


def _quantities(result: CheckResult) -> RenderableType:
    header = ("", "measured", "predicted", "80 % interval", "ratio", "verdict")
    rows = [
        (
            _NAMES[one.name],
            _shown(one, one.measured),
            _shown(one, one.predicted),
            f"{_shown(one, one.low)} to {_shown(one, one.high)}",
            f"{one.ratio:.3f}",
            "not above" if one.is_below else "inside" if one.inside else "outside",
        )
        for one in result.quantities
    ]
    return table(header, rows, right=header[1:5], whole=("", "verdict"))


def _shown(one: Checked, value: float) -> str:
    if one.name == "step_time_s":
        return show_seconds(value)
    return show_bytes(value) if one.name == MEMORY else f"{value:,.0f}"


def _suspects(result: CheckResult) -> RenderableType:
    header = ("part", "likely", "of the step", "alone it would take")
    rows = [
        (
            one.part,
            show_percent(one.share),
            show_percent(min(one.elasticity, 1.0)),
            "cannot be it alone" if one.factor is None else f"{one.factor:.2f} times as long",
        )
        for one in result.suspects
    ]
    return table(header, rows, right=header[1:3], whole=(header[0], header[3]))


def _others(result: CheckResult) -> RenderableType:
    header = ("instead", "step time", "memory per chip")
    rows = [
        (one.change, show_seconds(one.step_time_s), show_bytes(one.memory_per_chip_bytes))
        for one in result.others
    ]
    return table(header, rows, right=header[1:], whole=("instead",))

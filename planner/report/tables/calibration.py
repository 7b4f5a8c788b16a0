"""The answer of `planner calibrate` as Rich tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from planner.assumptions.local_file import SITE_FACTOR
from planner.base.units import show_bytes, show_percent, show_seconds
from planner.evidence.calibration.answer import CalibrationResult, Candidate, Finding, RunRow
from planner.report.tables.tables import indented, section, table

_MOST_ROWS = 20
_CHOICES = {
    "shipped": "shipped constants",
    "benchmarks": "with the benchmarks",
    "site-factor": "with the site factor",
    "constants": "with site factor and constants",
}


def calibration_view(result: CalibrationResult) -> RenderableType:
    """Everything that `planner calibrate` prints."""
    parts: list[RenderableType] = [Text(_heading(result), style="bold"), _inputs(result), Text()]
    parts += [section("Constants", _constants(result)), Text()]
    if result.errors:
        parts += [section("Error of predicted step times", _errors(result)), Text()]
    if result.rows:
        parts += [section("Runs", _runs(result.rows)), Text()]
    if result.measurements:
        parts += [section("Measured", _measurements(result)), Text()]
    if result.candidates:
        parts += [section("Measure next", _candidates(result.candidates)), Text()]
    if result.effects:
        parts += [section("Effect on reference plans", _effects(result)), Text()]
    if result.notes:
        parts += [section("Notes", indented(result.notes)), Text()]
    if result.skipped:
        title = f"Left out: {len(result.skipped)}"
        parts += [section(title, indented(result.skipped)), Text()]
    parts.append(Text(_ending(result)))
    return Group(*parts)


def _heading(result: CalibrationResult) -> str:
    eras = f", {', '.join(result.eras)}" if result.eras else ""
    return f"Local calibration of {', '.join(result.chips)}{eras}"


def _inputs(result: CalibrationResult) -> RenderableType:
    lines = [(one.kind, one.file, f"{one.rows:,}") for one in result.inputs]
    return table(("input", "file", "measurements"), lines, right=("measurements",))


def _constants(result: CalibrationResult) -> RenderableType:
    header = ("constant", "prior", "measured", "posterior", "change", "+-", "learned", "by")
    right = ("prior", "measured", "posterior", "change", "+-", "learned")
    return table(header, [_finding(found) for found in result.findings], right=right)


def _finding(found: Finding) -> tuple[str, ...]:
    stays = found.kept and found.path != SITE_FACTOR
    return (
        found.path,
        _value(found.prior, found.unit),
        "" if found.measured is None else _value(found.measured, found.unit),
        "stays" if stays else _value(found.value, found.unit),
        "" if stays else f"{100 * found.change:+.1f} %",
        f"{100 * found.sigma:.1f} %",
        show_percent(found.learned),
        f"{found.n} {found.by}",
    )


def _value(value: float, unit: str) -> str:
    return show_seconds(value) if unit == "s" else f"{value:.4g}"


def _errors(result: CalibrationResult) -> RenderableType:
    chosen = result.choice
    lines = [
        (
            _CHOICES[one.choice] + (" (chosen)" if one.choice == chosen else ""),
            show_percent(one.in_sample),
            "-" if one.left_out is None else show_percent(one.left_out),
        )
        for one in result.errors
    ]
    header = ("mean absolute error", "of these runs", "each left out")
    return table(header, lines, right=header[1:])


def _runs(rows: tuple[RunRow, ...]) -> RenderableType:
    def error(predicted: float, row: RunRow) -> str:
        return f"{100 * (predicted / row.measured_s - 1):+.1f} %"

    lines = [
        (
            row.id,
            show_seconds(row.measured_s),
            show_seconds(row.shipped_s),
            error(row.shipped_s, row),
            show_seconds(row.local_s),
            error(row.local_s, row),
            error(row.left_out_s, row),
        )
        for row in rows[:_MOST_ROWS]
    ]
    header = ("run", "measured", "shipped", "error", "local", "error now", "left out")
    shown = table(header, lines, right=header[1:])
    if len(rows) <= _MOST_ROWS:
        return shown
    return Group(shown, Text(f"and {len(rows) - _MOST_ROWS} more; --json has all"))


def _measurements(result: CalibrationResult) -> RenderableType:
    lines = []
    for one in result.measurements:
        what = str(one["what"])
        if what == "gemm":
            shape = f"{one['m']} x {one['n']} x {one['k']} {one['dtype']}"
            lines.append((what, shape, f"{one['flop_per_s'] / 1e12:,.4g} TFLOP/s"))
        elif what == "attention":
            shape = f"{one['kernel']}, {one['heads']} heads of {one['head_dim']}, {one['seq_len']}"
            lines.append((what, shape, show_seconds(one["time_s"])))
        elif what == "copy":
            lines.append((what, "device memory", f"{one['bytes_per_s'] / 1e12:,.4g} TB/s"))
        elif what == "collective":
            shape = f"{one['collective']}, {one['ranks']} ranks, {one['size_bytes'] / 2**20:g} MiB"
            lines.append((what, shape, show_seconds(one["time_s"])))
        elif what in _OF_LAUNCHES:
            lines.append((what, str(one["launch"]), _OF_LAUNCHES[what](one)))
        else:
            clock = "" if one["clock_hz"] is None else f" at {one['clock_hz'] / 1e6:,.0f} MHz"
            lines.append((what, str(one["state"]), f"{one['power_w']:,.0f} W{clock}"))
    return table(("what", "of", "result"), lines, right=("result",))


def _trace(one: Mapping[str, Any]) -> str:
    """Where the time of a step goes."""
    names = ("gemm_s", "attention_s", "other_s", "exposed_s", "idle_s")
    return ", ".join(f"{name[:-2]} {show_seconds(one[name])}" for name in names)


def _memory(one: Mapping[str, Any]) -> str:
    """Measured and predicted peak memory."""
    sizes = (show_bytes(one["measured_bytes"]), show_bytes(one["predicted_bytes"]))
    return f"{sizes[0]}, predicted {sizes[1]}"


def _candidates(found: tuple[Candidate, ...]) -> RenderableType:
    """What would narrow the prediction of the job; sigmas as shares."""
    lines = [
        (one.name, show_percent(one.sigma_before), show_percent(one.sigma_after), one.command)
        for one in found
    ]
    header = ("measurement", "+- now", "+- then", "command")
    return table(header, lines, right=header[1:3])


def _effects(result: CalibrationResult) -> RenderableType:
    lines = [
        (
            one.plan,
            show_seconds(one.shipped_s),
            show_seconds(one.local_s),
            f"{100 * (one.local_s / one.shipped_s - 1):+.1f} %",
        )
        for one in result.effects
    ]
    header = ("plan", "shipped", "local", "change")
    return table(header, lines, right=header[1:])


_OF_LAUNCHES = {"trace": _trace, "memory": _memory}


def _ending(result: CalibrationResult) -> str:
    if not result.file:
        return "Nothing was written: the measurements moved no constant, the shipped ones hold."
    return f"Written to {result.file}; use it with --calibration {result.file}"

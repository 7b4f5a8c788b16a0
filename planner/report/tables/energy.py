"""The tables of `planner validate --what energy`: title, header and cells."""

from __future__ import annotations

from collections import Counter

from planner.base.units import show_watts
from planner.cost.energy.boundaries import WORDS
from planner.evidence.power.clocks import CapTable, ClockTable
from planner.evidence.power.energy import EnergyTables
from planner.evidence.power.power import ErrorSummary, PowerTable
from planner.report.tables.validation_tables import Table, percent

_FIGURES = ("rows", "mean %", "median %", "p90 %", "bias %")


def energy_tables(found: EnergyTables) -> list[Table]:
    """Meters, those refused, errors, clocks and power caps."""
    tables = [error_table(found), meter_table(found.power)]
    if found.power.refused:
        tables.append(refused_table(found.power))
    return [*tables, cap_rows_table(found.caps)] if found.caps is not None else tables


def _cells(errors: ErrorSummary) -> list[str]:
    shares = (errors.mean, errors.median, errors.p90, errors.bias)
    return [f"{errors.n:,}", *map(percent, shares)]


def error_table(found: EnergyTables) -> Table:
    """Errors of the phase model and of the laws of clocks and caps."""
    power = found.power
    rows = [
        ["power, phase model", *_cells(power.summary())],
        ["power, always the rated one (baseline)", *_cells(power.baseline())],
        *([f"power, {name}", *_cells(errors)] for name, errors in _bases(power)),
    ]
    if found.clocks is not None:
        rows += ([name, *_cells(errors)] for name, errors in _clock_errors(found.clocks))
    if found.caps is not None:
        rows.append(["time under a power cap", *_cells(found.caps.time)])
        rows.append(["energy under a power cap", *_cells(found.caps.energy)])
    inside = percent(power.coverage)
    title = f"Power and its laws, error in % ({inside} % of the figures in their 80 % interval)"
    return title, ("law", *_FIGURES), rows


def _bases(power: PowerTable) -> list[tuple[str, ErrorSummary]]:
    names = sorted({row.basis for row in power.rows})
    return [(f"busy share {name}", power.summary(basis=name)) for name in names]


def _clock_errors(clocks: ClockTable) -> list[tuple[str, ErrorSummary]]:
    return [
        ("power at a clock, fitted to all clocks of a plan", clocks.power),
        ("power at a locked clock, from the other clocks", clocks.left_power),
        ("time at a locked clock, from the other clocks", clocks.left_time),
        ("energy at a locked clock, from the other clocks", clocks.left_energy),
    ]


def meter_table(power: PowerTable) -> Table:
    """Every figure that a meter showed, with its prediction at the same boundary."""
    header = ("id", "boundary", "chip", "chips", "measured", "predicted", "error %",
              "80 % interval", "busy share from")  # fmt: skip
    rows = [
        [
            row.key,
            WORDS[row.boundary],
            row.chip,
            f"{row.chips:,}",
            show_watts(row.measured_w),
            show_watts(row.predicted_w),
            percent(row.error),
            f"{show_watts(row.low_w)} to {show_watts(row.high_w)}",
            row.basis,
        ]
        for row in power.rows
    ]
    return "Mean power per chip that a meter showed", header, rows


def refused_table(power: PowerTable) -> Table:
    """Figures that are not compared with, by reason."""
    counted = Counter(row.because for row in power.refused)
    rows = [[because, f"{count:,}"] for because, count in counted.most_common()]
    return "Published figures that are no measurement", ("figure is", "rows"), rows


def cap_rows_table(caps: CapTable) -> Table:
    """Time and energy under power caps over those without one."""
    header = ("chip", "cap", "time", "time, predicted", "energy", "energy, predicted")
    rows = [
        [
            row.gpu,
            show_watts(row.cap_w),
            f"{row.time_ratio:.3f}",
            f"{row.predicted_time_ratio:.3f}",
            f"{row.energy_ratio:.3f}",
            f"{row.predicted_energy_ratio:.3f}",
        ]
        for row in caps.rows
    ]
    return "Power caps, over the same job without one", header, rows

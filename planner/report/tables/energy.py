"""The tables of `planner validate --what energy`: title, header and cells."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

from planner.base.units import show_watts
from planner.cost.energy.boundaries import WORDS
from planner.evidence.power.caps import MEAN, CapTable
from planner.evidence.power.clocks import ClockTable
from planner.evidence.power.energy import EnergyTables
from planner.evidence.power.power import ErrorSummary, PowerTable, having
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
        ["power, always the limit (baseline)", *_cells(power.baseline())],
        *([f"power, {name}", *_cells(errors)] for name, errors in _kinds(power)),
    ]
    for chip, clocks in found.clocks.items():
        rows += ([f"{chip}: {name}", *_cells(errors)] for name, errors in _clock_errors(clocks))
    if found.caps is not None:
        rows += ([name, *_cells(errors)] for name, errors in _cap_errors(found.caps))
    title = f"Power and its laws, error in % ({_inside(power)})"
    return title, ("law", *_FIGURES), rows


def _inside(power: PowerTable) -> str:
    """Coverage of all figures, and of test sources where there are any."""
    whole = f"{percent(power.coverage())} % of the figures in their 80 % interval"
    if not any(row.split == "test" for row in power.rows):
        return whole
    return f"{whole}; of those of test sources {percent(power.coverage(split='test'))} %"


def _kinds(power: PowerTable) -> list[tuple[str, ErrorSummary]]:
    """Errors by what is known of the busy share, of all sources and of test sources."""
    wanted: list[tuple[str, dict[str, object]]] = [
        ("throughput known", {"known": True}),
        ("throughput known, test sources", {"known": True, "split": "test"}),
        ("throughput not known", {"known": False}),
        ("throughput not known, test sources", {"known": False, "split": "test"}),
    ]
    wanted += [(f"busy share: {name}", {"basis": name}) for name in _bases(power)]
    return [
        (words, power.summary(**which))
        for words, which in wanted
        if any(all(getattr(r, k) == v for k, v in which.items()) for r in power.rows)
    ]


def _bases(power: PowerTable) -> list[str]:
    return sorted({row.basis for row in power.rows})


def _clock_errors(clocks: ClockTable) -> list[tuple[str, ErrorSummary]]:
    return [
        ("power at a clock, fitted to all clocks of a load", clocks.power),
        ("power at a locked clock, from the other clocks", clocks.left_power),
        ("time at a locked clock, from the other clocks", clocks.left_time),
        ("energy at a locked clock, from the other clocks", clocks.left_energy),
    ]


def _cap_errors(caps: CapTable) -> list[tuple[str, ErrorSummary]]:
    found = [
        ("means over jobs: time under a power cap", caps.time(job=MEAN)),
        ("means over jobs: energy under a power cap", caps.energy(job=MEAN)),
    ]
    for gpu in sorted({row.gpu for row in caps.rows if row.job != MEAN}):
        found.append((f"{gpu}, jobs: time under a power cap", caps.time(gpu=gpu)))
        found.append((f"{gpu}, jobs: energy under a power cap", caps.energy(gpu=gpu)))
    return found


def meter_table(power: PowerTable) -> Table:
    """Every figure that a meter showed, with its prediction at the same boundary."""
    published = any(row.split for row in power.rows)
    header = ("id", *(["split"] if published else []), "boundary", "chip", "chips", "measured",
              "predicted", "error %", "80 % interval", "busy share from")  # fmt: skip
    rows = [
        [
            row.key,
            *([row.split] if published else []),
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
    """Time and energy under power caps over those without one, means over the jobs."""
    header = ("chip", "jobs", "cap", "time", "time, predicted", "energy", "energy, predicted")
    ratios = ("time_ratio", "predicted_time_ratio", "energy_ratio", "predicted_energy_ratio")
    rows = []
    for gpu, cap_w in dict.fromkeys((row.gpu, row.cap_w) for row in caps.rows):
        jobs = having(caps.rows, {"gpu": gpu, "cap_w": cap_w})
        means = (fmean(getattr(job, name) for job in jobs) for name in ratios)
        count = "mean" if jobs[0].job == MEAN else f"{len(jobs)}"
        rows.append([gpu, count, show_watts(cap_w), *(f"{mean:.3f}" for mean in means)])
    return "Power caps, over the same job without one", header, rows

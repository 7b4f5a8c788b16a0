"""Tables of goodput beside simulated runs, sites and published runs, for `planner validate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.base.units import plain, show_count, show_percent, show_seconds
from planner.report.tables.validation_tables import NONE, Table

if TYPE_CHECKING:
    from planner.evidence.goodput.published import Published
    from planner.evidence.goodput.table import GoodputTables, LeftOut, Simulated

UNKNOWN = "unknown"
_RUN = ("run", "chips", "step", "predicted step", "step off by", "effective time", "predicted",
        "off by", "if nothing failed", "what gives it", "not said", "source")  # fmt: skip
_HOURS = ("run", "tokens", "says", "if nothing failed", "that is off by", "with failures",
          "off by")  # fmt: skip


def goodput_tables(found: GoodputTables) -> list[Table]:
    """Closed form and simulation, sites and their coverage, published runs."""
    inside, of = found.coverage
    simulated = ("job", "chips", "closed form %", "simulated %", "+-", "off by %")
    sites = ("site", "counts", "failures", "chip-hours per failure", "80 %", "from the others",
             "inside", "source")  # fmt: skip
    return [
        (
            f"Goodput of {found.runs:,} simulated runs of 100 failures each, and as many failures "
            "of longer ones (+-: standard error)",
            simulated,
            [_simulated(row) for row in found.simulated],
        ),
        (
            f"Failures by site; the 80 % interval that the other sites give has {inside} of {of}",
            sites,
            [_site(row) for row in found.sites],
        ),
        ("Published runs: steps and effective time", _RUN, [_run(row) for row in found.published]),
        (
            "Published runs: chip-hours of the tokens that they say, in millions",
            _HOURS,
            [_hours(row) for row in found.published if row.chip_hours is not None],
        ),
    ]


def _simulated(row: Simulated) -> list[str]:
    return [
        row.words,
        f"{row.chips:,}",
        f"{100 * row.closed:.2f}",
        f"{100 * row.simulated:.2f}",
        f"{100 * row.error:.2f}",
        f"{100 * row.difference:+.2f}",
    ]


def _site(row: LeftOut) -> list[str]:
    predicted = row.low is not None and row.high is not None
    return [
        row.site,
        row.counts,
        f"{row.failures:,.0f}",
        plain(row.chip_hours),
        f"{plain(row.own_low)} to {plain(row.own_high)}",
        f"{plain(row.low or 0.0)} to {plain(row.high or 0.0)}" if predicted else NONE,
        NONE if row.inside is None else ("yes" if row.inside else "no"),
        row.source,
    ]


def _run(row: Published) -> list[str]:
    return [
        row.run,
        f"{row.chips:,}",
        UNKNOWN if row.step_s is None else show_seconds(row.step_s),
        NONE if row.step_predicted_s is None else show_seconds(row.step_predicted_s),
        _change(row.step_error),
        row.published or UNKNOWN,
        UNKNOWN if row.predicted is None else show_percent(row.predicted),
        NONE if row.share_error is None else f"{100 * row.share_error:+.1f} points",
        "100 %",
        closing_words(row),
        row.missing,
        row.source,
    ]


def closing_words(row: Published) -> str:
    """What would have to be so for the effective time that a run says."""
    if row.closes_the_gap is not None:
        return f"{plain(row.closes_the_gap)} chip-hours per failure"
    if row.closing_s is not None:
        return f"{show_seconds(row.closing_s)} an interruption"
    return NONE


def _hours(row: Published) -> list[str]:
    ideal, real = row.hours_errors
    return [
        row.run,
        show_count(row.tokens or 0.0),
        _millions(row.chip_hours),
        _millions(row.hours_if_nothing_failed),
        _change(ideal),
        UNKNOWN if row.hours_predicted is None else _millions(row.hours_predicted),
        _change(real),
    ]


def _millions(hours: float | None) -> str:
    return NONE if hours is None else f"{hours / 1e6:.3f}"


def _change(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:+.1f} %"

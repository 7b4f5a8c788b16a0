"""Tables of goodput beside simulated runs, sites and published runs, for `planner validate`."""

from __future__ import annotations

from planner.base.units import plain, show_percent
from planner.evidence.goodput.table import GoodputTables, LeftOut, Published, Simulated
from planner.report.tables.validation_tables import NONE, Table


def goodput_tables(found: GoodputTables) -> list[Table]:
    """Closed form and simulation, sites and their coverage, published runs."""
    inside, of = found.coverage
    simulated = ("job", "chips", "closed form %", "simulated %", "+-", "off by %")
    sites = ("site", "counts", "failures", "chip-hours per failure", "80 %", "from the others",
             "inside", "source")  # fmt: skip
    published = ("run", "chips", "effective time", "predicted", "if nothing failed",
                 "chip-hours that give it", "not said", "source")  # fmt: skip
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
        ("Published runs", published, [_published(row) for row in found.published]),
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


def _published(row: Published) -> list[str]:
    return [
        row.run,
        f"{row.chips:,}",
        row.published or "unknown",
        "unknown" if row.predicted is None else show_percent(row.predicted),
        "100 %",
        NONE if row.closes_the_gap is None else plain(row.closes_the_gap),
        row.missing,
        row.source,
    ]

"""Tables of larger runs that are predicted from smaller ones, as `planner validate` prints them."""

from __future__ import annotations

from planner.base.units import plural
from planner.evidence.validation.transfer import TransferredSource, TransferTable
from planner.report.tables.validation_tables import Table, percent


def transfer_tables(found: TransferTable) -> list[Table]:
    """Mean errors by source and over all, then by installation with the runs that were fitted."""
    header = ("source", "larger rows", "before, mean %", "after, mean %", "own factor, mean %")
    sources = [[one.source, f"{one.predicted:,}", *_means(one)] for one in found.sources]
    rows = sum(one.predicted for one in found.sources)
    sources.append([f"mean of {plural(len(found.sources), 'source')}", f"{rows:,}", *_means(found)])
    return [
        ("Larger runs, predicted from the smallest ones of their installation", header, sources),
        _installations(found),
    ]


def _means(one: TransferredSource | TransferTable) -> list[str]:
    return [percent(one.before), percent(one.after), percent(one.own_factor)]


def _installations(found: TransferTable) -> Table:
    header = ("source", "chip", "era", "fitted", "of them %", "choice", "predicted", "before %",
              "bias %", "after %", "bias after %", "own factor %")  # fmt: skip
    rows = [
        [
            one.source,
            one.chip,
            one.era,
            f"{one.fitted:,} on {one.fewest_chips:,}",
            percent(one.fitted_before.mean),
            one.choice,
            f"{one.predicted:,} up to {one.most_chips:,}",
            percent(one.before.mean),
            percent(one.before.bias),
            percent(one.after.mean),
            percent(one.after.bias),
            percent(one.own_factor.mean),
        ]
        for one in found.installations
    ]
    return "The same by installation (runs on chips)", header, rows

"""Tables of sources that are predicted without themselves, as `planner validate` prints them."""

from __future__ import annotations

from planner.evidence.left_out.sources import KindLeftOut, LeftOutTable, SourceLeftOut
from planner.report.tables.validation_tables import Table, percent


def left_out_tables(found: LeftOutTable) -> list[Table]:
    """Errors by kind of run beside what is to be reached, and by source."""
    kinds = ("kind of run", "sources", "rows", "mean", "goal", "after one scalar", "rows mean",
             "rows bias", "in interval", "test sources", "test mean")  # fmt: skip
    sources = ("source", "whole test", "rows", "mean", "bias", "after one scalar", "in the fit",
               "in interval")  # fmt: skip
    return [
        (
            "Step time of sources left out of the fit, by kind of run, error in %",
            kinds,
            [_kind_cells(row) for row in found.kinds],
        ),
        (
            "Step time of sources left out of the fit, error in %",
            sources,
            [_source_cells(row) for row in found.sources],
        ),
    ]


def _kind_cells(row: KindLeftOut) -> list[str]:
    return [row.kind, f"{row.sources}", f"{row.rows:,}", percent(row.mean), percent(row.goal),
            percent(row.after_scalar), percent(row.of_rows.mean), percent(row.of_rows.bias),
            percent(row.of_rows.coverage), f"{row.test_sources}",
            percent(row.test_mean)]  # fmt: skip


def _source_cells(row: SourceLeftOut) -> list[str]:
    errors = row.errors
    return [row.source, "yes" if row.whole_test else "no", f"{errors.rows:,}",
            percent(errors.mean), percent(errors.bias), percent(row.after_scalar),
            percent(row.in_fit), percent(errors.coverage)]  # fmt: skip

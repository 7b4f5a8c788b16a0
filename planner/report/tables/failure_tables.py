"""Tables of memory and of failed configurations, as `planner validate` prints them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.base.numerals import is_digits
from planner.base.units import plural, show_bytes
from planner.evidence.validation.failures import FailuresTable, Flagged, OfModel, OfSize
from planner.evidence.validation.memory import MemoryTable
from planner.evidence.validation.risk import Refused, RiskTable
from planner.report.tables.validation_tables import LISTED, NONE, Table, percent

_REFUSED_SHOWN = 20


def memory_tables(found: MemoryTable) -> list[Table]:
    """Errors of the peak memory by set, and every row where there are few."""
    header = ("source", "rows", "mean %", "median %", "p90 %", "bias %", "nearer mode, mean %")
    sets = []
    for row in found.sets:
        figures = (row.mean, row.median, row.p90, row.bias, row.best_mode_mean)
        sets.append([row.set_name, f"{row.rows:,}", *(f"{figure:.1f}" for figure in figures)])
    tables: list[Table] = [("Peak memory per chip, rows without a step time too", header, sets)]
    if len(found.rows) <= LISTED:
        rows = [
            [row.key, f"{row.measured_gib:.1f}", f"{row.predicted_gib:.1f}", percent(row.error)]
            for row in found.rows
        ]
        tables.append(("Peak memory per chip", ("id", "measured GiB", "GiB", "error %"), rows))
    return tables


def failure_tables(found: FailuresTable) -> list[Table]:
    """What limits of the memory flag, by margin and by model, and how many failed by memory."""
    sizes = [
        [gib_range(row), f"{row.configurations:,}",
         percent(row.share_failed)]
        for row in found.sizes
    ]  # fmt: skip
    tables = [
        (
            f"{plural(found.failed, 'configuration')} that failed and {found.succeeded:,} that "
            f"ran, flagged by a limit of the memory (AUC {found.auc:.3f})",
            ("gathered inputs", "memory margin", "limit GiB", "failed, flagged %",
             "ran, flagged %"),
            [_flagged_cells(row) for row in found.margins],
        ),
        (
            f"{_default_words(found.risk)}, by model",
            ("model", "failed", "flagged %", "ran", "wrongly flagged %"),
            [_model_cells(row) for row in _by_size(found.models)],
        ),
        ("Failed, by predicted memory", ("predicted", "configurations", "failed %"), sizes),
        *risk_tables(found.risk),
    ]  # fmt: skip
    return [table for table in tables if table[2]]


def _default_words(found: RiskTable) -> str:
    return f"The default of searches, a chance of at most {percent(found.default)} %"


def risk_tables(found: RiskTable) -> list[Table]:
    """What limits on the chance of running out of memory refuse and offer, and which runs."""
    risks = [
        [
            f"{percent(row.risk)} %",
            percent(row.refused),
            percent(row.refused_stated),
            percent(row.offered),
        ]
        for row in found.risks
    ]
    sources = [
        [
            row.source,
            f"{row.ran:,}",
            f"{row.refused:,}",
            f"{row.stated:,}",
            f"{row.refused_stated:,}",
            f"{row.failed:,}",
            f"{row.offered:,}",
        ]
        for row in found.sources
        if row.refused or row.failed
    ]
    shown = [_refused_cells(row) for row in found.refused_runs[:_REFUSED_SHOWN]]
    left = len(found.refused_runs) - len(shown)
    more = f" ({left:,} more in --json)" if left > 0 else ""
    say = sum(row.stated for row in found.sources)
    return [
        ("By chance of running out of memory, all sources",
         ("at most", "ran, refused %", f"of the {say:,} whose row says all that decides it %",
          "failed, offered %"), risks),
        (f"{_default_words(found)}, by source; without those that neither refused nor failed",
         ("source", "ran", "refused", "rows that say", "refused", "failed", "offered"), sources),
        (f"Runs that ran and the default refuses{more}",
         ("source", "model", "chips", "plan", "not in the plan", "chance %", "predicted",
          "measured"),
         shown),
    ]  # fmt: skip


def _refused_cells(row: Refused) -> list[str]:
    measured = "" if row.measured_bytes is None else show_bytes(row.measured_bytes)
    figures = (percent(row.chance), show_bytes(row.predicted_bytes), measured)
    assumed = ", ".join((*row.assumed, *row.partly))
    return [row.source, row.model, f"{row.chips:,}", row.plan, assumed, *figures]


def gib_range(row: OfSize) -> str:
    """Between which figures the predicted memory lies."""
    if row.to_gib is None:
        return f"above {row.from_gib:g} GiB"
    return f"{row.from_gib:g} to {row.to_gib:g} GiB"


def _flagged_cells(row: Flagged) -> list[str]:
    shares = (percent(row.flagged), percent(row.false_alarms))
    limit = NONE if row.limit_gib is None else f"{row.limit_gib:.1f}"
    return [row.mode, f"{row.margin:.2f}", limit, *shares]


def _model_cells(row: OfModel) -> list[str]:
    figures = (f"{row.failed:,}", percent(row.flagged), f"{row.succeeded:,}")
    return [row.model, *figures, percent(row.false_alarms)]


def _by_size(models: Sequence[OfModel]) -> list[OfModel]:
    """Those of the sweep by their parameters, others by name."""

    def key(row: OfModel) -> tuple[float, str]:
        number = row.model.removesuffix("B")
        return (float(number) if is_digits(number.replace(".", "", 1)) else math.inf, row.model)

    return sorted(models, key=key)

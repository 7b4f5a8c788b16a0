"""Pools of different chips in a terminal: what is where, and whether one alone would do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import RenderableType

from planner.base.units import show_bytes, show_change, show_percent, show_seconds
from planner.report.tables.tables import SplitTable, section
from planner.results.pool_use import PoolUse
from planner.results.result import SolveResult

_HEADER = ("pool", "chips", "stages", "layers", "memory", "of limit", "this pool alone")
_FREE = " (any mesh and layers)"


def pools_view(uses: Sequence[PoolUse]) -> list[RenderableType]:
    """What a plan does on each pool; nothing on one kind of chips."""
    if not uses:
        return []
    asked = any(use.alone is not None for use in uses)
    header = _HEADER if asked else _HEADER[:-1]
    rows = [_row(use)[: len(header)] for use in uses]
    right = ("chips", "layers", "memory", "of limit")
    together = (("chips", "stages", "layers"), ("memory", "of limit"))
    view = SplitTable(header, rows, by=("pool",), right=right, whole=header, together=together)
    return [section("Pools (memory of the fullest chip)", view)]


def _row(use: PoolUse) -> tuple[str, ...]:
    limit = use.memory_limit_bytes
    return (
        f"{use.name} ({use.chip})",
        f"{use.chips:,}",
        stage_words(use.stages),
        f"{use.layers}",
        show_bytes(use.memory_bytes),
        show_percent(use.memory_bytes / limit) if limit > 0 else "no room",
        alone_word(use),
    )


def stage_words(stages: Sequence[int]) -> str:
    """`0-6, 15`."""
    runs = []
    for _, group in groupby(enumerate(stages), key=lambda pair: pair[1] - pair[0]):
        own = [stage for _, stage in group]
        runs.append(f"{own[0]}" if len(own) == 1 else f"{own[0]}-{own[-1]}")
    return ", ".join(runs)


def alone_word(use: PoolUse) -> str:
    """The step time of the best plan on a pool alone, or why there is none."""
    if use.alone_s is not None:
        return show_seconds(use.alone_s)
    return "no plan fits" if use.alone == "infeasible" else "not found in time"


def alone_words(result: SolveResult) -> list[str]:
    """How the best plan compares with the best one on a single pool, whose other chips wait."""
    known = [(use.alone_s, use) for use in result.stages.pools if use.alone_s is not None]
    if not known or result.best is None:
        return ["On none of the pools alone is a plan known."]
    seconds, use = min(known, key=lambda pair: pair[0])
    together = result.best.step_time_s
    if seconds <= together:
        return [
            f"{use.name} alone is better: {show_seconds(seconds)} per step on its {use.chips:,} "
            f"chips{_FREE}, {show_change(1 - seconds / together)} less than with all pools."
        ]
    return [
        f"All pools together take {show_change(1 - together / seconds)} off the step time "
        f"of {use.name} alone, {show_seconds(seconds)} on its {use.chips:,} chips{_FREE}."
    ]

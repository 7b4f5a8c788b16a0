"""What each step of a funnel came across and dropped, counted part by part."""

from __future__ import annotations

from collections import Counter

import numpy as np

from planner.base.arrays import FloatArray, IntArray, distinct
from planner.results.certificate import FunnelStage
from planner.search.uneven.rows import Rows
from planner.search.uniform.space import PartialPlans


class Counted:
    """Steps of the funnel that go over rows part by part."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.lowest: dict[str, float] = {}
        self.meshes: dict[str, set[tuple[int, ...]]] = {}

    def add(self, name: str, rows: Rows, bounds: FloatArray, kept: IntArray) -> None:
        """Counts what came and what was dropped."""
        self.rows[name] += len(bounds)
        self.dropped[name] += len(bounds) - len(kept)
        dropped = np.delete(bounds, kept)
        if len(dropped):
            self.lowest[name] = min(self.lowest.get(name, np.inf), float(dropped.min()))
        self.meshes.setdefault(name, set()).update(rows.logical_meshes)

    def stages(self) -> list[FunnelStage]:
        """The steps in order."""
        return [
            FunnelStage(
                name=name,
                rows=self.rows[name],
                meshes=len(self.meshes[name]),
                dropped=self.dropped[name],
                lowest=self.lowest.get(name),
            )
            for name in self.rows
        ]


def funnel_stage(name: str, meshes: int, bounds: FloatArray, kept: IntArray) -> FunnelStage:
    """A step that keeps some of the rows that have (n,) bounds in seconds."""
    dropped = np.delete(bounds, kept)
    lowest = float(dropped.min()) if len(dropped) else None
    return FunnelStage(
        name=name, rows=len(bounds), meshes=meshes, dropped=len(dropped), lowest=lowest
    )


def mesh_count(partial_plans: PartialPlans) -> int:
    """How many combinations of tp, cp and pp there are."""
    used = np.unique(partial_plans.mesh_id)
    axes = [partial_plans.meshes.columns[name][used] for name in ("tp", "cp", "pp")]
    return len(distinct(axes)[0])

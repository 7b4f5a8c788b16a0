"""What each step of a funnel came across and dropped, counted part by part."""

from __future__ import annotations

from collections import Counter

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.results.certificate import FunnelStage
from planner.search.uniform.space import PartialPlans

LogicalMeshes = set[tuple[int, ...]]
"""Combinations of tp, cp and pp."""


class Counted:
    """Steps of a funnel that go over rows, each at once or part by part.

    Args:
        unit: Of their bounds.
    """

    def __init__(self, unit: str = "s") -> None:
        self.unit = unit
        self.rows: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.lowest: dict[str, float] = {}
        self.meshes: dict[str, LogicalMeshes] = {}

    def add(self, name: str, meshes: LogicalMeshes, bounds: FloatArray, kept: IntArray) -> None:
        """Counts what came and what was dropped.

        Args:
            name: Of the step.
            meshes: Of the rows.
            bounds: (n,) of the rows; inf where there is no plan.
            kept: Those that are left.
        """
        self.rows[name] += len(bounds)
        self.dropped[name] += len(bounds) - len(kept)
        dropped = np.delete(bounds, kept)
        if np.isfinite(dropped).any():
            self.lowest[name] = min(self.lowest.get(name, np.inf), float(dropped.min()))
        self.meshes.setdefault(name, set()).update(meshes)

    def stages(self) -> list[FunnelStage]:
        """The steps in order."""
        return [
            FunnelStage(
                name=name,
                rows=self.rows[name],
                meshes=len(self.meshes[name]),
                dropped=self.dropped[name],
                lowest=self.lowest.get(name),
                unit=self.unit,
            )
            for name in self.rows
        ]


def logical_meshes(partial_plans: PartialPlans) -> LogicalMeshes:
    """Those of partial plans."""
    used = np.unique(partial_plans.mesh_id)
    axes = [partial_plans.meshes.columns[name][used].tolist() for name in ("tp", "cp", "pp")]
    return set(zip(*axes, strict=True))

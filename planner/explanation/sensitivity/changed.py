"""Plans under models that differ in a number, with what the number does not touch kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.cost.columns import columns_of, on_other_networks
from planner.cost.context import CostModel
from planner.cost.evaluate import (
    Alike,
    Totals,
    alike_of,
    evaluate_totals,
    held_once,
    step_times,
)
from planner.cost.job import Job
from planner.network.fabric import Fabric
from planner.plan import Plan, PlanTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Plans whose columns are made once; `of` makes it.

    The models asked about have the same job shapes and differ in numbers. Where none of those
    numbers decides the network, the costs of groups are those of the first model as well; where
    none is of the job, so are the bytes that a chip holds.

    Attributes:
        plans: n plans.
        columns: Theirs under the first model, with which are costed together; None for plans with
            explicit stages.
        fabrics: The network of the first model, by chips.
        job: Of the first model.
        held: What a chip holds under it (`planner.cost.evaluate.held_once`); None as above.
    """

    plans: PlanTable
    columns: Alike | None
    fabrics: dict[int, Fabric]
    job: Job
    held: tuple[FloatArray, FloatArray] | None

    @staticmethod
    def of(model: CostModel, plans: Sequence[Plan]) -> Changed:
        """Plans under the first model."""
        table = PlanTable.from_plans(plans)
        return Changed(
            plans=table,
            columns=None if table.stages is not None else alike_of(model, columns_of(model, table)),
            fabrics={int(count): model.fabric(int(count)) for count in np.unique(table.chips)},
            job=model.job,
            held=None if table.stages is not None else held_once(model, table),
        )

    def _of(self, model: CostModel) -> Alike | None:
        """The columns under another model."""
        if self.columns is None:
            return None
        if all(model.fabric(count) == fabric for count, fabric in self.fabrics.items()):
            return self.columns
        return alike_of(model, on_other_networks(model, self.columns.columns))

    def totals(self, model: CostModel) -> Totals:
        """Time, energy and memory under another model, (n,) each."""
        held = self.held if model.job is self.job else None
        return evaluate_totals(model, self.plans, self._of(model), held)

    def time_s(self, model: CostModel) -> float:
        """Seconds of a step of the first plan under another model."""
        columns = self._of(model)
        if columns is None:
            return float(evaluate_totals(model, self.plans).step_time_s[0])
        return float(step_times(model, columns)[0])

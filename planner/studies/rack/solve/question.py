"""What the joint search is asked: a workload, chips to choose from, and budgets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.studies.rack.model.assumptions import RackAssumptions
from planner.studies.rack.model.compute import stages_of
from planner.studies.rack.model.machine import Machine
from planner.studies.rack.model.plans import RackPlans
from planner.studies.rack.model.workloads import Workload

STRATEGIES = ("dp", "zero", "tp", "pp")
"""Ways to split: the batch, the batch with shared weights (ZeRO), einsums, runs of einsums."""
OBJECTIVES = ("time", "energy", "edp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be limited.

    Attributes:
        name: The flag, without dashes in front.
        quantum: Its unit in the integer problem, in SI.
        noun: What it counts, empty where its unit says it.
    """

    name: str
    quantum: float
    noun: str = ""


BUDGETS = {
    budget.name: budget
    for budget in (
        Budget(name="total-pes", quantum=1.0, noun="PEs"),
        Budget(name="max-area", quantum=1e-12),
        Budget(name="max-power", quantum=1e-6),
        Budget(name="max-links", quantum=1.0, noun="links"),
        Budget(name="max-ports", quantum=1.0, noun="ports"),
        Budget(name="max-memory", quantum=1.0),
    )
}
"""What may be limited, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackQuestion:
    """A joint search.

    Attributes:
        workload: With a number of items in all.
        machine: Its `topologies` are those to choose from.
        assumptions: Of the cost model.
        chips: Numbers of chips to choose from.
        pes: Processing elements per chip to choose from.
        strategies: Some of `STRATEGIES`.
        micro_batches: Parts of a data rank's items that follow each other through a pipeline, or
            as many as it has items.
        budgets: Limits in SI units, by their names in `BUDGETS`.
    """

    workload: Workload
    machine: Machine
    assumptions: RackAssumptions
    chips: tuple[int, ...]
    pes: tuple[int, ...]
    strategies: tuple[str, ...]
    micro_batches: int
    budgets: Mapping[str, float]

    @property
    def batch(self) -> int:
        """Items in all."""
        assert self.workload.batch is not None, "the number of items decides the fair comparison"
        return self.workload.batch


def weight_bytes_per_chip(question: RackQuestion, plans: RackPlans) -> FloatArray:
    """(n,) bytes of weights that a chip of the fullest stage keeps: 1 / tp, with ZeRO 1 / dp of it.

    What ZeRO fetches of one layer while it computes is not counted, as in the report.
    """
    workload = question.workload
    elements = np.array([einsum.weight_elements for einsum in workload.einsums], dtype=np.float64)
    stage = stages_of(workload, plans.pp, scores_stay=question.assumptions.scores_stay)
    held = np.max(
        [((stage == s) * elements).sum(axis=1) for s in range(int(stage.max()) + 1)], axis=0
    )
    sharers = plans.tp * np.where(plans.zero, plans.dp, 1)
    return np.asarray(np.ceil(held * workload.word_bytes / sharers), dtype=np.float64)


def micro_batches_of(question: RackQuestion, dp: IntArray) -> IntArray:
    """(n,) parts of the items of a data rank, never more than it has."""
    return np.minimum(question.micro_batches, -(-question.batch // dp))

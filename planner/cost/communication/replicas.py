"""What the two copies of a model exchange under bidirectional schedules: their gradients.

Ranks d and pp - 1 - d hold the same chunks. After the reduction within data parallelism each has
its shard of the gradients of its own micro-batches, and sends it to the other; without sharding
they reduce and gather halves, which is as many bytes. A message between neighbours of the
pipeline stands for theirs.

Both update their shards: the optimizer's state is kept twice as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.communication.data_parallel import owned_parameters
from planner.cost.context import CostModel
from planner.cost.memory.parameters import trained_share
from planner.cost.terms import StateTerms, data_nets
from planner.network.collectives import GroupCosts
from planner.plan import PlanTable


def with_replicas(
    model: CostModel,
    terms: StateTerms,
    plans: PlanTable,
    nets: dict[str, GroupCosts],
    sharding: IntArray,
    parameters: tuple[FloatArray, FloatArray],
) -> StateTerms:
    """The terms of a step with the exchange of the copies among its collectives.

    Args:
        model: Job and assumptions.
        terms: Those of every stage class, (n, s).
        plans: n plans.
        nets: The groups of data parallelism and "pp".
        sharding: Codes, (n, 1) or (n, s).
        parameters: Of the stage on the chip before data-parallel sharding: dense, experts.
    """
    if not plans.schedules.any("bidirectional"):
        return terms
    twice = plans.schedules.values("bidirectional")[:, None]
    sent = nets["pp"].send_s(copied_bytes(model, nets, sharding, parameters))
    return replace(terms, collective=terms.collective + np.where(twice, sent, 0.0))


def copied_bytes(
    model: CostModel,
    nets: dict[str, GroupCosts],
    sharding: IntArray,
    parameters: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """(n, s) bytes of gradients that a chip sends to its copy: those of its shard."""
    owned = owned_parameters(data_nets(nets), sharding, *parameters)
    return model.assumptions.gradient_wire_bytes * trained_share(model.job) * owned

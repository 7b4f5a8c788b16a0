"""What one layer computes and sends in each pass, per chip: the table at a textbook's end.

    pass       FLOP            bytes of FSDP                 bytes of TP
    forward    2 T P_layer     2 P_layer (gather)            e 2 T h
    backward   4 T P_layer     2 P_layer + g P_layer         tp_backward e 2 T h

T tokens of a step on the chip, P_layer the parameters of the layer there, e the exchanges of a
pass (2 where a layer is one MLP), g bytes per gradient; bytes are those of the whole buffer that
each chip holds after a gather or before a scatter. Replicas add 2 g P_layer / shards backward:
an all-reduce is a scatter and a gather. With D, F, B, X, Y of How to Scale Your Model, part 5
(table "comms per layer"), an MLP has P_layer = 2 D F / Y and T = B / X.

The printed table gives FSDP + TP as 8 B D / X backward; its own row for TP says 4 B D, and its
appendix counts an all-gather of dOut and a reduce-scatter of dIn: 4 B D / X, where the gathered
input is kept, or 6 B D / X where it is gathered again (`Assumptions.tp_backward` 1 or 1.5).
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.columns import columns_of
from planner.cost.communication.data_parallel import Gathers, updated_bytes
from planner.cost.communication.exchanges import ACTIVATION_BYTES
from planner.cost.context import CostModel
from planner.plan import DDP, ZERO3, PlanTable


@dataclass(frozen=True, slots=True, kw_only=True)
class PassLedger:
    """One pass over one block of a dense layer, per chip and step, (n,) each.

    Attributes:
        flop: Of its matrix multiplications.
        shard_bytes: Gathered and scattered within the shards of zero3.
        data_bytes: Scattered and gathered by zero1 and zero2, all-reduced by ddp and replicas.
        tensor_bytes: Gathered and scattered within tp.
        compute_s: Seconds of the FLOP at the rate of the assumptions.
        shard_s, data_s, tensor_s: Seconds of the bytes at the rates of the groups.
    """

    flop: FloatArray
    shard_bytes: FloatArray
    data_bytes: FloatArray
    tensor_bytes: FloatArray
    compute_s: FloatArray
    shard_s: FloatArray
    data_s: FloatArray
    tensor_s: FloatArray

    @property
    def communication_s(self) -> FloatArray:
        """T_comms: the axes send at the same time."""
        longest: FloatArray = np.maximum(np.maximum(self.shard_s, self.data_s), self.tensor_s)
        return longest


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerLedger:
    """Both passes over one block of a dense layer (`Shapes.blocks` of them are a layer)."""

    forward: PassLedger
    backward: PassLedger


def layer_ledger(
    model: CostModel, plans: PlanTable, batches: IntArray | None = None
) -> LayerLedger:
    """FLOP, bytes and seconds of a block of a dense layer in each pass of a step.

    For plans with sequence parallelism where tp > 1, without recomputation, with one micro-batch.

    Args:
        model: Job, cluster, assumptions; a model without experts.
        plans: n plans.
        batches: (n,) sequences per step of each plan; default the job's.
    """
    x, a, shapes = columns_of(model, plans, batches), model.assumptions, model.shapes
    tokens = (plans.micro_batch * model.job.seq_len / plans.cp) * x.m[:, 0]
    parameters = x.local.dense_layer[:, 0] / shapes.blocks
    weights = Gathers.of(model.job).weight_bytes * parameters
    gradients = a.gradient_wire_bytes * parameters
    sharded = plans.sharding == ZERO3
    tensor = np.where(plans.tp > 1, shapes.tp_exchanges * ACTIVATION_BYTES * tokens, 0.0)
    tensor = tensor * shapes.hidden
    updated = updated_bytes(a, plans.sharding) * parameters
    shared = np.where(plans.sharding == DDP, 2 * gradients, updated + gradients)
    nets = {name: net.flat() for name, net in x.nets.items()}
    across = 2 * gradients / nets["shard"].size
    zero = np.zeros(len(plans))

    def of_pass(flop: float, shard: FloatArray, data: FloatArray, sent: FloatArray) -> PassLedger:
        data_net = np.where(sharded, nets["replica"].gather_s(data), nets["data"].gather_s(data))
        return PassLedger(
            flop=flop * tokens * parameters,
            shard_bytes=shard,
            data_bytes=data,
            tensor_bytes=sent,
            compute_s=flop * tokens * parameters / a.matmul_flop_per_s,
            shard_s=nets["shard"].gather_s(shard),
            data_s=data_net,
            tensor_s=nets["tp"].gather_s(sent),
        )

    none = np.where(sharded, weights, 0.0)
    alone = np.where(plans.data_ranks * plans.cp > 1, shared, 0.0)
    reduced = np.where(sharded, np.where(plans.dp > 1, across, 0.0), alone)
    return LayerLedger(
        forward=of_pass(2.0, none, zero, tensor),
        backward=of_pass(
            4.0, np.where(sharded, weights + gradients, 0.0), reduced, a.tp_backward * tensor
        ),
    )

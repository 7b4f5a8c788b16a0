"""The share of a device in the batch, as MaxText takes it.

MaxText e591f30 (2026-08-22) configs/types.py: `per_device_batch_size` times the devices, cut to a
whole number, are the rows of a micro-batch; times the tokens of a sequence it must be whole too
(`num_vocab_tiling`). Both in numbers of 64 bits.
"""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.plan import BoolArray, FloatArray, IntArray, Plan, PlanTable
from planner.rules.rule import Rule


def batch_share(rows: IntArray, devices: IntArray, tokens: int) -> FloatArray:
    """(n,) shares that give the rows on the devices; 0 where no number does.

    The quotient, else the nearest whole number of tokens above it, and their neighbours.
    """
    quotient = rows / devices
    whole = np.ceil(rows * tokens / devices) / tokens
    found = np.zeros(len(rows))
    for near in (quotient, whole):
        for share in (near, np.nextafter(near, np.inf), np.nextafter(near, 0)):
            gives = (share * devices).astype(np.int64) == rows
            fits = gives & ((share * tokens) % 1 == 0) & (found == 0)
            found = np.where(fits, share, found)
    return found


def _shares(model: CostModel, plans: PlanTable) -> FloatArray:
    """(n,) shares of the batch of a step in pipelines, else of a micro-batch."""
    micro = plans.dp * plans.fsdp * plans.micro_batch
    rows = np.where(plans.pp > 1, int(model.job.global_batch), micro)
    return batch_share(rows, plans.chips * model.chip.devices, int(model.job.seq_len))


def share_of(model: CostModel, plan: Plan) -> float:
    """The share of a plan; the quotient of rows and devices where no number gives it."""
    rows = model.job.global_batch if plan.pp > 1 else plan.dp * plan.fsdp * plan.micro_batch
    found = float(_shares(model, PlanTable.from_plans([plan]))[0])
    return found or float(rows / (plan.chips * model.chip.devices))


def shares_exist(model: CostModel, plans: PlanTable) -> BoolArray:
    """A share gives the batch."""
    return np.asarray(_shares(model, plans) > 0)


MAXTEXT_BATCH: tuple[Rule, ...] = (
    Rule(
        name="maxtext-share",
        field="micro_batch",
        framework="maxtext",
        version="e591f30 (2026-08-22)",
        source="MaxText configs/types.py: per_device_batch_size x max_target_length is whole",
        holds=shares_exist,
        explain=lambda c, p: (
            f"maxtext gives every device a whole number of tokens, which micro_batch "
            f"{p.micro_batch} with sequences of {c.job.seq_len} does not on {p.chips} chips; "
            f"nearest micro_batch: {p.tp * p.cp * p.pp}"
        ),
        launch=True,
    ),
)

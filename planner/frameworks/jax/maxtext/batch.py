"""The share of a device in the batch, as MaxText takes it.

MaxText e591f30 (2026-08-22) configs/types.py: `per_device_batch_size` times the devices, cut to a
whole number, are the rows of a micro-batch; times the tokens of a sequence it must be whole too
(`num_vocab_tiling`). Both in numbers of 64 bits.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray, distinct
from planner.cost.context import CostModel
from planner.frameworks.rules.rule import Rule
from planner.plan import Plan, PlanTable

_TRIED = 8


def batch_share(rows: IntArray, devices: IntArray, tokens: int) -> FloatArray:
    """(n,) shares that give the rows on the devices; 0 where none is found.

    The quotient, or a few more tokens than it gives: not every number of tokens, divided by those
    of a sequence, gives itself again.
    """
    quotient = rows / devices
    least = np.ceil(quotient * tokens)
    more = [(least + extra) / tokens for extra in range(_TRIED)]
    found = np.zeros(len(rows))
    for share in (quotient, np.nextafter(quotient, np.inf), *more, *np.nextafter(more, np.inf)):
        gives = (share * devices).astype(np.int64) == rows
        fits = gives & ((share * tokens) % 1 == 0) & (found == 0)
        found = np.where(fits, share, found)
    return found


def _shares(model: CostModel, plans: PlanTable) -> FloatArray:
    """(n,) shares of the batch of a step in pipelines, else of a micro-batch."""
    micro = plans.dp * plans.fsdp * plans.micro_batch
    rows = np.where(plans.pp > 1, int(model.job.global_batch), micro)
    devices = plans.chips * model.chip.devices
    first, which = distinct([rows, devices])
    return batch_share(rows[first], devices[first], int(model.job.seq_len))[which]


def share_of(model: CostModel, plan: Plan) -> float:
    """The share of a plan; the quotient of rows and devices where no number gives it."""
    rows = model.job.global_batch if plan.pp > 1 else plan.dp * plan.fsdp * plan.micro_batch
    found = float(_shares(model, PlanTable.from_plans([plan]))[0])
    return found or float(rows / (plan.chips * model.chip.devices))


def shares_exist(model: CostModel, plans: PlanTable) -> BoolArray:
    """A share gives the batch."""
    return np.asarray(_shares(model, plans) > 0)


def _no_share(model: CostModel, plan: Plan) -> str:
    """Which batch no share gives, and which one does, in one sentence."""
    devices, rows = plan.chips * model.chip.devices, model.job.global_batch
    if plan.pp > 1:
        what = f"a batch of {rows} sequences"
        near = f"batch: {max(round(rows / devices), 1) * devices} sequences"
    else:
        what, near = (
            f"micro_batch {plan.micro_batch}",
            f"micro_batch: {devices // (plan.dp * plan.fsdp)}",
        )
    return (
        f"maxtext gives every device a share of the batch with a whole number of tokens, which "
        f"{what} on {devices} devices has not; nearest {near}"
    )


MAXTEXT_BATCH: tuple[Rule, ...] = (
    Rule(
        name="maxtext-share",
        field="micro_batch",
        framework="maxtext",
        version="e591f30 (2026-08-22)",
        source="MaxText configs/types.py: per_device_batch_size x max_target_length is whole",
        holds=shares_exist,
        explain=_no_share,
        launch=True,
    ),
)

"""What a checkpoint of a plan costs: its bytes, and for how long it stops the job.

A checkpoint holds each trained parameter once, as the job has it, with what the optimizer keeps of
it. The store takes it in at one rate, however many ranks write.

- Written beside the work: the job stops while each rank copies what it holds of trained weights
  and optimizer (`trained_bytes`) to the memory of its host, at the chip's link there; what is on
  the host already is not copied. The rank that is fullest decides. Replicas of it wait.
- Blocking: the job stops until the store has it all.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.goodput.segments import Checkpointing
from planner.cost.job import Job
from planner.cost.memory.parameters import trained_share
from planner.cost.memory.state import optimizer_bytes


def checkpoint_bytes(job: Job) -> float:
    """Bytes of a whole checkpoint: 14 a parameter with Adam and a copy of the weights in 32 bits.

    Of an adapter job, those of its adapters.
    """
    model = job.model
    own, ends = optimizer_bytes(job)
    trained = model.total_parameters * trained_share(job)
    at_ends = model.embedding_parameters + model.head_parameters if job.trains_all else 0
    return trained * (job.framework.weight_bytes + own) + ends * at_ends


def checkpointing(
    model: CostModel,
    copied_bytes: FloatArray | float,
    store_bytes_per_s: FloatArray | float,
    *,
    beside: bool,
) -> Checkpointing:
    """Stall and write of the checkpoints of plans.

    Args:
        model: Job and chip.
        copied_bytes: (n,) what the fullest chip copies, from `planner.cost.memory.state`.
        store_bytes_per_s: (n,) what the store takes in, of all ranks together.
        beside: Whether it is written beside the work, once it is on the host.
    """
    link = model.chip.host_link_bandwidth_bytes_per_s
    write = checkpoint_bytes(model.job) / np.asarray(store_bytes_per_s, dtype=np.float64)
    if not link:  # nobody says how fast it would be copied
        return Checkpointing(stall_s=write, write_s=np.zeros_like(write))
    copy = np.asarray(copied_bytes, dtype=np.float64) / link
    if beside:
        return Checkpointing(stall_s=copy, write_s=write)
    return Checkpointing(stall_s=np.maximum(copy, write), write_s=np.zeros_like(write))

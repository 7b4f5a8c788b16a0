"""Reference of adding gradients of micro-batches up."""

from cost.reference_memory import stays_unsharded, trained_share
from planner.assumptions.assumptions import Assumptions
from planner.cost.job import Job
from planner.plan import Plan


def accumulation(a: Assumptions, job: Job, plan: Plan, sharding: str, m: float) -> float:
    """Seconds per parameter and micro-batch to add gradients up; none with one micro-batch."""
    if m <= 1:
        return 0.0
    adds_shards = sharding == "zero3" and not stays_unsharded(job, plan)
    share = a.accumulation_zero3_share if adds_shards else 1.0
    return share * trained_share(job) * a.accumulation_bytes / a.memory_bytes_per_s

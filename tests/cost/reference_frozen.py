"""Bytes of weights that a job does not train, in plain floats."""

from cost.reference_network import Net
from cost.reference_tuning import copies, passes
from planner.cost.job import Job


def frozen_bytes(job: Job) -> tuple[float, float]:
    """Bytes of a frozen weight of a layer, and of embedding and head."""
    if job.frozen_weights == "nf4":  # 4 bits, 8 for 64 weights, 32 for 256 of these scales
        return (4 + 8 / 64 + 32 / (64 * 256)) / 8, 2.0
    assert job.frozen_weights == "16-bit"
    whole = max(job.framework.weight_bytes, 2.0)
    return whole, whole


def gathered_bytes(job: Job) -> float:
    """Bytes in which zero3 gathers a weight of a layer: as it is held, at most 16 bits."""
    return min(2.0, frozen_bytes(job)[0]) if job.kind == "lora" else 2.0


def weights_s(job: Job, net: Net, count: float, times: int) -> float:
    """Seconds of gathering weights so often: also for a reference, whose copy has 16 bits.

    Gathered once for a whole step, they are there for adapters that are switched off.
    """
    own = times + (passes(job) - copies(job) if times > 1 else 0)
    seconds = own * net.gather_s(gathered_bytes(job) * count)
    return seconds + copies(job) * net.gather_s(2 * count)

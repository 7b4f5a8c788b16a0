"""Bytes of weights that a job does not train, in plain floats."""

from planner.cost.job import Job


def frozen_bytes(job: Job) -> tuple[float, float]:
    """Bytes of a frozen weight of a layer, and of embedding and head."""
    if job.frozen_weights == "nf4":  # 4 bits, 8 for 64 weights, 32 for 256 of these scales
        return (4 + 8 / 64 + 32 / (64 * 256)) / 8, 2.0
    assert job.frozen_weights == "16-bit"
    whole = max(job.framework.weight_bytes, 2.0)
    return whole, whole

"""What the files of TRL, torchtune and Axolotl say alike of examples and of preference pairs."""

from __future__ import annotations

from planner.frameworks.hugging_face.attention import attention_kernel
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch

RESULTS = "tuned"
"""The folder of what was trained."""
PACKED_KERNEL = "flash_attention_2"
"""The kernel that keeps packed examples apart (TRL trainer/sft_config.py, packing_strategy)."""


def rows_of(launch: Launch) -> int:
    """Examples of a micro-batch: a pair is two sequences of the plan."""
    return launch.plan.micro_batch // (2 if launch.cost.job.reference else 1)


def kernel(launch: Launch) -> str:
    """The kernel of attention: for packed examples one that keeps them apart."""
    if launch.cost.job.lengths and not launch.cost.job.reference:
        return PACKED_KERNEL
    return attention_kernel(launch.cost, flash_always=False)


def losses_of_pairs(launch: Launch) -> tuple[Lost, ...]:
    """What a run on pairs has otherwise than the prediction; nothing of one on texts."""
    if not launch.cost.job.reference:
        return ()
    reason = "pairs are padded to the longest of a batch; the prediction has full sequences"
    found = [Lost("seq_len", reason)]
    if launch.cost.job.reference == "precomputed":
        reason = "one more forward pass over all pairs comes before the first step"
        found.append(Lost("reference", reason))
    return tuple(found)

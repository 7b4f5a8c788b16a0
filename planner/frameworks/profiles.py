"""The memory profiles of the training frameworks that the planner knows.

Two things differ between frameworks for the same plan: the *memory profile* (bytes kept per
parameter and per token) and the *software era* (how fast its kernels and host code are; those
constants live in `hardware_db/data/calibration`). `Framework` holds the first and names the
second. Bytes per parameter were derived from the frameworks' documented data types and checked
against published peak-memory figures; what was fitted or assumed is said beside the field.
"""

from __future__ import annotations

from dataclasses import replace

from planner.assumptions.software import DATA_INSIDE, GIB, PIPELINE_INSIDE, Framework
from planner.base.errors import InputError

_MEGATRON = Framework(
    name="megatron",
    era="megatron-core",
    weight_bytes=2.0,
    gradient_bytes=4.0,
    optimizer_bytes=12.0,
    weight_gradient_buffer=2.0,
    constant_bytes=0.3 * GIB,
    vocab_multiple=128,
    memory_knowledge="profile",
    orders=(DATA_INSIDE, PIPELINE_INSIDE),
    splits=("even", "even-counted", "front"),
    schedules=("1f1b", "interleaved"),
)

# Since 2025 the loss is compiled: one published run (Llama 3 8B on H200, June 2025) leaves 5.2 B
# per logit, as a fused loss has. In the runs of 2024 only the blocks were compiled, and the loss
# kept what an eager one keeps: with 14 B the six without a pipeline are 5 % off, with 10 B 15 %.
_TORCHTITAN = Framework(
    name="torchtitan",
    era="torch-fsdp",
    weight_bytes=0.0,
    gradient_bytes=4.0,
    optimizer_bytes=12.0,
    logits_bytes=6.0,
    selective="half-matmuls",
    gathers_once_under_pp=True,
    reduces_replicas_every_micro_batch=True,
    splits=("front-counted",),
    schedules=("gpipe", "1f1b", "interleaved", "zb-v"),
    most_chunks=3,
    shardings=("ddp", "zero3"),
)

_DEEPSPEED = Framework(
    name="deepspeed",
    era="torch-fsdp",
    weight_bytes=2.0,
    gradient_bytes=2.0,
    optimizer_bytes=12.0,
    gated_saved=8.0,
    logits_bytes=14.0,
    vocab_parallel_loss=False,
    constant_bytes=1.0 * GIB,
    splits=("front",),
    schedules=("1f1b",),
)

FRAMEWORKS = {
    framework.name: framework
    for framework in (
        _MEGATRON,
        replace(  # the fork of the paper's authors, sail-sg/zero-bubble-pipeline-parallelism
            _MEGATRON,
            name="megatron-zb",
            splits=("even",),
            schedules=("1f1b", "zero-bubble"),
            memory_knowledge="unmeasured",
            derived_from="megatron",
        ),
        # DeepSeek's own framework, which is not public. Schedules: 1F1B (DeepSeek LLM,
        # arXiv:2401.02954, section 2.4), zero-bubble (DeepSeek-V2, arXiv:2405.04434, section
        # 3.1.3), DualPipe (DeepSeek-V3, arXiv:2412.19437, section 3.2). The last says: gradients
        # and master weights in 32 bits, both moments of Adam in 16 (section 3.3.3), ZeRO-1.
        # Assumed: the rest, as Megatron, after which DeepSeek LLM says that it is made.
        replace(
            _MEGATRON,
            name="hai-llm",
            optimizer_bytes=8.0,
            splits=("even", "even-counted", "front"),
            schedules=("1f1b", "zero-bubble", "dualpipe"),
            shardings=("ddp", "zero1"),
            memory_knowledge="unmeasured",
            derived_from="megatron",
        ),
        _TORCHTITAN,
        replace(  # before PyTorch 2.6 had ZBVZeroBubble
            _TORCHTITAN,
            name="torchtitan-2024",
            logits_bytes=14.0,
            schedules=("gpipe", "1f1b", "interleaved"),
            derived_from="torchtitan",
        ),
        _DEEPSPEED,
        replace(  # Liger kernels: a fused MLP, and a loss that never holds all logits
            _DEEPSPEED,
            name="deepspeed-liger",
            gated_saved=6.0,
            logits_bytes=0.0,
            derived_from="deepspeed",
        ),
        Framework(
            name="fsdp",
            era="torch-fsdp",
            weight_bytes=2.0,
            gradient_bytes=2.0,
            optimizer_bytes=4.0,
            logits_bytes=10.0,
            vocab_parallel_loss=False,
            shardings=("ddp", "zero3"),
            lacks=("pp", "ep"),
        ),
        Framework(
            name="nanotron",
            era="nanotron",
            weight_bytes=2.0,
            gradient_bytes=4.0,
            optimizer_bytes=12.0,
            gated_saved=8.0,
            logits_bytes=7.1,
            lingering_logits_bytes=3.3,
            keeps_gathered="unknown",
            gather_buffers=4.0,
            slows_without_headroom=True,
            gradient_residue=1.5,
            embedding_residue=7.3,
            optimizer_phase=6.4,
            splits=("by-cost",),
            schedules=("gpipe", "1f1b"),
            shardings=("ddp", "zero1"),
        ),
        Framework(
            name="jax",
            era="jax",
            weight_bytes=4.0,
            gradient_bytes=4.0,
            optimizer_bytes=8.0,
            logits_bytes=10.0,
            selective="half-matmuls",
            reserve_bytes=0.0,
            headroom_share=1.0,
            memory_knowledge="unmeasured",
            splits=("even",),
            orders=(),
            schedules=("gpipe", "interleaved"),
        ),
        Framework(  # How to Scale Your Model, part 5: no framework, what its exercises count
            name="textbook",
            era="jax",
            weight_bytes=2.0,
            gradient_bytes=0.0,
            optimizer_bytes=8.0,
            gated_saved=4.0,
            plain_saved=2.0,
            logits_bytes=0.0,
            gathered_layers=0.0,
            constant_bytes=0.0,
            reserve_bytes=0.0,
            usable_share=1.0,
            headroom_share=1.0,
            memory_knowledge="unmeasured",
            splits=("even", "front"),
            orders=(),
        ),
    )
}


def framework_named(name: str) -> Framework:
    """The framework of that name.

    Raises:
        InputError: The name is unknown; the message lists the known ones.
    """
    if name not in FRAMEWORKS:
        raise InputError(f"framework: {name!r} is not one of {', '.join(sorted(FRAMEWORKS))}")
    return FRAMEWORKS[name]


def default_framework(vendor: str) -> Framework:
    """`jax` on TPUs and Trainium, `megatron` elsewhere."""
    return FRAMEWORKS["jax" if vendor.lower() in {"google", "aws"} else "megatron"]

"""What Megatron-Core keeps in memory, sends and offers, and what two that are built on it do."""

from __future__ import annotations

from dataclasses import replace

from planner.assumptions.experts import ExpertSoftware
from planner.assumptions.recipes import FP8_RECIPES
from planner.assumptions.software import DATA_INSIDE, PIPELINE_INSIDE, FrameworkProfile
from planner.base.units import GIB
from planner.base.vocabulary import MODULES

MEGATRON = FrameworkProfile(
    name="megatron",
    era="megatron-core",
    weight_bytes=2.0,
    gradient_bytes=2.0,
    optimizer_bytes=12.0,
    sums_as_sent=True,
    keeps_quantized=True,
    combined_saved=0.0,
    weight_gradient_buffer=2.0,
    constant_bytes=0.3 * GIB,
    vocab_multiple=128,
    memory_knowledge="profile",
    orders=(DATA_INSIDE, PIPELINE_INSIDE),
    splits=("even", "even-counted", "front"),
    schedules=("1f1b", "interleaved"),
    takes_lists=True,
    splits_experts=True,
    recompute_modules=MODULES,
    repeats_fused=True,  # d98e8a64dd, attention.py, `_checkpointed_attention_forward`, any kernel
    recomputes_alike="the first N layers of every stage",
    fp8_recipes=FP8_RECIPES,
    optimizers=("adam", "adam-bf16", "adam-fp8", "muon"),
)

"""`combined_saved`: experts multiply their activations by the tokens' weights, so that none of
their outputs is kept (d98e8a64dd, core/transformer/moe/experts.py, `bias_act_func`, and
token_dispatcher.py, `unpermute` without weights; NVIDIA/TransformerEngine pull request 1468)."""

WIDE_GRADIENTS = replace(
    MEGATRON,
    name="megatron-fp32-grads",
    remark="gradients in 32 bits",
    gradient_bytes=4.0,
    sent_bytes=4.0,
    derived_from="megatron",
)
"""Without `--grad-reduce-in-bf16`: `validate_args` then sums and reduces in 32 bits under bf16."""

ZERO_BUBBLE_FORK = replace(
    MEGATRON,
    name="megatron-zb",
    remark="zero-bubble",
    splits=("even",),
    schedules=("1f1b", "zero-bubble"),
    memory_knowledge="unmeasured",
    derived_from="megatron",
    takes_lists=False,
    splits_experts=False,
    recompute_modules=(),
    recomputes_alike="all layers",
    optimizers=("adam",),
)
"""The fork of the paper's authors, sail-sg/zero-bubble-pipeline-parallelism."""

HAI_LLM = replace(
    MEGATRON,
    name="hai-llm",
    remark="dualpipe",
    gradient_bytes=4.0,
    optimizer_bytes=8.0,
    sums_as_sent=False,
    splits=("even", "even-counted", "front"),
    schedules=("1f1b", "zero-bubble", "dualpipe"),
    shardings=("ddp", "zero1"),
    memory_knowledge="unmeasured",
    derived_from="megatron",
    takes_lists=False,
    splits_experts=False,
    recompute_modules=(),
    recomputes_alike="all layers",
    selective="up-projections",
    experts=ExpertSoftware(dispatcher="deepep", dispatch_bytes=1 + 4 / 128, shared_beside=True),
    fp8_recipe="blockwise",  # arXiv:2412.19437, section 3.3.2
    fp8_recipes=("blockwise",),
)
"""DeepSeek's own framework, which is not public.

Schedules: 1F1B (DeepSeek LLM, arXiv:2401.02954, section 2.4), zero-bubble (DeepSeek-V2,
arXiv:2405.04434, section 3.1.3, which has shared experts beside the all-to-all, too), DualPipe
(DeepSeek-V3, arXiv:2412.19437, section 3.2). The last says: gradients and master weights in 32
bits, both moments of Adam in 16 (section 3.3.3), ZeRO-1;
tokens go to experts in 8 bits with a scale per 128 elements, by the kernels that became DeepEP
(sections 3.2.2 and 3.3.3); norms, up projections of latent attention and the activations of experts
are computed again, whose inputs are kept in 8 bits (sections 3.2.3 and 3.3.3).
Assumed: the rest, as Megatron, after which DeepSeek LLM says that it is made.
"""

PROFILES = (MEGATRON, WIDE_GRADIENTS, ZERO_BUBBLE_FORK, HAI_LLM)

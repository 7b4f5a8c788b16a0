"""What the runs of a source do that their rows do not say, and how it counts memory.

The first entry whose patterns a row fits holds; where none fits, the common rules of
`planner.evidence.runs.rows` fill what is missing. What was taken from here is listed with the
fields that were filled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from frozen_records import dataclass
from planner.assumptions.optimizers import ADAM, QUANTIZED, UNQUANTIZED
from planner.assumptions.software import FrameworkProfile
from planner.base.units import GIB
from planner.cost.kernels.selection import KEEPS

GB_IN_GIB = 1e9 / 2**30
BLOOM_OUTSIDE_GIB, V100_OUTSIDE_GIB, MS_AMP_OUTSIDE_GIB = 13.4, 5.2, 11.6
"""Context, communicators, buckets and fragments as nvidia-smi shows them: medians of what is
missing in the fit rows of each source, PyTorch 1.8 to 1.11 on A100 and V100, NGC 23 on H100."""
_OPTIMIZERS = (
    ("8-?bit", "adam-8bit"),
    ("precision-aware optimizer.*(bf16|exp_avg)", "adam-bf16"),
    ("adafactor", "adafactor"),
    ("muon", "muon"),
    ("lion", "lion"),
    ("^adamw?;", ADAM),
)
"""Patterns of what rows print of their optimizer and flags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What is taken for the runs of one source.

    Attributes:
        pattern: Of the row's source (any case).
        flags: Of its flags and its sharding as printed too (any case); empty: any.
        keeps: Fields of the framework profile that differ from those of today.
        recompute, sharding: Where the row gives none; empty: the common rule.
        offload: Of runs on several chips, where the row says nothing.
        lora_rank: Of adapters; 0: the default.
        printed_gib: GiB of one unit of the printed memory.
        outside_gib: What the memory counts beside that of the framework's allocator.
        because: Where it says so.
    """

    pattern: str
    flags: str = ""
    keeps: tuple[tuple[str, float | str], ...] = ()
    recompute: str = ""
    sharding: str = ""
    offload: tuple[str, ...] = ()
    lora_rank: int = 0
    printed_gib: float = 1.0
    outside_gib: float = 0.0
    because: str

    def of(self, framework: FrameworkProfile) -> FrameworkProfile:
        """What the framework keeps in these runs."""
        return _changed(framework, self.keeps) if self.keeps else framework


@cache
def _changed(
    framework: FrameworkProfile, keeps: tuple[tuple[str, float | str], ...]
) -> FrameworkProfile:
    changes: dict[str, Any] = dict(keeps)
    return replace(framework, **changes)


_BIGSCIENCE = "read with nvidia-smi; DeepSpeed's optimizer adds gradients up beside Megatron"
_QWEN = (
    "finetune.py and its scripts: gradient checkpointing, rank 64; 81 GB printed on chips of "
    "80 GiB: GB of 1e9 bytes"
)
_SMALL_BUCKETS = ("constant_bytes", 1.0 * GIB)
_WHOLE_PASS = ("stops_early", False)
_IN_FORMAT = (
    "gradients travel in the format of the weights (fairscale; accelerate, utils/dataclasses.py, "
    "`set_mixed_precision`)"
)
_SENT_IN_16, _SENT_IN_32 = ("sent_bytes", 2.0), ("sent_bytes", 4.0)
_IN_16 = (("sums_as_sent", False), ("gradient_bytes", 2.0))
_WIDE = (("sums_as_sent", False), ("keeps_quantized", False), ("gradient_bytes", 4.0))
_IN_BOTH = (("sums_as_sent", False), ("gradient_bytes", 6.0))
_XLA = (
    "XLA lays buffers out for the whole step: the logits of 32,000 words are gone before a layer "
    "is computed again, which takes more"
)
_TILED = "its loss takes the vocabulary in {} parts, one after the other"
_NO_LOGITS = (("logits_bytes", 0.0),)
_MAXTEXT: tuple[tuple[str, str, str, tuple[tuple[str, float | str], ...], str], ...] = (
    ("tpu-recipes", "num_vocab_tiling=16", "", (("logits_bytes", 10.0 / 16),), _TILED.format(16)),
    (
        "tpu-recipes",
        "context=.*query_proj=.*num_vocab_tiling=4",
        "context,qkv",
        (("logits_bytes", 10.0 / 4),),
        _TILED.format(4),
    ),
    ("tpu-recipes", "context=.*query_proj=", "context,qkv", (), ""),
    ("tpu-recipes", "out_proj=.*query_proj=", "out,qkv", (), ""),
    ("tpu-recipes", "query_proj=", "qkv", (), ""),
    ("tpu-recipes", "context=", "context", (), ""),
    ("tpu-recipes", "out_proj=", "out", (), ""),
    ("gpu-recipes", "save_dot_with_context_except_mlp", "context,out,qkv", (), ""),
    ("maxtext configs", "remat_policy=minimal", "out,qkv,up", _NO_LOGITS, _XLA),
    ("maxtext configs", "qkv_proj_offloaded", "qkv", _NO_LOGITS, _XLA),
    ("maxtext configs", "", "", _NO_LOGITS, _XLA),
)
"""Source and flags of MaxText's runs, what their policies keep of a layer
(`planner.cost.kernels.selection`), what else they keep, and where it says so."""
COMMON = Habits(pattern="", because="")
_HABITS = (
    Habits(
        pattern="bigscience.*(rebalancing layers|re-do)",
        keeps=_IN_BOTH,
        outside_gib=BLOOM_OUTSIDE_GIB,
        because=f"{_BIGSCIENCE} in 16 bits and in a copy of 32 that is not sharded",
    ),
    Habits(
        pattern="bigscience.*tr11",
        keeps=_IN_16,
        outside_gib=BLOOM_OUTSIDE_GIB,
        because=f"{_BIGSCIENCE} in 16 bits",
    ),
    Habits(
        pattern="bigscience",
        keeps=_IN_16,
        outside_gib=V100_OUTSIDE_GIB,
        because=f"{_BIGSCIENCE} in 16 bits",
    ),
    Habits(
        pattern="nanotron",
        keeps=(("keeps_gathered", "unknown"),),
        because="the sweep does not say which tp_recompute_allgather it had",
    ),
    *(
        Habits(
            pattern=pattern,
            flags=flags,
            keeps=((("selective", f"{KEEPS}{kept}"),) if kept else ()) + keeps,
            because="; ".join(filter(None, (f"its remat_policy keeps {kept}" * bool(kept), why))),
        )
        for pattern, flags, kept, keeps, why in _MAXTEXT
    ),
    Habits(
        pattern="aws-neuron|neuronx-distributed",
        flags="checkpoints CoreAttention and LlamaMLP",
        keeps=(("selective", f"{KEEPS}context,out,qkv"),),
        because="run_llama_nxd.py of NeuronX Distributed checkpoints CoreAttention, which its "
        "attention kernel does not run, and LlamaMLP at 8,192 tokens",
    ),
    Habits(
        pattern="aws-neuron|neuronx-distributed",
        flags="use_flash_attention 0",
        keeps=(("selective", f"{KEEPS}elementwise,out,qkv,up"),),
        because="run_llama_nxd.py of NeuronX Distributed checkpoints the class CoreAttention "
        "alone, which runs again without a kernel; NeMo Megatron's selective granularity is the "
        "same",
    ),
    Habits(
        pattern="aws-neuron|neuronx-distributed",
        keeps=(("selective", "core-attention"),),
        because="its scripts checkpoint the class CoreAttention alone, which the attention kernel "
        "does not run",
    ),
    Habits(
        pattern="mosaicml.*a100",
        keeps=(("logits_bytes", 4.0), _WHOLE_PASS),
        because="its models take the loss of flash-attn: logits and their gradients in 16 bits; "
        "PyTorch before 2.1, whose checkpoints run to the end",
    ),
    Habits(
        pattern="mosaicml",
        keeps=(("logits_bytes", 4.0),),
        because="its models take the loss of flash-attn: logits and their gradients in 16 bits",
    ),
    Habits(
        pattern="ibm/meta|using pytorch fsdp|fms-fsdp",
        keeps=(_SENT_IN_16,),
        because="its policy bfSixteen reduces gradients in 16 bits (fms-fsdp 5a296afe, "
        "policies/mixed_precision.py)",
    ),
    Habits(
        pattern="kempnerforge|distributed-training-guide|yandex/yafsdp|modded-nanogpt",
        keeps=(_SENT_IN_32,),
        because="its code reduces gradients in 32 bits (`reduce_dtype`, or weights of 32 bits)",
    ),
    Habits(
        pattern="internevo",
        keeps=(_WHOLE_PASS, _SENT_IN_16),
        because="its checkpoints are its own, and reentrant; its buckets have the 16 bits of the "
        "weights (c628a8c8, solver/optimizer/hybrid_zero_optim.py)",
    ),
    Habits(
        pattern="fairseq|fms-acceleration",
        keeps=(_WHOLE_PASS, _SENT_IN_16),
        because="its checkpoints are reentrant: fairscale's, and those of Hugging Face's Trainer "
        f"by default; {_IN_FORMAT}",
    ),
    Habits(
        pattern="optimum-habana|from deepspeed to fsdp",
        keeps=(_SENT_IN_16,),
        because=_IN_FORMAT,
    ),
    Habits(
        pattern="automodel",
        flags="deepep",
        keeps=(
            ("weight_bytes", 2.0),
            ("gradient_bytes", 2.0),
            ("optimizer_bytes", 4.0),
            ("logits_bytes", 4.0),
        ),
        because="its benchmarks' models are made in 16 bits (`initialize_weights`), Adam's moments "
        "with them, and the loss has fp32_upcast: false",
    ),
    Habits(
        pattern="mindspeed",
        keeps=(("combined_saved", 2.0),),
        because="its dispatchers multiply the outputs of experts by the tokens' weights, as "
        "Megatron-LM before 0.12 (MindSpeed, core/transformer/moe/token_dispatcher.py)",
    ),
    Habits(
        pattern="dao-ailab/flash-attention",
        keeps=(("logits_bytes", 4.0),),
        because="its loss is in 16 bits, its gradient in the place of the logits",
    ),
    Habits(
        pattern="qwenlm/qwen",
        flags="q-lora|deepspeed zero3",
        keeps=(("logits_bytes", 8.0), _SMALL_BUCKETS),
        recompute="full",
        sharding="zero2",
        lora_rank=64,
        printed_gib=GB_IN_GIB,
        because=f"{_QWEN}; its model computes the loss in 16 bits",
    ),
    Habits(
        pattern="qwenlm/qwen",
        flags="full-parameter",
        keeps=(("logits_bytes", 8.0), _SMALL_BUCKETS),
        recompute="full",
        sharding="zero3",
        printed_gib=GB_IN_GIB,
        because=f"{_QWEN}; its model computes the loss in 16 bits; ds_config_zero3.json",
    ),
    Habits(
        pattern="qwenlm/qwen",
        flags="emb",
        keeps=(
            ("optimizer_bytes", 4.0),
            ("master_bytes", 0.0),
            ("widened_gradients", 0.0),
            _SMALL_BUCKETS,
        ),
        recompute="full",
        sharding="ddp",
        lora_rank=64,
        printed_gib=GB_IN_GIB,
        because=f"{_QWEN}; without DeepSpeed Adam has the 16 bits of embedding and head",
    ),
    Habits(
        pattern="qwenlm/qwen",
        keeps=(("widened_gradients", 0.0), _SMALL_BUCKETS),
        recompute="full",
        sharding="ddp",
        lora_rank=64,
        printed_gib=GB_IN_GIB,
        because=f"{_QWEN}; without DeepSpeed, adapters in 32 bits",
    ),
    Habits(
        pattern="polygl0t",
        keeps=(("logits_bytes", 0.0), _SENT_IN_16),
        recompute="none",
        because="Liger kernels, whose loss never holds all logits; no checkpointing; weights of 16 "
        "bits",
    ),
    Habits(
        pattern="ms-amp",
        flags="ms-amp",
        keeps=(
            ("weight_bytes", 2.0),
            ("sums_as_sent", False),
            ("keeps_quantized", False),
            ("gradient_bytes", 1.0),
            ("optimizer_bytes", 5.0),
        ),
        outside_gib=MS_AMP_OUTSIDE_GIB,
        recompute="none",
        because="Peng et al., arXiv:2310.18313, section 2: weights and gradients in 8 bits, "
        "master copy in 16, moments in 8 and 16; transposed weights in 8 bits beside",
    ),
    Habits(
        pattern="ms-amp",
        flags="fp8 te",
        keeps=(("weight_bytes", 4.0), *_WIDE),
        outside_gib=MS_AMP_OUTSIDE_GIB,
        recompute="none",
        because="Megatron-LM of 2023 adds gradients up in 32 bits under bf16; Transformer Engine "
        "keeps weights and their transposes in 8 bits beside those in 16",
    ),
    Habits(
        pattern="ms-amp",
        keeps=_WIDE,
        outside_gib=MS_AMP_OUTSIDE_GIB,
        recompute="none",
        because="Megatron-LM of 2023 adds gradients up in 32 bits under bf16",
    ),
    Habits(
        pattern="torchtune",
        flags="packed; full",
        recompute="full",
        offload=("optimizer", "weights"),
        keeps=(_SENT_IN_16,),
        because="its 70B_full.yaml: fsdp_cpu_offload, and every layer is checkpointed; its weights "
        "have 16 bits",
    ),
    Habits(
        pattern="torchtune",
        recompute="full",
        keeps=(_SENT_IN_16,),
        because="its configurations checkpoint every layer, and load weights in 16 bits",
    ),
    Habits(
        pattern="litgpt",
        flags="fsdp",
        recompute="full",
        lora_rank=8,
        because="finetune/lora.py: FSDP with checkpointed blocks, rank 8",
    ),
    Habits(
        pattern="litgpt",
        recompute="none",
        lora_rank=8,
        because="finetune/lora.py: no checkpointing on one chip, rank 8",
    ),
    Habits(
        pattern="megatron_moe_benchmark|mindspeed-llm|mindformers|intel-habanalabs|caraml",
        keeps=(("repeats_fused", False),),
        because="other modules are named, or layers spare FlashAttention (23.08, transformer.py)",
    ),
)


@cache
def _fitting(source: str, flags: str) -> Habits:
    """The first entry whose patterns are found."""

    def fits(one: Habits) -> bool:
        found = re.search(one.pattern, source, re.IGNORECASE)
        return bool(found and re.search(one.flags, flags, re.IGNORECASE))

    return next((one for one in _HABITS if fits(one)), COMMON)


def habits_of(row: Mapping[str, str]) -> Habits:
    """What is taken for a row; `COMMON` where nothing is known of its source."""
    return _fitting(row.get("source", ""), _said(row))


def frozen_weights(row: Mapping[str, str]) -> str:
    """The format of frozen weights that the flags of a row name."""
    named = re.search("frozen base weights in ([a-z.0-9]+)", row.get("flags", "").lower())
    return next((name for name in QUANTIZED if named and name in named[1]), UNQUANTIZED)


def optimizer(row: Mapping[str, str], filled: dict[str, str]) -> str:
    """The optimizer of a row, one of `OPTIMIZERS`; Adam for those that are not known, noted."""
    printed, flags = row.get("optimizer", "").lower(), row.get("flags", "").lower()
    if not printed:
        filled["optimizer"] = ADAM
        return ADAM
    for pattern, name in _OPTIMIZERS:
        if re.search(pattern, f"{printed}; {flags}"):
            return name
    filled["optimizer"] = f"{ADAM}, costed for {row['optimizer']}"
    return ADAM


def _said(row: Mapping[str, str]) -> str:
    """What a row prints of its flags and its sharding."""
    return f"{row.get('flags', '')}; {row.get('sharding_as_printed', '')}"


def offload(row: Mapping[str, str], habits: Habits) -> tuple[str, ...]:
    """What a row keeps on the host: the optimizer, or with FSDP's offload the weights too."""
    text = _said(row).lower()
    weights = re.search("fsdp.*cpu.?offload", text)
    optimizer_too = re.search("optimizer offload|optimizer_cpu_offload|swap-optimizer", text)
    several = row.get("n_chips", "1") != "1"
    usual = habits.offload if several else ()
    return ("optimizer", "weights") if weights else ("optimizer",) if optimizer_too else usual

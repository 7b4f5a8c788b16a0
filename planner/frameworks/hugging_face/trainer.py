"""Arguments of programs on transformers' Trainer and PEFT, by the names that programs give them.

Names and defaults: transformers 5.23.0 training_args.py; TRL 1.16.0 trainer/model_config.py and
trainer/base_config.py; PEFT 0.21.2 utils/constants.py. Programs of their own name adapters as they
like: those of LLaVA, Qwen and LLaMA-Factory are known.
"""

from __future__ import annotations

import re
from typing import Any

from planner.base.vocabulary import MATRICES
from planner.frameworks.reading.edits import Setting
from planner.frameworks.reading.settings import LaunchSettings
from planner.frameworks.reading.tuning import adapted, matrices_of
from planner.plan import Plan

ROWS, STEPS = "per_device_train_batch_size", "gradient_accumulation_steps"
MODEL = ("model_name_or_path", "model_name", "model_id", "pretrained_model_name_or_path")
LENGTH = (
    "max_length", "max_seq_length", "max_seq_len", "model_max_length", "cutoff_len", "block_size",
)  # fmt: skip
DEFAULT_ROWS = 8
"""Of transformers' Trainer."""
_ADAPTERS = ("use_peft", "use_lora", "lora_enable", "use_qlora", "q_lora", "qlora")
_RANKS = ("lora_r", "lora_rank")
_RANK = 16  # of TRL
_TARGETS = ("lora_target_modules", "lora_target", "lora_modules")
_FOUR_BITS = (
    "load_in_4bit", "use_4bit", "use_4bit_quantization", "use_qlora", "q_lora", "qlora",
)  # fmt: skip
_BITS = ("bits", "quantization_bit")
_EVERY = ("all-linear", "all")
_USUAL = ("q", "v")  # of PEFT, for Llama, Mistral, Qwen and Gemma


_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_NUMBER = re.compile(r"-?[0-9.][0-9.e+-]*")


def options_of(words: list[str]) -> dict[str, tuple[str, ...]]:
    """Options of a command with their values; names have underscores and no dashes before them.

    >>> options_of(["--lora-r", "8", "--bf16", "--lr=-1", "x"])
    {'lora_r': ('8',), 'bf16': (), 'lr': ('-1',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            own, equals, value = word[2:].partition("=")
            name = own.replace("-", "_")
            found[name] = (value,) if equals else ()
            name = "" if equals else name
        elif name and (not word.startswith("-") or _NUMBER.fullmatch(word)):
            found[name] += (word,)
    return found


def is_true(launch: LaunchSettings, name: str, default: str = "false") -> bool:
    """Whether a switch is on, given alone or with a word."""
    said = launch.on(name)
    words = launch.text(name, "true" if said else default).lower()
    return words not in ("false", "0", "no", "none", "off", "")


def first_of(launch: LaunchSettings, names: tuple[str, ...]) -> str:
    """The first of some settings that is given; the first of all where none is."""
    return next((name for name in names if name in launch.values), names[0])


def adapters_of(launch: LaunchSettings, *, defaults: bool) -> dict[str, Any]:
    """Fields of a job that trains adapters; empty: it trains all weights.

    Args:
        launch: The arguments.
        defaults: Whether those of TRL hold for what is not said; else code decides.
    """
    if not _trains_adapters(launch):
        return {}
    rank = first_of(launch, _RANKS)
    if rank not in launch.values:
        launch.assume(rank, _RANK, "not said; its trainer's")
    eights = is_true(launch, "load_in_8bit") or "8" in _bits(launch)
    if eights:
        launch.warnings.append("load_in_8bit: the answer counts frozen weights of 16 bits")
    dropout = launch.share("lora_dropout", 0.05 if defaults else 0.0)
    if defaults and "lora_dropout" not in launch.values:
        launch.assume("lora_dropout", dropout, "the default of its trainer")
    return adapted(
        rank=launch.whole(rank, _RANK),
        targets=_matrices(launch, defaults=defaults),
        dropout=dropout,
        dora=is_true(launch, "use_dora"),
        quantized="4" in _bits(launch) or any(is_true(launch, name) for name in _FOUR_BITS),
    )


def _trains_adapters(launch: LaunchSettings) -> bool:
    kind = launch.text("finetuning_type")
    switches = [is_true(launch, name) for name in _ADAPTERS if name in launch.values]
    if kind or switches:
        return kind == "lora" or any(switches)
    return any(name in launch.values for name in _RANKS)


def _bits(launch: LaunchSettings) -> set[str]:
    return {launch.text(name) for name in _BITS}


def _matrices(launch: LaunchSettings, *, defaults: bool) -> tuple[str, ...]:
    """Matrices with adapters, in the order of a layer."""
    name = first_of(launch, _TARGETS)
    words = [word for value in launch.values.get(name, ()) for word in value.split(",")]
    if words and words[0].strip() not in _EVERY:
        return matrices_of(launch, name, tuple(word.strip() for word in words if word.strip()))
    launch.taken.add(name)
    if words or not defaults:
        if not words:
            launch.assume(name, "all", "not said; code decides")
        return MATRICES
    launch.assume(name, ", ".join(_USUAL), "PEFT's default for Llama, Mistral, Qwen and Gemma")
    return _USUAL


def precision_of(launch: LaunchSettings, mixed: str, *, defaults: bool) -> str:
    """The number format of products: by switches, Accelerate's mixed precision, or the weights'.

    Args:
        launch: The arguments.
        mixed: Accelerate's.
        defaults: Whether those of TRL hold for what is not said.
    """
    for name in ("bf16", "fp16"):
        if is_true(launch, name):
            return name
    if mixed in ("bf16", "fp16", "fp8"):
        return mixed
    loaded = _FORMATS.get(launch.text(first_of(launch, ("dtype", "torch_dtype"))))
    if loaded or launch.values.get("bf16"):
        return loaded or "fp32"  # bf16 false, and nothing else
    own = "not said; transformers 5 loads weights in the format that they are stored in"
    launch.assume("precision", "bf16", "the default of its trainer" if defaults else own)
    return "bf16"


def changed_arguments(
    before: Plan, after: Plan, batch: int, pairs: int = 1
) -> tuple[Setting, ...] | None:
    """What changes from one plan to another on the same mesh; None: half a pair.

    Args:
        before, after: The plans.
        batch: Sequences of a step, which stays.
        pairs: Sequences of an example.
    """
    if after.micro_batch % pairs:
        return None
    found = []
    if before.micro_batch != after.micro_batch:
        rows, steps = after.micro_batch // pairs, batch // (after.micro_batch * _ranks(after))
        found = [Setting(names=(ROWS,), value=str(rows)), Setting(names=(STEPS,), value=str(steps))]
    if before.recompute != after.recompute:
        on = "true" if after.recompute == "full" else "false"
        found.append(Setting(names=("gradient_checkpointing",), value=on))
    return tuple(found)


def _ranks(plan: Plan) -> int:
    return plan.dp * plan.fsdp

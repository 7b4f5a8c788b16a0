"""Megatron-Bridge: a recipe that is a Python function.

Names and defaults: NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/recipes/common.py
(`_pretrain_common`, `_sft_common`) and training/config.py, 067f987df0 and 0.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planner.base.errors import InputError
from planner.frameworks.megatron.dialects.named_recipes import BRIDGE, recipe_named
from planner.frameworks.megatron.dialects.recipe import ADAPTERS, Recipe, as_arguments
from planner.frameworks.reading.commands import Command
from planner.frameworks.reading.imported import Noted
from planner.frameworks.reading.settings import Asked

if TYPE_CHECKING:
    from planner.frameworks.reading.python.recipe import PythonRecipe

_COMMON: dict[str, Any] = {
    "train.global_batch_size": 32,
    "train.micro_batch_size": 2,
    "ddp.use_distributed_optimizer": True,
    "ddp.overlap_grad_reduce": True,
    "ddp.overlap_param_gather": True,
    "ddp.grad_reduce_in_fp32": True,
    "dataset.seq_length": 4096,
}
_TUNED: dict[str, Any] = _COMMON | {
    "train.global_batch_size": 128,
    "train.micro_batch_size": 1,
    "ddp.overlap_grad_reduce": False,
    "ddp.overlap_param_gather": False,
    "dataset.seq_length": 2048,
}
"""Of recipes that fine-tune all weights (`_sft_common`)."""
_SECTIONS = ("model", "train", "ddp", "comm_overlap", "optimizer", "mixed_precision", "dataset")
_RENAMED = {
    "virtual_pipeline_model_parallel_size": "num_virtual_stages_per_pipeline_rank",
    "num_moe_experts": "num_experts",
    "fp8": "fp8_format",
}
_DROPPED = (
    "pipeline_dtype", "grad_reduce_in_fp32", "params_dtype",
    "average_in_collective", "num_query_groups", "gated_linear_unit", "tp_comm_overlap_cfg",
    "add_bias_linear", "share_embeddings_and_output_weights", "fp8_param_gather_in_bf16",
    "sharding_strategy", "attention_backend", "cuda_graph_impl", "cuda_graph_scope", "vocab_size",
)  # fmt: skip
_CHIPS = re.compile(r"_([0-9]{1,6})gpu_")
_OTHER_JOBS = re.compile(r"peft|lora|dora")
_RECIPE = re.compile(r"(?!get_|build_|make_|create_)[a-z]\w*_(config|recipe)")
"""Names of functions that are recipes; what gets a part of one has a verb."""
_PLAIN = "vanilla_gpt_pretrain_config"
"""The recipe that sets what Megatron-LM's defaults are."""
_DIFFUSION = "megatron.bridge.diffusion"
_ADAPTERS = ("LoRA", "DoRA", "CanonicalLoRA")


def bridge(text: str, asked: Asked) -> Recipe:
    """A recipe of Megatron-Bridge as arguments of Megatron-LM.

    Raises:
        InputError: It is no recipe, or one that trains adapters.
    """
    if _DIFFUSION in text:
        raise InputError(f"{asked.name}: trains a diffusion model, which no plan says")
    from planner.frameworks.reading.python.recipe import python_recipe  # noqa: PLC0415  (only where a recipe is read)

    found = python_recipe(text, asked.name, asked.function, "ConfigContainer")
    return recipe_of(found, asked.name)


def recipe_of(found: PythonRecipe, name: str, command: Command | None = None) -> Recipe:
    """What a recipe sets as arguments of Megatron-LM.

    Args:
        found: The recipe.
        name: What messages call the launch.
        command: What starts it; None: nothing that is known.

    Raises:
        InputError: It is no recipe, or one that trains adapters.
    """
    found, base = _with_base(found, name)
    _refuse_others(found, name)
    tunes = any(name == "_sft_common" for name, _ in found.calls)
    common = _TUNED if tunes else _COMMON
    own = {name: value for name, value in found.values.items() if name in common}
    values = {**common, **found.values}
    settings: dict[str, Any] = {}
    for path, value in values.items():
        if _is_setting(path):
            rest = path.partition(".")[2]
            settings[_RENAMED.get(rest, rest)] = _text(value)
    assumed = (
        tuple(
            Noted(name=name, value=str(value), reason="the default of Megatron-Bridge's recipes")
            for name, value in common.items()
            if name not in own
        )
        + base
    )
    settings |= _formats(found, values) | _shape(values)
    model = _model_name(found)
    return Recipe(
        settings=as_arguments(settings.items()),
        command=_started(found, command),
        is_command=False,
        states_model=not model,
        model=model,
        assumed=assumed,
        job={"job": "finetune"} if tunes else {},
    )


def _started(found: PythonRecipe, command: Command | None) -> Command:
    """What starts a recipe: the chips that its launcher says, else those in its name."""
    if command is not None and command.chips:
        return replace(command, words=[])
    chips = _CHIPS.search(found.name)
    left = (line for path, line in found.computed.items() if _counts_for_a_plan(path, found))
    return Command(
        words=[],
        chips=int(chips[1]) if chips else None,
        said=f"the name of {found.name}",
        notes=tuple(dict.fromkeys((*found.notes, *left, *(command.notes if command else ())))),
    )


def _outside(values: Mapping[str, Any], built: Collection[str]) -> dict[str, Any]:
    """Values that are not of objects which are made anew."""
    return {
        name: value
        for name, value in values.items()
        if not any(name.startswith(f"{one}.") for one in built)
    }


def as_kept(recipe: PythonRecipe, left: Collection[str]) -> dict[str, Any]:
    """What a plan follows from in a recipe, for those that change it.

    Args:
        recipe: It.
        left: Arguments that have no part in a plan.
    """
    values = {
        name: value
        for name, value in recipe.values.items()
        if _is_setting(name)
        and _argument(name) not in left
        and (isinstance(value, str | int | float) or (value is None and name in _COMMON))
    }
    calls = [[name, text] for name, text in recipe.calls if _counts(name, text)]
    return {"values": values, "calls": calls}


def _is_setting(name: str) -> bool:
    """Whether an argument of Megatron-LM says what a field does, or what follows from it does."""
    section, _, rest = name.partition(".")
    return section in _SECTIONS and bool(rest) and "." not in rest and rest not in _DROPPED


def _counts_for_a_plan(path: str, found: PythonRecipe) -> bool:
    """Whether what is not known is a setting, or a whole section with settings."""
    whole = path.removesuffix(".*") in _SECTIONS and path not in found.built
    return path == "*" or whole or _is_setting(path)


def _argument(name: str) -> str:
    own = name.rpartition(".")[2]
    return f"--{_RENAMED.get(own, own).replace('_', '-')}"


def _counts(name: str, text: str) -> bool:
    """Whether a call says the kind of job, the model or the formats."""
    return name in ("_sft_common", "from_hf_pretrained") or "mixed" in name + text


def _with_base(found: PythonRecipe, name: str) -> tuple[PythonRecipe, tuple[Noted, ...]]:
    """A recipe with what the named one of Megatron-Bridge sets that it changes, and its name.

    One that is called with arguments, which none of them takes, stays as it is.

    Raises:
        InputError: What it changes is computed.
    """
    others = [one for one in found.bases if _RECIPE.fullmatch(one) and one != _PLAIN]
    row = recipe_named(BRIDGE, others[0]) if len(others) == 1 else None
    if row is None or any("." not in value for value in found.values):
        return found, ()
    full = row["name"]
    if lines := dict.fromkeys(filter(None, map(found.unknown, row["values"]))):
        raise InputError("\n".join(f"{name}: {line}; write the value there" for line in lines))
    calls = tuple((one, text) for one, text in row["calls"])
    merged = replace(
        found,
        name=found.name if _CHIPS.search(found.name) else full,
        values={**_outside(row["values"], found.built), **found.values},
        calls=(*calls, *found.calls),
        bases=tuple(one for one in found.bases if one != others[0]),
    )
    why = f"the recipe that is changed, as {BRIDGE.commit} has it"
    return merged, (Noted(name=others[0], value=full, reason=why),)


def _refuse_others(found: PythonRecipe, name: str) -> None:
    """Refuses a recipe that trains adapters, and one whose settings stand elsewhere.

    Raises:
        InputError: It is such a one.
    """
    if _OTHER_JOBS.search(found.name) or any(called in _ADAPTERS for called, _ in found.calls):
        raise InputError(f"{name}: {found.name} {ADAPTERS}")
    if others := [one for one in found.bases if _RECIPE.fullmatch(one) and one != _PLAIN]:
        raise InputError(
            f"{name}: {found.name} builds on {others[0]}, which stands in another file with "
            "most of the settings; copy that function, and what it calls, into this one"
        )
    sets = any(value.partition(".")[0] in _SECTIONS for value in found.values)
    if not sets and not any(called.endswith("_common") for called, _ in found.calls):
        raise InputError(f"{name}: {found.name} sets nothing of a recipe")


def _text(value: Any) -> Any:
    """torch.float32 as an argument says it."""
    names = {"torch.float32": "fp32", "torch.bfloat16": "bf16", "torch.float16": "fp16"}
    return names.get(value, value) if isinstance(value, str) else value


def _model_name(found: PythonRecipe) -> str:
    """The model on a hub that the recipe takes its shape from."""
    hub = (text for name, text in found.calls if name == "from_hf_pretrained")
    return next(hub, "").rpartition("/")[2]


def _formats(found: PythonRecipe, values: dict[str, Any]) -> dict[str, Any]:
    """Of products and gradients: by the name of a mixed precision, bf16 by default."""
    said = str(values.get("mixed_precision", ""))
    named = [text or name for name, text in found.calls if "mixed" in name + text]
    said = said or (named[-1] if named else "bf16_mixed")
    wide = values.get("mixed_precision.grad_reduce_in_fp32", values["ddp.grad_reduce_in_fp32"])
    formats: dict[str, Any] = {"bf16": True, "grad_reduce_in_bf16": not wide}
    if "fp8" in said:
        recipe = "mxfp8" if "mx" in said else "tensorwise" if "current" in said else "delayed"
        formats |= {"fp8_format": "hybrid", "fp8_recipe": recipe}
    if "nvfp4" in said or "fp4" in said:
        formats["fp4_format"] = "e2m1"
    return formats


def _shape(values: dict[str, Any]) -> dict[str, Any]:
    """What providers of models name otherwise than the arguments do."""
    groups = values.get("model.num_query_groups")
    return {
        "group_query_attention": groups is not None,
        "num_query_groups": groups,
        "swiglu": bool(values.get("model.gated_linear_unit")),
        "untie_embeddings_and_output_weights": not values.get(
            "model.share_embeddings_and_output_weights", True
        ),
        "seq_length": values.get("model.seq_length", values["dataset.seq_length"]),
    }

"""Megatron-DeepSpeed: arguments that Megatron-LM no longer has, or never had.

Names: deepspeedai/Megatron-DeepSpeed megatron/arguments.py and deepspeed/__init__.py
(`add_config_arguments`), 4efb479d53 (2025-07-16).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.base.numerals import is_digits
from planner.frameworks.megatron.dialects.recipe import Recipe
from planner.frameworks.reading.imported import Noted

_RENAMED = {
    "--model-parallel-size": "--tensor-model-parallel-size",
    "--num-key-value-heads": "--num-query-groups",
    "--ds-sequence-parallel-size": "--context-parallel-size",
    "--moe-expert-parallel-size": "--expert-model-parallel-size",
    "--topk": "--moe-router-topk",
    "--cpu-optimizer": "--optimizer-cpu-offload",
}
_WHOLE_LAYERS = ("--checkpoint-activations", "--deepspeed-activation-checkpointing")
_ENDS = ("--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split")
_STAGES = {"1": "optim", "2": "optim_grads", "3": "optim_grads_params"}
_SAID = "the stage of ZeRO of Megatron-DeepSpeed"


def fork_of(recipe: Recipe, *, assumes: bool) -> Recipe:
    """A launch of Megatron-DeepSpeed in the words of Megatron-LM; others as they are.

    `assumes`: whether one that uses its words only is taken for one.
    """
    settings = dict(recipe.settings)
    is_fork = any(name.replace("_", "-") == "--deepspeed" for name in settings)
    if not is_fork and not (assumes and any(name in settings for name in _WHOLE_LAYERS)):
        return recipe
    found = {_RENAMED.get(name, name): values for name, values in settings.items()}
    config = _config(recipe, settings)
    assumed = list(recipe.assumed)
    if any(found.pop(name, None) is not None for name in _WHOLE_LAYERS[:1]):
        found |= {
            "--recompute-granularity": ("full",),
            "--recompute-method": ("uniform",),
            "--recompute-num-layers": settings.get("--checkpoint-num-layers", ("1",)),
        }
    found.pop(_WHOLE_LAYERS[1], None)
    dimensions = _dimensions(found)
    if "--num-query-groups" in found:
        found["--group-query-attention"] = ()
    if "--context-parallel-size" in found and "--ds-sequence-parallel-size" in settings:
        found["--cp-comm-type"] = ("a2a",)
    _experts(found, settings)
    if "embedding" in (found.pop("--pp-partition-method", None) or ("",))[0]:
        found |= dict.fromkeys(_ENDS, ())  # both ends count as layers where stages are cut
    stage = _stage(config, settings, found)
    if stage in _STAGES:
        found.pop("--use-distributed-optimizer", None)
        found |= _sharded(stage)
        assumed.append(Noted(name="plan.sharding", value=f"zero{stage}", reason=_SAID))
    if config.get("zero_optimization", {}).get("offload_optimizer", {}).get("device") == "cpu":
        found["--optimizer-cpu-offload"] = ()
    for name in ("--deepspeed", "--zero-stage", "--deepspeed-config", "--deepspeed_config"):
        found.pop(name, None)
    return replace(
        recipe,
        settings=found,
        assumed=tuple(assumed),
        dimensions=dimensions,
        is_command=False,
    )


def _dimensions(found: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """What only the fork says of the model; taken out of the arguments."""
    dimensions: dict[str, Any] = {}
    if found.get("--position-embedding-type") == ("alibi",):
        del found["--position-embedding-type"]
        dimensions["positions.kind"] = "alibi"
    if found.pop("--embed-layernorm", None) is not None:
        dimensions["norm.embedding"] = True
    if found.get("--normalization") == ("rmsnorm",):
        found["--normalization"] = ("RMSNorm",)
    if found.pop("--glu-activation", None):
        hidden = found.get("--hidden-size", ("",))[0]
        found["--swiglu"] = ()
        if is_digits(hidden):  # the gate widens the first matrix, not the inner width
            found.setdefault("--ffn-hidden-size", (str(4 * int(hidden[:9])),))
    return dimensions


def _sharded(stage: str) -> dict[str, tuple[str, ...]]:
    if stage == "1":
        return {"--use-distributed-optimizer": ()}
    return {"--use-megatron-fsdp": (), "--data-parallel-sharding-strategy": (_STAGES[stage],)}


def _stage(config: Mapping[str, Any], settings: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """The stage of ZeRO; bf16 without one keeps its own optimizer, which shares like stage 1."""
    written = config.get("zero_optimization", {}).get("stage")
    given = settings.get("--zero-stage", (str(written if written is not None else "0"),))
    stage = str(written) if written is not None else str((given or ("0",))[-1])
    if stage == "0" and "--bf16" in found and "--deepspeed" in settings:
        return "1"  # deepspeed runtime/bf16_optimizer.py: states are partitioned over data ranks
    return stage


def _experts(found: dict[str, tuple[str, ...]], settings: Mapping[str, Any]) -> None:
    """Experts: one number is one everywhere; 1 is none."""
    if (given := found.pop("--num-experts", None)) and set(given) != {"1"}:
        found["--num-experts"] = (given[-1],)
        found.setdefault("--moe-router-topk", ("1",))
        found["--expert-tensor-parallel-size"] = ("1",)
    elif given:
        found.pop("--expert-model-parallel-size", None)
        found.pop("--moe-router-topk", None)


def _config(recipe: Recipe, settings: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The configuration of DeepSpeed that the script writes; empty where it writes none."""
    for name in ("--deepspeed_config", "--deepspeed-config"):
        path = (settings.get(name) or ("",))[-1]
        text = recipe.command.shell.written(path)
        if text is not None:
            try:
                found = json.loads(text)
            except ValueError:
                return {}
            zero = found.get("zero_optimization") if isinstance(found, dict) else None
            return found if isinstance(zero, dict) else {}
    return {}

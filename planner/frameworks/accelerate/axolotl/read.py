"""Configurations of Axolotl as plans and jobs.

Names and defaults: Axolotl 0.19.0 (PyPI) utils/schemas/ (config.py, peft.py, fsdp.py).
"""

from __future__ import annotations

import re
from typing import Any

from planner.base.vocabulary import MATRICES
from planner.frameworks.reading.imported import Imported
from planner.frameworks.reading.settings import Asked, LaunchSettings, chips_of, data_ranks
from planner.frameworks.reading.tuning import (
    adapted,
    length_of,
    matrices_of,
    optimizer_named,
)
from planner.frameworks.reading.yaml_files import yaml_settings
from planner.plan import Plan

_SIZES = {
    "tp": "tensor_parallel_size",
    "cp": "context_parallel_size",
    "dp": "dp_replicate_size",
}
_OTHERS = ("relora", "lisa_n_layers", "unfrozen_parameters")
_ZERO = re.compile(r"zero([123])")
_REASON = "no part of a plan"


def is_launch(text: str) -> bool:
    """Whether a text has the keys that every configuration of Axolotl has."""
    keys = ("base_model", "micro_batch_size", "sequence_len|adapter|datasets")
    return all(re.search(rf"^(?:{key}):", text, re.M) for key in keys)


def read(text: str, asked: Asked) -> Imported:
    """The plan of a configuration.

    Args:
        text: The YAML file.
        asked: What is asked beside it.

    Raises:
        InputError: The text cannot be read, contradicts itself, or launches what no plan says; a
            line each.
    """
    launch = LaunchSettings(asked, yaml_settings(text, asked.name))
    trained = _trained(launch)
    launch.check()
    model = asked.model_of({}, None, launch.text("base_model").rpartition("/")[2])
    length = length_of(launch, "sequence_len")
    mesh = _mesh(launch)
    rows = launch.whole("micro_batch_size", 1) * (2 if "reference" in trained else 1)
    steps = launch.whole("gradient_accumulation_steps", 1)
    recomputes = _on(launch, "gradient_checkpointing") or _on(
        launch, "fsdp_config.activation_checkpointing"
    )
    plan = launch.finished(
        Plan(
            **mesh,
            micro_batch=launch.fixed("micro_batch", rows),
            recompute="full" if recomputes else "none",
            offload=_offload(launch),
            split="even",
        )
    )
    job = {
        "seq_len": length,
        "batch_tokens": plan.micro_batch * steps * plan.dp * plan.fsdp * length,
        "precision": _precision(launch),
        "framework": "deepspeed" if _on(launch, "deepspeed") else "fsdp",
        "model": model.name,
        "optimizer": optimizer_named(launch, "optimizer", "adamw_torch_fused"),
        **trained,
    }
    return launch.imported("axolotl", plan, job, {}, dict.fromkeys(launch.values, _REASON), ())


def _on(launch: LaunchSettings, name: str) -> bool:
    return launch.text(name, "false") not in ("false", "")


def _trained(launch: LaunchSettings) -> dict[str, Any]:
    """The kind of job, with its adapters and its reference."""
    adapter, learns = launch.text("adapter"), launch.text("rl")
    if learns not in ("", "dpo", "ipo"):
        launch.wrong("rl", f"{learns} is none of dpo, ipo: no plan says what it computes")
    if _on(launch, "reward_model") or _on(launch, "process_reward_model"):
        launch.wrong("reward_model", "trains a model that judges, which no plan says")
    if _on(launch, "gptq"):
        launch.warnings.append("gptq: the answer counts frozen weights of 16 bits")
    for name in _OTHERS:
        if _on(launch, name):
            launch.wrong(name, "trains a part of the weights at a time, which no plan says")
    if adapter not in ("", "lora", "qlora"):
        launch.wrong("adapter", f"{adapter} is none of lora, qlora")
    if adapter == "":
        return {"job": "finetune"} | ({"reference": "model"} if learns else {})
    if _on(launch, "load_in_8bit"):
        launch.warnings.append("load_in_8bit: the answer counts frozen weights of 16 bits")
    ahead = _on(launch, "precompute_ref_log_probs")
    reference = {"reference": "precomputed" if ahead else "adapters"} if learns else {}
    found = adapted(
        rank=launch.whole("lora_r", 8),
        targets=_targets(launch),
        dropout=launch.share("lora_dropout", 0.0),
        dora=_on(launch, "peft_use_dora"),
        quantized=adapter == "qlora" or _on(launch, "load_in_4bit"),
    )
    return found | reference


def _targets(launch: LaunchSettings) -> tuple[str, ...]:
    """Matrices with adapters, in the order of a layer; all where every linear module has one."""
    names = launch.values.get("lora_target_modules", ())
    launch.taken.add("lora_target_modules")
    if _on(launch, "lora_target_linear") or not names:
        return MATRICES
    return matrices_of(launch, "lora_target_modules", tuple(names))


def _mesh(launch: LaunchSettings) -> dict[str, Any]:
    """Fields of the plan: axes and sharding; shards take the ranks that are left."""
    sizes = {axis: launch.fixed(axis, launch.whole(name, 1)) for axis, name in _SIZES.items()}
    experts = launch.fixed("ep", launch.whole("expert_parallel_size", 1))
    shards = launch.whole("dp_shard_size")
    stage = _ZERO.search(launch.text("deepspeed"))
    fsdp = bool(shards) or any(name.startswith("fsdp") for name in launch.values)
    launch.taken |= {name for name in launch.values if name.startswith("fsdp")}
    launch.check()
    chips = chips_of(launch, None, "")
    if shards and chips is None:
        chips = shards * sizes["tp"] * sizes["cp"] * sizes["dp"]
    ranks = data_ranks(launch, chips, sizes)
    if shards and ranks != shards:
        launch.wrong("dp_shard_size", f"{shards} contradicts {chips} chips, which leave {ranks}")
    launch.check()
    if ranks == 1 or (fsdp and stage is None):
        sharding = "zero3" if ranks * sizes["cp"] > 1 else "ddp"  # contexts share the state too
        return {**sizes, "ep": experts, "fsdp": ranks, "sharding": sharding}
    if stage and stage[1] == "3":
        return {**sizes, "ep": experts, "fsdp": ranks, "sharding": "zero3"}
    sharding = f"zero{stage[1]}" if stage else "ddp"
    return {**sizes, "dp": sizes["dp"] * ranks, "ep": experts, "fsdp": 1, "sharding": sharding}


def _offload(launch: LaunchSettings) -> tuple[str, ...]:
    names = ("fsdp_config.offload_params", "fsdp_config.fsdp_offload_params")
    found: tuple[str, ...] = ("optimizer", "weights") if any(_on(launch, n) for n in names) else ()
    if "cpuoffload" in launch.look("deepspeed"):
        found = ("optimizer", "weights")
    return (*found, "activations") if _on(launch, "activation_offloading") else found


def _precision(launch: LaunchSettings) -> str:
    """Of products; what is left to the machine is 16 bits, as those here have bfloat16."""
    if _on(launch, "fp8"):
        return "fp8"
    for name in ("bf16", "bfloat16"):
        if _on(launch, name):
            return "bf16"
    return "fp16" if _on(launch, "fp16") or _on(launch, "float16") else "fp32"

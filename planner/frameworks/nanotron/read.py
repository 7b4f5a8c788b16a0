"""Launches of nanotron as plans: its YAML file.

Names and defaults: huggingface/nanotron src/nanotron/config (config.py, parallelism_config.py,
models_config.py), 2411b022a7 (2026-04-07).
"""

from __future__ import annotations

import re
from typing import Any

from planner.frameworks.reading.imported import Imported
from planner.frameworks.reading.settings import Asked, LaunchSettings, chips_of
from planner.frameworks.reading.yaml_files import last_of_repeated, yaml_settings
from planner.plan import Plan

_SHAPE = {
    "num_hidden_layers": "layers",
    "hidden_size": "hidden",
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "intermediate_size": "mlp.hidden",
    "vocab_size": "vocab_size",
}
_EXPERTS = {
    "num_experts": "moe.experts",
    "top_k": "moe.experts_per_token",
    "moe_intermediate_size": "moe.expert_hidden",
}
_SETTINGS = {field: f"model.model_config.{name}" for name, field in _SHAPE.items()}
_ENGINES = {"1f1b": "1f1b", "afab": "gpipe"}
_MODES = {"ALL_REDUCE": False, "REDUCE_SCATTER": True}
_PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_TRUTH = {"true": True, "false": False}
_REASON = "no part of a plan"


def is_launch(text: str) -> bool:
    """Whether a text has the sections of nanotron's configuration."""
    return all(re.search(rf"^{name}:", text, re.M) for name in ("parallelism", "tokens", "model"))


def read(text: str, asked: Asked) -> Imported:
    """The plan of a launch.

    Args:
        text: The YAML file.
        asked: What is asked beside it.

    Raises:
        InputError: The text cannot be read, contradicts itself, or launches what no plan says; a
            line each.
    """
    text, repeated = last_of_repeated(text)  # config.py reads by PyYAML
    launch = LaunchSettings(asked, yaml_settings(text, asked.name), warnings=list(repeated))
    dimensions = _dimensions(launch)
    model = asked.model_of(dimensions, _SETTINGS)
    mesh = _mesh(launch)
    chips = mesh["tp"] * mesh["cp"] * mesh["pp"] * mesh["dp"]
    chips_of(launch, chips, "its mesh")
    micro_batch = launch.fixed("micro_batch", launch.whole("tokens.micro_batch_size", 1))
    steps = launch.whole("tokens.batch_accumulation_per_replica", 1)
    length = launch.whole("tokens.sequence_length", 2048)
    whole_layers = launch.choice("parallelism.recompute_layer", "false", _TRUTH)
    plan = launch.finished(
        Plan(**mesh, micro_batch=micro_batch, recompute="full" if whole_layers else "none")
    )
    job = {
        "seq_len": length,
        "batch_tokens": micro_batch * steps * mesh["dp"] * length,
        "precision": launch.choice("model.dtype", "bfloat16", _PRECISIONS),
        "framework": "nanotron",
        "model": model.name,
    }
    reasons = dict.fromkeys(launch.values, _REASON)
    return launch.imported("nanotron", plan, job, dimensions, reasons, ())


def _dimensions(launch: LaunchSettings) -> dict[str, Any]:
    """Fields of the model by the names of `models_db.Model`."""
    start = "model.model_config."
    found: dict[str, Any] = {
        field: launch.whole(start + name)
        for name, field in _SHAPE.items()
        if start + name in launch.values
    }
    launch.taken |= {start + name for name in launch.values}
    experts = {
        field: launch.whole(f"{start}moe_config.{name}")
        for name, field in _EXPERTS.items()
        if f"{start}moe_config.{name}" in launch.values
    }
    if experts:
        experts.setdefault("moe.expert_hidden", found.pop("mlp.hidden", 0))
        found.pop("mlp.hidden", None)
    found |= experts or {"moe.experts": 0}
    if found.get("heads") and "hidden" in found:  # 0: it says none, which is noted
        found.setdefault("kv_heads", found["heads"])
        found["head_dim"] = found["hidden"] // found["heads"]
    tied = launch.choice(f"{start}tie_word_embeddings", "false", _TRUTH)
    return {**found, "mlp.gated": True, "norm.kind": "rmsnorm", "tied_embeddings": tied}


def _mesh(launch: LaunchSettings) -> dict[str, Any]:
    """Fields of the plan: axes, sharding, schedule, sequence parallelism."""
    names = {"tp": "tp", "pp": "pp", "dp": "dp", "cp": "context_parallel_size",
             "ep": "expert_parallel_size"}  # fmt: skip
    sizes = {
        axis: launch.fixed(axis, launch.whole(f"parallelism.{name}", 1))
        for axis, name in names.items()
    }
    stage = launch.whole("optimizer.zero_stage", 0, least=0)
    if stage > 1:
        launch.wrong("optimizer.zero_stage", f"{stage} is not 0 or 1")
    scatters = launch.choice("parallelism.tp_mode", "REDUCE_SCATTER", _MODES)
    schedule = launch.choice("parallelism.pp_engine", "1f1b", _ENGINES)
    launch.check()
    return {
        **sizes,
        "fsdp": 1,
        "sharding": "zero1" if stage and sizes["dp"] > 1 else "ddp",
        "sequence_parallel": scatters and sizes["tp"] > 1,
        "schedule": schedule,
        "split": "by-cost",
    }

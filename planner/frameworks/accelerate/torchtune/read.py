"""Configurations of torchtune as plans and jobs.

Names and defaults: torchtune 0.6.1 (PyPI) recipes/*.py, models/*/_model_builders.py.
"""

from __future__ import annotations

import re
from typing import Any

from planner.frameworks.accelerate.torchtune.commands import TuneRun, configured, is_command, over
from planner.frameworks.accelerate.torchtune.models import MODELS
from planner.frameworks.reading.imported import Imported
from planner.frameworks.reading.settings import Asked, LaunchSettings, chips_of, data_ranks
from planner.frameworks.reading.texts import looks_like_shell
from planner.frameworks.reading.tuning import adapted, length_of, optimizer_named
from planner.frameworks.reading.yaml_files import yaml_settings
from planner.plan import Plan

_ATTENTION = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "output_proj": "o"}
_TRUTH = {"true": True, "false": False}
_PRECISIONS = {"bf16": "bf16", "fp16": "fp16", "fp32": "fp32"}
_ADAPTED = re.compile(r"(?P<quantized>q?)(?P<dora>lora|dora)_(?P<builder>\w+)")
_BUILT = {(one.module, one.builder): name for name, one in MODELS.items()}
_VERSION = re.compile(r"(?<=[0-9])_(?=[0-9](_|$))")
_PER_NODE = re.compile(r"--nproc[-_]per[-_]node[ =]([0-9]{1,5})")
_NODES = re.compile(r"--nnodes[ =]([0-9]{1,5})")
_ONE = re.compile(r"\b(full|lora|knowledge_distillation)\w*_single_device\b")
_REASON = "no part of a plan"


def is_launch(text: str) -> bool:
    """Whether a text names components of torchtune, or runs one of its recipes."""
    own = re.search(r"^ +_component_: *[\"']?torchtune\.", text, re.M)
    return bool(own or (looks_like_shell(text) and is_command(text)))


def read(text: str, asked: Asked) -> Imported:
    """The plan of a configuration.

    Args:
        text: The YAML file.
        asked: What is asked beside it.

    Raises:
        InputError: The text cannot be read, contradicts itself, or launches what no plan says; a
            line each.
    """
    launch, command = _opened(text, asked)
    _refuse_others(launch)
    name, trained = _model(launch)
    model = asked.model_of({}, None, name)
    pairs = "DPO" in launch.text("loss._component_")
    length = length_of(launch, "tokenizer.max_seq_len")
    ranks = _ranks(launch, text, command)
    rows = launch.whole("batch_size", 1) * (2 if pairs else 1)
    steps = launch.whole("gradient_accumulation_steps", 1)
    sharding = "zero3" if ranks["fsdp"] > 1 else "ddp"
    whole_layers = launch.choice("enable_activation_checkpointing", "false", _TRUTH)
    plan = launch.finished(
        Plan(
            **ranks,
            sharding=sharding,
            micro_batch=launch.fixed("micro_batch", rows),
            recompute="full" if whole_layers else "none",
            offload=_offload(launch),
            split="even",
        )
    )
    _warn(launch)
    job = {
        "seq_len": length,
        "batch_tokens": plan.micro_batch * steps * plan.fsdp * length,
        "precision": launch.choice("dtype", "bf16", _PRECISIONS),
        "framework": "fsdp",
        "model": model.name,
        "optimizer": optimizer_named(launch, "optimizer._component_", "torch.optim.AdamW"),
        **trained,
    }
    if pairs:
        job["reference"] = "adapters" if trained["job"] == "lora" else "model"
    reasons = dict.fromkeys(launch.values, _REASON)
    return launch.imported("torchtune", plan, job, {}, reasons, ())


def _opened(text: str, asked: Asked) -> tuple[LaunchSettings, TuneRun | None]:
    """The settings of a file, or of the one that a script names with what its command says."""
    if not looks_like_shell(text):
        return LaunchSettings(asked, yaml_settings(text, asked.name)), None
    own, command = configured(text, asked)
    settings = over(yaml_settings(own, asked.name), command)
    launch = LaunchSettings(asked, settings, warnings=list(command.notes), changed=command.changed)
    return launch, command


def _refuse_others(launch: LaunchSettings) -> None:
    """Recipes that train with a second model, or do not train."""
    for name, what in (
        ("teacher_model._component_", "distils from a second model"),
        ("policy_model._component_", "learns by reinforcement"),
    ):
        if launch.on(name):
            launch.wrong(name, f"{what}, which no plan says")
    if not launch.on("optimizer._component_"):
        launch.wrong("optimizer", "is missing: the recipe does not train")
    launch.check()


def _model(launch: LaunchSettings) -> tuple[str, dict[str, Any]]:
    """The model's name, and what of it is trained."""
    parts = launch.text("model._component_").split(".")
    module, builder = parts[-2:] if len(parts) > 1 else ("", parts[0])
    match = _ADAPTED.fullmatch(builder)
    builder = match["builder"] if match else builder
    bare = builder.removesuffix("_instruct").removesuffix("_base")
    name = _BUILT.get((module, builder)) or _VERSION.sub(".", bare)
    if match is None:
        return name, {"job": "finetune"}
    attention = launch.values.get("model.lora_attn_modules", ())
    launch.taken.add("model.lora_attn_modules")
    inner = ("gate", "up", "down") if launch.text("model.apply_lora_to_mlp") == "true" else ()
    if launch.text("model.apply_lora_to_output") == "true":
        launch.warnings.append("model.apply_lora_to_output: the adapter of the head is not counted")
    return name, adapted(
        rank=launch.whole("model.lora_rank", 8),
        targets=(*(_ATTENTION[one] for one in attention if one in _ATTENTION), *inner),
        dropout=launch.share("model.lora_dropout", 0.0),
        dora=match["dora"] == "dora" or launch.text("model.use_dora") == "true",
        quantized=bool(match["quantized"]) or launch.text("model.quantize_base") == "true",
    )


def _ranks(launch: LaunchSettings, text: str, command: TuneRun | None) -> dict[str, Any]:
    """The mesh: what `tune run` or a remark of it says, else a node; shards take what tp leaves."""
    tp = launch.fixed("tp", launch.whole("tensor_parallel_dim", 1))
    started = None
    if command is not None:
        chips = chips_of(launch, command.chips, command.said)
        data = data_ranks(launch, chips, {"tp": tp})
        return {"tp": tp, "fsdp": launch.fixed("fsdp", data), "dp": 1}
    if each := _PER_NODE.search(text):
        nodes = _NODES.search(text)
        started = int(each[1]) * (int(nodes[1]) if nodes else 1)
    elif _ONE.search(text):
        started = 1
    if started and launch.asked.chips is None:
        launch.assume("chips", started, "by a remark in the text")
    chips = chips_of(launch, started, "a remark")
    return {"tp": tp, "fsdp": launch.fixed("fsdp", data_ranks(launch, chips, {"tp": tp})), "dp": 1}


def _offload(launch: LaunchSettings) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    if launch.choice("fsdp_cpu_offload", "false", _TRUTH):
        found = ("optimizer", "weights")
    if launch.choice("enable_activation_offloading", "false", _TRUTH):
        found = (*found, "activations")
    return found


def _warn(launch: LaunchSettings) -> None:
    if launch.text("compile", "false") == "false":
        launch.warnings.append("compile: is off; kernels that are not compiled take longer")
    if launch.text("optimizer_in_bwd", "false") == "true":
        launch.warnings.append("optimizer_in_bwd: frees gradients early: less memory than counted")
    if launch.on("quantizer._component_"):
        launch.warnings.append("quantizer: products of fake-quantized weights are not counted")

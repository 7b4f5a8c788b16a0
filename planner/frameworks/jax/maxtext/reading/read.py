"""Launches of MaxText as plans: `name=value` in a script, or a YAML file.

Names and defaults: MaxText e591f30 (2026-08-22), src/maxtext/configs/base.yml; how a scale widens
a model: utils/max_utils.py and configs/types.py (`get_individual_scales`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.numerals import is_digits, number_of
from planner.frameworks.jax.maxtext.models import NAMED
from planner.frameworks.jax.maxtext.reading.topology import Slices, slices_in
from planner.frameworks.reading.commands import Command, command_in
from planner.frameworks.reading.imported import Imported
from planner.frameworks.reading.settings import RECOMPUTES_ALLOWED, Asked, LaunchSettings
from planner.frameworks.reading.texts import looks_like_shell
from planner.frameworks.reading.yaml_files import yaml_settings
from planner.plan import Plan

_AXES = (
    "data", "fsdp", "fsdp_transpose", "sequence", "context", "tensor", "tensor_sequence",
    "pipeline", "expert", "autoregressive",
)  # fmt: skip
_MESH = tuple(f"{kind}_{axis}_parallelism" for kind in ("ici", "dcn") for axis in _AXES)
_NAMES = frozenset(
    {
        "model_name", "per_device_batch_size", "max_target_length", "remat_policy", "steps",
        "enable_checkpointing", "dataset_type", "base_output_directory", "run_name", "attention",
        "gradient_accumulation_steps", "quantization", "dtype", "weight_dtype", "opt_type",
        "mu_dtype", "shard_optimizer_over_data", "global_parameter_scale", "hardware",
        "num_pipeline_microbatches", "num_pipeline_repeats", "num_layers_per_pipeline_stage",
        "optimizer_memory_host_offload", "parameter_memory_host_offload", *_MESH,
    }
)  # fmt: skip
_REMAT = {
    "full": ("full", True),
    "minimal": ("none", False),
    "minimal_with_context": ("none", True),
    "minimal_flash": ("none", True),
    "minimal_offloaded": ("none", True),
    "none": ("none", True),
    "save_dot_except_mlp": ("selective", True),
}
"""A policy as a recomputation of plans, and whether it is just that."""
_TENSORS = (
    "context", "query_proj", "key_proj", "value_proj", "qkv_proj", "out_proj", "mlpwi", "mlpwi_0",
    "mlpwi_1", "mlpwo", "moe_mlpwi", "moe_mlpwi_0", "moe_mlpwi_1", "moe_mlpwo",
)  # fmt: skip
"""Tensors that a custom policy keeps, moves or computes again, beside the inputs of layers."""
_PRECISIONS = {"": "", "int8": "int8", "fp8": "fp8", "fp8_full": "fp8", "nanoo_fp8": "fp8"}
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_BASE = {
    "base_emb_dim": 2048, "base_num_query_heads": 16, "base_num_kv_heads": 16,
    "base_mlp_dim": 7168, "base_num_decoder_layers": 16, "head_dim": 128, "vocab_size": 32000,
}  # fmt: skip
_CONFIGURATION = re.compile(r"[^=]*\.ya?ml")
_ELSEWHERE = re.compile(r"benchmark_runner")
_PROGRAM = re.compile(
    r"\b(maxtext|MaxText)[./]|base_config:|^[^\S\n]*+per_device_batch_size\s*[:=]", re.M
)
_OWN = {own: name for name, own in NAMED.items()}
_REASON = "no part of a plan"


def is_launch(text: str) -> bool:
    """Whether a text starts MaxText, or is a file over its base.yml."""
    return bool(_PROGRAM.search(text) or ("xpk" in text and _ELSEWHERE.search(text)))


def read(text: str, asked: Asked) -> Imported:
    """The plan of a launch.

    Args:
        text: A script, or a YAML file.
        asked: What is asked beside it.

    Raises:
        InputError: The text cannot be read, contradicts itself, or launches what no plan says; a
            line each.
    """
    values, command = _settings(text, asked)
    launch = LaunchSettings(asked, values, changed=command.changed)
    launch.warnings += command.notes
    name = launch.text("model_name", "default")
    model = asked.model_of(_dimensions(launch, name), None, _OWN.get(name, name))
    slices = slices_in(text, asked.name, launch)
    mesh = _mesh(launch, slices)
    micro_batch, batch = _batch(launch, mesh, slices)
    interleave = launch.whole("num_pipeline_repeats", 1) if mesh["pp"] > 1 else 1
    plan = launch.finished(
        Plan(
            **mesh,
            micro_batch=micro_batch,
            interleave=interleave,
            schedule=_schedule(mesh["pp"], interleave),
            recompute=_recompute(launch),
            offload=_offload(launch),
        )
    )
    length = launch.whole("max_target_length", 2048)
    _assume(launch, "max_target_length", length)
    job = {
        "seq_len": length,
        "batch_tokens": batch * length,
        "precision": _precision(launch),
        "framework": "jax",
        "model": model.name,
    }
    return launch.imported("maxtext", plan, job, {}, dict.fromkeys(launch.values, _REASON), ())


def _assume(launch: LaunchSettings, name: str, value: object) -> None:
    if name not in launch.values:
        launch.assume(name, value, "the default of MaxText's base.yml")


def _settings(text: str, asked: Asked) -> tuple[dict[str, tuple[str, ...]], Command]:
    """Settings with their values as text, and the command."""
    if looks_like_shell(text):
        if _ELSEWHERE.search(text):
            raise InputError(
                f"{asked.name}: benchmark_runner takes its settings from MaxText's benchmarks, "
                "which this text does not show"
            )
        command = command_in(text, asked.name, _NAMES, "MaxText", asked.beside, asked.arguments)
        words = (word.partition("=") for word in command.words)
        given = [(name, value) for name, equals, value in words if equals and name.isidentifier()]
        over = {name: (value,) for name, value in given}
        under, notes = _under(command, over, asked)
        return {**under, **over}, replace(command, notes=(*command.notes, *notes))
    return yaml_settings(text, asked.name), Command(words=[])


def _under(
    command: Command, over: Mapping[str, object], asked: Asked
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The settings of the file that a command names, if that is not base.yml itself.

    Raises:
        InputError: The file is not there, and the command does not say the model.
    """
    path = next((word for word in command.words if _CONFIGURATION.fullmatch(word)), "")
    own = path.rpartition("/")[2]
    if own in ("", "base.yml"):
        return {}, ()
    places = (path.rpartition("}")[2].lstrip("/\"'"), own)
    text = next((found for one in places if (found := command.file(one, asked))), None)
    if text is not None:
        return yaml_settings(text, own), ()
    if not over.keys() & {"model_name", "base_emb_dim"}:
        raise InputError(
            f"{asked.name}: its settings are in {own}, which does not lie beside it; put that "
            "file there, or read it in place of the script"
        )
    return {}, (f"the settings of {own}, which does not lie beside it, are taken from base.yml",)


def _dimensions(launch: LaunchSettings, name: str) -> dict[str, Any]:
    """The shape of a model without a name: that of base.yml, widened by its scale."""
    if name != "default":
        return {}
    scale = launch.whole("global_parameter_scale", 1)
    steps = scale.bit_length() - 1
    if 1 << steps != scale:
        launch.wrong("global_parameter_scale", f"{scale} is no power of two")
    each, rest = divmod(steps, 3)
    wide, heads = each + (rest > 1), each + (rest > 0)
    value = {one: launch.whole(one, default) for one, default in _BASE.items()}
    plain = launch.text("decoder_block", "llama2") == "gpt3"
    return {
        "layers": value["base_num_decoder_layers"] << each,
        "hidden": value["base_emb_dim"] << wide,
        "heads": value["base_num_query_heads"] << heads,
        "kv_heads": value["base_num_kv_heads"] << heads,
        "head_dim": value["head_dim"],
        "mlp.gated": not plain,
        **_inner(launch, value["base_mlp_dim"] << heads),
        "vocab_size": value["vocab_size"],
        "tied_embeddings": launch.text("logits_via_embedding", "false").lower() == "true",
        "norm.kind": "layernorm" if plain else "rmsnorm",
        "positions.kind": "learned" if plain else "rope",
    }


def _inner(launch: LaunchSettings, width: int) -> dict[str, Any]:
    """Width of the MLP, or the experts."""
    experts = launch.whole("num_experts", 1)
    if experts == 1:
        return {"mlp.hidden": width, "moe.experts": 0}
    return {
        "moe.experts": experts,
        "moe.experts_per_token": launch.whole("num_experts_per_tok", 1),
        "moe.expert_hidden": launch.whole("base_moe_mlp_dim", 0, least=0) or width,
        "attention.sinks": launch.text("attention_sink", "false") == "true",
    }


def _mesh(launch: LaunchSettings, slices: Slices) -> dict[str, Any]:
    """Fields of the plan: axes, sharding, sequence parallelism."""
    ici = _sizes(launch, "ici", slices.devices, "fsdp")
    dcn = _sizes(launch, "dcn", slices.count, "data")
    size = {axis: ici[axis] * dcn[axis] for axis in _AXES}
    tp = size["tensor"] * size["tensor_sequence"] * size["autoregressive"]
    fsdp = size["fsdp"] * size["fsdp_transpose"] * size["expert"]
    cp, dp, twins = size["context"] * size["sequence"], size["data"], slices.per_chip
    for twin in ("tp", "fsdp", "dp"):
        sizes = {"tp": tp, "fsdp": fsdp, "dp": dp}
        if twins > 1 and sizes[twin] % twins == 0:
            tp, fsdp, dp = (sizes[one] // (twins if one == twin else 1) for one in sizes)
            launch.assume(f"plan.{twin}", sizes[twin] // twins, f"{twins} devices are one chip")
            break
    shards = launch.text("shard_optimizer_over_data", "false").lower() == "true"
    return {
        "tp": launch.fixed("tp", tp),
        "cp": launch.fixed("cp", cp),
        "pp": launch.fixed("pp", size["pipeline"]),
        "ep": launch.fixed("ep", size["expert"]),
        "dp": launch.fixed("dp", dp),
        "fsdp": launch.fixed("fsdp", fsdp),
        "sharding": "zero3" if fsdp * cp > 1 else "zero1" if shards and dp > 1 else "ddp",
        "sequence_parallel": size["tensor_sequence"] > 1,
    }


def _schedule(stages: int, interleave: int) -> str:
    """Its pipeline; micro-batches of one stage follow one another."""
    if interleave > 1:
        return "interleaved"
    return "gpipe" if stages > 1 else "1f1b"


def _sizes(launch: LaunchSettings, kind: str, total: int, free: str) -> dict[str, int]:
    """Sizes of the axes inside slices or over them; -1 takes what the others leave."""
    texts = {
        axis: launch.text(f"{kind}_{axis}_parallelism", "-1" if axis == free else "1")
        for axis in _AXES
    }
    for axis, text in texts.items():
        if text != "-1" and not (is_digits(text) and int(text[:9]) > 0):
            launch.wrong(f"{kind}_{axis}_parallelism", f"{shown(text)} is no size of an axis")
    launch.check()
    open_axes = [axis for axis, text in texts.items() if text == "-1"]
    product = 1
    for text in texts.values():
        product *= 1 if text == "-1" else int(text)
    what = "devices of a slice" if kind == "ici" else "slices"
    if len(open_axes) > 1:
        launch.wrong(f"{kind}_{open_axes[1]}_parallelism", "is -1 beside another axis; keep one")
    if total % product or (not open_axes and product != total):
        launch.wrong(f"{kind}_{free}_parallelism", f"axes of {product} are not {total} {what}")
    launch.check()
    return {axis: total // product if text == "-1" else int(text) for axis, text in texts.items()}


def _batch(launch: LaunchSettings, mesh: dict[str, Any], slices: Slices) -> tuple[int, int]:
    """Sequences of a micro-batch on one data rank, and of a step."""
    text = launch.text("per_device_batch_size", "12.0")
    _assume(launch, "per_device_batch_size", text)
    try:
        each = number_of(text)
    except ValueError:
        each = -1.0
    if not 0 < each < 1 << 20:
        launch.wrong("per_device_batch_size", f"{shown(text)} is no share of a batch")
        launch.check()
    rows, ranks = int(each * slices.devices * slices.count), mesh["dp"] * mesh["fsdp"]
    steps = launch.whole("gradient_accumulation_steps", 1)
    micro_batches = 1
    if mesh["pp"] > 1:
        given = launch.text("num_pipeline_microbatches", "-1")
        micro_batches = int(given) if is_digits(given) and int(given[:9]) else mesh["pp"]
    if not rows or rows % (ranks * micro_batches):
        launch.wrong(
            "per_device_batch_size",
            f"{rows} sequences are not the same whole number on each of {ranks} data ranks"
            + (f" and {micro_batches} micro-batches" if micro_batches > 1 else ""),
        )
        launch.check()
    micro_batch = launch.fixed("micro_batch", rows // (ranks * micro_batches))
    return micro_batch, rows * steps


def _recompute(launch: LaunchSettings) -> str:
    text = launch.text("remat_policy", "full")
    if text == "custom":
        kept = [name for name in _TENSORS if launch.text(name, "remat") in ("device", "offload")]
        found = "selective" if any(name.startswith(("mlp", "moe")) for name in kept) else "full"
        what = f"custom keeps {', '.join(kept) or 'inputs of layers'}"
        launch.warnings.append(f"remat_policy: {what}; it is taken for recompute {found}")
        return found
    found, exact = _REMAT.get(text, ("selective" if text.startswith("save_") else "", False))
    if not found:
        what = f"{shown(text)} is none that a plan describes"
        launch.unsupported("recompute", "remat_policy", what, RECOMPUTES_ALLOWED)
        return "full"
    if not exact:
        launch.warnings.append(f"remat_policy: {text} is taken for recompute {found}")
    return found


def _offload(launch: LaunchSettings) -> tuple[str, ...]:
    """What is kept on the host."""
    found = []
    for name, part in (
        ("parameter_memory_host_offload", "weights"),
        ("optimizer_memory_host_offload", "optimizer"),
    ):
        if launch.text(name, "false").lower() == "true":
            found.append(part)
    policy = launch.look("remat_policy")
    if policy == "custom" and launch.text("decoder_layer_input", "device") == "offload":
        what = "inputs of layers lie on the host, which the prediction counts on the chip"
        launch.warnings.append(f"decoder_layer_input: {what}")
    if policy == "minimal_offloaded":
        found.append("activations")
    return tuple(part for part in ("optimizer", "weights", "activations") if part in found)


def _precision(launch: LaunchSettings) -> str:
    quantized = launch.text("quantization")
    if quantized in _PRECISIONS:
        return _PRECISIONS[quantized] or str(launch.choice("dtype", "bfloat16", _DTYPES))
    launch.warnings.append(f"quantization: {shown(quantized)} is taken for 16 bits")
    return str(launch.choice("dtype", "bfloat16", _DTYPES))

"""Launches of torchtitan as plans: TOML of 0.2, overrides and functions of 0.3.

Names and defaults: torchtitan/config/job_config.py of v0.2.2 (73a0e69), torchtitan/config/
configs.py of 0.3.0; what follows from what: train.py and trainer.py (batches), distributed/
parallel_dims.py (the mesh), models/llama3/infra/parallelize.py (sharding, or replicas alone).
"""

from __future__ import annotations

from typing import Any

from models_db import Model
from planner.frameworks.reading.imported import Imported
from planner.frameworks.reading.settings import (
    RECOMPUTES_ALLOWED,
    Asked,
    LaunchSettings,
    chips_of,
    data_ranks,
)
from planner.frameworks.torchtitan.models import FLAVORS, Flavor
from planner.frameworks.torchtitan.reading.defaults import (
    add_choices,
    check_known,
    check_source,
    fill,
    module_of,
    registered,
)
from planner.frameworks.torchtitan.reading.functions import function_settings, is_registry
from planner.frameworks.torchtitan.reading.names import OTHER_SECTIONS, known_settings
from planner.frameworks.torchtitan.reading.registry import PARTLY_NVFP4
from planner.frameworks.torchtitan.reading.stages import pipeline_of
from planner.frameworks.torchtitan.reading.text import FILE, settings_in
from planner.plan import Plan

_BOOLEANS = {"true": True, "false": False}
_RESHARDS = {name: name for name in ("default", "always", "never")}
_STORED = {"float32": False, "bfloat16": True}
_MIXED = {"bfloat16": "bf16", "float32": "fp32"}
_LENGTH, _LOCAL = 2048, 8  # defaults of training.seq_len and training.local_batch_size


def read(text: str, asked: Asked) -> Imported:
    """The plan of a launch.

    Args:
        text: A TOML file, a command with overrides, or Python with configurations as functions.
        asked: What is asked beside it.

    Raises:
        InputError: The text cannot be read, contradicts itself, or launches what no plan says; a
            line each.
    """
    tunes, is_function = False, is_registry(text)
    if is_function:
        settings, command, tunes = function_settings(text, asked)
    else:
        settings, command = settings_in(text, asked)
    newer = is_function or (bool(command.words) and not settings.pop(FILE, ()))
    launch = LaunchSettings(asked, settings, changed=command.changed)
    launch.warnings += command.notes
    check_source(launch)
    launch.check()
    fill(launch)
    add_choices(launch)
    dimensions = _dimensions(launch)
    model = asked.model_of(dimensions, None, "" if dimensions else _called(launch))
    if command.words and newer:
        check_known(launch, model)
    chips = chips_of(launch, command.chips, command.said)
    mesh = _mesh(launch, model, chips)
    pipeline = pipeline_of(launch, model, mesh["pp"])
    data = mesh["dp"] * mesh["fsdp"]
    micro_batch, batch = _batch(launch, mesh["pp"], data)
    length = launch.whole("training.seq_len", _LENGTH)
    _assume(launch, "training.seq_len", length)
    _check_chunks(launch, model, length)
    plan = launch.finished(
        Plan(**mesh, **pipeline, micro_batch=micro_batch, recompute=_recompute(launch))
    )
    if not newer:
        _check_replicas(launch, plan)
    job = {"seq_len": length, "batch_tokens": batch * length, "precision": _precision(launch)}
    reasons = {name: "no part of a plan" for name in known_settings()}
    reasons |= {
        name: OTHER_SECTIONS[section]
        for name in settings
        if (section := name.split(".")[0]) in OTHER_SECTIONS and "." in name
    }
    framework = _framework(launch, model, early=not newer)
    said = {**job, "framework": framework, "model": model.name}
    said |= {"job": "finetune"} if tunes else {}
    return launch.imported("torchtitan", plan, said, dimensions, reasons)


def _called(launch: LaunchSettings) -> str:
    """A model that is none of torchtitan's with dimensions here, as messages name it."""
    words = (launch.look("model.name") or module_of(launch), launch.look("model.flavor"))
    return " ".join(filter(None, words))


def _assume(launch: LaunchSettings, name: str, value: object) -> None:
    if name not in launch.values:
        launch.assume(name, value, "torchtitan's default")


def _dimensions(launch: LaunchSettings) -> dict[str, Any]:
    """Dimensions of the model that torchtitan has under a name; nothing for the user's own."""
    module = launch.text("model.name") or module_of(launch)
    flavor = launch.text("model.flavor")
    if (shipped := registered(launch)) is not None:
        flavor = shipped.flavor
    for one in FLAVORS:
        if one.module == module and one.name == flavor:
            return _of_flavor(one)
    return {}


def _check_chunks(launch: LaunchSettings, model: Model, length: int) -> None:
    """Warns where a Llama 4 without `_irope` attends over whole sequences in every layer."""
    window = model.window
    if launch.text("model.name") != "llama4" or window is None or length <= window.tokens:
        return
    flavor = launch.text("model.flavor")
    if not flavor.endswith("_irope"):
        launch.warnings.append(
            f"model.flavor: every layer of {flavor} attends over all {length:,} tokens; the "
            f"prediction has some attend over {window.tokens:,}: a shorter step"
        )


def _of_flavor(flavor: Flavor) -> dict[str, Any]:
    found: dict[str, Any] = {
        "layers": flavor.layers,
        "hidden": flavor.hidden,
        "heads": flavor.heads,
        "kv_heads": flavor.kv_heads,
        "head_dim": flavor.head_dim,
        "moe.experts": flavor.experts[0],
        "tied_embeddings": flavor.tied,
        "vocab_size": flavor.vocab,
    }
    return found | ({"mlp.hidden": flavor.mlp} if flavor.mlp else {})


def _mesh(launch: LaunchSettings, model: Model, chips: int | None) -> dict[str, Any]:
    """Fields of the plan: axes, sharding, modes of tp and cp, offloading."""
    start = "parallelism."
    sizes = {
        axis: launch.fixed(axis, launch.whole(f"{start}{name}_parallel_degree", 1))
        for axis, name in (("tp", "tensor"), ("cp", "context"), ("pp", "pipeline"))
    }
    replicas = launch.fixed("dp", launch.whole(f"{start}data_parallel_replicate_degree", 1))
    launch.check()
    shards = _shards(launch, chips, sizes, replicas)
    sequence = launch.choice(f"{start}enable_sequence_parallel", "true", _BOOLEANS)
    offload = launch.choice("training.enable_cpu_offload", "false", _BOOLEANS)
    return {
        **sizes,
        "dp": replicas,
        "fsdp": shards,
        "ep": _experts(launch, model, sizes["tp"]),
        "sharding": _sharding(launch, shards * sizes["cp"], sizes["pp"]),
        "sequence_parallel": sequence and sizes["tp"] > 1,
        "cp_mode": _cp_mode(launch, sizes["cp"]),
        "offload": ("optimizer", "weights") if offload else (),
    }


def _shards(launch: LaunchSettings, chips: int | None, sizes: dict[str, int], replicas: int) -> int:
    """Shards of the training state; -1, the default, takes all ranks that are left."""
    name = "parallelism.data_parallel_shard_degree"
    left = launch.text(name, "-1") == "-1"
    shards = 1 if left else launch.whole(name)
    shards = launch.fixed("fsdp", shards)
    launch.check()
    beside = {"replicas": replicas, **sizes}
    if left and "fsdp" not in launch.asked.fix:
        return data_ranks(launch, chips, beside)
    if chips is not None and data_ranks(launch, chips, {**beside, "shards": shards}) != 1:
        product = replicas * shards * sizes["tp"] * sizes["cp"] * sizes["pp"]
        launch.wrong("chips", f"{chips:,} contradict the degrees, whose product is {product:,}")
    return int(shards)


def _sharding(launch: LaunchSettings, shards: int, pp: int) -> str:
    """What data parallelism shards, over shards that count the ranks of a context.

    Under a pipeline `default` gathers a stage once per step as `never` does, which is zero3 of
    a framework that `gathers_once_under_pp` (0.3.0 distributed/fsdp.py,
    get_fsdp_reshard_after_forward_policy; v0.2.2 models/llama3/infra/parallelize.py). Without one
    `never` holds all gathered weights between the passes, and no sharding of torchtitan's counts
    those.
    """
    name = "parallelism.fsdp_reshard_after_forward"
    policy = launch.choice(name, "default", _RESHARDS)
    if shards == 1:
        return "ddp"
    if pp > 1 and policy == "always":
        launch.warnings.append(
            f"{name}: gathers the weights with every micro-batch; the prediction gathers them "
            "once and keeps them: a shorter step and more memory"
        )
    if pp == 1 and policy == "never":
        what = "never keeps the weights gathered after the forward pass, which no plan says"
        launch.unsupported("sharding", name, what, "sharding=zero3")
        launch.warnings.append(
            f"{name}: keeps the weights gathered after the forward pass: more memory, by 2 bytes "
            "per parameter in bf16, and fewer gathers than the answer counts"
        )
    return "zero3"


def _check_replicas(launch: LaunchSettings, plan: Plan) -> None:
    """Warns of replicas beside other axes (v0.2.2 models/llama3/infra/parallelize.py)."""
    if plan.sharding == "ddp" and plan.dp > 1 and plan.tp * plan.pp > 1:
        launch.warnings.append(
            "parallelism.data_parallel_replicate_degree: torchtitan 0.2 has replicas without "
            f"shards only alone and stops at tp {plan.tp} and pp {plan.pp}; 0.3 runs them"
        )


def _experts(launch: LaunchSettings, model: Model, tp: int) -> int:
    """Expert-parallel ranks; without them tensor parallelism divides experts.

    Source: v0.2.2 models/llama4/infra/parallelize.py, apply_moe_ep_tp; 0.3.0
    models/common/moe_sharding.py, expert_param_placement_dense.
    """
    ep = launch.whole("parallelism.expert_parallel_degree", 1)
    name = "parallelism.expert_tensor_parallel_degree"
    split = launch.whole(name, 1)
    if model.moe is not None and ep == 1 and tp > 1:
        name, split = "parallelism.expert_parallel_degree", tp
    if model.moe is not None and split > 1:
        what = f"experts are split over {split} ranks of tp; a plan keeps each whole on a chip"
        launch.unsupported("ep", name, what, f"ep={ep * split}")
    if model.moe is None and ep > 1:
        launch.wrong("parallelism.expert_parallel_degree", f"{model.name} has no experts")
    return int(launch.fixed("ep", ep))


def _cp_mode(launch: LaunchSettings, cp: int) -> str:
    """A ring, whose keys and values travel step by step, or are gathered at once."""
    name = "parallelism.context_parallel_rotate_method"
    method = launch.text(name, "alltoall")
    if cp > 1 and method == "allgather":
        launch.warnings.append(f"{name}: gathers keys and values; the prediction sends them round")
    return "ring"


def _batch(launch: LaunchSettings, pp: int, data: int) -> tuple[int, int]:
    """The micro-batch and the global batch in sequences."""
    local = launch.whole("training.local_batch_size", _LOCAL)
    _assume(launch, "training.local_batch_size", local)
    name = "parallelism.pipeline_parallel_microbatch_size"
    micro = launch.whole(name, 1)
    micro = micro if pp > 1 else local
    whole = launch.text("training.global_batch_size", "-1") == "-1"
    batch = local * data if whole else launch.whole("training.global_batch_size")
    if local % micro:
        launch.wrong(name, f"{micro} does not divide the local batch of {local}")
    if batch % (local * data):
        what = f"{batch} is no multiple of {local} on each of {data} data ranks"
        launch.wrong("training.global_batch_size", what)
    elif pp > 1 and (rounds := batch // (local * data)) > 1:
        launch.warnings.append(
            f"training.global_batch_size: the pipeline fills and drains {rounds} times a step; "
            "the prediction has it do so once"
        )
    return launch.fixed("micro_batch", micro), batch


def _recompute(launch: LaunchSettings) -> str:
    """Which activations are computed again."""
    mode = launch.text("activation_checkpoint.mode", "selective")
    _assume(launch, "activation_checkpoint.mode", mode)
    later = "module" in launch.values or "config" in launch.values
    option = launch.text("activation_checkpoint.selective_ac_option", "op" if later else "2")
    if mode in ("none", "full"):
        return mode
    name = "activation_checkpoint.mode"
    if mode == "selective":
        if option != "op":
            what = f"recomputes every layer of {option}, not half of every layer's products"
            launch.unsupported("recompute", name, what, RECOMPUTES_ALLOWED)
        return mode
    what = f"{mode!r} is none of none, selective and full, which a plan has"
    launch.unsupported("recompute", name, what, RECOMPUTES_ALLOWED)
    return "none"


def _precision(launch: LaunchSettings) -> str:
    """The number format of products; converters make it 8 or 4 bits."""
    converters = " ".join(launch.values.get("model.converters", ()))
    launch.taken.add("model.converters")
    base = str(launch.choice("training.mixed_precision_param", "bfloat16", _MIXED))
    if launch.choice("training.dtype", "float32", _STORED):
        launch.warnings.append(
            "training.dtype: weights, gradients and optimizer are kept in 16 bits; the prediction "
            "keeps them in 32, in twice the memory"
        )
    if converters == PARTLY_NVFP4:
        launch.warnings.append(
            f"model.converters: {converters}; the prediction multiplies in 4 bits in all of them"
        )
    if "float8" in converters:
        return "fp8"
    if "nvfp4" in converters:
        return "fp4"
    return "mxfp8" if "mx" in converters else base


def _framework(launch: LaunchSettings, model: Model, *, early: bool) -> str:
    """The memory profile: 0.2 keeps all logits, in more bytes where the loss is not compiled.

    From 0.3 on the loss takes a part of the sequence at a time (components/loss.py,
    ChunkedLossWrapper), compiled or not.
    """
    name = "compile.components"
    enabled = launch.choice("compile.enable", "false", _BOOLEANS)
    launch.taken.add(name)
    given = ",".join(launch.values.get(name, ("model", "loss")))
    compiled = given.replace(" ", "").split(",") if enabled else []
    if "model" not in compiled and model.moe is None:
        launch.warnings.append(
            "compile.enable: layers are not compiled; the prediction has them compiled: a shorter "
            "step and less memory"
        )
    if not early or "loss" in compiled:
        return "torchtitan"
    launch.assume("framework", "torchtitan-2024", "the loss is not compiled")
    return "torchtitan-2024"

"""How Accelerate shards what is trained: by its configuration, its options, and the Trainer's.

Names: Accelerate 1.15.0 commands/config/config_args.py and utils/dataclasses.py; transformers
5.23.0 training_args.py (`fsdp`, `deepspeed`).
"""

from __future__ import annotations

import re
from typing import Any

from frozen_records import dataclass
from planner.base.jsonfile import json_object
from planner.frameworks.accelerate.trl.commands import Started
from planner.frameworks.hugging_face.trainer import is_true
from planner.frameworks.reading.settings import NODE, LaunchSettings
from planner.frameworks.reading.texts import inside

_STAGE = re.compile(r"zero[-_]?([123])|_z([123])\b|stage[-_]?([123])", re.IGNORECASE)
_FSDP = {
    "full_shard": "zero3", "1": "zero3", "true": "zero3",
    "shard_grad_op": "zero2", "2": "zero2", "false": "zero2",
    "no_shard": "ddp", "3": "ddp",
    "hybrid_shard": "zero3", "4": "zero3",
    "hybrid_shard_zero2": "zero2", "5": "zero2",
}  # fmt: skip
_TYPES = ("FSDP", "DEEPSPEED", "MULTI_GPU", "MULTI_CPU", "NO")
_OTHERS = ("use_megatron_lm", "tpu", "use_xpu")
_HYBRID = ("hybrid_shard", "4", "hybrid_shard_zero2", "5")
_OFFLOAD = ("optimizer", "weights")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharding:
    """How state is sharded.

    Attributes:
        kind: One of `planner.plan.SHARDINGS`.
        framework: The profile of what does it.
        replicas: Groups that each hold all of it; 0: one in each node.
        offload: What is kept on the host.
        recomputes: Whether it computes whole layers again.
    """

    kind: str
    framework: str = "fsdp"
    replicas: int = 1
    offload: tuple[str, ...] = ()
    recomputes: bool = False


def sharding_of(launch: LaunchSettings, started: Started) -> Sharding:
    """What shards the state of a program, and how.

    Args:
        launch: Its arguments.
        started: The command.
    """
    own = LaunchSettings(launch.asked, started.launcher)
    kind = own.text("distributed_type", "NO").upper()
    for name in _OTHERS:
        if is_true(own, name):
            launch.wrong(name, "is none of use_fsdp, use_deepspeed and multi_gpu, which are read")
    if kind not in _TYPES:
        launch.wrong("distributed_type", f"{kind} is none of {', '.join(_TYPES)}, which are read")
    json_file = launch.text("deepspeed") or own.text("deepspeed_config_file")
    if json_file or kind == "DEEPSPEED" or is_true(own, "use_deepspeed"):
        return _deepspeed(launch, own, started, json_file)
    words = [one.lower() for value in launch.values.get("fsdp", ()) for one in value.split()]
    launch.taken |= {"fsdp", "fsdp_config", "fsdp_transformer_layer_cls_to_wrap"}
    words = [word for word in words if word not in ("auto_wrap", "true")] or words
    if words and words[0] not in ("false", ""):
        return _fsdp(launch, own, next((word for word in words if word in _FSDP), "full_shard"))
    if kind == "FSDP" or is_true(own, "use_fsdp"):
        name = "fsdp_sharding_strategy"
        strategy = own.text(name) or own.text("fsdp_reshard_after_forward", "full_shard")
        return _fsdp(launch, own, strategy.lower())
    if started.config and not started.configured:
        return _named(launch, started.config)
    if not started.config and not started.program:
        launch.assume("sharding", "zero3", "Accelerate's configuration says: --fix sharding=ddp")
        return Sharding(kind="zero3")
    return Sharding(kind="ddp")


def _named(launch: LaunchSettings, config: str) -> Sharding:
    """By the name of a configuration that is not there."""
    stage = _STAGE.search(config)
    low = config.lower()
    if stage:
        found = Sharding(kind=f"zero{stage[1] or stage[2] or stage[3]}", framework="deepspeed")
    else:
        plain = "ddp" in low or "multi_gpu" in low or "single_gpu" in low
        found = Sharding(kind="ddp" if plain else "zero3")
    launch.assume("sharding", found.kind, f"by the name of {config}, which does not lie beside it")
    return found


def _fsdp(launch: LaunchSettings, own: LaunchSettings, strategy: str) -> Sharding:
    kind = _FSDP.get(strategy, "zero3")
    if kind == "zero2":
        what = f"{strategy} shards gradients and keeps weights whole, which no plan of fsdp says"
        launch.unsupported("sharding", "fsdp_sharding_strategy", what, "sharding=zero3")
        kind = "zero3"
    moves = any(is_true(own, name) for name in ("fsdp_offload_params", "offload_params"))
    moves = moves or "offload" in " ".join(launch.values.get("fsdp", ())).split()
    replicas = own.whole("parallelism_config_dp_replicate_size")
    return Sharding(
        kind=kind,
        replicas=0 if strategy in _HYBRID else replicas or 1,
        offload=_OFFLOAD if moves else (),
        recomputes=is_true(own, "fsdp_activation_checkpointing"),
    )


def _deepspeed(
    launch: LaunchSettings, own: LaunchSettings, started: Started, json_file: str
) -> Sharding:
    """A stage of ZeRO, by a JSON file or by Accelerate's own settings."""
    text = started.shell.file(json_file) if json_file else None
    text = text or (started.shell.file(json_file.rpartition("/")[2]) if json_file else None)
    if json_file and text is None and _STAGE.search(json_file):
        return _named(launch, json_file)
    if json_file and text is None:
        what = f"{json_file} does not lie beside it; --fix sharding=zero3 says its stage"
        launch.problems.append(("sharding", f"deepspeed: {what}"))
    data: dict[str, Any] = {}
    if text is not None:
        data, _ = json_object(text.encode("utf-8"), json_file)
    stage = str(inside(data, "zero_optimization.stage") or 0) if data else own.text("zero_stage")
    moves = [
        part
        for part, name in (("optimizer", "offload_optimizer"), ("weights", "offload_param"))
        if (
            inside(data, f"zero_optimization.{name}.device") or own.text(f"{name}_device", "none")
        ) not in ("none", None)
    ]  # fmt: skip
    kinds = {"0": "ddp", "1": "zero1", "2": "zero2", "3": "zero3"}
    if (stage or "2") not in kinds:
        launch.wrong("zero_stage", f"{stage!r} is not one of {', '.join(kinds)}")
    return Sharding(
        kind=kinds.get(stage or "2", "zero3"), framework="deepspeed", offload=tuple(moves)
    )


def replicas_of(sharding: Sharding, ranks: int) -> int:
    """Groups that each hold all of the state: one a node where that is said."""
    if sharding.kind != "zero3":
        return ranks
    return sharding.replicas or max(1, ranks // NODE)

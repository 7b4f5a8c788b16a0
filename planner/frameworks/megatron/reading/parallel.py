"""Mesh, sharding and offloading in arguments of Megatron-LM.

Sources: megatron/training/arguments.py (`validate_args`: data ranks are derived; experts are split
over tp unless --expert-tensor-parallel-size says otherwise; sequence parallelism is off without
tp), megatron/core/distributed/distributed_data_parallel_config.py, d98e8a64dd (2026-08-22).
"""

from __future__ import annotations

from typing import Any

from models_db import Model
from planner.frameworks.megatron.reading.model import overlap_warnings
from planner.frameworks.megatron.reading.optimizer import LAYER_WISE
from planner.frameworks.megatron.words import PIPELINE_INSIDE
from planner.frameworks.reading.settings import LaunchSettings, data_ranks
from planner.plan import AXES

_STRATEGIES = {
    "no_shard": "ddp",
    "optim": "zero1",
    "optim_grads": "zero2",
    "optim_grads_params": "zero3",
}
_CP_MODES = {"p2p": "ring", "a2a": "all-to-all"}
_UNSUPPORTED = {
    "--tensor-parallel-num-weight-shards": "weights are shared out further within tp",
    "--expert-tensor-parallel-num-weight-shards": "weights of experts are shared out within tp",
}


def mesh_and_sharding(launch: LaunchSettings, model: Model, chips: int | None) -> dict[str, Any]:
    """Fields of the plan: axes, their order, sharding, modes of tp and cp, offloading.

    Raises:
        InputError: The axes do not divide the chips.
    """
    tp = launch.fixed("tp", launch.whole("--tensor-model-parallel-size", 1))
    cp = launch.fixed("cp", launch.whole("--context-parallel-size", 1))
    pp = launch.fixed("pp", launch.whole("--pipeline-model-parallel-size", 1))
    for name, what in _UNSUPPORTED.items():
        if launch.whole(name, 1) > 1:
            launch.unsupported("tp", name, f"{what}, which no plan says", f"tp={tp}")
    launch.check()
    ep, etp = _experts(launch, model, tp)
    held = pp * ep * etp if ep * etp > 1 else None
    data = data_ranks(launch, chips, {"tp": tp, "cp": cp, "pp": pp}, held)
    sharding = _sharding(launch, pp)
    if sharding != "ddp" and data * cp == 1:
        launch.assume("plan.sharding", "ddp", f"{sharding} of a single data rank shares nothing")
        sharding = "ddp"
    replicas = _replicas(launch, sharding, data)
    sharded = sharding == "zero3"
    inside = launch.on("--use-tp-pp-dp-mapping")
    given = launch.on("--sequence-parallel")
    if given and tp == 1:
        launch.assume("plan.sequence_parallel", "false", "Megatron-LM turns it off without tp")
    launch.warnings += overlap_warnings(launch, tp=tp, data=data, shares=sharding == "zero1")
    return {
        "tp": tp,
        "cp": cp,
        "pp": pp,
        "dp": replicas if sharded else data,
        "fsdp": data // replicas if sharded else 1,
        "ep": ep,
        "etp": etp,
        "sharding": sharding,
        "sequence_parallel": given and tp > 1,
        "cp_mode": _cp_mode(launch, cp),
        "offload": _offload(launch, model),
        "order": PIPELINE_INSIDE if inside else AXES,
    }


def _experts(launch: LaunchSettings, model: Model, tp: int) -> tuple[int, int]:
    """Ranks that the experts are dealt out to, and that share each of them: tp, if not given."""
    ep = launch.whole("--expert-model-parallel-size", 1)
    split = launch.whole("--expert-tensor-parallel-size", tp)
    if model.moe is None:
        if ep > 1:
            launch.wrong("--expert-model-parallel-size", f"{model.name} has no experts")
        return int(launch.fixed("ep", ep)), 1
    etp = int(launch.fixed("etp", split))
    if split > 1 and "--expert-tensor-parallel-size" not in launch.values:
        launch.assume("plan.mesh.etp", str(etp), "as tp, where Megatron-LM is told nothing")
    return int(launch.fixed("ep", ep)), etp


def _cp_mode(launch: LaunchSettings, cp: int) -> str:
    """How keys and values travel; one way for all layers."""
    launch.taken |= {"--cp-comm-type", "--hierarchical-context-parallel-sizes"}
    modes = set(launch.values.get("--cp-comm-type", ("p2p",)))
    if launch.on("--hybrid-context-parallel"):
        modes.add("hybrid")
    if cp == 1:
        return "ring"
    mode = modes.pop()
    if modes or mode not in _CP_MODES:
        what = f"{' and '.join(sorted({mode, *modes}))} is neither a ring nor an exchange of heads"
        launch.unsupported("cp_mode", "--cp-comm-type", what, "cp_mode=ring or all-to-all")
        return "ring"
    return _CP_MODES[mode]


def _sharding(launch: LaunchSettings, pp: int) -> str:
    """Who shares what of the training state."""
    fsdp, torch = launch.on("--use-megatron-fsdp"), launch.on("--use-torch-fsdp2")
    shares = launch.on("--use-distributed-optimizer") or launch.look("--optimizer") == LAYER_WISE
    strategy = launch.choice("--data-parallel-sharding-strategy", "optim_grads_params", _STRATEGIES)
    if fsdp and torch:
        launch.wrong("--use-torch-fsdp2", "stands beside --use-megatron-fsdp; keep one")
    if torch:
        if pp > 1:
            launch.wrong(
                "--use-torch-fsdp2", f"Megatron-LM takes it without pipelines, not pp {pp}"
            )
        if shares:
            launch.wrong("--use-torch-fsdp2", "stands beside --use-distributed-optimizer; keep one")
        return "zero2" if launch.on("--torch-fsdp2-no-reshard-after-forward") else "zero3"
    if fsdp:
        return str(strategy)
    return "zero1" if shares else "ddp"


def _replicas(launch: LaunchSettings, sharding: str, data: int) -> int:
    """Instances of the sharded state; more than one only where a plan has replicas of shards."""
    count = launch.whole("--num-distributed-optimizer-instances", 1)
    name = "--num-distributed-optimizer-instances"
    if data % count:
        launch.wrong(name, f"{count} do not divide the {data} data ranks")
        return 1
    if count > 1 and sharding != "zero3":
        what = f"{sharding} is shared by some of the data ranks only, which no plan says"
        launch.unsupported("sharding", name, what, f"sharding={sharding}")
    outer = launch.text("--outer-dp-sharding-strategy", "no_shard")
    if count > 1 and (outer != "no_shard" or launch.on("--enable-full-sharding-in-hsdp")):
        what = "the optimizer is shared out over replicas too, which no plan says"
        launch.unsupported("sharding", "--outer-dp-sharding-strategy", what, "sharding=zero3")
    return count


def _offload(launch: LaunchSettings, model: Model) -> tuple[str, ...]:
    """What moves to the host: the optimizer whole, saved activations of all layers but the last."""
    found = []
    share = launch.share("--optimizer-offload-fraction", 1.0)
    if launch.on("--optimizer-cpu-offload") and share > 0.0:
        if share < 1.0:
            what = f"a plan moves all of the optimizer or nothing, not {share:g} of it"
            examples = "offload=optimizer or offload=none"
            launch.unsupported("offload", "--optimizer-offload-fraction", what, examples)
        found.append("optimizer")
    if layers := launch.whole("--cpu-offloading-num-layers", 0, least=0):
        if layers < model.layers - 1:
            what = f"a plan moves the activations of all layers, not of {layers}"
            examples = "offload=activations or offload=none"
            launch.unsupported("offload", "--cpu-offloading-num-layers", what, examples)
        found.append("activations")
    if launch.on("--fine-grained-activation-offloading"):
        what = "a plan moves all saved activations or none, not those of some modules"
        examples = "offload=activations or offload=none"
        launch.unsupported("offload", "--fine-grained-activation-offloading", what, examples)
        launch.taken.add("--offload-modules")
    return tuple(found)

"""What settings of DeepSpeed change that no plan says: warnings, and what is refused.

Sources: DeepSpeed 0.19.8 runtime/config.py (`_REMOVED_TOP_LEVEL_CONFIG_KEYS`,
`_REMOVED_ZERO_CONFIG_KEYS`), runtime/precision_config.py, runtime/zero/config.py,
runtime/zero/offload_config.py, runtime/engine.py, runtime/pipe/engine.py, compile/config.py,
comm/comm.py, utils/timer.py; states of optimizers: ops/adam, ops/lion, runtime/zero/muon.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.base.messages import one_line, shown
from planner.frameworks.reading.settings import LaunchSettings

_OFF = "false none 0 auto {} []"
_TRUE = "true auto"
_ON = ("true", "auto")
_SWITCH = ("true", "false", "1", "0", "1.0", "0.0")
_LONGEST = 40


class Effect(NamedTuple):
    """What a setting does beside what the answer counts.

    Attributes:
        idle: Values, in words, with which it does nothing.
        what: What it does, in a line.
        fix: The field of the plan that takes its place and an example; empty: it is a warning.
        beside: Settings of which one must be on, or it does nothing; empty: none.
    """

    idle: str
    what: str
    fix: tuple[str, str] = ("", "")
    beside: str = ""


_LESS_MEMORY = "less memory than the answer counts"
_MASTERS = f"master weights and gradients are kept in 16 bits, {_LESS_MEMORY}"
_WAITS = "waits for the chips while it measures: time that the answer leaves out"
_WIDER = "gradients travel in 32 bits: more time than the answer, which counts 16"
_SAMPLING = "data_efficiency.data_sampling"
_ZERO = "zero_optimization"

EFFECTS: dict[str, Effect] = {
    "communication_data_type": Effect(
        "fp16 bf16 none auto", _WIDER
    ),
    "seq_parallel_communication_data_type": Effect(
        "fp16 bf16 none auto", _WIDER
    ),
    "use_data_before_expert_parallelism": Effect(
        _OFF, "groups of experts lie on other ranks than the answer places them"
    ),
    "wall_clock_breakdown": Effect(_OFF, _WAITS),
    "flops_profiler.enabled": Effect(_OFF, _WAITS),
    "comms_logger.enabled": Effect(_OFF, _WAITS),
    "hybrid_engine.enabled": Effect(
        _OFF, "generates text between steps: time that the answer leaves out"
    ),
    "weight_quantization": Effect(_OFF, f"weights are kept in fewer bits, {_LESS_MEMORY}"),
    f"{_SAMPLING}.curriculum_learning.enabled": Effect(
        _OFF, "sequences grow over the run; the answer is of the full length",
        beside="data_efficiency.enabled",
    ),
    f"{_SAMPLING}.dynamic_batching.enabled": Effect(
        _OFF, "batches differ in size; the answer is of one size", beside="data_efficiency.enabled"
    ),
    "data_efficiency.data_routing.random_ltd.enabled": Effect(
        _OFF, "layers leave out tokens: less time than the answer counts",
        beside="data_efficiency.enabled",
    ),
    "bf16.bf16_master_weights_and_grads": Effect(_OFF, _MASTERS),
    "bfloat16.bf16_master_weights_and_grads": Effect(_OFF, _MASTERS),
    "fp16.fp16_master_weights_and_grads": Effect(_OFF, _MASTERS),
    "bf16.bf16_optimizer_states": Effect(_OFF, f"moments are kept in 16 bits, {_LESS_MEMORY}"),
    "bfloat16.bf16_optimizer_states": Effect(_OFF, f"moments are kept in 16 bits, {_LESS_MEMORY}"),
    "data_types.grad_accum_dtype": Effect(
        "bf16 bfloat16 fp16 float16 none auto",
        "gradients are summed in 32 bits: more memory than the answer counts",
        beside="bf16.enabled bfloat16.enabled fp16.enabled",
    ),
    f"{_ZERO}.reduce_scatter": Effect(
        _TRUE, "gradients are reduced to all ranks: more traffic than the answer counts"
    ),
    f"{_ZERO}.allgather_partitions": Effect(
        _TRUE, "weights are sent round by round: more time than the answer counts"
    ),
    **{
        f"{_ZERO}.{name}use_all_reduce_for_fetch_params": Effect(
            _OFF, "weights are gathered by sums: twice the traffic that the answer counts"
        )
        for name in ("", "stage3_")
    },
    **{
        f"{_ZERO}.{name}allgather_sequential": Effect(
            _OFF, "weights are gathered one by one: more time and less memory than counted"
        )
        for name in ("", "stage3_")
    },
    f"{_ZERO}.zero_quantized_weights": Effect(_OFF, "fewer bits travel than the answer counts"),
    f"{_ZERO}.zero_quantized_gradients": Effect(_OFF, "fewer bits travel than the answer counts"),
    f"{_ZERO}.zero_quantized_nontrainable_weights": Effect(
        _OFF, f"weights that are not trained are kept in fewer bits, {_LESS_MEMORY}"
    ),
    f"{_ZERO}.offload_optimizer.super_offload": Effect(
        _OFF, "the host updates while the chips compute: less time than the answer counts"
    ),
    f"{_ZERO}.offload_optimizer.pin_memory": Effect(
        _TRUE, "the host's memory is not pinned: transfers take longer than the answer counts"
    ),
    f"{_ZERO}.offload_param.pin_memory": Effect(
        _TRUE, "the host's memory is not pinned: transfers take longer than the answer counts"
    ),
    f"{_ZERO}.zenflow": Effect(
        _OFF, "the host updates a part of the weights, out of step with the chips",
        ("offload", "offload=optimizer"),
    ),
    "tensor_parallel.tp_overlap_comm": Effect(
        _OFF, "sums over tp hide behind products: less time than the answer counts"
    ),
    "tensor_parallel.partition_config": Effect(
        _OFF, "shares out the layers that it names; the answer shares out all"
    ),
    "expert_parallel.expert_tensor_parallel_size": Effect(
        "1 auto", "splits experts over tp, and a plan has whole ones", ("ep", "ep=N"),
        beside="expert_parallel.enabled",
    ),
    "expert_parallel.comm_backend": Effect(
        "comm auto", "tokens travel by DeepEP: less time than the answer counts",
        beside="expert_parallel.enabled",
    ),
    "pipeline.pipe_partitioned": Effect(
        _TRUE, "stages send whole tensors from each rank of tp: more traffic than the answer counts"
    ),
    "pipeline.grad_partitioned": Effect(
        _TRUE, "stages send whole tensors from each rank of tp: more traffic than the answer counts"
    ),
    "activation_checkpointing.partition_activations": Effect(
        _OFF, "saved inputs are shared out over tp, which is not counted"
    ),
    "activation_checkpointing.synchronize_checkpoint_boundary": Effect(
        _OFF, "waits at each checkpoint: time that the answer leaves out"
    ),
    "compile.deepcompile": Effect(
        _OFF, "the compiler places the collectives: other times than the answer counts"
    ),
    "compile.free_activation": Effect(_OFF, f"frees saved tensors early, {_LESS_MEMORY}"),
    **{
        f"compile.{name}": Effect(
            _OFF, f"may move {what} to the host", ("offload", f"offload={what}")
        )
        for name, what in (
            ("offload_activation", "activations"),
            ("offload_opt_states", "optimizer"),
            ("offload_parameters", "weights"),
        )
    },
}  # fmt: skip
"""Settings whose effect is no part of a plan, by their dotted names."""

_BATCHES = "sets the batch by the chips that are there"
_PRUNED = "trains with fewer bits or weights than the answer counts"
REMOVED = {
    "amp": "multiplies in the 16 bits of Apex",
    "compression_training": _PRUNED,
    "quantize_training": _PRUNED,
    "sparse_attention": "leaves out scores of attention",
    "elasticity": _BATCHES,
    "progressive_layer_drop": "leaves out layers",
    "curriculum_learning": "trains on sequences that grow over the run",
    "eigenvalue": "",
    "sparse_gradients": "",
    "graph_harvesting": "",
    "nebula": "",
    "zero_optimization.mics_shard_size": "",
    "zero_optimization.mics_hierarchical_params_gather": "",
    "zero_optimization.zeropp_loco_param": "",
}
"""Settings and sections that 0.19.8 refuses, with what older versions do that no plan says."""

STATES = {
    "sgd": "at most one number",
    "musgd": "at most one number",
    "adagrad": "one number",
    "rmsprop": "one number",
}
COUNTED = ("lion", "muon", "adafactor")
"""Optimizers whose own states the answer counts, by their names here."""
_LIKE_ADAM = "adam adamw muadam muadamw lamb nadam radam adamax auto"
_ONE_BIT = "onebitadam onebitlamb zerooneadam"


def add_effects(launch: LaunchSettings) -> None:
    """Notes what the settings of a launch do beside what its plan says."""
    for name, effect in EFFECTS.items():
        value = _value(launch, name)
        if not value or value in effect.idle.split() or not _goes(launch, name, effect):
            continue
        launch.taken.add(name)
        if name in launch.values and effect.idle in (_OFF, _TRUE) and value not in _SWITCH:
            launch.wrong(name, f"{shown(value)} is not true or false")
            continue
        axis, example = effect.fix
        if axis:
            launch.unsupported(axis, name, effect.what, example)
        else:
            launch.warnings.append(f"{name}: {effect.what}")
    _add_ratio(launch)
    _add_removed(launch)
    _add_optimizer(launch)


def _value(launch: LaunchSettings, name: str) -> str:
    """The value of a setting; of a section with settings "on", without any ""."""
    if name in launch.values:
        return " ".join(launch.values[name]).lower()
    within = any(one.startswith(f"{name}.") for one in launch.values)
    return "on" if within else ""


def _goes(launch: LaunchSettings, name: str, effect: Effect) -> bool:
    """Whether what a setting belongs to is on."""
    section = name.rpartition(".")[0]
    if section in (f"{_ZERO}.offload_optimizer", f"{_ZERO}.offload_param"):
        moves = section.endswith("optimizer") or _at_stage_3(launch)
        return moves and launch.look(f"{section}.device", "none") != "none"
    if section in ("bf16", "bfloat16", "fp16"):
        return launch.values.get(f"{section}.enabled", ("",))[-1] in _ON
    names = effect.beside.split()
    return not names or any(launch.values.get(one, ("",))[-1] in _ON for one in names)


def _at_stage_3(launch: LaunchSettings) -> bool:
    stage = launch.look(f"{_ZERO}.stage", "0")
    return bool(launch.fixed("sharding", "zero3" if stage == "3" else "") == "zero3")


def _add_ratio(launch: LaunchSettings) -> None:
    """Notes a part of the optimizer on the chips: with stage 3 alone, wherever the optimizer is.

    runtime/zero/config.py, offload_ratio_check.
    """
    name = f"{_ZERO}.offload_optimizer.ratio"
    if _value(launch, name) in ("", "auto"):
        return
    if launch.share(name, 1.0) == 1.0:
        return
    if not _at_stage_3(launch):
        what = "DeepSpeed keeps a part on the chips at stage 3 only, and stops"
        launch.wrong(name, f"{what}; nearest: 1.0")
    elif launch.look(f"{_ZERO}.offload_optimizer.device", "none") != "none":
        what = "keeps a part of the optimizer on the chips"
        launch.unsupported("offload", name, what, "offload=optimizer")


def _add_removed(launch: LaunchSettings) -> None:
    """Refuses what only older versions do and no plan says; warns of the rest that was removed."""
    for name, what in REMOVED.items():
        if not _value(launch, name):
            continue
        says = "DeepSpeed 0.19.8 has removed it and stops"
        if what and _switched_on(launch, name):
            launch.wrong(name, f"{what}, which no plan says; {says}")
        else:
            launch.warnings.append(f"{name}: {says}")


def _switched_on(launch: LaunchSettings, name: str) -> bool:
    """Whether a section says that it is on, or has nothing that would say it."""
    inside = [one for one in launch.values if one.startswith(f"{name}.")]
    switches = [one for one in inside if one.endswith("enabled")]
    if not switches:
        return _value(launch, name) not in _OFF.split()
    return any(launch.values[one][-1] == "true" for one in switches)


def _add_optimizer(launch: LaunchSettings) -> None:
    """Warns of optimizers with other states than Adam's."""
    name = "optimizer.type"
    kind = _value(launch, name)
    if not kind or kind in _LIKE_ADAM.split() or kind in COUNTED:
        return
    launch.taken.add(name)
    said = " ".join(launch.values.get(name, (kind,)))
    if kind in _ONE_BIT.split():
        does = "sends fewer bits than the answer counts; DeepSpeed 0.19.8 has removed it and stops"
    elif kind in STATES:
        does = f"keeps {STATES[kind]} per weight, and the answer counts Adam's two: less memory"
    else:
        does = "is taken for Adam, with two numbers per weight"
    launch.warnings.append(f"{name}: {one_line(said)[:_LONGEST]} {does}")

"""Launches of DeepSpeed as plans: its JSON configuration, and what only code says assumed.

Names and defaults: `planner.frameworks.deepspeed.names`. Stages of a pipeline, recomputation and
often tensor parallelism come from code (PipelineModule, the model, an `mpu`): `fix` says them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.assumptions.software import ERAS
from planner.base.errors import InputError
from planner.base.jsonfile import json_object
from planner.base.messages import shown
from planner.base.numerals import is_digits
from planner.frameworks.deepspeed.effects import COUNTED, add_effects
from planner.frameworks.deepspeed.launched import Started
from planner.frameworks.deepspeed.names import NUMBERS, OBJECTS, SECTIONS, reasons_by_name
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.reading.imported import Imported
from planner.frameworks.reading.settings import Asked, LaunchSettings, data_ranks
from planner.plan import SHARDINGS, Plan

_ZERO = "zero_optimization."
_BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
_FROM_CODE = {
    "tp": "tensor_parallel.autotp_size",
    "pp": "pipeline.stages",
    "cp": "sequence_parallel_size",
    "ep": "expert_parallel.autoep_size",
}
_LONGEST = 12
_AUTOCAST = {
    **dict.fromkeys(("bf16", "bfloat16", "torch.bfloat16"), "bf16"),
    **dict.fromkeys(("fp16", "float16", "half", "torch.float16"), "fp16"),
    **dict.fromkeys(("fp32", "float32", "float", "torch.float32"), "fp32"),
}
"""Names of formats in runtime/config.py (DtypeEnum); torch.autocast takes fp16 where none is."""


def read(text: str, asked: Asked, started: Started | None = None) -> Imported:
    """The plan of a launch.

    Args:
        text: A JSON file.
        asked: What is asked beside it.
        started: What a script says beside the file, where one starts it.

    Raises:
        InputError: The text cannot be read, contradicts itself, or launches what no plan says; a
            line each.
    """
    data, _ = json_object(text.encode("utf-8"), asked.name)
    settings = _settings(data)
    beside = started or Started(text=text, asked=asked)
    launch = LaunchSettings(asked, settings, assumed=[*beside.assumed], warnings=[*beside.warnings])
    _check_kinds(launch, data)
    add_effects(launch)
    model = asked.model_of({}, None, beside.model)
    sizes: dict[str, Any] = {axis: _axis(launch, axis, name) for axis, name in _FROM_CODE.items()}
    if model.moe is None and sizes["ep"] > 1:
        launch.wrong("expert_parallel.autoep_size", f"{model.name} has no experts")
    data_size = _data_ranks(launch, sizes)
    sharding = _sharding(launch, sizes["pp"])
    shards = _shards(launch, sharding, data_size)
    _add_overlap(launch, sharding, data_size)
    micro_batch, batch = _batch(launch, data_size)
    plan = launch.finished(
        Plan(
            **sizes,
            dp=data_size // shards,
            fsdp=shards,
            micro_batch=micro_batch,
            sharding=sharding,
            sequence_parallel=False,
            cp_mode="all-to-all" if sizes["cp"] > 1 else "ring",
            recompute=_recompute(launch),
            offload=_offload(launch, sharding),
            split="front",
        )
    )
    length = _length(launch, model.seq_len)
    said = {
        "model": model.name,
        "framework": "deepspeed",
        "seq_len": length,
        "batch_tokens": batch * length if batch else None,
        "precision": _precision(launch),
        "optimizer": _optimizer(launch),
        **beside.job,
    }
    return launch.imported("deepspeed", plan, said, {}, _reasons(settings), reasons_by_name())


def _length(launch: LaunchSettings, own: int) -> int:
    """Tokens of a sequence: what is asked, else those of the model's own training."""
    if launch.asked.seq_len is None:
        launch.assume("seq_len", own, "that of the model's own training")
    return launch.asked.seq_len or own


def _settings(data: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The settings of a JSON file by their dotted names."""
    found: dict[str, tuple[str, ...]] = {}
    zero = data.get("zero_optimization")
    if isinstance(zero, bool):  # an old form of the first stage
        data = {**data, "zero_optimization": {"stage": int(zero)}}
    _flatten(data, "", found)
    return found


def _flatten(data: Mapping[str, Any], before: str, found: dict[str, tuple[str, ...]]) -> None:
    for name, value in data.items():
        if isinstance(value, dict) and value:
            _flatten(value, f"{before}{name}.", found)
        elif value is not None:
            words = str(value).lower() if isinstance(value, bool) else str(value)
            found[before + name] = (words,)


def _check_kinds(launch: LaunchSettings, data: Mapping[str, Any]) -> None:
    """Refuses words for sections, and text for numbers that DeepSpeed calculates with."""
    for name in OBJECTS:
        if (words := launch.values.get(name, ("{}",))) != ("{}",):
            launch.wrong(name, f"{shown(words[0])} where an object belongs")
    for name in NUMBERS.split():
        section, _, own = name.rpartition(".")
        inside = data.get(section) if section else data
        value = inside.get(own) if isinstance(inside, dict) else None
        if isinstance(value, str) and is_digits(value.strip()):
            number = value.strip()[:_LONGEST]
            what = f"{shown(value)} in quotes is text to DeepSpeed, which calculates with it"
            launch.wrong(name, f"{what}; write {number}")


def _reasons(settings: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Why known settings have no part in a plan."""
    found = reasons_by_name()
    for name in settings:
        if name in found:
            continue
        parts = name.split(".")
        for end in range(len(parts) - 1, 0, -1):
            if (section := ".".join(parts[:end])) in SECTIONS:
                found[name] = SECTIONS[section]
                break
    return found


def _true(launch: LaunchSettings, name: str) -> bool:
    return bool(launch.choice(name, "false", {"true": True, "false": False}))


def _is_on(launch: LaunchSettings, name: str) -> bool:
    """Whether a switch is plainly on; what else it may say is read where it matters."""
    return launch.values.get(name) == ("true",)


def _axis(launch: LaunchSettings, axis: str, name: str) -> int:
    """The size of an axis: what `fix` says, else the file, else 1 as code may say otherwise."""
    auto = launch.text(name) == "auto"
    if axis in launch.asked.fix:
        launch.taken.add(name)
        return int(launch.asked.fix[axis])
    if axis == "ep" and not _true(launch, "expert_parallel.enabled"):
        return 1
    if name in launch.values and not auto:
        return max(1, launch.whole(name, 1, least=0))
    if axis in ("tp", "pp"):
        launch.assume(f"plan.{axis}", 1, f"code may say otherwise: --fix {axis}=N")
    return 1


def _data_ranks(launch: LaunchSettings, sizes: Mapping[str, int]) -> int:
    """The ranks that see different sequences."""
    launch.check()
    beside = {axis: sizes[axis] for axis in ("tp", "cp", "pp")}
    found = data_ranks(launch, launch.asked.chips, beside)
    if launch.whole("data_parallel_size", found) != found:
        launch.wrong("data_parallel_size", f"is not the {found} data ranks that are left")
    return found


def _sharding(launch: LaunchSettings, pp: int) -> str:
    """The stage of ZeRO; a pipeline takes at most the first."""
    stages = {str(stage): name for stage, name in enumerate(SHARDINGS)}
    sharding = str(launch.choice(f"{_ZERO}stage", "0", stages))
    sharding = str(launch.fixed("sharding", sharding))
    if pp > 1 and sharding in ("zero2", "zero3"):
        what = f"{sharding} goes with no pipeline (runtime/pipe/engine.py), not with pp {pp}"
        launch.wrong(f"{_ZERO}stage", what)
    return sharding


def _shards(launch: LaunchSettings, sharding: str, data: int) -> int:
    """Shards of the weights: all data ranks under ZeRO-3, or the groups of MiCS."""
    own = f"{_ZERO}zero_hpz_partition_size"
    if launch.whole(own, 1, least=0) > 1:
        what = "weights are kept a second time within groups, which no plan says"
        launch.unsupported("sharding", own, what, "sharding=zero3")
    groups = f"{_ZERO}mics_shard_size"
    size = 0 if launch.text(groups, "-1") == "-1" else launch.whole(groups)
    if sharding != "zero3":
        return 1
    if size and data % size:
        launch.wrong(groups, f"{size} does not divide the {data} data ranks")
        return 1
    return int(launch.fixed("fsdp", size or data))


def _add_overlap(launch: LaunchSettings, sharding: str, data: int) -> None:
    """Warns where gradients are reduced after the backward pass and the prediction hides that.

    runtime/zero/config.py (`overlap_comm_valid`): ZeRO-3 alone hides it without being told;
    without ZeRO nothing does (runtime/engine.py).
    """
    default = "true" if sharding == "zero3" else "false"
    name = f"{_ZERO}overlap_comm"
    given = launch.text(name, "auto")
    hides = _true(launch, name) if given != "auto" else default == "true"
    hides = hides and sharding != "ddp"
    if data > 1 and not hides and ERAS[FRAMEWORKS["deepspeed"].era].hides_reduction:
        said = {"auto": "is not given"}.get(given, f"is {given}")
        hidden = "the prediction hides the sums of gradients behind computation"
        launch.warnings.append(f"{name}: {said} with {sharding}; {hidden}")


def _batch(launch: LaunchSettings, data: int) -> tuple[int, int]:
    """The micro-batch and the global batch in sequences, 0 where nothing says it.

    Two of train, micro and accumulated say the third; one of the first two is enough.
    """
    given = {name: launch.text(name) for name in _BATCH}
    train, micro, rounds = (
        0 if given[name] in ("", "auto") else launch.whole(name) for name in _BATCH
    )
    micro = launch.fixed("micro_batch", micro)
    launch.check()
    if not micro and train:
        micro = train // (data * (rounds or 1))
    if not micro:
        raise InputError(
            f"{launch.asked.name}: train_micro_batch_size_per_gpu: is not said; --fix micro_batch=N"
        )
    each = micro * data
    batch = train or (each * rounds if rounds or "auto" not in given.values() else 0)
    batch = batch or (0 if "auto" in given.values() else each)
    if batch % each or (rounds and batch and batch != each * rounds):
        words = f"{micro} x {rounds} steps" if rounds else str(micro)
        what = f"{batch} is not {words} on each of {data} data ranks"
        raise InputError(f"{launch.asked.name}: train_batch_size: {what}")
    return micro, batch


def _recompute(launch: LaunchSettings) -> str:
    """Whole layers where the file has checkpoints of activations; the model's code decides."""
    interval = launch.whole("pipeline.activation_checkpoint_interval", 0, least=0)
    section = [name for name in launch.values if name.startswith("activation_checkpointing.")]
    name = "activation_checkpointing.cpu_checkpointing"
    if _true(launch, name):
        launch.unsupported(
            "offload", name, "may move saved inputs to the host", "offload=activations"
        )
    launch.text("activation_checkpointing.number_checkpoints")
    found = "full" if interval or section else "none"
    if "recompute" not in launch.asked.fix:
        launch.assume("plan.recompute", found, "the model's code decides: --fix recompute=...")
    return found


def _offload(launch: LaunchSettings, sharding: str) -> tuple[str, ...]:
    """What ZeRO moves to the host.

    runtime/engine.py: `_configure_zero_optimizer` hands `offload_param` to stage 3 alone;
    `get_optimizer_configuration` takes the optimizer of the host at stage 0 too, whose step asserts
    that weights are there (ops/adam/cpu_adam.py).
    """
    found = []
    for part, called, old in (("optimizer", "optimizer", ""), ("weights", "param", "_param")):
        name = _mover(launch, called, old)
        if not name:
            continue
        if part == "weights" and sharding != "zero3":
            what = f"moves nothing under {sharding}, as DeepSpeed reads it at stage 3 alone"
            launch.warnings.append(f"{name}: {what}")
            continue
        if sharding == "ddp":
            what = "the optimizer of the host stops, as stage 0 leaves the weights on the chip"
            launch.wrong(name, f"{what}; nearest: {_ZERO}stage 1")
        if launch.look(name) == "nvme":
            what = "a plan moves it to the host's memory, not to drives"
            launch.unsupported("offload", name, what, f"offload={part}")
        found.append(part)
    return tuple(found)


def _mover(launch: LaunchSettings, called: str, old: str) -> str:
    """The setting that moves a part off the chips; "" where none does."""
    before, section = f"{_ZERO}cpu_offload{old}", f"{_ZERO}offload_{called}"
    if _true(launch, before):
        if any(one.startswith(f"{section}.") for one in launch.values):
            launch.wrong(before, f"stands beside offload_{called}; keep the latter")
        return before
    device = launch.text(f"{section}.device", "none")
    if device not in ("cpu", "nvme", "none"):
        launch.wrong(f"{section}.device", f"{device!r} is not none, cpu or nvme")
    return "" if device == "none" else f"{section}.device"


def _optimizer(launch: LaunchSettings) -> str | None:
    """A key of `planner.assumptions.optimizers.OPTIMIZERS`; None: it is taken for Adam."""
    kind = launch.look("optimizer.type").lower()
    if kind not in COUNTED:
        return None
    launch.taken.add("optimizer.type")
    return kind


def _precision(launch: LaunchSettings) -> str:
    """The number format of products; `auto` is left to what is asked.

    runtime/config.py refuses two formats of 16 bits.
    """
    bf16 = [name for name in ("bf16", "bfloat16") if _is_on(launch, f"{name}.enabled")]
    if bf16 and _is_on(launch, "fp16.enabled"):
        launch.wrong("fp16.enabled", f"stands beside {bf16[0]}.enabled; keep one")
    for name, precision in (("bf16", "bf16"), ("bfloat16", "bf16"), ("fp16", "fp16")):
        text = launch.text(f"{name}.enabled", "false")
        if text == "auto":
            launch.assume("precision", "bf16", f"{name}.enabled is auto")
            return "bf16"
        if _true(launch, f"{name}.enabled"):
            return precision
    return _autocast(launch)


def _autocast(launch: LaunchSettings) -> str:
    """The format of products under torch.autocast over weights in 32 bits; without it fp32."""
    name = "torch_autocast.enabled"
    if not _true(launch, name):
        return "fp32"
    precision = str(launch.choice("torch_autocast.dtype", "fp16", _AUTOCAST))
    if precision != "fp32":
        what = "weights and gradients stay in 32 bits: more memory than the answer, which counts 16"
        launch.warnings.append(f"{name}: {what}")
    return precision

"""The plans one step away from a plan: each axis doubled and halved, each choice up and down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.cost.context import CostModel
from planner.explanation.steps.stages import stage_steps, with_all
from planner.plan import AXES, OFFLOADS, RECOMPUTES, SHARDINGS, SPLITS, Plan, Stage
from planner.plan.ranks import moved
from planner.plan.recomputations import RECOMPUTATIONS, modules_of
from planner.question.options import SpaceOptions
from planner.schedules import schedule_of
from planner.search.uniform.space import chunkings


def steps(model: CostModel, plan: Plan, options: SpaceOptions) -> list[tuple[str, Plan]]:
    """Descriptions and plans that differ in one decision, each once.

    A step along an axis moves a factor of two to or from the data ranks, or between tp and pp.
    Layouts are cut to the new mesh. The number of chips stays.

    Args:
        model: Job, cluster, assumptions.
        plan: Where to step from.
        options: The space; it says which layer splits and interleaves are searched.
    """
    found = dict(_steps(model, plan, options))
    return [(what, _laid_out(changed)) for what, changed in found.items() if changed != plan]


def _steps(model: CostModel, plan: Plan, options: SpaceOptions) -> Iterator[tuple[str, Plan]]:
    for what, changed in _mesh_steps(plan):
        if plan.stages and changed.pp != plan.pp:  # its stages are of so many devices
            continue
        said, piped = _piped(model, changed, options)
        yield what + said, piped
    if model.shapes.experts:
        yield f"ep {plan.ep * 2}", replace(plan, ep=plan.ep * 2)
        if plan.ep % 2 == 0:
            yield f"ep {plan.ep // 2}", replace(plan, ep=plan.ep // 2)
    if plan.etp > 1:
        yield f"etp {plan.etp * 2}", replace(plan, etp=plan.etp * 2)
        yield "etp 1", replace(plan, etp=1)
    local = model.job.global_batch // (plan.dp * plan.fsdp)
    for size in (plan.micro_batch * 2, plan.micro_batch // 2):
        if size >= 1 and local % size == 0:
            yield f"micro-batch {size}", replace(plan, micro_batch=size)
    yield from _interleaves(model, plan, options)
    yield from stage_steps(model, plan, options) if plan.stages else _recomputes(model, plan)
    for name in SHARDINGS:
        yield from _sharding_steps(plan, name)
    yield from _modes(model, plan)
    yield from _offloads(plan, options)
    if not plan.stages:
        yield from _clocks(model, plan)


def _recomputes(model: CostModel, plan: Plan) -> Iterator[tuple[str, Plan]]:
    """The other levels of recomputation that change something; of modules, one more or less."""
    for name in RECOMPUTES:
        useless = name == "selective" and model.framework.selective == "core-attention"
        if name != plan.recompute and not (useless and model.assumptions.fused_attention):
            yield f"recompute {name}", replace(plan, recompute=name)
    if own := {*modules_of(plan.recompute)}:
        for word in (RECOMPUTATIONS[code] for code in model.module_sets):
            if len(own ^ {*modules_of(word)}) == 1:
                yield f"recompute {word}", replace(plan, recompute=word)


def _modes(model: CostModel, plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Sequence parallelism on or off, and the other way for keys and values to travel."""
    if plan.tp > 1 and not model.shapes.experts:
        other = not plan.sequence_parallel
        what = "with" if other else "without"
        yield f"{what} sequence parallelism", replace(plan, sequence_parallel=other)
    if plan.cp > 1:
        mode = "ring" if plan.cp_mode != "ring" else "all-to-all"
        yield f"context parallelism by {mode}", replace(plan, cp_mode=mode)


def _clocks(model: CostModel, plan: Plan) -> Iterator[tuple[str, Plan]]:
    """The next clocks below and above."""
    if not model.chip.clock_settable:
        return
    levels = model.clocks(wanted=True)
    for level in [*levels[levels < plan.clock][:1], *levels[levels > plan.clock][-1:]]:
        yield f"clock {level:g}", replace(plan, clock=float(level))


def _offloads(plan: Plan, options: SpaceOptions) -> Iterator[tuple[str, Plan]]:
    """One part of the state moved to the host, where that is searched, or back."""
    for name in OFFLOADS:
        there = name in plan.offload
        if there or options.offload:
            parts = tuple(part for part in OFFLOADS if (part in plan.offload) != (part == name))
            yield f"{'no ' if there else ''}offload {name}", replace(plan, offload=parts)


def _interleaves(model: CostModel, plan: Plan, options: SpaceOptions) -> Iterator[tuple[str, Plan]]:
    """The next interleaves up and down that the search has for these stages."""
    if plan.pp == 1 or plan.stages:
        return
    offered = sorted({v for v, _ in chunkings(model, plan.pp, options)})
    below = [v for v in offered if v < plan.interleave][-1:]
    above = [v for v in offered if v > plan.interleave][:1]
    for size in below + above:
        said, piped = _piped(model, replace(plan, interleave=size), options)
        yield f"interleave {size}{said}", piped


def _laid_out(plan: Plan) -> Plan:
    """The plan with its layout, if it has one, cut to its mesh."""
    if plan.layout is None:
        return plan
    return replace(plan, layout=moved(plan.layout, {axis: plan.mesh[axis] for axis in AXES}))


def _piped(model: CostModel, plan: Plan, options: SpaceOptions) -> tuple[str, Plan]:
    """The plan with the schedule, interleave and split that the search has for its stages.

    The interleave is the largest that is not larger than before; what changed of it is said.
    """
    offered = chunkings(model, plan.pp, options)
    fitting = [v for v, _ in offered if v <= plan.interleave]
    if plan.stages or plan.pp == 1 or not fitting:
        return "", plan
    interleave = max(fitting)
    splits = [SPLITS[split] for v, split in offered if v == interleave]
    split = plan.split if plan.split in splits else splits[0]
    schedules = [
        name
        for name in model.framework.schedules
        if schedule_of(name).fits_interleave(np.array(interleave))
    ]
    usual = "1f1b" if "1f1b" in schedules else schedules[0]
    schedule = plan.schedule if plan.schedule in schedules else usual
    changes = {"interleave": interleave, "schedule": schedule}
    said = [f", {name} {value}" for name, value in changes.items() if value != getattr(plan, name)]
    return "".join(said), replace(plan, schedule=schedule, interleave=interleave, split=split)


def _mesh_steps(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """A factor of two moved from one axis to another; state stays sharded over what it was."""
    data = "fsdp" if plan.fsdp > 1 else "dp"
    for grow, shrink in (
        ("tp", data),
        (data, "tp"),
        ("cp", data),
        (data, "cp"),
        ("pp", data),
        (data, "pp"),
        ("tp", "pp"),
        ("pp", "tp"),
    ):
        if getattr(plan, shrink) % 2:
            continue
        sizes = {grow: getattr(plan, grow) * 2, shrink: getattr(plan, shrink) // 2}
        changed = replace(plan, **sizes)
        if changed.pp == 1:
            changed = replace(changed, schedule="1f1b", interleave=1)
        changed = replace(changed, sequence_parallel=plan.sequence_parallel and changed.tp > 1)
        if plan.tp == 1 and changed.tp > 1:
            changed = replace(changed, sequence_parallel=True)
        yield ", ".join(f"{axis} {size}" for axis, size in sizes.items()), changed
    if plan.sharding == "zero3":
        for dp, fsdp in ((plan.dp * 2, plan.fsdp / 2), (plan.dp / 2, plan.fsdp * 2)):
            if dp == int(dp) and fsdp == int(fsdp) and fsdp > 1:
                yield f"dp {dp:g}, fsdp {fsdp:g}", replace(plan, dp=int(dp), fsdp=int(fsdp))


def _sharding_steps(plan: Plan, name: str) -> Iterator[tuple[str, Plan]]:
    if {stage.sharding or plan.sharding for stage in plan.stages or (Stage(layers=0),)} == {name}:
        return
    ranks = plan.dp * plan.fsdp
    same = with_all(replace(plan, sharding=name), sharding=name)
    if name == "zero3":
        yield f"zero3 over {ranks}", replace(same, fsdp=ranks, dp=1)
    else:
        yield name, replace(same, fsdp=1, dp=ranks)

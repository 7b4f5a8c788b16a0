"""Why a plan wins: what binds it, and what plans one step away would cost.

Everything here comes from real evaluations of the cost model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.intervals import is_prediction, tie_noise, ties
from planner.memory_risk import headroom_note
from planner.plan import AXES, RECOMPUTES, SHARDINGS, SPLITS, Plan, PlanTable
from planner.ranks import moved
from planner.results import Neighbor, PlanResult, plan_results
from planner.rules import violations
from planner.search.limits import Limits
from planner.search.options import CHOICES, MESH_AXES, SpaceOptions
from planner.search.space import chunkings
from planner.units import show_bytes, show_joules, show_percent, show_seconds, show_watts

_CAUSES = {
    "compute": "arithmetic (matrix multiplications and attention)",
    "memory_bound": "memory-bound element-wise work",
    "tensor_parallel": "tensor-parallel communication",
    "context_parallel": "context-parallel communication",
    "expert_parallel": "expert-parallel communication",
    "pipeline_transfer": "pipeline transfers",
    "bubble": "the pipeline bubble",
    "data_parallel": "exposed data-parallel communication",
    "optimizer": "the optimizer step",
    "offload": "traffic to host memory",
    "host": "host and launch overhead",
}


def sentences(model: CostModel, best: PlanResult, limits: Limits) -> tuple[str, ...]:
    """What binds a plan, in a few sentences with figures."""
    lines = [_parts_sentence(best), *_hidden_sentence(best)]
    limit = limits.chip_bytes(model)
    share = best.memory_per_chip_bytes / limit
    lines.append(
        f"The fullest chip holds {show_bytes(best.memory_per_chip_bytes)} of the "
        f"{show_bytes(limit)} that may be filled ({show_percent(share)}"
        + ("; memory is close to binding)." if share > 0.9 else ").")
    )
    if best.lacks_headroom:
        note = headroom_note(best.memory_per_chip_bytes, model.chip.memory_bytes)
        lines.append(f"{note[0].upper()}{note[1:]}.")
    return tuple(lines)


def _hidden_sentence(best: PlanResult) -> list[str]:
    """How much communication hides, where some does."""
    sent = sum(best.communication_s.values())
    hidden = sent - sum(best.time_s[name] for name in best.communication_s)
    if hidden <= 0.005 * best.step_time_s:
        return []
    share = show_percent(hidden / sent)
    return [f"Of {show_seconds(sent)} of communication {share} hides behind other work."]


def _parts_sentence(best: PlanResult) -> str:
    """What takes the most of the step, and what comes next."""
    parts = sorted(best.time_s.items(), key=lambda item: -item[1])
    shares = [(_CAUSES[name], show_percent(part / best.step_time_s)) for name, part in parts[:3]]
    first = f"{shares[0][0].capitalize()} takes {shares[0][1]} of the step"
    rest = [
        f"{what} ({share})" for (what, share), (_, part) in zip(shares, parts, strict=False) if part
    ][1:]
    if not rest:
        return f"{first}; nothing else takes time, or what does is hidden behind it."
    return f"{first}; next {'are' if len(rest) > 1 else 'is'} {' and '.join(rest)}."


def neighbors(
    model: CostModel,
    best: PlanResult,
    limits: Limits,
    options: SpaceOptions,
    objective: str = "time",
    *,
    most: int = 8,
) -> tuple[Neighbor, ...]:
    """Plans one step from `best`: the best of what is allowed first, then what is not, and why.

    Args:
        model: Job, cluster, assumptions.
        best: The plan that was chosen.
        limits, options: What it had to obey.
        objective: What it was chosen for; one of `planner.search.objective.OBJECTIVES`.
        most: How many to return.
    """
    steps = dict(_steps(model, best.plan, options))
    changes = [(what, _laid_out(plan)) for what, plan in steps.items()]
    runnable, broken = [], []
    for what, plan in changes:
        lines = violations(model, PlanTable.from_plans([plan]), all_orders=options.all_orders)
        if lines:
            broken.append(Neighbor(change=what, result=None, verdict=lines[0]))
        else:
            runnable.append((what, plan))
    results: list[PlanResult] = []
    if runnable:
        table = PlanTable.from_plans([plan for _, plan in runnable])
        results = plan_results(model, table, evaluate_table(model, table))
    judged = []
    for (what, _), result in zip(runnable, results, strict=True):
        refusal = broken_limit(model, result, limits) or _not_asked(model, result.plan, options)
        verdict = refusal or _verdict(best, result, objective)
        order = (refusal is not None, value_of(result, objective))
        tie = None if refusal else is_tie(model, best, result, objective)
        judged.append((order, Neighbor(change=what, result=result, verdict=verdict, tie=tie)))
    judged.sort(key=lambda pair: pair[0])
    kept = [neighbor for _, neighbor in judged[: max(most - min(len(broken), 2), 1)]]
    return (*kept, *broken[: most - len(kept)])


def broken_limit(model: CostModel, result: PlanResult, limits: Limits) -> str | None:
    """The limit that forbids a plan, with its figures, or None."""
    chip, host = limits.chip_bytes(model), limits.host_limit(model)
    power = result.power_per_chip_w * result.chips
    checks: tuple[tuple[str, float, float | None, Callable[[float], str]], ...] = (
        ("memory", result.memory_per_chip_bytes, chip, show_bytes),
        ("host memory", result.host_memory_bytes, host, show_bytes),
        ("step time", result.step_time_s, limits.step_time_s, show_seconds),
        ("power", power, limits.power_w, show_watts),
    )
    for name, value, limit, show in checks:
        if limit is not None and value > limit:
            return f"{name}: {show(value)}, not allowed above {show(limit)}"
    if limits.mfu is not None and result.mfu < limits.mfu:
        return f"MFU: {show_percent(result.mfu)}, not allowed below {show_percent(limits.mfu)}"
    return None


def _not_asked(model: CostModel, plan: Plan, options: SpaceOptions) -> str | None:
    """The flag that rules a plan out, or None."""
    if plan.clock < model.clock_limit and not options.clocks:
        return "not asked for (--no-clocks)"
    table = PlanTable.from_plans([plan])
    for name in (*MESH_AXES, *CHOICES):
        if options.allows(name, getattr(table, name).astype(np.int64))[0]:
            continue
        flag = "--fix" if name in options.fixed else "--axes"
        return f"not asked for ({flag} rules out {name} {getattr(plan, name)})"
    return None


def is_tie(model: CostModel, best: PlanResult, other: PlanResult, objective: str) -> bool | None:
    """Whether two plans of one job cannot be told apart by an objective.

    Energy carries the error of time once, energy x time twice; memory none of it, so there the
    time decides. Plans that differ in the clock alone share their whole error: only equal ones tie.
    None where times are bounds, not predictions.
    """
    if not is_prediction(model.assumptions):
        return None
    if replace(other.plan, clock=best.plan.clock) == best.plan:
        return value_of(other, objective) == value_of(best, objective)
    noise = tie_noise(model.job) * (2 if objective == "edp" else 1)
    objective = "time" if objective == "memory" else objective
    return bool(ties(value_of(other, objective), value_of(best, objective), noise))


def value_of(result: PlanResult, objective: str) -> float:
    """What an objective makes of a plan: s, J, J s or bytes."""
    time, energy = result.step_time_s, result.energy_per_step_j
    return {
        "time": time,
        "energy": energy,
        "edp": time * energy,
        "memory": result.memory_per_chip_bytes,
    }[objective]


_SAID: dict[str, tuple[str, str, Callable[[PlanResult], str]]] = {
    "time": ("slower", "faster", lambda r: show_seconds(r.step_time_s)),
    "energy": ("more energy", "less energy", lambda r: show_joules(r.energy_per_step_j)),
    "edp": (
        "more energy x time",
        "less energy x time",
        lambda r: f"{show_joules(r.energy_per_step_j)} x {show_seconds(r.step_time_s)}",
    ),
    "memory": ("more memory", "less memory", lambda r: show_bytes(r.memory_per_chip_bytes)),
}


def _verdict(best: PlanResult, other: PlanResult, objective: str) -> str:
    """How a plan compares by the objective; ties and other objectives with its time as well."""
    more, less, shown = _SAID[objective]
    change = _change(best, other, objective)
    same = f"same {'time' if objective == 'time' else less.split(' ', 1)[1]}"
    word = same if abs(change) < 5e-5 else f"{_by(change, more, less)}"
    verdict = f"{word} ({shown(other)})"
    if objective in ("energy", "memory"):
        later = _change(best, other, "time")
        verdict += ", same time" if abs(later) < 5e-5 else f", {_by(later, *_SAID['time'][:2])}"
    return verdict


def _change(best: PlanResult, other: PlanResult, objective: str) -> float:
    return value_of(other, objective) / value_of(best, objective) - 1


def _by(change: float, more: str, less: str) -> str:
    return f"{more if change > 0 else less} by {show_percent(abs(change))}"


def _steps(model: CostModel, plan: Plan, options: SpaceOptions) -> Iterator[tuple[str, Plan]]:
    """Descriptions and plans that differ in one decision."""
    for what, changed in _mesh_steps(plan):
        said, piped = _piped(model, changed, options)
        yield what + said, piped
    local = model.job.global_batch // (plan.dp * plan.fsdp)
    for size in (plan.micro_batch * 2, plan.micro_batch // 2):
        if size >= 1 and local % size == 0:
            yield f"micro-batch {size}", replace(plan, micro_batch=size)
    for name in RECOMPUTES:
        useless = name == "selective" and model.framework.selective == "core-attention"
        if name != plan.recompute and not (useless and model.assumptions.fused_attention):
            yield f"recompute {name}", replace(plan, recompute=name)
    for name in SHARDINGS:
        yield from _sharding_steps(plan, name)
    if plan.tp > 1 and not model.shapes.experts:
        other = not plan.sequence_parallel
        what = "with" if other else "without"
        yield f"{what} sequence parallelism", replace(plan, sequence_parallel=other)
    if model.chip.clock_settable:
        levels = sorted(model.chip.clock_levels, reverse=True)
        slower = [level for level in levels if level < plan.clock]
        if slower:
            yield f"clock {slower[0]:g}", replace(plan, clock=slower[0])


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
        name for name in model.framework.schedules if (name == "interleaved") == (interleave > 1)
    ]
    usual = "1f1b" if "1f1b" in schedules else schedules[0]
    schedule = plan.schedule if plan.schedule in schedules else usual
    changes = {"interleave": interleave, "schedule": schedule}
    said = [f", {name} {value}" for name, value in changes.items() if value != getattr(plan, name)]
    return "".join(said), replace(plan, schedule=schedule, interleave=interleave, split=split)


def _mesh_steps(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """A factor of two moved from one axis to another."""
    data = "fsdp" if plan.fsdp > 1 else "dp"
    for grow, shrink in (
        ("tp", data),
        (data, "tp"),
        ("cp", data),
        (data, "cp"),
        ("pp", data),
        (data, "pp"),
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
    if name == plan.sharding:
        return
    ranks = plan.dp * plan.fsdp
    if name == "zero3":
        yield f"zero3 over {ranks}", replace(plan, sharding=name, fsdp=ranks, dp=1)
    else:
        yield name, replace(plan, sharding=name, fsdp=1, dp=ranks)

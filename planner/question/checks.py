"""What a question asks of the plans, held against the model, the framework and the chip.

A search would prove that such a question has no answer; these checks say at once which word of it
is wrong and what is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from planner.base.messages import distinguished
from planner.base.units import show_bytes
from planner.base.vocabulary import ANY
from planner.cost.context import CostModel
from planner.cost.kernels.shapes import shapes_of
from planner.frameworks.registry import FRAMEWORKS
from planner.frameworks.rules import PLACEMENT, Rule, applicable, demands_of, nearest_divisors
from planner.frameworks.rules.words import no_modules
from planner.frameworks.targets import Target
from planner.network.synthesized.tables import NCCL
from planner.plan import Plan, PlanTable
from planner.plan.choices import fixed_values
from planner.plan.plan import NAMED
from planner.plan.recomputations import modules_of, recomputation
from planner.question.records import preset_of
from planner.question.request import Request

# What a field needs beside it to mean anything.
_BESIDE: dict[str, dict[str, int]] = {"schedule": {"pp": 2}, "split": {"pp": 2}}


def problems_of(
    model: CostModel, fix: Mapping[str, tuple[str, ...]], max_memory: float | None
) -> list[str]:
    """One line per wish that no plan can grant.

    Args:
        model: Job, cluster and framework.
        fix: Fields of the plan and the values that each may take; one possible value is enough.
        max_memory: Bytes per chip that a plan may fill, if limited.
    """
    found = [line for name, texts in fix.items() for line in _of_field(model, name, texts)]
    capacity = model.chip.memory_bytes
    if max_memory is not None and max_memory > capacity:
        asked, there = distinguished(max_memory, capacity, show_bytes)
        found.append(f"max-memory: {asked} is more than the {there} of each {model.chip.name}")
    return found


def lengths_problems(model: CostModel) -> list[str]:
    """Why lengths change nothing, where they do not; at most one line."""
    job = model.job
    if not job.lengths:
        return []
    whole = shapes_of(job.model, job.seq_len).context
    if not model.shapes.heads:
        why = f"under {model.assumptions.name} no attention is counted"
    elif not model.assumptions.fused_attention:
        why = (
            f"attention in {job.era} on {model.chip.name} has no fused kernel, and multiplies "
            "whole sequences whatever they hold"
        )
    elif math.isclose(model.shapes.context, whole, rel_tol=1e-12):
        why = f"attention spans no less than in whole sequences of {job.seq_len:,.15g} tokens"
    else:
        return []
    return [f"lengths: they have no effect: {why}; leave them out"]


def placement_problems(
    model: CostModel, placement: str, targets: Iterable[Target] = ()
) -> Iterator[str]:
    """Why layouts over a torus, where they are asked for, cannot be had; at most one line."""
    if placement != "torus":
        return
    told = (demand for demand in demands_of(model, targets) if demand.rule.field == PLACEMENT)
    if not any(level.topology == "torus" for level in model.cluster.levels):
        yield (
            f"placement: torus needs a cluster with a torus, such as tpu-v5p; "
            f"{model.cluster.name} has none; allowed here: framework, all"
        )
    elif model.framework.orders:
        free = ", ".join(name for name, other in FRAMEWORKS.items() if not other.orders)
        yield (
            f"placement: torus needs a framework that lays out ranks in parts ({free}); "
            f"{model.framework.name} has fixed rank layouts; allowed here: framework, all"
        )
    elif model.torus_axes:
        yield (
            "torus-axes: under placement torus the layouts say which torus axes serve a mesh axis; "
            "leave one of the two out"
        )
    elif (demand := next(told, None)) is not None:
        yield (
            f"placement: torus lays out axes in parts, which {demand.target.name} has no word for "
            f"({demand.rule.source}); with runnable-in {demand.target.name} allowed: framework, all"
        )


def _of_field(model: CostModel, name: str, texts: tuple[str, ...]) -> Iterator[str]:
    """The rule that every value of a field breaks, if there is one."""
    fixed_values(name, texts)
    if name == "recompute" and ANY in texts and (why := no_modules(model)):
        yield f"fix: recompute {ANY}: {why}"
    broken = {text: _broken(model, name, text) for text in texts if text != ANY}
    if not all(broken.values()) or len(broken) < len({*texts}):  # of sets of modules every one
        broken = {text: broken[text] for text in broken if _names_modules(name, text)}
    yield from dict.fromkeys(f"fix: {line}" for line in broken.values() if line)


def _names_modules(name: str, text: str) -> bool:
    return name == "recompute" and bool(modules_of(recomputation(text)))


def _broken(model: CostModel, name: str, text: str) -> str | None:
    """Why a value of a field is impossible."""
    if name == "ep":
        return _experts(model, int(text))
    if (name, text) == ("schedule", "1f1b"):
        return None  # that of every plan without a pipeline
    (code,) = fixed_values(name, (text,))
    beside: dict[str, Any] = {**_BESIDE.get(name, {}), name: text if name in NAMED else code}
    plan = Plan(**beside)
    table = PlanTable.from_plans([plan])
    for rule in _rules(model, name):
        if not rule.holds(model, table)[0]:
            return rule.explain(model, plan)
    return None


def _rules(model: CostModel, name: str) -> list[Rule]:
    """Rules that a value of one field breaks, whatever the rest of the plan is."""
    return [rule for rule in applicable(model.framework) if rule.alone and rule.field == name]


def _experts(model: CostModel, ep: int) -> str | None:
    experts = model.shapes.experts
    if experts == 0:
        return f"ep {ep}: {model.job.model.name} has no experts; allowed: 1" if ep > 1 else None
    if experts % ep == 0:
        return None
    return (
        f"ep {ep} does not divide the {experts} experts of {model.job.model.name}; nearest: "
        f"{nearest_divisors(ep, experts)}"
    )


def without_constants(request: Request) -> list[str]:
    """Fields that mean nothing under assumptions without fitted constants, one line per field."""
    lines, preset = [], preset_of(request.assumptions)
    if request.calibration is not None and preset != "calibrated":
        lines.append(
            f"calibration: has no effect under {preset}, which has no fitted constants; use the "
            "assumptions calibrated or leave it out"
        )
    if request.fp8_recipe is not None and preset != "calibrated":
        lines.append(
            f"fp8-recipe: {request.fp8_recipe} has no effect under {preset}, which counts no "
            "casting; use the assumptions calibrated or leave it out"
        )
    if request.collectives not in (None, NCCL) and preset != "calibrated":
        lines.append(
            f"collectives: {request.collectives} has no effect under {preset}, which counts no "
            "steps of collectives; use the assumptions calibrated or leave it out"
        )
    return lines

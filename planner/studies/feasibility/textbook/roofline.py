"""Rows under `roofline`: thresholds, verdicts and largest chip counts by exact algebra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.plan import AXES, PlanTable
from planner.studies.feasibility import answer, words
from planner.studies.feasibility.answer import Row
from planner.studies.feasibility.strategies import STRATEGIES, Strategy, with_batch
from planner.studies.feasibility.textbook.continuous import (
    Continuous,
    continuous_of,
    nearest_split,
    x_opt_of_mesh,
)
from planner.studies.feasibility.textbook.meshes import MeshLimits, mesh_limits
from planner.studies.feasibility.textbook.placed import least_communication

_MIXED = next(strategy for strategy in STRATEGIES if strategy.name == "fsdp+tp")
_TP = next(strategy for strategy in STRATEGIES if strategy.name == "tp")


def model_at_peak(model: CostModel) -> CostModel | None:
    """The cost model without `mfu`: chips compute at their peak; None but under `roofline`."""
    if not model.assumptions.token_granularity:
        return None
    peak = Assumptions.roofline(model.chip, model.job.precision)
    return CostModel.build(model.job, model.cluster, peak, model.torus_axes)


def roofline_rows(
    model: CostModel,
    strategy: Strategy,
    chips: int,
    memory_bytes: float,
    batches: Sequence[float] = (),
    at_peak: CostModel | None = None,
) -> list[Row]:
    """The rows of a strategy on `chips` chips, one per batch or one without.

    Args:
        model, strategy, chips, memory_bytes: As in `roofline_row`.
        batches: Tokens per step.
        at_peak: From `model_at_peak`, for what is decided at the peak rate beside.
    """
    if at_peak is not None:
        rows = roofline_rows(model, strategy, chips, memory_bytes, batches)
        peaks = roofline_rows(at_peak, strategy, chips, memory_bytes, batches)
        return [
            replace(
                row,
                min_batch_tokens_at_peak=peak.min_batch_tokens_compute_bound,
                feasible_at_peak=peak.feasible,
            )
            for row, peak in zip(rows, peaks, strict=True)
        ]
    most_tp = largest_tp_of(model, chips, memory_bytes) if "tp" in strategy.axes else None
    asked: Sequence[float | None] = batches or (None,)
    return [roofline_row(model, strategy, chips, memory_bytes, batch, most_tp) for batch in asked]


def roofline_row(
    model: CostModel,
    strategy: Strategy,
    chips: int,
    memory_bytes: float,
    batch_tokens: float | None = None,
    most_tp: float | None = None,
) -> Row:
    """The limits of a strategy on `chips` chips, and the verdict at a batch if there is one.

    Args:
        model: Job, cluster and the assumptions `roofline`.
        strategy: The strategy.
        chips: N.
        memory_bytes: Bytes per chip that may be filled.
        batch_tokens: Tokens per step, at least one per chip.
        most_tp: From `largest_tp_of`, where it is known.
    """
    limits = mesh_limits(model, strategy, chips, memory_bytes)
    common: dict[str, Any] = {
        "strategy": strategy.name,
        "model": model.job.model.name,
        "hardware": model.cluster.name,
        "chips": chips,
        "batch_tokens": batch_tokens,
    }
    if "tp" in strategy.axes:
        common["max_tp"] = most_tp or largest_tp_of(model, chips, memory_bytes)
    if limits is None:
        return Row(**common, **absent(batch_tokens), **words.absent(model, strategy, chips))
    formula = continuous_of(model, strategy, limits)
    row = limits.best(batch_tokens)
    found = common | _limits_of(model, strategy, limits, row, formula)
    if batch_tokens is not None:
        row = _fastest(model, limits, batch_tokens)
        found |= _verdict(model, limits, row, formula, batch_tokens)
    at = batch_tokens or found["min_batch_tokens_compute_bound"]
    found |= _optimum(model, limits, row, formula, at)
    if strategy is _MIXED and at is not None and (placed := least_communication(model, chips, at)):
        found |= {"x_opt_mesh": placed.mesh, "x_opt_torus": placed.words}
    if formula:
        found["max_tp"] = formula.most_tp
    found["binds"] = _binds(strategy, limits, row, found)
    said = words.of_roofline(model, limits, row, found, memory_bytes)
    if formula and not model.torus_axes:
        said = f"{said}; {words.by_formula(formula)}"
    return Row(**found, words=said)


def absent(batch_tokens: float | None) -> dict[str, Any]:
    """The verdict of a strategy that has no mesh."""
    said = None if batch_tokens is None else False
    return {"compute_bound": said, "fits": said, "feasible": said}


def _limits_of(
    model: CostModel,
    strategy: Strategy,
    limits: MeshLimits,
    row: int,
    formula: Continuous | None,
) -> dict[str, Any]:
    """Smallest and largest batches, and the whole mesh they belong to."""
    whole = _plainly(float(limits.least[row]))
    most, least = float(limits.most.max()), float(limits.chips)
    fits = most >= least
    plan = limits.plans.plan(row)
    return {
        "min_batch_tokens_compute_bound": _plainly(formula.least) if formula else whole,
        "min_batch_tokens_whole_mesh": whole,
        "mesh": {axis: getattr(plan, axis) for axis in AXES if getattr(plan, axis) > 1},
        "min_batch_tokens_fit": least if fits else None,
        "max_batch_tokens_fit": float(math.floor(most)) if fits else None,
    }


def _plainly(value: float) -> float | None:
    """A batch without what floating-point rounding leaves in the last digits; None for inf."""
    return float(f"{value:.12g}") if math.isfinite(value) else None


def _verdict(
    model: CostModel,
    limits: MeshLimits,
    row: int,
    formula: Continuous | None,
    batch_tokens: float,
) -> dict[str, Any]:
    """Whether a batch is compute-bound and fits, and by how much."""
    bound, fits = limits.least <= batch_tokens, limits.most >= batch_tokens
    least = float(limits.least.min())
    plan = limits.plans.plan(row)
    return {
        "mesh": {axis: getattr(plan, axis) for axis in AXES if getattr(plan, axis) > 1},
        "compute_bound": bool(bound.any()),
        "compute_bound_continuous": None if formula is None else formula.least <= batch_tokens,
        "margin_continuous": None if formula is None else batch_tokens / formula.least,
        "fits": bool(fits.any()),
        "feasible": bool((bound & fits).any()),
        "margin": batch_tokens / least if math.isfinite(least) else None,
        "step_time_s": step_s(model, limits, row, batch_tokens),
    }


def _fastest(model: CostModel, limits: MeshLimits, batch_tokens: float) -> int:
    """The mesh with the least step time at a batch, first of those that fit.

    Of meshes with equal times, to nine digits, that which communicates least, as X_opt does, then
    that which is compute-bound from the fewest tokens.
    """
    times = step_times(model, limits.plans, limits.chips, batch_tokens)
    seconds, shares = _rounded(times), _rounded(limits.communication(batch_tokens))
    return int(np.lexsort((limits.least, shares, seconds, limits.most < batch_tokens))[0])


def _rounded(values: FloatArray) -> FloatArray:
    """(n,) values without what floating-point rounding leaves in the last digits."""
    return np.array([float(f"{value:.9g}") for value in values])


def step_s(model: CostModel, limits: MeshLimits, row: int, batch_tokens: float) -> float:
    """Seconds of a step on a whole mesh by the ordinary cost model."""
    return float(step_times(model, limits.plans, limits.chips, batch_tokens)[row])


def step_times(model: CostModel, plans: PlanTable, chips: int, batch_tokens: float) -> FloatArray:
    """(n,) seconds of a step whose tokens `chips` chips share evenly."""
    return evaluate_table(with_batch(model, chips, batch_tokens / chips), plans).step_time_s


def _optimum(
    model: CostModel,
    limits: MeshLimits,
    row: int,
    formula: Continuous | None,
    batch_tokens: float | None,
) -> dict[str, Any]:
    """X_opt and the whole split that it rounds to."""
    if batch_tokens is None:
        return {}
    plans = limits.plans
    x_opt = (
        formula.x_opt(batch_tokens) if formula else x_opt_of_mesh(model, limits, row, batch_tokens)
    )
    if x_opt is None:
        return {}
    inside = limits.chips // int(plans.dp[row] * plans.cp[row] * plans.pp[row])
    width = model.shapes.dense_width
    return {"x_opt": x_opt, "x_opt_mesh": nearest_split(x_opt, inside, width)}


def largest_tp_of(model: CostModel, chips: int, memory_bytes: float) -> float | None:
    """Largest whole degree of tensor parallelism on `chips` chips that is compute-bound, or 1."""
    degrees = [1]
    for strategy in (_MIXED, _TP):
        limits = mesh_limits(model, strategy, chips, memory_bytes)
        if limits is not None:
            degrees += limits.plans.tp[limits.plans.tp <= limits.most_tp].tolist()
    return float(max(degrees))


def _binds(strategy: Strategy, limits: MeshLimits, row: int, found: dict[str, Any]) -> str:
    """What is in the way at the batch asked for, or of any smaller batch."""
    batch_tokens = found["batch_tokens"]
    if found.get("feasible"):
        return answer.NOTHING
    if found["min_batch_tokens_fit"] is None:
        return answer.STATE
    if batch_tokens is not None and not found["fits"]:
        return answer.ACTIVATIONS
    limit = limits.binds(row, strategy)
    if limit in (answer.TP, answer.NOTHING) or batch_tokens is not None:
        return answer.ACTIVATIONS if limit == answer.NOTHING and batch_tokens else limit
    return answer.ACTIVATIONS if limits.most[row] < limits.least[row] else limit

"""What binds, as one sentence for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from planner.base.messages import distinguished
from planner.base.units import plain, plural, show_bytes, show_count
from planner.cost.context import CostModel
from planner.frameworks.rules import demands_of
from planner.frameworks.targets import Target
from planner.plan import PlanTable
from planner.results.words import join_words
from planner.studies.feasibility import answer
from planner.studies.feasibility.strategies import Strategy, pod_chips
from planner.studies.feasibility.textbook.continuous import Continuous
from planner.studies.feasibility.textbook.meshes import MeshLimits

AT_ONCE = (
    "The whole batch passes at once, without gradient accumulation and bubbles; planner solve also "
    "accumulates, and may do with fewer chips."
)
ROOFLINE_NOTES = (
    "Compute-bound: communication takes no longer than computing. The whole batch passes at once "
    "(no gradient accumulation), without bubbles.",
    "Whole meshes lie on a torus as planner solve --placement torus lays them.",
    "As in the text, FSDP and TP communicate at the same time, each at the full rate of the links "
    "that it uses: where both lie on one physical axis, that is more than the axis has. "
    "--torus-axes gives each its own.",
)
AT_PEAK = (
    "Peak: by the peak rate, with which the text decides what is compute-bound. Times and the "
    "other columns are those of --mfu: slower computing hides more communication."
)
DEFAULT_NOTES = (
    "Compute-bound: exposed communication is at most 1 % of the step of the fastest plan that "
    "fits, at this batch and at every larger one looked at (16 Ki tokens per chip, from 4 Mi up "
    "to 64 Mi, or the batch asked for). Gradient accumulation makes no batch too large for memory.",
    "Placements are the framework's orders of the axes; planner solve --placement torus also cuts "
    "axes into parts.",
)


def tokens(value: float) -> str:
    """`963.5 k tokens`."""
    return f"{show_count(round(value))} tokens"


def absent(model: CostModel, strategy: Strategy, chips: int) -> dict[str, Any]:
    """Why a strategy has no mesh on so many chips: what binds, and the sentence."""
    framework = model.framework
    if lacking := [axis for axis in strategy.needs if axis in framework.lacks]:
        return _said(answer.RULES, f"{framework.name} has no {lacking[0]}")
    if strategy.sharding not in framework.shardings:
        return _said(answer.RULES, f"{framework.name} has no {strategy.sharding}")
    if chips == 1:
        return _said(answer.CLUSTER, "one chip has nothing to divide")
    if strategy.pods and pod_chips(model, chips) >= chips:
        inner = model.allocation(chips).levels[0].name
        return _said(answer.CLUSTER, f"all {chips:,} chips are in one {inner} domain: no pods")
    axes = " x ".join(strategy.needs)
    return _said(
        answer.RULES,
        f"{plural(chips, 'chip')} do not divide into {axes} of at least 2 each under the rules on "
        "heads, widths, layers and sequences",
    )


def not_launched(model: CostModel, plans: PlanTable, targets: Iterable[Target]) -> dict[str, Any]:
    """Why targets run none of some plans as they are: what binds, and the sentence.

    Named is what the plan lacks that breaks the fewest rules.
    """
    demands = [one for one in demands_of(model, targets) if one.rule.counted is None]
    broken = np.array([~demand.holds(plans) for demand in demands])
    row = int(np.argmin(broken.sum(axis=0)))
    lines = dict.fromkeys(
        demand.rule.explain(demand.model, plans.plan(row))
        for demand, wrong in zip(demands, broken[:, row], strict=True)
        if wrong
    )
    titles = join_words(list(dict.fromkeys(target.title for target in targets)))
    return _said(answer.RULES, f"{titles} can launch none of its plans: {'; '.join(lines)}")


def _said(binds: str, sentence: str) -> dict[str, Any]:
    return {"binds": binds, "words": sentence}


def of_roofline(
    model: CostModel,
    limits: MeshLimits,
    row: int,
    found: dict[str, Any],
    memory_bytes: float,
) -> str:
    """What binds a row under `roofline`, with its figures."""
    binds, batch = found["binds"], found["batch_tokens"]
    least = found["min_batch_tokens_compute_bound"]
    if binds == answer.STATE:
        return state(float(limits.state.min()), memory_bytes)
    if binds == answer.ACTIVATIONS:
        most = found["max_batch_tokens_fit"]
        above = "" if batch else ", fewer than the batch that is compute-bound"
        return f"activations: {tokens(most)} fit{above}"
    whole = found["min_batch_tokens_whole_mesh"]
    if found.get("compute_bound_continuous") and not found["compute_bound"]:
        meshes = "no whole mesh is" if whole is None else f"whole meshes from {tokens(whole)} on"
        return f"compute-bound with continuous X and Y only; {meshes}"
    if binds == answer.TP:
        return _too_much_tp(limits, row)
    if binds == answer.NOTHING:
        return "compute-bound at a token per chip" if batch is None else "compute-bound and fits"
    each = "" if least is None else f"{least / limits.chips:,.4g} tokens per chip"
    what = {
        answer.FSDP: "gathering weights takes longer than computing",
        answer.DP: "reducing gradients takes longer than computing",
        answer.DCN: "reducing gradients across slices takes longer than computing",
    }[binds]
    return f"{what} below {each}"


def _too_much_tp(limits: MeshLimits, row: int) -> str:
    degree, most = int(limits.plans.tp[row]), float(limits.most_tp[row])
    return (
        f"exchanging activations takes longer than computing: tp {degree} on links that hide up "
        f"to {most:.3g}"
    )


def by_formula(formula: Continuous) -> str:
    """What the text's formula says with torus axes that nobody gave."""
    least = formula.least
    return (
        f"by the text's formula, which gives both whole torus axes (--torus-axes "
        f"fsdp={formula.axes_x:g},tp={formula.axes_y:g}), from {tokens(least)} on, "
        f"{least / formula.chips:,.4g} per chip, with X {plain(formula.x_opt(least))} and "
        f"Y {plain(formula.most_tp)}"
    )


def state(held: float, memory_bytes: float) -> str:
    """State that does not fit."""
    takes, has = distinguished(held, memory_bytes, show_bytes)
    return f"weights and optimizer take {takes} of the {has} of a chip"


def without_fit(
    least_bytes: tuple[float, float], memory_bytes: float, most: float
) -> dict[str, Any]:
    """Why no plan of a strategy fits at any batch: what binds, and the sentence.

    Args:
        least_bytes: Bytes of the leanest plan, and of its state.
        memory_bytes: Bytes per chip that may be filled.
        most: Largest batch looked at.
    """
    whole, held = least_bytes
    if held > memory_bytes:
        return _said(answer.STATE, state(held, memory_bytes))
    if whole > memory_bytes:
        fills, room = distinguished(whole, memory_bytes, show_bytes)
        return _said(answer.ACTIVATIONS, f"one micro-batch of one sequence fills {fills} of {room}")
    return _said(
        answer.GRANULARITY,
        f"no batch up to {tokens(most)} divides among the data ranks of a plan that fits",
    )


def no_count(
    model: CostModel,
    strategy: Strategy,
    counts: tuple[int, ...],
    memory_bytes: float,
    batch_tokens: float,
) -> dict[str, Any]:
    """Why none of some chip counts is compute-bound and fits at a batch."""
    if not counts:
        sentence = f"no chip count of {model.cluster.name} has a token per chip of the batch"
        return _said(answer.CLUSTER, sentence)
    few, many = f"{min(counts):,}", f"{max(counts):,}"
    return _said(
        answer.CLUSTER,
        f"none of the {len(counts):,} counts from {few} to {many} chips is compute-bound and fits "
        f"at {tokens(batch_tokens)}",
    )

"""What binds, as one sentence for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from planner.base.units import plural, show_bytes, show_count
from planner.cost.context import CostModel
from planner.frameworks.rules import demands_of
from planner.frameworks.targets import Target
from planner.plan import PlanTable
from planner.results.words import join_words
from planner.studies.feasibility import answer
from planner.studies.feasibility.strategies import Strategy, pod_chips
from planner.studies.feasibility.textbook.meshes import MeshLimits


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


def state(held: float, memory_bytes: float) -> str:
    """State that does not fit."""
    return (
        f"weights and optimizer take {show_bytes(held)} of the {show_bytes(memory_bytes)} of a chip"
    )


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
    room = show_bytes(memory_bytes)
    if whole > memory_bytes:
        return _said(
            answer.ACTIVATIONS,
            f"one micro-batch of one sequence fills {show_bytes(whole)} of {room}",
        )
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

"""The largest chip count that stays compute-bound at a batch, under `roofline`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.base.arrays import BoolArray
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.network.axes import SERVED_BY
from planner.plan import PlanTable
from planner.studies.feasibility import answer, words
from planner.studies.feasibility.answer import Row
from planner.studies.feasibility.strategies import Strategy, with_batch
from planner.studies.feasibility.textbook import algebra
from planner.studies.feasibility.textbook.continuous import (
    Continuous,
    axis_bytes_per_s,
    continuous_of,
)
from planner.studies.feasibility.textbook.meshes import (
    MeshLimits,
    mesh_limits,
    mesh_plans,
    tokens_beside_state,
)
from planner.studies.feasibility.textbook.roofline import absent, roofline_row


def largest_chips(
    model: CostModel,
    strategy: Strategy,
    counts: tuple[int, ...],
    memory_bytes: float,
    batch_tokens: float,
    on_progress: Progress | None = None,
) -> Row:
    """The row of the largest of some counts that is compute-bound and fits at a batch.

    Counts are tried from the largest down: where groups share links, more chips may do better than
    fewer.

    Args:
        model: Job, cluster and the assumptions `roofline`.
        strategy: The strategy.
        counts: Chip counts that the cluster gives.
        memory_bytes: Bytes per chip that may be filled.
        batch_tokens: Tokens per step.
        on_progress: Called with (what, done, of).
    """
    found, nearest = None, None
    bound = most_chips_bound(model, strategy, batch_tokens)
    possible = sorted((count for count in counts if count <= bound), reverse=True)
    for done, chips in enumerate(possible):
        if on_progress is not None:
            on_progress(strategy.title, done, len(possible))
        sized = with_batch(model, chips)
        plans = mesh_plans(sized, strategy, chips)
        if len(plans) == 0:
            continue
        _, most = tokens_beside_state(sized, plans, memory_bytes)
        fits = most >= batch_tokens
        kept = plans.take(np.flatnonzero(fits & _within_links(model, plans, batch_tokens)))
        if _any_allows(model, strategy, chips, memory_bytes, batch_tokens, kept):
            found = roofline_row(model, strategy, chips, memory_bytes, batch_tokens)
            break
        if nearest is None or fits.any():
            nearest = chips
        if not strategy.pods and float(most.max()) < 0:
            break  # fewer chips hold even less of the state
    if found is None:
        found = _none(model, strategy, counts, memory_bytes, batch_tokens, nearest)
    formula = _formula(model, strategy, possible, memory_bytes)
    largest = _most_continuous(model, strategy, formula, batch_tokens)
    if found.chips is not None and found.chips == max(counts) and bound > found.chips:
        said = f"{found.words}; the largest count looked at is {found.chips:,}"
        found = replace(found, binds=answer.CLUSTER, words=said)
    return replace(found, max_chips=found.chips, max_chips_continuous=largest)


def _formula(
    model: CostModel, strategy: Strategy, counts: list[int], memory_bytes: float
) -> Continuous | None:
    """The formula with continuous X and Y, of the largest count that has meshes."""
    if not model.torus_axes:
        return None
    for chips in counts:
        limits = mesh_limits(model, strategy, chips, memory_bytes)
        if limits is not None:
            return continuous_of(model, strategy, limits)
    return None


def _any_allows(
    model: CostModel,
    strategy: Strategy,
    chips: int,
    memory_bytes: float,
    batch_tokens: float,
    plans: PlanTable,
) -> bool:
    """Whether one of some meshes is compute-bound and fits, placed the best that it can be."""
    for ideal in (True, False):  # the second is dear, and the first leaves few
        limits = mesh_limits(model, strategy, chips, memory_bytes, ideal=ideal, meshes=plans)
        if limits is None:
            return False
        plans = limits.plans.take(np.flatnonzero(_allows(limits, batch_tokens)))
    return len(plans) > 0


def _allows(limits: MeshLimits, batch_tokens: float) -> BoolArray:
    """(n,) meshes that are compute-bound and fit at a batch."""
    return np.asarray((limits.least <= batch_tokens) & (limits.most >= batch_tokens))


def _within_links(model: CostModel, plans: PlanTable, batch_tokens: float) -> BoolArray:
    """(n,) meshes that are compute-bound if every ring has all links of a chip."""
    hidden = max(_rates(model)) / model.assumptions.matmul_flop_per_s * (1 + 1e-9)
    ranks = plans.data_ranks * plans.cp
    ok = (ranks == 1) | (ranks <= batch_tokens * hidden)
    return np.asarray(ok & ((plans.tp == 1) | (plans.tp <= model.shapes.dense_width * hidden)))


def _rates(model: CostModel) -> list[float]:
    """Bytes per second of each level, per chip, at its best."""
    levels = model.cluster.levels
    return [max((x.bandwidth_bytes_per_s, *(r for _, r in x.bandwidth_by_group))) for x in levels]


def _none(
    model: CostModel,
    strategy: Strategy,
    counts: tuple[int, ...],
    memory_bytes: float,
    batch_tokens: float,
    nearest: int | None,
) -> Row:
    """The row of a strategy that no count allows, with what binds on the count nearest to it."""
    said = words.no_count(model, strategy, counts, memory_bytes, batch_tokens)
    if nearest is not None:
        row = roofline_row(model, strategy, nearest, memory_bytes, batch_tokens)
        said = {"binds": row.binds, "words": f"{said['words']}; on {nearest:,}: {row.words}"}
    return Row(
        strategy=strategy.name,
        model=model.job.model.name,
        hardware=model.cluster.name,
        chips=None,
        batch_tokens=batch_tokens,
        **absent(batch_tokens),
        **said,
    )


def most_chips_bound(model: CostModel, strategy: Strategy, batch_tokens: float) -> float:
    """No more chips than these are compute-bound at a batch, whatever the placement.

    No ring is faster than all links of a chip, R0: X <= B R0 / C, Y <= F R0 / C, and at most a
    stage per layer. A ring that leaves a domain of d chips has W of scale-out per member inside it,
    and X and Y share those d: X Y <= d max(1, B W / C) max(1, F W / C). At least a token per chip
    is left.
    """
    levels, rate = model.cluster.levels, model.assumptions.matmul_flop_per_s
    width = float(model.shapes.dense_width) if "tp" in strategy.axes else 0.0
    stages = model.job.model.layers if "pp" in strategy.axes else 1

    def most(bytes_per_s: float, inside: int) -> float:
        hidden = bytes_per_s / rate
        ranks = 1.0 if strategy.needs == ("tp",) else max(batch_tokens * hidden, 1.0)
        return inside * ranks * max(width * hidden, 1.0) * stages

    rates = _rates(model)
    bound = most(max(rates), 1)
    outer = [r for r, level in zip(rates, levels, strict=True) if level.kind == "scale-out"]
    if outer:
        domains = [level.domain_chips or 1 for level in levels if level.kind == "scale-up"]
        bound = min(bound, most(max(outer), max(domains, default=1)))
    return min(bound * (1 + 1e-9), batch_tokens)


def _most_continuous(
    model: CostModel, strategy: Strategy, formula: Continuous | None, batch_tokens: float
) -> float | None:
    """Chips up to which a formula holds: data parallelism on all axes of a torus, or FSDP + TP."""
    if formula is not None and not strategy.pods:
        return formula.most_chips(batch_tokens)
    rules = model.cluster.levels[0].torus
    pure = strategy.needs in (("dp",), ("fsdp",))
    rate = axis_bytes_per_s(model, max(model.cluster.chip_counts(4096))) if rules else None
    if rules is None or rate is None or not pure:
        return None
    intensity = algebra.operational_intensity(model.assumptions.matmul_flop_per_s, rate)
    axes, given = float(len(rules.pod)), model.torus_axes
    if any(axis in given for axis in SERVED_BY["data" if strategy.needs == ("dp",) else "shard"]):
        axes = min(axes, sum(given.values()))
    return algebra.most_chips_data(batch_tokens, intensity, axes)

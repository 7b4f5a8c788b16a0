"""What the stages of one row may be: their layers, recomputation, sharding and clock, all of them.

A row is what stages share: mesh, micro-batch, schedule, sequence and context parallelism, order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from enumerated.allowed import Bools, divisors, wanted
from enumerated.chunks import dealt_out, nearly_equal_chunks
from enumerated.found import TooManyError
from enumerated.uniform import in_every_order, meshes, table_of, whole_layers
from planner.cost.context import CostModel
from planner.frameworks.framework import Target
from planner.frameworks.rules import applicable, judged_for
from planner.frameworks.rules.rule import Rule
from planner.plan import FULL, NO_RECOMPUTE, SELECTIVE, SHARDINGS, Plan, PlanTable, Stage
from planner.question.request import Request
from planner.schedules import code_of_schedule, schedule_of

MOST_PLANS = 20_000
"""Of a question."""
_OF_SPLITS = ("layers", "split-offered")
_COUNTED = {SELECTIVE: "selective", FULL: "full"}


@dataclass(frozen=True, slots=True)
class Row:
    """What stages share, and what each may choose.

    Attributes:
        shared: As a plan; what stages choose says nothing in it.
        shardings, recomputes, clocks: Choices.
    """

    shared: Plan
    shardings: tuple[str, ...]
    recomputes: tuple[int, ...]
    clocks: tuple[float, ...]


def rows_of(request: Request, model: CostModel, chips: int) -> Iterator[Row]:
    """Every row whose stages are dealt out freely, that rules of arithmetic and framework allow."""
    rules = [one for one in applicable(model.framework) if one.name not in _OF_SPLITS]
    shared = [
        (*mesh, size, code_of_schedule(name), v, 0, 0, spread, mode, 0, 0)
        for mesh in meshes(request, model, chips)
        for size in _micro_batches(request, model, mesh)
        for name in _schedules(request, model, mesh[2])
        for v in _interleaves(request, model, mesh[2], name)
        for spread in (wanted(request, "sequence_parallel", [0, 1]) if mesh[0] > 1 else [0])
        for mode in (wanted(request, "cp_mode", [0, 1]) if mesh[1] > 1 else [0])
        if mesh[2] * v <= model.job.model.layers + 2
    ]
    if not shared:
        return
    plans = in_every_order(request, model, table_of(shared))
    held = [rule.holds(model, plans) for rule in rules if not rule.per_stage]
    plans = plans.take(np.flatnonzero(np.all(held, axis=0)))
    clocks = tuple(model.clocks(wanted=bool(request.clocks)).tolist())
    shardings = _choices(request, model, plans, rules, "sharding", range(len(SHARDINGS)))
    recomputes = _choices(request, model, plans, rules, "recompute", whole_layers(request, model))
    for at in range(len(plans)):
        names = tuple(SHARDINGS[code] for code, good in shardings.items() if good[at])
        codes = tuple(code for code, good in recomputes.items() if good[at])
        if names and codes:
            yield Row(plans.plan(at), names, codes, clocks)


def _micro_batches(request: Request, model: CostModel, mesh: Sequence[int]) -> list[int]:
    ranks = mesh[3] * mesh[4]
    if model.job.global_batch % ranks:
        return []
    return wanted(request, "micro_batch", divisors(model.job.global_batch // ranks))


def _schedules(request: Request, model: CostModel, pp: int) -> list[str]:
    if pp == 1:
        return ["1f1b"] if wanted(request, "schedule", [code_of_schedule("1f1b")]) else []
    known = model.framework.schedules
    found = [name for name in known if wanted(request, "schedule", [code_of_schedule(name)])]
    if any(schedule_of(name).bidirectional for name in found):
        raise TooManyError  # pairs of stages, which are not listed here: another question is drawn
    return [name for name in found if schedule_of(name).uneven]


def _interleaves(request: Request, model: CostModel, pp: int, schedule: str) -> list[int]:
    """Chunks of a stage: where none is asked for those that divide its share, or one layer more."""
    layers, most = model.job.model.layers, model.framework.most_chunks
    if not schedule_of(schedule).interleaves or pp == 1:
        return wanted(request, "interleave", [1])
    found, share = wanted(request, "interleave", range(1, (layers + 2) // pp + 1)), -(-layers // pp)
    if "interleave" not in request.fix and "schedule" not in request.fix:
        found = [v for v in found if share % v == 0 or (share + 1) % v == 0]
    return [v for v in found if not most or v <= most]


def _choices(
    request: Request,
    model: CostModel,
    plans: PlanTable,
    rules: Sequence[Rule],
    name: str,
    codes: Sequence[int],
) -> dict[int, Bools]:
    """By value that a stage may have: (n,) plans of which the rules about stages allow it."""
    own = [rule for rule in rules if rule.per_stage and rule.field == name]
    found = {}
    for code in wanted(request, name, codes):
        column: dict[str, Any] = {name: np.full(len(plans), code, dtype=np.int64)}
        same = replace(plans, **column)
        found[code] = np.ones(len(plans), dtype=np.bool_)
        for rule in own:
            found[code] &= rule.holds(model, same)
    return found


def dealt(layers: int, stages: int) -> Iterator[tuple[int, ...]]:
    """All ways to deal layers to stages: one at least, none beside embedding or head."""
    for sizes in product(range(layers + 1), repeat=stages - 1):
        last = layers - sum(sizes)
        whole = (*sizes, last)
        if last >= 0 and all(whole[1:-1]):
            yield whole


def recomputed(kinds: Sequence[int], codes: Sequence[int]) -> list[dict[str, tuple[int, int]]]:
    """All counts of recomputed layers of a stage with so many (dense, expert) layers."""
    own = [code for code in codes if code != NO_RECOMPUTE]
    found = []
    for counts in product(*(range(kind + 1) for kind in kinds for _ in own)):
        each = np.array(counts, dtype=np.int64).reshape(len(kinds), len(own))
        total = each.sum(axis=1)
        least = np.zeros(len(kinds)) if NO_RECOMPUTE in codes else np.array(kinds)
        if (total <= kinds).all() and (total >= least).all():
            dense, experts = each.tolist()
            found.append({_COUNTED[c]: (dense[i], experts[i]) for i, c in enumerate(own)})
    return found


def plans_of(model: CostModel, row: Row, room: int, pools: Sequence[str | None] = ()) -> list[Plan]:
    """Every plan of a row, its stages on the pools that are named, if any.

    Raises:
        TooManyError: There are more than there is room for.
    """
    shared, kinds, found = row.shared, model.job.model.layer_kinds, list[Plan]()
    if shared.interleave > 1:
        return interleaved_plans(model, row, room)
    on = pools or (None,) * shared.pp
    for sizes in dealt(len(kinds), shared.pp):
        ends = np.cumsum((0, *sizes)).tolist()
        own = [kinds[a:b] for a, b in pairwise(ends)]
        options = [
            [
                Stage(
                    layers=size, recompute="none", sharding=sharding, clock=clock, pool=pool,
                    **counts,
                )
                for counts in recomputed((some.count("dense"), some.count("moe")), row.recomputes)
                for sharding, clock in product(row.shardings, row.clocks)
            ]
            for size, some, pool in zip(sizes, own, on, strict=True)
        ]  # fmt: skip
        if len(found) + prod(map(len, options)) > room:
            raise TooManyError
        for stages in product(*options):
            clock = max(stage.clock or 0.0 for stage in stages)
            found.append(replace(shared, stages=stages, clock=clock))
    return found


def interleaved_plans(model: CostModel, row: Row, room: int) -> list[Plan]:
    """Every plan of a row whose stages have several chunks.

    Raises:
        TooManyError: There are more than there is room for.
    """
    shared, kinds, found = row.shared, model.job.model.layer_kinds, list[Plan]()
    pp, alike = shared.pp, tuple(product(row.shardings, row.clocks))
    for sizes in nearly_equal_chunks(len(kinds), pp, shared.interleave):
        ends = np.cumsum((0, *sizes)).tolist()
        own = [(kinds[a:b].count("dense"), kinds[a:b].count("moe")) for a, b in pairwise(ends)]
        options = []
        for device in range(pp):
            chunks = own[device::pp]
            held = recomputed(tuple(map(sum, zip(*chunks, strict=True))), row.recomputes)
            ways = {way: None for counts in held for way in dealt_out(counts, chunks)}
            options.append(list(product(ways, alike)))
        if len(found) + prod(map(len, options)) > room:
            raise TooManyError
        for devices in product(*options):
            stages = tuple(
                Stage(
                    layers=size, recompute="none", sharding=devices[at % pp][1][0],
                    clock=devices[at % pp][1][1],
                    **dict(devices[at % pp][0][at // pp]),  # type: ignore[arg-type]
                )
                for at, size in enumerate(sizes)
            )  # fmt: skip
            clock = max(stage.clock or 0.0 for stage in stages)
            found.append(replace(shared, stages=stages, clock=clock))
    return found


def told(model: CostModel, plans: PlanTable, targets: Sequence[Target]) -> Bools:
    """(n,) plans with listed stages that all of some targets can launch."""
    good = np.ones(len(plans), dtype=np.bool_)
    for target in targets:
        judged = judged_for(model, target)
        for rule in applicable(judged.framework, target):
            if rule.name in _OF_SPLITS:
                continue
            if rule.per_stage:
                good &= _every_stage(judged, rule, plans)
            else:
                good &= rule.holds(judged, plans)
    return good


def _every_stage(model: CostModel, rule: Rule, plans: PlanTable) -> Bools:
    """(n,) plans each of whose stages obeys a rule about what it chooses."""
    assert plans.stages is not None
    stages, good = plans.stages, np.ones(len(plans), dtype=np.bool_)
    for at in range(stages.layers.shape[1]):
        there = stages.layers[:, at] >= 0
        counted = stages.recomputed[:, at].sum(axis=1)
        ways = {
            SELECTIVE: counted[:, 0] > 0,
            FULL: counted[:, 1] > 0,
            NO_RECOMPUTE: counted.sum(axis=1) < stages.layers[:, at],
        }
        for code, used in ways.items():
            alone = replace(
                plans,
                stages=None,
                sharding=np.where(there, stages.sharding[:, at], plans.sharding),
                clock=np.where(there, stages.clock[:, at], plans.clock),
                recompute=np.full(len(plans), code, dtype=np.int64),
            )
            good &= rule.holds(model, alone) | ~(used & there)
    return good

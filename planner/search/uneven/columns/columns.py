"""The stage problem of a row: every choice for every stage as a column of whole numbers.

Seconds (times the factor of the step) and joules are divided by one unit each and rounded down,
the weights of the step time are whole numbers, so that no choice takes less than its integers say:
the least integer is a lower bound. What rounding hides of a choice is at most `rounding` units.

    T = (m - 1) P_t + S_t + P_exposed + P_optimizer + constant
    T v = (m v - 1) P_time + S_(v longest chunk + ends) + v (P_exposed + ...)
    E = S_joules + T standing power

P is the largest of all stages, S the sum. The first is that of 1F1B, the second of v chunks per
stage; every schedule says its own (`Schedule.step_forms`). Of bidirectional ones pairs of ranks are
devices.

A limit on the mean power of the cluster is rounded both ways (`RowColumns`).

The weights are those of `planner.cost.step`; without bubbles T = m P_t + ....
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.plan import FULL, SELECTIVE, SHARDINGS, Plan, Stage
from planner.search.deadline import NEVER, Deadline
from planner.search.limits import Limits
from planner.search.uneven.bounds.time import clocked_forms
from planner.search.uneven.columns.integers import (
    Units,
    forms_of,
    joined_offers,
    powered,
    stage_problem,
    standing_units,
)
from planner.search.uneven.columns.interleaved import InterleavedRow
from planner.search.uneven.columns.pairs import Pairs
from planner.search.uneven.columns.selection import Offer, Packing, alike, place_of
from planner.search.uneven.columns.stage_choices import OneRow
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import row_terms
from solvers.stages.devices import device_problem
from solvers.stages.problem import Choice, Form, StageProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumns:
    """The stage problem of a row with what its columns stand for.

    Attributes:
        problem: The columns as whole numbers. Every plan within the limits obeys its limits.
        inside: The same, with limits that every plan which obeys them is within; None where that
            is the problem itself.
        units: What they count.
        rounding: A choice takes less than this many units of time more than its integers say.
        one: The row.
        counts: (c, v, 2, r) layers in each chunk of a device by kind and recomputation.
        sharding, clock: (c,) code, index of `OneRow.terms.clocks`.
    """

    problem: StageProblem
    inside: StageProblem | None = None
    units: Units
    rounding: int
    one: OneRow
    counts: IntArray
    sharding: IntArray
    clock: IntArray

    def powered(self, limits: Limits, joules: int) -> RowColumns:
        """With the limit on the mean power; `joules`: which of the sums of the columns they are."""
        if limits.power_w is None:
            return self
        model, chips = self.one.model, int(self.one.rows.plans.chips[0])
        watts = limits.power_w - chips * standing_w(model, chips)
        problem, inside = powered(self.problem, joules, self.units, watts, self.rounding)
        return replace(self, problem=problem, inside=inside)

    def plan(self, choice: Choice) -> Plan:
        """The plan of a choice, with its stages listed."""
        recomputes, clocks = self.one.rows.recomputes, self.one.terms.clocks
        counts = self.counts[choice.columns]
        coded = {code: counts[..., at] for at, code in enumerate(recomputes)}
        none = np.zeros(counts.shape[:3], dtype=np.int64)
        stages: list[Stage | None] = [None] * self.problem.chunks.size
        for d, column in enumerate(choice.columns.tolist()):
            for k, chunk in enumerate(self.problem.chunks[d].tolist()):
                stages[chunk] = Stage(
                    layers=int(counts[d, k].sum()),
                    recompute="none",
                    selective=_pair(coded.get(SELECTIVE, none)[d, k]),
                    full=_pair(coded.get(FULL, none)[d, k]),
                    sharding=SHARDINGS[int(self.sharding[column])],
                    clock=float(clocks[self.clock[column]]),
                )
        listed = tuple(stage for stage in stages if stage is not None)
        shared = self.one.rows.plans.plan(0)
        clock = max(stage.clock or 0.0 for stage in listed)
        return replace(shared, sharding=listed[0].sharding or "ddp", clock=clock, stages=listed)


def _pair(counts: IntArray) -> tuple[int, int]:
    return int(counts[0]), int(counts[1])


def row_columns(
    model: CostModel,
    limits: Limits,
    rows: Rows,
    row: int,
    clocks: FloatArray,
    upper_s: float,
    *,
    units: Units | None = None,
    energy: bool = False,
    deadline: Deadline = NEVER,
) -> RowColumns | None:
    """The columns of a row; None where no plan within `upper_s` exists.

    Args:
        model: Job and machine.
        limits: Memory per chip, and mean power of the cluster.
        rows: Rows; of which `row` is meant.
        row: Its number.
        clocks: (k,) relative clocks that stages may choose from.
        upper_s: Plans that take longer are not wanted.
        units: Of the integers; default: `Units.of`.
        energy: Whether joules count; else time alone does.
        deadline: When to give up.

    Raises:
        TooManyColumnsError: A device has too many.
        OutOfTime: The deadline passed.
    """
    alone = rows.take(np.array([row]))
    one = OneRow(model=model, rows=alone, terms=row_terms(model, alone, clocks))
    every = limits.power_w is not None
    limit_bytes = float(limits.bytes_of(model, alone.plans)[0])
    units = units or Units.of(model, int(alone.plans.chips[0]), upper_s)
    if alone.both_ways[0]:
        pairs = Pairs(
            one=one,
            forms=clocked_forms(model, alone, clocks),
            limit_bytes=limit_bytes,
            upper_s=upper_s,
            time_s=units.time_s,
            joules=units.joules,
            energy=energy or every,
            every=every,
            deadline=deadline,
        )
        return _pair_columns(pairs, limits, units, energy=energy)
    packing = Packing.build(
        one,
        limit_bytes,
        upper_s,
        energy=energy or every,
        every=every,
        deadline=deadline,
    )
    if alone.plans.interleave[0] > 1:
        return _interleaved_columns(packing, limits, units, energy=energy)
    return _plain_columns(packing, limits, units, energy=energy)


def _plain_columns(
    packing: Packing, limits: Limits, units: Units, *, energy: bool
) -> RowColumns | None:
    """The columns of a row with one chunk per device."""
    offers = _offers(packing)
    if offers is None:
        return None
    laid = packing.laid(offers)
    if any(len(at) == 0 for at, _ in laid):
        return None
    whole = [offer.take(at) for offer, (at, _) in zip(offers, laid, strict=True)]
    joined = joined_offers(whole)
    starts = np.concatenate([start for _, start in laid])
    devices = np.repeat(np.arange(packing.devices), [len(offer.vector) for offer in whole])
    problem = stage_problem(packing, joined, devices, starts, units, energy=energy)
    slack = int(packing.form.paced) * 2 + 3 * packing.devices + 8
    return RowColumns(
        problem=problem,
        units=units,
        rounding=slack,
        one=packing.one,
        counts=joined.choices.counts[:, None],
        sharding=joined.choices.sharding,
        clock=joined.choices.clock,
    ).powered(limits, problem.columns.sums.shape[1] - 1)


def _interleaved_columns(
    packing: Packing, limits: Limits, units: Units, *, energy: bool
) -> RowColumns | None:
    """The columns of a row with several chunks per device, in units of a v-th."""
    one, weights = packing.one, forms_of(packing.one)
    v = weights.chunks
    units = Units(time_s=units.time_s / v, joules=units.joules / v)
    row = InterleavedRow(
        packing=packing,
        time_s=units.time_s * v,
        joules=units.joules,
        energy=energy or limits.power_w is not None,
    )
    found = row.columns()
    if found is None:
        return None
    constant = int(packing.form.constant * one.factor / units.time_s)
    added, paced = weights.forms[0]
    cost, standing = Form(sums=(0, 1)), standing_units(one, units)
    problem = device_problem(
        row.layout,
        found,
        time=(Form(constant=constant, sums=(*added, 0), peaks=(*paced, v, v)),),
        cost=cost if energy else None,
        cost_per_time=standing if energy else 0,
    )
    sharding, clock = np.divmod(found.setting, len(one.terms.clocks))
    return RowColumns(
        problem=problem,
        units=units,
        rounding=(round(one.m) + 2) * v + packing.devices + 8,
        one=one,
        counts=found.counts,
        sharding=sharding,
        clock=clock,
    ).powered(limits, 1)


def _pair_columns(pairs: Pairs, limits: Limits, units: Units, *, energy: bool) -> RowColumns | None:
    """The columns of a row of a bidirectional schedule, one device per pair of ranks."""
    made = pairs.columns()
    if made is None or pairs.layout is None:
        return None
    found, time = made
    cost, standing = Form(sums=(0, 0, 1)), standing_units(pairs.one, units)
    problem = device_problem(
        pairs.layout,
        found,
        time=time,
        cost=cost if energy else None,
        cost_per_time=standing if energy else 0,
    )
    sharding, clock = np.divmod(found.setting, len(pairs.one.terms.clocks))
    return RowColumns(
        problem=problem,
        units=units,
        rounding=problem.devices + 8,
        one=pairs.one,
        counts=found.counts,
        sharding=sharding,
        clock=clock,
    ).powered(limits, 2)


def _offers(packing: Packing) -> list[Offer] | None:
    """What every device is offered; None where one is offered nothing."""
    first = alike(packing.one)
    lengths = packing.lengths
    runs = packing.runs(lengths, beside=lengths)
    offers: dict[int, Offer] = {}
    for d in sorted(set(first.values())):
        wanted = np.unique(np.concatenate([runs[e] for e in first if first[e] == d]))
        if len(wanted) == 0:
            return None
        offers[d] = packing.offer(place_of(packing.one, d), wanted)
        if len(offers[d].vector) == 0:
            return None
    return [offers[first[d]] for d in range(packing.devices)]

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

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.plan import FULL, SELECTIVE, SHARDINGS, Plan, Stage
from planner.search.deadline import NEVER, Deadline
from planner.search.limits import Limits
from planner.search.uneven.bounds.time import clocked_forms
from planner.search.uneven.columns.integers import (
    Units,
    forms_of,
    powered,
    stage_problem,
    standing_units,
    waiting_w,
)
from planner.search.uneven.columns.interleaved import InterleavedRow
from planner.search.uneven.columns.pairs import Pairs
from planner.search.uneven.columns.selection import Offer, Packing, alike, place_of
from planner.search.uneven.columns.stage_choices import OneRow
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import row_terms
from solvers.stages.devices import DeviceColumns, Layout, device_problem
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
        joules: Which of the sums of its columns are joules.
        ones: The row, as each kind of chips sees it.
        pool: (c,) which of those a column is on.
        names: Of the pools of chips; None where there is one kind of chips.
        counts: (c, v, 2, r) layers in each chunk of a device by kind and recomputation.
        sharding, clock: (c,) code, index of `OneRow.terms.clocks`.
    """

    problem: StageProblem
    inside: StageProblem | None = None
    units: Units
    rounding: int
    joules: int
    ones: tuple[OneRow, ...]
    pool: IntArray
    names: tuple[str | None, ...] = (None,)
    counts: IntArray
    sharding: IntArray
    clock: IntArray

    def powered(self, limits: Limits, waiting: float) -> RowColumns:
        """With the limit on the mean power; `waiting`: watts of all chips while they wait."""
        if limits.power_w is None:
            return self
        watts = limits.power_w - waiting
        problem, inside = powered(self.problem, self.joules, self.units, watts, self.rounding)
        return replace(self, problem=problem, inside=inside)

    def plan(self, choice: Choice) -> Plan:
        """The plan of a choice, with its stages listed."""
        stages: list[Stage | None] = [None] * self.problem.chunks.size
        for d, column in enumerate(choice.columns.tolist()):
            for k, chunk in enumerate(self.problem.chunks[d].tolist()):
                stages[chunk] = self._stage(column, self.counts[column, k])
        listed = tuple(stage for stage in stages if stage is not None)
        shared = self.ones[0].rows.plans.plan(0)
        clock = max(stage.clock or 0.0 for stage in listed)
        return replace(shared, sharding=listed[0].sharding or "ddp", clock=clock, stages=listed)

    def _stage(self, column: int, counts: IntArray) -> Stage:
        """A chunk of a column; (2, r) layers by kind and recomputation."""
        pool = int(self.pool[column])
        one, none = self.ones[pool], np.zeros(2, dtype=np.int64)
        coded = dict(zip(one.rows.recomputes, counts.T, strict=True))
        return Stage(
            layers=int(counts.sum()),
            recompute="none",
            selective=pair_of(coded.get(SELECTIVE, none)),
            full=pair_of(coded.get(FULL, none)),
            sharding=SHARDINGS[int(self.sharding[column])],
            clock=float(one.terms.clocks[self.clock[column]]),
            pool=self.names[pool],
        )


def pair_of(counts: IntArray) -> tuple[int, int]:
    """(2,) layers by kind, as plans list them."""
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
    units = units or Units.of(waiting_w(one), upper_s)
    joules = energy or every
    made: RowColumns | None
    if alone.both_ways[0]:
        pairs = Pairs(
            one=one,
            forms=clocked_forms(model, alone, clocks),
            limit_bytes=limit_bytes,
            upper_s=upper_s,
            units=units,
            energy=joules,
            every=every,
            deadline=deadline,
        )
        made = _pair_columns(pairs, units, energy=energy)
    else:
        packing = Packing.build(
            one, limit_bytes, upper_s, energy=joules, every=every, deadline=deadline
        )
        if alone.plans.interleave[0] > 1:
            made = _interleaved_columns(packing, units, energy=energy, joules=joules)
        else:
            made = plain_columns([packing], units, energy=energy)
    return None if made is None else made.powered(limits, waiting_w(one))


def plain_columns(packings: list[Packing], units: Units, *, energy: bool) -> RowColumns | None:
    """The columns of a row with one chunk per device, each on one of some kinds of chips."""
    packing, offers = packings[0], _offers(packings)
    if offers is None:
        return None
    laid = packing.laid(offers)
    if any(len(at) == 0 for at, _ in laid):
        return None
    whole = [offer.take(at) for offer, (at, _) in zip(offers, laid, strict=True)]
    joined = Offer.joined(whole)
    starts = np.concatenate([start for _, start in laid])
    devices = np.repeat(np.arange(packing.devices), [len(offer.vector) for offer in whole])
    problem = stage_problem(packing, joined, devices, starts, units, energy=energy)
    return RowColumns(
        problem=problem,
        units=units,
        rounding=int(packing.form.paced) * 2 + 3 * packing.devices + 8,
        joules=problem.columns.sums.shape[1] - 1,
        ones=tuple(each.one for each in packings),
        pool=joined.pool,
        counts=joined.choices.counts[:, None],
        sharding=joined.choices.sharding,
        clock=joined.choices.clock,
    )


def _interleaved_columns(
    packing: Packing, units: Units, *, energy: bool, joules: bool
) -> RowColumns | None:
    """The columns of a row with several chunks per device, in units of a v-th.

    Args:
        packing: Of the row.
        units: Of the integers, whole ones.
        energy: Whether joules are minimized.
        joules: Whether they count.
    """
    one, weights = packing.one, forms_of(packing.one)
    v = weights.chunks
    scaled = Units(time_s=units.time_s, joules=units.joules / v)
    row = InterleavedRow(packing=packing, units=scaled, energy=joules)
    found = row.columns()
    if found is None:
        return None
    units = Units(time_s=units.time_s / v, joules=units.joules / v)
    constant = int(packing.form.constant * one.factor / units.time_s)
    added, paced = weights.forms[0]
    time = (Form(constant=constant, sums=(*added, 0), peaks=(*paced, v, v)),)
    slack = (round(one.m) + 2) * v + packing.devices + 8
    return _device_columns(one, row.chunks.layout, found, time, units, slack, 1, energy=energy)


def _pair_columns(pairs: Pairs, units: Units, *, energy: bool) -> RowColumns | None:
    """The columns of a row of a bidirectional schedule, one device per pair of ranks."""
    made = pairs.columns()
    if made is None or pairs.layout is None:
        return None
    slack = len(pairs.layout.chunks) + 8
    return _device_columns(pairs.one, pairs.layout, *made, units, slack, 2, energy=energy)


def _device_columns(
    one: OneRow,
    layout: Layout,
    found: DeviceColumns,
    time: tuple[Form, ...],
    units: Units,
    rounding: int,
    joules: int,
    *,
    energy: bool,
) -> RowColumns:
    """The columns of devices with several chunks each; arguments as of `RowColumns`."""
    sharding, clock = np.divmod(found.setting, len(one.terms.clocks))
    problem = device_problem(
        layout,
        found,
        time=time,
        cost=Form(sums=(0,) * joules + (1,)) if energy else None,
        cost_per_time=standing_units(one, units) if energy else 0,
    )
    return RowColumns(
        problem=problem,
        units=units,
        rounding=rounding,
        joules=joules,
        ones=(one,),
        pool=np.zeros_like(sharding),
        counts=found.counts,
        sharding=sharding,
        clock=clock,
    )


def _offers(packings: list[Packing]) -> list[Offer] | None:
    """What every device is offered on each kind of chips; None where one is offered nothing."""
    first = alike(packings[0].one)
    lengths = [packing.lengths for packing in packings]
    beside = np.any(lengths, axis=0)
    runs = [packing.runs(own, beside) for packing, own in zip(packings, lengths, strict=True)]
    offers: dict[int, Offer] = {}
    for d in sorted(set(first.values())):
        parts = []
        for packing, own in zip(packings, runs, strict=True):
            wanted = np.unique(np.concatenate([own[e] for e in first if first[e] == d]))
            if len(wanted):
                parts.append(packing.offer(place_of(packing.one, d), wanted))
        if not sum(len(part.vector) for part in parts):
            return None
        offers[d] = Offer.joined(parts)
    return [offers[first[d]] for d in range(packings[0].devices)]

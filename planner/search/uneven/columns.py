"""The stage problem of a row: every way to fill every stage as a column of whole numbers.

Seconds (times the factor of the step) and joules are divided by one unit each and rounded down,
the weights of the step time are whole numbers, so that no choice takes less than its integers say:
the least integer is a lower bound. What rounding hides of a choice is at most `rounding` units.

    1f1b         T = (m - 1) P_t + S_t + P_exposed + P_optimizer + constant
    interleaved  T v = (m v - 1) P_time + S_(v longest chunk + ends) + v (P_exposed + ...)
    gpipe        (m - 1) (P_forward + P_backward) + S_t
    zero-bubble  the larger of P_((m - 1) t + w) + S_(t - w) and m P_t
    E = S_joules + T standing power

A limit on the mean power of the cluster is rounded so that every choice within it obeys it.

The weights are those of `planner.cost.step`; without bubbles T = m P_t + ....
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planner.cost.context import CostModel
from planner.cost.energy import standing_w
from planner.plan import (
    FULL,
    GPIPE,
    SELECTIVE,
    SHARDINGS,
    ZERO_BUBBLE,
    FloatArray,
    IntArray,
    Plan,
    Stage,
)
from planner.search.limits import Limits
from planner.search.uneven.fills import OneRow
from planner.search.uneven.interleaved import RowTables
from planner.search.uneven.packing import Offer, Packing, alike, place_of
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import KINDS, row_terms
from solvers.stages.device_columns import device_columns
from solvers.stages.devices import device_problem
from solvers.stages.problem import Choice, Columns, Form, Limit, StageProblem

FINEST = 2**36
"""Units of time in the upper bound, by default."""
_POWER = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """What the integers count.

    Attributes:
        time_s, joules: One unit each.
    """

    time_s: float
    joules: float

    @staticmethod
    def of(model: CostModel, chips: int, upper_s: float, *, powered: bool = False) -> Units:
        """Units for step times up to `upper_s`, in which waiting chips draw one unit of power.

        `powered`: 2**16 units, so that a limit on the mean power is as fine as 1e-5.
        """
        finer = _POWER if powered else 1
        time_s = upper_s * (64 if powered else 1) / FINEST
        power_w = chips * standing_w(model, chips)
        return Units(time_s=time_s, joules=time_s * (power_w or 1.0) / finer)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumns:
    """The stage problem of a row with what its columns stand for.

    Attributes:
        problem: The columns as whole numbers.
        units: What they count.
        rounding: A choice takes less than this many units of time more than its integers say.
        one: The row.
        counts: (c, v, 2, r) layers in each chunk of a device by kind and recomputation.
        sharding, clock: (c,) code, index of `OneRow.terms.clocks`.
    """

    problem: StageProblem
    units: Units
    rounding: int
    one: OneRow
    counts: IntArray
    sharding: IntArray
    clock: IntArray

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


def total_columns(
    model: CostModel,
    limits: Limits,
    rows: Rows,
    row: int,
    clocks: FloatArray,
    upper_s: float,
    *,
    units: Units | None = None,
    energy: bool = False,
) -> RowColumns | None:
    """An interleaved row by the layers that devices hold in all; their order and chunks are open.

    No plan of the row takes less than the best choice of this problem, which need not be a plan.
    None where there is no choice.

    Args:
        model, limits, rows, row, clocks, upper_s, units, energy: As for `row_columns`.
    """
    alone = rows.take(np.array([row]))
    one = OneRow(model=model, rows=alone, terms=row_terms(model, alone, clocks))
    units = units or Units.of(model, int(alone.plans.chips[0]), upper_s)
    limit_bytes = limits.chip_bytes(model)
    packing = Packing.build(one, limit_bytes, upper_s, energy=energy, every=False, in_all=True)
    return _plain_columns(packing, replace(limits, power_w=None), units, energy=energy)


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
    """
    alone = rows.take(np.array([row]))
    one = OneRow(model=model, rows=alone, terms=row_terms(model, alone, clocks))
    powered = limits.power_w is not None
    units = units or Units.of(model, int(alone.plans.chips[0]), upper_s, powered=powered)
    packing = Packing.build(
        one, limits.chip_bytes(model), upper_s, energy=energy or powered, every=powered
    )
    if alone.plans.interleave[0] > 1:
        return interleaved_columns(packing, limits, units, energy=energy or powered)
    return _plain_columns(packing, limits, units, energy=energy or powered)


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
    problem = stage_problem(packing, joined, devices, starts, units, limits, energy=energy)
    slack = int(packing.form.paced) * 2 + 3 * packing.devices + 8
    v = packing.one.v if packing.one.model.assumptions.bubbles else 1
    return RowColumns(
        problem=problem,
        units=Units(time_s=units.time_s / v, joules=units.joules / v),
        rounding=slack * v,
        one=packing.one,
        counts=joined.fills.counts[:, None],
        sharding=joined.fills.sharding,
        clock=joined.fills.clock,
    )


def interleaved_columns(
    packing: Packing, limits: Limits, units: Units, *, energy: bool
) -> RowColumns | None:
    """The columns of a row with several chunks per device, in units of a v-th."""
    one, weights = packing.one, _Tables.of(packing.one)
    v = weights.chunks
    units = Units(time_s=units.time_s / v, joules=units.joules / v)
    tables = RowTables(
        one=one,
        limit_bytes=packing.limit_bytes,
        time_s=units.time_s * v,
        joules=units.joules,
        energy=energy,
        most_s=packing.most_s,
    )
    layout = packing.layout()
    if layout is None:
        return None
    found = device_columns(layout, tables)
    if len(np.unique(found.columns.device)) < packing.devices:
        return None
    constant = int(packing.form.constant * one.factor / units.time_s)
    added, paced = weights.forms[0]
    cost, standing = Form(sums=(0, 1)), _standing(one, units)
    problem = device_problem(
        layout,
        found,
        time=(Form(constant=constant, sums=(*added, 0), peaks=(*paced, v, v)),),
        cost=cost if energy else None,
        cost_per_time=standing if energy else 0,
        limits=_limits(cost, limits, units, standing, packing.devices),
    )
    variants = np.array([(each.sharding, each.clock) for each in tables.variants])
    return RowColumns(
        problem=problem,
        units=units,
        rounding=(round(one.m) + 2) * v + packing.devices + 8,
        one=one,
        counts=found.counts,
        sharding=variants[found.setting, 0],
        clock=variants[found.setting, 1],
    )


def _standing(one: OneRow, units: Units) -> int:
    """Joules of waiting chips per unit of time, in their units."""
    chips = int(one.rows.plans.chips[0])
    return round(chips * standing_w(one.model, chips) * units.time_s / units.joules)


def _offers(packing: Packing) -> list[Offer] | None:
    """What every device is offered; None where one is offered nothing."""
    first = alike(packing.one)
    runs = packing.runs()
    offers: dict[int, Offer] = {}
    for d in sorted(set(first.values())):
        wanted = np.unique(np.concatenate([runs[e] for e in first if first[e] == d]))
        if len(wanted) == 0:
            return None
        offers[d] = packing.offer(place_of(packing.one, d), wanted)
        if len(offers[d].vector) == 0:
            return None
    return [offers[first[d]] for d in range(packing.devices)]


def joined_offers(offers: list[Offer]) -> Offer:
    """The fills of several offers, one after the other."""

    def of(part: str, name: str) -> Any:
        return np.concatenate([getattr(getattr(offer, part), name) for offer in offers])

    first = offers[0]
    return Offer(
        fills=replace(first.fills, **{name: of("fills", name) for name in _slots(first.fills)}),
        costs=replace(first.costs, **{name: of("costs", name) for name in _slots(first.costs)}),
        vector=np.concatenate([offer.vector for offer in offers]),
    )


def _slots(record: object) -> tuple[str, ...]:
    return tuple(type(record).__slots__)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """What columns count for in time: names of `FillCosts`, and weights of each form.

    Attributes:
        sums, peaks: Names.
        forms: Weights of the sums and of the peaks.
        chunks: v, in units of a v-th; 1 where bubbles are left out.
    """

    sums: tuple[str, ...]
    peaks: tuple[str, ...]
    forms: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    chunks: int = 1

    @staticmethod
    def of(one: OneRow) -> _Tables:
        """Of a row; see the module."""
        m, v, schedule = round(one.m), one.v, int(one.rows.plans.schedule[0])
        if not one.model.assumptions.bubbles:
            return _Tables(sums=("time",), peaks=("time",), forms=(((0,), (m,)),))
        if schedule == GPIPE:
            paced = (m - 1, m - 1)
            return _Tables(sums=("time",), peaks=("forward", "backward"), forms=(((1,), paced),))
        if schedule == ZERO_BUBBLE:
            forms = (((1,), (1, 0)), ((0,), (0, m)))
            return _Tables(sums=("left",), peaks=("paced", "time"), forms=forms)
        filling = "time" if v == 1 else "filling"
        return _Tables(sums=(filling,), peaks=("time",), forms=(((1,), (m * v - 1,)),), chunks=v)


def stage_problem(
    packing: Packing,
    offer: Offer,
    devices: IntArray,
    starts: IntArray,
    units: Units,
    limits: Limits,
    *,
    energy: bool,
    standing: int | None = None,
) -> StageProblem:
    """The integers of the module; `units` are those of a whole chunk.

    `standing`: joules per unit of time that wait; default those of the row's chips.
    """
    one, tables = packing.one, _Tables.of(packing.one)
    v = tables.chunks

    def whole(values: FloatArray | float) -> IntArray:
        return np.floor(np.asarray(values) * one.factor / units.time_s).astype(np.int64)

    sums = [whole(getattr(offer.costs, name)) for name in tables.sums]
    peaks = [whole(getattr(offer.costs, name)) for name in tables.peaks]
    peaks += [whole(offer.costs.exposed), whole(offer.costs.optimizer)]
    constant = int(whole(v * packing.form.constant))
    joules = np.floor(offer.costs.extra_j * v / units.joules).astype(np.int64)
    standing = _standing(one, units) if standing is None else standing
    cost = Form(sums=(0,) * len(sums) + (1, 0))
    return StageProblem(
        layers=one.model.job.model.layers,
        chunks=np.arange(packing.devices)[:, None],
        columns=Columns(
            device=devices,
            starts=starts[:, None],
            ends=(starts + offer.fills.kinds.sum(axis=1))[:, None],
            group=np.zeros_like(devices),
            sums=np.stack([*sums, joules, offer.fills.kinds[:, 0]], axis=1),
            peaks=np.stack(peaks, axis=1),
        ),
        time=tuple(
            Form(constant=constant, sums=(*added, 0, 0), peaks=(*paced, v, v))
            for added, paced in tables.forms
        ),
        cost=cost if energy else None,
        cost_per_time=standing if energy else 0,
        limits=(
            *_limits(cost, limits, units, standing, packing.devices),
            *_kinds(packing, len(sums) + 2),
        ),
    )


def _kinds(packing: Packing, sums: int) -> tuple[Limit, ...]:
    """All dense layers are somewhere, where their runs do not say so; the last sum counts them."""
    dense = packing.one.model.job.model.layer_kinds.count(KINDS[0])
    if not packing.in_all or len(packing.one.terms.layers) == 1:
        return ()
    form = (0,) * (sums - 1)
    return (
        Limit(name="dense layers", form=Form(sums=(*form, 1)), upper=dense),
        Limit(name="dense layers", form=Form(sums=(*form, -1)), upper=-dense),
    )


def _limits(
    cost: Form, limits: Limits, units: Units, standing: int, devices: int
) -> tuple[Limit, ...]:
    """The mean power of the cluster: joules are at most power times time, rounding included."""
    if limits.power_w is None:
        return ()
    allowed = int(limits.power_w * units.time_s / units.joules)
    return (Limit(name="power", form=cost, upper=-devices, per_time=standing - allowed),)

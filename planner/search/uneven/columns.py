"""The stage problem of a row: every way to fill every stage as a column of whole numbers.

Seconds (times the factor of the step) and joules are divided by one unit each and rounded down,
the weights of the step time are whole numbers, so that no choice takes less than its integers say:
the least integer is a lower bound. What rounding hides of a choice is at most `rounding` units.

    1f1b         T = (m - 1) P_t + S_t + P_exposed + P_optimizer + constant
    gpipe        (m - 1) (P_forward + P_backward) + S_t
    zero-bubble  the larger of P_((m - 1) t + w) + S_(t - w) and m P_t
    E = S_joules + T standing power, in units in which the power is 1

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
from planner.search.uneven.fills import Fills, OneRow
from planner.search.uneven.packing import Offer, Packing, alike, place_of
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import row_terms
from solvers.stages.problem import Choice, Columns, Form, Limit, StageProblem

FINEST = 2**36
"""Units of time in the upper bound, by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """What the integers count.

    Attributes:
        time_s, joules: One unit each.
    """

    time_s: float
    joules: float

    @staticmethod
    def of(model: CostModel, chips: int, upper_s: float) -> Units:
        """Units for step times up to `upper_s`, in which all chips draw one unit when they wait."""
        time_s = upper_s / FINEST
        power_w = chips * standing_w(model, chips)
        return Units(time_s=time_s, joules=time_s * (power_w or 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumns:
    """The stage problem of a row with what its columns stand for.

    Attributes:
        problem: The columns as whole numbers.
        units: What they count.
        rounding: A choice takes less than this many units of time more than its integers say.
        one: The row.
        fills: (c,) fills of the columns.
    """

    problem: StageProblem
    units: Units
    rounding: int
    one: OneRow
    fills: Fills

    def plan(self, choice: Choice) -> Plan:
        """The plan of a choice, with its stages listed."""
        fills = self.fills.take(choice.columns)
        recomputes, clocks = self.one.rows.recomputes, self.one.terms.clocks
        layers = self.problem.columns.ends[choice.columns, 0]
        layers = layers - self.problem.columns.starts[choice.columns, 0]
        counts = {code: fills.counts[:, :, at] for at, code in enumerate(recomputes)}
        none = np.zeros((len(fills), 2), dtype=np.int64)
        stages = tuple(
            Stage(
                layers=int(layers[d]),
                recompute="none",
                selective=_pair(counts.get(SELECTIVE, none)[d]),
                full=_pair(counts.get(FULL, none)[d]),
                sharding=SHARDINGS[int(fills.sharding[d])],
                clock=float(clocks[fills.clock[d]]),
            )
            for d in range(len(fills))
        )
        shared = self.one.rows.plans.plan(0)
        clock = max(stage.clock or 0.0 for stage in stages)
        return replace(shared, sharding=stages[0].sharding or "ddp", clock=clock, stages=stages)


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
) -> RowColumns | None:
    """The columns of a row without interleave; None where no plan within `upper_s` exists.

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
    units = units or Units.of(model, int(alone.plans.chips[0]), upper_s)
    powered = limits.power_w is not None
    packing = Packing.build(
        one, limits.chip_bytes(model), upper_s, energy=energy or powered, every=powered
    )
    offers = _offers(packing)
    if offers is None:
        return None
    laid = packing.laid(offers)
    if any(len(at) == 0 for at, _ in laid):
        return None
    whole = [offer.take(at) for offer, (at, _) in zip(offers, laid, strict=True)]
    joined = _joined(whole)
    starts = np.concatenate([start for _, start in laid])
    devices = np.repeat(np.arange(packing.devices), [len(offer.vector) for offer in whole])
    problem = _problem(packing, joined, devices, starts, units, limits, energy=energy)
    pp = packing.devices
    slack = int(packing.form.paced) * 2 + 3 * pp + 8
    return RowColumns(problem=problem, units=units, rounding=slack, one=one, fills=joined.fills)


def _offers(packing: Packing) -> list[Offer] | None:
    """What every device is offered; None where one is offered nothing."""
    first = alike(packing.one)
    vectors = packing.vectors()
    offers: dict[int, Offer] = {}
    for d in sorted(set(first.values())):
        wanted = np.unique(np.concatenate([vectors[e] for e in first if first[e] == d]))
        if len(wanted) == 0:
            return None
        offers[d] = packing.offer(place_of(packing.one, d), wanted)
        if len(offers[d].vector) == 0:
            return None
    return [offers[first[d]] for d in range(packing.devices)]


def _joined(offers: list[Offer]) -> Offer:
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


def _problem(
    packing: Packing,
    offer: Offer,
    devices: IntArray,
    starts: IntArray,
    units: Units,
    limits: Limits,
    *,
    energy: bool,
) -> StageProblem:
    """The integers of the module."""
    one = packing.one
    schedule = int(one.rows.plans.schedule[0])
    chips = int(one.rows.plans.chips[0])
    m, factor = round(one.m), one.factor
    bubbles = bool(one.model.assumptions.bubbles)

    def whole(values: FloatArray | float, unit: float) -> IntArray:
        return np.floor(np.asarray(values) * factor / unit).astype(np.int64)

    def seconds(*names: str) -> list[IntArray]:
        return [whole(getattr(offer.costs, name), units.time_s) for name in names]

    constant = int(whole(packing.form.constant, units.time_s))
    weights: list[tuple[tuple[int, ...], tuple[int, ...]]]
    if schedule == GPIPE and bubbles:
        sums, peaks = seconds("time"), seconds("forward", "backward")
        weights = [((1,), (m - 1, m - 1))]
    elif schedule == ZERO_BUBBLE and bubbles:
        sums, peaks = seconds("left"), seconds("paced", "time")
        weights = [((1,), (1, 0)), ((0,), (0, m))]
    else:
        sums, peaks = seconds("time"), seconds("time")
        weights = [((int(bubbles),), (m - int(bubbles),))]
    peaks += seconds("exposed", "optimizer")
    sums.append(np.floor(offer.costs.extra_j / units.joules).astype(np.int64))
    standing = chips * standing_w(one.model, chips) * units.time_s / units.joules
    cost = Form(sums=(0,) * (len(sums) - 1) + (1,))
    return StageProblem(
        layers=one.model.job.model.layers,
        chunks=np.arange(packing.devices)[:, None],
        columns=Columns(
            device=devices,
            starts=starts[:, None],
            ends=(starts + offer.fills.kinds.sum(axis=1))[:, None],
            group=np.zeros_like(devices),
            sums=np.stack(sums, axis=1),
            peaks=np.stack(peaks, axis=1),
        ),
        time=tuple(
            Form(constant=constant, sums=(*added, 0), peaks=(*paced, 1, 1))
            for added, paced in weights
        ),
        cost=cost if energy else None,
        cost_per_time=round(standing) if energy else 0,
        limits=_limits(cost, limits, units, round(standing)),
    )


def _limits(cost: Form, limits: Limits, units: Units, standing: int) -> tuple[Limit, ...]:
    """The mean power of the cluster: joules are at most power times time."""
    if limits.power_w is None:
        return ()
    allowed = int(np.ceil(limits.power_w * units.time_s / units.joules))
    return (Limit(name="power", form=cost, upper=0, per_time=standing - allowed),)

"""What columns of a row count for as whole numbers; `columns` says how."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.energy.energy import standing_w
from planner.schedules.schedule import StepForms
from planner.search.uneven.columns.selection import Offer, Packing
from planner.search.uneven.columns.stage_choices import OneRow
from solvers.stages.problem import LARGEST, Columns, Form, Limit, StageProblem

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
    def of(waiting_w: float, upper_s: float) -> Units:
        """Units for step times up to `upper_s`, in which waiting chips draw one unit of power."""
        time_s = upper_s / FINEST
        return Units(time_s=time_s, joules=time_s * (waiting_w or 1.0))

    def of_seconds(self, values: FloatArray | float, factor: float) -> IntArray:
        """Seconds, times the factor of the step, in whole units rounded down."""
        return np.floor(np.asarray(values) * factor / self.time_s).astype(np.int64)

    def of_joules(self, values: FloatArray) -> IntArray:
        """Joules in whole units rounded down."""
        return np.floor(values / self.joules).astype(np.int64)


def waiting_w(one: OneRow) -> float:
    """Watts of all chips of a row while they wait."""
    chips = int(one.rows.plans.chips[0])
    return chips * standing_w(one.model, chips)


def standing_units(one: OneRow, units: Units) -> int:
    """Joules of waiting chips per unit of time, in their units."""
    return round(waiting_w(one) * units.time_s / units.joules)


def forms_of(one: OneRow) -> StepForms:
    """What columns of a row count for in time."""
    bubbles = one.model.assumptions.bubbles
    return one.schedule.step_forms(round(one.m), one.v, bubbles=bubbles)


def stage_problem(
    packing: Packing,
    offer: Offer,
    devices: IntArray,
    starts: IntArray,
    units: Units,
    *,
    energy: bool,
) -> StageProblem:
    """The integers of the module, of stages that are not interleaved."""
    one, tables = packing.one, forms_of(packing.one)
    sums, peaks = (
        [units.of_seconds(getattr(offer.costs, name), one.factor) for name in names]
        for names in (tables.sums, (*tables.peaks, "exposed", "optimizer"))
    )
    constant = int(units.of_seconds(packing.form.constant, one.factor))
    joules = units.of_joules(offer.costs.extra_j)
    return StageProblem(
        layers=one.model.job.model.layers,
        chunks=np.arange(packing.devices)[:, None],
        columns=Columns(
            device=devices,
            starts=starts[:, None],
            ends=(starts + offer.choices.kinds.sum(axis=1))[:, None],
            group=np.zeros_like(devices),
            sums=np.stack([*sums, joules], axis=1),
            peaks=np.stack(peaks, axis=1),
        ),
        time=tuple(
            Form(constant=constant, sums=(*added, 0), peaks=(*paced, 1, 1))
            for added, paced in tables.forms
        ),
        cost=Form(sums=(0,) * len(sums) + (1,)) if energy else None,
        cost_per_time=standing_units(one, units) if energy else 0,
    )


def powered(
    problem: StageProblem, joules: int, units: Units, watts: float, rounding: int
) -> tuple[StageProblem, StageProblem]:
    """A problem with a limit on the power that kernels add: joules <= watts T.

    The joules that count are a sum of their own, in units of which a unit of time allows one. The
    limit is rounded twice: so that every plan within it obeys it, and so that every choice that
    obeys it is a plan within it. A few units of time are between the two.

    Args:
        problem: Without it.
        joules: Which of its sums they are, in `units` rounded down.
        units: Of the problem.
        watts: What the limit leaves kernels beside what flows whatever happens.
        rounding: A choice takes less than this many units of time more than its integers say.
    """
    columns, p = problem.columns, problem.devices
    ratio = units.joules / (watts * units.time_s) if watts > 0 else math.inf
    own = columns.sums[:, joules]
    most = LARGEST // (4 * p)
    scaled = np.where(own > 0, np.minimum(np.maximum(own, 1) * ratio, most), 0.0)
    sums = np.concatenate([columns.sums, scaled.astype(np.int64)[:, None]], axis=1)
    form = Form(sums=(0,) * columns.sums.shape[1] + (1,))
    within = min(math.ceil(min(ratio, most)) + 1, most) * p
    problem = replace(problem, columns=replace(columns, sums=sums))

    def limited(upper: int) -> StageProblem:
        limit = Limit(name="power", form=form, upper=upper, per_time=-1)
        return replace(problem, limits=(*problem.limits, limit))

    return limited(rounding), limited(-within)

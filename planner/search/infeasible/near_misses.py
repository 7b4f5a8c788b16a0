"""The plans that come nearest to limits which no plan meets.

While nothing has met the limits, no bound excludes anything: every plan that fits in memory is
costed. So when a search ends without a plan, these are the extremes over all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray
from planner.cost.context import CostModel
from planner.cost.energy.meter import Meter
from planner.objectives import Costs, RunCosts
from planner.plan import PlanTable
from planner.search.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """A plan that exists, and what it costs: chips, s, J of node and fabric.

    Attributes:
        meter: Of the boundary at which power is limited.
        run: What its whole run takes, where that is limited.
    """

    plan: PlanTable
    chips: int
    time_s: float
    energy_j: float
    meter: Meter = field(default_factory=Meter)
    run: RunCosts | None = None

    @property
    def power_w(self) -> float:
        """Mean power of the whole job, at the boundary of the limit on it."""
        return self.meter.shown_w(self.energy_j / self.time_s)


@dataclass(slots=True)
class NearMisses:
    """Extremes over the plans that were costed; None where there is none.

    Attributes:
        fastest: Least time.
        coolest: Least power.
        fastest_cool: Least time among those within the limit on power.
        coolest_fast: Least power among those within the limits on time and utilization.
        endless: Whether runs are asked for, and none ends.
    """

    fastest: Witness | None = None
    coolest: Witness | None = None
    fastest_cool: Witness | None = None
    coolest_fast: Witness | None = None
    endless: bool = False

    def note(
        self, model: CostModel, limits: Limits, costs: Costs, plan_at: Callable[[int], PlanTable]
    ) -> None:
        """Remembers candidates that come nearer to the limits than those before.

        Args:
            model: Job and machine.
            limits: That none of them meets.
            costs: (c,) what they cost.
            plan_at: The one-row table of a candidate.
        """
        times, energies, chips = (
            np.asarray(part) for part in (costs.step_time_s, costs.energy_j, costs.chips)
        )
        checks = limits.checks(model, times, energies, chips, costs.run)
        powers = limits.shown_w(model, energies / times, chips)

        def witness(row: int) -> Witness:
            return Witness(
                plan=plan_at(row),
                chips=int(chips[row]),
                time_s=float(times[row]),
                energy_j=float(energies[row]),
                meter=limits.meter(model, int(chips[row])),
                run=None if costs.run is None else costs.run.row(row),
            )

        first = self.fastest is None
        for name, row in self.better(times, powers, checks):
            setattr(self, name, witness(row))
        if costs.run is not None:
            some = bool(np.isfinite(costs.run.time_s).any())
            self.endless = (first or self.endless) and not some

    def better(
        self, times: FloatArray, powers: FloatArray, checks: dict[str, BoolArray]
    ) -> list[tuple[str, int]]:
        """The extremes that candidates improve: (attribute, row of the candidate).

        Args:
            times: (c,) seconds of their steps.
            powers: (c,) mean watts at the boundary of the limit on power.
            checks: Of `planner.search.limits.Limits`.
        """
        everywhere = np.ones(len(times), dtype=np.bool_)
        cool = checks.get("power", everywhere)
        fast = checks.get("step_time", everywhere) & checks.get("mfu", everywhere)
        found = []
        for name, values, rows in (
            ("fastest", times, everywhere),
            ("coolest", powers, everywhere),
            ("fastest_cool", times, cool),
            ("coolest_fast", powers, fast),
        ):
            if not rows.any():
                continue
            row = int(np.argmin(np.where(rows, values, np.inf)))
            known = getattr(self, name)
            if known is None or values[row] < (
                known.time_s if name.startswith("fastest") else known.power_w
            ):
                found.append((name, row))
        return found

"""What a plan must stay below (or above), and how many candidates each limit drops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.breakdown import peak_flop_per_s
from planner.cost.communication.traffic import model_flop_per_token
from planner.cost.context import CostModel
from planner.cost.energy.boundaries import PRINTED
from planner.cost.energy.meter import Meter, below_fabric, meter_of
from planner.cost.memory.memory import Memory
from planner.cost.memory.risk import bytes_at_risk, memory_spread, spreads_of
from planner.objectives import RunCosts
from planner.plan import Plan, PlanTable

_RUN_LIMITS = {"deadline": "run_s", "budget": "run_money", "run_energy": "run_energy_j"}
"""Names of the limits on the whole run, and their fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Constraints on a plan; None does not constrain.

    Attributes:
        memory_bytes: Per chip, without the reserve; default: what the framework may use of the
            chip (`usable_bytes`).
        memory_margin: Share of (capacity - reserve) that it may fill, instead of the framework's;
            beside `memory_bytes` the smaller of the two counts.
        oom_risk: Chance of running out of memory that a plan may have, beside these limits.
        host_bytes: Of host memory per chip; default: what the host has for each chip.
        power_w: Mean power of the whole job, as a meter around `power_boundary` shows it.
        power_boundary: One of `planner.base.vocabulary.BOUNDARIES`.
        step_time_s: Of one step.
        mfu: Least model-FLOP utilization.
        run_s: Of the whole run: its mean wall time, or what it stays within at the chance that
            the model's run has.
        run_money: Of the whole run.
        run_energy_j: Of the whole run, the facility included.
    """

    memory_bytes: float | None = None
    memory_margin: float | None = None
    oom_risk: float | None = None
    host_bytes: float | None = None
    power_w: float | None = None
    power_boundary: str = PRINTED
    step_time_s: float | None = None
    mfu: float | None = None
    run_s: float | None = None
    run_money: float | None = None
    run_energy_j: float | None = None

    @property
    def on_costs(self) -> bool:
        """Whether time, power, utilization or the whole run is limited."""
        alone = self.step_time_s is None and self.power_w is None and self.mfu is None
        return self.on_run or not alone

    @property
    def on_run(self) -> bool:
        """Whether what the whole run takes is limited."""
        return any(getattr(self, field) is not None for field in _RUN_LIMITS.values())

    @property
    def most_w(self) -> float:
        """The limit on power; inf without one."""
        return np.inf if self.power_w is None else self.power_w

    def without_costs(self) -> Limits:
        """The limit on memory alone."""
        return replace(self.without_run(), step_time_s=None, power_w=None, mfu=None)

    def without_run(self) -> Limits:
        """Those on a step alone."""
        return replace(self, run_s=None, run_money=None, run_energy_j=None)

    def without(self, name: str) -> Limits:
        """All but one of `run_limits`."""
        fields: dict[str, Any] = {_RUN_LIMITS[name]: None}
        return replace(self, **fields)

    def chip_bytes(self, model: CostModel) -> float:
        """The limit on bytes per chip, of all plans the loosest."""
        spreads = np.array(spreads_of(model.framework, model.job.era))
        return float(self._at_risk(model, spreads).max())

    def bytes_of(self, model: CostModel, plans: PlanTable) -> FloatArray:
        """(n,) the limit on bytes per chip of each plan; how sure it is may differ."""
        return self._at_risk(model, memory_spread(model.framework, model.job.era, plans))

    def bytes_of_plan(self, model: CostModel, plan: Plan) -> float:
        """The limit on bytes per chip of one plan."""
        return float(self.bytes_of(model, PlanTable.from_plans([plan]))[0])

    def _at_risk(self, model: CostModel, spreads: FloatArray) -> FloatArray:
        """(n,) limits on bytes per chip, of plans whose memory is as sure as their spreads."""
        limit = np.full(spreads.shape, self._filled(model))
        if self.oom_risk is None:
            return limit
        at_risk = bytes_at_risk(self.oom_risk, spreads, model.allocatable_bytes)
        return np.asarray(np.minimum(limit, at_risk))

    def _filled(self, model: CostModel) -> float:
        """The limit on bytes per chip, whatever the risk."""
        if self.memory_margin is None:
            return usable_bytes(model) if self.memory_bytes is None else self.memory_bytes
        filled = self.memory_margin * model.allocatable_bytes
        return filled if self.memory_bytes is None else min(filled, self.memory_bytes)

    def host_limit(self, model: CostModel) -> float:
        """The limit on bytes of host memory per chip."""
        return model.chip.host_memory_bytes if self.host_bytes is None else self.host_bytes

    def memory(
        self, model: CostModel, plans: PlanTable, held: Memory
    ) -> tuple[BoolArray, dict[str, int]]:
        """(n,) plans that fit on the chip and on the host, and how many do not."""
        fits = held.peak <= self.bytes_of(model, plans)
        host = held.host_peak <= self.host_limit(model)
        dropped = {"memory": int((~fits).sum()), "host_memory": int((fits & ~host).sum())}
        return fits & host, {name: count for name, count in dropped.items() if count}

    def checks(
        self,
        model: CostModel,
        times: FloatArray,
        energies: FloatArray,
        chips: FloatArray,
        run: RunCosts | None = None,
    ) -> dict[str, BoolArray]:
        """(c,) which candidates obey each limit on costs, by its name.

        Args:
            model: Job and machine.
            times, energies, chips: (c,) of a step.
            run: What the whole runs take, where that is asked for; one that never ends is none.
        """
        found: dict[str, BoolArray] = {}
        if run is not None:
            found |= self._of_runs(model, run)
        if self.step_time_s is not None:
            found["step_time"] = times <= self.step_time_s
        if self.power_w is not None:
            found["power"] = energies <= self.it_w(model, chips) * times
        if self.mfu is not None:
            found["mfu"] = model_flop(model) >= self.mfu * peak_flop_per_s(model) * chips * times
        return found

    def _of_runs(self, model: CostModel, run: RunCosts) -> dict[str, BoolArray]:
        """(c,) which runs end, and obey each limit on them."""
        found = {"endless_run": np.asarray(np.isfinite(run.time_s))}
        for name, values in self.run_values(model, run).items():
            found[name] = np.asarray(values <= self.run_limits[name])
        return found

    @property
    def run_limits(self) -> dict[str, float]:
        """The limits on the whole run that are given, by name."""
        every = {name: getattr(self, field) for name, field in _RUN_LIMITS.items()}
        return {name: limit for name, limit in every.items() if limit is not None}

    def may_run(self, model: CostModel, low: RunCosts) -> BoolArray:
        """Whether runs may be within the limits on them of which lower bounds are known."""
        likely = 0.5 if model.run is None else model.run.chance or 0.5
        late = low.time_s if likely >= 0.5 else np.zeros_like(low.time_s)  # else it may end sooner
        ok = np.ones(np.shape(low.time_s), dtype=np.bool_)
        for name, values in self.run_values(model, replace(low, late_s=late)).items():
            ok &= values <= self.run_limits[name]
        return ok

    def run_values(self, model: CostModel, run: RunCosts) -> dict[str, FloatArray]:
        """(c,) what of whole runs is limited, by the name of the limit."""
        timed = model.run is not None and model.run.chance is not None
        every = {
            "deadline": run.late_s if timed else run.time_s,
            "budget": run.money,
            "run_energy": model.facility.pue * np.asarray(run.energy_j),
        }
        return {name: np.asarray(every[name]) for name in self.run_limits}

    def costs(
        self,
        model: CostModel,
        times: FloatArray,
        energies: FloatArray,
        chips: FloatArray,
        run: RunCosts | None = None,
    ) -> tuple[BoolArray | None, dict[str, int]]:
        """(c,) candidates within the limits on costs, and the dropped; arguments of `checks`."""
        checks = self.checks(model, times, energies, chips, run)
        if not checks:
            return None, {}
        allowed = np.ones(len(times), dtype=np.bool_)
        dropped = {}
        for name, ok in checks.items():
            dropped[name] = int((allowed & ~ok).sum())
            allowed &= ok
        return allowed, dropped

    def meter(self, model: CostModel, chips: int) -> Meter:
        """The meter around the boundary, of plans on so many chips."""
        return meter_of(model, self.power_boundary, chips)

    def metered(self, meter: Meter) -> Limits:
        """The same limits, with that on power on node and fabric, where a meter shows them."""
        if self.power_w is None or self.power_boundary == PRINTED:
            return self
        return replace(self, power_w=meter.it_w(self.power_w), power_boundary=PRINTED)

    def on_chips(self, model: CostModel, chips: int) -> Limits:
        """The same limits for plans on so many chips, with that on power on node and fabric."""
        return self.metered(self.meter(model, chips))

    def it_w(self, model: CostModel, chips: FloatArray) -> FloatArray:
        """(c,) the most watts of node and fabric on so many chips; inf without a limit."""
        return self._by_count(model, chips, lambda meter: meter.it_w(self.most_w))

    def shown_w(self, model: CostModel, powers_w: FloatArray, chips: FloatArray) -> FloatArray:
        """(c,) what the meter of the limit shows where node and fabric draw `powers_w`."""
        scale = self._by_count(model, chips, lambda meter: meter.scale)
        return scale * (powers_w - self._by_count(model, chips, lambda meter: meter.outside_w))

    def _by_count(
        self, model: CostModel, chips: FloatArray, value: Callable[[Meter], float]
    ) -> FloatArray:
        """(c,) a figure of the meter around each number of chips."""
        if not below_fabric(self.power_boundary):  # whatever their number
            return np.full(np.shape(chips), value(self.meter(model, 1)))
        return by_count(chips, lambda count: value(self.meter(model, count)))

    def longest_s(self, model: CostModel, chips: int) -> float:
        """Seconds that the limits on step time and utilization allow a step on so many chips."""
        longest = np.inf if self.step_time_s is None else self.step_time_s
        if self.mfu is None:
            return longest
        return min(longest, model_flop(model) / (self.mfu * peak_flop_per_s(model) * chips))

    def in_time(self, model: CostModel, times: FloatArray, chips: FloatArray) -> BoolArray:
        """(c,) whether lower bounds on time leave room for the limits on time and utilization."""
        timely = replace(self, power_w=None)
        ok = np.ones(np.broadcast_shapes(times.shape, chips.shape), dtype=np.bool_)
        soon = times * (1 - 1e-9)
        for check in timely.checks(model, soon, times, chips).values():
            ok &= check
        if self.on_run:
            ok &= self.may_run(model, least_run(model, chips, soon))
        return ok


def least_run(model: CostModel, chips: FloatArray, times: FloatArray) -> RunCosts:
    """(c,) what no runs go below whose steps take at least so long."""
    from planner.cost.goodput import runs  # noqa: PLC0415  (few ask)

    return runs.least_run_costs(model, runs.least_kept(model, chips), times, np.zeros_like(times))


def by_count(chips: IntArray | FloatArray, value: Callable[[int], float]) -> FloatArray:
    """(c,) a figure of each number of chips."""
    counts, which = np.unique(chips, return_inverse=True)
    return np.array([value(int(count)) for count in counts])[which.ravel()]


def usable_bytes(model: CostModel) -> float:
    """Bytes per chip that a plan may fill: share x (capacity - reserve), 0 without room.

    And no more than `headroom_share` of the whole capacity, above which steps may be slow.
    """
    framework = model.framework
    most = framework.headroom_share * model.chip.memory_bytes
    return min(framework.usable_share * model.allocatable_bytes, most)


def model_flop(model: CostModel) -> float:
    """FLOP of one step that count towards utilization; see `planner.cost.communication.traffic`."""
    return model.job.batch_tokens * model_flop_per_token(model.job, model.shapes)

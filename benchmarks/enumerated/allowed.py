"""Which plans a question allows: its limits, and what it fixes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from planner.base.vocabulary import MESH_AXES
from planner.cost.breakdown import peak_flop_per_s
from planner.cost.communication.traffic import model_flop_per_token
from planner.cost.context import CostModel
from planner.cost.energy.meter import meter_of
from planner.cost.evaluate import memory_table
from planner.cost.memory.risk import bytes_at_risk, memory_spread
from planner.objectives import Costs
from planner.plan import PlanTable
from planner.plan.choices import fixed_values
from planner.question.request import Request

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def divisors(number: int) -> list[int]:
    """All of them, ascending."""
    return [size for size in range(1, number + 1) if number % size == 0]


def wanted(request: Request, name: str, values: Iterable[int]) -> list[int]:
    """The values of a field (codes) that a question leaves."""
    some = list(values)
    if name in MESH_AXES and request.axes is not None and name not in request.axes:
        some = [value for value in some if value == 1]
    given = request.fix.get(name)
    return some if given is None else [v for v in some if v in fixed_values(name, given)]


def most_bytes(request: Request, model: CostModel, plans: PlanTable) -> Floats:
    """(n,) bytes that a chip may hold."""
    framework = model.framework
    if request.memory_margin is not None:
        most = request.memory_margin * model.allocatable_bytes
        most = most if request.max_memory is None else min(most, request.max_memory)
    elif request.max_memory is not None:
        most = request.max_memory
    else:
        usable = framework.usable_share * model.allocatable_bytes
        most = min(usable, framework.headroom_share * model.chip.memory_bytes)
    limits = np.full(len(plans), most)
    if request.oom_risk is not None:
        spread = memory_spread(framework, model.job.era, plans)
        risky = bytes_at_risk(request.oom_risk, spread, model.allocatable_bytes)
        limits = np.minimum(limits, risky)
    return limits


def fitting(request: Request, model: CostModel, plans: PlanTable) -> Bools:
    """(n,) plans that fit on the chip and on its host."""
    held = memory_table(model, plans)
    on_chip = held.peak <= most_bytes(request, model, plans)
    return np.asarray(on_chip & (held.host_peak <= model.chip.host_memory_bytes))


def within(request: Request, models: Sequence[tuple[CostModel, int]], costs: Costs) -> Bools:
    """(n,) plans within the limits on time, power and utilization, all on the chips of models."""
    time_s, energy_j = np.asarray(costs.step_time_s), np.asarray(costs.energy_j)
    allowed = np.ones(len(time_s), dtype=np.bool_)
    if request.max_step_time is not None:
        allowed &= time_s <= request.max_step_time
    if request.max_power is not None:
        ((model, chips),) = models
        meter = meter_of(model, request.power_boundary, chips)
        allowed &= energy_j <= meter.it_w(request.max_power) * time_s
    if request.min_mfu is not None:
        first = models[0][0]
        flop = first.job.batch_tokens * model_flop_per_token(first.job, first.shapes)
        peak = sum(chips * peak_flop_per_s(model) for model, chips in models)
        allowed &= flop >= request.min_mfu * peak * time_s
    return allowed

"""What one change of a job or a machine does to any plan, without a reference to compare with.

Names carry units, so that a machine can be given in another unit of time or energy as a whole: a
constant in the code that has a unit but no name of a field would show. That more bandwidth, memory
rate or arithmetic is never slower is in `test_cost_properties.py`, that two pools of one chip cost
what one cluster does in `test_cost_pools.py`.
"""

import math
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cost.cases import Case, cases, chip_counts, one_of, plans_for, runnable
from hardware_db.frozen_map import FrozenMap
from planner.cost.breakdown import Breakdown
from planner.plan import Plan

FILTERED = settings(
    max_examples=60, deadline=None,
    suppress_health_check=(HealthCheck.filter_too_much, HealthCheck.too_slow),
)  # fmt: skip
ONE_KIND_OF_LAYER = ("llama3-8b", "gpt3-1.3b", "falcon-40b", "llama2-13b", "opt-1.3b")
RATES, SECONDS = ("_per_s", "_hz"), ("_s", "_s_per_layer", "_s_per_tp_rank")
POWERS, ENERGIES = ("_w", "_w_per_chip"), ("_j", "_j_per_byte")


def factor(name: str, time: float, energy: float) -> float:
    """By what a field grows, where a second is 1/`time` of what it was, a joule 1/`energy`."""
    if name.endswith(RATES):
        return 1 / time
    if name.endswith(SECONDS):
        return time
    if name.endswith(POWERS):
        return energy / time
    return energy if name.endswith(ENERGIES) else 1.0


def in_units(value: Any, time: float, energy: float, name: str = "") -> Any:
    """A record, or what a field holds, in other units; None stays."""
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: in_units(getattr(value, field.name), time, energy, field.name)
            for field in fields(value) if field.init and field.name != "quantities"
        }  # fmt: skip
        return replace(value, **changed)
    if isinstance(value, FrozenMap):
        return FrozenMap({key: in_units(part, time, energy, name) for key, part in value.items()})
    if isinstance(value, tuple):
        return tuple(in_units(part, time, energy, name) for part in value)
    if isinstance(value, float | int) and not isinstance(value, bool):
        scale = factor(name, time, energy)
        return value if scale == 1.0 else value * scale
    return value


def converted(case: Case, time: float = 1.0, energy: float = 1.0) -> Case:
    """The case with its machine, constants and hooks of its framework in other units."""
    hooks = in_units(case.job.framework.module_hook_s, time, energy, "module_hook_s")
    return replace(
        case,
        job=replace(case.job, framework=replace(case.job.framework, module_hook_s=hooks)),
        cluster=in_units(case.cluster, time, energy),
        assumptions=in_units(case.assumptions, time, energy),
    )


def plan_of(data: st.DataObject, case: Case) -> Plan:
    chips = data.draw(one_of(*chip_counts(case, 256)))
    plan = data.draw(plans_for(case, chips, regular=False))
    assume(runnable(case, plan))
    return plan


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_fields_with_units_are_recognized() -> None:
    """Of each kind some; a field of a new unit wants a line in `factor`."""
    found = {
        name: (factor(name, 4.0, 1.0), factor(name, 1.0, 8.0))
        for name in ("memory_bandwidth_bytes_per_s", "clock_hz", "latency_s", "host_w",
                     "nic_power_w_per_chip", "flop_j", "energy_j_per_byte", "memory_bytes",
                     "voltage_slope", "fixed_s_per_layer")
    }  # fmt: skip
    assert found["memory_bandwidth_bytes_per_s"] == found["clock_hz"] == (0.25, 1.0)
    assert found["latency_s"] == (4.0, 1.0)
    assert found["host_w"] == found["nic_power_w_per_chip"] == (0.25, 8.0)
    assert found["flop_j"] == found["energy_j_per_byte"] == (1.0, 8.0)
    assert found["memory_bytes"] == found["voltage_slope"] == (1.0, 1.0)
    assert found["fixed_s_per_layer"] == (4.0, 1.0)


@FILTERED
@given(st.data())
def test_another_unit_of_time_is_the_same_plan(data: st.DataObject) -> None:
    """Seconds of all that takes any, and rates to match: the step as many, at the same energy."""
    case = data.draw(cases())
    plan = plan_of(data, case)
    times = data.draw(one_of(1 / 1024, 0.5, 2.0, 1000.0))
    one, other = case.run([plan]), converted(case, time=times).run([plan])
    near(other.step_time_s, times * one.step_time_s)
    for name, seconds in one.time_parts.items():
        np.testing.assert_allclose(
            other.time_parts[name], times * seconds, rtol=1e-9, atol=1e-11 * times * sum_of(one)
        )
    near(other.energy.total, one.energy.total)
    near(other.mfu, one.mfu)
    near(other.memory_per_chip_bytes, one.memory_per_chip_bytes)


def sum_of(costs: Breakdown) -> float:
    return float(costs.step_time_s[0])


@FILTERED
@given(st.data())
def test_another_unit_of_energy_is_the_same_plan(data: st.DataObject) -> None:
    case = data.draw(cases())
    plan = plan_of(data, case)
    joules = data.draw(one_of(0.125, 2.0, 1000.0))
    one, other = case.run([plan]), converted(case, energy=joules).run([plan])
    near(other.step_time_s, one.step_time_s)
    near(other.energy.total, joules * one.energy.total)
    for name, joule in one.energy.parts.items():
        near(other.energy.parts[name], joules * joule)


@FILTERED
@given(st.data())
def test_twice_the_layers_cost_at_most_twice(data: st.DataObject) -> None:
    """What does not grow with them is paid once: embedding, head, the fixed part of a step.

    Also never less than before, but for the bubble of stages that were uneven.
    """
    case = data.draw(cases(models=ONE_KIND_OF_LAYER))
    plan = data.draw(plans_for(case, data.draw(one_of(*chip_counts(case, 64))), explicit=False))
    longer = replace(case.job.model, layers=2 * case.job.model.layers)
    twice = replace(case, job=replace(case.job, model=longer))
    assume(runnable(case, plan) and runnable(twice, plan))
    one, two = case.run([plan]), twice.run([plan])
    for name in ("step_time_s", "flop", "memory_per_chip_bytes", "memory_traffic_bytes"):
        small, large = (float(getattr(costs, name)[0]) for costs in (one, two))
        assert 0 < small <= large * (1 + 1e-12), name
        assert large <= 2 * small * (1 + 1e-12), name
    small, large = float(one.energy.total[0]), float(two.energy.total[0])
    assert 0 < small <= large <= 2 * small * (1 + 1e-12)
    assert math.isfinite(large)

"""Limits on plans, each against what its description says, figure by figure."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model

from models_db import load_model
from planner.cost.context import CostModel
from planner.cost.memory.risk import bytes_at_risk, memory_spread, spreads_of
from planner.objectives import RunCosts
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.search.limits import Limits, usable_bytes
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans

TIMES = np.array([1.0, 2.0, 4.0, 8.0])
ENERGIES = np.array([9e3, 16e3, 30e3, 56e3])  # 9, 8, 7.5, 7 kW
CHIPS = np.array([8.0, 8.0, 16.0, 16.0])


@pytest.fixture(scope="module")
def model() -> CostModel:
    return cost_model(load_model("llama2-7b"), "dgx-h100-ndr", global_batch=8)


@pytest.fixture(scope="module")
def plans(model: CostModel) -> PlanTable:
    options = SpaceOptions(clocks=False)
    meshes = enumerate_meshes(model, (8,), options)
    return cross_choices(model, cross_partial_plans(model, meshes, options), options).plans


@each("memory_bytes", [None, 1e9, 2e10, 1e12])
@each("memory_margin", [None, 0.25, 0.9])
@each("oom_risk", [None, 0.001, 0.3])
def test_of_limits_on_memory_the_smallest_counts(
    model: CostModel, plans: PlanTable, *, memory_bytes: float | None, memory_margin: float | None,
    oom_risk: float | None,
) -> None:  # fmt: skip
    few = plans.take(np.arange(0, len(plans), 97))
    limits = Limits(memory_bytes=memory_bytes, memory_margin=memory_margin, oom_risk=oom_risk)
    share = memory_margin and memory_margin * model.allocatable_bytes
    given = [limit for limit in (memory_bytes, share) if limit is not None]
    least = min(given) if given else usable_bytes(model)
    spreads = memory_spread(model.framework, model.job.era, few)
    every = np.array(spreads_of(model.framework, model.job.era))
    wanted, loosest = np.full(len(few), least), least
    if oom_risk is not None:
        wanted = np.minimum(least, bytes_at_risk(oom_risk, spreads, model.allocatable_bytes))
        loosest = min(least, bytes_at_risk(oom_risk, every, model.allocatable_bytes).max())
    assert limits.bytes_of(model, few).tolist() == wanted.tolist()
    assert limits.bytes_of_plan(model, few.plan(1)) == wanted[1]
    assert limits.chip_bytes(model) == loosest


def test_what_a_framework_may_use_and_its_host(model: CostModel) -> None:
    few = replace(model, job=replace(model.job, framework=replace(
        model.framework, usable_share=0.5, headroom_share=0.25)))  # fmt: skip
    assert usable_bytes(few) == 0.25 * model.chip.memory_bytes
    few = replace(model, job=replace(model.job, framework=replace(
        model.framework, usable_share=0.125, headroom_share=1.0)))  # fmt: skip
    assert usable_bytes(few) == 0.125 * model.allocatable_bytes
    assert Limits().host_limit(model) == model.chip.host_memory_bytes
    assert Limits(host_bytes=7.0).host_limit(model) == 7.0


def test_what_does_not_fit_is_counted_once(model: CostModel, plans: PlanTable) -> None:
    few = plans.take(np.arange(5))
    held: Any = SimpleNamespace(
        peak=np.array([1.0, 2.0, 3.0, 2.0, 4.0]), host_peak=np.array([1.0, 5.0, 9.0, 6.0, 0.0])
    )
    for memory, host, fits, dropped in (
        (2.0, 5.0, [1, 1, 0, 0, 0], {"memory": 2, "host_memory": 1}),
        (4.0, 9.0, [1] * 5, {}),
        (3.0, 9.0, [1, 1, 1, 1, 0], {"memory": 1}),
        (4.0, 0.5, [0, 0, 0, 0, 1], {"host_memory": 4}),
    ):
        limits = Limits(memory_bytes=memory, host_bytes=host)
        found, counts = limits.memory(model, few, held)
        assert (found.tolist(), counts) == ([bool(one) for one in fits], dropped)


def allowed(limits: Limits, model: CostModel, run: RunCosts | None = None) -> list[bool] | None:
    """Which of the candidates above are within limits."""
    found, dropped = limits.costs(model, TIMES, ENERGIES, CHIPS, run)
    if found is None:
        assert dropped == {}
        return None
    assert sum(dropped.values()) == (~found).sum()
    return found.tolist()  # type: ignore[no-any-return]


def test_limits_on_a_step(model: CostModel) -> None:
    flop = 6 * 8 * 2048  # times parameters and more, per second and chip
    mfu = model_mfu(model)
    assert 0.5 * flop < mfu[0] * 8 * TIMES[0] * 989e12 / 6.7e9 < 2 * flop
    assert allowed(Limits(), model) is None
    assert allowed(Limits(step_time_s=4.0), model) == [True, True, True, False]
    assert allowed(Limits(power_w=7.5e3), model) == [False, False, True, True]
    assert allowed(Limits(mfu=mfu[1]), model) == [True, True, False, False]
    both = Limits(step_time_s=4.0, power_w=8e3)
    assert allowed(both, model) == [False, True, True, False]
    _, dropped = both.costs(model, TIMES, ENERGIES, CHIPS)
    assert dropped == {"step_time": 1, "power": 1}


def model_mfu(model: CostModel) -> list[float]:
    """Utilization of the candidates above, just as the limit on it has them."""
    found = []
    for time_s, chips in zip(TIMES, CHIPS, strict=True):
        low, high = 0.0, 1e3
        for _ in range(60):
            middle = (low + high) / 2
            ok = Limits(mfu=middle).checks(model, np.array([time_s]), ENERGIES[:1], chips)["mfu"]
            low, high = (middle, high) if ok.all() else (low, middle)
        found.append(low)
    return found


def test_utilization_is_of_the_chips_and_the_time(model: CostModel) -> None:
    mfu = model_mfu(model)
    np.testing.assert_allclose(mfu, mfu[0] * TIMES[0] * 8 / (TIMES * CHIPS), rtol=1e-9)
    assert Limits().longest_s(model, 8) == math.inf
    assert Limits(step_time_s=3.0).longest_s(model, 8) == 3.0
    for chips, at in ((8, 1), (16, 2)):
        assert Limits(mfu=mfu[at]).longest_s(model, chips) == pytest.approx(TIMES[at])
        both = Limits(mfu=mfu[at], step_time_s=3.0)
        assert both.longest_s(model, chips) == pytest.approx(min(3.0, TIMES[at]))


@each(("boundary", "scale", "network", "host_w"), [
    ("node_and_fabric", 1.0, False, 0.0), ("facility", 1.5, False, 0.0),
    ("node", 1.0, True, 0.0), ("chip", 1.0, True, 20.0),
])  # fmt: skip
def test_limits_on_power_at_each_boundary(
    model: CostModel, *, boundary: str, scale: float, network: bool, host_w: float
) -> None:
    """Watts that a meter does not see come on top; those of the facility are a share of it."""
    network_w = {chips: model.network_w_per_chip(chips) for chips in (8, 16)}
    model = replace(
        model, facility=replace(model.facility, pue=1.5),
        cluster=replace(model.cluster, chip=replace(model.cluster.chip, host_w=20.0)),
    )  # fmt: skip
    limits = Limits(power_w=6e3, power_boundary=boundary)
    unseen = {chips: chips * (network * network_w[chips] + host_w) for chips in (8, 16)}
    wanted = [6e3 / scale + unseen[int(chips)] for chips in CHIPS]
    np.testing.assert_allclose(limits.it_w(model, CHIPS), wanted, rtol=1e-12)
    powers = ENERGIES / TIMES
    shown = [scale * (w - unseen[int(chips)]) for w, chips in zip(powers, CHIPS, strict=True)]
    np.testing.assert_allclose(limits.shown_w(model, powers, CHIPS), shown, rtol=1e-12)
    for chips in (8, 16):
        metered = limits.on_chips(model, chips)
        assert metered.power_w == pytest.approx(6e3 / scale + unseen[chips], rel=1e-12)
        assert metered.power_boundary == "node_and_fabric"
    assert Limits(power_boundary=boundary).on_chips(model, 8).power_w is None
    assert Limits().most_w == math.inf


RUN = RunCosts(
    time_s=np.array([10.0, 20.0, math.inf, 40.0]), energy_j=np.array([4.0, 3.0, 2.0, 1.0]),
    money=np.array([1.0, 2.0, 3.0, 4.0]), late_s=np.array([15.0, 30.0, math.inf, 60.0]),
)  # fmt: skip


def test_limits_on_the_whole_run(model: CostModel) -> None:
    model = replace(model, facility=replace(model.facility, pue=1.5))
    for fields, wanted in (
        ({}, [1, 1, 0, 1]), ({"run_s": 20.0}, [1, 1, 0, 0]), ({"run_money": 1.5}, [1, 0, 0, 0]),
        ({"run_energy_j": 4.5}, [0, 1, 0, 1]), ({"run_s": 30.0, "run_energy_j": 4.5}, [0, 1, 0, 0]),
    ):  # fmt: skip
        assert allowed(Limits(**fields), model, RUN) == [bool(one) for one in wanted], fields
    assert allowed(Limits(), model) is None
    _, dropped = Limits(run_s=20.0, run_money=1.5).costs(model, TIMES, ENERGIES, CHIPS, RUN)
    assert dropped == {"endless_run": 1, "deadline": 1, "budget": 1}


@each(("chance", "within", "possible"), [
    (None, [1, 1, 0, 0], [1, 1, 0, 0]), (0.9, [1, 0, 0, 0], [1, 1, 0, 0]),
    (0.5, [1, 0, 0, 0], [1, 1, 0, 0]), (0.25, [1, 0, 0, 0], [1, 1, 1, 1]),
])  # fmt: skip
def test_a_deadline_at_a_chance(
    model: CostModel, chance: float | None, within: list[int], possible: list[int]
) -> None:
    """What a run stays within is held to it; of lower bounds those that are sure to be late."""
    run: Any = SimpleNamespace(chance=chance)
    limits, model = Limits(run_s=20.0), replace(model, run=run)
    assert allowed(limits, model, RUN) == [bool(one) for one in within]
    assert limits.may_run(model, RUN).tolist() == [bool(one) for one in possible]


def test_which_limits_are_given() -> None:
    run = {"run_s": 3.0, "run_money": 4.0, "run_energy_j": 5.0}
    step = {"step_time_s": 1.0, "power_w": 2.0, "mfu": 0.5}
    names = {"run_s": "deadline", "run_money": "budget", "run_energy_j": "run_energy"}
    every = Limits(**run, **step, memory_bytes=9.0)
    assert every.run_limits == {names[name]: value for name, value in run.items()}
    assert every.without_run() == Limits(**step, memory_bytes=9.0)
    assert every.without_costs() == Limits(memory_bytes=9.0)
    for name, value in run.items():
        one = Limits(**{name: value})
        assert (one.on_run, one.on_costs) == (True, True)
        assert one.without(names[name]) == Limits()
    for name, value in step.items():
        one = Limits(**{name: value})
        assert (one.on_run, one.on_costs) == (False, True)
    assert not Limits(memory_bytes=1.0, memory_margin=0.1, oom_risk=0.1, host_bytes=1.0).on_costs


def test_bounds_on_time_drop_nothing_that_is_allowed(model: CostModel) -> None:
    mfu = model_mfu(model)
    for step_time_s, least, power_w in itertools.product(
        (None, 2.0, 4.0), (None, mfu[1], mfu[2]), (None, 7.5e3)
    ):
        limits = Limits(step_time_s=step_time_s, mfu=least, power_w=power_w)
        found = limits.in_time(model, TIMES, CHIPS)
        longest = [limits.longest_s(model, int(chips)) for chips in CHIPS]
        assert found.tolist() == (longest >= TIMES * (1 - 1e-9)).tolist()
        ok, _ = limits.costs(model, TIMES, ENERGIES, CHIPS)
        assert ok is None or np.all(found | ~ok)

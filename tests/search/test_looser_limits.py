"""Limits that allow what is known, as they are typed: no tighter, and hardly looser."""

import math
import re
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model

from models_db import load_model
from planner.base.units import parse_seconds, parse_watts
from planner.cost.context import CostModel
from planner.objectives import RunCosts
from planner.search.infeasible.more_memory import enough_memory, risk_flag
from planner.search.infeasible.near_misses import Witness
from planner.search.infeasible.numbers import rounded_down, rounded_up
from planner.search.infeasible.remedies import looser_limits, power_limit
from planner.search.infeasible.run_limits import column, looser_run
from planner.search.limits import Limits


@pytest.fixture(scope="module")
def model() -> CostModel:
    return cost_model(load_model("llama2-7b"), "dgx-h100-ndr", global_batch=8)


@each("value", [1e-7, 0.034561, 1.0, 3.14159, 99.9951, 1234.5678, 7.77e9])
def test_numbers_are_rounded_to_their_side(value: float) -> None:
    up, down = float(rounded_up(value)), float(rounded_down(value))
    assert value * (1 - 1e-3) <= down <= value <= up <= value * (1 + 1e-3)


@each("given", [*product([None, 1e9], [None, 0.5], [None, 0.1])])
@each("needed", [3.2114e9, 9e9])
def test_memory_that_is_enough(
    given: tuple[float | None, float | None, float | None], needed: float
) -> None:
    """Of one limit alone, and where chips have so much; of a share nothing is said."""
    memory_bytes, memory_margin, oom_risk = given
    limits = Limits(memory_bytes=memory_bytes, memory_margin=memory_margin, oom_risk=oom_risk)
    found = [*enough_memory(limits, needed, usable=5e9, chance=0.0123)]
    alone = sum(one is not None for one in given) == 1
    if not alone or memory_margin is not None or needed > 5e9:
        assert found == []
    else:
        assert found == ["--max-memory 3.212GB" if oom_risk is None else "--max-oom-risk 1.23%"]


def test_a_chance_is_at_most_all() -> None:
    assert risk_flag(0.123456) == "--max-oom-risk 12.35%"
    assert risk_flag(1.0) == "--max-oom-risk 100%"


@each(("watts", "unit"), [(3.4567e7, "MW"), (1e6, "MW"), (34567.8, "kW"), (999.2, "W"), (0.2, "W")])
def test_a_limit_on_power_in_its_unit(watts: float, unit: str) -> None:
    text, allowed = power_limit(watts)
    assert re.fullmatch(rf"[\d.]+{unit}", text)
    assert watts <= allowed <= watts * (1 + 1e-3)
    if watts >= 1:
        assert parse_watts(text) == pytest.approx(allowed, rel=1e-12)


def run_of(**figures: float) -> RunCosts:
    every = {"time_s": 1e6, "energy_j": 1e12, "money": 1e5, "late_s": 2e6} | figures
    found = column(RunCosts(**every))
    assert found is not None
    return found


@each(("seconds", "unit"), [(40.0, "s"), (3599.0, "s"), (7300.0, "h"), (86_399.0, "h"), (2e6, "d")])
@each("chance", [None, 0.9])
def test_a_deadline_in_its_unit(
    model: CostModel, seconds: float, unit: str, chance: float | None
) -> None:
    run: Any = SimpleNamespace(chance=chance)
    model = replace(model, run=run)
    figures = run_of(**{"late_s" if chance else "time_s": seconds})
    found = looser_run(model, Limits(run_s=1.0, run_money=5.0), "deadline", figures)
    flag, text = found.flag.split()
    text, _, at = text.partition("@")
    assert (flag, text[-1], at) == ("--deadline", unit, "90%" if chance else "")
    assert found.limits.run_s is not None
    assert seconds <= found.limits.run_s <= seconds * (1 + 1e-3)
    assert parse_seconds(text) == pytest.approx(found.limits.run_s, rel=1e-12)
    assert found.limits.run_money == 5.0


@each(("joules", "unit"), [
    (4e15, "TWh"), (3.7e12, "GWh"), (3.7e9, "MWh"), (4e6, "kWh"), (4e3, "Wh"), (1e3, "Wh"),
])  # fmt: skip
def test_an_energy_of_a_run_in_its_unit(model: CostModel, joules: float, unit: str) -> None:
    scale = {"TWh": 3.6e15, "GWh": 3.6e12, "MWh": 3.6e9, "kWh": 3.6e6, "Wh": 3.6e3}[unit]
    shown = joules * model.facility.pue
    found = looser_run(model, Limits(run_energy_j=1.0), "run_energy", run_of(energy_j=joules))
    flag, text = found.flag.split()
    assert flag == "--max-run-energy"
    assert text.removesuffix(unit).replace(".", "").isdigit()
    assert found.limits.run_energy_j == pytest.approx(
        float(text.removesuffix(unit)) * scale, rel=1e-12
    )
    assert shown <= found.limits.run_energy_j <= shown * (1 + 1e-3)


def test_money_and_no_run(model: CostModel) -> None:
    found = looser_run(model, Limits(run_money=1.0), "budget", run_of(money=123_456.0))
    assert found.flag == "--budget 123500"
    assert found.limits == Limits(run_money=123_500.0)
    assert column(None) is None


@each("limits", [
    Limits(step_time_s=0.5), Limits(power_w=5e3), Limits(mfu=0.9),
    Limits(step_time_s=0.5, power_w=5e3), Limits(step_time_s=9.0, mfu=0.9),
    Limits(step_time_s=9.0, power_w=9e9),
])  # fmt: skip
def test_looser_limits_just_allow_a_plan(model: CostModel, limits: Limits) -> None:
    """Flags for what the plan breaks alone, and none that it keeps."""
    plan: Any = SimpleNamespace(time_s=1.2345, energy_j=9876.5, chips=8, run=None,
                                power_w=9876.5 / 1.2345)  # fmt: skip
    witness: Witness = plan
    mfu = limits.mfu
    wanted = []
    if limits.step_time_s == 0.5:
        wanted.append("--max-step-time 1.235s")
    if mfu is not None:
        wanted.append("--min-mfu ")
    if limits.power_w == 5e3:
        wanted.append("--max-power 8.001kW")
    found = [*looser_limits(model, limits, witness)]
    if not wanted:
        assert found == []
        return
    (text,) = found
    flags = re.split(r" (?=--)", text)
    assert len(flags) == len(wanted)
    assert all(flag.startswith(start) for flag, start in zip(flags, wanted, strict=True))
    if mfu is not None:
        least = float(flags[-1].split()[-1])
        times, energies = np.array([1.2345]), np.array([9876.5])
        for share, ok in ((least, True), (least * 1.002, False)):
            checks = Limits(mfu=share).checks(model, times, energies, np.array([8.0]))
            assert bool(checks["mfu"][0]) is ok
    assert math.isfinite(plan.power_w)

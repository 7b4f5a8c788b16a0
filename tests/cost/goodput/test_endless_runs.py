"""Runs that hardly ever end: costs and bounds are numbers, or infinite, whatever fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from planner.base.numerals import LEAST
from planner.cost.goodput.goodput import Goodput, Pace, goodput, usual_upkeep
from planner.cost.goodput.peers import PeerCopies
from planner.cost.goodput.runs import kept_of, least_kept, least_run_costs, run_costs, run_of
from planner.cost.goodput.segments import Checkpointing
from planner.cost.goodput.shrinking import Sizes, shrinking
from planner.objectives import RunCosts
from planner.plan import Plan, PlanTable
from planner.question.request import request_from
from planner.question.resolved import resolve

pytestmark = pytest.mark.filterwarnings("error")

MTBF_S = np.sort(np.concatenate([np.geomspace(0.5, 1e6, 60), np.linspace(1.0, 1.2, 40)]))
"""Under a downtime of 720 s goodput goes from below all numbers to nearly 1."""
CHIPS = 8
ASKED = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": CHIPS, "framework": "megatron",
    "train_tokens": 1e12, "mtbf": "1h", "price_per_chip_hour": 2, "electricity_price": 0.1,
    "objective": "days",
}  # fmt: skip
SAVED = Checkpointing(stall_s=2.0, write_s=30.0)
PACE = Pace(chips=CHIPS, step_time_s=3.0, steps=1e6, saved=SAVED)


def costs_and_bounds() -> Iterator[tuple[RunCosts, RunCosts]]:
    """Of a run, at all those rates."""
    model = resolve(request_from(ASKED)).cost
    plans = PlanTable.from_plans([Plan(dp=CHIPS, sharding="zero1")])
    step, joules, held = np.array([0.5]), np.array([2e3]), np.array([1e9])
    for mtbf_s in MTBF_S:
        at = replace(model, run=replace(run_of(model), mtbf_s=float(mtbf_s)))
        costs = run_costs(at, kept_of(at, plans, held, held), step, joules)
        yield costs, least_run_costs(at, least_kept(at, np.array([CHIPS])), step, joules)


def test_a_run_ends_with_all_its_costs_or_has_none_of_them() -> None:
    ends = []
    for costs, least in costs_and_bounds():
        found = np.array([costs.time_s, costs.energy_j, costs.money])
        bounds = np.array([least.time_s, least.energy_j, least.money])
        assert np.isfinite(found).all() or np.isposinf(found).all()
        assert (bounds <= found).all()  # no NaN either
        ends.append(bool(np.isfinite(found).all()))
    assert {*ends} == {False, True}
    assert ends == sorted(ends)


def spent(kind: str, mtbf_s: float) -> Goodput:
    """Where the time of a run goes that keeps going in this way."""
    theta_s, upkeep = mtbf_s * CHIPS, usual_upkeep()
    if kind == "peers":
        copies = PeerCopies(covered=0.7, stall_s=2.0, write_s=10.0, restart_s=300.0)
        return goodput(theta_s, replace(PACE, peers=copies), upkeep)
    if kind == "shrinks":
        sizes = Sizes(chips=np.array([8.0, 4.0]), step_time_s=np.array([3.0, 6.0]))
        return shrinking(theta_s, PACE, upkeep, sizes)
    down = kind != "up alone"
    return goodput(theta_s, PACE, replace(upkeep, while_down=down))


@each("kind", ["store", "up alone", "peers", "shrinks"])
def test_goodput_below_the_least_number_is_none(kind: str) -> None:
    works = [float(spent(kind, float(mtbf_s)).work) for mtbf_s in MTBF_S]
    assert works[0] == 0.0 < works[-1]
    assert all(work == 0.0 or work >= LEAST * 1e-6 for work in works)  # waits take some of it

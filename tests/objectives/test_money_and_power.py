"""Money and mean power against brute force, and where they choose another plan than time or energy.

Every candidate is evaluated directly, on every number of chips and at every clock.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest
from search.test_engine import everything
from support.cases import each
from support.jobs import random_cost_model

import planner
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.objectives import OBJECTIVES, TIME, Bounds, Costs, Objective
from planner.question.options import SpaceOptions
from planner.report.tables.certificate import uneven_proof_words
from planner.results.result import SolveResult
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.objective import optimum
from planner.search.rounding import SAME
from planner.search.uniform.engine import UniformSpace
from solvers.frontier import apart as apart_by
from solvers.frontier import nondominated
from solvers.solution import Status

MONEY, POWER = OBJECTIVES["money"], OBJECTIVES["power"]
MOST = 8
"""Points of a front that differ by less are one."""
SEEDS = range(20)
JOB: dict[str, Any] = {
    "model": "gpt3-125m",
    "hardware": "h100-sxm5-80",
    "batch_tokens": 2**15,
    "seq_len": 2048,
}


def everywhere(model: CostModel, counts: tuple[int, ...], options: SpaceOptions) -> Costs:
    """Costs of every candidate on every number of chips."""
    parts = [everything(model, (count,), options, Limits()) for count in counts]
    chips = np.repeat([float(count) for count in counts], [len(part) for part in parts])
    whole = np.vstack(parts)
    return Costs(step_time_s=whole[:, 0], energy_j=whole[:, 1], chips=chips)


@cache
def candidates(seed: int) -> tuple[CostModel, SpaceOptions, tuple[int, ...], Costs]:
    """A random job, where it may run, and the costs of all its candidates."""
    model = random_cost_model(seed)
    fixed = {"micro_batch": frozenset({1})} if seed == 1 else {}  # else 2.5 million candidates
    options = SpaceOptions(offload=seed % 6 == 1, fixed=fixed)
    counts = model.cluster.chip_counts(4 if options.offload else MOST)
    return model, options, counts, everywhere(model, counts, options)


@each("objective", [MONEY.priced(2.5), POWER])
def test_front_and_optimum_equal_brute_force(objective: Objective) -> None:
    """Over random jobs and counts of chips, within half of the steps that there are."""
    compared = apart = 0
    for seed in SEEDS:
        model, options, counts, costs = candidates(seed)
        if len(costs.chips) == 0:  # type: ignore[arg-type]
            continue
        limit = float(np.quantile(costs.step_time_s, 0.5))
        points = np.stack([costs.step_time_s, objective.values(costs)], axis=1)
        allowed = points[costs.step_time_s <= limit]
        columns = (TIME, objective)
        search = UniformSpace(
            model=model, options=options, limits=Limits(step_time_s=limit), columns=columns
        )
        found = Driver().run(search.on(*counts))
        front = allowed[nondominated(allowed)]
        np.testing.assert_array_equal(found.points, front[apart_by(front, SAME)])
        assert found.status is Status.OPTIMAL
        best = optimum(found.points, found.bound, found.status, objective, columns)
        assert best.value == best.bound == allowed[:, 1].min()
        compared += 1
        apart += best.row > 0
    print(f"{compared} jobs compared, in {apart} of them the fastest plan is another")
    assert compared > len(SEEDS) // 2
    assert apart > compared // 4


def test_no_plan_goes_below_the_bound_of_power() -> None:
    """Of candidates against lower bounds of themselves, at any limit on the time."""
    compared = 0
    for seed in range(8):
        model, _, _, costs = candidates(seed)
        times, chips = np.asarray(costs.step_time_s), np.asarray(costs.chips)
        if len(times) == 0:
            continue
        counts, which = np.unique(chips, return_inverse=True)
        standing = np.array([standing_w(model, int(n)) * n for n in counts])[which]
        for share in (1.0, 0.7):  # a bound knows less than the whole time
            kernels = np.asarray(costs.energy_j) - standing * times
            low = Costs(step_time_s=share * times, energy_j=share * (kernels + standing * times))
            for factor in (1.0, 1.5, np.inf):
                bounds = Bounds(low=low, longest_s=factor * times, standing_w=standing)
                assert np.all(np.asarray(POWER.least(bounds)) <= POWER.values(costs))
        compared += len(times)
    print(f"{compared} candidates compared")
    assert compared > 1000


@cache
def solved(objective: str, **fields: Any) -> SolveResult:
    if "chips" not in fields:
        fields["chips_at_most"] = 16
    return planner.solve(**JOB, objective=objective, **fields)


def test_money_takes_fewer_chips_than_time_and_energy() -> None:
    money, time, energy = (solved(name) for name in ("money", "time", "energy"))
    assert (money.status, money.gap) == ("optimal", 0.0)
    assert money.best is not None
    assert time.best is not None
    assert energy.best is not None
    assert money.best.chips < time.best.chips == 16
    assert money.best.plan != energy.best.plan
    hours = money.best.chips * money.best.step_time_s / 3600
    assert money.objective == pytest.approx(hours, rel=1e-15)
    assert hours < time.best.chips * time.best.step_time_s / 3600
    assert money.front.objectives == ("time", "money")
    assert money.front.complete
    assert money.front[-1].plan == money.best.plan
    assert money.front[0].step_time_s == pytest.approx(time.best.step_time_s, rel=1e-12)


def test_on_exactly_as_many_chips_money_is_time() -> None:
    money, time = solved("money", chips=16), solved("time", chips=16)
    assert money.best is not None
    assert time.best is not None
    assert money.best.plan == time.best.plan
    assert len(money.front) == 1


def test_a_price_turns_chip_hours_into_money() -> None:
    hours, money = solved("money"), solved("money", price_per_chip_hour=2.5)
    assert hours.objective is not None
    assert money.objective == pytest.approx(2.5 * hours.objective, rel=1e-12)
    assert (hours.minimized.unit, money.minimized.unit) == ("chip h", "money")
    assert "chip-hours" in hours.minimized.noun
    assert "chip-hours" not in money.minimized.noun


def test_money_beside_another_front_is_proved_by_a_search_of_its_own() -> None:
    own, beside = solved("money"), solved("money", front=("time", "energy"))
    assert own.best is not None
    assert beside.best is not None
    assert (beside.status, beside.objective) == ("optimal", own.objective)
    assert beside.best.plan == own.best.plan
    time = solved("time")
    costs = [
        [(point.step_time_s, point.energy_per_step_j) for point in answer.front]
        for answer in (beside, time)
    ]
    np.testing.assert_allclose(costs[0], costs[1], rtol=1e-9)  # ties have other names


def test_least_power_is_another_plan_than_least_time_or_energy() -> None:
    fastest = solved("time").best
    assert fastest is not None
    limit = 2.0 * fastest.step_time_s
    power, money, energy = (
        solved(name, max_step_time=limit) for name in ("power", "money", "energy")
    )
    assert (power.status, power.gap) == ("optimal", 0.0)
    assert power.best is not None
    assert power.best.step_time_s <= limit
    watts = power.best.energy_per_step_j / power.best.step_time_s
    assert power.objective == pytest.approx(watts, rel=1e-15)
    for other in (money.best, energy.best):
        assert other is not None
        assert other.plan != power.best.plan
        assert other.energy_per_step_j / other.step_time_s > watts
    assert power.front.objectives == ("time", "power")


def test_power_without_a_limit_on_time_is_refused() -> None:
    for fields in ({"objective": "power"}, {"front": ("time", "power")}):
        with pytest.raises(InputError, match=r"the slowest plan has the least .* max_step_time"):
            planner.solve(**JOB, chips=4, **fields)


def test_layouts_whose_search_has_no_proof_of_power_refuse_it() -> None:
    asked = {**JOB, "chips": 4, "objective": "power", "min_mfu": 0.1, "layout": "uneven"}
    with pytest.raises(InputError, match="power is not minimized with layout uneven"):
        planner.solve(**asked)
    pools = {"dgx-a100-80-hdr": 4, "dgx-h100-ndr": 4}
    rest = {name: value for name, value in asked.items() if name not in ("chips", "hardware")}
    with pytest.raises(InputError, match="power is not minimized with layout uneven"):
        planner.solve(**rest, pools=pools)


def test_uneven_stages_of_least_money_are_the_fastest() -> None:
    """On exactly so many chips, so that the certificate of time is one of money."""
    fixed = {"pp": ["2", "4"], "tp": ["1"]}
    asked = {**JOB, "chips": 4, "layout": "uneven", "fix": fixed}
    time = planner.solve(**asked)
    money = planner.solve(**asked, objective="money", price_per_chip_hour=3.0)
    assert time.best is not None
    assert money.best is not None
    per_second = 3.0 * 4 / 3600
    assert money.best.plan == time.best.plan
    assert money.status == "optimal"
    assert money.objective == pytest.approx(per_second * time.certificate.objective, rel=1e-12)
    assert money.bound == pytest.approx(per_second * time.certificate.bound, rel=1e-12)
    assert money.certificate.uniform == pytest.approx(
        per_second * (time.certificate.uniform or 0.0), rel=1e-12
    )


def test_uneven_stages_are_searched_on_one_number_of_chips() -> None:
    """Of a range fewer may have the least money: it is refused; on one number it is answered."""
    asked = {**JOB, "chips": 4, "objective": "money", "fix": {"tp": ["1"]}}
    for layout in ("uneven", "6,6"):
        with pytest.raises(InputError, match=r"chips: layout uneven plans for one number of chips"):
            planner.solve(**{**asked, "chips": "2..4"}, layout=layout)
    uniform = planner.solve(**asked)
    uneven = planner.solve(**asked, layout="uneven")
    assert uneven.status == uniform.status == "optimal"
    assert uneven.certificate.uniform == pytest.approx(uniform.objective, rel=1e-12)
    proof = uneven_proof_words(uneven, uneven.certificate)
    assert "has less chip-hours per step on these chips, whatever" in proof


def test_pools_of_least_money_are_the_fastest() -> None:
    asked = {
        "model": "gpt3-125m", "batch_tokens": "64Ki", "layout": "uneven", "fix": {"tp": ["1"]},
        "pools": {"dgx-a100-80-hdr": 4, "dgx-h100-ndr": 4},
    }  # fmt: skip
    time, money = planner.solve(**asked), planner.solve(**asked, objective="money")
    assert time.best is not None
    assert money.best is not None
    assert time.objective is not None
    assert money.best.plan == time.best.plan
    assert money.objective == pytest.approx(time.objective * 8 / 3600, rel=1e-12)
    assert "on these chips" in uneven_proof_words(money, money.certificate)


def test_the_least_money_over_machines_equals_each_machine_alone() -> None:
    asked = {**JOB, "objective": "money", "pes": (66, 132), "topology": ("ring", "switch")}
    both = planner.solve(**asked, chips_at_most=8)
    alone = [
        planner.solve(**{**asked, "pes": (pes,), "topology": (wiring,)}, chips_at_most=8)
        for pes in (66, 132)
        for wiring in ("ring", "switch")
    ]
    assert both.status == "optimal"
    assert both.objective == min(one.objective for one in alone if one.objective is not None)
    assert both.best is not None
    assert both.best.chips < 8
    points = np.array([[p.step_time_s, p.chips * p.step_time_s] for p in both.front])
    every = np.array([[p.step_time_s, p.chips * p.step_time_s] for one in alone for p in one.front])
    np.testing.assert_allclose(points, every[nondominated(every)], rtol=1e-12)

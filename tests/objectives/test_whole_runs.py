"""Days, money and energy of whole runs, failures included, against brute force; their bounds."""

from __future__ import annotations

import random
from dataclasses import replace
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
from planner.cost.evaluate import evaluate_totals
from planner.cost.goodput.goodput import Known, Upkeep
from planner.cost.goodput.rates import Rate
from planner.cost.goodput.runs import Kept, Running, kept_of, least_run_costs, run_costs
from planner.objectives import DAYS, OBJECTIVES, TIME, Objective
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.results.result import SolveResult
from planner.search.columns import proving
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.objective import optimum
from planner.search.rounding import SAME
from planner.search.uniform.engine import UniformSpace
from solvers.frontier import apart as apart_by
from solvers.frontier import nondominated
from solvers.solution import Status

MONEY, ENERGY = OBJECTIVES["run-money"], OBJECTIVES["run-energy"]
MOST = 8
SEEDS = (0, 1, 2, 3, 4, 7)
FIGURES = ("time_s", "energy_j", "money", "late_s")


def random_run(seed: int, model: CostModel) -> Running:
    """A run that fails so often that chips are a choice; with all that takes time."""
    rng = random.Random(seed)
    theta = 10 ** rng.uniform(2.0, 6.0)
    rate = Rate(theta_s=theta, low_s=0.6 * theta, high_s=1.7 * theta, words="random")
    return Running(
        tokens=rng.choice([3.0, 200.0, 1e5]) * model.job.batch_tokens,
        rate=None if seed % 8 == 7 else rate,
        mtbf_s=None,
        upkeep=Upkeep(
            detection_s=rng.choice([0.0, 20.0]),
            restart_s=rng.choice([1.0, 300.0]),
            spares=rng.choice([None, 0, 2]),
            straggler_loss=rng.choice([0.0, 0.1]),
            node_share=0.5,
            repair_s=rng.choice([100.0, 5000.0]),
            maintenance=rng.choice([0.0, 0.05]),
            while_down=rng.random() < 0.8,
        ),
        domain="node",
        store_bytes_per_s=rng.choice([None, 1e9, 3e11]),
        store_per_chip=rng.choice([1e8, 3e9]),
        beside=rng.random() < 0.6,
        price_per_chip_s=2.0 / 3600,
        price_per_j=rng.choice([None, 1e-7]),
        chance=rng.choice([None, 0.5, 0.2, 0.9]),
    )


def of_runs(model: CostModel, plans: PlanTable) -> np.ndarray:
    """(c, 6) step time, chips, and what runs take."""
    totals = evaluate_totals(model, plans)
    runs = totals.runs()
    assert runs is not None
    figures = [np.asarray(getattr(runs, name)) for name in FIGURES]
    return np.stack([totals.step_time_s, totals.chips, *figures], axis=1)


@cache
def candidates(seed: int) -> tuple[CostModel, SpaceOptions, tuple[int, ...], np.ndarray]:
    """A random job with a run, where it may run, and the costs of all its candidates."""
    model = random_cost_model(seed)
    model = replace(model, run=random_run(seed, model))
    options = SpaceOptions(offload=seed % 6 == 1, fixed={"micro_batch": frozenset({1})})
    counts = model.cluster.chip_counts(4 if options.offload else MOST)
    costed: Any = of_runs
    parts = [everything(model, (n,), options, Limits(), costed) for n in counts]
    parts = [part if part.shape[1] == 6 else np.empty((0, 6)) for part in parts]
    return model, options, counts, np.vstack(parts)


@each("columns", [(DAYS, ENERGY), (DAYS, MONEY), (TIME, DAYS), (DAYS,)])
def test_front_and_optimum_equal_brute_force(columns: tuple[Objective, ...]) -> None:
    """Over random jobs, runs and counts of chips."""
    compared = others = fewer = 0
    for seed in SEEDS:
        model, options, counts, brute = candidates(seed)
        brute = brute[np.isfinite(brute[:, 2])]
        if len(brute) == 0:
            continue
        scale = {"time": (0, 1.0), "days": (2, 86400.0), "run-energy": (3, 3.6e9)}
        scale["run-money"] = (4, 1.0)
        points = np.stack([brute[:, scale[c.name][0]] / scale[c.name][1] for c in columns], axis=1)
        search = UniformSpace(model=model, options=options, limits=Limits(), columns=columns)
        found = Driver().run(search.on(*counts))
        front = points[nondominated(points)]
        front = front[apart_by(front, SAME)]
        np.testing.assert_allclose(found.points, front, rtol=1e-12)
        assert found.status is Status.OPTIMAL
        best = optimum(found.points, found.bound, found.status, columns[-1], columns)
        assert best.value == best.bound
        assert best.value == pytest.approx(points[:, -1].min(), rel=1e-12)
        compared += 1
        others += found.plans.plan(best.row).chips != int(brute[brute[:, 0].argmin(), 1])
        fewer += found.plans.plan(best.row).chips < counts[-1]
    print(f"{compared} jobs compared, in {others} of them the fastest plan has other chips")
    assert compared > len(SEEDS) // 2
    assert fewer > compared // 6


@each("limit", ["run_s", "run_money", "run_energy_j"])
def test_limits_on_runs_equal_brute_force(limit: str) -> None:
    at = {"run_s": 2, "run_energy_j": 3, "run_money": 4}[limit]
    compared = 0
    for seed in SEEDS:
        model, options, counts, brute = candidates(seed)
        chance = model.run is not None and model.run.chance is not None
        brute = brute[np.isfinite(brute[:, 2])]
        if len(brute) == 0:
            continue
        limited = brute[:, 5 if chance and limit == "run_s" else at]
        most = float(np.quantile(limited, 0.4)) * (1 + 1e-9)
        allowed = brute[limited <= most]
        given: Any = {limit: most * (model.facility.pue if limit == "run_energy_j" else 1.0)}
        search = UniformSpace(model=model, options=options, limits=Limits(**given), columns=(TIME,))
        found = Driver().run(search.on(*counts))
        assert found.points[:, 0] == pytest.approx([allowed[:, 0].min()], rel=1e-12)
        compared += 1
    assert compared > len(SEEDS) // 2


def kept(seed: int, plans: int) -> tuple[CostModel, Kept]:
    """Random plans of a random run: chips, state and bytes of each."""
    rng = np.random.default_rng(seed)
    model = random_cost_model(seed)
    model = replace(model, run=random_run(seed, model))
    chips = rng.choice(model.cluster.chip_counts(MOST), plans)
    table = PlanTable.from_plans([planner.Plan(dp=int(n)) for n in chips])
    held = 10 ** rng.uniform(7, 11, plans)
    return model, kept_of(model, table, held, held)


def test_no_run_goes_below_its_bounds() -> None:
    """Bounds know less of step time, energy, stall and write, and the exact chips."""
    compared = 0
    for seed in range(40):
        model, needs = kept(seed, 200)
        rng = np.random.default_rng(1000 + seed)
        times = 10 ** rng.uniform(-3, 3, 200)
        kernels = 10 ** rng.uniform(-1, 4, 200) * times
        energies = kernels + needs.standing_w * times
        runs = run_costs(model, needs, times, energies)
        for share in (1.0, 0.999, 0.5):
            saved = needs.pace.saved
            less = replace(saved, stall_s=np.asarray(saved.stall_s) * share)
            low = replace(needs, pace=replace(needs.pace, saved=less))
            low_energies = share * kernels + needs.standing_w * share * times
            assert model.run is not None
            known = Known.of(needs.known.mtbf_s, less, needs.known.waits)
            bound = least_run_costs(model, replace(low, known=known), share * times, low_energies)
            for name in ("time_s", "energy_j", "money"):
                least, value = (np.asarray(getattr(one, name)) for one in (bound, runs))
                assert np.all(least <= value), (seed, share, name)
        tight = least_run_costs(model, needs, times, energies)
        ends = np.isfinite(np.asarray(runs.time_s))
        compared += int(ends.sum())
        assert np.all(np.asarray(tight.time_s)[ends] > 0.0)
    print(f"{compared} runs compared")
    assert compared > 4000


JOB: dict[str, Any] = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "batch_tokens": 2**19, "seq_len": 2048,
    "train_tokens": 3e11, "clocks": False, "fix": {"tp": ["1"], "cp": ["1"]},
    "chip_hours_per_failure": 5.0, "restart": "10min",
}  # fmt: skip


@cache
def solved(objective: str, **fields: Any) -> SolveResult:
    return planner.solve(**{**JOB, "chips_at_most": 64, **fields}, objective=objective)


def test_the_least_of_a_run_over_chips_is_proved_on_a_front_that_holds_it() -> None:
    for one in (DAYS, MONEY, ENERGY):
        assert one in proving(one)


def test_the_number_of_chips_is_a_choice_with_an_optimum_inside() -> None:
    """Time takes all chips, days fewer, money one: each is the least of all counts alone."""
    time, days = solved("time"), solved("days")
    money = solved("run-money", price_per_chip_hour=2.0)
    chips = [one.require().chips for one in (time, days, money)]
    assert chips[0] == 64 > chips[1] > chips[2] == 1
    for one in (days, money):
        assert (one.status, one.gap, one.front.complete) == ("optimal", 0.0, True)
    alone = [
        planner.solve(**JOB, chips=n, chips_exact=True, objective="days", price_per_chip_hour=2.0)
        for n in (1, 2, 4, 8, 16, 32, 64)
    ]
    runs = [one.run for one in alone if one.run is not None]
    assert days.objective == pytest.approx(min(run.days or np.inf for run in runs), rel=1e-12)
    assert money.objective == pytest.approx(min(run.cost or np.inf for run in runs), rel=1e-12)


@each("kept", [{}, {"failure_domain": "rail", "spares": 8, "repair": "1h"}])
def test_the_objective_is_what_the_answer_prints(kept: dict[str, Any]) -> None:
    prices = {"price_per_chip_hour": 2.0, "electricity_price": 0.1}
    for name in ("days", "run-energy", "run-money"):
        found = solved(name, **prices, **kept)
        run = found.run
        assert run is not None
        printed = {
            "days": run.days,
            "run-energy": run.energy_mwh,
            "run-money": (run.cost or 0.0) + (run.electricity_cost or 0.0),
        }
        assert found.objective == pytest.approx(printed[name], rel=1e-12)
        assert found.best is not None
        assert [point.plan for point in found.front if point.plan == found.best.plan]


def test_a_chance_of_90_percent_is_an_end_of_the_interval_of_the_days() -> None:
    """Which is the root of the sum of the squares of the errors of step time and rate."""
    rare = {"chip_hours_per_failure": None, "failure_site": "opt-175b", "restart": "200h"}
    asked = {**JOB, **rare, "chips": 64, "fix": {"dp": ["64"]}}
    asked = {name: value for name, value in asked.items() if value is not None}
    one = planner.solve(**asked)
    run, best = one.run, one.require()
    assert run is not None
    assert run.goodput is not None
    days, kept = run.days or 0.0, run.goodput
    ends = (
        (run.days_low, "10%", best.step_time_low_s, kept.high),
        (run.days_high, "90%", best.step_time_high_s, kept.low),
    )
    for end, chance, step_s, share in ends:
        assert end is not None
        assert step_s is not None
        errors = np.log(step_s / best.step_time_s), np.log(kept.share / share)
        assert min(np.abs(errors)) > 0.02, "both count"
        assert np.log(end / days) ** 2 == pytest.approx(np.square(errors).sum(), rel=1e-9)
        for share_of_end, fits in ((0.999, False), (1.001, True)):
            found = planner.solve(**asked, deadline=f"{share_of_end * end}d@{chance}")
            assert (found.best is not None) is fits, (chance, share_of_end)
            if found.run is not None and found.run.deadline_chance is not None:
                assert f"{found.run.deadline_chance:.0%}" == chance
    assert (run.days_low or 0.0) < days < (run.days_high or 0.0)


def test_a_front_of_days_against_money_over_chips_names_where_the_plan_changes() -> None:
    found = solved("time", front=("days", "run-money"), price_per_chip_hour=2.0)
    days = [DAYS.value_of(point.costs) for point in found.front]
    money = [MONEY.value_of(point.costs) for point in found.front]
    assert days == sorted(days)
    assert money == sorted(money, reverse=True)
    assert days[0] == solved("days").objective
    assert money[-1] == solved("run-money", price_per_chip_hour=2.0).objective
    assert "Along it" in found.front.note


def test_a_front_without_time_has_an_objective_of_its_own() -> None:
    request = {"model": "gpt3-125m", "chips": 8, "train_tokens": 1e12, "price_per_chip_hour": 2.0}
    asked = request_from({**request, "front": "days,run-money"})
    assert asked.objective == "days"
    assert request_from({**request, "front": "time,money"}).objective == "time"
    named = request_from({**request, "front": ["days", "run-money"], "objective": "run-money"})
    assert named.objective == "run-money"


def test_limits_on_the_run_decide_the_plan_and_what_breaks_them_is_named() -> None:
    shortest, cheapest = solved("days"), solved("run-money", price_per_chip_hour=2.0)
    assert shortest.run is not None
    assert shortest.run.days is not None
    least, price = shortest.run.days, {"price_per_chip_hour": 2.0}
    within = solved("run-money", deadline=f"{2 * least}d", **price)
    assert within.run is not None
    assert within.run.deadline_chance is not None
    assert within.run.deadline_chance > 0.5
    assert within.run.days is not None
    assert least < within.run.days <= 2 * least
    assert (cheapest.objective or 0.0) < (within.objective or 0.0)
    sure = solved("run-money", deadline=f"{2 * least}d@95%", **price)
    assert sure.run is not None
    assert (sure.run.deadline_chance or 0.0) >= 0.95
    assert (sure.objective or 0.0) >= (within.objective or 0.0)
    missed = solved("time", deadline=f"{0.5 * least}d", **price)
    assert missed.diagnosis is not None
    assert missed.diagnosis.constraint == "deadline"
    flag, text = next(one for one in missed.diagnosis.remedies if "dead" in one).split()
    assert flag == "--deadline"
    assert solved("time", deadline=text, **price).best is not None
    budget = 1.05 * (cheapest.objective or 0.0)
    both = solved("time", deadline=f"{1.1 * least}d", budget=budget, **price)
    assert both.diagnosis is not None
    assert both.diagnosis.constraint == "deadline and budget"
    assert "exclude each other" in both.diagnosis.explanation
    looser = both.diagnosis.remedies[0].split()
    freed = {looser[0].strip("-"): looser[1]}
    wide = {"deadline": f"{1.1 * least}d", "budget": budget, **freed, **price}
    assert solved("time", **wide).best is not None


def test_where_nobody_knows_the_rate_days_are_those_without_failures() -> None:
    asked = {**JOB, "hardware": "tpu-v5p", "fix": {"tp": ["1"]}, "chips_at_most": 8}
    del asked["chip_hours_per_failure"], asked["restart"]
    found = planner.solve(**asked, objective="days")
    assert found.run is not None
    assert found.run.goodput is None
    assert found.objective == pytest.approx(found.run.ideal_days, rel=1e-12)
    assert any("Nobody published how often tpu-v5p fails" in one for one in found.notes.caveats)


def test_where_nobody_knows_the_rate_slow_chips_and_maintenance_count_all_the_same() -> None:
    """Their time draws what chips that wait draw; the objective is what the answer prints."""
    asked: dict[str, Any]
    asked = {**JOB, "hardware": "tpu-v5p", "chips_at_most": 8, "price_per_chip_hour": 2.0}
    del asked["chip_hours_per_failure"], asked["restart"]
    taken: dict[str, Any] = {"straggler_loss": "10%", "maintenance": "5%"}
    waiting_w = None
    for name in ("days", "run-energy", "run-money"):
        alone = planner.solve(**asked, objective=name)
        found = planner.solve(**asked, **taken, objective=name)
        before, run, best = alone.run, found.run, found.require()
        assert before is not None
        assert run is not None
        assert run.days is not None
        assert run.days_high is not None
        assert alone.best is not None
        assert alone.best.plan == best.plan
        assert run.days == pytest.approx((before.days or 0.0) / (0.9 * 0.95), rel=1e-12)
        assert run.ideal_days == before.days
        assert run.days_high == pytest.approx((before.days_high or 0.0) / (0.9 * 0.95), rel=1e-12)
        added_j = 3.6e9 * ((run.energy_mwh or 0.0) - (before.energy_mwh or 0.0))
        watts = added_j / (86400.0 * (run.days - run.ideal_days) * best.chips)
        assert 0.0 < watts < best.power_per_chip_w
        assert waiting_w is None or watts == pytest.approx(waiting_w, rel=1e-9)
        waiting_w = watts
        printed = {"days": run.days, "run-energy": run.energy_mwh, "run-money": run.cost}
        assert found.objective == pytest.approx(printed[name], rel=1e-12)
        assert found.status == "optimal"


def test_over_machines_the_fewest_days_equal_those_of_each_machine_alone() -> None:
    asked = {**JOB, "chips_at_most": 8, "topology": ("ring", "switch")}
    both = planner.solve(**asked, pes=(66, 132), objective="days")
    alone = [planner.solve(**asked, pes=(pes,), objective="days") for pes in (66, 132)]
    assert both.status == "optimal"
    assert both.objective == min(one.objective for one in alone if one.objective is not None)


@each(
    "fields",
    [
        ({"train_tokens": None}, "train_tokens: is missing; days is about the whole training run"),
        ({"objective": "run-money"}, "price_per_chip_hour: is missing; run-money needs"),
        ({"budget": 1e6}, "budget: needs price-per-chip-hour"),
        ({"mtbf": "3h", "chip_hours_per_failure": None}, "mtbf: is that of a job of one size"),
        ({"checkpoint_writes": "peer-memory"}, "checkpoint_writes: peer-memory is worked out for"),
        ({"on_failure": "shrink"}, "on_failure: shrink is worked out for one plan"),
        ({"deadline": "60d@100%"}, "a chance of '100%' is none"),
        ({"deadline": "60d@maybe"}, "'maybe' is not a chance; write 60d@90%"),
        ({"deadline": 0}, "1e-30"),
        ({"max_run_energy": "3 bananas"}, "unknown unit 'bananas'"),
        ({"budget": "nan"}, "budget"),
        ({"layout": "uneven", "chips_at_most": None, "chips": 8}, "days is not minimized with"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_line(fields: tuple[dict[str, Any], str]) -> None:
    given, said = fields
    asked = {**JOB, "chips_at_most": 64, "objective": "days", **given}
    asked = {name: value for name, value in asked.items() if value is not None}
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        planner.solve(**asked)


def test_limits_on_the_run_have_no_effect_without_its_tokens() -> None:
    asked = {name: value for name, value in JOB.items() if name in ("model", "hardware")}
    for limit in ({"deadline": "3d"}, {"max_run_energy": "1GWh"}):
        with pytest.raises(InputError, match="has no effect without train-tokens"):
            planner.solve(**asked, chips=8, **limit)

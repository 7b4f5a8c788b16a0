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
from planner.objectives import DAYS, OBJECTIVES, TIME, Costs, Objective
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.results.result import SolveResult
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.objective import optimum
from planner.search.uniform.engine import UniformSpace
from solvers.frontier import apart as apart_by
from solvers.frontier import nondominated
from solvers.solution import Status

MONEY, ENERGY = OBJECTIVES["run-money"], OBJECTIVES["run-energy"]
MOST = 8
ROUNDING = 1e-12
SEEDS = range(12)
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
            while_down=rng.random() < 0.8,
        ),
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
        front = front[apart_by(front, ROUNDING)]
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
        search = UniformSpace(
            model=model, options=options, limits=Limits(**given), columns=(TIME,)
        )
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
            known = Known.of(needs.known.mtbf_s, less, model.run.upkeep)
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

"""The integers of a row agree with the cost model, and their optimum with brute force."""

import random

import numpy as np
import pytest
from support.jobs import random_cost_model
from support.uneven import rows_of

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.plan import PlanTable
from planner.schedules import code_of_schedule
from planner.search.limits import Limits
from planner.search.uneven.columns.columns import RowColumns, row_columns
from solvers.stages.problem import Choice, StageProblem

DUALPIPE = code_of_schedule("dualpipe")
INTERLEAVED = code_of_schedule("interleaved")

FAR = 1e6


def value(problem: StageProblem, chosen: np.ndarray) -> tuple[int, int]:
    """Time and cost of a choice by the tables."""
    sums = problem.columns.sums[chosen].sum(axis=0)
    peaks = problem.columns.peaks[chosen].max(axis=0)
    time = max(
        form.constant + int(np.dot(form.sums, sums)) + int(np.dot(form.peaks, peaks))
        for form in problem.time
    )
    if problem.cost is None:
        return time, 0
    return time, int(np.dot(problem.cost.sums, sums)) + problem.cost_per_time * time


def random_choice(rng: random.Random, problem: StageProblem) -> np.ndarray | None:
    """Columns that line up, chosen from the last device back; None where a walk gets stuck."""
    columns, at, chosen = problem.columns, 0, []
    for device in range(problem.devices):
        here = np.flatnonzero((columns.device == device) & (columns.starts[:, 0] == at))
        if not len(here):
            return None
        chosen.append(rng.choice(here.tolist()))
        at = int(columns.ends[chosen[-1], 0])
    return np.array(chosen) if at == problem.layers else None


def some_columns(seed: int, *, energy: bool) -> tuple[CostModel, RowColumns] | None:
    """The columns of a random row of a random small job."""
    rng = random.Random(seed)
    model = random_cost_model(seed)
    counts = [count for count in model.cluster.chip_counts(64) if count > 1]
    rows = rows_of(model, rng.choice(counts))
    plain = np.flatnonzero(
        ~np.isin(rows.plans.schedule, (INTERLEAVED, DUALPIPE)) & (rows.plans.pp <= 6)
    )
    if not len(plain):
        return None
    row = rng.choice(plain.tolist())
    clocks = model.clocks(wanted=energy)
    columns = row_columns(model, Limits(), rows, row, clocks, FAR, energy=energy)
    return None if columns is None else (model, columns)


@pytest.mark.parametrize("seed", range(30))
def test_integers_agree_with_the_cost_model(seed: int) -> None:
    energy = seed % 2 == 0
    found = some_columns(seed, energy=energy)
    if found is None:
        pytest.skip("no row fits")
    model, columns = found
    rng = random.Random(seed)
    choices = [random_choice(rng, columns.problem) for _ in range(12)]
    chosen = [choice for choice in choices if choice is not None]
    plans = [columns.plan(Choice(columns=choice, time=0, cost=0)) for choice in chosen]
    if not plans:
        pytest.skip("no walk ended")
    cost = evaluate_totals(model, PlanTable.from_plans(plans))
    for choice, seconds, joules in zip(chosen, cost.step_time_s, cost.energy_j, strict=True):
        time, units = value(columns.problem, choice)
        exact = seconds / columns.units.time_s
        assert time <= exact * (1 + 1e-12) <= (time + columns.rounding) * (1 + 1e-11)
        if energy and not model.assumptions.component_energy:
            exact = joules / columns.units.joules
            assert units <= exact * (1 + 1e-11) <= (units + 2 * columns.rounding) * (1 + 1e-10)
    held = cost.memory_bytes
    assert (held <= Limits().chip_bytes(model)).all()

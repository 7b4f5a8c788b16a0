"""What a search says of rows that no solver answers, or whose problem is too large to be made."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest
from support.jobs import cost_model, dense_model

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.question.options import SpaceOptions
from planner.search import rows as rows_searched
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.uneven import certificate, energy_rows, front
from planner.search.uneven.certificate import best_time
from planner.search.uneven.front import energy_front
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Solution, Status
from solvers.stages.answers import out_of_time
from solvers.stages.backend import Question, UnansweredError
from solvers.stages.problem import Choice, TooManyColumnsError

ONES = ("tp", "cp", "ep", "fsdp", "micro_batch", "schedule", "interleave", "sharding")
FIXED = {"pp": frozenset({2}), **{name: frozenset({1}) for name in ONES}}
CHIPS = 4


@pytest.fixture(scope="module")
def job() -> CostModel:
    return cost_model(dense_model(5, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=8)


@pytest.fixture(scope="module")
def top_heavy() -> CostModel:
    """A job whose head takes as long as many layers: no uniform plan is near the best."""
    model = replace(dense_model(8, 512, 8, 8, 2048), vocab_size=256_000)
    return cost_model(model, "dgx-h100-ndr", global_batch=8)


def timeout(question: Question, **_: Any) -> Solution[Choice]:
    return out_of_time(question, 0.0)


def unanswered(*_: Any, **__: Any) -> Any:
    raise UnansweredError("no stage solver could answer")


def too_many(*_: Any, **__: Any) -> Any:
    raise TooManyColumnsError("too many columns")


FAILURES = {
    "time ends": ("solve_stages", timeout),
    "no solver answers": ("solve_stages", unanswered),
    "too many columns": ("row_columns", too_many),
}


@contextmanager
def failing(failure: str, *modules: Any) -> Iterator[None]:
    """Some modules with a failure, which must happen."""
    name, fake = FAILURES[failure]
    failed = Mock(side_effect=fake)
    within = [patch.object(module, name, failed) for module in modules if hasattr(module, name)]
    for each in within:
        each.start()
    try:
        yield
    finally:
        for each in within:
            each.stop()
    assert failed.called, f"nothing met the failure: {failure}"


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("limited", [False, True])
def test_rows_without_an_answer_leave_the_search_open(
    job: CostModel, failure: str, limited: bool
) -> None:
    options = SpaceOptions(fixed=FIXED, clocks=False)
    best = best_time(job, options, Limits(), CHIPS)
    limits = Limits(step_time_s=1.2 * float(best.points[0, 0])) if limited else Limits()
    with failing(failure, rows_searched, certificate):
        found = best_time(job, options, limits, CHIPS)
    assert found.status is Status.TIME_LIMIT
    assert found.certificate.objective is None
    assert 0.5 * best.points[0, 0] < found.bound[0] <= best.points[0, 0]


@pytest.mark.parametrize("failure", FAILURES)
def test_what_is_known_outlives_rows_without_an_answer(top_heavy: CostModel, failure: str) -> None:
    """The uniform plan is known and slower: bounds alone do not close the row beside it.

    Were it as fast as the best one, the row might have no column below it, to the last bit.
    """
    options = SpaceOptions(fixed=FIXED, clocks=False)
    best = best_time(top_heavy, options, Limits(), CHIPS)
    uniform = Driver().run(
        UniformSpace(model=top_heavy, options=options, limits=Limits(), chips=(CHIPS,))
    )
    assert uniform.points[:, 0].min() > 1.05 * best.points[0, 0]
    with failing(failure, rows_searched, certificate):
        found = best_time(top_heavy, options, Limits(), CHIPS, uniform=uniform)
    assert found.status is Status.FEASIBLE
    assert found.points[0, 0] == uniform.points[:, 0].min()
    assert found.certificate.bound is not None
    assert found.certificate.left > 0
    assert 0.5 * best.points[0, 0] < found.certificate.bound <= best.points[0, 0]


@pytest.mark.parametrize("failure", FAILURES)
def test_the_front_keeps_what_is_known(job: CostModel, failure: str) -> None:
    chip = replace(job.cluster.chip, clock_levels=(1.0, 0.7))
    job = replace(job, cluster=replace(job.cluster, chip=chip))
    options = SpaceOptions(fixed=FIXED)
    uniform = Driver().run(
        UniformSpace(model=job, options=options, limits=Limits(), chips=(CHIPS,))
    )
    start = best_time(job, options, Limits(), CHIPS, uniform=uniform)
    exact = energy_front(job, options, Limits(), CHIPS, start=start, uniform=uniform)
    with failing(failure, front, energy_rows):
        found = energy_front(job, options, Limits(), CHIPS, start=start, uniform=uniform)
    assert found.status is Status.FEASIBLE
    assert not found.front_complete
    least = exact.points[:, 1].min()
    assert np.isclose(found.points[0, 0], start.points[0, 0])
    assert least <= found.points[:, 1].min() <= uniform.points[:, 1].min()
    assert found.certificate.bound is not None
    assert found.certificate.left > 0
    assert 0.5 * least < found.certificate.bound <= least


def test_a_plan_that_no_limit_allows_is_not_taken(job: CostModel) -> None:
    """Where memory by columns and by the cost model differ, the latter counts."""
    options = SpaceOptions(fixed=FIXED, clocks=False)
    best = best_time(job, options, Limits(), CHIPS)
    made = certificate.row_columns

    def roomier(model: CostModel, limits: Limits, *at: Any, **named: Any) -> Any:
        return made(model, replace(limits, memory_bytes=None), *at, **named)

    held = evaluate_table(job, best.plans).memory_per_chip_bytes[0]
    limits = Limits(memory_bytes=float(held) - 1.0)
    true = best_time(job, options, limits, CHIPS)
    with patch.object(certificate, "row_columns", roomier):
        found = best_time(job, options, limits, CHIPS)
    assert len(found.plans) == 0 or (
        evaluate_table(job, found.plans).memory_per_chip_bytes[0] < held
    )
    assert found.status is not Status.INFEASIBLE
    assert found.status is not Status.OPTIMAL
    assert found.bound[0] <= true.points[0, 0]

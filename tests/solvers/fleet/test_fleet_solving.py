"""Fleets: the best schedule against every schedule, bounds, and what people do."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np
from random_fleets import crowded_fleet, random_fleet
from support.cases import each

from solvers.fleet.changes import later_deadlines, longer_horizon, more_money, more_units
from solvers.fleet.enumeration import least
from solvers.fleet.listing import first_come
from solvers.fleet.pricing import priced
from solvers.fleet.problem import (
    UNLIMITED,
    Choices,
    Fleet,
    Jobs,
    Run,
    broken,
    lateness_of,
    objective_of,
    without_dominated,
)
from solvers.fleet.recreating import recreated
from solvers.fleet.solving import solve
from solvers.fleet.symmetry import alike, canonical
from solvers.fleet.windows import Windows
from solvers.solution import Status

SEEDS = range(40)


@each("seed", SEEDS)
def test_the_best_schedule_is_that_of_all_schedules(seed: int) -> None:
    fleet = random_fleet(seed)
    truth, found = least(fleet), solve(fleet)
    if truth is None:
        assert found.status is Status.INFEASIBLE
        return
    assert found.status is Status.OPTIMAL
    assert found.decision is not None
    assert not broken(fleet, found.decision)
    assert objective_of(fleet, found.decision) == found.objective == found.bound == truth[0]
    usual = first_come(fleet)
    assert usual is None or broken(fleet, usual) or objective_of(fleet, usual) >= truth[0]
    small, _ = without_dominated(fleet)
    assert priced(small, 0.0, time.perf_counter() + 60).bound <= truth[0]


def test_random_fleets_have_every_limit_and_need_more_than_one_segment() -> None:
    fleets = [random_fleet(seed) for seed in SEEDS]
    possible = [fleet for fleet in fleets if least(fleet) is not None]
    assert 20 < len(possible) < len(fleets)
    assert any(fleet.money != UNLIMITED for fleet in possible)
    assert any(fleet.total_power != UNLIMITED for fleet in possible)
    assert any((fleet.power != UNLIMITED).any() for fleet in possible)
    assert any((fleet.jobs.latest < fleet.horizon).any() for fleet in possible)
    assert any(len(fleet.units) > 1 for fleet in possible)
    changed = 0
    for fleet in possible:
        kept = replace(fleet, jobs=replace(fleet.jobs, segments=np.ones_like(fleet.jobs.segments)))
        alone = least(kept) if (fleet.jobs.segments > 1).any() else None
        found = least(fleet)
        assert found is not None
        changed += alone is not None and len(found[1]) > len(fleet.jobs)
    assert changed, "in some fleet a job that changes its size is better"


@each("seed", SEEDS)
def test_the_smallest_change_is_the_smallest(seed: int) -> None:
    fleet = random_fleet(seed)
    if least(fleet) is not None:
        return

    def check(found: object, at: Fleet, below: Fleet) -> None:
        assert getattr(found, "proved", False)
        assert least(at) is not None
        assert least(below) is None

    if (units := more_units(fleet, 0, 20)) is not None:
        check(units, _units(fleet, units.value), _units(fleet, units.value - 1))
    if fleet.money != UNLIMITED and (money := more_money(fleet, 20)) is not None:
        check(money, replace(fleet, money=money.value), replace(fleet, money=money.value - 1))
    if (steps := longer_horizon(fleet, 20)) is not None and steps.value < fleet.horizon + 5:
        check(steps, _longer(fleet, steps.value), _longer(fleet, steps.value - 1))
    if (late := later_deadlines(fleet, 20)) is not None:
        check(late, _later(fleet, late.value), _later(fleet, late.value - 1))


def _units(fleet: Fleet, units: int) -> Fleet:
    return replace(fleet, units=np.array([units, *fleet.units[1:]]))


def _longer(fleet: Fleet, horizon: int) -> Fleet:
    open_ended = fleet.jobs.latest >= fleet.horizon
    latest = np.where(open_ended, horizon, fleet.jobs.latest)
    return replace(fleet, jobs=replace(fleet.jobs, latest=latest), horizon=horizon)


def _later(fleet: Fleet, steps: int) -> Fleet:
    held = fleet.jobs.latest < fleet.horizon
    latest = np.where(held, fleet.jobs.latest + steps, fleet.jobs.latest)
    return replace(fleet, jobs=replace(fleet.jobs, latest=latest))


def test_power_and_money_without_a_limit_keep_no_choice() -> None:
    """Each choice twice, once with less power and once with less money."""
    fleet = crowded_fleet(0)
    rows = len(without_dominated(fleet)[1])
    twice = fleet.choices.take(np.repeat(np.arange(len(fleet.choices)), 2))
    less = np.tile([0, 1], len(fleet.choices))
    both = replace(fleet, choices=replace(twice, power=twice.power - less, money=less))
    assert len(without_dominated(both)[1]) == rows
    limited = replace(both, money=99, total_power=99)
    assert len(without_dominated(limited)[1]) == 2 * rows


@each(("jobs", "steps", "deadline"), [(2, 5, 5), (3, 5, 5), (3, 4, 4), (4, 3, 5)])
def test_prices_alone_prove_what_waits_where_one_job_runs_at_a_time(
    jobs: int, steps: int, deadline: int
) -> None:
    """Each job on all units; the n-th ends after n times its steps, a unit late per step."""
    none = np.zeros(jobs, dtype=np.int64)
    whole = none + 4
    fleet = Fleet(
        jobs=Jobs(
            release=none, deadline=none + deadline, weight=none + 1, latest=none + jobs * steps,
            work=none + 10**9, segments=none + 1,
        ),
        choices=Choices(
            job=np.arange(jobs), cluster=none, steps=none + steps, units=whole, power=whole,
            money=none, value=none, rate=none + 1, lost=none, step_money=none, step_value=none,
        ),
        units=np.array([4]), power=np.array([UNLIMITED]), total_power=UNLIMITED,
        money=UNLIMITED, horizon=jobs * steps,
    )  # fmt: skip
    late = sum(max(0, n * steps - deadline) for n in range(1, jobs + 1))
    found = priced(fleet, 0.0, time.perf_counter() + 60)
    assert found.bound == found.value == late > 0


def test_prices_of_the_bound_guide_jobs_that_cannot_all_be_in_time() -> None:
    fleet, _ = without_dominated(crowded_fleet(1))
    windows, until = Windows(fleet), time.perf_counter() + 60
    found = priced(fleet, 0.0, until)
    values = []
    for guide in (found.cost, windows.own):
        schedule = recreated(windows, None, guide, found.bound, until, 0)
        assert schedule is not None
        assert not broken(fleet, schedule)
        values.append(objective_of(fleet, schedule))
    assert found.bound <= values[0] < values[1]


def test_no_more_lateness_than_allowed_is_a_limit() -> None:
    fleet = next(one for one in map(random_fleet, range(99)) if _late(one))
    _, schedule = least(fleet) or (0, ())
    late = lateness_of(fleet, schedule)
    tight = replace(fleet, most_late=late - 1)
    truth, found = least(tight), solve(tight)
    assert (truth is None) == (found.decision is None)
    assert truth is None or truth[0] == found.objective


def _late(fleet: Fleet) -> bool:
    found = least(fleet)
    return found is not None and lateness_of(fleet, found[1]) > 0


def test_what_a_schedule_breaks_is_said() -> None:
    fleet = next(
        one
        for one in map(random_fleet, range(99))
        if least(one) is not None and (one.jobs.segments == 1).all()
    )
    _, good = least(fleet) or (0, ())
    first = good[0]
    assert not broken(fleet, good)
    assert broken(fleet, good[1:]) == ["job 0 does not run"]
    moved = Run(job=0, choice=first.choice, start=fleet.horizon, steps=first.steps)
    assert "job 0 runs outside of its time" in broken(fleet, (moved, *good[1:]))
    short = Run(job=0, choice=first.choice, start=first.start, steps=first.steps + 1)
    assert "job 0 runs too long or too short" in broken(fleet, (short, *good[1:]))
    assert broken(replace(fleet, units=np.zeros_like(fleet.units)), good) == ["units"]
    assert broken(replace(fleet, money=0), good) == ["money"]


def test_a_known_schedule_is_where_the_search_begins() -> None:
    fleet = next(one for one in map(random_fleet, range(99)) if least(one) is not None)
    _, schedule = least(fleet) or (0, ())
    found = solve(fleet, seconds=1e-3, start=schedule)
    assert found.objective == objective_of(fleet, schedule)


def test_clusters_that_are_alike_are_named_by_their_first_jobs() -> None:
    tried = 0
    for seed in range(120):
        fleet = random_fleet(seed)
        if alike(fleet) != [[0, 1]]:
            continue
        runs = [(job, fleet.rows_of(job)) for job in range(len(fleet.jobs))]
        schedules = []
        for picked in itertools.product((0, 1), repeat=len(runs)):
            rows = [next(c for c in rows if fleet.choices.cluster[c] == at)
                    for at, (_, rows) in zip(picked, runs, strict=True)]  # fmt: skip
            schedules.append(tuple(
                Run(job=job, choice=int(row), start=0, steps=1)
                for (job, _), row in zip(runs, rows, strict=True)
            ))  # fmt: skip
        for one, other in zip(schedules, schedules[::-1], strict=True):  # clusters change places
            found = canonical(fleet, one)
            assert found == canonical(fleet, other)
            assert found in (one, other)
            assert fleet.choices.cluster[found[0].choice] == 0
        tried += 1
    assert tried

"""`planner.fleet`: jobs that share clusters, from their file to the schedule and its picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner as command
from support.cases import each

import planner
from planner.answers import sweeping
from planner.report.charts.fleet import fleet_picture
from planner.report.drawing.chart import Bar, Line
from planner.studies.fleet.answer import FleetResult
from planner.studies.fleet.choices import found_choices
from planner.studies.fleet.program import program_of
from planner.studies.fleet.question import fleet_from
from planner.studies.sweep.places import holding
from solvers.fleet.enumeration import least
from strict_yaml.writing import dump

ROOT = Path(__file__).parents[3]
SITE = {"name": "west", "hardware": "dgx-h100-ndr", "chips": 16, "price_per_chip_hour": 2.0}
JOB = {"model": "gpt3-125m", "batch_tokens": "512Ki"}
FLEET: dict[str, Any] = {
    "days": 2,
    "grid": "6h",
    "objective": "lateness",
    "clusters": [SITE],
    "defaults": JOB,
    "jobs": [
        {"name": "one", "train_tokens": 3.0e11, "deadline": "18h", "priority": 2},
        {"name": "two", "train_tokens": 3.0e11, "deadline": "18h"},
    ],
}


def fleet(**changed: Any) -> FleetResult:
    return planner.fleet(FLEET, **changed)


@cache
def late() -> FleetResult:
    return fleet()


def held(result: FleetResult) -> Iterator[tuple[float, int]]:
    """Chips in use at the middle of each step of the grid."""
    step = result.grid_s / 86400
    for at in range(round(result.days / step)):
        middle = (at + 0.5) * step
        yield (
            middle,
            sum(
                segment.held_chips
                for job in result.jobs
                for segment in job.segments
                if segment.start_day < middle < segment.end_day
            ),
        )


def test_a_fleet_that_is_late_says_why_and_what_would_help() -> None:
    result = late()
    assert result.status == "optimal"
    assert result.totals is not None
    assert result.totals.late_days == result.objective == result.bound
    assert result.totals.late_days == sum(job.late_days * job.priority for job in result.jobs)
    assert result.totals.late_days > 0
    assert all(chips <= 16 for _, chips in held(result))
    for job in result.jobs:
        (segment,) = job.segments
        assert 0 <= segment.end_day - segment.start_day - segment.run_days < 0.25
        assert job.money == pytest.approx(
            segment.held_chips * segment.run_days * 24 * 2.0, rel=1e-6
        )
    assert [one.job for one in result.late] == [job.name for job in result.jobs if job.late_days]
    for one in result.late:
        assert [bought.proved for bought in one.bought] == [True, True]
        assert all(bought.late_days < result.totals.late_days for bought in one.bought)
    assert result.usual is not None
    assert result.usual.late_days >= result.totals.late_days
    more = fleet(clusters=[{**SITE, "chips": 24}])
    assert more.totals is not None
    assert more.totals.late_days <= min(one.bought[0].late_days for one in result.late)


def test_objectives_are_each_the_least() -> None:
    """Against each other: no objective is beaten in what it looks for."""
    week = {"days": 7, "grid": "12h", "jobs": [{**job, "deadline": "7d"} for job in FLEET["jobs"]]}
    cost, energy = fleet(**week, objective="cost"), fleet(**week, objective="energy")
    weighted = fleet(**week, objective="weighted", weights={"cost": 1.0, "energy": 0.1})
    totals = [one.totals for one in (cost, energy, weighted)]
    assert all(one.status == "optimal" for one in (cost, energy, weighted))
    money = [one.money or 0.0 for one in totals if one]
    energies = [one.energy_kwh for one in totals if one]
    assert money[0] == min(money) == pytest.approx(cost.objective, abs=0.02)
    assert energies[1] == min(energies) == pytest.approx(energy.objective, abs=2e-3)
    sums = [money[at] + 0.1 * energies[at] for at in range(3)]
    assert sums[2] == pytest.approx(min(sums), abs=0.05)


def test_an_impossible_fleet_says_the_smallest_change_which_is_enough() -> None:
    result = fleet(objective="cost")
    assert result.impossible
    changes = {change.limit: change for change in result.changes}
    assert set(changes) == {"deadlines", "chips"}
    assert all(change.proved for change in changes.values())
    chips = round(changes["chips"].value)
    assert fleet(objective="cost", clusters=[{**SITE, "chips": chips}]).status == "optimal"
    assert fleet(objective="cost", clusters=[{**SITE, "chips": chips - 8}]).impossible
    hours = 18 + 24 * changes["deadlines"].value
    for more, status in ((hours, "optimal"), (hours - 6, "infeasible")):
        jobs = [{**job, "deadline": f"{more:g}h"} for job in FLEET["jobs"]]
        assert fleet(objective="cost", jobs=jobs).status == status
    small = fleet(jobs=[{**FLEET["jobs"][0], "model": "gpt3-175b"}], clusters=[SITE])
    assert small.impossible
    assert "one: no plan fits on any of its clusters: memory" in small.reasons[0]


def test_a_job_may_change_its_size() -> None:
    """Beside a job that takes one of two nodes for a part of the time."""
    other = {"name": "first", "train_tokens": 3.0e11, "sizes": [8], "deadline": "2d"}
    long = {"name": "long", "train_tokens": 7e11, "sizes": [8, 16], "deadline": "2d"}
    kept = fleet(days=4, jobs=[other, long])
    resized = fleet(days=4, jobs=[other, {**long, "resizable": True}])
    assert kept.totals is not None
    assert resized.totals is not None
    assert resized.totals.late_days < kept.totals.late_days
    first, second = resized.jobs[1].segments
    assert {first.chips, second.chips} == {8, 16}
    assert first.end_day == second.start_day
    assert all(chips <= 16 for _, chips in held(resized))


def test_domains_are_given_whole() -> None:
    racks = {"name": "racks", "hardware": "gb200-nvl72", "chips": 144}
    job = {"name": "one", "train_tokens": 1e10, "sizes": [64, 128]}
    result = fleet(objective="energy", clusters=[racks], jobs=[job])
    (row,) = result.jobs
    assert (row.segments[0].chips, row.segments[0].held_chips) in ((64, 72), (128, 144))
    leaf = fleet_from({**FLEET, "clusters": [{**SITE, "chips": 256, "whole": "leaf"}]})
    level = next(one for one in leaf.sites[0].record.levels if one.name == "leaf")
    assert leaf.sites[0].unit_chips == level.domain_chips


def test_the_picture_has_a_row_per_job_and_its_late_part() -> None:
    jobs, use = fleet_picture(late()).charts
    bars = [mark for mark in jobs.marks if isinstance(mark, Bar)]
    assert {round(bar.bottom) for bar in bars} == {0, 1}
    red = sum(bar.right - bar.left for bar in bars if bar.tone == "red")
    assert red == pytest.approx(sum(job.late_days for job in late().jobs))
    assert {key.words for key in jobs.legend} == {"west", "late", "deadline"}
    (line,) = (mark for mark in use.marks if isinstance(mark, Line))
    assert max(share for _, share in line.points) == 100.0 * max(n for _, n in held(late())) / 16


BAD: dict[str, Mapping[str, Any]] = {
    "clusters: []: must have at least 1 entry": {"clusters": []},
    "days: 0: must be greater than 0": {"days": 0},
    "days: nan: must be a finite number": {"days": float("nan")},
    "objective: 'speed' is not one of cost, energy, lateness, weighted": {"objective": "speed"},
    "grid: 60 s makes 2,880 steps of the 2 days; at least 86.4 s, which makes 2,000": {
        "grid": "1min"
    },
    "clusters.0: chips: 12 is no whole number of node domains of 8; nearest: 8 and 16": {
        "clusters": [{**SITE, "chips": 12}]
    },
    "clusters.0: whole: 'rail' is not one of nvlink": {"clusters": [{**SITE, "whole": "rail"}]},
    "clusters.0: hardware: unknown name 'dgx-h100'; did you mean 'dgx-h100-ndr'?": {
        "clusters": [{**SITE, "hardware": "dgx-h100"}]
    },
    "clusters.1.name: 'west' is there twice": {"clusters": [SITE, SITE]},
    "jobs.0: modle: unknown field; did you mean 'model'?": {
        "jobs": [{"name": "a", "deadline": 1, "modle": "gpt3-125m", "train_tokens": 1e9}]
    },
    "jobs.0: train_tokens: is missing": {"jobs": [{"name": "a", "deadline": 1}]},
    "jobs.0: chips: 8 has no place in a job of a fleet: sizes says it": {
        "jobs": [{"name": "a", "deadline": 1, "train_tokens": 1e9, "chips": 8}]
    },
    "jobs.0: time_limit: '1s' has no place in a job of a fleet: plans are proved": {
        "jobs": [{"name": "a", "deadline": 1, "train_tokens": 1e9, "time_limit": "1s"}]
    },
    "jobs.0: clusters: 'wast' is not one of west; did you mean 'west'?": {
        "jobs": [{"name": "a", "deadline": 1, "train_tokens": 1e9, "clusters": ["wast"]}]
    },
    "jobs.0: resizable: 9 segments: must be true, false or 1 to 4": {
        "jobs": [{"name": "a", "deadline": 1, "train_tokens": 1e9, "resizable": 9}]
    },
    "jobs: a: sizes: west gives none of 12 chips": {
        "jobs": [{"name": "a", "train_tokens": 1e9, "sizes": [12], "deadline": 1}]
    },
    "objective: lateness: no job has a deadline": {"jobs": [{"name": "a", "train_tokens": 1e9}]},
    "weights: are those of objective: weighted; leave them out": {"weights": {"cost": 2}},
    "gap: 1: must be a share from 0 to less than 1": {"gap": 1},
    "time_limit: nan: must be greater than 0": {"time_limit": float("nan")},
    "price_per_chip_hour: makes sums beyond 4.5e+13": {
        "clusters": [{**SITE, "price_per_chip_hour": 1e12}]
    },
    "budget": {"clusters": [{**SITE, "price_per_chip_hour": None}], "budget": 1e6},
}


@each("line", BAD)
def test_what_cannot_be_asked_is_one_line(line: str) -> None:
    with pytest.raises(planner.InputError) as refused:
        fleet(**BAD[line])
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_command(tmp_path: Any) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(dump(FLEET), encoding="utf-8")
    printed = command("fleet", str(path), "--plot", str(tmp_path / "fleet.svg"))
    assert printed.code == 0
    assert "least lateness, proved" in printed.out
    assert "Why late" in printed.out
    assert (tmp_path / "fleet.svg").is_file()
    known = command("fleet", str(path), "--json")
    fields = json.loads(known.out)
    assert fields["objective"] == late().objective
    assert len(fields["jobs"]) == 2
    page = (ROOT / "docs" / "json-studies.md").read_text(encoding="utf-8")
    named = page.partition("## `planner fleet`")[2].partition("\n## ")[0]
    assert [key for key in keys_of(fields) if f"`{key}`" not in named] == []
    impossible = command("fleet", str(path), "--objective", "cost")
    assert impossible.code == 3
    assert "deadlines: every deadline" in impossible.out


def keys_of(value: Any) -> set[str]:
    """All keys of a JSON document, without those that every one has and those of a mesh."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    own = {key for key in value if key not in ("schema_version", "versions")}
    return own.union(*(keys_of(value[key]) for key in own - {"plan"}))


def test_the_arrays_are_those_of_the_answer() -> None:
    """Every schedule of the arrays, against the answer for the file."""
    question = fleet_from(FLEET)
    choices = found_choices(question, sweeping.Answers()).choices
    found = least(program_of(question, choices, hard=False))
    assert found is not None
    assert found[0] * question.grid_s / 86400 == late().objective


def test_a_store_has_the_plans_of_the_next_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another deadline, priority or objective asks nothing again; other tokens do."""
    store = tmp_path / "fleet.db"
    first = fleet(store=store)
    assert (first.solved, first.read) == (2, 0)
    assert [job.to_dict() for job in first.jobs] == [job.to_dict() for job in late().jobs]
    monkeypatch.setattr(sweeping, "solve_request", lambda *_, **__: pytest.fail("solved again"))
    again = fleet(store=store)
    assert (again.solved, again.read) == (2, 2)
    assert [job.to_dict() for job in again.jobs] == [job.to_dict() for job in first.jobs]
    jobs = [{**job, "deadline": "30h", "priority": 3} for job in FLEET["jobs"]]
    changed = fleet(store=store, jobs=jobs, objective="energy")
    assert (changed.status, changed.read) == ("optimal", 2)
    monkeypatch.undo()
    tokens = [{**FLEET["jobs"][0], "train_tokens": 2.9e11}, FLEET["jobs"][1]]
    assert (more := fleet(store=store, jobs=tokens)).read == 2 < more.solved == 4


def test_a_store_that_a_run_holds_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "fleet.db"
    with holding(store), pytest.raises(planner.InputError, match=r"another run holds it \(process"):
        fleet(store=store)


def test_what_is_weighted_does_not_depend_on_the_scale_of_its_weights() -> None:
    found = [
        fleet(objective="weighted", weights={"cost": scale, "lateness": 5000 * scale})
        for scale in (1.0, 1e-5)
    ]
    first, second = ([(job.segments, job.late_days) for job in one.jobs] for one in found)
    assert first == second
    assert found[1].objective == pytest.approx(1e-5 * (found[0].objective or 0.0), rel=1e-6)
    first, heavy = (
        fleet(objective="weighted", weights={"cost": cost, "lateness": 1e12}) for cost in (1.0, 0.0)
    )
    least = late().totals
    assert least is not None
    for one in (first, heavy):
        assert one.totals is not None
        assert one.totals.late_days == least.late_days
        assert one.totals.money == least.money


def test_a_job_that_may_be_resized_and_is_not_costs_what_it_costs() -> None:
    """On a grid that is far longer than it."""
    job = {"name": "one", "model": "gpt3-125m", "train_tokens": 1e10}
    asked = {"days": 2, "grid": "6h", "objective": "cost"}
    found = [fleet(**asked, jobs=[{**job, "resizable": often}]) for often in (False, True)]
    assert [one.status for one in found] == ["optimal", "optimal"]
    money = [one.totals.money for one in found if one.totals]
    assert money[0] == money[1]
    assert found[1].objective == pytest.approx(money[1], abs=0.01)


def test_alone_means_within_the_limits_on_power() -> None:
    asked = {"objective": "lateness", "days": 14, "jobs": [{**FLEET["jobs"][0], "deadline": "7h"}]}
    (one,) = fleet(**asked, clusters=[{**SITE, "max_power": "10kW"}]).late
    (free,) = fleet(**asked).late
    assert one.alone_day > free.alone_day

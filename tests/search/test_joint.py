"""The joint search over machines equals searching each machine and count alone, and CP-SAT."""

import math
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import planner
from hardware_db import load_cluster
from planner.answers.api import limits_of, options_of
from planner.answers.spaces.uniform import certificate_of
from planner.cost.evaluate import evaluate_totals
from planner.machine.scaling import with_pes
from planner.machine.variants import Budgets, choices_of, counts_within, use_of
from planner.machine.wiring import rewired
from planner.objectives import OBJECTIVES
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.search.driver import Driver, Found
from planner.search.machines import joint
from planner.search.machines.machines import candidate_of
from planner.search.objective import optimum
from planner.search.oracle.oracle import mesh_problem
from planner.search.uniform.engine import UniformSpace, least_memory
from solvers.factored_cpsat import front
from solvers.frontier import nondominated
from solvers.machines import Option, master_problem
from solvers.solution import Status

ROUNDING = 2e-3
BASE: dict[str, Any] = {
    "model": "gpt3-125m",
    "hardware": "h100-sxm5-80",
    "batch_tokens": 2**14,
    "seq_len": 2048,
}


def instance(seed: int) -> dict[str, Any]:
    """A small joint question with budgets that bind on some machines."""
    rng = random.Random(seed)
    pes = sorted(rng.sample([33, 66, 99, 132, 264], rng.randrange(1, 4)))
    words = rng.sample(
        ["switch", "ring", "linear", "torus", "mesh", "hypercube", "fully-connected", "torus3d"],
        rng.randrange(1, 4),
    )
    asked = {**BASE, "pes": pes, "topology": words, "total_pes": rng.choice([528, 1056, 2112])}
    if rng.random() < 0.4:
        asked["topology"] = [*words, "scale-out=torus", "scale-out=fat-tree"]
    if rng.random() < 0.4:
        asked["max_links"] = rng.choice([12, 20, 40])
    if rng.random() < 0.4:
        asked["max_ports"] = rng.choice([2, 3, 4])
    if rng.random() < 0.4:
        asked["max_area"] = rng.choice([4000, 9000])
    if rng.random() < 0.3:
        asked["max_power"] = rng.choice([6e3, 12e3])
    if rng.random() < 0.5:
        asked["clocks"] = False
    if rng.random() < 0.4:
        asked["assumptions"] = rng.choice(["rack-energy", "rack-zero"])
        if "max_power" in asked:  # less than chips would draw if they only waited
            asked["max_power"] = rng.choice([1.5e3, 3e3])
    return asked


def apart(asked: dict[str, Any], *, counts_apart: bool) -> tuple[np.ndarray, int]:
    """The front of every machine, or machine and count, searched alone; how many pairs there are.

    A search of one count takes 60 ms before its first plan.
    """
    points, pairs = [np.empty((0, 2))], 0
    request = request_from(asked)
    budgets = Budgets(
        **{name: asked.get(name) for name in ("total_pes", "max_area", "max_links", "max_ports")}
    )
    for pes, words in choices_of(request.pes, request.topology):
        one = request.model_copy(update={"pes": (pes,), "topology": words})
        model = resolve(one, chips=1).cost
        every = tuple(
            chips
            for chips in model.cluster.chip_counts(64)
            if all(use_of(model, chips)[name] <= most for name, most in budgets.given.items())
        )
        pairs += len(every)
        for counts in [(chips,) for chips in every] if counts_apart else [every]:
            search = UniformSpace(
                model=model, options=options_of(request), limits=limits_of(request)
            )
            points.append(Driver().run(search.on(*counts)).points)
    found = np.vstack(points)
    return found[nondominated(found)], pairs


@pytest.mark.parametrize("seed", range(12))
def test_the_joint_front_is_that_of_all_machines_searched_alone(seed: int) -> None:
    asked = instance(seed)
    wanted, pairs = apart(asked, counts_apart=seed % 3 == 0)
    found = planner.solve(**asked)
    if "max_power" not in asked:  # waiting power alone excludes some counts
        assert sum(one.chip_counts for one in found.candidates.machines) == pairs
    assert found.status == ("optimal" if len(wanted) else "infeasible")
    points = np.array([[p.step_time_s, p.energy_per_step_j] for p in found.front]).reshape(-1, 2)
    assert points.shape == wanted.shape
    assert np.allclose(points, wanted, rtol=1e-9)
    if found.best is not None:
        assert found.objective == pytest.approx(float(wanted[:, 0].min()), rel=1e-12)
        assert found.bound == pytest.approx(found.objective, rel=1e-12)


def test_waiting_power_limits_no_chips_where_only_components_count() -> None:
    """Eight chips that wait draw more than 2.5 kW; under components they draw what they do."""
    asked = {
        "model": "gpt3-350m",
        "hardware": "c2c-ndr400-rack",
        "assumptions": "rack-energy",
        "chips": 8,
        "batch_tokens": 2**16,
        "max_power": 2500,
    }
    chip = load_cluster("c2c-ndr400-rack").chip
    assert 8 * (chip.wait_w + chip.host_w) > 2500
    alone, joint = planner.solve(**asked), planner.solve(**asked, pes=132)
    assert alone.best is not None
    assert joint.best is not None
    assert joint.best.step_time_s == alone.best.step_time_s
    assert joint.best.energy_per_step_j / joint.best.step_time_s <= 2500


@pytest.mark.parametrize("seed", range(4))
def test_cpsat_chooses_the_same_machines_chips_and_plans(seed: int) -> None:
    """Plans of each machine and count by CP-SAT, then machine, count and plan by CP-SAT."""
    rng = random.Random(100 + seed)
    asked = {
        **BASE,
        "pes": [66, 132],
        "topology": rng.sample(["switch", "ring", "mesh"], 2),
        "clocks": False,
        "axes": ["dp", "tp"],
        "batch_tokens": 2**14,
        "fix": {"recompute": "none", "micro_batch": [1, 2]},
        "total_pes": rng.choice([132, 264]),
        "max_ports": rng.choice([2, 3]),
    }
    request, options, points = request_from(asked), [], {}
    for at, (pes, words) in enumerate(choices_of(request.pes, request.topology)):
        one = request.model_copy(update={"pes": (pes,), "topology": words})
        model = resolve(one, chips=1).cost
        for chips in (count for count in model.cluster.chip_counts(4) if count in (1, 2, 4)):
            problem = mesh_problem(model, chips, options_of(request))
            solved = [decision for *_, decision in front(problem.problem, ("time", "energy"))]
            totals = evaluate_totals(model, problem.decode(solved))
            exact = np.stack([totals.step_time_s, totals.energy_j], axis=1)
            points[at, chips] = exact
            use = use_of(model, chips)
            options.append(
                Option(
                    machine=at,
                    size=chips,
                    uses={name: math.ceil(use[name]) for name in ("total_pes", "max_ports")},
                    points=[(round(t * 1e9), round(e * 1e6)) for t, e in exact],
                )
            )
    budgets = {name: int(asked[name]) for name in ("total_pes", "max_ports")}
    master = list(front(master_problem(options, budgets, ("time", "energy")), ("time", "energy")))
    chosen = np.array(
        [points[d["machine"], d["size"]][d["rank"]] for *_, d in master]  # type: ignore[index]
    )
    found = planner.solve(**asked)
    mine = np.array(
        [[p.step_time_s, p.energy_per_step_j] for p in found.front if p.chips in (1, 2, 4)]
    )
    assert len(mine) == len(found.front)
    covers(mine, chosen, 1e-12)
    covers(chosen, mine, ROUNDING)


def covers(front_points: np.ndarray, others: np.ndarray, slack: float) -> None:
    """No point is more than `slack` better than every point of the front."""
    near = front_points[:, None, :] <= others[None, :, :] * (1 + slack)
    assert bool(near.all(axis=2).any(axis=0).all())


def test_chip_counts_of_budgets_are_those_that_keep_to_them() -> None:
    """Filtering every count by hand gives the same."""
    cluster = with_pes(rewired(load_cluster("dgx-h100-ndr"), ["ring"]), 264)
    request = request_from({**BASE, "pes": 264, "topology": "ring"})
    model = resolve(request, chips=1).cost
    assert model.cluster == cluster
    budgets = Budgets(chips=100, total_pes=20000, max_area=80_000, max_links=150)
    allowed = [
        count
        for count in cluster.chip_counts(512)
        if count <= 100
        and count * 264 <= 20000
        and count * 814 * (0.45 + 0.55 * 2) <= 80_000
        and use_of(model, count)["max_links"] <= 150
    ]
    assert list(counts_within(model, budgets)) == allowed
    assert 0 < len(allowed) < len(cluster.chip_counts(100))


def test_spaces_share_the_front_of_a_driver() -> None:
    asked = request_from({**BASE, "chips": 8})
    model = resolve(asked).cost
    options, limits = options_of(asked), limits_of(asked)
    space, driver = UniformSpace(model=model, options=options, limits=limits), Driver()
    alone = driver.run(space.on(8))
    both = driver.run(space.on(8))
    assert np.array_equal(both.points, alone.points)
    assert all(one is model for one in both.models)
    assert both.counts["candidates"].get("evaluated", 0) <= alone.counts["candidates"]["evaluated"]


@pytest.fixture
def after_memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has time end once the leanest plan of so many machines is found."""
    searched, now = [0], [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def set_last(machines: int) -> None:
        def searched_then_late(space: UniformSpace) -> Found:
            found = least_memory(space)
            searched[0] += 1
            now[0] = 2.0 if searched[0] >= machines else now[0]
            return found

        monkeypatch.setattr(joint, "least_memory", searched_then_late)

    return set_last


LEAN = {**BASE, "pes": (66, 132), "topology": ("ring",), "chips": 4, "objective": "memory"}


def test_memory_on_machines_that_were_not_searched_has_no_bound(
    after_memory: Callable[[int], None],
) -> None:
    proved = planner.solve(**LEAN)
    assert (proved.status, proved.gap) == ("optimal", 0.0)
    after_memory(1)
    found = planner.solve(**LEAN, time_limit=1.0)
    assert found.best is not None
    assert (found.status, found.bound, found.gap) == ("feasible", None, None)


def test_time_that_ends_before_the_front_begins_leaves_the_best_plan_on_it(
    after_memory: Callable[[int], None],
) -> None:
    after_memory(2)
    found = planner.solve(**LEAN, time_limit=1.0)
    assert found.best is not None
    assert (found.status, found.gap) == ("optimal", 0.0)
    assert [plan.machine for plan in found.front] == [found.best.machine]
    assert not found.front.complete
    assert "incomplete" in found.front.note


@pytest.mark.parametrize(
    ("asked", "most", "limited"),
    [({"total_pes": 528}, 4, "total-pes"), ({"chips_at_most": 8}, 8, "chips")],
)
def test_what_ends_the_chip_counts_of_a_machine_is_named(
    asked: dict[str, Any], most: int, limited: str
) -> None:
    request = request_from({**BASE, "pes": 132, **asked})
    candidate = candidate_of(request, resolve(request, chips=1))
    assert (candidate.counts[-1], candidate.limited_by) == (most, limited)


def test_a_machine_that_time_left_out_leaves_nothing_known() -> None:
    """A bound of 0 is none: the answer has neither a bound nor a gap."""
    request = request_from({**BASE, "chips": 8})
    resolved = resolve(request)
    options, limits = options_of(request), limits_of(request)
    space = UniformSpace(model=resolved.cost, options=options, limits=limits, chips=(8,))
    driver = Driver()
    first = driver.run(space)
    found = driver.together([first, driver.run(replace(space, deadline=0.0))])
    assert (found.status.value, found.bound.tolist()) == ("feasible", [0.0, 0.0])
    known = certificate_of(resolved, found)
    assert (known.status, known.bound, known.gap) == ("feasible", None, None)
    assert known.objective == pytest.approx(first.points[0, 0])


def test_a_column_of_which_nothing_is_known_says_nothing_of_another() -> None:
    points, lowest = np.array([[2.0, 8.0]]), np.array([1.0, 0.0])
    bounds = [
        optimum(points, lowest, Status.FEASIBLE, OBJECTIVES[name]).bound
        for name in ("time", "energy", "edp")
    ]
    assert bounds == [1.0, None, None]

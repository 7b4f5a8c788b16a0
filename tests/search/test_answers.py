"""What a search says beside its front: counts, bounds under a time limit, near misses, remedies."""

import functools
import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
from search.test_engine import everything
from support.jobs import cost_model, dense_model, random_chips, random_cost_model

import planner
from models_db import load_model
from planner.answers.diagnosis.diagnosis import diagnose
from planner.answers.diagnosis.uniform import UniformReasons
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.objectives import ENERGY, MEMORY, TIME
from planner.plan import ORDERS, RECOMPUTES, PlanTable
from planner.plan.choices import fixed_values
from planner.question.options import SpaceOptions
from planner.results.result import PASSED
from planner.search.columns import Columns
from planner.search.deadline import Deadline, OutOfTime
from planner.search.driver import Driver, Found
from planner.search.infeasible.near_misses import Witness
from planner.search.infeasible.remedies import (
    fewer_chips,
    first_possible,
    looser_limits,
    more_chips,
    rounded_up,
)
from planner.search.limits import Limits
from planner.search.uniform.bounds import PartialPlanBounds
from planner.search.uniform.engine import UniformSpace, least_memory
from planner.search.uniform.mesh_memory import partial_plan_bytes
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import PARTIAL_PLAN, cross_choices, cross_partial_plans
from solvers.solution import Status


def small_model() -> CostModel:
    """A job small enough to cost every plan."""
    return cost_model(dense_model(8, 1024, 8, 4, 4096), "dgx-h100-ndr", global_batch=32)


@functools.cache
def all_plans(chips: int) -> np.ndarray:
    """(c, 3) time, energy and memory of every plan of the small job."""
    return everything(small_model(), (chips,), SpaceOptions(), Limits())


def chips_of(text: str) -> int:
    """The number in `--chips 16 (more chips)`."""
    return int(text.split()[1])


def test_a_diagnosis_without_time_does_not_guess() -> None:
    """With time this is memory; without, the search for the leanest plan finds nothing at all."""
    model, options, limits = small_model(), SpaceOptions(), Limits(memory_bytes=1e6)
    space = UniformSpace(model=model, options=options, limits=limits, chips=(8,))
    found = Driver().run(space)
    assert found.status is Status.INFEASIBLE
    assert diagnose(UniformReasons(searched=space, chips=8, found=found)).constraint == "memory"
    late = replace(space, deadline=time.perf_counter() - 1)
    hurried = diagnose(UniformReasons(searched=late, chips=8, found=found))
    assert hurried.constraint == "memory or divisibility"
    assert "time limit" in hurried.explanation
    assert not hurried.remedies


@pytest.mark.parametrize(
    ("framework", "fixed", "said"),
    [
        ("torchtitan", {"schedule": "zb-v"}, True),
        ("megatron", {"schedule": "interleaved", "pp": "8", "interleave": "3"}, True),
        ("torchtitan", {"micro_batch": "3"}, False),
    ],
)
def test_chunks_that_are_not_equal_are_said_not_to_be_searched(
    framework: str, fixed: dict[str, str], *, said: bool
) -> None:
    """32 layers, with the ends 34, make no equal chunks for two or three on each of 2 to 16."""
    asked = {"model": "llama3-8b", "hardware": "h100-sxm5-80", "chips": 16}
    why = planner.solve(**asked, framework=framework, fix=fixed).diagnosis
    assert why is not None
    assert why.constraint == "divisibility"
    words = "; more than one chunk per stage is searched with equal chunks only"
    assert (words in why.explanation) is said
    if said and framework == "torchtitan":
        assert f"{words}, here of 34 layers, embedding and head counted (" in why.explanation


def test_a_passed_deadline_ends_the_bounds_of_one_chip_count() -> None:
    model, options = small_model(), SpaceOptions()
    partial_plans = cross_partial_plans(model, enumerate_meshes(model, (8,), options), options)
    past = Deadline(time.perf_counter() - 1)
    with pytest.raises(OutOfTime):
        PartialPlanBounds.build(model, partial_plans, ORDERS, past)
    bounds = PartialPlanBounds.build(model, partial_plans, ORDERS)
    least = np.zeros(len(partial_plans.meshes), dtype=np.int64)
    with pytest.raises(OutOfTime):
        bounds.corners(least, np.ones(1), past)


def test_more_chips_are_found_by_doubling_where_the_next_ones_do_not_help(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = cost_model(dense_model(8, 4096, 32, 32, 16384), "dgx-h100-ndr", global_batch=64)
    search = UniformSpace(model=model, options=SpaceOptions(), limits=Limits(memory_bytes=1.5e9))
    assert [chips_of(text) for text in more_chips(search, 8)] == [48]
    for name, number in (("_COUNTS_AT_FIRST", 1), ("_MOST_COUNTS", 3)):  # 16, 24 and 32 chips
        monkeypatch.setattr(f"planner.search.infeasible.remedies.{name}", number)
    assert [chips_of(text) for text in more_chips(search, 8)] == [64]


@pytest.mark.parametrize("seed", range(16))
def test_counts_add_up_at_every_stage(seed: int) -> None:
    model = random_cost_model(600 + seed)
    chips = random_chips(model, seed, most=8)
    narrow = {"recompute": fixed_values("recompute", ["none", "full"])} if seed % 4 == 2 else {}
    options = SpaceOptions(offload=seed % 3 == 0, fixed=narrow)
    free = Driver().run(UniformSpace(model=model, options=options, limits=Limits(), chips=(chips,)))
    limits = Limits()
    if seed % 2 and len(free.points):
        limits = Limits(step_time_s=float(free.points[0, 0]) * 1.5, memory_bytes=40e9)
    for kind in (
        {},
        {"columns": (TIME, ENERGY, MEMORY)},
        {"columns": (MEMORY,)},
        {"bounded": False},
    ):
        found = Driver().run(
            UniformSpace(model=model, options=options, limits=limits, **kind, chips=(chips,))
        )  # type: ignore[arg-type]
        for stage, counts in found.counts.items():
            rest = sum(number for name, number in counts.items() if name != "considered")
            assert counts.get("considered", 0) == rest, (stage, counts)
            assert all(number > 0 for name, number in counts.items() if name in PASSED)
        meshes, partial_plans = found.counts["factorizations"], found.counts["partial_plans"]
        assert meshes["considered"] > 0
        assert partial_plans.get("opened", 0) or not found.counts["plans"]


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("offload", [False, True])
def test_no_plan_holds_less_than_the_bound_of_its_partial_plan(seed: int, offload: bool) -> None:
    model = random_cost_model(700 + seed)
    options = SpaceOptions()
    meshes = enumerate_meshes(model, (random_chips(model, seed),), options)
    partial_plans = cross_partial_plans(model, meshes, options)
    space = cross_choices(model, partial_plans, options)
    number = {
        (int(mesh), *(int(partial_plans.columns[n][i]) for n in PARTIAL_PLAN)): i
        for i, mesh in enumerate(partial_plans.mesh_id)
    }
    plans = space.plans
    of = np.array(
        [
            number[(int(space.mesh_id[i]), *(int(getattr(plans, n)[i]) for n in PARTIAL_PLAN))]
            for i in range(len(space))
        ],
        dtype=np.int64,
    )
    for recompute in range(len(RECOMPUTES)):
        bound = partial_plan_bytes(model, partial_plans, recompute, offload=offload)
        at = np.flatnonzero(plans.recompute == recompute)
        for mask in range(8) if offload else (0,):
            moved = replace(plans.take(at), offload=np.full(len(at), mask))
            assert np.all(bound[of[at]] <= memory_table(model, moved).peak)


@pytest.mark.parametrize("seed", range(9))
def test_the_least_memory_is_the_least_and_the_fastest_of_equals(seed: int) -> None:
    model = random_cost_model(800 + seed)
    chips = random_chips(model, seed, most=8)
    options = SpaceOptions(offload=seed % 4 == 3)
    brute = everything(model, (chips,), options, Limits())
    limits = Limits()
    if seed % 2 and len(brute):
        limits = Limits(step_time_s=float(np.quantile(brute[:, 0], 0.05)))
        brute = brute[brute[:, 0] <= limits.step_time_s]
    found = least_memory(UniformSpace(model=model, options=options, limits=limits, chips=(chips,)))
    assert found.status is (Status.OPTIMAL if len(brute) else Status.INFEASIBLE)
    if len(brute):
        best = brute[np.lexsort((brute[:, 1], brute[:, 0], brute[:, 2]))[0]]
        assert found.points.tolist() == [[best[2]]]
        assert found.bound.tolist() == [best[2]]
        cost = evaluate_totals(model, found.plans)
        assert (cost.step_time_s[0], cost.memory_bytes[0]) == (best[0], best[2])


@functools.cache
def whole_front(columns: Columns) -> Found:
    """The front of the job that is stopped below."""
    model = cost_model(load_model("llama2-7b"), "dgx-h100-ndr", global_batch=64)
    options, limits = SpaceOptions(), Limits()
    return Driver().run(
        UniformSpace(model=model, options=options, limits=limits, columns=columns, chips=(32,))
    )


@pytest.mark.parametrize("looks", range(0, 40, 3))
@pytest.mark.parametrize("columns", [(TIME, ENERGY), (TIME, ENERGY, MEMORY), (MEMORY,)])
def test_a_search_stopped_anywhere_keeps_its_bound(
    looks: int, columns: Columns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time runs out at some look at the clock: between steps, or in the middle of a batch."""
    model = cost_model(load_model("llama2-7b"), "dgx-h100-ndr", global_batch=64)
    whole = whole_front(columns)
    clock = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    search = UniformSpace(
        model=model, options=SpaceOptions(), limits=Limits(), deadline=looks, columns=columns
    )
    stopped = Driver().run(search.on(32))
    assert np.all(stopped.bound <= whole.points.min(axis=0))
    assert np.all(np.isfinite(stopped.bound))
    assert np.all(stopped.bound >= 0)
    if stopped.status is Status.OPTIMAL:
        np.testing.assert_array_equal(stopped.points, whole.points)
    else:
        assert stopped.status is (Status.FEASIBLE if len(stopped.points) else Status.TIME_LIMIT)
    for stage, counts in stopped.counts.items():
        rest = sum(number for name, number in counts.items() if name != "considered")
        assert counts.get("considered", 0) == rest, (stage, counts)


def test_chip_counts_in_parts_give_the_same_nodes() -> None:
    """Under a time limit the counts are enumerated in parts."""
    model = small_model()
    counts = model.cluster.chip_counts(1024)
    plain = UniformSpace(model=model, options=SpaceOptions(), limits=Limits())
    timed = replace(plain, deadline=1e18)
    one, other = plain.on(*counts).nodes(), timed.on(*counts).nodes()
    assert len(counts) > 64
    assert one.counts == other.counts
    columns = ("mesh_id", "chips")
    rows = [
        np.stack(
            [getattr(b.partial_plans, c) for c in columns[1:]]
            + list(b.partial_plans.columns.values())
        )
        for b in (one, other)
    ]
    order = [np.lexsort([*r, *b.corners.reshape(len(b.corners), -1).T])
             for r, b in zip(rows, (one, other), strict=True)]  # fmt: skip
    np.testing.assert_array_equal(rows[0][:, order[0]], rows[1][:, order[1]])
    np.testing.assert_array_equal(one.corners[order[0]], other.corners[order[1]])


def test_a_deadline() -> None:
    assert not Deadline().passed
    Deadline(1e18).check()
    with pytest.raises(OutOfTime):
        Deadline(0.0).check()


def misses(limits: Limits) -> tuple[UniformSpace, object]:
    """What came nearest to limits that no plan meets."""
    search = UniformSpace(model=small_model(), options=SpaceOptions(), limits=limits)
    found = Driver().run(search.on(8))
    assert found.status is Status.INFEASIBLE
    return search, found.misses


def test_near_misses_are_the_extremes_over_all_plans() -> None:
    times, energies = all_plans(8)[:, 0], all_plans(8)[:, 1]
    powers = energies / times
    fast, cool = float(np.quantile(times, 0.02)), float(np.quantile(powers, 0.02))
    assert not np.any((times <= fast) & (energies <= cool * times)), "chosen to exclude each other"
    _, near = misses(Limits(step_time_s=fast, power_w=cool))
    assert near.fastest.time_s == times.min()  # type: ignore[attr-defined]
    assert near.coolest.power_w == powers.min()  # type: ignore[attr-defined]
    assert near.fastest_cool.time_s == times[energies <= cool * times].min()  # type: ignore[attr-defined]
    assert near.coolest_fast.power_w == powers[times <= fast].min()  # type: ignore[attr-defined]
    for name in ("fastest", "coolest", "fastest_cool", "coolest_fast"):
        witness = getattr(near, name)
        cost = evaluate_totals(small_model(), witness.plan)
        assert (cost.step_time_s[0], cost.energy_j[0]) == (witness.time_s, witness.energy_j)


def test_needless_offloads_count_when_power_is_limited() -> None:
    """They take longer and so draw less: a limit on power may need them."""
    options = SpaceOptions(offload=True)
    brute = everything(small_model(), (8,), options, Limits())
    least = float((brute[:, 1] / brute[:, 0]).min())
    search = UniformSpace(
        model=small_model(), options=options, limits=Limits(power_w=least * 1.0001)
    )
    assert Driver().run(search.on(8)).status is Status.OPTIMAL


@pytest.mark.parametrize(
    "value", [1.33612, 0.00045671, 6400.2, 4015.2728, 1.0, 9.99999, 1e-9, 12345]
)
def test_rounding_up_is_never_below_and_near(value: float) -> None:
    shown = float(rounded_up(value))
    assert value <= shown <= value * 1.0011


@pytest.mark.parametrize("seed", range(40))
def test_a_looser_limit_allows_its_witness_as_it_is_printed(seed: int) -> None:
    model, rng = small_model(), np.random.default_rng(seed)
    time, energy = float(rng.lognormal(0, 4)), float(rng.lognormal(8, 4))
    plan = PlanTable.from_plans([])
    witness = Witness(plan=plan, chips=8, time_s=time, energy_j=energy)
    limits = Limits(step_time_s=time / 2, power_w=energy / time / 2, mfu=None)
    (flags,) = looser_limits(model, limits, witness)
    words = flags.split()
    assert words[::2] == ["--max-step-time", "--max-power"]
    assert time <= float(words[1].removesuffix("s")) <= time * 1.0011
    power = words[3].removesuffix("W")
    scale = {"M": 1e6, "k": 1e3}.get(power[-1], 1.0)
    watts = float(power.rstrip("Mk")) * scale
    assert energy / time <= watts * (1 + 1e-15)
    assert watts <= energy / time * 1.0011 or watts < 1


def test_more_chips_are_the_fewest_that_help() -> None:
    model = cost_model(load_model("llama2-70b"), "dgx-h100-ndr", global_batch=64)
    search = UniformSpace(model=model, options=SpaceOptions(), limits=Limits(memory_bytes=20e9))
    (remedy,) = more_chips(search, 8)
    chips = chips_of(remedy)
    for count in model.cluster.chip_counts(chips):
        found = Driver().run(search.on(count))
        assert (found.status is Status.OPTIMAL) == (count == chips), count


@pytest.mark.parametrize("share", [0.7, 0.4, 0.2])
def test_chips_for_a_step_time_are_the_fewest_that_help(share: float) -> None:
    model = small_model()
    fastest = (
        Driver()
        .run(UniformSpace(model=model, options=SpaceOptions(), limits=Limits(), chips=(8,)))
        .points[0, 0]
    )
    search = UniformSpace(
        model=model, options=SpaceOptions(), limits=Limits(step_time_s=fastest * share)
    )
    above = [n for n in model.cluster.chip_counts(128) if n > 8]
    helps = [n for n in above if Driver().run(search.on(n)).status is Status.OPTIMAL]
    assert [chips_of(remedy) for remedy in more_chips(search, 8)] == helps[:1]


@pytest.mark.parametrize("share", [0.9, 0.5, 0.3])
def test_chips_for_a_power_are_the_most_that_help(share: float) -> None:
    model = small_model()
    points = all_plans(8)
    least = float((points[:, 1] / points[:, 0]).min())
    search = UniformSpace(model=model, options=SpaceOptions(), limits=Limits(power_w=least * share))
    below = [n for n in model.cluster.chip_counts(7)]
    helps = [n for n in below if Driver().run(search.on(n)).status is Status.OPTIMAL]
    assert [chips_of(remedy) for remedy in fewer_chips(search, 8)] == helps[-1:]


def test_the_first_count_is_in_the_order_given() -> None:
    search = UniformSpace(model=small_model(), options=SpaceOptions(), limits=Limits())
    assert first_possible(search, (32, 16, 8)) == 32
    assert first_possible(search, ()) is None
    assert first_possible(replace(search, limits=Limits(memory_bytes=1.0)), (32, 16)) is None


def test_a_front_of_three_objectives_lists_no_point_that_rounding_keeps() -> None:
    """Time and energy of these plans differ in the last digit alone, memory by per cents."""
    asked = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 32, "chips_exact": True}
    asked |= {"seq_len": 4096, "batch_tokens": 98304, "framework": "megatron", "clocks": False}
    answer = planner.solve(**asked, assumptions="roofline", front="time,energy,memory")
    points = np.array([
        [p.step_time_s, p.energy_per_step_j, p.memory_per_chip_bytes] for p in answer.front
    ])  # fmt: skip
    assert len(points) > 3
    for one, other in itertools.permutations(points, 2):
        assert (other > one * (1 + 1e-9)).any()

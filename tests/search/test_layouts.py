"""Layouts over tori: the search finds what evaluating every one of them finds, by enumeration."""

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model, dense_model, moe_model

import planner
from planner.collectives.tables.tables import table_of
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals, memory_table
from planner.frameworks.rules import applicable
from planner.network.collectives import GroupCosts
from planner.network.fabric import Torus
from planner.network.synthesized.costs import NO_LINES, Lines
from planner.plan import AXES, ORDERS, PlanTable
from planner.plan.ranks import Layout
from planner.question.options import SpaceOptions
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.oracle.oracle import mesh_problem
from planner.search.placements import patterns as listed
from planner.search.placements.layouts import efficient, least_alone, torus_of
from planner.search.placements.patterns import layouts_of, patterns, unbeaten
from planner.search.uniform.bounds import PartialPlanBounds
from planner.search.uniform.candidates import Candidates
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import Space, cross_choices, cross_partial_plans
from planner.search.uniform.tables import build_placements
from solvers.factored_cpsat import minimize
from solvers.frontier import nondominated

Parts = tuple[tuple[str, int], ...]


def ways(length: int, used: tuple[str, ...] = ()) -> Iterator[Parts]:
    """Every ordered list of parts of different axes that fills a physical axis."""
    if length == 1:
        yield ()
    for axis in AXES:
        if axis in used:
            continue
        for part in (n for n in range(2, length + 1) if length % n == 0):
            for outer in ways(length // part, (*used, axis)):
                yield ((axis, part), *outer)


def every_layout(torus: Torus, mesh: dict[str, int]) -> list[Layout]:
    """Every layout of a mesh, what the torus leaves of it in the order of the axes outside."""
    found = []
    for choice in product(*(list(ways(length)) for length in torus.dims)):
        parts = [part for axis in choice for part in axis]
        left = dict(mesh)
        for axis, size in parts:
            left[axis] = left[axis] / size  # type: ignore[assignment]
        if all(size == int(size) for size in left.values()):
            across = [(axis, int(size)) for axis, size in left.items() if size > 1]
            found.append((*parts, *across))
    return found


def space_of(model: CostModel, chips: int, options: SpaceOptions) -> Space:
    """Every logical plan."""
    meshes = enumerate_meshes(model, (chips,), options)
    return cross_choices(model, cross_partial_plans(model, meshes, options), options)


def everything(model: CostModel, chips: int, options: SpaceOptions) -> np.ndarray:
    """(c, 2) time and energy of every plan in every order and layout that fits."""
    space = space_of(model, chips, options)
    fits, _ = Limits().memory(model, space.plans, memory_table(model, space.plans))
    torus = torus_of(model.fabric(chips))
    assert torus is not None
    rows = [np.empty((0, 2))]
    for number in range(len(space.meshes)):
        mesh = {axis: int(space.meshes.columns[axis][number]) for axis in AXES}
        layouts = tuple(dict.fromkeys(every_layout(torus, mesh)))
        here = np.flatnonzero(fits & (space.mesh_id == number))
        if len(here) == 0:
            continue
        codes = np.arange(len(ORDERS) + len(layouts))
        plans = space.plans.take(np.repeat(here, len(codes)))
        plans = replace(plans, order=np.tile(codes, len(here)), layouts=layouts)
        cost = evaluate_totals(model, plans)
        rows.append(np.stack([cost.step_time_s, cost.energy_j], axis=1))
    return np.vstack(rows)


def job(seed: int, hardware: str, experts: int = 0) -> CostModel:
    """A small job of the framework that lays out ranks freely."""
    rng = random.Random(seed)
    heads = rng.choice([4, 8])
    small = moe_model(5, experts) if experts else dense_model(8, heads * 64, heads, heads, 2048)
    return cost_model(
        small,
        hardware,
        global_batch=rng.choice([64, 128]),
        seq_len=rng.choice([512, 2048]),
        framework="jax",
    )


NARROW = {
    "micro_batch": frozenset({1}),
    "recompute": frozenset({0}),
    "interleave": frozenset({1}),
    "schedule": frozenset({1}),
}
CASES = [
    ("tpu-v5p", 4, 0, SpaceOptions()),
    ("tpu-v5p", 8, 0, SpaceOptions(fixed=NARROW)),
    ("tpu-v5p", 8, 4, SpaceOptions(fixed=NARROW)),
    ("tpu-v5p", 16, 0, SpaceOptions(fixed=NARROW, axes=frozenset({"tp", "dp", "fsdp"}))),
    ("tpu-v5p", 64, 0, SpaceOptions(fixed=NARROW, axes=frozenset({"tp", "fsdp"}))),
    ("tpu-v5p", 64, 0, SpaceOptions(fixed=NARROW, axes=frozenset({"cp", "dp", "pp"}))),
    ("tpu-v5p", 64, 8, SpaceOptions(fixed=NARROW, axes=frozenset({"ep", "tp", "dp"}))),
    ("tpu-v5p", 128, 0, SpaceOptions(fixed=NARROW, axes=frozenset({"tp", "fsdp"}))),
    ("tpu-v5e", 16, 0, SpaceOptions(fixed=NARROW, axes=frozenset({"tp", "pp", "dp"}))),
    ("tpu-v5e", 512, 0, SpaceOptions(fixed=NARROW, axes=frozenset({"tp", "fsdp"}))),
    ("trn1", 32, 0, SpaceOptions(fixed=NARROW, axes=frozenset({"tp", "dp", "pp"}))),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_front_is_that_of_every_layout(number: int) -> None:
    hardware, chips, experts, options = CASES[number]
    model = job(number, hardware, experts)
    brute = everything(model, chips, replace(options, all_orders=True))
    expected = brute[nondominated(brute)]
    for limits in (Limits(), Limits(power_w=1e12)):  # a limit on power keeps every layout
        search = UniformSpace(model=model, options=replace(options, torus=True), limits=limits)
        found = Driver().run(search.on(chips))
        assert len(expected)
        np.testing.assert_allclose(found.points, expected, rtol=1e-12)
        cost = evaluate_table(model, found.plans)
        np.testing.assert_allclose(cost.step_time_s, found.points[:, 0], rtol=1e-12)


@pytest.mark.parametrize("number", [3, 5, 6])
def test_a_limit_on_power_is_met_by_slower_layouts(number: int) -> None:
    """The front under half of the powers that occur, against every layout."""
    hardware, chips, experts, options = CASES[number]
    model = job(number, hardware, experts)
    brute = everything(model, chips, replace(options, all_orders=True))
    limit = float(np.median(brute[:, 1] / brute[:, 0]))
    allowed = brute[brute[:, 1] <= limit * brute[:, 0]]
    expected = allowed[nondominated(allowed)]
    search = UniformSpace(
        model=model,
        options=replace(options, torus=True),
        limits=Limits(power_w=limit * (1 + 1e-12)),
    )
    found = Driver().run(search.on(chips)).points
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(found[:, 1].min(), expected[:, 1].min(), rtol=1e-9)


def test_layouts_are_faster_than_orders_somewhere() -> None:
    """Llama-2 13B on 16 x 16 x 16: tp 4 as 2 x 2 over two axes, dp over all three."""
    question = {"model": "llama2-13b", "chips": 4096}
    orders, layouts = (planner.solve(**question, placement=name) for name in ("all", "torus"))
    assert layouts.status == "optimal"
    best, before = layouts.require(), orders.require()
    assert best.step_time_s < 0.95 * before.step_time_s
    assert best.plan.layout is not None
    assert best.torus == "x (16): dp 16; y (16): tp 2, dp 8; z (16): tp 2, dp 8; all wrap"
    for neighbor in layouts.candidates.neighbors:
        if neighbor.result is not None and neighbor.verdict.startswith(("slower", "same")):
            assert neighbor.result.step_time_s >= best.step_time_s * (1 - 1e-12)


@pytest.mark.parametrize(("chips", "axes"), [(4, "tp cp fsdp dp pp"), (8, "tp dp fsdp")])
def test_the_second_engine_agrees(chips: int, axes: str) -> None:
    model = job(chips, "tpu-v5p")
    options = SpaceOptions(
        fixed={**NARROW, "sharding": frozenset({1, 3})}, axes=frozenset(axes.split()), torus=True
    )
    problem = mesh_problem(model, chips, options)
    proof = minimize(problem.problem, "time")
    found = Driver().run(
        UniformSpace(model=model, options=options, limits=Limits(), chips=(chips,))
    )
    assert proof.decision is not None
    decoded = evaluate_totals(model, problem.decode([proof.decision])).step_time_s[0]
    np.testing.assert_allclose(decoded, found.points[0, 0], rtol=1e-3)


@pytest.mark.parametrize("number", [1, 2, 4, 6, 7, 9, 10])
def test_tables_and_bounds_hold_for_layouts(number: int) -> None:
    """Costs from the tables are those of the plans, and no bound is above any of them."""
    hardware, chips, experts, options = CASES[number]
    model = job(number, hardware, experts)
    options = replace(options, torus=True)
    space = space_of(model, chips, options)
    columns = space.meshes.columns
    placements = build_placements(model, columns, ORDERS, "efficient")
    candidates = Candidates.build(model, space, placements, np.array([1.0]))
    rows = candidates.expand(np.arange(len(space)))
    plans = replace(
        space.plans.take(rows.plan),
        order=placements.order[rows.placement],
        layouts=placements.layouts,
    )
    direct = evaluate_table(model, plans)
    times = candidates.costs(rows).time[:, 0]
    np.testing.assert_array_equal(times, direct.step_time_s)
    partial_plans = cross_partial_plans(model, space.meshes, options)
    bounds = PartialPlanBounds.build(model, partial_plans, ORDERS, layouts="efficient")
    least = np.zeros(len(space.meshes), dtype=np.int64)
    corners = bounds.corners(least, np.array([1.0]))[:, 0, 0]
    of_mesh = np.full(len(space.meshes), np.inf)
    np.minimum.at(of_mesh, partial_plans.mesh_id, corners)
    assert np.all(of_mesh[space.mesh_id[rows.plan]] <= times)


@pytest.mark.parametrize("dims", [(2, 2, 1), (4, 4), (4, 6), (2, 4, 4), (12,)])
@pytest.mark.parametrize("ep", [1, 2, 4, 6])
def test_listed_layouts_are_those_of_the_enumeration(dims: tuple[int, ...], ep: int) -> None:
    chips = math.prod(dims)
    wrap = tuple(length > 2 for length in dims)
    torus = Torus(dims=dims, wrap=wrap, link_bytes_per_s=1.0)
    rng = random.Random(chips + ep)
    for _ in range(6):
        mesh = dict.fromkeys(AXES, 1)
        for axis in every_part(chips, rng):
            mesh[axis[0]] *= axis[1]
        listed = layouts_of(dims, wrap, tuple(mesh.values()), ep, "all")
        assert len(listed) == len(every_layout(torus, mesh))
        few = layouts_of(dims, wrap, tuple(mesh.values()), ep, "efficient")
        more = layouts_of(dims, wrap, tuple(mesh.values()), ep, "different")
        assert len(few) <= len(more) <= len(listed)
        assert {tuple(row) for row in few.tolist()} <= {tuple(row) for row in listed.tolist()}


def every_part(chips: int, rng: random.Random) -> Iterator[tuple[str, int]]:
    """Prime factors of a number, each on a random axis."""
    for prime in (2, 3, 5):
        while chips % prime == 0:
            chips //= prime
            yield rng.choice(AXES), prime


def test_a_pattern_fills_its_axis() -> None:
    for length in (1, 2, 12, 16, 20):
        found = patterns(length)
        assert np.all(found.size.prod(axis=1) == length)
        assert len(found.size) == len(list(ways(length)))


def test_unbeaten_rows_are_the_front() -> None:
    rng = np.random.default_rng(5)
    for columns in (1, 2, 4):
        points = rng.integers(0, 4, (60, columns)).astype(np.float64)
        np.testing.assert_array_equal(unbeaten(points), np.sort(nondominated(points)))


def test_jax_has_no_rule_against_layouts() -> None:
    model = job(0, "tpu-v5p")
    layout = (("fsdp", 2), ("tp", 2))
    plans = PlanTable(
        **{
            name: getattr(space_of(model, 4, SpaceOptions()).plans.take(np.array([0])), name)
            for name in PlanTable.__slots__
        }
    )
    plans = replace(
        plans, tp=np.array([2]), fsdp=np.array([2]), order=np.array([120]), layouts=(layout,)
    )
    for rule in applicable(model.framework):
        if rule.name == "placement-offered":
            assert rule.holds(model, plans).all()


@each(("closed", "group", "axes", "gap"), [
    (True, "tp", {"tp": (8, 1)}, 0.5), (False, "tp", {"tp": (8, 1)}, 1.0),
    (True, "tp", {"tp": (2, 4), "dp": (4, 1)}, 2.0),
    (True, "dp", {"tp": (2, 4), "dp": (4, 1)}, 1.0),
    (False, "tp", {"tp": (2, 4), "dp": (4, 1)}, 4.0), (True, "cp", {"tp": (8, 1)}, 0.0),
    (True, "pp", {"pp": (8, 1)}, 1.0), (True, "pp", {"pp": (4, 2), "tp": (2, 1)}, 2.0),
])  # fmt: skip
def test_gaps_of_groups_by_hand(
    *, closed: bool, group: str, axes: dict[str, tuple[int, int]], gap: float
) -> None:
    """Chips between neighbours, half of it where the group goes round a ring; of pp never half."""
    every = patterns(8)
    wanted = [axes.get(axis, (1, 1)) for axis in AXES]
    (row,) = np.flatnonzero(
        (every.size == [size for size, _ in wanted]).all(axis=1)
        & (every.stride == [stride for _, stride in wanted]).all(axis=1)
    )
    groups = [*listed._GROUPS, ("pp",)]
    found = listed._gaps(every, 8, closed, 1, 1)[row, groups.index((group,))]
    assert found == gap


@each(("group", "used"), [
    ("tp", ("gather_s", "reduce_s")), ("dp", ("gather_s", "reduce_s")),
    ("fsdp", ("gather_s", "reduce_s")), ("cp", ("gather_s", "exchange_s")),
    ("ep", ("exchange_s",)), ("pp", ("send_s",)),
])  # fmt: skip
@each("lines", [NO_LINES, Lines(gather=1, reduce=1, exchange=1)])
def test_a_layout_that_is_better_in_any_cost_that_a_group_uses_is_kept(
    group: str, used: tuple[str, ...], lines: Lines
) -> None:
    """Which costs those are, its collectives say: they take less where one of them is less."""
    usual = np.ones((18 + lines.width, 2))
    seconds_rows = [*range(2, 15), *range(18, len(usual))]

    def costs_of(features: np.ndarray) -> GroupCosts:
        return GroupCosts(features, levels=1, lines=lines)

    def seconds(features: np.ndarray) -> list[float]:
        costs = costs_of(features)
        return [float(getattr(costs, name)(np.array([8.0]))[0]) for name in used]

    def less(*of_layout: int) -> np.ndarray:
        features = usual.copy()
        features[of_layout, range(len(of_layout))] = 0.5
        return features

    first, *others = [row for row in seconds_rows if seconds(less(row)) != seconds(usual)]
    mesh = np.zeros(2, dtype=np.int64)
    for row in {*seconds_rows} - {first}:
        costs = {group: costs_of(less(row, first))}
        kept = efficient(mesh, {group: np.arange(2)}, costs)
        assert kept.tolist() == ([0, 1] if row in others else [1]), row


@each("mode", ["nccl", "best"])
def test_a_group_alone_takes_no_more_than_in_any_layout_and_not_less_than_nothing(
    mode: str,
) -> None:
    model = job(0, "tpu-v5p")
    assumptions = replace(model.assumptions, collectives=mode)
    model = replace(model, assumptions=assumptions, tables=table_of)
    options = SpaceOptions(axes=frozenset({"tp", "cp", "dp"}))
    meshes = enumerate_meshes(model, (8,), options).columns
    placements = build_placements(model, meshes, ORDERS, "every")
    mesh = np.repeat(np.arange(len(meshes["tp"])), np.diff(placements.start))
    for name in ("tp", "cp"):
        costs = placements.costs[name].features[:, placements.classes[name]]
        least = least_alone(model.fabric(8), meshes[name], 8)
        assert np.all(least[2:] >= 0)
        assert np.all(least[2:, mesh] <= costs[2:])

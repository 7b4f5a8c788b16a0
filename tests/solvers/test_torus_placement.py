"""Axes along a torus: CP-SAT finds what trying everything finds, and what the search finds."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases import each

from planner.base.arrays import IntArray
from planner.network.fabric import Torus
from planner.network.placement import group_segments
from planner.network.torus import torus_ring_rate
from planner.plan import AXES
from planner.search.placements.patterns import layouts_of, patterns
from solvers.solution import Status
from solvers.torus import TorusMesh, TorusProblem, patterns_of, place

NAMES = ("tp", "cp", "fsdp")
GROUPS = {"tp": ("tp",), "fsdp": ("fsdp",), "shard": ("cp", "fsdp")}
SHAPES = ((2, 2, 1), (4, 4), (4, 4, 8), (2, 4, 4), (12,), (12, 4), (20, 2), (6, 4), (3, 5), (16,))
Labels = tuple[tuple[str, int], ...]


def labellings(length: int, axes: tuple[str, ...]) -> Iterator[Labels]:
    """Every way to give each digit of every mixed-radix numbering in primes to a mesh axis.

    Here an axis may come back further out, as in tp, cp, tp; patterns leave that out.
    """
    if length == 1:
        yield ()
    for prime in (p for p in (2, 3, 5) if length % p == 0):
        for axis in axes:
            for outer in labellings(length // prime, axes):
                yield ((axis, prime), *outer)


def seen(
    labels: Labels, group: tuple[str, ...], length: int, *, closed: bool
) -> tuple[int, Fraction]:
    """Members of a group on a physical axis, and links per member, by their positions."""
    at, span, inside = [0], 1, 1
    for axis, factor in labels:
        if axis in group:
            at = [position + digit * inside for digit in range(factor) for position in at]
            span = inside * factor
        inside *= factor
    assert max(at) < span <= length
    return len(at), Fraction((2 if closed and span == length else 1) * len(at), span)


def cheapest(problem: TorusProblem) -> float:
    """The least objective over every labelling of every physical axis."""
    best = math.inf
    meshes: dict[tuple[int, ...], list[TorusMesh]] = {}
    for mesh in problem.meshes:
        sizes = tuple(mesh.sizes.get(axis, 1) for axis in problem.axes)
        meshes.setdefault(sizes, []).append(mesh)
    kinds = [footprints(problem, at) for at in range(len(problem.dims))]
    for choice in product(*kinds):
        sizes = tuple(math.prod(c) for c in zip(*(parts for parts, _ in choice), strict=True))
        for mesh in meshes.get(sizes, []):
            costs = [
                cost(mesh.volumes[name], [of_axis[number] for _, of_axis in choice])
                for number, name in enumerate(problem.groups)
            ]
            best = min(best, max(costs) if problem.overlapped else sum(costs))
    return best


def footprints(
    problem: TorusProblem, at: int
) -> set[tuple[tuple[int, ...], tuple[tuple[int, Fraction], ...]]]:
    """The different (sizes of the mesh axes, what each group sees) on a physical axis."""
    length, closed = problem.dims[at], problem.wrap[at]
    found = set()
    for labels in labellings(length, problem.axes):
        sizes = tuple(math.prod(f for name, f in labels if name == a) for a in problem.axes)
        groups = problem.groups.values()
        found.add((sizes, tuple(seen(labels, g, length, closed=closed) for g in groups)))
    return found


def cost(volume: int, of_axes: list[tuple[int, Fraction]]) -> int:
    """A volume over the rate of a group, rounded up."""
    size = math.prod(members for members, _ in of_axes)
    limits = [sum(own for members, own in of_axes if members > 1)]
    limits += [Fraction(size - 1, members - 1) * own for members, own in of_axes if members > 1]
    return 0 if size == 1 else math.ceil(volume / min(limits))


def meshes_of(chips: int) -> list[dict[str, int]]:
    """Every mesh of three axes."""
    sizes = [n for n in range(1, chips + 1) if chips % n == 0]
    return [
        {"tp": tp, "cp": cp, "fsdp": chips // tp // cp}
        for tp, cp in product(sizes, sizes)
        if chips % (tp * cp) == 0
    ]


@st.composite
def problems(draw: st.DrawFn) -> TorusProblem:
    """Small tori, closed or open, with any volumes."""
    dims = draw(st.sampled_from(SHAPES))
    wrap = tuple(length > 2 and draw(st.booleans()) for length in dims)
    every = meshes_of(math.prod(dims))
    some = draw(st.lists(st.sampled_from(every), min_size=1, max_size=8))
    names = draw(st.sets(st.sampled_from(sorted(GROUPS)), min_size=1))
    volume = st.integers(0, 100_000)
    return TorusProblem(
        dims=dims,
        wrap=wrap,
        axes=NAMES,
        groups={name: GROUPS[name] for name in sorted(names)},
        meshes=tuple(
            TorusMesh(sizes=mesh, volumes={name: draw(volume) for name in sorted(names)})
            for mesh in some
        ),
        overlapped=draw(st.booleans()),
    )


@given(problems())
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_cp_sat_is_brute_force(problem: TorusProblem) -> None:
    found = place(problem)
    assert found.status is Status.OPTIMAL
    assert found.objective == found.bound == cheapest(problem)
    assert found.decision is not None
    mesh = problem.meshes[found.decision.mesh]
    for axis in NAMES:
        parts = (part for pattern in found.decision.patterns for name, part in pattern)
        own = [
            part for pattern in found.decision.patterns for name, part in pattern if name == axis
        ]
        assert math.prod(own) == mesh.sizes[axis], list(parts)
    for pattern, length in zip(found.decision.patterns, problem.dims, strict=True):
        assert math.prod(part for _, part in pattern) == length


@each(
    ("dims", "wrap"),
    [
        ((2, 2, 1), (False, False, False)),
        ((4, 4, 8), (True, True, True)),
        ((4, 4, 4), (True, True, True)),
        ((2, 4, 4), (False, False, False)),
        ((12, 4), (True, False)),
    ],
)
@each("overlapped", [True, False])
def test_the_search_lists_layouts_as_good(
    dims: tuple[int, ...], wrap: tuple[bool, ...], overlapped: bool
) -> None:
    """Pure communication: the least over the layouts of the search, with the rates of the model."""
    rng = np.random.default_rng(math.prod(dims))
    names = {"tp": ("tp",), "shard": ("cp", "fsdp"), "data": ("cp", "fsdp", "dp")}
    meshes = []
    for _ in range(12):
        sizes = dict.fromkeys(AXES, 1)
        for length in dims:
            for prime in (2, 3):
                for _ in range(next(k for k in range(9) if length % prime ** (k + 1))):
                    sizes[str(rng.choice(["tp", "cp", "fsdp", "dp"]))] *= prime
        volumes = {name: int(rng.integers(1, 10**6)) for name in names}
        meshes.append(TorusMesh(sizes=sizes, volumes=volumes))
    problem = TorusProblem(
        dims=dims, wrap=wrap, axes=AXES, groups=names, meshes=tuple(meshes), overlapped=overlapped
    )
    torus = Torus(dims=dims, wrap=wrap, link_bytes_per_s=1.0)
    best = min(least_of_search(torus, mesh, names, overlapped=overlapped) for mesh in meshes)
    found = place(problem)
    assert found.status is Status.OPTIMAL
    assert found.objective == best


def least_of_search(
    torus: Torus, mesh: TorusMesh, names: dict[str, tuple[str, ...]], *, overlapped: bool
) -> float:
    """The least objective over the efficient layouts of a mesh."""
    chosen = layouts_of(torus.dims, torus.wrap, tuple(mesh.sizes.values()), 1, "efficient")
    parts: dict[str, list[tuple[IntArray, IntArray]]] = {axis: [] for axis in AXES}
    inside = 1
    for at, length in enumerate(torus.dims):
        of_axis = patterns(length)
        for i, axis in enumerate(AXES):
            size, stride = of_axis.size[chosen[:, at], i], of_axis.stride[chosen[:, at], i]
            parts[axis].append((size, stride * inside))
        inside *= length
    groups = group_segments(parts, *np.ones((2, len(chosen)), dtype=np.int64))
    costs = []
    for name in names:
        size = np.prod([count for count, _ in groups[name]], axis=0)
        rate = torus_ring_rate(torus, size, groups[name])
        exact = mesh.volumes[name] / rate
        costs.append(np.where(size > 1, np.ceil(exact - 1e-6), 0.0))
    total = np.max(costs, axis=0) if overlapped else np.sum(costs, axis=0)
    return float(total.min())


def test_the_whole_pod_is_quick() -> None:
    """16 x 16 x 16 with every mesh of tp and fsdp: tp 4 as 2 x 2 is as fast as one axis of 4 is."""
    meshes = tuple(
        TorusMesh(
            sizes={"tp": tp, "fsdp": 4096 // tp},
            volumes={"tp": 40_000 * (tp - 1), "fsdp": 10**6 // tp},
        )
        for tp in (1, 2, 4, 8, 16, 32)
    )
    problem = TorusProblem(
        dims=(16, 16, 16),
        wrap=(True, True, True),
        axes=("tp", "fsdp"),
        groups={"tp": ("tp",), "fsdp": ("fsdp",)},
        meshes=meshes,
    )
    found = place(problem)
    assert found.status is Status.OPTIMAL
    assert found.decision is not None
    assert found.objective == max(found.decision.costs.values())


def test_what_cannot_be_a_problem_is_refused() -> None:
    with pytest.raises(ValueError, match="fill"):
        TorusProblem(
            dims=(4,), wrap=(True,), axes=("tp",), groups={},
            meshes=(TorusMesh(sizes={"tp": 2}, volumes={}),),
        )  # fmt: skip
    with pytest.raises(ValueError, match="describe"):
        TorusProblem(dims=(4,), wrap=(), axes=("tp",), groups={}, meshes=())
    whole = TorusMesh(sizes={"tp": 4}, volumes={"tp": 2**60})
    problem = TorusProblem(
        dims=(4,), wrap=(True,), axes=("tp",), groups={"tp": ("tp",)}, meshes=(whole,)
    )
    with pytest.raises(ValueError, match="scale"):
        place(problem)
    nothing = TorusProblem(dims=(4,), wrap=(True,), axes=("tp",), groups={}, meshes=())
    assert place(nothing).status is Status.INFEASIBLE


def test_patterns_use_every_axis_once() -> None:
    assert len(list(patterns_of(16, ("tp", "fsdp")))) == 2 + 6
    assert list(patterns_of(1, ("tp",))) == [()]

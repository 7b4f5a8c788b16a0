"""Axes in parts: groups against lists of ranks, rates of slices, twisted and partial ones."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from cost.reference_network import grouping
from support.cases import each

from hardware_db import load_chip, load_cluster
from network.enumeration import groups_of, segments_of
from planner.assumptions.assumptions import calibrated
from planner.network.classes import group_classes
from planner.network.collectives import group_costs
from planner.network.fabric import Torus, build_fabric
from planner.network.placement import GROUPS, Mesh, axis_segments, group_segments, segments
from planner.network.torus import torus_exchange_s_per_byte, torus_ring_rate
from planner.network.where import crossed_levels, torus_words
from planner.plan import AXES, ORDERS
from planner.plan.ranks import Layout

LAYOUTS: tuple[Layout, ...] = (
    (("fsdp", 4), ("tp", 2), ("fsdp", 3)),
    (("tp", 2), ("pp", 2), ("dp", 2), ("tp", 2), ("pp", 3)),
    (("cp", 2), ("fsdp", 2), ("cp", 2), ("dp", 3), ("fsdp", 2)),
    (("dp", 4), ("fsdp", 2), ("tp", 2), ("dp", 2)),
    (("tp", 8),),
)


def sizes_of(layout: Layout) -> dict[str, int]:
    """The mesh of a layout."""
    return {axis: math.prod(n for name, n in layout if name == axis) for axis in AXES}


def mesh_of(layouts: tuple[Layout, ...], ep: int = 1) -> Mesh:
    """One row per layout, then one row per mesh in the order of the axes."""
    sizes = [sizes_of(layout) for layout in layouts]
    columns = {axis: np.array([mesh[axis] for mesh in sizes] * 2) for axis in AXES}
    codes = [*range(len(ORDERS), len(ORDERS) + len(layouts)), *[0] * len(layouts)]
    one = np.ones(2 * len(sizes), dtype=np.int64)
    return Mesh(**columns, ep=ep * one, etp=one, order=np.array(codes), layouts=layouts)


def digits(rank: int, layout: Layout) -> dict[str, int]:
    """The coordinate of a rank on every axis, its innermost part the lowest digit."""
    at = dict.fromkeys(AXES, 0)
    weight = dict.fromkeys(AXES, 1)
    for axis, size in layout:
        rank, here = divmod(rank, size)
        at[axis] += here * weight[axis]
        weight[axis] *= size
    return at


def groups_by_digits(layout: Layout, members: tuple[str, ...]) -> set[frozenset[int]]:
    """Ranks that differ in some axes only."""
    found: dict[tuple[int, ...], set[int]] = {}
    for rank in range(math.prod(size for _, size in layout)):
        at = digits(rank, layout)
        rest = tuple(at[axis] for axis in AXES if axis not in members)
        found.setdefault(rest, set()).add(rank)
    return {frozenset(group) for group in found.values()}


def pairs_of(found: dict[str, list], name: str, row: int) -> list[tuple[int, int]]:
    """A group of one row as (size, stride) pairs above 1."""
    pairs = [(int(size[row]), int(stride[row])) for size, stride in found[name]]
    return [pair for pair in pairs if pair[0] > 1] or [(1, 1)]


@each("row", range(len(LAYOUTS)))
def test_groups_are_the_ranks_that_differ_in_their_axes_only(row: int) -> None:
    found = segments(mesh_of(LAYOUTS))
    ranks = math.prod(size for _, size in LAYOUTS[row])
    axes = {
        "tp": ("tp",), "cp": ("cp",), "pp": ("pp",), "shard": ("cp", "fsdp"), "replica": ("dp",),
        "data": ("cp", "fsdp", "dp"),
    }  # fmt: skip
    for name, members in axes.items():
        groups = groups_of(pairs_of(found, name, row), ranks)
        assert {frozenset(g) for g in groups} == groups_by_digits(LAYOUTS[row], members)


def test_orders_beside_layouts_are_as_alone() -> None:
    both = mesh_of(LAYOUTS, ep=2)
    late = both.take(np.arange(len(LAYOUTS), 2 * len(LAYOUTS)))
    alone = Mesh(**{axis: getattr(late, axis) for axis in (*AXES, "ep", "etp", "order")})
    mixed, plain = segments(both), segments(alone)
    for row in range(len(LAYOUTS)):
        for name in GROUPS:
            there = pairs_of(mixed, name, len(LAYOUTS) + row)
            here = pairs_of(plain, name, row)
            ranks = int(alone.chips[row])
            assert {*groups_of(there, ranks)} == {*groups_of(here, ranks)}


@each("given", [{}, {"tp": 1, "dp": 2, "fsdp": 1}])
def test_costs_of_all_groups_together_are_those_of_each_alone(given: dict[str, float]) -> None:
    """Bit for bit, on machines of two sizes, with parts of axes and without."""
    cluster = load_cluster("tpu-v5p")
    assumed = calibrated(cluster.chip, "jax")
    fabrics = [build_fabric(cluster.scale(chips), assumed) for chips in (64, 512)]
    for layouts in (LAYOUTS, ((("tp", 4), ("dp", 8)), (("fsdp", 8), ("pp", 2)))):
        groups = segments(mesh_of(layouts, ep=2))
        fabric = np.arange(2 * len(layouts)) % 2
        found = group_classes(fabrics, fabric, groups, given)
        assert set(found) == set(GROUPS)
        for name, (classes, costs) in found.items():
            own, alone = group_classes(fabrics, fabric, {name: groups[name]}, given)[name]
            np.testing.assert_array_equal(costs.features[:, classes], alone.features[:, own])


@each("ep", [1, 2, 4, 8])
def test_experts_take_the_innermost_parts(ep: int) -> None:
    """As when every part were an axis of its own; dp last."""
    layout: Layout = (("fsdp", 2), ("tp", 2), ("dp", 2), ("fsdp", 2))
    mesh = mesh_of((layout,), ep)
    found = segments(mesh)
    experts = groups_of(pairs_of(found, "ep", 0), 16)
    by_hand = {1: [], 2: [1], 4: [1, 2], 8: [1, 2, 8]}[ep]
    first = {sum(picked) for picked in subsets(by_hand)}
    assert set(experts[0]) == first
    copies = groups_of(pairs_of(found, "expert_data", 0), 16)
    assert all(len(set(a) & set(b)) <= 1 for a in experts for b in copies)
    sizes = {name: math.prod(s for s, _ in pairs_of(found, name, 0)) for name in GROUPS}
    assert sizes["expert_shard"] * sizes["expert_replica"] * ep == 16


def subsets(numbers: list[int]) -> list[list[int]]:
    """All subsets."""
    return [[]] if not numbers else [p + q for p in subsets(numbers[1:]) for q in ([], numbers[:1])]


def test_a_layout_of_whole_axes_is_its_order() -> None:
    rng = random.Random(4)
    for order in rng.sample(ORDERS, 12):
        layout = tuple((axis, rng.choice([1, 2, 3])) for axis in order)
        mesh = mesh_of((layout,))
        plain = Mesh(
            **{axis: getattr(mesh, axis)[:1] for axis in (*AXES, "ep", "etp")},
            order=np.array([ORDERS.index(order)]),
        )
        for axis in AXES:
            if sizes_of(layout)[axis] > 1:
                found = pairs_of(axis_segments(mesh), axis, 0)
                assert found == pairs_of(axis_segments(plain), axis, 0)


def test_grouping_of_the_reference_is_that_of_nested_parts() -> None:
    """The independent listing of groups, for a layout that is an order."""
    sizes = {"tp": 2, "cp": 1, "fsdp": 4, "dp": 2, "pp": 1}
    order = ("tp", "fsdp", "cp", "dp", "pp")
    layout = tuple((axis, sizes[axis]) for axis in order)
    listed = grouping(tuple(sizes[axis] for axis in AXES), order, 4).groups
    found = segments(mesh_of((layout,), 4))
    for name in ("ep", "expert_data"):
        groups = groups_of(pairs_of(found, name, 0), 16)
        assert {frozenset(g) for g in groups} == {frozenset(g) for g in listed[name]}


def test_messages_between_stages_in_parts_go_at_the_slowest_step() -> None:
    """pp as 2 neighbours and 2 that are 4 links apart: some messages share a link with 3 others."""
    chip = load_chip("tpu-v5p")
    fabric = build_fabric(load_cluster("tpu-v5p").scale(512), calibrated(chip, "jax"))
    torus = fabric.levels[0].torus
    assert torus is not None
    assert torus.dims == (8, 8, 8)
    costs = group_costs(fabric, segments_of((2, 1), (2, 32)))
    assert costs.send_s(np.array([1e9]))[0] == pytest.approx(1e9 / (torus.link_bytes_per_s / 4))
    near = group_costs(fabric, segments_of((2, 1), (2, 8)))
    assert near.send_s(np.array([1e9]))[0] == pytest.approx(1e9 / torus.link_bytes_per_s)


def fabric_torus(chips: int, hardware: str = "tpu-v5p") -> Torus:
    """The torus of a slice."""
    chip = load_chip(hardware)
    torus = (
        build_fabric(load_cluster(hardware).scale(chips), calibrated(chip, "jax")).levels[0].torus
    )
    assert torus is not None
    return torus


def whole(torus: Torus) -> list:
    """The group of all chips."""
    return segments_of((math.prod(torus.dims), 1))


def test_a_twisted_slice_exchanges_faster_as_a_whole_only() -> None:
    for chips, gain in ((128, 1.63), (256, 1.31), (512, 1.0)):
        torus = fabric_torus(chips)
        straight = Torus(dims=torus.dims, wrap=torus.wrap, link_bytes_per_s=torus.link_bytes_per_s)
        before, after = (torus_exchange_s_per_byte(t, whole(t))[0] for t in (straight, torus))
        assert before / after == pytest.approx(gain)
        part = segments_of((torus.dims[0] * torus.dims[1], 1))
        same = [torus_exchange_s_per_byte(t, part)[0] for t in (straight, torus)]
        assert same[0] == same[1]
        rings = [torus_ring_rate(t, np.array([chips]), whole(t))[0] for t in (straight, torus)]
        assert rings[0] == rings[1]


def test_partial_slices() -> None:
    """2x2x1 has two open axes of one link each way; the rings of 4x4x8 close, the long one too."""
    small, large = fabric_torus(4), fabric_torus(128)
    assert sorted(small.dims) == [1, 2, 2]
    assert not any(small.wrap)
    link = small.link_bytes_per_s
    assert torus_ring_rate(small, np.array([4]), whole(small))[0] == pytest.approx(2 * link)
    assert large.dims == (4, 4, 8)
    assert all(large.wrap)
    assert torus_ring_rate(large, np.array([128]), whole(large))[0] == pytest.approx(6 * link)
    tp = segments_of((2, 1), (2, 4))  # tp 4 as 2 x 2: one link on each of two axes
    assert torus_ring_rate(large, np.array([4]), tp)[0] == pytest.approx(2 * link)


def test_a_box_of_parts_adds_up_its_axes() -> None:
    """fsdp 1024 beside tp 2 x 2: a whole ring and two that skip every other chip."""
    torus = fabric_torus(4096)
    link = torus.link_bytes_per_s
    dp = segments_of((16, 1), (8, 32), (8, 512))
    assert torus_ring_rate(torus, np.array([1024]), dp)[0] == pytest.approx((2 + 1 + 1) * link)


def test_words() -> None:
    chip = load_chip("tpu-v5p")

    def words(chips: int, *ranks: tuple[str, int]) -> str:
        fabric = build_fabric(load_cluster("tpu-v5p").scale(chips), calibrated(chip, "jax"))
        return torus_words(fabric, ranks)

    assert words(4096, ("fsdp", 256), ("tp", 4), ("fsdp", 4)) == (
        "x (16): fsdp 16; y (16): fsdp 16; z (16): tp 4, fsdp 4; all wrap"
    )
    assert (
        words(8, ("tp", 2), ("dp", 4)) == "x (2, open): tp 2; y (2, open): dp 2; z (2, open): dp 2"
    )
    assert words(12288, ("tp", 16), ("fsdp", 16), ("dp", 48)).endswith("all wrap; outside: dp 2")
    assert words(64, ("tp", 1), ("dp", 64)).startswith("x (4): dp 4")
    assert words(4480, ("tp", 3), ("dp", 7)) == ""
    switched = build_fabric(
        load_cluster("dgx-h100-ndr").scale(16),
        calibrated(load_chip("h100-sxm5-80"), "megatron-core"),
    )
    assert torus_words(switched, (("tp", 16),)) == ""


def test_levels_of_axes_in_parts() -> None:
    chip = load_chip("tpu-v5p")
    fabric = build_fabric(load_cluster("tpu-v5p").scale(12288), calibrated(chip, "jax"))
    layout: Layout = (("tp", 16), ("fsdp", 16), ("dp", 24), ("fsdp", 2))
    crossed = crossed_levels(fabric, mesh_of((layout,)).take(np.array([0])))
    assert crossed == {"tp": ("ici",), "fsdp": ("ici", "dcn"), "dp": ("ici",)}
    assert all(len(a) <= len(b) for a, b in pairwise([crossed["tp"], crossed["fsdp"]]))


def test_group_segments_of_one_part_per_axis_are_the_groups() -> None:
    sizes = {axis: np.array([2]) for axis in AXES}
    mesh = Mesh(**sizes, ep=np.array([4]), etp=np.array([2]), order=np.array([7]))
    assert str(group_segments(axis_segments(mesh), mesh.ep, mesh.etp)) == str(segments(mesh))

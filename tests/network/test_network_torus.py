"""Rates on a torus against coordinates, link loads and cuts."""

import math
from itertools import pairwise, product

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.cases import each

from network.enumeration import (
    exchange_bound_s,
    exchange_load,
    gather_bound_s,
    groups_of,
    place,
    segments_of,
)
from planner.network.fabric import FabricLevel, Torus
from planner.network.rates import neighbour_rate
from planner.network.torus import torus_exchange_s_per_byte, torus_extents, torus_ring_rate

LINK = 1.0
Pairs = list[tuple[int, int]]
FILTERED = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


def torus_of(dims: tuple[int, ...], wrap: tuple[bool, ...] | bool = True) -> Torus:
    """A torus with links of rate 1."""
    closed = (wrap,) * len(dims) if isinstance(wrap, bool) else wrap
    return Torus(dims=dims, wrap=closed, link_bytes_per_s=LINK)


def even_gaps(groups: list[tuple[int, ...]], dims: tuple[int, ...]) -> bool:
    """Whether every group is a box with one gap per axis."""
    for group in groups:
        places = [place(rank, dims) for rank in group]
        count = 1
        for axis in range(len(dims)):
            at = sorted({spot[axis] for spot in places})
            count *= len(at)
            if len({b - a for a, b in pairwise(at)}) > 1:
                return False
        if count != len(group):
            return False
    return True


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Torus, Pairs]:
    """A torus, partly open, and one or two axes of a mesh whose groups are boxes on it.

    Axes of two chips are open: no machine has a second link between the same two chips.
    """
    dims = tuple(draw(st.sampled_from((2, 4, 8))) for _ in range(draw(st.integers(1, 3))))
    torus = torus_of(dims, tuple(length > 2 and draw(st.booleans()) for length in dims))
    ranks = math.prod(dims)
    assume(2 <= ranks <= 64)
    mesh, rest = [], ranks
    for _ in range(3):
        mesh.append(draw(st.sampled_from([s for s in (1, 2, 4, 8) if rest % s == 0])))
        rest //= mesh[-1]
    mesh.append(rest)
    chosen = sorted(draw(st.sets(st.integers(0, 3), min_size=1, max_size=2)))
    pairs = [(mesh[axis], math.prod(mesh[:axis])) for axis in chosen if mesh[axis] > 1]
    assume(pairs and even_gaps(groups_of(pairs, ranks), dims))
    return torus, pairs


def gather_s(torus: Torus, pairs: Pairs) -> float:
    """Seconds per byte of the code's all-gather."""
    size = math.prod(n for n, _ in pairs)
    rate = torus_ring_rate(torus, np.array([size]), segments_of(*pairs))[0]
    return float((size - 1) / size / rate)


def exchange_s(torus: Torus, pairs: Pairs) -> float:
    """Seconds per byte of the code's all-to-all."""
    return float(torus_exchange_s_per_byte(torus, segments_of(*pairs))[0])


@FILTERED
@given(boxes())
def test_extents_are_those_of_the_coordinates(case: tuple[Torus, Pairs]) -> None:
    torus, pairs = case
    extents = torus_extents(torus, segments_of(*pairs))
    for group in groups_of(pairs, math.prod(torus.dims)):
        places = [place(rank, torus.dims) for rank in group]
        for axis, (length, extent) in enumerate(zip(torus.dims, extents, strict=True)):
            at = sorted({spot[axis] for spot in places})
            assert extent.members[0] == len(at)
            if len(at) > 1:
                gap = at[1] - at[0]
                assert extent.spacing[0] == gap
                assert bool(extent.ring[0]) == (torus.wrap[axis] and len(at) * gap == length)


@FILTERED
@given(boxes())
def test_gathers_along_one_axis_never_beat_the_cuts(case: tuple[Torus, Pairs]) -> None:
    """All groups gather at once: the shards from outside must enter every interval."""
    torus, pairs = case
    extents = torus_extents(torus, segments_of(*pairs))
    assume(sum(extent.members[0] > 1 for extent in extents) == 1)
    bound = gather_bound_s(torus, groups_of(pairs, math.prod(torus.dims)))
    assert gather_s(torus, pairs) >= bound * (1 - 1e-12)


@each(
    ("dims", "pairs"),
    [
        ((16,), [(16, 1)]),
        ((16,), [(4, 4)]),
        ((4, 8), [(4, 1)]),
        ((4, 8), [(8, 4)]),
        ((4, 4, 4), [(2, 2)]),
    ],
)
def test_rings_on_one_axis_meet_the_bound(dims: tuple[int, ...], pairs: Pairs) -> None:
    """Closed rings, spaced ones and their siblings included, leave nothing to gain."""
    torus = torus_of(dims)
    bound = gather_bound_s(torus, groups_of(pairs, math.prod(dims)))
    assert math.isclose(gather_s(torus, pairs), bound, rel_tol=1e-12)


@each("dims", [(16,), (4, 4), (4, 8), (4, 4, 4), (4, 4, 8)])
def test_a_whole_torus_gathers_at_the_rate_of_all_links(dims: tuple[int, ...]) -> None:
    torus, ranks = torus_of(dims), math.prod(dims)
    rate = torus_ring_rate(torus, np.array([ranks]), segments_of((ranks, 1)))[0]
    assert rate == 2 * len(dims) * LINK
    assert gather_s(torus, [(ranks, 1)]) >= gather_bound_s(torus, [tuple(range(ranks))])


@FILTERED
@given(boxes())
def test_exchanges_load_links_as_dimension_ordered_routing(case: tuple[Torus, Pairs]) -> None:
    """Exactly the fullest link of the uniform all-to-all, and never less than the cuts allow."""
    torus, pairs = case
    groups = groups_of(pairs, math.prod(torus.dims))
    found = exchange_s(torus, pairs)
    assert found >= exchange_bound_s(torus, groups) * (1 - 1e-12)
    assert math.isclose(found, exchange_load(torus, groups) / LINK, rel_tol=1e-12)


def every_group(ranks: int) -> list[tuple[int, int]]:
    """All (size, stride) that tile `ranks` ranks."""
    sizes = [size for size in range(2, ranks + 1) if ranks % size == 0]
    return [(n, s) for n in sizes for s in range(1, ranks // n + 1) if ranks // n % s == 0]


SLICES = [
    ((4, 4), False),  # tpu-v5e 16
    ((8, 8), False),  # tpu-v5e 64
    ((16, 16), True),  # tpu-v5e 256
    ((2, 4, 4), False),  # tpu-v5p 32
    ((4, 4, 4), True),  # tpu-v5p 64
    ((4, 4, 12), True),  # tpu-v5p 192
]


@each(("dims", "wrap"), SLICES)
def test_no_gather_of_a_slice_beats_the_cuts(dims: tuple[int, ...], wrap: bool) -> None:
    """Every group of one mesh axis. Rates of axes add up only as far as each carries its share.

    An axis with e of g members and ring rate r must carry (e - 1) / (g r) V seconds, so that the
    rate is at most (g - 1) / (e - 1) r: 4 members, 8 apart on 16 x 16, have 2 x 2 with the links of
    the first axis shared by 8 groups.
    """
    torus, ranks = torus_of(dims, wrap), math.prod(dims)
    for pair in every_group(ranks):
        bound = gather_bound_s(torus, groups_of([pair], ranks))
        assert gather_s(torus, [pair]) >= bound * (1 - 1e-12), pair


@each(("dims", "wrap"), SLICES)
def test_no_exchange_of_a_slice_beats_the_cuts(dims: tuple[int, ...], wrap: bool) -> None:
    """Pairs 3 ranks apart on axes of 4 are no box, and their all-to-all is not free."""
    torus, ranks = torus_of(dims, wrap), math.prod(dims)
    for pair in every_group(ranks):
        bound = exchange_bound_s(torus, groups_of([pair], ranks))
        assert exchange_s(torus, [pair]) >= bound * (1 - 1e-12), pair


def test_gathers_with_a_gap_in_the_middle_do_not_beat_the_cuts() -> None:
    """cp 2, tp 2, fsdp 2 on an open axis of 8: the shard group is ranks 0, 1, 4, 5."""
    torus = torus_of((8,), wrap=False)
    pairs = [(2, 1), (2, 4)]
    groups = groups_of(pairs, 8)
    assert groups == [(0, 1, 4, 5), (2, 3, 6, 7)]
    assert gather_s(torus, pairs) >= gather_bound_s(torus, groups) * (1 - 1e-12)


@st.composite
def any_groups(draw: st.DrawFn) -> tuple[Torus, Pairs]:
    """A torus of any lengths and one to three axes of a mesh on it, boxes or not."""
    dims = tuple(draw(st.lists(st.sampled_from((2, 3, 4, 5, 6, 8, 12)), min_size=1, max_size=3)))
    torus = torus_of(dims, tuple(length > 2 and draw(st.booleans()) for length in dims))
    rest = math.prod(dims)
    assume(4 <= rest <= 240)
    mesh = []
    for _ in range(3):
        mesh.append(draw(st.sampled_from([s for s in range(1, rest + 1) if rest % s == 0])))
        rest //= mesh[-1]
    mesh.append(rest)
    chosen = sorted(draw(st.sets(st.integers(0, 3), min_size=1, max_size=3)))
    pairs = [(mesh[axis], math.prod(mesh[:axis])) for axis in chosen if mesh[axis] > 1]
    assume(pairs)
    return torus, pairs


@settings(FILTERED, max_examples=300)
@given(any_groups())
def test_no_group_at_all_beats_the_cuts(case: tuple[Torus, Pairs]) -> None:
    """Groups that straddle axes, as those of fsdp 32 on 16 x 20 x 28, included."""
    torus, pairs = case
    groups = groups_of(pairs, math.prod(torus.dims))
    assert gather_s(torus, pairs) >= gather_bound_s(torus, groups) * (1 - 1e-12)
    assert exchange_s(torus, pairs) >= exchange_bound_s(torus, groups) * (1 - 1e-12)


def test_groups_that_straddle_axes_are_not_punished_for_it() -> None:
    """(8, 2) on 4 x 6 x 6 is 2 x 4 places, and 6 is no multiple of 4, yet a link carries it.

    Pairs that share a ring of 4 gather 1/8 V at rate 1, then chains of 4 gather 3/4 V at rate 1.
    """
    torus = torus_of((4, 6, 6))
    rate = torus_ring_rate(torus, np.array([8]), segments_of((8, 2)))[0]
    assert math.isclose(rate, LINK)
    assert 7 / 8 / rate >= gather_bound_s(torus, groups_of([(8, 2)], 144))


def ring_of(units: int, unit: int, closed: bool) -> Torus:
    """A ring or line of domains of `unit` chips, with two links of rate 1 per chip."""
    return Torus(dims=(units,), wrap=(closed,), link_bytes_per_s=LINK, unit=unit)


@each(
    ("size", "stride", "inside", "links"),
    [
        (4, 16, 4, 2.0),  # one chip of each of four instances
        (2, 32, 2, 1.0),  # every other instance: two groups share the ring
        (32, 1, 32, 1.0),  # two instances side by side: a line
        (64, 1, 64, 2.0),
        (8, 8, 8, 2.0),
    ],
)
def test_rings_of_instances(size: int, stride: int, inside: int, links: float) -> None:
    """Four instances of 16 chips; chips of equal position form a ring (trn2 ultraserver)."""
    rate = torus_ring_rate(ring_of(4, 16, True), np.array([inside]), segments_of((size, stride)))
    assert rate[0] == links * LINK


def test_an_open_ring_has_one_link_each_way() -> None:
    for size, stride, links in ((4, 1, 1.0), (2, 2, 0.5)):
        segments = segments_of((size, stride))
        assert torus_ring_rate(ring_of(4, 1, False), np.array([size]), segments)[0] == links


def ici(torus: Torus) -> FabricLevel:
    """A level that is one torus."""
    return FabricLevel(
        name="ici",
        scale_out=False,
        domain=math.prod(torus.dims),
        bytes_per_s=2 * len(torus.dims) * LINK,
        base_latency_s=0.0,
        hop_latency_s=0.0,
        torus=torus,
    )


@each("stride", [1, 2, 4, 8, 16, 32])
def test_neighbours_share_the_links_that_they_walk(stride: int) -> None:
    """4 x 4 x 4, all chips send `stride` ranks on along one axis: distance d loads each link d."""
    axis = [s <= stride for s in (1, 4, 16)].count(True) - 1
    distance = stride // 4**axis
    loads = np.zeros((4, 4, 4))
    for at in product(range(4), repeat=3):
        for step in range(distance):
            spot = list(at)
            spot[axis] = (spot[axis] + step) % 4
            loads[tuple(spot)] += 1
    assert loads.max() == loads.min() == distance
    assert neighbour_rate(ici(torus_of((4, 4, 4))), np.array([stride]))[0] == LINK / distance


@each("stride", [3, 6, 12, 24])
def test_neighbours_off_the_axes_are_not_faster_than_the_links_they_walk(stride: int) -> None:
    """4 x 4 x 12, all at once: links walked over links there are bounds the rate."""
    dims = (4, 4, 12)
    ranks, walked = math.prod(dims), 0
    for rank in range(ranks - stride):
        here, there = place(rank, dims), place(rank + stride, dims)
        gaps = (abs(a - b) for a, b in zip(here, there, strict=True))
        walked += sum(min(d, n - d) for d, n in zip(gaps, dims, strict=True))
    links = 2 * len(dims) * ranks
    assert neighbour_rate(ici(torus_of(dims)), np.array([stride]))[0] <= links / walked * LINK

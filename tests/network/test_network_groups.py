"""Members per domain and ring rates against an enumeration of ranks and domains."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
from cost.cases import assumptions_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.cases import each

from hardware_db import load_cluster
from network.enumeration import groups_of, level, members_per_domain, segments_of
from planner.network.fabric import FabricLevel, build_fabric
from planner.network.groups import Segment, membership, merged
from planner.network.rates import level_rate, level_rates, ring_rate

POWERS = (1, 2, 4, 8)


def inside_of(pairs: list[tuple[int, int]], domains: list[int], ranks: int) -> list[int]:
    """The code's members per domain."""
    levels = [level(domain) for domain in (*domains, ranks)]
    return [int(row[0]) for row in membership(levels, segments_of(*pairs)).inside]


@st.composite
def meshes(draw: st.DrawFn, sizes: tuple[int, ...]) -> tuple[list[tuple[int, int]], int]:
    """A group of one or two axes of a four-axis mesh, as (size, stride), and the ranks."""
    lengths = [draw(st.sampled_from(sizes)) for _ in range(4)]
    chosen = sorted(draw(st.sets(st.integers(0, 3), min_size=1, max_size=2)))
    pairs = [(lengths[axis], math.prod(lengths[:axis])) for axis in chosen]
    ranks = math.prod(lengths)
    assume(ranks <= 600)
    return pairs, ranks


@settings(max_examples=200, deadline=None)
@given(meshes(POWERS), st.sampled_from([2, 4, 8, 16]), st.sampled_from([1, 2, 4]))
def test_powers_of_two_are_exact(
    mesh: tuple[list[tuple[int, int]], int], domain: int, leaf: int
) -> None:
    pairs, ranks = mesh
    groups = groups_of(pairs, ranks)
    found = inside_of(pairs, [domain, domain * leaf], ranks)
    for inside, size in zip(found, (domain, domain * leaf), strict=False):
        assert members_per_domain(groups, size) == {inside}
    assert found[-1] == len(groups[0])


@settings(max_examples=200, deadline=None)
@given(meshes((1, 2, 3, 4, 5, 6, 8)), st.sampled_from([4, 8, 16]), st.sampled_from([1, 2, 9]))
def test_evenly_filled_domains_are_exact(
    mesh: tuple[list[tuple[int, int]], int], domain: int, leaf: int
) -> None:
    """Where all domains hold equally many members of one axis, exactly that many are found."""
    pairs, ranks = mesh
    assume(len(pairs) == 1)
    for size in (min(domain, ranks), min(domain * leaf, ranks)):
        counts = members_per_domain(groups_of(pairs, ranks), size)
        if len(counts) == 1 and size % pairs[0][1] == 0:
            assert inside_of(pairs, [size], ranks)[0] == counts.pop()


@settings(max_examples=300, deadline=None)
@given(
    meshes((1, 2, 3, 4, 5, 6, 8)),
    st.sampled_from([2, 4, 8, 16, 36, 72]),
    st.sampled_from([1, 2, 20]),
)
def test_members_per_domain_are_never_overestimated(
    mesh: tuple[list[tuple[int, int]], int], domain: int, leaf: int
) -> None:
    """The worst-placed group of the mesh decides; more members would mean more uplinks."""
    pairs, ranks = mesh
    assume(ranks % domain == 0)
    groups = groups_of(pairs, ranks)
    found = inside_of(pairs, [domain, domain * leaf], ranks)
    for inside, size in zip(found, (domain, domain * leaf), strict=False):
        assert inside <= min(members_per_domain(groups, size)), (pairs, size)


@settings(max_examples=200, deadline=None)
@given(meshes((1, 2, 3, 4, 5, 6, 8)), st.permutations([0, 1]))
def test_merged_segments_are_the_same_groups(
    mesh: tuple[list[tuple[int, int]], int], turn: list[int]
) -> None:
    """In any order of the segments; what adjoins is one segment."""
    pairs, ranks = mesh
    if len(pairs) == 2:
        pairs = [pairs[i] for i in turn]
    found = [(int(n[0]), int(s[0])) for n, s in merged(segments_of(*pairs))]
    assert groups_of(found, ranks) == groups_of(pairs, ranks)
    real = [pair for pair in found if pair[0] > 1]
    assert real == sorted(real, key=lambda pair: pair[1])
    assert all(stride != n * s for (n, s), (_, stride) in pairwise(real))


def test_adjoining_axes_fill_a_node_together() -> None:
    """cp 3 inside fsdp 8: 24 ranks side by side fill three nodes of 8."""
    assert inside_of([(3, 1), (8, 3)], [8], 24)[0] == 8
    assert inside_of([(8, 3), (3, 1)], [8], 24)[0] == 8


def test_pairs_three_ranks_apart_straddle_nodes_of_eight() -> None:
    """tp 3, cp 2 on 24 chips: ranks 6 and 9 are neighbours on cp and sit in different nodes."""
    groups = groups_of([(2, 3)], 24)
    assert (6, 9) in groups
    assert min(members_per_domain(groups, 8)) == 1
    assert inside_of([(2, 3)], [8], 24)[0] == 1


def test_every_domain_size_of_a_gb200_rack() -> None:
    """Domains of 72 chips with the group sizes that divide them, and some that do not."""
    for size in (2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 36, 48, 72, 144):
        ranks = math.lcm(size, 72) * 2
        counts = members_per_domain(groups_of([(size, 1)], ranks), 72)
        found = inside_of([(size, 1)], [72], ranks)[0]
        assert found <= min(counts)
        assert found == min(counts) or len(counts) > 1


def rate_of(levels: Sequence[FabricLevel], segments: list[Segment]) -> float:
    """The code's ring rate of one group."""
    members = membership(levels, segments)
    return float(ring_rate(members, level_rates(levels, members, segments))[0])


def uplink_rate(groups: list[tuple[int, ...]], domain: int, nic: float, local: float) -> float:
    """Ring rate by enumeration: a group owns one NIC per member in each domain that it leaves."""
    rates = []
    for group in groups:
        nodes = {r // domain for r in group}
        here = [sum(r // domain == node for r in group) for node in nodes]
        if max(here) > 1:
            rates.append(local)
        if len(nodes) > 1:
            rates += [nic * members for members in here]
    return min(rates)


@settings(max_examples=200, deadline=None)
@given(meshes(POWERS), st.sampled_from([4, 8]))
def test_nics_are_shared_by_the_groups_beside_each_other(
    mesh: tuple[list[tuple[int, int]], int], domain: int
) -> None:
    pairs, ranks = mesh
    size = math.prod(n for n, _ in pairs)
    assume(size > 1 and ranks >= domain)
    nic, local = 50e9, 450e9
    levels = [level(domain, bytes_per_s=local), level(ranks, bytes_per_s=nic, scale_out=True)]
    segments = segments_of(*pairs)
    found = rate_of(levels, segments)
    assert math.isclose(found, uplink_rate(groups_of(pairs, ranks), domain, nic, local))


def test_all_ring_rates_of_one_node_use_at_most_its_nics() -> None:
    """8 chips a node: whatever the groups, a node's groups together use 8 NICs and no more."""
    nic = 50e9
    levels = [level(8, bytes_per_s=1e15), level(64, bytes_per_s=nic, scale_out=True)]
    for size, stride in ((8, 8), (16, 4), (32, 2), (64, 1), (2, 32), (4, 16)):
        segments = segments_of((size, stride))
        rate = rate_of(levels, segments)
        groups_in_node = sum(
            any(r // 8 == 0 for r in group) for group in groups_of([(size, stride)], 64)
        )
        assert rate * groups_in_node == pytest.approx(8 * nic)


def test_direct_links_carry_one_ring_each() -> None:
    """Fully connected: n members use n - 1 links each; the ring rate is what enters a member."""
    direct = level(8, peer_bytes_per_s=64e9)
    for inside in range(2, 9):
        rate = level_rate(direct, np.array([inside]), segments_of((inside, 1)))[0]
        assert rate == (inside - 1) * 64e9
        # Bound: a member receives (n-1)/n V over n-1 links.
        seconds = (inside - 1) / inside / rate
        assert seconds >= (inside - 1) / inside / ((inside - 1) * 64e9) * (1 - 1e-12)


# Links between the GPUs of a DGX-1 (V100), as `nvidia-smi topo -m` prints them (NV1, NV2).
# Source: Li et al., Evaluating Modern GPU Interconnect, arXiv:1903.04611, figure 1.
CUBE_MESH = (
    (0, 1, 1, 2, 2, 0, 0, 0),
    (1, 0, 2, 1, 0, 2, 0, 0),
    (1, 2, 0, 2, 0, 0, 1, 0),
    (2, 1, 2, 0, 0, 0, 0, 1),
    (2, 0, 0, 0, 0, 1, 1, 2),
    (0, 2, 0, 0, 1, 0, 2, 1),
    (0, 0, 1, 0, 1, 2, 0, 2),
    (0, 0, 0, 1, 2, 1, 2, 0),
)
LINK = 25e9


def direct_rate(group: tuple[int, ...]) -> float:
    """No member can receive faster than over all its links to the other members."""
    return min(sum(CUBE_MESH[one][other] for other in group) for one in group) * LINK


@each(("size", "stride"), [(2, 1), (4, 1), (8, 1), (2, 2), (2, 4), (4, 2)])
def test_cube_mesh_rates_exist_for_some_numbering(size: int, stride: int) -> None:
    """Neighbouring ranks may be numbered at best; strided groups get the links that are left.

    Of all numberings in which neighbours form double links and quads, the best strided pairs have
    1 link and the best strided quads 3 per member.
    """
    by_group = ((2, 2 * LINK), (4, 4 * LINK), (8, 6 * LINK))
    cube = level(8, bytes_per_s=6 * LINK, by_group=by_group)
    found = level_rate(cube, np.array([size]), segments_of((size, stride)))[0]
    best = {
        (2, 1): 2 * LINK,
        (4, 1): 4 * LINK,
        (8, 1): 6 * LINK,
        (2, 2): LINK,
        (2, 4): LINK,
        (4, 2): 3 * LINK,
    }
    assert found <= best[size, stride]


def test_a_quad_and_its_twin_add_up_to_the_cube_mesh() -> None:
    """Groups of two segments: the links of a block, and a share of those that leave it."""
    by_group = ((2, 2 * LINK), (4, 4 * LINK), (8, 6 * LINK))
    cube = level(8, bytes_per_s=6 * LINK, by_group=by_group)
    for pairs, links in (([(2, 1), (2, 4)], 3), ([(4, 1), (2, 4)], 6), ([(2, 1), (4, 2)], 6)):
        inside = np.array([math.prod(size for size, _ in pairs)])
        assert level_rate(cube, inside, segments_of(*pairs))[0] == links * LINK


def test_best_numbering_of_the_cube_mesh() -> None:
    """One numbering reaches the rates of the previous test for every size and stride at once."""
    order = best_order()
    for (size, stride), links in (
        ((2, 1), 2),
        ((4, 1), 4),
        ((2, 2), 1),
        ((2, 4), 1),
        ((4, 2), 3),
        ((8, 1), 6),
    ):
        groups = groups_of([(size, stride)], 8)
        rates = [direct_rate(tuple(order[r] for r in group)) for group in groups]
        assert min(rates) == links * LINK


def best_order() -> tuple[int, ...]:
    """The numbering with the best rates, strided pairs last."""

    def rates(order: tuple[int, ...]) -> tuple[float, ...]:
        return tuple(
            min(direct_rate(tuple(order[r] for r in g)) for g in groups_of([(size, stride)], 8))
            for size, stride in ((2, 1), (4, 1), (2, 4), (2, 2), (4, 2))
        )

    doubles = [p for p in permutations(range(8)) if p[0] == 0 and CUBE_MESH[0][p[1]] == 2]
    neat = [p for p in doubles if all(CUBE_MESH[p[i]][p[i + 1]] == 2 for i in (2, 4, 6))]
    return max(neat, key=rates)


@each("stride", [1, 2, 4, 8])
def test_strided_groups_share_the_links_of_a_ring(stride: int) -> None:
    """On a ring of chips, members `stride` apart share each link with `stride` - 1 sibling groups.

    `hardware_db` has levels of topology ring (trn2 ultraserver, C2C rack) and linear; a closed ring
    of 16 chips with two links each gives a group of 16 / stride members 2 links / stride.
    """
    cluster = load_cluster("c2c-ndr400-rack")
    ring = replace(cluster.levels[0], domain_chips=16)
    cluster = replace(cluster, node_chips=16, levels=(ring,))
    assumed = assumptions_of("c2c-ndr400-rack", "megatron-core")
    fabric = build_fabric(cluster.scale(16), assumed)
    segments = segments_of((16 // stride, stride))
    found = rate_of(fabric.levels, segments)
    assert found <= fabric.levels[0].bytes_per_s / stride * (1 + 1e-12)

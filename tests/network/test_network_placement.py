"""Groups of a mesh against lists of ranks, for all 120 orders of the axes."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from cost.reference_network import grouping, groups_along
from support.cases import each

from network.enumeration import groups_of
from planner.network.groups import Segment
from planner.network.placement import GROUPS, Mesh, segments, strides
from planner.plan import AXES, ORDERS

MESHES = (
    {"tp": 2, "cp": 2, "fsdp": 2, "dp": 2, "pp": 2},
    {"tp": 4, "cp": 1, "fsdp": 2, "dp": 3, "pp": 2},
    {"tp": 2, "cp": 3, "fsdp": 1, "dp": 4, "pp": 1},
    {"tp": 1, "cp": 1, "fsdp": 6, "dp": 2, "pp": 3},
)
EXPERT_DEGREES = (1, 2, 3, 4, 6, 12)


def mesh_of(sizes: dict[str, int], ep: int, etp: int = 1) -> Mesh:
    """One mesh in every order: a table of a row each."""
    every = np.arange(len(ORDERS))
    folded = {**sizes, "ep": ep, "etp": etp}
    columns = {axis: np.full(len(ORDERS), size) for axis, size in folded.items()}
    return Mesh(**columns, order=every)


def pairs_of(parts: Sequence[Segment], order: int) -> list[tuple[int, int]]:
    """A group of one order as (size, stride) pairs."""
    return [(int(size[order]), int(stride[order])) for size, stride in parts]


def as_sets(groups: tuple[tuple[int, ...], ...] | list[tuple[int, ...]]) -> set[frozenset[int]]:
    """Groups without order."""
    return {frozenset(group) for group in groups}


@each("sizes", MESHES)
def test_strides_are_products_of_the_axes_inside(sizes: dict[str, int]) -> None:
    found = strides(mesh_of(sizes, 1))
    for code, order in enumerate(ORDERS):
        assert found[order[0]][code] == 1
        for inner, outer in pairwise(order):
            assert found[outer][code] == found[inner][code] * sizes[inner]


@each("sizes", MESHES)
def test_groups_are_the_ranks_that_differ_in_their_axes_only(sizes: dict[str, int]) -> None:
    key = tuple(sizes[axis] for axis in AXES)
    ranks = math.prod(key)
    axes = {
        "tp": ("tp",),
        "cp": ("cp",),
        "pp": ("pp",),
        "shard": ("cp", "fsdp"),
        "replica": ("dp",),
        "data": ("cp", "fsdp", "dp"),
    }
    found = segments(mesh_of(sizes, 1))
    for code, order in enumerate(ORDERS):
        for name, members in axes.items():
            expected = groups_along(key, order, members)  # type: ignore[arg-type]
            assert as_sets(groups_of(pairs_of(found[name], code), ranks)) == as_sets(expected)


@each("sizes", MESHES)
@each("ep", EXPERT_DEGREES)
def test_expert_groups_partition_every_stage(sizes: dict[str, int], ep: int) -> None:
    """Each group has ep ranks of one stage; what is left replicates exactly its experts."""
    ranks = math.prod(sizes.values())
    stage = ranks // sizes["pp"]
    if stage % ep:
        return
    found = segments(mesh_of(sizes, ep))
    assert set(found) == set(GROUPS)
    for code, order in enumerate(ORDERS):
        experts = groups_of(pairs_of(found["ep"], code), ranks)
        copies = groups_of(pairs_of(found["expert_data"], code), ranks)
        assert {len(group) for group in experts} == {ep}
        assert {len(group) for group in copies} == {stage // ep}
        owner = stage_of(sizes, order)
        for group in (*experts, *copies):
            assert len({owner[rank] for rank in group}) == 1
        for group in experts:
            for other in copies:
                assert len(set(group) & set(other)) <= 1


def stage_of(sizes: dict[str, int], order: tuple[str, ...]) -> list[int]:
    """Pipeline stage of every rank."""
    inner = math.prod(sizes[axis] for axis in order[: order.index("pp")])
    return [rank // inner % sizes["pp"] for rank in range(math.prod(sizes.values()))]


@each("ep", [1, 2, 4, 8, 16])
def test_nested_expert_groups_are_consecutive_ranks_of_the_stage(ep: int) -> None:
    """Megatron's folding: ep neighbours in the order of the axes without pp, dp outermost."""
    sizes = MESHES[0]
    key = tuple(sizes[axis] for axis in AXES)
    found = segments(mesh_of(sizes, ep))
    for code, order in enumerate(ORDERS):
        listed = grouping(key, order, ep).groups
        for name in ("ep", "expert_data", "expert_shard", "expert_replica"):
            groups = groups_of(pairs_of(found[name], code), math.prod(key))
            assert as_sets(groups) == as_sets(listed[name]), (name, order)


@each("etp", [2, 4, 8])
@each("ep", [1, 2, 4])
def test_ranks_that_share_an_expert_are_the_innermost_of_its_group(ep: int, etp: int) -> None:
    """Neighbours of the order without pp, dp outermost; with ep they are the group of ep x etp."""
    sizes = MESHES[0]
    key = tuple(sizes[axis] for axis in AXES)
    if ep * etp > 16:
        return
    found, ranks = segments(mesh_of(sizes, ep, etp)), math.prod(key)
    for code, order in enumerate(ORDERS):
        whole = as_sets(grouping(key, order, ep * etp).groups["ep"])
        sharing = as_sets(grouping(key, order, etp).groups["ep"])
        assert as_sets(groups_of(pairs_of(found["etp"], code), ranks)) == sharing
        dealt = groups_of(pairs_of(found["ep"], code), ranks)
        assert {len(group) for group in dealt} == {ep}
        for group in dealt:
            assert any(set(group) <= set(one) for one in whole)
            assert all(len(set(group) & set(one)) <= 1 for one in sharing)
        for name in ("expert_data", "expert_shard", "expert_replica"):
            listed = grouping(key, order, ep * etp).groups[name]
            assert as_sets(groups_of(pairs_of(found[name], code), ranks)) == as_sets(listed)


@each("sizes", MESHES)
def test_shard_and_replica_make_up_the_copies(sizes: dict[str, int]) -> None:
    """Sizes multiply: shard x replica = data, for dense and for expert state."""
    stage = math.prod(sizes.values()) // sizes["pp"]
    for ep in (e for e in EXPERT_DEGREES if stage % e == 0):
        found = segments(mesh_of(sizes, ep))
        size = {name: np.prod([s for s, _ in found[name]], axis=0) for name in GROUPS}
        assert np.all(size["shard"] * size["replica"] == size["data"])
        assert np.all(size["expert_shard"] * size["expert_replica"] == size["expert_data"])
        assert np.all(size["expert_data"] * size["ep"] == size["data"] * size["tp"])

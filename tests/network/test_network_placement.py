"""Groups of a mesh against lists of ranks, for all 120 orders of the axes."""

import math
from itertools import pairwise

import numpy as np
from cost.reference_network import grouping, groups_along
from support.cases import each

from network.enumeration import groups_of
from planner.network.placement import GROUPS, Mesh, segments, strides
from planner.plan import AXES, ORDERS

MESHES = (
    {"tp": 2, "cp": 2, "fsdp": 2, "dp": 2, "pp": 2},
    {"tp": 4, "cp": 1, "fsdp": 2, "dp": 3, "pp": 2},
    {"tp": 2, "cp": 3, "fsdp": 1, "dp": 4, "pp": 1},
    {"tp": 1, "cp": 1, "fsdp": 6, "dp": 2, "pp": 3},
)
EXPERT_DEGREES = (1, 2, 3, 4, 6, 12)


def mesh_of(sizes: dict[str, int], ep: int, order: int) -> Mesh:
    """One mesh as a table of one row."""
    columns = {axis: np.array([size]) for axis, size in sizes.items()}
    return Mesh(**columns, ep=np.array([ep]), order=np.array([order]))


def pairs_of(mesh: Mesh, name: str) -> list[tuple[int, int]]:
    """A group as (size, stride) pairs."""
    return [(int(size[0]), int(stride[0])) for size, stride in segments(mesh)[name]]


def as_sets(groups: tuple[tuple[int, ...], ...] | list[tuple[int, ...]]) -> set[frozenset[int]]:
    """Groups without order."""
    return {frozenset(group) for group in groups}


@each("sizes", MESHES)
def test_strides_are_products_of_the_axes_inside(sizes: dict[str, int]) -> None:
    for code, order in enumerate(ORDERS):
        found = strides(mesh_of(sizes, 1, code))
        assert found[order[0]][0] == 1
        for inner, outer in pairwise(order):
            assert found[outer][0] == found[inner][0] * sizes[inner]


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
    for code, order in enumerate(ORDERS):
        mesh = mesh_of(sizes, 1, code)
        for name, members in axes.items():
            expected = groups_along(key, order, members)  # type: ignore[arg-type]
            assert as_sets(groups_of(pairs_of(mesh, name), ranks)) == as_sets(expected)


@each("sizes", MESHES)
@each("ep", EXPERT_DEGREES)
def test_expert_groups_partition_every_stage(sizes: dict[str, int], ep: int) -> None:
    """Each group has ep ranks of one stage; what is left replicates exactly its experts."""
    ranks = math.prod(sizes.values())
    stage = ranks // sizes["pp"]
    if stage % ep:
        return
    for code, order in enumerate(ORDERS):
        mesh = mesh_of(sizes, ep, code)
        assert set(segments(mesh)) == set(GROUPS)
        experts = groups_of(pairs_of(mesh, "ep"), ranks)
        copies = groups_of(pairs_of(mesh, "expert_data"), ranks)
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
    for code, order in enumerate(ORDERS):
        mesh = mesh_of(sizes, ep, code)
        listed = grouping(key, order, ep).groups
        for name in ("ep", "expert_data", "expert_shard", "expert_replica"):
            found = groups_of(pairs_of(mesh, name), math.prod(key))
            assert as_sets(found) == as_sets(listed[name]), (name, order)


@each("sizes", MESHES)
def test_shard_and_replica_make_up_the_copies(sizes: dict[str, int]) -> None:
    """Sizes multiply: shard x replica = data, for dense and for expert state."""
    stage = math.prod(sizes.values()) // sizes["pp"]
    for ep in (e for e in EXPERT_DEGREES if stage % e == 0):
        for code in range(0, len(ORDERS), 7):
            mesh = mesh_of(sizes, ep, code)
            size = {n: math.prod(s for s, _ in pairs_of(mesh, n)) for n in GROUPS}
            assert size["shard"] * size["replica"] == size["data"]
            assert size["expert_shard"] * size["expert_replica"] == size["expert_data"]
            assert size["expert_data"] * size["ep"] == size["data"] * size["tp"]

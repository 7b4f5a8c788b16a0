"""Which ranks form each communication group of a plan: (size, stride) segments per axis.

`order` lists the axes innermost first; the stride of an axis is the product of the sizes of the
axes inside it. Where a layout cuts an axis into parts (`planner.plan.ranks`), the axis has a
segment for each, whose stride is the product of the parts inside it. Experts fold over the other
axes but
pp: an expert group takes ranks from tp, cp and fsdp, innermost first (Megatron-LM,
`core/parallel_state.py`), and from the replicas of dp only when those are used up, so that what a
chip holds does not depend on the order of the axes. Of these ranks the innermost share each expert
(etp), those above them have different experts (ep). What is left of those axes replicates or
shards the same experts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import IntArray
from planner.network.groups import Segment
from planner.plan import AXES, ORDERS
from planner.plan.ranks import Layout

GROUPS = (
    "tp", "cp", "ep", "etp", "pp", "shard", "replica", "data",
    "expert_shard", "expert_replica", "expert_data",
)  # fmt: skip
EXPERT_GROUPS = ("ep", "etp", "expert_shard", "expert_replica", "expert_data")
_FOLDED = ("tp", "cp", "fsdp", "dp")
_SIZES = (*AXES, "ep", "etp")
_INSIDE_OUT = np.array([[AXES.index(axis) for axis in order] for order in ORDERS])


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """The axis sizes and the order of n plans, (n,) each; all that placement depends on.

    `order` indexes `ORDERS`, and from `len(ORDERS)` on `layouts`.
    """

    tp: IntArray
    cp: IntArray
    fsdp: IntArray
    dp: IntArray
    pp: IntArray
    ep: IntArray
    etp: IntArray
    order: IntArray
    layouts: tuple[Layout, ...] = ()

    def __len__(self) -> int:
        return len(self.tp)

    @property
    def chips(self) -> IntArray:
        """(n,) chips used."""
        return self.tp * self.cp * self.fsdp * self.dp * self.pp

    def take(self, index: IntArray) -> Mesh:
        """The meshes of `index`."""
        columns = {name: getattr(self, name)[index] for name in (*_SIZES, "order")}
        return Mesh(**columns, layouts=self.layouts)

    @staticmethod
    def joined(meshes: Sequence[Mesh]) -> Mesh:
        """Meshes one after the other, at least one; all have the same layouts."""
        names = (*_SIZES, "order")
        columns = {name: np.concatenate([getattr(one, name) for one in meshes]) for name in names}
        return Mesh(**columns, layouts=meshes[0].layouts)


def strides(mesh: Mesh) -> dict[str, IntArray]:
    """Ranks between neighbours on each axis, (n,) per axis, of meshes without layouts."""
    sizes = np.stack([getattr(mesh, axis) for axis in AXES])
    strides, inside, rows = np.empty_like(sizes), np.ones_like(mesh.order), np.arange(len(mesh))
    for axis in _INSIDE_OUT[mesh.order].T:
        at = axis * len(mesh) + rows  # one index is taken faster than two
        strides.put(at, inside)
        inside = inside * sizes.take(at)
    return dict(zip(AXES, strides, strict=True))


def axis_segments(mesh: Mesh) -> dict[str, list[Segment]]:
    """Where the ranks of each of `AXES` are: one segment per part, of size 1 in rows with fewer."""
    if mesh.layouts:
        return _parts(mesh)
    stride = strides(mesh)
    return {name: [(getattr(mesh, name), stride[name])] for name in AXES}


def segments(mesh: Mesh) -> dict[str, list[Segment]]:
    """The groups of `GROUPS` as lists of (size, stride); see `group_segments`."""
    return group_segments(axis_segments(mesh), mesh.ep, mesh.etp)


def group_segments(
    axis: Mapping[str, list[Segment]], ep: IntArray, etp: IntArray
) -> dict[str, list[Segment]]:
    """The groups of `GROUPS` as lists of (size, stride), innermost first where it matters.

    tp, cp, pp: the axes; ep, etp: those with different experts, and those that share each of them;
    shard: cp x fsdp (zero3 gathers here); replica: dp; data: cp x fsdp x dp (other shardings reduce
    here); expert_shard, expert_replica: what ep and etp leave of tp x cp x fsdp and of dp.

    Args:
        axis: The segments of each of `AXES`, (n,) each.
        ep: (n,) ranks of an expert group.
        etp: (n,) ranks that share one of its experts.
    """
    shared, outside = _fold_experts(axis, etp)
    taken, left = _fold_experts(outside, ep)
    return {
        "tp": axis["tp"],
        "cp": axis["cp"],
        "ep": _joined(taken, _FOLDED),
        "etp": _joined(shared, _FOLDED),
        "pp": axis["pp"],
        "shard": axis["cp"] + axis["fsdp"],
        "replica": axis["dp"],
        "data": axis["cp"] + axis["fsdp"] + axis["dp"],
        "expert_shard": _joined(left, ("tp", "cp", "fsdp")),
        "expert_replica": left["dp"],
        "expert_data": _joined(left, _FOLDED),
    }


def _joined(axis: Mapping[str, list[Segment]], names: tuple[str, ...]) -> list[Segment]:
    """The segments of some axes, one after the other."""
    return [segment for name in names for segment in axis[name]]


def _fold_experts(
    axis: Mapping[str, list[Segment]], ep: IntArray
) -> tuple[dict[str, list[Segment]], dict[str, list[Segment]]]:
    """What the expert group takes of each segment of the folded axes, and what it leaves."""
    if not np.any(ep > 1):
        alone = np.ones_like(ep)
        taken = {name: [(alone, stride) for _, stride in axis[name]] for name in _FOLDED}
        return taken, {name: axis[name] for name in _FOLDED}
    owner = [name for name in _FOLDED for _ in axis[name]]
    parts = _joined(axis, _FOLDED)
    count = np.stack([size for size, _ in parts], axis=1)
    step = np.stack([stride for _, stride in parts], axis=1)
    rank = step * len(parts) + np.arange(len(parts))
    replicas = np.array([name == "dp" for name in owner])
    rank = np.where(replicas, rank + rank.max(axis=1, keepdims=True) + 1, rank)
    inner_first = np.argsort(rank, axis=1, kind="stable")
    wanted = ep.copy()
    takes = np.ones_like(count)
    rows = np.arange(len(ep))
    for position in range(len(parts)):
        column = inner_first[:, position]
        part = np.gcd(count[rows, column], wanted)
        takes[rows, column] = part
        wanted = wanted // part
    taken = {name: [] for name in _FOLDED}
    left: dict[str, list[Segment]] = {name: [] for name in _FOLDED}
    for i, name in enumerate(owner):
        taken[name].append((takes[:, i], step[:, i]))
        left[name].append((count[:, i] // takes[:, i], step[:, i] * takes[:, i]))
    return taken, left


def _parts(mesh: Mesh) -> dict[str, list[Segment]]:
    """The segments of meshes of which some have layouts."""
    longest = max(len(AXES), *(len(layout) for layout in mesh.layouts))
    names = [*ORDERS, *(tuple(axis for axis, _ in layout) for layout in mesh.layouts)]
    own = np.ones((len(names), longest), dtype=np.int64)
    for code, layout in enumerate(mesh.layouts, start=len(ORDERS)):
        own[code, : len(layout)] = [size for _, size in layout]
    axes = np.stack([getattr(mesh, axis) for axis in AXES], axis=1)
    ordered = np.array([[AXES.index(axis) for axis in order] for order in ORDERS])
    size = own[mesh.order]
    plain = np.flatnonzero(mesh.order < len(ORDERS))
    size[plain, : len(AXES)] = np.take_along_axis(axes[plain], ordered[mesh.order[plain]], axis=1)
    stride = np.cumprod(size, axis=1) // size
    nothing = np.ones((len(mesh), 1), dtype=np.int64)
    size, stride = np.hstack([size, nothing]), np.hstack([stride, nothing])
    rows = np.arange(len(mesh))
    found: dict[str, list[Segment]] = {}
    for axis in AXES:
        places = [[at for at, name in enumerate(code) if name == axis] for code in names]
        most = max(map(len, places))
        padded = np.array([at + [longest] * (most - len(at)) for at in places])[mesh.order]
        found[axis] = [(size[rows, at], stride[rows, at]) for at in padded.T]
    return found

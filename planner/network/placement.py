"""Which ranks form each communication group of a plan: (size, stride) segments per axis.

`order` lists the axes innermost first; the stride of an axis is the product of the sizes of the
axes inside it. Experts fold over the other axes but pp: an expert group takes ranks from tp, cp
and fsdp, innermost first (Megatron-LM, `core/parallel_state.py`), and from the replicas of dp only
when those are used up, so that what a chip holds does not depend on the order of the axes. What is
left of those axes replicates or shards the same experts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from planner.network.groups import Segment
from planner.plan import AXES, ORDERS, IntArray

GROUPS = (
    "tp", "cp", "ep", "pp", "shard", "replica", "data",
    "expert_shard", "expert_replica", "expert_data",
)  # fmt: skip
EXPERT_GROUPS = ("ep", "expert_shard", "expert_replica", "expert_data")
_FOLDED = ("tp", "cp", "fsdp", "dp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """The axis sizes and the order of n plans, (n,) each; all that placement depends on."""

    tp: IntArray
    cp: IntArray
    fsdp: IntArray
    dp: IntArray
    pp: IntArray
    ep: IntArray
    order: IntArray

    def __len__(self) -> int:
        return len(self.tp)

    @property
    def chips(self) -> IntArray:
        """(n,) chips used."""
        return self.tp * self.cp * self.fsdp * self.dp * self.pp

    def take(self, index: IntArray) -> Mesh:
        """The meshes of `index`."""
        return Mesh(**{f.name: getattr(self, f.name)[index] for f in fields(self)})


def strides(mesh: Mesh) -> dict[str, IntArray]:
    """Ranks between neighbours on each axis, (n,) per axis."""
    ranks = np.array([[order.index(axis) for axis in AXES] for order in ORDERS])[mesh.order]
    sizes = np.stack([getattr(mesh, axis) for axis in AXES], axis=1)
    result = {}
    for column, axis in enumerate(AXES):
        inside = ranks < ranks[:, [column]]
        result[axis] = np.prod(np.where(inside, sizes, 1), axis=1)
    return result


def segments(mesh: Mesh) -> dict[str, list[Segment]]:
    """The groups of `GROUPS` as lists of (size, stride), innermost first where it matters.

    tp, cp, pp: the axes; ep: the expert groups; shard: cp x fsdp (zero3 gathers here); replica:
    dp; data: cp x fsdp x dp (other shardings reduce here); expert_shard, expert_replica: what ep
    leaves of tp x cp x fsdp and of dp.
    """
    stride = strides(mesh)
    axis = {name: (getattr(mesh, name), stride[name]) for name in AXES}
    taken, left = _fold_experts(mesh, stride)
    return {
        "tp": [axis["tp"]],
        "cp": [axis["cp"]],
        "ep": [taken[name] for name in _FOLDED],
        "pp": [axis["pp"]],
        "shard": [axis["cp"], axis["fsdp"]],
        "replica": [axis["dp"]],
        "data": [axis["cp"], axis["fsdp"], axis["dp"]],
        "expert_shard": [left["tp"], left["cp"], left["fsdp"]],
        "expert_replica": [left["dp"]],
        "expert_data": [left[name] for name in _FOLDED],
    }


def _fold_experts(
    mesh: Mesh, stride: dict[str, IntArray]
) -> tuple[dict[str, Segment], dict[str, Segment]]:
    """What the expert group takes of each folded axis, and what it leaves."""
    count = np.stack([getattr(mesh, name) for name in _FOLDED], axis=1)
    step = np.stack([stride[name] for name in _FOLDED], axis=1)
    rank = step * len(_FOLDED) + np.arange(len(_FOLDED))
    rank[:, _FOLDED.index("dp")] = rank.max(axis=1) + 1
    inner_first = np.argsort(rank, axis=1, kind="stable")
    wanted = mesh.ep.copy()
    takes = np.ones_like(count)
    rows = np.arange(len(mesh))
    for position in range(len(_FOLDED)):
        column = inner_first[:, position]
        part = np.gcd(count[rows, column], wanted)
        takes[rows, column] = part
        wanted = wanted // part
    taken = {name: (takes[:, i], step[:, i]) for i, name in enumerate(_FOLDED)}
    left = {
        name: (count[:, i] // takes[:, i], step[:, i] * takes[:, i])
        for i, name in enumerate(_FOLDED)
    }
    return taken, left

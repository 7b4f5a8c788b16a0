"""Which part of every mesh axis stays inside a slice, and which crosses slices.

JAX joins the devices of a slice (a torus of TPUs; of GPUs what NVLink joins) by one mesh and the
slices by another; `jax.experimental.mesh_utils.create_hybrid_device_mesh` takes the size of every
axis in both. So the borders of slices fall on borders of axes, or divide one axis.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, IntArray, distinct
from planner.cost.context import CostModel, mesh_of
from planner.frameworks.rules.numbers import nearest_divisors
from planner.network.groups import Segment
from planner.network.placement import axis_segments
from planner.plan import AXES, Plan, PlanTable


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceMesh:
    """The mesh of a plan inside a slice and over slices.

    Attributes:
        chips: Chips of a slice.
        slices: Slices.
        inside, across: Size of each of `planner.plan.AXES`.
    """

    chips: int
    slices: int
    inside: dict[str, int]
    across: dict[str, int]


def slice_chips(model: CostModel, chips: int) -> int:
    """Chips of one slice of a job of `chips`: of a torus slice, or of a scale-up domain."""
    allocation = model.allocation(chips)
    if allocation.slices > 1:
        return chips // allocation.slices
    inner = [level.domain_chips or chips for level in allocation.levels if level.kind == "scale-up"]
    return min(max(inner, default=1), chips)


def _sizes(model: CostModel, plans: PlanTable) -> IntArray:
    """(n,) chips of a slice of each plan; 1 where the cluster cannot give the chips."""
    first, which = distinct([plans.chips])
    return np.array([slice_chips(model, int(n)) for n in plans.chips[first]], dtype=np.int64)[which]


def _inside(segments: list[Segment], chips: IntArray) -> tuple[IntArray, BoolArray]:
    """(n,) ranks of an axis inside a slice of `chips`, and whether the slice ends between them."""
    inside, nests = np.ones_like(chips), np.ones(len(chips), dtype=np.bool_)
    for size, stride in segments:
        within = np.clip(chips // stride, 1, size)
        inside = inside * within
        cut = (stride < chips) & (chips < stride * size)
        nests &= ~cut | ((chips % stride == 0) & (size % within == 0))
    return inside, nests


def slices_nest(model: CostModel, plans: PlanTable) -> BoolArray:
    """Slices end between the ranks of an axis, or between axes."""
    first, which = distinct([getattr(plans, axis) for axis in (*AXES, "order")])
    few = plans.take(first)
    chips = _sizes(model, few)
    nests = np.ones(len(few), dtype=np.bool_)
    for segments in axis_segments(mesh_of(few)).values():
        nests &= _inside(segments, chips)[1]
    return np.asarray(nests[which])


def inside_slices(model: CostModel, plans: PlanTable, axis: str) -> BoolArray:
    """Whether all ranks of an axis are inside of one slice."""
    first, which = distinct([getattr(plans, axis) for axis in (*AXES, "order")])
    few = plans.take(first)
    segments = axis_segments(mesh_of(few))[axis]
    inside = _inside(segments, _sizes(model, few))[0]
    return np.asarray((inside == getattr(few, axis))[which])


def slice_mesh(model: CostModel, plan: Plan) -> SliceMesh:
    """The mesh of one plan; where slices do not nest, the greatest parts that fit inside."""
    plans = PlanTable.from_plans([plan])
    chips = _sizes(model, plans)
    inside = {
        axis: int(_inside(segments, chips)[0][0])
        for axis, segments in axis_segments(mesh_of(plans)).items()
    }
    across = {axis: getattr(plan, axis) // inside[axis] for axis in AXES}
    size = int(chips[0])
    return SliceMesh(chips=size, slices=plan.chips // size, inside=inside, across=across)


def unnested(model: CostModel, plan: Plan) -> str:
    """Which axis the end of a slice cuts unevenly, in one sentence."""
    plans = PlanTable.from_plans([plan])
    chips = _sizes(model, plans)
    size = int(chips[0])
    for axis, segments in axis_segments(mesh_of(plans)).items():
        if not _inside(segments, chips)[1][0]:
            stride = int(segments[0][1][0])
            return (
                f"jax needs {axis} {getattr(plan, axis)} to divide into equal parts inside the "
                f"slices of {size} chips, of which {stride} lie inside the axis; nearest part: "
                f"{nearest_divisors(max(size // stride, 1), getattr(plan, axis))}"
            )
    raise AssertionError("the slices nest")

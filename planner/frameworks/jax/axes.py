"""The axes of a JAX mesh for a plan: which names, of which sizes, inside slices and over them.

Ranks count from the innermost part of the plan's order; a JAX mesh lists its axes outermost
first. Where experts are spread, each part of tp, cp, fsdp and dp is cut into what the expert group
takes (`_expert`) and what it leaves.
"""

from __future__ import annotations

import math

import numpy as np

from frozen_records import dataclass
from planner.cost.context import mesh_of
from planner.frameworks.jax.slices import slice_mesh
from planner.frameworks.writing.launch import Launch
from planner.network.placement import segments
from planner.plan import PlanTable

NAMES = {"tp": "tensor", "cp": "context", "fsdp": "fsdp", "dp": "data", "pp": "stage"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshAxis:
    """One axis of the mesh.

    Attributes:
        name: Its name.
        axis: The axis of the plan that it belongs to.
        expert: Whether expert groups lie along it.
        inside, across: Its size inside a slice and over slices.
    """

    name: str
    axis: str
    expert: bool
    inside: int
    across: int

    @property
    def size(self) -> int:
        """Ranks along it."""
        return self.inside * self.across


def mesh_axes(launch: Launch) -> tuple[MeshAxis, ...]:
    """The axes that exceed 1, outermost first."""
    plan = launch.plan
    table = PlanTable.from_plans([plan])
    groups = segments(mesh_of(table))["ep"]
    taken = {int(stride[0]): int(size[0]) for size, stride in groups if size[0] > 1}
    room = slice_mesh(launch.cost, plan).chips
    found: list[MeshAxis] = []
    stride = 1
    for axis, size in plan.ranks:
        expert = taken.get(stride, 1) if axis != "pp" and size > 1 else 1
        for part, spread in ((expert, True), (size // expert, False)):
            if part > 1:
                inside = math.gcd(part, max(room, 1))
                room //= inside
                found.append(_axis(found, axis, spread, inside, part // inside))
            stride *= part
    return tuple(reversed(found))


def _axis(found: list[MeshAxis], axis: str, spread: bool, inside: int, across: int) -> MeshAxis:
    """An axis with a name of its own."""
    name = NAMES[axis] + "_expert" * spread
    used = {one.name for one in found}
    again = next(at for at in range(len(found) + 1) if _numbered(name, at) not in used)
    return MeshAxis(
        name=_numbered(name, again), axis=axis, expert=spread, inside=inside, across=across
    )


def _numbered(name: str, at: int) -> str:
    return name if at == 0 else f"{name}_{at + 1}"


def names_of(
    axes: tuple[MeshAxis, ...], *wanted: str, expert: bool | None = None
) -> tuple[str, ...]:
    """The names of the axes that belong to some of the plan's, outermost first."""
    return tuple(
        one.name for one in axes if one.axis in wanted and (expert is None or one.expert == expert)
    )


def product(axes: tuple[MeshAxis, ...], names: tuple[str, ...]) -> int:
    """Ranks along some axes."""
    return int(np.prod([one.size for one in axes if one.name in names], dtype=np.int64))

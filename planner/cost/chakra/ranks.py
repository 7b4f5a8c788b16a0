"""Which ranks share a group, and where the next stage of a rank is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import numpy as np

from frozen_records import dataclass
from planner.cost.context import mesh_of
from planner.network.placement import GROUPS, segments
from planner.plan import Plan, PlanTable

Digits = tuple[tuple[int, int], ...]
"""Size and stride of each part of an axis, innermost first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """The ranks of a plan.

    Attributes:
        chips: How many.
        digits: Of each group of `planner.network.placement.GROUPS`.
    """

    chips: int
    digits: dict[str, Digits]
    _numbers: dict[tuple[int, ...], int] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(plan: Plan) -> Ranks:
        """Those of a plan, as the placement of its axes numbers them."""
        found = segments(mesh_of(PlanTable.from_plans([plan])))
        digits = {
            name: tuple((int(size[0]), int(stride[0])) for size, stride in found[name])
            for name in GROUPS
            if name in found
        }
        return Ranks(chips=plan.chips, digits=digits)

    def stage(self, rank: int) -> int:
        """The stage of a rank."""
        return _number(rank, self.digits["pp"])

    def first_of_stage(self, stage: int) -> int:
        """The first rank of a stage."""
        return _at(0, self.digits["pp"], stage)

    def on_stage(self, rank: int, stage: int) -> int:
        """The rank that has the place of another one on another stage."""
        return _at(rank, self.digits["pp"], stage)

    def members(self, rank: int, group: str) -> tuple[int, ...]:
        """The ranks of a group of a rank, ascending."""
        digits = self.digits[group]
        count = int(np.prod([size for size, _ in digits]))
        return tuple(sorted(_at(rank, digits, number) for number in range(count)))

    def group_number(self, rank: int, group: str) -> int:
        """The number of a group, from 1, in the order in which they are asked for."""
        members = self.members(rank, group)
        return self._numbers.setdefault(members, len(self._numbers) + 1)

    def groups(self) -> dict[int, list[int]]:
        """Every group that was asked for, by its number."""
        return {number: list(members) for members, number in self._numbers.items()}


def _number(rank: int, digits: Digits) -> int:
    """The place of a rank along some digits."""
    found, scale = 0, 1
    for size, stride in digits:
        found += rank // stride % size * scale
        scale *= size
    return found


def _at(rank: int, digits: Iterable[tuple[int, int]], number: int) -> int:
    """The rank at another place along some digits."""
    for size, stride in digits:
        rank += (number % size - rank // stride % size) * stride
        number //= size
    return rank

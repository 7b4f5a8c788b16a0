"""What an enumeration finds: the plans that no other beats, and whether an answer agrees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.objectives import Costs
from planner.question.request import Request
from planner.results.certificate import ROUNDING
from planner.results.result import SolveResult

Points = npt.NDArray[np.float64]
SAME = 1e-9
"""Share by which figures of one plan may differ."""


@dataclass(slots=True)
class Enumerated:
    """The plans of a question.

    Attributes:
        request: The question.
        costed: Plans that were costed, with order and clock.
        best: The least objective; inf: no plan is within the limits.
        best_bytes, least_bytes: Memory of a chip under the best plan, and at least.
        front: (f, d) values of the objectives of the front that none beats.
        plain: The same of the plans that make no use of a freedom.
    """

    request: Request
    costed: int = 0
    best: float = np.inf
    best_bytes: float = np.inf
    least_bytes: float = np.inf
    front: Points = field(default_factory=lambda: np.empty((0, 0)))
    plain: Enumerated | None = None

    def add(
        self,
        costs: Costs,
        allowed: npt.NDArray[np.bool_],
        plain: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Takes in plans: some are within the limits, and some make no use of a freedom."""
        self.costed += len(allowed)
        if plain is not None:
            self.plain = self.plain or Enumerated(self.request)
            self.plain.add(costs, allowed & plain)
        if not allowed.any():
            return
        best = np.asarray(self.request.minimized.values(costs))[allowed]
        held = np.asarray(costs.memory_bytes)[allowed]
        if best.min() < self.best:
            self.best, self.best_bytes = float(best.min()), float(held[best.argmin()])
        self.least_bytes = min(self.least_bytes, float(held.min()))
        each = [np.asarray(one.values(costs))[allowed] for one in self.request.compared]
        fresh = np.stack(each, axis=1)
        known = self.front if len(self.front) else fresh[:0]
        self.front = least_of(np.concatenate([known, fresh]))


def uses_freedom(found: Enumerated) -> bool:
    """Whether the best plan, or one of the front, is none that makes no use of the freedom.

    Its figures are better than those of all plans without, by more than rounding.
    """
    plain = found.plain
    if plain is None or not np.isfinite(found.best):
        return False
    if found.best < plain.best * (1 - SAME):
        return True
    reached = [(plain.front <= point * (1 + SAME)).all(axis=1).any() for point in found.front]
    return not all(reached)


def least_of(points: Points) -> Points:
    """Those of (n, d) points that no other is as good as in all, and better in one."""
    points = np.unique(points, axis=0)
    kept: list[npt.NDArray[np.float64]] = []
    while len(points):  # the first of all that are left is beaten by none: they are in order
        first = points[0]
        kept.append(first)
        points = points[(points < first).any(axis=1)]
    return np.array(kept).reshape(-1, points.shape[1])


def mismatch(found: Enumerated, answer: SolveResult, *, rounding: float = 0.0) -> str:
    """How an answer contradicts the enumeration; empty: it does not.

    Args:
        found: All plans.
        answer: Of the search.
        rounding: Share that a proof by whole numbers may lose.
    """
    if not np.isfinite(found.best):
        good = answer.status == "infeasible" and answer.best is None
        return "" if good else f"{answer.status}, but no plan is within the limits"
    if answer.status != "optimal" or answer.objective is None or answer.bound is None:
        return f"{answer.status}, but there is a plan of {found.best:.12g}"
    if not -SAME <= answer.objective / found.best - 1 <= SAME + rounding:
        return f"the best is {found.best:.12g}, not {answer.objective:.12g}"
    if answer.bound > found.best * (1 + SAME):
        return f"the bound {answer.bound:.12g} is above the plan of {found.best:.12g}"
    return fronts_differ(found, answer, rounding) if answer.front.complete else ""


def fronts_differ(found: Enumerated, answer: SolveResult, rounding: float) -> str:
    """How a front differs from that of all plans."""
    told = [[one.value_of(p.costs) for one in found.request.compared] for p in answer.front]
    own = np.array(told, dtype=np.float64).reshape(-1, found.front.shape[1])
    for point in found.front:
        if not (own <= point * (1 + SAME + rounding)).all(axis=1).any():
            return f"the front misses {point.tolist()}"
    for at, point in enumerate(own):
        if not (found.front <= point * (1 + SAME)).all(axis=1).any():
            return f"the front has {point.tolist()}, which no plan is"
        others = np.delete(own, at, axis=0)
        if (others <= point * (1 + SAME)).all(axis=1).any():
            return f"the front lists {point.tolist()}, which another beats"
    return ""


def words_of(fields: dict[str, Any]) -> str:
    """A question as its fields."""
    return " ".join(f"{name}={value}" for name, value in fields.items())


LOST = ROUNDING
"""Share that the proofs of stages in whole numbers lose at most."""


class TooManyError(Exception):
    """A question has more plans than are listed."""

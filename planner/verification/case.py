"""A certificate that is being checked, with what the steps of the check share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray
from planner.cost.evaluate import memory_table
from planner.cost.memory.offload import offloads_only_cost
from planner.verification.asked import Asked
from planner.verification.document import Certificate
from planner.verification.faults import Fault
from planner.verification.rows import Counts, Node, Row, table, words
from planner.verification.space import Space

_MASKS = (1, 2, 4, 3, 5, 6, 7)  # sets of offloads, the small first
SAME = 1e-9
"""Share by which a figure of the certificate may differ from the same one computed here."""
COUNTED = ("factorizations", "meshes", "partial_plans", "plans")
"""What is counted, by the stage of a search."""
AT_A_TIME = 50_000


@dataclass(slots=True, kw_only=True)
class Declared:
    """What is declared.

    Attributes:
        asked, space: A question, and the uniform plans that it is about.
    """

    asked: Asked
    space: Space

    def plans(self, nodes: Iterable[Node]) -> tuple[list[Row], Counts]:
        """Every plan on some partial plans that fits, and counts of the others.

        Of sets of offloads only those no part of which is enough, where moving what fits anyway
        only costs (`planner.cost.memory.offload.offloads_only_cost`) and power has no limit.
        """
        rows, counts = self.space.plans(nodes)
        found = self._fitting(rows, counts)
        if not self.asked.request.offload:
            return found, counts
        spared = offloads_only_cost(self.asked.model) and self.asked.request.max_power is None
        enough = {0: {_kept(row) for row in found}}
        for mask in _MASKS:
            moved = self.space.moved(rows, mask, counts)
            if spared:
                smaller = [fit for part, fit in enough.items() if part & mask == part]
                needless = set[Row]().union(*smaller)
                left = [row for row in moved if _kept(row) not in needless]
                counts["needless_offload"] += len(moved) - len(left)
                moved = left
            fits = self._fitting(moved, counts)
            enough[mask] = {_kept(row) for row in fits}
            found += fits
        return found, counts

    def _fitting(self, rows: Sequence[Row], counts: Counts) -> list[Row]:
        """The plans that fit on the chip and on the host; `counts` grows by the others."""
        plans, found = table(rows), list[Row]()
        for start in range(0, len(plans), AT_A_TIME):
            part = plans.take(np.arange(start, min(start + AT_A_TIME, len(plans))))
            chip, host = self.asked.fits(part, memory_table(self.asked.model, part))
            counts["memory"] += int((~chip).sum())
            counts["host_memory"] += int((chip & ~host).sum())
            here = zip(rows[start : start + AT_A_TIME], (chip & host).tolist(), strict=True)
            found += [row for row, good in here if good]
        return found


@dataclass(slots=True, kw_only=True)
class Case(Declared):
    """A certificate that is being checked; what is declared is its question.

    Attributes:
        own: The certificate.
        points: (f, 2) seconds and joules of the front, once computed.
        checked: What was checked so far, by name: how many.
    """

    own: Certificate
    points: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    checked: Counter[str] = field(default_factory=Counter)

    def covered(self, corners: FloatArray, points: FloatArray | None = None) -> BoolArray:
        """(n,) corners of which some point, by default of the front, is no worse in both."""
        found = np.zeros(len(corners), dtype=np.bool_)
        for time_s, energy_j in self.points if points is None else points:
            faster = time_s <= corners[:, 0] * (1 + SAME)
            found |= faster & (energy_j <= corners[:, 1] * (1 + SAME))
        return found

    def uncovered(self, corners: FloatArray) -> int | None:
        """The first of n nodes with (n, k, 2) corners that no point covers; None: none is such."""
        count, each, _ = corners.shape
        open_corners = ~self.covered(corners.reshape(-1, 2)).reshape(count, each)
        found = np.flatnonzero(open_corners.any(axis=1))
        return int(found[0]) if len(found) else None

    def count(self, stage: str, counts: Mapping[str, int], kept: str) -> None:
        """The counts of a stage are those found here; what passed is what is left of all.

        Raises:
            Fault: One is another.
        """
        found = {name: number for name, number in counts.items() if number}
        every = found.get("considered", 0)
        if passed := 2 * every - sum(found.values()):
            found[kept] = passed
        assert stage in COUNTED, stage
        stated = self.own.counts.get(stage, {})
        for name in sorted({*found, *stated}):
            if name not in {"considered", kept, *counts}:
                raise Fault(f"counts.{stage}: {name} is {stated[name]}, and nothing has that name")
            if found.get(name, 0) != stated.get(name, 0):
                raise Fault(
                    f"counts.{stage}: {name} is {found.get(name, 0)}, not {stated.get(name, 0)}"
                )


def _kept(row: Row) -> Row:
    """A plan with all of it on the chip."""
    node, choice = row
    return node, (*choice[:4], 0)


def agree(where: str, what: str, stated: float, found: float) -> None:
    """A figure is what is computed here.

    Raises:
        Fault: It differs by more than `SAME`.
    """
    if not abs(stated - found) <= SAME * max(abs(found), abs(stated)):
        raise Fault(f"{where}: {what} is {found:.12g}, not {stated:.12g}")


def once(listed: Sequence[Any], every: set[Any], where: str, node: int | None = None) -> None:
    """All that is listed is in the space, nothing twice, and nothing of it is missing.

    Args:
        listed: Rows.
        every: Those of the space.
        where: Names the list.
        node: Where the partial plan of a row stands in it; None: it is one, or a mesh.

    Raises:
        Fault: It is not so.
    """

    def named(row: Any) -> str:
        found: Node = row if node is None else row[node]
        return words(found)

    seen = set()
    for row in listed:
        if row not in every:
            raise Fault(f"{where}: {named(row)} is not in the space")
        if row in seen:
            raise Fault(f"{where}: {named(row)} is there twice")
        seen.add(row)
    if missing := every - seen:
        raise Fault(f"{where}: {named(min(missing))} is missing")

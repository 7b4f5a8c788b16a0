"""What a search did with every node, kept only where a certificate is to be written."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.search.space import Holder, Space
from solvers.mesh import FrontSolution


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """The search inside some nodes.

    Attributes:
        holder: The n plans in them.
        nodes: (n,) the node of the space that each plan is in.
        corners: (n, k, d) lower bounds of the plans.
        opened: Plans whose candidates were all costed; bounds or the end of time dropped the rest.
    """

    holder: Holder
    nodes: IntArray
    corners: FloatArray
    opened: IntArray


@dataclass(slots=True, kw_only=True)
class Pass:
    """One search through a space.

    Attributes:
        space: What was searched.
        corners: (n, q, d) lower bounds of its nodes, as they were before any was opened.
        opened: Nodes that were opened, in parts.
        inner: What was searched inside these.
        solution: How it ended; None: time ran out first.
    """

    space: Space
    corners: FloatArray
    opened: list[IntArray] = field(default_factory=list)
    inner: list[Inner] = field(default_factory=list)
    solution: FrontSolution | None = None


class Trail:
    """The passes of a search, in order."""

    def __init__(self) -> None:
        self.passes: list[Pass] = []

    def begin(self, space: Space, corners: FloatArray) -> None:
        """A search through nodes with these corners begins."""
        self.passes.append(Pass(space=space, corners=corners))

    def opened(self, nodes: IntArray) -> None:
        """Nodes of the last pass are opened."""
        self.passes[-1].opened.append(nodes)

    def within(
        self, holder: Holder, nodes: IntArray, corners: FloatArray, opened: list[IntArray]
    ) -> None:
        """The plans in them were searched."""
        every = np.concatenate(opened) if opened else np.empty(0, dtype=np.int64)
        self.passes[-1].inner.append(
            Inner(holder=holder, nodes=nodes, corners=corners, opened=every)
        )

    def end(self, solution: FrontSolution) -> None:
        """The last pass ended."""
        self.passes[-1].solution = solution

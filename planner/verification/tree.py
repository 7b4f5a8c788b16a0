"""The tree of a certificate: every partial plan is listed once, closed ones under a true bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.plan import NO_RECOMPUTE
from planner.verification.bounds import NodeBounds
from planner.verification.case import Case, agree, once
from planner.verification.faults import Fault
from planner.verification.rows import (
    Mesh,
    Node,
    code_of,
    does_all_of,
    mesh_of,
    mesh_row,
    node_of,
    words,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The partial plans by what became of them; see `planner.verification.document.Nodes`."""

    closed: list[Node]
    searched: list[Node]
    begun: list[Node]
    waiting: list[Node]

    @property
    def left(self) -> bool:
        """Whether any may hold a better plan."""
        return bool(self.begun or self.waiting)


def checked_tree(case: Case) -> Tree:
    """The tree, which is a partition of the partial plans.

    Raises:
        Fault: It is none.
    """
    meshes, counts = case.space.meshes()
    listed = case.own.nodes
    none = set[Mesh](mesh_row(row) for row in listed.no_memory)
    if len(none) < len(listed.no_memory):
        raise Fault("nodes.no_memory: a mesh is there twice")
    if strange := none - set(meshes):
        raise Fault(f"nodes.no_memory: {words(min(strange))} is not in the space")
    every, partial = case.space.nodes(mesh for mesh in meshes if mesh not in none)
    tree = Tree(
        closed=[node_of(row) for row in listed.closed],
        searched=[node_of(row) for row in listed.searched],
        begun=[node_of(row) for row in listed.begun],
        waiting=[node_of(row) for row in listed.waiting],
    )
    once([*tree.closed, *tree.searched, *tree.begun, *tree.waiting], set(every), "nodes")
    _check_no_memory(case, none)
    case.count("factorizations", counts["factorizations"], kept="kept")
    case.count("meshes", counts["meshes"] + Counter(memory=len(none)), kept="searched")
    left = len(tree.begun) + len(tree.waiting)
    partial += Counter(bound=len(tree.closed), left=left)
    case.count("partial_plans", partial, kept="opened")
    case.checked["meshes"] = len(meshes)
    case.checked["partial plans"] = len(every)
    return tree


def _check_no_memory(case: Case, meshes: set[Mesh]) -> None:
    """No plan fits on the meshes that are left out for memory."""
    fits, counts = case.plans(case.space.nodes(meshes)[0])
    if fits:
        raise Fault(f"nodes.no_memory: a plan of {words(fits[0][0])} fits in memory")
    case.checked["plans on meshes without memory"] = counts["considered"]


def checked_bounds(case: Case, tree: Tree) -> FloatArray:
    """(n, 2) bounds of what is left; those of closed nodes are covered by the front.

    Raises:
        Fault: A bound is another, or not covered.
    """
    nodes = [*tree.closed, *tree.begun, *tree.waiting]
    rows = [*case.own.nodes.closed, *case.own.nodes.begun, *case.own.nodes.waiting]
    recompute = [
        [code_of("recompute", word, "nodes") for word in row[-3].split(" or ")] for row in rows
    ]
    meshes = list(dict.fromkeys(mesh_of(node) for node in nodes))
    corners = NodeBounds(case.asked, case.space, meshes).of(nodes, recompute)
    for node, row, own in zip(nodes, rows, corners, strict=True):
        where = f"nodes: {words(node)}"
        agree(where, "least seconds", row[-2], float(own[:, 0].min()))
        agree(where, "least joules", row[-1], float(own[:, 1].min()))
    _check_recompute(case, nodes, recompute)
    closed = len(tree.closed)
    if (at := case.uncovered(corners[:closed])) is not None:
        node = tree.closed[at]
        raise Fault(f"nodes: {words(node)} is closed, but no point of the front is below its bound")
    case.checked["bounds of partial plans"] = len(rows)
    return corners[closed:].reshape(-1, 2)


def _check_recompute(case: Case, nodes: Sequence[Node], recompute: Sequence[Sequence[int]]) -> None:
    """No plan fits that recomputes less than the bounds of its node assume."""
    pairs = zip(nodes, recompute, strict=True)
    least = {node: codes for node, codes in pairs if NO_RECOMPUTE not in codes}
    for node, choice in case.plans(least)[0]:
        if not any(does_all_of(choice[3], code) for code in least[node]):
            raise Fault(f"nodes: a plan of {words(node)} recomputes less than its bound assumes")
    case.checked["bounds that assume recomputation"] = len(least)

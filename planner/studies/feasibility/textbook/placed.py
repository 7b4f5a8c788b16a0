"""The split of a torus slice into FSDP and TP that communicates least, chosen with its axes.

How to Scale Your Model, part 5, lets X and Y be any numbers and gives each whole torus axes. Here
the mesh is whole, and which parts of which physical axes serve X and Y is chosen with it: CP-SAT
minimizes the longer of

    T_FSDP = 4 D F / Y  beta_X          T_TP = 4 B D / X  beta_Y

over every mesh and every layout (`solvers.torus`), and proves it. Both are whole numbers of a
quantum there; the decision is costed by the ordinary network code again.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.cost.context import CostModel, mesh_of, networks
from planner.frameworks.rules import divisors
from planner.network.fabric import Torus
from planner.network.where import torus_words
from planner.plan import Plan, PlanTable
from planner.plan.ranks import Layout
from planner.studies.feasibility.textbook import algebra
from solvers.solution import Status
from solvers.torus import TorusMesh, TorusProblem, place

_GROUPS = {"fsdp": ("fsdp",), "tp": ("tp",)}
_LARGEST = 2.0**30  # of a cost, in quanta


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A mesh and a layout that are proved to communicate least.

    Attributes:
        mesh: Its axes.
        words: Which parts of them each physical axis serves.
        communication_s: T_comms of a forward pass over one MLP: the longer of both.
    """

    mesh: dict[str, int]
    words: str
    communication_s: float


def least_communication(model: CostModel, chips: int, batch_tokens: float) -> Placed | None:
    """The best FSDP x TP on one slice of a torus; None on other networks, or where axes are given.

    Args:
        model: Job, cluster and the assumptions `roofline`.
        chips: Chips of the slice, all of which are used.
        batch_tokens: Tokens per step.
    """
    torus = model.fabric(chips).levels[0].torus
    if torus is None or len(torus.dims) < 2 or model.torus_axes or np.prod(torus.dims) != chips:
        return None
    volumes = _volumes(model, torus, chips, batch_tokens)
    if not volumes:
        return None
    quantum = _LARGEST / max(max(pair) * max(torus.dims) for pair in volumes.values())
    meshes = tuple(
        TorusMesh(
            sizes={"fsdp": chips // tp, "tp": tp},
            volumes={"fsdp": round(weights * quantum), "tp": round(activations * quantum)},
        )
        for tp, (weights, activations) in volumes.items()
    )
    problem = TorusProblem(
        dims=torus.dims, wrap=torus.wrap, axes=("fsdp", "tp"), groups=_GROUPS, meshes=meshes
    )
    found = place(problem)
    if found.status is not Status.OPTIMAL or found.decision is None:
        return None
    layout = tuple(part for pattern in found.decision.patterns for part in pattern)
    return _costed(model, layout, dict(meshes[found.decision.mesh].sizes), batch_tokens)


def _volumes(
    model: CostModel, torus: Torus, chips: int, batch_tokens: float
) -> dict[int, tuple[float, float]]:
    """Degree of TP to the bytes of FSDP and of TP, for the meshes that may be the best.

    A group has at best two links of every physical axis, and at worst a link that `max(dims)`
    others share: what at best is worse than another at worst is left out.
    """
    hidden, width = model.shapes.hidden, model.shapes.dense_width
    pairs = {
        tp: (
            algebra.fsdp_s(hidden, width, float(tp), 1.0, 1.0),
            algebra.tp_s(batch_tokens, hidden, chips / tp, 1.0, 1.0),
        )
        for tp in divisors(chips)
        if 1 < tp < chips and width % tp == 0
    }
    if not pairs:
        return {}
    worst = min(max(pair) * max(torus.dims) for pair in pairs.values())
    links = torus.ring_links * len(torus.dims)
    return {tp: pair for tp, pair in pairs.items() if max(pair) / links <= worst}


def _costed(model: CostModel, layout: Layout, mesh: dict[str, int], batch_tokens: float) -> Placed:
    """A decision with the seconds that the ordinary network code gives it."""
    plan = Plan(fsdp=mesh["fsdp"], tp=mesh["tp"], sharding="zero3", layout=layout)
    nets = networks(model, mesh_of(PlanTable.from_plans([plan])))
    hidden, width = model.shapes.hidden, model.shapes.dense_width
    one = np.ones(1)
    weights = algebra.fsdp_s(hidden, width, mesh["tp"] * one, 1.0, 1.0)
    activations = algebra.tp_s(batch_tokens, hidden, mesh["fsdp"] * one, 1.0, 1.0)
    seconds = nets["shard"].gather_s(weights)[0], nets["tp"].gather_s(activations)[0]
    return Placed(
        mesh=mesh,
        words=torus_words(model.fabric(plan.chips), plan.ranks),
        communication_s=float(max(seconds)),
    )

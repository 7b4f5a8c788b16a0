"""Which algorithm each collective of a plan is assumed to use, at the size of its messages.

The sizes and times are those that the cost model takes; the algorithm is the one whose time is the
least. A plan that assumes a synthesized schedule names its chunks, steps and rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.cost.columns import Columns, columns_of
from planner.cost.communication.data_parallel import Gathers, gathers_once, updated_bytes
from planner.cost.communication.exchanges import context_bytes, expert_bytes, tensor_bytes
from planner.cost.context import CostModel, mesh_of
from planner.cost.memory.parameters import trained_share
from planner.cost.terms import send_bytes
from planner.network.collectives import GroupCosts
from planner.network.fabric import Fabric
from planner.network.groups import members_inside, membership, merged
from planner.network.placement import segments
from planner.network.synthesized.tables import GroupTable, group_keys, key_of
from planner.plan import ALL_TO_ALL, DDP, ZERO3, Plan, PlanTable

_AXES = {
    "tp": "tp", "cp": "cp", "ep": "ep", "etp": "etp", "pp": "pp", "shard": "cp x fsdp",
    "replica": "dp", "data": "cp x fsdp x dp", "expert_shard": "expert shards",
    "expert_replica": "expert replicas", "expert_data": "expert data",
}  # fmt: skip
_KINDS = {
    "all-gather": "gather", "reduce-scatter": "gather", "all-reduce": "reduce",
    "all-to-all": "exchange",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedCollective:
    """One kind of collective of a plan.

    Attributes:
        axis: Mesh axes of its group.
        what: What travels.
        collective: all-gather, reduce-scatter, all-reduce, all-to-all or send.
        members: Of the group.
        levels: Levels that it crosses, innermost first.
        size_bytes: Of the whole buffer; of an all-to-all, what one member sends.
        time_s: Of one, hidden or not.
        algorithm: Its name: ring, hierarchical, tree, in-switch, direct or synthesized.
        schedule: Of a synthesized one: (chunks, steps, rounds), or what replaces them.
    """

    axis: str
    what: str
    collective: str
    members: int
    levels: tuple[str, ...]
    size_bytes: float
    time_s: float
    algorithm: str
    schedule: str = ""

    @property
    def words(self) -> str:
        """`synthesized (6, 3, 7)`."""
        return f"{self.algorithm} {self.schedule}".strip()

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "levels": list(self.levels), "schedule": self.schedule or None}


def assumed_collectives(model: CostModel, plan: Plan) -> tuple[AssumedCollective, ...]:
    """What a plan assumes of its collectives, of its first stage where stages differ.

    Args:
        model: Job, cluster, assumptions.
        plan: A plan that satisfies the rules of arithmetic.
    """
    table = PlanTable.from_plans([plan])
    columns = columns_of(model, table)
    fabric = model.fabric(plan.chips)
    places = segments(mesh_of(table))
    found = []
    for group, what, collective, size in _messages(model, columns):
        costs = columns.nets[group].flat()
        if costs.size[0] > 1 and size > 0:
            inside = membership(fabric.levels, places[group])
            crossed = (inside.inside > inside.below)[:, 0]
            names = tuple(np.array(fabric.names)[crossed].tolist())
            algorithm, schedule, seconds = _fastest(fabric, costs, places[group], collective, size)
            found.append(
                AssumedCollective(
                    axis=_AXES[group],
                    what=what,
                    collective=collective,
                    members=int(costs.size[0]),
                    levels=names,
                    size_bytes=size,
                    time_s=seconds,
                    algorithm=algorithm,
                    schedule=schedule,
                )
            )
    return tuple(found)


def _messages(model: CostModel, x: Columns) -> Iterator[tuple[str, str, str, float]]:
    """(group, what, collective, bytes) of every message of a plan."""
    yield from _of_layers(model, x)
    sharding, once = int(x.sharding[0, 0]), bool(gathers_once(model.framework, x.plans.pp)[0])
    wire = model.assumptions.gradient_wire_bytes * trained_share(model.job)
    weight, kinds = Gathers.of(model.job).weight_bytes, model.job.model.layer_kinds
    local = x.local.moe_layer if "moe" in kinds else x.local.dense_layer
    layer = (float(local[0, 0]), float(x.local.experts[0, 0]))
    whole = tuple(float(part[0, 0]) for part in x.parameters)
    for prefix, of_layer, of_stage in zip(("", "expert_"), layer, whole, strict=True):
        words = "of experts" if prefix else "of a layer"
        stage = "of experts" if prefix else "of a stage"
        if sharding == ZERO3:
            each, part = (of_stage, stage) if once else (of_layer, words)
            yield f"{prefix}shard", f"weights {part}", "all-gather", weight * each
            yield f"{prefix}shard", f"gradients {part}", "reduce-scatter", wire * each
            across = wire * of_stage / float(x.nets[f"{prefix}shard"].flat().size[0])
            yield f"{prefix}replica", f"gradients {stage}", "all-reduce", across
        elif sharding == DDP:
            yield f"{prefix}data", f"gradients {stage}", "all-reduce", wire * of_stage
        else:
            weights = float(updated_bytes(model.assumptions, x.sharding)[0, 0]) * of_stage
            yield f"{prefix}data", f"gradients {stage}", "reduce-scatter", wire * of_stage
            yield f"{prefix}data", f"weights {stage}", "all-gather", weights


def _of_layers(model: CostModel, x: Columns) -> Iterator[tuple[str, str, str, float]]:
    """The messages of tp, cp, ep and pp."""
    plans, shapes = x.plans, model.shapes
    tokens = plans.micro_batch * model.job.seq_len / plans.cp
    split = bool(plans.sequence_parallel[0])
    size = float(tensor_bytes(shapes, tokens)[0])
    for name in ("all-gather", "reduce-scatter") if split else ("all-reduce",):
        yield "tp", "activations", name, size
    gathered, swapped = context_bytes(shapes, tokens, plans.tp, plans.cp)
    if plans.cp_mode[0] == ALL_TO_ALL:
        yield "cp", "queries, keys, values", "all-to-all", float(swapped[0])
    else:
        yield "cp", "keys and values", "all-gather", float(gathered[0])
    if shapes.experts:
        routed = float(expert_bytes(shapes, tokens, plans.tp)[0])
        yield "ep", "tokens", "all-to-all", routed
        for name in ("all-gather", "reduce-scatter"):
            yield "etp", "tokens", name, float(plans.etp[0]) * routed
    sent = send_bytes(model, plans.tp, tokens, plans.sequence_parallel)
    yield "pp", "activations", "send", float(sent[0])


def _fastest(
    fabric: Fabric,
    costs: GroupCosts,
    parts: list[Any],
    collective: str,
    size: float,
) -> tuple[str, str, float]:
    """Name, schedule and seconds of the algorithm that takes least."""
    size_bytes = np.array([size])
    if collective == "send":
        return "direct", "", float(costs.send_s(size_bytes)[0])
    every = costs.by_algorithm(_KINDS[collective], size_bytes)
    name, seconds = min(every, key=lambda one: float(one[1][0]))
    twice, name = name.startswith("twice "), name.removeprefix("twice ")
    if not name.startswith("synthesized"):
        return name, "", float(seconds[0])
    schedule = _schedule(fabric, merged(parts), collective, int(name.split()[1]))
    if collective == "all-reduce":
        schedule += ", twice" if twice else ", adding up everywhere"
    return "synthesized", schedule, float(seconds[0])


def _schedule(fabric: Fabric, parts: list[Any], collective: str, row: int) -> str:
    """What is known of a schedule: chunks, steps, rounds; through a switch, its one step."""
    level = fabric.levels[0]
    if level.table is None:
        return f"in one step among {int(members_inside(level.domain, parts)[0])}"
    key = int(group_keys(level.domain, parts)[0])
    group: GroupTable = next(g for g in level.table.groups if key_of(g.members) == key)
    points = group.exchange if collective == "all-to-all" else group.gather
    return points[row].words

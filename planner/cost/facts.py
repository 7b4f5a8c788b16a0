"""One plan looked into: what each pipeline stage holds and takes, what each network level carries.

The cost model groups equal stages into classes; here every stage stands at its own position of
the pipeline, so that a later stage holds the activations of fewer micro-batches. The functions of
`planner.cost` are the only formulas: the fullest stage holds what the plan reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from functools import cache
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.deferred import Deferred
from planner.base.frozen import freeze, thawed
from planner.cost.breakdown import Evaluated, breakdown
from planner.cost.columns import Columns
from planner.cost.communication.algorithms import AssumedCollective, assumed_collectives
from planner.cost.communication.traffic import carried_bytes
from planner.cost.context import CostModel, mesh_of
from planner.cost.evaluate import evaluated
from planner.cost.memory.memory import MEMORY_PARTS
from planner.cost.stages.layout import every_stage
from planner.cost.step import passes_s
from planner.network.where import TorusAxis, members_by_level, torus_axes
from planner.plan import FULL, NO_RECOMPUTE, RECOMPUTATIONS, SHARDINGS, Plan, PlanTable

_OF_LEVEL = ("name", "domain_chips", "domains", "bytes_per_s", "wire_bytes", "busy_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFacts:
    """One pipeline stage of a plan.

    Attributes:
        index: From 0.
        layers: Transformer layers, of which `moe_layers` are mixtures of experts; with
            interleaving those of all its chunks.
        embedding, head: Whether it holds them.
        recompute: What is recomputed of all of its layers, or `mixed`.
        selective_layers, full_layers: Layers with that recomputation.
        sharding, clock: As the plan has them on this stage.
        memory_bytes: Bytes per chip by `planner.cost.memory.memory.MEMORY_PARTS`; they add up to
            `total_bytes`, which is without the reserve.
        host_bytes: Offloaded bytes per chip.
        pool: Pool of chips that it is on, where there are several.
        memory_limit_bytes: What it may fill of a chip, where pools differ in it.
        forward_s, backward_s: Seconds of each pass of one micro-batch, collectives included, as
            they count in the step time (with site factor and jitter). Interleaved: of all chunks.
    """

    index: int
    layers: int
    moe_layers: int
    embedding: bool
    head: bool
    recompute: str
    selective_layers: int
    full_layers: int
    sharding: str
    clock: float
    memory_bytes: Mapping[str, float] = field(repr=False)
    total_bytes: float
    host_bytes: float
    forward_s: float
    backward_s: float
    pool: str | None = None
    memory_limit_bytes: float | None = None

    def __post_init__(self) -> None:
        freeze(self, "memory_bytes")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: thawed(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFacts:
    """One level of the network under a plan, as far as the job reaches.

    Attributes:
        name: As in the cluster record.
        domain_chips: Chips of the job that share one domain of the level.
        domains: Such domains in the job.
        bytes_per_s: Achieved rate per chip and direction.
        wire_bytes: Bytes received over the level in a step, all chips; what crosses the spine has
            crossed the leaf too, and counts on both
            (`planner.cost.communication.traffic.carried_bytes`).
        busy_s: Seconds of a step that these take at that rate, hidden or not.
        members: Mesh axis that crosses the level to (its ranks in a domain of the level inside,
            in one of this level, in all); experts (`ep`) lie over the other axes.
        torus: Physical axes of its torus with the parts of the mesh that they serve; elsewhere
            empty, also where a part goes round a corner.
    """

    name: str
    domain_chips: int
    domains: int
    bytes_per_s: float
    wire_bytes: float
    busy_s: float
    members: Mapping[str, tuple[int, int, int]]
    torus: tuple[TorusAxis, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, "members")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        own = {name: getattr(self, name) for name in _OF_LEVEL}
        return {
            **own,
            "members": {axis: list(found) for axis, found in self.members.items()},
            "torus": [
                {**asdict(axis), "parts": [list(part) for part in axis.parts]}
                for axis in self.torus
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """The stages of a plan in order, the levels it reaches (innermost first), and chip memory.

    Stages, levels and collectives are worked out when they are first looked at.

    Attributes:
        stages, levels: As above.
        memory_limit_bytes: What a plan may fill of a chip, without the reserve.
        chip_memory_bytes: What a chip has.
        collectives: What the plan assumes of each of its collectives.
        simulated_step_time_s: Of a plan with explicit stages, simulated operation by operation
            (`planner.cost.timeline`); None: it is not, or not in short.
        not_simulated: Why a plan with explicit stages is not.
    """

    stages: Sequence[StageFacts]
    levels: Sequence[LevelFacts]
    memory_limit_bytes: float
    chip_memory_bytes: float
    collectives: Sequence[AssumedCollective] = ()
    simulated_step_time_s: float | None = None
    not_simulated: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "per_stage": [stage.to_dict() for stage in self.stages],
            "per_level": [level.to_dict() for level in self.levels],
            "memory_limit_bytes": self.memory_limit_bytes,
            "chip_memory_bytes": self.chip_memory_bytes,
            "collectives": [one.to_dict() for one in self.collectives],
            "simulated_step_time_s": self.simulated_step_time_s,
            "not_simulated": self.not_simulated,
        }


def plan_facts(model: CostModel, plan: Plan, memory_limit_bytes: float) -> PlanFacts:
    """What a plan does on each stage and each level.

    Args:
        model: Job, cluster, assumptions.
        plan: A plan that was evaluated before: it satisfies the rules of arithmetic.
        memory_limit_bytes: Bytes per chip that it may fill, without the reserve.
    """
    table = PlanTable.from_plans([plan])

    @cache
    def found() -> Evaluated:
        return evaluated(model, table, classes=every_stage(table, model.job.model))

    return PlanFacts(
        stages=Deferred(lambda: stages_of(model, found())),
        levels=Deferred(lambda: levels_of(model, found(), breakdown(model, found()).wire_bytes)),
        memory_limit_bytes=memory_limit_bytes,
        chip_memory_bytes=model.chip.memory_bytes,
        collectives=Deferred(lambda: assumed_collectives(model, plan)),
    )


def stages_of(model: CostModel, x: Evaluated) -> list[StageFacts]:
    """The stages of one evaluated plan, a class each, in order."""
    columns, factor = x.columns, float(x.step.factor[0, 0])
    facts = []
    for index, stage in enumerate(x.stages):
        forward, backward = passes_s(model.assumptions, stage, x.inputs)
        recomputed = _recomputed(columns, index)
        facts.append(
            StageFacts(
                index=index,
                layers=int(columns.stages.layers[0, index]),
                moe_layers=int(columns.stages.moe[0, index]),
                embedding=bool(stage.first[0, 0]),
                head=bool(stage.last[0, 0]),
                recompute=_recompute(recomputed, int(columns.plans.recompute[0])),
                selective_layers=sum(
                    n for code, n in recomputed.items() if code not in (NO_RECOMPUTE, FULL)
                ),
                full_layers=recomputed[FULL],
                sharding=SHARDINGS[int(_on(columns.sharding, index))],
                clock=_on(columns.clock, index),
                memory_bytes={name: float(x.memory.parts[name][0, index]) for name in MEMORY_PARTS},
                total_bytes=float(x.memory.total[0, index]),
                host_bytes=float(x.memory.host[0, index]),
                forward_s=factor * float(forward[0, 0]),
                backward_s=factor * float(backward[0, 0]),
            )
        )
    return facts


def _recomputed(columns: Columns, stage: int) -> dict[int, int]:
    """Layers of a stage by code of `RECOMPUTATIONS`."""
    layers = dict.fromkeys(range(len(RECOMPUTATIONS)), 0)
    for group in columns.groups:
        layers[int(group.recompute[0, 0])] += int(group.dense[0, stage] + group.moe[0, stage])
    return layers


def _recompute(layers: Mapping[int, int], of_plan: int) -> str:
    """What is recomputed of layers, in one word; without layers the plan's."""
    kinds = [code for code, count in layers.items() if count] or [of_plan]
    return RECOMPUTATIONS[kinds[0]] if len(kinds) == 1 else "mixed"


def _on(table: FloatArray | IntArray, stage: int) -> float:
    """Of a table of one row with a column per stage, or one for all."""
    return float(table[0, stage if table.shape[1] > 1 else 0])


def levels_of(
    model: CostModel, x: Evaluated, crossing: Mapping[str, FloatArray]
) -> list[LevelFacts]:
    """The levels that hold more than one domain of the level inside.

    Args:
        model: Job, cluster, assumptions.
        x: One evaluated plan.
        crossing: (1,) bytes over each level of the cluster in a step, innermost first.
    """
    plans = x.columns.plans
    chips = int(plans.chips[0])
    fabric = model.fabric(chips)
    members = members_by_level(fabric, mesh_of(plans).take(np.array([0])))
    moved = dict(zip(crossing, carried_bytes(model.cluster, list(crossing.values())), strict=True))
    torus, _ = torus_axes(fabric, plans.plan(0).ranks)
    facts, reach = [], 1
    for level in fabric.levels:
        if level.domain > reach:
            wire = float(moved[level.name][0])
            facts.append(
                LevelFacts(
                    name=level.name,
                    domain_chips=level.domain,
                    domains=-(-chips // level.domain),
                    bytes_per_s=level.bytes_per_s,
                    wire_bytes=wire,
                    busy_s=wire / chips / level.bytes_per_s if level.bytes_per_s else 0.0,
                    members=members[level.name],
                    torus=torus if level is fabric.levels[0] else (),
                )
            )
        reach = max(reach, level.domain)
    return facts

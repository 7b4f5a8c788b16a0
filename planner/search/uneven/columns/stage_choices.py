"""What one pipeline stage of a row may hold, and what each choice for it costs.

A *stage choice* counts the layers of a stage by kind and recomputation, and says its sharding and
clock. Its seconds, bytes and joules come from the cost model (`planner.cost.step`,
`planner.cost.memory.memory`),
all choices at once: each is a class of stages of one plan.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import ArrayRecord, BoolArray, FloatArray, IntArray, distinct
from planner.cost.columns import parameters_on_chip
from planner.cost.context import CostModel
from planner.cost.energy.energy import running_w
from planner.cost.layer_costs import EndCost, LayerCost
from planner.cost.memory.in_flight import in_flight
from planner.cost.memory.memory import Memory, memory, stage_parameters
from planner.cost.stages.layout import StageClasses
from planner.cost.stages.recomputation import RecomputeGroup
from planner.cost.stages.rounds import wait_s
from planner.cost.step import (
    StageCost,
    StepInputs,
    ends_s,
    exposed_reduction_s,
    filled_s,
    passes_s,
    run_s,
    split_passes,
    step_factor,
)
from planner.cost.terms import StateTerms
from planner.schedules import ScheduleColumn, schedule_at
from planner.schedules.bidirectional import paced_messages_s, rank_times
from planner.schedules.schedule import Schedule
from planner.search.uneven.aligned import chunk_times
from planner.search.uneven.columns.places import Place, Places
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import KINDS, RowTerms, contents, stage_state


@dataclass(frozen=True, slots=True, kw_only=True)
class StageChoices(ArrayRecord):
    """Choices for a stage.

    Attributes:
        counts: (c, 2, r) layers by kind (`KINDS`) and recomputation (`Rows.recomputes`).
        sharding: (c,) codes.
        clock: (c,) indices of `RowTerms.clocks`.
        spread: (c,) whether all chunks recompute alike, else the first ones first
            (`planner.search.uneven.aligned`); False where there is one chunk.
    """

    counts: IntArray
    sharding: IntArray
    clock: IntArray
    spread: BoolArray

    def __len__(self) -> int:
        return len(self.sharding)

    @property
    def kinds(self) -> IntArray:
        """(c, 2) layers by kind."""
        total: IntArray = self.counts.sum(axis=2)
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class StageChoiceCosts(ArrayRecord):
    """Costs of choices on one stage, (c,) each, without the factor of the step.

    Attributes:
        time: Seconds of a micro-batch, both passes, ends included.
        forward, backward: Its passes.
        paced, left: (m - 1) time + w and time - w, with the w seconds of the bubble that a
            schedule fills, if it fills any.
        filling: v times what chunks make wait (`planner.cost.stages.rounds`), and the ends; of
            stages that are not interleaved, time.
        exposed, optimizer: Seconds of reductions that nothing hides, of the optimizer.
        extra_j: Joules that running kernels add to waiting, all chips of the stage, per step.
    """

    time: FloatArray
    forward: FloatArray
    backward: FloatArray
    paced: FloatArray
    left: FloatArray
    filling: FloatArray
    exposed: FloatArray
    optimizer: FloatArray
    extra_j: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCosts(ArrayRecord):
    """Costs of choices on a pair of ranks, (c,) each, without the factor of the step.

    With the symbols of `planner.schedules.bidirectional`, of n = pp / 2 pairs, T is the larger of

        max paced + sum early                early = Q + H / 2 - F / (2 n)
        max paced + sum late + max over      late = Q + H / 2 - over

    Attributes:
        time: Seconds of a round on one rank, less what its passes hide of the layers.
        round: m / 2 of them, with the messages that pace them.
        paced: (m / 2)(D - H) + H - Q.
        over, early, late: See above.
        exposed, optimizer, extra_j: As of `StageChoiceCosts`; joules of both ranks.
    """

    time: FloatArray
    round: FloatArray
    paced: FloatArray
    over: FloatArray
    early: FloatArray
    late: FloatArray
    exposed: FloatArray
    optimizer: FloatArray
    extra_j: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRow:
    """A row with its terms, ready to cost choices.

    Attributes:
        model: Job and machine.
        rows: One row.
        terms: Of that row alone.
    """

    model: CostModel
    rows: Rows
    terms: RowTerms

    @property
    def schedule(self) -> Schedule:
        """Of the pipeline."""
        return schedule_at(int(self.rows.plans.schedule[0]))

    @property
    def m(self) -> float:
        """Micro-batches of a step."""
        return float(self.rows.micro_batches(self.model)[0])

    @property
    def factor(self) -> float:
        """What every time is multiplied by."""
        chips = self.rows.plans.chips.astype(np.float64)
        return float(step_factor(self.model.assumptions, chips)[0])

    @property
    def modes(self) -> IntArray:
        """Places of the recomputations that layers may have, ascending."""
        return np.unique(self.rows.modes[0])

    @property
    def first(self) -> int:
        """How many first layers of every chunk recompute; -1: see `Rows.first`."""
        return int(self.rows.first[0])

    def in_flight(self, device: int) -> float:
        """Micro-batches whose activations a device of equal chunks holds at once."""
        plans = self.rows.plans
        held = in_flight(
            plans.schedule[:, None],
            plans.pp[:, None],
            plans.interleave[:, None],
            np.array([[self.m]]),
            np.array([[float(device)]]),
        )
        return float(held[0, 0])

    def bytes_of(
        self, place: Place | Places, choices: StageChoices, chunks: IntArray | None = None
    ) -> Memory:
        """(1, c) bytes per chip of every choice.

        Args:
            place: Of the stage, or of the stage of each choice.
            choices: c of them.
            chunks: (c, v, 2, r) layers on each chunk (of pairs of ranks both); None: as if equal.
        """
        stages = _classes(place, choices)
        if chunks is not None:
            stages = replace(stages, chunks=chunks.sum(axis=3)[None].astype(np.float64))
        groups = tuple(
            RecomputeGroup(
                recompute=np.full((1, 1), code),
                dense=choices.counts[None, :, 0, at].astype(np.float64),
                moe=choices.counts[None, :, 1, at].astype(np.float64),
                chunks=None if chunks is None else chunks[None, ..., at].astype(np.float64),
            )
            for at, code in enumerate(self.rows.recomputes)
        )
        plans, job = self.rows.plans, self.model.job
        local = parameters_on_chip(self.model, plans)
        return memory(
            job,
            self.model.shapes,
            plans,
            stages,
            local,
            stage_parameters(plans, stages, local),
            m=np.array([[self.m]]),
            groups=groups,
            sharding=choices.sharding[None, :],
            fused=self.model.assumptions.fused_attention,
        )

    def costs(
        self, place: Place | Places, choices: StageChoices, chunks: IntArray | None = None
    ) -> StageChoiceCosts:
        """The costs of every choice, with (c, v, 2, r) layers on each chunk if there are some."""
        stage, x = self._stage(place, choices), self._inputs(choices)
        found = stage_costs(self.model.assumptions, self.schedule, stage, x, self.factor).take(0)
        return replace(found, filling=self._filling(stage, found.time, chunks))

    def pair_costs(self, place: Place, choices: StageChoices) -> PairCosts:
        """The costs of every choice on a pair of ranks with both directions."""
        stage, x = self._stage(place, choices), self._inputs(choices)
        return pair_costs(self.model.assumptions, stage, x, self.factor).take(0)

    @property
    def pp(self) -> int:
        """Stages."""
        return int(self.rows.plans.pp[0])

    @property
    def v(self) -> int:
        """Chunks per stage."""
        return int(self.rows.plans.interleave[0])

    def kept(self, place: Place) -> FloatArray:
        """(2 r,) bytes of activations of a layer per micro-batch in flight, by kind and mode."""
        modes = 2 * len(self.rows.recomputes)
        one = np.eye(modes, dtype=np.int64).reshape(modes, 2, -1)
        same = np.zeros(2 * modes, dtype=np.int64)
        counts = np.concatenate([one, 2 * one])
        choices = StageChoices(counts=counts, sharding=same, clock=same, spread=same > 0)
        saved = self.bytes_of(place, choices).parts["activations"][0].reshape(2, modes)
        return np.asarray((saved[1] - saved[0]) / self.in_flight(place.position))

    def _filling(self, stage: StageCost, time: FloatArray, chunks: IntArray | None) -> FloatArray:
        """(c,) `StageChoiceCosts.filling`."""
        if chunks is None:
            return time
        seconds = np.stack([cost.total[0] for _, cost in stage.layers], axis=1)
        layers = np.stack([count[0] for count, _ in stage.layers], axis=1)
        ends = time - (layers * seconds).sum(axis=1)
        kinds = [at for at, kind in enumerate(KINDS) if kind in self.terms.layers]
        table = seconds.reshape(len(time), len(kinds), len(self.rows.recomputes))
        times = chunk_times(chunks[:, :, kinds], table)
        waited = wait_s(times, stage.first.T, stage.last.T, self.m, self.pp, self.v)
        return np.asarray(self.v * waited[:, 0] + ends)

    def _stage(self, place: Place | Places, choices: StageChoices) -> StageCost:
        """The choices as classes of stages."""
        stages = _classes(place, choices)
        return StageCost(
            count=stages.count,
            first=stages.first,
            last=stages.last,
            layers=tuple(
                (
                    choices.counts[None, :, at, code].astype(np.float64),
                    self._layer(kind, code, choices),
                )
                for at, kind in enumerate(KINDS)
                if kind in self.terms.layers
                for code in range(len(self.rows.recomputes))
            ),
            **self._state(place, choices),
            extra_w=running_w(self.model, self.terms.clocks[choices.clock][None, :]),
        )

    def _state(self, place: Place | Places, choices: StageChoices) -> dict[str, FloatArray]:
        """(1, c) reductions and optimizer of every choice, once per number of layers and ends."""
        kinds = choices.kinds
        first, which = distinct([kinds[:, 0], kinds[:, 1], *place.ends])
        stages = _classes(place.take(first), choices.take(first))
        terms = stage_state(self.model, self.rows, stages)
        return {
            f.name: getattr(terms, f.name)[:, which, choices.sharding] for f in fields(StateTerms)
        }

    def _layer(self, kind: str, code: int, choices: StageChoices) -> LayerCost:
        table = self.terms.layers[kind]
        at = (0, code, choices.sharding, choices.clock)

        def chosen(values: FloatArray) -> FloatArray:
            whole = values.shape == table.total.shape
            wide = values if whole else np.broadcast_to(values, table.total.shape)
            return np.asarray(wide[at][None, :])

        return LayerCost(**{f.name: chosen(getattr(table, f.name)) for f in fields(LayerCost)})

    def _inputs(self, choices: StageChoices) -> StepInputs:
        plans, ends = self.rows.plans, self.terms.ends
        return StepInputs(
            m=np.array([[self.m]]),
            pp=plans.pp[:, None],
            v=plans.interleave[:, None],
            schedules=ScheduleColumn(plans.schedule[:, None]),
            chips=plans.chips[:, None].astype(np.float64),
            ends=EndCost(**{f.name: getattr(ends, f.name)[:, choices.clock] for f in fields(ends)}),
            p2p=self.terms.p2p[:, None],
            standing_w=np.zeros((1, 1)),  # counts per second of the step, not per fill
        )


def stage_costs(
    a: Assumptions, schedule: Schedule, stage: StageCost, x: StepInputs, factor: float
) -> StageChoiceCosts:
    """(n, k) costs of a stage of n plans with k choices each, as if it had one chunk.

    Args:
        a: Constants.
        schedule: Of all plans; what it does not compare is not worked out.
        stage, x: The stage, and all else of the step.
        factor: Of the step.
    """
    time = stage.sum_layers("total") + ends_s(stage, x)
    halves = "forward" in schedule.compared
    forward, backward = passes_s(a, stage, x) if halves else (time, 0.0 * time)
    filled = filled_s(a, stage, x, time) if schedule.fills_bubbles else 0.0 * time
    return StageChoiceCosts(
        time=time,
        forward=forward,
        backward=backward,
        paced=(x.m - 1) * time + filled,
        left=time - filled,
        filling=time,
        exposed=exposed_reduction_s(a, stage, x),
        optimizer=stage.optimizer,
        extra_j=_extra_j(stage, x) * factor,
    )


def _extra_j(stage: StageCost, x: StepInputs) -> FloatArray:
    """Joules that running kernels add on the chips of a rank, without the factor of the step."""
    return np.asarray(x.chips * run_s(stage, x, ends_s(stage, x)) * stage.extra_w / x.pp)


def pair_costs(a: Assumptions, stage: StageCost, x: StepInputs, factor: float) -> PairCosts:
    """(n, k) costs of a pair of ranks with both directions; arguments as of `stage_costs`."""
    hidden = stage.sum_layers("paired")
    time = stage.sum_layers("total") + ends_s(stage, x) - hidden
    rank = rank_times(a, split_passes(stage, x, time), hidden, x.p2p)
    filled = rank.wait + rank.hidden / 2
    return PairCosts(
        time=time,
        round=x.rounds * (time + paced_messages_s(a, x.p2p)),
        paced=rank.paced(x.rounds),
        over=rank.over,
        early=filled - rank.forward / x.pp,
        late=filled - rank.over,
        exposed=exposed_reduction_s(a, stage, x),
        optimizer=stage.optimizer,
        extra_j=2 * _extra_j(stage, x) * factor,
    )


def _classes(place: Place | Places, choices: StageChoices) -> StageClasses:
    """(1, c) every choice as a class of stages."""
    kinds = choices.kinds[None].astype(np.float64)
    return contents(
        kinds[..., 0],
        kinds[..., 1],
        first=place.first,
        last=place.last,
        position=np.asarray(place.position, dtype=np.float64),
    )

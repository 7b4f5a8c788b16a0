"""What a pipeline schedule is to the planner: one object with its rules, costs and order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.schedules.orders import Orders
from planner.schedules.passes import SplitPasses, StepTimes, paced_sends

StageRows = list[tuple[float, ...]]
"""Of each class of equal stages: dense layers, expert layers, how many stages, whether they hold
the embedding and the head, position of the earliest; then, where chunks matter, dense and expert
layers of each chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepForms:
    """The step time of stages that differ, as weights: the largest form counts.

    Every form is a sum over the stages of some seconds, plus the largest of others, in whole units.

    Attributes:
        sums, peaks: Names of seconds of a stage (`planner.search.uneven.columns.stage_choices`).
        forms: Weights of the sums and of the peaks, per form.
        chunks: Seconds count in this many parts.
    """

    sums: tuple[str, ...]
    peaks: tuple[str, ...]
    forms: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    chunks: int = 1


class Schedule(ABC):
    """A pipeline schedule: subclass it, set the attributes, override what differs from 1F1B.

    Names: pp stages (ranks of the pipeline), m micro-batches per step and data rank, v the plan's
    interleave; the model is cut into pp v chunks in order. A method that takes arrays gets columns
    of plans that broadcast, and is asked for the rows of its own schedule alone: what it says of
    others is not read.

    To add a schedule:

    1. Write a file with a subclass and one object of it. `name` is what plans say; `source` where
       the schedule is described, with the equation.
    2. Say when it runs: `fits_interleave`, and where pp or m limit it `runs`, `runs_on`, `why_not`
       and `rule_source`.
    3. Say where chunks are, `place` and `chunks`, unless chunk c of stage i is the chunk c pp + i
       of the model.
    4. Say what it costs: `bubble_s`, the seconds in which the slowest stage waits; `in_flight`, the
       micro-batches whose activations a stage holds.
    5. Say what it costs at least: `least_bubble`, for the search. It must not be above `bubble_s`.
    6. Give the order of operations of every stage, `orders`: it is simulated and drawn.
    7. Add the object to `planner.schedules.registry`, or, from another package, as an entry point
       of the group `planner.schedules`. Name it in the profiles of the frameworks that run it.

    Attributes:
        name, source: See above.
        rule_source: Where `runs`, `runs_on` are enforced; empty where every plan runs.
        replicas: Copies of each layer's weights among the ranks of a pipeline; with 2, half of the
            micro-batches runs through each, in opposite directions.
        side_by_side: Whether a forward pass runs beside a backward pass, and hides a part of its
            communication.
        splits_backward: Whether weight gradients are operations of their own; then the job must
            compute them.
        fills_bubbles: Whether these fill bubbles, as `filled_s` says.
        whole_groups: Whether micro-batches must be a multiple of pp.
        lists_chunks: Whether `stage_classes` tells the layers of every chunk.
        uneven: Whether stages that differ are searched; then `step_forms` and `compared` count.
        compared: Seconds of a stage (names as in `StepForms`) in which less is better.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    rule_source: ClassVar[str] = ""
    replicas: ClassVar[int] = 1
    side_by_side: ClassVar[bool] = False
    splits_backward: ClassVar[bool] = False
    fills_bubbles: ClassVar[bool] = False
    whole_groups: ClassVar[bool] = False
    lists_chunks: ClassVar[bool] = False
    uneven: ClassVar[bool] = False
    compared: ClassVar[tuple[str, ...]] = ("time",)

    @property
    def bidirectional(self) -> bool:
        """Whether pipelines in opposite directions share the ranks."""
        return self.replicas > 1

    @property
    def on_pools(self) -> bool:
        """Whether it is searched on pools of chips that differ: one chunk per stage."""
        return self.uneven and not self.bidirectional and not self.interleaves

    @property
    def interleaves(self) -> bool:
        """Whether it runs several chunks of the model per stage, as interleave says."""
        return bool(self.fits_interleave(np.array([2, 3])).any())

    # Rules.

    def fits_interleave(self, v: IntArray) -> BoolArray:
        """Whether it runs with so many chunks per stage."""
        return np.asarray(v == 1)

    def runs_on(self, pp: IntArray) -> BoolArray:
        """Whether it runs with so many stages, given micro-batches that suit it."""
        return np.asarray(pp > 0)

    def runs(self, pp: IntArray, m: IntArray) -> BoolArray:
        """Whether it runs with so many stages and whole micro-batches."""
        return self.runs_on(pp)

    def why_not(self, pp: int, m: float, *, trains_all: bool) -> str:
        """What it needs to run, in one sentence with the nearest value that it allows.

        Args:
            pp, m: Stages; micro-batches, a fraction where the batch does not divide.
            trains_all: Whether the job computes gradients of all weights, which a schedule needs
                that runs them apart.
        """
        return f"schedule {self.name} does not run with pp {pp} and {m:g} micro-batches"

    # Chunks and stages.

    def chunks(self, v: IntArray) -> IntArray:
        """Chunks of the model on each rank."""
        return v

    def place(self, stage: IntArray, chunk: IntArray, pp: IntArray, v: IntArray) -> IntArray:
        """Which chunk of the model is a chunk of a stage."""
        return np.asarray(chunk * pp + stage)

    def places(self, pp: int, v: int) -> IntArray:
        """(pp, c) `place` of every chunk of every stage."""
        stage, chunk = np.arange(pp)[:, None], np.arange(int(self.chunks(np.array(v))))[None, :]
        return self.place(stage, chunk, np.array(pp), np.array(v)) + 0 * stage

    def every_stage(self, kinds: IntArray, pp: int) -> StageRows:
        """Every stage in order, as a class of its own.

        Args:
            kinds: (pp v, 2) dense and expert layers of every chunk of the model.
            pp: Stages.
        """
        places = self.places(pp, len(kinds) // pp)
        layers = kinds[places].sum(axis=1)
        first, last = (places == 0).any(axis=1), (places == len(kinds) - 1).any(axis=1)
        return [
            (*map(float, layers[at]), 1.0, float(first[at]), float(last[at]), float(at))
            for at in range(pp)
        ]

    def stage_classes(self, kinds: IntArray, pp: int) -> StageRows:
        """The classes of equal stages; see `every_stage`."""
        classes: dict[tuple[float, ...], list[tuple[float, ...]]] = {}
        for row in self.every_stage(kinds, pp):
            classes.setdefault((*row[:2], *row[3:5]), []).append(row)
        return [(*r[0][:2], float(len(r)), *r[0][3:]) for r in classes.values()]

    # Memory.

    def in_flight(
        self, pp: IntArray, v: IntArray, m: FloatArray, position: FloatArray
    ) -> FloatArray:
        """Micro-batches whose activations a stage of equal chunks holds, in whole stages."""
        return np.minimum(m, pp - position)

    def most_in_flight(
        self, pp: IntArray, v: IntArray, m: FloatArray, position: FloatArray, chunks: FloatArray
    ) -> FloatArray:
        """(n, s) most that a stage holds at once of what each micro-batch leaves on each chunk.

        Args:
            pp, v: (n,) stages, interleave.
            m: (n, 1) micro-batches per step.
            position: (n, s) of each stage.
            chunks: (n, s, c) per micro-batch.
        """
        most = np.zeros(chunks.shape[:2])
        for row in np.flatnonzero(chunks.any(axis=(1, 2)) & (m[:, 0] > 0)):
            number = int(np.ceil(m[row, 0]))
            held = self.orders(int(pp[row]), number, int(v[row])).held_by_chunk()
            place = np.clip(position[row], 0, pp[row] - 1).astype(np.int64)
            at_once = np.einsum("skc,sc->sk", held[place], chunks[row, :, : held.shape[2]])
            most[row] = at_once.max(axis=1)
        return most

    # Time.

    def exposed_sends(self, a: Assumptions, v: FloatArray | IntArray) -> FloatArray:
        """Messages between chunks that delay each micro-batch of a full pipeline."""
        return paced_sends(a, v)

    def bubble_s(self, step: StepTimes, own: BoolArray) -> FloatArray:
        """(n, k) seconds in which the slowest stage waits to start or to finish.

        Args:
            step: What is known of the n steps.
            own: (n, 1) or (1, 1) the rows that are of this schedule; others are not read.
        """
        return step.others + step.ramp

    def filled_s(self, passes: SplitPasses, send: FloatArray, ramped: FloatArray) -> FloatArray:
        """(n, k) seconds of the bubble behind a stage that weight gradients fill.

        Bounds of the search rely on at most W + r min(F + send, B + send, W), with F, B (the
        gradients of inputs alone), W the passes of the stage.

        Args:
            passes: The stage.
            send: (n, k) seconds of the message of a pass, and of the host.
            ramped: (n, 1) r, the share of the ramp that has micro-batches.
        """
        return 0.0 * passes.total

    def least_bubble_s(self, step: StepTimes, own: BoolArray) -> FloatArray:
        """(n, k) the same from below where `step` bounds every time from below.

        The default holds where the whole step, m t_max + `bubble_s`, never falls when any time
        grows.
        """
        return self.bubble_s(step, own)

    def least_bubble(self, pp: IntArray, v: IntArray) -> FloatArray:
        """Share of the seconds of all layers that the slowest stage waits at least."""
        return np.asarray(0.0 * pp)

    def step_forms(self, m: int, v: int, *, bubbles: bool) -> StepForms:
        """The step time of unequal stages; `bubbles`: whether pipelines wait at all."""
        if not bubbles:
            return StepForms(sums=("time",), peaks=("time",), forms=(((0,), (m,)),))
        return StepForms(
            sums=("filling",), peaks=("time",), forms=(((1,), (m * v - 1,)),), chunks=v
        )

    # Order and words.

    def check(self, pp: int, m: int, v: int) -> None:
        """Refuses numbers with which it has no order; one stage alone always has one.

        Raises:
            ValueError: It does not run with them.
        """
        fits = self.runs(np.array(pp), np.array(m)) | (pp == 1)
        if min(pp, m, v) < 1 or not (fits & self.fits_interleave(np.array(v))):
            raise ValueError(
                f"no schedule {self.name} of {pp} stages, {m} micro-batches, {v} chunks"
            )

    @abstractmethod
    def orders(self, pp: int, m: int, v: int = 1) -> Orders:
        """The operations of every stage in order.

        Raises:
            ValueError: It does not run with these numbers.
        """

    def caveats(self, a: Assumptions) -> list[str]:
        """What a reader of a plan with this schedule should know of its figures, a line each."""
        return []

"""Seconds and joules of one training step from the seconds of its layers.

    T = m (t_max + c_mb + s p2p) + bubble + exposed reduction + optimizer + step overhead
    bubble = (sum_i t_i - t_max) / v + (pp - 1) (p2p + c_mb / v)

t_i is stage i's time for one micro-batch, t_max the slowest; v the interleave; s = v messages of
which an interleaved schedule, whose stages work on other chunks meanwhile, hides a part. This is
the bubble of 1F1B and of interleaved schedules; others have their own (`planner.schedules`). Under
a bidirectional schedule a stage is a rank with two chunks, that runs m / 2 rounds of both. Where
passes run side by side t_i is less what they hide.

Plans that list the chunks of an interleaved pipeline fill it with the longest chunk of each stage
instead of a v-th of it, C_i with a v-th of the ends, and what rounds of unequal chunks add
(`planner.cost.stages.rounds`):

    interleaved, listed:  bubble = sum_i C_i - t_max / v + (pp - 1) (p2p + c_mb / v) + ...

which is the same for equal chunks and never less. Plans whose rule makes unequal chunks (a layer
less beside embedding and head) keep v-ths: listed, the same chunks may take slightly longer.

For equal stages T equals an event-driven simulation of the schedule; for unequal stages with 1F1B
it is an upper estimate but where they recompute differently (`planner.schedules.one_f_one_b`), with
others an estimate. Listed chunks that differ by
one layer are mostly within 2 % of the simulation and up to 10 % off.
A plan does not get faster when a message gets slower. Sources: Narayanan et al., arXiv:2104.04473,
section 2.2 (bubble of 1F1B and interleaved schedules).

    E = chips * [ sum_stages busy_i (P_busy(clock_i) - P_wait) / pp + T (P_wait + P_host + P_net) ]

Arrays have shape (n, k): n plans, k = 1 or the clocks that are tried together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.communication.data_parallel import exposed_s, sharded_layer_s
from planner.cost.layer_costs import EndCost, LayerCost
from planner.schedules import ScheduleColumn
from planner.schedules.passes import SplitPasses, of_rows

_NODE: FloatArray = np.array(8.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCost:
    """One class of equal stages; one with count 0 has no layers, no ends and no parameters.

    Attributes:
        count, first, last: (n, 1) stages in the class; 1.0 with the embedding, the head.
        layers: (n, 1) layers per stage that cost the same, and the cost of one of them: by kind
            and recomputation.
        collective: Seconds of the step's reductions on the stage, before overlap.
        optimizer: Seconds of the optimizer step, of which `optimizer_kernels` run kernels.
        extra_w: Power above waiting while kernels run, per chip.
        longest: Seconds that the layers of its chunks make wait (`planner.cost.stages.rounds`);
            NaN for plans that do not list their chunks. None: all chunks are v-ths of their stages.
    """

    count: FloatArray
    first: FloatArray
    last: FloatArray
    layers: tuple[tuple[FloatArray, LayerCost], ...]
    collective: FloatArray
    optimizer: FloatArray
    optimizer_kernels: FloatArray
    extra_w: FloatArray
    longest: FloatArray | None = None

    def sum_layers(self, field: str) -> FloatArray:
        """Layers times `field` of `LayerCost`."""
        return reduce(np.add, [layers * getattr(cost, field) for layers, cost in self.layers])


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInputs:
    """Everything the step needs beside its stages, (n, 1) or (n, k).

    Attributes:
        m, pp, v: Micro-batches, stages, interleave.
        schedules: The pipeline schedules.
        chips: Chips used.
        ends: Embedding and head.
        p2p: Seconds of the two sends of a micro-batch between chunks.
        standing_w: (n, 1) waiting chip, host and network, per chip.
        moved_j: Joules of operations and bytes, where energy is that alone (then no power counts).
        bounds: Whether seconds are lower bounds, and the step is to be one.
    """

    m: FloatArray
    pp: FloatArray | IntArray
    v: FloatArray | IntArray
    schedules: ScheduleColumn
    chips: FloatArray
    ends: EndCost
    p2p: FloatArray
    standing_w: FloatArray
    moved_j: FloatArray | float = 0.0
    bounds: bool = False

    @property
    def rounds(self) -> FloatArray:
        """(n, 1) times per step that a stage runs its layers: m over the copies of each layer."""
        return self.schedules.rounds(self.m)

    @property
    def beside(self) -> BoolArray | None:
        """(n, 1) where a forward pass runs beside a backward pass; None: nowhere."""
        if not self.schedules.any("side_by_side"):
            return None
        found: BoolArray = self.schedules.values("side_by_side")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """Seconds and joules of the step, (n, k), and what they are made of.

    Attributes:
        time: Step time.
        energy: Joules of all chips with host and network.
        slowest: Seconds of the slowest stage for one micro-batch.
        bubble: Seconds in which the slowest stage waits to start or to finish.
        exposed: Seconds of reductions that nothing hides.
        optimizer: Seconds of the optimizer step.
        factor: Site factor and jitter that multiply everything.
    """

    time: FloatArray
    energy: FloatArray
    slowest: FloatArray
    bubble: FloatArray
    exposed: FloatArray
    optimizer: FloatArray
    factor: FloatArray


def step_cost(a: Assumptions, stages: Sequence[StageCost], x: StepInputs) -> StepCost:
    """The step of n plans whose stages fall into the classes of `stages`."""
    stages = [stage for stage in stages if stage.count.any()] or stages[:1]
    ends = [ends_s(stage, x) for stage in stages]
    times = [stage.sum_layers("total") + end for stage, end in zip(stages, ends, strict=True)]
    if x.schedules.any("side_by_side"):
        times = [time - _paired_s(stage, x) for stage, time in zip(stages, times, strict=True)]
    slowest = reduce(np.maximum, times)
    others = reduce(np.add, [s.count * t for s, t in zip(stages, times, strict=True)]) - slowest
    bubble = _bubble_s(a, stages, times, x, slowest, others)
    exposed = reduce(np.maximum, [exposed_reduction_s(a, stage, x) for stage in stages])
    optimizer = reduce(np.maximum, [stage.optimizer for stage in stages])
    steady = x.rounds * slowest + x.m * (a.micro_batch_s + paced_messages(a, x) * x.p2p)
    factor = step_factor(a, x.chips)
    time = (steady + bubble + exposed + optimizer + a.step_s) * factor
    runs = [run_s(stage, x, end) for stage, end in zip(stages, ends, strict=True)]
    extra_j = reduce(np.add, [run * s.extra_w for run, s in zip(runs, stages, strict=True)])
    energy = x.chips * (extra_j / x.pp * factor + time * x.standing_w) + x.moved_j
    return StepCost(
        time=time,
        energy=energy,
        slowest=slowest,
        bubble=bubble,
        exposed=exposed,
        optimizer=optimizer,
        factor=factor,
    )


def paced_messages(a: Assumptions, x: StepInputs) -> FloatArray:
    """Messages between chunks that delay each micro-batch of a full pipeline, for every plan."""
    found: FloatArray = x.schedules.of_each("exposed_sends", a, x.v)
    return found


def _paired_s(stage: StageCost, x: StepInputs) -> FloatArray:
    """(n, k) seconds that passes side by side hide of the layers' communication."""
    if (beside := x.beside) is None:
        return np.zeros((1, 1))
    return np.where(beside, stage.sum_layers("paired"), 0.0)


def busy_s(stages: Sequence[StageCost], x: StepInputs, factor: FloatArray) -> FloatArray:
    """(n, k) mean seconds per chip in which kernels run; `factor` is that of `StepCost`."""
    run = reduce(np.add, [run_s(stage, x, ends_s(stage, x)) for stage in stages])
    return np.asarray(run / x.pp * factor)


def run_s(stage: StageCost, x: StepInputs, ends: FloatArray | float) -> FloatArray:
    """Seconds in which kernels run in a step, summed over the stages of a class."""
    step = x.rounds * (stage.sum_layers("kernels") + ends) + stage.optimizer_kernels
    return np.asarray(stage.count * step)


def exposed_reduction_s(a: Assumptions, stage: StageCost, x: StepInputs) -> FloatArray:
    """Seconds of a stage's reductions that its last backward pass does not hide."""
    hides = stage.sum_layers("hides")
    if x.ends.tower_backward.any():
        hides = hides + stage.first * x.ends.tower_backward
    if stage.last.any():
        hides = hides + stage.last * x.ends.head_backward
    return exposed_s(a, stage.collective, hides)


def ends_s(stage: StageCost, x: StepInputs) -> FloatArray | float:
    """Embedding and head of a micro-batch on a stage; 0 where no plan has either there."""
    first, last = stage.first.any(), stage.last.any()
    if first and last:
        return stage.first * x.ends.embedding + stage.last * x.ends.head
    if first:
        return stage.first * x.ends.embedding
    return stage.last * x.ends.head if last else 0.0


def slowest_class(stages: Sequence[StageCost], x: StepInputs) -> IntArray:
    """(n, k) index of the class of the slowest stage, the first of equals."""
    slowest = np.zeros_like(x.p2p)
    found: IntArray = np.zeros(slowest.shape, dtype=np.int64)
    for index, stage in enumerate(stages):
        ends = stage.first * x.ends.embedding + stage.last * x.ends.head
        time = stage.sum_layers("total") + ends - _paired_s(stage, x)
        found = np.where(time > slowest, index, found)
        slowest = np.maximum(slowest, time)
    return found


def split_passes(stage: StageCost, x: StepInputs, time: FloatArray) -> SplitPasses:
    """The passes of a stage that takes `time` for both."""
    return SplitPasses(
        count=stage.count,
        total=time,
        backward=stage.sum_layers("backward")
        + stage.first * x.ends.tower_backward
        + stage.last * x.ends.head_backward,
        weight_grad=stage.sum_layers("weight_grad") + stage.last * x.ends.head_weight_grad,
    )


def filled_s(a: Assumptions, stage: StageCost, x: StepInputs, time: FloatArray) -> FloatArray:
    """Seconds of the bubble behind a stage that its schedule fills with weight gradients."""
    ramped = (np.minimum(x.pp, x.m) - 1) / np.maximum(x.pp - 1, 1)
    send = (x.p2p + a.micro_batch_s) / 2
    found: FloatArray = x.schedules.of_each("filled_s", split_passes(stage, x, time), send, ramped)
    return found


@dataclass(frozen=True, kw_only=True)
class _StepTimes:
    """What schedules may ask of a step: `planner.schedules.passes.StepTimes`."""

    assumptions: Assumptions
    stages: Sequence[StageCost]
    times: Sequence[FloatArray]
    x: StepInputs
    slowest: FloatArray
    others: FloatArray
    m: FloatArray
    pp: FloatArray | IntArray
    v: FloatArray | IntArray
    p2p: FloatArray
    rounds: FloatArray

    @cached_property
    def ramp(self) -> FloatArray:
        """(pp - 1) (p2p + c_mb / v)."""
        return np.asarray((self.pp - 1) * (self.p2p + self.assumptions.micro_batch_s / self.v))

    def split_passes(self) -> list[SplitPasses]:
        """The passes of every class of stages."""
        pairs = zip(self.stages, self.times, strict=True)
        return [split_passes(stage, self.x, time) for stage, time in pairs]

    def hidden(self) -> list[FloatArray]:
        """Seconds that passes side by side hide, of every class of stages."""
        return [_paired_s(stage, self.x) for stage in self.stages]

    def slowest_passes(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """f_max and b_max of some of the rows."""
        forward = backward = np.zeros_like(of_rows(self.slowest, rows))
        passes: dict[int, FloatArray] = {}  # by identity: the stages of a plan table share layers
        for stage, time in zip(self.stages, self.times, strict=True):
            for _, cost in stage.layers:
                if id(cost) not in passes:
                    passes[id(cost)] = forward_pass_s(self.assumptions, cost, rows)
            ahead = _forward_s(stage, self.x, rows, passes)
            forward = np.maximum(forward, ahead)
            backward = np.maximum(backward, of_rows(time, rows) - ahead)
        return forward, backward


def _forward_s(
    stage: StageCost, x: StepInputs, rows: IntArray, passes: dict[int, FloatArray]
) -> FloatArray:
    """Forward seconds of a micro-batch on a stage, of some of the plans, from those of layers."""
    ahead = np.zeros_like(of_rows(stage.first, rows))
    for layers, cost in stage.layers:
        ahead = ahead + of_rows(layers, rows) * passes[id(cost)]
    if stage.first.any():
        end = of_rows(x.ends.embedding, rows) - of_rows(x.ends.tower_backward, rows)
        ahead = ahead + of_rows(stage.first, rows) * end
    if stage.last.any():
        head = of_rows(x.ends.head, rows) - of_rows(x.ends.head_backward, rows)
        ahead = ahead + of_rows(stage.last, rows) * head
    return ahead


def passes_s(a: Assumptions, stage: StageCost, x: StepInputs) -> tuple[FloatArray, FloatArray]:
    """(n, k) seconds of the forward and of the backward pass of a micro-batch on a stage."""
    rows = np.arange(len(x.p2p))
    passes = {id(cost): forward_pass_s(a, cost) for _, cost in stage.layers}
    forward = _forward_s(stage, x, rows, passes)
    return forward, stage.sum_layers("total") + ends_s(stage, x) - forward


def forward_pass_s(a: Assumptions, cost: LayerCost, rows: IntArray | None = None) -> FloatArray:
    """Seconds of the forward pass of a layer with half of its collectives; of some of the plans.

    Both passes then take longer when anything gets slower: a backward pass that hides collectives
    does not shorten the forward pass.
    """
    alone = of_rows(cost.alone, rows) - of_rows(cost.backward, rows)
    return sharded_layer_s(a, alone, 0.5 * of_rows(cost.collective, rows))


def _bubble_s(
    a: Assumptions,
    stages: Sequence[StageCost],
    times: Sequence[FloatArray],
    x: StepInputs,
    slowest: FloatArray,
    others: FloatArray,
) -> FloatArray:
    """(n, k) idle seconds of the slowest stage; `others` sums the times of all other stages."""
    if not a.bubbles:
        return np.zeros_like(slowest)
    wait = others / x.v
    if any(stage.longest is not None for stage in stages):
        wait = _chunk_wait_s(stages, x, slowest, wait)
    step = _StepTimes(
        assumptions=a,
        stages=stages,
        times=times,
        x=x,
        slowest=slowest,
        others=wait,
        m=x.m,
        pp=x.pp,
        v=x.v,
        p2p=x.p2p,
        rounds=x.rounds,
    )
    bubble = wait + step.ramp
    for schedule, own in x.schedules.overriding("bubble_s"):
        wanted = schedule.least_bubble_s if x.bounds else schedule.bubble_s
        bubble = np.where(own, wanted(step, own), bubble)
    return bubble


def _chunk_wait_s(
    stages: Sequence[StageCost], x: StepInputs, slowest: FloatArray, equal: FloatArray
) -> FloatArray:
    """(n, k) sum_i C_i - t_max / v of plans that list their chunks; `equal` holds for the others.

    C_i is the longest chunk of stage i with a v-th of its ends: t_i / v where chunks are equal,
    and never less.
    """
    longest = [
        stage.count * (stage.longest + ends_s(stage, x) / x.v)
        for stage in stages
        if stage.longest is not None
    ]
    wait = reduce(np.add, longest) - slowest / x.v
    return np.where(np.isnan(wait), equal, wait)


def step_factor(a: Assumptions, chips: FloatArray) -> FloatArray:
    """Site factor times exp(jitter (z(n) - z(8))): n chips wait for the slowest of them.

    z(n) is the expected largest of n standard normal numbers, so that of n log-normal steps of
    deviation s is about exp(s z(n)) times their median. Efficiencies were measured on nodes, so 8
    chips and fewer count as they are.
    """
    if not a.jitter:
        return np.full(np.shape(chips), a.site_factor)
    late = expected_maximum(np.maximum(chips, _NODE)) - expected_maximum(_NODE)
    factor: FloatArray = a.site_factor * np.exp(a.jitter * late)
    return factor


def expected_maximum(n: FloatArray) -> FloatArray:
    """Expected largest of n >= 8 standard normal numbers, by the limit of Gumbel; within 0.1.

    Source: Cramer, Mathematical Methods of Statistics, 1946, section 28.6.
    """
    root = np.sqrt(2.0 * np.log(n))
    spread = np.log(np.log(n)) + np.log(4.0 * np.pi) - 2.0 * np.euler_gamma
    return np.asarray(root - spread / (2.0 * root))

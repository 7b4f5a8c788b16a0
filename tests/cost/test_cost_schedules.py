"""Step time against the event-driven simulation of every schedule.

The simulated stages take the layer times of the scalar reference (which the model equals to 1e-9);
sends and the overhead per micro-batch are charged half to F and half to B; the exposed
data-parallel reduction, the optimizer and the step overhead happen once, outside. A simulated stage
waits for its own sends, so interleaved schedules are compared where none is hidden
(`interleaved_p2p` = 1); what hiding them does is asserted by itself.

Equal stages agree to 1e-9. Unequal stages lie between bounds that hold for every work-conserving
order, and the distance to the simulation is asserted.
"""

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from oracles.pipeline_makespans import makespans_s
from oracles.pipeline_simulator import (
    Durations,
    Schedule,
    gpipe,
    interleaved,
    one_f_one_b,
    simulate,
    zero_bubble_h1,
)
from support.cases import each
from support.jobs import obeying

from cost import reference
from cost.cases import Case, case_of, runnable
from cost.reference_memory import chunk_sizes
from planner.cost.evaluate import evaluate_table
from planner.plan import Plan, PlanTable, Stage

FloatArray = npt.NDArray[np.float64]

# Embedding, head and memory-bound work take no time, so that stages with the same layers are equal.
WEIGHTLESS_ENDS: dict[str, Any] = {
    "memory_bytes_per_s": 1e30,
    "bf16_flop_per_s": 1e30,
    "matmul_overhead_s": 0.0,
}


@dataclass(frozen=True)
class Pipeline:
    """A plan as a simulated pipeline: seconds per stage and micro-batch, sends included."""

    forward: list[float]
    backward: list[float]
    weight_grad: list[float]
    once: float
    makespan: float

    @property
    def totals(self) -> list[float]:
        """F + B + W per stage."""
        return [sum(t) for t in zip(self.forward, self.backward, self.weight_grad, strict=True)]


def schedule_of(plan: Plan, m: int) -> Schedule:
    """The simulated schedule of a plan."""
    if plan.schedule == "gpipe":
        return gpipe(plan.pp, m)
    if plan.schedule == "interleaved":
        return interleaved(plan.pp, plan.interleave, m)
    return zero_bubble_h1(plan.pp, m) if plan.schedule == "zero-bubble" else one_f_one_b(plan.pp, m)


def simulated(case: Case, plan: Plan, *, head_on_last_chunk: bool = False) -> Pipeline:
    """Simulate a plan with the reference's layer times; chunks of a stage are equal.

    No message is hidden, so `case` must not hide them either. With `head_on_last_chunk` the last
    stage's surplus over the first sits on its last chunk.
    """
    a = case.assumptions
    assert a.interleaved_p2p == 1.0 or plan.interleave == 1
    cost = reference.evaluate(case.job, case.cluster, a, plan)
    m, v = round(cost.micro_batches), plan.interleave
    half = (cost.p2p + a.micro_batch_s / v) / 2
    splits = plan.schedule == "zero-bubble"
    grads = [stage.weight_grad if splits else 0.0 for stage in cost.stages]
    forward = [(stage.total - stage.backward) / v for stage in cost.stages] * v
    backward = [stage.backward / v - w for stage, w in zip(cost.stages, grads, strict=True)] * v
    if head_on_last_chunk:
        for times in (forward, backward):
            surplus = times[-1] - times[0]
            times[plan.pp - 1 :: plan.pp] = [times[0]] * v
            times[-1] += v * surplus
    durations = Durations(
        forward_s=forward,
        backward_s=backward,
        weight_grad_s=grads if splits else (),
        send_s=half,
    )
    once = max(reference.exposed_s(a, stage) for stage in cost.stages) + a.step_s
    once += max(stage.optimizer for stage in cost.stages)
    return Pipeline(
        [t + half for t in forward],
        [t + half for t in backward],
        grads if splits else [0.0] * len(forward),
        once,
        simulate(schedule_of(plan, m), durations).makespan_s,
    )


def pipelined(case: Case, plan: Plan, pipe: Pipeline) -> float:
    """The model's step time without what happens once."""
    assert runnable(case, plan)
    return case.step_time_s(plan) - pipe.once


def small_case(
    framework: str = "torchtitan", *, model: str = "llama3-8b", batch: int = 48, **changes: Any
) -> Case:
    case = case_of(model, layers=12, batch=batch, seq_len=2048, framework=framework)
    return case.assuming(interleaved_p2p=1.0, jitter=0.0, **changes)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    schedule=st.sampled_from(["gpipe", "1f1b", "interleaved", "zero-bubble"]),
    framework=st.sampled_from(["megatron", "torchtitan", "deepspeed", "nanotron"]),
    model=st.sampled_from(["llama3-8b", "gpt3-1.3b", "mixtral-8x7b"]),
    pp=st.sampled_from([2, 3, 4, 6]),
    tp=st.sampled_from([1, 2, 4]),
    dp=st.sampled_from([1, 2, 4]),
    sharding=st.sampled_from(["ddp", "zero1", "zero2", "zero3"]),
    micro_batch=st.sampled_from([1, 2, 4]),
    recompute=st.sampled_from(["none", "full"]),
    interleave=st.sampled_from([2, 3]),
    batch=st.sampled_from([12, 24, 48]),
)
def test_equal_stages_take_as_long_as_the_simulation(
    schedule: str,
    framework: str,
    model: str,
    pp: int,
    tp: int,
    dp: int,
    sharding: str,
    micro_batch: int,
    recompute: str,
    interleave: int,
    batch: int,
) -> None:
    case = small_case(framework, model=model, batch=batch, **WEIGHTLESS_ENDS)
    v = interleave if schedule == "interleaved" else 1
    plan = Plan(
        pp=pp,
        tp=tp,
        dp=dp,
        sharding=sharding if dp > 1 else "ddp",
        sequence_parallel=tp > 1,
        schedule=schedule,
        interleave=v,
        micro_batch=micro_batch,
        recompute=recompute,
    )
    assume(12 % (pp * v) == 0 and plan.chips in case.cluster.chip_counts(96))
    assume(runnable(case, plan))
    pipe = simulated(case, plan)
    assert max(pipe.totals) - min(pipe.totals) <= 1e-9 * max(pipe.totals)
    assert math.isclose(pipelined(case, plan, pipe), pipe.makespan, rel_tol=1e-9)


@each("schedule", ["gpipe", "1f1b", "interleaved", "zero-bubble"])
@each("pp", [2, 4, 6])
@each("batch", [1, 2, 4, 5, 12, 24])
def test_every_schedule_and_micro_batch_count(schedule: str, pp: int, batch: int) -> None:
    """Fewer micro-batches than stages included."""
    v = 1
    if schedule == "interleaved":
        v, batch = 3 if pp == 4 else 2, batch * pp
    case = small_case(batch=batch, **WEIGHTLESS_ENDS)
    plan = Plan(pp=pp, schedule=schedule, interleave=v, sharding="ddp", sequence_parallel=False)
    pipe = simulated(case, plan)
    assert math.isclose(pipelined(case, plan, pipe), pipe.makespan, rel_tol=1e-9)


def between_bounds(case: Case, plan: Plan, pipe: Pipeline) -> float:
    """Assert the bounds that hold for any durations; return (model - simulation) / simulation."""
    time = pipelined(case, plan, pipe)
    m, p, t = case.job.global_batch // (plan.dp * plan.micro_batch), plan.pp, pipe.totals
    before = t if plan.schedule != "zero-bubble" else pipe.forward
    lower = max(m * t[j] + sum(before[:j]) for j in range(p))
    upper = (m + p - 1) * max(t)
    if plan.schedule == "gpipe":
        upper = (m + p - 1) * (max(pipe.forward) + max(pipe.backward))
    assert lower <= pipe.makespan * (1 + 1e-12)
    assert pipe.makespan <= upper * (1 + 1e-12) or plan.schedule == "zero-bubble"
    assert time >= lower * (1 - 1e-12)
    assert time <= upper * (1 + 1e-12)
    return time / pipe.makespan - 1


@each("model", ["llama3-8b", "gpt3-1.3b", "gemma2-9b"])
@each("pp", [2, 3, 4, 6])
def test_head_and_embedding_on_the_end_stages(model: str, pp: int) -> None:
    """1F1B and GPipe exact (F : B of head and layers differ little); ZB-H1 up to 7 % above."""
    case = small_case(model=model)
    plan = Plan(pp=pp, sharding="ddp", sequence_parallel=False)
    for schedule, above in (("1f1b", 1e-9), ("gpipe", 1e-9), ("zero-bubble", 0.07)):
        chosen = replace(plan, schedule=schedule)
        gap = between_bounds(case, chosen, simulated(case, chosen))
        assert -1e-9 <= gap <= above, schedule


@each("pp", [2, 3])
def test_interleaved_with_the_head_on_its_last_chunk_is_exact(pp: int) -> None:
    """The embedding is left out: its chunk would differ from the others."""
    case = small_case(memory_bytes_per_s=1e30)
    plan = Plan(
        pp=pp, schedule="interleaved", interleave=2, sharding="ddp", sequence_parallel=False
    )
    pipe = simulated(case, plan, head_on_last_chunk=True)
    assert pipe.totals[-1] > 1.5 * pipe.totals[0]
    assert math.isclose(pipelined(case, plan, pipe), pipe.makespan, rel_tol=1e-9)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    pp=st.sampled_from([2, 3, 4, 6]),
    v=st.sampled_from([1, 2, 3]),
    tp=st.sampled_from([1, 2]),
    groups=st.integers(1, 6),
    shares=st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted),
)
def test_hiding_messages_saves_what_a_full_pipeline_sends(
    pp: int, v: int, tp: int, groups: int, shares: list[float]
) -> None:
    """From the simulation at share 1 down to it with sends that pace nothing but the ramp.

    Each of the m micro-batches waits for v messages less the hidden share; filling and draining
    the pipeline waits for all of its own. A schedule that is not interleaved hides nothing.
    """
    case = small_case(batch=pp * groups, **WEIGHTLESS_ENDS)
    assume(12 % (pp * v) == 0 and pp * tp in case.cluster.chip_counts(96))
    plan = Plan(pp=pp, tp=tp, schedule="interleaved" if v > 1 else "1f1b", interleave=v,
                sharding="ddp", sequence_parallel=tp > 1)  # fmt: skip
    pipe = simulated(case, plan)
    p2p = reference.evaluate(case.job, case.cluster, case.assumptions, plan).p2p
    at = [0.0, *shares, 1.0]
    times = [pipelined(case.assuming(interleaved_p2p=share), plan, pipe) for share in at]
    assert math.isclose(times[-1], pipe.makespan, rel_tol=1e-9)
    assert all(fewer <= more * (1 + 1e-12) for fewer, more in pairwise(times))
    sent = pp * groups * v * p2p if v > 1 else 0.0
    for share, time in zip(at, times, strict=True):
        assert math.isclose(time, pipe.makespan - (1 - share) * sent, rel_tol=1e-9)
    assert (times[0] < times[-1]) is (v > 1)


@st.composite
def uneven_plans(draw: st.DrawFn, schedule: str) -> Plan:
    """Explicit stages: any layers, recomputation and clock per stage."""
    pp = draw(st.integers(2, 6))
    cuts = draw(st.lists(st.integers(0, 12), min_size=pp - 1, max_size=pp - 1).map(sorted))
    stages = tuple(
        Stage(
            layers=after - before,
            recompute=draw(st.sampled_from(["none", "full"])),
            clock=draw(st.sampled_from([1.0, 0.8, 0.6])),
        )
        for before, after in pairwise([0, *cuts, 12])
    )
    return Plan(pp=pp, schedule=schedule, sharding="ddp", sequence_parallel=False, stages=stages)


BATCHES = st.sampled_from([2, 4, 8, 16, 48])
RECOMPUTED_DIFFERENTLY = Plan(
    pp=6, schedule="1f1b", sharding="ddp", sequence_parallel=False,
    stages=(Stage(layers=4, recompute="full", clock=0.6), Stage(layers=8),
            *[Stage(layers=0)] * 4),
)  # fmt: skip


def turned_at(pipe: Pipeline, m: int) -> list[float]:
    """The most that a step of 1F1B takes whose last turn to backward passes is on each stage.

    Of every path of operations that wait for one another: before the turn it takes max(t) per
    micro-batch at most, or max(F) while none is ahead; after it max(B).
    """
    t, p = pipe.totals, len(pipe.totals)
    found = []
    for last in range(p):
        ahead = min(p - 1 - last, m - 1)
        both = max(pipe.forward[: last + 1]) + max(pipe.backward[: last + 1])
        found.append(sum(t[: last + 1]) + (m - 1 - ahead) * max(t) + ahead * both)
    return found


@settings(max_examples=60, deadline=None)
@given(plan=uneven_plans("1f1b"), batch=BATCHES)
@example(plan=RECOMPUTED_DIFFERENTLY, batch=16)
def test_uneven_1f1b_is_bounded(plan: Plan, batch: int) -> None:
    """Above the simulation by the other stages once at most.

    Below it by no more than a stage before the last takes longer that runs forward passes ahead:
    `planner.schedules.one_f_one_b`.
    """
    case = small_case(batch=batch)
    pipe = simulated(case, plan)
    gap = between_bounds(case, plan, pipe)
    others = sum(pipe.totals) - max(pipe.totals)
    assert gap <= others / pipe.makespan + 1e-9
    assert pipe.makespan <= max(turned := turned_at(pipe, batch)) * (1 + 1e-12)
    assert math.isclose(pipelined(case, plan, pipe), turned[-1], rel_tol=1e-9)


def test_1f1b_may_take_longer_where_stages_recompute_differently() -> None:
    case = small_case(batch=16)
    pipe = simulated(case, RECOMPUTED_DIFFERENTLY)
    assert -0.01 < between_bounds(case, RECOMPUTED_DIFFERENTLY, pipe) < -0.001


@settings(max_examples=60, deadline=None)
@given(plan=uneven_plans("zero-bubble"), batch=BATCHES)
def test_uneven_zero_bubble_is_bounded(plan: Plan, batch: int) -> None:
    """Up to 5 % below the simulation and 30 % above: the fill of uneven stages is an estimate."""
    case = small_case(batch=batch)
    gap = between_bounds(case, plan, simulated(case, plan))
    assert -0.05 <= gap <= 0.30


@settings(max_examples=60, deadline=None)
@given(plan=uneven_plans("gpipe"), batch=BATCHES)
def test_uneven_gpipe_is_not_below_the_simulation(plan: Plan, batch: int) -> None:
    """Nor above: GPipe is sum t + (m - 1)(max F + max B)."""
    case = small_case(batch=batch)
    gap = between_bounds(case, plan, simulated(case, plan))
    assert abs(gap) <= 1e-9


@dataclass(frozen=True)
class Chunked:
    """Interleaved plans of one model without hidden messages, and what the model says they take."""

    job: Case
    plans: list[Plan]
    micro_batches: list[int]
    step_time_s: FloatArray


def chunked(model: str, layers: int) -> Chunked:
    """Every runnable plan of a grid; the batches give 1, 2 and 8 micro-batches per stage."""
    job = case_of(model, layers=layers, batch=8 * 8 * 24, seq_len=2048, framework="torchtitan")
    job = job.assuming(interleaved_p2p=1.0, jitter=0.0)
    plans, counts = [], []
    for pp, v, groups, (tp, size), split in itertools.product(
        (3, 4, 6, 8), (2, 3, 4), (1, 2, 8), ((1, 1), (8, 2)), ("front", "front-counted")
    ):
        plans.append(Plan(pp=pp, tp=tp, micro_batch=size, schedule="interleaved", interleave=v,
                          split=split, sharding="ddp", sequence_parallel=tp > 1))  # fmt: skip
        counts.append(pp * groups)
    table = PlanTable.from_plans(plans)
    runs = np.flatnonzero(obeying(job.model, table, arithmetic_only=True))
    plans, counts = [plans[row] for row in runs], [counts[row] for row in runs]
    batches = np.array([m * plan.micro_batch for m, plan in zip(counts, plans, strict=True)])
    found = evaluate_table(job.model, table.take(runs), batches)
    return Chunked(job, plans, counts, found.step_time_s)


def chunk_times(case: Case, plan: Plan) -> tuple[Durations, float]:
    """What every chunk of an interleaved plan takes, and what happens once.

    The layers of every chunk take what those of a middle stage do; embedding and head are on the
    first and the last chunk.
    """
    a = case.assumptions
    cost = reference.evaluate(case.job, case.cluster, a, plan)
    v, middle = plan.interleave, cost.stages[1]
    sizes = chunk_sizes(case.job.model, plan.pp * v, plan.split)
    durations = []
    for passes in (lambda s: s.total - s.backward, lambda s: s.backward):
        layer = passes(middle) / middle.spec.dense
        times = [layer * size for size in sizes]
        times[0] += passes(cost.stages[0]) - layer * cost.stages[0].spec.dense
        times[-1] += passes(cost.stages[-1]) - layer * cost.stages[-1].spec.dense
        durations.append([max(time, 0.0) for time in times])  # an empty pass rounds below 0
    half = (cost.p2p + a.micro_batch_s / v) / 2
    once = max(reference.exposed_s(a, stage) for stage in cost.stages) + a.step_s
    once += max(stage.optimizer for stage in cost.stages)
    return Durations(forward_s=durations[0], backward_s=durations[1], send_s=half), once


def kind_of_chunks(plan: Plan, layers: int) -> str:
    """Whether all chunks are equal: their layers, or their layers with the ends counted."""
    counted = layers + 2 * (plan.split == "front-counted")
    if counted % (plan.pp * plan.interleave):
        return "unequal"
    return "counted" if counted > layers else "equal"


def test_interleaved_chunks_against_the_simulation() -> None:
    """Equal chunks, with the ends counted or not, are what the search offers.

    Others go at the pace of the longest chunk of each round, which the model does not see: their
    time is an estimate. Plans of one schedule are simulated together.
    """
    models = ("llama3-8b", "llama2-7b", "gpt3-1.3b", "gemma2-9b")
    simulations = defaultdict(list)
    for model, layers in itertools.product(models, (12, 16, 22, 24, 30, 31)):
        found = chunked(model, layers)
        for plan, m, step_s in zip(
            found.plans, found.micro_batches, found.step_time_s, strict=True
        ):
            job = replace(found.job.job, global_batch=m * plan.micro_batch)
            durations, once = chunk_times(replace(found.job, job=job), plan)
            where = (model, plan.split, kind_of_chunks(plan, layers))
            simulations[plan.pp, plan.interleave, m].append((where, durations, step_s - once))
    gaps = defaultdict(list)
    for schedule, runs in simulations.items():
        makespans = makespans_s(interleaved(*schedule), [durations for _, durations, _ in runs])
        for (where, _, modelled_s), makespan in zip(runs, makespans, strict=True):
            gaps[where].append(modelled_s / makespan - 1)
    bounds = {"equal": (-0.007, 1e-9), "counted": (0.0, 0.09), "unequal": (-0.25, 0.20)}
    kinds = [("front", kind) for kind in ("equal", "unequal")]
    kinds += [("front-counted", kind) for kind in ("counted", "unequal")]
    assert set(gaps) == {(model, *kind) for model in models for kind in kinds}
    for (model, split, kind), found_gaps in gaps.items():
        assert len(found_gaps) > 5
        assert bounds[kind][0] <= min(found_gaps), (model, split, kind)
        assert max(found_gaps) <= bounds[kind][1], (model, split, kind)

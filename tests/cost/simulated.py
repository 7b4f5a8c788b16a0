"""Plans as simulated pipelines, in the layer times of the scalar reference."""

from dataclasses import dataclass
from typing import Any

from oracles.pipeline_simulator import (
    Durations,
    Schedule,
    gpipe,
    interleaved,
    one_f_one_b,
    simulate,
    zero_bubble_h1,
)

from cost import reference
from cost.cases import Case, case_of, runnable
from planner.plan import Plan

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
    a = case.model.assumptions
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

"""Explicit stages: counted recomputation, chunks of interleaved pipelines, what they hold."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from cost.cases import Case, case_of, runnable
from cost.test_cost_tables import equal_outputs
from planner.base.errors import InputError
from planner.cost.evaluate import evaluated
from planner.cost.memory.in_flight import in_flight
from planner.frameworks.rules import violations
from planner.plan import Plan, PlanTable, Stage
from planner.schedules import code_of_schedule, schedule_at
from planner.schedules.orders import BACKWARD, FORWARD, Orders, chunks_in_flight

INTERLEAVED = code_of_schedule("interleaved")


def orders_of(schedule: int, pp: int, m: int, v: int = 1) -> Orders:
    """The orders of a schedule, by its code."""
    return schedule_at(schedule).orders(pp, m, v)


PLAN = Plan(pp=4, dp=2, sharding="zero1", sequence_parallel=False)
KINDS = ["llama3-8b", "deepseek-v2-lite"]  # the latter: one dense layer, then experts


def case(model: str, framework: str = "torchtitan", batch: int = 32) -> Case:
    return case_of(model, layers=12, batch=batch, seq_len=4096, framework=framework)


def kinds_of(job: Case, sizes: list[int]) -> list[tuple[int, int]]:
    """Dense and expert layers of chunks."""
    kinds = list(job.job.model.layer_kinds)
    found, at = [], 0
    for size in sizes:
        here = kinds[at : at + size]
        found.append((here.count("dense"), here.count("moe")))
        at += size
    return found


@each("model", KINDS)
@each("recompute", ["selective", "full"])
@each("framework", ["torchtitan", "megatron", "nanotron"])
def test_counting_all_layers_is_recomputing_the_stage(
    model: str, recompute: str, framework: str
) -> None:
    """A stage that counts all of its layers costs what it costs with that recomputation."""
    job = case(model, framework)
    sizes = [4, 2, 3, 3]
    counts = kinds_of(job, sizes)
    named = tuple(
        Stage(layers=size, recompute=recompute if at % 2 else "none")
        for at, size in enumerate(sizes)
    )
    counted = tuple(
        Stage(layers=size, **{recompute: counts[at]} if at % 2 else {})
        for at, size in enumerate(sizes)
    )
    rest = tuple(  # the rest recomputes as the stage says, what is counted does not
        Stage(layers=size, recompute=recompute, **{} if at % 2 else {"selective": counts[at]})
        for at, size in enumerate(sizes)
    )
    equal_outputs(job, replace(PLAN, stages=named), replace(PLAN, stages=counted))
    if recompute == "full":
        some = tuple(replace(stage, recompute="selective") if at % 2 == 0 else stage
                     for at, stage in enumerate(named))  # fmt: skip
        equal_outputs(job, replace(PLAN, stages=some), replace(PLAN, stages=rest))


@each("model", KINDS)
def test_each_counted_layer_adds_its_share(model: str) -> None:
    """Time, FLOP and saved bytes of a stage are linear in the layers that it counts."""
    job = case(model, "megatron")
    plans = [
        replace(PLAN, stages=(*(Stage(layers=3),) * 3, Stage(layers=3, full=(0, count))))
        if model != "llama3-8b"
        else replace(PLAN, stages=(*(Stage(layers=3),) * 3, Stage(layers=3, full=(count, 0))))
        for count in range(4)
    ]
    x = evaluated(job.model, PlanTable.from_plans(plans))
    seconds = x.stages[3].sum_layers("total")[:, 0]
    kernels = x.stages[3].sum_layers("kernels")[:, 0]
    flop = job.run(plans).flop
    saved = x.memory.parts["activations"][1:, 3]  # from the first on, one is worked on
    for table, sign in ((seconds, 1), (kernels, 1), (flop, 1), (saved, -1)):
        steps = np.diff(table)
        assert np.all(sign * steps > 0)
        assert np.allclose(steps, steps[0], rtol=1e-9)
    assert np.all(np.diff(job.run(plans).energy.total) > 0)


@each("model", KINDS)
@each("pp", [2, 4])
def test_equal_listed_chunks_are_the_uniform_plan(model: str, pp: int) -> None:
    job = case(model)
    v = 3 if pp == 4 else 2
    plan = replace(PLAN, pp=pp, schedule="interleaved", interleave=v, recompute="full")
    listed = replace(plan, stages=(Stage(layers=12 // (pp * v)),) * (pp * v))
    if model == "llama3-8b":
        equal_outputs(job, plan, listed)
    else:  # the first chunk has a dense layer, cheaper than the others
        one, other = (float(job.run([each]).step_time_s[0]) for each in (plan, listed))
        assert one <= other <= 1.01 * one


def random_chunks(rng: random.Random, job: Case) -> Plan:
    """An interleaved plan with chunks of any size and counts."""
    pp, v = rng.choice([2, 3, 4]), rng.choice([2, 3])
    cuts = sorted(rng.sample(range(13), pp * v - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, 12], strict=True)]
    full = [(rng.randint(0, d), rng.randint(0, e)) for d, e in kinds_of(job, sizes)]
    stages = tuple(Stage(layers=size, full=count) for size, count in zip(sizes, full, strict=True))
    return Plan(pp=pp, dp=2, sharding="zero1", sequence_parallel=False, schedule="interleaved",
                interleave=v, stages=stages)  # fmt: skip


def test_the_fill_is_the_longest_chunk_of_each_stage() -> None:
    """(m - 1/v) max D + sum C: never below the fill of equal chunks."""
    rng = random.Random(3)
    for _ in range(40):
        job = case(rng.choice(KINDS), batch=24)
        plan = random_chunks(rng, job)
        assert runnable(job, plan)
        x = evaluated(job.model, PlanTable.from_plans([plan]))
        v, m = plan.interleave, float(x.inputs.m[0, 0])
        ends = [float((s.first * x.inputs.ends.embedding + s.last * x.inputs.ends.head)[0, 0])
                for s in x.stages]  # fmt: skip
        whole = [
            float(s.sum_layers("total")[0, 0]) + e for s, e in zip(x.stages, ends, strict=True)
        ]
        assert all(stage.longest is not None for stage in x.stages)
        longest = [float(s.longest[0, 0]) + e / v  # type: ignore[index]
                   for s, e in zip(x.stages, ends, strict=True)]  # fmt: skip
        ramp = (plan.pp - 1) * float(x.inputs.p2p[0, 0] + job.assumptions.micro_batch_s / v)
        assert float(x.step.bubble[0, 0]) == pytest.approx(
            sum(longest) - max(whole) / v + ramp, rel=1e-12
        )
        assert sum(longest) >= sum(whole) / v * (1 - 1e-12)
        assert m * max(whole) < float(x.step.time[0, 0])


def test_uniform_and_listed_interleaved_plans_share_a_table() -> None:
    """Neither changes the other."""
    job = case("llama3-8b")
    rng = random.Random(5)
    listed = random_chunks(rng, job)
    uneven = replace(PLAN, stages=(Stage(layers=4), *(Stage(layers=2),) * 2, Stage(layers=4)))
    plans = [listed, replace(PLAN, schedule="interleaved", interleave=3), PLAN, uneven]
    together = job.run(plans)
    for row, plan in enumerate(plans):
        alone = job.run([plan])
        assert together.step_time_s[row] == alone.step_time_s[0]
        assert together.energy.total[row] == alone.energy.total[0]
        assert together.memory_per_chip_bytes[row] == alone.memory_per_chip_bytes[0]


@each("pp", [2, 3, 4])
@each("v", [2, 3, 5])
@each("rounds", [1, 2, 3, 5])
def test_chunks_held_are_those_of_the_schedule(pp: int, v: int, rounds: int) -> None:
    """The most that any sizes of chunks make of the schedule's order, and the known total."""
    orders = orders_of(INTERLEAVED, pp, pp * rounds, v)
    gives = np.cumsum(
        [(orders.kind == BACKWARD) & (orders.chunk == c) for c in range(v)], axis=2
    ) - [(orders.kind == BACKWARD) & (orders.chunk == c) for c in range(v)]
    comes = np.cumsum([(orders.kind == FORWARD) & (orders.chunk == c) for c in range(v)], axis=2)
    every = np.moveaxis(comes - gives, 0, 2)
    held = chunks_in_flight(pp, v, pp * min(rounds, 3))
    for sizes in np.random.default_rng(pp * v).random((20, v)) ** 3:
        np.testing.assert_allclose((held @ sizes).max(axis=1), (every @ sizes).max(axis=1))
    total = in_flight(np.array([INTERLEAVED]), np.array([pp]), np.array([v]),
                      np.array([float(pp * rounds)]), np.arange(pp))  # fmt: skip
    np.testing.assert_allclose(held.sum(axis=2).max(axis=1), v * total)


def test_what_is_no_pipeline_of_the_model_is_refused() -> None:
    """In evaluation and by the rules, with what is needed."""
    job = case("deepseek-v2-lite")
    chunked = replace(PLAN, schedule="interleaved", interleave=2)
    stages = (Stage(layers=1),) * 7
    for plan, line in (
        (replace(PLAN, stages=(Stage(layers=4),) * 4),
         "stages: 4 stages with 16 layers; needed: 4 stages (pp) with 12 layers in all "
         "(deepseek-v2-lite); nearest: 0 layers instead of 4 on stage 0"),
        (replace(chunked, stages=(Stage(layers=3),) * 4),
         "stages: 4 chunks with 12 layers; needed: 8 chunks (pp 4 x interleave 2) with 12 layers "
         "in all (deepseek-v2-lite)"),
        (replace(PLAN, stages=(Stage(layers=3, full=(2, 0)), *(Stage(layers=3),) * 3)),
         "stages: stage 0 recomputes 0 (selective) + 2 (full) of its 1 dense layers; allowed: 0 "
         "to 1 in all"),
        (replace(PLAN, stages=(*(Stage(layers=3),) * 3, Stage(layers=3, selective=(0, -1)))),
         "stages: stage 3 recomputes -1 (selective) + 0 (full) of its 3 mixture-of-experts "
         "layers; allowed: 0 to 3 in all"),
    ):  # fmt: skip
        assert violations(job.model, PlanTable.from_plans([plan]))[0] == line
        with pytest.raises(InputError) as refused:
            job.run([plan])
        assert str(refused.value) == line
    disagreeing = replace(chunked, stages=(*stages, Stage(layers=5, clock=0.8)))
    table = PlanTable.from_plans([disagreeing])
    assert violations(job.model, table, arithmetic_only=True) == [
        "stages: chunks 3 and 7 are on the same stage (pp 4) and have clock 1.0 and 0.8; it has "
        "one of its own"
    ]


def test_rules_see_every_recomputation_of_a_stage() -> None:
    """Offloaded activations exclude recomputation, also of one layer."""
    job = case("llama3-8b", "megatron")
    plan = replace(PLAN, offload=("activations",), stages=(
        Stage(layers=3, full=(1, 0)), *(Stage(layers=3),) * 3
    ))  # fmt: skip
    lines = violations(job.model, PlanTable.from_plans([plan]), arithmetic_only=True)
    assert lines == ["stage 0: offloading activations excludes recomputation; use recompute none"]

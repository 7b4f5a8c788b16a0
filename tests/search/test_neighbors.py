"""Plans one step from the optimum: what can run is not better, and a narrower question neither."""

import dataclasses
import itertools

import numpy as np
import pytest
from support.jobs import random_chips, random_cost_model

import planner
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.explanation.steps.neighbors import neighbors
from planner.plan import RECOMPUTES, SHARDINGS, SPLITS
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.results.plan import PlanResult, plan_results
from planner.schedules import SCHEDULES
from planner.search.driver import Driver, Found
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace

CHOICES = {"split": SPLITS, "schedule": SCHEDULES, "sharding": SHARDINGS, "recompute": RECOMPUTES}


def searched(model: CostModel, chips: int, options: SpaceOptions) -> Found:
    """The front of a question."""
    return Driver().run(UniformSpace(model=model, options=options, limits=Limits(), chips=(chips,)))


def fastest(model: CostModel, chips: int, options: SpaceOptions) -> PlanResult | None:
    """The fastest plan of a question."""
    found = searched(model, chips, options)
    if len(found.points) == 0:
        return None
    plans = found.plans.take(np.array([0]))
    return plan_results(model, plans, evaluate_table(model, plans))[0]


def assert_none_is_better(model: CostModel, best: PlanResult, options: SpaceOptions) -> None:
    """No neighbor that the search could have chosen beats the plan."""
    for neighbor in neighbors(model, best, Limits(), options, most=99):
        judged = neighbor.verdict.startswith(("slower", "faster", "same"))
        if judged and neighbor.result is not None:
            assert neighbor.result.step_time_s >= best.step_time_s * (1 - 1e-12), neighbor


def solvable(seed: int, options: SpaceOptions, most: int) -> tuple[CostModel, int, PlanResult]:
    """The next random job in which a plan fits, its chips and its fastest plan."""
    for attempt in itertools.count():
        model = random_cost_model(seed + 100_000 * attempt)
        chips = random_chips(model, seed, most=most)
        if (best := fastest(model, chips, options)) is not None:
            return model, chips, best
    raise AssertionError("there is always a next one")


@pytest.mark.parametrize("seed", range(60))
def test_no_neighbor_beats_the_optimum(seed: int) -> None:
    options = SpaceOptions(all_orders=True)
    model, _, best = solvable(7000 + seed, options, most=32)
    assert_none_is_better(model, best, options)


@pytest.mark.parametrize(
    ("name", "hardware", "chips", "batch"),
    [
        ("megatron-76b", "dgx1-v100", 512, 128),
        ("megatron-76b", "v100-32gb-edr", 256, 256),
        ("gpt3-175b", "dgx-h100-ndr", 256, 128),
        ("llama2-70b", "dgx-a100-80-hdr", 64, 64),
        ("bloom-176b", "dgx-a100-80-hdr", 384, 768),
    ],
)
def test_no_neighbor_beats_an_interleaved_optimum(
    name: str, hardware: str, chips: int, batch: int
) -> None:
    """Chunks that would differ in length are no neighbors: their time is an estimate."""
    job = {"model": name, "hardware": hardware, "chips": chips, "batch_tokens": batch * 2048}
    resolved = resolve(request_from({**job, "seq_len": 2048}))
    best = fastest(resolved.cost, chips, SpaceOptions())
    assert best is not None
    assert_none_is_better(resolved.cost, best, SpaceOptions())


def test_a_neighbor_of_an_interleaved_plan_has_fewer_chunks_where_it_must() -> None:
    """60 layers: 4 stages have equal chunks, of any divisor of 15; 8 stages have none."""
    answer = planner.solve(
        model="megatron-76b", hardware="dgx1-v100", chips=512, batch_tokens=262144,
        framework="megatron-fp32-grads", runnable_in="any", max_oom_risk=1,
    )  # fmt: skip
    assert answer.best is not None
    assert (answer.best.plan.pp, answer.best.plan.schedule) == (4, "interleaved")
    assert answer.best.plan.interleave in (3, 5, 15)
    named = {neighbor.change: neighbor for neighbor in answer.candidates.neighbors}
    deeper = named["pp 8, dp 4, interleave 1, schedule 1f1b"].result
    assert deeper is not None
    assert (deeper.plan.interleave, deeper.plan.schedule, deeper.plan.split) == (1, "1f1b", "front")


@pytest.mark.parametrize("seed", range(30))
def test_fixing_a_choice_narrows_the_space(seed: int) -> None:
    """With a choice fixed nothing is better; with the optimum's own choices it stays."""
    model, chips, best = solvable(8000 + seed, SpaceOptions(), most=24)
    for name, values in CHOICES.items():
        for code, value in enumerate(values):
            fixed = SpaceOptions(fixed={name: frozenset({code})})
            times_s = searched(model, chips, fixed).points[:, 0]
            assert (times_s >= best.step_time_s).all(), (name, value)
            if value == getattr(best.plan, name):
                assert times_s[0] == best.step_time_s


def test_an_uneven_split_is_searched_beside_one_that_counts_the_ends() -> None:
    """62 layers on 16 stages: 4 each with the ends counted, or 4 and two times 3 from the front."""
    job = {"model": "palm-62b", "hardware": "gh200-ndr", "chips": 48, "batch_tokens": 262144,
           "max_power": 28670.082005127315}  # fmt: skip
    free = planner.solve(**job)
    narrow = planner.solve(**job, fix={"split": ("front",)})
    assert free.objective is not None
    assert narrow.objective is not None
    assert free.objective <= narrow.objective


@pytest.mark.parametrize(
    "job",
    [
        {"model": "mixtral-8x7b", "hardware": "gb300-nvl72", "chips": 72, "seq_len": 8192},
        {"model": "qwen3-30b-a3b", "hardware": "dgx-a100-80-hdr", "chips": 144,
         "batch_tokens": 2**20, "framework": "torchtitan"},
        {"model": "llama2-13b", "chips": 64},
    ],
)  # fmt: skip
def test_nothing_that_is_proved_is_warned_of(job: dict[str, object]) -> None:
    answer = planner.solve(**job)
    assert answer.best is not None
    for row in (answer.best, *answer.front):
        question = {**job, "chips": row.chips}
        assert planner.evaluate(row.plan, **question).warnings == ()


def test_a_clock_between_the_levels_is_said() -> None:
    plan = planner.Plan(dp=8, sharding="zero1")
    job = {"model": "gpt3-125m", "hardware": "dgx-h100-ndr"}
    between = planner.evaluate(dataclasses.replace(plan, clock=0.89), **job).warnings
    assert between == (
        "clock: 0.89 is none of the levels that the search tries on h100-sxm5-80: "
        "1, 0.9, 0.8, 0.7, 0.6",
    )
    assert planner.evaluate(dataclasses.replace(plan, clock=0.9), **job).warnings == ()


def test_chunks_that_are_gathered_again_are_said() -> None:
    """PyTorch keeps three chunks of a stage gathered."""
    plan = planner.Plan(fsdp=8, pp=2, schedule="interleaved", interleave=4, sharding="zero3",
                        sequence_parallel=False, split="front-counted")  # fmt: skip
    job = {"model": "gpt3-125m", "hardware": "dgx-h100-ndr", "framework": "torchtitan"}
    gathered, unequal = planner.evaluate(plan, **job).warnings
    assert gathered.startswith("interleave: torchtitan keeps 3 chunks of a stage gathered, not 4")
    assert unequal.startswith("interleave: 12 layers make no 8 equal chunks")
    fewer = dataclasses.replace(plan, interleave=2)
    assert not any("gathered" in line for line in planner.evaluate(fewer, **job).warnings)


def test_layouts_that_were_asked_for_are_not_warned_of() -> None:
    plan = planner.Plan(dp=4, tp=2, order=("dp", "tp", "cp", "fsdp", "pp"))
    job = {"model": "gpt3-125m", "hardware": "dgx-h100-ndr"}
    (line,) = planner.evaluate(plan, **job).warnings
    assert line.startswith("megatron cannot lay out ranks")
    assert planner.evaluate(plan, **job, placement="all").warnings == ()


@pytest.mark.parametrize("all_orders", [False, True])
def test_neighbors_keep_a_layout_that_was_asked_for(all_orders: bool) -> None:
    """Megatron lays out no ranks so; where all orders are searched, that refuses nothing."""
    plan = planner.Plan(dp=4, tp=2, order=("dp", "tp", "cp", "fsdp", "pp"))
    job = {"model": "gpt3-125m", "hardware": "dgx-h100-ndr"}
    best = planner.evaluate(plan, **job).result
    model = resolve(request_from(job), chips=8).cost
    found = neighbors(model, best, Limits(), SpaceOptions(all_orders=all_orders), most=99)
    refused = [neighbor for neighbor in found if "lay out ranks" in neighbor.verdict]
    assert bool(refused) is not all_orders
    assert any(neighbor.result is not None for neighbor in found)


@pytest.mark.parametrize("most", [1, 4, 8, 99])
def test_neighbors_name_the_limit_that_forbids_the_best_of_them(most: int) -> None:
    """However many plans may be had, those that memory keeps out are there too."""
    plan = planner.Plan(dp=32, tp=4, pp=2, micro_batch=1, schedule="interleaved", interleave=10,
                        sharding="zero2", sequence_parallel=True,
                        order=("tp", "cp", "fsdp", "dp", "pp"))  # fmt: skip
    job = {"model": "llama3-70b", "hardware": "h100-sxm5-80", "framework": "megatron"}
    best, model = planner.evaluate(plan, **job).result, resolve(request_from(job), chips=256).cost
    found = neighbors(model, best, Limits(), SpaceOptions(), most=most)
    every = neighbors(model, best, Limits(), SpaceOptions(), most=99)
    assert len(found) == min(most, len(every))
    assert len({neighbor.change for neighbor in found}) == len(found)
    allowed = [one for one in found if one.verdict.startswith(("slower", "faster", "same"))]
    assert allowed == [one for one in every if one in allowed][: len(allowed)]
    assert found[: len(allowed)] == tuple(allowed)
    limited = [one for one in found if one.verdict.startswith("memory: ")]
    assert len(limited) >= min(2, most - 2)
    times = [one.result.step_time_s for one in limited if one.result is not None]
    assert times == sorted(times)
    assert not limited or "of 74.6 GB" in limited[0].verdict

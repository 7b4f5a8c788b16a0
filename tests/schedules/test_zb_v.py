"""ZB-V: its published order, its step time against the simulation, its bounds, its plans."""

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cost.cases import case_of
from cost.test_cost_schedules import WEIGHTLESS_ENDS
from search.test_engine_node_by_node import pipelined_job
from support.cases import each

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.cost.timeline.timeline import timeline_of
from planner.frameworks.rules import violations
from planner.frameworks.torchtitan.settings import SCHEDULES
from planner.plan import NO_RECOMPUTE, ORDERS, Plan, PlanTable, Stage
from planner.question.options import SpaceOptions
from planner.report.charts.timeline import timeline_chart
from planner.schedules import code_of_schedule, schedule_of
from planner.schedules.durations import Durations
from planner.schedules.orders import BACKWARD, FORWARD, WEIGHT_GRAD
from planner.schedules.passes import SplitPasses
from planner.schedules.simulate import simulate
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.uniform import engine
from planner.search.uniform.bounds import partial_plan_corners
from planner.search.uniform.candidates import Candidates
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans
from planner.search.uniform.tables import build_placements

ZB_V = schedule_of("zb-v")


def vee(pp: int, **choices: Any) -> Plan:
    given = {"sharding": "ddp", "sequence_parallel": False, **choices}
    return Plan(pp=pp, schedule="zb-v", interleave=2, **given)


def test_the_order_of_the_published_figure() -> None:
    """Two ranks, four micro-batches: ScheduleZBVZeroBubble of PyTorch."""
    orders = ZB_V.orders(2, 4, 2)
    letters = {FORWARD: "F", BACKWARD: "B", WEIGHT_GRAD: "W"}
    found = [
        " ".join(
            f"{letters[kind]}{chunk}.{number}"
            for kind, chunk, number in zip(*(row.tolist() for row in rows), strict=True)
        )
        for rows in zip(orders.kind, orders.chunk, orders.micro_batch, strict=True)
    ]
    assert found == [
        "F0.0 F0.1 F0.2 F1.0 B1.0 W1.0 F1.1 B1.1 W1.1 F0.3 B0.0 W0.0 F1.2 B1.2 W1.2 "
        "B0.1 W0.1 F1.3 B1.3 W1.3 B0.2 W0.2 B0.3 W0.3",
        "F0.0 F1.0 F0.1 F1.1 B1.0 W1.0 F0.2 B0.0 W0.0 F1.2 B1.1 W1.1 F0.3 B0.1 W0.1 F1.3 "
        "B1.2 W1.2 B0.2 B1.3 B0.3 W0.2 W1.3 W0.3",
    ]
    assert orders.places is not None
    assert orders.places.tolist() == [[0, 3], [1, 2]]


def test_nothing_waits_between_first_and_last_pass_of_equal_lengths() -> None:
    """F = B = W: "zero bubble"; memory is that of 1F1B on its first rank."""
    for pp in range(2, 9):
        for m in (2 * pp - 1, 3 * pp):
            ones = np.ones((pp, 2))
            orders = ZB_V.orders(pp, m, 2)
            run = simulate(
                orders,
                Durations(
                    forward_s=ones, backward_s=ones, weight_grad_s=ones, send_s=0.0, lag_s=0.0,
                    reduction_s=np.zeros(pp), optimizer_s=np.zeros(pp), overhead_s=0.0,
                ),
            )  # fmt: skip
            np.testing.assert_array_equal(run.end_s[:, -1] - run.start_s[:, 0], 6 * m)
            np.testing.assert_array_equal(orders.held().max(axis=1), 2 * pp)


def test_equal_ranks_take_what_the_simulation_takes() -> None:
    """To rounding; within 2 % where receivers wait for messages that senders do not."""
    rng = random.Random(7)
    for shown in [1.0, 0.6, 0.0] * 20:
        pp = rng.choice([2, 3, 4, 6])
        job = case_of(
            rng.choice(["llama3-8b", "mixtral-8x7b"]),
            layers=2 * pp * rng.choice([1, 2]),
            batch=rng.randrange(2 * pp - 1, 5 * pp),
            seq_len=2048,
            framework="torchtitan",
        ).assuming(
            interleaved_p2p=shown,
            micro_batch_s=rng.choice([0.0, 1e-3]),
            **WEIGHTLESS_ENDS,
        )
        plan = vee(pp, split="even", recompute=rng.choice(["none", "full"]))
        gap = abs(timeline_of(job.model, plan).difference)
        assert gap <= (1e-9 if shown == 1.0 else 2e-2)


def test_unequal_ranks_are_near() -> None:
    rng, gaps = random.Random(11), []
    for _ in range(24):
        pp = rng.choice([2, 4, 6])
        sizes = [3] * (2 * pp)
        for _ in range(2):
            one, other = rng.sample(range(2 * pp), 2)
            if sizes[one] > 1:
                sizes[one], sizes[other] = sizes[one] - 1, sizes[other] + 1
        job = case_of("llama3-8b", layers=6 * pp, batch=rng.randrange(2 * pp, 6 * pp),
                      seq_len=2048, framework="torchtitan")  # fmt: skip
        plan = vee(pp, stages=tuple(Stage(layers=size) for size in sizes))
        gaps.append(abs(timeline_of(job.model, plan).difference))
    assert np.median(gaps) <= 0.05
    assert max(gaps) <= 0.25


def test_memory_peaks_where_the_simulation_does() -> None:
    job = case_of("llama3-8b", layers=12, batch=24, seq_len=2048, framework="torchtitan")
    for plan in (
        vee(3, recompute="full", split="even"),
        vee(3, stages=tuple(Stage(layers=size) for size in (1, 3, 2, 2, 3, 1))),
    ):
        timeline = timeline_of(job.model, plan)
        peaks = [
            timeline.fixed_bytes[stage] + timeline.held_bytes[timeline.of_stage(stage)].max()
            for stage in range(3)
        ]
        memory = evaluate_table(job.model, PlanTable.from_plans([plan])).memory
        assert np.isclose(max(peaks), memory.peak[0], rtol=1e-12)


@each(
    ("changes", "words"),
    [
        ({"interleave": 1}, "interleave 1 with schedule 'zb-v'"),
        ({"pp": 4}, "at least 7 (2 pp - 1) are needed; nearest: 7"),
    ],
)
def test_plans_that_it_does_not_run(changes: dict[str, Any], words: str) -> None:
    job = case_of("llama3-8b", layers=8, batch=6, seq_len=2048, framework="torchtitan")
    found = violations(
        job.model,
        PlanTable.from_plans([replace(vee(2, split="even"), **changes)]),
        arithmetic_only=True,
    )
    assert len(found) == 1
    assert words in found[0]


def job_with(seed: int) -> tuple[CostModel, int]:
    """A small pipeline whose framework has 1F1B and ZB-V."""
    model, chips = pipelined_job(seed)
    framework = replace(model.framework, schedules=("1f1b", "zb-v"), splits=("even",))
    return replace(model, job=replace(model.job, framework=framework)), chips


def test_no_plan_is_below_its_bound() -> None:
    """Neither below that of its box, nor that of its partial plan."""
    checked = 0
    for seed in range(100):
        model, chips = job_with(seed)
        options = SpaceOptions(
            all_orders=True, fixed={"schedule": frozenset({code_of_schedule("zb-v")})}
        )
        meshes = enumerate_meshes(model, (chips,), options)
        partial_plans = cross_partial_plans(model, meshes, options)
        space = cross_choices(model, partial_plans, options)
        pipelined = np.flatnonzero(space.plans.pp > 1)
        if not len(pipelined):
            continue
        placements = build_placements(model, meshes.columns, ORDERS)
        candidates = Candidates.build(model, space, placements, np.array([1.0]))
        boxes = np.arange(len(space))
        rows = candidates.expand(boxes)
        cost = candidates.costs(rows)
        time, energy = candidates.bounds(boxes)
        assert np.all(time[rows.plan] <= cost.time), seed
        assert np.all(energy[rows.plan] <= cost.energy), seed
        corners = partial_plan_corners(
            model, partial_plans, np.full(len(meshes), NO_RECOMPUTE), np.array([1.0])
        )[:, 0]
        keys = zip(
            partial_plans.mesh_id.tolist(),
            partial_plans.columns["micro_batch"].tolist(),
            strict=True,
        )
        known = dict(zip(keys, corners, strict=True))
        own = zip(space.mesh_id.tolist(), space.plans.micro_batch.tolist(), strict=True)
        least = np.array([known[key] for key in own])[rows.plan]
        assert np.all(least[:, 0] <= cost.time[:, 0]), seed
        assert np.all(least[:, 1] <= cost.energy[:, 0]), seed
        checked += len(pipelined)
    assert checked > 100


def test_the_search_proves_the_best_of_all_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """With bounds put to use as early as can be, and without any."""
    monkeypatch.setattr(engine, "_PARTIAL_PLANS_AT_A_TIME", 1)
    monkeypatch.setattr(engine, "_PLANS_AT_A_TIME", 1)
    used, code = 0, code_of_schedule("zb-v")
    for seed in range(12):
        model, chips = job_with(seed)
        options = SpaceOptions(all_orders=True)
        found = [
            Driver().run(
                UniformSpace(
                    model=model, options=options, limits=Limits(), bounded=bounded, chips=(chips,)
                )
            )
            for bounded in (True, False)
        ]
        np.testing.assert_array_equal(found[0].points, found[1].points)
        fixed = SpaceOptions(all_orders=True, fixed={"schedule": frozenset({code})})
        used += (
            len(
                Driver()
                .run(UniformSpace(model=model, options=fixed, limits=Limits(), chips=(chips,)))
                .points
            )
            > 0
        )
    assert used > 2


def test_it_is_drawn_with_the_words_of_chunks() -> None:
    job = case_of("llama3-8b", layers=8, batch=8, seq_len=2048, framework="torchtitan")
    chart = timeline_chart(timeline_of(job.model, vee(2, split="even")))
    assert any("chunk" in note for note in chart.notes)


def test_torchtitan_is_told_zb_v_only_by_a_plan_of_zb_v() -> None:
    """PyTorch's ZBVZeroBubble is ZB-V; ZB-H1 is none of its schedules."""
    job = case_of("llama3-8b", layers=16, batch=16, seq_len=2048, framework="torchtitan")
    plan = vee(2, split="front-counted")
    other = replace(plan, schedule="zero-bubble", interleave=1)
    assert violations(job.model, PlanTable.from_plans([plan])) == []
    assert violations(job.model, PlanTable.from_plans([other])) == [
        "torchtitan has no schedule 'zero-bubble'; it has gpipe, 1f1b, interleaved, zb-v"
    ]
    assert [name for name, own in SCHEDULES.items() if own == "ZBVZeroBubble"] == ["zb-v"]


def test_what_it_waits_at_least_bounds_every_longer_step() -> None:
    """2,000 random ranks: the least of some times is not above the bubble of longer ones."""
    rng = np.random.default_rng(5)
    assumptions = case_of("llama3-8b").model.assumptions
    own = np.ones((1, 1), dtype=np.bool_)

    def step(passes: np.ndarray, message_s: float) -> SimpleNamespace:
        forward, backward, weight_grad = (np.array([[one]]) for one in passes)
        stage = SplitPasses(
            count=np.array([[4.0]]),
            total=forward + backward + weight_grad,
            backward=backward + weight_grad,
            weight_grad=weight_grad,
        )
        return SimpleNamespace(
            assumptions=assumptions, pp=np.array([[4]]), v=np.array([[2]]),
            p2p=np.array([[message_s]]), split_passes=lambda: [stage],
        )  # fmt: skip

    for _ in range(2000):
        passes, message_s = rng.exponential(size=3), rng.exponential()
        longer = passes + rng.exponential(size=3) * rng.integers(0, 2, size=3)
        least = ZB_V.least_bubble_s(step(passes, message_s), own)
        assert least <= ZB_V.bubble_s(step(longer, message_s * rng.uniform(1, 2)), own) + 1e-12

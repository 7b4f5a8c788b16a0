"""Results do not depend on the table: order, size, company, or how the stages are written."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.cases import each

from cost.cases import Case, case_of, cases, chip_counts, plans_for, runnable
from planner.cost.breakdown import Breakdown
from planner.cost.evaluate import evaluate_table, memory_table
from planner.cost.stages.layout import stage_layers
from planner.plan import SPLITS, Plan, PlanTable, Stage

SETTINGS = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
FloatArray = npt.NDArray[np.float64]


def columns(value: object, path: str = "") -> Iterator[tuple[str, FloatArray]]:
    """Every array of a breakdown with its path; stage classes are summarized by their maximum."""
    if isinstance(value, np.ndarray):
        yield path, value if value.ndim == 1 else value.max(axis=1)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from columns(part, f"{path}.{name}")
    elif is_dataclass(value):
        for item in fields(value):
            yield from columns(getattr(value, item.name), f"{path}.{item.name}")


def same_bits(one: Breakdown, rows: Iterable[int], other: Breakdown) -> None:
    """Rows of `one` equal the rows of `other`, bit for bit."""
    index = np.array(list(rows))
    expected = dict(columns(other))
    for path, column in columns(one):
        assert column[index].tobytes() == np.ascontiguousarray(expected[path]).tobytes(), path


def some_plans(data: st.DataObject, case: Case) -> list[Plan]:
    """A mixed table: several chip counts, schedules, explicit stages, offloads."""
    counts = chip_counts(case, 256)
    drawn = [
        data.draw(plans_for(case, data.draw(st.sampled_from(counts)), regular=False))
        for _ in range(8)
    ]
    plans = [plan for plan in drawn if runnable(case, plan)]
    assume(len(plans) > 1)
    return plans


@SETTINGS
@given(st.data())
def test_order_company_and_repetition_change_no_bit(data: st.DataObject) -> None:
    case = data.draw(cases())
    plans = some_plans(data, case)
    together = case.run(plans)
    for row, plan in enumerate(plans):
        same_bits(together, [row], case.run([plan]))
    order = data.draw(st.permutations(range(len(plans))))
    same_bits(together, order, case.run([plans[row] for row in order]))
    twice = case.run([plans[0], *plans, plans[0]])
    same_bits(twice, range(1, len(plans) + 1), together)
    same_bits(twice, [0], case.run(plans[:1]))


def test_long_tables_and_chunks_change_no_bit() -> None:
    """Thousands of rows at once, in chunks of 64 and 1,000, and every 97th alone."""
    case = case_of("deepseek-v2-lite", "dgx-h100-ndr", layers=12, batch=512, seq_len=4096)
    plans = [
        Plan(
            dp=dp,
            tp=tp,
            pp=pp,
            ep=ep,
            micro_batch=mb,
            sharding=sharding,
            recompute=recompute,
            clock=clock,
            schedule="gpipe" if mb > 1 else "1f1b",
        )
        for dp in (2, 4, 8, 16)
        for tp in (2, 4)
        for pp in (1, 2, 3, 4)
        for ep in (1, 2, 4)
        for mb in (1, 2, 4)
        for sharding in ("ddp", "zero1", "zero2", "zero3")
        for recompute in ("none", "full")
        for clock in (1.0, 0.8)
        if dp * tp * pp % 8 == 0
    ]
    assert len(plans) > 3000
    table = PlanTable.from_plans(plans)
    whole = evaluate_table(case.model, table)
    for size in (64, 1000):
        for start in range(0, len(plans), size):
            index = np.arange(start, min(start + size, len(plans)))
            if size == 1000 or start % 1024 == 0:
                same_bits(whole, index, evaluate_table(case.model, table.take(index)))
    for row in range(0, len(plans), 97):
        same_bits(whole, [row], case.run([plans[row]]))


@SETTINGS
@given(st.data())
def test_written_out_stages_cost_what_the_rule_costs(data: st.DataObject) -> None:
    """Every output of a uniform plan and of the same plan with its stages listed, to 1e-12."""
    case = data.draw(cases())
    chips = data.draw(st.sampled_from(chip_counts(case, 64)))
    plan = data.draw(plans_for(case, chips, regular=False, explicit=False))
    assume(plan.interleave == 1 and runnable(case, plan))
    sizes = stage_layers(case.job.model, plan.pp, 1, SPLITS.index(plan.split))
    assert sizes is not None
    spelled = tuple(
        Stage(layers=n, recompute=plan.recompute, sharding=plan.sharding, clock=plan.clock)
        for n in sizes
    )
    equal_outputs(
        case,
        plan,
        replace(plan, stages=tuple(Stage(layers=n) for n in sizes)),
        replace(plan, stages=spelled),
    )


def equal_outputs(case: Case, plan: Plan, *others: Plan) -> None:
    """All outputs of the plans agree to 1e-12.

    Of memory the fullest stage's parts do, and all totals; the classes themselves are others where
    stages are listed, and a part may be largest on a stage that is not the fullest.
    """
    expected = dict(columns(case.run([plan])))
    for other in others:
        for path, column in columns(case.run([other])):
            if ".position" not in path and ".memory.parts." not in path:
                assert math.isclose(column[0], expected[path][0], rel_tol=1e-12, abs_tol=1e-12), (
                    path
                )


@each("field", ["recompute", "sharding", "clock"])
def test_choices_made_by_every_stage_are_those_of_the_plan(field: str) -> None:
    """All stages recompute (shard, slow down) = the plan does: time, FLOP, bytes, energy, HFU."""
    case = case_of("llama3-8b", layers=8, batch=64)
    plan = Plan(dp=2, tp=2, pp=2, sharding="zero1")
    choice: dict[str, Any] = {"recompute": "full", "sharding": "zero3", "clock": 0.8}
    changed = replace(plan, **{field: choice[field]})
    stage = Stage(layers=4, **{field: choice[field]})
    equal_outputs(case, changed, replace(plan, stages=(stage, stage)))


def test_the_memory_table_is_the_breakdown_s() -> None:
    """`memory_table` alone gives the memory of `evaluate_table`."""
    case = case_of("deepseek-v3", "gb200-nvl72", layers=8)
    plans = [
        Plan(dp=8, ep=8, pp=2, sharding="zero1", sequence_parallel=False),
        Plan(fsdp=16, tp=4, ep=16, sharding="zero3"),
    ]
    table = PlanTable.from_plans(plans)
    alone, found = memory_table(case.model, table), case.run(plans).memory
    np.testing.assert_array_equal(alone.total, found.total)


def test_a_table_gives_back_its_plans() -> None:
    """Plans survive the round trip through the table, explicit stages with their own choices."""
    plan = Plan(
        dp=2,
        tp=2,
        pp=2,
        sharding="zero2",
        offload=("optimizer",),
        order=("tp", "pp", "dp", "cp", "fsdp"),
        stages=(
            Stage(layers=3, recompute="full", sharding="zero1", clock=0.9),
            Stage(layers=5, full=(2, 0), selective=(0, 1)),
        ),
    )
    plain = replace(plan, stages=None)
    table = PlanTable.from_plans([plan, plain])
    assert table.plan(0) == plan
    assert table.plan(1) == plain
    assert plan.stages is not None
    spelled = replace(plan.stages[1], recompute="none", sharding="zero2", clock=1.0)
    same = PlanTable.from_plans([replace(plan, stages=(plan.stages[0], spelled))])
    assert same.plan(0) == plan, "what is the plan's is left out"
    assert [table.take(np.array([1, 0])).plan(row) for row in (0, 1)] == [plain, plan]

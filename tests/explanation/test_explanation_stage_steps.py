"""The plans one step away from a plan with explicit stages can all be evaluated."""

from dataclasses import replace
from typing import Any

from support.cases import each

from planner.explanation.judging import tie_ratio
from planner.explanation.steps.neighbors import judged_steps
from planner.explanation.steps.steps import steps
from planner.frameworks.rules import violations
from planner.objectives import OBJECTIVES, TIME
from planner.plan import Plan, PlanTable, Stage
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import Resolved, resolve
from planner.search.limits import Limits

DENSE: dict[str, Any] = {
    "model": "gpt3-1.3b", "hardware": "dgx-h100-ndr", "batch_tokens": 2**19, "seq_len": 2048,
}  # fmt: skip
EXPERTS: dict[str, Any] = {**DENSE, "model": "deepseek-v2-lite"}
FOUR = (5, 7, 7, 5)


def of(job: dict[str, Any], *layers: int, full: int = 0, **changes: Any) -> tuple[Resolved, Plan]:
    """A job and a plan of 2 x pp chips whose chunks hold such layers, some of them recomputed."""
    chunks = changes.get("interleave", 1)
    stages = tuple(
        Stage(layers=n, full=(0, 0) if at else (0, full) if full else (2, 0), clock=1.0)
        for at, n in enumerate(layers)
    )
    shape = {"dp": 2, "pp": len(layers) // chunks, "sharding": "zero1", "stages": stages}
    plan = Plan(**{**shape, **changes})
    return resolve(request_from(job), chips=plan.chips), plan


CASES = {
    "dense": of(DENSE, *FOUR),
    "a first chunk without layers": of(
        DENSE, 0, 24, full=0, stages=(Stage(layers=0), Stage(layers=24, recompute="full"))
    ),
    "two kinds of layers": of(EXPERTS, 7, 7, 7, 6, full=3),
    "interleaved": of(DENSE, 5, 7, 7, 5, schedule="interleaved", interleave=2),
}


@each("name", CASES)
def test_a_step_is_a_plan_of_the_same_model(name: str) -> None:
    resolved, plan = CASES[name]
    model, options = resolved.cost, SpaceOptions()
    total = sum(stage.layers for stage in plan.stages or ())
    assert total == model.job.model.layers
    found = steps(model, plan, options)
    assert len({what for what, _ in found}) == len(found) >= 8
    for what, changed in found:
        assert changed.stages is not None, what
        assert changed != plan, what
        assert len(changed.stages) == len(plan.stages or ())
        assert sum(stage.layers for stage in changed.stages) == total, what
        if what.startswith(("a layer", "clock", "recompute")):
            table = PlanTable.from_plans([changed])
            assert violations(model, table, arithmetic_only=True) == [], what


def test_every_boundary_and_every_stage_has_its_steps() -> None:
    resolved, plan = CASES["dense"]
    words = {what for what, _ in steps(resolved.cost, plan, SpaceOptions())}
    moves = {f"a layer from stage {one} to {other}" for one, other in ((0, 1), (1, 0), (2, 3))}
    clocks = {f"clock 0.9 on stage {at}" for at in range(4)}
    layers = {f"a layer more recomputed in full on stage {at}" for at in range(4)}
    less = {"a layer less recomputed in full on stage 0"}
    assert words >= moves | clocks | layers | less | {"recompute full", "recompute none", "ddp"}
    assert "a layer less recomputed in full on stage 1" not in words
    plain = replace(plan, stages=tuple(replace(stage, full=(0, 0)) for stage in plan.stages or ()))
    assert "recompute none" not in {what for what, _ in steps(resolved.cost, plain, SpaceOptions())}


def test_layers_that_move_keep_what_is_recomputed_within_the_chunk() -> None:
    resolved, plan = of(DENSE, 2, 22)
    changed = dict(steps(resolved.cost, plan, SpaceOptions()))["a layer from stage 0 to 1"]
    assert changed.stages is not None
    assert [(stage.layers, stage.full) for stage in changed.stages] == [(1, (1, 0)), (23, (0, 0))]


def test_a_stage_more_recomputed_takes_longer_and_holds_less() -> None:
    resolved, plan = CASES["dense"]
    judged = {
        one.change: one for one in judged_steps(resolved.cost, plan, Limits(), SpaceOptions())
    }
    more = judged["a layer more recomputed in full on stage 0"].result
    less = judged["a layer less recomputed in full on stage 0"].result
    assert more is not None
    assert less is not None
    assert more.step_time_s > less.step_time_s
    assert more.memory_per_chip_bytes <= less.memory_per_chip_bytes


def test_plans_that_differ_in_clocks_of_stages_alone_never_tie() -> None:
    resolved, plan = CASES["dense"]
    stages = plan.stages or ()
    slower = replace(plan, stages=(replace(stages[0], clock=0.9), *stages[1:]))
    assert tie_ratio(resolved.cost, plan, slower, TIME) == 1.0
    assert tie_ratio(resolved.cost, plan, replace(slower, clock=0.8), OBJECTIVES["edp"]) == 1.0
    other = replace(
        slower, stages=tuple(replace(stage, full=(0, 1)) for stage in slower.stages or ())
    )
    ratio = tie_ratio(resolved.cost, plan, other, TIME)
    assert ratio is not None
    assert ratio > 1.01

"""What lets a plan exist, asked of the search: options, precision, memory, and the leanest plan."""

from dataclasses import replace

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model, random_chips, random_cost_model

from models_db import load_model
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.search.infeasible import remedies
from planner.search.infeasible.more_memory import more_memory
from planner.search.infeasible.remedies import other_options, other_precision, possible
from planner.search.limits import Limits
from planner.search.uniform.batch import Tally, build_batch
from planner.search.uniform.engine import UniformSpace, least_memory


def space_of(model: CostModel, chips: int, limits: Limits, **fixed: int) -> UniformSpace:
    options = SpaceOptions(fixed={name: frozenset({value}) for name, value in fixed.items()})
    return UniformSpace(model=model, options=options, limits=limits, chips=(chips,))


@each(("fixed", "wanted"), [
    ({"tp": 3}, ["without --fix tp=3"]),
    ({"tp": 3, "micro_batch": 1}, ["without --fix tp=3"]),
    ({"tp": 3, "pp": 5}, []),  # either alone forbids every plan
])  # fmt: skip
def test_a_fixed_value_without_which_there_is_a_plan_is_named(
    fixed: dict[str, int], wanted: list[str]
) -> None:
    """64 chips are neither in groups of 3 nor in 5 stages."""
    model = cost_model(load_model("gpt3-125m"), "dgx-h100-ndr", global_batch=256)
    space = space_of(model, 64, Limits(), **fixed)
    assert not possible(space, 64)
    named = [text for text in other_options(space, 64) if "--fix" in text]
    assert named == wanted


@each(("precision", "wanted"), [("fp8", ["--precision bf16"]), ("bf16", [])])
def test_another_precision_is_named_where_the_framework_lacks_the_one_asked_for(
    precision: str, wanted: list[str]
) -> None:
    """Nanotron has no fp8; a step in no time is possible in neither."""
    asked = {"model": "gpt3-125m", "hardware": "dgx-h100-ndr", "chips": 8, "framework": "nanotron"}
    model = resolve(request_from({**asked, "precision": precision, "batch_tokens": 2**18})).cost
    assert [*other_precision(space_of(model, 8, Limits()), 8)] == wanted
    assert [*other_precision(space_of(model, 8, Limits(step_time_s=1e-9)), 8)] == []


@each("asked", ["memory_bytes", "memory_margin"])
def test_the_memory_that_is_named_lets_a_plan_fit_and_hardly_less_does_not(asked: str) -> None:
    """Where the chips have it; else nothing is named."""
    model = cost_model(load_model("llama2-7b"), "dgx-h100-ndr", global_batch=64)
    whole = {"memory_bytes": 1e9, "memory_margin": model.allocatable_bytes}[asked]

    def limited(share: float) -> Limits:
        if asked == "memory_bytes":
            return Limits(memory_bytes=share)
        return Limits(memory_margin=share)

    (flag,) = more_memory(space_of(model, 8, limited(1e9 / whole)), 8)
    name, value = flag.split()
    assert name == {"memory_bytes": "--max-memory", "memory_margin": "--memory-margin"}[asked]
    named = float(value.removesuffix("GB")) * (1e9 if asked == "memory_bytes" else 1.0)
    assert possible(space_of(model, 8, limited(named)), 8)
    assert not possible(space_of(model, 8, limited(0.998 * named)), 8)
    assert [*more_memory(space_of(model, 1, limited(1e9 / whole)), 1)] == []


@each(("limits", "looks"), [
    (Limits(), True), (Limits(step_time_s=10.0), True), (Limits(step_time_s=1e-6), False),
    (Limits(power_w=1.0), False),
])  # fmt: skip
def test_what_bounds_exclude_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, limits: Limits, *, looks: bool
) -> None:
    """Chip counts on which no plan can be soon or cool enough are told without a plan."""
    looked: list[int] = []
    monkeypatch.setattr(
        remedies, "_any_plan", lambda _, plans: bool(looked.append(len(plans))) or len(plans) > 0
    )
    model = cost_model(load_model("gpt3-125m"), "dgx-h100-ndr", global_batch=64)
    found = remedies.first_possible(space_of(model, 8, limits), (8, 16))
    assert found == (8 if looks else None)
    assert bool(looked) == looks


@pytest.mark.parametrize("seed", [0, 3, 4, 30])
def test_of_the_leanest_plans_the_fastest_is_found(seed: int) -> None:
    """Against every candidate of a random job."""
    model = random_cost_model(seed)
    chips = random_chips(model, seed, most=16)
    space = space_of(model, chips, Limits())
    found = least_memory(space)
    nodes = space.nodes()
    tally = Tally(plans={}, candidates={})
    batch = build_batch(
        model, nodes.partial_plans, space.options, space.limits, space.clocks, tally
    )
    assert batch is not None
    rows = np.arange(len(batch.space))
    opened = batch.open(rows[batch.peak <= batch.peak.min() * (1 + 1e-12)], 0)
    assert found.points[0, 0] == batch.peak.min()
    one = evaluate_totals(model, found.plans)
    assert one.memory_bytes[0] == batch.peak.min()
    assert one.step_time_s[0] == pytest.approx(opened.points[:, 0].min(), rel=1e-9)


def test_a_search_with_a_deadline_looks_at_fewer_plans_between_two_looks_at_the_clock() -> None:
    model = cost_model(load_model("gpt3-125m"), "dgx-h100-ndr", global_batch=64)
    free = space_of(model, 8, Limits())
    hurried = replace(free, deadline=1e9)
    assert hurried.at_a_time < free.at_a_time
    assert hurried.seeds < free.seeds

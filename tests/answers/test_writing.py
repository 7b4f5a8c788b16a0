"""Who writes a checkpoint, by the form of the framework, and whether hosts have room for it."""

from __future__ import annotations

import pytest
from support.cases import each

from planner.answers.run.writing import writing
from planner.cost.goodput.checkpoints import checkpoint_bytes
from planner.frameworks.checkpoints import WRITERS
from planner.frameworks.registry import every
from planner.plan import Plan
from planner.question.request import request_from
from planner.question.resolved import resolve

ZERO1, DDP, ZERO3 = (
    Plan(dp=4, tp=4, pp=2), Plan(dp=32, sharding="ddp"), Plan(fsdp=32, sharding="zero3"),
)  # fmt: skip


@each(("framework", "plan", "form", "ranks"), [
    ("megatron", ZERO1, None, 32), ("megatron", ZERO1, "torch", 8), ("megatron", DDP, None, 32),
    ("torchtitan", ZERO3, None, 32), ("deepspeed", Plan(dp=32), None, 32),
    ("deepspeed", DDP, None, 1), ("nanotron", ZERO1, None, 32),
    ("fsdp", ZERO3, None, 32), ("fsdp", ZERO3, "full", 1),
    ("jax", ZERO3, None, None), ("megatron", ZERO1, "dcp", None),
])  # fmt: skip
def test_who_writes(framework: str, plan: Plan, form: str | None, ranks: int | None) -> None:
    asked = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 32, "framework": framework}
    model = resolve(request_from(asked)).cost
    whole, held = checkpoint_bytes(model.job), 5e9
    found = writing(model, plan, held, 0.0, form)
    assert (None if found is None else found.ranks) == ranks
    if found is not None:
        assert found.bytes_each == pytest.approx(held if framework in ("deepspeed", "nanotron")
                                                 else whole / found.ranks)  # fmt: skip
        assert found.host_bytes == min(8, found.ranks) * found.bytes_each
        assert found.host_room_bytes == 8 * model.chip.host_memory_bytes


def test_one_rank_that_gathers_all_may_have_no_room() -> None:
    asked = {"model": "llama3-405b", "hardware": "dgx-h100-ndr", "chips": 512,
             "framework": "fsdp"}  # fmt: skip
    model = resolve(request_from(asked)).cost
    plan = Plan(fsdp=512, sharding="zero3")
    full, sharded = (writing(model, plan, 11e9, 0.0, form) for form in ("full", None))
    assert full is not None
    assert sharded is not None
    assert (full.fits, sharded.fits) == (False, True), "5.7 TB in 2 TB"


def test_each_form_says_who_writes_it_and_where_that_stands() -> None:
    forms = [form for framework in every() for form in framework.checkpoints()]
    unknown = ("universal", "orbax")
    assert {form.writers for form in forms if form.name not in unknown} <= set(WRITERS)
    assert all(bool(form.writers) == bool(form.written) for form in forms)

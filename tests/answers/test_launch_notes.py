"""The sentence that says so where a framework cannot run the plan that is predicted for it."""

from dataclasses import replace

from frameworks.export.cases import CASES, Case
from support.cases import each

from planner.answers.notes.launch import not_launched
from planner.plan import Plan
from planner.question.request import Request

FLAT = replace(CASES["uneven"], plan=Plan(dp=16, tp=2, pp=4))
REQUEST = Request(model=FLAT.model, hardware=FLAT.hardware, chips=128)


def said(case: Case, request: Request = REQUEST, **changes: object) -> list[str]:
    return not_launched(request, case.cost(), replace(case.plan, **changes))


def test_what_it_can_run_needs_no_word() -> None:
    assert said(FLAT) == []


def test_what_it_cannot_run_is_named_by_field() -> None:
    assert said(FLAT, sharding="zero2") == [
        "Megatron-LM cannot run this plan as it is (sharding): --runnable-in megatron keeps to "
        "plans that it runs."
    ]


def test_who_asks_for_a_target_has_asked() -> None:
    asked = REQUEST.model_copy(update={"runnable_in": ("torchtitan",)})
    assert said(FLAT, asked, sharding="zero2") == []


@each("framework", ["megatron-zb", "fsdp", "textbook"])
def test_frameworks_that_are_no_target(framework: str) -> None:
    assert said(replace(FLAT, framework=framework), sharding="zero2") == []

"""What an answer says of the plans that it was chosen among: what runs them, what others give."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.cases import each

import planner
from planner.answers.notes.scope import scope_of
from planner.frameworks.launching import default_target
from planner.frameworks.registry import FRAMEWORKS, TARGETS, framework_of
from planner.frameworks.rules import broken
from planner.plan import PlanTable
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.results.result import SolveResult
from planner.search.driver import Driver

ROOT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {
    "model": "llama3-8b", "hardware": "h100-sxm5-80", "chips": 16, "batch_tokens": 2**20,
    "max_oom_risk": 1,
}  # fmt: skip
DEEPSPEED = {**SMALL, "framework": "deepspeed", "chips": 64, "batch_tokens": 2**22}


def broken_by(found: SolveResult, target: str) -> list[str]:
    """The lines of the rules that the best plan of an answer breaks."""
    assert found.best is not None
    job = {name: value for name, value in found.question.plan_job.items() if name != "chips"}
    cost = resolve(request_from(job), chips=found.best.chips).cost
    table = PlanTable.from_plans([found.best.plan])
    return [line for _, line in broken(cost, table, target=TARGETS[target])]


LAUNCHED = {
    "megatron": "megatron", "megatron-fp32-grads": "megatron", "torchtitan": "torchtitan",
    "deepspeed": "deepspeed", "deepspeed-liger": "deepspeed", "fsdp": "accelerate",
    "jax": "maxtext", "nanotron": "nanotron",
}  # fmt: skip


def test_every_framework_has_a_default_target_or_none() -> None:
    table = {name: default_target(name) for name in FRAMEWORKS}
    assert {name: one.name for name, one in table.items() if one is not None} == LAUNCHED
    without = {name for name, one in table.items() if one is None}
    assert without == {"hai-llm", "megatron-zb", "textbook", "torchtitan-2024"}
    page = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    for name, target in LAUNCHED.items():
        family = framework_of(name)
        assert family is not None
        assert TARGETS[target] in family.targets
        assert f"| `{name}` | `{target}` |" in page


@each("framework", ["megatron", "torchtitan", "deepspeed", "fsdp", "nanotron"])
def test_the_best_plan_can_be_launched(framework: str) -> None:
    found = planner.solve(**SMALL, framework=framework)
    target = LAUNCHED[framework]
    assert found.notes.runs_in == (target,)
    assert broken_by(found, target) == []
    assert ("runnable-in", target, f"what launches {framework}") in found.notes.defaults


def test_what_all_plans_would_give_is_their_optimum() -> None:
    kept, every = planner.solve(**DEEPSPEED), planner.solve(**DEEPSPEED, runnable_in="any")
    (wider,) = kept.candidates.wider
    assert wider.proved
    assert wider.plan is not None
    assert every.objective is not None
    assert kept.objective is not None
    assert wider.plan.result.step_time_s == every.objective < kept.objective
    assert wider.plan.difference == pytest.approx(every.objective / kept.objective - 1)
    assert wider.plan.tie is True
    said = kept.notes.caveats[0]
    assert said.startswith("DeepSpeed runs this plan as it is; --runnable-in any would give ")
    assert said.endswith(", a tie.")
    assert every.candidates.wider == ()
    said = every.notes.caveats[0]
    assert said.startswith("DeepSpeed cannot run this plan as it is (")
    assert broken_by(every, "deepspeed")


def test_where_no_other_plan_is_better_it_says_so() -> None:
    kept, every = planner.solve(**SMALL), planner.solve(**SMALL, runnable_in="any")
    assert kept.objective == every.objective
    (wider,) = kept.candidates.wider
    assert (wider.plan, wider.proved) == (None, True)
    said = "Megatron-LM runs this plan as it is; no other plan has less step time (proved)."
    assert kept.notes.caveats[0] == said


def test_where_nothing_can_be_launched_the_best_of_the_others_is_named() -> None:
    asked = {**SMALL, "model": "mixtral-8x7b", "chips": 64, "framework": "torchtitan"}
    kept, every = planner.solve(**asked), planner.solve(**asked, runnable_in="any")
    assert kept.objective == every.objective
    assert kept.notes.runs_in == ()
    said = kept.notes.caveats[0]
    assert said.startswith("torchtitan runs no plan of this job as it is; ")
    assert broken_by(kept, "torchtitan")[0] in said
    named = planner.solve(**asked, runnable_in="torchtitan")  # named, it is not left
    assert named.status == "infeasible"


@each(
    ("changes", "reason"),
    [
        ({"framework": "hai-llm"}, "planner export has no target for hai-llm"),
        ({"assumptions": "roofline", "framework": "megatron"}, "roofline predicts no framework"),
        (
            {"job": "lora", "framework": "torchtitan"},
            "planner export has no target for lora jobs of torchtitan",
        ),
        ({"placement": "all"}, "placement all asks for layouts beyond those of Megatron-LM"),
        (
            {"hardware": "gaudi2"},
            "megatron is assumed for memory and speed alone on gaudi2",
        ),
        (
            {"framework": "torchtitan-2024"},
            "planner export has no target for torchtitan-2024",
        ),
    ],
)
def test_where_no_target_is_kept_to_the_reason_is_said(
    changes: dict[str, Any], reason: str
) -> None:
    found = planner.solve(**{**SMALL, **changes})
    assert found.candidates.wider == ()
    assert found.notes.runs_in == ()
    assert ("runnable-in", "any", reason) in found.notes.defaults
    said = found.notes.caveats[0]
    assert said.endswith(f" are searched: {reason}.")


def test_a_named_framework_is_launched_wherever_it_runs() -> None:
    found = planner.solve(**{**SMALL, "hardware": "gaudi2", "framework": "deepspeed"})
    assert found.question.job["chip"] == "gaudi2"
    assert found.notes.runs_in == ("deepspeed",)


def test_uneven_stages_are_asked_of_what_takes_them() -> None:
    asked = {**SMALL, "layout": "uneven", "fix": {"pp": 4, "tp": 1, "interleave": 1}}
    kept = planner.solve(**asked)
    assert kept.notes.runs_in == ("megatron",)
    assert broken_by(kept, "megatron") == []
    assert "were not searched (--runnable-in any)" in kept.notes.caveats[0]
    jax = planner.solve(**asked, framework="jax")
    assert jax.notes.runs_in == ()
    assert "MaxText deals out layers by a rule" in jax.notes.caveats[0]


def test_any_stands_alone() -> None:
    with pytest.raises(planner.InputError, match="any, which keeps to none of them"):
        planner.solve(**SMALL, runnable_in="any,megatron")


def test_where_only_both_wishes_lifted_give_more_both_are_named() -> None:
    asked = {"model": "llama2-7b", "hardware": "a100-sxm4-40", "batch_tokens": 2**21,
             "framework": "deepspeed", "chips": "32"}  # fmt: skip
    kept = planner.solve(**asked)
    every = planner.solve(**asked, runnable_in="any", max_oom_risk=1)
    *alone, both = kept.candidates.wider
    assert [(one.plan, one.proved) for one in alone] == [(None, True)] * 2
    assert both.lifted == "runnable-in,max-oom-risk"
    assert both.plan is not None
    assert both.plan.result.step_time_s == every.objective
    said = kept.notes.caveats[0]
    assert "; no other plan of as little risk has less step time (proved); " in said
    assert "--runnable-in any --max-oom-risk 100% would give " in said


def test_of_several_machines_nothing_is_said_that_was_not_searched() -> None:
    found = planner.solve(
        model="gpt3-1.3b", hardware="h100-sxm5-80", chips="2..8", batch_tokens=2**19,
        pes=[66, 132], objective="energy",
    )  # fmt: skip
    assert found.candidates.wider == ()
    assert not any("(proved)" in line for line in found.notes.caveats)
    assert "were not searched (--runnable-in any)" in found.notes.caveats[0]


def test_what_is_not_proved_is_not_called_the_best_of_all() -> None:
    asked = {**SMALL, "model": "mixtral-8x7b", "framework": "torchtitan", "chips": 64}
    best, resolved = planner.solve(**asked).require(), resolve(request_from(asked))
    for proved, words in ((True, "is the best of all"), (False, "is the best known of all")):
        assert words in scope_of(resolved, best, proved=proved).words[0]


def test_what_a_wider_choice_gives_is_searched_when_it_is_first_read() -> None:
    asked: dict[str, Any] = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8}
    with patch.object(Driver, "run", autospec=True, side_effect=Driver.run) as run:
        answer = planner.solve(**asked, batch_tokens=2**16)
        assert answer.best is not None
        assert (answer.front_rows(), answer.bound, run.call_count) != ([], None, 0)
        assert run.call_count == 1
        assert "runs this plan as it is" in answer.notes.caveats[0]
        assert [one.lifted for one in answer.candidates.wider] == ["runnable-in", "max-oom-risk"]
        assert (searched := run.call_count) > 1
        assert len(answer.to_dict()["notes"]["caveats"]) == len(answer.notes.caveats)
        assert run.call_count == searched
        timed = planner.solve(**asked, batch_tokens=2**16, time_limit=600)
        before = run.call_count
        assert timed.candidates.wider == answer.candidates.wider
        assert run.call_count == before  # within the time that was asked for

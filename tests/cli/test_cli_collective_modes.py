"""`--collectives` and `--degrade-link`: what plans assume, and that files keep it."""

import json
from pathlib import Path

import pytest
from support.cases import each

import planner
from planner.base.errors import InputError
from planner.question.files.plan_text import plan_text
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.results.result import SolveResult

JOB = {"model": "gpt3-6.7b", "hardware": "v100-32gb-edr", "chips": 8, "batch_tokens": 2**17}
SLOW = "nvlink:0-2=0.25"


def solved(mode: str, *slow: str) -> SolveResult:
    """The best plan on one node."""
    return planner.solve(**JOB, collectives=mode, degrade_link=slow)


def test_a_slow_link_costs_less_with_schedules_made_for_it(tmp_path: Path) -> None:
    """Neither mode is slower than the library; the plan file evaluates to the same digits."""
    times = {}
    for slow in ((), (SLOW,)):
        for mode in ("nccl", "best"):
            found = solved(mode, *slow)
            times[mode, bool(slow)] = found.require().step_time_s
            assert found.question.job["collectives"] == mode
            assert found.question.job.get("degrade_link", []) == list(slow)
    assert times["best", False] < times["nccl", False] < times["nccl", True]
    assert times["best", False] < times["best", True] < times["nccl", True]
    request = request_from({**JOB, "collectives": "best", "degrade_link": [SLOW]})
    path = tmp_path / "plan.yaml"
    path.write_text(plan_text(resolve(request), found.require().plan, []))
    again = planner.evaluate(path)
    assert again.result.step_time_s == times["best", True]
    assert again.facts is not None
    assumed = [one.to_dict() for one in again.facts.collectives]
    assert any(one["algorithm"] == "synthesized" for one in assumed)
    assert json.dumps(assumed)
    both = planner.compare(path, path, collectives="nccl,best")
    assert [side.name for side in both.sides] == [f"{path} with nccl", f"{path} with best"]
    assert both.sides[1].result.step_time_s == times["best", True]
    with pytest.raises(InputError, match="names 3 modes for 2 plans; give one for all, or one"):
        planner.compare(path, path, collectives="nccl,best,nccl")
    plain = planner.evaluate(path, collectives="nccl")
    assert both.sides[0].result.step_time_s == plain.result.step_time_s
    assert plain.facts is not None
    assert plain.result.step_time_s > again.result.step_time_s
    assert {one.algorithm for one in plain.facts.collectives} <= {"ring", "direct", "tree"}


@each(
    ("changes", "words"),
    [
        ({"collectives": "sccl"}, "collectives: 'sccl' is not one of nccl, synthesized, best"),
        ({"degrade_link": ["nvlink:0-2"]}, "is not of the form LEVEL:CHIP-CHIP=SHARE"),
        ({"degrade_link": ["nvlink:0-2=1"]}, "must be from 0 (failed) to below 1"),
        ({"degrade_link": ["nvlink:0-2=nan"]}, "must be from 0 (failed) to below 1"),
        ({"degrade_link": ["nvlink:0-9=0.5"]}, "chips of a domain of nvlink are 0 to 7"),
        ({"degrade_link": ["nvlink:0-7=0.5"]}, "no link joins these chips; 0 has 0-1, 0-2, 0-3"),
        ({"degrade_link": ["nvlnk:0-2=0.5"]}, "'nvlnk' is not one of nvlink, leaf, spine"),
        ({"degrade_link": ["leaf:0-2=0.5"]}, "a chip has a link to a switch, not to another chip"),
        ({"degrade_link": ["nvlink:0-2=0.5", "nvlink:2-0=0"]}, "nvlink:0-2: is given twice"),
        (
            {"collectives": "best", "assumptions": "roofline"},
            "collectives: best has no effect under roofline",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(changes: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as refused:
        planner.solve(**{**JOB, **changes})
    assert words in str(refused.value)
    assert len(str(refused.value).split("\n")) == 1

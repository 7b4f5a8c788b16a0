"""`answer.best.export("megatron")`: what `planner export` writes of the plan's file."""

from pathlib import Path
from typing import Any

import pytest

import planner
from planner.question.files.plan_text import plan_text
from planner.question.request import request_from
from planner.question.resolved import resolve

JOB: dict[str, Any] = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "batch_tokens": 2**18,
}  # fmt: skip


def test_it_is_that_of_the_plan_file(tmp_path: Path) -> None:
    answer = planner.solve(**JOB)
    best = answer.require()
    file = tmp_path / "plan.yaml"
    file.write_text(plan_text(resolve(request_from(JOB)), best.plan, []), encoding="utf-8")
    (target,) = answer.notes.runs_in
    written, direct = planner.export_file(file, target), best.export(target)
    assert direct.export.files == written.export.files
    assert direct.step_time_s == written.step_time_s == best.step_time_s
    for point in answer.front:
        assert point.export(target).plan == point.plan


def test_what_it_refuses() -> None:
    best = planner.solve(**JOB).require()
    with pytest.raises(planner.InputError, match=r"to: 'megatrn' .* did you mean 'megatron'"):
        best.export("megatrn")
    with pytest.raises(planner.InputError, match="target-version"):
        best.export("megatron", "7")
    given = planner.evaluate(best.plan, **JOB).result
    with pytest.raises(planner.InputError, match=r"no plan of an answer of planner\.solve"):
        given.export("megatron")
    pooled = planner.solve(
        model="gpt3-125m", pools={"dgx-h100-ndr": 8, "dgx-a100-80-hdr": 8}, layout="uneven",
        batch_tokens=2**18,
    ).require()  # fmt: skip
    with pytest.raises(planner.InputError, match="no target can launch"):
        pooled.export("megatron")

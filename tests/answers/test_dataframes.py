"""Answers as tables of pandas."""

import sys
from typing import Any

import pytest

import planner
from planner.base.errors import InputError

JOB: dict[str, Any] = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "batch_tokens": "64Ki",
}  # fmt: skip


def test_tables_hold_what_the_answer_holds() -> None:
    pytest.importorskip("pandas")
    answer = planner.solve(**JOB, fix={"pp": 2})
    assert answer.best is not None
    assert answer.plan is answer.best.plan
    front = answer.to_dataframe()
    assert list(front["step_time_s"]) == [plan.step_time_s for plan in answer.front]
    assert list(front["mesh.pp"]) == [2] * len(answer.front)
    top = answer.to_dataframe("candidates")
    assert list(top["difference"]) == [one.difference for one in answer.candidates.top]
    stages = answer.to_dataframe("stages")
    assert len(stages) == 2
    assert stages["total_bytes"].max() == pytest.approx(answer.best.memory_per_chip_bytes)


def test_without_a_plan_tables_are_empty() -> None:
    pytest.importorskip("pandas")
    answer = planner.solve(**JOB, max_step_time="0.001ms")
    assert answer.plan is None
    for name in ("front", "candidates", "stages"):
        assert len(answer.to_dataframe(name)) == 0


def test_what_there_is_no_table_of_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = planner.solve(**JOB)
    with pytest.raises(InputError, match=r"^of: 'fronts' is not one of front, candidates, stages"):
        answer.to_dataframe("fronts")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install 'parallelism-planner\[dataframe\]'"):
        answer.to_dataframe()

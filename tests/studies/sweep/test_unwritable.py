"""Answers that no store can hold: their points have failed, and the study goes on."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from planner.answers import sweeping
from planner.studies.sweep.question.study import study_of
from planner.studies.sweep.running.run import Run, run_study
from studies.sweep.stand_in import Here

SMALL: dict[str, Any] = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "clocks": False,
                         "fix": {"tp": ["1"], "pp": ["1"]}}  # fmt: skip


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_an_answer_that_json_does_not_have_is_that_of_its_point_alone(
    number: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sweeping.kept_of

    def broken(result: Any) -> dict[str, Any]:
        answer = dict(whole(result))
        return answer | {"best": {"days": number}} if result.best.chips == 4 else answer

    monkeypatch.setattr(sweeping, "kept_of", broken)
    study = study_of(SMALL, cross={"chips": [2, 4, 8]})
    counts = run_study(study, tmp_path / "s.db", Run(solve=sweeping.solve_in_order, workers=Here()))
    assert counts.by_status == {"optimal": 2, "failed": 1}
    assert (counts.done, counts.failed) == (3, 1)

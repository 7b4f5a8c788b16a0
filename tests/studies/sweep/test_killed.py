"""Studies on real workers: in this process, and in processes that are killed at random."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import planner
from planner.answers import sweeping

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "sweeping.py"


def test_a_study_survives_its_workers_and_itself() -> None:
    """Every point once, the same as alone, and no process left."""
    command = [sys.executable, str(BENCHMARK), "kills", "--points", "500", "--kills", "5", "--idle",
               "--json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["tables"][0]["rows"]
    assert row["workers killed"] + row["runs killed"] == 5
    assert row["commands"] == row["runs killed"] + 1
    assert row["points"] == row["answers"] == 504
    assert row["solved again"] > 0
    assert row["places twice"] == row["different"] == row["processes left"] == 0


def test_answers_go_through_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fronts over chips, as a fleet asks for them: each is solved once."""
    path = tmp_path / "s.db"
    job = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "clocks": False, "axes": "dp"}
    asked = [{**job, "chips": chips} for chips in (8, 16)]
    with sweeping.answering(path) as answer:
        found = [answer(fields) for fields in asked]
        with pytest.raises(planner.InputError, match="cannot give 9 chips"):
            answer({**job, "chips": 9})
    assert [one["status"] for one in found] == ["optimal", "optimal"]
    assert [plan["chips"] for plan in found[1]["front"]["plans"]] == [16]
    monkeypatch.setattr(sweeping, "solve_request", lambda *_, **__: pytest.fail("solved again"))
    with sweeping.answering(path) as answer:
        assert [answer(fields) for fields in asked] == found
        assert answer.read == 2


def test_a_client_of_the_user_solves_as_one_call_does(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    job: Any = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "clocks": False}
    with distributed.Client(processes=False, dashboard_address="127.0.0.1:0", n_workers=1,
                            threads_per_worker=1) as client:  # fmt: skip
        study = planner.sweep({"chips": [8, 9, 16]}, client=client, store=tmp_path / "s.db", **job)
        assert client.status == "running"
    assert study.counts.by_status == {"optimal": 2, "refused": 1}
    assert "cannot give 9 chips" in study.reasons()[0]
    assert "done       3 (100 %)" in str(study)
    for row in study.rows(["status == 'optimal'"]):
        alone = planner.solve(chips=row.axes["chips"], **job)
        assert alone.best is not None
        assert row.answer["best"]["step_time_s"] == alone.best.step_time_s
        assert row.answer["bound"] == alone.bound
        assert [plan["energy_per_step_j"] for plan in row.answer["front"]["plans"]] == [
            plan.energy_per_step_j for plan in alone.front.plans
        ]

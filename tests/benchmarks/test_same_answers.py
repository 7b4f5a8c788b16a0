"""The same answer every time, for long and at once, of `benchmarks/reliability.py`."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.campaigns import campaigns


def test_what_differs_of_two_answers_is_found() -> None:
    different = campaigns("same").different
    assert different({"a": [1, 2.0]}, {"a": [1, 2.0 + 1e-15]}) == ""
    assert different({"a": [1, 2.0]}, {"a": [1, 2.0 + 1e-15]}, 0.0)
    for other in ({"a": [1, 2.1]}, {"a": [1]}, {"b": [1, 2.0]}, {"a": [True, 2.0]}, {"a": None}):
        assert different({"a": [1, 2.0]}, other), other
    found = campaigns("same").without_run({"a": {"seconds": 1, "b": [{"digest": 2, "c": 3}]}})
    assert found == {"a": {"b": [{"c": 3}]}}
    assert campaigns("same")._versions(Path(sys.executable)).startswith("Python 3.")


def test_what_fails_as_usual_is_no_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It once counted as byte equal, and no plan at all as equal plans."""
    same, lasting, told = campaigns("same"), campaigns("lasting"), list[str]()
    refused = subprocess.CompletedProcess((), returncode=2, stdout="", stderr="error: no\n")
    with monkeypatch.context() as patch:
        patch.setattr(same.subprocess, "run", lambda *_, **__: refused)
        patch.setattr(same, "WAYS", {"the same again": same.WAYS["the same again"]})
        ((_, count),) = same.campaign(told.append, "feasible")
    assert (count.tried, count.byte_equal, count.faults, len(told)) == (1, 0, 1, 1)
    monkeypatch.setattr(lasting, "answered", lambda _: "nothing has a plan")
    monkeypatch.setattr(
        lasting, "ProcessPoolExecutor", lambda *_, **__: lasting.ThreadPoolExecutor(4)
    )
    assert [count.plans for _, count in lasting.at_once(3, 1, told.append)] == [0, 0]
    assert len(told) == 2


def test_objects_that_stay_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    lasting, kept = campaigns("lasting"), list[list[str]]()
    for answered, leaks in ((lambda _: None, False), (lambda seed: kept.append([seed]), True)):
        told = list[str]()
        monkeypatch.setattr(lasting, "answered", answered)
        assert len([*lasting.one_process(300, 1, told.append)]) >= 3
        assert bool(told) == leaks, told


def test_questions_at_once() -> None:
    lasting, told = campaigns("lasting"), list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            lasting, "ProcessPoolExecutor", lambda *_, **__: lasting.ThreadPoolExecutor(4)
        )
        counts = dict(lasting.at_once(6, 3, told.append))
    assert told == []
    assert counts["8 threads"].plans >= 3

"""How a long search says where it stands when nobody looks at a terminal."""

import time

import pytest

from planner.cli import output


def test_a_line_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "_SAID_S", 0.02)
    with output.standing_bar(wanted=True, verb="synthesizing") as told:
        assert told is not None
        told("schedules", 1, 4, "S = 3, C = 5; best (6, 3, 7)")
        until = time.perf_counter() + 5.0
        said = ""
        while not said and time.perf_counter() < until:
            time.sleep(0.02)
            said = capsys.readouterr().err
    assert said.splitlines()[0] == "synthesizing schedules: S = 3, C = 5; best (6, 3, 7) (0 s)"


def test_nothing_where_none_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    with output.standing_bar(wanted=False, verb="synthesizing") as told:
        assert told is None
    assert capsys.readouterr().err == ""

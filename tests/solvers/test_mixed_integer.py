"""Programs of integers say nothing on standard output, whoever else runs one."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import scipy.optimize

from solvers.mixed_integer import milp

ROOT = Path(__file__).parents[2]


def test_what_is_written_past_python_is_not_seen(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    together = Barrier(3)

    def loud(c: int, **_: Any) -> int:
        together.wait(10)
        os.write(1, b"noise")
        if c:  # the last one ends after the others are gone
            together.wait(10)
        return c

    monkeypatch.setattr(scipy.optimize, "milp", loud)
    with ThreadPoolExecutor(3) as pool:
        ends = [pool.submit(milp, c) for c in (0, 1, 2)]
        assert ends[0].result() == 0
        together.wait(10)
        assert [end.result() for end in ends] == [0, 1, 2]
    os.write(1, b"seen")
    assert capfd.readouterr().out == "seen"


def test_no_program_goes_round_it() -> None:
    direct = re.compile(r"optimize import (\([^)]*|[^(\n]*)\bmilp\b|optimize\.milp\(")
    found = {
        str(path.relative_to(ROOT))
        for package in ("solvers", "planner")
        for path in (ROOT / package).rglob("*.py")
        if direct.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"solvers/mixed_integer.py"}

"""The step of a plan if it used all of the power: no bad division of the chips stays inside."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fewer_big_chips.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("fewer_big_chips", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def plan(chips: int, step_s: float, energy_j: float) -> SimpleNamespace:
    return SimpleNamespace(
        chips=chips, energy_per_step_j=energy_j, power_per_chip_w=energy_j / step_s / chips
    )


@pytest.mark.parametrize(
    ("fastest", "others", "expected"),
    [
        # 12 chips divide badly; 4 need the least energy, but draw less than half of 10 W.
        (plan(12, 3.4, 33.8), [plan(8, 3.5, 24.9), plan(4, 7.0, 24.0)], "2.49 s (from 8 chips)"),
        (plan(8, 1.2, 12.0), [plan(4, 1.7, 14.1)], "1.2 s (from 8 chips)"),
        (plan(8, 1.4, 14.1), [plan(4, 2.5, 13.9)], "1.39 s (from 4 chips)"),
        (plan(9, 1.4, 14.1), [], "1.41 s (from 9 chips)"),
    ],
)
def test_least_energy_of_counts_that_divide_well(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, fastest: Any, others: Any, expected: str
) -> None:
    found = {other.chips: other for other in others}

    def asked(question: dict[str, Any], *_: Any) -> SimpleNamespace:
        assert question["chips_exact"]
        return SimpleNamespace(best=found.get(question["chips"]))

    monkeypatch.setattr(script, "asked", asked)
    assert script.at_power(fastest, {"max_power": "10W"}, SCRIPT.parent) == expected

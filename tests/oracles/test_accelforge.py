"""The golden numbers of AccelForge, made again where that engine is installed."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from oracles.accelforge_engine import architecture, run

DATA = json.loads(
    (Path(__file__).parents[1] / "cost/data/accelforge.json").read_text(encoding="utf-8")
)
CASES = [case for case in DATA["cases"] if case["metric"] != "LATENCY"]


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['case']}-{c['m']}x{c['n']}x{c['k']}")
def test_the_engine_still_says_so(case: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("accelforge")
    found = run(case, DATA["constants"], tmp_path)
    assert found["cycles"] == case["cycles"]
    assert math.isclose(found["energy_j"], case["energy_j"], rel_tol=1e-6)
    for way in ("read", "write"):
        assert found[f"dram {way}"] == case["dram_accesses"][way]


def test_a_case_without_registers_has_no_such_level() -> None:
    with_them = next(case for case in CASES if case["register_bytes"])
    without = next(case for case in CASES if not case["register_bytes"])
    assert "name: register" in architecture(with_them, DATA["constants"])
    assert "name: register" not in architecture(without, DATA["constants"])

"""An objective from another package: found, minimized, proved, explained, named."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support.outside import ROOT, SOURCES, Outside

JOB = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8", "--seq-len", "2048")
MINE = ("--objective", "ed2p")
PAGE = ROOT / "docs" / "extending" / "objective.md"


def ed2p(plan: dict[str, Any]) -> float:
    return float(plan["energy_per_step_j"] * plan["step_time_s"] ** 2)


def test_it_is_minimized_with_proof_and_explained(outside: Outside) -> None:
    found = outside.answer("solve", *JOB, *MINE, "-o", "plan.yaml")
    proof = found["certificate"]
    assert (proof["status"], proof["gap"]) == ("optimal", 0.0)
    assert (proof["objective_name"], proof["objective_unit"]) == ("ed2p", "J s^2")
    least = min(map(ed2p, found["front"]["plans"]))
    assert proof["objective"] == pytest.approx(least, rel=1e-12)
    assert ed2p(found["best"]) == pytest.approx(least, rel=1e-12)
    assert any("energy x time^2" in one["verdict"] for one in found["candidates"]["neighbors"])
    why = outside.answer("explain", "plan.yaml", *MINE)
    assert why["objective_name"] == "ed2p"


def test_it_is_named_wherever_objectives_are(outside: Outside) -> None:
    assert re.search(r"\bed2p\b", outside.planner("solve", "--help").out)
    asked = outside.planner("solve", *JOB, "--objective", "ed2q")
    assert asked.code == 2
    assert "did you mean 'ed2p'?" in asked.err
    assert '"ed2p"' in json.dumps(outside.answer("schema", "job"))


def test_stages_that_differ_refuse_what_their_search_does_not_prove(outside: Outside) -> None:
    refused = outside.planner("solve", *JOB, *MINE, "--layout", "uneven")
    assert refused.code == 2
    assert "ed2p is not minimized with layout uneven" in refused.err


def test_the_page_shows_the_package() -> None:
    """Each block of the page that names a file is that file."""
    text = PAGE.read_text(encoding="utf-8")
    shown = dict(re.findall(r"^`(\S+)`:\n+```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    package = SOURCES / "ed2p"
    files = (package / "pyproject.toml", package / "planner_ed2p" / "objective.py")
    assert shown == {str(path.relative_to(package)): path.read_text("utf-8") for path in files}

"""What an answer says of modules that recompute, where its question left them out."""

import json
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.cases import each

import planner
from planner.answers.files.result_file import read_result
from planner.answers.spaces import modules
from planner.results.result import SolveResult
from planner.results.solved_parts import Wider
from planner.search.uniform.wider import better_plan

QWEN: dict[str, Any] = {
    "model": "qwen3-30b-a3b", "hardware": "h100-sxm5-80", "chips": 64, "batch_tokens": 2**21,
    "seq_len": 4096,
}  # fmt: skip
LEAN = {**QWEN, "chips": 16, "batch_tokens": 2**19}
MIXTRAL = {**QWEN, "model": "mixtral-8x7b", "chips": 32, "batch_tokens": 2**20}
LATENT = {**QWEN, "model": "deepseek-v2-lite", "chips": 16, "batch_tokens": 2**20}
ASKED: tuple[dict[str, Any], ...] = (
    QWEN,
    {**QWEN, "objective": "energy"},
    {**QWEN, "max_memory": "50GB"},
    {**QWEN, "max_power": "45kW"},
    LEAN,
    MIXTRAL,
    {**MIXTRAL, "chips": 128, "batch_tokens": 2**21},
    LATENT,
    {**LATENT, "objective": "memory"},
)


def told_of(found: SolveResult) -> Wider | None:
    """What an answer says of modules."""
    return next((one for one in found.candidates.wider if one.lifted == "recompute"), None)


@cache
def _solved(at: int, recompute: str) -> SolveResult:
    fixed: dict[str, Any] = {"fix": {"recompute": recompute}} if recompute else {}
    return planner.solve(**ASKED[at], **fixed)


@each("at", range(len(ASKED)))
def test_what_is_told_is_a_plan_of_the_space_with_modules(at: int) -> None:
    kept, every = _solved(at, ""), _solved(at, "any")
    assert kept.objective is not None
    assert every.objective is not None
    assert every.status == "optimal"
    found = told_of(kept)
    if found is None:
        return
    assert found.plan is not None
    assert not found.proved
    assert every.objective / kept.objective - 1 <= found.plan.difference * (1 - 1e-9) < -0.01
    plan = found.plan.result.plan
    fixed = {name: str(size) for name, size in plan.mesh.items()}
    fixed |= {"recompute": plan.recompute, "micro_batch": str(plan.micro_batch)}
    alone = planner.solve(**ASKED[at], fix=fixed)  # it keeps to all limits
    assert alone.objective is not None
    assert alone.objective / kept.objective - 1 <= found.plan.difference * (1 - 1e-9)


def test_what_gains_is_told_and_what_gains_nothing_is_not() -> None:
    gains = {}
    for at in range(len(ASKED)):
        kept, every = _solved(at, ""), _solved(at, "any")
        assert kept.objective is not None
        assert every.objective is not None
        gains[at] = (1 - every.objective / kept.objective, told_of(kept))
    assert all(told is None for gain, told in gains.values() if gain < 0.01)
    most = {at: gain for at, (gain, _) in gains.items() if gain >= 0.01}
    assert len(most) >= 5
    assert len(most) < len(ASKED)
    for at, gain in most.items():
        told = gains[at][1]
        assert told is not None, ASKED[at]
        assert told.plan is not None
        assert -told.plan.difference == pytest.approx(gain, abs=0.003)


def test_it_is_said_with_what_to_ask() -> None:
    kept, every = _solved(4, ""), _solved(4, "any")
    found = told_of(kept)
    assert found is not None
    assert found.plan is not None
    first, *rest = kept.notes.caveats
    assert "; but for modules (below) no other plan" in first
    (said,) = [line for line in rest if line.startswith("Modules that recompute apart")]
    assert f"recompute {found.plan.result.plan.recompute}: faster by" in said
    assert "; --fix recompute=any would give dp " in said
    assert said in kept.to_dict()["notes"]["caveats"]
    (row,) = [r for r in kept.to_dict()["candidates"]["wider"] if r["lifted"] == "recompute"]
    assert row["plan"]["recompute"] == found.plan.result.plan.recompute
    assert told_of(every) is None
    assert not any("Modules that recompute" in line for line in every.notes.caveats)


def test_a_result_file_with_it_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(_solved(0, "").to_dict()), encoding="utf-8")
    read = read_result(path).answer
    assert isinstance(read, SolveResult)
    assert told_of(read) == told_of(_solved(0, ""))


@each(
    "changes",
    [
        {"fix": {"recompute": ["none", "full"]}},
        {"framework": "torchtitan"},
        {"model": "llama3-8b"},
    ],
)
def test_nothing_is_searched_where_modules_are_no_question(changes: dict[str, Any]) -> None:
    with patch.object(modules, "better_plan", side_effect=better_plan) as search:
        found = planner.solve(**{**MIXTRAL, **changes})
        assert found.best is not None
        if changes.get("model"):
            assert found.best.plan.recompute == "none"
        assert told_of(found) is None
        assert search.call_count == 0

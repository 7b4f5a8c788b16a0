"""`planner compare` where a file that both questions name was changed: no version tells of it."""

from pathlib import Path
from typing import Any

import pytest
from cli.command import planner, replaced, solve
from cli.test_compare_answers import ASKED, written
from studies.sweep.test_reads import ARGUMENTS, LAUNCH
from support.cases import each

CHIP = """{{like: h100-sxm5-80, name: mine, title: mine, memory: {{
  capacity: {{value: {}, unit: B, kind: assumed, source: [nvidia-h100], note: assumed}},
  bandwidth: {{value: {}, unit: B/s, kind: assumed, source: [nvidia-h100], note: assumed}}}}}}
"""
MAY_BE = "another cost model of this version number or a file that it names"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions name files from here."""
    monkeypatch.chdir(tmp_path)


def on_chip(capacity: str, bandwidth: str = "3.35e12") -> Any:
    Path("chip.yaml").write_text(CHIP.format(capacity, bandwidth), encoding="utf-8")
    return planner("solve", *replaced(ASKED, "--hardware", "chip.yaml"), "--json").document


def from_launch(tp: int) -> Any:
    Path("env.sh").write_text(ARGUMENTS.replace("TP=2", f"TP={tp}"), encoding="utf-8")
    Path("run").write_text(LAUNCH, encoding="utf-8")
    return solve(
        *("--model", "llama2-13b", "--hardware", "dgx-a100-80-hdr", "--chips", "16", "--seq-len"),
        *("4096", "--batch-tokens", "512Ki", "--no-clocks", "--resume-from", "run"),
        *("--framework", "megatron"),
    )


def last_reason(old: Any, new: Any) -> Any:
    pair = (written(Path("old.json"), old), written(Path("new.json"), new))
    return planner("compare", *pair, "--json").document["reasons"][-1]


@each("bandwidth", ["3.35e12", "3e12"])
def test_a_file_that_refuses_the_older_plan(bandwidth: str) -> None:
    """Whether or not it also moves what that plan costs: it is no other version."""
    reason = last_reason(on_chip("80e9"), on_chip("30e9", bandwidth))
    assert reason["cause"] == "unknown"
    assert reason["words"] == (
        "the plan of the older answer is refused by the same versions: memory: 40 of 23.2 GB; "
        f"{MAY_BE}"
    )


def test_another_version_beside_a_file() -> None:
    """Which of them refuses the plan is not guessed."""
    old = on_chip("80e9")
    old["versions"]["constants"] = "x"
    reason = last_reason(old, on_chip("30e9"))
    assert reason["cause"] == "unknown"
    assert reason["words"].endswith(
        "refused by the other version: memory: 40 of 23.2 GB; the constants of the cost model or "
        "a file that it names"
    )


@each(("capacity", "meshes"), [
    ("30e9", ""), ("4e9", ", and the meshes that were searched are others (meshes: memory)"),
])  # fmt: skip
def test_a_file_that_allows_the_newer_plan(capacity: str, meshes: str) -> None:
    """Counts of meshes follow from the file: they are no cause of their own."""
    reason = last_reason(on_chip(capacity), on_chip("80e9"))
    assert reason["cause"] == "unknown"
    assert reason["words"].endswith(f"better, by the same versions: {MAY_BE}{meshes}")


@each(("old", "new", "words"), [
    ("1e8", "80e9", "that of new.json is allowed there"),
    ("80e9", "1e8", "that of old.json is not allowed there (memory: 4e+10 of 0 B)"),
])  # fmt: skip
def test_a_file_that_allows_no_plan(old: str, new: str, words: str) -> None:
    reason = last_reason(on_chip(old), on_chip(new))
    assert reason["cause"] == "unknown"
    assert reason["words"].endswith(f"{words}, by the same versions: {MAY_BE}")


def test_what_a_launch_sources() -> None:
    """The file of a run is one that the question names, whatever its name ends with."""
    new, old = from_launch(4), from_launch(2)
    reason = last_reason(old, new)
    assert reason["cause"] == "unknown"
    assert reason["words"].endswith("is proved; a file that it names may have changed")
    reason = last_reason(new, old)
    assert reason["words"].endswith(f"rules out tp 4); {MAY_BE}")


def test_a_mesh_is_no_file() -> None:
    """What a run is resumed from may be said in full."""
    pair = [solve(*replaced(ASKED, "--fix", f"tp={tp}")) for tp in (2, 1)]
    for one in pair:
        one["question"]["asked"] |= {"fix": {"tp": ["1", "2"]}, "resume_from": "tp=1"}
    assert "a file" not in last_reason(*pair)["words"]

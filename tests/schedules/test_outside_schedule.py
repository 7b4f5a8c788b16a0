"""A schedule from another package, with a framework that runs it: found, costed, written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from support.cases import each
from support.outside import ROOT, SOURCES, Outside, packages_of, planner_in

JOB = ("--model", "llama2-7b", "--hardware", "dgx-h100-ndr", "--chips", "16")
MINE = ("--framework", "late-nanotron")
STAGES = ("--fix", "pp=2", "--fix", "schedule=late-1f1b")
BARRIER_S = 0.5
PAGE = ROOT / "docs" / "extending" / "schedule.md"
PLAN = """
schema_version: 1
job: {model: llama2-7b, hardware: dgx-h100-ndr, framework: late-nanotron, batch_tokens: 131072}
plan: {mesh: {dp: 4, tp: 2, pp: 2}, schedule: SCHEDULE, split: by-cost, sharding: zero1}
"""


def kept(folder: Path, schedule: str) -> str:
    """A plan file with a schedule."""
    path = folder / f"{schedule}.yaml"
    path.write_text(PLAN.replace("SCHEDULE", schedule), encoding="utf-8")
    return path.name


def test_it_is_solved_with_proof(outside: Outside) -> None:
    late = outside.answer("solve", *JOB, *MINE, *STAGES, "-o", "late.yaml")
    assert late["certificate"]["status"] == "optimal"
    assert late["best"]["schedule"] == "late-1f1b"
    usual = ("--fix", "pp=2", "--fix", "schedule=1f1b")
    soon = outside.answer("solve", *JOB, *MINE, *usual)
    # The barrier is the same for every plan, so that the best plans differ in it alone.
    assert late["best"]["step_time_s"] == pytest.approx(soon["best"]["step_time_s"] + BARRIER_S)
    both = ("--fix", "pp=2", "--fix", "schedule=1f1b,late-1f1b")
    assert outside.answer("solve", *JOB, *MINE, *both)["best"] == soon["best"]


def test_it_is_costed(outside: Outside) -> None:
    times = [
        outside.answer("evaluate", kept(outside.folder, name))["step_time_s"]
        for name in ("late-1f1b", "1f1b")
    ]
    assert times[0] == pytest.approx(times[1] + BARRIER_S, rel=1e-12)


def test_it_is_written_for_its_framework(outside: Outside) -> None:
    outside.answer("solve", *JOB, *MINE, *STAGES, "-o", "to_write.yaml")
    written = outside.answer("export", "to_write.yaml", "--to", "late-nanotron")
    assert written["environment"]["STEP_BARRIER_S"] == str(BARRIER_S)
    assert "pp: 2" in written["files"]["nanotron.yaml"]
    plain = outside.answer("export", kept(outside.folder, "1f1b"), "--to", "late-nanotron")
    assert "STEP_BARRIER_S" not in plain["environment"]


@each("framework", ["nanotron", "megatron"])
def test_other_frameworks_do_not_run_it(outside: Outside, framework: str) -> None:
    refused = outside.planner("solve", *JOB, "--framework", framework, *STAGES)
    assert refused.code == 2
    assert f"{framework} has no schedule 'late-1f1b'" in refused.err
    target = outside.planner("export", kept(outside.folder, "late-1f1b"), "--to", framework)
    assert target.code == 2
    assert "schedule: " in target.err


def test_another_name_is_refused_and_its_own_proposed(outside: Outside) -> None:
    refused = outside.planner("evaluate", kept(outside.folder, "later-1f1b"))
    assert refused.code == 2
    assert "did you mean 'late-1f1b'" in refused.err


def test_a_package_that_does_not_load_is_one_line(outside: Outside, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    shutil.copytree(outside.folder / "environment", environment, symlinks=True)
    schedule = packages_of(environment) / "planner_late" / "schedule.py"
    python = environment / "bin" / "python"
    for broken, said in (
        ("raise RuntimeError('no such device')", "RuntimeError: no such device"),
        ("raise SystemExit(0)", "SystemExit: 0"),
    ):
        schedule.write_text(f"{broken}\n", encoding="utf-8")
        asked = planner_in(python, tmp_path, "solve", *JOB, "--fix", "schedule=late-1f1b")
        assert asked.returncode == 2
        assert asked.stderr.count("\n") == 1
        assert said in asked.stderr


def test_the_page_shows_the_package() -> None:
    """Each block of the page that names a file is that file."""
    text = PAGE.read_text(encoding="utf-8")
    shown = dict(re.findall(r"^`(\S+)`:\n+```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    package = SOURCES / "late"
    files = [package / "pyproject.toml", *(package / "planner_late").glob("[!_]*.py")]
    assert shown == {str(path.relative_to(package)): path.read_text("utf-8") for path in files}

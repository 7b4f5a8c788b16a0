"""A schedule from another package, with a framework that runs it: found, costed, written."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.cases import each
from support.outside import ROOT, SOURCES, environment_with, planner_in

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
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    shutil.copytree(SOURCES / "late", folder / "sources")
    return environment_with(folder / "sources", folder / "environment")


@pytest.fixture(scope="module")
def folder(python: Path) -> Path:
    """Where the environment is, beside the files of the tests."""
    return python.parent.parent


def answer(python: Path, folder: Path, *arguments: str) -> Any:
    done = planner_in(python, folder, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def kept(folder: Path, schedule: str) -> str:
    """A plan file with a schedule."""
    path = folder / f"{schedule}.yaml"
    path.write_text(PLAN.replace("SCHEDULE", schedule), encoding="utf-8")
    return path.name


def test_it_is_solved_with_proof(python: Path, folder: Path) -> None:
    late = answer(python, folder, "solve", *JOB, *MINE, *STAGES, "-o", "late.yaml")
    assert late["certificate"]["status"] == "optimal"
    assert late["best"]["schedule"] == "late-1f1b"
    usual = ("--fix", "pp=2", "--fix", "schedule=1f1b")
    soon = answer(python, folder, "solve", *JOB, *MINE, *usual)
    # The barrier is the same for every plan, so that the best plans differ in it alone.
    assert late["best"]["step_time_s"] == pytest.approx(soon["best"]["step_time_s"] + BARRIER_S)
    both = ("--fix", "pp=2", "--fix", "schedule=1f1b,late-1f1b")
    assert answer(python, folder, "solve", *JOB, *MINE, *both)["best"] == soon["best"]


def test_it_is_costed(python: Path, folder: Path) -> None:
    times = [
        answer(python, folder, "evaluate", kept(folder, name))["step_time_s"]
        for name in ("late-1f1b", "1f1b")
    ]
    assert times[0] == pytest.approx(times[1] + BARRIER_S, rel=1e-12)


def test_it_is_written_for_its_framework(python: Path, folder: Path) -> None:
    answer(python, folder, "solve", *JOB, *MINE, *STAGES, "-o", "to_write.yaml")
    written = answer(python, folder, "export", "to_write.yaml", "--to", "late-nanotron")
    assert written["environment"]["STEP_BARRIER_S"] == str(BARRIER_S)
    assert "pp: 2" in written["files"]["nanotron.yaml"]
    plain = answer(python, folder, "export", kept(folder, "1f1b"), "--to", "late-nanotron")
    assert "STEP_BARRIER_S" not in plain["environment"]


@each("framework", ["nanotron", "megatron"])
def test_other_frameworks_do_not_run_it(python: Path, folder: Path, framework: str) -> None:
    refused = planner_in(python, folder, "solve", *JOB, "--framework", framework, *STAGES)
    assert refused.returncode == 2
    assert f"{framework} has no schedule 'late-1f1b'" in refused.stderr
    target = planner_in(python, folder, "export", kept(folder, "late-1f1b"), "--to", framework)
    assert target.returncode == 2
    assert "schedule: " in target.stderr


def test_another_name_is_refused_and_its_own_proposed(python: Path, folder: Path) -> None:
    refused = planner_in(python, folder, "evaluate", kept(folder, "later-1f1b"))
    assert refused.returncode == 2
    assert "did you mean 'late-1f1b'" in refused.stderr


def test_a_package_that_does_not_load_is_one_line(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    shutil.copytree(SOURCES / "late", sources)
    broken = "raise RuntimeError('no such device')\n"
    (sources / "planner_late" / "schedule.py").write_text(broken, encoding="utf-8")
    python = environment_with(sources, tmp_path / "environment")
    asked = planner_in(python, tmp_path, "solve", *JOB, "--fix", "schedule=late-1f1b")
    assert asked.returncode == 2
    assert asked.stderr.count("\n") == 1
    assert "RuntimeError: no such device" in asked.stderr


def test_the_page_shows_the_package() -> None:
    """Each block of the page that names a file is that file."""
    text = PAGE.read_text(encoding="utf-8")
    shown = dict(re.findall(r"^`(\S+)`:\n+```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    package = SOURCES / "late"
    files = [package / "pyproject.toml", *(package / "planner_late").glob("[!_]*.py")]
    assert shown == {str(path.relative_to(package)): path.read_text("utf-8") for path in files}

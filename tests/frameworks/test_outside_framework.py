"""A framework from another package: found, searched, costed, explained, written and read back."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.outside import ROOT, SOURCES, environment_with, planner_in

JOB = ("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--chips", "16")
PAGE = ROOT / "docs" / "extending" / "framework.md"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    shutil.copytree(SOURCES / "acme", folder / "sources")
    return environment_with(folder / "sources", folder / "environment")


@pytest.fixture(scope="module")
def folder(python: Path) -> Path:
    """Where the environment is, beside the files of the tests."""
    return python.parent.parent


def answer(python: Path, folder: Path, *arguments: str) -> Any:
    done = planner_in(python, folder, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def step_time(document: Any) -> str:
    """The first step time of an answer, as it is printed."""
    found = re.search(r'"step_time_s": ([0-9.e-]+)', json.dumps(document))
    assert found is not None
    return found[1]


def test_it_is_searched(python: Path, folder: Path) -> None:
    found = answer(python, folder, "solve", *JOB, "--framework", "acme", "-o", "plan.yaml")
    assert found["certificate"]["status"] == "optimal"
    assert found["question"]["job"]["framework"] == "acme"
    usual = answer(python, folder, "solve", *JOB)
    assert usual["question"]["job"]["framework"] == "megatron"  # as without it


def test_what_has_to_run_a_plan(python: Path, folder: Path) -> None:
    found = answer(python, folder, "solve", *JOB, "--runnable-in", "acme", "-o", "plan.yaml")
    assert found["question"]["job"]["framework"] == "acme"
    tpus = ("solve", "--model", "llama3-8b", "--chips", "16", "--runnable-in", "acme", "--json")
    refused = planner_in(python, folder, *tpus)
    assert refused.returncode == 3
    assert '"acme: acme-chips"' in refused.stdout  # among the rules that dropped plans


def test_it_is_costed_and_written_and_read(python: Path, folder: Path) -> None:
    answer(python, folder, "solve", *JOB, "--runnable-in", "acme", "-o", "plan.yaml")
    costed = answer(python, folder, "evaluate", "plan.yaml")
    written = answer(python, folder, "export", "plan.yaml", "--to", "acme")
    text = written["files"]["acme.json"]
    assert json.loads(text)["model"] == "llama3-8b"
    (folder / "acme.json").write_text(text, encoding="utf-8")
    where = ("--from", "acme", "acme.json", "--hardware", "h100-sxm5-80")
    read = answer(python, folder, "evaluate", *where)
    assert step_time(read) == step_time(costed)


def test_it_is_named_wherever_frameworks_are(python: Path, folder: Path) -> None:
    helped = planner_in(python, folder, "solve", "--help").stdout
    assert re.search(r"\bacme\b", helped)
    assert "acme" in planner_in(python, folder, "export", "--help").stdout
    asked = planner_in(python, folder, "solve", *JOB, "--framework", "acmee")
    assert asked.returncode == 2
    assert "did you mean 'acme'?" in asked.stderr
    schema = json.dumps(answer(python, folder, "schema", "job"))
    assert schema.count('"acme"') >= 2  # of the framework, of what has to run plans


def test_the_page_shows_the_package() -> None:
    """Each block of the page that names a file is that file."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^`(\S+)`:\n+```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    shown = dict(blocks)
    package = SOURCES / "acme"
    files = [package / "pyproject.toml", *sorted((package / "planner_acme").glob("[!_]*.py"))]
    kept = {str(path.relative_to(package)): path.read_text("utf-8") for path in files}
    assert shown == kept

"""A framework from another package: found, searched, costed, explained, written and read back."""

from __future__ import annotations

import json
import re
from typing import Any

from support.outside import ROOT, SOURCES, Outside

JOB = ("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--chips", "16")
PAGE = ROOT / "docs" / "extending" / "framework.md"


def step_time(document: Any) -> str:
    """The first step time of an answer, as it is printed."""
    found = re.search(r'"step_time_s": ([0-9.e-]+)', json.dumps(document))
    assert found is not None
    return found[1]


def test_it_is_searched(outside: Outside) -> None:
    found = outside.answer("solve", *JOB, "--framework", "acme", "-o", "plan.yaml")
    assert found["certificate"]["status"] == "optimal"
    assert found["question"]["job"]["framework"] == "acme"
    usual = outside.answer("solve", *JOB)
    assert usual["question"]["job"]["framework"] == "megatron"  # as without it


def test_what_has_to_run_a_plan(outside: Outside) -> None:
    found = outside.answer("solve", *JOB, "--runnable-in", "acme", "-o", "plan.yaml")
    assert found["question"]["job"]["framework"] == "acme"
    tpus = ("solve", "--model", "llama3-8b", "--chips", "16", "--runnable-in", "acme", "--json")
    refused = outside.planner(*tpus)
    assert refused.code == 3
    assert '"acme: acme-chips"' in refused.out  # among the rules that dropped plans


def test_it_is_costed_and_written_and_read(outside: Outside) -> None:
    outside.answer("solve", *JOB, "--runnable-in", "acme", "-o", "plan.yaml")
    costed = outside.answer("evaluate", "plan.yaml")
    written = outside.answer("export", "plan.yaml", "--to", "acme")
    text = written["files"]["acme.json"]
    assert json.loads(text)["model"] == "llama3-8b"
    (outside.folder / "acme.json").write_text(text, encoding="utf-8")
    where = ("--from", "acme", "acme.json", "--hardware", "h100-sxm5-80")
    read = outside.answer("evaluate", *where)
    assert step_time(read) == step_time(costed)


def test_it_is_named_wherever_frameworks_are(outside: Outside) -> None:
    helped = outside.planner("solve", "--help-all").out
    assert re.search(r"\bacme\b", helped)
    assert "acme" in outside.planner("export", "--help").out
    asked = outside.planner("solve", *JOB, "--framework", "acmee")
    assert asked.code == 2
    assert "did you mean 'acme'?" in asked.err
    schema = json.dumps(outside.answer("schema", "job"))
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

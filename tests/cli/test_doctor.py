"""`planner doctor`: all that a report of a defect needs, and whether answers are the known ones."""

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import planner as package
from cli.command import planner
from planner.answers import installation

ROOT = Path(package.__file__).parents[1]


def test_doctor_says_what_a_report_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_CHECKS", {})
    found = planner("doctor", "--json").document
    here, said = found["environment"], planner("doctor").out
    assert 1 <= here["cores"] <= (os.cpu_count() or 1)
    assert 0 < here["free_memory_bytes"] <= here["memory_bytes"]
    for name in ("system", "architecture", "cores", "memory", "free memory"):
        assert re.search(rf"^{name} +\S", said, re.MULTILINE), name
    assert f"resvg-py {found['extras']['viz']['resvg-py']}" in said
    assert set(found["extras"]) == set(installation.EXTRAS)


def test_free_memory_is_what_the_container_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "_CGROUP", tmp_path)
    whole = installation._free_memory()
    assert whole is not None
    for name, text in (("memory.max", "5000\n"), ("memory.current", "2000\n")):
        (tmp_path / name).write_text(text, encoding="ascii")
    assert installation._free_memory() == 3000
    (tmp_path / "memory.max").write_text("max\n", encoding="ascii")
    assert (installation._free_memory() or 0) > 3000


def test_doctor_knows_what_the_package_needs() -> None:
    """The dependencies of pyproject.toml, and each extra that is for users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {
        extra: {re.split(r"[>\[]", one)[0] for one in found} - {project["name"]}
        for extra, found in project["optional-dependencies"].items()
    }
    assert set(installation._PACKAGES) == {one.split(">")[0] for one in project["dependencies"]}
    for extra, packages in installation.EXTRAS.items():
        brought = names["sweep"] if extra == "jobqueue" else set()
        assert set(packages) == names[extra] | brought, extra


def test_a_small_job_has_its_kept_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of today, and a wrong figure, a wrong plan and other databases are told."""
    assert installation._kept() is None, "figures moved: python benchmarks/small_job.py --write"
    kept: Any = json.loads(installation.KEPT.read_text(encoding="utf-8"))
    found = json.loads(json.dumps(kept))
    kept["figures"]["step_time_s"] *= 1 + 1e-6
    kept["plan"]["micro_batch"] = 3
    found["versions"]["models_db"] = "another"
    other = tmp_path / "kept.json"
    other.write_text(json.dumps(kept), encoding="utf-8")
    monkeypatch.setattr(installation, "KEPT", other)
    monkeypatch.setattr(installation, "small_answer", lambda: found)
    said = installation._kept() or ""
    assert re.fullmatch(
        r"another plan is best; step_time_s is [\d.]+, kept [\d.]+; models_db differ from those of "
        "this version",
        said,
    ), said

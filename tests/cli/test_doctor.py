"""`planner doctor`: all that a report of a defect needs, and whether answers are the known ones."""

import ast
import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import planner as package
from cli.command import planner
from planner.answers import installation
from planner.base import libraries

STALE = "figures, databases or constants moved: python benchmarks/small_job.py --write"
each = pytest.mark.parametrize
ROOT = Path(package.__file__).parents[1]


def test_doctor_says_what_a_report_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_CHECKS", {})
    monkeypatch.setattr(installation, "_broken", lambda names: {})
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
    assert installation._kept() is None, STALE
    kept: Any = json.loads(installation.KEPT.read_text(encoding="utf-8"))
    assert kept["versions"] == installation.small_answer()["versions"], STALE
    assert kept["asked"] == installation.small_answer()["asked"], STALE
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


@each(("damage", "told"), [
    ("{", "asked, plan, figures, versions"),
    ("[]", "asked, plan, figures, versions"),
    ({"figures": {}}, "figures.step_time_s, figures.energy_per_step_j, "
     "figures.memory_per_chip_bytes, figures.mfu"),
    ({"figures": {"step_time_s": 1.0, "mfu": "0.4", "energy_per_step_j": 1.0,
                  "memory_per_chip_bytes": 1.0}}, "figures.mfu"),
    ({"versions": None}, "versions"),
    ({"plan": {}}, "plan.mesh"),
])  # fmt: skip
def test_a_damaged_kept_answer_is_told(
    damage: str | dict[str, Any], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = installation.KEPT.read_text(encoding="utf-8")
    monkeypatch.setattr(installation, "small_answer", lambda: json.loads(kept))
    text = damage if isinstance(damage, str) else json.dumps(json.loads(kept) | damage)
    other = tmp_path / "kept.json"
    other.write_text(text, encoding="utf-8")
    monkeypatch.setattr(installation, "KEPT", other)
    assert (installation._kept() or "").startswith(f"kept.json is damaged ({told}")


def test_what_cannot_be_imported_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a library does: raise, print, end its process, take for ever."""
    broken = {
        "raises": "print('[]')\nraise ValueError('size changed,\\nmay indicate')",
        "leaves": "raise SystemExit(3)",
        "dies": "import os; os.kill(os.getpid(), 9)",
        "hangs": "while True: pass",
        "works": "",
    }
    for name, text in broken.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(installation, "MODULES", {name: (name,) for name in broken})
    monkeypatch.setattr(installation, "_LONGEST_S", 0.5)
    monkeypatch.setattr(installation, "_PACKAGES", tuple(broken))
    monkeypatch.setattr(installation, "EXTRAS", {})
    monkeypatch.setattr(installation, "_CHECKS", {})
    monkeypatch.setattr(installation, "_installed", lambda name: "1.0")
    outcome = planner("doctor", "--json")
    found = outcome.document
    assert outcome.code == 1
    assert found["failures"] == [
        "raises cannot be imported: ValueError: size changed,\\nmay indicate",
        "leaves cannot be imported: SystemExit: 3",
        "dies cannot be imported: Python ends with code -9",
        "hangs cannot be imported: it is not done after 0.5 s",
    ]
    assert found["checks"] == {
        "required packages are installed": True, "what is installed can be imported": False
    }  # fmt: skip
    shown = {name: found["versions"][name] for name in broken}
    assert shown == dict.fromkeys(broken, "1.0, cannot be imported") | {"works": "1.0"}


def test_doctor_tries_every_library_that_is_imported() -> None:
    tried = {one.partition(".")[0] for names in libraries.MODULES.values() for one in names}
    known = tried | set(sys.stdlib_module_names) | set(libraries._OURS)
    pattern = re.compile(r"^ *(?:from|import) (\w+)", re.MULTILINE)
    for path in (path for one in libraries._OURS for path in (ROOT / one).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if set(pattern.findall(text)) <= known:  # of templates it finds more
            continue
        for node in ast.walk(ast.parse(text)):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= known, path
    assert set(libraries.MODULES) == {
        *installation._PACKAGES, *(one for names in installation.EXTRAS.values() for one in names)
    }  # fmt: skip

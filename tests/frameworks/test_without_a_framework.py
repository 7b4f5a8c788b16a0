"""A framework is one folder: without it and its lines of the registry, nothing else lacks it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planner.frameworks.registry import BUILT_IN

ROOT = Path(__file__).parent.parent.parent
FOLDER = "planner/frameworks"
SMOKE = Path(__file__).with_name("smoke.py")
DATA = (
    "planner/assumptions/software.py",  # eras of software
    "planner/cost/memory/risk.py",  # what published runs tell of memory
    "planner/evidence/",  # published runs
    "planner/report/charts/validation.py",  # the same, drawn
    "planner/collectives/nccl/costs.py",  # an era
    "planner/frameworks/writing/texts.py",  # an era
    "planner/studies/rack/",  # a way to split products, by the name of who had it first
    "planner/cli/rack_parallelism.py",
    "planner/frameworks/rules/",  # sources of arithmetic
)
"""Files and rooms whose data are about software, whether it is in the registry or not."""


def names_of(folder: str) -> set[str]:
    """Names of the profiles and targets of a framework."""
    framework = next(one for one in BUILT_IN if type(one).__module__.split(".")[2] == folder)
    profiles = {profile.name for profile in framework.profiles}
    return profiles | {target.name for target in framework.targets}


ORDINARY = {"fsdp", "textbook"}
"""Names that are words besides: an axis of every mesh, and a book."""
FOLDERS = [type(framework).__module__.split(".")[2] for framework in BUILT_IN]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all packages, compiled by the first who imports it."""
    where = tmp_path_factory.mktemp("packages")
    for package in sorted(ROOT.glob("*/__init__.py")):
        if package.parent.name != "tests":
            shutil.copytree(package.parent, where / package.parent.name)
    return where


@contextmanager
def without(folder: str, packages: Path) -> Iterator[None]:
    """Inside of it a folder of frameworks and its lines of the registry are removed."""
    registry, away = packages / FOLDER / "registry.py", packages / folder
    whole = registry.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    kept = [line for line in lines if not re.search(rf"\b{folder}\b", line, re.IGNORECASE)]
    assert len(lines) - len(kept) == 2  # its import and its entry
    shutil.move(packages / FOLDER / folder, away)
    write_new(registry, "".join(kept))
    yield
    write_new(registry, whole)
    shutil.move(away, packages / FOLDER / folder)


def write_new(module: Path, text: str) -> None:
    """Writes a module and removes the bytecode of what it was before."""
    module.write_text(text, encoding="utf-8")
    for old in module.parent.glob(f"__pycache__/{module.stem}.*"):
        old.unlink()


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_rest_works_without_it(folder: str, packages: Path, tmp_path: Path) -> None:
    gone = sorted(names_of(folder) - ORDINARY)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    command = [sys.executable, "-P", str(SMOKE), str(packages), *gone]
    with without(folder, packages):
        done = subprocess.run(
            command, capture_output=True, text=True, env=clean, cwd=tmp_path, check=False
        )
    assert done.returncode == 0, done.stderr[-2000:]


def texts_in(path: Path, *, imports_only: bool) -> Iterator[tuple[int, str]]:
    """Modules that are imported, and texts that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
        elif imports_only or not isinstance(node, ast.Constant) or id(node) in said:
            continue
        elif isinstance(node.value, str):
            yield node.lineno, node.value


def test_a_framework_is_named_in_its_folder_and_the_registry_alone() -> None:
    """By no import and no text elsewhere; folders of other frameworks may speak of it."""
    names = {name for folder in FOLDERS for name in names_of(folder)} - ORDINARY - {"jax"}
    pattern = re.compile(rf"(?<![\w-])({'|'.join(names)})(?![\w-])", re.IGNORECASE)
    found = []
    for path in sorted((ROOT / "planner").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        own = next((one for one in FOLDERS if name.startswith(f"{FOLDER}/{one}/")), "")
        if name.startswith((f"{FOLDER}/registry.py", *DATA)):
            continue
        others = [f"planner.frameworks.{one}" for one in FOLDERS if one != own]
        for at, text in texts_in(path, imports_only=bool(own)):
            imported = any(f"{text}.".startswith(f"{other}.") for other in others)
            if imported or (not own and pattern.search(text)):
                found.append(f"{name}:{at}: {text}")
    assert not found, "\n".join(found)

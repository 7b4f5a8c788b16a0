"""The table "Where do I ..." of docs/architecture.md: its files, symbols, and ten kept changes."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import each

from wishes.kept import CHANGES, Change

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = sorted(path.parent.name for path in ROOT.glob("*/py.typed"))
ROW = re.compile(
    r"^\| (?P<wish>[^|]+) \| \[?`(?P<file>[^`]+)`[^|]*\| `(?P<symbol>[^`]+)`", re.MULTILINE
)


def wishes() -> dict[str, tuple[str, str]]:
    """The file and the symbol of every wish of the page."""
    table = PAGE.read_text(encoding="utf-8").partition("## Where do I")[2].partition("\n## ")[0]
    return {row["wish"]: (row["file"], row["symbol"]) for row in ROW.finditer(table)}


def defined_in(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Names that a module or a class defines, with the statements that do."""
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            found |= {name.id: node for target in node.targets for name in ast.walk(target)
                      if isinstance(name, ast.Name)}  # fmt: skip
    return found


def has(file: Path, symbol: str) -> bool:
    """Whether a file defines a symbol itself; of a YAML file, whether it has the field."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".yaml":
        return re.search(rf"^{symbol}:", text, re.MULTILINE) is not None
    body = ast.parse(text).body
    *classes, last = symbol.split(".")
    for name in classes:
        inside = defined_in(body).get(name)
        body = inside.body if isinstance(inside, ast.ClassDef) else []
    return last in defined_in(body)


def test_every_wish_leads_to_a_file_and_a_symbol() -> None:
    table = wishes()
    assert len(table) >= 20
    missing = [file for file, _ in table.values() if not (ROOT / file).is_file()]
    assert missing == []
    unknown = [(file, symbol) for file, symbol in table.values() if not has(ROOT / file, symbol)]
    assert unknown == []


def test_symbols_that_are_not_there_would_be_missed() -> None:
    file = ROOT / "planner" / "plan" / "plan.py"
    assert [has(file, name) for name in ("Plan", "Plan.tp", "Plan.nothing", "np")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_ten_changes_are_kept_for_wishes_of_the_page() -> None:
    assert len(CHANGES) == 10
    assert [change.wish for change in CHANGES if change.wish not in wishes()] == []


def asked(tree: Path, *changes: Change) -> list[str]:
    """The lines that the checks of changes print in a tree."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(f"exec({change.asks!r}, {{}})" for change in changes)],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == len(changes), lines
    return lines


@pytest.fixture(scope="module")
def before() -> dict[str, str]:
    """What the checks print without any change."""
    lines = asked(ROOT, *CHANGES)
    return {change.wish: line for change, line in zip(CHANGES, lines, strict=True)}


def copy_of(package: str, folder: Path) -> None:
    """A copy of one package beside links to the others."""
    for name in PACKAGES:
        if name == package:
            shutil.copytree(ROOT / name, folder / name)
        else:
            (folder / name).symlink_to(ROOT / name, target_is_directory=True)


@each("change", CHANGES)
def test_a_wish_takes_one_file(change: Change, before: dict[str, str], tmp_path: Path) -> None:
    file = wishes()[change.wish][0]
    copy_of(file.split("/")[0], tmp_path)
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert text.count(change.old) == 1
    target = (tmp_path / file).with_name(change.copy) if change.copy else tmp_path / file
    target.write_text(text.replace(change.old, change.new), encoding="utf-8")
    (after,) = asked(tmp_path, change)
    assert change.holds(before[change.wish], after), (before[change.wish], after)

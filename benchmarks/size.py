"""How much code there is: statements and modules of each package, and what one question enters.

A statement is a node of the syntax tree that Python calls one (`ast.stmt`), docstrings left out:
line breaks, comments and names do not count. Files entered are those of ours in which a function
runs while `planner.solve(model="llama2-13b", chips=4096)` is answered for the second time, when all
is imported.

`--against PATH` counts another checkout beside this one, also one of another layout.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import measuring
from measuring import Report, Table

HERE = Path(__file__).resolve().parents[1]
PACKAGES = ("planner", "solvers", "hardware_db", "models_db", "strict_yaml", "frozen_records")
PARTS = {
    "spaces, driver, builders and diagnoses": (
        "planner/search/**/*.py",
        "planner/answers/**/*.py",
        *(f"planner/{name}.py" for name in (
            "answers", "api", "caveats", "diagnose", "evaluation", "explaining", "export_answer",
            "front_notes", "installation", "joint", "joint_answer", "joint_machines",
            "launch_notes", "likely", "pool_answer", "pool_diagnosis", "pool_results", "rereading",
            "resultchecks", "resultfile", "simulated", "solved", "uneven_answer",
            "uneven_diagnosis", "uneven_front", "uneven_words",
        )),  # where these were before there were rooms
    ),
    "records of answers": (
        "planner/results/**/*.py",
        *(f"planner/{name}.py" for name in ("export_result", "plan_results", "pool_use")),
        "planner/results.py",
    ),
}  # fmt: skip
"""Name to the files of a part, in the layout of today and in that of before."""
_ENTERED = """
import inspect, os, sys, threading
import planner
planner.solve(model="llama2-13b", chips=4096)
root, seen = os.getcwd() + os.sep, set()
def enter(frame, event, _):
    code = frame.f_code
    function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name != "<module>"
    if event == "call" and function and code.co_filename.startswith(root):
        seen.add(code.co_filename)
sys.setprofile(enter); threading.setprofile(enter)
planner.solve(model="llama2-13b", chips=4096)
sys.setprofile(None)
print(len(seen))
"""


def statements(path: Path) -> int:
    """Statements of a module, docstrings left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return sum(isinstance(node, ast.stmt) and not _is_text(node) for node in ast.walk(tree))


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text alone."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def modules(checkout: Path) -> Iterator[Path]:
    """The modules of a checkout that are installed."""
    for package in PACKAGES:
        yield from sorted((checkout / package).rglob("*.py"))


def room_of(path: Path) -> str:
    """The package of a module, to the second level."""
    return "/".join(path.parts[: min(2, len(path.parts) - 1)])


def sizes_of(checkout: Path) -> dict[str, tuple[int, int]]:
    """Statements and modules of each package, of each part, and of all."""
    found = {path: statements(path) for path in modules(checkout)}
    groups: dict[str, list[Path]] = {}
    for path in found:
        groups.setdefault(room_of(path.relative_to(checkout)), []).append(path)
    for part, patterns in PARTS.items():
        files = {path for pattern in patterns for path in checkout.glob(pattern)}
        groups[part] = [path for path in found if path in files]
    groups["all"] = list(found)
    return {name: (sum(found[path] for path in own), len(own)) for name, own in groups.items()}


def entered(checkout: Path) -> int:
    """Files of ours in which a function runs while a question is answered."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    environment.pop("PYTHONSAFEPATH", None)
    done = subprocess.run(
        (sys.executable, "-c", _ENTERED),
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def report_of(checkout: Path, other: Path | None) -> Report:
    """The tables of a checkout, with those of another beside them."""
    checkouts = {"": checkout} if other is None else {", before": other, "": checkout}
    sizes = {label: sizes_of(one) for label, one in checkouts.items()}
    rows: list[dict[str, measuring.Cell]] = []
    for name in dict.fromkeys(name for one in sizes.values() for name in one):
        row: dict[str, measuring.Cell] = {"package": name}
        for label, one in sizes.items():
            row[f"statements{label}"], row[f"modules{label}"] = one.get(name, (0, 0))
        rows.append(row)
    rows.sort(key=lambda row: (row["package"] in {*PARTS, "all"}, str(row["package"])))
    files: dict[str, measuring.Cell] = {
        f"files{label}": entered(o) for label, o in checkouts.items()
    }
    return Report(
        name="size",
        tables=[
            Table(title="Statements and modules", rows=rows),
            Table(title="Files entered by planner.solve of 13B on 4,096 chips", rows=[files]),
        ],
    )


def main() -> None:
    """Counts, and prints."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--against", type=Path, metavar="PATH", help="another checkout")
    options: argparse.Namespace = parser.parse_args()
    measuring.show(report_of(HERE, options.against and options.against.resolve()), options)


if __name__ == "__main__":
    main()

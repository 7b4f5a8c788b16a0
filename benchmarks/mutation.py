"""How many small mistakes in the code the tests notice that reach it.

Of all places that an operator of cosmic-ray can change, a stated seed draws some, and one change
for each; annotations and docstrings are left out. A copy of the checkout is mutated: each mutant
meets the tests that reach its line, the shortest first, until one fails or the CPU seconds for one
mutant are over (`campaigns.mutants`). Killed: a test failed, or hung, that is took ten times as
long as without the mutant and ten seconds more. Survived: none did, or none of those that the
seconds were enough for, or no test reaches it.

`--checkout PATH` mutates another checkout; `--package` one of the packages alone, with the same
mutants. It needs the extra `mutation`. Three hundred mutants take up to an hour of CPU.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measuring
import pages
from campaigns.mutants import FAILED, PLACE, SURVIVED
from measuring import Report, Table

HERE = Path(__file__).resolve().parents[1]
PACKAGES: Mapping[str, tuple[str, ...]] = {
    "solvers": ("tests/solvers",),
    "planner/cost": ("tests/cost", "tests/schedules"),
    "planner/search": ("tests/search", "tests/verification"),
}
"""What is mutated, and the tests that should notice: many others reach it too."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file: the file, the operator, and which of its places."""

    module: str
    operator: str
    occurrence: int
    line: int


def places(checkout: Path, package: str) -> list[list[Mutant]]:
    """Every place of a package that some operator changes, with the changes."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path  # noqa: PLC0415  (not installed by default)
    from cosmic_ray.plugins import get_operator, operator_names  # noqa: PLC0415

    classes = {name: get_operator(name) for name in sorted(operator_names())}
    operators = {name: made() for name, made in classes.items() if not made.arguments()}
    found: defaultdict[tuple[str, int, int], list[Mutant]] = defaultdict(list)
    for path in sorted((checkout / package).rglob("*.py")):
        module, nodes = str(path.relative_to(checkout)), list(ast_nodes(get_ast_from_path(path)))
        for name, operator in operators.items():
            spots = (spot for node in nodes for spot in operator.mutation_positions(node))
            for at, ((line, column), _) in enumerate(spots):
                found[module, line, column].append(Mutant(module, name, at, line))
    return [found[place] for place in sorted(found)]


def drawn(checkout: Path, package: str, count: int, seed: int) -> Iterator[tuple[Mutant, str]]:
    """Mutants with the text of their files, `count` of them, that change what runs."""
    from cosmic_ray.mutating import mutate_code  # noqa: PLC0415
    from cosmic_ray.plugins import get_operator  # noqa: PLC0415

    draw = random.Random(seed)
    spots = places(checkout, package)
    draw.shuffle(spots)
    for spot in spots:
        if not count:
            return
        mutant = draw.choice(spot)
        text = (checkout / mutant.module).read_text(encoding="utf-8")
        changed = mutate_code(text, get_operator(mutant.operator)(), mutant.occurrence)
        if changed is not None and running(changed) != running(text):
            count -= 1
            yield mutant, changed


def running(text: str) -> str:
    """What of a module runs: without annotations; no operator changes docstrings."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    return ast.dump(tree)


def tried(copy: Path, work: Mapping[str, Any], *files: str) -> subprocess.CompletedProcess[str]:
    """A run of pytest on files of a copy, with work for its plugin."""
    (copy / "work.json").write_text(json.dumps(work), encoding="utf-8")
    paths = os.pathsep.join((str(copy), str(copy / "benchmarks")))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1",
                   PLACE: str(copy / "work.json")}  # fmt: skip
    environment.pop("PYTHONSAFEPATH", None)
    words = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "campaigns.mutants",
             f"--basetemp={copy / 'temporary'}", *files)  # fmt: skip
    return subprocess.run(
        (sys.executable, *words), cwd=copy, env=environment, check=False, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip


def whole_module(copy: Path, mutant: Mapping[str, Any], found: Mapping[str, Any]) -> int:
    """What the tests of a mutant end with that is no code of a function: it stands in its file."""
    path, tests = copy / mutant["module"], found["tests"]
    original = path.read_text(encoding="utf-8")
    path.write_text(mutant["text"], encoding="utf-8")
    files = sorted({name.partition("::")[0] for name in tests})
    try:
        return tried(copy, {"mutants": [], "seconds": 0, "only": tests}, *files).returncode
    finally:
        path.write_text(original, encoding="utf-8")


def rows_of(
    copy: Path, mutants: list[dict[str, Any]], tests: Sequence[str], seconds: float
) -> Iterator[dict[str, measuring.Cell]]:
    """A row per mutant; the tests of the copy run once before."""
    done = tried(copy, {"mutants": mutants, "seconds": seconds}, *tests)
    told = copy / "work.json.found"
    measuring.require(done.returncode in (0, 5), f"pytest ended: {done.stdout[-2000:]}")
    for line in told.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        mutant, code = mutants[found["mutant"]], found["code"]
        if code is None:
            code = whole_module(copy, mutant, found) if found["tests"] else SURVIVED
        row: dict[str, measuring.Cell] = {
            "place": f"{mutant['module']}:{mutant['line']}", "change": mutant["operator"],
            "tests that reach it": found["reached"], "tried": len(found["tests"]),
            "killed": "no" if code == SURVIVED else "by a failure" if code >= FAILED else "it hung",
        }  # fmt: skip
        print(row, file=sys.stderr, flush=True)
        yield row


def of_package(package: str, options: argparse.Namespace) -> list[dict[str, measuring.Cell]]:
    """A row per mutant of a package."""
    count = max(1, options.mutants // len(PACKAGES))
    mutants = [
        {"module": mutant.module, "line": mutant.line, "text": text,
         "operator": mutant.operator.removeprefix("core/")}
        for mutant, text in drawn(options.checkout, package, count, options.seed)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        skipped = shutil.ignore_patterns(".git", "__pycache__", ".venv", "*.pyc")
        shutil.copytree(options.checkout, copy, ignore=skipped)
        return [*rows_of(copy, mutants, PACKAGES[package], options.seconds)]


def main() -> None:
    """Draws mutants, tries each, and prints the score of each package and what survived."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--checkout", type=Path, default=HERE, help="what is mutated [this one]")
    parser.add_argument("--package", choices=PACKAGES, action="append", help="[all]")
    parser.add_argument("--mutants", type=measuring.positive, default=300, help="of all packages")
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--seconds", type=measuring.positive, default=30, help="of CPU, a mutant")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="keep the score in the page")
    options = parser.parse_args()
    options.checkout = options.checkout.resolve()
    if options.quick:
        options.mutants, options.seconds = len(PACKAGES), 5
    report, found = Report(name="mutation"), dict[str, list[dict[str, measuring.Cell]]]()
    report.notes.append(f"Seed {options.seed}, {options.seconds} CPU s of tests each.")
    for package in options.package or PACKAGES:
        found[package] = of_package(package, options)
        report.tables = [_scores(found)]
        if options.write is not None:  # after each: all of them take hours on a busy machine
            pages.put_report(options.write, "mutation", pages.measured_on(), report)
    survivors = [row for rows in found.values() for row in rows if row["killed"] == "no"]
    if survivors:
        report.tables.append(Table(title="Survivors", rows=survivors))
    measuring.show(report, options)


def _scores(found: Mapping[str, list[dict[str, measuring.Cell]]]) -> Table:
    scores: list[dict[str, measuring.Cell]] = []
    every = [row for rows in found.values() for row in rows]
    for package, rows in {**found, "all": every}.items():
        how = [row["killed"] for row in rows]
        scores.append({
            "package": package, "mutants": len(how), "a test failed": how.count("by a failure"),
            "a test hung": how.count("it hung"), "survived": how.count("no"),
            "killed, %": round(100 * (len(how) - how.count("no")) / max(1, len(how)), 1),
        })  # fmt: skip
    return Table(title="Mutants, each against the tests that reach its line", rows=scores)


if __name__ == "__main__":
    main()

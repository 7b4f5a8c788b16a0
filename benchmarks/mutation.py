"""How many small mistakes in a package the tests of its own folder notice.

Of all places that an operator of cosmic-ray can change, a stated seed draws some, and one change
for each; annotations and docstrings are left out. Each mutant is written into a copy of the
checkout, and the tests of its folder run until the first that fails, within CPU seconds of their
own. Killed: a test failed. Survived: none did, or none of those that the seconds were enough for.

`--checkout PATH` mutates another checkout, also one of another layout; `--package` one of the
packages alone, with the same mutants. It needs the extra `mutation`. A hundred mutants take up to
100 minutes of CPU.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import measuring
from measuring import Report, Table

HERE = Path(__file__).resolve().parents[1]
PACKAGES = {"planner/cost": "tests/cost", "planner/search": "tests/search"}
"""What is mutated, and the tests that should notice."""
_FAILED = (1, 2)  # exit statuses of pytest: tests failed, or could not be collected


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


def is_killed(copy: Path, mutant: Mutant, text: str, tests: str, seconds: int) -> bool:
    """Whether the tests of a folder fail with a mutant in its place."""
    path = copy / mutant.module
    original = path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    try:
        return outcome(copy, tests, seconds) in _FAILED
    finally:
        path.write_text(original, encoding="utf-8")


def outcome(copy: Path, tests: str, seconds: int) -> int:
    """Exit status of pytest on a folder; negative where its CPU seconds ended it."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))

    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONSAFEPATH", None)
    words = ("-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", tests)
    done = subprocess.run(
        (sys.executable, *words),
        cwd=copy,
        env=environment,
        preexec_fn=limited,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode > max(_FAILED):
        raise SystemExit(
            f"pytest {tests} ends with {done.returncode}, which is no outcome of tests"
        )
    return done.returncode


def score(package: str, tests: str, options: argparse.Namespace) -> list[dict[str, measuring.Cell]]:
    """A row per mutant of a package."""
    rows: list[dict[str, measuring.Cell]] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        skipped = shutil.ignore_patterns(".git", "__pycache__", ".venv", "*.pyc")
        shutil.copytree(options.checkout, copy, ignore=skipped)
        if outcome(copy, tests, options.seconds) in _FAILED:
            raise SystemExit(f"{tests} fails without a mutant")
        count = max(1, options.mutants // len(PACKAGES))
        for mutant, text in drawn(options.checkout, package, count, options.seed):
            killed = is_killed(copy, mutant, text, tests, options.seconds)
            rows.append({
                "place": f"{mutant.module}:{mutant.line}",
                "change": mutant.operator.removeprefix("core/"),
                "killed": "yes" if killed else "no",
            })  # fmt: skip
            print(f"{package}: {len(rows)} of {count}", rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    """Draws mutants, tests each, and prints the score of each package."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--checkout", type=Path, default=HERE, help="what is mutated [this one]")
    parser.add_argument("--package", choices=PACKAGES, action="append", help="[all]")
    parser.add_argument("--mutants", type=measuring.positive, default=100, help="of all packages")
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--seconds", type=measuring.positive, default=60, help="of CPU, a mutant")
    options = parser.parse_args()
    options.checkout = options.checkout.resolve()
    if options.quick:
        options.mutants, options.seconds = len(PACKAGES), 60
    report = Report(name="mutation")
    scores: list[dict[str, measuring.Cell]] = []
    for package in options.package or PACKAGES:
        rows = score(package, PACKAGES[package], options)
        killed = sum(row["killed"] == "yes" for row in rows)
        scores.append({"package": package, "mutants": len(rows), "killed": killed,
                       "score, %": 100 * killed / max(1, len(rows))})  # fmt: skip
        report.tables.append(Table(title=f"Mutants of {package}", rows=rows))
    report.tables.insert(0, Table(title="Noticed by the tests of its folder", rows=scores))
    report.notes.append(f"Seed {options.seed}, {options.seconds} CPU s each.")
    measuring.show(report, options)


if __name__ == "__main__":
    main()

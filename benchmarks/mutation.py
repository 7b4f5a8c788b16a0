"""How many small mistakes in a package the tests that cover its lines notice.

    python benchmarks/mutation.py --mutants 300 --write ../docs/reliability.md

First the tests of FOLDERS run once, with the lines noted that each of them runs. Of all places that
an operator of cosmic-ray can change, a stated seed draws some, and one change for each;
annotations, docstrings, and the guards of dataclasses and `zip` are left out. Each mutant is
written into a copy of the checkout, and the tests that run its line go, quickest first and at most
`--seconds` of them, then a few others of its folder, until the first that fails. Killed: a test
failed; too long: one that began in time did not end for a minute more. Survived: all tests of the
line passed; cut off: those passed that there was time for. The last two count as not noticed.

`--again` tries once more those that were not noticed, where tests were added or have more seconds.

`--checkout PATH` mutates another checkout; `--package` one of the packages alone, with the same
mutants. `--keep FOLDER` keeps what was noted and done, and goes on from there. It needs the extra
`mutation`. A hundred mutants take some 20 minutes of CPU, and the lines 15 before.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import measuring
import pages
from campaigns import covering
from measuring import Report, Table

HERE = Path(__file__).resolve().parents[1]
PACKAGES = ("planner/cost", "planner/search", "solvers")
"""What is mutated."""
FOLDERS = (
    "tests/cost", "tests/search", "tests/solvers", "tests/schedules", "tests/verification",
    "tests/objectives", "tests/answers", "tests/cli/test_cli_infeasible.py",
    "tests/cli/test_cli_pools.py", "tests/question/test_what_if.py",
    "tests/network/test_protocols.py",
)  # fmt: skip
"""The tests that should notice: of the packages, of what says why there is no plan, of changes."""
_FAILED = (1, 2, 4)
"""Exit statuses of pytest: tests failed, or could not be collected; 4 where they are named, all of
which were there without a mutant."""
_TOO_LONG = -signal.SIGXCPU
_GUARDS = ("frozen", "slots", "strict")
"""Of dataclasses and `zip`: they refuse mistakes, and change nothing of code that makes none."""
NOTICED, LIVED = ("killed", "too long"), ("survived", "cut off")
_ENDS = {0: "survived", covering.LEFT_OUT: "cut off", _TOO_LONG: "too long"}
_OTHERS = 0.25  # of the seconds, for tests that were not seen to run a line
_FIRST = 12  # tests that go alone: they kill most
_GRACE_S = 60  # of the last test that begins: none takes as long without a mutant


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
        if changed is not None and running(changed) not in ("", running(text)):
            count -= 1
            yield mutant, changed


def running(text: str) -> str:
    """What of a module runs: without annotations and guards; no operator changes docstrings.

    Nothing of a text that is no Python, as `*` for arguments that come with names becomes.
    """
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
        elif isinstance(node, ast.Call):
            node.keywords = [word for word in node.keywords if word.arg not in _GUARDS]
    return ast.dump(tree)


@dataclass(slots=True)
class Bench:
    """A copy of a checkout in which mutants are tried.

    Attributes:
        copy: It.
        lines: Tests by file and line.
        seconds: CPU seconds of each test.
        most_s: CPU seconds of one mutant, after which no further test begins.
    """

    copy: Path
    lines: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]
    most_s: float

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that run a line, those of its own room first, and the quickest of them.

        A line that runs when its module is imported is held by all tests of the module, and one
        that none was seen to run by the files that import it.
        """
        path = self.copy / mutant.module
        by_line = self.lines.get(str(path.resolve()), {})
        found = _holding(path, mutant.line, by_line)
        own = f"tests/{mutant.module.removeprefix('planner/').partition('/')[0]}/"
        tests = sorted(found, key=lambda test: (own not in test, self.seconds[test], test))
        return tests or self._importing(mutant.module)

    def others(self, module: str, tests: list[str]) -> list[str]:
        """Other tests of the folder that lies as a module does, or as near to it as there is one.

        A line whose result is kept for later is seen in the first test alone that needs it, so
        that files with tests of the line go first.
        """
        parts = module.removeprefix("planner/").split("/")[:-1]
        while not (self.copy / "tests" / Path(*parts)).is_dir():
            parts.pop()
        within, files = f"{Path('tests', *parts)}/", {test.partition("::")[0] for test in tests}
        found = {test for test in self.seconds if test.startswith(within)} - {*tests}
        return sorted(
            found, key=lambda test: (test.partition("::")[0] not in files, self.seconds[test], test)
        )

    def _importing(self, module: str) -> list[str]:
        """Files of tests that name a module, where no test was seen to run a line of it."""
        name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        named = re.compile(
            rf"^\s*(?:from {re.escape(name)} import|import {re.escape(name)}\b)", re.M
        )
        found = [
            path for folder in FOLDERS for path in _files(self.copy / folder)
            if named.search(path.read_text(encoding="utf-8"))
        ]  # fmt: skip
        return [str(path.relative_to(self.copy)) for path in found]

    def outcome(self, mutant: Mutant, text: str) -> str:
        """How a mutant fares with the tests of its line, then of its folder."""
        tests = self.tests(mutant)
        path = self.copy / mutant.module
        original = path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        plugin = ("-x", "-p", "campaigns.covering", "--most-cpu-s")
        of_line = [tests[:_FIRST], tests[_FIRST:]]  # to collect all takes seconds
        found = "survived" if tests else "cut off"
        try:
            for some in filter(None, [*of_line, self.others(mutant.module, tests)]):
                most_s = self.most_s * (1 if some in of_line else _OTHERS)
                words = (*plugin, str(most_s))
                status = pytest_status(self.copy, some, most_s + _GRACE_S, *words)
                end = _ENDS.get(status, "killed")
                if end in NOTICED:
                    return end
                found = end if end == "cut off" and some in of_line else found
        finally:
            path.write_text(original, encoding="utf-8")
        return found


def _files(tests: Path) -> list[Path]:
    """The files of tests in a folder, or one."""
    return [tests] if tests.is_file() else sorted(tests.rglob("test_*.py"))


def _holding(path: Path, line: int, by_line: dict[int, set[str]]) -> set[str]:
    """Tests that were seen to run a line, or the innermost statement around it that has any.

    A line that runs when its module is imported was seen in the first test alone that imported it:
    all tests of the module hold it, or of the function whose head it is in.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    around = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]  # fmt: skip
    around.sort(key=lambda node: -node.lineno)
    heads = [node.body[0].lineno for node in around if isinstance(node, ast.FunctionDef)]
    if not heads:
        return set().union(*by_line.values())
    spans = [range(line, line + 1)] if line >= heads[0] else []
    spans += [range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in around]
    every = (set[str]().union(*(by_line.get(at, set()) for at in span)) for span in spans)
    return next(filter(None, every), set())


def pytest_status(copy: Path, tests: list[str], seconds: float, *plugin: str) -> int:
    """Exit status of pytest; negative where its CPU seconds ended it."""
    limit = int(seconds)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))

    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
    kept = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    environment["PYTHONPATH"] = os.pathsep.join([str(copy), str(copy / "benchmarks"), *kept])
    environment.pop("PYTHONSAFEPATH", None)
    given = copy / "tests.txt"  # a line may be held by more tests than a command line holds
    given.write_text("\n".join(tests) + "\n", encoding="utf-8")
    words = ("-m", "pytest", "-q", "-n", "0", "--whole", "-p", "no:cacheprovider", *plugin,
             f"@{given}")  # fmt: skip
    done = subprocess.run(
        (sys.executable, *words), cwd=copy, env=environment, preexec_fn=limited, check=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode > 0 and done.returncode not in (*_FAILED, covering.LEFT_OUT):
        raise SystemExit(f"pytest ends with {done.returncode}, which is no outcome of tests")
    return done.returncode


def bench(options: argparse.Namespace, folder: Path) -> Bench:
    """A copy of the checkout in a folder, with the lines noted of tests that are new there."""
    copy = folder / "copy"
    skipped = shutil.ignore_patterns(".git", "__pycache__", ".venv", "*.pyc")
    shutil.copytree(options.checkout, copy, ignore=skipped, dirs_exist_ok=True)
    kept = [folder / name.replace("/", "-") for name in options.tests or FOLDERS]
    for place, tests in zip(kept, options.tests or FOLDERS, strict=True):
        place.mkdir(exist_ok=True)
        files = covering.noted(place).files
        found = [str(path.relative_to(copy)) for path in _files(copy / tests)]
        new = [name for name in found if files.get(name) != covering.digest(copy / name)]
        if new:
            plugin = ["-p", "campaigns.covering", "--covering", str(place)]
            plugin += [word for name in PACKAGES for word in ("--covers", str(copy / name))]
            pytest_status(copy, new, 6 * 3600, *plugin)
            if missing := [name for name in new if name not in covering.noted(place).files]:
                raise SystemExit(f"{', '.join(missing)}: no test of it ran")
            for test in covering.noted(place).failed:
                print(f"left out, as it fails while lines are noted: {test}", file=sys.stderr)
    return Bench(copy, *covering.lines(kept), most_s=options.seconds)


def score(
    package: str, tried: Bench | None, options: argparse.Namespace, kept: Path
) -> list[dict[str, measuring.Cell]]:
    """A row per mutant of a package; those that were done before are read.

    Without a bench, those up to the first that was not.
    """
    rows: list[dict[str, measuring.Cell]] = []
    done = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    count = max(1, options.mutants // len(PACKAGES))
    for mutant, text in drawn(options.checkout, package, count, options.seed):
        name = json.dumps([options.seed, *asdict(mutant).values()])
        if tried is None and name not in done:
            break
        if tried and (name not in done or (options.again and done[name] not in NOTICED)):
            done[name] = tried.outcome(mutant, text)
            kept.write_text(json.dumps(done), encoding="utf-8")
        rows.append({
            "place": f"{mutant.module}:{mutant.line}",
            "change": mutant.operator.removeprefix("core/"),
            "outcome": done[name],
        })  # fmt: skip
        print(f"{package}: {len(rows)} of {count}", rows[-1], file=sys.stderr, flush=True)
    return rows


def report(rows: dict[str, list[dict[str, measuring.Cell]]], options: argparse.Namespace) -> Report:
    """The score of each package and of all, and the mutants that lived."""
    scores: list[dict[str, measuring.Cell]] = []
    every = [row for found in rows.values() for row in found]
    for package, found in [*rows.items(), ("all", every)]:
        counts = {name: sum(row["outcome"] == name for row in found)
                  for name in (*NOTICED, *LIVED)}  # fmt: skip
        noticed = sum(counts[name] for name in NOTICED)
        scores.append({"package": package, "mutants": len(found), **counts,
                       "score, %": 100 * noticed / max(1, len(found))})  # fmt: skip
    lived = [row for row in every if row["outcome"] not in NOTICED]
    made = Report(name="mutation", tables=[Table(title="Noticed by tests", rows=scores)])
    if lived:
        made.tables.append(Table(title="Those that were not", rows=lived))
    made.notes.append(
        f"Seed {options.seed}; tests of {', '.join(options.tests or FOLDERS)}; none begins after "
        f"{options.seconds} CPU s of a mutant."
    )
    return made


def main() -> None:
    """Draws mutants, tests each, and prints the score of each package."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--checkout", type=Path, default=HERE, help="what is mutated [this one]")
    parser.add_argument("--package", choices=PACKAGES, action="append", help="[all]")
    parser.add_argument("--tests", choices=FOLDERS, action="append", help="[all]")
    parser.add_argument("--mutants", type=measuring.positive, default=100, help="of all packages")
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--seconds", type=measuring.positive, default=20, help="of tests, a mutant")
    parser.add_argument("--keep", type=Path, help="a folder to go on from [a temporary one]")
    parser.add_argument("--again", action="store_true", help="try again those that survived")
    parser.add_argument("--so-far", action="store_true", help="count what --keep has, and no more")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="keep the table in the page")
    options = parser.parse_args()
    options.checkout = options.checkout.resolve()
    if options.quick:
        options.mutants, options.seconds = len(PACKAGES), 5
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary)).resolve()
        folder.mkdir(exist_ok=True)
        packages, kept = options.package or PACKAGES, folder / "done.json"
        tried = None if options.so_far else bench(options, folder)
        rows = {package: score(package, tried, options, kept) for package in packages}
    made = report(rows, options)
    if options.write is not None:
        pages.put_report(options.write, "mutants", pages.measured_on(), made)
    measuring.show(made, options)


if __name__ == "__main__":
    main()

"""The house: rooms and their arrows, sizes, documentation, and what no file may contain.

A rule is one test that names every offender at once.
"""

import ast
import functools
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from planner.schedules import BUILT_IN

ROOT = Path(__file__).parents[2]
PACKAGES = ("planner", "solvers", "hardware_db", "models_db", "strict_yaml", "frozen_records")
MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
CODE = MODULES + [
    path for folder in ("tests", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))
]
TEXTS = [
    path
    for pattern in (
        "**/*.py",
        "**/*.md",
        "**/*.yaml",
        "**/*.yml",
        "**/*.toml",
        "**/*.cff",
        "**/*.csv",
    )
    for folder in (*PACKAGES, "tests", "docs", "benchmarks", ".ci")
    for path in sorted((ROOT / folder).glob(pattern))
] + [
    path
    for path in sorted(ROOT.glob("*"))
    if path.is_file() and path.name not in ("LICENSE", ".git")  # a file in a second work tree
]
MOST_MODULES = 12
HEAVY = ("ortools", "networkx", "pandas", "plotly", "resvg_py", "dask")


@functools.cache
def trees() -> dict[Path, ast.Module]:
    """The syntax tree of every module."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


@functools.cache
def nodes() -> dict[Path, list[ast.AST]]:
    """All nodes of the syntax tree of every module."""
    return {path: list(ast.walk(tree)) for path, tree in trees().items()}


def name_of(path: Path) -> str:
    """The dotted name of a module."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def within(name: str, package: str) -> bool:
    """Whether a dotted name is a package or inside it."""
    return name == package or name.startswith(f"{package}.")


def _at_import(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module is imported; not those under TYPE_CHECKING."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        if isinstance(node, ast.If | ast.Try | ast.ClassDef):
            yield from _at_import(node.body)


def _imported(nodes: Iterable[ast.AST]) -> set[str]:
    """Dotted names that statements import, of modules and of what is taken from them."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_the_contract_of_imports_is_kept() -> None:
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        assert lint_imports(no_cache=True) == EXIT_STATUS_SUCCESS
    finally:
        os.chdir(before)


def _room_of(name: str) -> str:
    """The room of a dotted name of `planner`, or the package beside it."""
    return re.sub(r"^planner\.", "", name).partition(".")[0]


def _rooms() -> list[str]:
    """Rooms from the top down, then the packages beside them that are worth a mention.

    Every room takes its records from `frozen_records`, as it would from the standard library.
    """
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = [one.get("layers") for one in contracts["tool"]["importlinter"]["contracts"]]
    return [
        *max(filter(None, layers), key=len)[1:],
        *(beside for beside in PACKAGES[1:] if beside != "frozen_records"),
    ]


def test_rooms_say_what_they_import() -> None:
    """`Imports A, B and what lies below`: A, B, and nothing between or above them; else A, B alone.

    The command line says that it imports everything.
    """
    rooms, wrong = _rooms(), {}
    for at, room in enumerate(rooms):
        init = ROOT / "planner" / room / "__init__.py"
        if room in PACKAGES:
            continue
        doc = " ".join((ast.get_docstring(trees()[init]) or "").split())
        if "Imports everything" in doc:
            continue
        said = re.search(r"\b[Ii]mports?(?: (?:`[\w.]+`,?|what lies below|and|alone))+", doc)
        words = said[0] if said else ""
        named = [_room_of(name) for name in re.findall(r"`([\w.]+)`", words)]
        taken = {
            _room_of(name)
            for path, inner in nodes().items()
            if within(name_of(path), f"planner.{room}")
            for name in _imported(inner)
        } & {*rooms[:at], *rooms[at + 1 :]}
        below = rooms[1 + max(map(rooms.index, named)) :] if "below" in words else []
        if not named or not taken >= {*named} or taken - {*named, *below}:
            wrong[room] = (words, sorted(taken, key=rooms.index))
    assert wrong == {}


def test_the_contract_excuses_nothing() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "ignore_imports" not in text


def test_the_file_of_a_schedule_is_imported_by_its_registry_alone() -> None:
    """Whatever else needs of a schedule is a method or an attribute of `Schedule`."""
    files = {type(schedule).__module__ for schedule in BUILT_IN}
    found = {
        name_of(path): sorted(taken)
        for path, inner in nodes().items()
        if not within(name_of(path), "planner.schedules") and (taken := _imported(inner) & files)
    }
    assert found == {}


def test_planner_holds_rooms_alone() -> None:
    files = {path.name for path in (ROOT / "planner").iterdir() if path.is_file()}
    assert files == {"__init__.py", "__main__.py", "py.typed"}


def test_folders_are_small_or_say_why_not() -> None:
    large = []
    for init in sorted(path for path in trees() if path.name == "__init__.py"):
        modules = [path for path in init.parent.glob("*.py") if path != init]
        reason = "one file per" in (ast.get_docstring(trees()[init]) or "")
        if len(modules) > MOST_MODULES and not reason:
            large.append((name_of(init), len(modules)))
    assert large == []


def test_modules_of_planner_do_not_import_each_other_in_circles() -> None:
    names = {name_of(path) for path in MODULES}
    left = {
        name_of(path): {
            other
            for other in _imported(_at_import(tree.body)) & names
            if not within(name_of(path), other)
        }
        for path, tree in trees().items()
    }
    while left:
        free = [name for name, others in left.items() if not others & set(left)]
        assert free, f"a circle among {sorted(left)}"
        for name in free:
            del left[name]


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    early = {
        name_of(path): sorted(heavy)
        for path, tree in trees().items()
        if (
            heavy := {
                name
                for name in _imported(_at_import(tree.body))
                if any(within(name, one) for one in HEAVY)
            }
        )
    }
    assert early == {}


def test_records_are_compiled_when_they_are_used() -> None:
    taken = [
        f"{name_of(path)}: takes dataclass from dataclasses; frozen_records has it"
        for path, found in nodes().items()
        if name_of(path).split(".")[0] in ("planner", "hardware_db", "models_db")
        for node in found
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if "dataclass" in {alias.name for alias in node.names}
    ]
    assert not taken, "\n".join(taken)


def test_every_import_inside_a_function_has_its_reason() -> None:
    """A comment on its line, or one for the whole command at its first line."""
    bare = []
    for path, inner in nodes().items():
        lines = path.read_text(encoding="utf-8").split("\n")
        for function in inner:
            if not isinstance(function, ast.FunctionDef):
                continue
            imports = [
                node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)
            ]
            for node in imports[:1]:
                if not re.search(r"#.*\(.*\)", lines[node.lineno - 1]):
                    bare.append(f"{name_of(path)}:{node.lineno}")
    assert bare == []


def test_who_reads_a_question_needs_no_assertion_about_it() -> None:
    """What was read is there once mistakes were raised: `Attempts.needed` gives it."""
    reading = [
        *(ROOT / "planner" / "question").rglob("*.py"),
        *(ROOT / "planner" / "studies").rglob("request.py"),
        *(ROOT / "planner" / "collectives" / "questions" / f"{name}.py"
          for name in ("question", "systems")),
    ]  # fmt: skip
    asserted = [
        f"{name_of(path)}:{node.lineno}"
        for path in reading
        for node in nodes()[path]
        if isinstance(node, ast.Assert)
    ]
    assert len(reading) > 20
    assert asserted == []


def test_a_file_is_short_enough_to_read() -> None:
    lengths = {name_of(path): path.read_text(encoding="utf-8").count("\n") for path in CODE}
    assert {name: lines for name, lines in lengths.items() if lines > 400} == {}


def test_functions_are_short_enough_to_see_whole() -> None:
    long = {}
    for path, inner in nodes().items():
        for node in inner:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                doc = ast.get_docstring(node, clean=False)
                length -= len(doc.splitlines()) if doc else 0
                signature = node.body[0].lineno - node.lineno
                if length - signature > 40:
                    long[f"{name_of(path)}.{node.name}"] = length - signature
    assert long == {}


def test_everything_public_is_documented() -> None:
    bare = []
    for path, tree in trees().items():
        if not ast.get_docstring(tree):
            bare.append(name_of(path))
        bare += [
            f"{name_of(path)}.{top.name}"
            for top in tree.body
            if isinstance(top, ast.ClassDef | ast.FunctionDef)
            and not top.name.startswith("_")
            and not ast.get_docstring(top)
        ]
    assert bare == []


def test_every_package_is_typed() -> None:
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").exists()] == []


def _forbidden() -> list[re.Pattern[str]]:
    """Built from pieces, so that this file does not contain what it forbids."""
    pieces = [
        r"/wo" + r"rk/", r"/tm" + r"p/", r"/ho" + r"me/", r"/ro" + r"ot/", r"\bTO" + r"DO\b",
        r"\bFIX" + r"ME\b", r"\bX" + r"XX\b", r"\bHA" + r"CK\b",
        r"\bNotImplemented" + r"Error\b",
    ]  # fmt: skip
    return [re.compile(piece) for piece in pieces]


def _found_in(text: str) -> list[tuple[int, str]]:
    """Lines and words of a text that are forbidden."""
    return [
        (text[: found.start()].count("\n") + 1, found.group())
        for pattern in _forbidden()
        for found in pattern.finditer(text)
    ]


def test_no_file_contains_forbidden_words() -> None:
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in TEXTS}
    found = {str(path.relative_to(ROOT)): _found_in(text) for path, text in texts.items()}
    assert {name: words for name, words in found.items() if words} == {}


def test_the_forbidden_words_would_be_found() -> None:
    """The test above can fail."""
    samples = ["see /wo" + "rk/main", "# TO" + "DO: later", "raise NotImplemented" + "Error"]
    assert all(_found_in(sample) for sample in samples)


def test_files_of_tests_that_code_names_are_there() -> None:
    there = {path.relative_to(ROOT).as_posix() for path in CODE}
    named = re.compile(r"\btests/[\w/]+\.py")
    texts = {path: path.read_text(encoding="utf-8") for path in MODULES}
    assert {
        (path.name, name)
        for path, text in texts.items()
        for name in named.findall(text)
        if name not in there
    } == set()


PRIVATE_WORDS = {"told", "untold", "taking", "skeleton", "skeletons"}
"""Words that standard ones replaced; `docs/glossary.md` explains those that remain."""


def _public_names(body: list[ast.stmt], within_class: str = "") -> Iterator[str]:
    """Classes, functions and names of a module that others may use, those of classes too."""
    for node in body:
        names = [node.name] if isinstance(node, ast.ClassDef | ast.FunctionDef) else []
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        names += [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (within_class + name for name in names if not name.startswith("_"))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public_names(node.body, f"{node.name}.")


def test_public_names_are_made_of_standard_words() -> None:
    found = []
    for path, tree in trees().items():
        for name in (path.stem, *_public_names(tree.body)):
            words = {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)}
            alone = name.rpartition(".")[2] in ("listed", "Room")
            if words & PRIVATE_WORDS or alone:
                found.append(f"{name_of(path)}: {name}")
    assert found == []


def test_each_attribute_is_an_entry_of_its_own() -> None:
    """No line that goes on about one attribute begins with the name of another and a colon."""
    wrong = []
    for path, inner in nodes().items():
        for node in inner:
            if not isinstance(node, ast.ClassDef):
                continue
            targets = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
            fields = {target.id for target in targets if isinstance(target, ast.Name)}
            entries = (ast.get_docstring(node) or "").partition("Attributes:")[2]
            for names in re.findall(r"^ {8,}(\w+(?:, \w+)*): ", entries, re.MULTILINE):
                if set(names.split(", ")) <= fields:
                    wrong.append(f"{name_of(path)}.{node.name}: {names}")
    assert wrong == []

"""The arrows between packages, read from the source; and what no source file may contain."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("planner", "solvers", "hardware_db", "models_db")
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
] + [path for path in sorted(ROOT.glob("*")) if path.is_file() and path.name != "LICENSE"]

# Layers of design order, lowest first; a module imports only from layers below its own, or its own.
LAYERS: dict[str, int] = {
    "planner.errors": 0, "planner.frozen": 1, "planner.messages": 0, "planner.version": 0,
    "planner.units": 1, "planner.files": 1, "planner.flat": 1, "planner.frameworks": 1,
    "planner.ranks": 1, "planner.plan": 1, "planner.distinct": 1, "planner.fields": 1,
    "planner.fitted": 2, "planner.assumptions": 2, "planner.rack_presets": 2,
    "planner.job": 3, "planner.overrides": 3,
    "planner.network": 4, "planner.cost": 4, "planner.rules": 5, "planner.intervals": 5,
    "planner.memory_risk": 4,
    "planner.search": 6,
    "planner.request": 7, "planner.planfile": 7, "planner.checks": 7, "planner.defaults": 7,
    "planner.records": 7, "planner.kinds": 3, "planner.frontfile": 7, "planner.torus_axes": 7,
    "planner.resolved": 7, "planner.machines": 7, "planner.boundaries": 5,
    "planner.answers": 1, "planner.likely": 8, "planner.joint": 8, "planner.joint_machines": 8,
    "planner.front_notes": 8, "planner.launch_notes": 8,
    "planner.card_wiring": 7, "planner.ports": 7, "planner.joint_answer": 8,
    "planner.degraded": 7, "planner.scaling": 7, "planner.wiring": 7, "planner.variants": 7,
    "planner.results": 8, "planner.caveats": 8, "planner.explanation": 8, "planner.diagnose": 8,
    "planner.feasibility": 8, "planner.rack": 8, "planner.ridgeline": 8,
    "planner.collectives": 5, "planner.pipeline": 5, "planner.stage_facts": 5,
    "planner.targets": 1, "planner.export": 6, "planner.importing": 8,
    "planner.export_result": 8, "planner.export_answer": 8,
    "planner.simulated": 6, "planner.report": 8,
    "planner.validation": 8, "planner.calibration": 8, "planner.localfile": 7,
    "planner.provenance": 8, "planner.evaluation": 8, "planner.printable": 8,
    "planner.rereading": 8, "planner.jsonfile": 2, "planner.planmodels": 7,
    "planner.layout_text": 0, "planner.plan_words": 2, "planner.layout_words": 2,
    "planner.stagefile": 7,
    "planner.slices": 2, "planner.resultchecks": 8, "planner.plan_results": 8,
    "planner.solved": 8, "planner.uneven_request": 8, "planner.uneven_answer": 8,
    "planner.uneven_words": 8, "planner.uneven_front": 8, "planner.uneven_diagnosis": 8,
    "planner.pool_text": 2, "planner.pool_use": 1, "planner.pool_request": 8,
    "planner.pools": 8, "planner.pool_results": 8, "planner.pool_answer": 8,
    "planner.pool_diagnosis": 8,
    "planner.api": 9, "planner.explaining": 9,
    "planner.resultfile": 10, "planner.installation": 10,
    "planner.cli": 11,
    "planner.__main__": 12,
}  # fmt: skip


def name_of(path: Path) -> str:
    """The dotted name of a module."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, *, lazily: bool = True) -> set[str]:
    """Dotted names of our modules that a module imports; without `lazily`, at import time only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    nodes: list[ast.AST] = list(ast.walk(tree)) if lazily else _at_import(tree.body)
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _at_import(body: list[ast.stmt]) -> list[ast.AST]:
    """Statements that run when a module is imported; not those under TYPE_CHECKING."""
    nodes: list[ast.AST] = []
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        nodes.append(node)
        if isinstance(node, ast.If | ast.Try | ast.ClassDef):
            nodes += _at_import(node.body)
    return nodes


def within(name: str, package: str) -> bool:
    """Whether a dotted name is a package or inside it."""
    return name == package or name.startswith(f"{package}.")


def layer_of(name: str) -> int | None:
    """The layer of one of our modules."""
    found = [layer for part, layer in LAYERS.items() if within(name, part)]
    return max(found) if found else None


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_outside_the_command_line_imports_it(path: Path) -> None:
    if name_of(path) != "planner.__main__" and not within(name_of(path), "planner.cli"):
        assert not {name for name in imports_of(path) if within(name, "planner.cli")}


@pytest.mark.parametrize("package", ["solvers", "hardware_db", "models_db"])
def test_facts_and_solvers_import_nothing_of_ours(package: str) -> None:
    others = [other for other in PACKAGES if other != package]
    for path in sorted((ROOT / package).rglob("*.py")):
        bad = {name for name in imports_of(path) if any(within(name, o) for o in others)}
        assert not bad, (path.name, bad)


@pytest.mark.parametrize("path", [p for p in MODULES if within(name_of(p), "planner")], ids=name_of)
def test_imports_go_downwards(path: Path) -> None:
    name = name_of(path)
    if name == "planner":
        return
    mine = layer_of(name)
    assert mine is not None, f"{name} is in no layer: add it to LAYERS"
    for other in imports_of(path):
        theirs = layer_of(other)
        assert theirs is None or theirs <= mine, f"{name} (layer {mine}) imports {other} ({theirs})"


def test_modules_of_planner_do_not_import_each_other_in_circles() -> None:
    known = {name_of(path): path for path in MODULES}
    graph = {
        name: {
            other for other in imports_of(path, lazily=False) if other in known and other != name
        }
        for name, path in known.items()
    }
    graph = {name: {o for o in others if not within(name, o)} for name, others in graph.items()}
    left = dict(graph)
    while left:
        free = [name for name, others in left.items() if not others & set(left)]
        assert free, f"a circle among {sorted(left)}"
        for name in free:
            del left[name]


HEAVY = ("ortools", "networkx", "pandas", "plotly", "matplotlib", "dask")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_heavy_libraries_are_imported_where_they_are_used(path: Path) -> None:
    assert not [n for n in imports_of(path, lazily=False) if any(within(n, h) for h in HEAVY)]


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_a_file_is_short_enough_to_read(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= 400, f"{lines} lines"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_documentation_and_size(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    if text.strip():
        assert ast.get_docstring(tree), "no module docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            doc = ast.get_docstring(node, clean=False)
            length -= len(doc.splitlines()) if doc else 0
            signature = node.body[0].lineno - node.lineno
            assert length - signature <= 40, f"{node.name}: {length - signature} lines of code"
    for top in tree.body:
        if isinstance(top, ast.ClassDef | ast.FunctionDef) and not top.name.startswith("_"):
            assert ast.get_docstring(top), f"{top.name} has no docstring"


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


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_contains_forbidden_words(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    for pattern in _forbidden():
        found = pattern.search(text)
        line = text[: found.start()].count("\n") + 1 if found else 0
        assert found is None, f"line {line}: {found and found.group()!r}"


def test_the_forbidden_words_would_be_found() -> None:
    """The test above can fail."""
    samples = ["see /wo" + "rk/main", "# TO" + "DO: later", "raise NotImplemented" + "Error"]
    for sample in samples:
        assert any(pattern.search(sample) for pattern in _forbidden())

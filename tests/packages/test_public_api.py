"""The public surface is pinned: adding a name is a decision, not an accident."""

import ast
import gc
import inspect
import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from support.cases import each

import hardware_db
import models_db
import planner
import solvers

ROOT = Path(__file__).parents[2]
SURFACE = [
    "InfeasibleError", "InputError", "Plan", "PlannerError", "Session", "Stage", "TimeLimitError",
    "UnfinishedError", "__version__", "collective_front", "compare", "evaluate", "explain",
    "export_file", "feasible", "fleet", "goodput", "ridgelines", "solve", "solve_down",
    "solve_phases", "sweep", "vary",
]  # fmt: skip


def test_the_names() -> None:
    assert planner.__all__ == SURFACE
    assert sorted(planner.__all__) == planner.__all__


@each("name", SURFACE)
def test_every_name_is_there_and_documented(name: str) -> None:
    thing = getattr(planner, name)
    if name == "__version__":
        assert thing.count(".") == 2
    else:
        assert inspect.getdoc(thing)


@each("collects", [True, False])
def test_loading_leaves_the_collection_of_cycles_as_it_was(collects: bool) -> None:
    was = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        assert planner.__getattr__("solve")
        assert gc.isenabled() == collects
        assert gc.get_freeze_count() == 0
    finally:
        (gc.enable if was else gc.disable)()


@each("package", [planner, solvers, hardware_db, models_db])
def test_packages_are_documented(package: object) -> None:
    assert inspect.getdoc(package)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'solv'"):
        _ = planner.solv
    assert not hasattr(planner, "nothing")


def test_names_that_load_late_are_listed() -> None:
    """`dir(planner)` and tab completion must show solve and evaluate."""
    assert {"solve", "evaluate", "feasible", "Plan", "Stage"} <= set(dir(planner))


def test_the_tree_of_errors() -> None:
    codes = {
        planner.InputError: 2, planner.InfeasibleError: 3, planner.TimeLimitError: 4,
        planner.PlannerError: 1, planner.UnfinishedError: 5,
    }  # fmt: skip
    for error, code in codes.items():
        assert issubclass(error, planner.PlannerError)
        assert issubclass(error, Exception)
        assert error.exit_code == code


@each(
    "name",
    [
        "solve",
        "evaluate",
        "feasible",
        "explain",
        "compare",
        "goodput",
        "ridgelines",
        "collective_front",
        "sweep",
    ],
)
def test_docstrings_say_what_is_raised(name: str) -> None:
    doc = inspect.getdoc(getattr(planner, name)) or ""
    assert "Args:" in doc
    assert "Raises:" in doc


def test_errors_of_the_tree_are_raised_somewhere() -> None:
    """An exception class that nothing raises is a promise that is not kept."""
    package = Path(planner.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    for name in ("InputError", "InfeasibleError", "TimeLimitError", "UnfinishedError"):
        assert f"raise {name}(" in text, name


def test_the_version_is_that_of_the_distribution() -> None:
    try:
        installed = version("parallelism-planner")
    except PackageNotFoundError:
        pytest.skip("the package is not installed")
    assert planner.__version__ == installed


def test_packages_ask_for_the_distribution_by_its_own_name() -> None:
    """On the package index `planner` is another project."""
    files = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/outside/*/pyproject.toml")]
    files += [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    own = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
    asked, wrong = 0, []
    for path in files:
        text = path.read_text(encoding="utf-8")
        for line in re.findall(r"^dependencies = \[.*\]$", text, re.MULTILINE):
            asked += f'"{own}"' in line
            if f'"{own}"' not in line:
                wrong.append(f"{path.relative_to(ROOT)}: {line}")
        foreign = re.findall(r"(?<![\w-])planner\[\w+\]|pip install planner\b", text)
        wrong += [f"{path.relative_to(ROOT)}: {words}" for words in foreign]
    assert not wrong
    assert asked >= 2 * len([*ROOT.glob("tests/outside/*")])  # each package and its page


@each(("script", "tool"), [("run", "mypy"), ("oracles", "pyright")])
def test_type_checkers_read_the_kept_calls(script: str, tool: str) -> None:
    """Where the file of the calls says so."""
    calls = ROOT / "tests" / "types" / "calls.py"
    said = ast.get_docstring(ast.parse(calls.read_text(encoding="utf-8"))) or ""
    assert f"`.ci/{script}`" in said
    lines = (ROOT / ".ci" / script).read_text(encoding="utf-8").splitlines()
    assert any(tool in line and "tests/types/calls.py" in line for line in lines)

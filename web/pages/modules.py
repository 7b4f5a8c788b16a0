"""The page of the Python functions, which mkdocstrings fills, and what of them says nothing."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import hardware_db
import models_db
import planner
import solvers.mesh
import solvers.solution
from pages import PagesError
from planner.results.certificate import Certificate
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult

ANSWERS = (SolveResult, EvaluateResult, PlanResult, Certificate)
"""What functions return, beside the names of the package."""
PAGES: dict[str, tuple[str, tuple[ModuleType, ...], tuple[Any, ...]]] = {
    "planner": ("What can be asked from Python?", (planner,), ANSWERS),
    "hardware_db": ("How are chips and clusters read from Python?", (hardware_db,), ()),
    "models_db": ("How are models read from Python?", (models_db,), ()),
    "solvers": (
        "Which searches stand by themselves?",
        (solvers.solution, solvers.mesh),
        (),
    ),
}  # fmt: skip


class UndocumentedError(PagesError):
    """Public names without a docstring, one on a line."""


def write(into: Path) -> list[str]:
    """Writes a page for each package.

    Returns:
        The pages, as paths on the site.

    Raises:
        UndocumentedError: A public name has no docstring.
    """
    folder = into / "reference" / "python"
    folder.mkdir(parents=True)
    silent = []
    for name, (question, packages, others) in PAGES.items():
        things = [*(thing for package in packages for thing in named(package)), *others]
        silent += [line for thing in things for line in undocumented(thing)]
        blocks = "\n\n".join(f"::: {thing.__module__}.{thing.__qualname__}" for thing in things)
        text = f"# {question}\n\n`import {name}`. {_first(packages[0])}\n\n{blocks}\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    if silent:
        raise UndocumentedError("\n".join(silent))
    return [f"reference/python/{name}.md" for name in PAGES]


def named(package: ModuleType) -> list[Any]:
    """The public functions and classes of a package or module."""
    names = getattr(package, "__all__", None) or [
        name
        for name, thing in vars(package).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == package.__name__
    ]
    things = [getattr(package, name) for name in names]
    return [thing for thing in things if inspect.isclass(thing) or inspect.isfunction(thing)]


def undocumented(thing: Any) -> Iterator[str]:
    """Names without a docstring: a thing, and the public methods of a class."""
    name = f"{thing.__module__}.{thing.__qualname__}"
    if not _says(thing):
        yield f"{name} has no docstring"
    if not inspect.isclass(thing):
        return
    for inner, member in vars(thing).items():
        function = member.fget if isinstance(member, property) else member
        function = getattr(function, "__func__", getattr(function, "func", function))
        if not inner.startswith("_") and inspect.isfunction(function) and not function.__doc__:
            yield f"{name}.{inner} has no docstring"


def _says(thing: Any) -> bool:
    """Whether somebody wrote the docstring; dataclasses make one of their fields."""
    said = thing.__doc__ or ""
    return bool(said) and not (inspect.isclass(thing) and said.startswith(f"{thing.__name__}("))


def _first(package: ModuleType) -> str:
    return (package.__doc__ or "").partition("\n")[0]

"""A recipe in Python, function or program, read without running it: assignments of plain values.

`cfg.model.x = 4` and `cfg.y = Config(x=4)` are both a field with a value; what is computed from
anything else, loops and branches are left out with their line. `ast` parses; nothing is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import without_advice
from planner.base.messages import not_one_of
from planner.frameworks.reading.python.calls import Followed
from planner.frameworks.reading.python.flat import Flat
from planner.frameworks.reading.python.heap import Heap
from planner.frameworks.reading.python.paths import ALL, SOME, above
from planner.frameworks.reading.python.scope import Scope, Shared
from planner.frameworks.reading.python.statements import Reader
from planner.frameworks.reading.python.text import shared_names
from planner.frameworks.reading.python.trusted import is_harmless
from planner.frameworks.reading.python.values import Known, Made, Spends, Thing, Unknown, named
from planner.frameworks.reading.work import Work

_LONGEST = 1 << 19


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonRecipe:
    """What a function sets.

    Attributes:
        name: Of the function; "the program" where there is none.
        values: Dotted fields below the object, with plain values.
        calls: Functions and classes that were called, with their first argument where it is text.
        built: Dotted fields below the object that are made by a call, with what is called; of
            `run.Config(X)` with X.
        notes: What was left out, one line each.
        bases: Functions and classes of other files that made what is changed, returned or handed
            on here.
        computed: Dotted fields that are set to what is not known, with the line that says so.
    """

    name: str
    values: dict[str, Any]
    built: dict[str, str]
    calls: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    computed: Mapping[str, str] = field(default_factory=dict)

    def unknown(self, path: str) -> str:
        """The line that says why a field is not known; empty: nothing does."""
        if path in self.values:
            return ""
        for one in (path, *above(path)):
            if one in self.computed and (one == path or one not in self.built):
                return self.computed[one]
            if (line := self.computed.get(f"{one}.{ALL}")) is not None:
                return line
        some = (line for one, line in self.computed.items() if _is_some(one, path))
        return self.computed.get(ALL) or next(some, "")


def _is_some(path: str, field_path: str) -> bool:
    """Whether a field of some object may be a field."""
    return path.startswith(SOME) and f".{field_path}".endswith(path.removeprefix(ALL))


def python_recipe(
    text: str, name: str, function: str, returns: str, modules: Mapping[str, str] | None = None
) -> PythonRecipe:
    """The recipe of a file.

    Args:
        text: The file.
        name: What messages call it.
        function: The recipe's function; empty: the only one.
        returns: Name of the class that recipes return.
        modules: Texts of modules that stand where it imports from them.

    Raises:
        InputError: The text is no Python, the function is not in it, or it takes too much work.
    """
    tree = _parsed(text, name, modules or {})
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    recipes = [
        one.name
        for one in functions.values()
        if not one.name.startswith("_") and named(one.returns) == returns
    ]
    chosen = function or (recipes[0] if len(recipes) == 1 else "")
    work = Work("values", "statements and values")

    def spend(letters: int = 0, steps: int = 0) -> None:
        work.spend(name, letters, steps)

    reader = _reader(shared_names(tree), spend)
    result: Thing = Known(None)
    if chosen in functions:
        reader.body(reader.module, tree.body)
        reader.begin()
        result = _asked(reader, functions[chosen])
    elif function:
        raise InputError(f"{name}: {not_one_of(function, recipes or functions)}")
    elif recipes:
        raise InputError(
            f"{name}: has {len(recipes)} recipes; name one as FILE::FUNCTION, of {_some(recipes)}"
        )
    else:
        chosen, result = _read_program(reader, tree, functions, name)
    if "__del__" in text:
        _read_ends(reader, tree)
    return _recipe_of(reader, chosen, result)


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def _read_ends(reader: Reader, tree: ast.Module) -> None:
    """A method that Python calls when an object is gone may run at any time."""
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef) and one.name == "__del__":
            reader.followed.heap.everything(Unknown(one.lineno, "what `__del__` sets"))


def _asked(reader: Reader, function: ast.FunctionDef) -> Thing:
    """What the recipe's function returns, if nothing else has its name."""
    own = reader.module.own.get(function.name)
    found = reader.run(function, {}, asked=True)
    if own is not function or reader.shared.yields(function):
        others = [one for one in function.decorator_list if not is_harmless(one)]
        said = f"what `@{ast.unparse(others[0])}` makes" if others else f"`{function.name}`"
        reader.followed.heap.everything(Unknown(function.lineno, said))
    return found


def _parsed(text: str, name: str, modules: Mapping[str, str]) -> ast.Module:
    """A text as Python, with the modules that it imports from in their place.

    Raises:
        InputError: It is none, or too long.
    """
    try:
        if len(text) > _LONGEST:
            raise InputError(f"{name}: is longer than {_LONGEST:,} letters, which no recipe is")
        with without_advice():
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{name}: is no Python ({type(error).__name__})") from error
    left, body = dict(modules), list[ast.stmt]()
    for one in tree.body:
        other = left.pop(one.module or "", None) if isinstance(one, ast.ImportFrom) else None
        body += [one] if other is None else _parsed(other, name, {}).body
    tree.body = body
    return tree


def _reader(names: frozenset[str], spend: Spends) -> Reader:
    heap = Heap(spend)
    shared = Shared(heap, names)
    module = Scope({}, shared)
    heap.scopes.append(module.names)
    reader = Reader(Followed(heap), shared, module)
    reader.followed.follow = reader.run
    return reader


def _recipe_of(reader: Reader, name: str, result: Thing) -> PythonRecipe:
    heap = reader.followed.heap
    flat = Flat(heap.spend)
    flat.calls += heap.calls
    free = (one for one in reader.shared.free.values() if one.changed)
    handed = [one for one in reader.handed if one in reader.roots]
    roots = [result] if isinstance(result, Made) else handed or [*free, *reader.roots]
    for one in roots:
        flat.add(one)
    for field_name, why in heap.some.items():
        flat.some(field_name, why)
    if heap.all is not None:
        flat.computed[ALL] = heap.all.text(ALL)
    return PythonRecipe(
        name=name or "the program",
        values=flat.values,
        built=flat.built,
        calls=tuple(flat.calls),
        notes=tuple(reader.notes),
        bases=tuple(reader.bases),
        computed=flat.computed,
    )


def _read_program(
    reader: Reader, tree: ast.Module, functions: Mapping[str, ast.FunctionDef], name: str
) -> tuple[str, Thing]:
    """Goes through a file that says of no function that it is a recipe.

    Returns:
        The function that stands for it, where the file itself sets nothing, and what that returns.

    Raises:
        InputError: Several functions might.
    """
    reader.followed.follows = True
    reader.module.bind("__name__", Known("__main__"))
    reader.body(reader.module, tree.body)
    others = [one for one in functions if not one.startswith("_")]
    free = any(one.changed for one in reader.shared.free.values())
    if free or reader.roots or not others:
        return "", Known(None)
    if len(others) > 1:
        raise InputError(
            f"{name}: sets nothing outside of its functions; name one as FILE::FUNCTION, "
            f"of {_some(others)}"
        )
    return others[0], _asked(reader, functions[others[0]])

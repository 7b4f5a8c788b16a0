"""Writes what is made of the fields of the question: types for Python, a table for people.

    python benchmarks/fields.py

writes `planner/question/asked/typed.py` and the table of `docs/jobs.md`, both from
`planner.question.asked`. A test says when they are not current.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from planner.question.asked import ASKED, BY_NAME, EXPORTED, FEASIBLE, Asked
from planner.question.asked.named import filled
from planner.question.asked.words import words_of
from planner.question.request import Request

ROOT = Path(__file__).parents[1]
TYPED = ROOT / "planner" / "question" / "asked" / "typed.py"
PAGE = ROOT / "docs" / "jobs.md"
BEGIN, END = "<!-- fields: made by benchmarks/fields.py -->\n", "<!-- end of the fields -->\n"
_TYPES = {
    "name": "str",
    "names": "Several",
    "words": "Several",
    "path": "FilePath",
    "text": "str",
    "whole": "int | str",
    "wholes": "int | str | list[int] | tuple[int, ...]",
    "quantity": "float | str",
    "share": "float | str",
    "number": "float",
    "switch": "bool",
    "texts": "Several",
    "choices": "dict[str, Any]",
    "changes": "Mapping[str, Any] | Several",
    "phases": "Sequence[Mapping[str, Any] | str] | str",
    "sizes": "Mapping[str, float | str] | str",
}
_HEAD = '''"""The fields of the question as types, for editors and type checkers.

Made by `python benchmarks/fields.py` from `planner.question.asked`; a test compares them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

FilePath = str | os.PathLike[str]
"""A name of the database, or the path of a file."""
Several = str | list[str] | tuple[str, ...]
"""Words, or text with commas between them."""
'''
_WIDTH = 100
_SUBJECTS = ("model", "objective")  # which not every function takes the same way


def typed() -> str:
    """The module with the types."""
    words = "\n".join(_words(field) for field in ASKED if field.kind == "word")
    common = [field for field in ASKED if field.name not in (*_SUBJECTS, *FEASIBLE)]
    model, objective = (BY_NAME[name] for name in _SUBJECTS)
    shared = "CommonFields"
    parts = [
        f"{_HEAD}{words}\n",
        _record("FeasibleFields", "`planner.feasible`, beside its own", FEASIBLE),
        _record("ExportFields", "`planner.export_file`, beside its own", EXPORTED),
        _record(shared, "every question about a plan", common, "FeasibleFields"),
        _record("SolveFields", "`planner.solve`", [objective], shared, needed=model),
        _record("EvaluateFields", "`planner.evaluate`", [model, objective], shared),
        _record("ExplainFields", "`planner.explain`, beside its objective", [model], shared),
    ]
    return "\n\n".join(parts)


def _words(field: Asked) -> str:
    """The closed set of words of a field, as a type."""
    words = [f'"{word}"' for word in words_of(field.name)]
    line = f"{_alias(field)} = Literal[{', '.join(words)}]"
    if len(line) <= _WIDTH:
        return line
    return f"{_alias(field)} = Literal[\n{''.join(f'    {word},{chr(10)}' for word in words)}]"


def _alias(field: Asked) -> str:
    """What the type of a closed set of words is called."""
    return "".join(part.title() for part in field.name.split("_"))


def _record(
    name: str,
    whose: str,
    fields: Iterable[Asked | str],
    base: str = "TypedDict",
    needed: Asked | None = None,
) -> str:
    """A typed mapping of fields."""
    lines = [f"class {name}({base}, total=False):", f'    """Fields of {whose}."""', ""]
    if needed is not None:
        lines += _typed_field(needed, f"Required[{_type(needed)}]")
    for one in fields:
        field = BY_NAME[one] if isinstance(one, str) else one
        lines += _typed_field(field, _type(field))
    return "\n".join(lines) + "\n"


def _typed_field(field: Asked, kind: str) -> Iterator[str]:
    """A field with what it means below it."""
    yield f"    {field.name}: {kind}"
    text = f'"""{filled(field.description)}"""'
    for line in textwrap.wrap(text, _WIDTH - 4, break_long_words=False, break_on_hyphens=False):
        yield f"    {line}"


def _type(field: Asked) -> str:
    """What a caller may pass."""
    kind = _alias(field) if field.kind == "word" else _TYPES[field.kind]
    kind += f' | Literal["{field.also}"]' if field.also else ""
    return f"{kind} | None" if field.default is None else kind


def table() -> str:
    """The table of the fields, as Markdown."""
    schema = Request.model_json_schema()["properties"]
    lines = ["| field | meaning | values | default |", "|---|---|---|---|"]
    for field in ASKED:
        meaning = filled(field.meaning).removesuffix(".").replace("|", "\\|")
        if field.page:
            meaning += f" ([more]({field.page}))"
        default = "" if field.default is ... else field.file_default
        cells = (f"`{field.name}`", meaning, _values(field, schema[field.name]), default)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _values(field: Asked, schema: Any) -> str:
    """How values are written: unit and range of a number, or what else it is."""
    meaning = filled(field.meaning)
    if field.kind in ("word", "words", "name") and any(
        word not in meaning for word in words_of(field.name)
    ):
        return ", ".join(f"`{word}`" for word in words_of(field.name))
    kind = {
        "word": "one of these",
        "words": "some of these",
        "name": "a name",
        "names": "names",
        "path": "a name or path",
        "text": "text",
        "wholes": "whole numbers",
        "switch": f"true, false or {field.also}" if field.also else "true or false",
        "texts": "a list",
        "changes": "`PATH=VALUE`, a list or a mapping",
        "choices": "values by field",
        "sizes": "numbers by name",
        "phases": "a list of mappings or texts",
    }.get(field.kind)
    if kind is not None:
        return kind
    whole = {"whole": "whole number", "share": "share"}.get(field.kind, "number")
    return ", ".join(part for part in (field.unit or whole, _range(schema)) if part)


def _range(schema: Any) -> str:
    """`> 0, <= 1` from a part of a JSON Schema."""
    signs = {"exclusiveMinimum": ">", "minimum": ">=", "maximum": "<="}
    if isinstance(schema, dict) and schema.get("type") in ("integer", "number"):
        return ", ".join(
            f"{sign} {schema[key]:,.15g}" for key, sign in signs.items() if key in schema
        )
    parts = schema.values() if isinstance(schema, dict) else schema
    found = (_range(part) for part in parts if isinstance(part, dict | list))
    return next((text for text in found if text), "")


def with_table(page: str) -> str:
    """A page with the table between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}{table()}{end}{after}"


def main() -> None:
    """Writes both files."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    TYPED.write_text(typed(), encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

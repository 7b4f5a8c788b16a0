"""`planner models import` of definitions: Megatron-LM's arguments, Python files, MaxText's YAML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.base.errors import InputError
from planner.base.files import read_bytes
from planner.report.printing import print_lines

if TYPE_CHECKING:
    from models_db.definitions.importing import Definition

_YAML = (".yml", ".yaml")
_SUFFIXES = (".py", ".sh", ".txt", ".args")


def is_definition(path: Path) -> bool:
    """Whether a path is a definition of a framework by its name, and no config.json by content."""
    suffix = path.suffix.lower()
    if suffix not in _YAML:
        return suffix in _SUFFIXES
    try:
        with path.open("rb") as file:
            return not file.read(64).lstrip().startswith(b"{")
    except (OSError, ValueError):
        return False


def read_definition(
    path: Path, *, which: str | None, name: str | None, given: dict[str, Any], made_by: str
) -> Definition:
    """The model of a definition.

    Args:
        path: The file.
        which: The definition in it.
        name: Of the model.
        given: What stands in for what the file does not state.
        made_by: Program and version.

    Raises:
        InputError: It cannot be read; a line per mistake.
    """
    from models_db import ModelError  # noqa: PLC0415  (not for --help)
    from models_db.definitions import import_arguments, import_definition  # noqa: PLC0415
    from planner.question.records import one_per_line  # noqa: PLC0415

    try:
        if path.suffix.lower() in (".py", *_YAML):
            return import_definition(path, which=which, name=name, given=given, made_by=made_by)
        content = read_bytes(path)
        values = _arguments(content, path, given)
        return import_arguments(values, content, path, name=name, made_by=made_by)
    except OSError as error:
        raise InputError(f"{path}: cannot read the file: {error.strerror}") from None
    except ModelError as error:
        raise InputError(one_per_line(str(error))) from error


def _arguments(content: bytes, path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments in a script by name, and what is given for what it does not state."""
    from models_db.definitions import argument_names  # noqa: PLC0415  (not for --help)
    from planner.frameworks.reading.commands import command_in  # noqa: PLC0415

    known = {"--" + name.replace("_", "-") for name in argument_names()}
    text = content.decode("utf-8", errors="replace")
    words = command_in(text, str(path), known, "Megatron-LM").words
    values: dict[str, Any] = {}
    for at, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if not flag.startswith("--"):
            continue
        after = words[at + 1] if at + 1 < len(words) else "--"
        values[flag[2:].replace("-", "_")] = (
            value if equals else True if after.startswith("--") else after
        )
    return {**values, **given}


def print_definition(
    found: Definition, output: Path | None, *, sources: bool, as_json: bool
) -> None:
    """Prints what was read: one JSON document, or a table with remarks."""
    from models_db import facts  # noqa: PLC0415  (not for --help)
    from models_db.definitions import FORMATS  # noqa: PLC0415
    from planner.cli.databases import print_record  # noqa: PLC0415

    model, rows, form = found.model, list(facts(found.model)), FORMATS[found.form]
    lines = [f"{name} is not stated: {value} stands in" for name, value in found.assumed.items()]
    if as_json:
        extra = {
            "title": model.title,
            "form": form,
            "definition": found.which,
            "output": None if output is None else str(output),
            "total_parameters": model.total_parameters,
            "active_parameters": model.active_parameters,
            "assumed": found.assumed,
            "unread": list(found.unread),
            "remarks": lines,
        }
        print_record(model.name, rows, sources=True, as_json=True, extra=extra)
        return
    if output is None:
        shown = {"title": model.title, "definition": form}
        print_record(model.name, rows, sources=sources, as_json=False, extra=shown)
    else:
        print_lines(f"{output}: {model.name}, {model.total_parameters:,} parameters ({form})")
    for line in lines:
        print_lines(f"note: {line}")
    if found.unread:
        print_lines(
            f"note: not read, as they change no shape or are not known: {_some(found.unread)}"
        )


_MOST_NAMES = 12


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more

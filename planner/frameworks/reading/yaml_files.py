"""YAML files of launches: their settings by dotted names, as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from planner.base.errors import InputError

_DEEPEST = 16
_MOST = 16  # keys that come again
_TWICE = re.compile(r"the key '(?P<key>[^']*)' occurs twice, first in line (?P<line>[0-9]+)")
_SINGLE = re.compile(r"\s*[\w-]+:[ \t]+[^\s|>&\[{].*")


def yaml_mapping(text: str, name: str) -> Mapping[str, Any]:
    """The mapping in a file.

    Raises:
        InputError: It is no YAML, or something else than a mapping.
    """
    from strict_yaml.errors import YamlError  # noqa: PLC0415  (only where a file is read)
    from strict_yaml.reading import load  # noqa: PLC0415

    try:
        data = load(text)
    except YamlError as error:
        lines = [f"{name}: {mistake}" for mistake in error.mistakes]
        raise InputError("\n".join(lines)) from error
    if not isinstance(data, dict):
        raise InputError(f"{name}: is not a mapping of names to values")
    return data


def yaml_settings(text: str, name: str) -> dict[str, tuple[str, ...]]:
    """Settings by dotted names with their values as text; what is null is left out.

    Raises:
        InputError: See `yaml_mapping`.
    """
    return dict(_flat(yaml_mapping(text, name), "", 0))


def last_of_repeated(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without values of one line whose key comes again, as PyYAML takes the last of them.

    Returns:
        The text, with comments in their place, and a line about each.
    """
    from strict_yaml.errors import YamlError  # noqa: PLC0415  (only where a file is read)
    from strict_yaml.reading import load  # noqa: PLC0415

    lines, notes = text.split("\n"), list[str]()
    while len(notes) < _MOST:
        try:
            load("\n".join(lines))
            break
        except YamlError as error:
            found = [match for one in error.mistakes if (match := _TWICE.search(one.problem))]
        if not found:
            break
        at = int(found[0]["line"]) - 1
        if not _SINGLE.fullmatch(lines[at]):
            break
        lines[at] = f"# {lines[at]}"
        notes.append(f"line {at + 1}: {found[0]['key']} comes again, and the last one holds")
    return "\n".join(lines), tuple(notes)


def _flat(
    data: Mapping[str, Any], before: str, depth: int
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, value in data.items():
        path = f"{before}{name}"
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _flat(value, f"{path}.", depth + 1)
        elif value is not None:
            items = value if isinstance(value, list) else [value]
            yield path, tuple(map(as_text, items))


def as_text(value: Any) -> str:
    """A value as text; truth values in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)

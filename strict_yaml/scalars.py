"""Which plain words are no text: the core schema of YAML 1.2, and what YAML 1.1 adds to it.

Read are the words of https://yaml.org/spec/1.2.2/#103-core-schema, and, as Python has them, `_`
between digits, `0b11`, and a sign before `0x` and `0o`. Dates are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ruamel.yaml.resolver import VersionedResolver, implicit_resolvers

_TAG = "tag:yaml.org,2002:"
_CORE = (
    ("null", r"(?:~|null|Null|NULL|)\Z", ["~", "n", "N", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", list("tTfF")),
    (
        "int",
        r"[-+]?(?:[0-9][0-9_]*|0b[01][01_]*|0o[0-7][0-7_]*|0x[0-9a-fA-F][0-9a-fA-F_]*)\Z",
        list("-+0123456789"),
    ),
    (
        "float",
        r"(?:[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z",
        list("-+.0123456789"),
    ),
)
_Table = dict[str, list[tuple[str, re.Pattern[str]]]]


def _table(rules: Iterable[tuple[str, re.Pattern[str], list[str]]]) -> _Table:
    """First character of a word -> tags that it may have, and their patterns."""
    table: _Table = {}
    for tag, pattern, characters in rules:
        for character in characters:
            table.setdefault(character, []).append((tag, pattern))
    return table


_RULES = [(_TAG + name, re.compile(pattern), first) for name, pattern, first in _CORE]
_OF_RUAMEL: list[Any] = implicit_resolvers  # of both versions, which each rule begins with
_READ = _table(_RULES)
_WRITTEN = _table([*_RULES, *(rule[1:] for rule in _OF_RUAMEL)])


class CoreResolver(VersionedResolver):
    """The core schema, whatever else ruamel.yaml resolves."""

    @property
    def versioned_resolver(self) -> Any:
        """Rules by the first character of a word."""
        return _READ


class CautiousResolver(VersionedResolver):
    """Words that YAML 1.1 or 1.2 takes for something else than text; they are written in quotes."""

    @property
    def versioned_resolver(self) -> Any:
        """Rules by the first character of a word."""
        return _WRITTEN

"""Tables of settings printed as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def toml_text(comments: Sequence[str], tables: Mapping[str, Mapping[str, Any]]) -> str:
    """A TOML document of comments and tables; empty tables are left out.

    Values are strings, numbers, truth values, and lists of these; a list of lists has one line for
    each.

    >>> print(toml_text(["made here"], {"model": {"name": "x", "parts": [["a"], ["b"]]}}), end="")
    # made here
    <BLANKLINE>
    [model]
    name = "x"
    parts = [
        ["a"],
        ["b"],
    ]
    """
    parts = ["\n".join(f"# {comment}" for comment in comments)] if comments else []
    for name, table in tables.items():
        if table:
            lines = (f"{key} = {_value(value)}" for key, value in table.items())
            parts.append("\n".join((f"[{name}]", *lines)))
    return "\n\n".join(parts) + "\n"


def _value(value: Any) -> str:
    """A value; JSON writes numbers, truth values and ASCII strings as TOML does."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n" + "".join(f"    {json.dumps(one)},\n" for one in value) + "]"
    return json.dumps(value)

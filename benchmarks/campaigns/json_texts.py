"""Data as JSON text of any spacing, with characters that YAML or a terminal takes otherwise.

Each function takes a `random.Random`, so that a seed says what it does.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from random import Random
from typing import Any

from campaigns.damage import places

_ODD = ("\x85", "\u2028", "\u2029", "\x7f", "\ufeff", "\xa0", "\u202e", "\x9b",
        "\U0001f600", "\ud800", "\t", "\x1b", "#", ": ", "\\", "'", '"')  # fmt: skip
_SPACES = (" ", "\n", "\t", "\r", "\r\n", "\n\n", "  \n ", " \n\t")
_NO_SPACES = ("\x85", "\u2028", "\ufeff", "\xa0", "\x0b", "\x00")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[:,\[\]{}]')
_LONG = (120, 1000, 1025, 5000, 70_000)
"""Lengths of keys; YAML takes 1,024 characters where they stand in one line."""
_MANY = (300, 4000, 20_000)


def json_text(tree: Any, random: Random) -> bytes:
    """A tree as JSON: half the time with odd characters in it, raw, or with odd spacing."""
    if random.random() < 0.5:
        tree = _odd(tree, random)
    raw, indent = random.random() < 0.5, random.choice((None, None, 1, "\t"))
    text = json.dumps(tree, ensure_ascii=not raw, indent=indent)
    if random.random() < 0.5:
        text = _spaced(text, random)
    if random.random() < 0.1:
        text = random.choice(("\ufeff", "\n", " ", "\x85", "---\n")) + text
    return text.encode("utf-8", "surrogatepass")


def _odd(tree: Any, random: Random) -> Any:
    """It with an odd character, or a long key, in one to three places."""
    tree = deepcopy(tree)
    for _ in range(random.randint(1, 3)):
        if not (found := places(tree)):
            break
        *outer, key = random.choice(found)
        part = tree
        for step in outer:
            part = part[step]
        if isinstance(part, dict) and random.random() < 0.4:
            name = _with(str(key), random) if random.random() < 0.7 else "k" * random.choice(_LONG)
            part[name] = part.pop(key)
        else:
            part[key] = _with(part[key] if isinstance(part[key], str) else "a", random)
    return tree


def _with(text: str, random: Random) -> str:
    at = random.randint(0, len(text))
    return text[:at] + random.choice(_ODD) + text[at:]


def _spaced(text: str, random: Random) -> str:
    """It with space around some of its marks, also before colons; seldom with what is no space."""

    def space() -> str:
        if random.random() < 0.6:
            return ""
        return random.choice(_SPACES if random.random() < 0.99 else _NO_SPACES)

    def around(found: re.Match[str]) -> str:
        return found[0] if found[0][0] == '"' else space() + found[0] + space()

    return _TOKEN.sub(around, text)


def large(tree: dict[str, Any], random: Random) -> dict[str, Any]:
    """It with thousands of unknown fields, or a list of thousands where something else belongs."""
    tree, many = deepcopy(tree), random.choice(_MANY)
    *outer, key = random.choice(places(tree) or [("x",)])
    part: Any = tree
    for step in outer:
        part = part[step]
    action = random.choice(("fields", "fields", "numbers", "maps", "texts"))
    if action == "fields":
        inner = part if isinstance(part, dict) and random.random() < 0.5 else tree
        inner |= {f"x{at}": at for at in range(many)}
    elif action == "numbers":
        part[key] = [random.choice((0, 1.5, -1, 10**30))] * many
    elif action == "maps":
        part[key] = [{"x": 1} for _ in range(many)]
    else:
        part[key] = {f"{key}{at}": "a" for at in range(many)}
    return tree

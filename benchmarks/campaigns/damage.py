"""Damage to files that knows their structure: trees of YAML, JSON and TOML, lines, words, bytes.

Each function takes a `random.Random`, so that a seed says what it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, 3, 7, 8, 64, -1, 10**6, 10**12, 10**30, -(10**30), 0.0, 0.5, 1.5,
    -1.0, 1e-300, 1e300, float("nan"), float("inf"), "", "~", "1e9", "nan", "8", "1.5", "²", "80GB",
    "1e300P", "x\0.yaml", "/", ".yaml", "bf16", "lora", "tp", "zero3", "full", "[bold]", "[/x]",
    "é\u202e", "a\nb", "a" * 300, [], [0], [1, 2], ["tp", None, 1.5], {}, {"tp": 1}, {"value": 2},
    [[[[]]]], {"x": {"y": {"z": []}}},
)  # fmt: skip
"""Values that may stand where another belongs."""
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NUMBERS = (
    b"0", b"-1", b"1e400", b"nan", b"9" * 700, b"9" * 5000, b"0.5", b"1e-320", b"", b"1_0",
    b"\xc2\xb2",
)  # fmt: skip
_PIECES = (
    b"[", b"{", b"}", b": ", b"\t", b"&a ", b"*a", b"? ", b"!!int ", b"\x00", b"\xff\xfe", b"'",
    b'"', b"\\", b"$(", b"`", b"\r\n", b"<!--", b"]]>", b"#", b",", b"=", b"\xe2\x80\xae",
    b"x" * 140_000,
)  # fmt: skip


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything in a tree."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(tree, dict):
        items = tree.items()
    elif isinstance(tree, list):
        items = enumerate(tree)
    found: list[tuple[Any, ...]] = []
    for key, part in items:
        found += [(*path, key), *places(part, (*path, key))]
    return found


def tree_damage(tree: Any, random: Random) -> Any:
    """The tree after one to three changes: other values, missing, renamed, moved, doubled parts."""
    tree = deepcopy(tree)
    for _ in range(random.randint(1, 3)):
        found = places(tree)
        if not found:
            break
        *outer, key = random.choice(found)
        part = tree
        for step in outer:
            part = part[step]
        action = random.choice(
            ("replace", "replace", "replace", "remove", "rename", "copy", "wrap")
        )
        if action == "remove":
            del part[key]
        elif action == "rename" and isinstance(part, dict):
            part[
                random.choice(("x", "", "chips", "0", key[:-1] if isinstance(key, str) else "k"))
            ] = part.pop(key)
        elif action == "copy":
            part[key] = deepcopy(_at(tree, random.choice(found)))
        elif action == "wrap":
            part[key] = [part[key]]
        else:
            part[key] = deepcopy(random.choice(ODD))
    return tree


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):  # an earlier change took it away
            return None
    return tree


def text_damage(content: bytes, random: Random) -> bytes:
    """Lines, words, numbers and bytes changed, in one to three places."""
    for _ in range(random.randint(1, 3)):
        content = random.choice(_OF_TEXT)(content, random)
    return content


def _cut(content: bytes, random: Random) -> bytes:
    start = random.randint(0, len(content))
    return content[:start] + content[start + random.choice((0, 1, 2, 10, 100_000)) :]


def _insert(content: bytes, random: Random) -> bytes:
    start = random.randint(0, len(content))
    return content[:start] + random.choice(_PIECES) + content[start:]


def _number(content: bytes, random: Random) -> bytes:
    found = list(_NUMBER.finditer(content))
    if not found:
        return content
    one = random.choice(found)
    return content[: one.start()] + random.choice(_NUMBERS) + content[one.end() :]


def _line(content: bytes, random: Random) -> bytes:
    lines = content.split(b"\n")
    at = random.randrange(len(lines))
    action = random.choice(("drop", "double", "many", "swap", "empty"))
    if action == "drop":
        del lines[at]
    elif action == "double":
        lines.insert(at, lines[at])
    elif action == "many":
        lines[at:at] = [lines[at][:1000]] * 300
    elif action == "swap":
        other = random.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines[at] = b""
    return b"\n".join(lines)


def _word(content: bytes, random: Random) -> bytes:
    words = re.split(rb"(\s+)", content)
    at, other = random.randrange(len(words)), random.randrange(len(words))
    words[at] = random.choice((b"", words[other], words[at] * 3, words[at][::-1]))
    return b"".join(words)


_OF_TEXT: tuple[Callable[[bytes, Random], bytes], ...] = (
    _cut, _insert, _number, _number, _line, _word,
)  # fmt: skip

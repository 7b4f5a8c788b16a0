"""What commands make of the text that they read, line by line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

_COMMENTS = re.compile(r"\^?(?:\\s\*)?#(?:\.\*)?")
_CUT = re.compile(r"(?:-d ?(.))?\0?-(f|c)\0?([0-9]{1,4})(-?)([0-9]{0,4})", re.DOTALL)
_SETS = {"[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
         "[:digit:]": "0123456789", "[:space:]": "\t\n\v\f\r ", "[:blank:]": "\t "}  # fmt: skip


def lines_of(text: str) -> list[str]:
    """The lines of a text, whose last one has an end too."""
    return text.removesuffix("\n").split("\n") if text else []


def _together(lines: list[str]) -> str:
    return "".join(f"{one}\n" for one in lines)


def _xargs(words: list[str], text: str) -> str | None:
    if words not in ([], ["echo"]):
        return None
    try:
        return " ".join(shlex.split(text)) + "\n"
    except ValueError:
        return None


def _grep(words: list[str], text: str) -> str | None:
    """`grep -v` of comments."""
    if len(words) != 2 or words[0] != "-v" or not _COMMENTS.fullmatch(words[1]):
        return None
    return _together([one for one in lines_of(text) if not re.search(words[1], one)])


def _tr(words: list[str], text: str) -> str | None:
    options = "".join(one[1:] for one in words if one[:1] == "-" and len(one) > 1)
    sets = [_set(one) for one in words if one[:1] != "-" or one == "-"]
    if None in sets or options not in ("", "d", "s") or len(sets) != (1 if options else 2):
        return None
    first = sets[0] or ""
    if options == "d":
        return "".join(one for one in text if one not in first)
    if options == "s":
        return re.sub(f"([{re.escape(first)}])\\1+", r"\1", text) if first else text
    second = sets[1] or ""
    if not second or not first:
        return None
    second += second[-1] * (len(first) - len(second))
    table = {one: other for one, other in reversed([*zip(first, second, strict=False)])}
    last = dict(zip(first, second, strict=False)) if len({*first}) == len(first) else None
    return None if last is None else "".join(table.get(one, one) for one in text)


def _set(text: str) -> str | None:
    """The letters of a set of `tr`; None: it is not followed."""
    if text in _SETS:
        return _SETS[text]
    if "[" in text and re.search(r"\[[:=.]|\[.\*", text):
        return None
    text = re.sub(r"\\(.)", lambda one: {"n": "\n", "t": "\t", "\\": "\\"}.get(one[1], "\0"), text)
    if "\0" in text or not text.isascii():
        return None
    for match in re.finditer("(.)-(.)", text, re.DOTALL):
        if match[1] > match[2]:
            return None
    return re.sub(
        "(.)-(.)", lambda one: "".join(map(chr, range(ord(one[1]), ord(one[2]) + 1))), text
    )


def _cut(words: list[str], text: str) -> str | None:
    match = _CUT.fullmatch("\0".join(words).replace("-d\0", "-d"))
    if match is None or (match[2] == "c" and match[1]) or int(match[3]) < 1:
        return None
    sign = match[1] or "\t"
    first = int(match[3]) - 1
    last = (int(match[5]) if match[5] else None) if match[4] else first + 1
    if (match[5] and not match[4]) or (last is not None and last <= first):
        return None
    found = []
    for line in lines_of(text):
        if match[2] == "c":
            found.append(line[first:last])
        else:
            parts = line.split(sign)
            found.append(sign.join(parts[first:last]) if sign in line else line)
    return _together(found)


def _count(words: list[str], default: int) -> int | None:
    match = re.fullmatch(r"(?:-n\0?|-)([0-9]{1,6})", "\0".join(words))
    return default if not words else int(match[1]) if match else None


def _head(words: list[str], text: str) -> str | None:
    count = _count(words, 10)
    return None if count is None else _together(lines_of(text)[:count])


def _tail(words: list[str], text: str) -> str | None:
    count = _count(words, 10)
    lines = lines_of(text)
    return None if count is None else _together(lines[max(len(lines) - count, 0) :])


def _wc(words: list[str], text: str) -> str | None:
    counts = {"-l": len(lines_of(text)), "-w": len(text.split()), "-c": len(text)}
    known = len(words) == 1 and words[0] in counts and text.isascii() and text != "\n"
    return f"{counts[words[0]]}\n" if known else None


FILTERS: dict[str, Callable[[list[str], str], str | None]] = {
    "xargs": _xargs, "grep": _grep, "tr": _tr, "cut": _cut, "head": _head, "tail": _tail,
    "wc": _wc,
}  # fmt: skip

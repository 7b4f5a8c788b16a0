"""`~` of shell text, which stands for a folder."""

from __future__ import annotations

import re

from planner.frameworks.reading.shell.words import Part, Word

_ASSIGNS = re.compile(r"[A-Za-z_]\w*=")
_USERS = re.compile(r"~[\w+-]*/")


def at_home(word: Word, *, assigned: bool = False) -> Word:
    """A word with `$HOME` for the `~` that begins it, or a folder of what is assigned."""
    if not any("~" in one.text and not one.quoted for one in word):
        return word
    found: list[Part] = []
    head = _ASSIGNS.match(word[0].text) if not word[0].quoted else None
    for at, one in enumerate(word):
        if one.quoted or "~" not in one.text:
            found.append(one)
            continue
        end = r"(?=/|:|$)" if at + 1 == len(word) else "(?=/|:)"
        start = 0
        if not at and not assigned and not head and _USERS.match(one.text):
            return (Part(f"$(echo {one.text})", False, False), *word[1:])
        if not at and head:
            start = head.end()
        text = one.text[start:]
        if not at:
            text = re.sub(
                "^~" + (end if assigned or head else end.replace("|:", "")), "$HOME", text
            )
        if assigned or head:
            text = re.sub(":~" + end, ":$HOME", text)
        found.append(Part(one.text[:start] + text, False, one.expands))
    return tuple(found)

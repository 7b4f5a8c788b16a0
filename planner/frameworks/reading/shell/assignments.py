"""Assignments of shell text: `A=1`, `A+=(2 3)`, `A[1]=2`, `export $(cat FILE)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planner.base.numerals import is_digits
from planner.frameworks.reading.shell.states import Array
from planner.frameworks.reading.shell.values import expanded, is_known, sum_in
from planner.frameworks.reading.shell.words import Part, Statement, Word, bare

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

DECLARES = ("export", "local", "declare", "readonly", "typeset")
_SUM = re.compile(r"\s*([A-Za-z_]\w*)\s*(\+\+|--|[-+*/%]?=(?!=))\s*(.*)", re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]=]*\])?(\+?)=")
Before = tuple[str | Array | None, str | None]
"""The value of a variable, and where it ceased to be known."""


def set_array(shell: Shell, statement: Statement) -> None:
    """Takes `A=(...)` or `A+=(...)`; what is added to an array that is not known is not either."""
    name, more = statement.array.rstrip("+="), statement.array.endswith("+=")
    items = [text for word in statement.words for text in shell.fields(word)]
    if not (more and name in shell.changed):
        shell.assign(name, shell.added(name, items) if more else Array(items), statement.line)


def set_all(shell: Shell, words: list[Word], line: int) -> dict[str, Before]:
    """Takes the assignments that begin a command off its words; what they replace, by name."""
    before: dict[str, Before] = {}
    while words and (match := _assigned(words[0])):
        name = match[1]
        before.setdefault(name, (shell.variables.get(name), shell.changed.get(name)))
        _set(shell, words.pop(0), match, line)
    return before


def declare(shell: Shell, words: list[Word], line: int) -> None:
    """Takes `export A=1 B=2`, `local A`, `export $(cat FILE)`."""
    is_local = makes_local(words)
    for word in words[1:]:
        match = _assigned(word)
        name = match[1] if match else bare(word)
        if is_local and name.isidentifier():
            shell.make_local(name, keeps=match is not None)
        if match:
            _set(shell, word, match, line)
        elif any(part.expands and not is_known(part.text) for part in word):
            _set_listed(shell, shell.fields(word), line)


def makes_local(words: list[Word]) -> bool:
    """Whether a declaration in a function is of variables of that function."""
    flags = "".join(bare(word) for word in words[1:] if bare(word)[:1] in ("-", "+"))
    return bare(words[0]) in ("local", "declare", "typeset") and "g" not in flags


def is_assignment(word: Word) -> bool:
    """Whether a word assigns a variable."""
    return _assigned(word) is not None


def _assigned(word: Word) -> re.Match[str] | None:
    return None if word[0].quoted else _ASSIGNMENT.match(word[0].text)


def _set(shell: Shell, word: Word, match: re.Match[str], line: int) -> None:
    """Takes `NAME=value`, `NAME+=value` or `NAME[index]=value`."""
    name, index, more = match[1], match[2], match[3]
    first = Part(word[0].text[match.end() :], word[0].quoted, word[0].expands)
    value = shell.text((first, *word[1:]))
    if index:
        _set_element(shell, name, index[1:-1], value, line)
    elif not more:
        shell.assign(name, value, line)
    elif name not in shell.changed:
        before = shell.variables.get(name, "")
        joined = before if isinstance(before, str) else " ".join(before)
        shell.assign(name, joined + value, line)


def _set_element(shell: Shell, name: str, index: str, value: str, line: int) -> None:
    items = shell.items(name)
    key = expanded(index.strip("\"'"), shell)
    keyed = items.keyed == len(items)
    if is_digits(key) and int(key[:9]) <= len(items) and not (keyed and items):
        if (at := int(key[:9])) < len(items):
            shell.spend(items.letters)
            items = items.replaced(at, value)
        else:
            items = shell.added(name, [value])
    elif keyed and is_known(key):
        items = shell.added(name, [f"[{key}]={value}"])
    else:
        return shell.forget(name, line)
    return shell.assign(name, items, line)


def _set_listed(shell: Shell, listed: list[str], line: int) -> None:
    """Takes variables that a value or the output of a command lists."""
    for text in listed:
        match = _ASSIGNMENT.match(text)
        if match and not match[2] and is_known(text):
            shell.assign(match[1], text[match.end() :].strip("\"'"), line)
        elif not is_known(text):
            shell.note(line, f"`export {text}`, which is not known from the text,")


def sum_is(shell: Shell, text: str, line: int) -> None:
    """Takes `X = 4`, `X += 1`, `X++` of a sum."""
    match = _SUM.match(text)
    if match is None:
        return
    name, sign, right = match.groups()
    if sign in ("++", "--"):
        right, sign = "1", sign[0]
    value = sum_in(right if sign == "=" else f"{name} {sign[0]} ({right})", shell)
    if value is None:
        shell.forget(name, line)
    else:
        shell.assign(name, str(value), line)

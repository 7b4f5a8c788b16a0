"""Assignments of shell text: `A=1`, `A+=(2 3)`, `A[1]=2`, `export $(cat FILE)`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.frameworks.reading.shell.expansion.arithmetic import computed
from planner.frameworks.reading.shell.expansion.arrays import is_named, items_of, keyed, keys, put
from planner.frameworks.reading.shell.expansion.fields import fields
from planner.frameworks.reading.shell.expansion.homes import at_home
from planner.frameworks.reading.shell.states import Array
from planner.frameworks.reading.shell.values import index_in, is_known
from planner.frameworks.reading.shell.words import Part, Statement, Word, bare

if TYPE_CHECKING:
    from planner.frameworks.reading.shell.run import Shell

DECLARES = ("export", "local", "declare", "readonly", "typeset")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[.*\])?(\+?)=", re.DOTALL)
_MARKED = "-marked"
_MARKS = ("-i", "-u", "-l")
Before = tuple[str | Array | None, str | None]
"""The value of a variable, and where it ceased to be known."""


def set_array(shell: Shell, statement: Statement) -> None:
    """Takes `A=(...)` or `A+=(...)`; what is added to an array that is not known is not either."""
    name, more = statement.array.rstrip("+="), statement.array.endswith("+=")
    if more and (name in shell.changed or not may_know(shell, name)):
        return shell.forget(name, statement.line)
    keyed_words = [_keyed(word) for word in statement.words]
    named = is_named(shell, name)
    if named or any(keyed_words):
        return _set_keyed(shell, statement, keyed_words, named=named)
    items: list[str] = []
    for word in statement.words:
        items += fields(word, shell)
    return shell.assign(name, shell.added(name, items) if more else Array(items), statement.line)


def may_know(shell: Shell, name: str) -> bool:
    """Whether a variable has a known value, or none."""
    return shell.value(name) is not None or shell.is_unset(name)


def _keyed(word: Word) -> tuple[str, Word] | None:
    """The key and the value of `[KEY]=VALUE` in an array; None: it is a plain element."""
    if not word or word[0].quoted or word[0].text[:1] != "[":
        return None
    for at, part in enumerate(word):
        end = -1 if part.quoted else part.text.find("]=")
        if end >= 0:
            before = [*word[:at], Part(part.text[:end], False, part.expands)]
            before[0] = Part(before[0].text[1:], False, before[0].expands)
            value = Part(part.text[end + 2 :], False, part.expands)
            return _source(before), (value, *word[at + 1 :])
    return None


def _source(parts: list[Part]) -> str:
    """Parts as they are written."""
    quoted = "".join(
        one.text if not one.quoted else f'"{one.text}"' if one.expands else shlex.quote(one.text)
        for one in parts
    )
    return quoted


def _set_keyed(
    shell: Shell, statement: Statement, found: list[tuple[str, Word] | None], *, named: bool
) -> None:
    """Takes `A=([2]=8 [0]=1 3)`: an element without a number is behind the one before."""
    name, line = statement.array.rstrip("+="), statement.line
    before = shell.value(name) if statement.array.endswith("+=") else None
    held = {} if before is None else dict(zip(keys(before), items_of(before), strict=True))
    at = int(next(reversed(held), "-1")) + 1 if not named else 0
    for one, word in zip(found, statement.words, strict=True):
        if one is None:
            texts = fields(word, shell)
            if named or not all(map(is_known, texts)):
                return shell.forget(name, line)
            held.update({str(at + more): text for more, text in enumerate(texts)})
            at += len(texts)
            continue
        key = index_in(one[0], name, shell)
        if key is None or (isinstance(key, int) and key < 0):
            return shell.forget(name, line)
        held[str(key)] = shell.text(one[1])
        at = key + 1 if isinstance(key, int) else 0
    return shell.assign(name, keyed(held, named=named), line)


def set_all(shell: Shell, words: list[Word], line: int) -> dict[str, Before]:
    """Takes the assignments that begin a command off its words; what they replace, by name."""
    before: dict[str, Before] = {}
    while words and (match := _assigned(words[0])):
        name = match[1]
        before.setdefault(name, (shell.variables.get(name), shell.changed.get(name)))
        _set(shell, words.pop(0), match, line)
    return before


def declare(shell: Shell, words: list[Word], line: int, arrays: Sequence[Statement] = ()) -> None:
    """Takes `export A=1 B=2`, `local A`, `declare -i A=2`, `export $(cat FILE)`."""
    is_local = makes_local(words)
    shell.line = line
    flags = "".join(bare(word) for word in words[1:] if bare(word)[:1] == "-")
    removed = "".join(bare(word) for word in words[1:] if bare(word)[:1] == "+")
    named = [one.array.rstrip("+=") for one in arrays]
    for word in words[1:]:
        match = _assigned(word)
        name = match[1] if match else bare(word)
        if is_local and name.isidentifier():
            shell.make_local(name, keeps=match is not None)
        if name.isidentifier():
            _mark(shell, name, flags, removed)
            if "n" in flags and bare(words[0]) != "export":
                _refer(shell, name, word, match, line)
                continue
        if match:
            _set(shell, word, match, line)
        elif any(part.expands and not is_known(part.text) for part in word):
            _set_listed(shell, shell.fields(word), line)
        _keep(shell, name, flags, bare(words[0]))
    for name in named:
        if is_local:
            shell.make_local(name)
        _mark(shell, name, flags, removed)


def _mark(shell: Shell, name: str, flags: str, removed: str) -> None:
    """Keeps what a declaration says of a variable."""
    for one in (*_MARKS, "-A"):
        mark = f"{one} {name}"
        if one[1] in flags:
            if shell.local and name in shell.local[-1] and mark not in shell.local[-1]:
                shell.make_local(mark)
            shell.variables[mark] = shell.variables[_MARKED] = "1"
        elif one[1] in removed:
            shell.variables.pop(mark, None)
    if "A" in flags and shell.is_unset(name):
        shell.assign(name, keyed({}, named=True), shell.line)


def _refer(shell: Shell, name: str, word: Word, match: re.Match[str] | None, line: int) -> None:
    """`declare -n R=X`: what either of them is, is not known from here on."""
    target = "$"
    if match:
        first = Part(word[0].text[match.end() :], False, word[0].expands)
        target = shell.text((first, *word[1:]))
    names = [name, re.split(r"\[", target)[0]]
    if not all(one.isidentifier() for one in names):
        shell.forget_all(line)
        names = [name, "*"]
    for one in names:
        shell.unsettled[one] = ""
        shell.forget(one, line)


def _keep(shell: Shell, name: str, flags: str, first: str) -> None:
    """`readonly X`, `declare -r X`: it keeps its value."""
    if name.isidentifier() and (first == "readonly" or "r" in flags) and "f" not in flags:
        shell.variables[f"-r {name}"] = "1"


def makes_local(words: list[Word]) -> bool:
    """Whether a declaration in a function is of variables of that function."""
    flags = "".join(bare(word) for word in words[1:] if bare(word)[:1] in ("-", "+"))
    return bare(words[0]) in ("local", "declare", "typeset") and "g" not in flags


def is_assignment(word: Word) -> bool:
    """Whether a word assigns a variable."""
    return _assigned(word) is not None


def _assigned(word: Word) -> re.Match[str] | None:
    return None if not word or word[0].quoted else _ASSIGNMENT.match(word[0].text)


def _set(shell: Shell, word: Word, match: re.Match[str], line: int) -> None:
    """Takes `NAME=value`, `NAME+=value` or `NAME[index]=value`."""
    name, index, more = match[1], match[2], bool(match[3])
    first = Part(word[0].text[match.end() :], word[0].quoted, word[0].expands)
    shell.line = line
    before = index_in(index[1:-1], name, shell) if index else None
    value = shell.text(at_home((first, *word[1:]), assigned=True))
    if index:
        return put(shell, name, before, value, more=more)
    now = shell.value(name)
    if isinstance(now, Array):
        return put(shell, name, "0" if is_named(shell, name) else 0, value, more=more)
    if not more:
        return shell.assign(name, value, line)
    if not may_know(shell, name):
        return None
    if shell.value(f"-i {name}") is not None:
        value = f"({value})"
        return shell.assign(name, f"({now or 0})+{value}", line)
    return shell.assign(name, (now or "") + value, line)


def conformed(shell: Shell, name: str, value: str | Array) -> str | Array | None:
    """A value as `declare -i`, `-u` and `-l` make it; None: it is not known."""
    if _MARKED not in shell.variables and _MARKED not in shell.changed:
        return value
    marks = [one for one in _MARKS if shell.value(f"{one} {name}") is not None]
    if any(f"{one} {name}" in shell.changed for one in _MARKS):
        return None
    if not marks:
        return value
    if isinstance(value, Array):
        changed = [conformed_text(shell, marks, one) for one in value]
        texts = [one for one in changed if one is not None]
        if len(texts) < len(changed):
            return None
        named = is_named(shell, name)
        return keyed(dict(zip(keys(value), texts, strict=True)), named=named)
    return conformed_text(shell, marks, value)


def conformed_text(shell: Shell, marks: list[str], value: str) -> str | None:
    """A value as marks of a declaration make it; None: it is not known."""
    if "-i" in marks:
        number = computed(value, shell)
        return None if number is None else str(number)
    if not is_known(value) or not value.isascii():
        return None
    return value.upper() if "-u" in marks else value.lower()


def _set_listed(shell: Shell, listed: list[str], line: int) -> None:
    """Takes variables that a value or the output of a command lists."""
    for text in listed:
        match = _ASSIGNMENT.match(text)
        if match and not match[2] and is_known(text):
            shell.assign(match[1], text[match.end() :].strip("\"'"), line)
        elif not is_known(text):
            shell.note(line, f"`export {text}`, which is not known from the text,")

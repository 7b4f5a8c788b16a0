"""Changes settings in the text of a launch: a script, YAML, TOML, or a recipe in Python.

Only what says a setting changes: the value beside its name, or the variable that the value comes
from. What is not there yet is put behind a setting that is. Whether the text then says what it
should is for who reads it again to check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from frozen_records import dataclass
from planner.base.numerals import is_digits
from planner.frameworks.reading.texts import looks_like_shell

_DEEPEST = 4  # variables that take their value from one another
_VARIABLE = re.compile(r"[\"']?\$\{?(\w+)\}?[\"']?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting with its new value.

    Attributes:
        names: What it may be called, with _ between words; the first where it is not there yet. A
            dot parts the section of a file from the name in it.
        value: Its value, as text; None: it is to be away, and a truth value false.
        switch: Whether a command has it without a value.
        present: Whether it changes only where it is there.
        free: A value that stays where it is there, since it follows from the others.
        spare: Whether the change is tried without it first: it says what is to stay.
    """

    names: tuple[str, ...]
    value: str | None
    switch: bool = False
    present: bool = False
    free: str = ""
    spare: bool = False


def edited(text: str, settings: Iterable[Setting], anchors: tuple[str, ...]) -> list[str]:
    """The text with settings changed, in the ways in which that can be done; none: it cannot.

    Args:
        text: The launch.
        settings: What changes.
        anchors: Settings of which one is there, for new ones to stand behind.
    """
    chosen = list(settings)
    if looks_like_shell(text):
        ways: list[Callable[[str, Setting], str | None]] = [
            lambda one, setting: _in_shell(one, setting, anchors, by_variable=True),
            lambda one, setting: _in_shell(one, setting, anchors, by_variable=False),
        ]
    elif re.search(r"^def |^import ", text, re.M):
        ways = [lambda one, setting: _in_python(one, setting, anchors)]
    else:
        ways = [lambda one, setting: _in_file(one, setting, anchors)]
    found: list[str] = []
    for way in ways:
        now: str | None = text
        for setting in chosen:
            now = None if now is None else way(now, setting)
        if now is not None and now not in (text, *found):
            found.append(now)
    return found


def _in_shell(
    text: str, setting: Setting, anchors: tuple[str, ...], *, by_variable: bool
) -> str | None:
    """A flag `--name value` or a word `name=value` of a command."""
    for name in setting.names:
        if match := _flag(text, name):
            return _changed_flag(text, match, setting, by_variable=by_variable)
    if setting.value is None or setting.present:
        return text
    for anchor in anchors:
        if match := _flag(text, anchor):
            new = _spelt(setting, match[0])
            return text[: match.end()] + f" {new}" + text[match.end() :]
    return None


def _changed_flag(
    text: str, match: re.Match[str], setting: Setting, *, by_variable: bool
) -> str | None:
    """The text with another value of a flag that is there, or without it."""
    if setting.value is None:
        return _without(text, match, setting)
    if setting.switch or (setting.free and match["value"] == setting.free):
        return text
    variable = _VARIABLE.fullmatch(match["value"] or "")
    if variable and by_variable:
        return _assigned(text, variable[1], setting.value, match.start(), 0)
    return text[: match.start("value")] + setting.value + text[match.end("value") :]


def _flag(text: str, name: str) -> re.Match[str] | None:
    """A flag or a word of that name with its value, in a line that is no comment."""
    spelt = re.escape(name).replace("_", "[-_]")
    value = r"(?P<value>\"[^\"\s]*\"|'[^'\s]*'|[^\s\\\"']+)"
    for pattern in (
        rf"(?<![\w-])--{spelt}(?![\w-])(?:(?:=|[ \t]+)(?![-\\]){value})?",
        rf"(?<![\w-]){spelt}={value}",
    ):
        start = looked = 0  # of the line, and as far as lines are known
        for match in re.finditer(pattern, text):
            start = max(start, text.rfind("\n", looked, match.start()) + 1)
            if text.find("#", start, match.start()) < 0:
                return match
            looked = match.start()
    return None


def _without(text: str, match: re.Match[str], setting: Setting) -> str:
    """The text without a flag, and without its line where nothing else stands in it."""
    end = match.end()
    if setting.switch and match["value"] is not None:
        end = match.start("value") - 1
    start = text.rfind("\n", 0, match.start()) + 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    rest = (text[start : match.start()] + text[end:stop]).strip()
    if rest in ("", "\\"):
        return text[:start] + text[min(stop + 1, len(text)) :]
    return text[: match.start()].rstrip(" \t") + text[end:]


def _spelt(setting: Setting, like: str) -> str:
    """A new setting, spelt as another one is, or `name=value` where that has no section."""
    name = setting.names[0]
    if not like.startswith("--") or ("." in name and "." not in like):
        return f"{name}={setting.value}"
    flag = f"--{name.replace('_', '-')}"
    return flag if setting.switch else f"{flag} {setting.value}"


def _assigned(text: str, name: str, value: str, before: int, depth: int) -> str | None:
    """The text with another value of a variable: of its last assignment before a place."""
    pattern = re.compile(
        rf"(?m)^(?P<head>[ \t]*(?:export[ \t]+|local[ \t]+)?{re.escape(name)}=[\"']?"
        r"(?:\$\{\w+:-)?[\"']?)"
        r"(?P<value>[\w.]+|\$\{?\w+\}?)"
    )
    found = [match for match in pattern.finditer(text) if match.start() < before]
    if not found:
        return None
    last = found[-1]
    inner = _VARIABLE.fullmatch(last["value"])
    if inner and depth < _DEEPEST:
        return _assigned(text, inner[1], value, last.start(), depth + 1)
    return text[: last.start("value")] + value + text[last.end("value") :]


def _in_file(text: str, setting: Setting, anchors: tuple[str, ...]) -> str | None:
    """`name: value` of YAML and JSON, `name = value` of TOML."""
    for name in setting.names:
        if match := _entry(text, name):
            if setting.free and match["value"].strip("\"'") == setting.free:
                return text
            value = _written(setting, match["value"])
            return text[: match.start("value")] + value + text[match.end("value") :]
    if setting.value is None or setting.present:
        return text
    section = setting.names[0].rpartition(".")[0]
    for anchor in anchors:
        if anchor.rpartition(".")[0] == section and (match := _entry(text, anchor)):
            key = match["key"].replace(
                anchor.rpartition(".")[2], setting.names[0].rpartition(".")[2]
            )
            ends = "," if match["end"].startswith(",") else ""
            line = f"{match['indent']}{key}{match['sign']}{_written(setting, '')}{ends}\n"
            start = match.start("indent")
            return text[:start] + line + text[start:]
    return None


def _entry(text: str, name: str) -> re.Match[str] | None:
    """The line of a name, below its section where it has one."""
    section, _, own = name.rpartition(".")
    at, end = 0, len(text)
    if section:
        head = re.search(rf"(?m)^(?:\[{section}\]|{section}:)[ \t]*(?:#.*)?$", text)
        if head is None:
            return None
        at = head.end()
        following = re.compile(r"(?m)^(?:\[[\w.]+\]|[\w]+:)").search(text, at)
        end = following.start() if following else end
    pattern = re.compile(
        rf"(?m)^(?P<indent>[ \t]*)(?P<key>[\"']?{own.replace('_', '[-_]')}[\"']?)"
        r"(?P<sign>[ \t]*[:=][ \t]*)"
        r"(?P<value>[^#,\n]*?)(?P<end>[ \t]*(?:,|#.*|$))"
    )
    return pattern.search(text, at, end)


def _written(setting: Setting, before: str) -> str:
    """A value as a file has it."""
    if setting.switch:
        cased = before[:1].isupper()
        word = "false" if setting.value is None else "true"
        return word.capitalize() if cased else word
    if setting.value is None:
        return "null"
    quoted = before[:1] in "\"'" and before
    return f'"{setting.value}"' if quoted else setting.value


def _in_python(text: str, setting: Setting, anchors: tuple[str, ...]) -> str | None:
    """`cfg.section.name = value` or a keyword; what is not there yet comes below another one."""
    value = "None" if setting.value is None else setting.value
    if setting.switch:
        value = str(setting.value is not None)
    elif not is_digits(value) and value != "None":
        value = f'"{value}"'
    for name in setting.names:
        pattern = re.compile(
            rf"(?m)^(?P<head>[ \t]*cfg\.\w+\.{name}[ \t]*=[ \t]*)(?P<value>[^#\n]+)"
        )
        if match := pattern.search(text):
            return text[: match.start("value")] + value + text[match.end("value") :]
    for name in setting.names:
        own = name.rpartition(".")[2]
        if match := re.search(rf"(?m)^[ \t]*{own}=(?P<value>[\w.\"]+),[ \t]*$", text):
            return text[: match.start("value")] + value + text[match.end("value") :]
    if setting.value is None or setting.present:
        return text
    for anchor in anchors:
        pattern = re.compile(rf"(?m)^(?P<head>[ \t]*cfg\.model)\.{anchor}[ \t]*=[^\n]*\n")
        if match := pattern.search(text):
            line = f"{match['head']}.{setting.names[0]} = {value}\n"
            return text[: match.end()] + line + text[match.end() :]
    return None

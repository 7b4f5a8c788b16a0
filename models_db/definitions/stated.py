"""What a definition states: values by name, with what was looked at and what stands in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models_db.checks import Mistake
from models_db.errors import ModelError, mistakes_message
from strict_yaml.text import YamlText

Number = dict[str, Any]
_LARGEST = 10**9


class Unread(str):
    """The text of an expression whose value is not known, since nothing is executed."""

    __slots__ = ()


class Stated:
    """Typed look-up of the values of a definition.

    Attributes:
        values: Name -> value, as the framework spells names, with underscores.
        origin: What messages call the definition.
        used: Names that were looked at.
        assumed: Name -> default of the framework that stands in, as text.
        mistakes: Pairs of name and what is wrong.
    """

    def __init__(self, values: Mapping[str, Any], origin: str) -> None:
        self.values = values
        self.origin = origin
        self.used: set[str] = set()
        self.assumed: dict[str, str] = {}
        self.mistakes: list[Mistake] = []

    def raw(self, *names: str) -> Any:
        """The value of the first of the names that is there and not None."""
        self.used.update(names)
        name = next((n for n in names if self.values.get(n) is not None), None)
        value = None if name is None else self.values[name]
        if isinstance(value, Unread) and name is not None:
            self.refuse(name, f"is computed ({value[:60]}), which is not read: nothing is executed")
            return None
        return value

    def has(self, *names: str) -> bool:
        """Whether one of the names has a value."""
        return self.raw(*names) is not None

    def flag(self, *names: str, default: bool = False) -> bool:
        """A value that is true or false; a flag of a command line that is there is true."""
        value = self.raw(*names)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
        self.refuse(names[0], f"{value!r} where true or false belongs")
        return default

    def word(self, *names: str, default: str = "") -> str:
        """A value that is a word."""
        value = self.raw(*names)
        return default if value is None else str(value)

    def count(
        self, *names: str, default: int | None = None, unit: str = "1", note: str = ""
    ) -> Number:
        """A whole number of at least 1, or the framework's default with a note."""
        value = self.raw(*names)
        if value is None:
            if default is None:
                if not any(name in names for name, _ in self.mistakes):
                    other = "; --vocab-size says it" if names[0] == "vocab_size" else ""
                    self.refuse(names[0], f"is not stated{other}")
                return number(1, unit)
            self.assumed[names[0]] = str(default)
            return number(default, unit, "assumed", note or f"default of {names[0]}")
        found = whole(value)
        if found is None or not 1 <= found <= _LARGEST:
            said = f"{value!r} where a whole number of 1 to {_LARGEST:,} belongs"
            self.refuse(names[0], said)
            return number(1, unit)
        return number(found, unit)

    def refuse(self, name: str, text: str) -> None:
        """Note what a model file has no field for, or what contradicts itself."""
        if (name, text) not in self.mistakes:
            self.mistakes.append((name, text))

    def check(self) -> None:
        """Raises a `ModelError` that lists every mistake, if there is one."""
        if self.mistakes:
            raise ModelError(mistakes_message(YamlText(self.origin), self.mistakes))


def whole(value: object) -> int | None:
    """The whole number that a value is or spells; None where it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    text = str(value).replace("_", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 12 else None


def number(value: int, unit: str = "1", kind: str = "", note: str = "") -> Number:
    """A number as a model file writes it; without a kind, that of the file's `defaults`."""
    return {
        "value": value,
        "unit": unit,
        **({"kind": kind} if kind else {}),
        **({"note": note} if note else {}),
    }


def derived(value: int, note: str) -> Number:
    """A number that follows from others."""
    return number(value, "1", "derived", note)

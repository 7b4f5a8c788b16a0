"""Typed look-up of the keys of a config.json, with what was read, taken by default and wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models_db.checks import Mistake

Number = dict[str, Any]

LARGEST = 10**9
_SHOWN = 40


def number(value: int, unit: str = "1", kind: str = "", note: str = "") -> Number:
    """A number as a model file writes it; without a kind, that of the file's `defaults`."""
    return {
        "value": value,
        "unit": unit,
        **({"kind": kind} if kind else {}),
        **({"note": note} if note else {}),
    }


def derived(value: int, note: str, unit: str = "1") -> Number:
    """A number that follows from others; the note says how."""
    return number(value, unit, "derived", note)


class Fields:
    """The keys of one configuration.

    A key that is absent takes the default of its class in transformers 5.23, where that class has
    one that published files rely on; all other keys are required. Null is no number, and a flag
    that is off. Mistakes are collected so that one reading reports all of them; a wrong value
    counts as 1 until then.

    Attributes:
        data: the keys.
        model_type: name of the configuration's class in transformers.
        defaults: defaults of that class, by key.
        prefix: where the keys stand, "" or "text_config.".
        used: keys that were read, absent ones too.
        assumed: key -> default that stands in for it, as text.
        mistakes: pairs of key and what is wrong.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        model_type: str,
        defaults: Mapping[str, int | bool],
        prefix: str = "",
    ) -> None:
        self.data = data
        self.defaults = defaults
        self.model_type = model_type
        self.prefix = prefix
        self.used: set[str] = set()
        self.assumed: dict[str, str] = {}
        self.mistakes: list[Mistake] = []

    def wrong(self, key: str, text: str) -> None:
        """Note a mistake of a key."""
        if (mistake := (f"{self.prefix}{key}", text)) not in self.mistakes:
            self.mistakes.append(mistake)

    def require(self, holds: bool, key: str, text: str) -> None:
        """Note a contradiction, unless some value of it is wrong by itself."""
        if not holds and not self.mistakes:
            self.wrong(key, text)

    def raw(self, *keys: str) -> Any:
        """The value of the first of the spellings of a key that is there, else None."""
        self.used.update(keys)
        return next((self.data[key] for key in keys if self.data.get(key) is not None), None)

    def has(self, *keys: str) -> bool:
        """Whether a key is there and not null."""
        return self.raw(*keys) is not None

    def stated(self, *keys: str) -> bool:
        """Whether a key is not null: it has a value, or is absent and its class has a default."""
        return self.has(*keys) or (not self.null(*keys) and any(k in self.defaults for k in keys))

    def null(self, *keys: str) -> bool:
        """Whether a key is there, and null under all of its spellings."""
        return not self.has(*keys) and any(key in self.data for key in keys)

    def count(self, *keys: str, unit: str = "1", least: int = 1, most: int = LARGEST) -> Number:
        """A whole number from `least` to `most`, under any of its spellings.

        Two spellings with different values are a mistake.
        """
        given = {key: self.data[key] for key in keys if self.data.get(key) is not None}
        if not given:
            return self._absent(keys, unit, least)
        self.used.update(keys)
        key, value = next(iter(given.items()))
        if not isinstance(value, int) or isinstance(value, bool):
            self.wrong(key, f"{shown(value)} where a whole number belongs")
        elif not least <= value <= most:
            self.wrong(key, f"{shown(value)} is out of range; from {least} to {most:,}")
        else:
            self._agree(given, key)
            return number(value, unit)
        return number(max(least, 1), unit)

    def _absent(self, keys: tuple[str, ...], unit: str, least: int) -> Number:
        """The default of a key that is not there."""
        self.used.update(keys)
        default = next((self.defaults[key] for key in keys if key in self.defaults), None)
        if default is not None and self.null(*keys):
            self.wrong(keys[0], "null where a whole number belongs")
            return number(max(least, 1), unit)
        if default is None:
            others = f" (also read: {', '.join(keys[1:])})" if keys[1:] else ""
            allowed = "0 or more" if least == 0 else f"at least {least}"
            self.wrong(keys[0], f"missing; a whole number of {allowed} belongs here{others}")
            return number(max(least, 1), unit)
        self.assumed[keys[0]] = str(default)
        note = f"{keys[0]} is absent; default of {self.model_type} in transformers 5.23"
        return number(int(default), unit, "assumed", note)

    def flag(self, *keys: str) -> bool:
        """A boolean under any of its spellings; null is false.

        Absent it is the default of the class, which must have one. Two spellings with different
        values are a mistake.
        """
        self.used.update(keys)
        given = {key: self.data[key] for key in keys if self.data.get(key) is not None}
        if self.null(*keys):
            return False
        if not given:
            default = bool(self.defaults[keys[0]])
            self.assumed[keys[0]] = str(default).lower()
            return default
        key, value = next(iter(given.items()))
        if not isinstance(value, bool):
            self.wrong(key, f"{shown(value)} where true or false belongs")
            return False
        self._agree(given, key)
        return value

    def _agree(self, given: Mapping[str, Any], key: str) -> None:
        """Notes a mistake for each spelling of a key with another value than it has."""
        for other, said in given.items():
            if said != given[key]:
                self.wrong(other, f"{shown(said)}, but {key} is {shown(given[key])}")

    def ratio(self, key: str, default: float) -> float:
        """A number above 0, whole or not; absent, the default of the class."""
        value = self.raw(key)
        if value is None:
            self.assumed[key] = str(default)
            return default
        if not isinstance(value, int | float) or isinstance(value, bool):
            self.wrong(key, f"{shown(value)} where a number belongs")
            return default
        if not 0 < value <= LARGEST:
            self.wrong(key, f"{shown(value)} is out of range; above 0, to {LARGEST:,}")
            return default
        return value

    def text(self, key: str, what: str) -> str | None:
        """A text; None where it is absent or null.

        Args:
            key: the key.
            what: what belongs there, as a message says it.
        """
        value = self.raw(key)
        if value is not None and not isinstance(value, str):
            self.wrong(key, f"{shown(value)} where {what} belongs")
            return None
        return value

    def names(self, key: str) -> list[Any] | None:
        """A list; None where it is absent or null."""
        value = self.raw(key)
        if value is not None and not isinstance(value, list):
            self.wrong(key, f"{shown(value)} where a list belongs")
            return None
        return value

    def part(self, key: str) -> Mapping[str, Any]:
        """An object; empty where it is absent or null."""
        value = self.raw(key)
        if value is not None and not isinstance(value, dict):
            self.wrong(key, f"{shown(value)} where an object belongs")
            return {}
        return value or {}


def shown(value: object) -> str:
    """A short description of a value of a JSON file."""
    if isinstance(value, str):
        return f"the text {value[:_SHOWN] + ('...' if value[_SHOWN:] else '')!r}"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and value.bit_length() > 4 * _SHOWN:
        return "a very long number"
    return str(value).lower() if isinstance(value, bool) else str(value)

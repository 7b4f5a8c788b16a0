"""The names of a formula: keys of one configuration, those inside it, and what a row defines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from models_db.hub.class_defaults import INNER_SIZES
from models_db.hub.fields import LARGEST, Fields, Number, derived
from models_db.hub.formulas import FormulaError, at_turn, evaluate
from models_db.hub.known_keys import HARMLESS, names_token
from models_db.hub.table import EMPTY, Row, row_of

TEXT = "text"
"""The name that rows have for the configuration of their language model."""
_PER_LAYER = ("layer_types", "mlp_layer_types")
_USUAL_LAYERS = ("full_attention", "dense", "sparse")
_MOST_DEPTH = 4


class Scope:
    """What the formulas of one row find in one configuration.

    Attributes:
        fields: the keys, with the mistakes that are found.
        row: the row of the type.
        lacking: what a record has no field for, of what the file says.
        inside: scopes of the configurations inside this one, by the row's names for them.
    """

    def __init__(self, fields: Fields, row: Row, depth: int = 0) -> None:
        self.fields = fields
        self.row = row
        self.lacking: list[str] = []
        self._known: dict[str, Any] = {}
        self.inside = {
            name: _inner(fields, name, key, usual, depth)
            for name, (key, usual) in row.inside.items()
        }

    def refuse(self) -> None:
        """Notes a mistake for each key that the row refuses."""
        for key, (condition, text) in self.row.refused.items():
            if self.value(condition, key):
                self.fields.wrong(key, text)

    def check_layers(self, layers: int) -> None:
        """Notes a mistake for a list of layers that is too long or too short, or has odd entries.

        An entry must be one that a formula of the row names, or a usual one.
        """
        for key in _PER_LAYER:
            read = key in self.row.defaults and key not in self.row.passes
            listed = self.fields.names(key) if read else None
            if not listed:
                continue
            said = f"{len(listed)} entries, but there are {layers} layers"
            self.fields.require(len(listed) == layers, key, said)
            known = {*_USUAL_LAYERS, *_quoted(self.row.record), *_quoted(self.row.count)}
            odd = next((kind for kind in listed if kind not in known), None)
            if odd is not None:
                allowed = ", ".join(sorted(known))
                self.fields.wrong(key, f"{str(odd)[:40]!r} is not supported; a layer is {allowed}")

    def value(self, formula: str, key: str = "") -> Any:
        """The value of a formula; where the file does not fit it, a mistake and 1.

        Args:
            formula: the text.
            key: the key that a mistake is noted for; default the first of the formula.
        """
        try:
            return evaluate(formula, self._look)
        except FormulaError as error:
            self.fields.require(False, key or self.key_of(error.part), str(error))
            return 1

    def whole(self, formula: str, least: int = 0) -> int:
        """The value of a formula that must be a whole number of at least `least`."""
        found = self.value(formula)
        if not isinstance(found, int) or found < least:
            self.fields.require(
                False, self.key_of(formula), f"{formula} is {found}; at least {least}"
            )
            return max(least, 1)
        return int(found)

    def number(self, formula: str, unit: str = "1", least: int = 1) -> Number:
        """A formula as a number of a model file: a key as the file has it, else derived."""
        formula = str(formula)
        if formula.isidentifier():
            if formula not in self.row.defaults or self.row.defaults[formula] is not None:
                return self.fields.count(*self.spellings(formula), unit=unit, least=least)
            if self.fields.has(formula):
                return self.fields.count(*self.spellings(formula), unit=unit, least=least)
        return derived(self.whole(formula, least), f"{formula}", unit)

    def key_of(self, formula: str) -> str:
        """The first key of a formula that the file has."""
        words = re.findall(r"[a-z_]\w*", formula)
        return next((word for word in words if word in self.fields.data), "model_type")

    def by_layer(self, formula: str, layers: int) -> list[Any]:
        """The value of a formula for each layer i."""
        found: list[Any] = []
        for i in range(layers):
            try:
                found.append(evaluate(formula, at_turn(i, self._look)))
            except FormulaError as error:
                self.fields.require(False, self.key_of(error.part), str(error))
                return [1] * layers
        return found

    def parts(self) -> dict[str, int]:
        """Parameters by the parts that the row counts, without empty ones."""
        least = 0 if self.row.record is None else -LARGEST
        found = {name: self.whole(text, least) for name, text in self.row.count.items()}
        return {name: count for name, count in found.items() if count}

    def total(self) -> int:
        """Parameters of a configuration that is counted whole."""
        self.refuse()
        return sum(self.parts().values())

    def assumed(self) -> dict[str, str]:
        """Keys of the configurations inside this one, and of this, that are absent -> default."""
        found = {f"{self.fields.prefix}{key}": text for key, text in self.fields.assumed.items()}
        for inner in self.inside.values():
            found |= inner.assumed() if inner is not None else {}
        return found

    def unread(self) -> list[str]:
        """Keys of the configurations inside this one that nobody here knows."""
        around = [inner for name, inner in self.inside.items() if inner and name != TEXT]
        return [key for inner in around for key in inner.own_unread()]

    def own_unread(self) -> list[str]:
        """Keys of this configuration that nobody here knows, and of those inside it."""
        known = self.fields.used | HARMLESS | self.row.known_keys
        own = [
            key for key, value in self.fields.data.items()
            if value and key not in known and not names_token(key)
        ]  # fmt: skip
        return [*(f"{self.fields.prefix}{key}" for key in own), *self.unread()]

    def _look(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._found(name)
        return self._known[name]

    def _found(self, name: str) -> Any:
        """The value of a name: of another configuration, a formula of the row, or a key."""
        if "." in name:
            place, _, rest = name.partition(".")
            inner = self.inside.get(place)
            if inner is None:
                return None
            return inner.total() if rest == "total" else inner._look(rest)
        if name in self.inside:
            return self.inside[name] is not None
        return self._key(name)

    def spellings(self, key: str) -> tuple[str, ...]:
        """A key with its other spellings."""
        return (key, *self.row.spelled.get(key, ()))

    def _key(self, key: str) -> Any:
        """The value of a key, of the type that its default has."""
        fields, keys = self.fields, self.spellings(key)
        if key not in self.row.defaults:
            return fields.count(*keys)["value"]
        default = self.row.defaults[key]
        said = next((name for name in keys if fields.has(name)), key)
        readers: dict[type, Callable[[], Any]] = {
            bool: lambda: fields.flag(*keys),
            int: lambda: fields.count(*keys, least=min(0, default))["value"],
            float: lambda: fields.ratio(said, default),
            str: lambda: fields.text(said, "a text") or default,
            dict: lambda: fields.part(said),
            list: lambda: default if (found := fields.names(said)) is None else found,
            type(None): lambda: self._number_or_none(key, keys),
        }
        return readers[type(default)]()

    def _number_or_none(self, key: str, keys: tuple[str, ...]) -> Any:
        """A whole number, or a flag whose name begins with `is_`; None where there is none."""
        if not self.fields.has(*keys):
            return None
        if key.startswith("is_"):
            return self.fields.flag(*keys)
        return self.fields.count(*keys, least=0)["value"]


def _quoted(formulas: object) -> list[str]:
    """The texts that formulas name."""
    if isinstance(formulas, Mapping):
        return [word for formula in formulas.values() for word in _quoted(formula)]
    return re.findall(r"'([a-z]\w+)'", formulas) if isinstance(formulas, str) else []


def _inner(fields: Fields, name: str, key: str, usual: str, depth: int) -> Scope | None:
    """The scope of a configuration inside another; None where there is none or no row for it."""
    data = fields.part(key)
    if name == TEXT and key not in fields.data:  # older files, see `around`
        data = {name: value for name, value in fields.data.items() if name != "model_type"}
    model_type = data.get("model_type") or usual
    if not isinstance(model_type, str) or depth > _MOST_DEPTH:
        return None
    row = row_of(model_type) or EMPTY
    defaults = {**INNER_SIZES.get(model_type, {}), **plain_defaults(row)}
    inner = Fields(data, model_type, defaults, f"{fields.prefix}{key}.")
    inner.mistakes = fields.mistakes
    return Scope(inner, row, depth + 1)


def plain_defaults(row: Row) -> Mapping[str, Any]:
    """The defaults of a row that stand in for an absent key: numbers and flags."""
    return {key: value for key, value in row.defaults.items() if isinstance(value, int)}

"""The table of types: a row of data per `model_type`, in the YAML files of `types`.

A row has

- `like`: another row that it starts from; what it gives itself is merged over that, null removes;
- `defaults`: keys that published files leave out, with the default of their class in transformers
  5.23. Their type is that of the default; null is a whole number or null. A key that stands
  here in no row is a whole number of at least 1 that every file must have;
- `spelled`: a key with other spellings of it;
- `let`: names that stand for formulas;
- `record`: formulas for the fields of a model file, see `decoders`; without it there is no
  model file, and `lacks` says what a record has no field for;
- `count`: parameters by part of the model, beside what the record holds; without a record, all;
- `refused`: a key, the condition in which it is refused, and why;
- `inside`: name -> the key of a configuration inside this one, and its type where it says none;
- `passes`: keys that change no shape of this type, though they may of others;
- `part`: true for a row that is no language model, such as a vision encoder;
- `ties`: true where `tie_word_embeddings` beside the language model counts, not the one inside.

Formulas: see `formulas`. Shapes: modeling_<model_type>.py of transformers 5.23.0.
"""

from __future__ import annotations

import functools
import keyword
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from frozen_records import dataclass

_NAME = re.compile(r"(?<![\w.'])(?<![a-z]-)[a-z_]\w*(?![\w.'])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the table; see above."""

    defaults: Mapping[str, Any]
    spelled: Mapping[str, tuple[str, ...]]
    record: Mapping[str, Any] | None
    count: Mapping[str, str]
    refused: Mapping[str, tuple[str, str]]
    inside: Mapping[str, tuple[str, str]]
    lacks: str
    passes: tuple[str, ...]
    part: bool
    ties: bool

    @property
    def known_keys(self) -> set[str]:
        """Keys that need not be read: of configurations inside, of no consequence, of formulas."""
        return {*(key for key, _ in self.inside.values()), *self.passes, *self.shaping_keys}

    @property
    def shaping_keys(self) -> set[str]:
        """Keys that a shape of this type may depend on, in every spelling."""
        refused = (condition for condition, _ in self.refused.values())
        named = {*self.defaults, *_names(self.record), *_names(self.count), *_names([*refused])}
        return named | {word for words in self.spelled.values() for word in words}


EMPTY = Row(
    defaults={},
    spelled={},
    record=None,
    count={},
    refused={},
    inside={},
    lacks="",
    passes=(),
    part=True,
    ties=False,
)
"""What a type that another module reads has in the table."""


@functools.cache
def row_of(model_type: str) -> Row | None:
    """The row of a type; None where it has none."""
    data = _data()
    if model_type.startswith("_") or model_type not in data:
        return None
    return _row(_whole(model_type, data))


@functools.cache
def row_types() -> tuple[str, ...]:
    """The types of rows that are language models or have one inside, sorted."""
    data = _data()
    names = sorted(name for name in data if not name.startswith("_"))
    return tuple(name for name in names if not _whole(name, data).get("part"))


@functools.cache
def shaping_keys() -> Mapping[str, tuple[str, ...]]:
    """Keys that a shape of some type of the table depends on -> those types, sorted."""
    found: dict[str, list[str]] = {}
    for name in row_types():
        row = row_of(name)
        for key in row.shaping_keys if row is not None else ():
            found.setdefault(key, []).append(name)
    return {key: tuple(names) for key, names in found.items()}


@functools.cache
def _data() -> dict[str, dict[str, Any]]:
    """The content of the files; a type stands in one of them."""
    from strict_yaml.cache import load_shipped  # noqa: PLC0415  (only where a file is imported)

    found: dict[str, dict[str, Any]] = {}
    folder = resources.files("models_db.hub") / "types"
    for place in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if place.name.endswith(".yaml"):
            kept_as = f"models_db/hub/types/{place.name.removesuffix('.yaml')}"
            data = load_shipped(place.read_bytes(), kept_as)
            if twice := set(found) & set(data):
                raise ValueError(f"{place.name}: {min(twice)} stands in another file as well")
            found |= data
    return found


def _whole(name: str, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """A row with what it takes from others."""
    own = data[name] or {}
    if "like" not in own:
        return dict(own)
    base = _whole(own["like"], data)
    return _merged(base, {key: value for key, value in own.items() if key != "like"})


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """One mapping over another; null removes, but for defaults, where null is a value."""
    found = dict(base)
    for key, value in own.items():
        before = found.get(key)
        if key == "defaults":
            found[key] = {**(before or {}), **(value or {})}
        elif value is None:
            found.pop(key, None)
        elif isinstance(before, Mapping) and isinstance(value, Mapping):
            found[key] = _merged(before, value)
        else:
            found[key] = value
    return found


def _row(data: Mapping[str, Any]) -> Row:
    unknown = set(data) - set(Row.__annotations__) - {"let"}
    if unknown:
        raise ValueError(f"a row has no {min(unknown)}")
    let = {name: f"({formula})" for name, formula in (data.get("let") or {}).items()}
    return Row(
        defaults=data.get("defaults") or {},
        spelled={key: tuple(words.split()) for key, words in (data.get("spelled") or {}).items()},
        record=_spelled_out(data["record"], let) if "record" in data else None,
        count=_spelled_out(data.get("count") or {}, let),
        refused={
            key: (_spelled_out(condition, let), text)
            for key, (condition, text) in (data.get("refused") or {}).items()
        },
        inside={
            name: (words.split()[0], [*words.split(), ""][1])
            for name, words in (data.get("inside") or {}).items()
        },
        lacks=data.get("lacks") or "",
        passes=tuple((data.get("passes") or "").split()),
        part=bool(data.get("part")),
        ties=bool(data.get("ties")),
    )


def _names(formulas: Any) -> set[str]:
    """The names in formulas."""
    if isinstance(formulas, Mapping):
        return _names([*formulas.values()])
    if isinstance(formulas, list):
        return {name for formula in formulas for name in _names(formula)}
    words = _NAME.findall(formulas) if isinstance(formulas, str) else ()
    return {word for word in words if not keyword.iskeyword(word)}


def _spelled_out(formulas: Any, let: Mapping[str, str]) -> Any:
    """Formulas with the names that a row defines replaced by what they stand for."""
    if isinstance(formulas, Mapping):
        return {key: _spelled_out(formula, let) for key, formula in formulas.items()}
    if isinstance(formulas, bool):
        return formulas
    text, before = str(formulas), ""
    for _ in range(len(let) + 1):  # what a name stands for may have names as well
        text, before = _NAME.sub(lambda found: let.get(found[0], found[0]), text), text
        if text == before:
            break
    return text

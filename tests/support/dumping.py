"""Texts of records that differ in little: what stayed as it was is written once."""

from __future__ import annotations

import functools
import pickle
from typing import Any

from strict_yaml.writing import dump


def dumped(tree: dict[Any, Any], *, unicode: bool = False) -> str:
    """The text that `dump` writes for a mapping, from those of its fields and of their fields."""
    return "".join(_of_field(*field, unicode) for field in tree.items()) or dump(tree)


def _of_field(key: Any, value: Any, unicode: bool) -> str:
    plain = isinstance(key, str) and key.isidentifier() and len(key) < 40
    if not (plain and isinstance(value, dict) and value):
        return _text(pickle.dumps({key: value}), unicode)
    texts = [_text(pickle.dumps({key: dict([inner])}), unicode) for inner in value.items()]
    name = texts[0].partition("\n")[0] + "\n"
    return name + "".join(text.removeprefix(name) for text in texts)


@functools.lru_cache(maxsize=500)
def _text(pickled: bytes, unicode: bool) -> str:
    return dump(pickle.loads(pickled), unicode=unicode)

"""Mappings inside frozen records made read-only, and plain again for writers of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hardware_db import FrozenMap


def freeze(record: Any, *names: str) -> None:
    """Replaces mappings of a frozen record, and those inside them, by read-only ones."""
    for name in names:
        object.__setattr__(record, name, _frozen(getattr(record, name)))


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return FrozenMap({name: _frozen(part) for name, part in value.items()})
    return value


def thawed(value: Any) -> Any:
    """Read-only mappings as dictionaries, which is what JSON writers take."""
    if isinstance(value, Mapping):
        return {name: thawed(part) for name, part in value.items()}
    return value

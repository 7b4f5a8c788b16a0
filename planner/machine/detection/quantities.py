"""Numbers of a cluster file with their provenance: seen on the node, or assumed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from planner.base.version import __version__
from planner.machine.detection.seen import Fact, Seen


class Sources:
    """Keys of outputs and records, as the `sources` of a file have them.

    Args:
        seen: What outputs say.
        records: Names of records, which are their keys.
    """

    def __init__(self, seen: Iterable[Seen], records: Iterable[str]) -> None:
        self._records = tuple(records)
        self._keys: dict[str, str] = {}
        self._tools: dict[str, list[str]] = {}
        for one in seen:
            self._tools.setdefault(one.output, []).append(one.tool)
        for output in self._tools:
            name = re.sub(r"[^a-z0-9]+", "-", _last(output).lower()).strip("-") or "output"
            taken = {*self._records, *self._keys.values()}
            names = (name, *(f"{name}-{count}" for count in range(2, len(taken) + 3)))
            self._keys[output] = next(key for key in names if key not in taken)

    def key(self, output: str) -> str:
        """The key of an output."""
        return self._keys[output]

    def to_dict(self, used: set[str]) -> dict[str, Any]:
        """Those that are used, as a file has them."""
        records = {
            name: {
                "title": f"Record of the hardware database of planner {__version__}",
                "document": f"planner hardware show {name}",
            }
            for name in self._records
            if name in used
        }
        return records | {
            key: {"title": f"Output of {' and '.join(dict.fromkeys(self._tools[output]))}",
                  "document": _last(output)}
            for output, key in self._keys.items() if key in used
        }  # fmt: skip


def _last(output: str) -> str:
    """The name of a file without its folder; a command as it is."""
    return output if " " in output else output.rpartition("/")[2]


def measured(value: float, unit: str, fact: Fact[Any], sources: Sources) -> dict[str, Any]:
    """A number that stands in an output."""
    return {
        "value": value, "unit": unit, "kind": "measured", "source": sources.key(fact.output),
        "note": where(fact),
    }  # fmt: skip


def derived(
    value: float, unit: str, how: str, fact: Fact[Any], others: Iterable[str], sources: Sources
) -> dict[str, Any]:
    """A number that follows from outputs, and perhaps from the record.

    Args:
        value, unit: The number.
        how: It follows.
        fact: The first line that it follows from.
        others: Keys of the other sources.
        sources: Of the file.
    """
    keys = list(dict.fromkeys([sources.key(fact.output), *others]))
    return {
        "value": value, "unit": unit, "kind": "derived", "source": keys if keys[1:] else keys[0],
        "note": f"{how}; {where(fact)}",
    }  # fmt: skip


def assumed(value: float, unit: str, how: str, record: str = "") -> dict[str, Any]:
    """A number that nothing shows; with the record that it is from."""
    source = {"source": record} if record else {}
    return {"value": value, "unit": unit, "kind": "assumed", **source, "note": how}


def as_in(node: Any, record: str) -> Any:
    """Part of a record with its numbers assumed, as none of them was seen."""
    if isinstance(node, Mapping) and "value" in node:
        return assumed(node["value"], node["unit"], f"not seen; {node['kind']} there", record)
    if isinstance(node, Mapping):
        return {key: as_in(part, record) for key, part in node.items()}
    return node


def where(fact: Fact[Any]) -> str:
    """The line that says something, by the name of its file alone, and what stands there."""
    return f"{_last(fact.output)} line {fact.line}: {fact.text}"

"""Walking a record: its quantities, labels and sources, and whether every source key exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from hardware_db.quantity import Quantity, Source, Value


def is_quantity(node: object) -> TypeGuard[dict[str, Any]]:
    """Whether a node of a file is a quantity rather than a group."""
    return isinstance(node, dict) and "value" in node and "unit" in node


def walk(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted paths and nodes of all quantities and labels below a node, in file order.

    Members of a list are named by their `name`, else by their position.
    """
    if isinstance(node, dict) and not is_quantity(node):
        for key, child in node.items():
            if path or key != "sources":
                yield from walk(child, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            name = child.get("name") if isinstance(child, dict) else None
            step = f".{name}" if isinstance(name, str) else f"[{index}]"
            yield from walk(child, path + step)
    else:
        yield path, node


def quantities(data: Mapping[str, Any]) -> dict[str, Quantity]:
    """All quantities of a validated record by path."""
    return {path: to_quantity(node) for path, node in walk(data) if is_quantity(node)}


def labels(data: Mapping[str, Any]) -> dict[str, str]:
    """All strings of a validated record by path."""
    return {path: node for path, node in walk(data) if isinstance(node, str)}


def to_quantity(node: Mapping[str, Any]) -> Quantity:
    """The quantity that a validated mapping describes."""
    return Quantity(
        value=_frozen(node["value"]),
        unit=node["unit"],
        kind=node["kind"],
        sources=source_keys(node),
        note=node.get("note") or "",
        uncertainty=node.get("uncertainty"),
        rows=node.get("rows"),
    )


def _frozen(value: Any) -> Value:
    if isinstance(value, list):
        return tuple(tuple(row) if isinstance(row, list) else row for row in value)
    return value  # type: ignore[no-any-return]


def source_keys(node: Mapping[str, Any]) -> tuple[str, ...]:
    """The source keys of a quantity."""
    keys = node.get("source") or []
    return (keys,) if isinstance(keys, str) else tuple(keys)


def sources(data: Mapping[str, Any]) -> dict[str, Source]:
    """The sources of a validated record by key."""
    return {
        key: Source(
            key=key,
            title=entry["title"],
            reference=_reference(entry),
            accessed=entry.get("accessed") or "",
        )
        for key, entry in data.get("sources", {}).items()
    }


def _reference(entry: Mapping[str, str]) -> str:
    if entry.get("doi"):
        return f"https://doi.org/{entry['doi']}"
    if entry.get("arxiv"):
        return f"arXiv:{entry['arxiv']}"
    return entry.get("url") or entry.get("document") or ""


def source_problems(data: Any) -> list[str]:
    """Mistakes about sources: keys that are not defined, entries that lead nowhere."""
    declared = data.get("sources", {}) if isinstance(data, dict) else {}
    if not isinstance(declared, dict):
        return []
    found = []
    for path, node in walk(data):
        if is_quantity(node):
            keys = node.get("source")
            for key in keys if isinstance(keys, list) else [keys]:
                if isinstance(key, str) and key not in declared:
                    found.append(f"{path}.source: {key!r} is not defined under sources")
    for key, entry in declared.items():
        if isinstance(entry, dict) and not any(
            entry.get(form) for form in ("url", "doi", "arxiv", "document")
        ):
            found.append(f"sources.{key}: a url, doi, arxiv or document is required")
    return found

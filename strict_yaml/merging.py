"""Plain data that says only what differs from other plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard


def merged(base: Any, over: Any) -> Any:
    """The base with what differs; neither is changed.

    Mappings are merged key by key, lists of mappings with a `name` by those names. A mapping with
    a `value` is one number with its provenance, which replaces another whole, as everything else
    does.
    """
    if is_group(base) and is_group(over):
        return {**base, **{key: merged(base.get(key), part) for key, part in over.items()}}
    if is_named(base) and is_named(over):
        parts = {part["name"]: part for part in over}
        known = [merged(part, parts.pop(part["name"], {})) for part in base]
        return [*known, *parts.values()]
    return over


def is_group(node: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a node has parts of its own, and is not a number with its provenance."""
    return isinstance(node, Mapping) and "value" not in node


def is_named(node: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Whether a node is a list of mappings, each with a name."""
    return isinstance(node, list) and all(
        isinstance(part, Mapping) and isinstance(part.get("name"), str) for part in node
    )


def node_at(data: Any, path: str) -> Any:
    """What lies at a dotted path; parts of a list go by their `name`. None: nothing."""
    for step in path.split("."):
        if is_named(data):
            data = next((part for part in data if part["name"] == step), None)
        else:
            data = data.get(step) if isinstance(data, Mapping) else None
    return data


def nested(nodes: Mapping[str, Any], lists: tuple[str, ...] = ()) -> dict[str, Any]:
    """Data with a node at each dotted path.

    Args:
        nodes: By path.
        lists: First steps of paths whose second step is the name of a part of a list.
    """
    data: dict[str, Any] = {}
    for path, node in nodes.items():
        first, *rest = path.split(".")
        place = data
        if first in lists and rest:
            parts = data.setdefault(first, [])
            name, *rest = rest
            place = next((part for part in parts if part["name"] == name), {"name": name})
            if place not in parts:
                parts.append(place)
        else:
            rest = [first, *rest]
        for step in rest[:-1]:
            place = place.setdefault(step, {})
        place[rest[-1]] = node
    return data


def leaf_paths(data: Any, path: str = "") -> Iterator[str]:
    """Dotted paths of all that has no parts."""
    if is_group(data) or is_named(data):
        parts = data.items() if isinstance(data, Mapping) else ((p["name"], p) for p in data)
        for key, part in parts:
            if isinstance(data, list) or key != "name" or not path:
                yield from leaf_paths(part, f"{path}.{key}" if path else str(key))
    else:
        yield path

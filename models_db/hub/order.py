"""Which layers are local and which have experts, as the regular orders that a record can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models_db.hub.fields import Fields, Number, derived, number

MOST_LAYERS = 10_000
_LOCAL = {"sliding_attention": "sliding", "chunked_attention": "chunked"}
_KINDS = ("full_attention", *_LOCAL)


def layer_count(fields: Fields, *keys: str) -> Number:
    """The number of layers under any of its spellings."""
    return fields.count(*keys, most=MOST_LAYERS)


def listed_kinds(fields: Fields, layers: Number) -> list[bool] | None:
    """`layer_types` as one entry per layer, True where attention is local; None where absent."""
    listed = fields.names("layer_types")
    if listed is None:
        return None
    odd = next((kind for kind in listed if kind not in _KINDS), None)
    if odd is not None:
        fields.wrong(
            "layer_types", f"{str(odd)[:40]!r} is not supported; a layer is {', '.join(_KINDS)}"
        )
        return None
    total = layers["value"]
    fields.require(
        len(listed) == total, "layer_types", f"{len(listed)} entries, but there are {total} layers"
    )
    return [kind in _LOCAL for kind in listed]


def windows(
    fields: Fields,
    kinds: Sequence[bool],
    tokens: Number,
    kind: str = "sliding",
    key: str = "layer_types",
) -> dict[str, Any] | None:
    """The block `window` of a model file.

    Args:
        fields: where a mistake is noted.
        kinds: one entry per layer, True where attention is local.
        tokens: the window.
        kind: "sliding" or "chunked".
        key: what the kinds come from.

    Returns:
        The block; None where no layer is local, or the order is no cycle (a mistake).
    """
    found, irregular = regular_window(kinds, tokens, kind, key)
    said = "local and global layers do not repeat in a cycle, which is all we hold"
    fields.require(not irregular, key, said)
    return found


def regular_window(
    kinds: Sequence[bool], tokens: Number, kind: str = "sliding", key: str = "layer_types"
) -> tuple[dict[str, Any] | None, bool]:
    """The block `window` of a model file, and whether the layers do not repeat in its cycle.

    Args:
        kinds: one entry per layer, True where attention is local.
        tokens: the window.
        kind: "sliding" or "chunked".
        key: what the kinds come from.
    """
    if not any(kinds):
        return None, False
    irregular = False
    if all(kinds):
        local, wide, first = len(kinds), 0, "local"
    else:
        opening = _run(kinds, 0)
        other = _run(kinds, opening)
        local, wide = (opening, other) if kinds[0] else (other, opening)
        first = "local" if kinds[0] else "global"
        irregular = any(kinds[i] != kinds[i % (opening + other)] for i in range(len(kinds)))
    block = {
        "kind": kind,
        "tokens": {**tokens, "unit": "tokens"},
        "local_layers": derived(local, f"from {key}"),
        "global_layers": derived(wide, f"from {key}"),
        "first": first,
    }
    return block, irregular


def _run(kinds: Sequence[bool], start: int) -> int:
    """How many layers from one on are of its kind."""
    return next(
        (i - start for i in range(start, len(kinds)) if kinds[i] != kinds[start]),
        len(kinds) - start,
    )


def expert_order(fields: Fields, has_experts: Sequence[bool], key: str) -> tuple[Number, Number]:
    """Leading dense layers and the period of layers with experts, see `models_db.Moe`.

    Args:
        fields: where a mistake is noted.
        has_experts: one entry per layer.
        key: what they come from.
    """
    places = [i for i, expert in enumerate(has_experts) if expert]
    fields.require(bool(places), key, "no layer has experts; use a dense model_type")
    if not places:
        return number(0), number(1)
    dense, period, irregular = regular_experts(has_experts)
    said = "layers with experts do not come at equal distances, which is all we hold"
    fields.require(not irregular, key, said)
    return derived(dense, f"from {key}"), derived(period, f"from {key}")


def regular_experts(has_experts: Sequence[bool]) -> tuple[int, int, bool]:
    """Leading dense layers and period, and whether the layers are in no such order.

    An irregular order becomes one with as many layers with experts: dense ones first.

    Args:
        has_experts: one entry per layer, some of them True.
    """
    places = [i for i, expert in enumerate(has_experts) if expert]
    first, last = places[0], len(has_experts) - 1
    period = places[1] - first if places[1:] else (1 if first == last else first + 1)
    dense = max(0, first - period + 1)
    regular = all(
        expert == (i >= dense and (i - dense) % period == period - 1)
        for i, expert in enumerate(has_experts)
    )
    return (dense, period, False) if regular else (len(has_experts) - len(places), 1, True)

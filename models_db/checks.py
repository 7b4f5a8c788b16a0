"""Rules that a schema cannot state: provenance, and fields that must agree with each other.

Every check skips what is missing or malformed (the schema reports that), so that one reading of a
file reports all of its mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from models_db.errors import MOST_MISTAKES, nearest

Mistake = tuple[str, str]


def numbers(data: object, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Find every number of a file.

    Args:
        data: plain data of a model file, or a part of it.
        path: dotted path of that part.

    Yields:
        Dotted path and the mapping that holds `value`.
    """
    if not isinstance(data, Mapping):
        return
    if "value" in data:
        yield path, data
        return
    for key, part in data.items():
        if path or key not in ("sources", "defaults"):
            yield from numbers(part, f"{path}.{key}" if path else str(key))


def source_keys(number: Mapping[str, Any]) -> list[str]:
    """Keys of the sources that a number names; empty when malformed."""
    source = number.get("source")
    keys = source if isinstance(source, list) else [source]
    return [key for key in keys if isinstance(key, str)]


def provenance_mistakes(data: Mapping[str, Any]) -> list[Mistake]:
    """Check that sources are defined and used, and that assumptions are explained.

    Args:
        data: plain data of a model file, defaults filled in.

    Returns:
        Pairs of path and what is wrong.
    """
    defined = data.get("sources")
    known = {str(key) for key in defined} if isinstance(defined, Mapping) else set()
    mistakes: list[Mistake] = []
    used: set[str] = set()
    for path, number in numbers(data):
        for key in source_keys(number):
            used.add(key)
            if known and key not in known:  # without any the schema says so, once
                near = nearest(key, known) if len(mistakes) < MOST_MISTAKES else []
                hint = f"; did you mean {near[0]!r}?" if near else ""
                mistakes.append((f"{path}.source", f"{key!r} is not a key of sources{hint}"))
        if number.get("kind") in ("assumed", "derived") and not number.get("note"):
            mistakes.append(
                (f"{path}.note", f"missing; a number of kind {number['kind']} says why or how")
            )
    mistakes += [(f"sources.{key}", "no number uses it") for key in sorted(known - used)]
    for key, source in defined.items() if isinstance(defined, Mapping) else ():
        if isinstance(source, Mapping) and not (source.get("url") or source.get("sha256")):
            mistakes.append((f"sources.{key}.url", "missing; give it, or the sha256 of a file"))
    return mistakes


_MAY_BE_ZERO = ("window.global_layers", "moe.shared_experts", "moe.first_dense_layers")


class _Fields:
    """Typed look-up of values in plain data; None where missing, malformed or out of range."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def raw(self, path: str) -> Any:
        part: Any = self._data
        for key in path.split("."):
            if not isinstance(part, Mapping):
                return None
            part = part.get(key)
        return part

    def number(self, path: str) -> int | None:
        number = self.raw(path)
        value = number.get("value") if isinstance(number, Mapping) else None
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if value >= (0 if path in _MAY_BE_ZERO else 1) else None

    def numbers(self, *paths: str) -> tuple[int, ...] | None:
        values = tuple(value for path in paths if (value := self.number(path)) is not None)
        return values if len(values) == len(paths) else None


def architecture_mistakes(data: Mapping[str, Any]) -> list[Mistake]:
    """Check that the fields of a model agree with each other.

    Args:
        data: plain data of a model file.

    Returns:
        Pairs of path and what is wrong.
    """
    fields = _Fields(data)
    return [
        *_head_mistakes(fields),
        *_latent_mistakes(fields),
        *_window_mistakes(fields),
        *_order_mistakes(fields),
        *_recurrence_mistakes(fields),
        *_moe_mistakes(fields),
        *_mlp_mistakes(fields),
        *_position_mistakes(fields),
        *_vision_mistakes(fields),
        *_published_mistakes(fields),
    ]


def _head_mistakes(fields: _Fields) -> Iterator[Mistake]:
    bias = fields.raw("attention.bias")
    if isinstance(bias, list) and len({str(item) for item in bias}) < len(bias):
        yield "attention.bias", "names a projection twice"
    kind, counts = fields.raw("attention.kind"), fields.numbers("heads", "kv_heads")
    if counts is None:
        return
    heads, kv_heads = counts
    if heads % kv_heads:
        yield "kv_heads", f"{kv_heads} does not divide the {heads} heads"
    elif kind in ("mha", "mla") and kv_heads != heads:
        yield "kv_heads", f"{kv_heads}, but attention of kind {kind} has as many as heads ({heads})"
    elif kind == "mqa" and kv_heads != 1:
        yield "kv_heads", f"{kv_heads}, but attention of kind mqa has 1"
    elif kind == "gqa" and not 1 < kv_heads < heads:
        yield "kv_heads", f"{kv_heads} of {heads} heads is not gqa; use mha or mqa"


_LATENT_DIMS = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def _latent_mistakes(fields: _Fields) -> Iterator[Mistake]:
    kind = fields.raw("attention.kind")
    if kind == "mla":
        yield from _mla_mistakes(fields)
    elif kind in ("mha", "gqa", "mqa"):
        for key in ("q_lora_rank", *_LATENT_DIMS):
            if fields.raw(f"attention.{key}") is not None:
                yield f"attention.{key}", f"belongs to kind mla, not {kind}"


_PLAIN_IN_MLA: Mapping[str, object] = {
    "bias": [],
    "qk_norm": "none",
    "sinks": False,
    "output_gate": False,
}


def _mla_mistakes(fields: _Fields) -> Iterator[Mistake]:
    for key in _LATENT_DIMS:
        if fields.raw(f"attention.{key}") is None:
            yield f"attention.{key}", "missing; attention of kind mla needs it"
    parts = fields.numbers("attention.qk_nope_head_dim", "attention.qk_rope_head_dim")
    head_dim = fields.number("head_dim")
    if parts is not None and head_dim is not None and sum(parts) != head_dim:
        yield "head_dim", f"{head_dim} is not qk_nope_head_dim + qk_rope_head_dim = {sum(parts)}"
    plainly: tuple[tuple[str, object], ...] = (
        ("bias", []),
        ("qk_norm", "none"),
        ("sinks", False),
        ("output_gate", False),
    )
    for key, plain in plainly:
        if fields.raw(f"attention.{key}") not in (plain, None):
            shown = str(plain).lower()
            yield f"attention.{key}", f"must be {shown} for kind mla"


def _window_mistakes(fields: _Fields) -> Iterator[Mistake]:
    parts = fields.numbers("window.local_layers", "window.global_layers", "layers")
    if parts is None:
        return
    local, wide, layers = parts
    if local + wide > layers:
        yield "window", f"a cycle of {local} + {wide} layers is longer than the {layers} layers"
    if wide == 0 and fields.raw("window.first") == "global":
        yield "window.first", "must be local when there are no global layers"


def _moe_mistakes(fields: _Fields) -> Iterator[Mistake]:
    if not isinstance(fields.raw("moe"), Mapping):
        return
    counts = fields.numbers("moe.experts_per_token", "moe.experts")
    if counts is not None and counts[0] > counts[1]:
        yield "moe.experts_per_token", f"{counts[0]} is more than the {counts[1]} experts"
    shared, width = fields.number("moe.shared_experts"), fields.raw("moe.shared_expert_hidden")
    if shared and width is None:
        yield "moe.shared_expert_hidden", "missing; shared experts need their width"
    if shared == 0 and width is not None:
        yield "moe.shared_expert_hidden", "given, but there are no shared experts"
    if shared == 0 and fields.raw("moe.shared_expert_gate") is True:
        yield "moe.shared_expert_gate", "true, but there are no shared experts"
    yield from _expert_order_mistakes(fields)


def _expert_order_mistakes(fields: _Fields) -> Iterator[Mistake]:
    """Which layers have experts is said once: in `moe`, or in `order`."""
    letters = fields.raw("order.feed_forwards")
    for key in ("first_dense_layers", "layer_period"):
        given = fields.raw(f"moe.{key}") is not None
        if letters is None and not given:
            yield f"moe.{key}", "missing; it says which layers have experts"
        if letters is not None and given:
            yield f"moe.{key}", "given, but order.feed_forwards says which layers have experts"
    order = fields.numbers("moe.first_dense_layers", "moe.layer_period", "layers")
    if order is not None and order[0] + order[1] > order[2]:
        yield "moe", f"no layer of the {order[2]} has experts (first_dense_layers, layer_period)"


def _order_mistakes(fields: _Fields) -> Iterator[Mistake]:
    """The letters of `order` name parts that the file describes, and no more than its layers."""
    layers = fields.number("layers")
    for key in ("mixers", "feed_forwards"):
        letters = fields.raw(f"order.{key}")
        if isinstance(letters, str) and layers is not None and len(letters) > layers:
            yield f"order.{key}", f"{len(letters)} letters for {layers} layers"
    mixers = fields.raw("order.mixers")
    recurrent = isinstance(mixers, str) and bool(set("M+") & set(mixers))
    described = fields.raw("recurrence") is not None
    if recurrent and not described:
        yield "recurrence", "missing; order.mixers has layers with one (M, +)"
    if described and not recurrent:
        yield "recurrence", "given, but no layer of order.mixers has one (M, +)"
    letters = fields.raw("order.feed_forwards")
    if isinstance(letters, str) and isinstance(mixers, str) and letters and mixers and layers:
        made = ((mixers[i % len(mixers)], letters[i % len(letters)]) for i in range(layers))
        empty = next((i for i, parts in enumerate(made) if parts == (".", ".")), None)
        if empty is not None:
            yield "order", f"layer {empty}, counted from 0, has neither mixer nor feed-forward"
    if isinstance(letters, str) and ("E" in letters) != (fields.raw("moe") is not None):
        said = "has layers with experts (E), but there is no block moe"
        yield "order.feed_forwards", said if "E" in letters else "has no layer with experts (E)"


_RECURRENT: Mapping[str, tuple[str, ...]] = {
    "mamba2": ("key_heads", "key_dim", "kernel", "chunk"),
    "gated-delta": ("key_heads", "key_dim", "kernel", "chunk"),
    "kimi-delta": ("key_heads", "key_dim", "kernel", "rank", "chunk"),
    "lightning": ("key_heads", "key_dim", "chunk"),
    "mamba": ("key_dim", "kernel", "rank"),
    "short-convolution": ("kernel",),
}
_MAY_LACK = {("kimi-delta", "rank")}


def _recurrence_mistakes(fields: _Fields) -> Iterator[Mistake]:
    """Each kind of recurrence has the dimensions that belong to it."""
    kind = fields.raw("recurrence.kind")
    if not isinstance(kind, str) or kind not in _RECURRENT:
        return
    for key in ("key_heads", "key_dim", "kernel", "rank", "chunk"):
        given, belongs = fields.raw(f"recurrence.{key}") is not None, key in _RECURRENT[kind]
        if given and not belongs:
            yield f"recurrence.{key}", f"does not belong to kind {kind}"
        if belongs and not given and (kind, key) not in _MAY_LACK:
            yield f"recurrence.{key}", f"missing; a recurrence of kind {kind} needs it"
    heads = fields.numbers("recurrence.heads", "recurrence.key_heads")
    if heads is not None and heads[0] % heads[1]:
        yield "recurrence.key_heads", f"{heads[1]} does not divide the {heads[0]} heads"
    bias = fields.raw("recurrence.bias")
    if isinstance(bias, list) and "convolution" in bias and fields.raw("recurrence.kernel") is None:
        yield "recurrence.bias", "names a convolution, but there is no kernel"


def _mlp_mistakes(fields: _Fields) -> Iterator[Mistake]:
    if not isinstance(fields.raw("mlp"), Mapping):
        return
    has_width = fields.raw("mlp.hidden") is not None
    letters = fields.raw("order.feed_forwards")
    if letters is None and fields.raw("moe") is None:
        if not has_width:
            yield "mlp.hidden", "missing; the layers of this model are dense"
        return
    order = fields.numbers("moe.first_dense_layers", "moe.layer_period")
    if isinstance(letters, str):
        has_dense = "-" in letters
    elif order is None:
        return
    else:
        has_dense = order[0] > 0 or order[1] > 1
    if has_dense and not has_width:
        yield "mlp.hidden", "missing; some layers of this model are dense"
    if has_width and not has_dense:
        rest = "every layer has experts" if letters is None else "no layer has a dense one (-)"
        yield "mlp.hidden", f"given, but {rest}"


def _position_mistakes(fields: _Fields) -> Iterator[Mistake]:
    kind, table = fields.raw("positions.kind"), fields.raw("positions.max_positions")
    if kind == "learned" and table is None:
        yield "positions.max_positions", "missing; learned positions need the size of their table"
    if kind in ("rope", "alibi", "none") and table is not None:
        yield "positions.max_positions", f"belongs to kind learned, not {kind}"
    rows, seq_len = fields.number("positions.max_positions"), fields.number("seq_len")
    if kind == "learned" and rows is not None and seq_len is not None and rows < seq_len:
        yield "positions.max_positions", f"{rows} is less than seq_len {seq_len}"


def _vision_mistakes(fields: _Fields) -> Iterator[Mistake]:
    """Widths divide into heads, and patches into merged squares."""
    widths = fields.numbers("vision.hidden", "vision.heads")
    if widths is not None and widths[0] % widths[1]:
        yield "vision.heads", f"{widths[1]} does not divide the width {widths[0]}"
    squares = fields.numbers("vision.patches", "vision.merge")
    if squares is not None and squares[0] % squares[1] ** 2:
        side = squares[1]
        yield "vision.merge", f"{squares[0]} patches do not divide into squares of {side} x {side}"


def _published_mistakes(fields: _Fields) -> Iterator[Mistake]:
    if fields.raw("moe") is None and fields.raw("published.active_parameters") is not None:
        yield "published.active_parameters", "given, but the model has no experts"
    total = fields.number("published.total_parameters")
    for key in ("active_parameters", "other_parameters"):
        part = fields.number(f"published.{key}")
        if total is not None and part is not None and part >= total:
            yield f"published.{key}", f"{part} is not less than total_parameters {total}"

"""Read model files: shipped ones by name or alias, a user's own by path."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models_db.blocks import Attention, Mlp, Moe, Norm, Order, Positions, Published, Window
from models_db.checks import (
    Mistake,
    architecture_mistakes,
    numbers,
    provenance_mistakes,
    source_keys,
)
from models_db.defaults import blame_defaults, fill_in_defaults
from models_db.errors import ModelError, holding, mistakes_message, nearest
from models_db.model import Model
from models_db.provenance import Quantity, Source
from models_db.reading import parse_shipped, parse_yaml, read_bytes
from models_db.recurrence import Recurrence
from models_db.towers import vision_of
from strict_yaml.merging import merged, node_at
from strict_yaml.text import YamlText

if TYPE_CHECKING:
    from models_db.schema import Count, CountOrZero, ModelRecord, ParameterCount, Tokens

CONFIG = "config.json"
_DATA = Path(__file__).with_name("data")
_SUFFIXES = (".yaml", ".yml")
_MOST_BYTES = 10 * 2**20


@functools.cache
def shipped_names() -> tuple[str, ...]:
    """Names of the shipped model files, sorted."""
    entries = (entry.name for entry in _DATA.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in entries if name.endswith(".yaml")))


def shipped_content(name: str) -> bytes:
    """Content of a shipped model file.

    Args:
        name: one of `shipped_names()`.
    """
    return _DATA.joinpath(f"{name}.yaml").read_bytes()


@functools.cache
def shipped_aliases() -> Mapping[str, str]:
    """Alias (lower case) -> name, for all shipped models.

    Only the line `aliases: [...]` of each file is parsed; shipped files keep it on one line.
    """
    lines = (
        f"{name}: {line.removeprefix('aliases:')}"
        for name in shipped_names()
        for line in shipped_content(name).decode("utf-8").splitlines()
        if line.startswith("aliases:")
    )
    words = parse_shipped("\n".join(lines).encode(), "aliases")
    return {word.lower(): name for name, found in words.items() for word in found}


def load_model(
    name_or_path: str | os.PathLike[str], changes: Mapping[str, Any] | None = None
) -> Model:
    """Load a shipped model by name or alias, or a user's model file by path.

    Args:
        name_or_path: a name of `list_models()`, an alias such as "llama3-405b" (case does not
            matter), or the path of a YAML file (ends in .yaml or .yml, or exists).
        changes: what differs from that, as a file has it.

    Returns:
        The model, every number with its provenance in `quantities`.

    Raises:
        ModelError: unknown name, unreadable file, or a file with mistakes (all of them listed).
    """
    name = _shipped_name(name_or_path)
    if name is not None and not changes:
        return _shipped_model(name)
    data, text = model_data(name_or_path)
    if changes:
        return build_model(_differing(data, changes), YamlText("set"))
    return build_model(data, text)


def model_data(name_or_path: str | os.PathLike[str]) -> tuple[dict[str, Any], YamlText]:
    """The content of a model file as plain data, and its text; arguments as of `load_model`.

    Raises:
        ModelError: unknown name, unreadable file.
    """
    name = _shipped_name(name_or_path)
    if name is not None:
        return parse_shipped(shipped_content(name), name), YamlText(f"{name}.yaml")
    path = Path(name_or_path)
    if is_config(path):
        from models_db.hub import import_model  # noqa: PLC0415  (it builds on this module)

        return parse_yaml(import_model(path).text.encode("utf-8"), str(path)), YamlText(str(path))
    if path.suffix.lower() in _SUFFIXES or is_file(path):
        content = read_bytes(path, _MOST_BYTES)
        return parse_yaml(content, str(path)), YamlText(str(path), content)
    raise ModelError(_unknown(str(name_or_path)))


def record_text(name_or_path: str | os.PathLike[str]) -> str:
    """The YAML of a model file; arguments and errors as of `model_data`."""
    name = _shipped_name(name_or_path)
    if name is not None:
        return shipped_content(name).decode("utf-8")
    from strict_yaml.writing import dump  # noqa: PLC0415  (only when a file is written)

    return dump(model_data(name_or_path)[0], leaves_in_flow=True, width=100)


def _shipped_name(name_or_path: str | os.PathLike[str]) -> str | None:
    """The shipped model that a name or an alias means; None: it means none."""
    if not isinstance(name_or_path, str):
        return None
    word = name_or_path.strip().lower()
    return word if word in shipped_names() else shipped_aliases().get(word)


def _differing(data: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a model that differs: its publisher counted the parameters of another one.

    The kind of attention follows the numbers of heads, unless it is given or latent.
    """
    own = {key: node for key, node in data.items() if key != "published"}
    found: dict[str, Any] = merged(own, changes)
    kind = node_at(found, "attention.kind")
    heads, groups = (node_at(found, f"{name}.value") for name in ("heads", "kv_heads"))
    if kind in ("mha", "gqa", "mqa") and node_at(changes, "attention.kind") is None:
        kind = "mqa" if groups == 1 else "mha" if groups == heads else "gqa"
        found["attention"] = {**found["attention"], "kind": kind}
    used = {key for _, number in numbers(found) for key in source_keys(number)}
    used |= set(source_keys(found.get("defaults") or {}))
    found["sources"] = {key: node for key, node in found["sources"].items() if key in used}
    return found


@functools.cache
def _shipped_model(name: str) -> Model:
    return build_model(*model_data(name))


def is_config(path: str | os.PathLike[str]) -> bool:
    """Whether a path is meant to be imported: it ends in .json, or is a folder with a config."""
    place = Path(path)
    return place.suffix.lower() == ".json" or is_file(place / CONFIG)


def is_file(path: Path) -> bool:
    """Whether a path is a file; a name that no path can have is not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _unknown(word: str) -> str:
    """Message for a name that is neither shipped nor a file."""
    typed = word.strip().lower()
    names = {name: name for name in shipped_names()} | dict(shipped_aliases())
    known = holding(typed, shipped_names()) + [names[held] for held in holding(typed, names)]
    similar = [names[found] for found in nearest(typed, names, count=12)]
    held = list(dict.fromkeys(known))[:4]
    near = held if len(held) >= 3 else list(dict.fromkeys([*held, *similar]))[:3]
    hint = f"; the nearest names are {', '.join(near)}" if near else ""
    return (
        f"unknown model {word!r}{hint} ({len(shipped_names())} models are shipped, see "
        "planner models list; a file of your own ends in .yaml)"
    )


def model_from_bytes(content: bytes, origin: str, *, written: bool = True) -> Model:
    """Build a model from the content of its file.

    Args:
        content: the bytes of the file.
        origin: the file, as messages name it.
        written: whether that file holds the content, so that messages name its lines.

    Raises:
        ModelError: anything is wrong with the file; the message lists every mistake.
    """
    return build_model(parse_yaml(content, origin), YamlText(origin, content if written else b""))


def build_model(data: dict[str, Any], text: YamlText) -> Model:
    """The model of plain data; the message lists every mistake."""
    _check_kind(data, text.name)
    inherited = fill_in_defaults(data)
    record, mistakes = _validate(data)
    mistakes += provenance_mistakes(data) + architecture_mistakes(data)
    if mistakes or record is None:
        raise ModelError(mistakes_message(text, blame_defaults(mistakes, inherited)))
    return _build(record, data)


def _check_kind(data: Mapping[str, Any], origin: str) -> None:
    """Refuse a file that is about something else in one line.

    Raises:
        ModelError: none of its fields is one of a model.
    """
    from models_db.schema import ModelRecord  # noqa: PLC0415  (pydantic; not for names alone)

    if not set(data) & set(ModelRecord.model_fields):
        first = ", ".join(list(ModelRecord.model_fields)[:4])
        raise ModelError(f"{origin}: is not a model: it has none of its fields ({first}, ...)")


def _validate(data: dict[str, Any]) -> tuple[ModelRecord | None, list[Mistake]]:
    """Check plain data against the schema.

    Returns:
        The record or None, and the mistakes that the schema finds.
    """
    from pydantic import ValidationError  # noqa: PLC0415  (kept out of `import models_db`)

    from models_db.schema import ModelRecord  # noqa: PLC0415
    from models_db.wording import schema_mistakes  # noqa: PLC0415

    try:
        return ModelRecord.model_validate(data), []
    except ValidationError as error:
        return None, schema_mistakes(error)


def _optional(number: Count | CountOrZero | Tokens | ParameterCount | None) -> int | None:
    """Value of a number that may be absent."""
    return None if number is None else number.value


def _build(record: ModelRecord, data: Mapping[str, Any]) -> Model:
    """Turn a checked record into the frozen dataclass."""
    return Model(
        name=record.name,
        title=record.title,
        family=record.family,
        aliases=tuple(record.aliases),
        note=record.note or "",
        layers=record.layers.value,
        hidden=record.hidden.value,
        heads=record.heads.value,
        kv_heads=record.kv_heads.value,
        head_dim=record.head_dim.value,
        vocab_size=record.vocab_size.value,
        seq_len=record.seq_len.value,
        tied_embeddings=record.tied_embeddings,
        parallel_block=record.parallel_block,
        attention=_attention(record),
        window=_window(record),
        mlp=Mlp(hidden=_optional(record.mlp.hidden), gated=record.mlp.gated, bias=record.mlp.bias),
        norm=_norm(record),
        positions=Positions(
            kind=record.positions.kind, max_positions=_optional(record.positions.max_positions)
        ),
        moe=_moe(record),
        order=_order(record),
        recurrence=_recurrence(record),
        mtp_modules=record.mtp.modules.value if record.mtp else 0,
        vision=vision_of(record.vision),
        published=_published(record),
        quantities=dict(_quantities(data)),
        sources={key: Source(**source.model_dump()) for key, source in record.sources.items()},
    )


def _attention(record: ModelRecord) -> Attention:
    attention = record.attention
    return Attention(
        kind=attention.kind,
        v_head_dim=_optional(attention.v_head_dim) or record.head_dim.value,
        q_lora_rank=_optional(attention.q_lora_rank),
        kv_lora_rank=_optional(attention.kv_lora_rank),
        qk_nope_head_dim=_optional(attention.qk_nope_head_dim),
        qk_rope_head_dim=_optional(attention.qk_rope_head_dim),
        bias=tuple(attention.bias),
        qk_norm=attention.qk_norm,
        sinks=attention.sinks,
        output_gate=attention.output_gate,
    )


def _order(record: ModelRecord) -> Order | None:
    order = record.order
    if order is None:
        return None
    return Order(mixers=order.mixers, feed_forwards=order.feed_forwards or "")


def _recurrence(record: ModelRecord) -> Recurrence | None:
    found = record.recurrence
    if found is None:
        return None
    return Recurrence(
        kind=found.kind,
        heads=found.heads.value,
        head_dim=found.head_dim.value,
        key_heads=_optional(found.key_heads) or 0,
        key_dim=_optional(found.key_dim) or 0,
        kernel=_optional(found.kernel) or 0,
        rank=_optional(found.rank) or 0,
        bias=tuple(found.bias),
        norm=found.norm,
        chunk=_optional(found.chunk) or 0,
    )


def _window(record: ModelRecord) -> Window | None:
    window = record.window
    if window is None:
        return None
    return Window(
        kind=window.kind,
        tokens=window.tokens.value,
        local_layers=window.local_layers.value,
        global_layers=window.global_layers.value,
        first=window.first,
    )


def _norm(record: ModelRecord) -> Norm:
    norm = record.norm
    return Norm(
        kind=norm.kind,
        bias=norm.bias,
        per_layer=norm.per_layer.value,
        final=norm.final,
        embedding=norm.embedding,
    )


def _moe(record: ModelRecord) -> Moe | None:
    moe = record.moe
    if moe is None:
        return None
    return Moe(
        experts=moe.experts.value,
        experts_per_token=moe.experts_per_token.value,
        expert_hidden=moe.expert_hidden.value,
        shared_experts=moe.shared_experts.value,
        shared_expert_hidden=_optional(moe.shared_expert_hidden) or 0,
        shared_expert_gate=moe.shared_expert_gate,
        first_dense_layers=_optional(moe.first_dense_layers) or 0,
        layer_period=_optional(moe.layer_period) or 1,
        router_bias=moe.router_bias,
        groups=_optional(moe.groups) or 1,
        groups_per_token=_optional(moe.groups_per_token) or 1,
        latent=_optional(moe.latent) or 0,
    )


def _published(record: ModelRecord) -> Published:
    published = record.published
    return Published(
        total_parameters=_optional(published.total_parameters) if published else None,
        active_parameters=_optional(published.active_parameters) if published else None,
        other_parameters=(_optional(published.other_parameters) or 0) if published else 0,
        active_includes_input_embeddings=(
            published.active_includes_input_embeddings if published else True
        ),
    )


def _quantities(data: Mapping[str, Any]) -> Iterator[tuple[str, Quantity]]:
    """Every number of checked data with its provenance."""
    for path, number in numbers(data):
        yield (
            path,
            Quantity(
                value=number["value"],
                unit=number["unit"],
                kind=number["kind"],
                sources=tuple(source_keys(number)),
                note=number.get("note") or "",
                uncertainty=number.get("uncertainty") or 0,
            ),
        )

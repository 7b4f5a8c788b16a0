"""From the keys of a config.json to the parts of a model: by a row of the table, or a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from frozen_records import dataclass
from models_db.errors import ModelError, mistakes_message, nearest
from models_db.hub import dense, experts, latent, older
from models_db.hub.activations import activation_note
from models_db.hub.around import Around, around_of, has_text, outer_scope
from models_db.hub.class_defaults import CLASS_DEFAULTS, INNER_SIZES
from models_db.hub.contradictions import (
    architecture_notes,
    check_kind,
    check_outside,
    check_unread,
)
from models_db.hub.decoders import decoder
from models_db.hub.fields import Fields, shown
from models_db.hub.known_keys import HARMLESS, OUTER, names_token
from models_db.hub.parts import Parts
from models_db.hub.scope import Scope, plain_defaults
from models_db.hub.table import EMPTY, row_of, row_types
from strict_yaml.text import YamlText

_FAMILIES: Mapping[str, Callable[[Fields], Parts]] = MappingProxyType(
    {
        "bloom": older.bloom,
        "deepseek_v2": latent.deepseek_v2,
        "deepseek_v3": latent.deepseek_v3,
        "falcon": older.falcon,
        "glm4_moe": experts.glm4_moe,
        "gpt_oss": experts.gpt_oss,
        "kimi_k2": latent.deepseek_v3,
        "llama4_text": experts.llama4,
        "mistral": dense.mistral,
        "opt": older.opt,
        "qwen2": dense.qwen2,
        "qwen2_moe": experts.qwen2_moe,
        "qwen3": dense.qwen3,
        "qwen3_moe": experts.qwen3_moe,
    }
)
MODEL_TYPES = tuple(_FAMILIES)
"""The types that a function of their own reads; those of the table have rows.

What a row cannot say: a key whose absence is the default of its class and whose null means none
(windows of Mistral and Qwen, ranks, experts and predictors of DeepSeek, Kimi and GLM-4.5), lists
of layers that are checked one by one (Qwen's and Llama 4's layers with experts), an order of local
layers that is refused where it is in no cycle (gpt-oss), a length that stands in a key or is that
of the publication (BLOOM), and a number that stands for another where a flag says so (Falcon). OPT
could be a row.
"""


def known_types() -> tuple[str, ...]:
    """Every `model_type` that is read, sorted."""
    return tuple(sorted({*MODEL_TYPES, *row_types()}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a config.json says.

    Attributes:
        model_type: the type that was read, that of `text_config` where there is one.
        outer_type: the type around it, "" where there is none or nobody knows it.
        name: where the file says the model is from, or "".
        parts: the model; None where a record has no fields for it.
        lacks: what a record has no field for, or "".
        counted: parameters by part of the language model that `parts` does not hold.
        outer: parameters of the parts around the language model; None where they are not known.
        assumed: keys that are absent -> default of their class that stands in, as text.
        unread: keys that nobody here knows, sorted, other than those that are off (false, null,
            0, empty); they might change the model.
        nested: whether the model stands in `text_config`, beside other parts.
        quantized: how the weights are stored, such as "fp8", or "".
        dtype: type of the stored weights, such as "bfloat16", or "".
        notes: what is unusual for the type, one line each.
    """

    model_type: str
    outer_type: str
    name: str
    parts: Parts | None
    lacks: str
    counted: Mapping[str, int]
    outer: Mapping[str, int] | None
    assumed: Mapping[str, str]
    unread: tuple[str, ...]
    nested: bool
    quantized: str
    dtype: str
    notes: tuple[str, ...]


def read_config(data: Mapping[str, Any], origin: str, read_as: str | None = None) -> Reading:
    """Read the content of a config.json.

    Args:
        data: the object in the file.
        origin: the file, as messages name it.
        read_as: the type to read it as, whatever it says.

    Raises:
        ModelError: an unknown `model_type`, or mistakes of keys (all of them listed).
    """
    around = around_of(data, origin, read_as)
    keys = _merged(data, around) if around.nested else data
    inner_as = None if around.row is not None else read_as
    model_type = _model_type(keys, f"{origin}: {around.prefix}model_type", around.usual, inner_as)
    row = row_of(model_type) or EMPTY
    defaults = CLASS_DEFAULTS.get(model_type) or plain_defaults(row)
    if around.key:
        defaults = {**INNER_SIZES.get(model_type, {}), **defaults}
    fields = Fields(keys, model_type, defaults, around.prefix)
    scope = Scope(fields, row)
    scope.refuse()
    parts = _parts(fields, scope)
    counted = scope.parts()
    outer = outer_scope(around, data, fields)
    outer_parts = None if outer is None else outer.parts()
    notes = _checks(fields, scope, parts, data, around, read_as)
    if fields.mistakes:
        raise ModelError(mistakes_message(YamlText(origin), fields.mistakes))
    return Reading(
        model_type=model_type,
        outer_type="" if outer is None else outer.fields.model_type,
        name=_text(data.get("_name_or_path")),
        parts=parts,
        lacks="; ".join([*([row.lacks] if row.lacks else []), *scope.lacking]),
        counted=counted,
        outer=outer_parts,
        assumed={**fields.assumed, **_assumed(scope, outer)},
        unread=_unread(data, fields, scope, outer, around),
        nested=around.nested,
        quantized=_quantized(data, keys),
        dtype=_text(keys.get("torch_dtype") or keys.get("dtype") or data.get("torch_dtype")),
        notes=tuple(notes),
    )


def _parts(fields: Fields, scope: Scope) -> Parts | None:
    """The model as a record holds it; None where it has no fields for it."""
    if fields.model_type in _FAMILIES:
        return _FAMILIES[fields.model_type](fields)
    return None if scope.row.record is None else decoder(scope, scope.row.record)


def _checks(
    fields: Fields,
    scope: Scope,
    parts: Parts | None,
    data: Mapping[str, Any],
    around: Around,
    read_as: str | None,
) -> list[str]:
    """Notes mistakes of what contradicts the type; gives what is unusual for it."""
    if read_as is not None:
        said = data.get("model_type") if around.row is not None else fields.data.get("model_type")
        return [f"read as {read_as}, as asked; its model_type is {shown(said)}"]
    check_kind(fields, scope.row.shaping_keys)
    if not fields.mistakes and parts is not None and (around.key or not around.nested):
        check_unread(fields, _own_unread(fields, scope))
    if around.key:
        alone = {*MODEL_TYPES, *(name for name in row_types() if not has_text(name))}
        check_outside(fields, data, around, alone)
    notes = architecture_notes(fields, known_types())
    if parts is not None and (note := activation_note(fields, gated=parts.gated)):
        notes.append(note)
    return notes


def _assumed(scope: Scope, outer: Scope | None) -> dict[str, str]:
    """Defaults that stand in inside and around a language model."""
    around = {} if outer is None else outer.assumed()
    inside = {
        key: text
        for inner in scope.inside.values()
        if inner
        for key, text in inner.assumed().items()
    }
    return {
        key: text
        for key, text in {**around, **inside}.items()
        if not key.startswith(scope.fields.prefix or "text_config.")
    }


def _own_unread(fields: Fields, scope: Scope) -> set[str]:
    """Keys of a language model that nobody here knows and that are not off."""
    known = fields.used | HARMLESS | scope.row.known_keys
    return {
        key for key, value in fields.data.items()
        if value and key not in known and not names_token(key)
    }  # fmt: skip


def _unread(
    data: Mapping[str, Any], fields: Fields, scope: Scope, outer: Scope | None, around: Around
) -> tuple[str, ...]:
    """Keys that nobody here knows and that are not off."""
    own = _own_unread(fields, scope) - (OUTER if around.nested and not around.key else set())
    unread = {f"{around.prefix}{key}" for key in own}
    unread |= set(scope.unread())
    if around.nested:
        known = fields.used | HARMLESS | scope.row.known_keys
        inner = known | OUTER | {around.key}
        inner |= set() if outer is None else outer.fields.used | outer.row.known_keys
        unread |= {key for key in data if data[key] and key not in inner and not names_token(key)}
        unread |= set() if outer is None else set(outer.unread())
    return tuple(sorted(unread))


def _merged(data: Mapping[str, Any], around: Around) -> dict[str, Any]:
    """The keys of a language model; whether embedding and head are one may stand outside."""
    key = "tie_word_embeddings"
    others = () if around.row is None else around.row.spelled.get(key, ())
    said = next((data[name] for name in (*others, key) if data.get(name) is not None), None)
    tied = {} if said is None else {key: said}
    if around.row is not None and around.row.ties:
        return {**around.inner, key: around.row.defaults.get(key, False), **tied}
    return {**tied, **around.inner}


def _model_type(keys: Mapping[str, Any], place: str, usual: str, read_as: str | None) -> str:
    """`model_type`, which must be one that can be read; `place` is where it stands."""
    known = known_types()
    listed = f"{len(known)} types are read, see docs/models-types.md"
    said = keys.get("model_type", usual or None) if read_as is None else read_as
    if said is None:
        raise ModelError(f"{place}: missing; {listed}; add one (planner models import: --as llama)")
    if not isinstance(said, str):
        raise ModelError(f"{place}: must be text; {listed}")
    if said in known:
        return said
    near = _family(said, known) or nearest(said, known)
    hint = f"; the nearest is {near[0]}" if near else ""
    if read_as is not None:
        raise ModelError(f"--as {said[:60]!r} is no type that is read{hint}; {listed}")
    asked = near[0] if near else "llama"
    raise ModelError(
        f"{place}: {said[:60]!r} is not known{hint}; {listed}; planner models import --as {asked} "
        "reads it as that type"
    )


def _family(said: str, known: Iterable[str]) -> list[str]:
    """The longest type that a name begins or ends with: llama of my_llama, not mllama."""
    within = f"_{said.lower().replace('-', '_')}_"
    ends = [
        name for name in known if within.startswith(f"_{name}_") or within.endswith(f"_{name}_")
    ]
    return [max(ends, key=len)] if ends else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _quantized(data: Mapping[str, Any], keys: Mapping[str, Any]) -> str:
    """The method of `quantization_config`, or ""."""
    found = keys.get("quantization_config") or data.get("quantization_config")
    return _text(found.get("quant_method")) or "unnamed" if isinstance(found, dict) else ""

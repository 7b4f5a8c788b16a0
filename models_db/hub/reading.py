"""From the keys of a config.json to the parts of a model: one function per `model_type`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from frozen_records import dataclass
from models_db.errors import ModelError, mistakes_message, nearest
from models_db.hub import dense, experts, latent, older
from models_db.hub.activations import activation_note
from models_db.hub.class_defaults import CLASS_DEFAULTS
from models_db.hub.contradictions import architecture_notes, check_kind, check_outside
from models_db.hub.fields import Fields, shown
from models_db.hub.known_keys import HARMLESS, OUTER
from models_db.hub.parts import Parts
from strict_yaml.text import YamlText

_FAMILIES: Mapping[str, Callable[[Fields], Parts]] = MappingProxyType(
    {
        "bloom": older.bloom,
        "cohere": dense.cohere,
        "deepseek_v2": latent.deepseek_v2,
        "deepseek_v3": latent.deepseek_v3,
        "falcon": older.falcon,
        "gemma": dense.gemma,
        "gemma2": dense.gemma2,
        "gemma3_text": dense.gemma3,
        "glm4_moe": experts.glm4_moe,
        "gpt2": older.gpt2,
        "gpt_neox": older.gpt_neox,
        "gpt_oss": experts.gpt_oss,
        "kimi_k2": latent.deepseek_v3,
        "llama": dense.llama,
        "llama4_text": experts.llama4,
        "mistral": dense.mistral,
        "mixtral": experts.mixtral,
        "olmo2": dense.olmo2,
        "opt": older.opt,
        "phi3": dense.phi3,
        "qwen2": dense.qwen2,
        "qwen2_moe": experts.qwen2_moe,
        "qwen3": dense.qwen3,
        "qwen3_moe": experts.qwen3_moe,
    }
)
MODEL_TYPES = tuple(_FAMILIES)

# Why some types that people ask for cannot be read: what a record has no field for.
_TOO_MUCH = {
    "qwen3_next": "linear attention in most layers",
    "qwen3_5_text": "linear attention in most layers",
    "qwen3_5_moe_text": "linear attention in most layers",
    "kimi_linear": "linear attention in most layers",
    "phi": "a bias of the output head",
    "deepseek_v32": "the indexer of sparse attention",
    "glm_moe_dsa": "the indexer of sparse attention",
    "mamba": "state-space layers",
    "mamba2": "state-space layers",
    "nemotron_h": "state-space layers",
    "jamba": "state-space layers",
    "falcon_h1": "state-space layers",
    "gemma4_text": "layers whose heads differ in width",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a config.json says.

    Attributes:
        model_type: the type that was read, that of `text_config` where there is one.
        name: where the file says the model is from, or "".
        parts: the model.
        assumed: keys that are absent -> default of their class that stands in, as text.
        unread: keys that nobody here knows, sorted, other than those that are off (false, null,
            0, empty); they might change the model.
        nested: whether the model stands in `text_config`, beside other parts.
        quantized: how the weights are stored, such as "fp8", or "".
        dtype: type of the stored weights, such as "bfloat16", or "".
        notes: what is unusual for the type, one line each.
    """

    model_type: str
    name: str
    parts: Parts
    assumed: Mapping[str, str]
    unread: tuple[str, ...]
    nested: bool
    quantized: str
    dtype: str
    notes: tuple[str, ...]


def read_config(data: Mapping[str, Any], origin: str) -> Reading:
    """Read the content of a config.json.

    Args:
        data: the object in the file.
        origin: the file, as messages name it.

    Raises:
        ModelError: an unknown `model_type`, or mistakes of keys (all of them listed).
    """
    inner = data.get("text_config")
    if inner is not None and not isinstance(inner, dict):
        raise ModelError(f"{origin}: text_config: {shown(inner)} where an object belongs")
    nested = inner is not None
    keys = data if inner is None else _merged(data, inner)
    prefix = "text_config." if nested else ""
    model_type = _model_type(keys, f"{origin}: {prefix}model_type")
    fields = Fields(keys, model_type, CLASS_DEFAULTS[model_type], prefix)
    parts = _FAMILIES[model_type](fields)
    check_kind(fields)
    if nested:
        check_outside(fields, data, MODEL_TYPES)
    notes = architecture_notes(fields, (*MODEL_TYPES, *_TOO_MUCH))
    if note := activation_note(fields, gated=parts.gated):
        notes.append(note)
    if fields.mistakes:
        raise ModelError(mistakes_message(YamlText(origin), fields.mistakes))
    known = fields.used | HARMLESS
    unread = [key for key, value in keys.items() if value and key not in known]
    outer = [key for key in data if data[key] and key not in known | OUTER] if nested else []
    return Reading(
        model_type=model_type,
        name=_text(data.get("_name_or_path")),
        parts=parts,
        assumed=dict(fields.assumed),
        unread=tuple(sorted([f"{prefix}{key}" for key in unread] + outer)),
        nested=nested,
        quantized=_quantized(data, keys),
        dtype=_text(keys.get("torch_dtype") or keys.get("dtype") or data.get("torch_dtype")),
        notes=tuple(notes),
    )


def _merged(data: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of `text_config`; whether embedding and head are one may stand outside."""
    outside = data.get("tie_word_embeddings")
    tied = {} if outside is None else {"tie_word_embeddings": outside}
    return {**tied, **inner}


def _model_type(keys: Mapping[str, Any], place: str) -> str:
    """`model_type`, which must be one that can be read; `place` is where it stands."""
    listed = f"supported: {', '.join(MODEL_TYPES)}"
    said = keys.get("model_type")
    if said is None:
        raise ModelError(f"{place}: missing; {listed}")
    if not isinstance(said, str):
        raise ModelError(f"{place}: must be text; {listed}")
    if said in _FAMILIES:
        return said
    if said in _TOO_MUCH:
        raise ModelError(
            f"{place}: {said} has {_TOO_MUCH[said]}, which a record has no field for; {listed}"
        )
    near = nearest(said, MODEL_TYPES)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ModelError(f"{place}: {said[:60]!r} is not supported{hint}; {listed}")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _quantized(data: Mapping[str, Any], keys: Mapping[str, Any]) -> str:
    """The method of `quantization_config`, or ""."""
    found = keys.get("quantization_config") or data.get("quantization_config")
    return _text(found.get("quant_method")) or "unnamed" if isinstance(found, dict) else ""

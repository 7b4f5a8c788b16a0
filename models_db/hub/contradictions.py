"""Keys of a config.json that belong to another type than the one that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from models_db.hub.around import Around
from models_db.hub.fields import Fields, shown
from models_db.hub.table import shaping_keys

WITH_EXPERTS = (
    *("deepseek_v2", "deepseek_v3", "glm4_moe", "gpt_oss", "kimi_k2", "llama4_text", "mixtral"),
    *("qwen2_moe", "qwen3_moe"),
)
WITH_LATENTS = ("deepseek_v2", "deepseek_v3", "kimi_k2")
_OF_EXPERTS = (
    *("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
    *("num_experts_per_tok", "experts_per_token", "moe_intermediate_size"),
    *("n_shared_experts", "shared_expert_intermediate_size"),
)
_OF_LATENTS = ("kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")

# A class is called after its type: Qwen3MoeForCausalLM, GPT2LMHeadModel, LlamaModel.
_CLASS = re.compile(
    r"(?=\w+\Z)(\w+?)(?:For[A-Z]\w*|LMHeadModel|DoubleHeadsModel|PreTrainedModel|TextModel|Model)"
)
_MOST_CLASSES = 8
_MOST_TYPES = 3
_SHOWN = 60
# Types that share their code, and what Falcon's classes are called in its first files.
_SHARED = {
    "kimi_k2": ("deepseekv3",),
    "deepseek_v3": ("kimik2",),
    "falcon": ("rw",),
    "gpt-sw3": ("gpt2",),
    "internlm3": ("llama",),
    "iquestcoder": ("llama",),
}


def check_kind(fields: Fields, known: Iterable[str]) -> None:
    """Note a mistake for keys of experts or of latent attention in a type without.

    A key that is off (null, 0, 1, false, empty) says nothing.

    Args:
        fields: the keys.
        known: keys that the row of the type names.
    """
    read = fields.used | set(known)
    for keys, types, name in (
        (_OF_EXPERTS, WITH_EXPERTS, "experts"),
        (_OF_LATENTS, WITH_LATENTS, "latent attention"),
    ):
        found = next((key for key in keys if _is_on(fields.data.get(key))), None)
        if found is not None and found not in read and fields.model_type not in types:
            fields.wrong(
                found,
                f"{shown(fields.data[found])}, but {fields.model_type} has no {name}; "
                f"a model_type that has is {', '.join(types)}",
            )


def check_unread(fields: Fields, unread: Iterable[str]) -> None:
    """Note a mistake for each key that shapes other types and that this one does not have.

    Transformers passes over such a key, and code that comes with the weights may not.

    Args:
        fields: the keys.
        unread: those that nobody read.
    """
    shaping = shaping_keys()
    for key in sorted(unread):
        value = fields.data[key]
        if key not in shaping or (value == 1 and value is not True):
            continue
        named = [name for name in shaping[key] if name != fields.model_type]
        types = ", ".join(named[:_MOST_TYPES]) + (", ..." if named[_MOST_TYPES:] else "")
        fields.wrong(
            key,
            f"{shown(value)}, but {fields.model_type} has no such key, and shapes of {types} "
            f"depend on it; take it out, or --as {fields.model_type} passes over it",
        )


def check_outside(
    fields: Fields, data: Mapping[str, Any], around: Around, types: Iterable[str]
) -> None:
    """Note mistakes of what stands around a `text_config` and contradicts it.

    In transformers 5.23 some types take the outer value and some the inner one, such as
    `tie_word_embeddings` in gemma3 and llava.

    Args:
        fields: the keys of the `text_config` that were read.
        data: the whole file.
        around: where they stand in it.
        types: every `model_type` of language models alone, which have no `text_config`.
    """
    outer = data.get("model_type")
    if isinstance(outer, str) and outer in types:
        text = f"{outer} has no text_config, and one of {fields.model_type} stands in it"
        fields.mistakes.append(("model_type", text))
        return
    inner = around.inner
    tied = {"tie_word_embeddings"} if around.row is not None and around.row.ties else set()
    for name in sorted(fields.used - tied):
        values = [place.get(name) for place in (data, inner)]
        if all(isinstance(value, int) for value in values) and values[0] != values[1]:
            text = f"{shown(values[0])}, but {fields.prefix}{name} is {shown(values[1])}"
            fields.mistakes.append((name, text))


def _is_on(value: object) -> bool:
    return bool(value) and value != 1


def architecture_notes(fields: Fields, types: Iterable[str]) -> list[str]:
    """What to say of the first classes in `architectures`; one of another type is a mistake.

    Args:
        fields: the keys.
        types: every `model_type` that is known by name, supported or not.

    Returns:
        One line for each class that is called after no known type.
    """
    model_type = fields.model_type
    by_name = {_plain(name): name for name in types}
    own = (_plain(model_type), *_SHARED.get(model_type, ()))
    notes = []
    for said in (fields.names("architectures") or [])[:_MOST_CLASSES]:
        if not isinstance(said, str):
            fields.wrong("architectures", "must list the names of classes")
            continue
        match = _CLASS.fullmatch(said)
        stem = match[1].lower().replace("_", "") if match else ""
        if stem in by_name and stem not in own:
            fields.wrong(
                "architectures",
                f"{said[:_SHOWN]} is a class of {by_name[stem]}, but model_type is {model_type}",
            )
        elif stem not in own:
            notes.append(
                f"architectures: {said[:_SHOWN]!r} is no class of {model_type} that is known; "
                f"read as {model_type}"
            )
    return notes


def _plain(model_type: str) -> str:
    """A type as its classes are called, in lower case."""
    return model_type.removesuffix("_text").replace("_", "").replace("-", "")

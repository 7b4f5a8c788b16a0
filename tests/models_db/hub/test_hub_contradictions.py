"""Keys that do not belong to the model_type that a file names."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from models_db import ModelError
from models_db.hub import MODEL_TYPES, Import, import_model, known_types
from models_db.hub.activations import ACTIVATIONS
from models_db.hub.contradictions import WITH_EXPERTS, WITH_LATENTS

CONFIGS = sorted((Path(__file__).parent / "configs").glob("*.json"))


def changed(name: str, folder: Path, change: dict[str, Any]) -> Import:
    """A fixture with other values."""
    data = json.loads((CONFIGS[0].parent / f"{name}.json").read_text(encoding="utf-8"))
    data.get("text_config", data).update(change)
    path = folder / "config.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return import_model(path)


def refused(name: str, folder: Path, change: dict[str, Any]) -> str:
    """What is said of a fixture with other values, without the name of the file."""
    with pytest.raises(ModelError) as caught:
        changed(name, folder, change)
    return str(caught.value).removeprefix(f"{folder / 'config.json'}: ")


@each("path", CONFIGS)
def test_published_files_contradict_nothing(path: Path) -> None:
    found = import_model(path)
    assert not [line for line in found.remarks if line.startswith(("architectures", "hidden_act"))]
    assert (found.model.moe is not None) == (found.model_type in WITH_EXPERTS)
    assert (found.model.attention.kind == "mla") == (found.model_type in WITH_LATENTS)


@each(
    ("name", "architecture", "line"),
    [
        ("llama3.1-8b", "Qwen3MoeForCausalLM",
         "architectures: Qwen3MoeForCausalLM is a class of qwen3_moe, but model_type is llama"),
        ("qwen3-8b", "Qwen3NextForCausalLM",
         "architectures: Qwen3NextForCausalLM is a class of qwen3_next, but model_type is qwen3"),
        ("llama4-scout", "LlamaForCausalLM",
         "text_config.architectures: LlamaForCausalLM is a class of llama, but model_type is "
         "llama4_text"),
        ("gpt2", "GPTNeoXModel",
         "architectures: GPTNeoXModel is a class of gpt_neox, but model_type is gpt2"),
    ],
)  # fmt: skip
def test_classes_of_another_type_are_refused(
    tmp_path: Path, name: str, architecture: str, line: str
) -> None:
    assert refused(name, tmp_path, {"architectures": [architecture]}) == line


@each(
    ("name", "architecture"),
    [
        ("llama3.1-8b", "LLaMAForCausalLM"),
        ("llama3.1-8b", "LlamaForSequenceClassification"),
        ("falcon-7b", "RWForCausalLM"),
        ("kimi-k2", "KimiK2ForCausalLM"),
        ("deepseek-v3", "KimiK2ForCausalLM"),
        ("gemma3-27b", "Gemma3ForCausalLM"),
        ("gpt2", "GPT2DoubleHeadsModel"),
        ("gemma2-2b", "Gemma2PreTrainedModel"),
    ],
)
def test_classes_of_the_type_are_taken(tmp_path: Path, name: str, architecture: str) -> None:
    remarks = changed(name, tmp_path, {"architectures": [architecture]}).remarks
    assert not [line for line in remarks if "architectures" in line]


@each("architecture", ["MyModelForCausalLM", "Llama", ""])
def test_classes_that_nobody_knows_are_noted(tmp_path: Path, architecture: str) -> None:
    found = changed("llama3.1-8b", tmp_path, {"architectures": [architecture]})
    line = f"architectures: {architecture!r} is no class of llama that is known; read as llama"
    assert line in found.remarks


@each(
    ("value", "line"),
    [
        ("LlamaForCausalLM", "the text 'LlamaForCausalLM' where a list belongs"),
        ([3], "must list the names of classes"),
        ([3] * 100_000, "must list the names of classes"),
    ],
)
def test_classes_are_a_list_of_names(tmp_path: Path, value: object, line: str) -> None:
    assert refused("llama3.1-8b", tmp_path, {"architectures": value}) == f"architectures: {line}"


@each(
    ("value", "line"),
    [
        (3, "text_config: 3 where an object belongs"),
        ("llama", "text_config: the text 'llama' where an object belongs"),
        ([], "text_config: a list where an object belongs"),
        (False, "text_config: false where an object belongs"),
    ],
)
def test_a_language_model_is_an_object(tmp_path: Path, value: object, line: str) -> None:
    assert refused("llama3.1-8b", tmp_path, {"text_config": value}) == line


def test_an_empty_language_model_has_no_type(tmp_path: Path) -> None:
    line = "text_config.model_type: missing; "
    assert refused("llama3.1-8b", tmp_path, {"text_config": {}}).startswith(line)
    changed("llama3.1-8b", tmp_path, {"text_config": None})


@each(
    ("name", "change", "line"),
    [
        ("llama3.1-8b", {"num_local_experts": 8, "num_experts_per_tok": 2},
         "num_local_experts: 8, but llama has no experts; a model_type that has is "
         "deepseek_v2, deepseek_v3, glm4_moe"),
        ("qwen3-8b", {"moe_intermediate_size": 768},
         "moe_intermediate_size: 768, but qwen3 has no experts; a model_type that has is"),
        ("llama3.1-8b", {"kv_lora_rank": 512, "q_lora_rank": None},
         "kv_lora_rank: 512, but llama has no latent attention; a model_type that has is "
         "deepseek_v2, deepseek_v3, kimi_k2"),
        ("qwen3-30b-a3b", {"q_lora_rank": 1536},
         "q_lora_rank: 1536, but qwen3_moe has no latent attention; a model_type that has is"),
        ("llama3.1-8b", {"n_routed_experts": "many"},
         "n_routed_experts: the text 'many', but llama has no experts; a model_type that has is"),
    ],
)  # fmt: skip
def test_keys_of_another_kind_of_model_are_refused(
    tmp_path: Path, name: str, change: dict[str, Any], line: str
) -> None:
    said = refused(name, tmp_path, change)
    assert said.startswith(line)
    assert "\n" not in said


@each("off", [None, 0, 1, False, [], ""])
def test_keys_of_another_kind_that_are_off_are_passed_over(tmp_path: Path, off: object) -> None:
    keys = {"num_experts": off, "num_local_experts": off, "kv_lora_rank": None}
    assert changed("llama3.1-8b", tmp_path, keys).model.moe is None


def test_types_of_each_kind_are_supported() -> None:
    assert {*WITH_EXPERTS, *WITH_LATENTS} < {*ACTIVATIONS}


@each(
    ("name", "key", "value", "line"),
    [
        ("llama3.1-8b", "hidden_act", "swishy",
         "'swishy' is no activation that is known; did you mean swish? known: gelu, gelu_10, "),
        ("gpt2", "activation_function", "Gelu",
         "'Gelu' is no activation that is known; did you mean gelu? known: gelu"),
        ("gemma2-2b", "hidden_activation", "q" * 99,
         f"'{'q' * 40}...' is no activation that is known; known: gelu"),
        ("opt-125m", "activation_function", 3, "3 where the name of an activation belongs"),
        ("falcon-7b", "activation", ["gelu"], "a list where the name of an activation belongs"),
        ("llama3.1-8b", "hidden_act", "xielu",
         "xielu has parameters of its own, which a record has no field for"),
    ],
)  # fmt: skip
def test_activations_that_nobody_knows_are_refused(
    tmp_path: Path, name: str, key: str, value: object, line: str
) -> None:
    assert refused(name, tmp_path, {key: value}).startswith(f"{key}: {line}")


@each(
    ("name", "key", "value", "line"),
    [
        ("llama3.1-8b", "hidden_act", "gelu",
         "hidden_act is gelu, not the usual silu of llama: the feed-forward is gated all the same, "
         "and a model file holds no activation"),
        ("gpt2", "activation_function", "relu",
         "activation_function is relu, not the usual gelu_new of gpt2: the feed-forward is not "
         "gated all the same, and a model file holds no activation"),
    ],
)  # fmt: skip
def test_other_activations_than_usual_are_noted(
    tmp_path: Path, name: str, key: str, value: str, line: str
) -> None:
    found = changed(name, tmp_path, {key: value})
    assert line in found.remarks
    assert found.unread == ()


@each(
    ("name", "key", "value"),
    [
        ("llama3.1-8b", "hidden_act", "swish"),
        ("llama3.1-8b", "hidden_act", None),
        ("gpt2", "activation_function", "gelu"),
        ("falcon-7b", "activation", "gelu_fast"),
        ("gemma2-2b", "hidden_act", "relu"),
        ("bloom-560m", "hidden_act", "silu"),
    ],
)
def test_the_usual_activation_by_any_name_is_not_noted(
    tmp_path: Path, name: str, key: str, value: str | None
) -> None:
    remarks = changed(name, tmp_path, {key: value}).remarks
    assert not [line for line in remarks if "activation" in line]


def test_activations_are_known_for_every_type() -> None:
    assert {*MODEL_TYPES} - {"bloom"} < {*ACTIVATIONS} < {*known_types()}


def outside(name: str, folder: Path, change: dict[str, Any]) -> Import:
    """A fixture with other keys around its `text_config`."""
    data = json.loads((CONFIGS[0].parent / f"{name}.json").read_text(encoding="utf-8"))
    path = folder / "config.json"
    inner = {**data["text_config"], **change.get("text_config", {})}
    path.write_text(json.dumps({**data, **change, "text_config": inner}), encoding="utf-8")
    return import_model(path)


@each(
    ("name", "change", "line"),
    [
        ("llama4-scout", {"text_config": {"tie_word_embeddings": True},
                          "tie_word_embeddings": False},
         "tie_word_embeddings: false, but text_config.tie_word_embeddings is true"),
        ("gemma3-27b", {"num_hidden_layers": 80},
         "num_hidden_layers: 80, but text_config.num_hidden_layers is 62"),
        ("gemma3-27b", {"model_type": "llama"},
         "model_type: llama has no text_config, and one of gemma3_text stands in it"),
    ],
)  # fmt: skip
def test_what_stands_around_a_model_may_not_contradict_it(
    tmp_path: Path, name: str, change: dict[str, Any], line: str
) -> None:
    with pytest.raises(ModelError) as caught:
        outside(name, tmp_path, change)
    assert str(caught.value) == f"{tmp_path / 'config.json'}: {line}"


@each("change", [{"tie_word_embeddings": False}, {"num_hidden_layers": 48}, {"model_type": "own"}])
def test_what_agrees_with_it_may_stand_there(tmp_path: Path, change: dict[str, Any]) -> None:
    assert outside("llama4-scout", tmp_path, change).model.layers == 48

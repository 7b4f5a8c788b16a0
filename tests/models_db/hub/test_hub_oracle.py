"""The reader against transformers: shapes of the model that it builds from the same file."""

import inspect
import json
import re
import runpy
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from models_db.hub import import_model
from models_db.hub.activations import ACTIVATIONS, LEARNED, NAMES
from models_db.hub.class_defaults import CLASS_DEFAULTS, INNER_SIZES
from models_db.hub.contradictions import architecture_notes
from models_db.hub.fields import Fields
from models_db.hub.known_keys import HARMLESS
from models_db.hub.table import row_of, row_types

ROOT = Path(__file__).parents[3]
VERSION, KEPT = runpy.run_path(str(ROOT / "benchmarks" / "model_types.py"))["kept_types"]()
CONFIGS = sorted((Path(__file__).parent / "configs").glob("*.json"))
# Keys that are read from Hub files and that the classes of transformers 5.23 do not have.
NOT_IN_CLASS = {"max_window_layers"}
# A buffer there, a parameter of the router here.
_CORRECTION = "e_score_correction_bias"


# Published configurations with other values: what their class can be told and no file here says.
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("llama3.1-8b", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}),
    ("llama3.1-8b", {"head_dim": 96, "num_key_value_heads": None}),
    ("mistral-7b", {"head_dim": 160, "sliding_window": None}),
    ("qwen2.5-7b", {"use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 14}),
    ("qwen3-8b", {"attention_bias": True, "head_dim": 64}),
    ("olmo2-7b", {"attention_bias": True, "num_key_value_heads": 8}),
    ("phi-3-mini-128k", {"tie_word_embeddings": True, "sliding_window": 2047}),
    ("command-r-35b", {"attention_bias": True, "tie_word_embeddings": False}),
    ("mixtral-8x7b", {"num_local_experts": 16, "sliding_window": 4096}),
    ("qwen1.5-moe-a2.7b", {"qkv_bias": False, "decoder_sparse_step": 2}),
    ("qwen1.5-moe-a2.7b", {"mlp_only_layers": [0, 1, 2]}),
    ("qwen3-30b-a3b", {"decoder_sparse_step": 3, "attention_bias": True}),
    ("qwen3-30b-a3b", {"mlp_only_layers": [0]}),
    ("gemma2-2b", {"attention_bias": True, "tie_word_embeddings": False}),
    ("gemma3-1b", {"sliding_window_pattern": 4, "head_dim": 128}),
    ("gpt2", {"n_inner": 1000, "tie_word_embeddings": False}),
    ("gpt-neox-20b", {"attention_bias": False, "tie_word_embeddings": True}),
    ("opt-125m", {"enable_bias": False, "do_layer_norm_before": False}),
    ("opt-125m", {"_remove_final_layer_norm": True, "tie_word_embeddings": False}),
    ("bloom-560m", {"tie_word_embeddings": False}),
    ("falcon-7b", {"multi_query": False, "bias": True, "alibi": True}),
    ("falcon-7b", {"parallel_attn": False, "ffn_hidden_size": 1000}),
    ("falcon-40b", {"num_ln_in_parallel_attn": 1, "bias": True}),
    ("deepseek-v2", {"q_lora_rank": None, "first_k_dense_replace": 0}),
    ("deepseek-v3", {"n_shared_experts": 2, "tie_word_embeddings": True}),
    ("gpt-oss-20b", {"attention_bias": False, "tie_word_embeddings": True}),
    ("glm4.5-air", {"attention_bias": False, "use_qk_norm": True, "n_shared_experts": 3}),
    ("llama4-scout", {"interleave_moe_layer_step": 3, "attention_bias": True}),
    ("llama4-scout", {"moe_layers": [1, 3, 5, 7], "num_hidden_layers": 8}),
]


def built(data: dict[str, Any]) -> Any:
    """The language model of a configuration, without memory."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    data = dict(data.get("text_config", data))
    data.pop("quantization_config", None)
    data.pop("auto_map", None)
    name = {"kimi_k2": "deepseek_v3"}.get(data["model_type"], data["model_type"])
    config = transformers.CONFIG_MAPPING[name](**{**data, "model_type": name})
    with torch.device("meta"):
        return transformers.AutoModelForCausalLM.from_config(config)


def parameters(model: Any) -> int:
    """Elements of all trained tensors, those that are one counted once."""
    correction = sum(
        buffer.numel() for name, buffer in model.named_buffers() if _CORRECTION in name
    )
    return sum(tensor.numel() for tensor in model.parameters()) + correction


@pytest.mark.oracle
@each("path", CONFIGS)
def test_transformers_builds_as_many_parameters(path: Path) -> None:
    model = built(json.loads(path.read_text(encoding="utf-8")))
    assert import_model(path).model.total_parameters == parameters(model)


@pytest.mark.oracle
@each(("name", "change"), CHANGES)
def test_transformers_agrees_on_other_values(
    name: str, change: dict[str, Any], tmp_path: Path
) -> None:
    data = json.loads((CONFIGS[0].parent / f"{name}.json").read_text(encoding="utf-8"))
    data.get("text_config", data).update(change)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    model = built(data)
    found = import_model(path).model
    assert found.total_parameters == parameters(model)
    if kinds := getattr(model.config, "layer_types", None):
        assert [window is not None for window in found.attention_windows] == [
            kind != "full_attention" for kind in kinds
        ]


@pytest.mark.oracle
@pytest.mark.parametrize("model_type", sorted(set(CLASS_DEFAULTS) - {"kimi_k2"}))
def test_defaults_are_those_of_the_class(model_type: str) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.CONFIG_MAPPING[model_type]()
    declared = {field.name: field.default for field in fields(config)}
    defaults: Mapping[str, Any] = CLASS_DEFAULTS[model_type]
    for key, value in defaults.items():
        if key not in NOT_IN_CLASS or hasattr(config, key):
            assert declared.get(key, getattr(config, key)) == value, key


@pytest.mark.oracle
@pytest.mark.parametrize("model_type", sorted(INNER_SIZES))
def test_sizes_are_those_of_the_class(model_type: str) -> None:
    config = pytest.importorskip("transformers").CONFIG_MAPPING[model_type]()
    assert {key: getattr(config, key) for key in INNER_SIZES[model_type]} == INNER_SIZES[model_type]


# What a row has otherwise than its class: values that follow from other keys there.
FOLLOWS = {
    ("bailing_hybrid", "head_dim"),
    ("ernie4_5_moe", "moe_layer_end_index"),
    ("granitemoehybrid", "position_embedding_type"),
    ("nemotron_h", "hybrid_override_pattern"),
}


@pytest.mark.oracle
@pytest.mark.parametrize("model_type", row_types())
def test_defaults_of_rows_are_those_of_the_class(model_type: str) -> None:
    transformers = pytest.importorskip("transformers")
    row = row_of(model_type)
    assert row is not None
    decoder = {"is_decoder": True} if model_type == "reformer" else {}
    declared = transformers.CONFIG_MAPPING[model_type](**decoder).to_dict()
    for key, value in row.defaults.items():
        plain = isinstance(value, bool | int | float | str)
        if plain and key in declared and (model_type, key) not in FOLLOWS:
            assert declared[key] == value, key


_TAKEN = re.compile(r'kwargs\.(?:pop|get)\(\s*"(\w+)"|"(\w+)" in kwargs')


@pytest.mark.oracle
@pytest.mark.parametrize("model_type", [name for name in row_types() if f"causal/{name}" in KEPT])
def test_other_names_that_a_class_takes_are_known(model_type: str) -> None:
    transformers = pytest.importorskip("transformers")
    row = row_of(model_type)
    assert row is not None
    declared = transformers.CONFIG_MAPPING[model_type]
    known = row.known_keys | HARMLESS | {*KEPT[f"causal/{model_type}"].get("config", {})}
    taken = {one or two for one, two in _TAKEN.findall(inspect.getsource(declared))}
    other = {name for name, key in declared.attribute_map.items() if key in row.shaping_keys}
    assert (taken | other) - known == set()


@pytest.mark.oracle
@each("place", sorted(place for place, kept in KEPT.items() if "count" in kept))
def test_transformers_builds_what_is_kept(place: str) -> None:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    if transformers.__version__ != VERSION:
        pytest.skip(f"the counts are those of transformers {VERSION}")
    mapping, _, name = place.partition("/")
    builder = runpy.run_path(str(ROOT / ".ci" / "count_types.py"))["Builder"](mapping, name)
    assert builder.count(builder.base)[1] == KEPT[place]["count"]


@pytest.mark.oracle
def test_activations_are_those_of_transformers() -> None:
    pytest.importorskip("torch")
    activations = pytest.importorskip("transformers.activations")
    learned = {name for name in activations.ACT2FN if list(activations.ACT2FN[name].parameters())}
    assert learned == {*LEARNED}
    assert set(activations.ACT2FN) == {*NAMES, *LEARNED}


@pytest.mark.oracle
@pytest.mark.parametrize("model_type", sorted({*ACTIVATIONS, "bloom"} - {"kimi_k2"}))
def test_classes_and_activations_are_those_of_the_type(model_type: str) -> None:
    transformers = pytest.importorskip("transformers")
    auto = pytest.importorskip("transformers.models.auto.modeling_auto")
    config = transformers.CONFIG_MAPPING[model_type]()
    data = {"architectures": [auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[model_type]]}
    keys = Fields(data, model_type, {})
    assert architecture_notes(keys, ACTIVATIONS) == keys.mistakes == []
    if model_type in ACTIVATIONS:
        key, usual = ACTIVATIONS[model_type]
        assert getattr(config, key) == usual


def defaults_of(model_type: str) -> Mapping[str, Any]:
    """The defaults with which a type is read."""
    row = row_of(model_type)
    return CLASS_DEFAULTS[model_type] if row is None else row.defaults


def one_of_each() -> list[Path]:
    """The first configuration of each type."""
    firsts: dict[str, Path] = {}
    for path in CONFIGS:
        data = json.loads(path.read_text(encoding="utf-8"))
        firsts.setdefault(data.get("text_config", data)["model_type"], path)
    return list(firsts.values())


def disagreement(data: dict[str, Any], path: Path) -> str:
    """What differs between the two readings of a file; "" where nothing does, or one refuses."""
    path.write_text(json.dumps(data), encoding="utf-8")
    try:
        found = import_model(path).model
        model = built(data)
    except Exception:  # whatever transformers raises of a value
        return ""
    config, differing = model.config, []
    if found.total_parameters != parameters(model):
        differing.append(f"{parameters(model):,} parameters, read {found.total_parameters:,}")
    if kinds := getattr(config, "layer_types", None):
        local = [window is not None for window in found.attention_windows]
        if local != [kind != "full_attention" for kind in kinds]:
            differing.append(f"layers {kinds}, read {found.attention_windows}")
    length = getattr(config, "attention_chunk_size", getattr(config, "sliding_window", None))
    if any(found.attention_windows) and {length} != {*found.attention_windows} - {None}:
        differing.append(f"window {length}, read {found.attention_windows}")
    if found.moe and found.moe.experts_per_token != config.num_experts_per_tok:
        differing.append(f"{config.num_experts_per_tok} experts per token")
    return "; ".join(differing)


@pytest.mark.oracle
@each("path", one_of_each())
def test_absent_and_null_keys_are_refused_or_read_as_transformers_does(
    path: Path, tmp_path: Path
) -> None:
    text = path.read_text(encoding="utf-8")
    keys = json.loads(text).get("text_config", json.loads(text))
    differing = {}
    for key in sorted({*keys, *defaults_of(keys["model_type"])} - {"model_type"}):
        data = json.loads(text)
        inner = data.get("text_config", data)
        inner.pop(key, None)
        differing[f"{key} absent"] = disagreement(data, tmp_path / "config.json")
        inner[key] = None
        differing[f"{key} null"] = disagreement(data, tmp_path / "config.json")
    assert {key: said for key, said in differing.items() if said} == {}


@pytest.mark.oracle
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_local_layers_are_those_of_transformers(path: Path) -> None:
    config = built(json.loads(path.read_text(encoding="utf-8"))).config
    kinds = getattr(config, "layer_types", None)
    found = import_model(path).model
    if kinds is None:
        pytest.skip("its class lists no layers")
    assert [window is not None for window in found.attention_windows] == [
        kind != "full_attention" for kind in kinds
    ]

"""Configurations that are wrong: one line per mistake, never a traceback."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from models_db import ModelError, load_model
from models_db.hub import import_model, known_types
from models_db.hub.reading import read_config

LISTED = f"{len(known_types())} types are read, see docs/models-types.md"
CONFIGS = {path.stem: path for path in sorted((Path(__file__).parent / "configs").glob("*.json"))}


def content(name: str) -> dict[str, Any]:
    """The keys of a fixture."""
    data: dict[str, Any] = json.loads(CONFIGS[name].read_text(encoding="utf-8"))
    return data


def refused(folder: Path, data: object, file: str = "config.json") -> str:
    """What is said of a file, without its name."""
    path = folder / file
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    path.write_bytes(raw)
    with pytest.raises(ModelError) as caught:
        import_model(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    return said.removeprefix(str(path)).removeprefix(": ")


@each(
    ("raw", "line"),
    [
        (b"", "empty; a JSON object belongs here"),
        (b" \n", "empty; a JSON object belongs here"),
        (b"\x80\x02\xff\x00", "not text (byte 0 is not UTF-8)"),
        (b"[1]", "holds a list; a JSON object of names and values belongs here"),
        (b"7", "holds a single value; a JSON object of names and values belongs here"),
        (b"{\n'a': 1}", "line 2: not valid JSON: Expecting property name"),
        (b'{"a": NaN}', "not valid JSON: NaN is not a number"),
        (b'{"a": -Infinity}', "not valid JSON: -Infinity is not a number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON: a number has too many digits"),
        (b'{"a": 1, "a": 2}', "not valid JSON: the key 'a' occurs twice"),
        (b'{"a": ' + b"[" * 100_000, "nested too deep for a model's file"),
        (b" " * (10 * 2**20 + 1), "larger than 10 MiB"),
        (b'{"a": Infinity}', "not valid JSON: Infinity is not a number"),
        (b"{}", f"model_type: missing; {LISTED}; add one (planner models import: --as llama)"),
        (b'{"model_type": 3}', f"model_type: must be text; {LISTED}"),
    ],
)
def test_files_that_are_no_configuration(tmp_path: Path, raw: bytes, line: str) -> None:
    said = refused(tmp_path, raw)
    assert said.startswith(line)
    assert "\n" not in said


@each(
    ("model_type", "nearest"),
    [
        ("lama", "; the nearest is llama"),
        ("gemma4_texts", "; the nearest is gemma4_text"),
        ("qwen3-next", "; the nearest is qwen3_next"),
        ("x" * 999, ""),
    ],
)
def test_unknown_types_are_refused_by_name(tmp_path: Path, model_type: str, nearest: str) -> None:
    said = refused(tmp_path, {"model_type": model_type})
    assert said.startswith(f"model_type: {model_type[:60]!r} is not known{nearest}; {LISTED}; ")
    assert said.endswith(" reads it as that type")
    assert "\n" not in said
    assert len(said) < 300


LARGE = 10**9 + 1
CHANGES: list[tuple[str, dict[str, Any], str]] = [
    ("llama3.1-8b", {"hidden_size": None},
     "hidden_size: missing; a whole number of at least 1 belongs here"),
    ("llama3.1-8b", {"hidden_size": "4096"},
     "hidden_size: the text '4096' where a whole number belongs"),
    ("llama3.1-8b", {"hidden_size": 4096.0}, "hidden_size: 4096.0 where a whole number belongs"),
    ("llama3.1-8b", {"hidden_size": True}, "hidden_size: true where a whole number belongs"),
    ("llama3.1-8b", {"hidden_size": []}, "hidden_size: a list where a whole number belongs"),
    ("llama3.1-8b", {"hidden_size": LARGE},
     "hidden_size: 1000000001 is out of range; from 1 to 1,000,000,000"),
    ("llama3.1-8b", {"hidden_size": 10**300},
     "hidden_size: a very long number is out of range; from 1 to 1,000,000,000"),
    ("llama3.1-8b", {"num_hidden_layers": 0},
     "num_hidden_layers: 0 is out of range; from 1 to 10,000"),
    ("llama3.1-8b", {"num_hidden_layers": 10_001},
     "num_hidden_layers: 10001 is out of range; from 1 to 10,000"),
    ("llama3.1-8b", {"num_attention_heads": 7},
     "num_key_value_heads: 8 does not divide the 7 heads of num_attention_heads"),
    ("llama3.1-8b", {"num_attention_heads": 24, "head_dim": None},
     "num_attention_heads: 24 heads do not divide the hidden width of 4096; state head_dim"),
    ("llama3.1-8b", {"tie_word_embeddings": "no"},
     "tie_word_embeddings: the text 'no' where true or false belongs"),
    ("llama3.1-8b", {"rope_scaling": [1]}, "rope_scaling: a list where an object belongs"),
    ("mistral-7b", {"sliding_window": -1},
     "sliding_window: -1 is out of range; from 1 to 1,000,000,000"),
    ("gpt-oss-20b", {"layer_types": ["full_attention"]},
     "layer_types: 1 entries, but there are 24 layers"),
    ("gpt-oss-20b", {"layer_types": ["linear_attention"] * 24},
     "layer_types: 'linear_attention' is not supported; a layer is full_attention, "
     "sliding_attention, chunked_attention"),
    ("gpt-oss-20b", {"layer_types": (["sliding_attention"] * 5 + ["full_attention"] * 3) * 3},
     ""),
    ("gpt-oss-20b",
     {"layer_types": ["sliding_attention"] + ["full_attention"] * 2 + ["sliding_attention"] * 21},
     "layer_types: local and global layers do not repeat in a cycle, which is all we hold"),
    ("gpt-oss-20b", {"layer_types": "all"}, "layer_types: the text 'all' where a list belongs"),
    ("gpt-oss-20b", {"experts_per_token": 3},
     "experts_per_token: 3, but num_experts_per_tok is 4"),
    ("qwen3-30b-a3b", {"num_experts": 4},
     "num_experts_per_tok: 8 is more than the 4 experts"),
    ("qwen3-30b-a3b", {"mlp_only_layers": [5]},
     "mlp_only_layers: layers with experts do not come at equal distances, which is all we hold"),
    ("qwen3-30b-a3b", {"mlp_only_layers": list(range(48))},
     "mlp_only_layers: no layer has experts; use a dense model_type"),
    ("qwen3-30b-a3b", {"mlp_only_layers": [48]},
     "mlp_only_layers: must list layers by number, from 0 to 47"),
    ("qwen3-30b-a3b", {"decoder_sparse_step": 0},
     "decoder_sparse_step: 0 is out of range; from 1 to 1,000,000,000"),
    ("deepseek-v3", {"first_k_dense_replace": 61},
     "first_k_dense_replace: no layer has experts; use a dense model_type"),
    ("deepseek-v3", {"moe_layer_freq": 2, "first_k_dense_replace": 3},
     "moe_layer_freq: 2: transformers 5.23 passes over it, and DeepSeek's own code makes only each "
     "such layer one of experts; allowed: 1"),
    ("deepseek-v3", {"attention_bias": True},
     "attention_bias: true: latent attention with biases is more than a record holds"),
    ("command-r-35b", {"use_qk_norm": True},
     "use_qk_norm: true: norms with weights of their own for each head are more than a record "
     "holds"),
    ("gpt2", {"add_cross_attention": True},
     "add_cross_attention: true: an encoder's attention is more than a record holds"),
    ("opt-125m", {"word_embed_proj_dim": 512},
     "word_embed_proj_dim: 512 is not hidden_size 768: projected embeddings are more than a "
     "record holds"),
    ("opt-125m", {"layer_norm_elementwise_affine": False},
     "layer_norm_elementwise_affine: false: norms without weights are less than a record holds"),
]  # fmt: skip


@each(("name", "change", "line"), CHANGES)
def test_values_that_are_wrong(
    tmp_path: Path, name: str, change: dict[str, Any], line: str
) -> None:
    data = {**content(name), **change}
    if line:
        assert refused(tmp_path, data) == line
    else:
        read_config(data, "config.json")


def test_keys_of_the_language_model_are_named_in_full(tmp_path: Path) -> None:
    data = content("llama4-scout")
    data["text_config"]["num_local_experts"] = "16"
    assert refused(tmp_path, data) == (
        "text_config.num_local_experts: the text '16' where a whole number belongs"
    )


def test_all_mistakes_are_listed_at_once(tmp_path: Path) -> None:
    said = refused(tmp_path, {"model_type": "llama"}).splitlines()
    assert said[0] == "5 mistakes"
    assert [line.strip().partition(":")[0] for line in said[1:]] == [
        "num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size",
        "intermediate_size",
    ]  # fmt: skip


def test_keys_that_nobody_knows_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**content("qwen3-8b"), "experts_of_mine": 3, "off": False}))
    found = import_model(path)
    assert found.unread == ("experts_of_mine",)
    said = "not read, and the count is wrong if a shape depends on them: experts_of_mine"
    assert found.remarks[0] == said == found.model.unknown_keys


def test_tokens_and_towers_shape_nothing(tmp_path: Path) -> None:
    """The config.json of Qwen2-VL as published has its language model and the tower's keys flat."""
    flat = {
        "model_type": "qwen2_vl", "hidden_size": 3584, "intermediate_size": 18944,
        "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
        "vocab_size": 152064, "max_position_embeddings": 32768, "max_window_layers": 28,
        "vision_token_id": 151654, "my_token_ids": [1], "mine": 2,
        "vision_config": {"depth": 32, "embed_dim": 1280, "in_chans": 3, "spatial_patch_size": 14},
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(flat), encoding="utf-8")
    assert import_model(tmp_path).unread == ("mine",)


@each("path", ["no-such-folder/config.json", "a\0b.json"])
def test_files_that_are_not_there(path: str) -> None:
    with pytest.raises(ModelError, match="cannot read the file"):
        import_model(path)


def test_folder_without_a_configuration(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no config\.json in this folder"):
        import_model(tmp_path)


def test_models_are_loaded_from_configurations(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(CONFIGS["qwen3-8b"].read_bytes())
    by_folder, by_file = load_model(tmp_path), load_model(str(tmp_path / "config.json"))
    assert by_folder == by_file
    assert by_file.total_parameters == load_model("qwen3-8b").total_parameters


@each(
    ("folder", "name"),
    [("My Model (v2)!", "my-model-v2"), ("__", "imported"), ("ÄÖ", "imported"),
     ("a..b--c", "a.b-c"), ("x" * 200, "x" * 60)],
)  # fmt: skip
def test_names_come_from_the_folder(tmp_path: Path, folder: str, name: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "config.json").write_bytes(CONFIGS["qwen3-8b"].read_bytes())
    assert import_model(tmp_path / folder).model.name == name


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.integers(0, 200),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.lists(st.one_of(st.integers(-3, 70), st.text(max_size=3)), max_size=70),
    st.dictionaries(st.text(max_size=5), st.integers(0, 3), max_size=3),
)


def outcome(path: Path) -> str:
    """What is said of a file, "" where it is read."""
    try:
        import_model(path)
    except ModelError as error:
        return str(error)
    return ""


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_configurations_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    found = content(data.draw(st.sampled_from(sorted(CONFIGS))))
    keys = found.get("text_config", found)
    for key in data.draw(st.lists(st.sampled_from(sorted(keys)), min_size=1, max_size=3)):
        keys[key] = data.draw(ODD)
    path = tmp_path_factory.mktemp("damaged", numbered=True) / "config.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    said = outcome(path)
    assert not said or said.startswith(f"{path}: ")


@settings(max_examples=100, deadline=None)
@given(raw=st.binary(max_size=60))
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes", numbered=True) / "config.json"
    path.write_bytes(raw)
    said = outcome(path)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said

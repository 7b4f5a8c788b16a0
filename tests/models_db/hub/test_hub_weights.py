"""Parameters that safetensors files hold, counted from their headers."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from models_db import ModelError
from models_db.hub import Import, import_model
from models_db.hub.weights import INDEX, read_weights

LLAMA: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2,
    "intermediate_size": 16, "vocab_size": 32, "max_position_embeddings": 64,
    "torch_dtype": "bfloat16",
}  # fmt: skip


def tensors_of(layers: int) -> dict[str, list[int]]:
    """Names and shapes of the tensors of that model."""
    shapes: dict[str, list[int]] = {
        "model.embed_tokens.weight": [32, 8],
        "model.norm.weight": [8],
        "lm_head.weight": [32, 8],
    }
    for i in range(layers):
        layer = f"model.layers.{i}"
        for name in "qkvo":
            shapes[f"{layer}.self_attn.{name}_proj.weight"] = [8, 8]
        for name in ("gate", "up"):
            shapes[f"{layer}.mlp.{name}_proj.weight"] = [16, 8]
        shapes[f"{layer}.mlp.down_proj.weight"] = [8, 16]
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"{layer}.{name}.weight"] = [8]
    return shapes


def header(shapes: dict[str, Any]) -> bytes:
    """A safetensors file without its data."""
    entries = {
        name: {"dtype": "BF16", "shape": shape, "data_offsets": [0, 0]}
        for name, shape in shapes.items()
    }
    text = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    return len(text).to_bytes(8, "little") + text


def folder(path: Path, shapes: dict[str, Any] | None = None, **keys: Any) -> Path:
    """A folder with a configuration and, if given, one file of weights."""
    (path / "config.json").write_text(json.dumps({**LLAMA, **keys}), encoding="utf-8")
    if shapes is not None:
        (path / "model.safetensors").write_bytes(header(shapes))
    return path


def differs(found: Import) -> list[str]:
    """Remarks on counts that differ."""
    return [line for line in found.remarks if line.startswith("the weights hold")]


def test_shapes_give_the_count_of_the_record(tmp_path: Path) -> None:
    found = import_model(folder(tmp_path, tensors_of(2)))
    assert found.weights is not None
    assert found.weights.exact
    assert found.weights.text == found.weights.total == found.model.total_parameters
    assert found.model.published.total_parameters == found.model.total_parameters
    assert found.model.quantities["published.total_parameters"].kind == "measured"
    assert differs(found) == []


def test_tables_factors_and_copies_are_no_parameters(tmp_path: Path) -> None:
    more = {
        "model.layers.0.self_attn.rotary_emb.inv_freq": [2],
        "model.layers.0.mlp.up_proj.weight_scale_inv": [1, 1],
    }
    found = import_model(folder(tmp_path, {**tensors_of(2), **more}, tie_word_embeddings=True))
    assert found.weights is not None
    assert found.weights.copies == 32 * 8
    assert found.weights.text == found.model.total_parameters
    assert found.model.published.other_parameters == 32 * 8
    assert differs(found) == []


def test_later_layers_and_other_parts_are_apart(tmp_path: Path) -> None:
    shapes = {**tensors_of(3), "vision_tower.encoder.layers.0.fc1.weight": [4, 4]}
    found = import_model(folder(tmp_path, shapes))
    assert found.weights is not None
    assert found.weights.other == 16
    assert found.weights.predictors == 4 * 64 + 3 * 128 + 16
    assert found.weights.text == found.model.total_parameters


def test_adapters_beside_the_model_do_not_count(tmp_path: Path) -> None:
    folder(tmp_path, tensors_of(2))
    (tmp_path / "adapter_model.safetensors").write_bytes(header({"lora.weight": [7]}))
    found = import_model(tmp_path)
    assert found.weights is not None
    assert found.weights.total == found.model.total_parameters


def test_a_difference_is_said(tmp_path: Path) -> None:
    found = import_model(folder(tmp_path, {**tensors_of(2), "model.layers.0.more.weight": [5]}))
    assert len(differs(found)) == 1
    assert differs(found)[0].endswith("(+5)")


def test_packed_halves_count_twice_and_packed_words_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(
        header({"a.down_proj_blocks": [3, 16], "a.down_proj_scales": [3]})
    )
    found = read_weights(tmp_path, layers=1, tied=False, dtype="")
    assert found is not None
    assert found.text == 96
    (tmp_path / "model.safetensors").write_bytes(header({"a.qweight": [4, 4]}))
    assert read_weights(tmp_path, layers=1, tied=False, dtype="") is None


def index(path: Path, data: object) -> Path:
    """Writes an index of weights."""
    (path / INDEX).write_text(json.dumps(data), encoding="utf-8")
    return path / INDEX


def test_an_index_leads_to_its_files(tmp_path: Path) -> None:
    folder(tmp_path)
    shapes = tensors_of(2)
    files = {name: f"model-{i % 2}.safetensors" for i, name in enumerate(shapes)}
    for file in set(files.values()):
        held = {name: shape for name, shape in shapes.items() if files[name] == file}
        (tmp_path / file).write_bytes(header(held))
    (tmp_path / "stray.safetensors").write_bytes(header({"other": [99]}))
    path = index(tmp_path, {"metadata": {"total_size": 1}, "weight_map": files})
    found = import_model(path)
    assert found.weights is not None
    assert found.weights.file == "2 safetensors files"
    assert found.weights.total == found.model.total_parameters


@each("name", ["model.safetensors", "other.safetensors", "cut.safetensors"])
def test_a_file_of_weights_is_not_asked_for_the_model(name: str, tmp_path: Path) -> None:
    folder(tmp_path, tensors_of(2))
    (tmp_path / "cut.safetensors").write_bytes(b"ab")
    with pytest.raises(ModelError, match=rf"{name}: weights do not say which model") as caught:
        import_model(tmp_path / name)
    assert "name the folder" in str(caught.value)


def test_sets_of_which_files_are_missing_are_not_counted(tmp_path: Path) -> None:
    folder(tmp_path, tensors_of(2))
    (tmp_path / "model.safetensors").rename(tmp_path / "model-00002-of-00003.safetensors")
    found = import_model(tmp_path)
    assert found.weights is None
    assert "the weights are not counted: 2 of their 3 files are not here" in found.remarks
    for other in (1, 3):
        (tmp_path / f"model-{other:05}-of-00003.safetensors").write_bytes(header({}))
    whole = import_model(tmp_path)
    assert whole.weights is not None
    assert whole.weights.total == whole.model.total_parameters


def test_an_index_alone_gives_bytes(tmp_path: Path) -> None:
    folder(tmp_path)
    total = sum(_product(shape) for shape in tensors_of(2).values())
    index(tmp_path, {"metadata": {"total_size": 2 * total}, "weight_map": {"a": "m.safetensors"}})
    found = import_model(tmp_path)
    assert found.weights is not None
    assert not found.weights.exact
    assert found.weights.total == found.model.total_parameters == total
    assert found.model.quantities["published.total_parameters"].kind == "derived"
    assert differs(found) == []


def test_an_index_alone_that_differs_is_told(tmp_path: Path) -> None:
    folder(tmp_path)
    index(tmp_path, {"metadata": {"total_size": 2000}, "weight_map": {"a": "m.safetensors"}})
    found = import_model(tmp_path)
    count = found.model.total_parameters
    assert differs(found) == [
        "the weights hold 1,000 parameters of all parts, by model.safetensors.index.json, the "
        f"record counts {count:,} ({1000 - count:+,})"
    ]


def test_bytes_of_quantized_weights_say_nothing(tmp_path: Path) -> None:
    folder(tmp_path, quantization_config={"quant_method": "fp8"})
    index(tmp_path, {"metadata": {"total_size": 64}, "weight_map": {"a": "m.safetensors"}})
    found = import_model(tmp_path)
    assert found.weights is None
    assert any("stored as fp8" in line for line in found.remarks)


def _product(shape: list[int]) -> int:
    return shape[0] * (shape[1] if shape[1:] else 1)


@each(
    ("raw", "line"),
    [
        (b"", "no safetensors file: its header would have 0 bytes"),
        (b"\xff" * 8, "no safetensors file: its header would have 18,446,744,073,709,551,615"),
        ((50).to_bytes(8, "little") + b"{}", "cut off: 2 of the 50 bytes of its header"),
        ((2).to_bytes(8, "little") + b"[]", "header: holds a list"),
        ((3).to_bytes(8, "little") + b"{1}", "header: line 1: not valid JSON"),
        ((9).to_bytes(8, "little") + b'{"a": []}', "header: 'a' has no dtype and shape"),
        (header({"a": [-1]}), "header: 'a' has no dtype and shape"),
        (header({"a": [True]}), "header: 'a' has no dtype and shape"),
        (header({"a": [2**60]}), "header: 'a' has no dtype and shape"),
        (header({"a": [2] * 9}), "header: 'a' has no dtype and shape"),
    ],
)
def test_files_that_are_no_weights(tmp_path: Path, raw: bytes, line: str) -> None:
    folder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(raw)
    with pytest.raises(ModelError) as caught:
        import_model(tmp_path)
    said = str(caught.value).removeprefix(str(tmp_path / "model.safetensors")).removeprefix(": ")
    assert said.startswith(line)
    assert "\n" not in said


@each("names", [None, [], {"a": 3}, {"a": "../up.safetensors"}, {"a": "/etc/passwd"}, {"a": "x\0"}])
def test_indexes_that_lead_elsewhere(tmp_path: Path, names: object) -> None:
    folder(tmp_path)
    index(tmp_path, {"weight_map": names})
    with pytest.raises(ModelError, match="weight_map: must map tensors to names of files"):
        import_model(tmp_path)

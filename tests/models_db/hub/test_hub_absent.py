"""Keys that are absent take the default of their class; null is not absent."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from models_db import ModelError
from models_db.hub import Import, import_model

CONFIGS = Path(__file__).parent / "configs"


def changed(name: str, folder: Path, change: dict[str, Any], *absent: str) -> Import:
    """A fixture with other values, and without some keys."""
    data = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))
    keys = data.get("text_config", data)
    keys.update(change)
    for key in absent:
        del keys[key]
    path = folder / "config.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return import_model(path)


@each(
    ("name", "key", "number", "value"),
    [
        ("deepseek-v2", "q_lora_rank", "attention.q_lora_rank", 1536),
        ("deepseek-v3", "q_lora_rank", "attention.q_lora_rank", 1536),
        ("kimi-k2", "q_lora_rank", "attention.q_lora_rank", 1536),
        ("deepseek-v2", "n_shared_experts", "moe.shared_experts", 2),
        ("deepseek-v3", "n_shared_experts", "moe.shared_experts", 1),
        ("glm4.5-air", "n_shared_experts", "moe.shared_experts", 1),
        ("deepseek-v3", "num_nextn_predict_layers", "mtp.modules", 1),
        ("glm4.5-air", "num_nextn_predict_layers", "mtp.modules", 1),
        ("mistral-7b", "num_key_value_heads", "kv_heads", 8),
        ("mixtral-8x7b", "num_key_value_heads", "kv_heads", 8),
        ("qwen3-30b-a3b", "num_key_value_heads", "kv_heads", 4),
        ("gemma2-2b", "num_key_value_heads", "kv_heads", 4),
        ("gpt-oss-20b", "num_key_value_heads", "kv_heads", 8),
        ("llama4-scout", "num_key_value_heads", "kv_heads", 8),
    ],
)
def test_absent_keys_are_assumed_as_their_class_has_them(
    tmp_path: Path, name: str, key: str, number: str, value: int
) -> None:
    found = changed(name, tmp_path, {}, key)
    quantity = found.model.quantities[number]
    assert (quantity.value, quantity.kind) == (value, "assumed")
    assert found.assumed[key] == str(value)
    assert any(
        line.startswith(f"{key} is absent: {value}, the default of") for line in found.remarks
    )


def test_null_ranks_and_counts_are_none(tmp_path: Path) -> None:
    whole = changed("deepseek-v3", tmp_path, {"q_lora_rank": None})
    assert whole.model.attention.q_lora_rank is None
    assert "q_lora_rank" not in whole.assumed
    alone = changed(
        "deepseek-v3", tmp_path, {"n_shared_experts": None, "num_nextn_predict_layers": None}
    ).model
    assert alone.moe is not None
    assert alone.moe.shared_experts == alone.mtp_modules == 0


def test_null_experts_make_a_dense_model_and_absent_ones_none(tmp_path: Path) -> None:
    assert changed("deepseek-v3", tmp_path, {"n_routed_experts": None}).model.moe is None
    with pytest.raises(ModelError, match="num_experts: missing; a whole number of at least 1"):
        changed("deepseek-v3", tmp_path, {}, "n_routed_experts")


def test_null_heads_are_as_many_as_query_heads(tmp_path: Path) -> None:
    model = changed("mistral-7b", tmp_path, {"num_key_value_heads": None}).model
    assert model.kv_heads == model.heads


def test_defaults_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    line = (
        "num_key_value_heads: absent, and the 32 of its class does not divide the 14 heads of "
        "num_attention_heads"
    )
    with pytest.raises(ModelError, match=line):
        changed("qwen2.5-0.5b", tmp_path, {}, "num_key_value_heads")


@each(
    ("name", "key"),
    [
        ("deepseek-v3", "kv_lora_rank"),
        ("gemma2-2b", "sliding_window"),
        ("gpt-oss-20b", "sliding_window"),
        ("llama4-scout", "attention_chunk_size"),
        ("llama3.1-8b", "max_position_embeddings"),
    ],
)
def test_null_is_no_number(tmp_path: Path, name: str, key: str) -> None:
    with pytest.raises(ModelError, match=f"{key}: null where a whole number belongs"):
        changed(name, tmp_path, {key: None})


def test_null_flags_are_off(tmp_path: Path) -> None:
    model = changed("falcon-7b", tmp_path, {"multi_query": None, "parallel_attn": None}).model
    assert model.kv_heads == model.heads
    assert not model.parallel_block


def test_sliding_windows_that_are_null_are_none(tmp_path: Path) -> None:
    sliding = {"use_sliding_window": True, "max_window_layers": 14}
    whole = changed("qwen2.5-7b", tmp_path, {**sliding, "sliding_window": None}).model
    assert set(whole.attention_windows) == {None}
    local = changed("qwen2.5-7b", tmp_path, sliding, "sliding_window").model
    assert set(local.attention_windows) == {None, 4096}

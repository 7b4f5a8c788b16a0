"""The table of types: counts of transformers, formulas, and types that no cost is modelled for."""

import contextlib
import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from models_db import ModelError
from models_db.hub import Counted, Import, NotModelledError, import_model, known_types
from models_db.hub.formulas import FormulaError, evaluate
from models_db.hub.table import row_of, row_types

ROOT = Path(__file__).parents[3]
PAGE: dict[str, Any] = runpy.run_path(str(ROOT / "benchmarks" / "model_types.py"))
KEPT: dict[str, Any] = PAGE["kept_types"]()[1]


def config(name: str, **change: Any) -> dict[str, Any]:
    """The default configuration that is kept of a type, with some keys changed."""
    mapping = next(
        key for key in ("causal", "encoder-decoder", "vision") if f"{key}/{name}" in KEPT
    )
    data: dict[str, Any] = {**KEPT[f"{mapping}/{name}"]["config"], **change}
    return {key: value for key, value in data.items() if value != "absent"}


def read(folder: Path, data: dict[str, Any], read_as: str | None = None) -> Import | Counted:
    """What becomes of a configuration."""
    path = folder / "config.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    try:
        return import_model(path, read_as=read_as)
    except NotModelledError as error:
        return error.counted


def refused(folder: Path, data: dict[str, Any], read_as: str | None = None) -> str:
    """What is said of a configuration, without its file."""
    with pytest.raises(ModelError) as caught:
        read(folder, data, read_as)
    assert not isinstance(caught.value, NotModelledError)
    return str(caught.value).removeprefix(f"{folder / 'config.json'}: ")


def test_the_page_says_what_the_reader_does() -> None:
    page = (ROOT / "docs" / "models-types.md").read_text(encoding="utf-8")
    assert page == PAGE["page"](), (
        "write it again: python benchmarks/model_types.py --write docs/models-types.md"
    )
    assert "| wrong" not in page
    causal = page.partition("## Causal")[2].partition("## ")[0]
    rows = [line for line in causal.splitlines() if line.startswith("| `")][1:]
    exact = [line for line in rows if "| exact" in line]
    assert len(rows) == 189
    assert len(exact) >= 0.85 * len(rows)


def test_most_kept_configurations_have_other_values_than_the_default() -> None:
    read = [name for name in KEPT if name.startswith("causal/") and "config" in KEPT[name]]
    varied = [name for name in read if KEPT[name].get("varied")]
    assert len(varied) > 0.9 * len(read)
    for name in varied:
        assert KEPT[name]["varied_count"] != KEPT[name]["count"], name


def test_a_row_stands_in_no_second_place() -> None:
    assert len(known_types()) == len(set(known_types()))
    for name in row_types():
        row = row_of(name)
        assert row is not None
        assert row.record is not None or row.count or row.inside, name
        assert row.record is not None or row.lacks or row.inside, name


@each(
    ("formula", "value"),
    [
        ("2 * a + b // 3", 25),
        ("a / 2", 5),
        ("up(a, 3)", 4),
        ("over(4, i * i)", 14),
        ("over(len(kinds), kinds[i] == 'x')", 2),
        ("1 if flag and not none else 2", 1),
        ("none or a", 10),
        ("b in [5, 16] and 1 < a <= 10", True),
        ("min(a, b) - max(1, 2) % 2", 10),
        ("-int(2.9)", -2),
        ("inner.size", 7),
    ],
)
def test_formulas(formula: str, value: object) -> None:
    names = {"a": 10, "b": 16, "kinds": ["x", "y", "x"], "flag": True, "none": None}
    assert evaluate(formula, {**names, "inner.size": 7}.__getitem__) == value


@each(
    ("formula", "said"),
    [
        ("a / 3", "a / 3 is 10 / 3, which is not whole"),
        ("a // (b - 16)", "b - 16. is a division by 0"),
        ("kinds[a] == 'x'", "the value does not belong in kinds.a."),
        ("2 + (a + kinds)", "the value does not belong in a . kinds"),
        ("over(20000, i)", "at most 10,000"),
    ],
)
def test_formulas_that_values_do_not_fit(formula: str, said: str) -> None:
    names = {"a": 10, "b": 16, "kinds": ["x"]}
    with pytest.raises(FormulaError, match=said):
        evaluate(formula, names.__getitem__)


@each(
    "formula", ["a ** 99", "(lambda: 1)()", "f'{a}'", "[x for x in a]", "a.__class__()", "open(a)"]
)
def test_formulas_are_arithmetic_alone(formula: str) -> None:
    with pytest.raises((ValueError, KeyError, FormulaError)):
        evaluate(formula, {"a": 2}.__getitem__)


def test_types_without_a_cost_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path, config("xlstm"))
    assert isinstance(found, Counted)
    assert found.text_parameters == KEPT["causal/xlstm"]["count"]
    assert found.lacks == "a recurrence in place of attention"
    with pytest.raises(NotModelledError, match="6,865,424,896 parameters are counted exactly"):
        import_model(tmp_path / "config.json")


def test_what_a_record_has_no_field_for_is_said(tmp_path: Path) -> None:
    found = read(tmp_path, config("phi"))
    assert isinstance(found, Import)
    assert found.beside == {"bias of the head": 51_200}
    assert found.text_parameters == found.model.total_parameters + 51_200
    assert "bias of the head 51,200" in found.model.note
    assert any("no field of a record holds" in line for line in found.remarks)


def test_a_record_without_a_hundredth_of_a_token_is_not_made(tmp_path: Path) -> None:
    found = read(tmp_path, config("doge"))
    assert isinstance(found, Import | Counted)
    gated = read(tmp_path, config("beam"))
    assert isinstance(gated, Counted)
    assert gated.lacks.startswith("local and global layers that repeat in no cycle")


def test_hybrid_layers_are_in_the_record(tmp_path: Path) -> None:
    found = read(tmp_path, config("jamba"))
    assert isinstance(found, Import)
    assert found.model.mixers.count("attention") == 4
    assert found.model.recurrence is not None
    assert found.model.recurrence.kind == "mamba"
    assert found.model.total_parameters == KEPT["causal/jamba"]["count"]


def test_parts_around_a_language_model_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path, config("gemma3"))
    assert isinstance(found, Import)
    assert found.outer == {"vision tower": 92_884_224, "projector": 1_770_240}
    total = found.text_parameters + sum(found.outer.values())
    assert total == KEPT["causal/gemma3"]["count"]


def test_ties_around_a_language_model_have_another_name_too(tmp_path: Path) -> None:
    tied, apart = (
        read(tmp_path, config("lfm2_vl", tie_embedding=value)).text_parameters
        for value in (True, False)
    )
    text = config("lfm2_vl")["text_config"]
    assert apart - tied == text["vocab_size"] * text["hidden_size"]


def test_a_language_model_inside_has_the_sizes_of_its_class(tmp_path: Path) -> None:
    """LLaVA's published file leaves them out: its language model is Vicuna 7B."""
    text = {"model_type": "llama", "vocab_size": 32064, "max_position_embeddings": 4096}
    found = read(tmp_path, config("llava", text_config=text))
    assert isinstance(found, Import)
    assert found.model.total_parameters == 6_738_939_904  # 6,738,415,616 with 32,000 tokens
    line = "text_config.hidden_size is absent: 4096, the default of llama in transformers 5.23"
    assert any(line.removeprefix("text_config.") in one for one in found.remarks)
    said = refused(tmp_path, {**text, "num_attention_heads": 32})  # a whole file states them
    assert "num_hidden_layers: missing" in said


def test_a_file_is_read_as_another_type_where_asked(tmp_path: Path) -> None:
    data = {**config("llama"), "model_type": "somebodys_llama", "magic": 3}
    said = refused(tmp_path, data)
    assert said.startswith("model_type: 'somebodys_llama' is not known")
    found = read(tmp_path, data, "llama")
    assert isinstance(found, Import)
    assert found.model.total_parameters == KEPT["causal/llama"]["count"]
    assert found.unread == ("magic",)
    line = "read as llama, as asked; its model_type is the text 'somebodys_llama'"
    assert line in found.remarks
    whole = read(tmp_path, {**config("llava"), "model_type": "somebodys_llava"}, "llava")
    assert isinstance(whole, Import)
    assert whole.outer is not None
    assert whole.text_parameters + sum(whole.outer.values()) == KEPT["vision/llava"]["count"]
    inside = read(tmp_path, {"model_type": "x", "text_config": data}, "llama")
    assert inside.text_parameters == KEPT["causal/llama"]["count"]
    said = refused(tmp_path, data, "lama")
    assert said.startswith("--as 'lama' is no type that is read; the nearest is llama; ")


# Counts of transformers 5.23.0: its classes take other names of keys, and fill in lists of layers.
OTHER_NAMES: list[tuple[str, dict[str, Any], int]] = [
    ("qwen3_next", {"full_attention_interval": 3, "layer_types": "absent"}, 79_648_571_392),
    ("qwen3_5_text", {"full_attention_interval": 2, "layer_types": "absent"}, 8_884_337_664),
    ("nemotron_h", {"mamba_n_groups": 4, "n_groups": "absent"}, 1_964_156_296),
    ("nemotron_h", {"mamba_d_conv": 2, "conv_kernel": "absent"}, 1_968_335_240),
    ("nemotron_h", {"mamba_conv_bias": False, "use_conv_bias": "absent"}, 1_968_345_480),
    ("nemotron_h", {"layer_types": ["mamba", "attention", "mlp"], "layers_block_type": "absent"},
     1_401_497_984),
    ("kimi_linear", {"n_shared_experts": 2, "num_shared_experts": "absent"}, 49_317_106_208),
    ("kimi_linear", {"layer_types": "absent", "mlp_layer_types": "absent"}, 49_133_081_120),
    ("bailing_hybrid", {"layer_group_size": 3, "layer_types": "absent"}, 124_196_622_208),
    ("deepseek_v32", {"num_experts": 128, "n_routed_experts": "absent"}, 344_870_336_000),
    ("lfm2", {"tie_embedding": False, "tie_word_embeddings": "absent"}, 3_109_379_840),
    ("lfm2", {"layer_types": "absent", "full_attn_idxs": "absent"}, 2_705_497_600),
    ("axk1", {"moe_layer_freq": 2, "mlp_layer_types": "absent"}, 275_839_695_488),
    ("cohere2_moe", {"first_k_dense_replace": 2, "mlp_layer_types": "absent",
                     "layer_types": "absent"}, 182_253_723_648),
    ("glm_moe_dsa", {"index_topk_freq": 3, "indexer_types": "absent"}, 743_433_251_328),
    ("beam", {"mlp_layer_types": "absent"}, 501_267_612_352),
    ("hy_v3", {"mlp_layer_types": "absent"}, 295_033_543_488),
    ("laguna", {"mlp_layer_types": "absent"}, 33_189_975_808),
    ("glm4_moe_lite", {"mlp_layer_types": "absent"}, 29_943_393_920),
    ("flint", {"mlp_only_layers": "absent"}, 39_785_287_456),
    ("lfm3", {"layer_types": "absent"}, 1_728_801_536),
    ("zamba", {"layers_block_type": "absent", "attn_layer_period": 4, "attn_layer_offset": 1},
     7_315_164_160),
    ("gemma4_text", {"layer_types": "absent", "per_layer_config": "absent", "global_head_dim": 128},
     4_971_005_696),
]  # fmt: skip


@each(("name", "change", "count"), OTHER_NAMES)
def test_keys_are_those_that_a_class_takes(
    name: str, change: dict[str, Any], count: int, tmp_path: Path
) -> None:
    assert read(tmp_path, config(name, **change)).text_parameters == count


@each(
    ("name", "change", "line"),
    [
        ("nemotron_h", {"attention_head_dim": 64},
         "attention_head_dim: transformers 5.23 makes heads of head_dim; state that"),
        ("nemotron_h", {"num_hidden_layers": 52},
         "num_hidden_layers: layers_block_type and hybrid_override_pattern list another number"),
        ("nemotron_h", {"layers_block_type": "absent", "hybrid_override_pattern": "MXM*"},
         "hybrid_override_pattern: a layer is M, *, - or E; "),
        ("nemotron_h", {"mamba_n_groups": 4}, "mamba_n_groups: 4, but n_groups is 8"),
        ("llama", {"full_attention_interval": 4},
         "full_attention_interval: 4, but llama has no such key, and shapes of olmo_hybrid, "
         "qwen3_5_moe_text, qwen3_5_text, ... depend on it; take it out, or --as llama passes "
         "over it"),
        ("mistral", {"attention_bias": True}, "attention_bias: true, but mistral has no such key"),
        ("glm4_moe", {"moe_layer_freq": 2}, "moe_layer_freq: 2: transformers 5.23 passes over it"),
        ("kimi_linear", {"tie_word_embeddings": True}, "tie_word_embeddings: true: its class"),
        ("hy_v4", {"first_k_dense_replace": 2, "mlp_layer_types": "absent"},
         "first_k_dense_replace: transformers 5.23 makes the first layer dense"),
    ],
)  # fmt: skip
def test_keys_that_a_class_passes_over_are_refused(
    name: str, change: dict[str, Any], line: str, tmp_path: Path
) -> None:
    data = config(name, **change)
    if name == "nemotron_h" and "mamba_n_groups" in change:
        data["n_groups"] = 8
    assert refused(tmp_path, data).startswith(line)
    if name in ("llama", "mistral"):  # and are passed over where that is asked for
        assert read(tmp_path, data, name).text_parameters == KEPT[f"causal/{name}"]["count"]


def test_parts_of_a_model_without_a_record_sum_to_its_count(tmp_path: Path) -> None:
    found = read(tmp_path, config("lfm3"))  # with convolutions in place of attention
    assert isinstance(found, Counted)
    assert found.text_parameters == KEPT["causal/lfm3"]["count"]
    assert found.parts["recurrences"] > 0


CHANGES: list[tuple[str, dict[str, Any], str]] = [
    ("seed_oss", {"hidden_size": "absent"},
     "hidden_size: missing; a whole number of at least 1 belongs here"),
    ("seed_oss", {"num_attention_heads": 0},
     "num_attention_heads: 0 is out of range; from 1 to 1,000,000,000"),
    ("seed_oss", {"num_attention_heads": 81},
     "num_key_value_heads: 8 does not divide the 81 heads of num_attention_heads"),
    ("seed_oss", {"hidden_size": "4096"},
     "hidden_size: the text '4096' where a whole number belongs"),
    ("seed_oss", {"vocab_size": 10**12},
     "vocab_size: 1000000000000 is out of range; from 1 to 1,000,000,000"),
    ("seed_oss", {"num_hidden_layers": 10**6},
     "num_hidden_layers: 1000000 is out of range; from 1 to 10,000"),
    ("seed_oss", {"attention_bias": "yes"},
     "attention_bias: the text 'yes' where true or false belongs"),
    ("seed_oss", {"num_experts": 8}, "num_experts: 8, but seed_oss has no experts; a model_type"),
    ("mamba2", {"num_heads": 100}, "expand: expand * hidden_size / num_heads is 8192 / 100, which"),
    ("bert", {"num_hidden_layers": -1},
     "num_hidden_layers: -1 is out of range; from 1 to 1,000,000,000"),
    ("xlstm", {"qk_dim_factor": "half"}, "qk_dim_factor: the text 'half' where a number belongs"),
    ("xlstm", {"qk_dim_factor": -0.5}, "qk_dim_factor: -0.5 is out of range; above 0, to"),
    ("cohere2", {"layer_types": ["full_attention"]},
     "layer_types: 1 entries, but there are 40 layers"),
    ("cohere2", {"layer_types": ["linear_attention"] * 40},
     "layer_types: 'linear_attention' is not supported; a layer is "),
    ("olmoe", {"num_experts_per_tok": 65}, "num_experts_per_tok: 65 is more than the 64 experts"),
    ("mpt", {"expansion_ratio": 3}, "expansion_ratio: transformers builds 4 x d_model whatever"),
    ("doge", {"is_moe": True}, "is_moe: true: its experts of single vectors are more than"),
    ("gemma3", {"vision_config": 3}, "vision_config: 3 where an object belongs"),
    ("gemma3", {"text_config": "absent"}, ""),
    ("llava", {"text_config": {"model_type": "lama"}},
     "text_config.model_type: 'lama' is not known; the nearest is llama; "),
    *(("llava", {"text_config": {"model_type": own}},
       f"text_config.model_type: {own!r} is not known; the nearest is {near};")
      for own, near in (("my_llama", "llama"), ("Llama-custom", "llama"),
                        ("acme-qwen3-moe", "qwen3_moe"), ("mllamma", "mllama"))),
    ("recurrent_gemma", {"block_types": []},
     "block_types: i % len(block_types) is a division by 0"),
]  # fmt: skip


@each(("name", "change", "line"), CHANGES)
def test_wrong_configurations_are_refused(
    tmp_path: Path, name: str, change: dict[str, Any], line: str
) -> None:
    said = refused(tmp_path, config(name, **change))
    assert said.splitlines()[0].startswith(line) or f"\n  {line}" in said
    assert "Traceback" not in said


def test_no_value_makes_the_reader_fall(tmp_path: Path) -> None:
    odd: list[Any] = [None, -1, 0, 10**30, 1.5, "x", [], {}, [1], True, 10**9]
    for name in ("nemotron_h", "kimi_linear", "t5", "qwen3_vl"):
        data = config(name)
        for turn, key in enumerate(sorted(data)):
            with contextlib.suppress(ModelError):
                read(tmp_path, {**data, key: odd[turn % len(odd)]})


def test_a_step_width_without_bound_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    text = json.dumps({**config("mamba2"), "time_step_limit": [0.0, float("inf")]})
    path.write_text(text, encoding="utf-8")
    assert import_model(path).model.total_parameters == KEPT["causal/mamba2"]["count"]

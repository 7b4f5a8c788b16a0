"""The architecture of transformers for a model, and its configuration."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.cases import each

from models_db import Model, list_models, load_model
from planner.frameworks.hugging_face.config import dimensions, keys_of_weights
from planner.frameworks.hugging_face.types import TYPES, flash_attention, transformers_type

KINDS = {
    "llama2-13b": "llama",
    "mistral-7b": "mistral",
    "phi-3-mini": "mistral",
    "qwen2.5-7b": "qwen2",
    "qwen3-8b": "qwen3",
    "olmo2-7b": "olmo2",
    "gemma2-9b": "gemma2",
    "gemma3-4b": "gemma3_text",
    "palm-8b": "cohere",
    "gpt3-125m": "gpt2",
    "opt-125m": "opt",
    "gpt-neox-20b": "gpt_neox",
    "falcon-7b": "falcon",
    "falcon-40b": "falcon",
    "bloom-7b1": "bloom",
    "mpt-7b": "mpt",
    "mixtral-8x7b": "mixtral",
    "qwen2-57b-a14b": "qwen2_moe",
    "qwen3-30b-a3b": "qwen3_moe",
    "deepseek-v2": "deepseek_v2",
    "deepseek-v3": "deepseek_v3",
    "kimi-k2": "deepseek_v3",
    "gpt-oss-20b": "gpt_oss",
    "llama4-scout": None,
}


@each(("name", "kind"), KINDS.items())
def test_the_type_of_a_model(name: str, kind: str | None) -> None:
    assert transformers_type(load_model(name)) == kind


def altered(name: str, part: str, **changes: object) -> Model:
    model = load_model(name)
    whole = getattr(model, part)
    return replace(model, **{part: replace(whole, **changes)})


OTHERS = {
    "biased MLP of Qwen": altered("qwen3-8b", "mlp", bias=True),
    "no norm at the end": altered("llama2-7b", "norm", final=False),
    "bias of norms": altered("llama2-7b", "norm", bias=True),
    "Llama without gates": altered("llama2-7b", "mlp", gated=False),
    "Llama side by side": replace(load_model("llama2-7b"), parallel_block=True),
    "chunked window": altered("mistral-7b", "window", kind="chunked"),
    "windows of some layers": altered("mistral-7b", "window", global_layers=1),
    "experts in every second layer": altered("mixtral-8x7b", "moe", layer_period=2),
    "wide shared experts": altered("deepseek-v3", "moe", shared_expert_hidden=4096),
    "bias of latents": altered("deepseek-v3", "attention", bias=("query",)),
    "sinks without bias": altered("gpt-oss-20b", "mlp", bias=False),
    "BLOOM without its norm": altered("bloom-7b1", "positions", kind="none"),
    "narrow heads of GPT-2": replace(load_model("gpt3-125m"), head_dim=32),
    "groups without a parallel block": replace(load_model("falcon-40b"), parallel_block=False),
}


@each("name", OTHERS)
def test_other_layers_have_no_type(name: str) -> None:
    assert transformers_type(OTHERS[name]) is None


def test_a_family_chooses_among_equal_layers() -> None:
    gemma = replace(load_model("llama2-7b"), family="gemma")
    assert transformers_type(gemma) == "gemma"


def test_fused_attention() -> None:
    fused = {name: flash_attention(load_model(name)) for name in ("llama2-7b", "mpt-7b")}
    assert fused == {"llama2-7b": True, "mpt-7b": False}
    assert not flash_attention(load_model("gpt-oss-20b"))


def test_every_layer_says_its_window() -> None:
    found = dimensions(load_model("gemma2-9b"), 8192)
    assert found["layer_types"][:2] == ["sliding_attention", "full_attention"]
    assert len(found["layer_types"]) == 42


def test_positions_reach_as_far_as_the_sequences() -> None:
    model = load_model("gpt3-125m")
    assert dimensions(model, 1024)["n_positions"] == 2048
    assert dimensions(model, 4096)["n_positions"] == 4096


def test_dropouts_are_off() -> None:
    found = dimensions(load_model("gpt3-125m"), 1024)
    assert found["resid_pdrop"] == found["embd_pdrop"] == found["attn_pdrop"] == 0.0
    assert dimensions(load_model("opt-125m"), 1024)["dropout"] == 0.0


def test_what_published_weights_need_beside_a_record() -> None:
    llama = ("hidden_act", "rms_norm_eps", "rope_parameters")
    assert keys_of_weights(load_model("llama3-8b")) == llama
    assert keys_of_weights(load_model("gpt3-125m")) == ("activation_function", "layer_norm_epsilon")


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind])
def test_nothing_is_dropped_out(name: str) -> None:
    auto = pytest.importorskip("transformers").AutoConfig
    config = auto.for_model(KINDS[name], **dimensions(load_model(name), 2048)).to_dict()
    parts = ("drop", "jitter", "output_router_logits")
    unused = ("classifier_dropout", "summary_first_dropout")
    chosen = {key: config[key] for key in config if any(part in key for part in parts)}
    assert not any(value for key, value in chosen.items() if key not in unused)


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind])
def test_keys_are_those_of_the_type(name: str) -> None:
    auto = pytest.importorskip("transformers").AutoConfig
    model = load_model(name)
    config = auto.for_model(KINDS[name])
    keys = {*dimensions(model, 2048), *keys_of_weights(model)}
    own = {key for key in keys if not hasattr(config, key)}
    assert own <= {"head_dim", "use_sliding_window"}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list_models())
def test_parameters_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = load_model(name)
    kind = transformers_type(model)
    if kind is None:
        assert model.family == "llama4"
        return
    assert kind in TYPES
    path = tmp_path / "config.json"
    own = {"model_type": kind, **dimensions(model, 2048), "dtype": "bfloat16"}
    path.write_text(json.dumps(own), encoding="utf-8")
    config = transformers.AutoConfig.from_pretrained(str(path))
    with torch.device("meta"):
        built = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    assert built.dtype == torch.bfloat16
    router = [one for own, one in built.named_buffers() if own.endswith("e_score_correction_bias")]
    counted = [*built.parameters(), *router]
    assert sum(one.numel() for one in counted) == model.total_parameters
    needed = "flash_attention_2" if flash_attention(model) else None
    assert needed is None or type(built)._supports_flash_attn


def small(name: str) -> Model:
    """The model with two layers and narrow matrices."""
    model = load_model(name)
    groups = 1 if model.kv_heads == 1 else 4 if model.kv_heads == model.heads else 2
    attention, mlp, moe = model.attention, model.mlp, model.moe
    if attention.kind == "mla":
        rank = None if attention.q_lora_rank is None else 16
        attention = replace(attention, q_lora_rank=rank, kv_lora_rank=16, v_head_dim=16,
                            qk_nope_head_dim=16, qk_rope_head_dim=16)  # fmt: skip
    if mlp.hidden is not None:
        mlp = replace(mlp, hidden=256)
    if moe is not None:
        shared = 32 if moe.shared_experts else 0
        dense = min(moe.first_dense_layers, 1)
        moe = replace(moe, experts=8, experts_per_token=2, expert_hidden=32,
                      shared_expert_hidden=shared, first_dense_layers=dense)  # fmt: skip
    return replace(model, layers=2, hidden=64, heads=4, kv_heads=groups, head_dim=16,
                   vocab_size=1000, attention=attention, mlp=mlp, moe=moe)  # fmt: skip


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind])
def test_a_small_one_learns_a_step(name: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = small(name)
    kind = transformers_type(model)
    assert kind == KINDS[name]
    kernel = "sdpa" if flash_attention(model) and kind != "gemma2" else "eager"
    config = transformers.AutoConfig.for_model(
        kind, attn_implementation=kernel, use_cache=False, **dimensions(model, 64)
    )
    built = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    built.gradient_checkpointing_enable()
    tokens = torch.randint(0, model.vocab_size, (2, 64))
    built(input_ids=tokens, labels=tokens.clone()).loss.backward()
    routed = ("mlp.experts", "e_score")
    unlearned = [own for own, one in built.named_parameters() if one.grad is None]
    assert all(any(part in own for part in routed) for own in unlearned)

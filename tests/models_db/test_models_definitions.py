"""Definitions of frameworks become model files: counts, what stands in, what is refused."""

from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from models_db import ModelError, load_model
from models_db.definitions import Stated, definition_text, import_definition
from models_db.definitions.megatron import list_in

# Shapes as the frameworks state them: NeMo 8cfedd7 (nemo/collections/llm/gpt/model), torchtitan
# v0.2.2 (models/llama3), MaxText e591f30 (configs/models).
NEMO = """
@dataclass
class HybridBase(SSMConfig):
    mamba_num_groups: int = 8
    mamba_head_dim: int = 64
    num_query_groups: int = 8
    vocab_size: int = 131072
    normalization: str = "RMSNorm"
    add_bias_linear: bool = False
    share_embeddings_and_output_weights: bool = False
    activation_func: callable = lambda x: torch.pow(F.relu(x), 2)


@dataclass
class Hybrid8B(HybridBase):
    hybrid_override_pattern: str = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"
    num_layers: int = 52
    hidden_size: int = 4096
    mamba_state_dim: int = 128
    ffn_hidden_size: int = 21504
    num_attention_heads: int = 32


@dataclass
class Latent(MLATransformerConfig, GPTConfig):
    num_layers: int = 61
    hidden_size: int = 7168
    ffn_hidden_size: int = 18432
    num_attention_heads: int = 128
    vocab_size: int = 129280
    normalization: str = "RMSNorm"
    gated_linear_unit: bool = True
    position_embedding_type: str = "rope"
    add_bias_linear: bool = False
    share_embeddings_and_output_weights: bool = False
    q_lora_rank: int = 1536
    kv_lora_rank: int = 512
    num_moe_experts: int = 256
    moe_ffn_hidden_size: int = 2048
    moe_shared_expert_intermediate_size: int = 2048
    moe_router_topk: int = 8
    moe_router_enable_expert_bias: bool = True
    moe_layer_freq: list = field(default_factory=lambda: [0] * 3 + [1] * 58)


def recipe():
    return GPTModelProvider(
        num_layers=32, hidden_size=4096, num_attention_heads=32, num_query_groups=8,
        ffn_hidden_size=compute(4096), vocab_size=32000,
    )
"""
TITAN = """
llama3_configs = {
    "8B": TransformerModelArgs(
        dim=4096, n_layers=32, n_heads=32, n_kv_heads=8, ffn_dim_multiplier=1.3,
        multiple_of=1024, rope_theta=500000,
    ),
}
"""
MADE = """
def _small(backend: str) -> Llama3Model.Config:
    dim = 2048
    n_layers = 16
    n_kv_heads = 8
    vocab_size = 128256
    return Llama3Model.Config(
        dim=dim, vocab_size=vocab_size, enable_weight_tying=True,
        norm=RMSNorm.Config(normalized_shape=dim),
        layers=_build(
            n_layers=n_layers, dim=dim, n_heads=32, n_kv_heads=n_kv_heads,
            hidden_dim=compute_ffn_hidden_dim(dim, multiple_of=1024, ffn_dim_multiplier=1.5),
            rope=Rope.Config(dim=dim // 32, theta=500000),
        ),
    )


def _wide(backend: str) -> Qwen3Model.Config:
    head_dim = 128
    return Qwen3Model.Config(
        dim=5120, vocab_size=151936,
        layers=_build_qwen3(
            n_layers=64, dim=5120, n_heads=64, n_kv_heads=8, head_dim=head_dim, hidden_dim=25600,
            rope=Rope.Config(dim=head_dim),
        ),
    )


def _experts(backend: str) -> Qwen3Model.Config:
    return Qwen3Model.Config(
        dim=2048, layers=_build_moe(n_layers=48, n_heads=32, num_experts=128), vocab_size=151936
    )


def _other(backend: str) -> GptOssModel.Config:
    return GptOssModel.Config(dim=2048, layers=_build(n_layers=4, n_heads=32), vocab_size=8)


configs = {"1B": _small, "32B": _wide, "30B-A3B": _experts, "other": _other}
"""
DELTA = """
decoder_block: "qwen3_next"
base_emb_dim: 2048
base_num_decoder_layers: 48
base_num_query_heads: 16
base_num_kv_heads: 2
head_dim: 256
vocab_size: 151936
base_mlp_dim: 512
base_moe_mlp_dim: 512
num_experts: 512
shared_experts: 1
num_experts_per_tok: 10
inhomogeneous_layer_cycle_interval: 4
gdn_conv_kernel_dim: 4
gdn_key_head_dim: 128
gdn_value_head_dim: 128
gdn_num_key_heads: 16
gdn_num_value_heads: 32
gdn_chunk_size: 64
"""
OLMO = """
decoder_block: "olmo3"
base_emb_dim: 4096
base_num_query_heads: 32
base_num_kv_heads: 32
base_mlp_dim: 11008
base_num_decoder_layers: 32
head_dim: 128
use_qk_norm: true
sliding_window_size: 4096
vocab_size: 100278
logits_via_embedding: false
"""
COUNTED: list[tuple[str, str, str | None, dict[str, Any], str]] = [
    ("a.py", NEMO, "Hybrid8B", {}, "nemotron-h-8b"),
    ("a.py", NEMO, "Latent", {}, "deepseek-v3"),
    ("b.py", TITAN, None, {"vocab_size": 128256}, "llama3-8b"),
    ("b.py", MADE, "1B", {}, "llama3.2-1b"),
    ("b.py", MADE, "32B", {}, "qwen3-32b"),
    ("c.yml", DELTA, None, {}, "qwen3-next-80b-a3b"),
    ("d.yml", OLMO, None, {}, "olmo3-7b"),
]


@each(("file", "text", "which", "given", "shipped"), COUNTED)
def test_a_definition_counts_as_the_shipped_model(
    tmp_path: Path, file: str, text: str, which: str | None, given: dict[str, Any], shipped: str
) -> None:
    path = tmp_path / file
    path.write_text(text)
    found, expected = import_definition(path, which=which, given=given).model, load_model(shipped)
    assert found.total_parameters == expected.total_parameters
    assert found.active_parameters == expected.active_parameters
    assert found.mixers == expected.mixers
    assert found.layer_kinds == expected.layer_kinds


@each(
    ("which", "words"),
    [
        ("30B-A3B", "moe_args: only dense models of Llama 3 and Qwen3 are read"),
        ("other", "does not define 'other'"),
    ],
)
def test_other_models_of_torchtitan_are_refused(which: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "made.py"
    path.write_text(MADE)
    with pytest.raises(ModelError, match=words):
        import_definition(path, which=which)


def test_heads_of_qwen_are_those_of_its_defaults(tmp_path: Path) -> None:
    path = tmp_path / "qwen.py"
    path.write_text(
        'models = {"32B": Qwen3ModelArgs(dim=5120, n_layers=64, n_heads=64, hidden_dim=25600)}'
    )
    found = import_definition(path, given={"vocab_size": 151936}).model
    assert found.total_parameters == load_model("qwen3-32b").total_parameters


@each(("pattern", "layers", "words"), [
    ("M-M*-M-M", 32, "has 8 letters, one for each layer, beside num_layers 32; write all"),
    ("M-M*|-M-M", 8, ""),
])  # fmt: skip
def test_a_pattern_has_a_letter_for_each_layer(pattern: str, layers: int, words: str) -> None:
    """Megatron-LM takes the pattern's number, or stops: what 32 layers were meant is unknown."""
    flags: dict[str, Any] = {
        "num_layers": str(layers), "hidden_size": "512", "num_attention_heads": "8",
        "vocab_size": "32000", "seq_length": "4096", "disable_bias_linear": True,
        "hybrid_layer_pattern": pattern,
    }  # fmt: skip
    if not words:
        made = definition_text(Stated(flags, "run.sh"), "megatron", b"", title="run")
        assert made.model.layers == layers
        return
    with pytest.raises(ModelError) as caught:
        definition_text(Stated(flags, "run.sh"), "megatron", b"", title="run")
    assert words in str(caught.value)


def test_flags_of_megatron_are_a_model() -> None:
    flags: dict[str, Any] = {
        "num_layers": "32", "hidden_size": "4096", "num_attention_heads": "32",
        "num_query_groups": "8", "group_query_attention": True, "ffn_hidden_size": "14336",
        "swiglu": True, "normalization": "RMSNorm", "disable_bias_linear": True,
        "position_embedding_type": "rope", "untie_embeddings_and_output_weights": True,
        "vocab_size": "128256", "seq_length": "8192", "bf16": True,
    }  # fmt: skip
    found = definition_text(Stated(flags, "run.sh"), "megatron", b"", title="run")
    assert found.model.total_parameters == load_model("llama3-8b").total_parameters
    assert (found.unread, found.assumed) == (("bf16",), {})
    alone = {key: value for key, value in flags.items() if key != "group_query_attention"}
    plain = definition_text(Stated(alone, "run.sh"), "megatron", b"", title="run").model
    assert plain.kv_heads == 32


@each(
    ("text", "expected"),
    [
        ("([0]*3+[1]*58)", [0] * 3 + [1] * 58),
        ("[0, 1]", [0, 1]),
        ("[1]*10**9", None),
        ("open('x')", None),
        ("[1]*(", None),
    ],
)
def test_lists_are_read_and_not_run(text: str, expected: list[int] | None) -> None:
    assert list_in(text) == expected


REFUSED = [
    ("a.py", NEMO, None, "defines 3 models; choose one: Hybrid8B, Latent, recipe"),
    ("a.py", NEMO, "Hybrid8b", "did you mean Hybrid8B?"),
    ("a.py", NEMO, "recipe", "ffn_hidden_size: is computed (compute(4096)), which is not read"),
    ("a.py", "class X:\n  pass", None, "defines no model"),
    ("a.py", "class X(:", None, "a.py:1: cannot be read as Python"),
    ("b.py", TITAN, None, "vocab_size: is not stated"),
    (
        "c.yml",
        DELTA.replace("qwen3_next", "gemma3"),
        None,
        "'gemma3' is not read; read are deepseek",
    ),
    ("c.yml", DELTA.replace("2048", "-1"), None, "base_emb_dim: -1 where a whole number of 1 to"),
    ("c.yml", "a: 1", None, "is no model of MaxText: it has no base_emb_dim"),
    ("c.yml", DELTA, "8B", "has one definition only; leave its name out"),
]


@each(("file", "text", "which", "said"), REFUSED)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, file: str, text: str, which: str | None, said: str
) -> None:
    path = tmp_path / file
    path.write_text(text)
    with pytest.raises(ModelError) as caught:
        import_definition(path, which=which)
    assert said in str(caught.value)

"""The models that torchtitan ships, by their dimensions.

Source: torchtitan models/*/__init__.py of tag v0.2.2 (73a0e69), of 0.3.0 on PyPI and of main
b5bcd76; complete configurations of 0.3.0 and main: models/*/config_registry.py.
"""

from __future__ import annotations

from frozen_records import dataclass
from models_db import Model
from planner.frameworks.decoders import unwritten_layers


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """A model of torchtitan.

    Attributes:
        module: Package under `torchtitan.models`.
        name: Key of its table of configurations.
        layers, hidden, heads, kv_heads, head_dim, vocab: Dimensions; latent attention counts a
            key-value head of full width for every head.
        tied: The head is the embedding table.
        mlp: Inner width of dense layers, 0 where there is none.
        experts: Routed experts, experts per token, width of one, width of the shared ones together,
            leading dense layers, distance between layers with experts; all 0 without experts.
        config: Function with a complete configuration of it in 16 bits, "" where there is none.
        base: Function with a configuration of a sibling, used where `config` is empty.
        longest: Longest sequence in tokens, from 0.3 on.
        versions: Versions of torchtitan that have it.
        splits_context: Versions that have context parallelism for it.
    """

    module: str
    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied: bool = False
    mlp: int = 0
    experts: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0)
    config: str = ""
    base: str = ""
    longest: int = 131072
    versions: tuple[str, ...] = ("0.2", "0.3", "main")
    splits_context: tuple[str, ...] = ("0.2", "0.3", "main")


_LATER = ("0.3", "main")


def _llama3(name: str, layers: int, hidden: int, heads: int, mlp: int, **more: object) -> Flavor:
    return Flavor(
        module="llama3", name=name, layers=layers, hidden=hidden, heads=heads, kv_heads=8,
        head_dim=hidden // heads, vocab=128256, mlp=mlp, base="llama3_8b",
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def _qwen3(name: str, layers: int, hidden: int, heads: int, mlp: int, **more: object) -> Flavor:
    settings: dict[str, object] = {"kv_heads": 8, "longest": 40960, "base": "qwen3_14b", **more}
    return Flavor(
        module="qwen3", name=name, layers=layers, hidden=hidden, heads=heads, head_dim=128,
        vocab=151936, mlp=mlp,
        **settings,  # type: ignore[arg-type]
    )  # fmt: skip


def _deepseek(name: str, layers: int, hidden: int, heads: int, mlp: int, **more: object) -> Flavor:
    return Flavor(
        module="deepseek_v3", name=name, layers=layers, hidden=hidden, heads=heads,
        kv_heads=heads, head_dim=192, mlp=mlp, longest=16384, splits_context=_LATER,
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def _gpt_oss(name: str, layers: int, experts: int) -> Flavor:
    return Flavor(
        module="gpt_oss", name=name, layers=layers, hidden=2880, heads=64, kv_heads=8, head_dim=64,
        vocab=201088, experts=(experts, 4, 2880, 0, 0, 1), config=f"gpt_oss_{name}",
        splits_context=(),
    )  # fmt: skip


def _llama4(name: str, experts: int, mlp: int, period: int) -> Flavor:
    return Flavor(
        module="llama4", name=name, layers=48, hidden=5120, heads=40, kv_heads=8, head_dim=128,
        vocab=202048, mlp=mlp, experts=(experts, 1, 8192, 8192, 0, period), versions=("0.2",),
        splits_context=(),
    )  # fmt: skip


FLAVORS = (
    _llama3("1B", 16, 2048, 32, 8192, tied=True, versions=_LATER),
    _llama3("3B", 28, 3072, 24, 8192, tied=True, versions=_LATER),
    _llama3("8B", 32, 4096, 32, 14336, config="llama3_8b"),
    _llama3("70B", 80, 8192, 64, 28672, config="llama3_70b"),
    _llama3("405B", 126, 16384, 128, 53248),
    _qwen3("0.6B", 28, 1024, 16, 3072, tied=True, config="qwen3_0_6b", longest=4096),
    _qwen3("1.7B", 28, 2048, 16, 6144, tied=True, config="qwen3_1_7b"),
    _qwen3("4B", 36, 2560, 32, 9728, tied=True),
    _qwen3("8B", 36, 4096, 32, 12288),
    _qwen3("14B", 40, 5120, 40, 17408, config="qwen3_14b"),
    _qwen3("32B", 64, 5120, 64, 25600, config="qwen3_32b"),
    _qwen3(
        "30B-A3B", 48, 2048, 32, 0, kv_heads=4, experts=(128, 8, 768, 0, 0, 1),
        config="qwen3_30b_a3b",
    ),
    _qwen3("235B-A22B", 94, 4096, 64, 0, kv_heads=4, experts=(128, 8, 1536, 0, 0, 1)),
    _deepseek(
        "16B", 27, 2048, 16, 10944, vocab=102400, experts=(64, 6, 1408, 2816, 1, 1),
        config="deepseek_v3_16b",
    ),
    _deepseek(
        "236B", 60, 5120, 128, 12288, vocab=102400, experts=(160, 6, 1536, 3072, 1, 1),
        base="deepseek_v3_16b",
    ),
    _deepseek(
        "671B", 61, 7168, 128, 18432, vocab=129280, experts=(256, 8, 2048, 2048, 3, 1),
        config="deepseek_v3_671b",
    ),
    _gpt_oss("20b", 24, 32),
    _gpt_oss("120b", 36, 128),
    _llama4("17bx16e_irope", 16, 0, 1),
    _llama4("17bx128e_irope", 128, 16384, 2),
    _llama4("17bx16e", 16, 0, 1),  # without chunks of attention: every layer sees all tokens
    _llama4("17bx128e", 128, 16384, 2),
)  # fmt: skip
"""Every language model of published dimensions that is no part of a multimodal one."""

STYLES = {
    # module: (attention with latents, norm of queries and keys, biases of query, key and value)
    "llama3": (False, ("none",), False),
    "llama4": (False, ("none", "unweighted"), False),
    "qwen3": (False, ("per-head",), False),
    "deepseek_v3": (True, ("none",), False),
    "gpt_oss": (False, ("none",), True),
}
"""What a model must have to be of a module, beside its dimensions."""


def flavor_of(model: Model, version: str) -> Flavor | None:
    """The flavor with the dimensions of a model, None where a version has none."""
    wanted = () if unwritten_layers(model) else _dimensions(model)
    for flavor in FLAVORS:
        if version in flavor.versions and _dimensions_of(flavor) == wanted:
            latent, norms, biased = STYLES[flavor.module]
            attention = model.attention
            styled = (attention.kind == "mla", attention.qk_norm in norms, bool(attention.bias))
            if styled == (latent, True, biased):
                return flavor
    return None


def is_llama(model: Model) -> bool:
    """Whether a model is built as Llama 3 is, whatever its dimensions."""
    attention, norm = model.attention, model.norm
    plain = not attention.bias and attention.qk_norm == "none" and not attention.sinks
    square = attention.kind != "mla" and model.heads * model.head_dim == model.hidden
    gated = model.mlp.gated and not model.mlp.bias and model.moe is None
    normed = norm.kind == "rmsnorm" and not norm.bias and norm.per_layer == 2 and norm.final
    simple = model.window is None and not model.parallel_block and not norm.embedding
    simple = simple and not unwritten_layers(model)
    return plain and square and gated and normed and simple and model.positions.kind == "rope"


def attends_by_sdpa(model: Model, version: str) -> bool:
    """Whether a version gives a model PyTorch's attention by cuDNN, flash or plain products.

    Source: torchtitan v0.2.2 models/attention.py ScaledDotProductAttentionWrapper, `attn_type` in
    models/*/__init__.py; the configurations of later versions have FlexAttention.
    """
    flavor = flavor_of(model, version)
    return version == "0.2" and (flavor is None or flavor.module in ("llama3", "qwen3"))


def builds_llama(model: Model, version: str) -> bool:
    """Whether a version builds a model as Llama 3 with other dimensions; 0.2 ties no embeddings."""
    return is_llama(model) and not (model.tied_embeddings and version == "0.2")


def _dimensions(model: Model) -> tuple[object, ...]:
    moe = model.moe
    experts = (0, 0, 0, 0, 0, 0)
    dense = model.mlp.hidden or 0
    if moe is not None:
        shared = moe.shared_experts * moe.shared_expert_hidden
        experts = (
            moe.experts, moe.experts_per_token, moe.expert_hidden, shared, moe.first_dense_layers,
            moe.layer_period,
        )  # fmt: skip
        dense = dense if "dense" in model.layer_kinds else 0
    sizes = (model.layers, model.hidden, model.heads, model.kv_heads, model.head_dim)
    return (*sizes, model.vocab_size, model.tied_embeddings, dense, experts)


def _dimensions_of(flavor: Flavor) -> tuple[object, ...]:
    sizes = (flavor.layers, flavor.hidden, flavor.heads, flavor.kv_heads, flavor.head_dim)
    return (*sizes, flavor.vocab, flavor.tied, flavor.mlp, flavor.experts)

"""How many parameters one chip holds, before data-parallel sharding, and how many are trained.

Column- and row-parallel matrices are divided by tp; norms, routers, biases and the down
projections of latent attention (MLA) are replicated over tp; key and value heads are replicated
where tp exceeds their number; routed experts are divided by ep and etp alone (their tokens are
divided by tp), as in Megatron with its expert tensor parallelism. The vocabulary is padded to a
multiple of tp (times the framework's own multiple), as the kernels require.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from models_db import LayerKind, Model
from planner.base.arrays import FloatArray, IntArray
from planner.cost.job import Job
from planner.cost.memory.adapters import adapter_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalParameters:
    """Parameters per chip, (n,) each.

    Attributes:
        dense_layer: One dense layer (0 when the model has none).
        moe_layer: The part of a mixture-of-experts layer that every data rank holds.
        experts: The routed experts of such a layer.
        embedding: Input embedding with position table and its norm.
        head: Output head with the final norm; the tied table counts where it is used.
        head_beside_embedding: The same on a stage that holds the embedding too.
        tower: A vision tower with its projector, beside the embedding; 0 without one.
        tower_gathered: Those of it that zero3 has gathered at once.
    """

    dense_layer: FloatArray
    moe_layer: FloatArray
    experts: FloatArray
    embedding: FloatArray
    head: FloatArray
    head_beside_embedding: FloatArray
    tower: FloatArray
    tower_gathered: FloatArray


def padded_vocab(vocab: int, tp: IntArray, multiple: int) -> IntArray:
    """(n,) vocabulary rounded up to a multiple of `multiple * tp`; unpadded where both are 1."""
    unit = tp * multiple
    return -(-vocab // unit) * unit


def kv_heads_per_chip(model: Model, tp: IntArray) -> IntArray:
    """(n,) key-value heads on each chip: at least one, replicated where tp exceeds them."""
    return -(-model.kv_heads // tp)


def attention_per_chip(model: Model, tp: IntArray) -> FloatArray:
    """(n,) attention parameters of one layer on one chip."""
    attention = model.attention
    if attention.kind == "mla":
        rank, rope = attention.kv_lora_rank or 0, attention.qk_rope_head_dim or 0
        replicated = model.hidden * (rank + rope + (attention.q_lora_rank or 0))
        divided = model.attention_parameters - replicated
        return replicated + divided / tp
    query = model.heads * model.head_dim
    keys = 2 * kv_heads_per_chip(model, tp) * model.head_dim
    copies = 3 if attention.output_gate else 2  # of queries, gate and output projection
    other = model.attention_parameters - model.hidden * (
        copies * query + 2 * model.kv_heads * model.head_dim
    )
    return model.hidden * (copies * query / tp + keys) + other


_KINDS: tuple[LayerKind, LayerKind] = ("dense", "moe")


def _mixing(model: Model, kind: LayerKind, attention: FloatArray, tp: IntArray) -> FloatArray:
    """(n,) parameters of what mixes tokens, and norms, in an average layer of a kind.

    A recurrence is divided by tp, heads and groups of keys whole (Megatron-LM, `MambaMixer`).
    """
    if model.order is None:
        return attention + model.norm_parameters
    mixers = [
        mixer for mixer, one in zip(model.mixers, model.layer_kinds, strict=True) if one == kind
    ]
    count = max(len(mixers), 1)
    attends = sum(mixer in ("attention", "both") for mixer in mixers) / count
    recurs = sum(mixer in ("recurrence", "both") for mixer in mixers) / count
    mixing = attends * attention + recurs * model.recurrence_parameters / tp
    return np.asarray(mixing + model.norm_parameters)


def _mlp_share(model: Model) -> float:
    """Share of the layers without experts that have an MLP."""
    dense = model.layer_kinds.count("dense")
    return model.feed_forwards.count("dense") / dense if model.order and dense else 1.0


def _dense_mlp(model: Model) -> int:
    """Parameters of the MLP of a layer without experts; 0 where none has one."""
    return model.mlp_parameters("dense") if model.mlp.hidden else 0


def local_parameters(
    model: Model, tp: IntArray, expert_ranks: IntArray, vocab_multiple: int
) -> LocalParameters:
    """Parameters per chip for arrays of tp, and of the ranks that hold all experts, (n,) each.

    Where layers of a kind are made of other parts, of an average one.
    """
    attention = attention_per_chip(model, tp)
    made = {kind: _mixing(model, kind, attention, tp) for kind in _KINDS}
    vocabulary = padded_vocab(model.vocab_size, tp, vocab_multiple) * model.hidden / tp
    zero = np.zeros(np.broadcast(tp, expert_ranks).shape)
    dense, moe, experts = zero, zero, zero
    if "dense" in model.layer_kinds:
        dense = made["dense"] + _mlp_share(model) * _dense_mlp(model) / tp
    if model.moe is not None:
        moe = made["moe"] + model.router_parameters + model.shared_expert_parameters / tp
        experts = zero + model.moe.experts * model.expert_parameters / expert_ranks
    return LocalParameters(
        dense_layer=dense + zero,
        moe_layer=moe + zero,
        experts=experts,
        embedding=vocabulary + model.position_parameters + model.embedding_norm_parameters + zero,
        head=vocabulary + model.final_norm_parameters + zero,
        head_beside_embedding=(0 if model.tied_embeddings else vocabulary)
        + model.final_norm_parameters
        + zero,
        tower=zero,
        tower_gathered=zero,
    )


def block_parameters(model: Model, tp: IntArray) -> LocalParameters:
    """Parameters per chip where a stack of MLPs holds all of them; see `shapes.mlp_blocks`."""
    layer = model.total_parameters / model.layers / tp
    none = np.zeros_like(layer)
    return LocalParameters(
        dense_layer=layer,
        moe_layer=none,
        experts=none,
        embedding=none,
        head=none,
        head_beside_embedding=none,
        tower=none,
        tower_gathered=none,
    )


def trained_share(job: Job) -> float:
    """Share of the parameters that get gradients and optimizer state: 1, or the adapters'."""
    if job.trains_all:
        return 1.0
    trained = adapter_parameters(job)
    if job.trained_ends:
        ends = 1 if job.model.tied_embeddings else 2
        trained += ends * job.model.vocab_size * job.model.hidden
    return trained / job.model.total_parameters

"""A model as MaxText's settings: by its name, or by its dimensions and a decoder block."""

from __future__ import annotations

from typing import Any

from models_db import Model
from planner.frameworks.decoders import block_of
from planner.frameworks.jax.maxtext.models import NAMED, TOKEN_ROWS, attends_globally, name_of
from planner.frameworks.jax.specs import vocabulary
from planner.frameworks.writing.activations import CLAMPED, NAMES, SILU, activation_of
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import left_to_weights


def settings(launch: Launch) -> dict[str, Any]:
    """`model_name`, or the dimensions of a model that MaxText does not know."""
    model = launch.model
    name = name_of(model)
    if name is not None:
        return {"model_name": name}
    moe = model.moe
    values: dict[str, Any] = {
        "decoder_block": block_of(model) or ("mixtral" if moe else "llama2"),
        "base_emb_dim": model.hidden,
        "base_num_query_heads": model.heads,
        "base_num_kv_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "base_mlp_dim": model.mlp.hidden or (moe.expert_hidden if moe else 0),
        "base_num_decoder_layers": model.layers,
        "vocab_size": vocabulary(launch),
        "mlp_activations": _activations(model),
        "logits_via_embedding": model.tied_embeddings,
        "normalize_embedding_logits": False,
        "enable_dropout": False,
    }
    if model.positions.max_positions:
        values["trainable_position_size"] = positions(launch)
    return values | _attention(model) | _experts(model)


def positions(launch: Launch) -> int:
    """Rows of the table of learned positions, which JAX divides over tp as those of tokens."""
    tp = launch.plan.tp
    rows = max(launch.model.positions.max_positions or 0, launch.seq_len)
    return -(-rows // tp) * tp


def _activations(model: Model) -> list[str]:
    """What is multiplied between the matrices, by the names of flax.linen (layers/linears.py)."""
    return [_activation(model), "linear"] if model.mlp.gated else [_activation(model)]


def _activation(model: Model) -> str:
    """The clamped one is a part of the decoder block of gpt-oss, which no other model has."""
    found = activation_of(model)
    return SILU if found == CLAMPED else found


def _attention(model: Model) -> dict[str, Any]:
    attention = model.attention
    values: dict[str, Any] = {}
    if attention.bias and block_of(model) != "gpt3":
        values["attention_bias"] = True
    if attention.qk_norm == "per-head":
        values["use_qk_norm"] = True
    if attention.kind == "mla":
        values |= {
            "attention_type": "mla",
            "q_lora_rank": attention.q_lora_rank or 0,
            "kv_lora_rank": attention.kv_lora_rank,
            "qk_nope_head_dim": attention.qk_nope_head_dim,
            "qk_rope_head_dim": attention.qk_rope_head_dim,
            "v_head_dim": attention.v_head_dim,
        }
    return values


def _experts(model: Model) -> dict[str, Any]:
    moe = model.moe
    if moe is None:
        return {}
    values: dict[str, Any] = {
        "num_experts": moe.experts,
        "num_experts_per_tok": moe.experts_per_token,
        "base_moe_mlp_dim": moe.expert_hidden,
    }
    if moe.first_dense_layers or moe.shared_experts:
        values |= {
            "first_num_dense_layers": moe.first_dense_layers,
            "shared_experts": moe.shared_experts,
        }
    if moe.router_bias:
        values |= {"routed_bias": True, "routed_score_func": "sigmoid"}
    return values


def _of_weights(model: Model) -> list[str]:
    """Keys that published weights need and a record does not hold (configs/models of MaxText).

    None of a model that has its own name in MaxText; of one that only computes the same, all.
    """
    if NAMED.get(model.name) == name_of(model) is not None:
        return []
    keys = ["mlp_activations", "normalization_layer_epsilon"]
    if model.positions.kind == "rope":
        keys += ["rope_type", "rope_max_timescale", "rope_linear_scaling_factor"]
    if model.moe is not None:
        keys += ["norm_topk_prob", "routed_scaling_factor"]
    return keys


def lossy(launch: Launch) -> list[Lost]:
    """What MaxText's model has otherwise."""
    model, lost = launch.model, []
    name = name_of(model)
    rows = TOKEN_ROWS.get(name or "", model.vocab_size)
    if rows != model.vocab_size:
        reason = f"maxtext has {rows} rows for the {model.vocab_size} tokens of {model.name}"
        lost.append(Lost("model", reason))
    if name is None and vocabulary(launch) != model.vocab_size:
        reason = (
            f"the {model.vocab_size} tokens are padded to {vocabulary(launch)}, which tp divides"
        )
        lost.append(Lost("model", reason))
    wanted = activation_of(model)
    if name is None and wanted != _activation(model):
        gated = int(model.mlp.gated)
        reason = f"the activation is {NAMES[wanted][gated]}, written is {NAMES[SILU][gated]}"
        lost.append(Lost("model", reason))
    if keys := _of_weights(model):
        lost.append(left_to_weights("MaxText", keys))
    if model.window is not None and attends_globally(model):
        lost.append(Lost("model", f"{name} attends globally in maxtext, without its window"))
    if launch.cost.job.kind == "finetune":
        reason = "load_parameters_path names the checkpoint to start from"
        lost.append(Lost("job", reason))
    return lost

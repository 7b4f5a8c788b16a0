"""The model of a launch as flags of Megatron-LM's pretrain_gpt.py.

Names and meanings: megatron/core/transformer/transformer_config.py and megatron/training/
arguments.py (`_add_network_size_args`, `_add_moe_args`, `_add_mla_args`), d98e8a64dd (2026-08-22).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from models_db import Model, Moe
from planner.assumptions.software import ERAS
from planner.frameworks.megatron.writing.flags import Flag, Group, flag, switches
from planner.frameworks.writing.activations import CLAMPED, GELU, NAMES, SILU, activation_of
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch

_ATTENTION_INPUTS = ("query", "key", "value")


def model_groups(launch: Launch) -> tuple[Group, ...]:
    """The dimensions of the model, those of its attention, and its experts."""
    model = launch.model
    groups = [
        Group(name="MODEL_ARGS", flags=_block(launch), comments=(_vocabulary(launch),)),
        Group(name="ATTENTION_ARGS", flags=_attention(launch)),
    ]
    if model.moe is not None:
        comment = "The prediction assumes that all experts get as many tokens."
        flags = _experts(launch, model.moe)
        groups.append(Group(name="MOE_ARGS", flags=flags, comments=(comment,)))
    return tuple(groups)


def padded_vocabulary(launch: Launch) -> int:
    """Rows of the embedding: the next multiple of the flag's value times tp.

    Source: megatron/training/vocab_utils.py, calculate_padded_vocab_size.
    """
    multiple = launch.cost.vocab_multiple * launch.plan.tp
    return -(-launch.model.vocab_size // multiple) * multiple


def _vocabulary(launch: Launch) -> str:
    rows, padded = launch.model.vocab_size, padded_vocabulary(launch)
    end = f"padded to {padded:,}" if padded > rows else "not padded"
    return f"The vocabulary of {rows:,} tokens is {end}."


def _block(launch: Launch) -> tuple[Flag, ...]:
    """Layers, widths, positions, norms and biases."""
    model, kinds = launch.model, {"rope": "rope", "learned": "learned_absolute", "none": "none"}
    longest = max(launch.seq_len, model.positions.max_positions or 0)
    width = model.mlp.hidden or (model.moe.expert_hidden if model.moe else 0)
    return (
        flag("--num-layers", model.layers),
        flag("--hidden-size", model.hidden),
        flag("--ffn-hidden-size", width),
        *_activation(model),
        flag("--normalization", "RMSNorm" if model.norm.kind == "rmsnorm" else "LayerNorm"),
        flag("--position-embedding-type", kinds.get(model.positions.kind, "none")),
        flag("--seq-length", launch.seq_len),
        flag("--max-position-embeddings", longest),
        flag("--make-vocab-size-divisible-by", launch.cost.vocab_multiple),
        *switches(
            untie_embeddings_and_output_weights=not model.tied_embeddings,
            disable_bias_linear=not _linear_bias(model),
            add_qkv_bias=_bias_of_inputs_only(model),
        ),
        flag("--hidden-dropout", "0.0"),
        flag("--attention-dropout", "0.0"),
    )


def _activation(model: Model) -> list[Flag]:
    """Between the matrices; the clamped one is a kernel of experts only.

    Source: megatron/core/transformer/mlp.py and megatron/training/argument_utils.py,
    core_transformer_config_from_args.
    """
    if _clamped(model):
        return [
            flag("--quick-geglu"),
            flag("--glu-linear-offset", "1.0"),
            flag("--activation-func-clamp-value", "7.0"),
        ]
    return switches(swiglu=model.mlp.gated)


def _clamped(model: Model) -> bool:
    """Whether all layers have experts with the clamped activation."""
    return activation_of(model) == CLAMPED and model.mlp.gated and model.mlp.hidden is None


def _linear_bias(model: Model) -> bool:
    """Whether all matrices have biases: Megatron-LM has one switch for them."""
    return model.mlp.bias


def _bias_of_inputs_only(model: Model) -> bool:
    return not model.mlp.bias and set(_ATTENTION_INPUTS) <= set(model.attention.bias)


def _attention(launch: Launch) -> tuple[Flag, ...]:
    """Heads, latent attention, windows, norms of queries and keys, sinks."""
    model = launch.model
    attention, norm = model.attention, model.attention.qk_norm
    latent = attention.kind == "mla"
    grouped = not latent and model.kv_heads != model.heads
    return (
        flag("--num-attention-heads", model.heads),
        *((flag("--group-query-attention"),) if grouped else ()),
        *((flag("--num-query-groups", model.kv_heads),) if grouped else ()),
        flag("--kv-channels", attention.v_head_dim if latent else model.head_dim),
        *(_latent(model) if latent else ()),
        *switches(
            qk_layernorm=latent or norm in {"per-head", "full-width"},
            qk_l2_norm=norm == "unweighted",
        ),
        *((flag("--softmax-type", "learnable"),) if attention.sinks else ()),
        *_window(launch),
    )


def _latent(model: Model) -> list[Flag]:
    """Multi-head latent attention; without a rank the query is projected directly.

    YaRN with a factor of 1 is plain rotary embedding, and the only kind with a fused kernel.
    """
    attention = model.attention
    ranks = [flag("--q-lora-rank", attention.q_lora_rank)] if attention.q_lora_rank else []
    return [
        flag("--multi-latent-attention"),
        *ranks,
        flag("--kv-lora-rank", attention.kv_lora_rank),
        flag("--qk-head-dim", attention.qk_nope_head_dim),
        flag("--qk-pos-emb-head-dim", attention.qk_rope_head_dim),
        flag("--v-head-dim", attention.v_head_dim),
        flag("--rope-type", "yarn"),
        flag("--rotary-scaling-factor", "1.0"),
    ]


def _window(launch: Launch) -> list[Flag]:
    """Sliding windows that are shorter than the sequence; a window counts the token itself."""
    model, window = launch.model, launch.model.window
    if window is None or window.kind != "sliding" or window.tokens >= launch.seq_len:
        return []
    local = [int(tokens is not None) for tokens in model.attention_windows]
    flags = [flag("--window-size", f"{window.tokens - 1},0")]
    if not all(local):
        flags.append(flag("--window-attn-skip-freq", pattern(local)))
    return flags


def pattern(bits: Sequence[int]) -> str:
    """A list of 0 and 1 as a short Python expression, as Megatron-LM reads it.

    >>> pattern([0, 0, 0, 1, 1]), pattern([1, 0] * 3), pattern([1, 1, 0, 1, 1, 0, 1])
    ('[0]*3+[1]*2', '([1]+[0])*3', '([1]*2+[0])*2+[1]')
    """
    size = len(bits)
    period = next(p for p in range(1, size + 1) if all(bits[i] == bits[i % p] for i in range(size)))
    times, rest = divmod(size, period)
    if times == 1 or period == 1:
        return _runs(bits)
    cycle = f"({_runs(bits[:period])})*{times}"
    return f"{cycle}+{_runs(bits[:rest])}" if rest else cycle


def _runs(bits: Sequence[int]) -> str:
    counted = [(bit, len(list(alike))) for bit, alike in groupby(bits)]
    return "+".join(f"[{bit}]*{count}" if count > 1 else f"[{bit}]" for bit, count in counted)


def _experts(launch: Launch, moe: Moe) -> tuple[Flag, ...]:
    """Experts, router and the kernels that the software era has."""
    era, routed = ERAS[launch.cost.job.era], [int(k == "moe") for k in launch.model.layer_kinds]
    shared = moe.shared_experts * moe.shared_expert_hidden
    frequency = [] if all(routed) else [flag("--moe-layer-freq", pattern(routed))]
    return (
        flag("--num-experts", moe.experts),
        *frequency,
        flag("--moe-ffn-hidden-size", moe.expert_hidden),
        *((flag("--moe-shared-expert-intermediate-size", shared),) if shared else ()),
        *switches(
            moe_shared_expert_gate=moe.shared_expert_gate,
            moe_shared_expert_overlap=launch.cost.assumptions.shared_beside and shared > 0,
        ),
        flag("--moe-router-topk", moe.experts_per_token),
        *_groups(moe),
        *_router(launch.model, moe),
        flag("--moe-token-dispatcher-type", "alltoall"),
        *switches(
            moe_grouped_gemm=True,
            no_bias_dropout_fusion=_linear_bias(launch.model),
            moe_permute_fusion=era.experts.kernels in {"permuted", "fused"},
            moe_router_fusion=era.experts.kernels == "fused",
        ),
    )


def _groups(moe: Moe) -> tuple[Flag, ...]:
    """Groups of experts among which a token chooses."""
    if moe.groups == 1:
        return ()
    chosen = flag("--moe-router-group-topk", moe.groups_per_token)
    return (flag("--moe-router-num-groups", moe.groups), chosen)


def _router(model: Model, moe: Moe) -> list[Flag]:
    """Scores and balance: with a bias per expert as DeepSeek-V3 has it, else a softmax.

    Where all matrices have biases, the router has one by itself (core/transformer/moe/router.py).
    A softmax over one chosen expert has no gradient, so that it comes before the choice then.
    """
    if _balanced_by_bias(model):
        return [
            flag("--moe-router-score-function", "sigmoid"),
            flag("--moe-router-enable-expert-bias"),
            flag("--moe-router-load-balancing-type", "seq_aux_loss"),
            flag("--moe-aux-loss-coeff", "1e-4"),
            flag("--moe-router-dtype", "fp32"),
        ]
    return [
        *switches(moe_router_pre_softmax=moe.experts_per_token == 1),
        flag("--moe-router-load-balancing-type", "aux_loss"),
        flag("--moe-aux-loss-coeff", "1e-2"),
        flag("--moe-router-dtype", "fp32"),
    ]


def _balanced_by_bias(model: Model) -> bool:
    """Whether the bias of the router is that which balances the experts."""
    return model.moe is not None and model.moe.router_bias and not _linear_bias(model)


def model_lost(launch: Launch) -> list[Lost]:
    """What of the model is written otherwise; none of it changes the time or memory much."""
    model = launch.model
    bias, inputs = set(model.attention.bias), set(_ATTENTION_INPUTS)
    written = {*inputs, "output"} if model.mlp.bias else inputs if inputs <= bias else set()
    lost = {
        f"{model.mtp_modules} module(s) of multi-token prediction, which the prediction does not "
        "count either: --mtp-num-layers adds them (Megatron-Bridge: mtp_num_layers)": (
            model.mtp_modules > 0
        ),
        "queries and keys are normalized per head (--qk-layernorm), not over the full width": (
            model.attention.qk_norm == "full-width"
        ),
        f"attention has biases of {' and '.join(sorted(bias)) or 'nothing'}, written are those of "
        f"{' and '.join(sorted(written)) or 'nothing'}: Megatron-LM has a switch for all "
        "matrices and one for queries, keys and values": bias != written,
        "LayerNorm has a bias in Megatron-LM": (
            model.norm.kind == "layernorm" and not model.norm.bias
        ),
        f"positions beyond the {model.positions.max_positions} of the model are new rows of its "
        "table": launch.seq_len > (model.positions.max_positions or launch.seq_len),
        "the router has a bias in Megatron-LM, as all matrices have": (
            model.moe is not None and _linear_bias(model) and not model.moe.router_bias
        ),
        _other_activation(model): bool(_other_activation(model)),
    }
    return [Lost("model", reason) for reason, holds in lost.items() if holds]


def _other_activation(model: Model) -> str:
    """Which activation stands in for one that no flag names; empty: none."""
    wanted, written = activation_of(model), SILU if model.mlp.gated else GELU
    if wanted == written or _clamped(model):
        return ""
    gated = int(model.mlp.gated)
    return (
        f"the activation is {NAMES[wanted][gated]}, written is {NAMES[written][gated]}, which "
        "takes as long: Megatron-LM has no flag for it (in Megatron-Bridge: model.activation_func)"
    )


def flags_of_weights(launch: Launch) -> list[str]:
    """Flags for what a record does not hold."""
    model = launch.model
    latent, rotary = model.attention.kind == "mla", model.positions.kind == "rope"
    moe = model.moe
    chosen = moe is not None and (latent or _balanced_by_bias(model))
    flags = {
        "--norm-epsilon": True,
        "--rotary-base": rotary,
        "--position-embedding-type": rotary and not latent,
        "--rotary-percent": rotary and not latent,
        "--use-rope-scaling": rotary and not latent,
        "--rotary-scaling-factor": latent,
        "--mscale": latent,
        "--mscale-all-dim": latent,
        "--moe-router-num-groups": chosen,
        "--moe-router-group-topk": chosen,
        "--moe-router-topk-scaling-factor": chosen,
        "--moe-router-pre-softmax": (
            moe is not None and moe.experts_per_token > 1 and not _balanced_by_bias(model)
        ),
    }
    return [name for name, asked in flags.items() if asked]

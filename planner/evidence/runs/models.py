"""The model of a measured run: that of the database, or one made of the figures of its row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from hardware_db import FrozenMap
from models_db import (
    Attention,
    Mlp,
    Model,
    Moe,
    Norm,
    Positions,
    Published,
    list_models,
    load_model,
)
from planner.base.numerals import is_digits
from planner.evidence.csvfile import whole_in
from planner.evidence.runs.profiles import Profile

_LATENT = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
OF_EXPERTS = ("shared_experts", "shared_expert_hidden", "first_dense_layers")
SAID = ("head_dim", "output_gate", "tied_embeddings", "q_lora_rank", *_LATENT, *OF_EXPERTS)
"""What the column `architecture` may say: names of `models_db.Model` and its parts, as numbers."""
_LARGEST = 2**20


def model_of(row: Mapping[str, str], profile: Profile) -> Model:
    """The known model of that name and those dimensions; else a decoder with the dimensions."""
    known = _known_model(row["model_name"])
    if known is not None and "(L=" in row["model_name"]:
        return _first_layers(known, row)
    if known is not None and (known.layers, known.hidden) == (
        whole_in(row, "n_layers", known.layers),
        whole_in(row, "d_model", known.hidden),
    ):
        return known
    width, experts = _widths(row)
    found = _dense_model(
        row["model_name"],
        whole_in(row, "n_layers"),
        whole_in(row, "d_model"),
        whole_in(row, "n_heads"),
        whole_in(row, "n_kv_heads", whole_in(row, "n_heads")),
        width,
        row["gated_mlp"] == "1",
        whole_in(row, "vocab"),
        whole_in(row, "seq_len"),
        experts,
        tied=width < profile.ties_below,
    )
    return _with_said(found, row["architecture"], width) if row.get("architecture") else found


def _widths(row: Mapping[str, str]) -> tuple[int, tuple[int, int, int]]:
    """The MLP's inner width, and number, choices and inner width of the experts, 0 without.

    Where experts have no width of their own, it is that of the MLP (Megatron-LM core 0.16.1,
    `moe_ffn_hidden_size` defaults to `ffn_hidden_size`); nor is that needed beside theirs.
    """
    experts, chosen, inner = (
        whole_in(row, name, 0) for name in ("moe_experts", "moe_topk", "moe_d_ff")
    )
    width = whole_in(row, "d_ff", inner) if experts else whole_in(row, "d_ff")
    return width, (experts, chosen, inner or width)


def said_of_architecture(text: str) -> dict[str, int]:
    """What a row says of its model beside its dimensions: `head_dim=128; first_dense_layers=1`.

    Raises:
        ValueError: A part is not a name of `SAID` and a whole number.
    """
    found: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, _, number = part.partition("=")
        if name not in SAID or not (is_digits(number) and 0 < int(number) <= _LARGEST):
            raise ValueError(
                f"{part!r} is not NAME=NUMBER with a whole number from 1 to {_LARGEST:,} and one "
                f"of the names {', '.join(SAID)}"
            )
        found[name] = int(number)
    lacking = [name for name in _LATENT if name not in found]
    if lacking and {*_LATENT, "q_lora_rank"} & found.keys():
        raise ValueError(f"latent attention needs {', '.join(lacking)} too")
    return found


def _with_said(model: Model, text: str, width: int) -> Model:
    """The model with what `said_of_architecture` finds; latent attention where its ranks are.

    Args:
        model: By its dimensions.
        text: What is said beside them.
        width: Of the MLP of dense layers.
    """
    said = said_of_architecture(text)
    head_dim, attention, moe = said.get("head_dim", model.head_dim), model.attention, model.moe
    latent = "kv_lora_rank" in said
    if latent:
        head_dim = said["qk_nope_head_dim"] + said["qk_rope_head_dim"]
        attention = replace(
            attention,
            kind="mla",
            v_head_dim=said["v_head_dim"],
            q_lora_rank=said.get("q_lora_rank"),
            kv_lora_rank=said["kv_lora_rank"],
            qk_nope_head_dim=said["qk_nope_head_dim"],
            qk_rope_head_dim=said["qk_rope_head_dim"],
        )
    else:
        gate = bool(said.get("output_gate", 0))
        attention = replace(attention, v_head_dim=head_dim, output_gate=gate)
    if moe is not None:
        shared = (said.get("shared_experts", 0), said.get("shared_expert_hidden", 0))
        moe = replace(
            moe,
            shared_experts=shared[0],
            shared_expert_hidden=shared[1],
            first_dense_layers=said.get("first_dense_layers", 0),
        )
    return replace(
        model,
        head_dim=head_dim,
        kv_heads=model.heads if latent else model.kv_heads,
        attention=attention,
        tied_embeddings=bool(said.get("tied_embeddings", model.tied_embeddings)),
        mlp=replace(model.mlp, hidden=width) if said.get("first_dense_layers") else model.mlp,
        moe=moe,
    )


def _first_layers(model: Model, row: Mapping[str, str]) -> Model:
    """The model, or the few layers that were measured: one dense (SimuMax), the rest with experts.

    That a single dense layer is left is concluded from the memory of its DeepSeek-V3 rows.
    """
    moe = model.moe and replace(model.moe, first_dense_layers=1)
    return replace(model, layers=whole_in(row, "n_layers"), moe=moe)


@cache
def _known_model(title: str) -> Model | None:
    """The model of our database whose name the title begins with, the longest such."""
    plain = re.sub(r"[^a-z0-9.]", "", title.lower())
    names = [n for n in list_models() if plain.startswith(re.sub(r"[^a-z0-9.]", "", n))]
    starts = [
        n
        for n in list_models()
        if len(plain) > 8 and re.sub(r"[^a-z0-9.]", "", n).startswith(plain)
    ]
    best = max(names, key=len, default=None) or min(starts, key=len, default=None)
    return load_model(best) if best else None


@cache
def _dense_model(
    title: str,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    width: int,
    gated: bool,
    vocab: int,
    seq_len: int,
    experts: tuple[int, ...],
    *,
    tied: bool,
) -> Model:
    """A decoder with the printed dimensions: no biases, RMS norms, rotary positions."""
    moe = _routed(*experts) if experts[0] else None
    return Model(
        name=title,
        title=title,
        family="published run",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=hidden // heads,
        vocab_size=vocab,
        seq_len=seq_len,
        tied_embeddings=tied,
        parallel_block=False,
        attention=_plain_attention(hidden // heads, grouped=kv_heads != heads),
        window=None,
        mlp=Mlp(hidden=None if moe else width, gated=gated, bias=False),
        norm=Norm(kind="rmsnorm", bias=False, per_layer=2, final=True, embedding=False),
        positions=Positions(kind="rope", max_positions=None),
        moe=moe,
        mtp_modules=0,
        published=Published(
            total_parameters=None,
            active_parameters=None,
            other_parameters=0,
            active_includes_input_embeddings=True,
        ),
        quantities=FrozenMap({}),
        sources=FrozenMap({}),
    )


def _plain_attention(head_dim: int, *, grouped: bool) -> Attention:
    """Attention without biases, norms, latents or sinks."""
    return Attention(
        kind="gqa" if grouped else "mha",
        v_head_dim=head_dim,
        q_lora_rank=None,
        kv_lora_rank=None,
        qk_nope_head_dim=None,
        qk_rope_head_dim=None,
        bias=(),
        qk_norm="none",
        sinks=False,
    )


def _routed(experts: int, per_token: int, hidden: int) -> Moe:
    """Routed experts on every layer, none shared."""
    return Moe(
        experts=experts,
        experts_per_token=per_token,
        expert_hidden=hidden,
        shared_experts=0,
        shared_expert_hidden=0,
        shared_expert_gate=False,
        first_dense_layers=0,
        layer_period=1,
        router_bias=False,
    )

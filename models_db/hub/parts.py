"""What every family reads from its keys, and the model file that it becomes."""

from __future__ import annotations

from typing import Any

from frozen_records import dataclass
from models_db.hub.fields import Fields, Number, derived, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A decoder as a family of configurations describes it; numbers as a model file writes them.

    The fields are those of `models_db.Model`; `latent` holds the four or five numbers of latent
    attention by their names there, `window` and `moe` are blocks of a model file.
    """

    layers: Number
    hidden: Number
    heads: Number
    kv_heads: Number
    head_dim: Number
    vocab_size: Number
    seq_len: Number
    tied: bool
    mlp_hidden: Number | None
    parallel: bool = False
    bias: tuple[str, ...] = ()
    qk_norm: str = "none"
    sinks: bool = False
    latent: dict[str, Number] | None = None
    window: dict[str, Any] | None = None
    gated: bool = True
    mlp_bias: bool = False
    norm_kind: str = "rmsnorm"
    norm_bias: bool = False
    norms_per_layer: int = 2
    final_norm: bool = True
    embedding_norm: bool = False
    positions: str = "rope"
    max_positions: Number | None = None
    moe: dict[str, Any] | None = None
    output_gate: bool = False
    order: dict[str, str] | None = None
    recurrence: dict[str, Any] | None = None
    mtp: Number | None = None

    def blocks(self) -> dict[str, Any]:
        """The blocks of a model file, in its order."""
        positions: dict[str, Any] = {"kind": self.positions}
        if self.max_positions is not None:
            positions["max_positions"] = self.max_positions
        mlp: dict[str, Any] = {} if self.mlp_hidden is None else {"hidden": self.mlp_hidden}
        own = "of the architecture; no key states it"
        return {
            "layers": self.layers,
            "hidden": self.hidden,
            "heads": self.heads,
            "kv_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "vocab_size": self.vocab_size,
            "seq_len": self.seq_len,
            "tied_embeddings": self.tied,
            "parallel_block": self.parallel,
            "attention": {
                "kind": self._attention_kind(),
                "bias": list(self.bias),
                "qk_norm": self.qk_norm,
                "sinks": self.sinks,
                **({"output_gate": True} if self.output_gate else {}),
                **(self.latent or {}),
            },
            **({} if self.window is None else {"window": self.window}),
            **({} if self.order is None else {"order": self.order}),
            **({} if self.recurrence is None else {"recurrence": self.recurrence}),
            "mlp": {**mlp, "gated": self.gated, "bias": self.mlp_bias},
            "norm": {
                "kind": self.norm_kind,
                "bias": self.norm_bias,
                "per_layer": derived(self.norms_per_layer, own),
                "final": self.final_norm,
                "embedding": self.embedding_norm,
            },
            "positions": positions,
            **({} if self.moe is None else {"moe": self.moe}),
            **({} if self.mtp is None else {"mtp": {"modules": self.mtp}}),
        }

    def _attention_kind(self) -> str:
        if self.latent is not None:
            return "mla"
        if self.kv_heads["value"] == self.heads["value"]:
            return "mha"
        return "mqa" if self.kv_heads["value"] == 1 else "gqa"


_LONGEST = "the longest context of the file; the length of pre-training is not in it"


def sequence(fields: Fields, *keys: str) -> Number:
    """Length of a sequence in tokens: the one before an extension of the context, where stated.

    The keys name the longest context; what a model was trained with stands in no config.json, so
    the number is an assumption.
    """
    scaling = fields.part("rope_scaling") or fields.part("rope_parameters")
    longest = fields.count(*keys, unit="tokens")
    stated = {
        "initial_context_length": fields.raw("initial_context_length"),
        "original_max_position_embeddings": fields.raw("original_max_position_embeddings"),
        "rope_scaling.original_max_position_embeddings": scaling.get(
            "original_max_position_embeddings"
        ),
    }
    for key, value in stated.items():
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            note = f"{key}; the length of pre-training is not in the file"
            return number(value, "tokens", "assumed", note)
    note = longest.get("note") or f"{keys[0]}: {_LONGEST}"
    return number(longest["value"], "tokens", "assumed", note)


def key_value_heads(fields: Fields, heads: Number) -> Number:
    """`num_key_value_heads`; absent, the default of the class; null, as many as query heads."""
    key = "num_key_value_heads"
    if not fields.stated(key):
        how = "null" if fields.null(key) else "absent"
        return derived(heads["value"], f"{key} is {how}: as many as query heads")
    found = fields.count(key)
    groups, total = found["value"], heads["value"]
    said = f"absent, and the {groups} of its class" if key in fields.assumed else f"{groups}"
    fields.require(
        groups <= total and total % groups == 0,
        key,
        f"{said} does not divide the {total} heads of num_attention_heads",
    )
    return found


def head_width(fields: Fields, hidden: Number, heads: Number) -> Number:
    """`head_dim`; absent, the default of the class; null or without one, hidden / heads."""
    if fields.stated("head_dim"):
        return fields.count("head_dim")
    return even_width(fields, hidden, heads)


def even_width(fields: Fields, hidden: Number, heads: Number) -> Number:
    """Width of a head as hidden / heads, which must be whole."""
    width, count = hidden["value"], heads["value"]
    fields.require(
        width % count == 0,
        "num_attention_heads",
        f"{count} heads do not divide the hidden width of {width}; state head_dim",
    )
    return derived(max(1, width // count), "hidden / heads")

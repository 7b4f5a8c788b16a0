"""Decoders with LayerNorm and two matrices per feed-forward: GPT-2, GPT-NeoX, OPT, BLOOM, Falcon.

Shapes: modeling_<model_type>.py of transformers 5.23.0.
"""

from __future__ import annotations

from models_db.hub.dense import ALL
from models_db.hub.fields import Fields, Number, derived, number
from models_db.hub.order import layer_count
from models_db.hub.parts import Parts, even_width, sequence

_SAME = "as many as query heads"
_OPT_OFFSET = 2  # rows of the table before the first position


def _inner(fields: Fields, hidden: Number, *keys: str) -> Number:
    """Width of the feed-forward; absent, four hidden widths."""
    if fields.has(*keys):
        return fields.count(*keys)
    return derived(4 * hidden["value"], f"4 x hidden; {keys[0]} is absent")


def opt(fields: Fields) -> Parts:
    """OPT: learned positions, whose table has two rows more than there are positions."""
    hidden = fields.count("hidden_size")
    heads = fields.count("num_attention_heads")
    biased = fields.flag("enable_bias")
    positions = fields.count("max_position_embeddings", unit="tokens")
    rows = derived(positions["value"] + _OPT_OFFSET, "positions + 2", "tokens")
    before = fields.flag("do_layer_norm_before")
    if fields.has("word_embed_proj_dim"):
        width = fields.count("word_embed_proj_dim")["value"]
        fields.require(
            width == hidden["value"],
            "word_embed_proj_dim",
            f"{width} is not hidden_size {hidden['value']}: projected embeddings are more than a "
            "record holds",
        )
    return Parts(
        layers=layer_count(fields, "num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=derived(heads["value"], _SAME),
        head_dim=even_width(fields, hidden, heads),
        vocab_size=fields.count("vocab_size", unit="tokens"),
        seq_len=_table_length(positions, "max_position_embeddings"),
        tied=fields.flag("tie_word_embeddings"),
        bias=ALL if biased else (),
        mlp_hidden=fields.count("ffn_dim"),
        gated=False,
        mlp_bias=biased,
        norm_kind="layernorm",
        norm_bias=_with_weights(fields),
        final_norm=before and not fields.flag("_remove_final_layer_norm"),
        positions="learned",
        max_positions=rows,
    )


def _table_length(rows: Number, key: str) -> Number:
    """The length of sequences where positions are a table: its rows."""
    note = f"{key}: the rows of its table of positions"
    return number(rows["value"], "tokens", "assumed", rows.get("note") or note)


def _with_weights(fields: Fields) -> bool:
    """True: a norm has a weight and a bias; one without either is refused."""
    affine = fields.flag("layer_norm_elementwise_affine")
    fields.require(
        affine,
        "layer_norm_elementwise_affine",
        "false: norms without weights are less than a record holds",
    )
    return affine


def bloom(fields: Fields) -> Parts:
    """BLOOM: ALiBi, a norm after the embedding; embedding and head are one."""
    hidden = fields.count("hidden_size", "n_embed")
    heads = fields.count("n_head", "num_attention_heads")
    return Parts(
        layers=layer_count(fields, "n_layer", "num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=derived(heads["value"], _SAME),
        head_dim=even_width(fields, hidden, heads),
        vocab_size=fields.count("vocab_size", unit="tokens"),
        seq_len=_bloom_sequence(fields),
        tied=fields.flag("tie_word_embeddings"),
        bias=ALL,
        mlp_hidden=derived(4 * hidden["value"], "4 x hidden"),
        gated=False,
        mlp_bias=True,
        norm_kind="layernorm",
        norm_bias=True,
        embedding_norm=True,
        positions="alibi",
    )


def _bloom_sequence(fields: Fields) -> Number:
    """`seq_length`; absent, the 2048 tokens of BLOOM (arXiv:2211.05100, table 3)."""
    if fields.has("seq_length"):
        length = fields.count("seq_length", unit="tokens")
        return number(length["value"], "tokens", "assumed", "seq_length; that of its training")
    return number(2048, "tokens", "assumed", "seq_length is absent; the length of BLOOM")


def falcon(fields: Fields) -> Parts:
    """Falcon: its flags, not `num_kv_heads` alone, say how many key-value heads there are."""
    hidden = fields.count("hidden_size")
    heads = fields.count("num_attention_heads", "n_head")
    biased = fields.flag("bias")
    layers = layer_count(fields, "num_hidden_layers", "n_layer")
    parallel = fields.flag("parallel_attn") or fields.flag("new_decoder_architecture")
    return Parts(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=_falcon_groups(fields, heads),
        head_dim=even_width(fields, hidden, heads),
        vocab_size=fields.count("vocab_size", unit="tokens"),
        seq_len=sequence(fields, "max_position_embeddings"),
        tied=fields.flag("tie_word_embeddings"),
        parallel=parallel,
        bias=ALL if biased else (),
        mlp_hidden=_inner(fields, hidden, "ffn_hidden_size"),
        gated=False,
        mlp_bias=biased,
        norm_kind="layernorm",
        norm_bias=True,
        norms_per_layer=_falcon_norms(fields),
        positions="alibi" if fields.flag("alibi") else "rope",
    )


def _falcon_groups(fields: Fields, heads: Number) -> Number:
    """Key-value heads: `num_kv_heads` in the newer design, else 1 or as many as query heads."""
    grouped = fields.flag("new_decoder_architecture")
    multi_query = fields.flag("multi_query")
    fields.raw("num_kv_heads", "n_head_kv")
    if grouped and fields.has("num_kv_heads", "n_head_kv"):
        return fields.count("num_kv_heads", "n_head_kv")
    if multi_query and not grouped:
        return derived(1, "multi_query without new_decoder_architecture")
    return derived(heads["value"], _SAME)


def _falcon_norms(fields: Fields) -> int:
    """Norms per layer: one where attention and feed-forward share it, else two."""
    grouped, parallel = fields.flag("new_decoder_architecture"), fields.flag("parallel_attn")
    if fields.has("num_ln_in_parallel_attn") and (grouped or parallel):
        return int(fields.count("num_ln_in_parallel_attn", most=2)["value"])
    return 1 if parallel and not grouped else 2

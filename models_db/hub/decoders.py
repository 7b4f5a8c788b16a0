"""A row of the table of types as the parts of a model file.

The block `record` of a row has a formula for each field of a model file that differs from Llama's:

- `layers`, `hidden`, `heads`, `kv_heads`, `head_dim`, `vocab_size`, `positions` (the key of the
  longest context), `mlp_hidden`, `mtp`: numbers;
- `tied`, `parallel`, `sinks`, `output_gate`, `gated`, `mlp_bias`, `norm_bias`, `final_norm`,
  `embedding_norm`: conditions; `norms_per_layer`: a number;
- `bias`: a condition for all four projections, or one for each group, such as
  `query key value: attention_bias`;
- `qk_norm`: a text, or a condition for each;
- `norm`, `position_kind`: texts, or formulas in brackets; `max_positions`: rows of a learned table;
- `window`: `tokens`, and `local` of layer i; `kind` where it is not sliding;
- `moe`: `experts`, `chosen`, `hidden`, `shared`, `shared_hidden`, `gate`, `router_bias`, and `at`
  of layer i; `unless` is the condition in which there are none;
- `order`: `mixer` and `feed` of layer i, as letters of a model file;
- `recurrence`: its numbers, `kind`, `norm`, and `bias` as above;
- `latent`: the ranks and widths of latent attention.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from frozen_records import dataclass
from models_db.hub.dense import ALL
from models_db.hub.fields import Number, derived, number
from models_db.hub.order import MOST_LAYERS, layer_count, regular_experts, regular_window
from models_db.hub.parts import Parts, head_width, key_value_heads, sequence
from models_db.hub.scope import Scope

Record = Mapping[str, Any]


def decoder(scope: Scope, record: Record) -> Parts:
    """The parts of a decoder.

    Args:
        scope: the configuration, with its row.
        record: the block `record` of the row.
    """
    layers = _layers(scope, record)
    hidden = scope.number(record.get("hidden", "hidden_size"))
    heads = scope.number(record.get("heads", "num_attention_heads"))
    scope.check_layers(layers["value"])
    order = _order(scope, record, layers["value"])
    moe = _experts(scope, record, order)
    return Parts(
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=_kv_heads(scope, record, heads),
        head_dim=_head_dim(scope, record, hidden, heads),
        vocab_size=scope.number(record.get("vocab_size", "vocab_size"), "tokens"),
        seq_len=_length(scope, record),
        tied=_holds(scope, record.get("tied", "tie_word_embeddings")),
        mlp_hidden=_dense_hidden(scope, record, order),
        parallel=_holds(scope, record.get("parallel", False)),
        bias=_bias(scope, record.get("bias", False)),
        qk_norm=_one_of(scope, record.get("qk_norm", "none"), "none"),
        sinks=_holds(scope, record.get("sinks", False)),
        latent=_latent(scope, record),
        window=_window(scope, record.get("window"), layers),
        gated=_holds(scope, record.get("gated", True)),
        mlp_bias=_holds(scope, record.get("mlp_bias", False)),
        norm_kind=_one_of(scope, record.get("norm", "rmsnorm"), "rmsnorm"),
        norm_bias=_holds(scope, record.get("norm_bias", False)),
        norms_per_layer=int(scope.value(str(record.get("norms_per_layer", 2)))),
        final_norm=_holds(scope, record.get("final_norm", True)),
        embedding_norm=_holds(scope, record.get("embedding_norm", False)),
        positions=_one_of(scope, record.get("position_kind", "rope"), "rope"),
        max_positions=_table(scope, record),
        moe=moe,
        output_gate=_holds(scope, record.get("output_gate", False)),
        order=_written(order, moe),
        recurrence=_recurrence(scope, record, order),
        mtp=_predictors(scope, record),
    )


def _layers(scope: Scope, record: Record) -> Number:
    """The number of layers; 1 where there are too many."""
    key = str(record.get("layers", "num_hidden_layers"))
    if key.isidentifier():
        return layer_count(scope.fields, *scope.spellings(key))
    found = scope.number(key)
    if found["value"] > MOST_LAYERS:
        scope.fields.wrong(key, f"{found['value']} is out of range; from 1 to {MOST_LAYERS:,}")
        return derived(1, "wrong")
    return found


def _holds(scope: Scope, condition: object) -> bool:
    """A condition: true or false by itself, or a formula."""
    return condition if isinstance(condition, bool) else bool(scope.value(str(condition)))


def _one_of(scope: Scope, said: object, usual: str) -> str:
    """A word by itself, or the first whose condition holds."""
    if not isinstance(said, Mapping):
        return str(said)
    return next((word for word, when in said.items() if _holds(scope, when)), usual)


def _bias(scope: Scope, said: object) -> tuple[str, ...]:
    """The projections that have a bias."""
    if not isinstance(said, Mapping):
        return ALL if _holds(scope, said) else ()
    given = {name for names, when in said.items() if _holds(scope, when) for name in names.split()}
    return tuple(name for name in ALL if name in given)


def _kv_heads(scope: Scope, record: Record, heads: Number) -> Number:
    if "latent" in record:
        scope.fields.raw("num_key_value_heads")  # says nothing about latents
        return derived(heads["value"], "keys and values are expanded for every head")
    if "kv_heads" not in record:
        return key_value_heads(scope.fields, heads)
    if record["kv_heads"] == record.get("heads", "num_attention_heads"):
        return derived(heads["value"], "as many as query heads")
    found = scope.number(record["kv_heads"])
    groups, total = found["value"], heads["value"]
    said = f"{groups} does not divide the {total} heads"
    scope.fields.require(total % groups == 0, str(record["kv_heads"]), said)
    return found


def _head_dim(scope: Scope, record: Record, hidden: Number, heads: Number) -> Number:
    if "head_dim" in record:
        return scope.number(record["head_dim"])
    return head_width(scope.fields, hidden, heads)


def _length(scope: Scope, record: Record) -> Number:
    if "seq_len" in record:
        note = "no key states a context; that of the models of this type"
        return number(int(record["seq_len"]), "tokens", "assumed", note)
    key = record.get("positions", "max_position_embeddings")
    return sequence(scope.fields, *scope.spellings(key))


def _table(scope: Scope, record: Record) -> Number | None:
    """Rows of a learned table of positions; None without one."""
    if "max_positions" not in record:
        return None
    return scope.number(record["max_positions"], "tokens")


def _latent(scope: Scope, record: Record) -> dict[str, Number] | None:
    """The ranks and widths of latent attention; a rank that is null is left out."""
    if "latent" not in record:
        return None
    found: dict[str, Number] = {}
    for name in ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
                 "v_head_dim"):  # fmt: skip
        formula = record["latent"].get(name, name)
        if name == "q_lora_rank" and not _holds(scope, formula):
            continue
        found[name] = scope.number(formula)
    return found


def _window(scope: Scope, block: Mapping[str, Any] | None, layers: Number) -> dict[str, Any] | None:
    """The layers that see nearby tokens only."""
    if block is None:
        return None
    local = [bool(found) for found in scope.by_layer(str(block["local"]), layers["value"])]
    if not any(local):
        return None
    tokens = scope.number(block.get("tokens", "sliding_window"), "tokens")
    key = scope.key_of(str(block["local"]))
    found, irregular = regular_window(local, tokens, block.get("kind", "sliding"), key)
    if irregular:
        scope.lacking.append("local and global layers that repeat in no cycle")
    return found


@dataclass(frozen=True, slots=True)
class _Letters:
    """One letter per layer, see `models_db.Order`.

    Attributes:
        mixers: what mixes the tokens.
        feeds: what follows it.
    """

    mixers: str
    feeds: str


def _order(scope: Scope, record: Record, layers: int) -> _Letters:
    """What each layer is made of."""
    block = record.get("order") or {}
    mixers = scope.by_layer(str(block.get("mixer", "'*'")), layers)
    if "feed" in block:
        feeds = scope.by_layer(str(block["feed"]), layers)
    else:
        feeds = ["E" if sparse else "-" for sparse in _sparse(scope, record.get("moe"), layers)]
    return _Letters(
        "".join(letter if letter in ("*", "M", "+", ".") else "." for letter in mixers),
        "".join(letter if letter in ("-", "E", ".") else "." for letter in feeds),
    )


def _sparse(scope: Scope, block: Mapping[str, Any] | None, layers: int) -> list[bool]:
    """Whether each layer has experts."""
    if block is None or _holds(scope, block.get("unless", False)):
        return [False] * layers
    return [bool(found) for found in scope.by_layer(str(block.get("at", "True")), layers)]


def _regular(order: _Letters) -> tuple[int, int] | None:
    """Leading dense layers and period of layers with experts; None where letters must say it."""
    if "E" not in order.feeds or "." in order.feeds:
        return None
    first, period, irregular = regular_experts([letter == "E" for letter in order.feeds])
    return None if irregular else (first, period)


def _written(order: _Letters, moe: dict[str, Any] | None) -> dict[str, str] | None:
    """The block `order` of a model file; None where each layer has attention and a feed-forward."""
    said = {"mixers": _short(order.mixers)}
    if (moe is not None and "layer_period" not in moe) or "." in order.feeds:
        said["feed_forwards"] = _short(order.feeds)
    return None if said == {"mixers": "*"} else said


def _short(letters: str) -> str:
    """Letters that are all the same as one."""
    return letters[0] if len(set(letters)) == 1 else letters


def _experts(scope: Scope, record: Record, order: _Letters) -> dict[str, Any] | None:
    """The block `moe` of a model file; None without experts."""
    block = record.get("moe")
    if block is None or "E" not in order.feeds:
        return None
    experts, chosen = scope.number(block["experts"]), scope.number(block["chosen"])
    scope.fields.require(
        chosen["value"] <= experts["value"],
        str(block["chosen"]),
        f"{chosen['value']} is more than the {experts['value']} experts",
    )
    found = {
        "experts": experts,
        "experts_per_token": chosen,
        "expert_hidden": scope.number(block["hidden"]),
        **_shared(scope, block),
        "router_bias": _holds(scope, block.get("router_bias", False)),
    }
    if (places := _regular(order)) is not None:
        notes = [derived(number, "from the layers with experts") for number in places]
        found |= dict(zip(("first_dense_layers", "layer_period"), notes, strict=True))
    if "latent" in block and scope.value(str(block["latent"])):
        found["latent"] = scope.number(block["latent"])
    return found


def _shared(scope: Scope, block: Mapping[str, Any]) -> dict[str, Any]:
    """Shared experts, their width and gate."""
    shared = scope.number(block.get("shared", "0"), least=0)
    if not shared["value"]:
        return {"shared_experts": shared}
    width = scope.number(block.get("shared_hidden", block["hidden"]))
    gate = _holds(scope, block.get("gate", False))
    return {
        "shared_experts": shared,
        "shared_expert_hidden": width,
        **({"shared_expert_gate": True} if gate else {}),
    }


def _dense_hidden(scope: Scope, record: Record, order: _Letters) -> Number | None:
    """Inner width of the dense layers; None where there are none."""
    key = str(record.get("mlp_hidden", "intermediate_size"))
    scope.fields.raw(key)
    return scope.number(key) if "-" in order.feeds else None


_OF_RECURRENCES = ("heads", "head_dim", "key_heads", "key_dim", "kernel", "rank")


def _recurrence(scope: Scope, record: Record, order: _Letters) -> dict[str, Any] | None:
    """The mixer that replaces attention; None where every layer has attention alone."""
    block = record.get("recurrence")
    if block is None or not {"M", "+"} & set(order.mixers):
        return None
    said = block.get("bias", {})
    numbers = {name: scope.number(block[name]) for name in _OF_RECURRENCES if name in block}
    chunk = {"chunk": scope.number(block["chunk"], "tokens")} if "chunk" in block else {}
    return {
        "kind": block["kind"],
        **numbers,
        **chunk,
        "bias": [part for part, when in said.items() if _holds(scope, when)],
        "norm": _one_of(scope, block.get("norm", "none"), "none"),
    }


def _predictors(scope: Scope, record: Record) -> Number | None:
    """Modules that predict further tokens; None without any."""
    if "mtp" not in record:
        return None
    found = scope.number(record["mtp"], least=0)
    return found if found["value"] else None

"""The arrays of a transformer with their shapes and the mesh axes that divide each dimension.

Weights of layers are stacked: (chunks per stage, stages, layers per chunk, ...). Column-parallel
matrices are divided by tp along their outputs, row-parallel ones along their inputs; zero3 divides
the hidden width over fsdp and cp. Experts are whole on the ranks of an expert group; what the
group leaves of tp, cp and fsdp shards them under zero3.
"""

from __future__ import annotations

from frozen_records import dataclass
from planner.frameworks.jax.axes import MeshAxis, names_of, product
from planner.frameworks.writing.chosen import common_sharding
from planner.frameworks.writing.launch import Launch

Axes = tuple[str, ...]
Dimension = tuple[int, Axes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrays:
    """Name to the dimensions of each array: size, axes that divide it.

    Attributes:
        weights: Parameters.
        optimizer: The same with the axes that divide the optimizer's states.
        activations: Of one micro-batch over all data ranks.
    """

    weights: dict[str, tuple[Dimension, ...]]
    optimizer: dict[str, tuple[Dimension, ...]]
    activations: dict[str, tuple[Dimension, ...]]


def arrays(launch: Launch, axes: tuple[MeshAxis, ...]) -> Arrays:
    """The arrays of a job under a plan."""
    sharding = common_sharding(launch)
    zero3 = names_of(axes, "fsdp", "cp") if sharding == "zero3" else ()
    states = names_of(axes, "dp", "cp") if sharding in ("zero1", "zero2") else zero3
    left = names_of(axes, "fsdp", "cp", "tp", expert=False) if sharding == "zero3" else ()
    held = names_of(axes, "dp", "cp", expert=False) if sharding in ("zero1", "zero2") else left
    return Arrays(
        weights=_weights(launch, axes, zero3, left),
        optimizer=_weights(launch, axes, states, held),
        activations=_activations(launch, axes),
    )


def vocabulary(launch: Launch) -> int:
    """Rows of the embedding table, which JAX divides equally over tp."""
    tp = launch.plan.tp
    return -(-launch.model.vocab_size // tp) * tp


def _weights(
    launch: Launch, axes: tuple[MeshAxis, ...], shard: Axes, experts: Axes
) -> dict[str, tuple[Dimension, ...]]:
    model, tensor = launch.model, names_of(axes, "tp")
    hidden, rows = (model.hidden, shard), (vocabulary(launch), tensor)
    found: dict[str, tuple[Dimension, ...]] = {"embedding": (rows, hidden)}
    if model.positions.max_positions:
        found["positions"] = ((model.positions.max_positions, ()), hidden)
    stacked = _stack(launch, axes)
    norm: tuple[Dimension, ...] = ((model.hidden, ()),)
    layer = {"attention_norm": norm, "mlp_norm": norm}
    layer |= _attention(launch, axes, shard) | _mlp(launch, axes, shard)
    layer |= _experts(launch, axes, shard, experts)
    found |= {f"layers.{name}": (*stacked, *dims) for name, dims in layer.items()}
    found["norm"] = ((model.hidden, ()),)
    return found if model.tied_embeddings else found | {"head": (hidden, rows)}


def _stack(launch: Launch, axes: tuple[MeshAxis, ...]) -> tuple[Dimension, ...]:
    plan = launch.plan
    each = launch.model.layers // (plan.pp * plan.interleave)
    return ((plan.interleave, ()), (plan.pp, names_of(axes, "pp")), (each, ()))


def _attention(
    launch: Launch, axes: tuple[MeshAxis, ...], shard: Axes
) -> dict[str, tuple[Dimension, ...]]:
    model, block, tensor = launch.model, launch.model.attention, names_of(axes, "tp")
    hidden, heads = (model.hidden, shard), (model.heads, tensor)
    wide, value = (model.head_dim, ()), (block.v_head_dim, ())
    if block.kind == "mla":
        latent, rope = block.kv_lora_rank or 0, block.qk_rope_head_dim or 0
        keys = (block.qk_nope_head_dim or 0) + block.v_head_dim
        found: dict[str, tuple[Dimension, ...]] = {
            "key_value_down": (hidden, (latent + rope, ())),
            "key_value_up": ((latent, ()), heads, (keys, ())),
            "output": (heads, value, hidden),
        }
        if block.q_lora_rank is None:
            return found | {"query": (hidden, heads, wide)}
        rank = (block.q_lora_rank, ())
        return found | {"query_down": (hidden, rank), "query_up": (rank, heads, wide)}
    whole = model.kv_heads % product(axes, tensor) == 0
    kept = (model.kv_heads, tensor if whole else ())
    return {
        "query": (hidden, heads, wide),
        "key": (hidden, kept, wide),
        "value": (hidden, kept, value),
        "output": (heads, value, hidden),
    }


def _mlp(
    launch: Launch, axes: tuple[MeshAxis, ...], shard: Axes
) -> dict[str, tuple[Dimension, ...]]:
    model, tensor = launch.model, names_of(axes, "tp")
    if model.mlp.hidden is None or "dense" not in model.layer_kinds:
        return {}
    return _matrices(launch, "mlp", ((model.hidden, shard), (model.mlp.hidden, tensor)))


def _experts(
    launch: Launch, axes: tuple[MeshAxis, ...], shard: Axes, experts: Axes
) -> dict[str, tuple[Dimension, ...]]:
    model, moe, tensor = launch.model, launch.model.moe, names_of(axes, "tp")
    if moe is None:
        return {}
    group = (moe.experts, names_of(axes, "tp", "cp", "fsdp", "dp", expert=True))
    found: dict[str, tuple[Dimension, ...]] = {
        "router": ((model.hidden, shard), (moe.experts, ())),
        **_matrices(launch, "experts", ((model.hidden, experts), (moe.expert_hidden, ())), group),
    }
    if moe.shared_experts:
        width = moe.shared_experts * moe.shared_expert_hidden
        found |= _matrices(launch, "shared", ((model.hidden, shard), (width, tensor)))
    return found


def _matrices(
    launch: Launch, name: str, sides: tuple[Dimension, Dimension], *group: Dimension
) -> dict[str, tuple[Dimension, ...]]:
    """Up, gate and down projections between the hidden and the inner width."""
    hidden, inner = sides
    gate = {f"{name}_gate": (*group, hidden, inner)} if launch.model.mlp.gated else {}
    return {f"{name}_up": (*group, hidden, inner), **gate, f"{name}_down": (*group, inner, hidden)}


def _activations(launch: Launch, axes: tuple[MeshAxis, ...]) -> dict[str, tuple[Dimension, ...]]:
    plan, model, tensor = launch.plan, launch.model, names_of(axes, "tp")
    context = names_of(axes, "cp")
    batch = (plan.dp * plan.fsdp * plan.micro_batch, names_of(axes, "dp", "fsdp"))
    sequence, norms = (launch.seq_len, context), names_of(axes, "cp", "tp")
    between = (launch.seq_len, norms if plan.sequence_parallel else context)
    found: dict[str, tuple[Dimension, ...]] = {
        "tokens": (batch, sequence),
        "between_blocks": (batch, between, (model.hidden, ())),
        "heads": (batch, sequence, (model.heads, tensor), (model.head_dim, ())),
        "logits": (batch, sequence, (vocabulary(launch), tensor)),
    }
    if model.mlp.hidden is not None:
        found["mlp"] = (batch, sequence, (model.mlp.hidden, tensor))
    return found

"""Matrices with adapters beside them: which they are, their parameters, what backward keeps.

LoRA has two factors of rank r beside a matrix, r (inputs + outputs) parameters (Hu et al.,
arXiv:2106.09685, section 4.1); DoRA a magnitude for each output as well (Liu et al.,
arXiv:2402.09353, section 4.1). Embedding, head, routers and gates of shared experts have none.
"""

from __future__ import annotations

from collections.abc import Iterator

from frozen_records import dataclass
from models_db import LayerKind, Model
from planner.assumptions.optimizers import FROZEN, UNQUANTIZED
from planner.base.arrays import FloatArray, IntArray
from planner.base.vocabulary import ATTENTION_MATRICES, MATRICES
from planner.cost.job import Job

_MASK_BYTES, _COPY_BYTES = 1.0, 2.0
DORA_KEPT_BYTES = 4.0
"""Per output of a matrix with DoRA: what its product and its adapter gave, in 16 bits.

Both are scaled by a trained magnitude. PEFT 0.21.2, tuners/lora/dora.py; counted there with hooks
on saved tensors (`tests/frameworks/export/test_oracle_tuning.py`).
"""
_DORA_MADE_BYTES = 6.0
"""Per element of a matrix while its norm is taken: B A, the same scaled, and its sum with W."""
_IDENTITY_BYTES = 2.0
"""Per element of the identity that B A is made of, which autograd keeps as long as that; see
`planner.cost.kernels.adapters`."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Matrices of one size in a layer, all with adapters.

    Attributes:
        inputs, outputs: Of each.
        count: How many there are.
        crossed: By how many of them a token goes.
    """

    inputs: int
    outputs: int
    count: int
    crossed: int


def adapted_matrices(job: Job, kind: LayerKind) -> Iterator[Matrix]:
    """The adapted matrices of one layer of a kind: every routed and each shared expert's too."""
    yield from _matrices(job.model, kind, job.adapted)


def _matrices(model: Model, kind: LayerKind, targets: tuple[str, ...]) -> Iterator[Matrix]:
    """Those of one layer of a kind that bear the names, of `planner.base.vocabulary.MATRICES`."""
    for inputs, outputs, count in _of_attention(model, targets):
        yield Matrix(inputs, outputs, count, count)
    ups = sum(name in targets for name in ("gate", "up")[0 if model.mlp.gated else 1 :])
    mlps = [(model.mlp.hidden or 0, 1, 1)]
    if kind != "dense" and (moe := model.moe) is not None:
        mlps = [
            (moe.expert_hidden, moe.experts, moe.experts_per_token),
            (moe.shared_expert_hidden, moe.shared_experts, moe.shared_experts),
        ]
    for width, copies, crossed in mlps:
        down = int("down" in targets)
        yield Matrix(model.hidden, width, ups * copies, ups * crossed)
        yield Matrix(width, model.hidden, down * copies, down * crossed)


def _of_attention(model: Model, targets: tuple[str, ...]) -> Iterator[tuple[int, int, int]]:
    """Four matrices, or five of latent attention, of which all or none are adapted.

    MLA (DeepSeek-V2, arXiv:2405.04434, section 2.1): queries down and up (one matrix without a
    query rank), keys and values down (with the rotary key) and up, output.
    """
    attention, hidden = model.attention, model.hidden
    query, values = model.heads * model.head_dim, model.heads * attention.v_head_dim
    if attention.kind != "mla":
        key = model.kv_heads * model.head_dim
        yield hidden, query, int("q" in targets)
        yield hidden, key, sum(name in targets for name in ("k", "v"))
        yield query, hidden, int("o" in targets)
        return
    adapted = int({*ATTENTION_MATRICES} <= {*targets})
    q_rank, kv_rank = attention.q_lora_rank, attention.kv_lora_rank or 0
    if q_rank is None:
        yield hidden, query, adapted
    else:
        yield hidden, q_rank, adapted
        yield q_rank, query, adapted
    yield hidden, kv_rank + (attention.qk_rope_head_dim or 0), adapted
    yield kv_rank, model.heads * (attention.qk_nope_head_dim or 0) + values, adapted
    yield values, hidden, adapted


def adapter_parameters(job: Job) -> int:
    """Parameters of the adapters of all layers."""
    kinds, own = job.model.layer_kinds, int(job.adapter == "dora")
    return sum(
        kinds.count(kind) * one.count * (job.lora_rank * (one.inputs + one.outputs))
        + kinds.count(kind) * one.count * own * one.outputs
        for kind in set(kinds)
        for one in adapted_matrices(job, kind)
    )


def dropped_elements(job: Job, kind: LayerKind) -> float:
    """Elements that a token meets of the frozen matrices that DoRA multiplies twice in a layer.

    With dropout an adapted matrix is multiplied with the inputs that are left as well as with all
    of them, and both have gradients. Of an adapted one of Megatron-Bridge and PEFT; torchtune takes
    the product of all inputs for both. Sources: PEFT 0.21.2, tuners/lora/variants.py,
    `DoraLinearVariant.forward`, and dora.py; Megatron-Bridge, peft/dora_layers.py, `DoRALinear`.
    """
    if job.trains_all or job.adapter != "dora" or not job.lora_dropout:
        return 0.0
    return float(sum(one.crossed * one.inputs * one.outputs for one in adapted_matrices(job, kind)))


def kept_beside(job: Job, *, moe: bool) -> float:
    """Bytes per token and layer, of all of tp, that backward needs for adapters beside the rest.

    Dropout keeps its mask, a byte, and what it leaves of each input, two; DoRA what it scales of
    each output. The inputs themselves are counted as those of the matrices, and what has the width
    of a rank is left out.
    """
    dora = DORA_KEPT_BYTES if job.adapter == "dora" else 0.0
    drops = _MASK_BYTES + _COPY_BYTES if job.lora_dropout else 0.0
    if job.trains_all or not (dora or drops):
        return 0.0
    matrices = adapted_matrices(job, "moe" if moe else "dense")
    return sum(one.crossed * (drops * one.inputs + dora * one.outputs) for one in matrices)


def kept_widened(job: Job, holders: IntArray, *, moe: bool) -> FloatArray | float:
    """Bytes per layer and micro-batch, of all of tp, of quantized weights that stay widened.

    The product with dropped inputs is one of PyTorch's own with the widened weights, which keeps
    them for the gradients of its inputs (PEFT 0.21.2, tuners/lora/dora.py: `F.linear` after
    `dequantize_module_weight`); those of bitsandbytes widen them again.

    Args:
        job: What is trained.
        holders: Ranks that divide routed experts, ep times etp.
        moe: Whether it is a layer with experts.
    """
    if not (job.widens and job.adapter == "dora" and job.lora_dropout):
        return 0.0
    widened: FloatArray | float = 0.0
    for one in adapted_matrices(job, "moe" if moe else "dense"):
        held = one.count / holders if one.count > one.crossed else one.count
        widened = widened + FROZEN[UNQUANTIZED] * held * one.inputs * one.outputs
    return widened


def largest_made(job: Job) -> float:
    """Bytes of the largest matrix that a product makes anew and drops, tp of 1.

    A product with quantized weights expands them to 16 bits; DoRA makes B A to take a norm of an
    adapted one, some frameworks of an identity.
    """
    if job.trains_all:
        return 0.0
    widened = FROZEN[UNQUANTIZED] if job.widens else 0.0
    made = _largest_bytes(job.model, MATRICES, widened)
    if job.adapter != "dora":
        return made
    identity = _IDENTITY_BYTES if job.framework.adapter_identity else 0.0
    norm = _largest_bytes(job.model, job.adapted, widened + _DORA_MADE_BYTES, identity)
    return max(made, norm)


def _largest_bytes(
    model: Model, targets: tuple[str, ...], each: float, square: float = 0.0
) -> float:
    """Bytes beside the largest matrix of a layer that bears one of the names; 0 without one.

    Args:
        model: The model.
        targets: The names.
        each: Bytes per element of the matrix.
        square: Bytes per element of a square matrix as wide as its inputs.
    """
    kinds = set(model.layer_kinds)
    every = [one for kind in kinds for one in _matrices(model, kind, targets) if one.count]
    sizes = [one.inputs * (each * one.outputs + square * one.inputs) for one in every]
    return max(sizes, default=0.0)

"""Adapters and reference passes in plain floats, from the published methods.

Sources: Hu et al., LoRA, arXiv:2106.09685; Liu et al., DoRA, arXiv:2402.09353, equation 5; Rafailov
et al., DPO, arXiv:2305.18290, equation 7; tuners/lora/dora.py of Hugging Face PEFT 0.21.2, whose
element-wise kernels are listed here by what each reads and writes.
"""

from collections.abc import Sequence

from cost.reference_products import Linear
from models_db import Model
from planner.assumptions.assumptions import Assumptions
from planner.cost.job import Job

_NORM = sum((2, 2 + 2, 2 + 2 + 2, 2))  # B A written; scaled; added to W; read for its norm
_OUTPUT = sum((2 + 2, 2 + 2, 2 + 2 + 2))  # the product scaled; the adapter scaled; both added
_KEPT = 2 + 2  # what the product and the adapter gave
_IDENTITY = 2 + 2  # of PEFT and torchtune: written and read to make B A; 2 while B A is there
_MADE = 2 + 2 + 2  # B A, the same scaled, its sum with W


def passes(job: Job) -> int:
    """Forward passes of the reference model, one where its log-probabilities are not on disk."""
    return 1 if job.reference in {"adapters", "model"} else 0


def copies(job: Job) -> int:
    """Reference models beside the trained one; adapters that are switched off need none."""
    return 1 if job.reference == "model" else 0


def beside_s(a: Assumptions, job: Job, linear: Linear) -> tuple[float, float]:
    """Seconds of adapters with each forward pass; of norms of DoRA, which have no backward."""
    if job.kind != "lora":
        return 0.0, 0.0
    dora = job.adapter == "dora"
    kinds = ("attention", "mlp") if a.adapts_mlp else ("attention",)
    moved = norms = 0.0
    for kind in kinds:
        inputs, outputs, weights, squares = linear.adapted[kind]
        moved += a.adapter_bytes * (inputs + outputs) + (_OUTPUT * outputs if dora else 0)
        widened = a.widening_bytes if job.frozen_weights != "16-bit" else 0
        if dora:
            norms += (_NORM + widened) * weights
            norms += _IDENTITY * squares if job.framework.adapter_identity else 0
    return a.elementwise * moved / a.memory_bytes_per_s, norms / a.memory_bytes_per_s


def with_dropped(job: Job, linear: Linear) -> float:
    """Adds what DoRA multiplies again with dropped inputs; forward seconds of that.

    All matrices but routers are adapted. Source: Megatron-Bridge, peft/dora_layers.py, `forward`.
    """
    if not drops(job):
        return 0.0
    ahead, back = linear.matrices
    linear.forward += ahead
    linear.input_grad += back
    return ahead


def drops(job: Job) -> bool:
    """Whether adapted matrices multiply inputs with and without what dropout takes away."""
    return job.kind == "lora" and job.adapter == "dora" and job.lora_dropout > 0


def dropped_parameters(job: Job, kind: str) -> int:
    """Parameters of a layer that a token meets twice for that."""
    if not drops(job):
        return 0
    sizes = [rows * columns for rows, columns in layer_matrices(job.model, kind)]
    idle = 0
    if kind == "moe" and job.model.moe is not None:
        moe = job.model.moe
        idle = (moe.experts - moe.experts_per_token) * job.model.expert_parameters
    return sum(sizes) - idle


def with_reference(
    job: Job, ahead: dict[str, float], adapters: float, widened: float, dropped: float
) -> dict[str, float]:
    """A forward pass by cause with that of the reference, which has no adapters.

    Its own copy has weights of 16 bits; the frozen ones of the trained model are widened again.
    """
    if not passes(job):
        return ahead
    less = {"memory": adapters + (widened if copies(job) else 0.0), "compute": dropped}
    return {cause: 2 * part - less.get(cause, 0.0) for cause, part in ahead.items()}


def kept_bytes(job: Job, kind: str, pairs: Sequence[tuple[int, int]]) -> float:
    """Per token and layer that backward needs for adapters; of experts those that it crosses."""
    model, moe = job.model, job.model.moe
    inputs, outputs = (float(sum(pair[at] for pair in pairs)) for at in (0, 1))
    if kind == "moe" and moe is not None:
        idle, ups = moe.experts - moe.experts_per_token, 2 if model.mlp.gated else 1
        inputs -= idle * (ups * model.hidden + moe.expert_hidden)
        outputs -= idle * (ups * moe.expert_hidden + model.hidden)
    if job.kind != "lora":
        return 0.0
    dropped = (1 + 2) * inputs if job.lora_dropout else 0.0  # a mask and what it leaves
    return dropped + (_KEPT * outputs if job.adapter == "dora" else 0.0)


def widened_bytes(job: Job, kind: str, ep: int) -> float:
    """Per layer and micro-batch of quantized weights that a second product keeps in 16 bits."""
    if not drops(job) or job.frozen_weights == "16-bit":
        return 0.0
    elements = sum(rows * columns for rows, columns in layer_matrices(job.model, kind))
    if kind == "moe" and job.model.moe is not None:
        elements -= (1 - 1 / ep) * job.model.moe.experts * job.model.expert_parameters
    return 2.0 * elements


def made_bytes(job: Job) -> float:
    """Of the largest matrix that a product makes and drops; DoRA makes adapted ones anew."""
    if job.kind != "lora":
        return 0.0
    widened = 2 if job.frozen_weights != "16-bit" else 0
    kinds = set(job.model.layer_kinds)

    def pairs(names: Sequence[str]) -> list[tuple[int, int]]:
        return [pair for kind in kinds for pair in layer_matrices(job.model, kind, names)]

    made = max(widened * rows * columns for rows, columns in pairs(()))
    if job.adapter != "dora":
        return float(made)
    square = 2 if job.framework.adapter_identity else 0
    anew = [(widened + _MADE) * i * o + square * i * i for i, o in pairs(job.lora_targets)]
    return float(max(made, *anew))


def layer_matrices(model: Model, kind: str, names: Sequence[str] = ()) -> list[tuple[int, int]]:
    """Rows and columns of every matrix of attention and MLP of a layer, experts one by one.

    With `names` those of them that bear one; latent attention bears all of q, k, v and o or none.
    """
    h, heads, dim = model.hidden, model.heads, model.head_dim
    if model.attention.kind == "mla":
        latent, rope = model.attention.kv_lora_rank or 0, model.attention.qk_rope_head_dim or 0
        value = model.attention.v_head_dim
        q_rank = model.attention.q_lora_rank
        pairs = [(h, q_rank), (q_rank, heads * dim)] if q_rank else [(h, heads * dim)]
        pairs += [(h, latent + rope), (latent, heads * (dim - rope + value)), (heads * value, h)]
        whole = "q" if {"q", "k", "v", "o"} <= {*names} else "latent"
        named = [(whole, pair) for pair in pairs]
    else:
        kv = model.kv_heads * dim
        named = [("q", (h, heads * dim)), ("k", (h, kv)), ("v", (h, kv)), ("o", (heads * dim, h))]
    widths = [model.mlp.hidden or 0]
    if kind == "moe" and model.moe is not None:
        widths = [model.moe.expert_hidden] * model.moe.experts
        widths += [model.moe.shared_expert_hidden] * model.moe.shared_experts
    for width in widths:
        ups = ("gate", "up") if model.mlp.gated else ("up",)
        named += [(up, (h, width)) for up in ups] + [("down", (width, h))]
    return [pair for name, pair in named if not names or name in names]

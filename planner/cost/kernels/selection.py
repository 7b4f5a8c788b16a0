"""What selective recomputation computes again of a layer.

Software either names what it drops (`planner.cost.kernels.shapes.selected`), or what it keeps: a
word `keeps a,b` lists outputs of a layer that stay for the backward pass, and everything else runs
again but a last product that nothing reads. So do MaxText's policies `custom`,
`qkv_proj_offloaded` and `minimal` (AI-Hypercomputer/maxtext e591f30, layers/decoders.py,
`get_remat_policy`), whether a tensor stays on the chip or goes to the host:

    qkv      queries, keys and values (query_proj, key_proj, value_proj, qkv_proj)
    context  attention's output and log-sum-exp, all that its backward kernel reads beside those
             (kernels/attention/splash_attention_kernel.py, `residual_checkpoint_name`)
    out      attention's projection (out_proj)
    up       gate and up of the MLP (mlpwi_0, mlpwi_1)

NeuronX Distributed names the modules that run again: attention without its kernel, whose
element-wise work is all it needs beside (`elementwise` is kept then), and at 8,192 tokens the MLP
(fbac349b, examples/training/llama/tp_pp_llama_hf_pretrain/run_llama_nxd.py). Attention itself runs
again unless `context` is kept: it is no matrix product to which a policy that keeps those applies.
"""

from __future__ import annotations

from frozen_records import dataclass
from planner.cost.kernels.shapes import Shapes, selected

KEEPS = "keeps "


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Shares of a forward pass over a layer that selective recomputation does again.

    Attributes:
        products: Of the matrix multiplications.
        scores: Of scores and values.
        elementwise: Of the element-wise work.
        sends: Of the communication; that of a projection that is kept is not sent again, and what
            the MLP behind it would gather is left out too.
    """

    products: float
    scores: float
    elementwise: float
    sends: float


def kept_of(selective: str) -> frozenset[str]:
    """The outputs that a word lists; none for a word that names what is dropped."""
    if not selective.startswith(KEEPS):
        return frozenset()
    return frozenset(selective.removeprefix(KEEPS).split(","))


def selection(shapes: Shapes, selective: str, left: float, *, fused: bool) -> Selection:
    """What is done again.

    Args:
        shapes: The layer.
        selective: What is dropped or kept, as `FrameworkProfile` has it.
        left: What `planner.cost.kernels.shapes.left_out` has.
        fused: Whether attention never stores its scores.
    """
    if selective == "core-attention":
        again = float(not fused)
        return Selection(products=0.0, scores=again, elementwise=0.0, sends=0.0)
    if not (kept := kept_of(selective)):
        products = selected(shapes, selective, left)
        return Selection(products=products, scores=0.0, elementwise=1.0, sends=0.0)
    found = sum(_share(shapes, name) for name in sorted(kept - {"context", "elementwise"}))
    return Selection(
        products=1.0 - left - found,
        scores=float("context" not in kept),
        elementwise=float("elementwise" not in kept),
        sends=float("out" not in kept),
    )


def _share(shapes: Shapes, name: str) -> float:
    """Share of a layer's matrices that give a kept output."""
    moe = shapes.moe_parameters > 0
    attends = shapes.parts_of(moe=moe).attention
    if name == "qkv" and shapes.latent:
        return shapes.up_share
    width = shapes.active_width if moe else shapes.dense_width
    kept = {
        "qkv": attends * _inputs(shapes),
        "out": attends * shapes.heads * shapes.value_dim,
        "up": (1 + shapes.gated) * width,
    }
    return shapes.hidden * kept[name] / (shapes.moe_parameters or shapes.dense_parameters)


def _inputs(shapes: Shapes) -> int:
    """Columns of queries, keys and values."""
    queries = shapes.heads * shapes.head_dim * shapes.query_copies
    return queries + shapes.kv_heads * (shapes.head_dim + shapes.value_dim)

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

A plan may name the modules itself (`planner.plan.recomputations`; Megatron-LM d98e8a64dd,
`--recompute-modules`), the same in all layers that have them. Of a layer they run again, and of
what its backward pass needs they drop (core/transformer/transformer_config.py, `recompute_modules`)

    core_attn       scores, softmax, weighted values with what cp exchanges; drops scores and
                    log-sum-exp (attention.py, `_checkpointed_attention_forward`)
    layernorm       norms that are modules of their own; drops their outputs. Transformer Engine's
                    linears have the others inside: that before the experts is one, and that before
                    latent attention (models/gpt/gpt_layer_specs.py; transformer_layer.py,
                    `recompute_input_layernorm` and `recompute_pre_mlp_layernorm`)
    mla_up_proj     up projections of latent attention, without a rank of queries their projection,
                    norms of the latents and rotation; drops queries, keys, values and normed
                    latents (multi_latent_attention.py, `qkv_up_proj_and_rope_apply`)
    mlp             the MLP of a dense layer with the norm inside, both products, and the gather and
                    scatter of tp; keeps the norm's input (transformer_layer.py, `recompute_mlp`)
    moe             all behind the norm of a layer with experts: router, both ways of the tokens,
                    experts, shared experts with what tp exchanges for them; keeps its input
                    (moe/moe_layer.py, `custom_forward`)
    moe_act         activation of the experts; drops what it gives (moe/experts.py, `bias_act_func`)
    shared_experts  both products of the shared experts, with what tp exchanges; drops what is
                    inside (moe/moe_layer.py, `shared_experts_compute`)

`layernorm`, `moe_act` and `mla_up_proj` drop outputs that the next product would keep, and run
again before it reads them (tensor_parallel/random.py, `CheckpointWithoutOutput`); the others are
checkpoints that keep their inputs. `moe` has the last two inside.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray
from planner.cost.kernels.linears import Linear
from planner.cost.kernels.shapes import Shapes, selected
from planner.plan.recomputations import RECOMPUTATIONS, modules_of, names_module

KEEPS = "keeps "


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Shares of a forward pass over a layer that selective recomputation does again.

    Attributes:
        products: Of the matrix multiplications.
        scores: Of scores and values.
        context: Of what attention exchanges over cp.
        elementwise: Of the element-wise work.
        sends: Of the communication; that of a projection that is kept is not sent again, and what
            the MLP behind it would gather is left out too.
    """

    products: float
    scores: float
    context: float
    elementwise: float
    sends: float


def kept_of(selective: str) -> frozenset[str]:
    """The outputs that a word lists; none for a word that names what is dropped."""
    if not selective.startswith(KEEPS):
        return frozenset()
    return frozenset(selective.removeprefix(KEEPS).split(","))


def selection(shapes: Shapes, selective: str, left: float, *, spared: bool) -> Selection:
    """What is done again.

    Args:
        shapes: The layer.
        selective: What is dropped or kept, as `FrameworkProfile` has it.
        left: What `planner.cost.kernels.shapes.left_out` has.
        spared: Whether "core-attention" runs nothing again: it is fused, so it stores no scores,
            and the framework does not run the kernel again (`FrameworkProfile.repeats_fused`).
    """
    if selective == "core-attention":
        again = float(not spared)
        return Selection(products=0.0, scores=again, context=again, elementwise=0.0, sends=0.0)
    if not (kept := kept_of(selective)):
        products = selected(shapes, selective, left)
        return Selection(products=products, scores=0.0, context=0.0, elementwise=1.0, sends=0.0)
    found = sum(_share(shapes, name) for name in sorted(kept - {"context", "elementwise"}))
    sends = float("out" not in kept)
    return Selection(
        products=1.0 - left - found,
        scores=float("context" not in kept),
        context=sends,
        elementwise=float("elementwise" not in kept),
        sends=sends,
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


_EXCHANGES = 4  # of two blocks apart
_ANYWHERE = ("core_attn", "layernorm", "mla_up_proj")
LIGHT = ("layernorm", "mla_up_proj", "moe_act")
"""Those that drop outputs which the next product would keep: little runs again for them."""
INSIDE_EXPERTS = ("moe_act", "shared_experts")
"""What `moe` has inside."""


def modules_had(shapes: Shapes, *, shared_beside: bool) -> tuple[str, ...]:
    """The modules that a model has, of those that a plan may name, in the order of their names.

    None where layers are made of other parts, or attention and MLP read one input. Shared experts
    that run beside the exchange of the others cannot recompute (transformer_config.py refuses
    both together).
    """
    if shapes.parts or shapes.blocks != 1.0 or shapes.tp_exchanges != _EXCHANGES:
        return ()
    has = {
        "core_attn": shapes.heads > 0,
        "layernorm": shapes.latent or shapes.experts > 0,
        "mla_up_proj": shapes.latent,
        "mlp": shapes.dense_width > 0,
        "moe": shapes.experts > 0,
        "moe_act": shapes.experts > 0,
        "shared_experts": shapes.shared_width > 0 and not shared_beside,
    }
    return tuple(name for name, there in has.items() if there)


def sets_of(names: Collection[str], *, fused: bool) -> list[int]:
    """Sets of some modules, each another plan: codes of recomputations, ascending.

    Core attention is among them where scores are stored: fused kernels keep next to nothing that it
    could drop. What lies inside of a module that recomputes does so with it, and is not named.
    """
    some = {*names} - ({"core_attn"} if fused else set())
    return [
        code
        for code, word in enumerate(RECOMPUTATIONS)
        if (own := {*modules_of(word)})
        and own <= some
        and not ("moe" in own and own & {*INSIDE_EXPERTS})
    ]


def runs_again(recompute: IntArray, *, moe: bool) -> dict[str, FloatArray]:
    """1.0 where a module runs again in layers of a kind, by module, of codes of recomputations.

    Modules of no code are left out, and so is a module where it runs inside of another one.
    """
    names = (*_ANYWHERE, "moe", *INSIDE_EXPERTS) if moe else (*_ANYWHERE, "mlp")
    found = {name: names_module(recompute, name) for name in names}
    for name in INSIDE_EXPERTS if moe else ():
        found[name] &= ~found["moe"]
    return {name: runs.astype(np.float64) for name, runs in found.items() if runs.any()}


def module_operators(
    shapes: Shapes, operators: dict[str, list[Linear]], *, moe: bool
) -> dict[str, dict[str, list[Linear]]]:
    """Of the operators of a layer those that run again with each module that has products."""
    found = {}
    if shapes.latent:
        _, _, keys_values, *_, queries = operators["attention"]
        found["mla_up_proj"] = {"attention": [keys_values, queries]}
    if not moe:
        return {**found, "mlp": {"mlp": operators["mlp"]}}
    behind = {name: each for name, each in operators.items() if name != "attention"}
    shared = {name: each for name, each in behind.items() if name == "shared experts"}
    return {**found, "moe": behind, **({"shared_experts": shared} if shared else {})}


def module_elements(a: Assumptions, shapes: Shapes, *, moe: bool) -> dict[str, tuple[float, float]]:
    """Elements per token that element-wise work of modules reads and writes, but that of routing.

    Those that sequence parallelism divides, and those that tp always divides. A norm reads and
    writes each element; an activation reads its inputs and writes a product; the rotation reads and
    writes queries and keys. MLPs have all the work that a layer has on their inner width.
    """
    gated = 1 + shapes.gated
    inner = a.ffn_bytes * gated
    norm = min(2.0, a.row_bytes / 2) * shapes.hidden
    norms = int(shapes.latent) + int(moe)
    routed = float(shapes.experts_per_token * shapes.expert_width)
    ranked = min(2.0, a.row_bytes / 2) * (shapes.query_rank + shapes.kv_rank)
    rotated = min(2.0, a.tp_bytes) * 2 * shapes.heads * shapes.head_dim * shapes.latent
    return {
        "layernorm": (norms * norm, 0.0),
        "mla_up_proj": (ranked, rotated),
        "mlp": (norm, inner * shapes.dense_width),
        "moe": (0.0, inner * shapes.active_width),
        "moe_act": (0.0, min(gated + 1.0, inner) * routed),
        "shared_experts": (0.0, inner * shapes.shared_width),
    }


def tensor_share(
    shapes: Shapes, runs: Mapping[str, FloatArray], *, moe: bool
) -> FloatArray | float:
    """Share of what tp exchanges in a forward pass that modules exchange again: two of four."""
    if not moe:
        return 2.0 / shapes.tp_exchanges * runs.get("mlp", 0.0)
    if not shapes.shared_width:
        return 0.0
    again = runs.get("moe", 0.0) + runs.get("shared_experts", 0.0)
    return 2.0 / shapes.moe_tp_exchanges * again

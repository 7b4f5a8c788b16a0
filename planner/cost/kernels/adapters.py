"""Seconds that adapters add to a layer, beside the products of the matrices that they stand at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray
from planner.base.vocabulary import ATTENTION_MATRICES
from planner.cost.communication.exchanges import LayerInputs
from planner.cost.job import Job
from planner.cost.kernels.linears import Linear
from planner.cost.kernels.shapes import Shapes

_OPERATORS = ("attention", "mlp", "experts", "shared experts")
_NORM_BYTES = 14.0
"""Per element of a matrix with DoRA: B A is written (2), scaled (2 + 2), added to W (4 + 2), and
the sum read for its norm (2). Counted in PEFT 0.21.2, tuners/lora/dora.py; no run was fitted."""
_IDENTITY_BYTES = 4.0
"""Per element of an identity as wide as the inputs of such a matrix: B A is made by sending it
through both factors, so it is written (2) and read (2). Counted in the same place, and in torchtune
0.6.1, modules/peft/dora.py; Megatron-Bridge multiplies the factors (peft/dora_layers.py)."""
_DORA_OUTPUT_BYTES = 14.0
"""Per output of such a matrix: its product is scaled (4), and so is what the adapter gives (4), and
both are added (6). Counted in the same place."""


def adapters_s(
    a: Assumptions, shapes: Shapes, operators: dict[str, list[Linear]], x: LayerInputs
) -> FloatArray | float:
    """Adapters beside matrices that do not train: bytes of one forward pass over memory rate.

    Adapters of small rank are bound by memory: dropout reads and writes the input, the two
    products read it and write the output, which is scaled and added. Per matrix of i inputs and o
    outputs e c_adapter T (i + o) bytes. Source: Hu et al., arXiv:2106.09685, equation 3; order of
    kernels: `lora.Linear.forward` of Hugging Face peft. DoRA scales what both give.
    """
    if x.trains_all or not a.adapter_bytes:
        return 0.0
    dora = _DORA_OUTPUT_BYTES / a.adapter_bytes if x.job.adapter == "dora" else 0.0
    wide: FloatArray | float = 0.0
    for one, share, _ in _adapted(a, shapes, operators, x):
        width = one.inputs + (1.0 + dora) * share * one.outputs
        wide = wide + one.share * one.copies * one.tokens * width
    return np.asarray(a.elementwise * a.adapter_bytes * wide / a.memory_bytes_per_s)


def weight_norms_s(
    a: Assumptions, shapes: Shapes, operators: dict[str, list[Linear]], x: LayerInputs
) -> FloatArray | float:
    """Seconds in which DoRA takes the norm of each W + s B A, with every forward pass.

    Nothing of it is differentiated: Liu et al., arXiv:2402.09353, section 4.3. Its product has as
    many operations as 2 r tokens of the matrix, and is left out; quantized weights are widened
    again. Where the framework makes B A of an identity, that is written and read as well.
    """
    if x.trains_all or not a.adapter_bytes or x.job.adapter != "dora":
        return 0.0
    each = _NORM_BYTES + float(x.job.widens) * a.widening_bytes
    identity = _IDENTITY_BYTES if x.job.framework.adapter_identity else 0.0
    moved: FloatArray | float = 0.0
    for one, share, count in _adapted(a, shapes, operators, x):
        row = each * share * one.outputs + identity * count * one.inputs
        moved = moved + one.share * one.copies * one.inputs * row
    return np.asarray(moved / a.memory_bytes_per_s)


def dropped_products(job: Job, shapes: Shapes, operators: dict[str, list[Linear]]) -> list[Linear]:
    """Products of adapted matrices with dropped inputs, of DoRA with dropout; else none.

    Forward and for the gradients of inputs; see `planner.cost.memory.adapters.dropped_elements`.
    """
    if job.trains_all or job.adapter != "dora" or not job.lora_dropout:
        return []
    return [
        replace(one, outputs=share * one.outputs)
        for one, share, _ in _of_targets(shapes, operators, _OPERATORS, job.adapted)
    ]


def _adapted(
    a: Assumptions, shapes: Shapes, operators: dict[str, list[Linear]], x: LayerInputs
) -> Iterator[tuple[Linear, float, int]]:
    """Products of matrices with adapters; see `_of_targets`.

    Where the job does not say which, they are those that runs of the era have them beside: no
    run that was fitted has any beside routed experts.
    """
    names: tuple[str, ...] = _OPERATORS
    if not x.job.lora_targets:
        names = ("attention", "mlp", "shared experts") if a.adapts_mlp else ("attention",)
    return _of_targets(shapes, operators, names, x.job.adapted)


def _of_targets(
    shapes: Shapes,
    operators: dict[str, list[Linear]],
    names: tuple[str, ...],
    targets: tuple[str, ...],
) -> Iterator[tuple[Linear, float, int]]:
    """Products of named operators, the share of the outputs of each with adapters, of how many."""
    for name in names:
        of = _attention_shares if name == "attention" else _mlp_shares
        for one, (share, count) in zip(operators.get(name, ()), of(shapes, targets), strict=False):
            if count:
                yield one, share, count


def _attention_shares(shapes: Shapes, targets: tuple[str, ...]) -> list[tuple[float, int]]:
    """Of the output and of the joint projection; all five of latent attention alike.

    None where layers are MLPs alone (`Assumptions.mlp_blocks`).
    """
    if not shapes.heads:
        return []
    if shapes.latent:
        whole = {*ATTENTION_MATRICES} <= {*targets}
        return [(float(whole), int(whole))] * 5
    widths = {
        "q": shapes.heads * shapes.head_dim,
        "k": shapes.kv_heads * shapes.head_dim,
        "v": shapes.kv_heads * shapes.value_dim,
    }
    joint = [width for name, width in widths.items() if name in targets]
    return [
        (float("o" in targets), int("o" in targets)),
        (sum(joint) / sum(widths.values()), len(joint)),
    ]


def _mlp_shares(shapes: Shapes, targets: tuple[str, ...]) -> list[tuple[float, int]]:
    """Of the up projection with its gate, and of the down projection."""
    ups = ("gate", "up")[0 if shapes.gated else 1 :]
    count = sum(name in targets for name in ups)
    return [(count / len(ups), count), (float("down" in targets), int("down" in targets))]

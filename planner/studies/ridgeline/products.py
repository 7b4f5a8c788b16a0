"""Counts of matrix multiplications: a layer of a paper, operators of a workload, a list of GEMMs.

A multiplication of T tokens, i inputs and o outputs is trained with three of the same size:
forward, gradients of its inputs, gradients of its weights: F = 6 T i o. Three ways to count bytes
of memory, for there is no one truth:

    step      inputs, weights and outputs move once in a step         e (T i + i o + T o)
    gemm      each of the three reads two operands and writes one     3 e (T i + i o + T o)
    blocked   each moves the least that the chip's last memory allows (`planner.cost.chip.tiling`)

Over the network go the gradients of the weights, all-reduced by a ring: 2 (N-1) / N g i o bytes on
each of N chips, 2 g i o on very many. e bytes per element, g per gradient.

Source: Ridgeline, arXiv:2209.01368, section III; its figures count `step` (docs/ridgeline.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from hardware_db import Chip
from planner.assumptions.assumptions import Assumptions, last_level_bytes
from planner.assumptions.number_formats import operand_bytes
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.cost.chip.tiling import least_traffic_elements
from planner.cost.kernels.linears import Linear, memory_bytes, product_flop
from planner.studies.rack.model.workloads import Einsum, Workload
from planner.studies.ridgeline.plane import Counts

COUNTINGS = ("step", "gemm", "blocked")
_MOST_CHIPS = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One multiplication whose tokens are the batch times `rows`.

    Attributes:
        name: Label.
        rows, inputs, outputs: Sizes for one item of the batch.
        copies: Independent multiplications.
        has_weights: Whether the second operand is parameters; else every item has its own.
    """

    name: str
    rows: float
    inputs: float
    outputs: float
    copies: float = 1.0
    has_weights: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Products of a paper or a user, with what they are counted with.

    Attributes:
        name, title: Labels.
        products: What is multiplied, one after the other.
        batches: Items of the batch on a chip.
        element_bytes, gradient_bytes: Of an operand, and of a gradient on the wire; None: by the
            precision.
        counting: One of `COUNTINGS`.
    """

    name: str
    title: str
    products: tuple[Product, ...]
    batches: tuple[int, ...]
    element_bytes: float | None = None
    gradient_bytes: float | None = None
    counting: str = "blocked"


CASES: dict[str, Case] = {
    "mlp-4096": Case(
        name="mlp-4096",
        title="fully connected layer 4096 -> 4096, training",
        products=(Product(name="layer", rows=1, inputs=4096, outputs=4096),),
        batches=tuple(2**k for k in range(4, 15)),
        counting="step",
    )
}
"""The paper's case study, section III."""


def case_named(name: str) -> Case:
    """A case of `CASES`.

    Raises:
        InputError: There is none of that name.
    """
    if name not in CASES:
        raise InputError(f"case: {not_one_of(name, sorted(CASES))}")
    return CASES[name]


def case_of_workload(workload: Workload) -> Case:
    """The einsums of a workload of `planner rack`, whose batch is on one chip."""
    return Case(
        name=workload.name,
        title=workload.title,
        products=tuple(_product(einsum) for einsum in workload.einsums),
        batches=(workload.batch or 1,),
        element_bytes=workload.word_bytes,
        gradient_bytes=workload.gradient_bytes,
    )


def _product(einsum: Einsum) -> Product:
    return Product(
        name=einsum.name,
        rows=einsum.rows,
        inputs=einsum.inner,
        outputs=einsum.outputs,
        copies=einsum.copies,
        has_weights=einsum.has_weights,
    )


def case_of_gemms(gemms: Sequence[tuple[int, int, int]]) -> Case:
    """A list of M x K x N multiplications: M tokens, K inputs, N outputs."""
    return Case(
        name="gemm",
        title="matrix multiplications" if len(gemms) > 1 else "matrix multiplication",
        products=tuple(
            Product(name=f"{m} x {k} x {n}", rows=m, inputs=k, outputs=n) for m, k, n in gemms
        ),
        batches=(1,),
    )


def case_counts(
    case: Case,
    chip: Chip,
    precision: str,
    *,
    levels: int,
    batches: Sequence[int],
    counting: str,
    chips: int | None,
    training: bool = True,
) -> Counts:
    """Every product at every batch, batch by batch; see the module for the formulas.

    Args:
        case: The products.
        chip, precision: Whose bytes per element and last memory count.
        levels: Levels of the network; the all-reduce is taken to run over each in turn.
        batches: Items on a chip.
        counting: One of `COUNTINGS`.
        chips: That all-reduce; None: so many that (N-1) / N is 1.
        training: False: the forward pass alone, which sends nothing.
    """
    a = _assumptions(case, chip, precision, counting)
    count = np.repeat(np.array(batches, dtype=float), len(case.products))
    linears = _tiled(case.products, count, len(batches))
    gradient = case.gradient_bytes or operand_bytes(precision)
    ring = 2.0 if chips is None else 2.0 * (chips - 1) / chips
    weights = np.array([p.inputs * p.outputs * p.copies * p.has_weights for p in case.products])
    sent = np.tile(weights, len(batches)) * ring * gradient * float(training)
    return Counts(
        names=tuple(p.name for _ in batches for p in case.products),
        flop=np.asarray(product_flop([linears], 3.0 if training else 1.0)),
        memory_bytes=_memory_bytes(a, linears, counting, training=training),
        network_bytes=np.repeat(sent[:, None], levels, axis=1),
    )


def _assumptions(case: Case, chip: Chip, precision: str, counting: str) -> Assumptions:
    """The peak rates, with the bytes that the counting asks for."""
    return replace(
        Assumptions.roofline(chip, precision),
        operand_bytes=case.element_bytes or operand_bytes(precision),
        on_chip_bytes=last_level_bytes(chip) if counting == "blocked" else 0.0,
    )


def _tiled(products: Sequence[Product], count: FloatArray, times: int) -> Linear:
    """All products at all batches as one `Linear` of arrays."""

    def column(name: str) -> FloatArray:
        return np.tile([float(getattr(product, name)) for product in products], times)

    shared = column("has_weights")
    return Linear(
        tokens=column("rows") * np.where(shared, count, 1.0),
        inputs=column("inputs"),
        outputs=column("outputs"),
        copies=column("copies") * np.where(shared, 1.0, count),
    )


def _memory_bytes(a: Assumptions, linear: Linear, counting: str, *, training: bool) -> FloatArray:
    if training and counting != "step":
        return memory_bytes(a, [linear], trains_all=True)
    room = a.on_chip_bytes / a.operand_bytes if a.on_chip_bytes else float("inf")
    once = least_traffic_elements(linear.tokens, linear.outputs, linear.inputs, room)
    return np.asarray(linear.copies * a.operand_bytes * once)

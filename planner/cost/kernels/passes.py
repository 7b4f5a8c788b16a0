"""Seconds of one pass over a layer, by cause, and of its element-wise work."""

from __future__ import annotations

from functools import reduce

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray
from planner.cost.communication.exchanges import LayerInputs
from planner.cost.kernels.linears import Linear
from planner.cost.kernels.shapes import Shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class PassTimes:
    """Seconds of one pass by cause; `memory` is element-wise work."""

    compute: FloatArray
    memory: FloatArray
    tp: FloatArray
    cp: FloatArray
    ep: FloatArray

    def __add__(self, other: PassTimes) -> PassTimes:
        """Sum of two passes, cause by cause."""
        return PassTimes(
            compute=self.compute + other.compute,
            memory=self.memory + other.memory,
            tp=self.tp + other.tp,
            cp=self.cp + other.cp,
            ep=self.ep + other.ep,
        )

    def overlapped(self) -> PassTimes:
        """The same pass with each axis's communication behind kernels and the axes before it."""
        first = self.kernels
        second = np.maximum(first, self.tp)
        third = np.maximum(second, self.cp)
        return PassTimes(
            compute=self.compute,
            memory=self.memory,
            tp=second - first,
            cp=third - second,
            ep=np.maximum(third, self.ep) - third,
        )

    def scaled(self, factor: float) -> PassTimes:
        """Every cause times `factor`."""
        return PassTimes(
            compute=self.compute * factor,
            memory=self.memory * factor,
            tp=self.tp * factor,
            cp=self.cp * factor,
            ep=self.ep * factor,
        )

    @property
    def kernels(self) -> FloatArray:
        """Seconds in which kernels run."""
        return self.compute + self.memory

    @property
    def device(self) -> FloatArray:
        """Seconds on the device, exposed communication included."""
        return self.compute + self.memory + self.tp + self.cp + self.ep


def elementwise_s(a: Assumptions, shapes: Shapes, x: LayerInputs, *, moe: bool) -> FloatArray:
    """Norms, residuals, activations, routing: bytes of one forward pass over memory rate.

    bytes = e * 2 T [h (c_row / (tp if SP else 1) + c_tp / tp) + c_ff (1 + gated) f / tp]
            (+ (c_moe (1 + etp) + c_bias etp) T k h / tp with experts; c_bias with biases)

    A layer of one block has half of the rows; those of recurrences are counted with their scans.
    """
    width = shapes.active_width if moe else shapes.dense_width
    rows = a.row_bytes / np.where(x.sequence_parallel, x.tp, 1) + a.tp_bytes / x.tp
    ffn = a.ffn_bytes * (1 + shapes.gated) * width / x.tp
    parts = shapes.parts_of(moe=moe)
    rows, ffn = rows * (parts.blocks / 2), ffn * parts.feed_forward
    moved = a.elementwise * 2 * x.tokens * (shapes.hidden * rows + ffn)
    return moved / a.memory_bytes_per_s + (routing_s(a, shapes, x) if moe else 0.0)


def routing_s(a: Assumptions, shapes: Shapes, x: LayerInputs) -> FloatArray:
    """The part of it that permutes tokens for their experts and back, and adds biases there.

    Half before they are sent, half where they arrive: on each of the ranks that share the experts.
    """
    routed = shapes.experts_per_token * shapes.expert_io / x.tp
    biases = x.etp * a.expert_bias_bytes if shapes.expert_biases else 0.0
    per_element = (1 + x.etp) * a.routing_bytes + biases
    return np.asarray(per_element * x.tokens * routed / a.memory_bytes_per_s)


def formats_s(
    a: Assumptions, operators: dict[str, list[Linear]], x: LayerInputs
) -> tuple[FloatArray | float, FloatArray | float]:
    """Seconds of changing formats, forward and backward, of all products but the router's.

    Casting: inputs forward and gradients of outputs backward go to the job's narrow format, c_cast
    bytes an element, what the recipe reads and writes (`quantization` in the calibration); weights
    are cast once a step, which is left out. Source: Transformer Engine, user guide, Low precision
    training. Widening: frozen weights below 16 bits are widened in every pass, but for fp8 in fp8.
    Source: Dettmers et al., arXiv:2305.14314, equation 5.
    """
    if not (a.quantized_bytes or x.job.widens_for_products):
        return 0.0, 0.0
    every = [one for name, each in operators.items() if name != "router" for one in each]
    inputs = reduce(np.add, [one.share * one.copies * one.tokens * one.inputs for one in every])
    outputs = reduce(np.add, [one.share * one.copies * one.tokens * one.outputs for one in every])
    widened = widened_s(a, operators, x)
    return (
        np.asarray(a.quantized_bytes * inputs / a.memory_bytes_per_s + widened),
        np.asarray(a.quantized_bytes * outputs / a.memory_bytes_per_s + widened),
    )


def widened_s(
    a: Assumptions, operators: dict[str, list[Linear]], x: LayerInputs
) -> FloatArray | float:
    """Seconds of one pass in which products widen frozen weights below 16 bits."""
    if not x.job.widens_for_products:
        return 0.0
    every = [one for name, each in operators.items() if name != "router" for one in each]
    weights = reduce(np.add, [one.share * one.copies * one.inputs * one.outputs for one in every])
    return np.asarray(a.widening_bytes * weights / a.memory_bytes_per_s)

"""Seconds of matrix products in plain floats, from the published formulas.

Source: wave quantization from NVIDIA's matrix-multiplication guide; half-rate sizes and overhead
are those of the calibrated design.
"""

import math
from dataclasses import dataclass, field

from planner.assumptions.assumptions import Assumptions


def gemm_s(
    a: Assumptions,
    m: float,
    n: float,
    k: float,
    *,
    clock: float,
    rate: float,
    copies: float = 1.0,
) -> float:
    """``copies`` products (m x k)(k x n) as one kernel."""
    busy = copies * 2 * m * n * k / rate
    busy *= (1 + a.half_k / k) * (1 + a.half_mn / m) * (1 + a.half_mn / n)
    if a.tile_m:
        width = a.tile_n if n >= 256 else min(128, a.tile_n)
        tiles = copies * max(m / a.tile_m, 1) * max(n / width, 1)
        waves = math.ceil(tiles / a.pe_count)
        busy *= min(waves * a.pe_count / tiles, 4.0) ** a.wave_exponent
    moved = copies * a.operand_bytes * (m * k + k * n + m * n)
    return max(busy / clock, moved / a.memory_bytes_per_s) + a.matmul_overhead_s


@dataclass
class Linear:
    """Forward, input gradient and weight gradient of linear layers, summed.

    `inputs`, `outputs` and `weights` count elements of a pass, the router's not; `matrices` are the
    forward and input-gradient seconds of all but the router; `adapted` the
    three of products beside which an adapter may stand, of attention and of MLPs, and the squares
    of the inputs of each of its matrices.
    """

    forward: float = 0.0
    input_grad: float = 0.0
    weight_grad: float = 0.0
    inputs: float = 0.0
    outputs: float = 0.0
    weights: float = 0.0
    matrices: tuple[float, float] = (0.0, 0.0)
    adapted: dict[str, list[float]] = field(
        default_factory=lambda: {"attention": [0.0] * 4, "mlp": [0.0] * 4}
    )

    def add(
        self,
        a: Assumptions,
        tokens: float,
        inputs: float,
        outputs: float,
        *,
        clock: float,
        rate: float | None = None,
        copies: float = 1.0,
        scale: float = 1.0,
        of: str = "attention",
        matrices: int = 1,
    ) -> None:
        """One more (tokens x inputs)(inputs x outputs), of attention, mlp, experts or router.

        It may be of several `matrices` with the same inputs, side by side.
        """
        if of != "router":
            self.inputs += copies * tokens * inputs
            self.outputs += copies * tokens * outputs
            self.weights += copies * inputs * outputs
        if of in self.adapted:
            square = matrices * inputs * inputs
            sizes = (tokens * inputs, tokens * outputs, inputs * outputs, square)
            self.adapted[of] = [x + y for x, y in zip(self.adapted[of], sizes, strict=True)]
        speed = a.matmul_flop_per_s if rate is None else rate

        def one(m: float, n: float, k: float) -> float:
            return scale * gemm_s(a, m, n, k, clock=clock, rate=speed, copies=copies)

        ahead, back = one(tokens, outputs, inputs), one(tokens, inputs, outputs)
        if of != "router":
            self.matrices = self.matrices[0] + ahead, self.matrices[1] + back
        self.forward += ahead
        self.input_grad += back
        self.weight_grad += one(inputs, outputs, tokens)

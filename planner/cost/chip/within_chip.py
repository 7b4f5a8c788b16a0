"""Traffic, time and energy of single operators on one chip with DRAM, SRAM and registers.

Every operator is a batched matrix multiplication (m x k) @ (k x n), `copies` times over; a
convolution is one with m = output pixels, n = output channels and k = input channels x window.
Per operator, with words of w bytes, Q of `planner.cost.chip.tiling`, SRAM of S bytes, P PEs with R
bytes of registers each:

    DRAM        Q_D = w Q(S / w)
    SRAM        Q_S = w Q(P R / w) to and from the registers, and Q_D to and from DRAM
    registers   4 w per multiply-accumulate (two operands and a sum read, a sum written), and Q_S
    cycles      max(compute, Q_D / DRAM bytes per cycle, (Q_S + Q_D) / SRAM bytes per cycle)
    compute     ceil(d1 / rows) ceil(d2 / columns) d3 / multiply-accumulates per PE and cycle
    energy      MACs e_mac + Q_D e_D + (Q_S + Q_D) e_S + (4 w MACs + Q_S) e_R

(d1, d2, d3) is the order of (m, n, k) that takes the fewest cycles: any two dimensions may lie
along the rows and columns of PEs, as a mapping engine may choose. `docs/model/within-chip.md`
compares the figures with two such engines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import permutations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.cost.chip.chip_array import ChipArray, chip_array, demand_positive
from planner.cost.chip.tiling import Number, least_traffic, least_traffic_elements

__all__ = [
    "LEVELS", "ChipArray", "OnChipCost", "Operators", "chip_array", "convolution", "gemm",
    "joined", "least_traffic_elements", "on_chip_cost",
]  # fmt: skip

LEVELS = ("dram", "sram", "registers")
"""Where bytes are read and written, farthest from the arithmetic first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operators:
    """Operators as a struct of arrays, (n,) each.

    Attributes:
        m, n, k: Sizes of (m x k) @ (k x n).
        copies: Independent multiplications of that size, one after the other.
        input_elements: Distinct elements of one m x k operand; less than m k where the windows
            of a convolution overlap. What is read from DRAM counts these.
    """

    m: FloatArray
    n: FloatArray
    k: FloatArray
    copies: FloatArray
    input_elements: FloatArray

    def __post_init__(self) -> None:
        """Refuses sizes that are not positive numbers."""
        demand_positive(self, "operator", but=("input_elements",))
        demand_positive(self, "operator")

    @property
    def macs(self) -> FloatArray:
        """Multiply-accumulates, (n,)."""
        return self.copies * self.m * self.n * self.k


def gemm(m: Number, n: Number, k: Number, copies: Number = 1.0) -> Operators:
    """Matrix multiplications (m x k) @ (k x n); sizes broadcast.

    Raises:
        InputError: A size is not a positive number.
    """
    m, n, k, copies = (
        np.array(x, float) for x in np.broadcast_arrays(*map(_vector, (m, n, k, copies)))
    )
    return Operators(m=m, n=n, k=k, copies=copies, input_elements=m * k)


def convolution(
    *,
    channels_in: Number,
    channels_out: Number,
    kernel: Number,
    height_out: Number,
    width_out: Number,
    stride: Number = 1,
    batch: Number = 1,
) -> Operators:
    """Square convolutions as matrix multiplications; sizes broadcast.

    m = batch x output pixels, n = output channels, k = input channels x kernel^2. The input has
    ((height_out - 1) stride + kernel) rows, padding included, and columns alike.

    Raises:
        InputError: A size is not a positive number.
    """
    sizes = (channels_in, channels_out, kernel, height_out, width_out, stride, batch)
    c_in, c_out, window, high, wide, step, images = (
        np.array(x, float) for x in np.broadcast_arrays(*map(_vector, sizes))
    )
    rows, columns = (high - 1) * step + window, (wide - 1) * step + window
    read = np.minimum(rows * columns, high * wide * window**2)  # a stride may skip pixels
    return Operators(
        m=images * high * wide,
        n=c_out,
        k=c_in * window**2,
        copies=np.ones_like(c_in),
        input_elements=images * c_in * read,
    )


def joined(operators: Sequence[Operators]) -> Operators:
    """Several sets of operators as one, in order.

    Raises:
        InputError: There are none.
    """
    if not operators:
        raise InputError("operators: none given; give at least one")
    return Operators(
        **{
            field.name: np.concatenate([getattr(part, field.name) for part in operators])
            for field in fields(Operators)
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OnChipCost:
    """What operators cost on a chip, all copies of each, (n,).

    Attributes:
        cycles: Of the slowest of the three.
        compute_cycles, dram_cycles, sram_cycles: Of arithmetic and of each bandwidth.
        time_s: Seconds of `cycles`.
        dram_read_bytes, dram_write_bytes: Between DRAM and SRAM.
        sram_read_bytes, sram_write_bytes: Of the SRAM, towards both its neighbours.
        register_read_bytes, register_write_bytes: Of the registers, arithmetic and filling.
        energy_j: Joules by `mac`, `dram`, `sram` and `registers`.
        access_j: Joules of each level's reads and writes: `dram read`, `dram write`, ...
    """

    cycles: FloatArray
    compute_cycles: FloatArray
    dram_cycles: FloatArray
    sram_cycles: FloatArray
    time_s: FloatArray
    dram_read_bytes: FloatArray
    dram_write_bytes: FloatArray
    sram_read_bytes: FloatArray
    sram_write_bytes: FloatArray
    register_read_bytes: FloatArray
    register_write_bytes: FloatArray
    energy_j: dict[str, FloatArray]
    access_j: dict[str, FloatArray]

    @property
    def dram_bytes(self) -> FloatArray:
        """Reads and writes of DRAM."""
        return self.dram_read_bytes + self.dram_write_bytes

    @property
    def sram_bytes(self) -> FloatArray:
        """Reads and writes of the SRAM."""
        return self.sram_read_bytes + self.sram_write_bytes

    @property
    def register_bytes(self) -> FloatArray:
        """Reads and writes of the registers."""
        return self.register_read_bytes + self.register_write_bytes

    @property
    def total_j(self) -> FloatArray:
        """Joules of all parts."""
        return sum(self.energy_j.values(), np.zeros_like(self.cycles))


def compute_cycles(operators: Operators, array: ChipArray) -> FloatArray:
    """Cycles of the arithmetic: the best choice of two dimensions for rows and columns of PEs.

    ceil(d1 / rows) ceil(d2 / columns) d3 / (MACs per PE and cycle), at least one per copy.

    Returns:
        (n,) cycles, all copies.
    """
    sizes = (operators.m, operators.n, operators.k)
    along_rows = [np.ceil(size / array.rows) for size in sizes]
    along_columns = [np.ceil(size / array.columns) for size in sizes]
    orders = [
        along_rows[first] * along_columns[second] * sizes[third]
        for first, second, third in permutations(range(3))
    ]
    least = np.minimum.reduce(orders)
    return np.asarray(operators.copies * np.ceil(least / array.macs_per_pe_per_cycle))


def on_chip_cost(operators: Operators, array: ChipArray) -> OnChipCost:
    """Traffic of each level, cycles and joules of operators; the module's equations.

    Args:
        operators: n operators.
        array: The chip, fields scalar or (n,).

    Returns:
        (n,) figures, all copies of an operator together.
    """
    word, o = array.word_bytes, operators
    room, registers = array.sram_bytes / word, array.pes * array.register_bytes_per_pe / word
    below = least_traffic(o.m, o.n, o.k, room, o.input_elements)
    above = least_traffic(o.m, o.n, o.k, registers)
    scale = o.copies * word
    dram_read, dram_write = scale * below.reads, scale * below.writes
    to_pes, from_pes = scale * above.reads, scale * above.writes
    words = word * o.macs
    moved = {
        "dram read": dram_read, "dram write": dram_write,
        "sram read": to_pes + dram_write, "sram write": from_pes + dram_read,
        "registers read": 3 * words + from_pes, "registers write": words + to_pes,
    }  # fmt: skip
    per_byte = {
        "dram": array.dram_j_per_byte,
        "sram": array.sram_j_per_byte,
        "registers": array.register_j_per_byte,
    }
    access = {name: part * per_byte[name.split()[0]] for name, part in moved.items()}
    compute = compute_cycles(o, array)
    dram_cycles = (dram_read + dram_write) / array.dram_bytes_per_cycle
    sram_cycles = (moved["sram read"] + moved["sram write"]) / array.sram_bytes_per_cycle
    cycles = np.maximum(compute, np.maximum(dram_cycles, sram_cycles))
    return OnChipCost(
        cycles=cycles,
        compute_cycles=compute,
        dram_cycles=dram_cycles,
        sram_cycles=sram_cycles,
        time_s=cycles / array.clock_hz,
        **{
            f"{name.replace('registers', 'register').replace(' ', '_')}_bytes": part
            for name, part in moved.items()
        },
        energy_j={"mac": o.macs * array.mac_j}
        | {level: access[f"{level} read"] + access[f"{level} write"] for level in LEVELS},
        access_j=access,
    )


def _vector(value: Number) -> FloatArray:
    return np.atleast_1d(np.asarray(value, float))

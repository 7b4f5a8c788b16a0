"""One chip as the within-chip model sees it: an array of PEs, its memories, their energies."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from frozen_records import dataclass
from hardware_db import Chip
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.cost.chip.pes import on_chip_at, unfilled_rows
from planner.cost.chip.tiling import LEAST_ELEMENTS, Number

WORD_BYTES = {
    "fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "mxfp8": 1.0, "int8": 1.0, "fp4": 0.5,
}  # fmt: skip
"""Bytes of an operand, per precision."""


def demand_positive(record: Any, what: str, but: tuple[str, ...] = ()) -> None:
    """One line per field that is not a positive, finite number."""
    lines = []
    for field in fields(record):
        value = np.asarray(getattr(record, field.name), float)
        if field.name not in but and not np.all((value > 0) & np.isfinite(value)):
            flat = np.ravel(value)
            bad = flat[~((flat > 0) & np.isfinite(flat))][0]
            lines.append(f"{what}: {_words(field.name)}: {bad:g}; a positive number is needed")
    if lines:
        raise InputError("\n".join(lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipArray:
    """A chip as the model sees it; each field a number or one per operator, (n,).

    Attributes:
        rows, columns: PEs along the two sides of the array.
        macs_per_pe_per_cycle: Multiply-accumulates of one PE in a cycle.
        clock_hz: Cycles per second.
        word_bytes: Bytes of an element.
        sram_bytes: On-chip memory that all PEs share.
        register_bytes_per_pe: Registers or scratchpad of one PE.
        dram_bytes_per_cycle, sram_bytes_per_cycle: Bandwidths, reads and writes together.
        mac_j: Joules of a multiply-accumulate alone, without any memory.
        dram_j_per_byte, sram_j_per_byte, register_j_per_byte: Joules of an access, per byte.
    """

    rows: Number
    columns: Number
    macs_per_pe_per_cycle: Number
    clock_hz: Number
    word_bytes: Number
    sram_bytes: Number
    register_bytes_per_pe: Number
    dram_bytes_per_cycle: Number
    sram_bytes_per_cycle: Number
    mac_j: Number
    dram_j_per_byte: Number
    sram_j_per_byte: Number
    register_j_per_byte: Number

    def __post_init__(self) -> None:
        """Refuses what no chip can have, one line per fault."""
        energies = ("mac_j", "dram_j_per_byte", "sram_j_per_byte", "register_j_per_byte")
        demand_positive(self, "chip array", but=energies)
        lines = [line for name in energies for line in _negative(name, getattr(self, name))]
        tile = LEAST_ELEMENTS * np.asarray(self.word_bytes, float)
        lines += _too_small("sram", self.sram_bytes, tile)
        lines += _too_small("registers", self.pes * self.register_bytes_per_pe, tile)
        if lines:
            raise InputError("\n".join(lines))

    @property
    def pes(self) -> Number:
        """PEs of the array."""
        return self.rows * self.columns


def chip_array(chip: Chip, precision: str, *, pes: Number | None = None) -> ChipArray:
    """The chip of a record as an array of PEs, with another number of PEs where asked.

    On-chip memory and its bandwidth grow with the PEs; those of DRAM stay. PEs form the rows of
    the record; without rows each works by itself and all lie along one side.

    Args:
        chip: The record.
        precision: Number format of the operands and of the peak rate.
        pes: PEs, a number or (n,); default those of the record.

    Raises:
        InputError: The record lacks a figure, or `pes` do not fill its rows; one line each.
    """
    kind = {"mxfp8": "fp8"}.get(precision, precision)
    rows = chip.pe_rows or 1
    count = np.asarray(chip.pe_count if pes is None else pes, float)
    needed = _needed(chip)
    lines = [f"chip: {chip.name}: no {name} in its record" for name in needed if not needed[name]]
    lines += _without(chip, precision, kind) + _unfilled(chip, count)
    if lines:
        raise InputError("\n".join(lines))
    clock, _, registers, _, sram_j, register_j = (held or 0.0 for held in needed.values())
    grown = on_chip_at(chip, count)
    return ChipArray(
        rows=float(rows),
        columns=count / rows,
        macs_per_pe_per_cycle=chip.peak_flop_per_s[kind] / 2 / clock / chip.pe_count,
        clock_hz=clock,
        word_bytes=WORD_BYTES[precision],
        sram_bytes=_known(grown["sram_bytes" if chip.sram_bytes else "l2_bytes"]),
        register_bytes_per_pe=registers,
        dram_bytes_per_cycle=chip.memory_bandwidth_bytes_per_s / clock,
        sram_bytes_per_cycle=_known(grown["sram_bandwidth_bytes_per_s"]) / clock,
        mac_j=_mac_j(chip)[kind],
        dram_j_per_byte=chip.memory_j_per_byte,
        sram_j_per_byte=sram_j,
        register_j_per_byte=register_j,
    )


def _mac_j(chip: Chip) -> dict[str, float]:
    """Joules of a multiply-accumulate per format: alone where the record has it, else two FLOP."""
    return {kind: 2 * joules for kind, joules in chip.flop_j.items()} | dict(chip.mac_j)


def _known(value: Number | None) -> Number:
    """A figure that `_needed` has seen."""
    assert value is not None
    return value


def _needed(chip: Chip) -> dict[str, float | None]:
    """What a record may lack, by the name in messages."""
    return {
        "clock": chip.clock_hz,
        "SRAM or L2": chip.sram_bytes or chip.l2_bytes,
        "registers per PE": chip.register_bytes_per_pe,
        "SRAM bandwidth": chip.sram_bandwidth_bytes_per_s,
        "SRAM energy": chip.sram_j_per_byte,
        "register energy": chip.register_j_per_byte,
    }


def _without(chip: Chip, precision: str, kind: str) -> list[str]:
    """One line where the record has no rate or no energy at a precision."""
    known = [name for name in _mac_j(chip) if name in chip.peak_flop_per_s and name in WORD_BYTES]
    if precision in WORD_BYTES and kind in known:
        return []
    return [
        f"precision: {chip.name} has no rate and energy at {precision!r}; "
        f"it has {', '.join(sorted(known))}"
    ]


def _unfilled(chip: Chip, pes: FloatArray) -> list[str]:
    """One line where PEs are not whole, or do not fill the rows of the array."""
    flat, rows = np.ravel(pes), chip.pe_rows or 1
    bad = flat[~((flat >= rows) & np.isfinite(flat) & (flat % rows == 0))]
    line = unfilled_rows(chip, float(bad[0])) if bad.size else None
    return [] if line is None else [line]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _negative(name: str, joules: Number) -> list[str]:
    """One line where an energy is negative or no number."""
    flat = np.ravel(np.asarray(joules, float))
    bad = flat[~((flat >= 0) & np.isfinite(flat))]
    return [f"chip array: {_words(name)}: {bad[0]:g} J; 0 or more is needed"] if bad.size else []


def _too_small(what: str, held: Number, tile: FloatArray) -> list[str]:
    """One line where a memory does not hold one element of each matrix."""
    room, least = np.broadcast_arrays(np.asarray(held, float), tile)
    short = room < least
    if not short.any():
        return []
    return [
        f"chip array: {what}: {room[short][0]:g} B cannot hold one tile, an element of each "
        f"matrix; at least {least[short][0]:g} B"
    ]

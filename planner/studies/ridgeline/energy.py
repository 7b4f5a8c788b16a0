"""The roofline of energy: joules per FLOP against FLOP per byte, beside that of time.

    E / F = e_flop + e_mem / I + P0 T / F,    T / F = max(1 / C, 1 / (I W_M))

I FLOP per memory byte, e_flop joules per FLOP, e_mem joules per byte of memory, P0 the power that
flows whatever runs. Unlike time, energy adds up, so the line is an arch without a corner. At the
balance I = e_mem / e_flop both draw the same. What crosses a network adds e_net B_N / F.

Source: Choi, Bedard, Fowler, Vuduc, A Roofline Model of Energy, IPDPS 2013. The
joules are those of the chip's record, which says which of them are assumed; P0 is its idle power.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from hardware_db import Cluster
from planner.base.arrays import FloatArray
from planner.cost.energy.energy import flop_j_format
from planner.studies.ridgeline.plane import Counts, Placed, Ridge


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyRoof:
    """Joules of one chip's operations.

    Attributes:
        flop_j: Per FLOP, of the format `flop_format`.
        memory_j_per_byte: Per byte of memory.
        network_j_per_byte: Per byte over each level of the ridgelines; 0 for a bandwidth alone.
        crossed_j_per_byte: Per byte over each level of the cluster, innermost first.
        static_w: P0, the chip's idle power.
        flop_format: Whose joules per FLOP they are.
        assumed: Which of `flop_j`, `memory_j_per_byte`, `static_w` the record marks as assumed.
    """

    flop_j: float
    memory_j_per_byte: float
    network_j_per_byte: tuple[float, ...]
    crossed_j_per_byte: tuple[float, ...]
    static_w: float
    flop_format: str
    assumed: tuple[str, ...]

    @property
    def balance(self) -> float:
        """FLOP per memory byte at which both draw the same energy."""
        return self.memory_j_per_byte / self.flop_j

    def per_flop(self, ridge: Ridge, intensity: FloatArray) -> FloatArray:
        """Joules per FLOP along the arch line, without a network.

        Args:
            ridge: Rates of the chip.
            intensity: FLOP per memory byte, above 0.
        """
        seconds = np.maximum(1 / ridge.flop_per_s, 1 / (intensity * ridge.memory_bytes_per_s))
        per_flop: FloatArray = (
            self.flop_j + self.memory_j_per_byte / intensity + self.static_w * seconds
        )
        return per_flop

    def joules(self, counts: Counts, placed: Placed) -> FloatArray:
        """(n,) joules of each piece of work in the time of its bound, on one chip.

        Every network byte counts once, on the outermost level of the cluster that it crosses,
        whichever levels the ridgelines are of; without a placement all of them count on the level
        that takes longest.
        """
        if counts.crossed_bytes is not None:
            sent = counts.crossed_bytes @ np.array(self.crossed_j_per_byte)
        else:
            per_byte, rows = np.array(self.network_j_per_byte), np.arange(len(counts))
            sent = counts.network_bytes[rows, placed.level] * per_byte[placed.level]
        moved = counts.memory_bytes * self.memory_j_per_byte
        joules: FloatArray = (
            counts.flop * self.flop_j + moved + sent + self.static_w * placed.bound_s
        )
        return joules


def energy_roof(cluster: Cluster, precision: str, ridges: Sequence[Ridge]) -> EnergyRoof:
    """The joules of a chip and its levels, as their records have them."""
    chip = cluster.chip
    name = flop_j_format(chip, precision)
    levels = {level.name: level.energy_j_per_byte for level in cluster.levels}
    paths = {
        "flop_j": f"energy.flop.{name}",
        "memory_j_per_byte": "energy.memory",
        "static_w": "power.idle",
    }
    known = chip.quantities
    return EnergyRoof(
        flop_j=chip.flop_j[name],
        memory_j_per_byte=chip.memory_j_per_byte,
        network_j_per_byte=tuple(levels.get(ridge.level, 0.0) for ridge in ridges),
        crossed_j_per_byte=tuple(level.energy_j_per_byte for level in cluster.levels),
        static_w=chip.idle_w,
        flop_format=name,
        assumed=tuple(
            field
            for field, path in paths.items()
            if path in known and known[path].kind == "assumed"
        ),
    )

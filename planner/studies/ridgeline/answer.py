"""What `planner ridgeline` answers: the ridges of a machine and the points of some work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray, counted
from planner.base.units import plain, show_percent
from planner.question.provenance import stamped
from planner.studies.ridgeline.energy import EnergyRoof, energy_roof
from planner.studies.ridgeline.machine import Machine
from planner.studies.ridgeline.plane import NEAR_SHARE, REGIONS, Counts, Placed, Ridge, place, ratio

NEAR_RULE = (
    "Near the ridge: the second longest of the three times is at least "
    f"{show_percent(NEAR_SHARE)} of the longest."
)
Defaults = list[tuple[str, str, str]]
_DEGENERATE = (
    "No byte crosses a network, so the plane has no left and right: this is a roofline, memory "
    "below its knee and compute above."
)
_OFF_PLANE = (
    "Points with no FLOP, no memory bytes or no network bytes lie off a plane with logarithmic "
    "axes; they are in the table only."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """What is computed for all points at once, (n,) each.

    Attributes:
        joules: Of each point.
        near_ridge: Whether its second longest time is near the longest.
        achieved: FLOP/s.
        regions: On the plane of every level by itself.
    """

    joules: FloatArray
    near_ridge: BoolArray
    achieved: FloatArray
    regions: Sequence[IntArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class RidgelineResult:
    """Ridgelines of a machine, with the points that were asked for.

    Attributes:
        kind: What the points are: machine (none), case, workload, gemm, layer, plan or csv.
        title: The same for people.
        hardware, chip, precision: The machine; `ridges` one per level, innermost first.
        ridges: Rates per level.
        energy: Joules of the chip's operations.
        counts: The work, per chip; a column of network bytes per ridge.
        placed: Where it lies.
        series: Per point the path that it is a step of; points of one path follow one another.
        steps: Per point what is different along the path, e.g. `512`.
        step_name: What that is: batch, micro-batch, tp, chips; empty: there are no paths.
        times_s: Per point seconds to compare the bound with, or None.
        times_are: What they are: `measured`, `cost model`; empty: there are none.
        counting: How bytes of memory were counted, in a word; empty: as given.
        chips: Chips that exchange; None: very many, or as many as each point says.
        clock: Of a plan's chips, relative to that of the peak rates.
        given: Index of the point that was asked for, on the path of a plan.
        fits: Per point whether it fits in memory; empty: not known.
        summary: How the bound of a plan relates to the step of the cost model; else empty.
        defaults: What was assumed: (name, value, reason).
        notes: Sentences that hold for all points.
    """

    kind: str
    title: str
    hardware: str
    chip: str
    precision: str
    ridges: tuple[Ridge, ...]
    energy: EnergyRoof
    counts: Counts
    placed: Placed
    series: tuple[str, ...] = ()
    steps: tuple[float, ...] = ()
    step_name: str = ""
    times_s: tuple[float | None, ...] = ()
    times_are: str = ""
    counting: str = ""
    chips: int | None = None
    clock: float = 1.0
    given: int = 0
    fits: tuple[bool, ...] = ()
    summary: str = ""
    defaults: tuple[tuple[str, str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def drawable(self) -> BoolArray:
        """(n,) points that lie on a plane: neither count of them is 0."""
        rows = np.arange(len(self.counts))
        sent = self.counts.network_bytes[rows, self.placed.level]
        found: BoolArray = (self.counts.flop > 0) & (self.counts.memory_bytes > 0) & (sent > 0)
        return found

    @property
    def achieved_flop_per_s(self) -> FloatArray:
        """(n,) FLOP/s of a chip in the time of each point's bound, at most its peak."""
        peak = self.ridges[0].flop_per_s
        achieved: FloatArray = np.minimum(peak, self.counts.flop / self.placed.bound_s)
        return achieved

    @property
    def is_degenerate(self) -> bool:
        """Whether there are points and none sends a byte: the plane is a roofline then."""
        return len(self.counts) > 0 and not self.counts.network_bytes.any()

    @property
    def main(self) -> int:
        """The ridge that matters most: the level that takes longest for the most points."""
        if not len(self.counts) or self.is_degenerate:
            return 0
        return int(np.argmax(counted(self.placed.level, len(self.ridges))))

    def to_dict(self) -> dict[str, Any]:
        """One JSON-ready object; its keys are documented in docs/json.md."""
        ridge = self.ridges[self.main]
        return stamped(
            {
                "kind": self.kind,
                "title": self.title,
                "hardware": self.hardware,
                "chip": self.chip,
                "precision": self.precision,
                "counting": self.counting or None,
                "chips": self.chips,
                "clock": self.clock,
                "degenerate": self.is_degenerate,
                "level": None if self.is_degenerate else ridge.level,
                "knee": {"x": None if self.is_degenerate else ridge.knee_x, "y": ridge.knee_y},
                "ridgelines": [_ridge_fields(one) for one in self.ridges],
                "points": self._points(),
                "energy": {
                    "flop_j": self.energy.flop_j,
                    "flop_format": self.energy.flop_format,
                    "memory_j_per_byte": self.energy.memory_j_per_byte,
                    "network_j_per_byte": list(self.energy.network_j_per_byte),
                    "static_w": self.energy.static_w,
                    "balance": self.energy.balance,
                    "assumed": list(self.energy.assumed),
                },
                "defaults": [
                    {"name": name, "value": value, "reason": reason}
                    for name, value, reason in self.defaults
                ],
                "summary": self.summary or None,
                "notes": list(self.notes),
            }
        )

    def fits_at(self, row: int) -> bool:
        """Whether a point fits in memory, as far as that is known."""
        return not self.fits or self.fits[row]

    def _points(self) -> list[dict[str, Any]]:
        """All points as JSON-ready data."""
        columns = _Columns(
            joules=self.energy.joules(self.counts, self.placed),
            near_ridge=self.placed.near_ridge,
            achieved=self.achieved_flop_per_s,
            regions=[self.placed.of_level(index).region for index in range(len(self.ridges))],
        )
        return [self._point(row, columns) for row in range(len(self.counts))]

    def _point(self, row: int, columns: _Columns) -> dict[str, Any]:
        """One point as JSON-ready data."""
        counts, placed = self.counts, self.placed
        level = int(placed.level[row])
        flop, memory = float(counts.flop[row]), float(counts.memory_bytes[row])
        bound = float(placed.bound_s[row])
        time = self.times_s[row] if self.times_s else None
        joules = float(columns.joules[row])
        return {
            "name": counts.names[row],
            "series": self.series[row] if self.series else None,
            **({self.step_name.replace("-", "_"): _plain(self.steps[row])} if self.steps else {}),
            "flop": flop,
            "memory_bytes": memory,
            "network_bytes": float(counts.network_bytes[row, level]),
            "region": REGIONS[placed.region[row]],
            "level": self.ridges[level].level if counts.network_bytes[row, level] else None,
            "near_ridge": bool(columns.near_ridge[row]),
            "projected_time_s": bound,
            **_plane_fields(self, placed, row, level),
            "operational_intensity": ratio(flop, memory),
            "achieved_flop_per_s": float(columns.achieved[row]),
            "energy_j": joules,
            "energy_per_flop_j": ratio(joules, flop),
            "measured_time_s": time if self.times_are == "measured" else None,
            "step_time_s": time if self.times_are == "cost model" else None,
            "bound_share": None if time is None else bound / time,
            "fits": self.fits[row] if self.fits else None,
            "levels": [
                {
                    "level": ridge.level,
                    "network_bytes": float(counts.network_bytes[row, index]),
                    "region": REGIONS[columns.regions[index][row]],
                    **_plane_fields(self, placed, row, index),
                }
                for index, ridge in enumerate(self.ridges)
            ],
        }


def result_of(
    kind: str,
    title: str,
    machine: Machine,
    counts: Counts,
    defaults: Defaults,
    notes: Sequence[str],
) -> RidgelineResult:
    """The answer with what all kinds of it have."""
    result = RidgelineResult(
        kind=kind,
        title=title,
        hardware=machine.cluster.name,
        chip=machine.cluster.chip.name,
        precision=machine.precision,
        ridges=machine.ridges,
        energy=energy_roof(machine.cluster, machine.precision, machine.ridges),
        counts=counts,
        placed=place(machine.ridges, counts),
        defaults=tuple(defaults),
    )
    every = [*notes]
    if result.is_degenerate:
        every.append(_DEGENERATE)
    elif not result.drawable.all():
        every.append(_OFF_PLANE)
    return replace(result, notes=(*every, *([NEAR_RULE] if len(counts) else [])))


def step_words(step: float) -> str:
    """`512`, `4 Mi`: a place on a path."""
    if step >= 2**20 and step % 2**20 == 0:
        return f"{plain(step / 2**20)} Mi"
    return f"{step:,.0f}"


def _ridge_fields(ridge: Ridge) -> dict[str, Any]:
    return {
        "level": ridge.level,
        "flop_per_s": ridge.flop_per_s,
        "memory_bytes_per_s": ridge.memory_bytes_per_s,
        "network_bytes_per_s": ridge.network_bytes_per_s,
        "knee": {"x": ridge.knee_x, "y": ridge.knee_y},
        "diagonal": ridge.diagonal,
    }


def _plane_fields(result: RidgelineResult, placed: Placed, row: int, level: int) -> dict[str, Any]:
    """Times of a point, its place on the plane of a level, and how far the borders are.

    Distances are ratios of times; above 1: above the diagonal, right of the knee, above it.
    """
    compute, memory = float(placed.compute_s[row]), float(placed.memory_s[row])
    network = float(placed.network_s[row, level])
    sent = float(result.counts.network_bytes[row, level])
    return {
        "compute_time_s": compute,
        "memory_time_s": memory,
        "network_time_s": network,
        "memory_intensity": ratio(float(result.counts.memory_bytes[row]), sent),
        "network_intensity": ratio(float(result.counts.flop[row]), sent),
        "distance": {
            "diagonal": ratio(compute, network),
            "knee_x": ratio(memory, network),
            "knee_y": ratio(compute, memory),
        },
    }


def _plain(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value

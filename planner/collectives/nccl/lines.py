"""What a library such as NCCL takes on a machine, as lines alpha + beta L.

The schedules of `planner.collectives.nccl.schedules` under the times of NCCL's tuner, which takes
the fastest of its protocols at each size:

    T = base + S step + (R / C) L / (share x rate of a lane)

Each protocol has its base, its time per step and the share of the wire that carries data: LL
sends a flag beside every 4 bytes, LL128 8 bytes of flags in 128, Simple signals whole slices.

Source: NCCL 2.30.7 (commit 5067397c2676), src/graph/tuning.cc: base and hardware latencies,
factors of the ring and of the tree, kept in `hardware_db/data/calibration/nccl.yaml`. Its
corrections of trees by size (`treeCorrectionFactor`) are not in these lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from frozen_records import dataclass
from hardware_db import load_calibration
from planner.base.arrays import FloatArray, IntArray
from planner.collectives.machines.machine import Machine
from planner.collectives.nccl.schedules import (
    RINGED,
    baseline,
    direct_schedule,
    ring_schedule,
    rings_of,
    tree_name,
    tree_schedule,
    trees_of,
)
from solvers.collectives.problem import COLLECTIVES
from solvers.collectives.schedule import Schedule
from solvers.collectives.trees import height

LINKS = ("nvlink", "pci", "net")
"""Kinds of links that the tuner tells apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How data and its readiness travel.

    Attributes:
        name: LL, LL128 or Simple.
        ring_base_s, tree_base_s: Seconds of a collective of no bytes.
        ring_step_s, tree_step_s: Seconds per step, by kind of link (`LINKS`).
        ring_share, tree_share: Share of a lane that carries data.
    """

    name: str
    ring_base_s: float
    tree_base_s: float
    ring_step_s: dict[str, float]
    tree_step_s: dict[str, float]
    ring_share: float
    tree_share: float


@lru_cache(maxsize=1)
def protocols() -> tuple[Protocol, ...]:
    """LL, LL128 and Simple with the defaults of NCCL's tuner."""
    shipped = load_calibration("nccl")
    found = []
    for name in ("LL", "LL128", "Simple"):
        table = shipped.group(f"protocols.{name.lower()}")
        steps = {
            kind: {link: table[f"{link}_{kind}_step_s"] for link in LINKS}
            for kind in ("ring", "tree")
        }
        found.append(
            Protocol(
                name=name,
                ring_base_s=table["ring_base_s"],
                tree_base_s=table["tree_base_s"],
                ring_step_s=steps["ring"],
                tree_step_s=steps["tree"],
                ring_share=table["ring_share"],
                tree_share=table["tree_share"],
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """Seconds of an algorithm as alpha + beta L; L as `goal_of` defines it.

    Attributes:
        name: E.g. `ring, LL128`.
        algorithm: `ring`, `tree` or `direct`.
        protocol: `LL`, `LL128` or `Simple`; empty: the machine's own constants.
        steps: S.
        load: R / C.
        alpha_s: Seconds of no bytes.
        s_per_byte: Seconds per byte of L.
    """

    name: str
    algorithm: str
    protocol: str
    steps: int
    load: Fraction
    alpha_s: float
    s_per_byte: float

    def time_s(self, size_bytes: FloatArray) -> FloatArray:
        """Seconds of (n,) sizes L."""
        return self.alpha_s + self.s_per_byte * np.asarray(size_bytes, dtype=np.float64)


def machine_line(machine: Machine, schedule: Schedule, name: str, algorithm: str) -> CostLine:
    """A schedule under the machine's own constants: start + S alpha + (R / C) L beta.

    Of links with unequal latency the largest counts.
    """
    alpha_s = float(np.max(machine.latency_s)) if len(machine.latency_s) else 0.0
    return CostLine(
        name=name,
        algorithm=algorithm,
        protocol="",
        steps=schedule.steps,
        load=schedule.load,
        alpha_s=machine.start_s + schedule.steps * alpha_s,
        s_per_byte=float(schedule.load) / machine.lane_bytes_per_s,
    )


def baseline_schedules(
    machine: Machine, collective: str, *, root: int = 0
) -> tuple[tuple[str, str, Schedule], ...]:
    """(name, algorithm, schedule) of ring, tree and direct, those that a wiring allows.

    Broadcast, reduce and the tree have one for several lengths of the pipeline.
    """
    found = []
    for slices in (1, 4, 32) if collective in ("broadcast", "reduce") else (1,):
        name = "ring" if slices == 1 else f"ring, {slices} slices"
        if collective in RINGED and rings_of(machine.network).orders:
            schedule = ring_schedule(machine, collective, root=root, slices=slices)
            found.append((name, "ring", schedule))
    if collective == "allreduce":
        for slices in (1, 4):
            try:
                schedule = tree_schedule(machine, slices=slices)
            except ValueError:
                break
            name = tree_name(machine) + f", {slices} slices" * (slices > 1)
            found.append((name, "tree", schedule))
    if collective not in RINGED:
        try:
            schedule = direct_schedule(machine, collective, root=root)
        except ValueError:
            return tuple(found)
        found.append(("direct", "direct", schedule))
    return tuple(found)


def baseline_lines(machine: Machine, collective: str, *, root: int = 0) -> tuple[CostLine, ...]:
    """The schedules of `baseline_schedules` under the machine's own constants."""
    return tuple(
        machine_line(machine, schedule, name, algorithm)
        for name, algorithm, schedule in baseline_schedules(machine, collective, root=root)
    )


def protocol_lines(
    machine: Machine, schedule: Schedule, name: str, algorithm: str, *, link: str = "nvlink"
) -> tuple[CostLine, ...]:
    """A schedule in each protocol, with NCCL's base, time per step and share of the lane.

    For schedules of rings, sends and those that are synthesized: all move data as rings do.

    Args:
        machine: Gives the rate of a lane.
        schedule: Its S and R / C.
        name: Of the schedule; the protocol is added.
        algorithm: See `CostLine`.
        link: One of `LINKS`.
    """
    return tuple(
        CostLine(
            name=f"{name}, {protocol.name}",
            algorithm=algorithm,
            protocol=protocol.name,
            steps=schedule.steps,
            load=schedule.load,
            alpha_s=protocol.ring_base_s + schedule.steps * protocol.ring_step_s[link],
            s_per_byte=float(schedule.load) / machine.lane_bytes_per_s / protocol.ring_share,
        )
        for protocol in protocols()
    )


def tree_protocol_lines(machine: Machine, *, link: str = "nvlink") -> tuple[CostLine, ...]:
    """An all-reduce along trees in each protocol, long pipelines taken as full.

    T = base + 2 h hop + 2 L / (share x rate of all rings): h is the height of the trees, and up
    and down every byte passes each node twice.

    Raises:
        ValueError: See `tree_schedule`.
    """
    steps = 2 * max(height(tree) for tree in trees_of(machine))
    rings = rings_of(machine.network)
    load = Fraction(2, len(rings.orders) or rings.bound)
    return tuple(
        CostLine(
            name=f"{tree_name(machine)}, {protocol.name}",
            algorithm="tree",
            protocol=protocol.name,
            steps=steps,
            load=load,
            alpha_s=protocol.tree_base_s + steps * protocol.tree_step_s[link],
            s_per_byte=float(load) / machine.lane_bytes_per_s / protocol.tree_share,
        )
        for protocol in protocols()
    )


def nccl_lines(
    machine: Machine, collective: str, *, root: int = 0, link: str = "nvlink"
) -> tuple[CostLine, ...]:
    """All that the tuner of NCCL chooses from on a machine; empty where nothing fits its wiring.

    Args:
        machine: The machine; its own latency and start do not count, the tuner's do.
        collective: One of `COLLECTIVES`.
        root: Of collectives with one.
        link: One of `LINKS`.
    """
    lines: tuple[CostLine, ...] = ()
    try:
        found = baseline(machine, collective, root=root)
        kind = "ring" if collective in RINGED else "direct"
        lines = protocol_lines(machine, found, kind, kind, link=link)
        if collective == "allreduce":
            lines += tree_protocol_lines(machine, link=link)
    except ValueError:
        if collective not in COLLECTIVES:
            raise
    return lines


def fastest(lines: Sequence[CostLine], size_bytes: FloatArray) -> tuple[FloatArray, IntArray]:
    """Seconds of the fastest line at (n,) sizes, and which of `lines` it is."""
    times = np.stack([line.time_s(size_bytes) for line in lines])
    return np.asarray(times.min(axis=0)), np.asarray(times.argmin(axis=0))

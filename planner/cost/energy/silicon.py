"""What a changed chip draws and how fast it runs, from the chip that it was changed from.

The powers of a measured chip are those of the whole chip. Its dynamic power at work is divided
among components in proportion to operations and bytes of a reference step times joules of each,
and every component of the changed chip follows from its own:

    P_dyn  = P_busy - P_idle = sum over i of w_i         w_i = P_dyn raw_i / sum raw
    raw    = FLOP e_arithmetic,  Q_S e_S,  Q_D e_D       Q_S into, Q_D below the last shared memory
    w_i'   = w_i (raw_i' / t') / (raw_i / t)             t: busy seconds of the step
    e_S'   = e_S (1 - d + d sqrt(C' / C)) V^2            unless given; C: its capacity
    e_arithmetic' = e_arithmetic V^2                     unless e_FLOP is given
    V      = max(v_min, 1 + k (f' / f - 1))              f: its clock, where both are known
    P_idle' = P_idle (1 - s + s B' / B)                  s: share of the device memory, B its rate
    P_TDP' = P_TDP P_busy' / P_busy                      unless given

e_arithmetic is what e_FLOP leaves beside Q_S e_S, since it was fitted to whole chips. Where the
rated power is given, kernels meet it as they did on the measured chip, at
P_busy P_TDP' / P_TDP, and the clock follows from the law of `planner.cost.energy.clock`, above 1
too; arithmetic runs so many times as fast. Where it is at its peak the clock rises no further, nor
does the power. Below half of what the changed chip draws at full clock the law does not hold.

Of the energy of an access to the last shared memory the share d is that of the arrays and the
wires to them, which grow with the square root of their area; the rest is control and crossbar
(Antepara et al., SC 2025, table 3: 1.60 of 4.71 pJ/b on A100). From A100's 40 MB to GH200's 50 MB
that gives 1.04 times the energy; measured were 4.71 and 4.87 pJ/b, 1.03 times. The reference step
is the job's own on one chip, without recomputation.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from hardware_db import Chip, FrozenMap
from planner.assumptions.assumptions import Assumptions, last_level_bytes, peak_flop_per_s
from planner.base.errors import InputError
from planner.cost.communication.traffic import traffic
from planner.cost.context import CostModel
from planner.cost.energy.clock import LEAST_CAP_SHARE, busy_w, sustained_clock, voltage
from planner.cost.energy.energy import flop_j_format
from planner.cost.evaluate import evaluated
from planner.cost.step import busy_s
from planner.plan import Plan, PlanTable

MEMORY_IDLE_SHARE = 0.25
"""Share of a chip's idle power that is its device memory and the interface to it: a guess."""
WIRES_SHARE = 1.60 / 4.71
"""Share of the energy of an access to the last shared memory that its size changes; see above."""
UNSURE_SHARE = 0.3
"""Standard deviation of a component's change over that change: only their sum is measured."""
_RATES = ("matmul_flop_per_s", "bf16_flop_per_s", "attention_flop_per_s", "bmm_flop_per_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Dynamic watts of a busy chip by what takes them: `arithmetic`, `sram`, `memory`."""

    watts: dict[str, float]

    @property
    def total(self) -> float:
        """All of them."""
        return sum(self.watts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A cost model whose chip follows from a measured one.

    Attributes:
        model: With the powers of the changed chip, and its rates under its power limit.
        before, after: Components of the measured chip, and of the changed one at full clock.
        clock: Relative to that of the measured chip's busy kernels.
    """

    model: CostModel
    before: Components
    after: Components
    clock: float


def follow(base: CostModel, changed: CostModel, given: Collection[str] = ()) -> Followed:
    """The changed model with the powers that its chip draws.

    Args:
        base: The job on the measured chip.
        changed: The same job on the changed chip, its powers those of the measured one.
        given: Names of fields of `Chip` that were set, and stay as they are.

    Raises:
        InputError: A rated power is given that is too low for the law.
    """
    measured = _step(base)
    joules = _joules(base, base, measured, measured)
    dynamic_w = base.chip.busy_w - base.chip.idle_w
    scale = dynamic_w * measured.busy_s / sum(joules.values())
    step = _step(changed)
    before, after = (
        Components(watts={name: scale * part / seconds for name, part in parts.items()})
        for parts, seconds in (
            (joules, measured.busy_s),
            (_joules(base, changed, step, measured), step.busy_s),
        )
    )
    chip = _with_powers(base.chip, changed.chip, before, after, given)
    clock = 1.0
    if "tdp_w" in given and "busy_w" not in given:
        clock = _clock_at_limit(base.chip, chip, changed)
        chip = replace(chip, busy_w=float(busy_w(chip, np.array(clock))))
    cluster = replace(changed.cluster, chip=chip)
    rates = at_clock(changed.assumptions, chip, changed.job.precision, clock)
    model = replace(changed, cluster=cluster, assumptions=rates)
    return Followed(model=model, before=before, after=after, clock=clock)


def _clock_at_limit(first: Chip, chip: Chip, model: CostModel) -> float:
    """The relative clock that a given rated power leaves, at most that of the peak rate.

    Args:
        first: The measured chip.
        chip: The changed one, its powers at full clock but the rated one as given.
        model: Of the changed chip.

    Raises:
        InputError: The rated power is too low for the law.
    """
    full_w = first.tdp_w * chip.busy_w / first.busy_w
    if chip.tdp_w < LEAST_CAP_SHARE * full_w:
        raise InputError(
            f"set: power.tdp: {chip.tdp_w:g} W is below half of the {full_w:.4g} W at which this "
            f"chip would run as {first.name} does, where the law of clock and power does not hold; "
            f"nearest: {math.ceil(LEAST_CAP_SHARE * full_w)} W"
        )
    a, precision = model.assumptions, model.job.precision
    most = max(peak_flop_per_s(chip, precision) / a.matmul_flop_per_s, 1.0)
    return min(sustained_clock(chip, first.busy_w * chip.tdp_w / first.tdp_w), most)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A reference step on one chip: busy seconds, FLOP, bytes below and into the last SRAM."""

    busy_s: float
    flop: float
    memory_bytes: float
    sram_bytes: float


def _step(model: CostModel) -> _Step:
    plans = PlanTable.from_plans([Plan(micro_batch=1, sharding="ddp")])
    levels = tuple(replace(level, torus=None) for level in model.cluster.levels)
    alone = replace(  # one chip, which is no slice of a torus
        model,
        job=replace(model.job, global_batch=1),
        cluster=replace(model.cluster, levels=levels),
        torus_axes=FrozenMap(),
    )
    x = evaluated(alone, plans)
    moved, into = traffic(alone, x.columns, wires=False), 0.0
    if model.chip.sram_bytes_per_pe:
        blocks = replace(alone.assumptions, on_chip_bytes=model.chip.sram_bytes_per_pe)
        of_pes = traffic(replace(alone, assumptions=blocks), x.columns, wires=False)
        into = float(of_pes.memory_bytes[0])
    return _Step(
        busy_s=float(busy_s(x.stages, x.inputs, x.step.factor)[0, 0]),
        flop=float(moved.flop[0]),
        memory_bytes=float(moved.memory_bytes[0]),
        sram_bytes=into,
    )


def _joules(base: CostModel, model: CostModel, step: _Step, measured: _Step) -> dict[str, float]:
    """Joules of a step by component, not scaled to the power of the measured chip."""
    first, chip = base.chip, model.chip
    per_flop = first.flop_j[flop_j_format(first, base.job.precision)]
    sram_j = first.sram_j_per_byte or 0.0
    alone = max(per_flop - measured.sram_bytes * sram_j / measured.flop, per_flop / 2)
    changed = chip.flop_j[flop_j_format(chip, model.job.precision)] / per_flop
    if changed == 1.0:
        changed = _squared_volts(first, chip)
    return {
        "arithmetic": step.flop * alone * changed,
        "sram": step.sram_bytes * _sram_j(first, chip),
        "memory": step.memory_bytes * chip.memory_j_per_byte,
    }


def _sram_j(first: Chip, chip: Chip) -> float:
    """Joules per byte of the last shared memory of a changed chip; 0 where nobody knows them."""
    if first.sram_j_per_byte is None or chip.sram_j_per_byte != first.sram_j_per_byte:
        return chip.sram_j_per_byte or 0.0
    sizes = last_level_bytes(chip), last_level_bytes(first)
    wires = math.sqrt(sizes[0] / sizes[1]) if all(sizes) else 1.0
    joules = first.sram_j_per_byte * (1 - WIRES_SHARE + WIRES_SHARE * wires)
    return joules * _squared_volts(first, chip)


def _squared_volts(first: Chip, chip: Chip) -> float:
    """V^2 at the clock of a changed chip relative to that of the measured one; else 1."""
    if not (first.clock_hz and chip.clock_hz):
        return 1.0
    return float(voltage(chip, np.array(chip.clock_hz / first.clock_hz)) ** 2)


def _with_powers(
    first: Chip, chip: Chip, before: Components, after: Components, given: Collection[str]
) -> Chip:
    """The changed chip at full clock; see the module."""
    rate = chip.memory_bandwidth_bytes_per_s / first.memory_bandwidth_bytes_per_s
    idle = first.idle_w * (1 - MEMORY_IDLE_SHARE + MEMORY_IDLE_SHARE * rate)
    idle = chip.idle_w if "idle_w" in given else idle
    louder = after.total / before.total
    busy = idle + after.total
    moved = [after.watts[name] - watts for name, watts in before.watts.items()]
    unsure = UNSURE_SHARE * math.hypot(idle - first.idle_w, *moved)
    powers = {
        "idle_w": idle,
        "wait_w": idle + (first.wait_w - first.idle_w) * louder,
        "busy_w": busy,
        "tdp_w": first.tdp_w * busy / first.busy_w,
        "busy_sigma_w": math.hypot(first.busy_sigma_w, unsure),
        "wait_sigma_w": math.hypot(first.wait_sigma_w, unsure),
    }
    changes = {name: watts for name, watts in powers.items() if name not in given}
    return replace(chip, **changes)  # type: ignore[arg-type]


def at_clock(a: Assumptions, chip: Chip, precision: str, clock: float) -> Assumptions:
    """The constants with arithmetic at a relative clock, no rate above its peak."""
    if clock == 1.0:
        return a
    peak, wide = peak_flop_per_s(chip, precision), peak_flop_per_s(chip, "bf16")
    most = dict.fromkeys(_RATES, wide) | {"matmul_flop_per_s": max(peak, wide)}
    return replace(a, **{name: min(getattr(a, name) * clock, most[name]) for name in _RATES})

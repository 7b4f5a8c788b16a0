"""What a changed chip draws and how fast it runs, from the chip that it was changed from.

The powers of a measured chip are those of the whole chip. Leakage and links take what
`planner.cost.energy.standing` says of its silicon and of its transceivers; the rest of its dynamic
power at work is divided among components in proportion to operations and bytes of a reference step
times joules of each, and every component of the changed chip follows from its own:

    P_dyn  = P_busy - P_idle = w_links + w_leakage + sum over i of w_i
    w_leakage = P_leak,busy - P_leak,idle            the silicon leaks more where it is hot
    w_i    = (P_dyn - w_links - w_leakage) raw_i / sum raw
    raw    = FLOP e_arithmetic,  Q_S e_S,  Q_D e_D       Q_S into, Q_D below the last shared memory
    w_i'   = w_i (raw_i' / t') / (raw_i / t)             t: busy seconds of the step
    w_links' = w_links B' e' / (B e),  w_leakage' = w_leakage A' V / A
    e_S'   = e_S (1 - d + d sqrt(C' / C)) V^2            unless given; C: its capacity
    e_arithmetic' = e_arithmetic V^2                     unless e_FLOP is given
    e_D'   = that of its kind of DRAM                    unless given
    V      = max(v_min, 1 + k (f' / f - 1))              f: its clock, where both are known
    P_idle' = P_idle (1 - s + s B_D' / B_D) + P_leak,idle (A' V / A - 1)      s: of device memory
    P_TDP' = P_TDP P_busy' / P_busy                      unless given

Switches, optics and network cards of a level draw in proportion to its rate, unless given: twice
the rate takes twice as many ports, or ports that draw twice as much.

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
from hardware_db import Chip, Cluster, FrozenMap, Level
from planner.assumptions.assumptions import Assumptions, last_level_bytes, peak_flop_per_s
from planner.base.errors import InputError
from planner.cost.communication.traffic import traffic
from planner.cost.context import CostModel
from planner.cost.energy.clock import LEAST_CAP_SHARE, busy_w, sustained_clock, voltage
from planner.cost.energy.energy import flop_j_format
from planner.cost.energy.standing import SRAM_BYTES_PER_M2, leakage_w, link_w
from planner.cost.evaluate import evaluated
from planner.cost.step import busy_s
from planner.plan import Plan, PlanTable

MEMORY_IDLE_SHARE = 0.25
"""Share of a chip's idle power that is its device memory and the interface to it: a guess."""
WIRES_SHARE = 1.60 / 4.71
"""Share of the energy of an access to the last shared memory that its size changes; see above."""
UNSURE_SHARE = 0.3
"""Standard deviation of a component's change over that change: only their sum is measured."""
DRAM_J_PER_BYTE = {"HBM3": 9.34e-11, "HBM2": 1.05e-10, "GDDR6": 1.24e-10}
"""By kind, from the array to the chip: HBM measured on GH200 and A100 (Antepara et al., table 3);
of GDDR6 as much more than HBM2 as devices take (Jouppi et al., ISCA 2021, table 2)."""
MOST_STANDING_SHARE = 0.5
"""Of the dynamic power of a measured chip, the most that links and leakage are taken to be."""
_RATES = ("matmul_flop_per_s", "bf16_flop_per_s", "attention_flop_per_s", "bmm_flop_per_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Dynamic watts of a busy chip by what takes them.

    They are `arithmetic`, `sram`, `memory`, `links`, and `leakage` beyond that of an idle chip.
    """

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
        given: Names of fields of `Chip` that were set, and stay as they are; of levels paths such
            as `levels.leaf.switch_power`.

    Raises:
        InputError: A rated power is given that is too low for the law.
    """
    changed = _with_memory(base.chip, changed)
    measured = _step(base)
    joules = _joules(base, base, measured, measured)
    standing, stand = _standing(base, base), _standing(base, changed)
    dynamic_w = base.chip.busy_w - base.chip.idle_w
    known = min(1.0, MOST_STANDING_SHARE * dynamic_w / max(sum(standing.values()), 1e-9))
    left_w = dynamic_w - known * sum(standing.values())
    scale = left_w * measured.busy_s / sum(joules.values())
    step = _step(changed)
    before, after = (
        Components(
            watts={
                **{name: scale * part / seconds for name, part in parts.items()},
                **{name: known * watts for name, watts in fixed.items()},
            }
        )
        for parts, seconds, fixed in (
            (joules, measured.busy_s, standing),
            (_joules(base, changed, step, measured), step.busy_s, stand),
        )
    )
    chip = _with_powers(base.chip, changed.chip, before, after, given)
    levels, host = _with_ports(base.cluster, changed.cluster, given)
    chip = chip if "host_w" in given else _with_host(chip, host)
    clock = 1.0
    if "tdp_w" in given and "busy_w" not in given:
        clock = _clock_at_limit(base.chip, chip, changed)
        chip = replace(chip, busy_w=float(busy_w(chip, np.array(clock))))
    cluster = replace(changed.cluster, chip=chip, levels=levels)
    rates = at_clock(changed.assumptions, chip, changed.job.precision, clock)
    model = replace(changed, cluster=cluster, assumptions=rates)
    return Followed(model=model, before=before, after=after, clock=clock)


def _with_memory(first: Chip, changed: CostModel) -> CostModel:
    """The changed model with the joules per byte of its kind of device memory, unless given."""
    chip = changed.chip
    kinds = [dram_kind(one.memory_type) for one in (first, chip)]
    if chip.memory_j_per_byte != first.memory_j_per_byte or not all(kinds) or len({*kinds}) == 1:
        return changed
    was, now = (DRAM_J_PER_BYTE[kind] for kind in kinds)
    chip = replace(chip, memory_j_per_byte=first.memory_j_per_byte * now / was)
    return replace(changed, cluster=replace(changed.cluster, chip=chip))


def dram_kind(memory_type: str) -> str:
    """Which of `DRAM_J_PER_BYTE` a record's `memory.type` is; empty: none."""
    return next((kind for kind in DRAM_J_PER_BYTE if memory_type.startswith(kind)), "")


def _standing(base: CostModel, model: CostModel) -> dict[str, float]:
    """Watts of links, and of leakage beyond that of an idle chip."""
    idle, busy = _leakage(base.chip, model.chip)
    return {"links": link_w(model.cluster), "leakage": busy - idle}


def _leakage(first: Chip, chip: Chip) -> tuple[float, float]:
    """Watts of leakage of a changed chip, idle and busy, made as the measured one is."""
    area = first.die_area_m2
    if area and chip.die_area_m2 != area:
        area = chip.die_area_m2 or area
    elif area:
        area += (last_level_bytes(chip) - last_level_bytes(first)) / SRAM_BYTES_PER_M2
    volts = math.sqrt(_squared_volts(first, chip))
    idle, busy = leakage_w(first.process, area)
    return idle * volts, busy * volts


def _with_ports(
    first: Cluster, cluster: Cluster, given: Collection[str]
) -> tuple[tuple[Level, ...], float]:
    """Levels whose switches draw as their rates have changed, and watts that hosts draw more."""
    before = {level.name: level for level in first.levels}
    levels, host = [], 0.0
    for level in cluster.levels:
        rate = before[level.name].bandwidth_bytes_per_s if level.name in before else 0.0
        times = level.bandwidth_bytes_per_s / rate if rate else 1.0
        inside = level.switch_power_in_host_w_per_chip or 0.0
        host += (times - 1) * (inside + level.nic_power_w_per_chip)
        kept = times == 1 or f"levels.{level.name}.switch_power" in given
        watts = level.switch_power_w_per_chip * (1.0 if kept else times)
        levels.append(replace(level, switch_power_w_per_chip=watts))
    return tuple(levels), host


def _with_host(chip: Chip, more_w: float) -> Chip:
    """A chip whose share of its host draws so many watts more."""
    if more_w == 0:
        return chip
    liquid = chip.host_liquid_w
    return replace(
        chip,
        host_w=max(chip.host_w + more_w, 0.0),
        host_liquid_w=None if liquid is None else max(liquid + more_w, 0.0),
    )


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
    was, leaks = (_leakage(first, one)[0] for one in (first, chip))
    rest = 1 - MEMORY_IDLE_SHARE
    known = min(1.0, rest * first.idle_w / max(was, 1e-9))  # no more than there is
    idle = first.idle_w * (rest + MEMORY_IDLE_SHARE * rate) + known * (leaks - was)
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

"""Joules of a step: phases for the total, boundaries around it, components for its split.

Kernels draw P_busy, everything else P_wait; host and network draw constant power:

    chip             E_1 = chips [ busy (P_busy(clock) - P_wait) + T P_wait ]
    node             E_2 = E_1 + chips T P_host
    node and fabric  E_3 = E_2 + chips T P_net          what is minimized and printed first
    facility         E_4 = PUE E_3

Busy are also the exposed collectives of tensor parallelism: they lie microseconds apart between
kernels, too short for a chip to leave its working power. The totals are calibrated. The split
into compute, memory and network levels cannot be measured from outside; it scales a component
model (energy per FLOP and byte) to the dynamic part of the total, and is marked as assumed
wherever it is shown.

Intervals cover 80 %: from the 10 % to the 90 % quantile of a normal distribution.
Source of the phase powers: the records of the chips, and docs/model/energy.md.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from hardware_db import Chip
from planner.base.arrays import FloatArray
from planner.base.vocabulary import BOUNDARIES
from planner.cost.communication.traffic import Traffic
from planner.cost.context import CostModel
from planner.cost.energy.clock import extra_w
from planner.cost.energy.facility import Facility
from planner.cost.kernels.executed import flop_without_repeats

Z_80 = 1.2815515655446004
"""The 90 % quantile of the standard normal distribution: 80 % lie within plus and minus it."""


def standing_w(model: CostModel, chips: int) -> float:
    """Watts per chip that flow whatever happens: waiting chip, host share, network share.

    None where energy is that of components only.
    """
    if model.assumptions.component_energy:
        return 0.0
    return model.chip.wait_w + model.chip.host_w + model.network_w_per_chip(chips)


def running_w(model: CostModel, clock: FloatArray) -> FloatArray:
    """Watts that running kernels add; none where energy is that of components only."""
    extra = extra_w(model.chip, clock)
    return np.zeros_like(extra) if model.assumptions.component_energy else extra


def component_j(model: CostModel, moved: Traffic) -> dict[str, FloatArray]:
    """Joules of a step by component, (n,): each operation and byte times the joules of one.

    Args:
        model: Chip and cluster, whose records hold the joules.
        moved: FLOP and bytes of the step.
    """
    parts = {
        "compute": moved.flop * _flop_j(model),
        "memory": moved.memory_bytes * model.chip.memory_j_per_byte,
    }
    for level, crossed in zip(model.cluster.levels, moved.wire_bytes, strict=True):
        parts[f"network: {level.name}"] = crossed * level.energy_j_per_byte
    return parts


def least_component_j(model: CostModel) -> float:
    """Joules that no plan's components go below: the FLOP of every plan, nothing moved."""
    tokens = model.job.global_batch * model.job.seq_len
    return tokens * flop_without_repeats(model) * _flop_j(model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """Joules of one step inside each boundary, all chips, (n,).

    Attributes:
        boundaries: Joules by `BOUNDARIES`.
        sigma: One standard deviation of each, of the powers alone: the step time is taken as it is.
    """

    boundaries: dict[str, FloatArray]
    sigma: dict[str, FloatArray]

    def interval(
        self,
        boundary: str = "node_and_fabric",
        time_low: FloatArray | float = 1.0,
        time_high: FloatArray | float = 1.0,
    ) -> tuple[FloatArray, FloatArray]:
        """The 80 % interval of the joules inside a boundary, never below 0.

        Energy is power times time; their relative errors are taken as independent:
        low = E (1 - sqrt(p^2 + (1 - time_low)^2)), high alike, with p = Z_80 sigma / E.

        Args:
            boundary: One of `BOUNDARIES`.
            time_low, time_high: The 10 % and 90 % quantiles of the step time, over the step time.
        """
        joules = self.boundaries[boundary]
        power = Z_80 * self.sigma[boundary]
        low = joules - np.hypot(power, (1 - np.minimum(time_low, 1.0)) * joules)
        high = joules + np.hypot(power, (np.maximum(time_high, 1.0) - 1) * joules)
        return np.maximum(low, 0.0), high


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy(Inside):
    """Joules of one step, all chips, (n,), with their causes.

    Attributes:
        total: Node and fabric, IT side (PUE 1).
        parts: compute, memory, one `network: LEVEL` per level, static (chip and switches), host;
            they add up to `total`.
    """

    total: FloatArray
    parts: dict[str, FloatArray]

    @property
    def low(self) -> FloatArray:
        """10 % quantile of node and fabric, of the powers alone."""
        return self.interval()[0]

    @property
    def high(self) -> FloatArray:
        """90 % quantile of node and fabric, of the powers alone."""
        return self.interval()[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """What the phases of a step say of n plans, (n,) each.

    Attributes:
        chips: Chips used.
        network_w: Static watts of the network per chip.
        time, busy: Seconds of the step; mean seconds of a chip at busy power.
        total: Joules of the step, node and fabric.
    """

    chips: FloatArray
    network_w: FloatArray
    time: FloatArray
    busy: FloatArray
    total: FloatArray


def energy_inside(model: CostModel, x: Phases) -> Inside:
    """Draws the boundaries around the total of the phase model."""
    fabric = x.chips * x.network_w * x.time
    return Inside(
        boundaries={
            "chip": x.total - x.chips * model.chip.host_w * x.time - fabric,
            "node": x.total - fabric,
            "node_and_fabric": x.total,
            "facility": model.facility.pue * x.total,
        },
        sigma=sigma_j(model.chip, model.facility, x.chips, x.time, x.busy, fabric, x.total),
    )


def split_energy(model: CostModel, x: Phases, moved: Traffic) -> Energy:
    """The same with the total divided among its causes.

    Args:
        model: Job, chip, network and facility.
        x: What the phases say.
        moved: FLOP and bytes of the step.
    """
    if model.assumptions.component_energy:
        return _components_alone(model, moved)
    inside = energy_inside(model, x)
    return Energy(
        total=x.total,
        boundaries=inside.boundaries,
        sigma=inside.sigma,
        parts=_parts(model, x, moved),
    )


def _components_alone(model: CostModel, moved: Traffic) -> Energy:
    """The component model by itself: nothing stands, and how wrong it is nobody measured."""
    parts = component_j(model, moved)
    chip = parts["compute"] + parts["memory"]
    total = sum(parts.values(), np.zeros_like(chip))
    none = np.zeros_like(chip)
    return Energy(
        total=total,
        boundaries={
            "chip": chip,
            "node": chip,
            "node_and_fabric": total,
            "facility": model.facility.pue * total,
        },
        sigma=dict.fromkeys(BOUNDARIES, none),
        parts={**parts, "static": none, "host": none},
    )


def sigma_j(
    chip: Chip,
    facility: Facility,
    chips: FloatArray,
    time: FloatArray,
    busy: FloatArray,
    fabric: FloatArray,
    total: FloatArray,
) -> dict[str, FloatArray]:
    """One standard deviation of the joules inside each boundary.

    Each power is off by the same watts on every chip; different powers are independent:
    chip: chips sqrt((busy s_busy)^2 + ((T - busy) s_wait)^2); the host adds T s_host, the fabric
    its share, the facility the spread of its PUE.

    Args:
        chip, facility: Whose standard deviations hold.
        chips, time, busy: (n,) chips; seconds of the step; mean seconds at busy power.
        fabric, total: (n,) joules of the fabric; of node and fabric.
    """
    waiting = np.maximum(time - busy, 0.0)
    inside = chips * np.hypot(busy * chip.busy_sigma_w, waiting * chip.wait_sigma_w)
    node = np.hypot(inside, chips * time * chip.host_sigma_w)
    both = np.hypot(node, facility.fabric_sigma_share * fabric)
    around = np.hypot(facility.pue * both, facility.pue_sigma * total)
    return {"chip": inside, "node": node, "node_and_fabric": both, "facility": around}


def _parts(model: CostModel, x: Phases, moved: Traffic) -> dict[str, FloatArray]:
    """The joules of node and fabric by cause."""
    chip, total = model.chip, x.total
    host = x.chips * chip.host_w * x.time
    static = x.chips * (chip.idle_w + x.network_w) * x.time
    dynamic = np.maximum(total - host - static, 0.0)
    raw = component_j(model, moved)
    whole = np.zeros_like(total)
    for part in raw.values():
        whole = whole + part
    scale = dynamic / np.where(whole > 0, whole, 1.0)
    parts = {name: part * scale for name, part in raw.items()}
    parts["static"] = total - host - dynamic
    parts["host"] = host
    return parts


def _flop_j(model: CostModel) -> float:
    return model.chip.flop_j[flop_j_format(model.chip, model.job.precision)]


def flop_j_format(chip: Chip, precision: str) -> str:
    """The format whose joules per FLOP stand for a precision: 16 bits where it has none."""
    known = chip.flop_j
    dtype = {"mxfp8": "fp8"}.get(precision, precision)
    return next(
        (name for name in (dtype, "bf16", "fp16", "fp32") if name in known), next(iter(known))
    )

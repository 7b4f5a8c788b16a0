"""The figures of the report on energy and latency: DP, TP and PP + TP on two workloads.

Source: Lu, Hu and Zhu, Investigating the Energy and Latency Tradeoff in Rack Scale Computing
(student report). Figures 2 to 5, 7 and 8 show the time of computing, 6, 9, 12 and 13 energy by
part, 10 and 11 the communication of each pass. Every series is one call of
`planner.studies.rack.model.evaluate.evaluate`; blocks of threads are
`planner.studies.rack.model.machine.with_threads`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import IntArray
from planner.base.errors import InputError
from planner.studies.rack.model.evaluate import BACKWARD, FORWARD, RackCost, evaluate
from planner.studies.rack.model.machine import with_threads
from planner.studies.rack.model.plans import RackPlans, rack_plans
from planner.studies.rack.model.workloads import Workload
from planner.studies.rack.parallelism.setting import Setting

GPUS = (4, 6, 8, 10, 16, 32)
PIPELINE_GPUS = (12, 24, 48)
BREAKDOWN_GPUS, BLOCK_GPUS = 16, 4
STRATEGIES = ("dp", "tp", "pp+tp")
PARTS = {
    "main memory read": "main_memory_read",
    "main memory write": "main_memory_write",
    "dram read": "gpu_memory_read",
    "dram write": "gpu_memory_write",
    "sram read": "sram_read",
    "sram write": "sram_write",
    "registers read": "registers_read",
    "registers write": "registers_write",
    "mac": "compute",
    "network": "network",
    "network between racks": "network_between_racks",
    "static": "static",
}
"""Parts of `RackCost.access_j`, and their names in figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One bar or dot of a figure.

    Attributes:
        gpus, block_size: GPUs, and threads of a block.
        strategy, workload: One of `STRATEGIES`; name of the workload.
        plan: dp, tp, pp and micro-batches.
        direction: `forward` or `backward` where the figure shows a pass; else None.
        latency_s: Seconds of computing, and of loading from main memory where that takes time, at
            once; in figures of a pass, of its communication.
        forward_communication_s, backward_communication_s: Seconds of each pass's communication.
        energy_j: Joules of all GPUs by part (`PARTS`); in figures of a pass, of its communication.
        wire_bytes: Bytes sent by all GPUs, both passes, or the pass.
    """

    gpus: int
    block_size: int
    strategy: str
    workload: str
    plan: dict[str, int]
    direction: str | None
    latency_s: float
    forward_communication_s: float
    backward_communication_s: float
    energy_j: dict[str, float]
    wire_bytes: float

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        names = [name for name in self.__slots__ if name != "direction" or self.direction]
        return {name: getattr(self, name) for name in names} | {"total_j": self.total_j}

    @property
    def total_j(self) -> float:
        """Joules of all parts."""
        return sum(self.energy_j.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of the report.

    Attributes:
        number, title: As in the report, in our words.
        swept: `gpus` or `block_size`.
        shown: `latency`, `energy` (by part) or `total energy`.
        series: Its points, by strategy.
    """

    number: int
    title: str
    swept: str
    shown: str
    series: tuple[Point, ...] = field(repr=False)

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "title": self.title,
            "swept": self.swept,
            "shown": self.shown,
            "series": [point.to_dict() for point in self.series],
        }


def plans_for(
    strategy: str, workload: Workload, pes: int, gpus: Sequence[int], micro_batches: int
) -> RackPlans:
    """One plan per GPU count.

    PP + TP has two stages on the two einsums of a feed-forward network, and one stage per einsum
    where the GPUs are a multiple of them; else two.

    Raises:
        InputError: GPUs that do not divide into the stages.
    """
    n = np.asarray(gpus, dtype=np.int64)
    if strategy == "dp":
        return rack_plans(pes=pes, dp=n)
    if strategy == "tp":
        return rack_plans(pes=pes, tp=n)
    stages = np.where(n % len(workload.einsums) == 0, len(workload.einsums), 2)
    if np.any(n % stages):
        raise InputError(f"gpus: {n[n % stages > 0][0]} do not divide into 2 stages")
    micro = min(micro_batches, workload.batch or micro_batches)
    return rack_plans(pes=pes, tp=n // stages, pp=stages, micro_batches=micro)


def points(
    setting: Setting, strategy: str, workload_name: str, gpus: Sequence[int], block_size: int
) -> list[Point]:
    """The plans of a strategy over GPU counts, costed; both passes of communication."""
    workload = setting.workload(workload_name)
    machine = with_threads(setting.machine, block_size)
    plans = plans_for(strategy, workload, setting.gpu_pes, gpus, setting.micro_batches)
    cost = evaluate(workload, plans, machine, setting.assumptions)
    seconds = {kind: _seconds(cost, kinds) for kind, kinds in _PASSES.items()}
    sent = sum(t.wire_bytes for t in cost.transfers.values())
    return [
        Point(
            gpus=int(plans.chips[row]),
            block_size=block_size,
            strategy=strategy,
            workload=workload_name,
            plan=_plan(plans, row),
            direction=None,
            latency_s=float(cost.busy_s[row]),
            forward_communication_s=float(seconds["forward"][row]),
            backward_communication_s=float(seconds["backward"][row]),
            energy_j={
                label: float(cost.access_j[name][row])
                for name, label in PARTS.items()
                if name in cost.access_j
            },
            wire_bytes=float(np.asarray(sent)[row]),
        )
        for row in range(len(plans))
    ]


_PASSES = {"forward": FORWARD, "backward": BACKWARD}


def _seconds(cost: RackCost, kinds: Sequence[str]) -> IntArray:
    """(n,) seconds of the communication of some kinds."""
    return np.asarray(sum(cost.transfers[kind].latency_s for kind in kinds))


def _plan(plans: RackPlans, row: int) -> dict[str, int]:
    names = ("dp", "tp", "pp", "micro_batches")
    return {name: int(getattr(plans, name)[row]) for name in names}


def communication(setting: Setting, strategy: str, workload_name: str) -> list[Point]:
    """The communication of each pass over GPU counts (figures 10 and 11)."""
    workload, machine = setting.workload(workload_name), setting.machine
    plans = plans_for(strategy, workload, setting.gpu_pes, GPUS, setting.micro_batches)
    cost = evaluate(workload, plans, machine, setting.assumptions)
    found = []
    for direction, kinds in _PASSES.items():
        transfers = [cost.transfers[kind] for kind in kinds]
        seconds = _seconds(cost, kinds)
        for row in range(len(plans)):
            passes = {name: 0.0 for name in _PASSES} | {direction: float(seconds[row])}
            found.append(
                Point(
                    gpus=int(plans.chips[row]),
                    block_size=setting.block_size,
                    strategy=strategy,
                    workload=workload_name,
                    plan=_plan(plans, row),
                    direction=direction,
                    latency_s=float(seconds[row]),
                    forward_communication_s=passes["forward"],
                    backward_communication_s=passes["backward"],
                    energy_j={
                        "network": float(sum(t.inner_j[row] for t in transfers)),
                        "network_between_racks": float(sum(t.outer_j[row] for t in transfers)),
                    },
                    wire_bytes=float(sum(t.wire_bytes[row] for t in transfers)),
                )
            )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """How a figure is made: what it shows, and its points."""

    title: str
    swept: str
    shown: str
    points: Callable[[Setting], list[Point]]


def _by_gpus(
    strategies: Sequence[str], workload: str, gpus: Sequence[int] = GPUS
) -> Callable[[Setting], list[Point]]:
    return lambda setting: [
        point
        for strategy in strategies
        for point in points(setting, strategy, workload, gpus, setting.block_size)
    ]


def _by_blocks(strategies: Sequence[str], workload: str) -> Callable[[Setting], list[Point]]:
    return lambda setting: [
        point
        for strategy in strategies
        for threads in setting.block_sizes
        for point in points(setting, strategy, workload, (BLOCK_GPUS,), threads)
    ]


def _passes(setting: Setting) -> list[Point]:
    return [point for name in STRATEGIES for point in communication(setting, name, "ffn")]


_FFN, _BLOCK = "feed-forward network", "attention block"
_FIGURES: dict[int, _Drawn] = {
    2: _Drawn(
        title=f"Computing over GPUs: DP and TP, {_FFN}",
        swept="gpus", shown="latency", points=_by_gpus(("dp", "tp"), "ffn"),
    ),
    3: _Drawn(
        title=f"Computing over GPUs: PP + TP, {_FFN}",
        swept="gpus", shown="latency", points=_by_gpus(("pp+tp",), "ffn"),
    ),
    4: _Drawn(
        title=f"Computing over GPUs: DP and TP, {_BLOCK}",
        swept="gpus", shown="latency", points=_by_gpus(("dp", "tp"), "attention"),
    ),
    5: _Drawn(
        title=f"Computing over GPUs: PP + TP beside TP, {_BLOCK}",
        swept="gpus", shown="latency",
        points=_by_gpus(("pp+tp", "tp"), "attention", PIPELINE_GPUS),
    ),
    6: _Drawn(
        title=f"Energy by part on {BREAKDOWN_GPUS} GPUs, {_FFN}",
        swept="gpus", shown="energy", points=_by_gpus(STRATEGIES, "ffn", (BREAKDOWN_GPUS,)),
    ),
    7: _Drawn(
        title=f"Computing over block sizes on {BLOCK_GPUS} GPUs, {_BLOCK}",
        swept="block_size", shown="latency", points=_by_blocks(STRATEGIES, "attention"),
    ),
    8: _Drawn(
        title=f"Computing over block sizes on {BLOCK_GPUS} GPUs, {_FFN}",
        swept="block_size", shown="latency", points=_by_blocks(("dp", "tp"), "ffn"),
    ),
    9: _Drawn(
        title=f"Energy by part over block sizes: TP on {BLOCK_GPUS} GPUs, {_FFN}",
        swept="block_size", shown="energy", points=_by_blocks(("tp",), "ffn"),
    ),
    10: _Drawn(
        title=f"Energy of communication over GPUs, {_FFN}",
        swept="gpus", shown="total energy", points=_passes,
    ),
    11: _Drawn(
        title=f"Time of communication over GPUs, {_FFN}",
        swept="gpus", shown="latency", points=_passes,
    ),
    12: _Drawn(
        title=f"Energy by part over GPUs: DP, {_BLOCK}",
        swept="gpus", shown="energy", points=_by_gpus(("dp",), "attention"),
    ),
    13: _Drawn(
        title=f"Energy by part over GPUs: TP, {_BLOCK}",
        swept="gpus", shown="energy", points=_by_gpus(("tp",), "attention"),
    ),
}  # fmt: skip
FIGURES = tuple(_FIGURES)
"""Numbers of the figures that can be drawn."""


def figures(setting: Setting, numbers: Sequence[int] = FIGURES) -> list[Figure]:
    """Figures of the report, in order.

    Args:
        setting: What they are drawn for.
        numbers: Some of `FIGURES`.

    Raises:
        InputError: A figure is unknown, or the setting cannot be costed.
    """
    if wrong := [number for number in numbers if number not in _FIGURES]:
        nearest = min(max(wrong[0], FIGURES[0]), FIGURES[-1])
        raise InputError(
            f"figure: {wrong[0]} is not one of {FIGURES[0]} to {FIGURES[-1]}; nearest: {nearest}"
        )
    found = []
    for number in dict.fromkeys(numbers):
        drawn = _FIGURES[number]
        found.append(
            Figure(
                number=number,
                title=drawn.title,
                swept=drawn.swept,
                shown=drawn.shown,
                series=tuple(drawn.points(setting)),
            )
        )
    return found

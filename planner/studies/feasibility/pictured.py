"""What the pictures of a question are drawn from: the first model and cluster that it names."""

from __future__ import annotations

from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.units import texts_of
from planner.question.asked import FEASIBLE
from planner.question.request import DEFAULT_HARDWARE, request_from
from planner.question.resolved import resolve
from planner.studies.feasibility.sizes import batches_of, chips_of, default_chips
from planner.studies.feasibility.textbook.continuous import axis_bytes_per_s
from planner.studies.feasibility.textbook.curves import Machine, machine_of

_SMALL, _LARGE = 64, 4096  # the chapter's 4x4x4 and 16x16x16


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictured:
    """Three machines and a batch; the same model and cluster.

    Attributes:
        title: Model and cluster.
        symbols: F, the rate C of a chip, M_X and M_Y.
        shapes: Slices by chip count, in words.
        ratio, time, split: One for each picture.
        split_batch: Tokens per step of the split.
    """

    title: str
    symbols: str
    shapes: dict[int, str]
    ratio: Machine
    time: Machine
    split: Machine
    split_batch: float

    def slice_of(self, machine: Machine) -> str:
        """`4x4x4` or `512 chips`."""
        return self.shapes[machine.chips]


def check_drawn(model: list[str], asked: dict[str, Any]) -> None:
    """Refuses what no picture shows.

    Raises:
        InputError: Several models, clusters or chip counts are asked about, or a deadline is.
    """
    if "deadline" in asked:
        raise InputError("plot: there is no picture of a deadline; leave one of the two out")
    what = {"model": "model", "hardware": "cluster", "chips": "chip count"}
    for name, given in (("model", model), *((n, asked.get(n)) for n in ("hardware", "chips"))):
        texts = texts_of(given) if given else []
        if len(texts) > 1 or any(".." in text for text in texts):
            raise InputError(f"plot: draws one {what[name]}, not {', '.join(texts)}; ask for one")


def pictured(model: list[str], asked: dict[str, Any], origin: Origin) -> Pictured:
    """What is drawn for a question; under `roofline`, whatever its assumptions.

    The first chip count asked for, or 64 and 4,096 as in the chapter; the split at the first batch
    asked for, or at twice the batch from which FSDP + TP is compute-bound.

    Args:
        model: Models asked for; the first is drawn.
        asked: Further fields of the question.
        origin: Where they come from.

    Raises:
        InputError: The model has experts, or the chips are too few to divide.
    """
    fields = {
        name: asked[name]
        for name in FEASIBLE
        if name in asked and name not in ("framework", "era", "runnable_in")
    }
    machine = texts_of(asked.get("hardware") or DEFAULT_HARDWARE)[0]
    named = {**fields, "model": texts_of(model)[0], "hardware": machine, "assumptions": "roofline"}
    cost = resolve(request_from(named, origin), origin, chips=1).cost
    if "chips" in asked:
        counts = (chips_of(asked["chips"], cost.cluster)[0],) * 3
    else:
        large = default_chips(cost.cluster)
        counts = (max(cost.cluster.chip_counts(_SMALL)), large, large)
    machines = [machine_of(cost, chips) for chips in counts]
    if any(found is None for found in machines):
        raise InputError(f"plot: {counts[0]} chips are too few to divide; take at least 2")
    ratio, time, split = (found for found in machines if found is not None)
    batch = batches_of(asked["batch_tokens"])[0] if "batch_tokens" in asked else _usual(split)
    name, rate = cost.job.model.name, cost.assumptions.matmul_flop_per_s
    symbols = f"F = {split.width:,.0f}, C = {rate / 1e12:,.0f} TFLOP/s"
    if split.axes is not None and (axis := axis_bytes_per_s(cost, split.chips)):
        symbols += f", M_X = {split.axes[0] / axis:g}, M_Y = {split.axes[1] / axis:g}"
    return Pictured(
        title=f"{name} on {cost.cluster.name}",
        symbols=symbols,
        shapes={chips: _shape(cost.allocation(chips)) for chips in set(counts)},
        ratio=ratio,
        time=time,
        split=split,
        split_batch=batch,
    )


def _usual(machine: Machine) -> float:
    """Twice the batch from which FSDP + TP is compute-bound, or that of pure FSDP."""
    crossing = machine.crossing()
    pure = machine.chips * machine.flop_per_s / machine.all_bytes_per_s
    return 2.0 * crossing if np.isfinite(crossing) else pure


def _shape(allocation: Any) -> str:
    dims = allocation.levels[0].torus_dims
    if not dims or allocation.slices > 1:
        return f"{allocation.chips:,} chips"
    return "x".join(map(str, dims))

"""The same plan on machines one resource of which differs, and what better ones would save."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from frozen_records import dataclass
from hardware_db import Chip, FrozenMap
from planner.cost.context import CostModel
from planner.explanation.sensitivity.changed import Changed
from planner.explanation.sensitivity.numbers import faster_level
from planner.explanation.sensitivity.rebuilding import Rebuilding
from planner.plan import Plan
from planner.results.plan import PlanResult

FASTER = 2.0
"""Factor on a rate, a capacity, chips or the batch; latencies are divided by it."""
SLOWER = (0.5, 0.9)
TIMES = {FASTER: "twice as fast", 0.5: "half as fast", 0.9: "0.9 times as fast"}
"""Each factor in words."""
_HOST = (
    "host_s_per_layer", "host_s_per_tp_rank", "far_host_s_per_tp_rank", "moe_host_s",
    "expert_host_s", "slice_s", "fixed_s_per_layer", "micro_batch_s", "step_s",
)  # fmt: skip
"""Fields of `Assumptions` that the part `host` of a step is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine that differs in one resource.

    Attributes:
        change: What is different, in words.
        kind: The resource: compute, memory bandwidth, communication, host or host link.
        level: Of communication: the network level.
        model: The cost model there.
    """

    change: str
    kind: str
    level: str
    model: CostModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Relief:
    """What such a machine would save.

    Attributes:
        change, kind, level: As in `Machine`.
        gain: Step time saved over the step time.
    """

    change: str
    kind: str
    level: str
    gain: float


def machines(made: Rebuilding, plan: Plan, factor: float = FASTER) -> Iterator[Machine]:
    """Each resource of the machine so many times as good; powers and prices stay as they are.

    Args:
        made: The model, and how to make it again.
        plan: Levels that its chips do not reach, and a host that it does not use, are left out.
        factor: One of `TIMES`.
    """
    cluster, chip, times = made.model.cluster, made.model.chip, TIMES[factor]
    reached = {level.name for level in made.model.allocation(plan.chips).levels}
    for index, level in enumerate(cluster.levels):
        if level.name in reached and plan.chips > 1:
            other = replace(faster_level(level, factor), latency_s=level.latency_s / factor)
            yield Machine(
                change=f"{level.name} {times}", kind="communication", level=level.name,
                model=made.on_level(index, other),
            )  # fmt: skip
    memory = chip.memory_bandwidth_bytes_per_s * factor
    changed: list[tuple[str, str, CostModel]] = [
        (f"memory {times}", "memory bandwidth",
         made.on_chip(replace(chip, memory_bandwidth_bytes_per_s=memory))),
        (f"chip that computes {times}", "compute", made.on_chip(_faster(chip, factor))),
    ]  # fmt: skip
    assumed = made.model.assumptions
    shares = {name: getattr(assumed, name) / factor for name in _HOST if getattr(assumed, name)}
    if shares:
        host = replace(made.model, assumptions=replace(assumed, **shares))
        changed.append((f"host {times}", "host", host))
    if plan.offload:
        changed.append((f"host link and memory {times}", "host link", _linked(made, factor)))
    for change, kind, model in changed:
        yield Machine(change=change, kind=kind, level="", model=model)


def _faster(chip: Chip, factor: float) -> Chip:
    rates = {name: rate * factor for name, rate in chip.peak_flop_per_s.items()}
    return replace(chip, peak_flop_per_s=FrozenMap(rates))


def _linked(made: Rebuilding, factor: float) -> CostModel:
    """The model with a host that is reached, and written to, so many times as fast."""
    names = ("host_link_bandwidth_bytes_per_s", "host_memory_bandwidth_bytes_per_s")
    rates = {name: getattr(made.model.chip, name) for name in names}
    changed = {name: rate * factor for name, rate in rates.items() if rate}
    return made.on_chip(replace(made.model.chip, **changed))


def reliefs(made: Rebuilding, result: PlanResult) -> tuple[Relief, ...]:
    """What each machine of `machines` would save, from evaluations of the step time alone."""
    on = Changed.of(made.model, [result.plan])
    base = on.time_s(made.model)
    return tuple(
        Relief(
            change=one.change, kind=one.kind, level=one.level,
            gain=1 - on.time_s(one.model) / base,
        )
        for one in machines(made, result.plan)
    )  # fmt: skip

"""The same plan on machines of which one resource is twice as good, and what each would save."""

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


def machines(made: Rebuilding, plan: Plan) -> Iterator[Machine]:
    """Each resource of the machine twice as good; powers and prices stay as they are.

    Args:
        made: The model, and how to make it again.
        plan: Levels that its chips do not reach, and a host that it does not use, are left out.
    """
    cluster, chip = made.model.cluster, made.model.chip
    reached = {level.name for level in made.model.allocation(plan.chips).levels}
    for index, level in enumerate(cluster.levels):
        if level.name in reached and plan.chips > 1:
            faster = replace(faster_level(level, FASTER), latency_s=level.latency_s / FASTER)
            yield Machine(
                change=f"{level.name} twice as fast", kind="communication", level=level.name,
                model=made.on_level(index, faster),
            )  # fmt: skip
    memory = chip.memory_bandwidth_bytes_per_s * FASTER
    changed: list[tuple[str, str, CostModel]] = [
        ("memory twice as fast", "memory bandwidth",
         made.on_chip(replace(chip, memory_bandwidth_bytes_per_s=memory))),
        ("chip that computes twice as fast", "compute", made.on_chip(_faster(chip))),
    ]  # fmt: skip
    assumed = made.model.assumptions
    halves = {name: getattr(assumed, name) / FASTER for name in _HOST if getattr(assumed, name)}
    if halves:
        host = replace(made.model, assumptions=replace(assumed, **halves))
        changed.append(("host twice as fast", "host", host))
    if plan.offload:
        changed.append(("host link and memory twice as fast", "host link", _linked(made)))
    for change, kind, model in changed:
        yield Machine(change=change, kind=kind, level="", model=model)


def _faster(chip: Chip) -> Chip:
    rates = {name: rate * FASTER for name, rate in chip.peak_flop_per_s.items()}
    return replace(chip, peak_flop_per_s=FrozenMap(rates))


def _linked(made: Rebuilding) -> CostModel:
    """The model with a host that is reached, and written to, twice as fast."""
    names = ("host_link_bandwidth_bytes_per_s", "host_memory_bandwidth_bytes_per_s")
    rates = {name: getattr(made.model.chip, name) for name in names}
    faster = {name: rate * FASTER for name, rate in rates.items() if rate}
    return made.on_chip(replace(made.model.chip, **faster))


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

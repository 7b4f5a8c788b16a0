"""Random plans that a target can run as they are, and what the rules say of others."""

import random
from collections.abc import Iterator
from dataclasses import replace

from export.cases import CASES, Case
from planner.errors import InputError
from planner.export import Export, export_plan
from planner.plan import Plan
from planner.targets import Target

AXES = ("dp", "fsdp", "tp", "cp", "pp")


def _mesh(source: random.Random, chips: int) -> dict[str, int]:
    sizes = dict.fromkeys(AXES, 1)
    while chips > 1:
        sizes[source.choice(AXES)] *= 2
        chips //= 2
    return sizes


def random_plan(source: random.Random, chips: int, experts: bool) -> Plan:
    mesh = _mesh(source, chips)
    sharding = "zero3" if mesh["fsdp"] > 1 else source.choice(["ddp", "zero1", "zero2", "zero3"])
    interleave = source.choice([1, 1, 2, 4]) if mesh["pp"] > 1 else 1
    schedule = "interleaved" if interleave > 1 else source.choice(["1f1b", "gpipe"])
    return Plan(
        **mesh,
        ep=source.choice([1, 2, 4, 8]) if experts else 1,
        micro_batch=source.choice([1, 2]),
        sharding=sharding,
        schedule=schedule,
        interleave=interleave,
        recompute=source.choice(["none", "selective", "full"]),
        cp_mode=source.choice(["ring", "all-to-all"]),
        split=source.choice(["even", "front", "by-cost"]) if mesh["pp"] > 1 else "even",
        offload=source.choice([(), (), ("optimizer",)]),
    )


def runnable(
    target: Target, case: Case, count: int, seed: int = 0
) -> Iterator[tuple[Case, Plan, Export]]:
    """As many distinct random plans of a case as a target runs as they are."""
    source, seen = random.Random(seed), set[Plan]()
    cost = case.cost()
    for _ in range(4000):
        plan = random_plan(source, case.plan.chips, cost.shapes.experts > 0)
        if plan in seen:
            continue
        seen.add(plan)
        try:
            export = export_plan(cost, plan, target)
        except InputError:
            continue
        yield replace(case, plan=plan), plan, export
        count -= 1
        if count == 0:
            return


MODELS = tuple(name for name in CASES if name != "one-chip")

"""Random jobs and plans that a target can run as they are.

Axes of 3, 5 and 6 ranks, odd micro-batches, other orders of the axes, stages with lists of layers;
jobs with other batches, sequences, precisions and adapters.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from frameworks.export.cases import CASES, Case
from models_db import Model
from planner.assumptions.assumptions import PRECISIONS, peak_flop_per_s
from planner.base.arrays import BoolArray
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.cost.job import JOB_KINDS
from planner.frameworks.rules.checking import applicable, judged_for
from planner.frameworks.targets import Target
from planner.frameworks.writing import Export, export_plan
from planner.plan import AXES, RECOMPUTATIONS, Plan, PlanTable, Stage

MODELS = tuple(name for name in CASES if name != "one-chip")
DRAWN_AT_ONCE, DRAWS, JOBS = 500, 16, 5
SIZES = (1, 1, 1, 2, 2, 3, 4, 5, 6, 8)
STAGES = (1, 1, 1, 2, 3, 4, 5, 6, 8)
REPLICAS = (1, 2, 3, 4, 6, 8, 12, 16)


def random_job(source: random.Random, case: Case) -> Case:
    """The job with another batch, other sequences, another precision and another kind."""
    return replace(
        case,
        global_batch=source.choice([case.global_batch, 192, 240, 480]),
        seq_len=source.choice([case.seq_len, 6144, 7680]),
        precision=source.choice(["bf16", *PRECISIONS]),
        kind=source.choice(["pretrain", *JOB_KINDS]),
    )


def random_stages(
    source: random.Random, model: Model, chunks: int, *, recomputes: bool
) -> tuple[Stage, ...]:
    """Layers of every chunk, mostly near equal; the first N of each may be computed again."""
    layers = model.layers
    if source.random() < 0.3:
        cuts = sorted(source.randint(0, layers) for _ in range(chunks - 1))
    else:
        cuts = [layers * at // chunks for at in range(1, chunks)]
    borders = [0, *cuts, layers]
    again = source.choice([0, 0, 1, 2]) if recomputes else 0
    found = []
    for start, end in pairwise(borders):
        kinds = model.layer_kinds[start : min(start + again, end)]
        experts = sum(kind == "moe" for kind in kinds)
        found.append(Stage(layers=end - start, full=(len(kinds) - experts, experts)))
    return tuple(found)


def random_plan(source: random.Random, cost: CostModel) -> Plan:
    """A plan of what the framework offers, whether it fits the job or not."""
    framework, shapes = cost.framework, cost.shapes
    sharding = source.choice(framework.shardings)
    tp, pp = source.choice(SIZES), source.choice(STAGES)
    schedule = source.choice(framework.schedules) if pp > 1 else framework.schedules[0]
    interleave = source.choice([2, 3, 4, 5]) if schedule == "interleaved" and pp > 1 else 1
    words = [RECOMPUTATIONS[code] for code in cost.module_sets]
    recompute = source.choice(["none", "selective", "full", source.choice(words or ["none"])])
    stages = None
    if pp > 1 and source.random() < 0.4:
        some = recompute == "none"
        stages = random_stages(source, cost.job.model, pp * interleave, recomputes=some)
    return Plan(
        dp=source.choice(REPLICAS),
        fsdp=source.choice(REPLICAS) if sharding == "zero3" else 1,
        tp=tp,
        cp=source.choice(SIZES),
        pp=pp,
        ep=source.choice([1, 2, 3, 4, 8, 16]) if shapes.experts else 1,
        etp=source.choice([1, 1, 2, 4]) if shapes.experts and framework.splits_experts else 1,
        micro_batch=source.choice([1, 2, 3, 5]),
        sharding=sharding,
        schedule=schedule,
        interleave=interleave,
        sequence_parallel=tp > 1 and source.random() < 0.6,
        recompute=recompute,
        cp_mode=source.choice(["ring", "all-to-all"]),
        split=source.choice(framework.splits),
        offload=source.choice(
            [(), (), (), ("optimizer",), ("activations",), ("optimizer", "weights")]
        ),
        order=source.choice(framework.orders or (tuple(source.sample(AXES, len(AXES))),)),
        stages=stages,
    )


def obeying(cost: CostModel, target: Target, plans: list[Plan]) -> BoolArray:
    """(n,) plans that obey the target's rules, as far as these ask nothing of a single stage."""
    model, table = judged_for(cost, target), PlanTable.from_plans(plans)
    held = np.ones(len(table), dtype=np.bool_)
    for rule in applicable(model.framework, target):
        if not rule.per_stage:
            held &= rule.holds(model, table)
    return held


def of_job(
    source: random.Random, target: Target, case: Case, seen: set[Plan]
) -> Iterator[tuple[Case, Plan, Export]]:
    """Random plans of one job that a target runs as they are."""
    try:
        cost = judged_for(case.cost(), target)
        peak_flop_per_s(cost.chip, case.precision)
    except InputError:
        return
    most = max(512, case.plan.chips)
    sizes = set(cost.cluster.chip_counts(most))
    for _ in range(DRAWS):
        drawn = (random_plan(source, cost) for _ in range(DRAWN_AT_ONCE))
        plans = [plan for plan in drawn if plan.chips in sizes and plan not in seen]
        for row in np.flatnonzero(obeying(cost, target, plans)):
            plan = plans[row]
            seen.add(plan)
            try:
                export = export_plan(cost, plan, target)
            except InputError:
                continue
            yield replace(case, plan=plan), plan, export


def runnable(
    target: Target, case: Case, count: int, seed: int = 0
) -> Iterator[tuple[Case, Plan, Export]]:
    """As many distinct random plans as a target runs as they are, of a case and jobs like it."""
    source, seen = random.Random(seed), set[Plan]()
    cases = dict.fromkeys([case, *(random_job(source, case) for _ in range(JOBS - 1))])
    jobs = [of_job(source, target, one, seen) for one in cases]
    while jobs and count > 0:
        for job in tuple(jobs):
            found = next(job, None)
            if found is None:
                jobs.remove(job)
            elif count > 0:
                count -= 1
                yield found

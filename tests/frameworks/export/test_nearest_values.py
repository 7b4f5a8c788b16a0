"""What rules name as nearest: a plan with that value obeys the rule."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
from support.cases import each

from frameworks.export.cases import CASES, Case
from frameworks.export.random_plans import random_plan
from planner.cost.context import CostModel
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.rules import Rule, applicable, judged_for
from planner.frameworks.targets import TARGETS, Target
from planner.plan import Plan, PlanTable

PLANS, MOST = 80, 3
OF_PLAN = ("dp", "fsdp", "tp", "cp", "pp", "ep", "etp", "micro_batch", "interleave")
NUMBERS = re.compile(
    r"nearest(?: ([a-z_ ]+?))?(?: with ([a-z]+) (\d+))?: (-?\d+)(?: or (-?\d+))?\b"
)
SETTINGS = re.compile(r"([a-z_]+) (-?\d+)")
SAID = (
    "dp",
    "fsdp",
    "tp",
    "cp",
    "pp",
    "ep",
    "etp",
    "micro_batch",
    "interleave",
    "seq_len",
    "precision",
)


def jobs() -> Iterator[Case]:
    """Jobs of many kinds of models, with sequences, batches and precisions that fit few plans."""
    source = random.Random(3)
    names = [*CASES.values()]
    models = ["deepseek-v2-lite", "qwen3-30b-a3b", "gemma2-9b", "gpt-oss-20b", "qwen2.5-7b",
              "llama4-scout", "mistral-7b", "falcon-7b", "gpt3-1.3b"]  # fmt: skip
    names += [replace(source.choice(names), model=name) for name in models]
    for case in names:
        yield case
        yield replace(
            case,
            global_batch=source.choice([1, 30, 96]),
            seq_len=source.choice([1, 2, 7, 4099, 6144]),
            precision=source.choice(["fp16", "fp32", "fp8"]),
            hardware=source.choice([case.hardware, "dgx-h100-ndr", "tpu-v5e", "mi300x-8way"]),
        )


JOBS = tuple(jobs())


@cache
def plans_of(at: int) -> PlanTable:
    """Random plans of a job, of all that two frameworks offer."""
    source, cost = random.Random(at), JOBS[at].cost()
    found, sizes = [], set(cost.cluster.chip_counts(512))
    for name in ("megatron", "torchtitan", "fsdp"):
        judged = replace(cost, job=replace(cost.job, framework=FRAMEWORKS[name]))
        found += [random_plan(source, judged) for _ in range(PLANS)]
    return PlanTable.from_plans([plan for plan in found if plan.chips in sizes])


def lines_of(target: Target, version: str) -> Iterator[tuple[CostModel, Rule, Plan, str]]:
    """What a target's rules say of some random plans of each job that break them."""
    for at, case in enumerate(JOBS):
        cost, table = judged_for(case.cost(), target), plans_of(at)
        for rule in applicable(cost.framework, target, version):
            if rule.framework == "any" and target is not FIRST:
                continue
            for row in np.flatnonzero(~rule.holds(cost, table))[:MOST]:
                plan = table.plan(int(row))
                yield cost, rule, plan, rule.explain(cost, plan)


def changed(cost: CostModel, plan: Plan, settings: dict[str, int]) -> tuple[CostModel, Plan]:
    """The job and the plan with other values."""
    if "seq_len" in settings:
        cost = replace(cost, job=replace(cost.job, seq_len=settings["seq_len"]))
    return cost, replace(plan, **{k: v for k, v in settings.items() if k in OF_PLAN})


def obeys(cost: CostModel, rule: Rule, plan: Plan, settings: dict[str, int]) -> bool:
    cost, plan = changed(cost, plan, settings)
    return bool(rule.holds(cost, PlanTable.from_plans([plan]))[0])


def choices(line: str, field: str) -> Iterator[dict[str, int]]:
    """What a line names as nearest: each a few fields with their values."""
    for name, beside, size, *values in NUMBERS.findall(line):
        for value in filter(None, values):
            yield {name or field: int(value)} | ({beside: int(size)} if beside else {})
    if (end := re.search(r"nearest: ([a-z].*)$", line)) and SETTINGS.search(end[1]):
        for part in re.split(r",? or ", end[1]):
            found = {k: int(v) for k, v in SETTINGS.findall(part) if k in OF_PLAN}
            if found:
                yield found


FIRST = TARGETS["megatron"]
"""With whose rules those of arithmetic are asked."""
VERSIONS = [(target, target.versions[0]) for target in TARGETS.values()]
VERSIONS.append((TARGETS["torchtitan"], "0.2"))


@each(("target", "version"), VERSIONS)
def test_the_nearest_value_is_allowed(target: Target, version: str) -> None:
    tried = 0
    for cost, rule, plan, line in lines_of(target, version):
        assert not re.search(r"nearest[^:]*: none|\n", line), line
        for settings in choices(line, rule.field):
            assert all(value >= 1 for value in settings.values()), line
            if any(name in SAID for name in settings):
                tried += 1
                assert obeys(cost, rule, plan, settings), (line, plan, cost.job.model.name)
    assert tried > 20

"""What a search for a target answers is what export writes for it."""

import os
from itertools import product

from support.cases import each

from frameworks.export.cases import CASES
from hardware_db import load_cluster
from models_db import load_model
from planner.answers.diagnosis.diagnosis import diagnose
from planner.answers.diagnosis.uniform import UniformReasons
from planner.assumptions.assumptions import PRECISIONS, calibrated
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.cost.job import JOB_KINDS, Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.rules import TARGET, applicable, broken, judged_for
from planner.frameworks.targets import TARGETS, Target
from planner.frameworks.writing import export_plan
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.search.driver import Driver, Found
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace

MODELS = ("gpt3-125m", "llama3-8b", "qwen3-8b", "gemma2-9b", "mixtral-8x7b", "deepseek-v2-lite",
          "gpt-oss-20b", "llama4-scout", "phi-4", "olmo2-7b")  # fmt: skip
MACHINES = ("dgx-h200-ndr", "gb200-nvl72", "tpu-v5p")
EVERY = tuple(product(MODELS, MACHINES, PRECISIONS, JOB_KINDS))
USUAL = tuple((model, "dgx-h200-ndr", "bf16", "pretrain") for model in MODELS)
SOME = os.environ.get("PLANNER_EVERY", "71")  # of so many jobs one
JOBS = tuple(dict.fromkeys((*USUAL, *EVERY[:: int(SOME)])))
CHIPS = 8
PLAIN = PlanTable.from_plans([Plan(dp=CHIPS)])


def cost_of(model: str, hardware: str, precision: str, kind: str, target: Target) -> CostModel:
    cluster, framework = load_cluster(hardware), FRAMEWORKS[target.framework]
    job = Job(
        model=load_model(model),
        seq_len=2048,
        global_batch=32,
        precision=precision,
        kind=kind,
        framework=framework,
        era=framework.era,
    )
    return CostModel.build(job, cluster, calibrated(cluster.chip, framework.era, precision))


def space_of(cost: CostModel, target: Target) -> UniformSpace:
    options = SpaceOptions(runnable_in=(target,), clocks=False)
    return UniformSpace(model=cost, options=options, limits=Limits(), chips=(CHIPS,))


def searched(cost: CostModel, target: Target) -> Found:
    return Driver().run(space_of(cost, target))


def written(cost: CostModel, target: Target) -> int:
    """Plans that the search finds and export writes; a rule about the job drops all."""
    found = searched(cost, target)
    plans = [found.plans.plan(at) for at in range(len(found.plans))]
    for plan in plans:
        assert not export_plan(cost, plan, target).unsupported
    of_job = [rule.name for rule, _ in broken(cost, PLAIN, target=target) if rule.of_job]
    dropped = {name.rpartition(TARGET)[2] for name in found.counts["meshes"]}
    assert not of_job or (not plans and dropped & {*of_job})
    return len(plans)


@each("name", TARGETS)
def test_whatever_is_found_is_written(name: str) -> None:
    target, some = TARGETS[name], 0
    for job in JOBS:
        try:
            cost = cost_of(*job, target)
        except InputError:
            continue  # no such matrix format on the chip
        some += written(cost, target) > 0
    assert some


@each("name", TARGETS)
def test_rules_of_the_job_say_the_same_of_all_plans(name: str) -> None:
    target = TARGETS[name]
    table = PlanTable.from_plans([case.plan for case in CASES.values()])
    for job in USUAL:
        cost = judged_for(cost_of(*job, target), target)
        for version in target.versions:
            rules = [r for r in applicable(cost.framework, target, version) if r.of_job]
            assert rules
            for rule in rules:
                assert len(set(rule.holds(cost, table).tolist())) == 1, rule.name


def test_an_answer_without_plans_says_what_is_allowed() -> None:
    target = TARGETS["torchtitan"]
    cost = cost_of("mixtral-8x7b", "dgx-h200-ndr", "bf16", "pretrain", target)
    found = searched(cost, target)
    assert len(found.plans) == 0
    reasons = UniformReasons(searched=space_of(cost, target), chips=CHIPS, found=found)
    explanation = diagnose(reasons).explanation
    assert explanation.startswith("torchtitan: torchtitan 0.3 has no model")
    assert "it has those of llama3, qwen3, deepseek_v3, gpt_oss" in explanation

"""What a search for a target answers is what export writes for it."""

from itertools import product

import pytest

from hardware_db import load_cluster
from models_db import load_model
from planner.assumptions import PRECISIONS, calibrated
from planner.cost.context import CostModel
from planner.errors import InputError
from planner.export import export_plan
from planner.frameworks import FRAMEWORKS
from planner.job import JOB_KINDS, Job
from planner.rules import TARGET
from planner.search.engine import Found, Search
from planner.search.limits import Limits
from planner.search.options import SpaceOptions
from planner.targets import TARGETS, Target

MODELS = ("gpt3-125m", "llama3-8b", "qwen3-8b", "gemma2-9b", "mixtral-8x7b", "deepseek-v2-lite",
          "gpt-oss-20b", "llama4-scout", "phi-4", "olmo2-7b")  # fmt: skip
MACHINES = ("dgx-h200-ndr", "gb200-nvl72", "tpu-v5p")
EVERY = tuple(product(MODELS, MACHINES, PRECISIONS, JOB_KINDS))
USUAL = tuple((model, "dgx-h200-ndr", "bf16", "pretrain") for model in MODELS)
JOBS = tuple(dict.fromkeys((*USUAL, *EVERY[::17])))


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


def searched(cost: CostModel, target: Target) -> Found:
    options = SpaceOptions(runnable_in=(target,), clocks=False)
    return Search(model=cost, options=options, limits=Limits()).run((16,))


def written(cost: CostModel, target: Target) -> int:
    """Plans that the search finds; export writes them all, or the search says what is in the way."""
    found = searched(cost, target)
    for at in range(len(found.plans)):
        assert not export_plan(cost, found.plans.plan(at), target).unsupported
    said = {name for counts in found.counts.values() for name in counts}
    assert len(found.plans) or any(
        name in ("memory", "framework") or name.startswith(f"{target.name}{TARGET}")
        for name in said
    )
    return len(found.plans)


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_is_found_is_written(name: str) -> None:
    target, some = TARGETS[name], 0
    for job in JOBS:
        try:
            cost = cost_of(*job, target)
        except InputError:
            continue  # no such matrix format on the chip
        some += written(cost, target) > 0
    assert some

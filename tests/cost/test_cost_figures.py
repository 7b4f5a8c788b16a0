"""Figures without parts, on networks that several tables share, are those of the breakdown."""

from dataclasses import replace

import numpy as np

from hardware_db import load_cluster
from models_db import load_model
from planner.assumptions.assumptions import calibrated
from planner.assumptions.rack_presets import rack_energy
from planner.cost.columns import networks_of
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_figures, evaluate_table
from planner.cost.job import Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import Plan, PlanTable

BATCHES = np.array([64, 128, 64])


def model_on(hardware: str, name: str, seq_len: int) -> CostModel:
    """A job on a cluster under calibrated constants."""
    cluster = load_cluster(hardware)
    framework = FRAMEWORKS["megatron"]
    job = Job(
        model=load_model(name), seq_len=seq_len, global_batch=64, framework=framework,
        era=framework.era,
    )  # fmt: skip
    return CostModel.build(job, cluster, calibrated(cluster.chip, job.era, job.precision))


def table(tp: int) -> PlanTable:
    """Plans on 16 and 32 chips."""
    return PlanTable.from_plans(
        [
            Plan(dp=16 // tp, tp=tp),
            Plan(fsdp=32 // tp, tp=tp, sharding="zero3", recompute="full"),
            Plan(dp=8 // tp, tp=tp, pp=2, schedule="1f1b"),
        ]
    )


ASKED = [
    (model_on("dgx-h100-ndr", "llama2-7b", 4096), table(2)),
    (model_on("dgx-h100-ndr", "mixtral-8x7b", 4096), table(4)),
    (model_on("dgx-h100-ndr", "llama2-13b", 2048), table(8)),
    (model_on("h100-sxm5-80", "llama2-7b", 4096), table(2)),
]


def test_figures_are_those_of_the_breakdown_bit_for_bit() -> None:
    for (model, plans), nets in zip(ASKED, networks_of(ASKED), strict=True):
        assert nets is not None
        found = evaluate_figures(model, plans, BATCHES, nets)
        whole = evaluate_table(model, plans, BATCHES)
        for name in ("step_time_s", "mfu", "memory_per_chip_bytes", "micro_batches"):
            assert getattr(found, name).tobytes() == getattr(whole, name).tobytes(), name
        for boundary, joules in whole.energy.boundaries.items():
            assert found.energy.boundaries[boundary].tobytes() == joules.tobytes(), boundary
            for end, of_whole in zip(
                found.energy.interval(boundary), whole.energy.interval(boundary), strict=True
            ):
                assert end.tobytes() == of_whole.tobytes(), boundary


def test_where_components_are_all_the_energy_they_are_counted() -> None:
    first, plans = ASKED[0]
    model = replace(first, assumptions=rack_energy(first.chip))
    found, whole = (
        evaluate(model, plans).energy.boundaries for evaluate in (evaluate_figures, evaluate_table)
    )
    assert whole["chip"].min() > 0
    assert {name: joules.tolist() for name, joules in found.items()} == {
        name: joules.tolist() for name, joules in whole.items()
    }


def test_a_cluster_without_the_chips_has_no_networks_and_the_others_have() -> None:
    small = model_on("dgx-h100-ndr", "llama2-7b", 4096)
    small = replace(small, cluster=replace(small.cluster, max_chips=16))
    found = networks_of([*ASKED, (small, table(2))])
    assert [nets is None for nets in found] == [False] * 4 + [True]

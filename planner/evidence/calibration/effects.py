"""What local constants change for two plans that many people know."""

from __future__ import annotations

from dataclasses import replace

from hardware_db import Calibration, Cluster
from planner.assumptions.assumptions import calibrated
from planner.assumptions.local_file import SITE_FACTOR
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.cost.job import Job
from planner.evidence.calibration.answer import CalibrationResult, Effect
from planner.evidence.calibration.runs import with_values
from planner.frameworks.profiles import default_framework
from planner.plan import Plan, PlanTable
from planner.question.records import model_named

_MODEL = "llama3-8b"
_CHIPS = 64
_PER_CHIP = 2


def effects_of(
    result: CalibrationResult, base: Calibration, cluster: Cluster, era: str, model: str | None
) -> tuple[Effect, ...]:
    """Step times of reference plans with and without what was found.

    Args:
        result: What was found.
        base: The shipped constants.
        cluster: Where it was measured.
        era: Software era of the plans.
        model: Of the plans; None: llama3-8b.

    Raises:
        InputError: The model is unknown.
    """
    chips = max((n for n in cluster.chip_counts(_CHIPS) if n <= _CHIPS), default=1)
    framework = default_framework(cluster.chip.vendor)
    peaks = cluster.chip.peak_flop_per_s
    job = Job(
        model=model_named(model or _MODEL),
        seq_len=4096,
        global_batch=_PER_CHIP * chips,
        precision=next((name for name in ("bf16", "fp16", "fp32") if name in peaks), "bf16"),
        framework=framework,
        era=era,
    )
    tp = min(8, cluster.node_chips, chips)
    plans = {f"FSDP {chips}": Plan(fsdp=chips, sharding="zero3", micro_batch=1)}
    if tp > 1 and chips % tp == 0:
        plans[f"TP {tp} x DP {chips // tp}"] = Plan(
            tp=tp, dp=chips // tp, sharding="zero1", sequence_parallel=True, micro_batch=1
        )
    values = {found.path: found.value for found in result.findings}
    local = with_values(base, values)
    effects = []
    for words, plan in plans.items():
        try:
            shipped_s = _step_s(job, cluster, plan, base, 1.0)
            local_s = _step_s(job, cluster, plan, local, values.get(SITE_FACTOR, 1.0))
        except InputError:
            continue  # the model does not divide by this plan
        title = f"{job.model.name}, {chips} x {cluster.chip.name}, {words}"
        effects.append(Effect(plan=title, shipped_s=shipped_s, local_s=local_s))
    return tuple(effects)


def _step_s(
    job: Job, cluster: Cluster, plan: Plan, constants: Calibration, site_factor: float
) -> float:
    a = calibrated(cluster.chip, job.era, job.precision, constants, job.expert_software, job.recipe)
    model = CostModel.build(job, cluster, replace(a, site_factor=site_factor))
    return float(evaluate_totals(model, PlanTable.from_plans([plan])).step_time_s[0])

"""Casting operands to 8 and 4 bits, and adapters beside frozen matrices, take time."""

from dataclasses import replace

import pytest
from support.cases import each

from hardware_db import load_chip, load_cluster
from models_db import load_model
from planner.assumptions.assumptions import calibrated
from planner.base.errors import InputError
from planner.cost.communication.algorithms import assumed_collectives
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.cost.job import Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import Plan, PlanTable


@each(
    ("chip", "era", "precision", "moved"),
    [
        ("h100-sxm5-80", "megatron-core-2025", "bf16", 0.0),
        ("h100-sxm5-80", "megatron-core-2025", "fp8", 4.0),  # read 2, write 1 and its transpose
        ("h100-sxm5-80", "torch-fsdp", "fp8", 6.0),  # read twice
        ("b200-sxm-180", "megatron-core-2025", "fp8", 3.0),
        ("l40s", "torch-fsdp", "fp8", 6.0),
        ("b200-sxm-180", "megatron-core", "mxfp8", 2 + 2 * (1 + 1 / 32)),
        ("b200-sxm-180", "megatron-core", "fp4", 4 + 2 * (0.5 + 1 / 16)),
    ],
)
def test_bytes_of_a_recipe(chip: str, era: str, precision: str, moved: float) -> None:
    found = calibrated(load_chip(chip), era, precision)
    assert found.quantized_bytes == pytest.approx(moved, abs=0.01)


def test_blocks_are_scaled_by_rows_and_by_columns_at_once() -> None:
    """No copy is transposed apart; Ada has no such products; other formats have one recipe."""
    for name in ("h100-sxm5-80", "b200-sxm-180"):
        chip = load_chip(name)
        found = calibrated(chip, "megatron-core", "fp8", recipe="blockwise")
        assert found.quantized_bytes == pytest.approx(2 + 2 * (1 + 4 / 128), abs=0.01)
        assert calibrated(chip, "megatron-core", recipe="blockwise").quantized_bytes == 0
    with pytest.raises(InputError, match="blockwise runs on Hopper and Blackwell, and l40s is Ada"):
        calibrated(load_chip("l40s"), "torch-fsdp", "fp8", recipe="blockwise")


def test_a_job_has_the_recipe_that_is_asked_for_its_framework_or_its_era() -> None:
    job = Job(
        model=load_model("llama3-8b"), seq_len=8192, global_batch=1, precision="fp8",
        framework=FRAMEWORKS["megatron"], era="megatron-core",
    )  # fmt: skip
    assert job.recipe == "current"
    assert replace(job, era="megatron-core-2025").recipe == "delayed"
    assert replace(job, framework=FRAMEWORKS["hai-llm"]).recipe == "blockwise"
    assert replace(job, fp8_recipe="blockwise").recipe == "blockwise"
    for changes, problem in (
        ({"precision": "bf16", "fp8_recipe": "delayed"}, "no effect in bf16"),
        ({"precision": "mxfp8", "fp8_recipe": "delayed"}, "no effect in mxfp8"),
        ({"framework": FRAMEWORKS["torchtitan"], "fp8_recipe": "delayed"}, "torchtitan has"),
    ):
        with pytest.raises(InputError, match=problem):
            replace(job, **changes)  # type: ignore[arg-type]


def test_zero1_gathers_weights_as_products_take_them() -> None:
    """Half of the bytes at fp8 under NVIDIA's recipes; 16 bits in other formats and shardings."""
    cluster = load_cluster("b200-sxm-180")
    for precision, sharding, size in (
        ("bf16", "zero1", 2.0), ("fp8", "zero1", 1.0), ("mxfp8", "zero1", 2.0),
        ("fp4", "zero1", 2.0), ("fp8", "zero3", 2.0),
    ):  # fmt: skip
        job = Job(
            model=load_model("llama3-8b"), seq_len=8192, global_batch=16, precision=precision,
            framework=FRAMEWORKS["megatron"], era="megatron-core",
        )  # fmt: skip
        model = CostModel.build(job, cluster, calibrated(cluster.chip, job.era, precision))
        plan = Plan(fsdp=16, sharding=sharding) if sharding == "zero3" else Plan(dp=16)
        found = assumed_collectives(model, replace(plan, sharding=sharding))
        (sent,) = [one for one in found if one.what.startswith("weights")]
        parameters = job.model.total_parameters
        if sharding == "zero1":
            assert sent.size_bytes == pytest.approx(size * parameters, rel=0.01), precision
        else:
            (reduced,) = [one for one in found if one.collective == "reduce-scatter"]
            assert sent.size_bytes == reduced.size_bytes * size / 2


def seconds(kind: str, precision: str, **change: float) -> float:
    """Seconds of a step of one GPU."""
    cluster = load_cluster("h100-sxm5-80")
    job = Job(
        model=load_model("llama3-8b"), seq_len=8192, global_batch=1, precision=precision, kind=kind,
        framework=FRAMEWORKS["megatron"], era="megatron-core-2025",
    )  # fmt: skip
    a = replace(calibrated(cluster.chip, job.era, precision), **change)  # type: ignore[arg-type]
    cost = evaluate_table(CostModel.build(job, cluster, a), PlanTable.from_plans([Plan()]))
    return float(cost.step_time_s[0])


def test_casting_costs_its_bytes_over_the_memory_rate() -> None:
    """Every layer: inputs of 6.5 and outputs of 10.5 hidden sizes a token, 4 B each."""
    model, tokens = load_model("llama3-8b"), 8192
    elements = model.hidden + model.hidden + (model.mlp.hidden or 0)  # qkv, output and up, down
    elements += model.hidden
    elements += int(1.5 * model.hidden) + model.hidden + 2 * (model.mlp.hidden or 0) + model.hidden
    rate = calibrated(load_chip("h100-sxm5-80"), "megatron-core-2025", "fp8").memory_bytes_per_s
    added = seconds("pretrain", "fp8") - seconds("pretrain", "fp8", quantized_bytes=0.0)
    assert added == pytest.approx(4.0 * tokens * elements * model.layers / rate, rel=0.02)


def test_adapters_cost_time_only_where_there_are_some() -> None:
    assert seconds("lora", "bf16") > seconds("lora", "bf16", adapter_bytes=0.0)
    assert seconds("pretrain", "bf16") == seconds("pretrain", "bf16", adapter_bytes=0.0)
    assert seconds("lora", "bf16", adapts_mlp=True) > seconds("lora", "bf16")


def test_narrow_frozen_weights_are_widened_in_every_pass() -> None:
    cluster = load_cluster("a100-sxm4-80")
    plain = Job(
        model=load_model("llama3-8b"), seq_len=8192, global_batch=1, kind="lora",
        framework=FRAMEWORKS["deepspeed"], era="torch-eager",
    )  # fmt: skip
    a = calibrated(cluster.chip, plain.era)
    times = []
    for recompute in ("none", "full"):
        plans = PlanTable.from_plans([Plan(recompute=recompute)])
        narrow, wide = (
            float(evaluate_table(CostModel.build(job, cluster, a), plans).step_time_s[0])
            for job in (replace(plain, frozen_weights="nf4"), plain)
        )
        times.append(narrow - wide)
    assert times[1] == pytest.approx(1.5 * times[0], rel=0.05)

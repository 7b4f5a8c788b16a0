"""Predicted peak memory against published measurements, with the shipped framework profiles."""

import csv
import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from support.cases import each

from cost.cases import assumptions_of
from hardware_db import load_cluster
from models_db import Model, load_model
from planner.assumptions.software import FrameworkProfile
from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.cost.job import Job
from planner.cost.memory.risk import SPREADS
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import Plan, PlanTable

DATA = Path(__file__).parent / "data"
GIB = 2.0**30
Row = dict[str, str]


def rows_of(name: str) -> list[Row]:
    """The rows of a data file; lines that begin with # say what it is and where it is from."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def model_of(row: Row, *, tied: bool = False) -> Model:
    """A gated decoder without biases, with the row's dimensions."""
    base = load_model("llama2-7b")
    hidden, heads = int(row["hidden"]), int(row["heads"])
    return replace(
        base,
        layers=int(row["layers"]),
        hidden=hidden,
        heads=heads,
        kv_heads=int(row["kv_heads"]),
        head_dim=hidden // heads,
        vocab_size=int(row["vocab"]),
        tied_embeddings=tied,
        attention=replace(base.attention, v_head_dim=hidden // heads),
        mlp=replace(base.mlp, hidden=int(row["width"])),
    )


def plan_of(row: Row, **choices: str | bool) -> Plan:
    """The row's mesh; zero3 shards over fsdp, sequence parallelism with tp unless chosen."""
    tp, data = int(row["tp"]), int(row["dp"])
    sharded = row["sharding"] == "zero3"
    return Plan(
        tp=tp,
        pp=int(row["pp"]),
        cp=int(row["cp"]),
        ep=int(row["ep"]),
        dp=1 if sharded else data,
        fsdp=data if sharded else 1,
        sharding=row["sharding"],
        micro_batch=int(row["micro_batch"]),
        **{"sequence_parallel": tp > 1, **choices},  # type: ignore[arg-type]
    )


def peak_gib(
    model: Model,
    plan: Plan,
    *,
    seq_len: int,
    batch: int,
    framework: str | FrameworkProfile,
    cluster: str,
) -> float:
    """Predicted peak of the fullest stage."""
    chosen = FRAMEWORKS[framework] if isinstance(framework, str) else framework
    job = Job(model=model, seq_len=seq_len, global_batch=batch, framework=chosen, era=chosen.era)
    assumed = assumptions_of(cluster, chosen.era)
    cost_model = CostModel.build(job, load_cluster(cluster), assumed)
    return float(memory_table(cost_model, PlanTable.from_plans([plan])).peak[0]) / GIB


def errors(
    rows: list[Row],
    framework: str | FrameworkProfile,
    cluster: str,
    *,
    tie_small: bool = False,
    **choices: str | bool,
) -> list[float]:
    """Relative errors, prediction over measurement minus 1."""
    found = []
    for row in rows:
        small = int(row["hidden"]) < 4096
        model = model_of(row, tied=tie_small and small and row["pp"] == "1")
        predicted = peak_gib(
            model,
            plan_of(row, **choices),
            seq_len=int(row["seq_len"]),
            batch=int(row["batch"]),
            framework=framework,
            cluster=cluster,
        )
        found.append(predicted / float(row["peak_gib"]) - 1)
    return found


def test_megatron_dense_on_b200() -> None:
    """22 runs, tp, pp and cp: 2 % mean absolute error, none above 4 %.

    Their scripts have --accumulate-allreduce-grads-in-fp32 (SimuMax, simu_tools/megatron_scripts/
    scripts/run_pretrain_llama3.sh).
    """
    found = errors(rows_of("simumax_b200.csv"), "megatron-fp32-grads", "dgx-b200-ndr")
    assert len(found) == 22
    assert fmean(map(abs, found)) <= 0.02
    assert max(map(abs, found)) <= 0.04
    assert abs(fmean(found)) <= 0.015


@each(
    ("name", "plan", "measured_gib"),
    [
        ("deepseek-v2", Plan(dp=8, ep=8, sharding="zero1", sequence_parallel=False), 45.63),
        ("deepseek-v2", Plan(dp=4, ep=4, pp=2, sharding="zero1", sequence_parallel=False), 44.70),
        ("deepseek-v3", Plan(dp=8, ep=8, sharding="zero1", sequence_parallel=False), 104.3),
        ("deepseek-v3", Plan(dp=4, ep=4, pp=2, sharding="zero1", sequence_parallel=False), 114.0),
    ],
)
def test_megatron_experts_on_b200(name: str, plan: Plan, measured_gib: float) -> None:
    """Four layers, the first dense: 2 %.

    Source: SimuMax v1.2, B200 measurements, https://github.com/MooreThreads/SimuMax (docs/b200).
    Dummy weight gradients exist once per weight shape, so one expert's, not all local experts'.
    """
    model = replace(load_model(name), layers=4)
    assert model.moe is not None
    model = replace(model, moe=replace(model.moe, first_dense_layers=1))
    predicted = peak_gib(
        model, plan, seq_len=4096, batch=32, framework="megatron-fp32-grads", cluster="dgx-b200-ndr"
    )
    assert abs(predicted / measured_gib - 1) <= 0.02


def test_nanotron_without_tensor_parallelism() -> None:
    """131 runs, pp 1 to 32: 5 % mean absolute error; every run must be a possible plan."""
    rows = rows_of("nanotron_tp1.csv")
    assert len(rows) == 131
    found = errors(rows, "nanotron", "dgx-h100-ndr", tie_small=True, split="by-cost")
    assert fmean(map(abs, found)) <= 0.05
    assert abs(fmean(found)) <= 0.03


def test_nanotron_without_tensor_parallelism_or_empty_stages() -> None:
    """The runs whose stages all have layers: 5.5 % mean absolute error."""
    rows = [row for row in rows_of("nanotron_tp1.csv") if int(row["pp"]) * 2 <= int(row["layers"])]
    rows = [row for row in rows if not (row["pp"] == "8" and row["layers"] == "16")]
    assert len(rows) >= 100
    found = errors(rows, "nanotron", "dgx-h100-ndr", tie_small=True, split="by-cost")
    assert fmean(map(abs, found)) <= 0.055


def test_compiled_fsdp_with_bf16_states_on_h200() -> None:
    """11 runs, tp 1 to 4 without sequence parallelism: 10 % mean absolute error.

    The runs were compiled; compiled cross-entropy keeps 10 bytes per logit, eager 14.
    """
    rows = rows_of("kempner_h200.csv")
    found = errors(rows, "fsdp", "dgx-h200-ndr", recompute="full", sequence_parallel=False)
    assert len(found) == 11
    assert fmean(map(abs, found)) <= 0.10


def test_a_run_of_maxtext_that_ran_is_within_the_interval() -> None:
    """GPT-3 175B on 256 TPU v6e of 32 GiB ran; two layers gathered, with fp32 gradients, would not.

    Source: AI-Hypercomputer/tpu-recipes, training/trillium/GPT3-175B-MaxText/bf16 (FSDP over all
    chips, 3 sequences of 2,048 on each, remat_policy full).
    """
    plan = Plan(fsdp=256, sharding="zero3", micro_batch=3, recompute="full")
    predicted = peak_gib(
        load_model("gpt3-175b"), plan, seq_len=2048, batch=768, framework="jax", cluster="tpu-v6e"
    )
    least = predicted * math.exp(-1.2816 * SPREADS[FRAMEWORKS["jax"].memory_knowledge].value)
    assert least <= 32

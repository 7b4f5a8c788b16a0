"""Every worked answer of How to Scale Your Model, part 5, asked as a user asks it."""

from dataclasses import replace
from typing import Any

import pytest
from support.cases import each
from support.jobs import roofline_model

import planner
from cli.command import planner as command
from models_db import load_model
from planner.cost.evaluate import evaluate_table
from planner.plan import Plan, PlanTable
from planner.studies.feasibility.strategies import strategies_named
from planner.studies.feasibility.textbook.meshes import mesh_limits
from planner.studies.feasibility.textbook.roofline import roofline_row

AXES = {"fsdp": 2, "tp": 1}


def row(strategy: str, **question: Any) -> Any:
    """The row of a strategy under `roofline`."""
    answer = planner.feasible(assumptions="roofline", strategies=strategy, **question)
    (found,) = answer.rows
    return found


def test_question_1_parameters() -> None:
    """8.5e9 + 4.2e9 + 0.3e9 = 13.0e9 (the text's 13.1e9 counts the vocabulary as 0.39e9)."""
    shown = command("models", "show", "llama2-13b", "--json").document
    total = next(
        entry for entry in _numbers(shown) if entry == pytest.approx(13_015_864_320, abs=0.5)
    )
    model = load_model("llama2-13b")
    mlp = 3 * model.layers * model.hidden * (model.mlp.hidden or 0)
    attention = model.layers * model.attention_parameters
    vocabulary = 2 * model.vocab_size * model.hidden
    assert [round(part / 1e9, 1) for part in (mlp, attention, vocabulary)] == [8.5, 4.2, 0.3]
    assert total == pytest.approx(mlp + attention + vocabulary, rel=1e-4)  # norms beside


def _numbers(node: Any) -> list[float]:
    """All numbers in a JSON document."""
    if isinstance(node, bool):
        return []
    if isinstance(node, int | float):
        return [float(node)]
    if isinstance(node, dict):
        return [n for value in node.values() for n in _numbers(value)]
    return [n for value in node for n in _numbers(value)] if isinstance(node, list) else []


@each(("tokens", "kept"), [(16e6, 4.2e13), (3e6, 7.86e12)])
def test_question_2_memory(tokens: float, kept: float) -> None:
    """130 GB of state; 42 TB of checkpoints at 16 M tokens, 7.86e12 bytes at 3 M."""
    chips = 4096
    model = roofline_model(load_model("llama2-13b"), "tpu-v5p", chips, tokens)
    plan = Plan(fsdp=chips, sharding="zero3")
    parts = evaluate_table(model, PlanTable.from_plans([plan])).memory_parts
    state = float(parts["weights"][0] + parts["optimizer"][0] + parts["gradients"][0]) * chips
    assert state == pytest.approx(130e9, rel=0.002)
    assert float(parts["activations"][0]) * chips == pytest.approx(kept, rel=0.003)


def test_pure_data_parallelism_holds_a_tenth_of_the_memory() -> None:
    """HBM / 10 parameters: 9 B fit on a chip of 96 GB, Llama 2 13B does not."""
    small = row("dp", model="llama2-7b", chips=64)
    assert small.max_batch_tokens_fit is not None
    assert row("dp", model="llama2-13b", chips=64).binds == "memory: state"


@each("strategy", ["dp", "zero1", "zero2", "zero3"])
def test_850_tokens_per_chip_on_three_axes(strategy: str) -> None:
    """2550 / 3; 7.6 M tokens on a pod of 8,960 chips."""
    each = row(strategy, model="llama2-7b", chips=4096).min_batch_tokens_compute_bound / 4096
    assert each == pytest.approx(850, rel=1e-12)
    pod = row(strategy, model="llama2-7b", chips=8960).min_batch_tokens_compute_bound
    assert pod == pytest.approx(7.6e6, rel=0.003)


def test_2550_tokens_per_chip_on_one_axis() -> None:
    """alpha itself, where one axis serves the data ranks."""
    model = roofline_model(
        load_model("llama2-13b"), "tpu-v5p", 4096, 2551 * 1024, torus_axes={"fsdp": 1.0, "tp": 2.0}
    )
    table = PlanTable.from_plans([Plan(fsdp=1024, tp=4, micro_batch=4, sharding="zero3")])
    found = evaluate_table(model, table)
    ratio = found.time_parts["compute"][0] / found.communication_s["data_parallel"][0]
    assert ratio == pytest.approx(2551 / 2550, rel=1e-12)


def test_largest_chip_counts() -> None:
    """40 M tokens: about 47,000 chips; 16 M: 18,823, and 17 days for Llama 3 70B at half speed."""
    many = row("zero3", model="llama3-70b", batch_tokens=40e6)
    assert many.max_chips_continuous == pytest.approx(47_000, rel=0.002)
    some = row("zero3", model="llama3-70b", batch_tokens=16e6)
    assert int(some.max_chips_continuous) == 18_823
    (run,) = planner.feasible(
        model="llama3-70b", assumptions="roofline", mfu=0.5, batch_tokens=16e6,
        train_tokens=15e12, deadline="17d",
    ).deadlines  # fmt: skip
    assert run.chips == pytest.approx(18_823, rel=0.01)


def test_tensor_parallelism_up_to_f_over_2550() -> None:
    """M_Y F / 2550, whatever the batch."""
    for name, width in (("llama2-13b", 13_824), ("llama3-70b", 28_672)):
        found = row("fsdp+tp", model=name, chips=4096, torus_axes=AXES)
        assert found.max_tp == pytest.approx(width / 2550, rel=1e-12)


def test_optimal_split_of_a_4x4x4_slice() -> None:
    """X_opt 13.9 at 49,152 tokens and F 32,768 (13.7 at the printed 48,000): 16 x 4."""
    base = load_model("llama2-13b")
    model = replace(base, mlp=replace(base.mlp, hidden=32_768))
    (mixed,) = strategies_named(["fsdp+tp"])
    for tokens, x_opt in ((49_152.0, 13.856), (48_000.0, 13.693)):
        cost = roofline_model(model, "tpu-v5p", 64, tokens, torus_axes={"fsdp": 2.0, "tp": 1.0})
        found = roofline_row(cost, mixed, 64, 1e12, tokens)
        assert found.x_opt == pytest.approx(x_opt, abs=1e-3)
        assert dict(found.x_opt_mesh or {}) == {"fsdp": 16, "tp": 4}
        assert found.min_batch_tokens_compute_bound / 64 == pytest.approx(99.2, abs=0.1)


def test_mixed_batches() -> None:
    """235 tokens per chip for Llama 2 13B; question 3's X_opt of 1333."""
    found = row("fsdp+tp", model="llama2-13b", chips="16x16x16", batch_tokens=3e6, torus_axes=AXES)
    assert found.min_batch_tokens_compute_bound / 4096 == pytest.approx(235, abs=0.5)
    assert found.x_opt == pytest.approx(1333, abs=0.5)
    assert dict(found.x_opt_mesh) == {"fsdp": 1024, "tp": 4}
    assert found.feasible


def test_question_3_pure_strategies() -> None:
    """No with DP (130 > 96 GB), no with FSDP (3.48 M tokens needed)."""
    question = {"model": "llama2-13b", "chips": "16x16x16", "batch_tokens": 3e6}
    assert row("dp", **question).binds == "memory: state"
    sharded = row("zero3", **question)
    assert not sharded.compute_bound
    assert sharded.fits
    assert sharded.min_batch_tokens_compute_bound == pytest.approx(3.48e6, rel=0.001)


def test_across_pods() -> None:
    """C / W_dcn tokens per slice: 73,440 with C = 4.59e14, 71,360 with the text's 4.46e14."""
    chips, pods = 12_288, 2
    (strategy,) = strategies_named(["across-pods"])
    for rate, per_slice in ((1.0, 73_440), (4.46 / 4.59, 71_360)):
        model = roofline_model(load_model("llama3-70b"), "tpu-v5p", chips, 1e6, mfu=rate)
        limits = mesh_limits(model, strategy, chips, 1e11)
        assert limits is not None
        assert limits.across / pods == pytest.approx(per_slice, rel=1e-12)
    tokens = 73_440 * pods * 0.5  # half of what hides it: the reduction takes twice the backward
    model = roofline_model(load_model("llama3-70b"), "tpu-v5p", chips, tokens)
    plan = Plan(dp=pods, fsdp=chips // pods, sharding="zero3")
    found = evaluate_table(model, PlanTable.from_plans([plan]))
    alone = evaluate_table(
        roofline_model(load_model("llama3-70b"), "tpu-v5p", chips // pods, tokens / pods),
        PlanTable.from_plans([Plan(fsdp=chips // pods, sharding="zero3")]),
    )
    across = found.communication_s["data_parallel"][0] - alone.communication_s["data_parallel"][0]
    backward = 2 / 3 * found.time_parts["compute"][0]
    assert across / backward == pytest.approx(2.0, rel=1e-9)


def test_70b_on_two_pods() -> None:
    """2 M tokens on two pods: far above the data-center limit, tight for the mix (111.6, 113.4)."""
    chips = 17_920
    question = {"model": "llama3-70b", "chips": chips, "torus_axes": AXES}
    found = row("across-pods", batch_tokens=2e6, **question)
    assert found.fits
    assert found.margin_continuous == pytest.approx(0.984, abs=0.001)  # F 28,672
    (strategy,) = strategies_named(["across-pods"])
    base = load_model("llama3-70b")
    wide = replace(base, mlp=replace(base.mlp, hidden=30_000))  # the F of the text
    axes = {"fsdp": 2.0, "tp": 1.0}
    model = roofline_model(wide, "tpu-v5p", chips, 2e6, torus_axes=axes)
    verdict = roofline_row(model, strategy, chips, 1e11, 2e6)
    assert verdict.compute_bound_continuous
    assert verdict.min_batch_tokens_compute_bound == pytest.approx(108.4 * chips, rel=1e-3)

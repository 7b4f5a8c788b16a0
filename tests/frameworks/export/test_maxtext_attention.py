"""How MaxText attends on GPUs: the kernel that is written, its rings, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from frameworks.export.cases import Case
from planner.base.errors import InputError
from planner.frameworks.jax.maxtext.kernels import gpu_rings, why_no_ring
from planner.frameworks.rules import broken
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan, PlanTable
from strict_yaml.reading import load as load_yaml

TARGET = TARGETS["maxtext"]
RING = Plan(fsdp=2, cp=4, sharding="zero3")


def case(model: str, plan: Plan | None = None, **changes: object) -> Case:
    """Of a model on 8 H100."""
    one = Case(
        model=model, hardware="dgx-h100-ndr", framework="jax", global_batch=8, seq_len=4096,
        plan=plan or Plan(fsdp=8, sharding="zero3"),
    )  # fmt: skip
    return replace(one, **changes)


def export(one: Case) -> Export:
    return export_plan(one.cost(), one.plan, TARGET)


def rules(one: Case) -> dict[str, str]:
    table = PlanTable.from_plans([one.plan])
    return {rule.name: line for rule, line in broken(one.cost(), table, target=TARGET)}


@each(
    ("model", "told"),
    [
        ("llama3-8b", "cudnn_flash_te"),
        ("gemma3-12b", "cudnn_flash_te"),
        ("gpt-oss-20b", "dot_product"),
        ("gemma2-9b", "dot_product"),
        ("deepseek-v2-lite", None),
    ],
)
def test_the_kernel_has_all_that_the_model_has(model: str, told: str | None) -> None:
    """Sinks and capped scores are no matter of cuDNN's."""
    found = load_yaml(export(case(model)).files[0].text)
    assert found.get("attention") == told


def test_tpus_take_the_kernel_of_maxtext() -> None:
    one = export(case("gpt-oss-20b", hardware="tpu-v5p"))
    assert "attention" not in load_yaml(one.files[0].text)
    assert "scores" not in str(one.lossy)


@each(
    ("one", "gib"),
    [
        (case("gpt-oss-20b"), 2.0),
        (case("gemma2-9b", Plan(fsdp=4, tp=2, sharding="zero3")), 0.25),
        (case("gemma2-9b"), 0.5),
        (case("llama3-8b", precision="fp32"), 2.0),
        (case("megatron-1t", hardware="dgx-a100-80-hdr", seq_len=2048), 1.25),
        (case("megatron-1t", hardware="dgx-b200-ndr", seq_len=2048), 1.25),
        (case("megatron-1t", seq_len=2048), None),
        (case("llama3-8b", hardware="dgx-a100-80-hdr"), None),
        (case("gemma3-12b", hardware="dgx-b200-ndr"), None),
        (case("deepseek-v2-lite", precision="fp32"), None),
        (case("llama3-8b", hardware="mi300x-8way"), None),
    ],
)
def test_scores_that_are_kept_are_told_with_their_size(one: Case, gib: float | None) -> None:
    """2 or 4 bytes x heads / tp x tokens squared, of one layer."""
    told = [lost.reason for lost in export(one).lossy if "scores of a layer" in lost.reason]
    if gib is None:
        assert told == []
    else:
        heads = one.cost().job.model.heads / one.plan.tp
        number = 4 if one.precision == "fp32" else 2
        assert number * heads * one.seq_len**2 == gib * 2**30
        assert len(told) == 1
        assert f" {gib:.3g} GiB" in told[0]


@each(
    ("one", "told"),
    [
        (case("gemma2-9b", RING), "windows"),
        (case("gemma3-12b", RING), "windows"),
        (case("gpt-oss-20b", RING), "windows"),
        (case("llama4-scout", RING), "windows"),
        (case("deepseek-v2-lite", RING), "latent"),
        (case("llama3-8b", RING, precision="fp32"), "fp32"),
        (case("megatron-1t", RING, hardware="dgx-a100-80-hdr"), "heads of 160"),
        (case("llama3-8b", RING, seq_len=4100), "nearest: 2 or 10"),
        (case("llama3-8b", Plan(fsdp=2, cp=3, sharding="zero3"), seq_len=6144), "nearest: 2 or 4"),
        (case("llama3-8b", RING, seq_len=4099), "nearest: 1"),
    ],
)
def test_rings_on_gpus_need_the_kernel(one: Case, told: str) -> None:
    assert told in rules(one)["maxtext-ring-gpus"]
    with pytest.raises(InputError, match="cp"):
        export(one)


@each("model", ["llama3-8b", "mistral-7b", "qwen3-30b-a3b"])
def test_other_rings_run(model: str) -> None:
    """Mistral has no window in MaxText."""
    assert "maxtext-ring-gpus" not in rules(case(model, RING))
    found = load_yaml(export(case(model, RING)).files[0].text)
    assert (found["attention"], found["context_parallel_strategy"]) == ("cudnn_flash_te", "ring")


def test_no_rule_of_gpus_holds_for_tpus() -> None:
    one = case("deepseek-v2-lite", RING, hardware="tpu-v5p")
    assert "maxtext-ring-gpus" not in rules(one)
    assert "maxtext-ring" not in rules(case("mistral-7b", RING, hardware="tpu-v5p"))
    assert "maxtext-ring" in rules(case("gemma3-12b", RING, hardware="tpu-v5p"))


def test_all_plans_of_a_table_are_judged() -> None:
    plans = [Plan(cp=cp, sharding="zero3") for cp in (1, 2, 3, 4, 6, 8)]
    cost = case("llama3-8b").cost()
    assert why_no_ring(cost) == ""
    found = gpu_rings(cost, PlanTable.from_plans(plans))
    assert np.array_equal(found, [True, True, False, True, False, True])


@each(("seq_len", "told"), [(8192, False), (16384, True)])
def test_chunks_are_none_to_the_kernel(seq_len: int, told: bool) -> None:
    one = export(case("llama4-scout", seq_len=seq_len))
    assert ("without the chunks" in str(one.lossy)) == told


def test_a_table_of_the_same_size_is_not_padded() -> None:
    told = {
        name: "rows for the" in str(export(case(name)).lossy) for name in ("gemma2-9b", "gemma3-4b")
    }
    assert told == {"gemma2-9b": True, "gemma3-4b": False}

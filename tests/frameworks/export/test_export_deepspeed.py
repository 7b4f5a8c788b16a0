"""Exports for DeepSpeed: golden files, the configuration, the script and the rules."""

import ast
import json
from dataclasses import replace

import pytest
from support.cases import each

from frameworks.export.accepted_files import accepted_files, agrees_with_golden, digests, exported
from frameworks.export.cases import CASES, Case
from planner.base.errors import InputError
from planner.frameworks.rules import broken
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan, PlanTable, Stage

TARGET = TARGETS["deepspeed"]
TOP_LEVEL = (
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
    "gradient_clipping", "optimizer", "bf16", "fp16", "zero_optimization", "tensor_parallel",
    "sequence_parallel_size", "expert_parallel", "steps_per_print",
)  # fmt: skip
"""Keys that DeepSpeed reads."""
SHARDED = replace(CASES["dense-sharded"], framework="deepspeed")
STAGES = replace(
    CASES["uneven"],
    plan=Plan(dp=32, pp=4, stages=tuple(Stage(layers=n) for n in (9, 11, 11, 9))),
)


def export(case: Case, **changes: object) -> Export:
    return export_plan(case.cost(), replace(case.plan, **changes), TARGET)


def config(one: Export) -> dict:
    return json.loads(one.files[0].text)


def constants(one: Export) -> dict:
    """What the script assigns at its top."""
    tree = ast.parse(one.files[1].text)
    found = [node for node in tree.body if isinstance(node, ast.Assign)]
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in found
        if node.targets[0].id.isupper()
    }


@each("case", CASES)
def test_the_golden_files(case: str) -> None:
    agrees_with_golden("deepspeed", case)


def test_what_was_accepted_is_what_is_exported() -> None:
    assert accepted_files("deepspeed") == digests("deepspeed")


@each("case", CASES)
def test_top_level_keys_are_known_and_scripts_compile(case: str) -> None:
    one = exported("deepspeed", case)
    assert set(config(one)) <= set(TOP_LEVEL)
    compile(one.files[1].text, "train.py", "exec")


def test_the_batch_is_that_of_the_job() -> None:
    found = config(export(SHARDED))
    product = found["train_micro_batch_size_per_gpu"] * found["gradient_accumulation_steps"]
    assert found["train_batch_size"] == product * 64 == SHARDED.global_batch


def test_stages_keep_their_layers() -> None:
    assert constants(export(STAGES))["BORDERS"] == [0, 10, 21, 32, 42]


def test_chunks_of_an_interleaved_plan_become_whole_stages() -> None:
    assert constants(exported("deepspeed", "dense-tp-pp"))["BORDERS"] == [0, 21, 41, 61, 82]


def test_sequences_are_divided_by_exchanging_heads() -> None:
    one = export(SHARDED, fsdp=16, cp=4, cp_mode="all-to-all")
    assert config(one)["sequence_parallel_size"] == 4
    assert constants(one)["SEQUENCE_RANKS"] == 4


def test_the_ranks_of_one_model_share_their_batches() -> None:
    one = export(SHARDED, fsdp=16, tp=4, sequence_parallel=False)
    found = config(one)
    assert found["train_batch_size"] == SHARDED.global_batch
    assert found["train_micro_batch_size_per_gpu"] * found["gradient_accumulation_steps"] * 16 == (
        SHARDED.global_batch
    )
    assert constants(one)["TENSOR_RANKS"] == 4


def test_experts_and_tensors_are_settings() -> None:
    experts = replace(CASES["experts"], plan=Plan(dp=128, ep=8))
    expected = {"enabled": True, "autoep_size": 8, "preset_model": "mixtral"}
    assert config(export(experts))["expert_parallel"] == expected
    found = export(SHARDED, fsdp=16, tp=4, sequence_parallel=False)
    assert config(found)["tensor_parallel"] == {"autotp_size": 4}


def test_offloading_is_told() -> None:
    found = config(export(SHARDED, offload=("optimizer", "weights")))["zero_optimization"]
    assert found["offload_optimizer"]["device"] == found["offload_param"]["device"] == "cpu"


def test_a_clock_is_lost_with_the_command_that_sets_it() -> None:
    lost = {one.field: one.reason for one in export(SHARDED, clock=0.8).lossy}
    assert "nvidia-smi --lock-gpu-clocks=" in lost["clock"]
    capped = replace(SHARDED.cost(), clock_limit=0.8)
    lost = export_plan(capped, replace(SHARDED.plan, clock=0.8), TARGET).lossy[0]
    assert lost.reason.startswith("nvidia-smi --power-limit=")


def test_the_model_of_the_job_is_built() -> None:
    found = constants(export(replace(SHARDED, model="gemma2-9b")))
    assert found["MODEL_TYPE"] == "gemma2"
    assert found["DIMENSIONS"]["sliding_window"] == 4096
    assert found["ATTENTION"] == "flash_attention_2"


@each(("precision", "needed"), [("bf16", True), ("fp32", False)])
def test_flash_attention_is_a_package(precision: str, *, needed: bool) -> None:
    lost = [one.reason for one in export(replace(SHARDED, precision=precision)).lossy]
    assert ("train.py needs the package flash-attn for this attention" in lost) == needed


def test_attention_without_a_fused_kernel_is_said() -> None:
    one = export(replace(SHARDED, model="mpt-7b"))
    assert constants(one)["ATTENTION"] == "eager"
    assert any("scores" in lost.reason for lost in one.lossy if lost.field == "model")


BROKEN = {
    "deepspeed-pipeline": (STAGES, {"sharding": "zero2"}),
    "deepspeed-ring": (SHARDED, {"fsdp": 16, "cp": 4}),
    "deepspeed-ulysses": (
        SHARDED,
        {"fsdp": 8, "cp": 4, "tp": 2, "cp_mode": "all-to-all", "sequence_parallel": False},
    ),
    "deepspeed-tensor-pipeline": (CASES["uneven"], {}),
    "deepspeed-sequence-parallel": (SHARDED, {"fsdp": 16, "tp": 4, "sequence_parallel": True}),
    "deepspeed-kv-heads": (SHARDED, {"fsdp": 4, "tp": 16, "sequence_parallel": False}),
    "deepspeed-experts": (CASES["experts"], {}),
    "deepspeed-expert-presets": (
        replace(CASES["experts"], model="gpt-oss-20b"),
        {"dp": 128, "tp": 1, "pp": 1, "ep": 8},
    ),
    "deepspeed-replicas": (SHARDED, {"dp": 8, "fsdp": 8}),
    "deepspeed-offload-optimizer": (
        SHARDED,
        {"dp": 64, "fsdp": 1, "sharding": "ddp", "offload": ("optimizer",)},
    ),
    "deepspeed-offload-weights": (
        SHARDED,
        {"dp": 64, "fsdp": 1, "sharding": "zero2", "offload": ("weights",)},
    ),
    "deepspeed-offload-activations": (SHARDED, {"recompute": "none", "offload": ("activations",)}),
    "deepspeed-model": (replace(SHARDED, model="llama4-scout"), {}),
    "deepspeed-attention": (
        replace(SHARDED, model="mpt-7b"),
        {"fsdp": 16, "cp": 4, "cp_mode": "all-to-all"},
    ),
    "deepspeed-autotp-model": (
        replace(SHARDED, model="olmo2-7b"),
        {"fsdp": 16, "tp": 4, "sequence_parallel": False},
    ),
    "deepspeed-ulysses-model": (
        replace(SHARDED, model="opt-13b"),
        {"fsdp": 16, "cp": 4, "cp_mode": "all-to-all"},
    ),
    "deepspeed-windows": (
        replace(SHARDED, model="mistral-7b", precision="fp32"),
        {"fsdp": 16, "cp": 4, "cp_mode": "all-to-all"},
    ),
    "deepspeed-pipelined-model": (
        replace(CASES["one-chip"], global_batch=8),
        {"pp": 2, "schedule": "1f1b"},
    ),
    "deepspeed-chips": (replace(CASES["slices"], framework="deepspeed"), {}),
    "deepspeed-stages": (
        STAGES,
        {"stages": (Stage(layers=9, full=(2, 0)), *STAGES.plan.stages[1:])},
    ),
}


@each("name", BROKEN)
def test_a_broken_rule_is_named_and_refused(name: str) -> None:
    case, changes = BROKEN[name]
    plan = replace(case.plan, **changes)
    table = PlanTable.from_plans([plan])
    found = {rule.name: line for rule, line in broken(case.cost(), table, target=TARGET)}
    assert name in found
    assert "\n" not in found[name]
    with pytest.raises(InputError):
        export_plan(case.cost(), plan, TARGET)


@each("precision", ["bf16", "fp32"])
def test_windows_are_kept_by_flash_attention(precision: str) -> None:
    case = replace(SHARDED, model="mistral-7b", precision=precision)
    plan = replace(case.plan, fsdp=16, cp=4, cp_mode="all-to-all")
    table = PlanTable.from_plans([plan])
    names = {rule.name for rule, _ in broken(case.cost(), table, target=TARGET)}
    assert ("deepspeed-windows" in names) == (precision == "fp32")


@each(("name", "divided"), [("opt-13b", True), ("gpt-oss-20b", False)])
def test_models_that_are_divided_by_tensors(name: str, divided: bool) -> None:
    case = replace(SHARDED, model=name)
    plan = replace(case.plan, fsdp=16, tp=4, sequence_parallel=False)
    table = PlanTable.from_plans([plan])
    names = {rule.name for rule, _ in broken(case.cost(), table, target=TARGET)}
    assert ("deepspeed-autotp-model" not in names) == divided


@each(
    ("hardware", "runs"),
    [("gaudi2", True), ("mi300x-8way", True), ("trn2", False)],
)
def test_chips_that_deepspeed_has_an_accelerator_for(hardware: str, runs: bool) -> None:
    case = replace(SHARDED, hardware=hardware, plan=Plan(sharding="ddp"), model="gpt3-125m")
    table = PlanTable.from_plans([case.plan])
    names = {rule.name for rule, _ in broken(case.cost(), table, target=TARGET)}
    assert ("deepspeed-chips" not in names) == runs

"""Exports for nanotron: golden files, the batch and the rules; its own keys where it is there."""

import ast
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.cases import each

from frameworks.export.accepted_files import (
    accepted_files,
    agrees_with_golden,
    digests,
    exported,
    record_acceptance,
)
from frameworks.export.cases import CASES, Case
from planner.base.errors import InputError
from planner.frameworks.nanotron.write import FILE, SOURCES
from planner.frameworks.rules import broken
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan, PlanTable, Stage
from strict_yaml.reading import load as load_yaml

TARGET = TARGETS["nanotron"]
DENSE = replace(
    CASES["uneven"],
    framework="nanotron",
    plan=Plan(dp=16, tp=2, pp=4, split="by-cost", recompute="full"),
)


def export(case: Case, **changes: object) -> Export:
    return export_plan(case.cost(), replace(case.plan, **changes), TARGET)


def settings(one: Export) -> dict:
    return load_yaml(one.files[0].text)


@each("case", CASES)
def test_the_golden_files(case: str) -> None:
    agrees_with_golden("nanotron", case)


def test_what_was_accepted_is_what_is_exported() -> None:
    assert accepted_files("nanotron") == digests("nanotron")


def test_a_plan_is_told() -> None:
    found = settings(export(DENSE))
    told = found["parallelism"]
    assert (told["dp"], told["tp"], told["pp"]) == (16, 2, 4)
    assert told["tp_mode"] == "REDUCE_SCATTER"
    assert told["recompute_layer"] is True
    assert found["optimizer"]["zero_stage"] == 1
    tokens = found["tokens"]
    batch = tokens["micro_batch_size"] * tokens["batch_accumulation_per_replica"] * told["dp"]
    assert batch == DENSE.global_batch


def test_rings_are_those_of_qwen2() -> None:
    case = replace(CASES["long"], framework="nanotron", kind="finetune")
    config = settings(export(case))["model"]["model_config"]
    assert config["is_qwen2_config"] is True
    assert config["_attn_implementation"] == "llama3_ring_attention"


def test_experts_are_whole() -> None:
    case = replace(CASES["experts"], framework="nanotron", plan=Plan(dp=64, tp=2, micro_batch=2))
    config = settings(export(case))["model"]["model_config"]
    assert config["moe_config"]["num_experts"] == 8
    assert config["moe_config"]["layers"] == list(range(32))


BROKEN = {
    "nanotron-chips": (replace(CASES["slices"], framework="nanotron"), {}),
    "nanotron-kv-heads": (CASES["dense-sharded"], {"fsdp": 4, "tp": 16, "sequence_parallel": True}),
    "nanotron-model": (CASES["latent-experts"], {}),
    "nanotron-experts": (CASES["experts"], {}),
    "nanotron-ring": (CASES["long"], {"cp_mode": "all-to-all"}),
    "nanotron-context": (CASES["long"], {}),
    "nanotron-job": (replace(DENSE, precision="fp32"), {}),
    "nanotron-expert-products": (replace(CASES["experts"], precision="fp16"), {}),
    "nanotron-recompute": (DENSE, {"recompute": "selective"}),
    "nanotron-offload": (DENSE, {"offload": ("optimizer",)}),
    "nanotron-stages": (CASES["uneven"], {}),
    "nanotron-1f1b": (replace(DENSE, global_batch=32), {}),
    "nanotron-choices": (
        DENSE,
        {"stages": (Stage(layers=10, full=(1, 0), recompute="none"), *[Stage(layers=10)] * 3)},
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


@each(
    ("batch", "schedule", "runs"),
    [(16 * 3, "1f1b", True), (16 * 2, "1f1b", False), (16 * 2, "gpipe", True)],
)
def test_1f1b_has_a_micro_batch_for_every_stage_but_one(
    batch: int, schedule: str, runs: bool
) -> None:
    case = replace(DENSE, global_batch=batch)
    table = PlanTable.from_plans([replace(DENSE.plan, schedule=schedule)])
    found = {rule.name: line for rule, line in broken(case.cost(), table, target=TARGET)}
    assert ("nanotron-1f1b" not in found) == runs
    if not runs:
        assert found["nanotron-1f1b"] == (
            "nanotron runs 1f1b with at least pp - 1 = 3 micro-batches, not with 2; nearest pp: 3, "
            "or schedule gpipe"
        )


@each(
    ("changes", "runs"),
    [({}, True), ({"dp": 1}, False), ({"dp": 1, "sharding": "ddp"}, True)],
)
def test_contexts_that_go_on_from_a_checkpoint(changes: dict[str, object], runs: bool) -> None:
    case = replace(CASES["long"], framework="nanotron", kind="finetune")
    table = PlanTable.from_plans([replace(case.plan, **changes)])
    found = {rule.name for rule, _ in broken(case.cost(), table, target=TARGET)}
    assert ("nanotron-context" not in found) == runs


@each(
    ("hardware", "runs"),
    [("mi300x-8way", True), ("gaudi2", False), ("trn2", False)],
)
def test_chips_that_nanotron_runs_on(hardware: str, runs: bool) -> None:
    case = replace(CASES["dense-sharded"], hardware=hardware, framework="nanotron")
    table = PlanTable.from_plans([Plan()])
    names = {rule.name for rule, _ in broken(case.cost(), table, target=TARGET)}
    assert ("nanotron-chips" not in names) == runs


def _fields(source: Path) -> dict[str, dict[str, bool]]:
    """Class to its annotated fields, and whether they need a value."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return {
        node.name: {
            item.target.id: item.value is None
            for item in node.body
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        }
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


PARTS = {
    "general": "GeneralArgs", "parallelism": "ParallelismArgs", "tokens": "TokensArgs",
    "model": "ModelArgs", "tokenizer": "TokenizerArgs", "optimizer": "OptimizerArgs",
    "checkpoints": "CheckpointsArgs",
}  # fmt: skip


def _condition(source: Path, class_name: str) -> ast.expr:
    """What the first assertion of a class asserts."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    [found] = [node for node in tree.body if getattr(node, "name", "") == class_name]
    return next(node.test for node in ast.walk(found) if isinstance(node, ast.Assert))


@pytest.mark.oracle
@pytest.mark.parametrize("batch", [16, 32, 48, 64])
@pytest.mark.parametrize("pp", [2, 3, 4, 5])
def test_it_asserts_as_many_micro_batches_as_the_rule(batch: int, pp: int) -> None:
    """The assertion of its engine stands alone: the module needs flash_attn to be imported."""
    home = os.environ.get("PLANNER_NANOTRON")
    if not home:
        pytest.skip("PLANNER_NANOTRON names no checkout of nanotron")
    engine = Path(home, "src/nanotron/parallel/pipeline_parallel/engine.py")
    asserted = ast.Expression(_condition(engine, "OneForwardOneBackwardPipelineEngine"))
    names = {
        "self": SimpleNamespace(nb_microbatches=batch // 16),
        "pg": SimpleNamespace(size=lambda: pp),
    }
    starts = eval(compile(asserted, str(engine), "eval"), names)
    case = replace(DENSE, global_batch=batch)
    table = PlanTable.from_plans([replace(DENSE.plan, pp=pp)])
    found = {rule.name for rule, _ in broken(case.cost(), table, target=TARGET)}
    assert ("nanotron-1f1b" not in found) == starts


@pytest.mark.oracle
def test_keys_are_the_fields_of_its_dataclasses() -> None:
    """nanotron's configuration needs flash_attn to be imported, so its source is read."""
    home = os.environ.get("PLANNER_NANOTRON")
    if not home:
        pytest.skip("PLANNER_NANOTRON names no checkout of nanotron")
    classes = {}
    for name in ("config", "parallelism_config", "models_config"):
        classes |= _fields(Path(home, f"src/nanotron/config/{name}.py"))

    def agrees(keys: dict, name: str) -> None:
        assert set(keys) <= set(classes[name]), name
        assert {field for field, needed in classes[name].items() if needed} <= set(keys), name

    for case in CASES:
        found = settings(exported("nanotron", case))
        agrees(found, "Config")
        for part, name in PARTS.items():
            agrees(found[part], name)
        config = found["model"]["model_config"]
        agrees(config, "Qwen2Config" if "is_qwen2_config" in config else "LlamaConfig")
        if "moe_config" in config:
            agrees(config["moe_config"], "MoEConfig")
        agrees(found["optimizer"]["optimizer_factory"], "AdamWOptimizerArgs")
        agrees(found["optimizer"]["learning_rate_scheduler"], "LRSchedulerArgs")
        agrees(found["data_stages"][0], "DatasetStageArgs")
        agrees(found["data_stages"][0]["data"], "DataArgs")
    facts = {
        "framework": "nanotron",
        "version": "main",
        "commit": SOURCES["main"],
        "date": "2026-11-23",
        "by": "names and required fields of the dataclasses in src/nanotron/config (source)",
        "python": "3.11",
    }
    record_acceptance("nanotron", facts, [f"{case}/{FILE}" for case in CASES])

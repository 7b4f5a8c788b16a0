"""Exports for Accelerate: golden files, the mesh, the batch, models, rules and what is lost."""

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from export.accepted_files import accepted_files, agrees_with_golden, digests, exported
from export.cases import CASES, Case
from planner.errors import InputError
from planner.export import Export, export_plan
from planner.plan import PlanTable, Stage
from planner.rules import broken
from planner.targets import TARGETS

TARGET = TARGETS["accelerate"]
DENSE = replace(CASES["dense-sharded"], framework="fsdp")
HYBRID = replace(CASES["dense-hybrid"], framework="fsdp")
PREFIX = "parallelism_config_"


def export(case: Case, *, allow_lossy: bool = False, **changes: Any) -> Export:
    plan = replace(case.plan, **changes)
    return export_plan(case.cost(), plan, TARGET, allow_lossy=allow_lossy)


def configuration(one: Export) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(one.files[0].text)
    return found


def arguments(one: Export) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(one.files[1].text)
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_golden_files(case: str) -> None:
    agrees_with_golden("accelerate", case)


def test_what_was_accepted_is_what_is_exported() -> None:
    accepted = accepted_files("accelerate")
    assert accepted
    assert accepted.items() <= digests("accelerate").items()


@pytest.mark.parametrize("case", CASES)
def test_the_mesh_has_every_chip(case: str) -> None:
    found = configuration(exported("accelerate", case))
    assert found["num_processes"] == CASES[case].plan.chips
    mesh = found.get("parallelism_config")
    if mesh is None:
        return
    product = 1
    for axis in ("dp_replicate", "dp_shard", "tp", "cp"):
        product *= mesh[f"{PREFIX}{axis}_size"]
    assert product == CASES[case].plan.chips


@pytest.mark.parametrize("case", CASES)
def test_the_batch_is_that_of_the_job(case: str) -> None:
    one, plan = arguments(exported("accelerate", case)), CASES[case].plan
    ranks = plan.chips // (plan.tp * plan.cp)
    rows = one["per_device_train_batch_size"] * one["gradient_accumulation_steps"]
    assert rows * ranks == CASES[case].global_batch
    assert one["block_size"] == CASES[case].seq_len


def test_hybrid_sharding() -> None:
    mesh = configuration(export(HYBRID))["parallelism_config"]
    assert mesh == {
        f"{PREFIX}dp_replicate_size": 2,
        f"{PREFIX}dp_shard_size": 16,
        f"{PREFIX}tp_size": 8,
        f"{PREFIX}cp_size": 2,
        f"{PREFIX}cp_comm_strategy": "alltoall",
    }


def test_replicas_alone_have_no_mesh() -> None:
    one = export(DENSE, dp=64, fsdp=1, sharding="ddp", recompute="full")
    found = configuration(one)
    assert found["distributed_type"] == "MULTI_GPU"
    assert "parallelism_config" not in found
    assert arguments(one)["gradient_checkpointing"] is True


def test_one_chip_is_not_distributed() -> None:
    found = configuration(exported("accelerate", "one-chip"))
    assert (found["distributed_type"], found["num_processes"]) == ("NO", 1)


def test_a_cluster_needs_its_first_node() -> None:
    one = export(DENSE)
    assert one.environment == (
        ("MASTER_ADDR", "HOST_OF_THE_FIRST_NODE"),
        ("NODE_RANK", "RANK_OF_THIS_NODE"),
    )
    assert '--machine_rank "$NODE_RANK"' in one.command
    assert exported("accelerate", "one-chip").environment == ()


@pytest.mark.parametrize(("way", "on"), [("none", False), ("full", True)])
def test_recomputation_is_a_switch(way: str, on: bool) -> None:
    found = configuration(export(DENSE, recompute=way))["fsdp_config"]
    assert found["fsdp_activation_checkpointing"] is on


def test_offloading_is_a_switch() -> None:
    found = configuration(export(DENSE, offload=("optimizer", "weights")))["fsdp_config"]
    assert found["fsdp_offload_params"] is True


def test_the_configuration_of_the_model_is_written() -> None:
    one = export(replace(DENSE, model="gemma2-9b"))
    found = json.loads(one.files[2].text)
    assert (found["model_type"], found["num_hidden_layers"]) == ("gemma2", 42)
    assert (found["dtype"], found["use_cache"]) == ("bfloat16", False)


def test_a_model_without_an_architecture_is_a_placeholder() -> None:
    one = export(replace(DENSE, model="llama4-scout"))
    assert arguments(one)["config_name"] == "MODEL"
    assert [lost.field for lost in one.lossy] == ["model"]
    assert len(one.files) == 2


BROKEN = {
    "accelerate-replicas": (HYBRID, {"dp": 16, "fsdp": 1, "cp": 4}),
    "accelerate-cp-mode": (DENSE, {"fsdp": 32, "cp": 2, "cp_mode": "all-to-all"}),
    "accelerate-mesh": (DENSE, {"fsdp": 1, "dp": 8, "tp": 8, "sharding": "ddp"}),
    "accelerate-kv-heads": (DENSE, {"fsdp": 4, "tp": 16}),
    "accelerate-offload": (DENSE, {"offload": ("optimizer",)}),
    "accelerate-recompute": (DENSE, {"recompute": "selective"}),
    "accelerate-layers": (DENSE, {"stages": (Stage(layers=32, full=(3, 0), recompute="none"),)}),
    "accelerate-chips": (replace(CASES["slices"], framework="fsdp"), {}),
    "accelerate-precision": (replace(DENSE, precision="fp8"), {}),
    "accelerate-adapters": (replace(DENSE, kind="lora"), {}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_named(name: str) -> None:
    case, changes = BROKEN[name]
    table = PlanTable.from_plans([replace(case.plan, **changes)])
    found = {rule.name: line for rule, line in broken(case.cost(), table, target=TARGET)}
    assert name in found
    assert "\n" not in found[name]


@pytest.mark.parametrize(("hardware", "runs"), [("mi300x-8way", True), ("gaudi3", False)])
def test_chips_are_gpus(hardware: str, runs: bool) -> None:
    case = replace(DENSE, hardware=hardware)
    table = PlanTable.from_plans([case.plan])
    names = {rule.name for rule, _ in broken(case.cost(), table, target=TARGET)}
    assert ("accelerate-chips" not in names) == runs


@pytest.mark.parametrize("name", BROKEN)
def test_it_is_written_only_on_demand(name: str) -> None:
    case, changes = BROKEN[name]
    with pytest.raises(InputError):
        export(case, **changes)
    assert export(case, allow_lossy=True, **changes).unsupported


@pytest.mark.parametrize("case", [DENSE, replace(HYBRID, framework="fsdp")])
def test_a_sound_plan_breaks_no_rule(case: Case) -> None:
    assert broken(case.cost(), PlanTable.from_plans([case.plan]), target=TARGET) == []


def test_what_is_lossy() -> None:
    assert [lost.field for lost in export(DENSE).lossy] == ["model"]
    assert "rms_norm_eps" in export(DENSE).lossy[0].reason
    assert {lost.field for lost in export(HYBRID).lossy} == {"model", "tp", "sequence_parallel"}
    assert [lost.field for lost in export(DENSE, clock=0.8).lossy] == ["model", "clock"]


def test_replicas_beside_tp_become_shards_where_that_is_accepted() -> None:
    one = export(DENSE, fsdp=1, dp=8, tp=8, sharding="ddp", allow_lossy=True)
    mesh = configuration(one)["parallelism_config"]
    assert (mesh[f"{PREFIX}dp_replicate_size"], mesh[f"{PREFIX}dp_shard_size"]) == (1, 8)

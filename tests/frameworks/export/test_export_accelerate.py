"""Exports for Accelerate: golden files, the mesh, the batch, models, rules and what is lost."""

import ast
import json
import math
from dataclasses import replace
from typing import Any

import pytest
from support.cases import each

from frameworks.export.accepted_files import accepted_files, agrees_with_golden, digests, exported
from frameworks.export.cases import CASES, Case
from planner.base.errors import InputError
from planner.frameworks.rules import broken
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan, PlanTable, Stage
from strict_yaml.reading import load as load_yaml

TARGET = TARGETS["accelerate"]
DENSE = replace(CASES["dense-sharded"], framework="fsdp")
HYBRID = replace(
    DENSE, plan=Plan(dp=2, fsdp=16, cp=2, sharding="zero3", recompute="full", micro_batch=2)
)
SPLIT = replace(
    DENSE, plan=Plan(dp=2, fsdp=4, tp=8, sharding="zero3", micro_batch=2, sequence_parallel=False)
)
PREFIX = "parallelism_config_"


def export(case: Case, *, allow_lossy: bool = False, **changes: Any) -> Export:
    plan = replace(case.plan, **changes)
    return export_plan(case.cost(), plan, TARGET, allow_lossy=allow_lossy)


def configuration(one: Export) -> dict[str, Any]:
    found: dict[str, Any] = load_yaml(one.files[0].text)
    return found


def constants(one: Export) -> dict[str, Any]:
    """What train.py defines by values."""
    found: dict[str, Any] = {}
    for line in ast.parse(one.files[1].text).body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant):
            found[ast.unparse(line.targets[0])] = line.value.value
    return found


@each("case", CASES)
def test_the_golden_files(case: str) -> None:
    agrees_with_golden("accelerate", case)


def test_what_was_accepted_is_what_is_exported() -> None:
    accepted = accepted_files("accelerate")
    assert accepted
    assert accepted.items() <= digests("accelerate").items()


KEPT = {
    ("torchtitan", "bf16"): ("bf16", "float32", "bfloat16"),
    ("torchtitan", "fp16"): ("fp16", "float32", "float16"),
    ("torchtitan", "fp32"): ("no", "float32", None),
    ("deepspeed", "bf16"): ("bf16", "float32", "bfloat16"),
    ("fsdp", "bf16"): ("no", "bfloat16", None),
    ("fsdp", "fp16"): ("no", "float16", None),
}
"""Whose memory the plan counts, and the precision, to what is mixed, kept and multiplied in."""


@each(("framework", "precision"), KEPT)
def test_weights_are_kept_as_the_plan_counts_them(framework: str, precision: str) -> None:
    case = replace(CASES["dense-sharded"], framework=framework, precision=precision)
    one = export(case)
    mixed, kept, multiplied = KEPT[framework, precision]
    assert configuration(one)["mixed_precision"] == mixed
    script = constants(one)
    assert (script["DTYPE"], script["MULTIPLIED_IN"]) == (kept, multiplied)
    assert json.loads(one.files[2].text)["dtype"] == kept
    assert script["EPS"] == (1e-3 if kept == "float16" else 1e-8)
    replicas = export(case, fsdp=1, dp=64, sharding="ddp")
    assert (configuration(replicas)["mixed_precision"], constants(replicas)["DTYPE"]) == (
        mixed,
        kept,
    )
    assert constants(replicas)["MULTIPLIED_IN"] is None


def test_split_models_say_what_they_keep() -> None:
    lost = [
        one.reason
        for one in export(replace(SPLIT, framework="torchtitan")).lossy
        if one.field == "precision"
    ]
    assert len(lost) == 1
    assert "the plan counts 32-bit" in lost[0]
    assert [one for one in export(SPLIT).lossy if one.field == "precision"] == []


@each("case", CASES)
def test_the_mesh_has_every_chip(case: str) -> None:
    one, chips = exported("accelerate", case), CASES[case].plan.chips
    assert configuration(one)["num_processes"] == chips
    mesh, script = configuration(one).get("parallelism_config"), constants(one)
    if "TP" in script:
        assert mesh is None
        assert script["REPLICAS"] * script["SHARDS"] * script["TP"] == chips
    if mesh is not None:
        axes = ("dp_replicate", "dp_shard", "tp", "cp")
        assert math.prod(mesh[f"{PREFIX}{axis}_size"] for axis in axes) == chips


@each("case", CASES)
def test_the_batch_is_that_of_the_job(case: str) -> None:
    one = exported("accelerate", case)
    script, mesh = constants(one), configuration(one).get("parallelism_config", {})
    ranks = CASES[case].plan.chips // script.get("TP", mesh.get(f"{PREFIX}cp_size", 1))
    rows = script["MICRO_BATCH"] * script["ACCUMULATION"]
    assert rows * ranks == CASES[case].global_batch
    assert script["SEQUENCES"] == CASES[case].global_batch
    assert script["SEQ_LEN"] == CASES[case].seq_len


def test_hybrid_sharding_with_parts_of_sequences() -> None:
    one = export(HYBRID)
    assert configuration(one)["parallelism_config"] == {
        f"{PREFIX}dp_replicate_size": 2,
        f"{PREFIX}dp_shard_size": 16,
        f"{PREFIX}tp_size": 1,
        f"{PREFIX}cp_size": 2,
        f"{PREFIX}cp_comm_strategy": "alltoall",
    }
    assert "maybe_context_parallel" in one.files[1].text
    assert constants(one)["ATTENTION"] == "sdpa"


def test_transformers_splits_and_shards() -> None:
    one = export(SPLIT)
    found = configuration(one)
    assert found["distributed_type"] == "MULTI_GPU"
    assert {"parallelism_config", "fsdp_config", "dynamo_config"}.isdisjoint(found)
    script = constants(one)
    assert (script["REPLICAS"], script["SHARDS"], script["TP"]) == (2, 4, 8)
    assert "maybe_distribute_model" in one.files[1].text
    assert constants(export(SPLIT, recompute="full"))["RECOMPUTE"] is True


def test_what_cannot_be_split_is_sharded() -> None:
    one = export(replace(SPLIT, model="mpt-7b", seq_len=2048), allow_lossy=True)
    mesh = configuration(one)["parallelism_config"]
    assert (mesh[f"{PREFIX}dp_shard_size"], mesh[f"{PREFIX}tp_size"]) == (32, 1)
    both = export(SPLIT, fsdp=2, cp=2, allow_lossy=True)
    assert (constants(both)["SHARDS"], constants(both)["TP"]) == (4, 8)


@each("model", ["llama3-8b", "deepseek-v3"])
def test_the_first_rank_hands_weights_out(model: str) -> None:
    """Routers of DeepSeek-V3 have buffers, which stay on every rank."""
    one = export(replace(DENSE, model=model))
    assert configuration(one)["fsdp_config"]["fsdp_cpu_ram_efficient_loading"] is True
    assert constants(one)["FIRST_RANK_LOADS"] is True
    assert "module.register_buffer(name, buffer, persistent=False)" in one.files[1].text


SHARED_OUT = replace(DENSE, plan=replace(DENSE.plan, micro_batch=1))


@each(
    ("case", "told"),
    [
        (SHARED_OUT, None),
        (replace(SHARED_OUT, model="deepseek-v3"), None),
        (
            replace(SHARED_OUT, model="deepseek-v3", hardware="dgx1-v100", precision="fp16"),
            "the first process makes all weights, 1,250 GiB, in the memory of its host, which has "
            "477 GiB",
        ),
        (
            replace(
                SHARED_OUT, model="llama2-13b", hardware="mi250x-slingshot", precision="fp32",
                seq_len=4096, plan=Plan(dp=16, sharding="ddp"),
            ),
            None,
        ),
        (
            replace(
                SHARED_OUT, model="gpt3-175b", hardware="dgx1-v100", precision="fp16",
                seq_len=2048, plan=Plan(dp=16, sharding="ddp"),
            ),
            "each of the 8 processes of a host makes all weights in its memory: 8 x 325 GiB, where "
            "it has 477 GiB",
        ),
        (SPLIT, None),
    ],
)  # fmt: skip
def test_weights_that_no_host_holds_are_told(case: Case, told: str | None) -> None:
    found = [lost.reason for lost in export(case, allow_lossy=True).lossy if "host" in lost.reason]
    assert found == ([] if told is None else [told])


@each(
    ("model", "precision", "kernel"),
    [
        ("llama3-8b", "bf16", "sdpa"),
        ("gemma2-9b", "bf16", "flash_attention_2"),
        ("gemma2-9b", "fp32", "eager"),
        ("gemma3-4b", "bf16", "flash_attention_2"),
        ("mistral-7b", "fp32", "sdpa"),
        ("bloom-7b1", "bf16", "eager"),
        ("gpt-oss-20b", "bf16", "eager"),
    ],
)
def test_the_kernel_of_attention(model: str, precision: str, kernel: str) -> None:
    one = export(replace(DENSE, model=model, precision=precision, seq_len=2048))
    assert constants(one)["ATTENTION"] == kernel
    kept = [lost for lost in one.lossy if "keeps the scores" in lost.reason]
    assert bool(kept) == (kernel == "eager")
    needed = [lost for lost in one.lossy if "flash-attn" in lost.reason]
    assert bool(needed) == (kernel == "flash_attention_2")


def test_replicas_alone_have_no_mesh() -> None:
    one = export(DENSE, dp=64, fsdp=1, sharding="ddp", recompute="full")
    found = configuration(one)
    assert found["distributed_type"] == "MULTI_GPU"
    assert "parallelism_config" not in found
    assert constants(one)["RECOMPUTE"] is True


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


@each(("way", "on"), [("none", False), ("full", True)])
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


def test_a_model_without_an_architecture_is_refused() -> None:
    scout = replace(DENSE, model="llama4-scout")
    with pytest.raises(InputError, match="nothing has the layers of llama4-scout"):
        export(scout)
    one = export(scout, allow_lossy=True)
    assert json.loads(one.files[2].text)["model_type"] == "llama"
    assert {lost.field for lost in one.unsupported} == {"model"}


def names_of(case: Case, plan: Plan) -> set[str]:
    found = broken(case.cost(), PlanTable.from_plans([plan]), target=TARGET)
    return {rule.name for rule, _ in found}


BROKEN = {
    "accelerate-replicas": (HYBRID, {"dp": 16, "fsdp": 1, "cp": 4}),
    "accelerate-cp-window": (replace(HYBRID, model="mistral-7b"), {}),
    "accelerate-cp-attention": (replace(HYBRID, model="bloom-7b1"), {}),
    "accelerate-tp-cp": (SPLIT, {"fsdp": 2, "cp": 2}),
    "accelerate-tp-model": (replace(SPLIT, model="opt-13b"), {}),
    "accelerate-sequence-parallel": (SPLIT, {"sequence_parallel": True}),
    "accelerate-model": (replace(DENSE, model="llama4-scout"), {}),
    "accelerate-cp-mode": (DENSE, {"fsdp": 32, "cp": 2, "cp_mode": "all-to-all"}),
    "accelerate-mesh": (DENSE, {"fsdp": 1, "dp": 8, "tp": 8, "sharding": "ddp"}),
    "accelerate-kv-heads": (DENSE, {"fsdp": 4, "tp": 16}),
    "accelerate-offload": (DENSE, {"offload": ("optimizer",)}),
    "accelerate-recompute": (DENSE, {"recompute": "selective"}),
    "accelerate-layers": (DENSE, {"stages": (Stage(layers=32, full=(3, 0), recompute="none"),)}),
    "accelerate-chips": (replace(CASES["slices"], framework="fsdp"), {}),
    "accelerate-precision": (replace(DENSE, precision="fp8"), {}),
    "peft-mesh": (replace(DENSE, kind="lora"), {"tp": 2}),
}


@each("name", BROKEN)
def test_a_broken_rule_is_named(name: str) -> None:
    case, changes = BROKEN[name]
    table = PlanTable.from_plans([replace(case.plan, **changes)])
    found = {rule.name: line for rule, line in broken(case.cost(), table, target=TARGET)}
    assert name in found
    assert "\n" not in found[name]


@each(("hardware", "runs"), [("mi300x-8way", True), ("gaudi3", False)])
def test_chips_are_gpus(hardware: str, runs: bool) -> None:
    case = replace(DENSE, hardware=hardware)
    table = PlanTable.from_plans([case.plan])
    names = {rule.name for rule, _ in broken(case.cost(), table, target=TARGET)}
    assert ("accelerate-chips" not in names) == runs


@each("name", BROKEN)
def test_it_is_written_only_on_demand(name: str) -> None:
    case, changes = BROKEN[name]
    with pytest.raises(InputError):
        export(case, **changes)
    assert export(case, allow_lossy=True, **changes).unsupported


@each("name", ["gemma2-9b", "gemma3-4b", "gpt-oss-20b", "mistral-7b"])
def test_windows_exclude_parts_of_sequences(name: str) -> None:
    assert "accelerate-cp-window" in names_of(replace(HYBRID, model=name), HYBRID.plan)
    assert "accelerate-cp-window" not in names_of(replace(DENSE, model=name), DENSE.plan)


@each(
    ("name", "divided"),
    [("gpt3-13b", True), ("gpt-neox-20b", True), ("opt-13b", True), ("deepseek-v3", True),
     ("falcon-7b", False), ("mpt-7b", False), ("gemma2-9b", False), ("gpt-oss-20b", False)],
)  # fmt: skip
def test_attention_that_is_divided(name: str, divided: bool) -> None:
    found = names_of(replace(HYBRID, model=name), HYBRID.plan)
    assert ("accelerate-cp-attention" not in found) == divided


@each("name", ["gpt3-13b", "opt-13b", "falcon-7b", "bloom-7b1", "mpt-7b"])
def test_models_that_are_not_split(name: str) -> None:
    assert "accelerate-tp-model" in names_of(replace(SPLIT, model=name), SPLIT.plan)
    assert "accelerate-tp-model" not in names_of(SPLIT, SPLIT.plan)


def test_one_group_of_tp_needs_no_shards() -> None:
    alone = Plan(tp=8, sharding="ddp", micro_batch=2, sequence_parallel=False)
    assert broken(SPLIT.cost(), PlanTable.from_plans([alone]), target=TARGET) == []
    assert constants(export(replace(SPLIT, plan=alone)))["SHARDS"] == 1


@each("case", [DENSE, HYBRID, SPLIT])
def test_a_sound_plan_breaks_no_rule(case: Case) -> None:
    assert broken(case.cost(), PlanTable.from_plans([case.plan]), target=TARGET) == []


def test_what_is_lossy() -> None:
    assert [lost.field for lost in export(DENSE).lossy] == ["model"]
    assert "rms_norm_eps" in export(DENSE).lossy[0].reason
    assert [lost.field for lost in export(SPLIT).lossy] == ["model", "tp"]
    tuned = export(replace(DENSE, kind="finetune")).lossy
    assert [lost.field for lost in tuned] == ["model", "lengths"]
    assert [lost.field for lost in export(DENSE, clock=0.8).lossy] == ["model", "clock"]


def test_replicas_beside_tp_become_shards_where_that_is_accepted() -> None:
    one = constants(export(DENSE, fsdp=1, dp=8, tp=8, sharding="ddp", allow_lossy=True))
    assert (one["REPLICAS"], one["SHARDS"]) == (1, 8)


@each("case", [DENSE, SPLIT])
def test_weights_of_five_bits_of_exponent_have_an_eps_that_they_hold(case: Case) -> None:
    assert constants(export(case))["EPS"] == 1e-8
    half = export(replace(case, precision="fp16"))
    assert constants(half)["EPS"] == 1e-3
    assert [lost.reason for lost in half.lossy if lost.field == "precision"]

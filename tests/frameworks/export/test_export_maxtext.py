"""Exports for MaxText: golden files, the mesh, the batch and the rules."""

from dataclasses import replace

import pytest
from support.cases import each

from frameworks.export.accepted_files import accepted_files, agrees_with_golden, digests, exported
from frameworks.export.cases import CASES, Case
from hardware_db import load_cluster
from models_db import Model, load_model
from planner.base.errors import InputError
from planner.frameworks.decoders import block_of
from planner.frameworks.jax.maxtext import model as maxtext_model
from planner.frameworks.jax.maxtext.slices import slice_name
from planner.frameworks.jax.slices import slice_mesh
from planner.frameworks.rules import broken
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.frameworks.writing.launch import Launch
from planner.plan import Plan, PlanTable, Stage
from strict_yaml.reading import load as load_yaml

TARGET = TARGETS["maxtext"]
SLICES = CASES["slices"]


def export(case: Case, *, allow_lossy: bool = False, **changes: object) -> Export:
    plan = replace(case.plan, **changes)
    return export_plan(case.cost(), plan, TARGET, allow_lossy=allow_lossy)


def settings(one: Export) -> dict[str, object]:
    return load_yaml(one.files[0].text)


@each("case", CASES)
def test_the_golden_files(case: str) -> None:
    agrees_with_golden("maxtext", case)


def test_what_was_accepted_is_what_is_exported() -> None:
    assert accepted_files("maxtext") == digests("maxtext")


@each("case", CASES)
def test_the_mesh_has_every_chip_and_every_slice(case: str) -> None:
    found = settings(exported("maxtext", case))
    mesh = slice_mesh(CASES[case].cost(), CASES[case].plan)
    products = {"ici": 1, "dcn": 1}
    for key, value in found.items():
        if key.endswith("_parallelism"):
            products[key[:3]] *= value
    assert products == {"ici": mesh.chips, "dcn": mesh.slices}


@each("case", CASES)
def test_the_batch_is_that_of_the_job(case: str) -> None:
    found = settings(exported("maxtext", case))
    rows = int(found["per_device_batch_size"] * CASES[case].plan.chips)
    assert rows * found["gradient_accumulation_steps"] == CASES[case].global_batch


def test_a_share_that_no_float_hits_still_gives_the_batch() -> None:
    cluster = load_cluster("dgx-h100-ndr")
    case = Case(
        model="llama3-8b", hardware=cluster.name, framework="jax", global_batch=7 * 24,
        seq_len=4096, plan=Plan(dp=24, sharding="ddp", micro_batch=7),
    )  # fmt: skip
    found = settings(export(case))
    assert int(found["per_device_batch_size"] * 24) == 7 * 24


@each(("chips", "name"), [(4, "v5p-8"), (64, "v5p-128"), (512, "v5p-1024"), (4096, "v5p-8192")])
def test_slices_are_named_by_their_cores(chips: int, name: str) -> None:
    assert slice_name("tpu-v5p", chips) == name


@each("chips", [4288, 8704])
def test_a_slice_that_maxtext_does_not_list_has_no_name(chips: int) -> None:
    assert slice_name("tpu-v5p", chips) == ""


@each(("fsdp", "told"), [(512, True), (1024, False)])
def test_a_listed_slice_alone_is_offered_for_compiling(fsdp: int, told: bool) -> None:
    case = replace(SLICES, hardware="tpu-v4", global_batch=fsdp)
    one = export(case, fsdp=fsdp)
    assert ("compile_topology=v4-" in one.command) == told
    assert "placement" in {lost.field for lost in one.lossy}


def test_a_slice_of_one_axis_is_offered_for_compiling_too() -> None:
    one = export(SLICES, fsdp=512, tp=1, sequence_parallel=False)
    assert "placement" not in {lost.field for lost in one.lossy}
    assert one.command.count("\n#") == 1
    assert "compile_topology=v5p-1024 compile_topology_num_slices=1" in one.command


@each(("precision", "changes", "told"), [
    ("fp8", {"micro_batch": 2}, True),
    ("fp8", {"micro_batch": 1}, False),
    ("mxfp8", {"micro_batch": 1}, True),
])  # fmt: skip
def test_gradients_in_8_bits_are_not_accumulated(
    precision: str, changes: dict[str, int], told: bool
) -> None:
    case = replace(CASES["dense-sharded"], precision=precision, hardware="dgx-b200-ndr")
    plan = replace(case.plan, **changes)
    found = {rule.name for rule, _ in broken(case.cost(), table(plan), target=TARGET)}
    assert ("maxtext-accumulation" not in found) == told


def test_axes_cross_slices_in_the_order_of_the_plan() -> None:
    case = replace(SLICES, global_batch=24576)
    plan = Plan(dp=6, fsdp=2048, sharding="zero3")
    found = settings(export_plan(case.cost(), plan, TARGET))
    assert (found["ici_fsdp_parallelism"], found["dcn_data_parallelism"]) == (2048, 2)


def test_expert_groups_take_ranks_of_fsdp() -> None:
    case = replace(CASES["experts"], framework="jax")
    found = settings(
        export(case, dp=1, tp=1, pp=1, fsdp=128, sharding="zero3", ep=8, sequence_parallel=False)
    )
    sizes = {key: value for key, value in found.items() if "parallelism" in key and value > 1}
    assert sizes == {"ici_expert_parallelism": 8, "dcn_fsdp_parallelism": 16}


def test_offloading_is_told() -> None:
    found = settings(export(SLICES, recompute="none", offload=("optimizer", "activations")))
    assert found["optimizer_memory_host_offload"] is True
    assert found["remat_policy"] == "minimal_offloaded"


def test_weights_on_the_host_are_stacked_by_layers_first() -> None:
    found = settings(export(SLICES, offload=("optimizer", "weights")))
    assert found["parameter_memory_host_offload"] is True
    assert found["param_scan_axis"] == 0
    assert "param_scan_axis" not in settings(export(SLICES))


def test_a_ring_on_tpus_needs_its_kernel() -> None:
    found = settings(export(SLICES, fsdp=64, cp=2))
    assert found["use_tokamax_splash"] is True
    assert found["context_parallel_strategy"] == "ring"


def test_without_sequence_parallelism_the_axis_is_another() -> None:
    one = export(SLICES, sequence_parallel=False)
    assert settings(one)["ici_tensor_parallelism"] == 4
    assert "sequence_parallel" in {lost.field for lost in one.lossy}


@each(
    ("model", "told"),
    [
        ("llama-7b", ["silu", "linear"]),
        ("gpt3-125m", ["gelu"]),
        ("opt-1.3b", ["relu"]),
        ("gemma2-9b", ["gelu", "linear"]),
    ],
)
def test_the_activation_is_that_of_the_model(model: str, told: list[str]) -> None:
    found = own_settings(load_model(model))
    assert found["mlp_activations"] == told


def own_settings(model: Model) -> dict[str, object]:
    """Of a model that MaxText does not know by name."""
    cost = SLICES.cost()
    cost = replace(cost, job=replace(cost.job, model=replace(model, layers=model.layers + 1)))
    return maxtext_model.settings(Launch(cost=cost, plan=SLICES.plan))


def test_the_vocabulary_divides_over_tp() -> None:
    case = replace(SLICES, model="gpt3-1.3b", seq_len=2048, plan=Plan(dp=32, tp=4))
    one = export(case)
    assert settings(one)["vocab_size"] == 50260
    assert "padded to 50260" in str(one.lossy)
    assert settings(export(case, dp=128, tp=1, sequence_parallel=False))["vocab_size"] == 50257


def test_routers_have_the_bias_of_the_model() -> None:
    assert own_settings(load_model("kimi-k2"))["routed_bias"] is True
    assert "routed_bias" not in own_settings(load_model("deepseek-v2"))


def test_blocks_have_all_matrices_of_the_model() -> None:
    gpt, deepseek = load_model("gpt3-125m"), load_model("deepseek-v2")
    assert deepseek.moe is not None
    assert (block_of(gpt), block_of(deepseek)) == ("gpt3", "deepseek")
    assert block_of(replace(gpt, mlp=replace(gpt.mlp, bias=False))) is None
    assert block_of(replace(gpt, norm=replace(gpt.norm, bias=False))) is None
    wider = replace(deepseek.moe, shared_expert_hidden=2 * deepseek.moe.expert_hidden)
    assert block_of(replace(deepseek, moe=wider)) is None


@each(
    ("hardware", "told"),
    [("mi300x-8way", "nanoo_fp8"), ("mi355x-8way", "fp8"), ("dgx-h100-ndr", "fp8")],
)
def test_the_8_bits_of_a_gpu(hardware: str, told: str) -> None:
    case = replace(CASES["dense-sharded"], hardware=hardware, precision="fp8")
    assert settings(export(case))["quantization"] == told
    with pytest.raises(InputError, match="accumulates no gradients"):
        export(case, micro_batch=1)


ON_GPUS = replace(
    CASES["experts"],
    framework="jax",
    plan=Plan(dp=16, fsdp=8, ep=8, sharding="zero3", sequence_parallel=False),
)


def test_experts_on_gpus_take_no_kernel_of_tpus() -> None:
    """MaxText interprets its Pallas kernel there."""
    assert settings(export(ON_GPUS))["megablox"] is False
    assert "megablox" not in settings(export(replace(ON_GPUS, hardware="tpu-v5p")))
    assert "megablox" not in settings(export(CASES["dense-sharded"]))


@each(
    ("hardware", "precision", "told"),
    [
        ("dgx-h100-ndr", "bf16", False),
        ("dgx-h100-ndr", "int8", True),
        ("tpu-v6e", "int8", False),
    ],
)
def test_products_of_experts_in_8_bits(hardware: str, precision: str, told: bool) -> None:
    one = export(replace(ON_GPUS, hardware=hardware, precision=precision))
    assert ("precision" in {lost.field for lost in one.lossy}) == told


CP_OUTSIDE = ("tp", "fsdp", "dp", "pp", "cp")


def test_an_exchange_inside_of_a_slice_is_offered() -> None:
    case, changes = BROKEN["maxtext-all-to-all-slices"]
    plan = replace(case.plan, **{**changes, "order": ("tp", "cp", "fsdp", "dp", "pp")})
    found = {rule.name for rule, _ in broken(case.cost(), table(plan), target=TARGET)}
    assert "maxtext-all-to-all-slices" not in found


BROKEN = {
    "jax-stage-layers": (CASES["uneven"], {}),
    "jax-stage-choices": (
        CASES["uneven"],
        {"stages": (Stage(layers=10, full=(3, 0)), *[Stage(layers=10)] * 3)},
    ),
    "jax-slices": (
        replace(CASES["dense-sharded"], global_batch=48),
        {"dp": 2, "fsdp": 6, "tp": 2, "sequence_parallel": True},
    ),
    "maxtext-kv-heads": (SLICES, {"fsdp": 32, "tp": 16}),
    "maxtext-pipelined-model": (CASES["latent-experts"], {}),
    "maxtext-experts": (CASES["experts"], {}),
    "maxtext-whole-experts": (CASES["experts"], {}),
    "maxtext-context": (CASES["long"], {}),
    "maxtext-zero2": (CASES["experts"], {"sharding": "zero2"}),
    "maxtext-ring": (SLICES, {"fsdp": 1, "tp": 4, "cp": 128, "sharding": "zero3"}),
    "maxtext-all-to-all": (CASES["dense-hybrid"], {"cp_mode": "all-to-all"}),
    "maxtext-all-to-all-slices": (
        replace(SLICES, hardware="tpu-v5e", model="llama2-7b", global_batch=2048),
        {"fsdp": 128, "cp": 4, "tp": 1, "cp_mode": "all-to-all", "order": CP_OUTSIDE},
    ),
    "maxtext-model": (replace(SLICES, model="olmo2-7b"), {}),
    "maxtext-hardware": (replace(SLICES, hardware="trn2"), {}),
    "maxtext-accumulation": (
        replace(CASES["dense-sharded"], precision="fp8"),
        {"micro_batch": 1},
    ),
    "jax-adapters": (replace(SLICES, kind="lora"), {}),
    "maxtext-precision": (replace(CASES["dense-sharded"], precision="mxfp8"), {}),
    "chip-devices": (replace(SLICES, hardware="tpu-v7"), {}),
    "maxtext-experts-precision": (replace(ON_GPUS, precision="fp8"), {}),
}


@each("name", BROKEN)
def test_a_broken_rule_is_named(name: str) -> None:
    case, changes = BROKEN[name]
    plan = replace(case.plan, **changes)
    found = {rule.name: line for rule, line in broken(case.cost(), table(plan), target=TARGET)}
    assert name in found
    assert "\n" not in found[name]


@each("name", BROKEN)
def test_it_is_written_only_on_demand(name: str) -> None:
    case, changes = BROKEN[name]
    with pytest.raises(InputError):
        export(case, **changes)


def table(plan: Plan) -> PlanTable:
    return PlanTable.from_plans([plan])

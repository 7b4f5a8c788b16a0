"""Exports for torchtitan: golden files, stages, batches, models, rules and what is lost."""

import ast
import shlex
import tomllib
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from support.cases import each

from frameworks.export.accepted_files import accepted_files, agrees_with_golden, digests, exported
from frameworks.export.cases import CASES, Case
from models_db import load_model
from planner.base.errors import InputError
from planner.frameworks.rules import broken
from planner.frameworks.targets import TARGETS
from planner.frameworks.torchtitan.models import FLAVORS, flavor_of
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan, PlanTable, Stage

TARGET = TARGETS["torchtitan"]
VERSIONS = TARGET.versions
DENSE, EXPERTS = CASES["dense-sharded"], CASES["latent-experts"]
PIPELINE = replace(
    CASES["dense-tp-pp"],
    framework="torchtitan",
    plan=Plan(
        dp=2, fsdp=8, tp=8, pp=4, sharding="zero3", schedule="interleaved", interleave=2,
        split="front-counted", micro_batch=2,
    ),
)  # fmt: skip


def export(case: Case, version: str = "", *, allow_lossy: bool = False, **changes: Any) -> Export:
    plan = replace(case.plan, **changes)
    return export_plan(case.cost(), plan, TARGET, version, allow_lossy=allow_lossy)


def toml(case: Case, **changes: Any) -> dict[str, Any]:
    return tomllib.loads(export(case, "0.2", **changes).files[0].text)


def options(one: Export) -> dict[str, list[str]]:
    """Options of the script of 0.3 with their values."""
    found: dict[str, list[str]] = {}
    for word in shlex.split(one.files[0].text.replace("\\\n", ""), comments=True):
        if word.startswith("--"):
            found[word] = []
        elif found:
            found[list(found)[-1]].append(word)
    return found


def assignments(one: Export) -> dict[str, Any]:
    """What the function of a recipe sets, where it is a literal."""
    found = {}
    for node in ast.walk(ast.parse(one.files[0].text)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                continue
            found[ast.unparse(node.targets[0]).removeprefix("config.")] = value
    return found


@each("version", VERSIONS)
@each("case", CASES)
def test_the_golden_files(case: str, version: str) -> None:
    agrees_with_golden("torchtitan", case, version)


@each("version", VERSIONS)
def test_what_was_accepted_is_what_is_exported(version: str) -> None:
    hashes = digests(f"torchtitan-{version}")
    accepted = accepted_files(f"torchtitan-{version}")
    assert accepted.items() <= hashes.items()
    assert accepted


@each("version", VERSIONS)
@each("case", CASES)
def test_python_files_are_python(case: str, version: str) -> None:
    for file in exported("torchtitan", case, version).files:
        if file.name.endswith(".py"):
            ast.parse(file.text)


def test_a_pipeline_runs_a_step_in_one_accumulation() -> None:
    found = toml(PIPELINE)
    assert found["training"]["local_batch_size"] == 64
    assert found["training"]["global_batch_size"] == 1024
    assert found["parallelism"]["pipeline_parallel_microbatch_size"] == 2


def test_without_a_pipeline_micro_batches_are_accumulated() -> None:
    found = toml(replace(DENSE, global_batch=512))
    assert found["training"] == {
        "local_batch_size": 2,
        "global_batch_size": 512,
        "seq_len": 8192,
        "mixed_precision_param": "bfloat16",
    }


def test_main_counts_tokens() -> None:
    found = assignments(export(PIPELINE, "main"))
    assert found["training.num_tokens_per_microbatch_per_dp_rank"] == 2 * 8192
    assert found["training.num_tokens_per_train_step"] == 1024 * 8192
    assert found["parallelism.num_pp_microbatches"] == 32


def test_the_meshes_agree() -> None:
    early = toml(PIPELINE)["parallelism"]
    late = options(export(PIPELINE))
    recipe = assignments(export(PIPELINE, "main"))
    for key, value in {
        "data_parallel_replicate_degree": 2,
        "data_parallel_shard_degree": 8,
        "tensor_parallel_degree": 8,
        "pipeline_parallel_degree": 4,
        "pipeline_parallel_schedule": "Interleaved1F1B",
    }.items():
        assert early[key] == recipe[f"parallelism.{key}"] == value
        assert late[f"--parallelism.{key}"] == [str(value)]


def test_every_module_is_on_one_stage_in_order() -> None:
    parts = toml(PIPELINE)["parallelism"]["module_fqns_per_model_part"]
    layers = [f"layers.{layer}" for layer in range(80)]
    assert list(chain.from_iterable(parts)) == ["tok_embeddings", *layers, "norm", "output"]
    assert [len(part) for part in parts] == [11, 11, 10, 10, 10, 10, 10, 11]
    later = options(export(PIPELINE))["--parallelism.module_fqns_per_model_part"]
    assert later[-1].endswith(",norm,lm_head")
    assert [len(part.split(",")) for part in later] == [len(part) for part in parts]


def test_uneven_stages_are_told_exactly() -> None:
    stages = tuple(Stage(layers=layers) for layers in (7, 8, 9, 8))
    one = replace(DENSE, global_batch=1024)
    found = toml(one, fsdp=16, pp=4, schedule="1f1b", stages=stages)
    parts = found["parallelism"]["module_fqns_per_model_part"]
    assert [len(part) for part in parts] == [8, 8, 9, 10]


def test_graphs_are_captured_where_they_can_be() -> None:
    assert "--training.disable_cuda_graphs" not in options(export(DENSE))
    assert "--training.disable_cuda_graphs" in options(export(PIPELINE))


@each("way", ["none", "selective", "full"])
def test_recomputation(way: str) -> None:
    assert toml(DENSE, recompute=way)["activation_checkpoint"]["mode"] == way
    assert f"activation-checkpoint:{way}" in export(DENSE, "0.3", recompute=way).files[0].text
    text = export(DENSE, "main", recompute=way).files[0].text
    policy = {"none": "None", "selective": "SelectiveAC.Config()", "full": "FullAC.Config()"}[way]
    assert f"config.activation_checkpoint = {policy}\n" in text


def test_selective_is_every_second_product() -> None:
    assert toml(DENSE, recompute="selective")["activation_checkpoint"] == {
        "mode": "selective",
        "selective_ac_option": "op",
    }


@each("version", VERSIONS)
def test_offloading_is_one_switch(version: str) -> None:
    text = export(DENSE, version, offload=("optimizer", "weights")).files[0].text
    assert "enable_cpu_offload" in text


def test_expert_groups() -> None:
    plan = Plan(fsdp=64, pp=4, ep=64, sharding="zero3", stages=EXPERTS.plan.stages)
    one = replace(EXPERTS, plan=plan)
    found = toml(one)["parallelism"]
    assert (found["expert_parallel_degree"], found["expert_tensor_parallel_degree"]) == (64, 1)
    assert options(export(one))["--parallelism.expert_parallel_degree"] == ["64"]
    assert options(export(one))["--module"] == ["deepseek_v3"]


def test_no_two_flavors_have_the_same_dimensions() -> None:
    known = ("llama3-8b", "llama3.1-405b", "qwen3-30b-a3b", "gpt-oss-20b", "deepseek-v2")
    names = [flavor_of(load_model(name), "0.2") for name in known]
    assert [flavor.name for flavor in names if flavor] == ["8B", "405B", "30B-A3B", "20b", "236B"]
    assert len({(flavor.module, flavor.name) for flavor in FLAVORS}) == len(FLAVORS)


def test_what_a_version_lacks_is_not_used() -> None:
    scout = load_model("llama4-scout")
    assert flavor_of(scout, "0.2") is not None
    assert flavor_of(scout, "0.3") is None


def test_a_quantized_configuration_is_replaced() -> None:
    one = export(CASES["dense-hybrid"])
    assert options(one)["--module"] == ["planned_config"]
    assert 'model_registry("405B", attn_backend="flex")' in one.files[1].text


@each("version", VERSIONS)
def test_models_of_the_same_build_are_added(version: str) -> None:
    one = export(replace(DENSE, model="llama2-13b"), version)
    assert "13824" in one.files[-1].text


def test_a_narrow_mlp_is_rounded_up_to_its_width() -> None:
    text = export(replace(DENSE, model="llama-65b", seq_len=2048), "0.2").files[1].text
    call = ast.parse(text).body[-1].value
    named = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    width = int(2 * 4 * named["dim"] / 3)
    width = int(named.get("ffn_dim_multiplier", 1) * width)
    assert -(-width // named["multiple_of"]) * named["multiple_of"] == 22016


@each("version", VERSIONS)
def test_an_unknown_model_is_to_be_registered(version: str) -> None:
    with pytest.raises(InputError, match=f"model: torchtitan {version} has no model"):
        export(replace(DENSE, model="mixtral-8x7b"), version)
    one = export(replace(DENSE, model="mixtral-8x7b"), version, allow_lossy=True)
    assert "models_to_register.mixtral_8x7b" in str(one.lossy)
    assert "models_to_register" in "".join(file.text for file in one.files)


BROKEN = {
    "torchtitan-kv-heads": (DENSE, {"fsdp": 4, "tp": 16, "sequence_parallel": True}),
    "torchtitan-experts": (EXPERTS, {"sharding": "zero1"}),
    "torchtitan-1f1b": (DENSE, {"fsdp": 16, "pp": 4, "micro_batch": 4}),
    "torchtitan-ddp": (DENSE, {"fsdp": 1, "dp": 32, "cp": 2, "sharding": "ddp"}),
    "torchtitan-cp-mode": (CASES["dense-hybrid"], {"cp_mode": "all-to-all"}),
    "torchtitan-tied": (replace(DENSE, model="gpt3-125m"), {"fsdp": 16, "pp": 4}),
    "torchtitan-offload": (DENSE, {"offload": ("optimizer",)}),
    "torchtitan-recompute": (
        CASES["uneven"],
        {"stages": (Stage(layers=10, full=(3, 0)), *[Stage(layers=10)] * 3)},
    ),
    "torchtitan-stage-sharding": (
        CASES["uneven"],
        {"stages": (Stage(layers=10, sharding="ddp"), *[Stage(layers=10)] * 3)},
    ),
    "torchtitan-empty-stage": (
        CASES["uneven"],
        {"stages": (Stage(layers=20), Stage(layers=0), *[Stage(layers=10)] * 2)},
    ),
    "torchtitan-chips": (CASES["slices"], {}),
    "torchtitan-precision": (replace(DENSE, precision="fp8"), {}),
    "torchtitan-adapters": (replace(DENSE, kind="lora"), {}),
}


@each("name", BROKEN)
def test_a_broken_rule_is_named(name: str) -> None:
    case, changes = BROKEN[name]
    plan = replace(case.plan, **changes)
    table = PlanTable.from_plans([plan, plan])
    found = [line for rule, line in broken(case.cost(), table, target=TARGET) if rule.name == name]
    assert len(found) >= 1
    assert all("\n" not in line for line in found)
    assert name not in {rule.name for rule, _ in _of_sound_plan()}


def _of_sound_plan() -> list[Any]:
    return broken(PIPELINE.cost(), PlanTable.from_plans([PIPELINE.plan]), target=TARGET)


@each("name", BROKEN)
@each("version", VERSIONS)
def test_it_is_written_only_on_demand(name: str, version: str) -> None:
    case, changes = BROKEN[name]
    with pytest.raises(InputError):
        export(case, version, **changes)


def test_uniform_stages_that_differ_from_the_plan_are_told() -> None:
    stages = tuple(Stage(layers=8, recompute="none") for _ in range(4))
    found = toml(replace(DENSE, global_batch=1024), fsdp=16, pp=4, stages=stages)
    assert found["activation_checkpoint"]["mode"] == "none"


def lost(one: Export) -> set[str]:
    return {entry.field for entry in one.lossy}


def test_what_is_lossy() -> None:
    assert lost(export(DENSE)) == set()
    split = CASES["dense-hybrid"]
    assert lost(export(split)) == {"cp_mode"}
    assert lost(export(split, "0.2")) == set()
    assert lost(export(DENSE, clock=0.8)) == {"clock"}
    alone = {"fsdp": 1, "tp": 8, "sharding": "ddp", "sequence_parallel": True}
    assert lost(export(DENSE, "0.2", **alone)) == {"sharding"}
    assert lost(export(DENSE, "0.3", **alone)) == set()


QWEN = replace(DENSE, model="qwen3-8b", seq_len=65536)
SPLIT = replace(EXPERTS, plan=Plan(fsdp=32, cp=2, ep=8, sharding="zero3"))
OF_VERSIONS = [
    ("torchtitan-sequence-parallel", ("0.2",), DENSE, Plan(fsdp=8, tp=8, sequence_parallel=False)),
    ("torchtitan-sequence", ("0.2",), replace(DENSE, seq_len=8200), Plan(fsdp=8, tp=8)),
    ("torchtitan-even-sequence", ("0.2",), replace(DENSE, seq_len=8191), Plan(fsdp=64)),
    ("torchtitan-positions", ("0.3", "main"), QWEN, Plan(fsdp=64)),
    ("torchtitan-contexts", ("0.2",), SPLIT, SPLIT.plan),
    ("torchtitan-model", ("0.3", "main"), replace(DENSE, model="llama4-scout"), Plan(fsdp=64)),
    ("torchtitan-model", VERSIONS, replace(DENSE, model="mixtral-8x7b"), Plan(fsdp=64)),
]


@each("version", VERSIONS)
@each(("name", "versions", "case", "plan"), OF_VERSIONS)
def test_what_a_version_cannot_do(
    name: str, versions: tuple[str, ...], case: Case, plan: Plan, version: str
) -> None:
    one = replace(case, plan=replace(plan, sharding="zero3"))
    table = PlanTable.from_plans([one.plan])
    found = {r.name: (r.field, line) for r, line in
             broken(one.cost(), table, target=TARGET, version=version)}  # fmt: skip
    written = export(one, version, allow_lossy=True)
    full = f"{name}-{version}"
    assert (full in found) == (version in versions)
    assert (full not in found) or found[full] in [(x.field, x.reason) for x in written.unsupported]
    assert len(written.unsupported) == len(found)


@each("version", VERSIONS)
@each("axis", ["tp", "pp"])
def test_replicas_beside_other_axes(axis: str, version: str) -> None:
    """0.2 refuses them; later versions replicate by FSDP with one shard."""
    changes = {"fsdp": 1, "dp": 8, axis: 8, "sharding": "ddp", "sequence_parallel": axis == "tp"}
    case = replace(DENSE, global_batch=128)
    found = export(case, version, **changes, micro_batch=1, allow_lossy=True).unsupported
    reasons = [lost.reason for lost in found]
    early = [one for one in reasons if one.startswith("torchtitan 0.2 has ddp without tp and pp")]
    assert reasons == early
    assert len(early) == (version == "0.2")


def test_an_odd_sequence_is_no_matter_of_the_mesh() -> None:
    """Later versions double cp above 1 only; for 0.2 no mesh helps."""
    odd = replace(DENSE, seq_len=8191)
    assert export(odd, "0.3").unsupported == ()
    assert export(odd, "main").unsupported == ()
    words = refused(odd, "0.2")
    assert "runs no plan of this job" in words
    lines = [lost for lost in export(odd, "0.2", allow_lossy=True).unsupported]
    assert [lost.field for lost in lines] == ["seq_len"]
    assert "nearest: 8190 or 8192" in lines[0].reason


def refused(case: Case, version: str = "", **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        export(case, version, **changes)
    return str(caught.value).splitlines()[-1]


def test_the_way_out_is_one() -> None:
    solve = "planner solve --runnable-in torchtitan finds the best one that"
    lossy = "--allow-lossy writes what it would run in place of this one"
    other = refused(DENSE, "0.2", fsdp=8, tp=8, sequence_parallel=False)
    assert other.endswith(f"as it is: --target-version 0.3 or main writes this one, {lossy}")
    scout = replace(DENSE, model="llama4-scout")
    assert refused(scout) == (
        f"torchtitan 0.3 runs no plan of this job: --target-version 0.2 writes this one, {lossy}"
    )
    mixture = refused(replace(DENSE, model="mixtral-8x7b"))
    assert mixture == f"torchtitan 0.3 runs no plan of this job: {lossy}"
    odd = {"offload": ("optimizer",)}
    assert refused(DENSE, **odd).endswith(f"as it is: {solve} it can run, {lossy}")
    later = refused(DENSE, "0.2", **odd)
    assert later.endswith(f"as it is: {solve} torchtitan 0.3 can run, {lossy}")


def test_zero1_is_written_as_shards_that_are_gathered_once() -> None:
    found = toml(CASES["dense-tp-pp"], allow_lossy=True)["parallelism"]
    assert found["data_parallel_shard_degree"] == 16
    assert found["fsdp_reshard_after_forward"] == "never"

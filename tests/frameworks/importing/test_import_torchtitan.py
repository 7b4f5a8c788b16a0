"""Launches of torchtitan as plans: TOML of 0.2 and overrides of 0.3."""

from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.question.launch import LaunchRead, read_launch

# torchtitan models/llama3/train_configs/llama3_70b.toml, v0.2.2 73a0e69.
LLAMA3_70B = """
[job]
dump_folder = "./outputs"
[profiling]
enable_profiling = true
[model]
name = "llama3"
flavor = "70B"
hf_assets_path = "./assets/hf/Llama-3.1-70B"
[optimizer]
name = "AdamW"
lr = 1.5e-4
[training]
local_batch_size = 8
seq_len = 8192
dataset = "c4"
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 8
pipeline_parallel_degree = 1
context_parallel_degree = 1
[activation_checkpoint]
mode = "full"
[compile]
enable = false
[quantize.linear.float8]
enable_fsdp_float8_all_gather = false
"""
SMALL = """
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 8
seq_len = 8192
[activation_checkpoint]
mode = "none"
[parallelism]
"""


def launch(text: str, folder: Path, fix: str = "", **more: object) -> LaunchRead:
    path = folder / "torchtitan.toml"
    path.write_text(text, encoding="utf-8")
    changes = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 64, **more}
    given = {name: value for name, value in changes.items() if value is not None}
    fixes = dict(one.split("=") for one in fix.split())
    return read_launch("torchtitan", path, given, {name: [v] for name, v in fixes.items()})


def refused(text: str, folder: Path, fix: str = "", **more: object) -> list[str]:
    with pytest.raises(InputError) as error:
        launch(text, folder, fix, **more)
    return [
        line.removeprefix(f"{folder / 'torchtitan.toml'}: ")
        for line in str(error.value).split("\n")
    ]


def test_llama3_70b(tmp_path: Path) -> None:
    found = launch(LLAMA3_70B, tmp_path, model="llama3-70b")
    plan = found.plan
    assert (plan.dp, plan.fsdp, plan.tp, plan.micro_batch) == (1, 8, 8, 8)
    assert (plan.sharding, plan.recompute, plan.sequence_parallel) == ("zero3", "full", True)
    assert found.request.batch_tokens == 8 * 8 * 8192
    assert found.imported.unknown == ()
    [assumed] = found.imported.assumed
    assert (assumed.name, assumed.value) == ("framework", "torchtitan-2024")
    assert [one.name for one in found.imported.ignored] == [
        "job.dump_folder", "profiling.enable_profiling", "model.hf_assets_path", "optimizer.name",
        "optimizer.lr", "training.dataset",
        "quantize.linear.float8.enable_fsdp_float8_all_gather",
    ]  # fmt: skip


@each(
    ("settings", "fields"),
    [
        ("", {"sharding": "zero3", "fsdp": 64, "dp": 1, "micro_batch": 8}),
        ("data_parallel_replicate_degree = 4", {"dp": 4, "fsdp": 16}),
        (
            "data_parallel_replicate_degree = 64\ndata_parallel_shard_degree = 1",
            {"dp": 64, "fsdp": 1, "sharding": "ddp"},
        ),
        (
            "pipeline_parallel_degree = 2",
            {"pp": 2, "micro_batch": 1, "schedule": "1f1b", "split": "front-counted"},
        ),
        (
            'pipeline_parallel_degree = 2\npipeline_parallel_schedule = "interleaved1f1b"',
            {"interleave": 2, "schedule": "interleaved", "split": "front-counted"},
        ),
        (
            'pipeline_parallel_degree = 2\npipeline_parallel_schedule = "Interleaved1F1B"\n'
            "pipeline_parallel_layers_per_stage = 4\npipeline_parallel_first_stage_less_layers = 0"
            "\npipeline_parallel_last_stage_less_layers = 0",
            {"interleave": 4},
        ),
    ],
)
def test_settings(settings: str, fields: dict[str, object], tmp_path: Path) -> None:
    plan = launch(SMALL + settings, tmp_path).plan
    assert {name: getattr(plan, name) for name in fields} == fields


def test_overrides(tmp_path: Path) -> None:
    text = (
        "NGPU=8\ntorchrun --nnodes 2 --nproc_per_node=${NGPU} -m torchtitan.train \\\n"
        "  --module qwen3 --config qwen3_14b --training.local_batch_size 4 \\\n"
        "  --training.seq-len=4096 --parallelism.no_enable_sequence_parallel \\\n"
        "  --parallelism.tensor_parallel_degree 2 --training.sequence_len 1 \\\n"
        "  activation-checkpoint:selective\n"
    )
    found = launch(text, tmp_path, model=None, chips=None)
    plan = found.plan
    assert found.request.model == "qwen3-14b"
    assert (plan.fsdp, plan.tp, plan.sequence_parallel) == (8, 2, False)
    assert (plan.recompute, plan.micro_batch, found.request.seq_len) == ("selective", 4, 4096)
    [unknown] = found.imported.unknown
    assert unknown.name == "training.sequence_len"
    assert "did you mean 'training.seq_len'" in unknown.reason


def test_defaults_are_assumed(tmp_path: Path) -> None:
    found = launch('[model]\nname = "llama3"\nflavor = "8B"\n', tmp_path, "recompute=selective")
    assert [(one.name, one.value) for one in found.imported.assumed] == [
        ("training.local_batch_size", "8"),
        ("training.seq_len", "2048"),
        ("activation_checkpoint.mode", "selective"),
        ("framework", "torchtitan-2024"),
    ]


@each(
    ("settings", "line"),
    [
        ("tensor_parallel_degree = 6", "64 chips are not a multiple of replicas 1 x tp 6 x cp 1 x "
         "pp 1 = 6; nearest: --chips 66"),
        ("data_parallel_shard_degree = 8", "chips: 64 contradict the degrees, whose product is 8"),
        ("expert_parallel_degree = 8", "parallelism.expert_parallel_degree: llama3-8b has no "
         "experts"),
        ("tensor_parallel_degree = nan", "parallelism.tensor_parallel_degree: 'nan' is not a whole "
         "number from 1 to 2,147,483,648"),
        ('tensor_parallel_degree = "8"', "parallelism.tensor_parallel_degree: '8' is text in "
         "quotes; torchtitan takes a number or a switch: write it without"),
        ('enable_sequence_parallel = "true"', "parallelism.enable_sequence_parallel: 'true' is "
         "text in quotes; torchtitan takes a number or a switch: write it without"),
        ("tensor_parallel_degree = true", "parallelism.tensor_parallel_degree: 'true' is not a "
         "whole number from 1 to 2,147,483,648"),
        ("pipeline_parallel_degree = 64", "parallelism.pipeline_parallel_degree: 32 layers are too "
         "few for 64 stages"),
        ("pipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 3",
         "parallelism.pipeline_parallel_microbatch_size: 3 does not divide the local batch of 8"),
        ('pipeline_parallel_degree = 2\nmodule_fqns_per_model_part = [["tok_embeddings"], '
         '["layers.0", "norm"]]', "parallelism.module_fqns_per_model_part: its 1 layers are not "
         "those of llama3-8b, 0 to 31, in order"),
    ],
)  # fmt: skip
def test_contradictions(settings: str, line: str, tmp_path: Path) -> None:
    assert line in refused(SMALL + settings, tmp_path)


@each(
    ("text", "fix", "field"),
    [
        (SMALL.replace('"none"', '"selective"'), "recompute=selective", "recompute"),
        (SMALL.replace('"none"', '"memory_budget"'), "recompute=full", "recompute"),
        (
            SMALL + 'pipeline_parallel_degree = 2\npipeline_parallel_schedule = "DualPipeV"',
            "schedule=1f1b",
            "schedule",
        ),
    ],
)
def test_what_no_plan_says_can_be_fixed(text: str, fix: str, field: str, tmp_path: Path) -> None:
    [line] = refused(text, tmp_path)
    assert f"--fix {field}=" in line
    assert getattr(launch(text, tmp_path, fix).plan, field) == fix.partition("=")[2]


def test_several_rounds_of_a_pipeline_are_said(tmp_path: Path) -> None:
    text = SMALL.replace("seq_len", "global_batch_size = 512\nseq_len")
    found = launch(f"{text}pipeline_parallel_degree = 2", tmp_path)
    assert (
        "training.global_batch_size: the pipeline fills and drains 2 times a step; the prediction "
        "has it do so once"
    ) in found.imported.warnings


def test_neither_toml_nor_overrides(tmp_path: Path) -> None:
    [line] = refused("[model\n", tmp_path)
    assert line.startswith("neither TOML (")
    assert "--training.seq_len 8192" in line


# torchtitan 0.3.0 models/llama3/config_registry.py, llama3_70b; README, "Start a training run".
COMMAND = (
    "torchrun --nproc-per-node 8 --nnodes 8 -m torchtitan.train --module llama3 --config llama3_70b"
)
OWN = COMMAND.replace("llama3_70b", "mine")
EXPERTS = """
[model]
name = "deepseek_v3"
flavor = "16B"
[training]
local_batch_size = 1
seq_len = 4096
[activation_checkpoint]
mode = "none"
[parallelism]
"""


def test_a_named_configuration_says_what_is_not_overridden(tmp_path: Path) -> None:
    found = launch(COMMAND, tmp_path, model="llama3-70b", chips=None)
    plan = found.plan
    assert (plan.tp, plan.fsdp, plan.micro_batch, plan.recompute) == (8, 8, 8, "full")
    assert (found.request.seq_len, found.request.batch_tokens) == (8192, 8 * 8 * 8192)
    assumed = {one.name: (one.value, one.reason) for one in found.imported.assumed}
    reason = "--config llama3_70b says so"
    assert assumed["parallelism.tensor_parallel_degree"] == ("8", reason)
    changed = f"{COMMAND} --parallelism.tensor_parallel_degree 4 activation-checkpoint:selective"
    plan = launch(changed, tmp_path, model="llama3-70b", chips=None).plan
    assert (plan.tp, plan.recompute) == (4, "selective")


def test_selective_checkpointing_of_a_configuration(tmp_path: Path) -> None:
    text = COMMAND.replace("llama3_70b", "llama3_8b")
    found = launch(text, tmp_path, chips=None)
    assert (found.plan.recompute, found.plan.micro_batch) == ("selective", 1)


@each(
    ("module", "config", "model", "precision"),
    [
        ("llama3", "llama3_405b", "llama3.1-405b", "fp8"),
        ("llama3", "llama3_8b_mxfp8", "llama3-8b", "mxfp8"),
        ("llama3", "llama3_8b_first_85_pct_layers_nvfp4", "llama3-8b", "fp4"),
        ("deepseek_v3", "deepseek_v3_671b_float8", "deepseek-v3", "fp8"),
    ],
)
def test_converters_of_configurations(
    module: str, config: str, model: str, precision: str, tmp_path: Path
) -> None:
    text = f"torchrun -m torchtitan.train --module {module} --config {config}"
    found = launch(text, tmp_path, model=model, hardware="dgx-b200-ndr")
    assert found.request.precision == precision
    partly = any("first 85 %" in one for one in found.imported.warnings)
    assert partly == (precision == "fp4")


def test_the_mesh_of_an_unknown_configuration_must_be_said(tmp_path: Path) -> None:
    lines = refused(OWN, tmp_path, chips=None)
    axes = ("replicate", "shard", "tensor", "context", "pipeline")
    degrees = [f"parallelism.data_parallel_{axis}_degree" for axis in axes[:2]]
    degrees += [f"parallelism.{axis}_parallel_degree" for axis in axes[2:]]
    assert [line.partition(": ")[0] for line in lines] == degrees
    assert "'mine', which this reader does not know" in lines[0]
    said = OWN + "".join(f" --{name} {1 if 'shard' not in name else -1}" for name in degrees)
    found = launch(said, tmp_path, chips=None)
    assert found.plan.fsdp == 64
    [warning] = [one for one in found.imported.warnings if one.startswith("config: ")]
    assert warning.startswith(
        "config: 'mine', which this reader does not know: defaults of torchtitan are taken for "
        "training.seq_len, training.local_batch_size, "
    )
    fixed = launch(OWN, tmp_path, "dp=1 fsdp=8 tp=8 cp=1 pp=1", chips=None)
    assert (fixed.plan.fsdp, fixed.plan.tp) == (8, 8)


@each(
    ("more", "line"),
    [
        ("--job.config_file a.toml", "job.config_file: the settings are in 'a.toml', which does "
         "not lie beside it; put it there, or give that file with --chips 64"),
        ("--training.max_context_length 8192", "training.max_context_length: is a setting of "
         "torchtitan main, which is not read; nearest of 0.3: training.seq_len"),
    ],
)  # fmt: skip
def test_settings_that_stand_elsewhere(more: str, line: str, tmp_path: Path) -> None:
    assert line in refused(f"{COMMAND} {more}", tmp_path, model="llama3-70b")


def test_experts_divided_by_tp_are_no_plan(tmp_path: Path) -> None:
    settings = EXPERTS + "tensor_parallel_degree = 8\n"
    [line] = refused(settings, tmp_path, model=None)
    assert line == (
        "parallelism.expert_parallel_degree: experts are split over 8 ranks of tp; a plan keeps "
        "each whole on a chip; --fix ep=8 takes its place"
    )
    assert launch(settings, tmp_path, "ep=8", model=None).plan.ep == 8
    whole = launch(settings + "expert_parallel_degree = 8", tmp_path, model=None)
    assert (whole.plan.ep, whole.plan.tp) == (8, 8)


@each(("policy", "warned"), [("default", False), ("never", False), ("always", True)])
@each("replicas", [1, 2])
def test_resharding_under_a_pipeline(
    policy: str, warned: bool, replicas: int, tmp_path: Path
) -> None:
    text = (
        f'{SMALL}pipeline_parallel_degree = 2\nfsdp_reshard_after_forward = "{policy}"\n'
        f"data_parallel_replicate_degree = {replicas}"
    )
    found = launch(text, tmp_path)
    plan = found.plan
    assert (plan.sharding, plan.dp, plan.fsdp) == ("zero3", replicas, 32 // replicas)
    gathers = "gathers the weights with every micro-batch"
    assert any(gathers in one for one in found.imported.warnings) == warned


@each(
    ("components", "framework", "warned"),
    [
        ('["model", "loss"]', "torchtitan", False),
        ('["loss"]', "torchtitan", True),
        ('["model"]', "torchtitan-2024", False),
        ("", "torchtitan-2024", True),
    ],
)
def test_what_is_compiled(components: str, framework: str, warned: bool, tmp_path: Path) -> None:
    compiled = f"\n[compile]\nenable = true\ncomponents = {components}\n" if components else ""
    found = launch(SMALL + compiled, tmp_path)
    assert found.request.framework == framework
    assert any("layers are not compiled" in one for one in found.imported.warnings) == warned


def test_the_loss_in_parts_is_not_that_of_2024(tmp_path: Path) -> None:
    found = launch(COMMAND, tmp_path, model="llama3-70b")
    assert found.request.framework == "torchtitan"


def test_states_in_16_bits_are_said(tmp_path: Path) -> None:
    text = SMALL.replace("seq_len", 'dtype = "bfloat16"\nseq_len')
    warnings = launch(text, tmp_path).imported.warnings
    assert any(one.startswith("training.dtype: weights, gradients") for one in warnings)


def test_llama4_without_chunks(tmp_path: Path) -> None:
    # v0.2.2 models/llama4/train_configs/llama4_17bx16e.toml
    text = (
        '[model]\nname = "llama4"\nflavor = "17bx16e"\n[training]\nseq_len = 8192\n'
        "[parallelism]\ntensor_parallel_degree = 8\nexpert_tensor_parallel_degree = 8\n"
        '[activation_checkpoint]\nmode = "full"\n'
    )
    [line] = refused(text, tmp_path, model=None)
    assert "experts are split over 8 ranks of tp" in line
    found = launch(text, tmp_path, "ep=8", model=None)
    assert found.request.model == "llama4-scout"
    assert not any(one.startswith("model.flavor") for one in found.imported.warnings)
    longer = launch(text.replace("8192", "16384"), tmp_path, "ep=8", model=None)
    assert any(
        one.startswith("model.flavor: every layer of 17bx16e attends over all 16,384 tokens")
        for one in longer.imported.warnings
    )


def test_zb_v_is_read_as_itself(tmp_path: Path) -> None:
    text = SMALL + 'pipeline_parallel_degree = 2\npipeline_parallel_schedule = "ZBVZeroBubble"'
    plan = launch(text, tmp_path).plan
    assert (plan.schedule, plan.interleave, plan.split) == ("zb-v", 2, "front-counted")

"""Launches of torchtitan as plans: TOML of 0.2 and overrides of 0.3."""

from pathlib import Path

import pytest

from planner.errors import InputError
from planner.importing import LaunchRead, read_launch

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
    assert found.imported.assumed == ()
    assert [one.name for one in found.imported.ignored] == [
        "job.dump_folder", "profiling.enable_profiling", "model.hf_assets_path", "optimizer.name",
        "optimizer.lr", "training.dataset", "compile.enable",
        "quantize.linear.float8.enable_fsdp_float8_all_gather",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ("", {"sharding": "zero3", "fsdp": 64, "dp": 1, "micro_batch": 8}),
        ("data_parallel_replicate_degree = 4", {"dp": 4, "fsdp": 16}),
        (
            "data_parallel_replicate_degree = 64\ndata_parallel_shard_degree = 1",
            {"dp": 64, "fsdp": 1, "sharding": "ddp"},
        ),
        ('fsdp_reshard_after_forward = "never"', {"sharding": "zero2", "dp": 64, "fsdp": 1}),
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
    ]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("text", "fix", "field"),
    [
        (SMALL.replace('"none"', '"selective"'), "recompute=selective", "recompute"),
        (SMALL.replace('"none"', '"memory_budget"'), "recompute=full", "recompute"),
        (
            SMALL + 'pipeline_parallel_degree = 2\npipeline_parallel_schedule = "ZBVZeroBubble"',
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
    assert found.imported.warnings == (
        "training.global_batch_size: the pipeline fills and drains 2 times a step; the prediction "
        "has it do so once",
    )


def test_neither_toml_nor_overrides(tmp_path: Path) -> None:
    [line] = refused("[model\n", tmp_path)
    assert line.startswith("neither TOML (")
    assert "--training.seq_len 8192" in line

"""Configurations of DeepSpeed as plans."""

import json
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.importing import LaunchRead, read_launch

BASE = {
    "train_batch_size": 256,
    "train_micro_batch_size_per_gpu": 2,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 5e7},
    "steps_per_print": 10,
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
}


def launch(data: object, folder: Path, fix: str = "", **more: object) -> LaunchRead:
    path = folder / "ds_config.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    changes = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 64, **more}
    given = {name: value for name, value in changes.items() if value is not None}
    fixes = dict(one.split("=") for one in fix.split())
    return read_launch("deepspeed", path, given, {name: [v] for name, v in fixes.items()})


def refused(data: object, folder: Path, fix: str = "", **more: object) -> list[str]:
    with pytest.raises(InputError) as error:
        launch(data, folder, fix, **more)
    return [
        line.removeprefix(f"{folder / 'ds_config.json'}: ") for line in str(error.value).split("\n")
    ]


def with_zero(**values: object) -> dict[str, object]:
    return {**BASE, "zero_optimization": values}


def test_base(tmp_path: Path) -> None:
    found = launch(BASE, tmp_path)
    plan = found.plan
    assert (plan.fsdp, plan.dp, plan.sharding, plan.micro_batch) == (64, 1, "zero3", 2)
    assert found.request.batch_tokens == 256 * 8192
    assert found.imported.unknown == ()
    assert [(one.name, one.value) for one in found.imported.assumed] == [
        ("plan.tp", "1"), ("plan.pp", "1"), ("plan.recompute", "none"), ("seq_len", "8192"),
    ]  # fmt: skip
    assert [one.name for one in found.imported.ignored] == [
        "zero_optimization.stage3_prefetch_bucket_size", "steps_per_print", "optimizer.type",
        "optimizer.params.lr",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "fix", "fields"),
    [
        (with_zero(stage=0), "", {"sharding": "ddp", "dp": 64}),
        (with_zero(stage=1), "pp=4", {"sharding": "zero1", "pp": 4, "dp": 16, "split": "front"}),
        (with_zero(stage=2), "recompute=full", {"sharding": "zero2", "recompute": "full"}),
        (with_zero(stage=3, mics_shard_size=8), "", {"fsdp": 8, "dp": 8}),
        (
            with_zero(
                stage=3, offload_optimizer={"device": "cpu"}, offload_param={"device": "cpu"}
            ),
            "",
            {"offload": ("optimizer", "weights")},
        ),
        ({**BASE, "tensor_parallel": {"autotp_size": 4}}, "", {"tp": 4, "fsdp": 16}),
        ({**BASE, "sequence_parallel_size": 4}, "", {"cp": 4, "cp_mode": "all-to-all"}),
        ({"train_batch_size": 256, "gradient_accumulation_steps": 2}, "", {"micro_batch": 2}),
        (
            {"activation_checkpointing": {"number_checkpoints": 4}, "train_batch_size": 64},
            "",
            {"recompute": "full", "micro_batch": 1},
        ),
    ],
)
def test_settings(
    data: dict[str, object], fix: str, fields: dict[str, object], tmp_path: Path
) -> None:
    plan = launch(data, tmp_path, fix).plan
    assert {name: getattr(plan, name) for name in fields} == fields


def test_what_a_trainer_fills_in_is_asked_for(tmp_path: Path) -> None:
    auto = {
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "bf16": {"enabled": "auto"},
        "zero_optimization": {"stage": 3},
    }
    assert refused(auto, tmp_path) == [
        "train_micro_batch_size_per_gpu: is not said; --fix micro_batch=N"
    ]
    found = launch(auto, tmp_path, "micro_batch=1", batch_tokens=2**20)
    assert (found.plan.micro_batch, found.request.batch_tokens) == (1, 2**20)


def test_misspelt_settings_are_listed(tmp_path: Path) -> None:
    data = {"train_batch_size": 64, "zero_optimisation": {"stage": 3}}
    [unknown] = launch(data, tmp_path).imported.unknown
    assert unknown.name == "zero_optimisation.stage"
    assert unknown.reason == "not known; did you mean 'zero_optimization.stage'?"
    reasons = [one.reason for one in launch(with_zero(stag=3, foo=1), tmp_path).imported.unknown]
    assert reasons == ["not known; did you mean 'zero_optimization.stage'?", "not known"]


@pytest.mark.parametrize(
    ("data", "more", "line"),
    [
        ({**BASE, "train_batch_size": 250}, {}, "train_batch_size: 250 is not 2 on each of 64 data "
         "ranks"),
        ({**BASE, "gradient_accumulation_steps": 3}, {}, "train_batch_size: 256 is not 2 x 3 steps "
         "on each of 64 data ranks"),
        (BASE, {"fix": "pp=4"}, "zero_optimization.stage: zero3 goes with no pipeline "
         "(runtime/pipe/engine.py), not with pp 4"),
        (BASE, {"chips": None}, "does not say on how many chips it runs; give --chips, a multiple "
         "of tp 1 x cp 1 x pp 1 = 1"),
        (with_zero(stage=4), {}, "zero_optimization.stage: '4' is not one of 0, 1, 2, 3"),
        (with_zero(stage=3, mics_shard_size=7), {}, "zero_optimization.mics_shard_size: 7 does not "
         "divide the 64 data ranks"),
        ({**BASE, "fp16": {"enabled": True}}, {}, "fp16.enabled: stands beside bf16.enabled; keep "
         "one"),
        (BASE, {"model": None}, "does not say which model it trains; name it with --model"),
    ],
)  # fmt: skip
def test_contradictions(
    data: dict[str, object], more: dict[str, str], line: str, tmp_path: Path
) -> None:
    assert line in refused(data, tmp_path, **more)


def test_hierarchical_shards_and_drives_can_be_fixed(tmp_path: Path) -> None:
    data = with_zero(stage=3, zero_hpz_partition_size=8, offload_param={"device": "nvme"})
    [line] = refused(data, tmp_path)
    assert line.startswith("zero_optimization.zero_hpz_partition_size: ")
    [line] = refused(data, tmp_path, "sharding=zero3")
    assert line.startswith("zero_optimization.offload_param.device: ")
    plan = launch(data, tmp_path, "sharding=zero3 offload=weights").plan
    assert (plan.sharding, plan.offload) == ("zero3", ("weights",))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "is empty"),
        ("[1]", "must be one JSON object, not [1]"),
        ('{"train_batch_size": NaN}', "holds NaN"),
        ("a\0b", "not a text file (it holds a NUL)"),
    ],
)
def test_bad_text(text: str, line: str, tmp_path: Path) -> None:
    [found] = refused(text, tmp_path)
    assert found.startswith(line) or "NaN" in found


QUOTED = {
    "train_batch_size": ({"train_batch_size": "256"}, "256"),
    "train_micro_batch_size_per_gpu": ({"train_micro_batch_size_per_gpu": " 2 "}, "2"),
    "gradient_accumulation_steps": ({"gradient_accumulation_steps": "2"}, "2"),
    "sequence_parallel_size": ({"sequence_parallel_size": "2"}, "2"),
    "tensor_parallel.autotp_size": ({"tensor_parallel": {"autotp_size": "2"}}, "2"),
    "expert_parallel.autoep_size": ({"expert_parallel": {"autoep_size": "8"}}, "8"),
    "pipeline.activation_checkpoint_interval": (
        {"pipeline": {"activation_checkpoint_interval": "1"}}, "1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", QUOTED)
def test_numbers_in_quotes_are_no_numbers(name: str, tmp_path: Path) -> None:
    """DeepSpeed calculates with them as they stand, and fails."""
    changes, number = QUOTED[name]
    lines = refused({**BASE, **changes}, tmp_path)
    assert f"in quotes is text to DeepSpeed, which calculates with it; write {number}" in lines[0]
    assert lines[0].startswith(f"{name}: ")


def test_numbers_of_zero_may_be_in_quotes(tmp_path: Path) -> None:
    found = launch(with_zero(stage="3", zero_hpz_partition_size="1"), tmp_path)
    assert found.plan.sharding == "zero3"


@pytest.mark.oracle
@pytest.mark.parametrize("name", [*QUOTED][:3])
def test_deepspeed_refuses_them_too(name: str) -> None:
    config = pytest.importorskip("deepspeed.runtime.config")
    changes, _ = QUOTED[name]
    with pytest.raises(TypeError):
        config.DeepSpeedConfig({**BASE, **changes})
    assert config.DeepSpeedConfig(with_zero(stage="3")).zero_config.stage == 3

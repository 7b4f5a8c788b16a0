"""Configurations of DeepSpeed as plans."""

import json
from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.question.launch import LaunchRead, read_launch

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


@each(
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


@each(
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
        ({**BASE, "sequence_parallel_size": 2, "data_parallel_size": 64}, {}, "data_parallel_size: "
         "is not the 32 data ranks that are left"),
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


@each(
    ("text", "line"),
    [
        ("", "is empty"),
        ("[1]", "must be one JSON object, not [1]"),
        ('{"train_batch_size": NaN}', "NaN is no number that JSON has"),
        (
            '{"train_batch_size": 64, "sequence_parallel_size": 99999999999999999999999999}',
            "sequence_parallel_size: '99999999999999999999999999' is not a whole number from 0 to "
            "2,147,483,648",
        ),
        ("a\0b", "not a text file (it holds a NUL)"),
    ],
)
def test_bad_text(text: str, line: str, tmp_path: Path) -> None:
    [found] = refused(text, tmp_path)
    assert line in found


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


@each("name", QUOTED)
def test_numbers_in_quotes_are_no_numbers(name: str, tmp_path: Path) -> None:
    """DeepSpeed calculates with them as they stand, and fails."""
    changes, number = QUOTED[name]
    lines = refused({**BASE, **changes}, tmp_path)
    assert f"in quotes is text to DeepSpeed, which calculates with it; write {number}" in lines[0]
    assert lines[0].startswith(f"{name}: ")


WITH_ZERO3 = {"stage": 3}


def zero3(**values: object) -> dict[str, object]:
    return with_zero(**WITH_ZERO3, **values)


def warned(data: object, folder: Path, fix: str = "") -> str:
    """The only warning."""
    [line] = launch(data, folder, fix).imported.warnings
    return line


@each(
    ("data", "start"),
    [
        ({**BASE, "communication_data_type": "fp32"}, "communication_data_type: gradients travel"),
        ({**BASE, "use_data_before_expert_parallelism": True}, "use_data_before_expert"),
        ({**BASE, "wall_clock_breakdown": True}, "wall_clock_breakdown: waits for the chips"),
        ({**BASE, "comms_logger": {"enabled": True}}, "comms_logger.enabled: waits for the chips"),
        ({**BASE, "bf16": {"enabled": True, "bf16_master_weights_and_grads": True}},
         "bf16.bf16_master_weights_and_grads: master weights and gradients are kept in 16 bits"),
        ({**BASE, "bf16": {"enabled": True, "bf16_optimizer_states": True}},
         "bf16.bf16_optimizer_states: moments are kept in 16 bits, less memory"),
        ({**BASE, "data_types": {"grad_accum_dtype": "fp32"}},
         "data_types.grad_accum_dtype: gradients are summed in 32 bits: more memory"),
        ({**BASE, "optimizer": {"type": "SGD"}}, "optimizer.type: SGD keeps at most one number"),
        ({**BASE, "optimizer": {"type": "OneBitAdam"}}, "optimizer.type: OneBitAdam sends fewer"),
        ({**BASE, "optimizer": {"type": "Sophia"}}, "optimizer.type: Sophia is taken for Adam"),
        ({**BASE, "data_efficiency": {"enabled": True, "data_sampling": {
            "enabled": True, "curriculum_learning": {"enabled": True}}}},
         "data_efficiency.data_sampling.curriculum_learning.enabled: sequences grow"),
        ({**BASE, "compile": {"deepcompile": True}}, "compile.deepcompile: the compiler places"),
        ({**BASE, "tensor_parallel": {"autotp_size": 2, "tp_overlap_comm": True}},
         "tensor_parallel.tp_overlap_comm: sums over tp hide"),
        ({**BASE, "activation_checkpointing": {"partition_activations": True}},
         "activation_checkpointing.partition_activations: saved inputs"),
        ({**BASE, "weight_quantization": {"quantized_initialization": {"num_bits": 8}}},
         "weight_quantization: weights are kept in fewer bits"),
        (zero3(zero_quantized_weights=True), "zero_optimization.zero_quantized_weights: fewer"),
        (zero3(overlap_comm=False), "zero_optimization.overlap_comm: is false with zero3"),
        (with_zero(stage=2), "zero_optimization.overlap_comm: is not given with zero2"),
        (with_zero(stage=2, overlap_comm=True, reduce_scatter=False),
         "zero_optimization.reduce_scatter: gradients are reduced to all ranks"),
        (zero3(offload_optimizer={"device": "cpu", "pin_memory": False}),
         "zero_optimization.offload_optimizer.pin_memory: the host's memory is not pinned"),
        (with_zero(stage=2, overlap_comm=True,
                   offload_param={"device": "cpu", "pin_memory": False}),
         "zero_optimization.offload_param.device: moves nothing under zero2, as DeepSpeed reads it "
         "at stage 3 alone"),
        (with_zero(stage=1, overlap_comm=True, cpu_offload_param=True),
         "zero_optimization.cpu_offload_param: moves nothing under zero1"),
        (with_zero(stage=2, overlap_comm=True, offload_param={"device": "nvme"}),
         "zero_optimization.offload_param.device: moves nothing under zero2"),
        (zero3(mics_shard_size=8), "zero_optimization.mics_shard_size: DeepSpeed 0.19.8 has"),
        ({**BASE, "amp": {"enabled": False}}, "amp: DeepSpeed 0.19.8 has removed it and stops"),
    ],
)  # fmt: skip
def test_what_the_answer_counts_otherwise_is_told(
    data: dict[str, object], start: str, tmp_path: Path
) -> None:
    assert warned(data, tmp_path).startswith(start)


@each(
    "data",
    [
        BASE,
        {**BASE, "bf16": {"enabled": True, "bf16_optimizer_states": False}},
        {**BASE, "fp16": {"enabled": False, "fp16_master_weights_and_grads": True}},
        {**BASE, "data_types": {"grad_accum_dtype": "bf16"}},
        {**BASE, "communication_data_type": "bf16", "compile": {"deepcompile": False}},
        {**BASE, "data_efficiency": {"data_sampling": {"curriculum_learning": {"enabled": True}}}},
        {**BASE, "data_types": {}, "zero_optimization": {"stage": 3, "offload_param": {}}},
        zero3(offload_optimizer={"device": "none", "ratio": 0.3, "pin_memory": False}),
        zero3(offload_optimizer={"device": "cpu", "ratio": 1.0, "pin_memory": True}),
        with_zero(stage=2, overlap_comm=True, reduce_scatter=True),
    ],
)  # fmt: skip
def test_settings_that_do_nothing_are_no_warnings(data: dict[str, object], tmp_path: Path) -> None:
    imported = launch(data, tmp_path).imported
    assert (imported.warnings, imported.unknown) == ((), ())


PARTLY = (
    "zero_optimization.offload_optimizer.ratio: DeepSpeed keeps a part on the chips at stage 3 "
    "only, and stops; nearest: 1.0"
)
STAYS = (
    "the optimizer of the host stops, as stage 0 leaves the weights on the chip; nearest: "
    "zero_optimization.stage 1"
)


@each(
    ("data", "line"),
    [
        (zero3(offload_optimizer={"device": "cpu", "ratio": 0.4}),
         "zero_optimization.offload_optimizer.ratio: keeps a part of the optimizer on the chips; "
         "--fix offload=optimizer takes its place"),
        (with_zero(stage=2, offload_optimizer={"device": "cpu", "ratio": 0.5}), PARTLY),
        (with_zero(stage=1, offload_optimizer={"ratio": 0.5}), PARTLY),
        (zero3(offload_optimizer={"device": "cpu", "ratio": 1.5}),
         "zero_optimization.offload_optimizer.ratio: '1.5' is not a number from 0 to 1"),
        (with_zero(stage=0, offload_optimizer={"device": "cpu"}),
         f"zero_optimization.offload_optimizer.device: {STAYS}"),
        (with_zero(cpu_offload=True), f"zero_optimization.cpu_offload: {STAYS}"),
        (zero3(zenflow={"topk_ratio": 0.1}),
         "zero_optimization.zenflow: the host updates a part of the weights, out of step with the "
         "chips; --fix offload=optimizer takes its place"),
        ({**BASE, "compile": {"offload_parameters": True}},
         "compile.offload_parameters: may move weights to the host; --fix offload=weights takes "
         "its place"),
        (zero3(cpu_offload=True, offload_optimizer={"device": "cpu"}),
         "zero_optimization.cpu_offload: stands beside offload_optimizer; keep the latter"),
        ({**BASE, "bf16": True}, "bf16: 'true' where an object belongs"),
        ({**BASE, "zero_optimization": "x"}, "zero_optimization: 'x' where an object belongs"),
        (zero3(offload_param="cpu"),
         "zero_optimization.offload_param: 'cpu' where an object belongs"),
        (zero3(zero_quantized_weights="maybe"),
         "zero_optimization.zero_quantized_weights: 'maybe' is not true or false"),
        ({**BASE, "amp": {"enabled": True}},
         "amp: multiplies in the 16 bits of Apex, which no plan says; DeepSpeed 0.19.8 has removed "
         "it and stops"),
        ({**BASE, "elasticity": {"enabled": True, "max_train_batch_size": 2000}},
         "elasticity: sets the batch by the chips that are there, which no plan says; DeepSpeed "
         "0.19.8 has removed it and stops"),
        ({**BASE, "sparse_attention": {"mode": "fixed"}},
         "sparse_attention: leaves out scores of attention, which no plan says; DeepSpeed 0.19.8 "
         "has removed it and stops"),
        ({**BASE, "compression_training": {
            "weight_quantization": {"shared_parameters": {"enabled": True}}}},
         "compression_training: trains with fewer bits or weights than the answer counts, which no "
         "plan says; DeepSpeed 0.19.8 has removed it and stops"),
        ({"train_batch_size": 64, "torch_autocast": {"enabled": True, "dtype": "int4"}},
         "torch_autocast.dtype: 'int4' is not one of bf16, bfloat16, torch.bfloat16, fp16, "
         "float16, half, torch.float16, fp32, float32, float, torch.float32"),
    ],
)  # fmt: skip
def test_what_no_plan_says_is_refused(data: dict[str, object], line: str, tmp_path: Path) -> None:
    assert refused(data, tmp_path) == [line]


def test_a_sharding_that_is_fixed_decides_what_is_moved(tmp_path: Path) -> None:
    data = with_zero(offload_optimizer={"device": "cpu"}, offload_param={"device": "cpu"})
    assert launch(data, tmp_path, "sharding=zero1").plan.offload == ("optimizer",)
    assert launch(data, tmp_path, "sharding=zero3").plan.offload == ("optimizer", "weights")


@each(
    ("said", "precision"),
    [
        ({"enabled": True, "dtype": "bfloat16"}, "bf16"),
        ({"enabled": True, "dtype": "torch.float16"}, "fp16"),
        ({"enabled": True}, "fp16"),
        ({"enabled": True, "dtype": "fp32"}, "fp32"),
        ({"enabled": False, "dtype": "bf16"}, "fp32"),
    ],
)
def test_products_under_autocast(said: dict[str, object], precision: str, tmp_path: Path) -> None:
    data = {"train_batch_size": 64, "zero_optimization": {"stage": 3}, "torch_autocast": said}
    found = launch(data, tmp_path)
    assert found.request.precision == precision
    lines = ["torch_autocast.enabled" in one for one in found.imported.warnings]
    assert lines == [True] * (precision != "fp32")


@each(
    ("data", "fields"),
    [
        (zero3(cpu_offload_param=True), {"offload": ("weights",)}),
        (zero3(cpu_offload_param=True, cpu_offload=True), {"offload": ("optimizer", "weights")}),
        (zero3(cpu_offload=True, offload_param={"device": "cpu"}),
         {"offload": ("optimizer", "weights")}),
        ({**BASE, "zero_optimization": True}, {"sharding": "zero1"}),
        ({**BASE, "zero_optimization": False}, {"sharding": "ddp"}),
    ],
)  # fmt: skip
def test_old_forms(data: dict[str, object], fields: dict[str, object], tmp_path: Path) -> None:
    plan = launch(data, tmp_path).plan
    assert {name: getattr(plan, name) for name in fields} == fields


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

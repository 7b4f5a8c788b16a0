"""Programs on transformers' Trainer that Accelerate, DeepSpeed or torchrun start, and TRL's."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.question.launch import LaunchRead, read_launch
from planner.question.launch.edit import diff_to

FSDP = (
    "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 1\n"
    "  fsdp_sharding_strategy: FULL_SHARD\nmixed_precision: bf16\nnum_processes: 16\n"
)
ZERO = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nnum_processes: 8\n"
ARGUMENTS = (
    "--model_name_or_path meta-llama/Meta-Llama-3-8B --per_device_train_batch_size 2 "
    "--gradient_accumulation_steps=4 --max_seq_length 4096 --bf16"
)
RUN = f"accelerate launch --config_file conf/a.yaml train.py {ARGUMENTS}"
LORA = "--use_peft --lora_r 8 --lora_target_modules q_proj k_proj v_proj --lora_dropout 0"


def started(text: str, folder: Path, config: str = FSDP) -> LaunchRead:
    (folder / "conf").mkdir(exist_ok=True)
    (folder / "conf" / "a.yaml").write_text(config, encoding="utf-8")
    (folder / "run.sh").write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    return read_launch("auto", folder / "run.sh")


def test_the_program_says_the_job_and_the_configuration_what_shards_it(tmp_path: Path) -> None:
    found = started(RUN, tmp_path)
    plan, job = found.plan, found.request
    assert (plan.fsdp, plan.dp, plan.sharding, plan.micro_batch) == (16, 1, "zero3", 2)
    assert (plan.recompute, job.precision, job.framework) == ("none", "bf16", "fsdp")
    assert (job.model, job.job, job.batch_tokens) == ("llama3-8b", "finetune", 2 * 4 * 16 * 4096)
    assert any(one.value == "train.py" for one in found.imported.assumed)
    wrapped = 'L="accelerate launch --config_file conf/a.yaml"\nsrun bash -c "$L train.py $A"'
    assert started(f'A="{ARGUMENTS}"\n{wrapped}', tmp_path).plan == plan


@each(
    ("config", "words", "mesh", "sharding", "framework"),
    [
        (ZERO, "", (8, 1), "zero2", "deepspeed"),
        (ZERO.replace(": 2", ": 3"), "", (1, 8), "zero3", "deepspeed"),
        ("distributed_type: MULTI_GPU\nnum_processes: 4\n", "", (4, 1), "ddp", "fsdp"),
        (FSDP.replace("FULL_SHARD", "HYBRID_SHARD"), "", (2, 8), "zero3", "fsdp"),
        (FSDP, "--num_processes 32", (1, 32), "zero3", "fsdp"),
        (FSDP, "--use_deepspeed --zero_stage 1", (16, 1), "zero1", "deepspeed"),
    ],
)
def test_what_shards_it(
    config: str, words: str, mesh: tuple[int, int], sharding: str, framework: str, tmp_path: Path
) -> None:
    found = started(RUN.replace("launch ", f"launch {words} "), tmp_path, config)
    plan = found.plan
    assert ((plan.dp, plan.fsdp), plan.sharding) == (mesh, sharding)
    assert found.request.framework == framework


@each(
    ("command", "mesh", "sharding"),
    [
        ("torchrun --nproc_per_node 8 train.py --fsdp 'full_shard auto_wrap'", (1, 8), "zero3"),
        ("torchrun --nproc_per_node 8 train.py", (8, 1), "ddp"),
        ("python job.py --num_nodes 9 -- torchrun --nproc_per_node=8 train.py", (8, 1), "ddp"),
        ("accelerate launch --deepspeed_config_file z_stage3.conf t.py", (1, 8), "zero3"),
        ("accelerate launch --num_processes 8 --multi_gpu train.py", (8, 1), "ddp"),
        ("accelerate launch --config_file x/zero3.yaml -m my.train", (1, 8), "zero3"),
        ("trl sft --accelerate_config fsdp2 --num_processes 8", (1, 8), "zero3"),
    ],
)
def test_commands(command: str, mesh: tuple[int, int], sharding: str, tmp_path: Path) -> None:
    found = started(f"{command} {ARGUMENTS}", tmp_path)
    assert ((found.plan.dp, found.plan.fsdp), found.plan.sharding) == (mesh, sharding)


@each(("where", "chips"), [("a:0,1,3@b:2", 4), ("a@b:0", 8), ("a:", 8), ("a:0,x", 8)])
def test_chips_that_deepspeed_is_told(where: str, chips: int, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(
        '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}', "utf-8"
    )
    for words in (f"--include {where}", f"--include={where}"):
        text = f"deepspeed {words} train.py --deepspeed d.json {ARGUMENTS}"
        assert started(text, tmp_path).plan.chips == chips


def test_a_program_of_trl_has_its_defaults(tmp_path: Path) -> None:
    """TRL 1.16.0: gradients are checkpointed, products have bfloat16, 1,024 tokens, q and v."""
    few = re.sub(r"--(max_seq_length 4096|bf16)", "", ARGUMENTS)
    found = started(f"accelerate launch -m trl.scripts.dpo {few} --use_peft", tmp_path)
    job = found.request
    assert (found.plan.recompute, found.plan.micro_batch) == ("full", 4)
    assert (job.precision, job.seq_len, job.lora_rank) == ("bf16", 1024, 16)
    assert (job.job, job.reference, job.lora_targets) == ("lora", "adapters", ("q", "v"))
    assert not job.lora_dropout  # TRL switches it off for pairs (trainer/dpo_config.py)
    kept = f"accelerate launch -m trl.scripts.dpo {few} --use_peft --disable_dropout false"
    assert started(kept, tmp_path).request.lora_dropout == 0.05


def test_a_file_of_arguments_is_the_first_word_or_that_of_config(tmp_path: Path) -> None:
    (tmp_path / "conf.yaml").write_text(
        "model_name_or_path: mistralai/Mistral-7B-v0.1\nuse_peft: true\nlora_r: 8\n"
        "lora_target_modules:\n- q_proj\n- down_proj\nper_device_train_batch_size: 4\n", "utf-8"
    )  # fmt: skip
    for words in ("conf.yaml", "--config conf.yaml"):
        command = f"accelerate launch --config_file conf/a.yaml scripts/run_sft.py {words}"
        found = started(f"{command} --lora_r 32 --max_length 512", tmp_path)
        job = found.request
        assert (job.model, job.lora_rank, job.lora_targets) == ("mistral-7b", 32, ("q", "down"))
        assert (job.seq_len, found.plan.micro_batch, found.plan.recompute) == (512, 4, "full")
        assert any("taken for TRL's" in one.reason for one in found.imported.assumed)


def test_a_script_that_starts_the_one_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "start.sh").write_text(f"{RUN}\n", encoding="utf-8")
    found = started("#SBATCH --nodes=2\nsrun bash start.sh", tmp_path)
    assert (found.plan.fsdp, found.imported.source) == (16, "trl")


@each(
    "command", ["accelerate launch train.py", "deepspeed --num_gpus 8 train.py --deepspeed d.json"]
)
def test_adapters(command: str, tmp_path: Path) -> None:
    zero = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}'
    (tmp_path / "d.json").write_text(zero, encoding="utf-8")
    job = started(f"{command} {ARGUMENTS} {LORA} --load_in_4bit True", tmp_path).request
    assert (job.job, job.lora_rank, job.lora_targets) == ("lora", 8, ("q", "k", "v"))
    assert job.frozen_weights == "nf4"
    off = LORA.replace("use_peft", "use_peft False")
    assert started(f"{command} {ARGUMENTS} {off}", tmp_path).request.job != "lora"


@each(
    ("text", "said"),
    [
        (RUN.replace("train.py", "grpo.py"), "grpo.py trains with rewards or rollouts"),
        (RUN.replace("Meta-Llama-3-8B", "mine"), "trains 'mine', which is no model of"),
        (RUN.replace("meta-llama/", "$M/"), "trains '$M/Meta-Llama-3-8B', which is no model"),
        (f"for L in $N; do\n{RUN}\ndone", "line 2: `for` and what it repeats or chooses is left"),
        (RUN.replace("batch_size 2", "batch_size $B"), "'$B' is not a whole number"),
        (f"{RUN} {LORA.replace('q_proj k_proj v_proj', 'a b')}", "lora_target_modules: names none"),
        (f"{RUN} --deepspeed x.json", "x.json does not lie beside it; --fix sharding=zero3"),
        (RUN.replace("launch ", "launch --use_megatron_lm "), "use_megatron_lm: is none of"),
        (f"trl grpo {ARGUMENTS}", "trl grpo trains with rewards or rollouts"),
        ("accelerate launch t.py --config x.yaml", "its arguments are in 'x.yaml', which does not"),
    ],
)
def test_what_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        started(text, tmp_path)


def test_what_accelerate_starts_otherwise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="distributed_type: MEGATRON_LM is none of FSDP"):
        started(RUN, tmp_path, FSDP.replace(": FSDP", ": MEGATRON_LM"))


def test_weights_have_the_format_that_they_are_stored_in(tmp_path: Path) -> None:
    """from_pretrained of transformers 5 loads them so, unless told otherwise."""
    config = FSDP.replace("mixed_precision: bf16\n", "")
    for words, precision in (("", "bf16"), ("--bf16 False", "fp32"), ("--fp16 True", "fp16")):
        found = started(RUN.replace("--bf16", words), tmp_path, config)
        assert found.request.precision == precision


def test_a_stage_that_no_plan_of_fsdp_has_is_taken_for_the_nearest(tmp_path: Path) -> None:
    config = FSDP.replace("FULL_SHARD", "SHARD_GRAD_OP")
    found = started(RUN, tmp_path, config)
    assert found.plan.sharding == "zero3"
    assert "shards gradients and keeps weights whole" in str(found.imported.warnings)


def changed(read: LaunchRead, folder: Path, **fields: object) -> LaunchRead:
    """What the launch says after the diff to another plan was applied."""
    path = folder / "run.sh"
    diff, why = diff_to(read, replace(read.plan, **fields), "auto", path, {}, {})
    assert why == ""
    subprocess.run(["patch", "-p0"], input=diff, text=True, check=True, cwd=folder)
    return read_launch("auto", path)


def test_changes_of_a_script_and_of_its_json(tmp_path: Path) -> None:
    trainer = changed(started(RUN, tmp_path), tmp_path, micro_batch=4, recompute="full")
    assert (trainer.plan.micro_batch, trainer.plan.recompute) == (4, "full")
    sizes = ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    lines = "".join(f'  "{name}": "auto",\n' for name in sizes)
    zero = f'{{\n{lines}  "zero_optimization": {{\n    "stage": 3\n  }}\n}}\n'
    (tmp_path / "d.json").write_text(zero, encoding="utf-8")
    words = ARGUMENTS.replace("--bf16", "--gradient_checkpointing True")
    script = started(f"deepspeed --num_gpus 8 train.py --deepspeed d.json {words}", tmp_path)
    mesh = {"dp": 8, "fsdp": 1, "sharding": "zero2"}
    plan = changed(script, tmp_path, micro_batch=1, recompute="none", **mesh).plan
    assert (plan.micro_batch, plan.recompute, plan.sharding) == (1, "none", "zero2")

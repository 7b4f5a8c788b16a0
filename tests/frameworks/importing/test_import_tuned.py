"""Configurations of torchtune, Axolotl and TRL: what is exported reads back as the same."""

import re
import subprocess
from pathlib import Path

import pytest
from support.cases import each

from frameworks.export.test_export_tuning import (
    JOBS,
    REFUSED,
    REPLICAS,
    SHARDED,
    exported,
    resolved,
    texts,
)
from planner.base.errors import InputError
from planner.plan import Plan
from planner.question.launch import read_launch
from planner.question.launch.edit import diff_to
from planner.question.resolved import resolve

GIVEN = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 8}
OFFLOADED = Plan(fsdp=8, sharding="zero3", micro_batch=4, offload=("optimizer", "weights"))
CASES = [
    *(("torchtune", name, plan) for name in JOBS for plan in (SHARDED, OFFLOADED)),
    *(("axolotl", name, plan) for name in JOBS for plan in (SHARDED, REPLICAS, OFFLOADED)),
    *(("trl", name, plan) for name in JOBS for plan in (SHARDED, REPLICAS, OFFLOADED)),
]


def written(target: str, name: str, plan: Plan, folder: Path) -> Path:
    for file, text in texts(exported(target, name, plan)).items():
        (folder / file).write_text(text)
    return folder / f"{target}.yaml"


@each(
    ("target", "name", "plan"),
    [case for case in CASES if case[:2] not in REFUSED and case[1:] != ("dpo", OFFLOADED)],
)
def test_an_export_reads_back(target: str, name: str, plan: Plan, tmp_path: Path) -> None:
    try:
        path = written(target, name, plan, tmp_path)
    except InputError:  # a rule of the target: no plan of its
        return
    found = read_launch("auto", path, GIVEN)
    assert found.imported.source == target
    other = "axolotl" if target == "torchtune" else "torchtune"
    with pytest.raises(InputError, match=f"is a launch of {target}"):
        read_launch(other, path, GIVEN)
    for field in ("mesh", "sharding", "micro_batch", "recompute", "offload"):
        assert getattr(found.plan, field) == getattr(plan, field), field
    job, own = resolve(found.request, chips=8).cost.job, resolved(name).cost.job
    for field in (
        "learns", "seq_len", "global_batch", "precision", "lora_rank", "adapted", "adapter",
        "frozen_weights", "lora_dropout", "reference", "optimizer",
    ):  # fmt: skip
        assert getattr(job, field) == getattr(own, field), field


@each(("target", "micro_batch"), [("torchtune", 1), ("axolotl", 1)])
def test_a_diff_applies_and_reads_back(target: str, micro_batch: int, tmp_path: Path) -> None:
    path = written(target, "lora", SHARDED, tmp_path)
    before = read_launch("auto", path, GIVEN)
    after = Plan(fsdp=8, sharding="zero3", micro_batch=micro_batch)
    diff, why = diff_to(before, after, "auto", path, GIVEN, {})
    assert not why
    subprocess.run(["patch", "-p0"], input=diff, text=True, check=True, cwd=tmp_path)
    found = read_launch("auto", path, GIVEN)
    assert (found.plan.micro_batch, found.plan.recompute) == (micro_batch, "none")
    assert found.request.batch_tokens == before.request.batch_tokens


LLAMA = "base_model: Llama-3-8B\nmicro_batch_size: 1\n"
BUILT = "model:\n  _component_: torchtune.models.llama3.llama3_8b\n"
TRAINED = f"{BUILT}optimizer:\n  _component_: torch.optim.AdamW\n"


@each(
    ("text", "why"),
    [
        ("base_model: Llama-3-8B\nmicro_batch_size: 0\ndatasets: []\n", "'0' is not a whole"),
        (f"{LLAMA}datasets: []\nrl: kto\n", "kto is none of dpo"),
        (f"{LLAMA}datasets: []\nlisa_n_layers: 4\n", "trains a part of the weights"),
        ("base_model: x\nmicro_batch_size: 1\ndatasets: []\n", "trains 'x', which is no model"),
        (f"{LLAMA}adapter: lora\nlora_dropout: nan\n", "not a number from 0 to 1"),
        ("base_model: [\nmicro_batch_size: 1\nadapter: lora\n", "line 3: not valid YAML"),
        (BUILT, "does not train"),
        (f"{TRAINED}dtype: int7\n", "'int7' is not one of bf16"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "tune.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=why):
        read_launch("auto", path)


def test_a_script_gets_its_arguments_and_starts_another(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.sh", tmp_path / "run.sh"
    inner.write_text(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
        "--num-attention-heads 32 --seq-length 2048 --bf16 --micro-batch-size ${2:-1} "
        "--tensor-model-parallel-size $1 --global-batch-size 64\n"
    )
    outer.write_text('#!/bin/bash\nTP=$1\nbash ./inner.sh "$TP" 4\n')
    found = read_launch("auto", Path(f"{outer}::2"))
    assert (found.plan.tp, found.plan.micro_batch) == (2, 4)
    assert read_launch("auto", Path(f"{inner}::8")).plan.micro_batch == 1
    inner.write_text(inner.read_text().replace("torchrun", "TP=$1\ntorchrun"))
    with pytest.raises(InputError, match="takes 1 argument; give"):
        read_launch("auto", inner)
    with pytest.raises(InputError, match="a quote is not closed"):
        read_launch("auto", Path(f"{inner}::'8"))
    inner.unlink()
    with pytest.raises(InputError, match=r"is not known|starts inner\.sh"):
        read_launch("auto", Path(f"{outer}::2"))


PUBLISHED = Path(__file__).parent / "published" / "torchtune-0.6.1"
RUN = "tune run --nnodes 2 --nproc_per_node $N lora_finetune_distributed --config {} "


def tuned(tmp_path: Path, text: str):
    config = (PUBLISHED / "llama3_1-70B_lora.yaml.txt").read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(config, encoding="utf-8")
    (tmp_path / "run.sh").write_text(f"N=8\n{text}\n", encoding="utf-8")
    return read_launch("auto", tmp_path / "run.sh", {"seq_len": 4096})


def test_a_command_of_torchtune_is_read_over_its_file(tmp_path: Path) -> None:
    plain = tuned(tmp_path, RUN.format("mine.yaml"))
    assert (plain.plan.chips, plain.plan.fsdp, plain.request.lora_rank) == (16, 16, 16)
    over = "batch_size=4 model.lora_rank=32 model.lora_attn_modules='[q_proj,k_proj]' "
    more = "gradient_accumulation_steps=2 enable_activation_checkpointing=False ~compile"
    found = tuned(tmp_path, RUN.format("./mine.yaml") + over + more)
    assert (found.plan.micro_batch, found.plan.recompute) == (4, "none")
    assert (found.request.lora_rank, found.request.batch_tokens) == (32, 4 * 2 * 16 * 4096)
    assert found.request.lora_targets[:2] == ("q", "k")
    shown = tuned(
        tmp_path,
        RUN.format("mine.yaml") + "optimizer=torch.optim.AdamW\n" + RUN.format("mine.yaml"),
    )
    assert any("line 3: another launch is left out" in line for line in shown.imported.warnings)


@each(
    ("text", "line"),
    [
        (RUN.format("llama3_1/8B_lora"), "tune cp llama3_1/8B_lora 8B_lora.yaml copies one of"),
        (RUN.format("mine.yaml") + "batch_size=$B", "'$B' is not a whole number"),
        ("for i in $K; do\n  tune run x --config mine.yaml\ndone", "no command `tune run`"),
    ],
)
def test_what_a_command_of_torchtune_lacks(text: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(line)):
        tuned(tmp_path, text)

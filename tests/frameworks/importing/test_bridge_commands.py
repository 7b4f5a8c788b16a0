"""Recipes of Megatron-Bridge that a script starts by their name, with what it changes."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.question.launch import LaunchRead, read_launch
from planner.question.launch.edit import diff_to

RUN = "torchrun --nnodes 8 --nproc_per_node=8 scripts/training/run_recipe.py"
LLAMA = f"{RUN} --model llama3_70b --mode pretrain -tp 8 -mb 1 -gb $((64 * 2)) -sl 4096"


def started(text: str, folder: Path) -> LaunchRead:
    (folder / "run.sh").write_text(f"{text}\n", encoding="utf-8")
    return read_launch("auto", folder / "run.sh")


def test_options_and_overrides_change_the_named_recipe(tmp_path: Path) -> None:
    """run_recipe.py: KEY=VALUE comes after the options; the data set's length is the model's."""
    plain = started(f"{RUN} --recipe llama3_70b_pretrain_config", tmp_path)
    assert (plain.plan.tp, plain.plan.pp, plain.plan.cp, plain.plan.interleave) == (4, 4, 2, 5)
    assert (plain.plan.chips, plain.request.seq_len) == (64, 8192)
    more = "model.pipeline_model_parallel_size=2 +model.context_parallel_size=1"
    off = f"{LLAMA} {more} model.virtual_pipeline_model_parallel_size=null"
    plan, job = (one := started(f"{off} -cp 4", tmp_path)).plan, one.request
    assert (plan.tp, plan.pp, plan.cp, plan.dp, plan.interleave) == (8, 2, 1, 4, 1)
    assert (plan.micro_batch, job.batch_tokens, job.seq_len) == (1, 128 * 4096, 4096)
    assert job.model == "llama3-70b"


def test_chips_are_those_in_the_name_where_no_launcher_says_them(tmp_path: Path) -> None:
    words = "python scripts/training/run_recipe.py --recipe llama3_70b_pretrain_config"
    assert started(words, tmp_path).plan.chips == 32


@each(
    ("words", "said"),
    [
        ("--recipe llama3_70b_pretrain_confg", "did you mean 'llama3_70b_pretrain_config'?"),
        ("--model llama3_8b --mode lora", "llama3_8b_lora_config trains adapters"),
        ("--recipe llama3_8b_peft_config", "llama3_8b_peft_config trains adapters"),
        ("--recipe llama3_70b_pretrain_config -tp $TP", "-tp: '$TP' is not a whole number"),
        ("--recipe llama3_70b_pretrain_config model.context_parallel_size=x", "'x' is not a whole"),
    ],
)
def test_what_is_refused(words: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        started(f"{RUN} {words}", tmp_path)


@each(
    ("after", "line"),
    [
        ({"micro_batch": 2}, "train.micro_batch_size=2"),
        ({"tp": 4, "dp": 4}, "model.tensor_model_parallel_size=4"),
        ({"recompute": "full"}, "model.recompute_granularity=full"),
    ],
)
def test_a_change_is_an_override(after: dict[str, object], line: str, tmp_path: Path) -> None:
    read = started(LLAMA, tmp_path)
    plan = replace(read.plan, **after)
    diff, why = diff_to(read, plan, "auto", tmp_path / "run.sh", {}, {})
    assert why == ""
    assert line in diff

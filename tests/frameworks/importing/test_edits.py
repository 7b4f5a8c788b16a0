"""Launches of every form changed in place: what comes out reads back as the wanted plan."""

from dataclasses import replace
from pathlib import Path

from support.cases import each

from frameworks.importing import test_auto as forms
from planner.frameworks.reading.edits import Setting, edited
from planner.plan import Plan
from planner.question.launch import read_launch
from planner.question.launch.edit import diff_to

TITAN = """
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 4  # sequences
seq_len = 8192
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 8
[activation_checkpoint]
mode = "full"
"""
LLAMA = forms.LLAMA.replace("batch-size 1 ", "batch-size 2 ")
SCRIPT = f"torchrun --nnodes 8 --nproc_per_node 8 p.py {LLAMA}"
NANOTRON = """
model:
  model_config:
    num_hidden_layers: 32
    hidden_size: 4096
    num_attention_heads: 32
    num_key_value_heads: 32
    intermediate_size: 11008
    vocab_size: 32000
parallelism:
  dp: 4
  pp: 2
  tp: 2
  tp_mode: REDUCE_SCATTER
tokens:
  micro_batch_size: 2
  batch_accumulation_per_replica: 8
  sequence_length: 4096
optimizer:
  zero_stage: 1
"""


def moved(plan: Plan) -> Plan:
    """Half of tp to the data ranks, and half of the micro-batch."""
    data = "fsdp" if plan.fsdp > 1 else "dp"
    sizes = {"tp": plan.tp // 2, data: getattr(plan, data) * 2}
    sizes["micro_batch"] = max(1, plan.micro_batch // 2)
    return replace(plan, **sizes, sequence_parallel=plan.sequence_parallel and plan.tp > 2)


def kept(plan: Plan) -> Plan:
    return replace(plan, recompute="none" if plan.recompute == "full" else "full")


def smaller(plan: Plan) -> Plan:
    return replace(plan, micro_batch=plan.micro_batch // 2)


@each("change", [moved, kept, smaller])
@each(
    ("text", "file"),
    [
        (forms.NEOX.replace(", ", ",\n  "), "neox.yml"),
        (forms.NEMO.replace("micro_batch_size: 1", "micro_batch_size: 2"), "nemo.yaml"),
        (forms.PRIMUS, "primus.yaml"),
        (SCRIPT, "run.sh"),
        (forms.MAXTEXT.replace("batch_size=2", "batch_size=1"), "70b.sh"),
        (TITAN, "train.toml"),
        (NANOTRON, "config.yaml"),
    ],
)
def test_the_changed_text_is_the_wanted_plan(
    change: object, text: str, file: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    read = read_launch("auto", path)
    wanted = change(read.plan)
    diff, why = diff_to(read, wanted, "auto", path, {}, {})
    assert diff, why
    assert diff.startswith(f"--- {path.name}\n")  # patch refuses names outside of its folder
    assert path.read_text(encoding="utf-8") == text


TP, OFF = Setting(names=("t_p",), value="8"), Setting(names=("sp",), value=None, switch=True)


@each(
    ("text", "setting", "found"),
    [
        ("#!x\n# --t-p 2\np --t-p 4\n", TP, "#!x\n# --t-p 2\np --t-p 8\n"),
        ("#!x\nT=4\np --t-p=$T\n", TP, "#!x\nT=8\np --t-p=$T\n"),
        ("#!x\nU=4\nT=$U\np --t_p $T\n", TP, "#!x\nU=8\nT=$U\np --t_p $T\n"),
        ("#!x\nT=${T:-4}\np t_p=$T\n", TP, "#!x\nT=${T:-8}\np t_p=$T\n"),
        ("#!x\np --a 1 \\\n  --sp \\\n  --b\n", OFF, "#!x\np --a 1 \\\n  --b\n"),
        ("#!x\np --a 1 --sp --b\n", OFF, "#!x\np --a 1 --b\n"),
        ("#!x\np --a 1 --b\n", TP, "#!x\np --a 1 --t-p 8 --b\n"),
        ("a: 1\n't_p': 4,  # four\n", TP, "a: 1\n't_p': 8,  # four\n"),
        ("a: 1\nb: 2\n", TP, "t_p: 8\na: 1\nb: 2\n"),
        ("[s]\nt = 1\n[r]\nt = 2\n", replace(TP, names=("r.t",)), "[s]\nt = 1\n[r]\nt = 8\n"),
        ("a: 1\n", replace(TP, present=True), ""),
        ("t_p: -1\n", replace(TP, free="-1"), ""),
    ],
)
def test_edits(text: str, setting: Setting, found: str) -> None:
    assert edited(text, [setting], ("a",))[:1] == ([found] if found else [])


def test_a_batch_that_stays_is_left_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(f"N=16\n{SCRIPT.replace('size 128 ', 'size $((8 * N)) ')}\n", "utf-8")
    read = read_launch("auto", path)
    diff, _ = diff_to(read, smaller(read.plan), "auto", path, {}, {})
    assert "-micro-batch-size 1 --global-batch-size $((8 * N)) " in diff

"""Launches whose framework, model, chips and machine nobody names."""

from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.frameworks.recognition import recognized
from planner.question.launch import LaunchRead, read_launch
from planner.question.launch.machine import machine_of, remarked_chips
from planner.question.launch.model import model_called

SHAPE = "--num-layers 80 --hidden-size 8192 --num-attention-heads 64 --group-query-attention "
LLAMA = (
    f"{SHAPE} --num-query-groups 8 --ffn-hidden-size 28672 --swiglu --normalization RMSNorm "
    "--untie-embeddings-and-output-weights --disable-bias-linear --seq-length 8192 "
    "--micro-batch-size 1 --global-batch-size 128 --bf16 --tensor-model-parallel-size 8 "
    "--pipeline-model-parallel-size 4 --use-distributed-optimizer --vocab-size 128256"
)
PRIMUS = """
modules:
  pre_trainer:
    framework: megatron
    model: llama3.1_8B.yaml
    overrides:
      micro_batch_size: 2
      global_batch_size: 128
      seq_length: ${PRIMUS_SEQ_LENGTH:8192}
      tensor_model_parallel_size: 2
      overlap_grad_reduce: true
"""
NEOX = """
{
  "pipe_parallel_size": 4, "model_parallel_size": 2,
  "num_layers": 44, "hidden_size": 6144, "num_attention_heads": 64, "seq_length": 2048,
  "pos_emb": "rotary", "no_weight_tying": true, "gpt_j_residual": true,
  "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 32,
  "checkpoint_activations": true, "zero_optimization": {"stage": 1},
  "fp16": {"enabled": true},  # on 96x 40GB A100
}
"""
NEMO = """
trainer:
  num_nodes: 16
  devices: 8
  precision: bf16
exp_manager:
  model_parallel_size: ${multiply:${training.model.tensor_model_parallel_size}, 2}
model:
  micro_batch_size: 1
  global_batch_size: 256
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 8
  virtual_pipeline_model_parallel_size: 6
  encoder_seq_length: 2048
  num_layers: 96
  hidden_size: 12288
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 96
  optim: {name: mcore_distributed_optim, overlap_grad_sync: true, overlap_param_sync: true}
"""
DEEPSPEED = """
ZERO=2
cat <<EOT > config.json
{"train_batch_size": 64, "zero_optimization": {"stage": $ZERO}, "fp16": {"enabled": true}}
EOT
deepspeed --num_nodes 2 pretrain_gpt.py --num-layers 40 --hidden-size 5120 \\
  --num-attention-heads 40 --seq-length 2048 --micro-batch-size 2 --global-batch-size 64 --fp16 \\
  --checkpoint-activations   --deepspeed --deepspeed_config config.json
"""
MAXTEXT = """
# bash 70b.sh compile_topology=v5p-512
python3 -m maxtext.trainers.pre_train.train base.yml model_name=llama2-70b remat_policy=full \\
  per_device_batch_size=2 ici_fsdp_parallelism=-1 ici_tensor_parallelism=4 max_target_length=4096
"""
NANOTRON = """
model:
  model_config: {num_hidden_layers: 32, hidden_size: 4096, num_attention_heads: 32,
    num_key_value_heads: 32, intermediate_size: 11008, vocab_size: 32000}
parallelism: {dp: 4, pp: 2, tp: 2, pp_engine: 1f1b, tp_mode: REDUCE_SCATTER}
tokens: {micro_batch_size: 2, batch_accumulation_per_replica: 8, sequence_length: 4096}
optimizer: {zero_stage: 1}
"""


def read(text: str, folder: Path, name: str = "run.sh") -> LaunchRead:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_launch("auto", path)


def noted(found: LaunchRead) -> dict[str, str]:
    return {one.name: one.value for one in found.imported.assumed}


@each(
    ("text", "source", "model", "mesh", "batch", "sharding"),
    [
        (LLAMA, "megatron", "llama3-70b", {"tp": 8, "pp": 4, "dp": 1}, 128, "ddp"),
        (PRIMUS, "megatron", "llama3.1-8b", {"tp": 2, "dp": 4}, 128, "zero1"),
        (NEOX, "megatron", "gpt-neox-20b", {"tp": 2, "pp": 4, "dp": 12}, 4 * 32 * 12, "zero1"),
        (NEMO, "megatron", "gpt3-175b", {"tp": 4, "pp": 8, "dp": 4}, 256, "zero1"),
        (DEEPSPEED, "megatron", "gpt3-13b", {"dp": 16}, 64, "zero2"),
        (MAXTEXT, "maxtext", "llama2-70b", {"tp": 4, "fsdp": 64}, 512, "zero3"),
        (NANOTRON, "nanotron", "llama-7b", {"tp": 2, "pp": 2, "dp": 4}, 64, "zero1"),
    ],
)
def test_forms(
    text: str, source: str, model: str, mesh: dict, batch: int, sharding: str, tmp_path: Path
) -> None:
    found = read(text, tmp_path)
    assert found.imported.source == source
    assert found.request.model == model
    assert {axis: found.plan.mesh[axis] for axis in mesh} == mesh
    assert found.request.batch_tokens == batch * int(found.request.seq_len or 0)
    assert found.plan.sharding == sharding


def test_what_is_assumed_is_said(tmp_path: Path) -> None:
    found = read(LLAMA, tmp_path)
    assert noted(found)["chips"] == "32"
    assert noted(found)["hardware"] == "dgx-h100-ndr"
    [model] = [one for one in found.imported.assumed if one.name == "model"]
    assert model.reason == "it has its shape; so has llama3.1-70b, llama3.3-70b"
    assert noted(read(NEOX, tmp_path))["hardware"] == "dgx-a100-40-hdr"
    assert found.request.chips is None or found.plan.chips == 32


def test_a_shape_of_no_model_becomes_one(tmp_path: Path) -> None:
    found = read(LLAMA.replace("layers 80", "layers 72"), tmp_path)
    assert found.request.model in {"llama3-70b", "llama3.1-70b"}
    assert found.request.set == ("model.layers=72",)
    [model] = [one for one in found.imported.assumed if one.name == "model"]
    assert "its shape is that of no model" in model.reason
    assert "has not layers 72" in model.reason


def test_too_few_chips_of_an_example_are_replaced(tmp_path: Path) -> None:
    launcher = "torchrun --nnodes 1 --nproc_per_node 8 pretrain_gpt.py "
    found = read(launcher + LLAMA, tmp_path)
    assert found.plan.chips == 32
    assert "its launcher starts 8, too few" in str(found.imported.to_dict())


def test_a_file_beside_is_read_and_none_outside(tmp_path: Path) -> None:
    (tmp_path / "env.sh").write_text("TP=8\n", encoding="utf-8")
    text = "#!/bin/bash\nsource ./env.sh\nsource /etc/profile\nsource ../other.sh\ntorchrun p.py "
    found = read(text + LLAMA.replace("parallel-size 8", "parallel-size $TP"), tmp_path)
    assert found.plan.tp == 8
    left = [line for line in found.imported.warnings if "source" in line]
    assert left == [
        f"line {line}: `source {name}`, which does not lie beside it, is left out"
        for line, name in ((3, "/etc/profile"), (4, "../other.sh"))
    ]


def test_a_program_with_a_file_of_settings(tmp_path: Path) -> None:
    """Nanotron and Axolotl are told by a file; the launcher says the chips, options are named."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "n.yaml").write_text(NANOTRON, encoding="utf-8")
    (tmp_path / "conf" / "x.yaml").write_text("a: 1\n", encoding="utf-8")
    alone = read(NANOTRON, tmp_path)
    command = (
        "torchrun --nproc_per_node 8 run_train.py --log x.yaml --config-file=conf/n.yaml --a 1"
    )
    for text in (f"#!/bin/bash\nsrun bash -c '{command}'", f"A_B=1 {command}"):
        found = read(f"{text}\n", tmp_path)
        assert (found.plan, found.imported.source) == (alone.plan, "nanotron")
        assert "the settings are those of conf/n.yaml" in found.imported.warnings[0]
        assert found.imported.warnings[0].endswith("is left out: --a 1")
    for file, why in (
        ("conf/x.yaml", "is not known as a launch of"),
        ("y.yaml", "names y.yaml, wh"),
    ):
        with pytest.raises(InputError, match=why):
            read(f"#!/bin/bash\ntorchrun t.py --config-file {file}\n", tmp_path)


def test_scripts_that_start_one_another(tmp_path: Path) -> None:
    (tmp_path / "run2.sh").write_text(f"torchrun p.py {LLAMA}\nbash run1.sh\n", encoding="utf-8")
    (tmp_path / "run1.sh").write_text("bash ./run2.sh\n", encoding="utf-8")
    assert read("#!/bin/bash\nsrun bash run1.sh\n", tmp_path).plan.tp == 8


def test_what_the_environment_gives_stands_behind_the_name(tmp_path: Path) -> None:
    words = LLAMA.replace("size 8 ", "size $TP ").replace(
        "--pipeline-model-parallel-size 4", "$1 4"
    )
    path = tmp_path / "run.sh"
    chosen = 'if [ $NODES -ge 8 ]; then : "${TP:=8}"; else : "${TP:=2}"; fi\n'
    path.write_text(f"{chosen}torchrun --nnodes $NODES --nproc_per_node 8 p.py {words}\n", "utf-8")
    for given, tp in (("NODES=8", 8), ("NODES=4", 2), ("NODES=8 TP=4", 4)):
        plan = read_launch("auto", Path(f"{path}::{given} --context-parallel-size")).plan
        assert (plan.tp, plan.cp, plan.chips) == (tp, 4, int(given[6]) * 8)
    with pytest.raises(InputError, match="'FILE::NAME=VALUE' gives what it asks for"):
        read_launch("auto", Path(f"{path}::--context-parallel-size"))
    path.write_text(f"torchrun --nproc_per_node 8 p.py {words}\n", encoding="utf-8")
    with pytest.raises(InputError, match="does not define; 'FILE::TP=VALUE' gives it"):
        read_launch("auto", Path(f"{path}::--context-parallel-size"))


def test_a_file_of_the_repository_is_read_by_its_path_from_above(tmp_path: Path) -> None:
    """Scripts are run at the root of their repository; what lies outside of that is none of it."""
    (folder := tmp_path / "repository" / "scripts").mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    (folder.parent / "env.sh").write_text("TP=8\n", encoding="utf-8")
    (tmp_path / "outer.sh").write_text("TP=2\n", encoding="utf-8")
    text = "source ./env.sh\nsource outer.sh\nsource ../../outer.sh\ntorchrun p.py "
    found = read(text + LLAMA.replace("parallel-size 8", "parallel-size $TP"), folder)
    assert found.plan.tp == 8
    assert len([line for line in found.imported.warnings if "source" in line]) == 2


@each(
    ("text", "path", "cluster"),
    [
        ("", "x/MI300X/a.yaml", "mi300x-8way"),
        ("#SBATCH --constraint=v100-32g", "run.slurm", "v100-32gb-edr"),
        ("--device-type=tpu7x-4x4x4", "run.sh", "tpu-v7"),
        ("on GB200", "run.sh", "gb200-nvl72"),
        ("# fp8 of 8xh1000", "run.sh", "dgx-h100-ndr"),
    ],
)
def test_machines(text: str, path: str, cluster: str) -> None:
    assert machine_of(text, path, ()).value == cluster


def test_the_usual_machine_of_a_framework() -> None:
    assert machine_of("", "run.sh", ("google",)).value == "tpu-v5p"


@each(
    ("called", "name"),
    [
        ("meta-llama/Meta-Llama-3-70B", "llama3-70b"),
        ("mixtral_8x7B_v0.1", "mixtral-8x7b"),
        ("DeepSeek-V3", "deepseek-v3"),
        ("deepseek_v2_lite", "deepseek-v2-lite"),
        ("llama", ""),
    ],
)
def test_names_in_any_spelling(called: str, name: str) -> None:
    assert model_called(called.rpartition("/")[2]) == name


@each(
    ("line", "chips"),
    [
        ("# a preset for 64 A100 GPUs.", 64),
        ("# trained on 96x 40GB A100", 96),
        ("x = 64 A100", None),
        ("# 0 GPUs", None),
    ],
)
def test_chips_in_a_remark(line: str, chips: int | None) -> None:
    assert remarked_chips(line) == chips


@each("text", ["hello", "a: 1\nb: 2\n", '{"x": 1}', "def f():\n    return 1\n"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not known as a launch"):
        recognized(text, "run.sh")

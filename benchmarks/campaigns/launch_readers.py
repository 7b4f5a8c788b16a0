"""Launches of every form that a framework has, and definitions of models: what of them is read."""

from __future__ import annotations

from pathlib import Path

from campaigns import python_text, samples
from campaigns.reader import Reader

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).with_name("kept")
_PUBLISHED = ROOT / "tests" / "frameworks" / "importing" / "published"
_AUTO = ("evaluate", "--from", "auto", "FILE", "--hardware", "dgx-h100-ndr", "--json")
_IMPORT = ("models", "import", "FILE", "--name", "mine", "-o", "OUT", "--json")
_SCRIPTS = {
    "settings beside a script": (
        _PUBLISHED / "axolotl-0.19.0" / "distributed-parallel-llama-3_1-8b-hsdp-tp.yaml.txt",
        ".yml", b"axolotl train file.yml --launcher torchrun -- --nproc-per-node 8\n",
    ),
    "launcher's settings beside a script": (
        _PUBLISHED / "trl-1.16.0" / "accelerate_configs-fsdp2.yaml.txt", ".yaml",
        b"accelerate launch --config_file file.yaml trl/scripts/sft.py --model_name_or_path "
        b"meta-llama/Llama-3.1-8B --per_device_train_batch_size 2 --max_length 4096 "
        b"--gradient_checkpointing true --bf16 true\n",
    ),
    "hosts beside a script": (
        KEPT / "beside.hosts", ".hosts",
        b"deepspeed --hostfile file.hosts pretrain_gpt.py --num-layers 40 --hidden-size 5120 "
        b"--num-attention-heads 40 --seq-length 2048 --micro-batch-size 2 --global-batch-size 64 "
        b"--fp16 --deepspeed --zero-stage 1\n",
    ),
}  # fmt: skip
"""A file that a command names: where one is, its ending, the command."""
_EXPERTS = (
    b"--bf16 --vocab-size 32000 --num-experts 8 --moe-router-topk 2 --expert-model-parallel-size 2 "
    b"--moe-ffn-hidden-size 4096 --moe-layer-freq '[1]*32' --moe-grouped-gemm"
)


def launch_readers() -> dict[str, Reader]:
    """Launches that are not exported: recipes, forms of Megatron-LM's relatives, files beside."""
    recipe = _PUBLISHED / "megatron-bridge-0.3.1" / "llama2.py.txt"
    python = {
        "recipe of Megatron-Bridge": recipe, "recipe of NeMo 2": KEPT / "nemo2.py.txt",
        "recipe of NeMo 2 by name": KEPT / "nemo2-changed.py.txt",
        "functions of torchtitan": KEPT / "registry.py.txt",
    }  # fmt: skip
    forms = {
        "launch, TOML of torchtitan": "titan.toml", "launch of NeMo 1": "nemo.yaml",
        "launch of GPT-NeoX": "neox.yml", "launch of Primus": "primus.yaml",
        "launch of Megatron-DeepSpeed": "fork.sh", "launch of a Bridge recipe": "bridge.sh",
    }  # fmt: skip
    of_16 = (*_AUTO, "--chips", "16")
    script = _PUBLISHED / "maxtext-0.2.5" / "tpu-v5p-llama2_70b.sh.txt"
    return {
        **{name: _python(path, of_16) for name, path in python.items()},
        **{name: Reader(suffix=Path(file).suffix, content=(KEPT / file).read_bytes(),
                        command=of_16 if "torchtitan" in name else _AUTO)
           for name, file in forms.items()},
        "launch with experts": Reader(
            suffix=".sh", content=samples.MEGATRON.replace(b"--bf16", _EXPERTS), command=_AUTO,
        ),
        "launch, script of MaxText": Reader(
            suffix=".sh", content=script.read_bytes(),
            command=("evaluate", "--from", "auto", "FILE", "--json"),
        ),
        **{name: Reader(suffix=suffix, content=path.read_bytes(), command=of_16,
                        beside=(".sh", b"#!/bin/bash\n" + text))
           for name, (path, suffix, text) in _SCRIPTS.items()},
    }  # fmt: skip


def _python(path: Path, command: tuple[str, ...]) -> Reader:
    return Reader(
        suffix=".py", content=path.read_bytes(), command=command,
        damage=python_text.damaged, strain=python_text.strained,
    )  # fmt: skip


def definition_readers() -> dict[str, Reader]:
    """What says a model in the words of a framework, and weights beside a config.json."""
    python = {
        "definition, data classes": ("hybrid.py.txt", "Hybrid8B"),
        "definition, arguments of torchtitan": ("titan-args.py.txt", "8B"),
        "definition, built by torchtitan": ("titan-built.py.txt", "1B"),
    }
    config = ("config.json", samples.CONFIG)
    return {
        **{name: _python(KEPT / file, (*_IMPORT, "--which", which))
           for name, (file, which) in python.items()},
        "definition, MaxText": Reader(
            suffix=".yml", content=(KEPT / "maxtext-model.yml").read_bytes(), command=_IMPORT,
        ),
        "definition, arguments": Reader(
            suffix=".sh", content=samples.MEGATRON.replace(b"--bf16", b"--bf16 --vocab-size 32000"),
            command=_IMPORT,
        ),
        "weights, index": Reader(
            suffix="model.safetensors.index.json", content=samples.INDEX, command=_IMPORT,
            beside=config,
        ),
        "weights, header": Reader(
            suffix=".safetensors", content=samples.HEADER, command=_IMPORT, beside=config,
        ),
    }  # fmt: skip

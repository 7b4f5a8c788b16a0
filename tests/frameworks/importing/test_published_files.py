"""Whole published launches of packages are read as they stand, or refused with the reason."""

from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.frameworks.torchtitan.reading.registry import REGISTRY, Registered
from planner.question.launch import read_launch
from planner.question.launch.read import LaunchRead

FOLDER = Path(__file__).parent / "published"
MAXTEXT, TITAN, TUNE = "maxtext-0.2.5", "torchtitan-0.3.0", "torchtune-0.6.1"
AXOLOTL = "axolotl-0.19.0"
READ: dict[str, dict[str, Any]] = {
    f"{MAXTEXT}/tpu-v5p-llama2_70b.sh": {
        "model": "llama2-70b", "hardware": "tpu-v5p", "fsdp": 256, "micro_batch": 4,
        "recompute": "selective", "rows": 1024, "seq_len": 4096,
    },
    f"{MAXTEXT}/tpu-v5p-128b.sh": {
        "model": "llama-65b", "hardware": "tpu-v5p", "tp": 8, "fsdp": 16, "dp": 2,
        "micro_batch": 8, "rows": 256, "seq_len": 2048,
    },
    f"{MAXTEXT}/tpu-v4-22b.sh": {
        "model": "llama-13b", "hardware": "tpu-v4", "fsdp": 64, "dp": 2, "micro_batch": 13,
        "recompute": "full", "rows": 1664, "seq_len": 2048,
    },
    f"{MAXTEXT}/tpu-v5e-gpt3_175b.sh": {
        "model": "gpt3-175b", "hardware": "tpu-v5e", "tp": 16, "fsdp": 16, "dp": 8,
        "micro_batch": 8, "recompute": "full", "rows": 1024, "seq_len": 2048,
    },
    f"{MAXTEXT}/tpu-v6e-mixtral_8x7b.sh": {
        "model": "mixtral-8x7b", "hardware": "tpu-v6e", "fsdp": 8, "micro_batch": 32,
        "recompute": "full", "rows": 256, "seq_len": 1024,
    },
    f"{MAXTEXT}/tpu-v6e-gemma3_27b.sh": {
        "model": "gemma3-27b", "hardware": "tpu-v6e", "fsdp": 256, "micro_batch": 2,
        "recompute": "full", "rows": 512, "seq_len": 8192,
    },
    f"{MAXTEXT}/gpu-models-gpt-oss-20b.yml": {
        "model": "gpt-oss-20b", "hardware": "dgx-h100-ndr", "fsdp": 8, "micro_batch": 16,
        "recompute": "selective", "rows": 128, "seq_len": 2048,
    },
    f"{MAXTEXT}/gpu-models-llama2_7b.yml": {
        "model": "llama2-7b", "hardware": "dgx-h100-ndr", "fsdp": 8, "micro_batch": 4,
        "rows": 32, "seq_len": 4096,
    },
    f"{TUNE}/llama3_1-70B_lora.yaml": {
        "model": "llama3.1-70b", "fsdp": 8, "micro_batch": 2, "recompute": "full", "rows": 16,
        "job": "lora", "lora_rank": 16,
        "lora_targets": ("q", "v", "o", "gate", "up", "down"),
    },
    f"{TUNE}/llama3_1-8B_full_dpo.yaml": {
        "model": "llama3.1-8b", "fsdp": 4, "micro_batch": 8, "recompute": "full", "rows": 256,
        "seq_len": 1024, "job": "finetune", "reference": "model",
    },
    f"{TUNE}/llama3-8B_qdora_single_device.yaml": {
        "model": "llama3-8b", "micro_batch": 2, "recompute": "full", "rows": 16, "job": "lora",
        "adapter": "dora", "frozen_weights": "nf4", "lora_rank": 8,
    },
    f"{TUNE}/llama3_3-70B_full_multinode.yaml": {
        "model": "llama3.3-70b", "fsdp": 8, "micro_batch": 4, "recompute": "full", "rows": 32,
        "seq_len": 1024, "job": "finetune",
    },
    f"{AXOLOTL}/distributed-parallel-llama-3_1-8b-hsdp-tp.yaml": {
        "model": "llama3.1-8b", "tp": 2, "fsdp": 4, "dp": 2, "micro_batch": 1, "rows": 8,
        "seq_len": 2048, "job": "finetune",
    },
    f"{AXOLOTL}/distributed-parallel-qwen3-8b-fsdp-tp-cp.yaml": {
        "model": "qwen3-8b", "tp": 2, "cp": 2, "fsdp": 2, "micro_batch": 1, "rows": 2,
        "seq_len": 8192, "job": "finetune",
    },
    f"{AXOLOTL}/llama-3-instruct-dpo-lora-8b.yml": {
        "model": "llama3-8b", "dp": 8, "micro_batch": 4, "recompute": "full", "rows": 128,
        "seq_len": 4096, "job": "lora", "reference": "adapters", "lora_rank": 32,
    },
    f"{AXOLOTL}/mistral-mistral-qlora-fsdp.yml": {
        "model": "mixtral-8x7b", "fsdp": 8, "micro_batch": 2, "recompute": "full", "rows": 64,
        "seq_len": 1024, "job": "lora", "frozen_weights": "nf4",
    },
}  # fmt: skip
"""What a file says, beside axes of 1, no recomputation and bf16: by hand from its text."""
REFUSED = {
    f"{MAXTEXT}/gpu-a3-llama_2_7b-8vm.sh": "its settings are in llama2_7b.yml, which does not lie",
    f"{MAXTEXT}/tpu-v5p-gpt3_175b-v5p_4096.sh": "starts gpt3_175b_base.sh, which does not lie",
    f"{TUNE}/llama3_2-8B_to_1B_KD_lora_distributed.yaml": "distils from a second model",
    f"{AXOLOTL}/llama-2-relora.yml": "relora: trains a part of the weights at a time",
    "levanter-1.1/llama2_7b.yaml": "is not known as a launch",
    "trl-1.16.0/accelerate_configs-fsdp2.yaml": "is not known as a launch",
    f"{TITAN}/llama3.py::llama3_debugmodel_float8_emulate_lora": "trains adapters",
    f"{TITAN}/llama3.py::llama3_debugmodel": "trains 'llama3 debugmodel', which is no model of",
}
MESH = ("dp", "fsdp", "tp", "cp", "pp", "ep", "micro_batch", "recompute")


def launch(name: str) -> LaunchRead:
    file, colons, function = name.partition("::")
    return read_launch("auto", Path(f"{FOLDER / file}.txt{colons}{function}"))


def test_every_file_is_expected_and_has_its_licence() -> None:
    names = {name.partition("::")[0] for name in (*READ, *REFUSED)}
    names |= {f"{TITAN}/{module}.py" for module in MODULES}
    for folder in FOLDER.iterdir():
        if folder.is_dir():
            assert (folder / "LICENSE").stat().st_size > 1000
    kept = {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*.txt")}
    assert {f"{name}.txt" for name in names} == {
        name for name in kept if not name.startswith("megatron-bridge")
    }
    assert len(kept) >= 20


@each(("name", "said"), READ.items())
def test_a_file_is_read(name: str, said: dict[str, Any]) -> None:
    found = launch(name)
    plain = {**dict.fromkeys(MESH, 1), "recompute": "none", "precision": "bf16"}
    wanted = {**plain, **said}
    rows = wanted.pop("rows")
    for field, value in wanted.items():
        got = getattr(found.plan if field in MESH else found.request, field)
        assert got == value, field
    assert found.request.batch_tokens == rows * int(found.request.seq_len or 0)


@each(("name", "why"), REFUSED.items())
def test_a_file_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        launch(name)


TUNING = ("sft_qwen3_8b_math", "qwen3_8b_first_85_pct_layers_nvfp4")
MODULES = ("llama3", "qwen3", "deepseek_v3", "gpt_oss")


def shipped() -> list[Registered]:
    """Configurations of models that the database has."""
    return [one for one in REGISTRY.values() if one.module in MODULES and "debug" not in one.flavor]


@each("one", shipped())
def test_a_function_says_what_its_name_does_on_a_command_line(
    one: Registered, tmp_path: Path
) -> None:
    found = read_launch("auto", Path(f"{FOLDER / TITAN / one.module}.py.txt::{one.name}"))
    command = tmp_path / "run.sh"
    command.write_text(
        f"torchrun --nproc_per_node 8 -m torchtitan.train --module {one.module} "
        f"--config {one.name} --training.steps 10\n"
    )
    said = read_launch("auto", command, {"chips": found.plan.chips})
    assert found.plan == said.plan
    for name in ("model", "batch_tokens", "seq_len", "precision", "framework"):
        assert getattr(found.request, name) == getattr(said.request, name), name
    assert (found.request.job == "finetune") == (one.name in TUNING)

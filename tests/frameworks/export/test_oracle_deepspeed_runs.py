"""DeepSpeed runs exports of small models as they are written, by their command, on CPUs."""

import math
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from frameworks.export.test_hf_types import small
from hardware_db import load_cluster
from models_db import Model
from planner.assumptions.assumptions import calibrated
from planner.cost.context import CostModel
from planner.cost.job import Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.plan import Plan, Stage

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
STEPS = 30
VOCABULARY = 256
STAND_INS = Path(__file__).parent / "on_cpu"
COMPILES_S = 1500
"""Time limit of a run, in seconds: the first one with an operator compiles it."""


def tiny(name: str) -> Model:
    """Four layers of width 64 like those of a model."""
    model = replace(small(name), name=f"tiny-{name}", layers=4, vocab_size=VOCABULARY)
    return (
        model if model.window is None else replace(model, window=replace(model.window, tokens=16))
    )


def losses(
    folder: Path, name: str, plan: Plan, precision: str = "fp32", hardware: str = "gaudi2"
) -> list[float]:
    """The loss of every step of a run with 4 sequences of 64 tokens per step.

    Intel's accelerators have the attention that CPUs have too; for that of GPUs there is a
    stand-in.
    """
    launcher = shutil.which("deepspeed")
    if launcher is None:
        pytest.skip("deepspeed is not on the PATH")
    cluster, framework = load_cluster(hardware), FRAMEWORKS["deepspeed"]
    job = Job(
        model=tiny(name),
        seq_len=64,
        global_batch=4,
        framework=framework,
        era=framework.era,
        precision=precision,
    )
    cost = CostModel.build(job, cluster, calibrated(cluster.chip, framework.era))
    export = export_plan(cost, plan, TARGETS["deepspeed"])
    for file in export.files:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    script = next(file for file in export.files if file.name == "train.py")
    own = {"DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    if "flash_attention_2" in script.text:
        own |= {"STAND_IN": "flash", "PYTHONPATH": str(STAND_INS)}
    command, *arguments = export.command.split()
    assert command == "deepspeed"
    port = f"--master_port={20000 + os.getpid() % 20000}"
    ran = subprocess.run(
        [launcher, port, *arguments],
        cwd=folder,
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=COMPILES_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
    found = re.findall(r"step (\d+): loss (\S+)", ran.stdout)
    assert [int(step) for step, _ in found] == list(range(1, STEPS + 1))
    return [float(loss) for _, loss in found]


WHOLE = {"sequence_parallel": False}
HEADS = {"cp_mode": "all-to-all"}
RUNS: dict[str, tuple[str, dict[str, Any], str]] = {
    "optimizer on the host": (
        "llama2-13b",
        {"dp": 2, "sharding": "zero1", "offload": ("optimizer",), "recompute": "full"},
        "bf16",
    ),
    "zero3": ("qwen3-8b", {"fsdp": 2, "sharding": "zero3", "recompute": "full"}, "bf16"),
    "all on the host": (
        "llama2-13b",
        {"fsdp": 2, "sharding": "zero3", "offload": ("optimizer", "weights")},
        "fp32",
    ),
    "tensors and zero3": ("gemma3-4b", {"tp": 2, "fsdp": 2, "sharding": "zero3"} | WHOLE, "bf16"),
    "sequences and zero3": (
        "llama2-13b",
        {"cp": 2, "fsdp": 2, "sharding": "zero3"} | HEADS,
        "fp32",
    ),
    "experts": ("mixtral-8x7b", {"dp": 2, "ep": 2, "sharding": "zero1"}, "bf16"),
    "experts of latent attention": (
        "deepseek-v3",
        {"dp": 2, "ep": 2, "sharding": "zero2", "recompute": "full"},
        "bf16",
    ),
    "pipeline": ("qwen3-8b", {"pp": 2, "dp": 2, "sharding": "zero1", "recompute": "full"}, "bf16"),
    "uneven pipeline of experts": (
        "mixtral-8x7b",
        {"pp": 2, "stages": (Stage(layers=1), Stage(layers=3)), "sharding": "ddp"},
        "fp32",
    ),
}


@each("name", RUNS)
def test_it_runs(name: str, tmp_path: Path) -> None:
    model, plan, precision = RUNS[name]
    for loss in losses(tmp_path, model, Plan(**plan), precision):
        assert loss == pytest.approx(math.log(VOCABULARY), abs=0.4)


GPUS: dict[str, tuple[str, dict[str, Any], str]] = {
    "replicas": ("llama3-8b", {"dp": 2, "sharding": "zero1"}, "bf16"),
    "half precision": ("qwen3-8b", {"dp": 2, "sharding": "zero2"}, "fp16"),
    "windows and sequences": ("mistral-7b", {"cp": 2, "sharding": "zero1"} | HEADS, "bf16"),
    "capped scores and tensors": ("gemma2-9b", {"tp": 2, "sharding": "ddp"} | WHOLE, "bf16"),
}


@each("name", GPUS)
def test_what_gpus_get_runs(name: str, tmp_path: Path) -> None:
    model, plan, precision = GPUS[name]
    found = losses(tmp_path, model, Plan(**plan), precision, "dgx-h100-ndr")
    assert "'flash_attention_2'" in (tmp_path / "train.py").read_text(encoding="utf-8")
    for loss in found:
        assert loss == pytest.approx(math.log(VOCABULARY), abs=0.4)


ALIKE: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "tensors and sequences": (
        "llama2-13b",
        [{}, {"tp": 2} | WHOLE, {"cp": 2} | HEADS],
    ),
    "gradients": ("qwen3-8b", [{"dp": 2}, {"dp": 2, "sharding": "zero2"}]),
}


@each("name", ALIKE)
def test_it_learns_alike(name: str, tmp_path: Path) -> None:
    model, plans = ALIKE[name]
    found = []
    for index, own in enumerate(plans):
        folder = tmp_path / str(index)
        folder.mkdir()
        found.append(losses(folder, model, Plan(**{"sharding": "ddp"} | own)))
    for others in found[1:]:
        assert others == pytest.approx(found[0], abs=3e-3)

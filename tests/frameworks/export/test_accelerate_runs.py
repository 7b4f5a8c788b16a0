"""Exports for Accelerate of tiny models, run as they are written: gloo and CPUs for GPUs."""

import math
import os
import re
import shlex
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from frameworks.export.cases import CASES
from frameworks.export.test_hf_types import small
from models_db import Model
from planner.cost.context import CostModel
from planner.frameworks.hugging_face.config import dimensions
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
STAND_INS = Path(__file__).parent / "on_cpu"
BATCH, TOKENS, VOCABULARY = 4, 64, 256
SHARDED: dict[str, Any] = {"sharding": "zero3", "micro_batch": 1}


def tiny(name: str) -> Model:
    return replace(small(name), layers=4, vocab_size=VOCABULARY)


def cost(model: Model, precision: str = "fp32", framework: str = "fsdp") -> CostModel:
    case = replace(CASES["dense-sharded"], framework=framework, precision=precision)
    own = case.cost()
    return replace(own, job=replace(own.job, model=model, seq_len=TOKENS, global_batch=BATCH))


def exported(model: Model, plan: Plan, precision: str = "fp32") -> Export:
    return export_plan(cost(model, precision), plan, TARGETS["accelerate"])


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def printed(export: Export, folder: Path, *, compiled: bool = False, script: str = "") -> str:
    """What the command of an export prints, or that command with another script."""
    for file in export.files:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    words = shlex.split(export.command)
    assert words[:2] == ["accelerate", "launch"]
    also = ["--main_process_port", str(free_port())]
    also += [] if compiled else ["--dynamo_backend", "no"]
    environment = os.environ | {
        "ACCELERATE_TORCH_DEVICE": "cpu",
        "ACCELERATE_BYPASS_DEVICE_MAP": "true",
        "OMP_NUM_THREADS": "1",
        "STAND_IN": "gpus",
        "PYTHONPATH": f"{STAND_INS}{os.pathsep}{folder}",
    }
    words = [*words[2:-1], script or words[-1]]
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", *also, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def losses(export: Export, folder: Path, *, compiled: bool = False) -> list[float]:
    """The losses that the command of an export prints."""
    text = printed(export, folder, compiled=compiled)
    return [float(found) for found in re.findall(r"^step \d+: loss (\S+),", text, re.MULTILINE)]


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    pytest.importorskip("accelerate")
    pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """Losses of one process."""
    plan = Plan(sharding="ddp", micro_batch=BATCH)
    return losses(exported(tiny("llama3-8b"), plan), tmp_path_factory.mktemp("alone"))


SAME = {
    "shards": Plan(fsdp=4, **SHARDED),
    "replicas of shards": Plan(dp=2, fsdp=2, **SHARDED),
    "parts of sequences": Plan(fsdp=2, cp=2, sharding="zero3", micro_batch=2),
    "parts of sequences alone": Plan(cp=2, sharding="zero3", micro_batch=BATCH),
    "recomputed shards": Plan(fsdp=2, sharding="zero3", micro_batch=2, recompute="full"),
    "replicas": Plan(dp=2, sharding="ddp", micro_batch=2),
    "recomputed replicas": Plan(dp=2, sharding="ddp", micro_batch=2, recompute="full"),
}


@each("name", SAME)
def test_ranks_compute_what_one_computes(name: str, tmp_path: Path, alone: list[float]) -> None:
    found = losses(exported(tiny("llama3-8b"), SAME[name]), tmp_path)
    assert len(found) == 30
    assert found == pytest.approx(alone, abs=2e-3)


TUNED = {
    "alone": Plan(sharding="ddp", micro_batch=BATCH),
    "replicas": Plan(dp=2, sharding="ddp", micro_batch=2),
    "shards": Plan(fsdp=2, sharding="zero3", micro_batch=2),
    "parts of sequences": Plan(fsdp=2, cp=2, sharding="zero3", micro_batch=2),
    "parts of tensors": Plan(
        fsdp=2, tp=2, sharding="zero3", micro_batch=2, sequence_parallel=False
    ),
}


@each("name", TUNED)
def test_published_weights_are_tuned_and_saved(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of 1e-5 or less, 30 of them: every weight stays near, and none is what it was."""
    import torch  # noqa: PLC0415 (is not always there)
    import transformers  # noqa: PLC0415

    model = tiny("llama3-8b")
    torch.manual_seed(1)
    kind = transformers.AutoConfig.for_model("llama", **dimensions(model, TOKENS))
    before = transformers.AutoModelForCausalLM.from_config(kind)
    before.save_pretrained(tmp_path / "weights")
    monkeypatch.setenv("MODEL", str(tmp_path / "weights"))
    own = cost(model)
    own = replace(own, job=replace(own.job, kind="finetune"))
    assert losses(export_plan(own, TUNED[name], TARGETS["accelerate"]), tmp_path)
    after = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "tuned").state_dict()
    assert {*after} == {*before.state_dict()}
    for key, weight in before.state_dict().items():
        moved = (after[key] - weight).abs().max().item()
        assert 0 < moved < 31e-5, key


def accumulated(plan: Plan) -> Export:
    """A step of 8 sequences of the tiny model."""
    model = cost(tiny("llama3-8b"))
    twice = replace(model, job=replace(model.job, global_batch=2 * BATCH))
    return export_plan(twice, plan, TARGETS["accelerate"])


def test_replicas_of_shards_reduce_with_the_last_micro_batch(tmp_path: Path) -> None:
    export = accumulated(SAME["replicas of shards"])
    text = printed(export, tmp_path, script=str(STAND_INS / "count_reductions.py"))
    first, last = map(int, re.findall(r"^all-reduces (\d+)$", text, re.MULTILINE))
    assert first == 0
    assert last > 4  # layers, with embedding and head


def test_held_back_gradients_are_not_lost(tmp_path: Path) -> None:
    """Shards without replicas see the same sequences in the same micro-batches."""
    found = []
    for name in ("shards", "replicas of shards"):
        folder = tmp_path / name
        folder.mkdir()
        found.append(losses(accumulated(SAME[name]), folder))
    assert len(found[0]) == 30
    assert found[1] == pytest.approx(found[0], abs=2e-3)


def test_compiled_layers_compute_the_same(tmp_path: Path, alone: list[float]) -> None:
    found = losses(
        exported(tiny("llama3-8b"), SAME["parts of sequences alone"]), tmp_path, compiled=True
    )
    assert found == pytest.approx(alone, abs=2e-3)


@each(
    ("model", "plan"),
    [
        ("llama3-8b", Plan(tp=2, sequence_parallel=False, sharding="ddp", micro_batch=1)),
        (
            "llama3-8b",
            Plan(fsdp=2, tp=2, sequence_parallel=False, sharding="zero3", recompute="full"),
        ),
        (
            "qwen2.5-7b",
            Plan(dp=2, fsdp=2, tp=2, sequence_parallel=False, sharding="zero3", micro_batch=1),
        ),
        ("gemma3-4b", Plan(fsdp=2, tp=2, sequence_parallel=False, sharding="zero3", micro_batch=1)),
        ("gpt3-125m", Plan(cp=2, sharding="zero3", micro_batch=1)),
        ("mixtral-8x7b", Plan(fsdp=2, sharding="zero3", micro_batch=1)),
        ("deepseek-v3", Plan(fsdp=2, sharding="zero3", micro_batch=1)),
        ("deepseek-v3", Plan(dp=2, fsdp=2, sharding="zero3", micro_batch=1, recompute="full")),
        ("gpt-oss-20b", Plan(fsdp=2, sharding="zero3", micro_batch=1)),
        ("gemma2-9b", Plan(fsdp=2, sharding="zero3", micro_batch=1)),
        ("bloom-7b1", Plan(fsdp=2, sharding="zero3", micro_batch=2)),
    ],
)
def test_it_runs(model: str, plan: Plan, tmp_path: Path) -> None:
    found = losses(exported(tiny(model), plan), tmp_path)
    assert len(found) == 30
    assert found == pytest.approx([math.log(VOCABULARY)] * 30, abs=0.5)


@each("precision", ["bf16", "fp16"])
@each(
    "plan",
    [
        Plan(tp=2, sequence_parallel=False, sharding="ddp", micro_batch=1),
        Plan(fsdp=2, sharding="zero3", micro_batch=1),
        Plan(dp=2, sharding="ddp", micro_batch=1),
    ],
)
def test_it_runs_in_16_bits(plan: Plan, precision: str, tmp_path: Path) -> None:
    found = losses(exported(tiny("llama3-8b"), plan, precision), tmp_path)
    assert len(found) == 30
    assert found == pytest.approx([math.log(VOCABULARY)] * 30, abs=0.2)


@each("framework", ["fsdp", "torchtitan", "deepspeed"])
@each(
    "plan",
    [Plan(fsdp=2, sharding="zero3", micro_batch=1), Plan(dp=2, sharding="ddp", micro_batch=1)],
)
def test_a_parameter_takes_the_bytes_of_the_plan(
    plan: Plan, framework: str, tmp_path: Path
) -> None:
    model = cost(tiny("llama3-8b"), "bf16", framework)
    export = export_plan(model, plan, TARGETS["accelerate"])
    text = printed(export, tmp_path, script=str(STAND_INS / "kept_bytes.py"))
    found = {tuple(map(int, line.split()[1:])) for line in text.splitlines() if "kept" in line}
    profile = model.framework
    counted = profile.weight_bytes + profile.gradient_bytes + profile.optimizer_bytes
    assert found == {8: {(2, 2, 4)}, 16: {(4, 4, 8)}}[counted]


@each("model", ["qwen2.5-7b", "olmo2-7b", "gemma2-9b", "gpt-neox-20b", "mistral-7b"])
def test_split_models_compute_what_whole_ones_do(model: str, tmp_path: Path) -> None:
    export = exported(
        tiny(model), Plan(tp=2, sequence_parallel=False, sharding="ddp", micro_batch=1)
    )
    text = printed(export, tmp_path, script=str(STAND_INS / "same_losses.py"))
    assert float(text.split("difference")[-1]) < 1e-4

"""Short launches that really ran, on CPUs over gloo: from `planner measure` to a prediction."""

import math
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner

from hardware_db import load_calibration
from planner.assumptions.local_file import SITE_FACTOR
from planner.evidence.calibration.asking import Question, calibrate
from planner.evidence.calibration.launches.manifest import read_manifest
from planner.evidence.calibration.launches.measured import read_folder
from planner.evidence.calibration.runs import RunSet, with_values
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("small_training.py")
FLOP_PER_S, MEMORY, LINK = 6e10, 1e10, 2e9
"""Of a core of today's servers, within a factor of two: a prior for the constants to start from."""
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed"),
]


MODEL = """
name: small
title: A small model
family: small
layers: {value: 12, unit: "1", kind: assumed, source: made, note: for a test}
hidden: {value: 128, unit: "1", kind: assumed, source: made, note: for a test}
heads: {value: 2, unit: "1", kind: assumed, source: made, note: for a test}
kv_heads: {value: 2, unit: "1", kind: assumed, source: made, note: for a test}
head_dim: {value: 64, unit: "1", kind: assumed, source: made, note: for a test}
vocab_size: {value: 1024, unit: tokens, kind: assumed, source: made, note: for a test}
seq_len: {value: 128, unit: tokens, kind: assumed, source: made, note: for a test}
tied_embeddings: false
parallel_block: false
attention: {kind: mha, bias: [], qk_norm: none, sinks: false}
mlp:
  hidden: {value: 384, unit: "1", kind: assumed, source: made, note: for a test}
  gated: true
  bias: false
norm:
  kind: rmsnorm
  bias: false
  per_layer: {value: 2, unit: "1", kind: assumed, source: made, note: for a test}
  final: true
  embedding: false
positions: {kind: rope}
sources:
  made: {title: Made up for a test, url: "https://example.com/small"}
"""


def machine() -> dict[str, Any]:
    """A machine of cores: that of L40S cards with the rates of a core."""
    data = ROOT / "hardware_db" / "data"
    chip: Any = load_yaml((data / "chips" / "l40s.yaml").read_text(encoding="utf-8"))
    chip["name"] = "core"
    for rate in chip["peak"].values():
        rate["value"] = FLOP_PER_S
    chip["pe"].pop("flop_per_clock")
    chip["memory"]["bandwidth"]["value"] = MEMORY
    cluster: Any = load_yaml((data / "clusters" / "l40s-pcie.yaml").read_text(encoding="utf-8"))
    cluster |= {"name": "cores", "chip": chip}
    cluster["node_chips"]["value"] = cluster["levels"][0]["domain"]["value"] = 2
    for level in cluster["levels"]:
        level["bandwidth"]["value"] = LINK
    return dict(cluster)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The short launches of a job, after they ran, with a trace per rank."""
    home = tmp_path_factory.mktemp("launches")
    (home / "small.yaml").write_text(MODEL, encoding="utf-8")
    (home / "cores.yaml").write_text(dump_yaml(machine()), encoding="utf-8")
    job = ("--model", home / "small.yaml", "--hardware", home / "cores.yaml", "--chips", 2)
    fixed = ("--fix", "sharding=ddp", "--fix", "micro_batch=2", "--fix", "recompute=none")
    made = planner("measure", "--framework", "torchtitan", *job, "--seq-len", 128,
                   "--batch-tokens", 4096, *fixed, "-o", home / "measurements")  # fmt: skip
    assert made.code == 0, made.err
    measured = home / "measurements"
    for launch in read_manifest(measured).launches:
        command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        words = [*command, str(PROGRAM), str(measured), launch.name]
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        (measured / launch.name / "log-0.txt").write_text(done.stdout, encoding="utf-8")
    return measured


def test_logs_and_traces_agree(folder: Path) -> None:
    launches = {one.name: one for one in read_folder(folder).launches}
    assert all(one.is_logged and one.time for one in launches.values())
    few, more, often = launches.values()
    assert few.run.measured_step_time_s < more.run.measured_step_time_s
    assert few.run.measured_step_time_s < often.run.measured_step_time_s
    for one in launches.values():
        assert one.time is not None
        assert one.time.gemm_s > one.time.attention_s > 0
        assert one.time.communication_s > 0
        # The profiler slows a step of small operators.
        assert 0.7 < one.time.step_s / one.run.measured_step_time_s < 2.5


def test_what_was_measured_predicts_a_larger_launch(folder: Path) -> None:
    """Without the log of the launch with more layers, its step time is nearer than before."""
    launches = read_manifest(folder).launches
    left_out = next(one for one in launches if one.tells == "the time of a layer")
    measured = next(one for one in read_folder(folder).launches if one.name == left_out.name).run
    copy = folder.parent / "part"
    shutil.copytree(folder, copy)
    shutil.rmtree(copy / left_out.name)
    found = calibrate(Question(measurements=copy))
    assert {one.by for one in found.findings} == {"traces", "runs"}
    assert found.candidates[0].sigma_after < found.candidates[0].sigma_before
    values = {one.path: one.value for one in found.findings}
    runs, base = RunSet.of([measured]), load_calibration()
    shipped = float(runs.predicted_s(base)[0])
    local = float(runs.predicted_s(with_values(base, values))[0] * values[SITE_FACTOR])
    seconds = measured.measured_step_time_s
    assert abs(math.log(local / seconds)) < abs(math.log(shipped / seconds))

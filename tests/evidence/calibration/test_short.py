"""Plans shrunk to one or two nodes, and the folder of their launches."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from models_db import load_model
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.evidence.calibration.launches.folder import measurements
from planner.evidence.calibration.launches.manifest import read_manifest
from planner.evidence.calibration.launches.short import (
    layer_counts,
    short_launches,
    with_layers,
)
from planner.plan import Plan
from planner.question.request import request_from
from planner.question.resolved import Resolved, resolve

PLAN = Plan(tp=4, cp=4, pp=4, dp=8, micro_batch=2, schedule="interleaved", interleave=2)


def resolved(plan: Plan, model: str = "llama3-70b", **more: Any) -> Resolved:
    """A job on H100s for a plan."""
    fields = {"model": model, "hardware": "h100-sxm5-80", "batch_tokens": 2**22, "seq_len": 8192}
    return resolve(request_from({**fields, "framework": "megatron", **more}), chips=plan.chips)


def test_shapes_stay_and_repetitions_shrink() -> None:
    base, layers, batches, nodes = short_launches(resolved(PLAN).cost, PLAN)
    for one in (base, layers, batches, nodes):
        assert (one.plan.tp, one.plan.cp, one.plan.micro_batch) == (4, 2, 2)
        assert one.cost.job.seq_len == 8192
        assert one.cost.job.model.hidden == 8192
    assert (base.plan.chips, base.plan.pp, base.layers, base.cost.job.global_batch) == (8, 1, 2, 4)
    # Each differs from the first by one thing.
    assert (layers.layers, layers.plan, layers.cost.job.global_batch) == (4, base.plan, 4)
    assert (batches.layers, batches.plan, batches.cost.job.global_batch) == (2, base.plan, 8)
    assert (nodes.nodes, nodes.plan.chips, nodes.plan.pp, nodes.layers) == (2, 16, 2, 4)
    assert len({one.name for one in (base, layers, batches, nodes)}) == 4


@each(("model", "counts"), [
    ("llama3-8b", (2, 4)), ("deepseek-v3", (5, 7)), ("llama4-maverick", (4, 8)),
    ("gemma3-27b", (6, 12)),
])  # fmt: skip
def test_layers_keep_the_mixture_of_kinds(model: str, counts: tuple[int, int]) -> None:
    whole = load_model(model)
    assert layer_counts(whole) == counts
    few, more = (with_layers(whole, count) for count in counts)
    moe = whole.moe
    first = moe.first_dense_layers if moe else 0
    assert more.layer_kinds[first:] == few.layer_kinds[first:] * 2
    assert more.attention_windows[first:] == few.attention_windows[first:] * 2


@each(("plan", "expected"), [
    (Plan(fsdp=32, sharding="zero3"), {"fsdp": 8, "dp": 1}),
    (Plan(fsdp=16, dp=4, sharding="zero3"), {"fsdp": 8, "dp": 1}),
    (Plan(fsdp=4, dp=16, sharding="zero3"), {"fsdp": 4, "dp": 2}),
    (Plan(tp=8, dp=8), {"tp": 8, "dp": 1, "sharding": "ddp", "sequence_parallel": True}),
    (Plan(tp=2, dp=2), {"tp": 2, "dp": 2}),
])  # fmt: skip
def test_data_ranks_fill_the_node(plan: Plan, expected: dict[str, object]) -> None:
    found = short_launches(resolved(plan, "llama3-8b").cost, plan)
    assert {name: getattr(found[0].plan, name) for name in expected} == expected
    assert found[0].plan.chips == min(8, plan.chips)
    assert (len(found) == 4) == (plan.chips >= 16)


def test_experts_stay_where_they_fit() -> None:
    plan = Plan(dp=64, ep=16)
    found = short_launches(resolved(plan, "mixtral-8x7b").cost, replace(plan, ep=8))
    assert {one.plan.ep for one in found} == {8}


def test_what_does_not_fit_is_not_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = resolved(PLAN).cost
    whole = CostModel.allocatable_bytes
    share: Callable[[CostModel], float] = lambda self: 0.15 * whole.fget(self)  # type: ignore[misc]  # noqa: E731
    monkeypatch.setattr(CostModel, "allocatable_bytes", property(share))
    assert len(short_launches(cost, PLAN)) < 4
    monkeypatch.setattr(CostModel, "allocatable_bytes", property(lambda self: 1.0))
    with pytest.raises(InputError, match="2 layers of llama3-70b do not fit on 8 chips"):
        short_launches(cost, PLAN)


def test_the_scripts_launch_what_the_manifest_says(tmp_path: Path) -> None:
    plan = Plan(tp=4, dp=8, pp=2, micro_batch=1)
    found = measurements(resolved(plan), plan, "megatron", tmp_path)
    for name, text in found.texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    manifest = read_manifest(tmp_path)
    assert [one.name for one in manifest.launches] == [one.name for one in found.launches]
    for launch in manifest.launches:
        script = (tmp_path / launch.name / "run.sh").read_text(encoding="utf-8")
        assert f"--num-layers {launch.layers}\n" in script
        assert f"--global-batch-size {launch.global_batch_seqs}\n" in script
        assert f"--tensor-model-parallel-size {launch.plan.mesh.tp}\n" in script
        assert f"--pipeline-model-parallel-size {launch.plan.mesh.pp}\n" in script
        assert "--train-iters 20\n" in script
        assert "--profile-step-start 18\n" in script
        runner = (tmp_path / launch.name / "measure.sh").read_text(encoding="utf-8")
        assert "bash run.sh 2>&1 | tee" in runner
    tests = (tmp_path / "nccl" / "measure.sh").read_text(encoding="utf-8")
    assert "for test in all_gather reduce_scatter all_reduce sendrecv; do" in tests


def test_torchtitan_is_recorded_too(tmp_path: Path) -> None:
    plan = Plan(fsdp=64, sharding="zero3")
    job = resolved(plan, "llama3-8b", framework="torchtitan")
    found = measurements(job, plan, "torchtitan", tmp_path)
    script = found.texts["2-layers/torchtitan.sh"]
    for words in ("--training.steps 20", "--metrics.log_freq 1", "--profiler.enable_profiling",
                  "--profiler.profile_freq 20", "--profiler.profiler_active 2"):  # fmt: skip
        assert words in script
    assert "n_layers=2," in found.texts["2-layers/planned_config.py"]
    assert found.home == ""

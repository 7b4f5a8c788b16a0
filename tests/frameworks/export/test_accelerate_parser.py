"""Accelerate's and Transformers' own classes on golden files, models and random plans."""

import json
import platform
from dataclasses import replace
from datetime import date
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import pytest

from frameworks.export.accepted_files import digests, exported, record_acceptance
from frameworks.export.cases import CASES
from frameworks.export.random_plans import runnable
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
TARGET = TARGETS["accelerate"]


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("accelerate")
    pytest.importorskip("transformers")
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")


def launched(folder: Path, processes: int | None = None) -> dict[str, str]:
    """The environment that `accelerate launch` gives to every process of a configuration."""
    from accelerate.commands import launch  # noqa: PLC0415 (installed apart)
    from accelerate.utils.launch import prepare_multi_gpu_env  # noqa: PLC0415 (as above)

    command = ["--config_file", str(folder / "accelerate.yaml"), "train.py"]
    parsed = launch.launch_command_parser().parse_args(command)
    parsed, _, _ = launch._validate_launch_command(parsed)
    if processes is not None:
        assert parsed.num_processes == processes
    found: dict[str, str] = prepare_multi_gpu_env(parsed)
    return found


def meshed(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The mesh and the sharding that a process makes of its environment."""
    from accelerate import ParallelismConfig  # noqa: PLC0415 (installed apart)
    from accelerate.utils import FullyShardedDataParallelPlugin  # noqa: PLC0415 (as above)

    with monkeypatch.context() as patch:
        for name, value in environment.items():
            if name.startswith(("PARALLELISM_CONFIG", "FSDP", "ACCELERATE")):
                patch.setenv(name, value)
        if environment.get("ACCELERATE_USE_FSDP") == "true":
            assert FullyShardedDataParallelPlugin().fsdp_version == 2
        return ParallelismConfig()


def check(export: Export, plan: Plan, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes an export and has it read; the mesh must be that of the plan."""
    for file in export.files:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    mesh = meshed(launched(folder, plan.chips), monkeypatch)
    if mesh.total_size > 1:
        assert mesh.total_size == plan.chips
    compile(export.files[1].text, "train.py", "exec")
    from transformers import AutoConfig  # noqa: PLC0415 (installed apart)

    model = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert AutoConfig.from_pretrained(str(folder / "config.json")).model_type == model["model_type"]
    return mesh


@pytest.mark.parametrize("case", CASES)
def test_the_golden_files_are_accepted(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(exported("accelerate", case), CASES[case].plan, tmp_path, monkeypatch)


def test_the_record_of_acceptance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in CASES:
        folder = tmp_path / case
        folder.mkdir()
        check(exported("accelerate", case), CASES[case].plan, folder, monkeypatch)
    facts = {
        "framework": "Hugging Face Accelerate",
        "version": version_of("accelerate"),
        "commit": "16cb6eb (2026-07-24)",
        "date": str(date.today()),
        "by": "commands/launch.py _validate_launch_command, utils/launch.py "
        "prepare_multi_gpu_env, ParallelismConfig, FullyShardedDataParallelPlugin, "
        f"AutoConfig of Transformers {version_of('transformers')}; training scripts of tiny models "
        "ran on CPUs (test_accelerate_runs.py)",
        "python": f"{platform.python_version()}, torch {version_of('torch')}",
    }
    record_acceptance("accelerate", facts, digests("accelerate"))


@pytest.mark.parametrize("name", ["dense-sharded", "dense-hybrid", "long"])
def test_random_plans_are_accepted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = replace(CASES[name], framework="fsdp")
    plans = list(runnable(TARGET, case, count=20, seed=5))
    assert len(plans) >= 5
    for _, plan, export in plans:
        mesh = check(export, plan, tmp_path, monkeypatch)
        if plan.sharding == "zero3" and plan.tp == 1:
            sizes = (mesh.dp_replicate_size, mesh.dp_shard_size, mesh.tp_size, mesh.cp_size)
            assert sizes == (plan.dp, plan.fsdp, plan.tp, plan.cp)


def altered(folder: Path, change: tuple[str, str]) -> None:
    case = replace(CASES["dense-sharded"], framework="fsdp")
    plan = Plan(dp=2, fsdp=16, cp=2, sharding="zero3", micro_batch=2)
    text = export_plan(case.cost(), plan, TARGET).files[0].text
    assert change[0] in text
    (folder / "accelerate.yaml").write_text(text.replace(*change), encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        ("dp_shard_size: 16", "dp_shard_size: 1"),
        ("num_machines:", "machines:"),
        ("tp_size: 1", "tp_size: 0"),
        ("comm_strategy: alltoall", "comm_strategy: ring"),
    ],
)
def test_what_breaks_a_rule_is_refused(
    change: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    altered(tmp_path, change)
    with pytest.raises((ValueError, AssertionError)):
        meshed(launched(tmp_path), monkeypatch)

"""DeepSpeed's own configuration class, in a process group that only pretends, on exports for it."""

import json
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from frameworks.export.accepted_files import exported, record_acceptance
from frameworks.export.cases import CASES
from frameworks.export.random_plans import MODELS, runnable
from frameworks.export.test_export_deepspeed import TOP_LEVEL
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
TARGET = TARGETS["deepspeed"]


@contextmanager
def world(size: int) -> Iterator[None]:
    """A process group of that size without processes."""
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    comm = pytest.importorskip("deepspeed.comm")
    distributed = pytest.importorskip("torch.distributed")
    distributed.init_process_group("fake", rank=0, world_size=size, store=fake.FakeStore())
    comm.init_distributed(dist_backend="fake", auto_mpi_discovery=False, verbose=False)
    try:
        yield
    finally:
        pytest.importorskip("deepspeed.utils.groups")._release_process_group_references()
        distributed.destroy_process_group()
        comm.comm.cdb = None


def groups_of(script: str, plan: Plan) -> Any:
    """What train.py gives DeepSpeed to count data ranks by, or a pipeline finds by itself."""
    names: dict[str, Any] = {"__name__": "train"}
    exec(compile(script, "train.py", "exec"), names)
    model = SimpleNamespace(config=names["configuration"]())
    if plan.pp > 1:
        pipe = pytest.importorskip("deepspeed.runtime.pipe.topology")
        assert len(names["BORDERS"]) == plan.pp + 1
        dealt = pipe.PipeDataParallelTopology(num_pp=plan.pp, num_dp=plan.chips // plan.pp)
        return pipe.PipelineParallelGrid(topology=dealt)
    if names["SEQUENCE_RANKS"] > 1:
        return names["sequence_groups"](model)
    return names["tensor_groups"]()


def parsed(config: dict[str, Any], script: str, plan: Plan) -> Any:
    """The configuration as DeepSpeed reads it among the groups of the script."""
    with world(plan.chips):
        experts = pytest.importorskip("deepspeed.module_inject.auto_ep_config")
        config_of = pytest.importorskip("deepspeed.runtime.config").DeepSpeedConfig
        found = config_of(config, mpu=groups_of(script, plan))
        experts.validate_autoep_config(
            found.expert_parallel_config,
            plan.chips,
            1,
            plan.tp,
            plan.cp,
            zero_stage=found.zero_optimization_stage,
        )
        return found


def read(export: Export, plan: Plan, **changes: Any) -> Any:
    config, script = (file.text for file in export.files)
    return parsed(json.loads(config) | changes, script, plan)


def test_the_golden_files_are_accepted() -> None:
    for name, case in CASES.items():
        found = read(exported("deepspeed", name), case.plan)
        assert found.train_batch_size == case.global_batch
    facts = {
        "framework": "DeepSpeed",
        "version": pytest.importorskip("deepspeed").__version__,
        "commit": "edaa722 (2026-08-22) for the names of keys",
        "date": "2026-11-23",
        "by": "runtime/config.py DeepSpeedConfig with the groups of ranks of train.py, "
        "module_inject/auto_ep_config.py validate_autoep_config; files of small models run",
        "python": platform.python_version(),
    }
    files = ("ds_config.json", "train.py")
    record_acceptance("deepspeed", facts, [f"{name}/{file}" for name in CASES for file in files])


def test_top_level_keys_are_deepspeeds() -> None:
    known = {
        value
        for name in ("config", "constants", "tensor_parallel.config", "zero.config")
        for value in vars(pytest.importorskip(f"deepspeed.runtime.{name}")).values()
        if isinstance(value, str)
    }
    assert set(TOP_LEVEL) - known <= {"tensor_parallel", "sequence_parallel_size"}


def test_random_plans_are_accepted() -> None:
    count, divided = 0, dict.fromkeys(("tp", "cp", "pp", "ep"), 0)
    for seed, name in enumerate(MODELS):
        case = replace(CASES[name], framework="deepspeed")
        for one, plan, export in runnable(TARGET, case, count=12, seed=seed):
            found = read(export, plan)
            assert found.train_batch_size == one.global_batch
            assert found.gradient_accumulation_steps * plan.dp * plan.fsdp * plan.micro_batch == (
                one.global_batch
            )
            count += 1
            for axis in divided:
                divided[axis] += getattr(plan, axis) > 1
    assert count >= 80
    assert min(divided.values()) >= 2, divided


@pytest.mark.parametrize(
    "changes",
    [
        {"train_batch_size": 127},
        {"zero_optimization": {"stage": 4}},
        {"zero_optimization": {"stage": 3, "mics_shard_size": 4}},
        {"sequence_parallel_size": 4},
        {"expert_parallel": {"enabled": True, "autoep_size": 3, "preset_model": "mixtral"}},
    ],
)
def test_what_breaks_a_rule_is_refused(changes: dict[str, Any]) -> None:
    case = CASES["dense-sharded"]
    export = export_plan(case.cost(), case.plan, TARGET)
    refused = pytest.importorskip("deepspeed.runtime.config").DeepSpeedConfigError
    with pytest.raises((AssertionError, ValueError, refused)):
        read(export, case.plan, **changes)

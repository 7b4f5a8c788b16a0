"""DeepSpeed's own configuration class, in a process group that only pretends, on exports for it."""

import json
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from export.accepted_files import exported, record_acceptance
from export.cases import CASES
from export.random_plans import MODELS, runnable
from planner.export import export_plan
from planner.export.deepspeed import TOP_LEVEL
from planner.plan import Plan
from planner.targets import TARGETS

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
TARGET = TARGETS["deepspeed"]


class Groups:
    """As much of Megatron's parallel state as the configuration asks for."""

    def __init__(self, data_ranks: int):
        self.data_ranks = data_ranks

    def get_data_parallel_world_size(self) -> int:
        return self.data_ranks


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
        distributed.destroy_process_group()
        comm.comm.cdb = None


def parsed(config: dict[str, Any], plan: Plan) -> Any:
    with world(plan.chips):
        experts = pytest.importorskip("deepspeed.module_inject.auto_ep_config")
        config_of = pytest.importorskip("deepspeed.runtime.config").DeepSpeedConfig
        piped = plan.pp > 1
        data_ranks = plan.chips // plan.pp if piped else plan.chips // plan.tp
        groups = Groups(data_ranks) if piped or plan.tp > 1 else None
        found = config_of(config, mpu=groups)
        experts.validate_autoep_config(
            found.expert_parallel_config,
            plan.chips,
            1,
            plan.tp,
            plan.cp,
            zero_stage=found.zero_optimization_stage,
        )
        return found


def test_the_golden_files_are_accepted() -> None:
    for name, case in CASES.items():
        config = json.loads(exported("deepspeed", name).files[0].text)
        assert parsed(config, case.plan).train_batch_size == case.global_batch
    facts = {
        "framework": "DeepSpeed",
        "version": pytest.importorskip("deepspeed").__version__,
        "commit": "edaa722 (2026-08-22) for the names of keys",
        "date": "2026-11-23",
        "by": "runtime/config.py DeepSpeedConfig, module_inject/auto_ep_config.py "
        "validate_autoep_config",
        "python": platform.python_version(),
    }
    record_acceptance("deepspeed", facts, [f"{name}/ds_config.json" for name in CASES])


def test_top_level_keys_are_deepspeeds() -> None:
    known = {
        value
        for name in ("config", "constants", "tensor_parallel.config", "zero.config")
        for value in vars(pytest.importorskip(f"deepspeed.runtime.{name}")).values()
        if isinstance(value, str)
    }
    assert set(TOP_LEVEL) - known <= {"tensor_parallel", "sequence_parallel_size"}


def test_random_plans_are_accepted() -> None:
    count = 0
    for seed, name in enumerate(MODELS):
        case = replace(CASES[name], framework="deepspeed")
        for one, plan, export in runnable(TARGET, case, count=12, seed=seed):
            found = parsed(json.loads(export.files[0].text), plan)
            assert found.train_batch_size == one.global_batch
            assert found.gradient_accumulation_steps * plan.dp * plan.fsdp * plan.micro_batch == (
                one.global_batch
            )
            count += 1
    assert count >= 80


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
        parsed(json.loads(export.files[0].text) | changes, case.plan)

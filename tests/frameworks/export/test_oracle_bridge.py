"""Megatron-Bridge's translator and its own configurations, against those of Megatron-LM.

`PLANNER_MEGATRON_BRIDGE` is a checkout of Megatron-Bridge, `PLANNER_MEGATRON_MAIN` one of
Megatron-LM of its time, core 0.20.0 dev (d98e8a64dd); the Python is that of `test_oracle_megatron`.
"""

import os
import platform
from dataclasses import replace
from typing import Any

import pytest
from support.cases import each

from frameworks.export.accepted_files import exported, record_acceptance
from frameworks.export.cases import CASES, Case
from frameworks.export.random_plans import runnable
from frameworks.export.test_oracle_megatron import HERE, RUNS, question, run
from models_db import list_models
from planner.base.errors import InputError
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan

TARGET = TARGETS["megatron-bridge"]
BRIDGE = os.environ.get("PLANNER_MEGATRON_BRIDGE", "")
HOME = os.environ.get("PLANNER_MEGATRON_MAIN", "")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not (HOME and BRIDGE), reason="no checkouts are named"),
]
ALLOWED = {
    "ddp.use_custom_fsdp": "the old name of use_megatron_fsdp, which is compared",
    "model.expert_tensor_parallel_num_weight_shards": "None stands for the ranks, as there",
    "model.tensor_parallel_num_weight_shards": "None stands for the ranks, as there",
    "model.fp8_amax_compute_algo": "how 8-bit scales are chosen, which costs no time",
    "model.fp8_amax_history_len": "how 8-bit scales are chosen, which costs no time",
    "model.inference_sampling_seed": "of inference",
    "model.use_cpu_initialization": "None and False are one",
    "optimizer.adam_beta2": "of learning, which no plan says",
    "optimizer.min_lr": "of learning, which no plan says",
    "optimizer.muon_momentum": "of another optimizer",
    "optimizer.weight_decay": "of learning, which no plan says",
    "optimizer.barrier_with_L1_time": "of timers that the level of logging leaves out",
}
"""Fields that may differ, and why."""
UNUSED = {
    "ddp.data_parallel_sharding_strategy": ("ddp.use_megatron_fsdp", False),
    "model.add_qkv_bias": ("model.add_bias_linear", True),
    "model.cp_comm_type": ("model.context_parallel_size", 1),
    "model.fp8_recipe": ("model.fp8", None),
    "model.num_layers_at_end_in_bf16": ("model.first_last_layers_bf16", False),
    "model.num_layers_at_start_in_bf16": ("model.first_last_layers_bf16", False),
    "optimizer.fp8_recipe": ("model.fp8", None),
    "optimizer.optimizer_offload_fraction": ("optimizer.optimizer_cpu_offload", False),
}
"""Fields that mean nothing where another one has this value in both."""


def asked(launches: list[tuple[Case, Export, Export]]) -> list[dict[str, Any]]:
    questions = [
        {**alike(question(case, megatron)), "program": bridge.files[0].text, "unused": UNUSED}
        for case, megatron, bridge in launches
    ]
    return run([str(HERE / "bridge_values.py"), HOME, BRIDGE], questions)


def alike(launch: dict[str, Any]) -> dict[str, Any]:
    """The launch for the newer Megatron-LM, whose Megatron-FSDP has a flag of its own."""
    words = launch["args"]
    wide = {"--use-megatron-fsdp", "--accumulate-allreduce-grads-in-fp32"} <= set(words)
    newer = ["--megatron-fsdp-main-grads-dtype", "fp32"] if wide else []
    return {**launch, "args": [*words, *newer]}


def problems(launches: list[tuple[Case, Export, Export]]) -> dict[str, Any]:
    """What a launch differs in that no table allows, or why it is refused."""
    found = {}
    for (case, _, _), one in zip(launches, asked(launches), strict=True):
        differs = {name: both for name, both in one["differs"].items() if name not in ALLOWED}
        if one["why"] or differs:
            found[f"{case.model} {case.precision} {case.plan}"] = one["why"] or differs
        else:
            assert one["compared"] > 300
    return found


def both_goldens(name: str) -> tuple[Export, Export]:
    return exported("megatron", name), exported("megatron-bridge", name)


def test_the_golden_files_of_the_bridge_are_accepted() -> None:
    launches = [
        {
            "args": megatron.files[1].text,
            "program": bridge.files[0].text,
            "overrides": bridge.files[2].text,
        }
        for megatron, bridge in map(both_goldens, CASES)
    ]
    answers = run([str(HERE / "bridge_checker.py"), HOME, BRIDGE], launches)
    for name, found in zip(CASES, answers, strict=True):
        assert found == {"missing": [], "differs": {}, "lost": [], "checked": found["checked"]}, (
            name
        )
        assert found["checked"] >= 28, name
    wrong = {
        "args": launches[0]["args"],
        "program": launches[0]["program"] + "cfg.model.no_such = 1\n",
        "overrides": launches[0]["overrides"].replace("num_layers=12", "num_layers=13"),
    }
    (found,) = run([str(HERE / "bridge_checker.py"), HOME, BRIDGE], [wrong])
    assert (found["missing"], list(found["differs"])) == (["model.no_such"], ["model.num_layers"])
    assert problems([(CASES[name], *both_goldens(name)) for name in CASES]) == {}
    facts = {
        "framework": "Megatron-Bridge",
        "version": "main",
        "commit": "067f987df03b8355b03192d88d70f1709fedf51a (2026-08-22)",
        "date": "2026-11-27",
        "by": "scripts/translate_mlm_to_bridge.py in both directions (overrides.txt), and "
        "training/config.py runtime_config_update (pretrain.py up to its training loop)",
        "python": f"{platform.python_version()}, torch on CPU, without Transformer Engine",
    }
    files = [f"{name}/{file}" for name in CASES for file in ("overrides.txt", "pretrain.py")]
    record_acceptance("megatron-bridge", facts, files)


def test_what_is_offloaded_is_offloaded_there_too() -> None:
    case = replace(CASES["one-chip"], model="llama2-7b", seq_len=4096)
    wanted = [
        replace(case, plan=Plan(dp=8, sharding="zero1", offload=names))
        for names in (("activations",), ("optimizer",))
    ]
    launches = [both(one) for one in wanted]
    assert problems(launches) == {}
    case, megatron, bridge = launches[0]
    program = bridge.files[0]
    stays = replace(program, text=program.text.replace("cpu_offloading = True", "use_mup = False"))
    [found] = asked([(case, megatron, replace(bridge, files=(stays,)))])
    assert set(found["differs"]) - set(ALLOWED) == {"model.cpu_offloading"}


@each("precision", ["bf16", "fp16", "fp32"])
def test_shards_are_reduced_in_as_many_bits_as_there(precision: str) -> None:
    plan = Plan(dp=1, fsdp=8, sharding="zero3")
    case = replace(CASES["one-chip"], model="llama2-7b", seq_len=4096, precision=precision)
    assert problems([both(replace(case, plan=plan))]) == {}


def both(case: Case) -> tuple[Case, Export, Export]:
    one, two = (
        export_plan(case.cost(), case.plan, TARGETS[name])
        for name in ("megatron", "megatron-bridge")
    )
    return case, one, two


def test_random_plans_are_configured_alike() -> None:
    launches = [
        both(one)
        for seed, name in enumerate(RUNS)
        for one, _, _ in runnable(
            TARGET, replace(CASES[name], framework="megatron"), count=10, seed=seed
        )
    ]
    assert len(launches) >= 60
    assert len({case.precision for case, _, _ in launches}) >= 4
    assert problems(launches) == {}


def test_every_model_that_the_rules_allow_is_configured_alike() -> None:
    launches = []
    for name in list_models():
        case = replace(CASES["one-chip"], model=name, plan=Plan(sharding="ddp"))
        try:
            launches.append(both(case))
        except InputError:
            continue
    assert len(launches) >= 60
    assert problems(launches) == {}

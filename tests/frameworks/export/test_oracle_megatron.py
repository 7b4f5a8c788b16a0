"""Megatron-LM's own checks of what is exported for it.

`PLANNER_MEGATRON` is a checkout of Megatron-LM at the commit of
`planner.frameworks.megatron.write.SOURCES`, `PLANNER_MEGATRON_PYTHON` a Python with torch; without
it, this one.
"""

import json
import os
import platform
import random
import shlex
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from frameworks.export.accepted_files import exported, record_acceptance
from frameworks.export.cases import CASES, Case
from frameworks.export.random_plans import runnable
from models_db import list_models
from planner.base.errors import InputError
from planner.frameworks.megatron.write import export
from planner.frameworks.rules import broken
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.frameworks.writing.launch import Launch
from planner.plan import Plan, PlanTable, Stage

TARGET = TARGETS["megatron"]
HOME = os.environ.get("PLANNER_MEGATRON", "")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not HOME, reason="PLANNER_MEGATRON names no checkout of Megatron-LM"),
]
PYTHON = os.environ.get("PLANNER_MEGATRON_PYTHON", sys.executable)
HERE = Path(__file__).parent
RUNS = tuple(name for name, case in CASES.items() if not case.hardware.startswith("tpu"))


def question(case: Case, one: Export) -> dict[str, Any]:
    blackwell = case.cost().chip.architecture.startswith("Blackwell")
    return {
        "args": shlex.split(one.files[1].text),
        "world": case.plan.chips,
        "environment": dict(one.environment),
        "hopper": not blackwell,
    }


def asked(questions: list[dict[str, Any]], home: str = HOME) -> list[dict[str, Any]]:
    return run([str(HERE / "megatron_checker.py"), home], questions)


def run(words: list[str], questions: Any) -> Any:
    done = subprocess.run(
        [PYTHON, *words], input=json.dumps(questions), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def chunks_of(case: Case, plan: Plan) -> list[list[int]]:
    """Layers of every chunk of every stage, as Megatron-LM counts them."""
    layers = Launch(cost=case.cost(), plan=plan).chunk_layers
    return [list(layers[stage :: plan.pp]) for stage in range(plan.pp)]


@cache
def golden_answers() -> dict[str, dict[str, Any]]:
    found = asked([question(CASES[name], exported("megatron", name)) for name in CASES])
    return dict(zip(CASES, found, strict=True))


def test_the_golden_files_are_accepted() -> None:
    refused = {name: one["why"] for name, one in golden_answers().items() if not one["accepted"]}
    assert refused == {}
    facts = {
        "framework": "Megatron-LM",
        "version": "core 0.16.1",
        "commit": "55ac7082517c3878ae653c07c09c534b8aed49f6 (2026-03-16)",
        "date": "2026-11-27",
        "by": "training/arguments.py validate_args, TransformerConfig, core/parallel_state.py "
        "initialize_model_parallel, transformer_block.py get_num_layers_to_build, "
        "num_microbatches_calculator.py (args.txt; run.sh passes the same arguments)",
        "python": f"{platform.python_version()}, torch on CPU, without Transformer Engine",
    }
    files = [f"{name}/{file}" for name in CASES for file in ("args.txt", "run.sh")]
    record_acceptance("megatron", facts, files)


@each("name", CASES)
def test_it_builds_the_layers_and_runs_the_micro_batches_of_the_plan(name: str) -> None:
    found, case = golden_answers()[name], CASES[name]
    assert found["layers"] == chunks_of(case, case.plan)
    assert found["micro"] == Launch(cost=case.cost(), plan=case.plan).micro_batches


def uneven(case: Case, plan: Plan, source: random.Random) -> Plan:
    """The plan with layers moved between its chunks, and the first N recomputed."""
    layers = list(Launch(cost=case.cost(), plan=plan).chunk_layers)
    for _ in range(3):
        giver, taker = source.sample(range(len(layers)), 2)
        if layers[giver] > 1:
            layers[giver], layers[taker] = layers[giver] - 1, layers[taker] + 1
    most = source.choice([0, 1, max(layers)])
    dense = case.cost().shapes.experts == 0
    counts = [min(most, count) for count in layers]
    stages = tuple(
        Stage(layers=count, full=(n, 0) if dense else (0, n))
        for count, n in zip(layers, counts, strict=True)
    )
    return replace(plan, stages=stages, recompute="none", offload=())


def drawn() -> list[tuple[Case, Export]]:
    found = []
    source = random.Random(1)
    for seed, name in enumerate(RUNS):
        case = replace(CASES[name], framework="megatron")
        for one, plan, text in runnable(TARGET, case, count=12, seed=seed):
            found.append((one, text))
            if plan.pp > 1 and plan.stages is None and name != "latent-experts":
                other = replace(one, plan=uneven(one, plan, source))
                found.append((other, export_plan(other.cost(), other.plan, TARGET)))
    return found


def test_random_plans_are_accepted() -> None:
    plans = drawn()
    answers = asked([question(case, text) for case, text in plans])
    assert len(plans) >= 100
    for (case, _), found in zip(plans, answers, strict=True):
        assert found["accepted"], (case, found["why"])
        assert found["layers"] == chunks_of(case, case.plan), case
        assert found["micro"] == Launch(cost=case.cost(), plan=case.plan).micro_batches


def test_every_model_that_the_rules_allow_is_accepted() -> None:
    """One chip, sequences of 2,048 tokens; a refused model says what Megatron-LM lacks."""
    cases = [
        replace(CASES["one-chip"], model=name, plan=Plan(sharding="ddp")) for name in list_models()
    ]
    allowed = [case for case in cases if runs(case)]
    answers = asked([question(case, written(case, case.plan)) for case in allowed])
    refused = {
        case.model: one["why"]
        for case, one in zip(allowed, answers, strict=True)
        if not one["accepted"]
    }
    assert refused == {}
    assert len(allowed) >= 60


def written(case: Case, plan: Plan) -> Export:
    """A plan as it is written whatever the rules say."""
    return export(Launch(cost=case.cost(), plan=plan))


REFUSED = {
    "heads": ("dense-tp-pp", {"tp": 3, "pp": 1, "schedule": "1f1b", "interleave": 1}),
    "batch": ("dense-tp-pp", {"micro_batch": 3}),
    "layers": ("dense-tp-pp", {"pp": 3, "schedule": "1f1b", "interleave": 1}),
    "chunks": ("dense-tp-pp", {"interleave": 3}),
    "sequence": ("long", {"cp": 3}),
    "experts": ("experts", {"ep": 3}),
    "stages": ("uneven", {"stages": (Stage(layers=9), Stage(layers=11), Stage(layers=11))}),
    "layers of stages": ("uneven", {"stages": (Stage(layers=9),) * 3 + (Stage(layers=8),)}),
    "offload": ("uneven", {"offload": ("activations",)}),
    "stages inside": ("experts", {"order": ("tp", "cp", "pp", "fsdp", "dp")}),
    "stages inside with cp": (
        "dense-tp-pp",
        {"dp": 8, "cp": 2, "order": ("tp", "cp", "pp", "fsdp", "dp")},
    ),
}


def test_what_breaks_a_rule_is_refused() -> None:
    questions = []
    for name, changes in REFUSED.values():
        case = CASES[name]
        wrong = replace(case, plan=replace(case.plan, **changes))
        with pytest.raises(InputError):
            export_plan(wrong.cost(), wrong.plan, TARGET)
        questions.append(question(wrong, written(wrong, wrong.plan)))
    for name, found in zip(REFUSED, asked(questions), strict=True):
        assert not found["accepted"], name


def runs(case: Case) -> bool:
    try:
        export_plan(case.cost(), case.plan, TARGET)
    except InputError:
        return False
    return True


CHECKED = {"heads", "kv-heads", "batch", "layers"}
"""Rules of arithmetic that Megatron-LM checks before it builds anything."""


def broken_rules(case: Case) -> set[str]:
    found = broken(case.cost(), PlanTable.from_plans([case.plan]), target=TARGET)
    return {rule.name for rule, _ in found}


def test_random_plans_that_break_a_rule_it_checks_are_refused() -> None:
    """Sizes that divide nothing: 11 ranks of an axis, 5 sequences of a micro-batch."""
    changes = [{axis: 11} for axis in ("tp", "pp", "dp")] + [{"micro_batch": 5}]
    cases = [replace(CASES[name], framework="megatron") for name in RUNS]
    plans = [
        replace(one, plan=replace(plan, **change))
        for seed, case in enumerate(cases)
        for one, plan, _ in runnable(TARGET, case, count=3, seed=seed)
        for change in changes
    ]
    plans = [one for one in plans if CHECKED & broken_rules(one)]
    answers = asked([question(one, written(one, one.plan)) for one in plans])
    taken = [one.plan for one, found in zip(plans, answers, strict=True) if found["accepted"]]
    assert taken == []
    assert len(plans) >= 40


def test_the_environment_is_the_one_that_it_wants() -> None:
    other = question(CASES["uneven"], exported("megatron", "uneven"))
    other["environment"] = {"CUDA_DEVICE_MAX_CONNECTIONS": "8"}
    sharded = question(CASES["dense-sharded"], exported("megatron", "dense-sharded"))
    sharded["environment"] = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    assert [one["accepted"] for one in asked([other, sharded])] == [False, False]

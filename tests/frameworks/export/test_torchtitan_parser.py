"""torchtitan's own configuration classes on golden files, models and random plans.

0.3 is the installed package; PLANNER_TORCHTITAN_02 and PLANNER_TORCHTITAN_MAIN are checkouts of tag
v0.2.2 and of the main branch. Run these with a Python that has torchtitan.
"""

import json
import os
import platform
import subprocess
import sys
from dataclasses import replace
from datetime import date
from functools import cache
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from frameworks.export.accepted_files import digests, exported, record_acceptance
from frameworks.export.cases import CASES, Case
from frameworks.export.random_plans import runnable
from models_db import load_model
from planner.frameworks.targets import TARGETS
from planner.frameworks.torchtitan.models import FLAVORS, flavor_of
from planner.frameworks.torchtitan.versions import SOURCES
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan

pytestmark = pytest.mark.oracle
PARSER = Path(__file__).with_name("torchtitan_parser.py")
TARGET = TARGETS["torchtitan"]
FOLDERS = {"0.2": "PLANNER_TORCHTITAN_02", "main": "PLANNER_TORCHTITAN_MAIN"}
KNOWN = ("llama3-8b", "llama3-70b", "llama3.1-405b", "llama2-13b", "llama2-70b", "qwen3-8b",
         "qwen3-32b", "qwen3-30b-a3b", "qwen3-235b-a22b", "deepseek-v2-lite", "deepseek-v2",
         "deepseek-v3", "gpt-oss-20b", "gpt-oss-120b")  # fmt: skip


def folder_of(version: str) -> str | None:
    """The checkout of a version, None where the installed one is meant; skips where it is not."""
    if version not in FOLDERS:
        if find_spec("torchtitan") is None:
            pytest.skip("torchtitan is not installed")
        return None
    folder = os.environ.get(FOLDERS[version])
    if not folder or not Path(folder, "torchtitan").is_dir():
        pytest.skip(f"{FOLDERS[version]} names no checkout of torchtitan {version}")
    return folder


def ask(version: str, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What torchtitan says of exports."""
    environment = dict(os.environ)
    if (folder := folder_of(version)) is not None:
        environment["PYTHONPATH"] = folder
    done = subprocess.run(
        [sys.executable, str(PARSER), version],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def question(export: Export, plan: Plan, *, counts: bool = False) -> dict[str, Any]:
    files = {file.name: file.text for file in export.files}
    command = files.get("torchtitan.sh", export.command)
    return {"files": files, "command": command, "world": plan.chips, "counts": counts}


def expected(case: Case, version: str) -> dict[str, Any]:
    """What torchtitan must make of a case."""
    plan = case.plan
    unit = case.seq_len if version == "main" else 1
    rounds = case.global_batch // (plan.dp * plan.fsdp * plan.micro_batch)
    return {
        "dp_replicate": plan.dp, "dp_shard": plan.fsdp, "cp": plan.cp, "tp": plan.tp,
        "pp": plan.pp, "ep": plan.ep, "step": case.global_batch * unit,
        "accumulation": 1 if plan.pp > 1 else rounds,
        "micro_batches": rounds if plan.pp > 1 else 1,
    }  # fmt: skip


@each("version", TARGET.versions)
def test_the_golden_files_are_accepted(version: str) -> None:
    exports = {name: exported("torchtitan", name, version) for name in CASES}
    written = {name: one for name, one in exports.items() if not one.unsupported}
    lossy = {
        name: one
        for name, one in exports.items()
        if one.unsupported and not {lost.field for lost in one.unsupported} & {"model", "ep", "cp"}
    }
    names = [*written, *lossy]
    questions = [question(exports[name], CASES[name].plan) for name in names]
    answers = dict(zip(names, ask(version, questions), strict=True))
    assert not {name: one["error"] for name, one in answers.items() if "error" in one}
    for name in written:
        assert expected(CASES[name], version).items() <= answers[name].items()
    facts = {
        "framework": "torchtitan",
        "version": f"torchtitan {SOURCES[version]}",
        "date": str(date.today()),
        "by": "config/manager.py ConfigManager, distributed/parallel_dims.py ParallelDims, "
        "update_from_config of the model",
        "python": f"{platform.python_version()}, torch {version_of('torch')}",
    }
    folder = f"torchtitan-{version}"
    files = [name for name in digests(folder) if name.split("/")[0] in answers]
    record_acceptance(folder, facts, files)


@each("version", TARGET.versions)
def test_models_have_the_parameters_of_torchtitan(version: str) -> None:
    base = replace(CASES["dense-sharded"], seq_len=4096)
    names = [name for name in KNOWN if name]
    cases = [replace(base, model=name) for name in names]
    questions = [
        question(export_plan(one.cost(), one.plan, TARGET, version), one.plan, counts=True)
        for one in cases
    ]
    answers = ask(version, questions)
    for name, found in zip(names, answers, strict=True):
        model = load_model(name)
        assert found.get("parameters") == pytest.approx(model.total_parameters, rel=1e-4), name
    flavors = {flavor.name for name in names if (flavor := flavor_of(load_model(name), version))}
    assert len(flavors) >= len(FLAVORS) // 2


@cache
def random_plans() -> list[tuple[Case, Plan]]:
    """Plans of four cases and jobs like them, the same for every version."""
    names = ("dense-sharded", "uneven", "latent-experts", "dense-hybrid")
    cases = [replace(CASES[name], framework="torchtitan") for name in names]
    found = [runnable(TARGET, case, count=25, seed=3) for case in cases]
    return [(one, plan) for plans in found for one, plan, _ in plans]


@each("version", TARGET.versions)
def test_random_plans_are_accepted(version: str) -> None:
    folder_of(version)  # skips before plans are drawn
    kept = []
    for one, plan in random_plans():
        export = export_plan(one.cost(), plan, TARGET, version, allow_lossy=True)
        if not export.unsupported:
            kept.append((one, export))
    answers = ask(version, [question(export, one.plan) for one, export in kept])
    assert len(kept) >= 40
    for (one, _), found in zip(kept, answers, strict=True):
        assert expected(one, version).items() <= found.items(), (one.plan, found)


WRONG = {
    "heads": ("dense-sharded", {"fsdp": 4, "tp": 16, "sequence_parallel": True}, 64),
    "experts": ("latent-experts", {"sharding": "ddp"}, 256),
    "world": ("dense-sharded", {}, 128),
}
"""Name to a case, changes to its plan, and the chips that it is launched on."""
REFUSED = {"0.2": {"world"}, "0.3": {"heads", "world"}, "main": {"heads", "experts", "world"}}
"""What each version checks before it builds a model."""


@each("version", TARGET.versions)
def test_plans_that_break_a_rule_are_refused(version: str) -> None:
    asked = []
    for source, changes, world in WRONG.values():
        case = CASES[source]
        plan = replace(case.plan, **changes)
        export = export_plan(case.cost(), plan, TARGET, version, allow_lossy=True)
        asked.append(question(export, plan) | {"world": world})
    answers = dict(zip(WRONG, ask(version, asked), strict=True))
    assert {name for name, found in answers.items() if "error" in found} >= REFUSED[version]

"""Each optimizer in each target: the settings that name it, or a refusal that says why."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from frameworks.export.cases import CASES, Case
from planner.assumptions.optimizers import OPTIMIZERS
from planner.base.errors import InputError
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.plan import Plan
from planner.question.launch.read import read_launch

_DENSE = replace(CASES["dense-sharded"], framework="megatron", plan=Plan(dp=64, sharding="zero1"))
CASE_OF = {
    "megatron": _DENSE,
    "megatron-bridge": _DENSE,
    "torchtitan": CASES["dense-sharded"],
    "deepspeed": replace(
        CASES["dense-sharded"],
        framework="deepspeed",
        plan=Plan(fsdp=64, sharding="zero3", recompute="full"),
    ),
}
_AWARE = "--use-precision-aware-optimizer --exp-avg-dtype {0} --exp-avg-sq-dtype {0}"
_TORCH = "cfg.optimizer.exp_avg_dtype = torch.{}"
_BF16 = "fused_opt_states_bf16"
WRITTEN = {
    ("megatron", "", "adam-bf16"): _AWARE.format("bf16"),
    ("megatron", "", "adam-fp8"): _AWARE.format("fp8"),
    ("megatron", "", "muon"): "--optimizer dist_muon",
    ("megatron-bridge", "", "adam-bf16"): _TORCH.format("bfloat16"),
    ("megatron-bridge", "", "adam-fp8"): _TORCH.format("uint8"),
    ("torchtitan", "0.3", "adam-bf16"): f"--optimizer.implementation {_BF16}",
    ("torchtitan", "main", "adam-bf16"): f'config.optimizer.implementation = "{_BF16}"',
    ("deepspeed", "", "lion"): '"type": "Lion"',
}
"""Target, version ("" for all) and optimizer to what the files say; Adam, unnamed, left out."""


def text_of(case: Case, target: str, version: str = "") -> str:
    export = export_plan(case.cost(), case.plan, TARGETS[target], version)
    return "\n".join(" ".join(file.text.split()) for file in export.files)


def test_every_target_names_the_optimizer_or_refuses() -> None:
    tried = [(name, version) for name in CASE_OF for version in TARGETS[name].versions]
    for target, version in tried:
        plain = text_of(CASE_OF[target], target, version)
        for optimizer in OPTIMIZERS.keys() - {"adam"}:
            case = replace(CASE_OF[target], optimizer=optimizer)
            own = version if target == "torchtitan" else ""
            said = WRITTEN.get((target, own, optimizer))
            if said is None:
                with pytest.raises(InputError, match=f"^optimizer: .*{optimizer}"):
                    text_of(case, target, version)
            else:
                assert said in text_of(case, target, version), (target, version, optimizer)
                assert said not in plain
    assert {(target, version) for target, version, _ in WRITTEN if version} <= set(tried)


def test_muon_hides_no_collective_of_the_data_ranks() -> None:
    """`validate_args` of core 0.16.1 stops at the flags of both overlaps beside Muon."""
    for sharding, name in (("zero1", "dist_muon"), ("ddp", "muon")):
        case = replace(_DENSE, optimizer="muon", plan=replace(_DENSE.plan, sharding=sharding))
        words = text_of(case, "megatron").split()
        assert f"--optimizer {name}" in " ".join(words)
        assert not {word for word in words if re.match("--(overlap|use-distributed)", word)}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    read = {name for target, _, name in WRITTEN if target in ("megatron", "deepspeed")}
    assert read == {"adam-bf16", "adam-fp8", "muon", "lion"}
    for target, _, optimizer in WRITTEN:
        if target not in ("megatron", "deepspeed"):
            continue
        case = replace(CASE_OF[target], optimizer=optimizer)
        file = tmp_path / "launch"
        export = export_plan(case.cost(), case.plan, TARGETS[target])
        file.write_text(export.files[0].text, encoding="utf-8")
        asked = {"hardware": case.hardware, "model": case.model, "chips": 64}
        found = read_launch(target, file, asked, {"recompute": [case.plan.recompute]})
        assert found.request.optimizer == optimizer
        assert found.plan.sharding == case.plan.sharding


def test_moments_of_two_formats_are_warned_of(tmp_path: Path) -> None:
    case = replace(_DENSE, optimizer="adam-bf16")
    words = export_plan(case.cost(), case.plan, TARGETS["megatron"]).files[1].text
    file = tmp_path / "args.txt"
    file.write_text(words.replace("--exp-avg-sq-dtype bf16", "--exp-avg-sq-dtype fp32"))
    asked = {"hardware": case.hardware, "model": case.model, "chips": 64}
    found = read_launch("megatron", file, asked)
    assert found.request.optimizer == "adam"
    assert any("moments in bf16 and fp32" in line for line in found.imported.warnings)


def test_lion_has_no_epsilon() -> None:
    """FusedLion takes none (ops/lion/fused_lion.py)."""
    case = replace(CASE_OF["deepspeed"], optimizer="lion")
    export = export_plan(case.cost(), case.plan, TARGETS["deepspeed"])
    given = json.loads(export.files[0].text)["optimizer"]
    assert given["params"].keys() == {"lr", "betas", "weight_decay"}

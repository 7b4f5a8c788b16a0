"""What `solve` answers by default is what `export` writes for the target that it names.

Options are held against the kept tables of each target's version (`option_tables.py`).
"""

import json
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner, solve
from support.cases import each

from frameworks.export.test_options_exist import VERSIONS, wrong
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.question.files.plan_file import read_plan_file
from planner.question.resolved import resolve

PAIRS = (
    ("llama3-8b", "h100-sxm5-80", 8),
    ("llama3-70b", "h100-sxm5-80", 64),
    ("llama3.1-405b", "dgx-h100-ndr", 512),
    ("llama2-13b", "tpu-v5p", 64),
    ("llama3-8b", "tpu-v5e", 64),
    ("gpt3-175b", "dgx-a100-80-hdr", 512),
    ("mixtral-8x7b", "h100-sxm5-80", 64),
    ("deepseek-v3", "dgx-h100-ndr", 512),
    ("qwen3-30b-a3b", "gb200-nvl72", 64),
    ("qwen3-8b", "b200-sxm-180", 8),
    ("gemma2-9b", "h200-sxm5-141", 8),
    ("phi-4", "a100-sxm4-40", 64),
    ("llama3-8b", "mi300x", 8),
    ("llama3-70b", "mi300x", 64),
    ("gpt-oss-20b", "h100-sxm5-80", 8),
    ("olmo2-7b", "a100-sxm4-80", 8),
    ("gpt3-1.3b", "v100-sxm2-32", 8),
    ("llama2-7b", "l40s-pcie", 8),
    ("deepseek-v2-lite", "tpu-v5p", 64),
    ("gemma2-27b", "tpu-v6e", 64),
    ("llama3-8b", "gaudi2", 8),
    ("llama3-8b", "trn2", 64),
    ("opt-125m", "xeon-clx-socket", 1),
    ("qwen2.5-32b", "h100-sxm5-80", 64),
    ("llama4-scout", "h100-sxm5-80", 512),
)
NOT_BUILT = {"gemma2-9b"}
"""A model that the target on its chip does not build."""
WITHOUT = {"gaudi2", "trn2", "xeon-clx-socket"}
"""Chips on which a framework is merely assumed: nothing is kept to, and the answer says so."""


def asked(model: str, hardware: str, chips: int, folder: Path) -> tuple[dict[str, Any], Path]:
    """The answer about a pair, and its plan file."""
    plan = folder / "plan.yaml"
    words = ("--model", model, "--hardware", hardware, "--chips", str(chips))
    return solve(*words, "--batch-tokens", "1Mi", "--seq-len", "2048", "-o", str(plan)), plan


@each(("model", "hardware", "chips"), PAIRS)
def test_the_plan_is_written_as_it_is(
    tmp_path: Path, model: str, hardware: str, chips: int
) -> None:
    answer, plan = asked(model, hardware, chips, tmp_path)
    if hardware in WITHOUT or model in NOT_BUILT:
        assert answer["notes"]["runs_in"] == []
        said = " ".join(answer["notes"]["caveats"])
        assert ("All plans" if hardware in WITHOUT else "runs no plan of this job") in said
        return
    (target,) = answer["notes"]["runs_in"]
    outcome = planner("export", plan, "--to", target, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["unsupported"] == []
    read = read_plan_file(plan)
    cost = resolve(read.request, read.origin, read.plan.chips).cost
    export = export_plan(cost, read.plan, TARGETS[target])
    table = next(name for name in VERSIONS if name.startswith(target))
    if target == "torchtitan":
        table = "torchtitan-0.3"
    assert wrong(table, export) == set()


@pytest.mark.parametrize("framework", ["torchtitan", "deepspeed", "deepspeed-liger", "fsdp",
                                       "nanotron", "megatron-fp32-grads"])  # fmt: skip
def test_so_it_is_for_every_framework_that_is_named(tmp_path: Path, framework: str) -> None:
    plan = tmp_path / "plan.yaml"
    words = ("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--chips", "64")
    answer = solve(*words, "--framework", framework, "-o", str(plan))
    (target,) = answer["notes"]["runs_in"]
    assert planner("export", plan, "--to", target, "-o", tmp_path / "launch").code == 0

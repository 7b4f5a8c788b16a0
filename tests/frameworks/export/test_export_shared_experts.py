"""Shared experts beside the exchange of the routed ones, as a flag of Megatron-LM."""

from dataclasses import replace
from pathlib import Path

from frameworks.export.cases import CASES
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.question.launch.read import read_launch

FLAG = "--moe-shared-expert-overlap"


def test_the_flag_is_written_where_it_is_counted_and_read_with_a_warning(tmp_path: Path) -> None:
    for name, has in (("latent-experts", True), ("experts", False)):
        case, target = CASES[name], TARGETS["megatron"]
        cost = case.cost()
        beside = replace(cost, assumptions=replace(cost.assumptions, shared_beside=True))
        plain, found = (export_plan(one, case.plan, target).files[1].text for one in (cost, beside))
        assert FLAG not in plain
        assert (FLAG in found) == has
        file = tmp_path / f"{name}.txt"
        file.write_text(found, encoding="utf-8")
        asked = {"hardware": case.hardware, "model": case.model, "chips": case.plan.chips}
        warnings = read_launch("megatron", file, asked).imported.warnings
        assert any(line.startswith(FLAG) for line in warnings) == has

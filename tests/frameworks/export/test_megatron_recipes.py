"""The recipe of fp8 that Megatron-LM and Megatron-Bridge are told is that of the prediction."""

from dataclasses import replace

from support.cases import each

from frameworks.export.cases import CASES
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan


@each(
    ("recipe", "flag", "function"),
    [
        ("delayed", "delayed", "bf16_with_fp8_delayed_scaling_mixed"),
        ("current", "tensorwise", "bf16_with_fp8_current_scaling_mixed"),
        ("blockwise", "blockwise", "bf16_with_fp8_subchannel_scaling_mixed"),
        ("", "tensorwise", "bf16_with_fp8_current_scaling_mixed"),
    ],
)
def test_recipes_of_fp8_are_those_of_the_prediction(recipe: str, flag: str, function: str) -> None:
    case = CASES["latent-experts"]
    cost = case.cost()
    cost = replace(cost, job=replace(cost.job, precision="fp8", fp8_recipe=recipe))
    megatron, bridge = (
        export_plan(cost, case.plan, TARGETS[name]) for name in ("megatron", "megatron-bridge")
    )
    assert f"--fp8-recipe {flag}\n" in megatron.files[1].text
    program = bridge.files[0].text
    assert f"cfg.mixed_precision = {function}()" in program
    keeps_all = "first_last_layers_bf16 = False" in program
    assert keeps_all == (flag == "tensorwise")

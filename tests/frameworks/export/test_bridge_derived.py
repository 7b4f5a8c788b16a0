"""What Megatron-LM derives from its arguments is told to Megatron-Bridge."""

from dataclasses import replace

from frameworks.export.cases import CASES
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.plan import Plan

BRIDGE = TARGETS["megatron-bridge"]


def test_the_bridge_is_told_what_megatron_derives() -> None:
    case = replace(CASES["one-chip"], model="llama2-7b", seq_len=4096)
    moved = Plan(dp=8, sharding="zero1", offload=("activations",))
    program, _, overrides = export_plan(case.cost(), moved, BRIDGE).files
    assert "cfg.model.cpu_offloading = True\n" in program.text
    assert "model.cpu_offloading=true\n" in overrides.text
    full = replace(case, precision="fp32")
    program = export_plan(full.cost(), Plan(dp=8, pp=2), BRIDGE).files[0]
    assert "cfg.optimizer.bf16 = False\n" in program.text
    assert "cfg.model.pipeline_dtype = torch.float32\n" in program.text
    half = replace(case, precision="fp16")
    program = export_plan(half.cost(), Plan(dp=8), BRIDGE).files[0]
    assert "cfg.ddp.check_for_nan_in_grad = False\n" in program.text
    latent = replace(case, model="deepseek-v2-lite")
    program, _, overrides = export_plan(latent.cost(), Plan(dp=8), BRIDGE).files
    assert "cfg.model.multi_latent_attention = True\n" in program.text
    assert "cfg.model.q_lora_rank = None\n" in program.text
    assert "model.q_lora_rank=null\n" in overrides.text

"""Exports for Megatron-LM and Megatron-Bridge: golden files, scripts, flags, what is lost."""

import ast
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.cases import each

from frameworks.export.accepted_files import accepted_files, agrees_with_golden, digests, exported
from frameworks.export.cases import CASES, Case
from models_db import Model, load_model
from planner.base.errors import InputError
from planner.frameworks.megatron.bridge.keys import numbers_of
from planner.frameworks.megatron.write import export
from planner.frameworks.megatron.writing.model import padded_vocabulary, pattern
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.frameworks.writing.launch import Launch
from planner.plan import Plan, Stage
from planner.plan.layout_text import parse_layout

TARGET, BRIDGE = TARGETS["megatron"], TARGETS["megatron-bridge"]
UNEVEN = CASES["uneven"]


def of(case: Case, *, allow_lossy: bool = False, **changes: object) -> Export:
    plan = replace(case.plan, **changes)
    return export_plan(case.cost(), plan, TARGET, allow_lossy=allow_lossy)


def arguments(one: Export) -> list[str]:
    return shlex.split(one.files[1].text)


def flags(one: Export) -> dict[str, list[str]]:
    """Flag to its values."""
    found: dict[str, list[str]] = {}
    for line in one.files[1].text.splitlines():
        name, *values = shlex.split(line)
        assert name.startswith("--"), line
        assert name not in found, name
        found[name] = values
    return found


def model(name: str, **changes: object) -> Case:
    return replace(CASES["one-chip"], model=name, plan=Plan(sharding="ddp"), **changes)


@each("case", CASES)
@each("target", ["megatron", "megatron-bridge"])
def test_the_golden_files(target: str, case: str) -> None:
    agrees_with_golden(target, case)


def test_what_was_accepted_is_what_is_exported() -> None:
    assert accepted_files("megatron") == digests("megatron")
    found = digests("megatron-bridge")
    asked = {name: one for name, one in found.items() if not name.endswith("run.sh")}
    assert accepted_files("megatron-bridge") == asked


@each("case", CASES)
def test_the_script_passes_the_arguments_and_starts_every_chip(case: str, tmp_path: Path) -> None:
    """A torchrun that prints what it is called with stands in for the real one."""
    fake = tmp_path / "torchrun"
    fake.write_text('#!/bin/bash\nprintf "%s\\n" "$@"\nprintenv CUDA_DEVICE_MAX_CONNECTIONS\n')
    fake.chmod(0o755)
    one = exported("megatron", case)
    done = subprocess.run(
        ["bash", "-c", one.files[0].text],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "NODE_RANK": "3", "MEGATRON_HOME": "/m"},
    )
    *words, connections = done.stdout.splitlines()
    at = words.index("/m/pretrain_gpt.py")
    assert words[at + 1 :] == arguments(one)
    launcher = dict(zip(words[:at:2], words[1:at:2], strict=True))
    chips = int(launcher["--nnodes"]) * int(launcher["--nproc-per-node"])
    assert chips == CASES[case].plan.chips
    assert launcher["--node-rank"] == "3"
    assert connections == dict(one.environment)["CUDA_DEVICE_MAX_CONNECTIONS"]


@each("case", CASES)
def test_the_program_of_the_bridge_is_python_with_the_overrides(case: str) -> None:
    program, script, overrides = (file.text for file in exported("megatron-bridge", case).files)
    tree = ast.parse(program)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert names & {alias.name for alias in node.names}
    for line in shlex.split(overrides):
        key = line.partition("=")[0]
        assert key.startswith("dataset.") or f"cfg.{key} = " in program
    assert "$PLAN_HOME/pretrain.py" in script


def test_layouts_say_the_layers_of_the_plan() -> None:
    found = flags(of(UNEVEN))["--pipeline-model-parallel-layout"]
    assert parse_layout(found[0]) == (9, 11, 11, 9)
    stages = tuple(Stage(layers=n) for n in (4, 5, 5, 6, 6, 5, 5, 4))
    chunks = {"schedule": "interleaved", "interleave": 2, "stages": stages}
    found = flags(of(UNEVEN, **chunks))
    assert parse_layout(found["--pipeline-model-parallel-layout"][0]) == (4, 5, 5, 6, 6, 5, 5, 4)
    assert "--num-virtual-stages-per-pipeline-rank" not in found


def test_even_splits_need_no_layout() -> None:
    even = flags(of(UNEVEN, stages=None))
    assert not {name for name in even if "layout" in name or "account" in name}
    counted = replace(UNEVEN, model="bloom-7b1", plan=replace(UNEVEN.plan, stages=None))
    counted = replace(counted, model="llama3.1-405b", seq_len=8192)
    plan = {"stages": None, "split": "even-counted", "tp": 8, "pp": 16}
    found = flags(of(counted, **plan))
    assert "--account-for-embedding-in-pipeline-split" in found
    assert "--account-for-loss-in-pipeline-split" in found
    front = flags(of(UNEVEN, stages=None, split="front", pp=16, dp=4))
    layers = parse_layout(front["--pipeline-model-parallel-layout"][0])
    assert layers == (3,) * 8 + (2,) * 8


def test_recomputation_in_blocks_is_one_number() -> None:
    stages = tuple(Stage(layers=n, full=(min(n, 3), 0)) for n in (2, 12, 12, 14))
    found = flags(of(UNEVEN, stages=stages))
    assert found["--recompute-granularity"] == ["full"]
    assert found["--recompute-method"] == ["block"]
    assert found["--recompute-num-layers"] == ["3"]
    assert flags(of(UNEVEN, recompute="full"))["--recompute-method"] == ["uniform"]
    assert flags(of(UNEVEN, recompute="selective"))["--recompute-modules"] == ["core_attn"]
    assert "--recompute-granularity" not in flags(of(UNEVEN))


def test_rank_orders() -> None:
    assert "--use-tp-pp-dp-mapping" not in flags(of(UNEVEN))
    inside = ("tp", "cp", "pp", "fsdp", "dp")
    assert "--use-tp-pp-dp-mapping" in flags(of(UNEVEN, order=inside))
    alone = replace(CASES["long"], plan=replace(CASES["long"].plan, order=inside))
    assert "--use-tp-pp-dp-mapping" not in flags(of(alone))


def test_hybrid_sharding_is_an_instance_for_every_replica() -> None:
    found = flags(of(CASES["dense-hybrid"]))
    assert found["--num-distributed-optimizer-instances"] == ["2"]
    assert found["--data-parallel-sharding-strategy"] == ["optim_grads_params"]
    second = flags(of(CASES["long"], sharding="zero2"))
    assert second["--data-parallel-sharding-strategy"] == ["optim_grads"]
    assert "--num-distributed-optimizer-instances" not in second


@each(
    ("case", "queues"),
    [("uneven", "1"), ("dense-sharded", "8"), ("dense-hybrid", "8"), ("latent-experts", "32")],
)
def test_hardware_queues(case: str, queues: str) -> None:
    environment = dict(of(CASES[case]).environment)
    assert environment["CUDA_DEVICE_MAX_CONNECTIONS"] == queues


def test_offloading() -> None:
    found = flags(of(UNEVEN, offload=("optimizer",)))
    assert {"--optimizer-cpu-offload", "--use-precision-aware-optimizer"} <= set(found)
    case = replace(CASES["long"], plan=replace(CASES["long"].plan, recompute="none"))
    moved = flags(of(case, offload=("activations",)))
    assert moved["--cpu-offloading-num-layers"] == ["31"]


@each(
    ("precision", "expected"),
    [
        ("bf16", {"--bf16": [], "--grad-reduce-in-bf16": []}),
        ("fp16", {"--fp16": []}),
        ("fp8", {"--bf16": [], "--fp8-format": ["hybrid"], "--fp8-param-gather": []}),
        ("mxfp8", {"--fp8-format": ["e4m3"], "--fp8-recipe": ["mxfp8"]}),
        ("fp4", {"--fp4-format": ["e2m1"], "--fp4-recipe": ["nvfp4"]}),
    ],
)
def test_precisions(precision: str, expected: dict[str, list[str]]) -> None:
    case = CASES["latent-experts"]
    cost = case.cost()
    cost = replace(cost, job=replace(cost.job, precision=precision))
    found = flags(export_plan(cost, case.plan, TARGET))
    assert {name: found.get(name) for name in expected} == expected
    program = export_plan(cost, case.plan, BRIDGE).files[0].text
    compile(program, "pretrain.py", "exec")
    assert ("param_gather = False" in program) == (precision in {"mxfp8", "fp4"})
    assert ("fp8_param_gather = True" in program) == (precision == "fp8")


def test_weights_beside_their_quantized_copies_are_said() -> None:
    """Only the distributed optimizer gathers weights of 8 bits, which then have no others."""
    case = replace(CASES["one-chip"], precision="fp8", plan=Plan(dp=8, sharding="zero1"))
    lost = {
        sharding: [
            one.reason for one in of(case, sharding=sharding).lossy if "quantized" in one.reason
        ]
        for sharding in ("zero1", "ddp")
    }
    assert lost["zero1"] == []
    assert "up to 2 B a parameter" in lost["ddp"][0]


def test_vocabularies_are_padded() -> None:
    case = replace(UNEVEN, model="gpt3-13b", seq_len=2048, plan=Plan(tp=4, sharding="ddp"))
    launch = Launch(cost=case.cost(), plan=case.plan)
    assert padded_vocabulary(launch) == 50688  # 99 times 128 x 4, above 50,257
    assert "50,257 tokens is padded to 50,688" in of(case).files[0].text


def test_patterns_of_layers_are_read_back() -> None:
    for bits in ([1], [0, 1], [1, 1, 1], [0] * 3 + [1] * 58, ([1] * 5 + [0]) * 5 + [1] * 4):
        assert numbers_of(pattern(bits)) == bits


def test_models_with_windows_sinks_and_biases() -> None:
    found = flags(of(model("gpt-oss-20b", seq_len=4096)))
    assert found["--window-size"] == ["127,0"]
    assert found["--softmax-type"] == ["learnable"]
    assert found["--window-attn-skip-freq"] == ["([1]+[0])*12"]
    assert "--disable-bias-linear" not in found
    qwen = flags(of(model("qwen2.5-7b")))
    assert {"--add-qkv-bias", "--disable-bias-linear"} <= set(qwen)
    assert "--qk-layernorm" in flags(of(model("qwen3-8b")))


LOSSY = {
    "llama2-7b": [],
    "deepseek-v2-lite": [],
    "gpt-oss-20b": [],
    "olmo2-7b": ["normalized per head"],
    "opt-125m": ["the activation is ReLU, written is GELU"],
}


@each("name", LOSSY)
def test_what_models_lose(name: str) -> None:
    *lost, weights = [one.reason for one in of(model(name)).lossy]
    assert all(part in reason for part, reason in zip(LOSSY[name], lost, strict=True))
    assert "to load published weights, set as in config.json: --norm-epsilon" in weights


def exported_as(found: Model) -> Export:
    """The export of a model with the dimensions of a record, on one chip."""
    cost = model("gpt3-125m").cost()
    cost = replace(cost, job=replace(cost.job, model=found))
    return export(Launch(cost=cost, plan=Plan(sharding="ddp")))


def test_gated_gelu_is_said() -> None:
    gemma = replace(load_model("llama2-7b"), family="gemma")
    lost = [one.reason for one in exported_as(gemma).lossy]
    assert "the activation is GeGLU, written is SwiGLU" in lost[0]


def test_weights_need_what_a_record_does_not_hold() -> None:
    latent = of(model("deepseek-v2-lite")).lossy[-1].reason
    groups = {"--moe-router-num-groups", "--moe-router-group-topk"}
    assert all(name in latent for name in {*groups, "--mscale", "--moe-router-pre-softmax"})
    balanced = of(CASES["latent-experts"]).lossy[-1].reason
    assert "--moe-router-topk-scaling-factor" in balanced
    assert "--moe-router-pre-softmax" not in balanced
    plain = of(model("llama2-7b")).lossy[-1].reason
    assert "--rotary-base" in plain
    assert "router" not in plain
    assert "--rotary-base" not in of(model("gpt3-125m")).lossy[-1].reason
    case = CASES["latent-experts"]
    keys = export_plan(case.cost(), case.plan, BRIDGE).lossy[-1].reason
    assert "model.layernorm_epsilon, model.rotary_base" in keys


def test_routers_of_gpt_oss_and_deepseek() -> None:
    """One has a bias as all its matrices have, the other one that balances the experts."""
    oss = flags(of(model("gpt-oss-20b")))
    assert "--disable-bias-linear" not in oss
    assert not {"--moe-router-enable-expert-bias", "--moe-router-score-function"} & set(oss)
    assert oss["--moe-router-load-balancing-type"] == ["aux_loss"]
    deepseek = flags(of(CASES["latent-experts"]))
    assert "--moe-router-enable-expert-bias" in deepseek
    assert deepseek["--moe-router-score-function"] == ["sigmoid"]
    biased = load_model("mixtral-8x7b")
    biased = replace(biased, mlp=replace(biased.mlp, bias=True))
    lost = [one.reason for one in exported_as(biased).lossy]
    assert any(reason.startswith("the router has a bias") for reason in lost)


def test_the_activation_of_gpt_oss() -> None:
    found = flags(of(model("gpt-oss-20b")))
    assert "--swiglu" not in found
    assert "--quick-geglu" in found
    assert found["--glu-linear-offset"] == ["1.0"]
    assert found["--activation-func-clamp-value"] == ["7.0"]
    case = model("gpt-oss-20b")
    program, _, overrides = export_plan(case.cost(), case.plan, BRIDGE).files
    assert "cfg.model.activation_func = quick_gelu" in program.text
    assert "import quick_gelu" in program.text
    assert "model.activation_func=quick_gelu" in overrides.text
    assert "model.glu_linear_offset=1.0" in overrides.text


def test_positions_beyond_the_table_are_said() -> None:
    longer = model("gpt3-125m", seq_len=4096)
    assert "positions beyond the 2048" in of(longer).lossy[0].reason
    assert flags(of(longer))["--max-position-embeddings"] == ["4096"]
    rows = export_plan(longer.cost(), longer.plan, BRIDGE).lossy
    assert any("the table of positions has 4096 rows" in one.reason for one in rows)


def test_multi_token_prediction_is_left_out_as_the_prediction_does() -> None:
    one = of(CASES["latent-experts"])
    assert "--mtp-num-layers" not in flags(one)
    assert "multi-token prediction" in one.lossy[0].reason


def test_another_framework_s_prediction_is_said() -> None:
    assert of(CASES["dense-sharded"]).lossy[0].field == "framework"
    other = replace(UNEVEN, framework="megatron-zb")
    assert "memory" in of(other).lossy[0].reason


def test_clocks_come_with_the_command_that_sets_them() -> None:
    one = of(UNEVEN, clock=0.8, stages=None)
    assert one.lossy[0].field == "clock"
    assert "nvidia-smi --lock-gpu-clocks=1128" in one.lossy[0].reason
    stages = tuple(Stage(layers=n, clock=c) for n, c in ((9, 1.0), (11, 0.8), (11, 0.8), (9, 1.0)))
    own = of(UNEVEN, stages=stages).lossy[0].reason
    assert "on stages 1 to 2" in own


def test_a_job_that_continues_says_how() -> None:
    cost = UNEVEN.cost()
    cost = replace(cost, job=replace(cost.job, kind="finetune"))
    one = export_plan(cost, UNEVEN.plan, TARGET)
    assert "--finetune" in one.lossy[0].reason


def test_a_plan_that_it_cannot_run_is_written_as_near_as_it_can() -> None:
    stages = tuple(
        Stage(layers=n, recompute=way)
        for n, way in ((9, "none"), (11, "full"), (11, "none"), (9, "none"))
    )
    with pytest.raises(InputError, match="first N layers of every stage"):
        of(UNEVEN, stages=stages)
    one = of(UNEVEN, allow_lossy=True, stages=stages)
    assert [lost.field for lost in one.unsupported] == ["recompute"]
    assert flags(one)["--recompute-num-layers"] == ["11"]


def test_divided_sequences_attend_in_one_kernel() -> None:
    """Software without fused attention cannot divide sequences; with it both can."""
    cost = CASES["long"].cost()
    early = replace(cost, assumptions=replace(cost.assumptions, fused_attention=False))
    alone = replace(CASES["long"].plan, cp=1, dp=32)
    for plan, unfused in ((CASES["long"].plan, False), (alone, True)):
        one = export_plan(early, plan, TARGETS["megatron"])
        assert ("--attention-backend unfused" in one.files[1].text) == unfused
        assert ("cp" in {lost.field for lost in one.lossy}) != unfused


def test_models_with_biases_and_experts_keep_dropout_apart() -> None:
    """Grouped experts refuse the fusion of bias and dropout where matrices have biases."""
    assert "--no-bias-dropout-fusion" in flags(of(model("gpt-oss-20b")))
    assert "--no-bias-dropout-fusion" not in flags(of(CASES["experts"]))
    gpt_oss = model("gpt-oss-20b")
    bridge = export_plan(gpt_oss.cost(), gpt_oss.plan, BRIDGE)
    assert "model.bias_dropout_fusion=false" in bridge.files[2].text


def test_chips_without_multicast_are_told_so() -> None:
    """The overlap of tp refuses to start on chips before Hopper otherwise."""
    assert ("UB_SKIPMC", "1") in of(UNEVEN).environment
    assert "UB_SKIPMC" not in dict(of(UNEVEN, sequence_parallel=False).environment)
    assert "UB_SKIPMC" not in dict(of(replace(UNEVEN, hardware="dgx-h100-ndr")).environment)


@each(
    ("case", "changes", "why"),
    [
        ("long", {"dp": 1, "fsdp": 8, "sharding": "zero3"}, "hardware queues"),
        ("long", {"sequence_parallel": False}, "sequence parallelism"),
        ("latent", {}, "latent attention"),
        ("long", {}, ""),
        ("long", {"dp": 16, "tp": 1, "sequence_parallel": False}, ""),
    ],
)
def test_collectives_of_tp_that_nothing_hides_are_said(
    case: str, changes: dict[str, object], why: str
) -> None:
    latent = replace(model("deepseek-v2-lite"), plan=Plan(dp=4, tp=2, sharding="zero1"))
    one = of({"latent": latent, "long": CASES["long"]}[case], **changes)
    reasons = [lost.reason for lost in one.lossy if lost.field == "tp"]
    assert len(reasons) == bool(why)
    assert all(why in reason and "hides these collectives" in reason for reason in reasons)
    hidden = {**CASES["long"].plan.mesh, **changes}["tp"] != 1 and not why
    assert ("--tp-comm-overlap" in flags(one)) == hidden

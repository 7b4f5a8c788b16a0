"""What runs again where a policy lists the outputs of a layer that are kept."""

from dataclasses import replace

import pytest
from support.cases import each

from cost.cases import Case, case_of
from models_db import load_model
from planner.cost.breakdown import Breakdown
from planner.cost.kernels.selection import Selection, module_elements, selection
from planner.cost.kernels.shapes import left_out, shapes_of
from planner.plan import Plan

LLAMA = "llama3-8b"
QUERIES, KEYS_VALUES, OUT, UP = 4096**2, 2 * 4096 * 1024, 4096**2, 2 * 4096 * 14336
PER_LAYER = QUERIES + KEYS_VALUES + OUT + UP + 4096 * 14336
PLAN = Plan(fsdp=8, micro_batch=1, recompute="selective", sharding="zero3")


def selected(word: str, model: str = LLAMA, *, fused: bool = True) -> Selection:
    """What a word leaves to run again, where XLA drops what nothing reads."""
    shapes = shapes_of(load_model(model), 8192)
    return selection(shapes, word, left_out(shapes, stops_early=True), spared=fused)


@each(
    ("word", "products", "scores", "elementwise", "sends"),
    [
        ("keeps qkv", OUT + UP, 1.0, 1.0, 1.0),
        ("keeps out,qkv", UP, 1.0, 1.0, 0.0),
        ("keeps context", QUERIES + KEYS_VALUES + OUT + UP, 0.0, 1.0, 1.0),
        ("keeps context,qkv", OUT + UP, 0.0, 1.0, 1.0),
        ("keeps out,qkv,up", 0, 1.0, 1.0, 0.0),
        ("keeps elementwise,out,qkv,up", 0, 1.0, 0.0, 0.0),
        ("half-matmuls", PER_LAYER / 2, 0.0, 1.0, 0.0),
        ("core-attention", 0, 0.0, 0.0, 0.0),
    ],
)
def test_all_but_what_is_kept_runs_again(
    word: str, products: float, scores: float, elementwise: float, sends: float
) -> None:
    """The down projection is read by nothing, and never runs again."""
    found = selected(word)
    assert found.products == pytest.approx(products / PER_LAYER, abs=1e-3)  # norms are parameters
    assert (found.scores, found.elementwise, found.sends) == (scores, elementwise, sends)


def test_scores_that_are_stored_run_again() -> None:
    assert selected("core-attention", fused=False).scores == 1.0


def test_experts_read_the_output_of_attention() -> None:
    """DeepSeek-V3 with its projection kept: heads x 128 x 7,168 less of what a token crosses."""
    model = load_model("deepseek-v3")
    assert model.moe is not None
    idle = (model.moe.experts - model.moe.experts_per_token) * model.expert_parameters
    active = model.layer_parameters("moe") - idle
    found = selected("keeps out", "deepseek-v3")
    assert 1 - found.products == pytest.approx(128 * 128 * 7168 / active, rel=0.01)


def run_of(selective: str, plan: Plan = PLAN) -> tuple[Case, Breakdown]:
    """A step of MaxText with a policy."""
    case = case_of(LLAMA, "tpu-v5p", layers=8, batch=8, seq_len=8192, framework="jax")
    framework = replace(case.job.framework, selective=selective)
    case = replace(case, job=replace(case.job, framework=framework))
    return case, case.run([plan])


def test_modules_read_and_write_what_they_compute() -> None:
    """DeepSeek-V3: two norms, ranks of 1,536 and 512, 128 heads, 8 experts and one shared."""
    a = replace(case_of("deepseek-v3").assumptions, row_bytes=8.0, tp_bytes=3.0, ffn_bytes=2.0)
    shapes = shapes_of(load_model("deepseek-v3"), 4096)
    found = module_elements(a, shapes, moe=True)
    assert found["layernorm"] == (2 * 2 * 7168, 0.0)
    assert found["mla_up_proj"] == (2 * (1536 + 512), 2 * 2 * 128 * shapes.head_dim)
    assert found["moe_act"] == (0.0, 3 * 8 * 2048)
    assert found["shared_experts"] == (0.0, 2 * 2 * 2048)
    assert module_elements(a, shapes, moe=False)["mlp"] == (2 * 7168, 2 * 2 * 18_432)


def test_a_step_has_the_seconds_and_flop_of_what_runs_again() -> None:
    """By hand: 8 layers of 8,192 tokens on a chip; products at rates of large ones and below."""
    case, kept = run_of("keeps elementwise,out,qkv,up")
    none = case.run([replace(PLAN, recompute="none")])
    scores = 8 * 4 * 8192 * 8192 * 4096 / 2  # half of them is masked
    seconds = scores / case.assumptions.attention_flop_per_s * (1 + 16 / 128)
    again = kept.time_parts["compute"][0] - none.time_parts["compute"][0]
    assert again == pytest.approx(seconds, rel=1e-3)  # fixed seconds of layers beside
    assert kept.flop[0] - none.flop[0] == pytest.approx(8 * scores, rel=1e-3)
    _, qkv = run_of("keeps qkv")
    products = 8 * 2 * 8192 * (OUT + UP)
    assert qkv.flop[0] - kept.flop[0] == pytest.approx(8 * products, rel=1e-3)
    rated = products / case.assumptions.matmul_flop_per_s
    added = qkv.time_parts["compute"][0] - kept.time_parts["compute"][0]
    assert 1 < added / rated < 1.1


@each("framework", ["megatron", "deepspeed"])
def test_fused_attention_runs_again_where_the_framework_checkpoints_it(framework: str) -> None:
    """Megatron-LM's checkpoint runs any kernel again, with what cp exchanges, and drops nothing."""
    case = case_of(LLAMA, "dgx-h100-ndr", layers=8, batch=8, seq_len=8192, framework=framework)
    plan = Plan(dp=4, cp=2, micro_batch=1)
    none, again = (case.run([replace(plan, recompute=word)]) for word in ("none", "selective"))
    scores = 8 * 4 * 8192 * 8192 * 4096 / 2 if framework == "megatron" else 0.0
    assert again.flop[0] - none.flop[0] == pytest.approx(8 * scores, rel=1e-3)
    more = {name: again.time_parts[name][0] - none.time_parts[name][0] for name in none.time_parts}
    assert (more["compute"] > 0) == (scores > 0)
    assert more["compute"] == pytest.approx(
        2 * scores / 2 / case.assumptions.attention_flop_per_s * (1 + 16 / 128), rel=0.01
    )
    sent = (sum(one.wire_bytes.values())[0] for one in (again, none))
    assert (next(sent) > next(sent)) == (scores > 0)
    assert again.memory_per_chip_bytes[0] == none.memory_per_chip_bytes[0]


def test_what_is_kept_is_in_memory() -> None:
    """Bytes of a token and layer: 2 of each element of the layer's input and of what is listed."""
    queries, rows = 2 * (4096 + 2 * 1024), 2 * 4096
    held = {
        word: run_of(word)[1].memory_parts["activations"][0].max() / (8 * 8192)
        for word in ("keeps qkv", "keeps out,qkv", "keeps context,qkv", "keeps qkv,up")
    }
    assert held["keeps out,qkv"] - held["keeps qkv"] == pytest.approx(rows)
    assert held["keeps context,qkv"] - held["keeps qkv"] == pytest.approx(rows + 4 * 32)
    assert held["keeps qkv,up"] - held["keeps qkv"] == pytest.approx(2 * 2 * 14336)
    assert held["keeps qkv"] >= queries + rows


def test_tensor_parallelism_sends_again_what_runs_again() -> None:
    plan = Plan(fsdp=2, tp=4, sequence_parallel=True, recompute="selective", sharding="zero3")
    case, again = run_of("keeps qkv", plan)
    full = case.run([replace(plan, recompute="full")])
    once = run_of("keeps out,qkv", plan)[1]
    sent = [found.communication_s["tensor_parallel"][0] for found in (once, again, full)]
    assert sent[1] == pytest.approx(sent[2])
    assert sent[0] / sent[1] == pytest.approx(8 / 11)  # three of the eleven are of recomputation


def test_a_ring_of_context_parallelism_sends_again_what_runs_again() -> None:
    """Keys and values once forward, twice backward (with their gradients), once again."""
    case = case_of(LLAMA, "tpu-v5p", layers=8, batch=8, seq_len=8192, framework="jax")
    plan = Plan(fsdp=4, cp=2, sharding="zero3")
    plans = [replace(plan, recompute=each) for each in ("none", "full")]
    sent = [case.run([each]).communication_s["context_parallel"][0] for each in plans]
    assert sent[0] > 0
    assert sent[1] / sent[0] == pytest.approx(4 / 3)

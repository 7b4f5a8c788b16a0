"""The cost model equals the scalar reference, on random plans, models and machines, to 1e-9.

Random plans stay where the design is unambiguous; every point where the code departs from the
design or from its own documentation has a test of its own (here, `test_cost_traffic.py` and
`tests/network`).
"""

import math
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.cases import each

from cost import reference
from cost.cases import Case, assumed, case_of, cases, chip_counts, plans_for, runnable
from cost.reference_memory import chunk_sizes, local_parameters
from cost.reference_repeats import mean_context
from cost.reference_torus import IrregularError
from cost.reference_volume import executed_flop, wire
from models_db import list_models, load_model
from planner.cost.breakdown import TIME_PARTS, Breakdown
from planner.cost.kernels.shapes import mean_context as code_context
from planner.cost.memory.memory import MEMORY_PARTS
from planner.cost.memory.parameters import local_parameters as code_parameters
from planner.cost.stages.layout import stage_layers
from planner.plan import SPLITS, Plan

RELATIVE = 1e-9
FILTERED = (HealthCheck.filter_too_much, HealthCheck.too_slow)


def close(found: float, expected: float, whole: float) -> bool:
    """Equal to 1e-9 relative; parts that are differences of larger ones, to 1e-12 of the whole."""
    return math.isclose(found, expected, rel_tol=RELATIVE, abs_tol=1e-12 * whole)


def check(case: Case, plan: Plan, found: Breakdown, row: int) -> None:
    """Compare one row with the reference."""
    expected = reference.evaluate(case.job, case.cluster, case.model.assumptions, plan)
    whole = expected.time
    assert math.isclose(found.step_time_s[row], whole, rel_tol=RELATIVE)
    for name in TIME_PARTS:
        part = float(found.time_parts[name][row])
        assert close(part, expected.time_parts[name], whole), name
    assert math.isclose(found.memory_per_chip_bytes[row], expected.memory, rel_tol=RELATIVE)
    for name in MEMORY_PARTS:
        part = float(found.memory_parts[name][row])
        assert close(part, expected.memory_parts[name], expected.memory), name
    assert close(float(found.host_memory_bytes[row]), expected.host_memory, expected.memory)
    for name, value in (
        ("total", expected.energy),
        ("low", expected.energy_low),
        ("high", expected.energy_high),
    ):
        assert math.isclose(getattr(found.energy, name)[row], value, rel_tol=RELATIVE), name
    assert math.isclose(found.energy.parts["host"][row], expected.host, rel_tol=RELATIVE)
    assert math.isclose(found.energy.parts["static"][row], expected.static, rel_tol=RELATIVE)
    assert math.isclose(found.mfu[row], expected.mfu, rel_tol=RELATIVE)
    assert math.isclose(found.hfu[row], expected.hfu, rel_tol=RELATIVE)
    assert found.micro_batches[row] == expected.micro_batches
    tokens = case.job.global_batch * case.job.seq_len / expected.time
    assert math.isclose(found.tokens_per_s[row], tokens, rel_tol=RELATIVE)
    power = expected.energy / expected.time / plan.chips
    assert math.isclose(found.power_per_chip_w[row], power, rel_tol=RELATIVE)


def check_moved(case: Case, plan: Plan, found: Breakdown, row: int) -> None:
    """Every collective's (g-1)/g V counted once; each level's share; the levels telescope."""
    book = wire(case.job, case.cluster, case.model.assumptions, plan)
    assert math.isclose(sum(book.levels), book.total, rel_tol=1e-12)
    levels = [float(column[row]) for column in found.wire_bytes.values()]
    for level, expected in zip(levels, book.levels, strict=True):
        assert close(level, expected, book.total)
    assert math.isclose(sum(levels), book.total, rel_tol=RELATIVE)
    flop = executed_flop(case.job, case.model.assumptions, plan)
    assert math.isclose(found.flop[row], flop, rel_tol=RELATIVE)


def same_table(data: st.DataObject, case: Case, counts: list[int], most: int) -> list[Plan]:
    """Some plans that break no rule and that the reference can price."""
    plans = []
    for _ in range(data.draw(st.integers(1, most))):
        plan = data.draw(plans_for(case, data.draw(st.sampled_from(counts))))
        if not runnable(case, plan):
            continue
        try:
            found = reference.groups(case.job, case.cluster, case.model.assumptions, plan)
        except IrregularError:
            continue
        if not any(net.lopsided for net in found.values()):  # test_network_torus.py has these
            plans.append(plan)
    assume(plans)
    return plans


def reach(case: Case) -> int:
    """Chips up to which one scale-out level is crossed at most."""
    outer = [level for level in case.cluster.levels if level.kind == "scale-out"]
    return min(outer[0].domain_chips or 576, 576)


@settings(max_examples=300, deadline=None, suppress_health_check=FILTERED)
@given(st.data())
def test_plans_cost_what_the_reference_says(data: st.DataObject) -> None:
    case = data.draw(cases().flatmap(assumed))
    plans = same_table(data, case, chip_counts(case, reach(case), odd=False), 4)
    found = case.run(plans)
    for row, plan in enumerate(plans):
        check(case, plan, found, row)
        check_moved(case, plan, found, row)


@settings(max_examples=40, deadline=None, suppress_health_check=FILTERED)
@given(st.data())
def test_plans_on_three_levels_cost_what_the_reference_says(data: st.DataObject) -> None:
    """Several leaves of the fat tree, without the latency per hop (see the ring-latency test)."""
    case = data.draw(cases(clusters=("dgx-a100-80-hdr", "dgx-h100-ndr", "mi300x-8way")))
    case = case.assuming(ring_hop_s=0.0)
    plans = same_table(data, case, [512], 2)
    found = case.run(plans)
    for row, plan in enumerate(plans):
        check(case, plan, found, row)


@each("name", list_models())
def test_one_chip_holds_the_model(name: str) -> None:
    """Parameters per chip without tp and ep add up to the model, the tied table on two stages."""
    model = load_model(name)
    one = np.ones(1, dtype=np.int64)
    local = code_parameters(model, one, one, 1)
    kinds = model.layer_kinds
    layers = kinds.count("dense") * local.dense_layer[0]
    layers += kinds.count("moe") * (local.moe_layer[0] + local.experts[0])
    twice = model.embedding_parameters if model.tied_embeddings else 0
    total = layers + local.embedding[0] + local.head[0]
    # layers of a kind that are made of different parts are averaged
    wanted = model.total_parameters + twice
    assert wanted == (total if model.order is None else round(total))


@each("name", ["gpt3-1.3b", "gemma2-9b", "falcon-40b"])
def test_a_single_stage_holds_a_tied_model_once(name: str) -> None:
    """Weights of a one-chip plan are 2 bytes per parameter, final norm included."""
    case = case_of(name, "dgx-h100-ndr", layers=load_model(name).layers, framework="deepspeed")
    plan = Plan(sharding="ddp", sequence_parallel=False)
    found = case.run([plan])
    assert found.memory_parts["weights"][0] == 2.0 * case.job.model.total_parameters
    check(case, plan, found, 0)


@each("name", ["llama4-scout", "llama4-maverick"])
def test_chunked_attention_sees_half_a_chunk(name: str) -> None:
    """A token of a chunk of w sees w / 2 keys on average (w before causality halves them)."""
    model = load_model(name)
    seq_len = 65536
    local = model.attention_windows.count(8192)
    expected = (local * 8192 + (model.layers - local) * seq_len) / model.layers
    assert math.isclose(code_context(model, seq_len), expected, rel_tol=1e-12)


@each("seq_len", [512, 4096, 32768])
def test_sliding_windows_count_token_by_token(seq_len: int) -> None:
    for name in ("gemma2-9b", "gemma3-4b", "mistral-7b", "gpt-oss-20b", "llama2-7b"):
        model = load_model(name)
        total = 0
        for window in model.attention_windows:
            width = window or seq_len
            inside = min(width, seq_len)
            total += inside * (inside + 1) // 2 + (seq_len - inside) * width
        exact = 2 * total / seq_len / model.layers
        # The continuous formula leaves out the half key of the diagonal: at most one key.
        assert abs(code_context(model, seq_len) - exact) <= 1.0
        assert math.isclose(code_context(model, seq_len), mean_context(model, seq_len))


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(["llama3-8b", "gpt3-1.3b", "gemma2-9b", "qwen3-30b-a3b", "mixtral-8x7b"]),
    layers=st.integers(2, 40),
    pp=st.sampled_from([1, 2, 3, 4, 6, 8]),
    interleave=st.integers(1, 3),
    split=st.integers(0, len(SPLITS) - 1),
)
def test_layers_per_chunk_follow_the_named_rule(
    name: str, layers: int, pp: int, interleave: int, split: int
) -> None:
    model = replace(load_model(name), layers=layers)
    found = stage_layers(model, pp, interleave, split)
    chunks = pp * interleave
    items = layers + (2 if SPLITS[split].endswith("counted") else 0)
    if SPLITS[split].startswith("even") and chunks > 1 and items % chunks:
        assert found is None
    elif found is not None:
        assert list(found) == chunk_sizes(model, chunks, SPLITS[split])
        assert sum(found) == layers
    elif SPLITS[split] != "by-cost":
        assert items // chunks == 0 or min(chunk_sizes(model, chunks, SPLITS[split])) < 0


def test_greedy_split_may_leave_stages_without_layers() -> None:
    """Nanotron's rule on 16 layers with a head of 4 layers' cost, pp 8: published runs exist.

    Source: Nanotron, The Ultra-Scale Playbook, benchmarks (1B model, pp 8),
    https://huggingface.co/spaces/nanotron/ultrascale-playbook; the rule is `build_model` in
    https://github.com/huggingface/nanotron, src/nanotron/models/base.py.
    """
    model = replace(load_model("llama2-7b"), layers=16, hidden=2048, heads=32, kv_heads=32)
    model = replace(model, head_dim=64, vocab_size=131072, mlp=replace(model.mlp, hidden=8192))
    assert stage_layers(model, 4, 1, SPLITS.index("by-cost")) == (6, 5, 5, 0)
    assert stage_layers(model, 8, 1, SPLITS.index("by-cost")) == (3, 3, 2, 3, 2, 3, 0, 0)


def test_reference_counts_a_known_model() -> None:
    """Guard of the reference itself: Llama 2 7B by hand, 6,738,415,616 parameters."""
    case = case_of("llama2-7b", layers=32, framework="deepspeed")
    local = local_parameters(case.job, 1, 1)
    assert local.dense == 4 * 4096**2 + 3 * 4096 * 11008 + 2 * 4096
    assert 32 * local.dense + local.embedding + local.head == 6_738_415_616

"""Recurrences in place of attention: FLOP by running the algorithms, bytes, and layers of parts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from cost.cases import assumptions_of, case_of
from models_db import Recurrence, load_model
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.cost.communication.traffic import model_flop_per_token
from planner.cost.kernels.linears import Shares, layer_operators, product_flop
from planner.cost.kernels.recurrence import Scan, delta_flop, scan_of, scan_s, ssd_flop
from planner.cost.kernels.shapes import WHOLE, shapes_of
from planner.cost.memory.memory import activation_bytes
from planner.cost.memory.tensors import layer_tensors
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.rules import violations
from planner.plan import Plan, PlanTable


class Counting:
    """Matrix products that count their FLOP."""

    flop = 0.0

    def __call__(self, left: FloatArray, right: FloatArray) -> FloatArray:
        self.flop += 2.0 * left.shape[0] * left.shape[1] * right.shape[1]
        return np.asarray(left @ right)


def mixer(kind: str, heads: int, width: int, key_heads: int, key: int, chunk: int) -> Recurrence:
    return Recurrence(
        kind=kind,
        heads=heads,
        head_dim=width,
        key_heads=key_heads,
        key_dim=key,
        kernel=4,
        rank=0,
        bias=(),
        norm="none",
        chunk=chunk,
    )


def test_the_scan_of_mamba2_takes_the_flop_that_its_chunks_multiply() -> None:
    """Chunked products give what the recurrence gives, and are as many as are counted."""
    tokens, chunk, heads, groups, width, key = 24, 6, 4, 2, 3, 5
    rng, times = np.random.default_rng(3), Counting()
    x = rng.normal(size=(heads, tokens, width))
    b, c = rng.normal(size=(2, groups, tokens, key))
    decay = rng.uniform(0.5, 1.0, size=(heads, tokens))
    found, expected = np.zeros_like(x), np.zeros_like(x)
    scores = {}
    for group in range(groups):
        for start in range(0, tokens, chunk):
            own = slice(start, start + chunk)
            scores[group, start] = times(c[group, own], b[group, own].T)
    for head in range(heads):
        group = head // (heads // groups)
        state = np.zeros((key, width))
        for start in range(0, tokens, chunk):
            own = slice(start, start + chunk)
            passed = np.cumprod(decay[head, own])
            mask = np.tril(passed[:, None] / passed[None, :])
            found[head, own] = times(mask * scores[group, start], x[head, own])
            found[head, own] += passed[:, None] * times(c[group, own], state)
            left = (passed[-1] / passed)[:, None] * b[group, own]
            state = passed[-1] * state + times(left.T, x[head, own])
            times.flop += 2.0 * state.size  # from chunk to chunk
        state = np.zeros((key, width))
        for t in range(tokens):
            state = decay[head, t] * state + np.outer(b[group, t], x[head, t])
            expected[head, t] = c[group, t] @ state
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    flop, again = ssd_flop(mixer("mamba2", heads, width, groups, key, chunk))
    assert times.flop == pytest.approx(tokens * flop, rel=1e-12)
    assert again == 2 * groups * key * chunk + 2 * heads * key * width


def _inverting(size: int) -> float:
    """Multiplications and additions of forward substitution with the columns of the identity.

    The first of a column is one, and so is the diagonal: two for each of what is under both.
    """
    return float(sum(2 * (row - k) for row in range(size) for k in range(row)))


def test_the_gated_delta_rule_takes_the_flop_that_its_chunks_multiply() -> None:
    """The same of S = a S (I - b k k^T) + b v k^T, with the inverse of a triangle per chunk."""
    tokens, chunk, key, width = 24, 6, 5, 3
    rng, times = np.random.default_rng(4), Counting()
    q, k = rng.normal(size=(2, tokens, key)) / math.sqrt(key)
    v = rng.normal(size=(tokens, width))
    beta, decay = rng.uniform(0.1, 0.9, size=tokens), rng.uniform(0.6, 1.0, size=tokens)
    found, state = np.zeros((tokens, width)), np.zeros((key, width))
    for start in range(0, tokens, chunk):
        own = slice(start, start + chunk)
        passed, some = np.cumprod(decay[own]), beta[own, None]
        mask = np.tril(passed[:, None] / passed[None, :])
        kept = np.tril(some * times(k[own], k[own].T) * mask, -1)
        solved = np.linalg.inv(np.eye(chunk) + kept)
        times.flop += chunk**3 / 3  # a unit triangle
        weights = times(solved, some * passed[:, None] * k[own])
        values = times(solved, some * v[own]) - times(weights, state)
        scores = mask * times(q[own], k[own].T)
        found[own] = passed[:, None] * times(q[own], state) + times(scores, values)
        left = (passed[-1] / passed)[:, None] * k[own]
        state = passed[-1] * state + times(left.T, values)
    expected, state = np.zeros((tokens, width)), np.zeros((key, width))
    for t in range(tokens):
        state = decay[t] * (state - beta[t] * np.outer(k[t], k[t] @ state))
        state = state + beta[t] * np.outer(k[t], v[t])
        expected[t] = q[t] @ state
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    flop, _ = delta_flop(mixer("gated-delta", 1, width, 1, key, chunk))
    assert times.flop == pytest.approx(tokens * flop, rel=1e-12)
    assert _inverting(64) == pytest.approx(64**3 / 3, rel=1e-3)


def test_backward_of_the_gated_delta_rule_multiplies_what_its_kernels_do() -> None:
    """Every `tl.dot` of flash-linear-attention bc3b101, fla/ops, by its size in a chunk."""
    chunk, key, width = 64, 96, 160
    by_key, by_width, state, square = (
        2 * chunk * key,
        2 * chunk * width,
        2 * key * width,
        2 * chunk**2,
    )
    kernels = {
        "recompute_w_u_fwd": by_key + by_width,
        "chunk_gated_delta_rule_fwd_h": 2 * state,
        "chunk_bwd_dv_local": by_key + by_width,
        "chunk_gated_delta_rule_bwd_dhu": 3 * state,
        "chunk_bwd_dqkwg": by_width + 3 * state + 2 * by_key,
        "prepare_wy_repr_bwd": 2 * by_key + 2 * by_width + 2 * square + 3 * by_key,
    }
    flop, again = delta_flop(mixer("gated-delta", 1, width, 1, key, chunk))
    assert 2 * flop + again == pytest.approx(sum(kernels.values()), rel=1e-12)


def _projected(scan: Scan) -> float:
    return sum(2.0 * inputs * outputs for inputs, outputs in scan.projections)


# Forward FLOP per token of one layer, as Megatron-LM core 0.16.1 counts them
# (megatron/training/training.py: mamba_layer_flops, with 7 x inner x state for the scan, which it
# says is to be updated; the gated delta net as four products of the state, with its convolution).
MEGATRON_LAYERS = [
    ("nemotron-h-8b", 226_492_416, -0.0034),
    ("qwen3-next-80b-a3b", 71_630_848, 0.0217),
]


@each(("name", "counted", "off"), MEGATRON_LAYERS)
def test_a_layer_takes_the_flop_that_megatron_counts(name: str, counted: int, off: float) -> None:
    scan = shapes_of(load_model(name), 4096).scan
    assert scan is not None
    assert (_projected(scan) + scan.flop) / counted - 1 == pytest.approx(off, abs=1e-4)


def test_a_hybrid_takes_the_flop_that_megatron_counts() -> None:
    """`hybrid_flops` of Nemotron-H-8B at 8,192 tokens: attention halved by causality there."""
    case, seq_len, counted = case_of("nemotron-h-8b", layers=52), 8192, 46_707_769_344
    shapes = shapes_of(case.job.model, seq_len)
    found = model_flop_per_token(case.job, shapes)
    halved = 3 * 4 * shapes.heads * shapes.head_dim * seq_len * 4 / 2  # four layers attend
    assert (found - halved) / counted - 1 == pytest.approx(-0.0010, abs=1e-4)


def test_linears_of_all_layers_multiply_the_parameters_that_they_have() -> None:
    """Averaged over layers of a kind, every matrix counts as often as there are layers with it."""
    for name in ("nemotron-h-47b", "nemotron-3-nano-30b-a3b", "qwen3-next-80b-a3b", "qwen3.5-9b"):
        model = load_model(name)
        shapes = shapes_of(model, 4096)
        one = np.ones((1, 1))
        shares = Shares(tokens=one, tp=one.astype(np.int64), ep=one.astype(np.int64))
        kinds = model.layer_kinds
        flop = sum(
            kinds.count("moe" if moe else "dense") * float(np.sum(product_flop(linears, 1.0)))
            for moe in (False, True)
            if ("moe" if moe else "dense") in kinds
            for linears in layer_operators(shapes, shares, moe=moe).values()
        )
        head = 2.0 * model.vocab_size * model.hidden
        vectors = 2.0 * shapes.matmul_parameters - head - flop
        assert 0 <= vectors < 2e-3 * flop, name  # norms, convolutions, decays


def test_a_layer_of_whole_parts_is_an_ordinary_one() -> None:
    """To the bit, in time and memory."""
    shapes = shapes_of(load_model("mixtral-8x7b"), 4096)
    tp, sp = np.array([[1], [4]]), np.array([[False], [True]])
    parted = replace(shapes, parts=(WHOLE, WHOLE))
    for moe in (False, True):
        for framework in ("megatron", "torchtitan"):
            plain, averaged = (
                activation_bytes(
                    made, FRAMEWORKS[framework], tp, sp, moe=moe, fused=True, seq_len=4096.0
                )
                for made in (shapes, parted)
            )
            assert all((plain[kind] == averaged[kind]).all() for kind in plain)


def test_a_scan_moves_values_thrice_and_keys_four_times() -> None:
    """And each state, of 32 bits, four times; its passes at the rate of batched products."""
    model = load_model("nemotron-h-8b")
    scan = scan_of(model.recurrence, model.hidden) if model.recurrence else None
    assert scan is not None
    states = 4 * 8192 * 128 / 128
    assert scan.moved == 2 * (3 * 8192 + 4 * 1024) + 4 * states
    a, clock = assumptions_of("dgx-h100-ndr", "megatron-core"), np.array([[0.5]])
    tp, tokens = np.array([[2]]), np.array([[4096.0]])
    found = scan_s(a, scan, tokens, tp, clock=clock)
    unit = tokens / tp / a.bmm_flop_per_s / clock
    assert found.forward == pytest.approx(scan.flop * unit)
    assert found.backward == pytest.approx((2 * scan.flop + scan.again) * unit)


def test_a_layer_of_the_delta_rule_keeps_what_its_kernels_keep() -> None:
    """In 16 bits: what is projected, both outputs, queries, keys and values, and T of each head."""
    scan = scan_of(mixer("gated-delta", 32, 128, 16, 128, 64), 2048)
    projected = sum(outputs for _, outputs in scan.projections[:-1])
    assert projected >= 2 * 32 * 128 + 2 * 16 * 128  # values, gate, queries and keys
    kept = 2 * projected + 4 * 32 * 128 + 2 * (32 * 128 + 2 * 16 * 128) + 2 * 32 * 64
    assert scan.kept == kept


def test_a_mamba2_layer_keeps_what_its_kernels_keep() -> None:
    """Projected input, output of the scan and of its norm; and the input and output of one norm."""
    model = load_model("nemotron-h-8b")
    scan = scan_of(model.recurrence, model.hidden) if model.recurrence else None
    assert scan is not None
    assert scan.kept == 2 * (2 * 8192 + 2 * 1024 + 128) + 2 * 8192 + 2 * 8192
    assert scan.working == 4 * 8192 * 128 / 128
    shapes = shapes_of(model, 8192)
    alone = replace(WHOLE, attention=0.0, recurrence=1.0, feed_forward=0.0)
    kept = activation_bytes(
        replace(shapes, parts=(alone, alone)),
        FRAMEWORKS["megatron"],
        np.array([[2]]),
        np.array([[True]]),
        moe=False,
        fused=True,
        seq_len=8192.0,
    )
    assert kept["none"][0, 0] == (2 * 2 * 4096 + scan.kept) / 2
    again = kept["working"][0, 0] - kept["none"][0, 0]
    assert again == (4 * 4096 + scan.working) / 2  # gradients of the input, states of the scan


@each("name", ["qwen3-next-80b-a3b", "nemotron-3-nano-30b-a3b", "olmo-hybrid-7b"])
def test_inputs_of_products_are_those_of_the_layer(name: str) -> None:
    """Below 16 bits each is kept narrower, and one that tp gathers is kept whole."""
    model = load_model(name)
    shapes, framework = shapes_of(model, 4096), FRAMEWORKS["megatron"]
    for moe in (False, True):
        kind = "moe" if moe else "dense"
        pairs = zip(model.mixers, model.feed_forwards, model.layer_kinds, strict=True)
        made = [(mixer, mlp) for mixer, mlp, one in pairs if one == kind]
        blocks = [(mixer != "none") + (mlp != "none") for mixer, mlp in made]
        mean = sum(blocks) / len(blocks) if blocks else 0.0
        assert shapes.inputs_read(moe=moe) == pytest.approx(mean)
        if not blocks:
            continue
        one, whole = np.array([[1]]), np.array([[False]])
        kept = [
            activation_bytes(
                shapes, framework, one, whole, moe=moe, fused=True, seq_len=4096.0, operand=operand
            )["none"]
            for operand in (2.0, 1.0)
        ]
        rest = [
            layer_tensors(shapes, framework, one.astype(float), moe=moe, operand=operand)
            for operand in (2.0, 1.0)
        ]
        others = [x.latent + x.attention + x.mlp + x.scan for x in rest]
        inputs = kept[0] - kept[1] - (others[0] - others[1])
        assert inputs == pytest.approx(mean * model.hidden)


def test_a_recurrence_grows_with_the_sequence_and_attention_with_its_square() -> None:
    """Tokens per second of a hybrid fall less with longer sequences."""
    falls = {}
    for name, layers in (("nemotron-h-8b", 52), ("llama3.1-8b", 32)):
        job = case_of(name, layers=layers).job
        flop = [model_flop_per_token(job, shapes_of(job.model, each)) for each in (8192, 65536)]
        falls[name] = flop[1] / flop[0]
    assert falls["nemotron-h-8b"] < 1.25 < 1.9 < falls["llama3.1-8b"]


REFUSED = [
    ("nemotron-h-8b", Plan(cp=2), "cp 2: the recurrences of nemotron-h-8b run through whole"),
    ("nemotron-h-8b", Plan(tp=16), "tp 16 does not divide the 128 heads and 8 groups of keys"),
]


@each(("name", "plan", "said"), REFUSED)
def test_plans_that_divide_a_recurrence_wrongly_are_refused(
    name: str, plan: Plan, said: str
) -> None:
    lines = violations(case_of(name).model, PlanTable.from_plans([plan]))
    assert any(said in line for line in lines)


def test_adapters_of_recurrences_and_scans_of_mamba1_are_refused() -> None:
    job = case_of("nemotron-h-8b").job
    with pytest.raises(InputError, match="lora of nemotron-h-8b is not modelled"):
        replace(job, kind="lora")
    assert job.model.recurrence is not None
    older = replace(job.model, recurrence=replace(job.model.recurrence, kind="mamba"))
    with pytest.raises(InputError, match="element by element"):
        replace(job, model=older)


# Tokens per second and GPU, and model TFLOP per second and GPU, of Nemotron 3 Nano at 8,192 tokens,
# containers 26.06 and 26.02: Megatron-Bridge, docs/performance-summary-archive.md, commit 067f987.
PUBLISHED = [
    ("gb300-nvl72", 8, "mxfp8", 512, 4, 39749, 885),
    ("gb200-nvl72", 8, "mxfp8", 512, 2, 33522, 747),
    ("dgx-b300", 8, "mxfp8", 512, 4, 37316, 831),
    ("dgx-h100-ndr", 16, "fp8", 1024, 1, 14719, 328),
    ("gb300-nvl72", 8, "mxfp8", 512, 4, 37664, 839),
    ("gb200-nvl72", 8, "mxfp8", 512, 2, 33934, 756),
    ("dgx-h100-ndr", 16, "fp8", 1024, 1, 14890, 331),
]


@each(("cluster", "chips", "precision", "batch", "micro", "tokens_per_s", "tflop"), PUBLISHED)
def test_published_runs_of_a_hybrid_are_slower_than_predicted_by_a_known_share(
    cluster: str,
    chips: int,
    precision: str,
    batch: int,
    micro: int,
    tokens_per_s: int,
    tflop: int,
) -> None:
    """No constant was fitted to them: 1.15 to 1.39 times as fast; FLOP per token within 1.4 %."""
    case = case_of("nemotron-3-nano-30b-a3b", cluster, layers=52, batch=batch, seq_len=8192)
    job = replace(case.job, precision=precision)
    assumptions = assumptions_of(cluster, job.era, precision)
    case = replace(case, job=job, assumptions=assumptions)
    found = case.run([Plan(dp=chips, ep=8, micro_batch=micro)])
    predicted = job.batch_tokens / float(found.step_time_s[0]) / chips
    assert 1.15 <= predicted / tokens_per_s <= 1.40
    flop = model_flop_per_token(job, shapes_of(job.model, 8192))
    assert flop == pytest.approx(tflop * 1e12 / tokens_per_s, rel=0.014)

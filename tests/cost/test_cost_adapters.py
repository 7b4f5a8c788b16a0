"""Adapters by their matrices, DoRA, dropout, and the reference model of preference pairs."""

import math
from dataclasses import fields, replace
from typing import Any

import pytest
from support.cases import each

from cost.cases import Case, case_of
from planner.base.vocabulary import MATRICES
from planner.cost.communication.traffic import attention_flop_per_token, model_flop_per_token
from planner.cost.kernels.executed import flop_without_repeats
from planner.cost.memory.adapters import adapter_parameters, kept_beside
from planner.cost.memory.state import gathered_bytes
from planner.frameworks.rules import violations
from planner.plan import Plan, PlanTable

HIDDEN, QUERY, KEY, WIDTH, LAYERS = 4096, 4096, 1024, 14336, 4
SIZES = {
    "q": (HIDDEN, QUERY), "k": (HIDDEN, KEY), "v": (HIDDEN, KEY), "o": (QUERY, HIDDEN),
    "gate": (HIDDEN, WIDTH), "up": (HIDDEN, WIDTH), "down": (WIDTH, HIDDEN),
}  # fmt: skip
"""Inputs and outputs of the matrices of a layer of Llama 3 8B."""
PLAN = Plan(dp=8, sharding="ddp", micro_batch=2, sequence_parallel=False)
SHARDED = Plan(fsdp=8, sharding="zero3", micro_batch=2, sequence_parallel=False)
TARGETS = (("q", "v"), ("q", "k", "v", "o"), ("gate", "up", "down"), MATRICES)


def tuned(**changes: Any) -> Case:
    case = case_of("llama3-8b", layers=LAYERS, framework="fsdp")
    return replace(case, job=replace(case.job, **{"kind": "lora", **changes}))


def part(case: Case, name: str, plan: Plan = PLAN) -> float:
    return float(case.run([plan]).memory.parts[name].max())


def step_s(case: Case, plan: Plan = PLAN) -> float:
    return case.step_time_s(plan)


@each("targets", TARGETS)
def test_each_adapted_matrix_has_two_factors(targets: tuple[str, ...]) -> None:
    job = tuned(lora_targets=targets, lora_rank=8).job
    expected = LAYERS * sum(8 * sum(SIZES[name]) for name in targets)
    assert adapter_parameters(job) == expected
    magnitudes = LAYERS * sum(SIZES[name][1] for name in targets)
    assert adapter_parameters(replace(job, adapter="dora")) == expected + magnitudes


@each("targets", TARGETS)
def test_what_peft_keeps_for_backward_is_counted(targets: tuple[str, ...]) -> None:
    """Hooks on saved tensors of PEFT 0.21.2 (`test_oracle_tuning`): 4 B an output, 3 an input."""
    plain = tuned(lora_targets=targets)
    inputs, outputs = (sum(SIZES[name][at] for name in targets) for at in (0, 1))
    for changes, expected in (
        ({}, 0),
        ({"lora_dropout": 0.1}, 3 * inputs),
        ({"adapter": "dora"}, 4 * outputs),
        ({"adapter": "dora", "lora_dropout": 0.1}, 3 * inputs + 4 * outputs),
    ):
        case = replace(plain, job=replace(plain.job, **changes))
        assert kept_beside(case.job, moe=False) == expected
        more = part(case, "activations") - part(plain, "activations")
        tokens = PLAN.micro_batch * case.job.seq_len
        assert more == pytest.approx(LAYERS * tokens * expected, rel=1e-9)


@each(("targets", "frozen"), [
    (targets, frozen) for targets in (("k", "v"), ("q",), ("gate",), MATRICES)
    for frozen in ("16-bit", "nf4")
])  # fmt: skip
def test_dora_makes_adapted_matrices_anew_alone(targets: tuple[str, ...], frozen: str) -> None:
    """6 B an element of it and 2 B of an identity; a product widens any quantized one to 2 B."""
    lora, dora = (tuned(lora_targets=targets, adapter=name, frozen_weights=frozen)
                  for name in ("lora", "dora"))  # fmt: skip
    widened = 2 * (frozen != "16-bit")
    anew = [(widened + 6) * i * o + 2 * i * i for i, o in (SIZES[name] for name in targets)]
    made = max(0, *(one - widened * HIDDEN * WIDTH for one in anew))
    # gradients are made of all trained parameters, so of the magnitudes too
    magnitudes = LAYERS * sum(SIZES[name][1] for name in targets)
    assert part(dora, "buffers") - part(lora, "buffers") == pytest.approx(made, abs=8 * magnitudes)


@each("targets", TARGETS)
def test_a_second_product_keeps_quantized_weights_widened(targets: tuple[str, ...]) -> None:
    """2 B an element of each layer and micro-batch, whatever the tokens; recomputed ones do not."""
    both, dora, lora = (
        tuned(lora_targets=targets, frozen_weights="nf4", **changes)
        for changes in ({"adapter": "dora", "lora_dropout": 0.1}, {"adapter": "dora"},
                        {"lora_dropout": 0.1})
    )  # fmt: skip
    plain, base, bare = (
        replace(one, job=replace(one.job, frozen_weights="16-bit")) for one in (both, dora, lora)
    )
    widened = 2 * LAYERS * sum(SIZES[name][0] * SIZES[name][1] for name in targets)
    for plan in (PLAN, replace(PLAN, micro_batch=4)):
        more = part(both, "activations", plan) - part(plain, "activations", plan)
        assert more == pytest.approx(widened, rel=1e-6)
    assert part(dora, "activations") == part(base, "activations")
    assert part(lora, "activations") == part(bare, "activations")


def test_only_adapted_matrices_cost_time() -> None:
    times = [step_s(tuned(lora_targets=targets)) for targets in TARGETS]
    assert times[0] < times[1] < times[3]
    assert times[2] < times[3]
    eager = case_of("llama3-8b", layers=LAYERS, framework="fsdp", era="torch-eager", kind="lora")
    every = replace(eager, job=replace(eager.job, lora_targets=MATRICES))
    assert step_s(every) == step_s(eager)  # its runs have adapters beside all matrices


def test_a_norm_with_each_forward_pass_costs_time() -> None:
    lora, dora = tuned(lora_targets=MATRICES), tuned(lora_targets=MATRICES, adapter="dora")
    again = replace(PLAN, recompute="full")
    assert step_s(dora) > step_s(lora)
    more, twice = (step_s(dora, plan) - step_s(lora, plan) for plan in (PLAN, again))
    assert twice > 1.2 * more
    once, quantized = (replace(dora, job=replace(dora.job, frozen_weights=name))
                       for name in ("16-bit", "nf4"))  # fmt: skip
    assert step_s(quantized) > step_s(once)


def test_dora_makes_its_product_of_an_identity_in_peft_alone() -> None:
    """2 B of each element are written and read; Megatron-Bridge multiplies the factors."""
    targets = ("q", "v", "down")
    dora = tuned(lora_targets=targets, adapter="dora")
    factors = replace(dora.job.framework, adapter_identity=False)
    bare = replace(dora, job=replace(dora.job, framework=factors))
    moved = 4 * LAYERS * sum(SIZES[name][0] ** 2 for name in targets)
    rounds = dora.job.global_batch / (PLAN.dp * PLAN.micro_batch)
    more = step_s(dora) - step_s(bare)
    assert more == pytest.approx(rounds * moved / dora.assumptions.memory_bytes_per_s, rel=0.02)
    assert not case_of(framework="megatron").job.framework.adapter_identity


@each("targets", TARGETS)
def test_dropout_has_dora_multiply_adapted_matrices_twice(targets: tuple[str, ...]) -> None:
    """Forward and for the gradients of inputs; not in a pass of a reference without adapters."""
    plain, once = (tuned(lora_targets=targets, adapter="dora", **changes)
                   for changes in ({}, {"reference": "adapters"}))  # fmt: skip
    flop = 2 * LAYERS * sum(SIZES[name][0] * SIZES[name][1] for name in targets)
    tokens, more = plain.job.batch_tokens, []
    rows = PLAN.micro_batch * plain.job.seq_len
    rounds = tokens / rows
    for case in (plain, once):
        drops = replace(case, job=replace(case.job, lora_dropout=0.1))
        for plan, passes in ((PLAN, 2), (replace(PLAN, recompute="full"), 3)):
            found = [one.run([plan]) for one in (case, drops)]
            executed = float(found[1].flop[0] - found[0].flop[0])
            assert executed == pytest.approx(passes * tokens * flop, rel=1e-9)
            seconds = [float(one.time_parts["compute"][0]) for one in found]
            more.append(seconds[1] - seconds[0])
            fastest = executed / PLAN.dp / case.model.chip.peak_flop_per_s["bf16"]
            assert fastest < more[-1] < 3 * fastest
            moved = found[1].memory_traffic_bytes[0] - found[0].memory_traffic_bytes[0]
            least = sum((SIZES[name][0] + rows) * SIZES[name][1] for name in targets)
            assert moved > passes * LAYERS * case.assumptions.operand_bytes * rounds * least
    assert more[:2] == pytest.approx(more[2:])
    lora, dropping = (tuned(lora_targets=targets, lora_dropout=share) for share in (0.0, 0.1))
    assert lora.run([PLAN]).flop == dropping.run([PLAN]).flop


def test_all_matrices_of_latent_attention_have_adapters_or_none() -> None:
    """DeepSeek-V3: queries, and keys and values, down and up, and the output."""
    case = case_of("deepseek-v3", layers=1, framework="fsdp", kind="lora")
    sizes = [(7168, 1536), (1536, 128 * 192), (7168, 576), (512, 128 * 256), (128 * 128, 7168)]
    mlp = [(7168, 18432), (7168, 18432), (18432, 7168)]
    seconds = [
        float(replace(case, job=replace(case.job, lora_targets=targets))
              .run([PLAN]).time_parts["memory_bound"][0])
        for targets in (MATRICES, ("q", "k", "v", "o"), ("gate", "up", "down"), ("q",))
    ]  # fmt: skip
    whole, attention, other, none = seconds
    bare = attention + other - whole
    # The gate and the up projection are one product, whose input is read once.
    width = sum(inputs + outputs for inputs, outputs in mlp) - 7168
    ratio = sum(inputs + outputs for inputs, outputs in sizes) / width
    assert (attention - bare) / (other - bare) == pytest.approx(ratio, rel=1e-4)
    assert none == pytest.approx(bare, rel=1e-9)


def test_weights_in_8_bits_are_widened_for_products_of_16_bits_alone() -> None:
    wide, narrow = (
        [step_s(tuned(precision=precision, frozen_weights=frozen)) for frozen in ("16-bit", "fp8")]
        for precision in ("bf16", "fp8")
    )
    assert wide[1] > wide[0]
    assert narrow[1] == narrow[0]


def test_quantized_weights_are_gathered_as_they_are_held() -> None:
    """Zero3 sends the packed bytes of layers, in time as in memory; embedding and head in 16."""
    plain, packed = (tuned(frozen_weights=name) for name in ("16-bit", "nf4"))
    model = plain.job.model
    ends = model.embedding_parameters + model.head_parameters + model.final_norm_parameters
    gathers = 2 * plain.job.global_batch / (SHARDED.fsdp * SHARDED.micro_batch)
    sent = gathers * 7 * (2 - gathered_bytes(packed.job)) * (model.total_parameters - ends)
    wires = [sum(part[0] for part in one.run([SHARDED]).wire_bytes.values())
             for one in (plain, packed)]  # fmt: skip
    assert wires[0] - wires[1] == pytest.approx(sent, rel=1e-6)
    seconds = [float(one.run([SHARDED]).communication_s["data_parallel"][0])
               for one in (plain, packed)]  # fmt: skip
    assert seconds[1] < 0.4 * seconds[0]
    pair = replace(packed, job=replace(packed.job, reference="model"))
    own = replace(packed, job=replace(packed.job, reference="adapters"))
    copy, shared = (sum(part[0] for part in one.run([SHARDED]).wire_bytes.values()) - wires[1]
                    for one in (pair, own))  # fmt: skip
    held = gathered_bytes(packed.job) * (model.total_parameters - ends) + 2 * ends
    for found, whole in ((copy, 2 * model.total_parameters), (shared, held)):
        assert found == pytest.approx(gathers / 2 * 7 * whole, rel=1e-6)


def test_adapters_of_routed_experts_cost_time_and_parameters() -> None:
    """Beside the products of the tokens that each expert gets."""
    one = case_of("mixtral-8x7b", layers=2, framework="fsdp", kind="lora")
    plan = replace(PLAN, ep=8)
    jobs = [replace(one.job, lora_targets=targets) for targets in (("q",), ("q", "down"))]
    few, more = (replace(one, job=job) for job in jobs)
    moe = one.job.model.moe
    assert moe is not None
    sizes = moe.expert_hidden + one.job.model.hidden
    wider = adapter_parameters(jobs[1]) - adapter_parameters(jobs[0])
    assert wider == 2 * moe.experts * jobs[0].lora_rank * sizes
    routed = plan.micro_batch * one.job.seq_len * moe.experts_per_token
    a = one.assumptions
    least = 2 * (1 + a.elementwise_backward) * a.elementwise * a.adapter_bytes * routed * sizes
    rounds = one.job.global_batch / (plan.dp * plan.micro_batch)
    assert step_s(more, plan) - step_s(few, plan) > rounds * least / a.memory_bytes_per_s


@each(("kind", "reference", "passes", "copies"), [
    ("finetune", "model", 4 / 3, 1), ("lora", "adapters", 3 / 2, 0), ("lora", "model", 3 / 2, 1),
    ("lora", "precomputed", 1, 0), ("finetune", "precomputed", 1, 0),
])  # fmt: skip
def test_a_reference_is_a_forward_pass_and_perhaps_a_copy(
    kind: str, reference: str, passes: float, copies: int
) -> None:
    plain, pairs = tuned(kind=kind), tuned(kind=kind, reference=reference)
    weights = part(pairs, "weights") - part(plain, "weights")
    assert weights == pytest.approx(copies * 2.0 * plain.job.model.total_parameters, rel=1e-3)
    shards = part(pairs, "weights", SHARDED) - part(plain, "weights", SHARDED)
    assert shards == pytest.approx(weights / 8, rel=1e-9)
    logits = part(pairs, "logits") / part(plain, "logits")
    assert logits == pytest.approx(1.2 if passes > 1 else 1.0)
    ratio = step_s(pairs) / step_s(plain)
    assert (ratio == 1.0) if passes == 1 else (1.2 < ratio < passes + 0.05)


@each(("kind", "passes"), [("finetune", 3.0), ("lora", 2.0)])
def test_a_reference_takes_the_flop_of_a_forward_pass(kind: str, passes: float) -> None:
    plain, pairs = tuned(kind=kind), tuned(kind=kind, reference="model")
    shapes = plain.model.shapes
    linear = 2.0 * shapes.matmul_parameters
    scores = attention_flop_per_token(plain.job.model, shapes)
    needed = [model_flop_per_token(case.job, shapes) for case in (plain, pairs)]
    assert needed == pytest.approx(
        [passes * linear + 3 * scores, (passes + 1) * linear + 4 * scores]
    )
    run = [flop_without_repeats(case.model) for case in (plain, pairs)]
    share = plain.assumptions.causal_share
    assert run[1] - run[0] == pytest.approx(linear + share * scores)


def test_a_reference_sends_what_a_forward_pass_does() -> None:
    plans = (Plan(tp=2, cp=2, micro_batch=2), Plan(tp=4, micro_batch=2, recompute="full"))
    plain = case_of("llama3-8b", layers=LAYERS)
    pairs = replace(plain, job=replace(plain.job, reference="model"))
    for plan, ways in zip(plans, (2, 3), strict=True):
        sent = [one.run([plan]).communication_s for one in (plain, pairs)]
        ratio = sent[1]["tensor_parallel"][0] / sent[0]["tensor_parallel"][0]
        assert ratio == pytest.approx((ways + 1) / ways)
        if plan.cp > 1:  # a ring sends gradients of keys and values as well
            rings = [one["context_parallel"][0] for one in sent]
            assert rings[1] / rings[0] == pytest.approx(4 / 3)


def test_both_sequences_of_a_pair_are_in_one_micro_batch() -> None:
    pairs = tuned(reference="adapters")
    lone = replace(PLAN, micro_batch=1)
    lines = violations(pairs.model, PlanTable.from_plans([lone, PLAN]))
    assert [line for line in lines if "pair" in line] == [
        "micro-batch 1: a preference pair is two sequences of one micro-batch; nearest: 2"
    ]
    assert not violations(tuned().model, PlanTable.from_plans([lone]))


@each("changes", [
    {}, {"lora_targets": ("q", "o")}, {"adapter": "dora"}, {"frozen_weights": "nf4"},
])  # fmt: skip
def test_every_switch_of_the_assumptions_has_an_answer(changes: dict[str, Any]) -> None:
    """Layers as MLPs alone have no attention to adapt; that was a division by zero."""
    case = tuned(**changes)
    switches = [f.name for f in fields(case.assumptions)
                if isinstance(getattr(case.assumptions, f.name), bool)]  # fmt: skip
    assert "mlp_blocks" in switches
    for name in switches:
        other = case.assuming(**{name: not getattr(case.assumptions, name)})
        for plan in (PLAN, SHARDED):
            found = other.run([plan])
            assert 0 < float(found.step_time_s[0]) < math.inf, name
            assert 0 < float(found.energy.total[0]) < math.inf, name

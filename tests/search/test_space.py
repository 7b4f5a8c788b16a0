"""The space is every plan that the rules allow, listed again here one by one, without its code."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model, random_chips, random_cost_model

from models_db import load_model
from planner.cost.context import CostModel
from planner.cost.stages.layout import stage_layers
from planner.frameworks.rules import violations
from planner.plan import CP_MODES, SPLITS, Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans

SIZES = ("tp", "cp", "fsdp", "dp", "pp")


def meshes(model: CostModel, chips: int) -> Iterator[dict[str, int]]:
    """Sizes of the axes, with those of ep, that the model and the framework can have."""
    shapes, framework = model.shapes, model.framework
    counts = [n for n in range(1, chips + 1) if chips % n == 0]
    for sizes in itertools.product(counts, repeat=4):
        tp, cp, fsdp, dp = sizes
        ranks = tp * cp * fsdp * dp
        if chips % ranks or model.job.global_batch % (dp * fsdp):
            continue
        mesh = dict(zip(SIZES, (*sizes, chips // ranks), strict=True))
        kv_heads = tp if shapes.latent else shapes.kv_heads
        if shapes.heads % tp or (kv_heads % tp and tp % kv_heads):
            continue
        if shapes.dense_width % tp or shapes.shared_width % tp:
            continue
        if framework.name == "torchtitan" and shapes.kv_heads % tp:
            continue
        if framework.name == "nanotron" and shapes.kv_heads < tp:
            continue
        if framework.name == "fsdp" and dp > 1 and fsdp == 1 and tp * cp > 1:
            continue
        inside = tp * cp * fsdp * (1 if framework.name == "torchtitan" else dp)
        for ep in range(1, max(shapes.experts, 1) + 1):
            lacks = [axis for axis in framework.lacks if {**mesh, "ep": ep}[axis] > 1]
            if not lacks and max(shapes.experts, 1) % ep == 0 and inside % ep == 0:
                yield {**mesh, "ep": ep}


def pipelines(model: CostModel, pp: int, micro_batches: int) -> Iterator[tuple[str, int, str]]:
    """Schedules, interleaves and splits of a number of stages."""
    framework, layers = model.framework, model.job.model.layers
    if pp == 1:
        yield "1f1b", 1, framework.splits[0]
        return
    if framework.name == "jax" and micro_batches % pp:
        return
    titan = framework.name == "torchtitan"
    for schedule, split in itertools.product(framework.schedules, framework.splits):
        if split == "front" and "even" in framework.splits and layers % pp == 0:
            continue  # the same stages as even
        if schedule == "zero-bubble" and not model.job.trains_all:
            continue
        if schedule == "dualpipe" and not (
            model.job.trains_all and pp % 2 == micro_batches % 2 == 0 and micro_batches >= 2 * pp
        ):
            continue
        if schedule == "zb-v" and (not model.job.trains_all or micro_batches < 2 * pp - 1):
            continue
        if titan and schedule == "1f1b" and micro_batches < pp:
            continue
        if framework.name == "nanotron" and schedule == "1f1b" and micro_batches < pp - 1:
            continue
        most = 3 if titan else layers + 2
        several = {"interleaved": range(2, most + 1), "zb-v": (2,)}
        for interleave in several.get(schedule, (1,)):
            chunks = pp * interleave
            dealt = layers + 2 * split.endswith("counted")
            if interleave > 1 and (split == "by-cost" or dealt % chunks):
                continue
            if schedule == "interleaved" and micro_batches % pp:
                continue
            if stage_layers(model.job.model, pp, interleave, SPLITS.index(split)) is not None:
                yield schedule, interleave, split


def shardings(model: CostModel, mesh: dict[str, int]) -> Iterator[str]:
    """What the data ranks may share."""
    name, offered = model.framework.name, model.framework.shardings
    cp, fsdp, dp, pp = (mesh[axis] for axis in ("cp", "fsdp", "dp", "pp"))
    whole = name != "torchtitan" or cp == 1
    if fsdp == 1 and "ddp" in offered and whole:
        yield "ddp"
    if fsdp == 1 and dp * cp > 1 and "zero1" in offered:
        yield "zero1"
    if fsdp == 1 and dp * cp > 1 and "zero2" in offered and not (name == "deepspeed" and pp > 1):
        yield "zero2"
    if fsdp * cp > 1 and "zero3" in offered and not (name == "deepspeed" and pp > 1):
        yield "zero3"


def layouts(model: CostModel, mesh: dict[str, int]) -> Iterator[tuple[bool, str, str]]:
    """Sequence parallelism, context-parallel mode, recomputation."""
    shapes, tp, cp = model.shapes, mesh["tp"], mesh["cp"]
    held = shapes.heads if shapes.latent else -(-shapes.kv_heads // tp)
    swaps = cp > 1 and shapes.heads % (tp * cp) == 0 and held % cp == 0
    keeps = model.assumptions.fused_attention and model.framework.selective == "core-attention"
    modes = CP_MODES if swaps else ("ring",)
    recomputes = ("none", "full") if keeps else ("none", "selective", "full")
    for split, mode, recompute in itertools.product((False, True), modes, recomputes):
        allowed = split == (tp > 1) if shapes.experts else tp > 1 or not split
        pieces = (2 * cp if cp > 1 else 1) * (tp if split else 1)
        if model.framework.name == "torchtitan":
            pieces = 2 * cp * tp
        if allowed and model.job.seq_len % pieces == 0:
            yield split, mode, recompute


def listed(model: CostModel, chips: int) -> list[Plan]:
    """Every plan, one by one."""
    plans = []
    for mesh in meshes(model, chips):
        local = model.job.global_batch // (mesh["dp"] * mesh["fsdp"])
        for size in (n for n in range(1, local + 1) if local % n == 0):
            for (schedule, interleave, split), sharding, layout in itertools.product(
                pipelines(model, mesh["pp"], local // size),
                shardings(model, mesh),
                layouts(model, mesh),
            ):
                plans.append(
                    Plan(
                        **mesh, micro_batch=size, schedule=schedule, interleave=interleave,
                        split=split, sharding=sharding, sequence_parallel=layout[0],
                        cp_mode=layout[1], recompute=layout[2],
                    )
                )  # fmt: skip
    return plans


def searched(model: CostModel, chips: int) -> list[Plan]:
    """The plans of the space."""
    options = SpaceOptions()
    partial_plans = cross_partial_plans(model, enumerate_meshes(model, (chips,), options), options)
    plans = cross_choices(model, partial_plans, options).plans
    return [plans.plan(row) for row in range(len(plans))]


@pytest.mark.parametrize("seed", range(80))
def test_the_space_is_what_the_rules_allow(seed: int) -> None:
    model = random_cost_model(5000 + seed)
    chips = random_chips(model, seed, most=12)
    found, expected = searched(model, chips), listed(model, chips)
    assert len(set(found)) == len(found), "a plan is there twice"
    assert set(found) == set(expected)
    for plan in expected[:: max(len(expected) // 20, 1)]:
        assert violations(model, PlanTable.from_plans([plan])) == []


@pytest.mark.parametrize(
    ("name", "hardware", "framework", "chips"),
    [
        ("llama2-7b", "dgx-h100-ndr", "megatron", 16),
        ("llama3-8b", "dgx-h100-ndr", "torchtitan", 16),
        ("mixtral-8x7b", "dgx-h100-ndr", "torchtitan", 16),
        ("deepseek-v2-lite", "dgx-h100-ndr", "megatron", 8),
        ("llama2-7b", "tpu-v5p", "jax", 16),
        ("llama3-8b", "dgx-h100-ndr", "fsdp", 24),
        ("gpt3-6.7b", "dgx-a100-80-hdr", "nanotron", 12),
        ("gpt3-6.7b", "dgx-a100-80-hdr", "deepspeed", 24),
    ],
)
def test_the_space_of_real_jobs(name: str, hardware: str, framework: str, chips: int) -> None:
    model = cost_model(load_model(name), hardware, global_batch=48, framework=framework)
    assert set(searched(model, chips)) == set(listed(model, chips))


@each(("name", "axis"), [("sequence_parallel", "tp"), ("cp_mode", "cp")])
@each("code", [0, 1])
def test_an_exchange_that_is_fixed_holds_where_its_axis_exchanges(
    name: str, axis: str, code: int
) -> None:
    model = cost_model(load_model("llama2-7b"), "dgx-h100-ndr", global_batch=8)
    free, fixed = SpaceOptions(), SpaceOptions(fixed={name: frozenset({code})})
    every, chosen = (
        cross_choices(model, cross_partial_plans(model, meshes, options), options).plans
        for options in (free, fixed)
        for meshes in [enumerate_meshes(model, (8,), options)]
    )
    ok = (getattr(every, axis) == 1) | (getattr(every, name) == code)
    wanted = {every.plan(row) for row in np.flatnonzero(ok)}
    assert 0 < len(wanted) < len(every)
    found = {chosen.plan(row) for row in range(len(chosen))}
    assert (len(found - wanted), len(wanted - found)) == (0, 0)

"""Small random jobs on real clusters, for tests that compare a search with brute force."""

import random
from dataclasses import replace

import numpy as np

from hardware_db import load_cluster
from models_db import Model, Vision, load_model
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.cost.job import Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.rules import applicable
from planner.plan import PlanTable

CLUSTERS = ("dgx-h100-ndr", "dgx-a100-80-hdr", "gb200-nvl72", "tpu-v5p", "mi300x-8way", "trn1")


def dense_model(layers: int, hidden: int, heads: int, kv_heads: int, width: int) -> Model:
    """A gated decoder with the given dimensions."""
    return replace(
        load_model("llama2-7b"),
        name=f"dense-{layers}x{hidden}",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=hidden // heads,
        attention=replace(load_model("llama2-7b").attention, v_head_dim=hidden // heads),
        mlp=replace(load_model("llama2-7b").mlp, hidden=width),
    )


def moe_model(layers: int, experts: int) -> Model:
    """A small mixture of experts with a leading dense layer and a shared expert."""
    base = load_model("qwen3-30b-a3b")
    assert base.moe is not None
    return replace(
        base,
        name=f"moe-{layers}x{experts}",
        layers=layers,
        mlp=replace(base.mlp, hidden=4096),
        moe=replace(
            base.moe,
            experts=experts,
            experts_per_token=2,
            first_dense_layers=1,
            shared_experts=1,
            shared_expert_hidden=512,
        ),
    )


def cost_model(
    model: Model,
    hardware: str,
    *,
    global_batch: int,
    seq_len: int = 2048,
    framework: str = "megatron",
    kind: str = "pretrain",
    few_clocks: bool = False,
) -> CostModel:
    """The cost model of a job under the calibrated assumptions, on chips of three clocks or all."""
    cluster = load_cluster(hardware)
    if few_clocks:
        levels = cluster.chip.clock_levels
        few = (levels[0], levels[len(levels) // 2], levels[-1])
        cluster = replace(cluster, chip=replace(cluster.chip, clock_levels=few))
    chosen = FRAMEWORKS[framework]
    job = Job(
        model=model,
        seq_len=seq_len,
        global_batch=global_batch,
        framework=chosen,
        era=chosen.era,
        kind=kind,
    )
    return CostModel.build(job, cluster, calibrated(cluster.chip, chosen.era))


def random_cost_model(seed: int) -> CostModel:
    """A random small job: dense or with experts, on any of the clusters and frameworks.

    Its chips have three clocks, so that looking at every candidate costs less.
    """
    rng = random.Random(seed)
    if rng.random() < 0.25:
        model = moe_model(rng.choice([5, 8]), rng.choice([4, 6, 8]))
    else:
        heads = rng.choice([4, 8, 12])
        model = dense_model(
            layers=rng.choice([6, 8, 10, 12, 22]),
            hidden=heads * rng.choice([64, 128]),
            heads=heads,
            kv_heads=rng.choice([heads, heads // 2, heads // 4]),
            width=rng.choice([1536, 2048, 3072]) * 4,
        )
    return cost_model(
        model,
        rng.choice(CLUSTERS),
        global_batch=rng.choice([6, 8, 12, 16, 24]),
        seq_len=rng.choice([1024, 2048, 4096]),
        framework=rng.choice(
            ["megatron", "torchtitan", "nanotron", "jax", "deepspeed", "megatron-zb", "hai-llm"]
        ),
        kind=rng.choice(["pretrain", "pretrain", "finetune", "lora"]),
        few_clocks=True,
    )


TOWER = Vision(
    layers=3, hidden=256, heads=4, mlp_hidden=512, gated=False, bias=True, norm_bias=True,
    last_norm=False, patch=16, frames=2, channels=3, patches=256, positions=256, merge=2,
    projector_hidden=1024, projector_bias=True, projector_norm=2,
)  # fmt: skip
"""A small vision tower."""


def with_images(model: CostModel, images: int, recompute: str = "full") -> CostModel:
    """The same job of a model with a small vision tower, whose sequences have images."""
    seeing = replace(model.job.model, vision=TOWER)
    job = replace(model.job, model=seeing, images=images, tower_recompute=recompute)
    return replace(model, job=job)


def random_chips(model: CostModel, seed: int, most: int = 64) -> int:
    """A chip count that the cluster can give."""
    return random.Random(seed).choice(model.cluster.chip_counts(most))


def roofline_model(
    model: Model,
    hardware: str,
    chips: int,
    tokens: float,
    *,
    mfu: float = 1.0,
    torus_axes: dict[str, float] | None = None,
) -> CostModel:
    """The cost model of a step of `tokens` on `chips` under a textbook's simplifications."""
    cluster = load_cluster(hardware)
    job = Job(
        model=model,
        seq_len=tokens / chips,
        global_batch=chips,
        framework=FRAMEWORKS["textbook"],
        era="jax",
    )
    assumptions = Assumptions.roofline(cluster.chip, mfu=mfu)
    return CostModel.build(job, cluster, assumptions, torus_axes)


def obeying(model: CostModel, plans: PlanTable, *, arithmetic_only: bool = False) -> BoolArray:
    """(n,) plans without listed stages that break no rule: `violations` of each is empty."""
    assert plans.stages is None
    rules = applicable(model.framework)
    if arithmetic_only:
        rules = tuple(rule for rule in rules if rule.framework == "any")
    held: BoolArray = np.all([rule.holds(model, plans) for rule in rules], axis=0)
    return held

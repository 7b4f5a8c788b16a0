"""Bounds of partial plans are below all that can be done on them, on every kind of network."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardware_db
from planner.assumptions.assumptions import calibrated
from planner.base.arrays import IntArray
from planner.collectives.tables.tables import table_of
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.frameworks.rules import divisors
from planner.network.collectives import group_costs
from planner.network.fabric import Fabric, build_fabric
from planner.plan import ORDERS, PlanTable
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.search.uniform.bounds import (
    PartialPlanBounds,
    least_gather_s_per_byte,
    least_reduce_s_per_byte,
)
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans
from planner.verification import bounds as verified

MESH = ("tp", "cp", "pp", "dp", "fsdp", "ep")
PIPELINE = ("micro_batch", "schedule", "interleave", "split")
TABLED = ("dgx1-v100", "gaudi2", "mi300x-8way", "dgx-h100-ndr", "gb200-nvl72")
CLUSTERS = [
    name for name in hardware_db.list_clusters() if "rack" not in name and "xeon" not in name
]


EVERY = ("ring", "hierarchical", "tree", "in-switch", "in-switch-tree")


def fabric_of(name: str, chips: int, collectives: str = "nccl") -> Fabric:
    cluster = hardware_db.load_cluster(name)
    precision = next(d for d in ("bf16", "fp16", "fp32") if d in cluster.chip.peak_flop_per_s)
    assumed = calibrated(cluster.chip, "megatron-core", precision)
    assumed = replace(assumed, collectives=collectives, collective_algorithms=EVERY)
    return build_fabric(cluster.scale(chips), assumed, table_of)


@pytest.mark.parametrize("name", CLUSTERS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_no_group_is_faster_than_the_bound(name: str, data: st.DataObject) -> None:
    counts = [n for n in hardware_db.load_cluster(name).chip_counts(4096) if n > 1]
    chips = data.draw(st.sampled_from(counts))
    mode = data.draw(st.sampled_from(["nccl", "best"])) if name in TABLED else "nccl"
    fabric = fabric_of(name, chips, mode)
    size = data.draw(st.sampled_from(divisors(chips)[1:]))
    inner = data.draw(st.sampled_from(divisors(size)))
    stride = data.draw(st.sampled_from(divisors(chips // size)))
    gap = data.draw(st.sampled_from(divisors(chips // size // stride)))
    segments = [
        (np.array([inner]), np.array([stride])),
        (np.array([size // inner]), np.array([stride * inner * gap])),
    ]
    check_least(fabric, size, segments)


@pytest.mark.parametrize("name", ["dgx-b200-ndr", "dgx-h100-ndr", "gb200-nvl72"])
def test_no_group_of_a_few_domains_is_faster_than_the_bound(name: str) -> None:
    """Two domains whose switches sum pass each byte once between them."""
    chips = 144 if name == "gb200-nvl72" else 32
    for size in divisors(chips)[1:]:
        for stride in divisors(chips // size):
            check_least(fabric_of(name, chips), size, [(np.array([size]), np.array([stride]))])


def check_least(fabric: Fabric, size: int, segments: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """No collective of a group is faster than the least seconds per byte of its size."""
    large = 1e15  # bytes; latencies vanish
    costs = group_costs(fabric, segments)
    for seconds, least in (
        (costs.gather_s, (least_gather_s_per_byte, verified.gather_s)),
        (costs.reduce_s, (least_reduce_s_per_byte, verified.reduce_s)),
    ):
        found = seconds(np.array([large]))[0] * (1 + 1e-12)
        for bound in least:
            assert bound(fabric, size) * large <= found


def keys(columns: dict[str, IntArray]) -> list[tuple[int, ...]]:
    return list(zip(*(columns[name].tolist() for name in (*MESH, *PIPELINE)), strict=True))


def corners_of(
    model: CostModel, chips: int, *, placed: bool
) -> tuple[dict[tuple[int, ...], np.ndarray], PlanTable]:
    """The corner of each partial plan by its columns, and all plans of the space."""
    options = SpaceOptions()
    meshes = enumerate_meshes(model, (chips,), options)
    partial_plans = cross_partial_plans(model, meshes, options)
    nothing = np.zeros(len(meshes), dtype=np.int64)
    orders = options.orders(model.framework)
    bounds = PartialPlanBounds.build(model, partial_plans, orders, placed=placed)
    corners = bounds.corners(nothing, np.array([1.0]))[:, 0]
    columns = {name: meshes.columns[name][partial_plans.mesh_id] for name in MESH}
    names = keys({**columns, **partial_plans.columns})
    return dict(zip(names, corners, strict=True)), cross_choices(
        model, partial_plans, options
    ).plans


@pytest.mark.parametrize(
    ("hardware", "chips", "model_name", "slow"),
    [
        ("gaudi2", 16, "llama2-7b", ()),
        ("dgx1-v100", 16, "gpt3-1.3b", ("nvlink:0-2=0",)),
        ("dgx-h100-ndr", 16, "gpt-oss-20b", ()),
    ],
)
@pytest.mark.parametrize("mode", ["synthesized", "best"])
def test_no_plan_with_synthesized_collectives_is_below_its_corner(
    hardware: str, chips: int, model_name: str, slow: tuple[str, ...], mode: str
) -> None:
    job = {"collectives": mode, "degrade_link": slow}
    check_corners(job_on(hardware, chips, model_name, 16, **job), chips)


@pytest.mark.parametrize(
    ("hardware", "chips", "model_name", "sequences"),
    [
        ("gaudi2", 16, "llama2-7b", 16),
        ("gaudi3", 16, "llama2-7b", 8),
        ("dgx1-v100", 16, "gpt3-1.3b", 16),
        ("mi250x-slingshot", 16, "llama2-7b", 16),
        ("l40s-pcie", 32, "gpt3-1.3b", 32),
        ("tpu-v5e", 16, "llama2-7b", 16),
        ("tpu-v5p", 64, "mixtral-8x7b", 64),
        ("gb200-nvl72", 72, "qwen3-30b-a3b", 72),
        ("dgx-h100-ndr", 32, "gpt-oss-20b", 32),
        ("dgx-h100-ndr", 32, "nemotron-3-nano-30b-a3b", 32),
    ],
)
def test_no_plan_is_below_its_corner(
    hardware: str, chips: int, model_name: str, sequences: int
) -> None:
    check_corners(job_on(hardware, chips, model_name, sequences), chips)


@pytest.mark.parametrize(
    ("hardware", "chips", "model_name", "sequences"),
    [
        ("l40s-pcie", 32, "gpt3-1.3b", 32),
        ("gaudi2", 16, "llama2-7b", 64),
        ("dgx-h100-ndr", 32, "gpt-oss-20b", 64),
    ],
)
@pytest.mark.parametrize("hidden", [0.0, 1.0])
def test_corners_hold_where_weights_stay_gathered(
    hardware: str, chips: int, model_name: str, sequences: int, hidden: float
) -> None:
    """The reduction may be hidden while what every micro-batch gathers is not, and vice versa."""
    model = job_on(hardware, chips, model_name, sequences, framework="torchtitan")
    overlaps = {"dp_overlap": hidden, "zero3_overlap": 1 - hidden}
    model = replace(model, assumptions=replace(model.assumptions, **overlaps))
    check_corners(model, chips)


def test_corners_hold_where_passes_hide_all_that_they_can() -> None:
    """Under perfect overlap a pass hides its gathers, whatever share is said not to hide."""
    model = job_on("l40s-pcie", 16, "gpt3-1.3b", 16, framework="jax")
    hidden = {"perfect_overlap": True, "zero3_overlap": 0.0}
    model = replace(model, assumptions=replace(model.assumptions, **hidden))
    check_corners(model, 16)


@pytest.mark.parametrize("wire_bytes", [1.0, 4.0])
def test_corners_hold_whatever_collectives_send(wire_bytes: float) -> None:
    """Gathers of zero1 send what is assumed, those of zero2 always two bytes of a weight."""
    model = job_on("dgx-a100-80-hdr", 16, "gpt3-1.3b", 32)
    sent = {"weight_wire_bytes": wire_bytes, "gradient_wire_bytes": 4.0, "dp_overlap": 0.0}
    model = replace(model, assumptions=replace(model.assumptions, **sent))
    check_corners(model, 16)


def job_on(hardware: str, chips: int, model_name: str, sequences: int, **more: object) -> CostModel:
    """The cost model of steps of some sequences of 2048 tokens."""
    job = {"model": model_name, "hardware": hardware, "chips": chips, "seq_len": 2048, **more}
    return resolve(request_from({**job, "batch_tokens": sequences * 2048})).cost


def check_corners(model: CostModel, chips: int) -> None:
    """No plan takes less time or energy than the corner of its partial plan."""
    plain, plans = corners_of(model, chips, placed=False)
    placed, _ = corners_of(model, chips, placed=True)
    order = np.random.default_rng(0).permutation(len(plans))[:6000]
    plans = plans.take(order)
    named = keys({n: getattr(plans, n) for n in (*MESH, *PIPELINE)})
    low = np.array([np.maximum(plain[key], placed[key]) for key in named])
    for order_name in model.framework.orders or ORDERS:
        code = ORDERS.index(order_name)
        totals = evaluate_totals(model, replace(plans, order=np.full(len(plans), code)))
        assert np.all(low[:, 0] <= totals.step_time_s)
        assert np.all(low[:, 1] <= totals.energy_j)

"""Collectives of a plan choose among NCCL's protocols by size, where the library is NCCL."""

import math
from dataclasses import replace

import numpy as np
from cost.cases import assumptions_of, case_of

from hardware_db import load_calibration, load_cluster
from planner.assumptions.assumptions import Assumptions
from planner.assumptions.fitted import PROTOCOLS
from planner.cost.communication.algorithms import assumed_collectives
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import build_fabric
from planner.plan import Plan

TABLE = load_calibration("nccl")
SIZES = np.geomspace(1.0, 1e11, 200)


def costs_of(cluster: str, chips: int, members: int, **changes: object) -> GroupCosts:
    """The costs of the first `members` of some chips, a column for each size."""
    a = replace(assumptions_of(cluster, "megatron-core"), **changes)  # type: ignore[arg-type]
    fabric = build_fabric(load_cluster(cluster).scale(chips), a)
    found = group_costs(fabric, [(np.array([members]), np.array([1]))])
    return found.take(np.zeros(len(SIZES), dtype=np.int64))


def test_a_ring_in_a_node_by_hand() -> None:
    """8 H100: base of the protocol over that of Simple, 8 steps, its share of the wire."""
    a: Assumptions = assumptions_of("dgx-h100-ndr", "megatron-core")
    wire, factor = 450e9 * a.scale_up_efficiency, TABLE.value("step_factor.scale_up")
    fitted = TABLE.value("latency.scale_up_s")
    simple = TABLE.group("protocols.simple")
    lines = []
    for name in PROTOCOLS:
        own = TABLE.group(f"protocols.{name}")
        base = (own["ring_base_s"] + own["tree_base_s"]) / 2 + fitted
        step = (own["nvlink_ring_step_s"] + own["nvlink_tree_step_s"]) / 2 * factor
        alpha = a.scale_up_latency_s * base / (simple["ring_base_s"] + fitted) + 8 * step
        lines.append(alpha + 7 / 8 * SIZES / wire / own["ring_share"])
    found = costs_of("dgx-h100-ndr", 8, 8)
    np.testing.assert_allclose(found.gather_s(SIZES), np.min(lines, axis=0), rtol=1e-12)
    assert len(set(np.argmin(lines, axis=0).tolist())) > 1


def test_a_call_is_never_slower_than_in_simple_alone_nor_faster_when_larger() -> None:
    for cluster, chips, members in (
        ("dgx-h100-ndr", 512, 512), ("dgx-a100-80-hdr", 64, 4), ("gb200-nvl72", 144, 144),
        ("mi300x-8way", 64, 16), ("l40s-pcie", 16, 16),
    ):  # fmt: skip
        every = costs_of(cluster, chips, members)
        alone = costs_of(cluster, chips, members, protocols=("simple",))
        for call in (GroupCosts.gather_s, GroupCosts.reduce_s):
            times = call(every, SIZES)
            assert (times <= call(alone, SIZES)).all(), cluster
            assert (np.diff(times) >= 0).all(), cluster
            assert math.isclose(times[-1], call(alone, SIZES)[-1]), cluster


def test_other_libraries_have_no_protocols() -> None:
    for cluster in ("tpu-v5p", "gaudi2", "trn1"):
        a = assumptions_of(cluster, "jax")
        assert a.protocols == ()
        assert a.in_switch_latency_s == 25e-6
    assert Assumptions.roofline(load_cluster("dgx-h100-ndr").chip).protocols == ()


def test_a_plan_names_the_protocol_of_a_small_collective() -> None:
    case = case_of(seq_len=64, batch=8)
    plan = Plan(dp=1, tp=8, micro_batch=1, sequence_parallel=True, sharding="ddp")
    found = {one.collective: one for one in assumed_collectives(case.model, plan)}
    assert found["all-gather"].algorithm in ("ring, LL", "ring, LL128")

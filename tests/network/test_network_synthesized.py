"""Synthesized collectives in the costs of groups: closed forms, tables, latencies, slow links."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.cases import each

from hardware_db import Cluster, load_cluster, load_reference
from network.enumeration import segments_of
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.collectives.tables.tables import shipped, table_of
from planner.machine.degraded import with_degraded
from planner.network.collectives import GroupCosts, group_costs
from planner.network.domains import lanes_between, left_for_rings
from planner.network.fabric import Fabric, build_fabric
from planner.network.rates import pace
from planner.network.synthesized.tables import forms, front_of, group_keys, key_of, side_by_side

ERA = "megatron-core"
STEP, START = 0.6e-6, 6.6e-6


def assumptions_of(name: str) -> Assumptions:
    """The fitted constants on a cluster."""
    chip = load_cluster(name).chip
    return calibrated(chip, ERA, "bf16" if "bf16" in chip.peak_flop_per_s else "fp16")


def fabric_of(name: str, chips: int, mode: str, *slow: str, **changes: object) -> Fabric:
    """The fabric of some chips whose plans may assume synthesized collectives."""
    cluster: Cluster = with_degraded(load_cluster(name), slow)
    assumed: Assumptions = replace(assumptions_of(name), collectives=mode, **changes)  # type: ignore[arg-type]
    return build_fabric(cluster.scale(chips), assumed, table_of)


def seconds(costs: GroupCosts, kind: str, size: float) -> float:
    """One time."""
    return float(getattr(costs, f"{kind}_s")(np.array([size]))[0])


def test_the_latencies_are_those_of_the_tuner() -> None:
    table = load_reference("nccl-tuner").quantities
    a = assumptions_of("dgx1-v100")
    assert a.synthesized_step_s == table["hop_latency.nvlink.ring"].value[0] == STEP
    assert a.synthesized_start_s == table["base_latency.ring"].value[0] == START
    assert a.collectives == "nccl"


@each("size", [1e3, 1e6, 1e9])
def test_through_a_switch_every_chip_sends_all_others_their_part(size: float) -> None:
    """One step instead of seven, at the same rate."""
    a = assumptions_of("dgx-h100-ndr")
    fabric = fabric_of("dgx-h100-ndr", 8, "synthesized")
    found = group_costs(fabric, segments_of((8, 1)))
    beta = 7 / 8 / (450e9 * a.scale_up_efficiency)
    once = a.scale_up_latency_s - 6 * STEP
    assert math.isclose(seconds(found, "gather", size), once + beta * size, rel_tol=1e-12)
    everything = once + 8 * beta * size
    least = min(everything, 2 * (once + beta * size))
    assert math.isclose(seconds(found, "reduce", size), least, rel_tol=1e-12)


@each(("chunks", "steps", "rounds"), [(2, 2, 3), (6, 3, 7)])
def test_the_schedules_of_a_dgx1_cost_what_their_steps_and_rounds_say(
    chunks: int, steps: int, rounds: int
) -> None:
    """Design point (C, S, R): base - (7 - S) steps, and R / C of an eighth over one lane."""
    a = assumptions_of("dgx1-v100")
    found = group_costs(fabric_of("dgx1-v100", 8, "synthesized"), segments_of((8, 1)))
    lane = 150e9 / 6 * a.scale_up_efficiency
    alpha = max(a.scale_up_latency_s - (7 - steps) * STEP, START + steps * STEP)
    for size in (1e2, 1e9):
        alone = alpha + rounds / chunks / 8 / lane * size
        every = dict(found.by_algorithm("gather", np.array([size])))
        row = 0 if steps == 2 else 1
        assert math.isclose(float(every[f"synthesized {row}"][0]), alone, rel_tol=1e-12)


@each("name", ["dgx1-v100", "dgx-h100-ndr", "gaudi2"])
@each("group", [(2, 1), (4, 2), (8, 1), (16, 1), (2, 8), (32, 2)])
def test_the_best_mode_is_never_slower_than_either(name: str, group: tuple[int, int]) -> None:
    """At every size the best is the least over the algorithms, which are those of both modes."""
    sizes = np.geomspace(1.0, 1e10, 60)
    modes = {
        mode: group_costs(fabric_of(name, 64, mode), segments_of(group)).take(
            np.zeros(len(sizes), dtype=np.int64)
        )
        for mode in ("nccl", "synthesized", "best")
    }
    for kind in ("gather", "reduce", "exchange"):
        each = {mode: getattr(costs, f"{kind}_s")(sizes) for mode, costs in modes.items()}
        assert np.array_equal(each["best"], np.minimum(each["nccl"], each["synthesized"])), kind
        for costs, found in zip(modes.values(), each.values(), strict=True):
            least = np.min([row for _, row in costs.by_algorithm(kind, sizes)], axis=0)
            np.testing.assert_array_equal(least, found)


def test_the_library_has_further_rows_for_its_protocols_alone() -> None:
    """A ring and a tree of two rows in LL and in LL128; none where it is not NCCL."""
    for name, further in (("dgx1-v100", 8), ("gaudi2", 0)):
        plain = group_costs(fabric_of(name, 64, "nccl"), segments_of((8, 1)))
        assert plain.features.shape[0] == 15 + 3 * plain.levels + further
        assert sum(plain.lines) == 0


def test_a_group_across_nodes_takes_schedules_inside_and_rings_outside() -> None:
    a = assumptions_of("dgx1-v100")
    fabric = fabric_of("dgx1-v100", 64, "synthesized")
    found = group_costs(fabric, segments_of((64, 1)))
    nvlink, leaf = fabric.levels[:2]
    lane = nvlink.lane_bytes_per_s
    inner = max(a.scale_up_latency_s - 4 * STEP, START + 3 * STEP)
    alpha = inner + leaf.base_latency_s + 8 * leaf.hop_latency_s
    size = 4e9
    by_hand = alpha + size * (7 / 6 / 8 / lane + 7 / 8 / 8 / leaf.bytes_per_s)
    assert math.isclose(seconds(found, "gather", size), by_hand, rel_tol=1e-12)


@each("chips", [4, 6, 8, 12, 16])
def test_keys_tell_the_members_of_every_group(chips: int) -> None:
    """Against counting: a group of (size, stride) segments, cut to the domain of rank 0."""
    tiles = {members: side_by_side(members, chips) for members in forms(chips)}
    for members, groups in tiles.items():
        assert sorted(rank for group in groups for rank in group) == list(range(chips))
        assert members == groups[0]
    known = {key_of(members) for members in tiles} | {1}
    for size in (1, 2, 3, 4, 6, 8, 16, 32):
        for stride in (1, 2, 3, 4, 8, 16):
            key = int(group_keys(chips, segments_of((size, stride)))[0])
            ranks = {stride * place for place in range(size)}
            inside = tuple(sorted(rank for rank in ranks if rank < chips))
            assert key in {0, *known}
            if key:
                assert key == key_of(inside)


def test_slow_links_hold_up_the_groups_that_have_both_chips() -> None:
    level = fabric_of("dgx1-v100", 8, "nccl", "nvlink:0-2=0.25").levels[0]
    share = {
        group: float(pace(level, segments_of(group))[0])
        for group in ((2, 1), (2, 2), (4, 1), (8, 1), (4, 2), (2, 4))
    }
    assert share == {(2, 1): 1, (2, 2): 0.25, (4, 1): 0.25, (8, 1): 0.25, (4, 2): 0.25, (2, 4): 1}


def test_rings_give_up_a_failed_link() -> None:
    """Three rings on six lanes: a double link takes two of them, a single one takes one."""
    for word, left in (("nvlink:0-2=0", 2 / 3), ("nvlink:0-1=0", 1 / 3), ("nvlink:0-2=0.5", 0.5)):
        level = with_degraded(load_cluster("dgx1-v100"), [word]).scale(8).levels[0]
        assert [share for *_, share in left_for_rings(level, 8)] == [pytest.approx(left)]


def test_a_slow_link_costs_a_ring_four_times_and_a_schedule_a_seventh() -> None:
    """A quarter of one single link: 4 against (4 / 3) / (7 / 6)."""
    sizes = 1e10
    slow = "nvlink:0-2=0.25"
    group = segments_of((8, 1))
    plain = seconds(group_costs(fabric_of("dgx1-v100", 8, "nccl"), group), "gather", sizes)
    rings = seconds(group_costs(fabric_of("dgx1-v100", 8, "nccl", slow), group), "gather", sizes)
    made = seconds(group_costs(fabric_of("dgx1-v100", 8, "best", slow), group), "gather", sizes)
    assert rings / plain == pytest.approx(4, rel=1e-2)
    assert made / plain == pytest.approx(8 / 7, rel=1e-2)


def test_shipped_tables_keep_to_what_no_schedule_can_beat() -> None:
    """A chip takes in all parts but its own over its lanes; the DGX-1's frontier is there."""
    for wiring, table in shipped().items():
        for group in table.groups:
            g = len(group.members)
            assert front_of(group.gather) == group.gather
            assert front_of(group.exchange) == group.exchange
            if wiring == "hybrid-cube-mesh:8":
                assert all(p.load >= Fraction(g - 1, g * 6) for p in group.gather)
    whole = shipped()["hybrid-cube-mesh:8"].groups[-1]
    assert [(p.chunks, p.steps, p.rounds) for p in whole.gather] == [(2, 2, 3), (6, 3, 7)]
    assert [p.load for p in whole.exchange] == [Fraction(8, 3) / 8]


def test_the_links_of_a_dgx1_stand_in_the_order_of_its_pairs() -> None:
    level = load_cluster("dgx1-v100").scale(8).levels[0]
    lanes = lanes_between(level, 8)
    assert all(lanes[2 * pair, 2 * pair + 1] == 2 for pair in range(4))
    assert (lanes.sum(axis=1) == 6).all()

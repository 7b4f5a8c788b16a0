"""Times of collectives: closed forms, the choice of the algorithm, latencies, volumes."""

import math
from dataclasses import replace

import numpy as np
from cost.cases import assumptions_of
from support.cases import each

from hardware_db import Cluster, load_cluster
from network.enumeration import segments_of
from planner.assumptions.assumptions import Assumptions
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import Fabric, build_fabric

MB = 1e6


def fabric_of(
    cluster: Cluster | str, chips: int, era: str = "megatron-core", **changes: object
) -> Fabric:
    """The fabric of `chips` chips under the calibrated constants with some changed."""
    name = cluster if isinstance(cluster, str) else cluster.name
    found = load_cluster(cluster) if isinstance(cluster, str) else cluster
    changes = {"protocols": (), "scale_up_hop_s": 0.0, **changes}  # by hand: one line of time
    assumed: Assumptions = replace(assumptions_of(name, era), **changes)  # type: ignore[arg-type]
    return build_fabric(found.scale(chips), assumed)


def costs(fabric: Fabric, *pairs: tuple[int, int]) -> GroupCosts:
    """Costs of one group."""
    return group_costs(fabric, segments_of(*pairs))


def seconds(costs_of: GroupCosts, kind: str, size: float) -> float:
    """One time."""
    return float(getattr(costs_of, f"{kind}_s")(np.array([size]))[0])


def test_one_member_costs_nothing() -> None:
    alone = costs(fabric_of("dgx-h100-ndr", 64), (1, 8))
    for kind in ("gather", "reduce", "send", "exchange"):
        assert seconds(alone, kind, 1e9) == 0.0
    for level in range(4):
        assert alone.crossing(level)[0] == alone.exchange_crossing(level)[0] == 0.0
        assert alone.send_crossing(level)[0] == 0.0


@each("size", [0.0, 1e3, 1 * MB, 1e9])
def test_ring_in_a_node_and_across_nodes_by_hand(size: float) -> None:
    """H100: 450 GB/s x 0.734 inside; 50 GB/s x 0.964 x members per node between."""
    a = assumptions_of("dgx-h100-ndr", "megatron-core")
    fabric = fabric_of("dgx-h100-ndr", 64, collective_algorithms=("ring",))
    inside = a.scale_up_latency_s + 7 / 8 * size / (450e9 * a.scale_up_efficiency)
    assert math.isclose(seconds(costs(fabric, (8, 1)), "gather", size), inside, rel_tol=1e-12)
    for members, stride in ((1, 8), (4, 2), (8, 1)):
        g = 8 * members
        rate = min(450e9 * a.scale_up_efficiency, 50e9 * a.scale_out_efficiency * members)
        rate = rate if members > 1 else 50e9 * a.scale_out_efficiency
        expected = a.scale_out_latency_s + 8 * a.ring_hop_s + (g - 1) / g * size / rate
        found = costs(fabric, (g, stride))
        assert math.isclose(seconds(found, "gather", size), expected, rel_tol=1e-12)
        assert math.isclose(seconds(found, "reduce", size), 2 * expected, rel_tol=1e-12)


def crossover(one: GroupCosts, other: GroupCosts, low: float, high: float) -> float:
    """Message size at which two all-reduces take equally long, by bisection."""

    def gap(size: float) -> float:
        return seconds(one, "reduce", size) - seconds(other, "reduce", size)

    assert gap(low) * gap(high) < 0
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gap(low) * gap(middle) > 0 else (low, middle)
    return low


def test_switches_reduce_from_the_size_that_the_formula_says() -> None:
    """2 (a + b V) = a + 25 us + 2 b V / gain: V* = (25 us - a) / (2 b (1 - 1 / gain))."""
    name, a = "dgx-h100-ndr", assumptions_of("dgx-h100-ndr", "megatron-core")
    ring = costs(fabric_of(name, 8, collective_algorithms=("ring",)), (8, 1))
    both = costs(fabric_of(name, 8, collective_algorithms=("ring", "in-switch")), (8, 1))
    only = costs(fabric_of(name, 8, collective_algorithms=("in-switch",)), (8, 1))
    gain = load_cluster(name).levels[0].in_network_gain
    beta = 7 / 8 / (450e9 * a.scale_up_efficiency)
    expected = (a.in_switch_latency_s - a.scale_up_latency_s) / (2 * beta * (1 - 1 / gain))
    fast = replace_reduce(only)
    assert math.isclose(crossover(ring, fast, 1.0, 1e9), expected, rel_tol=1e-9)
    for size in (0.5 * expected, 2 * expected):
        best = min(seconds(ring, "reduce", size), seconds(fast, "reduce", size))
        assert math.isclose(seconds(both, "reduce", size), best, rel_tol=1e-12)


def replace_reduce(found: GroupCosts) -> GroupCosts:
    """The in-switch line alone: its rows in place of every other algorithm's."""
    features = found.features.copy()
    features[[2, 4]], features[[3, 5]] = features[8] / 2, features[9] / 2
    features[6], features[7] = features[8], features[9]
    return GroupCosts(features, found.levels)


def test_switches_reduce_only_where_the_library_does() -> None:
    """Not below the smallest group, not across nodes, not on machines without."""
    for name, group, offered in (
        ("dgx-h100-ndr", (8, 1), True),
        ("dgx-h100-ndr", (4, 1), False),
        ("dgx-h100-ndr", (16, 1), False),
        ("dgx-a100-80-hdr", (8, 1), False),
        ("gb200-nvl72", (64, 1), True),
    ):
        chips = 64
        without = costs(fabric_of(name, chips, collective_algorithms=("ring",)), group)
        with_it = costs(fabric_of(name, chips, collective_algorithms=("ring", "in-switch")), group)
        faster = seconds(with_it, "reduce", 1e9) < seconds(without, "reduce", 1e9)
        assert faster == offered, (name, group)


def test_trees_win_for_small_messages_on_many_nodes() -> None:
    """2 (a + 32 h) + 2 (g-1)/g V / r against a + 2 ceil(log2 32) h + 2 V / (0.92 r)."""
    name, a = "dgx-h100-ndr", assumptions_of("dgx-h100-ndr", "megatron-core")
    group = (32, 8)
    ring = costs(fabric_of(name, 256, collective_algorithms=("ring",)), group)
    both = costs(fabric_of(name, 256, collective_algorithms=("ring", "tree")), group)
    rate = 50e9 * a.scale_out_efficiency
    tree_alpha = a.scale_out_latency_s + 2 * 5 * a.ring_hop_s
    ring_alpha = 2 * (a.scale_out_latency_s + 32 * a.ring_hop_s)
    slope = 2 / (a.tree_efficiency * rate) - 2 * 31 / 32 / rate
    expected = (ring_alpha - tree_alpha) / slope
    for size in (0.2 * expected, 0.9 * expected):
        found = seconds(both, "reduce", size)
        assert math.isclose(found, tree_alpha + 2 * size / (a.tree_efficiency * rate))
        assert found < seconds(ring, "reduce", size)
    for size in (1.1 * expected, 10 * expected):
        assert seconds(both, "reduce", size) == seconds(ring, "reduce", size)


def test_the_hierarchical_algorithm_by_hand() -> None:
    """64 chips of 8 nodes: outer rings of 8 on V / 8, then inner rings of 8."""
    a = assumptions_of("dgx-h100-ndr", "megatron-core")
    fabric = fabric_of("dgx-h100-ndr", 64, collective_algorithms=("hierarchical",))
    size = 100 * MB
    inner = a.scale_up_latency_s + 7 / 8 * size / (450e9 * a.scale_up_efficiency)
    outer = a.scale_out_latency_s + 8 * a.ring_hop_s
    outer += 7 / 8 * size / 8 / (50e9 * a.scale_out_efficiency)
    found = seconds(costs(fabric, (64, 1)), "gather", size)
    assert math.isclose(found, inner + outer, rel_tol=1e-12)


def test_a_flat_ring_pays_a_hop_for_every_node() -> None:
    """2,048 H100: 60 us + 3 us x 256 nodes, however the nodes are spread over leaf switches."""
    a = assumptions_of("dgx-h100-ndr", "megatron-core")
    for chips in (128, 256, 512, 2048):
        fabric = fabric_of("dgx-h100-ndr", chips, collective_algorithms=("ring",))
        expected = a.scale_out_latency_s + chips // 8 * a.ring_hop_s
        found = seconds(costs(fabric, (chips, 1)), "gather", 0.0)
        assert math.isclose(found, expected, rel_tol=1e-12), chips


def test_a_tree_pays_the_latency_of_the_levels_it_climbs() -> None:
    """Wire latencies: 4 nodes under one leaf switch pay the leaf's, not the core's."""
    fabric = fabric_of(
        "dgx-h100-ndr", 2048, wire_latency=True, collective_algorithms=("ring", "tree")
    )
    levels = load_cluster("dgx-h100-ndr").levels
    a = assumptions_of("dgx-h100-ndr", "megatron-core")
    tree = a.scale_out_latency_s + 2 * 2 * levels[1].latency_s
    found = seconds(costs(fabric, (4, 8)), "reduce", 0.0)
    ring = 2 * (a.scale_out_latency_s + 4 * levels[1].latency_s)
    assert math.isclose(found, min(tree, ring), rel_tol=1e-12)


def test_ring_and_tree_climb_from_leaf_to_spine() -> None:
    """256 nodes, wire latencies: 5 tree levels inside a leaf of 32 nodes, 3 over 8 leaves.

    The ring leaves a leaf 8 times; its other 248 hops between nodes stay behind one leaf switch.
    """
    a = assumptions_of("dgx-h100-ndr", "megatron-core")
    leaf, spine = (level.latency_s for level in load_cluster("dgx-h100-ndr").levels[1:3])
    for algorithm, expected in (
        ("ring", 2 * (a.scale_out_latency_s + 248 * leaf + 8 * spine)),
        ("tree", a.scale_out_latency_s + 2 * (5 * leaf + 3 * spine)),
    ):
        names = ("ring", algorithm)
        fabric = fabric_of("dgx-h100-ndr", 2048, wire_latency=True, collective_algorithms=names)
        found = seconds(costs(fabric, (256, 8)), "reduce", 0.0)
        assert math.isclose(found, expected, rel_tol=1e-12), algorithm


@each(
    ("name", "chips", "nodes"),
    [
        ("dgx-h100-ndr", 64, 8),
        ("gb200-nvl72", 144, 2),
        ("h100-pcie-ndr200", 64, 8),
        ("gh200-ndr", 64, 64),
    ],
)
def test_domains_are_what_a_network_card_serves(name: str, chips: int, nodes: int) -> None:
    """Bucket latencies and expert copies count nodes (scale-up domains), not NVLink bridges."""
    found = costs(fabric_of(name, chips), (chips, 1))
    assert found.domains[0] == nodes


def test_asymptotic_volume_is_the_whole_buffer() -> None:
    """V / rate instead of (g-1)/g V / rate, one ring, for every size of the group."""
    for g in (2, 8, 64):
        exact = fabric_of("dgx-h100-ndr", 64, collective_algorithms=("ring",))
        whole = fabric_of("dgx-h100-ndr", 64, asymptotic_volume=True)
        latency = seconds(costs(whole, (g, 1)), "gather", 0.0)
        assert latency == seconds(costs(exact, (g, 1)), "gather", 0.0)
        for kind in ("gather", "reduce"):
            grown = seconds(costs(whole, (g, 1)), kind, 1e9) - seconds(
                costs(whole, (g, 1)), kind, 0
            )
            full = seconds(costs(exact, (g, 1)), kind, 1e9) - seconds(costs(exact, (g, 1)), kind, 0)
            assert math.isclose(grown * (g - 1) / g, full, rel_tol=1e-12)


@each("group", [(8, 1), (64, 1), (8, 8), (16, 4), (512, 1), (64, 8), (4, 128)])
def test_shares_of_the_levels_telescope(group: tuple[int, int]) -> None:
    """All levels together receive (g-1)/g of the buffer, in a gather and in an all-to-all."""
    found = costs(fabric_of("dgx-h100-ndr", 512), group)
    g = group[0]
    gathered = sum(found.crossing(level)[0] for level in range(4))
    exchanged = sum(found.exchange_crossing(level)[0] for level in range(4))
    assert math.isclose(gathered, (g - 1) / g, rel_tol=1e-12)
    assert math.isclose(exchanged, (g - 1) / g, rel_tol=1e-12)
    assert sum(found.send_crossing(level)[0] for level in range(4)) == 1.0


def test_all_to_all_between_nodes_by_hand() -> None:
    """16 chips on 2 nodes: 7/16 stay inside, 8/16 cross at the rate of one NIC per chip."""
    a = assumptions_of("dgx-h100-ndr", "megatron-core")
    found = costs(fabric_of("dgx-h100-ndr", 64), (16, 1))
    size = 50 * MB
    inside = 7 / 16 * size / (450e9 * a.scale_up_efficiency * a.exchange_efficiency)
    across = 8 / 16 * size / (50e9 * a.scale_out_efficiency)
    expected = a.scale_out_latency_s + inside + across
    assert math.isclose(seconds(found, "exchange", size), expected, rel_tol=1e-12)
    once = float(found.relay_s(np.array([size]), np.array([size / 8]))[0])
    assert math.isclose(once, a.scale_out_latency_s + max(2 * inside, across / 8), rel_tol=1e-12)


def test_all_to_all_of_nodes_with_two_scale_up_levels_by_hand() -> None:
    """16 H100 PCIe: 6/16 cross the PCIe switches, 8/16 the NIC; NVLink bridges carry less."""
    a = assumptions_of("h100-pcie-ndr200", "megatron-core")
    found = costs(fabric_of("h100-pcie-ndr200", 64), (16, 1))
    size = 50 * MB
    inside = 6 / 16 * size / (63e9 * a.scale_up_efficiency * a.exchange_efficiency)
    across = 8 / 16 * size / (25e9 * a.scale_out_efficiency)
    expected = a.scale_out_latency_s + inside + across
    assert math.isclose(seconds(found, "exchange", size), expected, rel_tol=1e-12)
    once = float(found.relay_s(np.array([size]), np.array([size / 8]))[0])
    assert math.isclose(once, a.scale_out_latency_s + max(2 * inside, across / 8), rel_tol=1e-12)


def test_all_to_all_of_single_chip_nodes_is_remote() -> None:
    """GH200: every byte leaves its node through the NIC, whichever switch it passes."""
    a = assumptions_of("gh200-ndr", "megatron-core")
    found = costs(fabric_of("gh200-ndr", 64), (64, 1))
    across = 63 / 64 * 1e9 / (50e9 * a.scale_out_efficiency)
    assert math.isclose(seconds(found, "exchange", 1e9), a.scale_out_latency_s + across)
    assert float(found.relay_s(np.array([1e9]), np.array([0.0]))[0]) == a.scale_out_latency_s


def test_rings_of_racks_are_closed_unless_cut() -> None:
    """trn2: 16 chips x 4 instances; of 32 chips the ring of instances is a line of two."""
    a = assumptions_of("trn2", "megatron-core")
    link = load_cluster("trn2").levels[1].link_bandwidth_bytes_per_s * a.scale_up_efficiency
    for chips, group, links in ((64, (4, 16), 2), (64, (2, 32), 1), (32, (2, 16), 1)):
        found = costs(fabric_of("trn2", chips, collective_algorithms=("ring",)), group)
        g = group[0]
        slope = seconds(found, "gather", 1e9) - seconds(found, "gather", 0.0)
        assert math.isclose(slope, (g - 1) / g * 1e9 / (links * link), rel_tol=1e-12), group


def test_a_group_inside_a_node_is_priced_alike_however_large_the_job() -> None:
    for name in ("dgx-h100-ndr", "mi300x-8way"):
        rows = [costs(fabric_of(name, chips), (4, 1)).features[:9, 0] for chips in (8, 64, 512)]
        for row in rows[1:]:
            np.testing.assert_array_equal(row, rows[0])


def test_a_tapered_level_is_slower_by_its_oversubscription() -> None:
    """MI250X Slingshot: the global links of a dragonfly carry 1 / 1.75 of the injection."""
    cluster = load_cluster("mi250x-slingshot")
    level = cluster.levels[-1]
    assert level.oversubscription == 1.75
    full = replace(cluster, levels=(*cluster.levels[:-1], replace(level, oversubscription=1.0)))
    tapered, plain = (
        fabric_of(c, cluster.levels[-2].domain_chips * 2).levels[-1] for c in (cluster, full)
    )
    assert math.isclose(plain.bytes_per_s / tapered.bytes_per_s, 1.75)

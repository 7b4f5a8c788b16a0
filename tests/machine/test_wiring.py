"""Wirings and scaled chips: ports, links and rates by counting, power and area by the formulas."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from hardware_db import Cluster, list_clusters, load_cluster
from planner.base.errors import InputError
from planner.machine.card_wiring import Routing
from planner.machine.ports import links_of, ports_per_chip
from planner.machine.scaling import with_pes
from planner.machine.wiring import UP_WIRINGS, read_wirings, rewired, shape_of, wiring_of
from planner.network.topology.forms import link_count
from planner.network.topology.graphs import graph_of
from planner.network.topology.kinds import Topology
from planner.network.topology.loads import load_of
from planner.network.topology.routing import dragonfly_loads
from planner.network.topology.wiring import wiring_of as wiring_of_graph

H100 = load_cluster("dgx-h100-ndr")
DIRECT = [name for name in UP_WIRINGS if name != "switch"]


def edges(name: str, shape: tuple[int, ...]) -> set[frozenset[tuple[int, ...]]]:
    """The links of a direct wiring, one by one."""
    nodes = list(itertools.product(*map(range, shape)))
    found = set()
    if name == "fully-connected":
        return {frozenset(pair) for pair in itertools.combinations(nodes, 2)}
    wraps = name.startswith("torus") or name == "ring"
    for node in nodes:
        for axis, length in enumerate(shape):
            step = node[axis] + 1
            if step < length or (wraps and length > 2):
                there = (*node[:axis], step % length, *node[axis + 1 :])
                found.add(frozenset({node, there}))
    return found


@each("name", DIRECT)
def test_ports_and_links_are_those_of_the_graph(name: str) -> None:
    cluster = rewired(H100, [name])
    allocation = cluster.scale(8)
    shape = shape_of(wiring_of(name), 8) or (8,)
    graph = edges(name, shape)
    degrees = [
        sum(node in link for link in graph) for node in itertools.product(*map(range, shape))
    ]
    assert links_of(allocation) == len(graph)
    assert ports_per_chip(allocation) == max(degrees)
    level = allocation.levels[0]
    per_port = H100.levels[0].links // max(degrees) * H100.levels[0].link_bandwidth_bytes_per_s
    assert level.link_bandwidth_bytes_per_s == per_port
    assert level.bandwidth_bytes_per_s == per_port * max(degrees)
    assert level.bandwidth_bytes_per_s <= H100.levels[0].bandwidth_bytes_per_s
    assert level.in_network_reduction == "none"


@each(("name", "axes"), [("ring", 1), ("torus", 2), ("torus3d", 3)])
def test_network_cards_without_switches(name: str, axes: int) -> None:
    cluster = rewired(H100, [f"scale-out={name}"])
    allocation = cluster.scale(512)
    outer = allocation.levels[-1]
    assert outer.link_bandwidth_bytes_per_s * 2 * axes == 5e10
    shape = outer.torus_dims or (64,)
    assert math.prod(shape) == 64
    assert len(shape) == axes
    links = 8 * len(edges("torus", shape)) + 512
    assert links_of(allocation) == links  # eight rails, and a link to the switches of each node
    assert outer.switch_power_w_per_chip == pytest.approx(9.0)  # its own end of the optics


def test_direct_wirings_save_the_power_of_switches() -> None:
    direct = rewired(H100, ["ring"])
    assert H100.chip.host_w - direct.chip.host_w == H100.levels[0].switch_power_in_host_w_per_chip
    assert rewired(H100, ["switch"]) == H100


def test_a_level_of_many_nodes_becomes_slices() -> None:
    """A torus of the 72 chips of a rack: smaller boxes, whole racks joined by the network."""
    cluster = rewired(load_cluster("gb200-nvl72"), ["torus"])
    counts = cluster.chip_counts(500)
    assert {72, 144, 216} <= set(counts)
    assert 76 not in counts
    allocation = cluster.scale(720)
    assert [level.domain_chips for level in allocation.levels] == [72, 576, 720]
    assert allocation.levels[0].torus_dims == (8, 9)


def test_a_leaf_spine_ends_at_its_spines() -> None:
    cluster = rewired(H100, ["scale-out=leaf-spine"])
    assert cluster.max_chips == 2048
    assert [level.name for level in cluster.levels] == ["nvlink", "leaf", "spine"]


def test_links_of_a_tree_are_those_of_its_graph() -> None:
    """The largest job of three tiers of 64-port switches, and one link of each chip in its node."""
    allocation = H100.scale(64**3 // 4)
    tree = link_count("fat-tree", (64,))
    assert links_of(allocation) == allocation.chips + tree
    spines = rewired(H100, ["scale-out=leaf-spine"]).scale(2048)
    one_rail = link_count("leaf-spine", (2048, 32, 32))  # its spines join the leaves of all rails
    assert links_of(spines) == 2048 + one_rail


def test_an_open_axis_has_the_links_of_a_mesh() -> None:
    """A slice of a TPU pod whose shorter axis does not close."""
    allocation = load_cluster("tpu-v5e").scale(128)
    level = allocation.levels[0]
    assert (level.torus_dims, level.torus_wrap) == ((8, 16), (False, True))
    assert links_of(allocation) == 7 * 16 + 16 * 8


def small_dragonfly() -> Cluster:
    """Switches of 15 ports: a, h, p = 8, 4, 4 in each of eight rails."""
    leaf = replace(H100.levels[1], domain_chips=64)
    small = replace(H100, levels=(H100.levels[0], leaf, *H100.levels[2:]))
    return rewired(small, ["scale-out=dragonfly"])


def test_links_of_a_dragonfly_are_those_of_its_graph() -> None:
    cluster = small_dragonfly()
    assert cluster.levels[-1].dragonfly == (8, 4, 4)
    graph = graph_of(Topology(name="dragonfly", sizes=(8, 4, 4)))
    assert cluster.max_chips == 8 * 4 * 8 * 33
    whole = cluster.scale(cluster.max_chips)
    assert links_of(whole) == whole.chips + 8 * graph.number_of_edges()
    assert ports_per_chip(whole) == 2  # one in the node, one card
    group = cluster.scale(8 * 4 * 8)  # one group of each rail: all pairs of eight switches
    assert links_of(group) == 2 * group.chips + 8 * 28


def test_a_dragonfly_is_as_large_as_its_switches_allow() -> None:
    """A 64-port switch has 16 cards, 31 links in its group and 16 to other groups."""
    flat = rewired(H100, ["scale-out=dragonfly"])
    a, h, p = flat.levels[-1].dragonfly
    assert (a, h, p) == (32, 16, 16)
    assert p + a - 1 + h <= 64 < (p + 1) + 2 * (p + 1) - 1 + (p + 1)
    assert flat.levels[1].domain_chips == 8 * p
    port, end = 41.34 - 29.67, (29.67 - (41.34 - 29.67)) / 2
    assert flat.levels[-1].switch_power_w_per_chip == pytest.approx(47 / 16 * port + end)
    leaf = replace(H100.levels[1], domain_chips=16)
    small = replace(H100, levels=(H100.levels[0], leaf, *H100.levels[2:]))
    with pytest.raises(
        InputError, match="16 chips and switches of 4 ports; at least 7 ports are needed"
    ):
        rewired(small, ["scale-out=dragonfly"])


# Ports of a switch, from the notes of the records, and cards of equal position that share one.
SWITCHES = {
    "ascend-910b": (32, 8),
    "dgx-a100-40-hdr": (40, 8), "dgx-a100-80-hdr": (40, 8), "dgx-b200-ndr": (64, 8),
    "dgx-b300": (64, 8), "dgx-h100-ndr": (64, 8), "dgx-h200-ndr": (64, 8), "dgx1-v100": (36, 8),
    "dgx2-v100": (36, 16), "gaudi2": (32, 8), "gaudi3": (32, 8), "gb200-nvl72": (64, 72),
    "gb300-nvl72": (64, 72), "h100-500w": (64, 8), "h100-pcie-ndr200": (40, 8),
    "h800-pod": (64, 8), "hgx-h20-ndr": (64, 8), "l40s-pcie": (40, 4), "mi300x-8way": (64, 8),
    "mi325x-8way": (64, 8), "mi350x-8way": (64, 8), "mi355x-8way": (64, 8),
    "v100-32gb-edr": (36, 8),
}  # fmt: skip


def test_each_record_that_can_be_a_dragonfly_is_expected() -> None:
    """All with cards in a fat tree of two tiers or more and a domain without cards."""
    found = set()
    for name in list_clusters():
        levels = load_cluster(name).levels
        outer = [level for level in levels if level.kind == "scale-out"]
        trees = [level for level in outer if level.topology == "fat-tree"]
        if len(trees) == len(outer) >= 2 and len(levels) > len(outer):
            found.add(name)
    assert found == set(SWITCHES)


@each("name", SWITCHES)
def test_a_dragonfly_has_the_switches_of_the_record(name: str) -> None:
    """A dragonfly of these ports, balanced, side by side for each position in the node or rack."""
    cluster, (ports, rails) = load_cluster(name), SWITCHES[name]
    flat = rewired(cluster, ["scale-out=dragonfly"])
    a, h, p = flat.levels[-1].dragonfly
    assert (a, h) == (2 * p, p)
    assert p + a - 1 + h <= ports < (p + 1) + 2 * (p + 1) - 1 + (p + 1)
    assert flat.levels[-2].domain_chips == p * rails
    assert flat.max_chips == min(cluster.max_chips, rails * p * a * (a * h + 1))
    notes = cluster.quantities["levels.leaf.switch_power"].note
    assert f"{ports} ports" in notes or "ports, recalled" not in notes


def test_ports_of_a_record_outdo_those_of_its_leaf() -> None:
    leaf = replace(H100.levels[1], domain_chips=254, switch_ports=40)  # no multiple of eight
    small = replace(H100, levels=(H100.levels[0], leaf, *H100.levels[2:]))
    assert rewired(small, ["scale-out=dragonfly"]).levels[-1].dragonfly == (20, 10, 10)
    unknown = replace(leaf, switch_ports=0)
    with pytest.raises(InputError, match=r"no multiple of the 8 .* nearest: 256, or"):
        rewired(replace(small, levels=(H100.levels[0], unknown, *H100.levels[2:])),
                ["scale-out=dragonfly"])  # fmt: skip


def test_a_dragonfly_gives_half_a_card_beyond_the_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shift by a switch or a group overloads the links of minimal routing far more than that."""
    topology = Topology(name="dragonfly", sizes=(8, 4, 4))
    graph = wiring_of_graph(graph_of(topology))
    for distance, rates in ((4, 8), (32, 32)):  # chips: to the next switch, the next group
        traffic = np.zeros((1056, 1056))
        traffic[np.arange(1056), (np.arange(1056) + distance) % 1056] = 1.0
        loads = dragonfly_loads(graph, traffic, topology)
        assert load_of(graph, loads).busiest_bytes == rates > 1 / Routing().rate
    tree, flat = H100.levels, rewired(H100, ["scale-out=dragonfly"]).levels
    assert flat[1].oversubscription == 1.0
    assert flat[2].oversubscription == 2.0
    assert flat[2].latency_s - tree[1].latency_s == pytest.approx(5 / 2 * (1.70e-6 - 1.21e-6))
    optical = Routing(rate=1.0, links=3, local_optics=1.0, switch_hops=4)
    monkeypatch.setattr("planner.machine.card_wiring.ROUTING", optical)
    minimal = rewired(H100, ["scale-out=dragonfly"]).levels[2]
    assert minimal.oversubscription == 1.0
    assert minimal.switch_power_w_per_chip - flat[2].switch_power_w_per_chip == pytest.approx(
        31 / 16 * 9
    )
    assert rewired(H100, ["ring"]).levels[0].latency_s == tree[0].latency_s / 4
    assert minimal.latency_s - tree[1].latency_s == pytest.approx(3 / 2 * (1.70e-6 - 1.21e-6))


def test_a_dragonfly_has_fewer_ports_than_a_tree_of_three_tiers() -> None:
    tree, flat = H100.scale(4096), rewired(H100, ["scale-out=dragonfly"]).scale(4096)
    power = [sum(level.switch_power_w_per_chip for level in a.levels) for a in (tree, flat)]
    assert power[1] < power[0]
    assert links_of(flat) < links_of(tree)


@each("pes", [33, 66, 132, 264])
@each("scale", [(), ("memory",), ("memory", "links", "network")])
def test_what_scales_with_pes(pes: int, scale: tuple[str, ...]) -> None:
    base, made = H100.chip, with_pes(H100, pes, scale)
    chip, ratio = made.chip, pes / 132
    assert chip.pe_count == pes
    assert chip.clock_hz == base.clock_hz
    for name, rate in chip.peak_flop_per_s.items():
        assert rate == pytest.approx(base.peak_flop_per_s[name] * ratio)
    assert chip.l2_bytes == pytest.approx((base.l2_bytes or 0) * ratio)
    dynamic = ratio if "memory" in scale else 0.3 + 0.7 * ratio
    assert chip.busy_w == pytest.approx(70 + 585 * dynamic)
    assert chip.wait_w == pytest.approx(70 + 70 * dynamic)
    assert chip.tdp_w / base.tdp_w == pytest.approx(chip.busy_w / base.busy_w)
    assert chip.die_area_m2 == pytest.approx(8.14e-4 * (0.45 + 0.55 * ratio))
    assert (chip.idle_w, chip.host_w) == (base.idle_w, base.host_w)
    memory = ratio if "memory" in scale else 1.0
    assert chip.memory_bytes == pytest.approx(base.memory_bytes * memory)
    assert chip.memory_bandwidth_bytes_per_s == pytest.approx(3.35e12 * memory)
    links = ratio if "links" in scale else 1.0
    assert made.levels[0].bandwidth_bytes_per_s == pytest.approx(4.5e11 * links)
    network = ratio if "network" in scale else 1.0
    assert made.levels[1].bandwidth_bytes_per_s == pytest.approx(5e10 * network)


def test_scaling_twice_is_scaling_once() -> None:
    once, twice = with_pes(H100, 264).chip, with_pes(with_pes(H100, 66), 264).chip
    assert twice.busy_w == pytest.approx(once.busy_w)
    assert twice.die_area_m2 == pytest.approx(once.die_area_m2)
    assert twice.peak_flop_per_s["bf16"] == pytest.approx(once.peak_flop_per_s["bf16"])


def test_the_record_is_left_as_it_is() -> None:
    assert with_pes(H100, 132, ("memory",)) is H100


def test_words_in_their_plain_form() -> None:
    assert read_wirings("scale-out=ring,dragonfly") == ("scale-out=ring", "scale-out=dragonfly")
    assert read_wirings(["torus:4x2", "torus:2x4", "scale-up=ring"]) == ("torus:2x4", "ring")


def test_too_few_links_are_refused() -> None:
    with pytest.raises(InputError, match="fully-connected: needs 71 ports on each chip"):
        rewired(load_cluster("gb200-nvl72"), ["fully-connected"])

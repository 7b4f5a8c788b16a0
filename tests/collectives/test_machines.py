"""Machines by name and from files: links, lanes, shared limits and symmetries."""

from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from support.cases import each

from hardware_db import load_cluster, load_reference
from hardware_db.quantity import Quantity
from planner.base.errors import InputError
from planner.collectives.machines.contraction import Cables, contracted
from planner.collectives.machines.lanes import MOST_LANES, lanes_of
from planner.collectives.machines.machine import Machine
from planner.collectives.machines.machines import LinkAsked, machine_of, maps_onto_itself
from planner.collectives.machines.named import named_wiring

NAMED = (
    "dgx-1", "dgx-1:nodes=2", "dgx-1:nodes=4", "gigabyte-z52", "nvl72", "ring:2", "ring:7",
    "torus:4x4", "torus:2x3", "hypercube:8", "fully-connected:5", "hyperx:3x4", "switch:16",
    "linear:4", "mesh:3x4", "leaf-spine:chips=12,leaf=4,spines=2", "fat-tree:k=4",
    "dragonfly:a=4,h=2,p=0",
)  # fmt: skip


def lanes(machine: Machine) -> dict[tuple[int, int], int]:
    return dict(zip(machine.network.links, machine.network.lanes, strict=True))


def group_of(generators: tuple[tuple[int, ...], ...], nodes: int) -> set[tuple[int, ...]]:
    found = {tuple(range(nodes))}
    ring = found
    while ring:
        ring = {tuple(g[at] for at in p) for g, p in product(generators, ring)} - found
        found = found | ring
    return found


@each("spec", NAMED)
def test_symmetries_are_free_and_kept(spec: str) -> None:
    """Each generator maps the network on itself; only the identity of the group keeps a node."""
    machine = machine_of(spec)
    named = named_wiring(spec)
    assert machine.symmetries == named.symmetries
    group = group_of(machine.symmetries, machine.network.nodes)
    for permutation in group - {tuple(range(machine.network.nodes))}:
        assert all(at != onto for at, onto in enumerate(permutation))


def test_what_is_no_symmetry_is_noticed() -> None:
    network = machine_of("linear:4").network
    assert maps_onto_itself((3, 2, 1, 0), network)
    assert not maps_onto_itself((1, 0, 2, 3), network)
    switched = machine_of("leaf-spine:chips=4,leaf=2,spines=1").network
    assert maps_onto_itself((1, 0, 3, 2), switched)
    assert not maps_onto_itself((2, 1, 0, 3), switched)


def test_dgx1_in_both_numberings() -> None:
    """The two are one graph under the map of the database; SCCL's 0-1 has two links."""
    sccl, driver = machine_of("dgx1"), machine_of("dgx-1", numbering="nvidia-smi")
    onto = [0, 3, 1, 2, 4, 7, 5, 6]
    assert {(onto[u], onto[v]): b for (u, v), b in lanes(sccl).items()} == lanes(driver)
    assert (lanes(sccl)[0, 1], lanes(sccl)[0, 2], lanes(driver)[0, 3]) == (2, 1, 2)
    assert sum(sccl.network.lanes) == 48
    assert (sccl.label, sccl.lane_bytes_per_s) == ("dgx-1", 25e9)


def test_the_z52_is_the_ring_of_its_record() -> None:
    """The links that the paper uses, each way, at the rate and latency of the cluster."""
    machine = machine_of("gigabyte-z52")
    facts = load_reference("topologies").quantities
    wired = [*_pairs(facts["gigabyte-z52.xgmi_pairs"]), *_pairs(facts["gigabyte-z52.pcie_pairs"])]
    assert lanes(machine) == {link: 1 for u, v in wired for link in ((u, v), (v, u))}
    level = load_cluster("gigabyte-z52").levels[0]
    assert machine.lane_bytes_per_s == level.link_bandwidth_bytes_per_s == 27e9
    assert set(machine.latency_s) == {level.latency_s}
    assert len(group_of(machine.symmetries, 8)) == 8


def _pairs(quantity: Quantity) -> list[tuple[int, int]]:
    return [(u, v) for u, v in np.asarray(quantity.value, dtype=np.int64).tolist()]


@each("spec", ["dgx-1:nodes=2", "dgx1:nodes=2", "2xdgx-1", "dgx1x2"])
def test_two_dgx1(spec: str) -> None:
    machine = machine_of(spec)
    across = {link: b for link, b in lanes(machine).items() if link[0] // 8 != link[1] // 8}
    assert sorted(across) == sorted(pair for c in (0, 2, 4, 6) for pair in ((c, c + 8), (c + 8, c)))
    assert set(across.values()) == {1}
    assert machine.lane_bytes_per_s == 12.5e9
    assert set(machine.network.lanes) == {1, 2, 4}
    assert sorted(set(machine.latency_s.tolist())) == [0.7e-6, 5e-6]


def test_four_dgx1_are_a_ring_of_nodes() -> None:
    found = {(u // 8, v // 8) for u, v in machine_of("dgx-1:nodes=4").network.links}
    assert {(u, v) for u, v in found if u < v} == {(0, 1), (1, 2), (2, 3), (0, 3)}


def test_ports_of_a_switch_are_shared() -> None:
    network = machine_of("switch:4", links=LinkAsked(lanes=6)).network
    assert len(network.links) == 12
    assert set(network.lanes) == {6}
    ports = {frozenset(network.links[link] for link in port.links) for port in network.shared}
    out = {frozenset((u, v) for v in range(4) if v != u) for u in range(4)}
    back = {frozenset((u, v) for u in range(4) if u != v) for v in range(4)}
    assert ports == out | back
    assert {port.capacity for port in network.shared} == {6}


def test_trunks_of_a_leaf_spine_limit_what_crosses() -> None:
    network = machine_of("leaf-spine:chips=8,leaf=4,spines=2").network
    trunks = [port for port in network.shared if port.capacity == 2]
    crossing = {
        frozenset(link for link, (u, v) in enumerate(network.links) if u // 4 == a and v // 4 == b)
        for a, b in ((0, 1), (1, 0))
    }
    assert {frozenset(trunk.links) for trunk in trunks} == crossing


def test_trunks_that_never_bind_are_left_out() -> None:
    """As many links up as down: only the ports of the chips limit anything."""
    for spec in ("leaf-spine:chips=8,leaf=4,spines=4", "fat-tree:k=4"):
        network = machine_of(spec).network
        assert {port.capacity for port in network.shared} == {1}
        assert len(network.shared) == 2 * network.nodes


def test_latency_adds_up_over_links() -> None:
    machine = machine_of("fat-tree:k=4", links=LinkAsked(latency_s=1e-6))
    times = dict(zip(machine.network.links, machine.latency_s * 1e6, strict=True))
    assert (times[0, 1], times[0, 2], times[0, 4]) == pytest.approx((2, 4, 6))


def test_equal_spines_of_a_file_act_as_one(tmp_path: Path) -> None:
    """A leaf-spine network as a user's graph is the named one."""
    links = [f"  - {{between: [{chip}, leaf{chip // 4}]}}" for chip in range(8)]
    links += [f"  - {{between: [leaf{i}, spine{j}]}}" for i in range(2) for j in range(2)]
    switches = "[leaf0, leaf1, spine0, spine1]"
    text = f"chips: 8\nswitches: {switches}\nlinks:\n" + "\n".join(links) + "\n"
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    found = machine_of(graph=tmp_path / "mine.yaml")
    named = machine_of("leaf-spine:chips=8,leaf=4,spines=2")
    assert found.label == "graph:mine"
    assert found.network.links == named.network.links
    assert {(p.links, p.capacity) for p in found.network.shared} == {
        (p.links, p.capacity) for p in named.network.shared
    }


UNEQUAL = """name: pairs
chips: [a, b, c, d]
switches: [hub]
links:
  - {between: [a, b], links: 2, bandwidth_bytes_per_s: 50e9, latency_s: 1e-6}
  - {between: [a, hub], bandwidth_bytes_per_s: 12.5e9}
  - {between: [c, hub], bandwidth_bytes_per_s: 12.5e9}
  - {between: [c, d], bandwidth_bytes_per_s: 50e9}
"""


def test_links_of_a_file_have_their_own_figures(tmp_path: Path) -> None:
    (tmp_path / "pairs.yaml").write_text(UNEQUAL, encoding="utf-8")
    machine = machine_of(graph=tmp_path / "pairs.yaml", links=LinkAsked(latency_s=2e-6))
    assert machine.names == ("a", "b", "c", "d")
    assert machine.lane_bytes_per_s == 12.5e9
    assert lanes(machine) == {
        (0, 1): 8, (1, 0): 8, (0, 2): 1, (2, 0): 1, (2, 3): 4, (3, 2): 4,
    }  # fmt: skip
    latency = dict(zip(machine.network.links, machine.latency_s * 1e6, strict=True))
    assert (latency[0, 1], latency[0, 2], latency[2, 3]) == pytest.approx((1, 4, 2))


def test_links_keep_their_own_bandwidth_beside_lanes(tmp_path: Path) -> None:
    """Cables of two boxes, of a directed line, and at a switch, where lanes stand for them."""
    boxes = machine_of("dgx-1:nodes=2")
    wires = dict(zip(boxes.wires.network.links,
                     zip(boxes.wires.network.lanes, boxes.wires.bytes_per_s, strict=True),
                     strict=True))  # fmt: skip
    assert (wires[0, 1], wires[0, 2], wires[0, 8]) == ((2, 25e9), (1, 25e9), (1, 12.5e9))
    assert boxes.wires.network.links == boxes.network.links
    assert machine_of("dgx-1").uneven is None
    assert machine_of("leaf-spine:chips=8,leaf=4,spines=2").uneven is None
    (tmp_path / "pairs.yaml").write_text(UNEQUAL, encoding="utf-8")
    mixed = machine_of(graph=tmp_path / "pairs.yaml")
    assert mixed.wires.network.links == mixed.network.links
    rates = mixed.wires.bytes_per_s * mixed.wires.network.lanes
    lanes_rate = np.array(mixed.network.lanes) * mixed.lane_bytes_per_s
    assert rates == pytest.approx(lanes_rate)
    ways = nx.DiGraph()
    ways.add_edge("a", "b", bandwidth_bytes_per_s=50e9)
    ways.add_edge("b", "a", bandwidth_bytes_per_s=20e9)
    nx.write_graphml(ways, tmp_path / "ways.graphml")
    way = machine_of(graph=tmp_path / "ways.graphml")
    assert way.wires.bytes_per_s.tolist() == [50e9, 20e9]
    assert (way.network.lanes, way.lane_bytes_per_s) == ((5, 2), 10e9)


def test_a_directed_graph_carries_one_way(tmp_path: Path) -> None:
    nx.write_graphml(nx.cycle_graph(5, create_using=nx.DiGraph), tmp_path / "cycle.graphml")
    machine = machine_of(graph=tmp_path / "cycle.graphml")
    assert sorted(machine.network.links) == [(at, (at + 1) % 5) for at in range(5)]


def test_a_directed_line_has_no_way_back(tmp_path: Path) -> None:
    nx.write_graphml(nx.path_graph(3, create_using=nx.DiGraph), tmp_path / "line.graphml")
    with pytest.raises(InputError, match="is in 3 parts without ways both there and back"):
        machine_of(graph=tmp_path / "line.graphml")


def test_a_way_beside_a_direct_link_is_passed_over() -> None:
    """Chips 0 and 1 are joined directly and by switch 2; the direct link is used, and that said."""
    ends = np.asarray([(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)])
    cables = Cables(nodes=3, chips=2, ends=ends, lanes=np.ones(6, dtype=np.int64),
                    latency_s=np.ones(6))  # fmt: skip
    found = contracted(cables)
    assert found.network.links == ((0, 1), (1, 0))
    assert (found.passed_over, found.network.shared) == (2, ())


def test_one_of_several_ways_is_used_and_said() -> None:
    machine = machine_of("dragonfly:a=4,h=2,p=2")
    assert any("several shortest ways" in note for note in machine.notes)
    assert not any("several" in note for note in machine_of("fat-tree:k=4").notes)


@each(
    ("speeds", "lanes_expected", "unit"),
    [
        ((25.0, 25.0), (1, 1), 25.0),
        ((25.0, 12.5), (2, 1), 12.5),
        ((30.0, 20.0, 50.0), (3, 2, 5), 10.0),
        ((1.0, MOST_LANES), (1, MOST_LANES), 1.0),
    ],
)
def test_lanes_are_the_greatest_common_divisor(
    speeds: tuple[float, ...], lanes_expected: tuple[int, ...], unit: float
) -> None:
    found = lanes_of(np.asarray(speeds))
    assert tuple(found.lanes) == lanes_expected
    assert found.lane_bytes_per_s == pytest.approx(unit)
    assert found.error == 0.0


def test_odd_proportions_are_rounded_down_by_what_is_said() -> None:
    speeds = np.asarray([1.0, np.pi, 7.77])
    found = lanes_of(speeds)
    error = (1.0 - found.lanes * found.lane_bytes_per_s / speeds).max()
    assert (found.lanes * found.lane_bytes_per_s <= speeds * (1 + 1e-9)).all()
    assert 0 < found.error < 0.01
    assert error == pytest.approx(found.error)
    assert found.lanes.max() <= MOST_LANES


@each(
    ("given", "message"),
    [
        ({"topology": "rign:8"}, "topology: 'rign' is not one of .*did you mean 'ring'"),
        ({"topology": "dgx-2"}, "'dgx-2' is not one of .*; did you mean 'dgx-1'"),
        ({"topology": "dgx-1:nodes=0"}, "with 1 to 32 nodes"),
        ({"topology": "dgx-1:8"}, "write dgx-1, or dgx-1:nodes=2"),
        ({"topology": "gigabyte-z52:nodes=2"}, "gigabyte-z52 takes no sizes: write gigabyte-z52"),
        ({"topology": "ring:1"}, "1 gives no pair of chips; use at least 2"),
        ({"topology": "torus:32x64"}, "2,048 chips; at most 1,024"),
        ({}, "topology: is missing"),
        ({"topology": "ring:4", "graph": Path("x.yaml")}, "give one of"),
        ({"topology": "dgx-1", "numbering": "mine"}, "'mine' is not one of sccl, nvidia-smi"),
        ({"topology": "ring:4", "links": LinkAsked(lanes=0)}, "lanes: 0 must be from 1"),
        (
            {"topology": "2xdgx-1", "links": LinkAsked(bandwidth_bytes_per_s=1e9)},
            "bandwidth: the links of dgx-1:nodes=2 differ",
        ),
    ],
)
def test_bad_input(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        machine_of(**given)  # type: ignore[arg-type]


def test_absurd_proportions_are_refused(tmp_path: Path) -> None:
    text = UNEQUAL.replace("50e9", "12.5e15")
    (tmp_path / "pairs.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="the fastest is 1,000,000 times as fast"):
        machine_of(graph=tmp_path / "pairs.yaml")

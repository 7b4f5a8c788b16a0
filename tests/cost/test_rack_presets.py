"""The presets of the two reports on racks: their formulas through the ordinary cost model."""

import math
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from support.cases import each

from cost.cases import Case, case_of
from hardware_db import Cluster, load_cluster
from planner.assumptions.rack_presets import rack_energy, rack_zero
from planner.base.errors import InputError
from planner.cost.communication.traffic import Traffic
from planner.cost.context import CostModel
from planner.cost.energy.energy import component_j
from planner.machine.wiring import UP_WIRINGS, rewired, shape_of, wiring_of
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import build_fabric
from planner.network.topology.hops import average_hops
from planner.plan import Plan

RACK = load_cluster("c2c-ndr400-rack")
NVLINK, NDR = RACK.levels
GRADIENTS = 4 * 117.44e6  # bytes of the feed-forward network of the report, full precision


def group(cluster: Cluster, members: int, *, zero: bool = False) -> object:
    """The costs of `members` chips side by side."""
    chip = cluster.chip
    precision = "bf16" if "bf16" in chip.peak_flop_per_s else "int8"
    assumptions = (rack_zero if zero else rack_energy)(chip, precision)
    fabric = build_fabric(cluster.scale(members), assumptions)
    return group_costs(fabric, [(np.array([members]), np.array([1]))])


@each(("members", "rate"), [(8, 9e11), (16, 5e10), (32, 5e10)])
def test_a_ring_goes_at_its_slowest_link(members: int, rate: float) -> None:
    """All-reduce: 2 (N - 1) steps of M / N at the rate of the slowest link crossed."""
    seconds = group(RACK, members).reduce_s(np.array([GRADIENTS]))[0]  # type: ignore[attr-defined]
    assert seconds == pytest.approx(2 * (members - 1) / members * GRADIENTS / rate, rel=1e-12)


def test_the_rings_of_the_report() -> None:
    """32 GPUs in racks of 8: 18.20 ms, 0.848 J; in one rack 0.91 ms on 8; crossing costs x 19.3."""
    found = group(RACK, 32)
    assert found.reduce_s(np.array([GRADIENTS]))[0] == pytest.approx(18.20e-3, rel=1e-3)  # type: ignore[attr-defined]
    received = [2 * 32 * found.crossing(level)[0] * GRADIENTS for level in (0, 1)]  # type: ignore[attr-defined]
    assert sum(received) == pytest.approx(29.13e9, rel=1e-3)
    links = 2 * 31 / 32 * GRADIENTS  # bytes over one link; 28 NVLink and 4 NDR links in the ring
    assert received == pytest.approx([28 * links, 4 * links], rel=1e-12)
    joules = received[0] * NVLINK.energy_j_per_byte + received[1] * NDR.energy_j_per_byte
    assert joules == pytest.approx(0.848, rel=1e-3)
    inside, across = (
        group(RACK, n).reduce_s(np.array([GRADIENTS]))[0]  # type: ignore[attr-defined]
        for n in (8, 16)
    )
    assert across / inside == pytest.approx(19.3, rel=2e-3)


@each("topology", ["linear", "ring", "fully-connected"])
@each("members", [2, 3, 4, 6, 7, 8, 9, 12])
def test_weights_are_fetched_over_average_hops(topology: str, members: int) -> None:
    """Seconds h (N - 1) L / (N T), byte-hops h (N - 1) L / N per GPU."""
    built = load_cluster("report1-rack")
    pair = 32e9 / (members - 1)  # what full wiring leaves of a chip's rate for each of the others
    level = replace(built.levels[0], topology=topology, peer_bandwidth_bytes_per_s=pair)
    weights, hops = 7680.0, float(average_hops(topology, members))
    found = group(replace(built, levels=(level,)), members, zero=True)
    moved = hops * (members - 1) / members * weights
    assert found.gather_s(np.array([weights]))[0] == pytest.approx(moved / 32e9, rel=1e-12)  # type: ignore[attr-defined]
    assert found.crossing(0)[0] * weights == pytest.approx(moved, rel=1e-12)  # type: ignore[attr-defined]


H100, NVL72 = load_cluster("dgx-h100-ndr"), load_cluster("gb200-nvl72")


def costs(cluster: Cluster, chips: int, size: int, stride: int = 1, *, zero: bool) -> GroupCosts:
    """The costs of `size` chips, `stride` apart, of a job of `chips`."""
    fabric = build_fabric(cluster.scale(chips), (rack_zero if zero else rack_energy)(cluster.chip))
    return group_costs(fabric, [(np.array([size]), np.array([stride]))])


def graph_of(word: str, chips: int) -> nx.Graph:
    """A direct wiring as a graph of ranks, the first axis innermost."""
    wiring = wiring_of(word)
    if wiring.name == "fully-connected":
        return nx.complete_graph(chips)
    shape = shape_of(wiring, chips) or (chips,)
    rings = wiring.name.startswith(("torus", "ring"))
    strides = [math.prod(shape[:axis]) for axis in range(len(shape))]
    graph = nx.Graph()
    for start in range(chips):
        for length, stride in zip(shape, strides, strict=True):
            line = [start + step * stride for step in range(length)]
            if start // stride % length == 0:
                graph.add_edges_from(pairwise(line + line[:1] * (rings and length > 2)))
    return graph


def mean_hops(graph: nx.Graph, ranks: list[int]) -> float:
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    pairs = [(a, b) for a in ranks for b in ranks if a != b]
    return sum(lengths[a][b] for a, b in pairs) / len(pairs)


WORDS = [
    *(
        (H100, word, 8)
        for word in (*UP_WIRINGS, "torus:2x4", "mesh:2x4", "torus:8", "mesh3d:2x2x2")
    ),
    *((NVL72, word, 72) for word in ("torus", "torus3d", "mesh", "mesh3d", "torus:2x36", "ring")),
    *((NVL72, word, 36) for word in ("torus:8x9", "mesh3d")),
]


@each(("built", "word", "chips"), WORDS)
def test_every_wiring_takes_the_hops_of_its_own_shape(
    built: Cluster, word: str, chips: int
) -> None:
    """Under uniform traffic; a switch is one crossing of its level."""
    cluster = rewired(built, [word])
    level = cluster.scale(chips).levels[0]
    hops = 1.0
    if word != "switch":
        cut = chips < (built.levels[0].domain_chips or 0)  # a part of a torus has no closed axis
        name = "mesh" if cut else wiring_of(word).name
        shape = "x".join(map(str, level.torus_dims))
        whole = f"{name}:{shape}" if level.torus_dims and name != "hypercube" else name
        hops = mean_hops(graph_of(whole, chips), list(range(chips)))
    found = costs(cluster, chips, chips, zero=True)
    assert found.crossing(0)[0] == pytest.approx(hops * (chips - 1) / chips, rel=1e-12)
    rate = level.bandwidth_bytes_per_s / hops
    seconds = found.gather_s(np.array([1e9]))[0]
    assert seconds == pytest.approx((chips - 1) / chips * 1e9 / rate, rel=1e-12)


@each(
    ("word", "links"),
    [
        ("switch", 18),
        ("ring", 2 * 9),  # half of the bytes each way
        ("linear", 9),  # ends have one port
        ("fully-connected", 7 * 2),
        ("torus:2x4", 3 * 6),
        ("mesh:2x4", 2 * 6),
        ("hypercube", 3 * 6),
    ],
)
def test_a_ring_goes_over_the_links_of_its_wiring(word: str, links: int) -> None:
    """Links of 25 GB/s that a ring over a whole node of 8 keeps busy on each chip."""
    found = costs(rewired(H100, [word]), 8, 8, zero=False)
    assert found.gather_s(np.array([1e9]))[0] == pytest.approx(7 / 8 / (links * 25), rel=1e-12)


def test_groups_beside_each_other_share_direct_links() -> None:
    """Four chips, each second one of a ring of 8: the other four use the same links."""
    ring = rewired(H100, ["ring"])
    apart, together = (
        costs(ring, 8, size, stride, zero=False) for size, stride in ((4, 2), (8, 1))
    )
    rates = [
        (n - 1) / n * 1e9 / found.gather_s(np.array([1e9]))[0]
        for n, found in ((4, apart), (8, together))
    ]
    assert rates[0] == pytest.approx(rates[1] / 2, rel=1e-12)
    full = rewired(H100, ["fully-connected"])
    seconds = costs(full, 8, 4, zero=False).gather_s(np.array([1e9]))[0]
    assert seconds == pytest.approx(3 / 4 / (3 * 50), rel=1e-12)  # the links to three others


@each(
    "word", ["ring", "linear", "fully-connected", "torus", "mesh", "torus3d", "mesh3d", "hypercube"]
)
def test_the_rack_of_the_report_can_be_wired_otherwise(word: str) -> None:
    """900 GB/s of a GPU divided among its ports; a ring has all of it, as in the report."""
    level = rewired(RACK, [word]).levels[0]
    ports = {"ring": 2, "linear": 2, "fully-connected": 7}.get(word, 3)
    assert level.link_bandwidth_bytes_per_s in (0.0, pytest.approx(9e11 / ports))
    seconds = costs(rewired(RACK, [word]), 8, 8, zero=False).gather_s(np.array([1e9]))[0]
    busy = {"linear": 1 / 2, "mesh": 2 / 3}.get(word, 1.0)
    assert seconds == pytest.approx(7 / 8 / (900 * busy), rel=1e-12)


@each("word", [word for word in UP_WIRINGS if word != "switch"])
@each(("size", "stride"), [(8, 1), (4, 1), (2, 4), (2, 1), (4, 2)])
def test_bytes_of_all_to_alls_count_on_every_link(word: str, size: int, stride: int) -> None:
    """Energy by component: (g - 1) / g of what leaves a chip, over the mean of shortest paths."""
    cluster = rewired(H100, [word])
    hops = mean_hops(graph_of(word, 8), [rank * stride for rank in range(size)])
    found = costs(cluster, 8, size, stride, zero=False).exchange_crossing(0)[0]
    assert found == pytest.approx(hops * (size - 1) / size, rel=1e-12)


def test_experts_on_a_line_pay_for_their_hops() -> None:
    """Mixtral, experts over 8 chips: three hops on a line, 16/7 on a ring; measured energy keeps
    its total."""
    plan = [Plan(dp=8, ep=8, sharding="zero1", sequence_parallel=False)]
    moved = {}
    for word in ("fully-connected", "ring", "linear"):
        case = case_of("mixtral-8x7b", "dgx-h100-ndr", layers=2, batch=8, seq_len=2048)
        cluster = rewired(case.cluster, [word])
        made = replace(case, cluster=cluster, assumptions=rack_energy(cluster.chip))
        found = made.run(plan)
        level = cluster.levels[0]
        moved[word] = found.wire_bytes[level.name][0]
        joules = found.energy.parts[f"network: {level.name}"][0]
        assert joules == pytest.approx(moved[word] * level.energy_j_per_byte, rel=1e-12)
    extra = (moved["linear"] - moved["fully-connected"]) / (
        moved["ring"] - moved["fully-connected"]
    )
    assert extra == pytest.approx((3 - 1) / (16 / 7 - 1), rel=1e-9)


def rack_case(preset: str) -> Case:
    case = case_of("llama3-8b", "c2c-ndr400-rack", layers=4, batch=32, seq_len=2048)
    made = {"rack-energy": rack_energy, "rack-zero": rack_zero}[preset](case.cluster.chip)
    return replace(case, assumptions=made)


@each("preset", ["rack-energy", "rack-zero"])
def test_energy_is_that_of_components(preset: str) -> None:
    """Every FLOP, byte of memory and byte of a link times its joules; nothing stands."""
    case = rack_case(preset)
    found = case.run([Plan(dp=4, tp=2, pp=2, sharding="zero1"), Plan(dp=16, sharding="zero1")])
    parts = found.energy.parts
    assert not np.any(parts["static"])
    assert not np.any(parts["host"])
    assert np.allclose(sum(parts.values()), found.energy.total, rtol=1e-12)
    chip = case.cluster.chip
    assert np.allclose(parts["compute"], found.flop * chip.flop_j["bf16"], rtol=1e-12)
    for level in case.cluster.levels:
        joules = found.wire_bytes[level.name] * level.energy_j_per_byte
        assert np.allclose(parts[f"network: {level.name}"], joules, rtol=1e-12)
    assert np.all(parts["memory"] > 0)
    assert np.all(found.energy.low == found.energy.total)


def test_rack_energy_adds_up_what_rack_zero_overlaps() -> None:
    """zero3 on 16: one after the other, or as long as the longest."""
    plan = Plan(fsdp=16, sharding="zero3", sequence_parallel=False)
    serial, hidden = (rack_case(name).run([plan]) for name in ("rack-energy", "rack-zero"))
    assert serial.time_parts["data_parallel"][0] > 0.5 * serial.communication_s["data_parallel"][0]
    assert hidden.step_time_s[0] < serial.step_time_s[0]
    computing = hidden.time_parts["compute"][0] + hidden.time_parts["memory_bound"][0]
    longest = max(computing, hidden.communication_s["data_parallel"][0])
    assert hidden.step_time_s[0] == pytest.approx(longest, rel=0.05)


def test_a_larger_memory_on_the_chip_moves_less() -> None:
    """1 MiB of blocks moves more than 32 MiB; time and FLOP stay."""
    case = rack_case("rack-energy")
    plan = [Plan(dp=16, sharding="zero1", sequence_parallel=False)]
    small, large, once = (
        replace(case, assumptions=replace(case.assumptions, on_chip_bytes=size)).run(plan)
        for size in (2.0**20, 2.0**25, 0.0)
    )
    memory = [found.energy.parts["memory"][0] for found in (small, large, once)]
    assert memory[0] > 1.3 * memory[1] >= 1.3 * memory[2]
    assert small.step_time_s[0] == large.step_time_s[0] == once.step_time_s[0]


def test_component_joules_by_hand() -> None:
    case = rack_case("rack-energy")
    model = CostModel.build(case.job, case.cluster, case.assumptions)
    one = np.ones(1)
    moved = Traffic(flop=2 * one, memory_bytes=3 * one, wire_bytes=(one, 5 * one))
    parts = component_j(model, moved)
    assert math.isclose(parts["compute"][0], 2 * 9e-13)
    assert math.isclose(parts["memory"][0], 3 * 1e-10)
    assert math.isclose(parts["network: ndr400"][0], 5 * 1.6e-10)


def test_presets_need_a_rate() -> None:
    with pytest.raises(InputError, match="report1-gpu has no bf16 rate"):
        rack_zero(load_cluster("report1-rack").chip)

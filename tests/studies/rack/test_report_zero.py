"""The report on rack-scale ZeRO: its claims hold, each also against a formula of a few lines."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from support.cases import each

from planner.network.topology.fit import fitted
from planner.studies.rack.model.assumptions import BASES
from planner.studies.rack.model.fetching import exact_latency_ratio, fixed, named_fetch_factor
from planner.studies.rack.model.workloads import convolution, fully_connected
from planner.studies.rack.zero.figures import (
    Comparison,
    ZeroQuestion,
    compare,
    last_hidden,
    zero_study,
)
from planner.studies.rack.zero.json import to_dict
from planner.studies.rack.zero.readings import busiest_link, readings
from planner.studies.rack.zero.request import zero_question

WEIGHTS, RATE, CYCLES, HOP_J = 7680, 32, 480, 1.6e-10
"""Bytes, bytes per cycle and GPU, cycles on sixteen PEs, joules per byte and hop."""
TOPOLOGIES = ("linear", "ring", "fully-connected")
GPUS = range(2, 13)
EXACT_COLUMNS = [1, 2, 4, 5, 6, 8, 10, 16, 20]
"""Columns by which 80 outputs or 96 inputs divide."""


def hops(topology: str, n: int) -> Fraction:
    """Average hops by breadth-first search."""
    graph = {
        "linear": nx.path_graph,
        "ring": nx.cycle_graph if n > 2 else nx.path_graph,
        "fully-connected": nx.complete_graph,
    }[topology](n)
    total = sum(sum(d.values()) for _, d in nx.all_pairs_shortest_path_length(graph))
    return Fraction(total, n * (n - 1))


def ratio(topology: str, n: int, basis: str = "per_gpu") -> Fraction:
    """Latency of ZeRO over data parallelism: the printed equation with N T for T, or T."""
    rate = RATE * {"per_gpu": n, "network": 1}[basis]
    return max(Fraction(1), (n - 1) * WEIGHTS * hops(topology, n) / rate / CYCLES)


def question(**given: Any) -> ZeroQuestion:
    return zero_question(**given)[0]


@pytest.fixture(scope="module")
def document() -> Any:
    asked, cluster = zero_question()
    return to_dict(zero_study(asked), cluster)


@pytest.fixture(scope="module")
def compared() -> dict[str, Comparison]:
    asked = question()
    return {
        name: compare(asked, fully_connected(), name, np.array(GPUS), 16) for name in TOPOLOGIES
    }


def test_1_fetches_are_hidden_up_to_6_gpus_in_a_line_8_in_a_ring_and_always_fully_connected(
    document: Any,
) -> None:
    assert document["last_hidden_gpus"] == {"linear": 6, "ring": 8, "fully_connected": None}
    for topology, last in (("linear", 6), ("ring", 8)):
        assert ratio(topology, last) == 1 < ratio(topology, last + 1)
    assert document["last_hidden_searched_gpus"]["fully_connected"] >= 64
    lean = Fraction(WEIGHTS, RATE * CYCLES)  # the factor (N - 1) / N stays below 1
    assert lean <= 1
    assert document["never_bound"]["fully_connected"].startswith("always: r (N - 1) / N < r = 0.5")


def test_2_latency_at_12_gpus_is_exactly_143_over_72(document: Any) -> None:
    assert ratio("linear", 12) == Fraction(143, 72)
    assert document["latency_ratio_at_12_exact"]["linear"]["fully_connected"] == "143/72"
    found = document["latency_ratio_at_12"]
    assert found["linear"]["fully_connected"] == pytest.approx(143 / 72, rel=1e-12)
    assert found["ring"]["fully_connected"] == pytest.approx(1.5, rel=1e-12)
    assert found["fully_connected"]["fully_connected"] == 1.0


def test_2_the_whole_curves_equal_the_formula(compared: dict[str, Comparison]) -> None:
    for topology, one in compared.items():
        wanted = [float(ratio(topology, n)) for n in GPUS]
        assert one.latency_ratio == pytest.approx(wanted, rel=1e-12)


def test_3_more_columns_of_pes_meet_a_plateau_of_300_cycles(document: Any) -> None:
    assert document["plateau_cycles"] == 300.0
    assert 3 * WEIGHTS * hops("linear", 4) / (4 * RATE) == 300
    series = {s["strategy"]: s["latency_cycles"] for s in document["figures"]["6"]["series"]}
    columns = document["figures"]["6"]["pe_columns"]
    at = dict(zip(columns, zip(series["dp"], series["zero"], strict=True), strict=True))
    assert at[6] == (320.0, 320.0)
    assert at[8] == (240.0, 300.0)


def test_4_zero_is_the_larger_of_computing_and_fetching(document: Any) -> None:
    series = {s["strategy"]: s["latency_cycles"] for s in document["figures"]["6"]["series"]}
    assert series["zero"] == [max(cycles, 300.0) for cycles in series["dp"]]
    columns = document["figures"]["6"]["pe_columns"]
    dp = dict(zip(columns, series["dp"], strict=True))
    exact = [dp[count] for count in EXACT_COLUMNS]
    assert exact == [WEIGHTS / 4 / count for count in EXACT_COLUMNS]
    assert exact == sorted(set(exact), reverse=True)
    assert series["dp"] == sorted(series["dp"], reverse=True)


def test_5_energy_does_not_depend_on_the_columns(document: Any) -> None:
    for one in document["figures"]["5"]["series"]:
        joules = one["energy_per_gpu_j"]
        middle = (max(joules) + min(joules)) / 2
        assert max(joules) - middle < 0.015 * middle


def test_6_energy_at_12_gpus(document: Any) -> None:
    found = document["energy_ratio_at_12"]["linear"]
    assert 4.5 <= found["fully_connected"] <= 5.0
    assert 1.0 < found["convolution"] <= 1.05
    assert document["latency_ratio_at_12"]["linear"]["convolution"] == 1.0
    dp_j = document["figures"]["5"]["series"][0]["energy_per_gpu_j"][3]
    by_hand = 1 + WEIGHTS * HOP_J / dp_j * 143 / 36
    assert found["fully_connected"] == pytest.approx(by_hand, rel=1e-9)


def test_7_energy_in_a_line_grows_along_a_straight_line(compared: dict[str, Comparison]) -> None:
    n, ratios = np.array(GPUS, dtype=float), compared["linear"].energy_ratio
    assert np.corrcoef(n, ratios)[0, 1] ** 2 > 0.999


def test_8_linear_costs_at_least_what_ring_and_that_what_full_does(
    compared: dict[str, Comparison],
) -> None:
    line, ring, full = (compared[name] for name in TOPOLOGIES)
    for of in ("latency_ratio", "energy_ratio"):
        a, b, c = (getattr(one, of) for one in (line, ring, full))
        assert np.all(a >= b * (1 - 1e-12))
        assert np.all(b >= c * (1 - 1e-12))
        assert a[0] == pytest.approx(b[0])
        assert b[:2] == pytest.approx(c[:2])
    assert np.all(line.energy_ratio[1:] > ring.energy_ratio[1:])
    assert np.all(ring.energy_ratio[2:] > full.energy_ratio[2:])


def test_9_the_printed_equation_cannot_tell_7_in_a_line_from_8_in_a_ring() -> None:
    asked = question(basis="network")
    line = compare(asked, fully_connected(), "linear", 7, 16)
    ring = compare(asked, fully_connected(), "ring", 8, 16)
    assert line.latency_ratio[0] == pytest.approx(ring.latency_ratio[0], rel=1e-12)
    assert line.latency_ratio[0] == pytest.approx(float(ratio("linear", 7, "network")))
    assert 6 * hops("linear", 7) == 7 * hops("ring", 8) == 16


def test_9_the_two_bases_differ_by_the_number_of_gpus() -> None:
    for topology in TOPOLOGIES:
        fetches = [
            compare(question(basis=basis), fully_connected(), topology, np.array(GPUS), 16).fetch_s
            for basis in ("network", "per_gpu")
        ]
        assert fetches[0] == pytest.approx(fetches[1] * np.array(GPUS), rel=1e-12)


def test_10_all_gpus_fetch_all_but_their_own_share(compared: dict[str, Comparison]) -> None:
    for topology, one in compared.items():
        network_j = one.zero_j - one.dp_j
        wanted = [(n - 1) * WEIGHTS * float(hops(topology, n)) * HOP_J for n in GPUS]
        assert network_j == pytest.approx(wanted, rel=1e-6)
        assert np.ptp(one.dp_s) == 0
        assert one.dp_j / one.gpus == pytest.approx([one.dp_j[0] / 2] * len(GPUS), rel=1e-12)


@each("basis", BASES)
@each("topology", [*TOPOLOGIES, "mesh", "torus", "star", "switch"])
def test_the_exact_ratio_equals_the_model(basis: str, topology: str) -> None:
    asked = question(basis=basis, topology=topology)
    for workload in (fully_connected(), convolution()):
        one = compare(asked, workload, topology, np.array(GPUS), 16)
        for at, n in enumerate(GPUS):
            wired = fixed(fitted(topology, n))
            exact = exact_latency_ratio(
                wired,
                basis,
                weight_bytes=workload.weight_bytes,
                rate=RATE,
                cycles=round(one.dp_s[at] * 1e9),
            )
            assert one.latency_ratio[at] == pytest.approx(float(exact), rel=1e-9)


def test_readings_of_the_bandwidth() -> None:
    by_letter = {reading.letter: reading for reading in readings()}
    a, b, c, d = (by_letter[letter] for letter in "ABCD")
    assert (a.linear.low, a.linear.high) == (Fraction(1, 16), Fraction(3, 35))
    assert a.all_claims.is_empty
    assert (a.even_counts.low, a.even_counts.high) == (Fraction(1, 21), Fraction(1, 16))
    assert (b.linear.low, b.linear.high) == (Fraction(7, 16), Fraction(18, 35))
    assert (b.all_claims.low, b.all_claims.high) == (Fraction(9, 20), Fraction(1, 2))
    assert b.latency_at_12.high == Fraction(143, 72)
    assert (b.even_counts.low, b.even_counts.high) == (Fraction(2, 5), Fraction(1, 2))
    assert (c.linear.low, c.linear.high) == (Fraction(3, 8), Fraction(3, 7))
    assert c.all_claims.is_empty
    assert not c.even_counts.is_empty
    assert (d.linear.low, d.linear.high) == (Fraction(7, 24), Fraction(1, 3))
    assert d.all_claims.is_empty
    assert d.even_counts.is_empty
    assert d.latency_at_12.high == 2


def test_only_one_reading_agrees_with_every_claim() -> None:
    assert [r.basis for r in readings() if not r.all_claims.is_empty] == ["per_gpu"]


@each("topology", TOPOLOGIES)
def test_the_busiest_link_by_counting_paths(topology: str) -> None:
    for n in range(3, 10):
        makers = {"linear": nx.path_graph, "ring": nx.cycle_graph}
        graph = makers.get(topology, nx.complete_graph)(n)
        load = dict.fromkeys(map(frozenset, graph.edges), Fraction(0))
        for source in graph:
            for target in set(graph) - {source}:
                paths = list(nx.all_shortest_paths(graph, source, target))
                for path in paths:
                    for link in pairwise(path):
                        load[frozenset(link)] += Fraction(1, n * len(paths))
        assert max(load.values()) == busiest_link(topology, n)


def test_every_r_within_the_interval_gives_the_claims_and_none_outside() -> None:
    found = next(r for r in readings() if r.basis == "per_gpu").all_claims
    for share, good in (
        (found.high, True),
        ((found.low + found.high) / 2, True),
        (found.low, False),
        (found.high + Fraction(1, 100), False),
    ):
        asked = question(bandwidth=str(float(Fraction(WEIGHTS, CYCLES) / share)))
        stops = [
            last_hidden(compare(asked, fully_connected(), name, np.arange(2, 65), 16))
            for name in TOPOLOGIES
        ]
        assert (stops == [6, 8, None]) == good, (share, stops)


def test_the_plateau_fits_the_reading(document: Any) -> None:
    share = next(r for r in readings() if r.basis == "per_gpu").plateau_share
    assert share * Fraction(WEIGHTS, RATE) == 300
    assert named_fetch_factor("linear", 4, "per_gpu") == Fraction(5, 4)
    assert document["basis"]["name"] == "per_gpu"


def test_a_dearer_hop_costs_energy_and_no_time() -> None:
    cheap, dear = (question(energy_per_hop=joules) for joules in ("1.6e-10", "3.2e-10"))
    one, two = (
        compare(asked, fully_connected(), "ring", np.array(GPUS), 16) for asked in (cheap, dear)
    )
    assert two.zero_s == pytest.approx(one.zero_s)
    assert two.zero_j - two.dp_j == pytest.approx(2 * (one.zero_j - one.dp_j), rel=1e-6)


def test_a_graph_of_a_ring_is_a_ring(tmp_path: Any) -> None:
    path = tmp_path / "eight.yaml"
    links = "\n".join(f"  - {{between: [{i}, {(i + 1) % 8}]}}" for i in range(8))
    path.write_text(f"chips: 8\nlinks:\n{links}\n", encoding="utf-8")
    asked = question(topology="ring", graph=path)
    assert asked.machine.topologies == ("ring", "graph:eight")
    for basis in BASES:
        based = replace(asked, assumptions=replace(asked.assumptions, basis=basis))
        ring, graph = (
            compare(based, fully_connected(), name, np.array([7, 8, 9]), 16)
            for name in based.machine.topologies
        )
        assert np.isnan(graph.dp_s[[0, 2]]).all()
        assert graph.zero_s[1] == pytest.approx(ring.zero_s[1], rel=1e-12)
        assert graph.zero_j[1] == pytest.approx(ring.zero_j[1], rel=1e-12)


def test_a_topology_that_waits_at_once_hides_nothing() -> None:
    asked = question(bandwidth="1")
    assert last_hidden(compare(asked, fully_connected(), "linear", np.arange(2, 9), 16)) == 1


def test_the_proofs_that_a_topology_never_waits() -> None:
    asked, cluster = zero_question(topology="fully-connected,star,switch,hyperx")
    found = to_dict(zero_study(asked), cluster)
    assert set(found["last_hidden_gpus"].values()) == {None}
    words = found["never_bound"]
    assert {name for name in words if words[name].startswith("always")} == {
        "fully_connected", "star", "switch"
    }  # fmt: skip
    for name, limit in (("fully-connected", 1), ("star", 2), ("switch", 2)):
        shares = [named_fetch_factor(name, n, "per_gpu") for n in (2, 3, 10, 1000, 100_000)]
        assert all(share < limit for share in shares)
        assert limit - shares[-1] < Fraction(1, 10_000)
    leaner, _ = zero_question(topology="switch", bandwidth="31")
    slower = zero_study(leaner)
    assert slower.last_hidden["switch"] is not None

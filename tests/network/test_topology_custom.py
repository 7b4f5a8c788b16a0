"""A user's own graphs and traffic: every format, and what is refused in one line."""

import json
import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.network.topology.custom import read_graph
from planner.network.topology.figures import (
    parse_bandwidth,
    parse_energy_per_byte,
    parse_latency,
    parse_price,
)
from planner.network.topology.measures import farthest_latency_s, measured_hops
from planner.network.topology.traffic import read_traffic
from planner.network.topology.wiring import Wiring, wiring_of

RACK = """\
name: two pairs behind a switch
switches: [hub]
links:
  - {between: [a, b], links: 2, bandwidth_bytes_per_s: 50e9, latency_s: 1e-6}
  - {between: [a, hub], price: 100}
  - {between: [c, hub], energy_j_per_byte: 1e-10}
  - {between: [c, d]}
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refused(path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        wiring_of(read_graph(path))
    return str(caught.value).split("\n")


def cycle(count: int = 12) -> nx.Graph:
    """A cycle whose first link is double."""
    graph: nx.Graph = nx.cycle_graph(count)
    graph.edges[0, 1]["links"] = 2
    graph.edges[0, 1]["price"] = 7.0
    return graph


def test_yaml(tmp_path: Path) -> None:
    wiring = wiring_of(read_graph(written(tmp_path / "rack.yaml", RACK)))
    assert wiring.labels == ("a", "b", "c", "d", "hub")
    assert (wiring.chips, wiring.switches, wiring.link_count) == (4, 1, 5)
    assert wiring.node_ports.tolist() == [3, 2, 2, 1, 2]
    assert wiring.switch_ports == 2
    assert measured_hops(wiring) * 12 == 2 * (1 + 2 + 3 + 3 + 4 + 1)
    assert np.isnan(wiring.figures["bandwidth_bytes_per_s"]).sum() == 3
    assert farthest_latency_s(wiring, 2e-6) == pytest.approx(1e-6 + 3 * 2e-6)


def node_link(path: Path, graph: nx.Graph, edges: str) -> None:
    path.write_text(json.dumps(nx.node_link_data(graph, edges=edges)), encoding="utf-8")


def test_files_of_networkx(tmp_path: Path) -> None:
    graph = cycle()
    nx.write_graphml(graph, tmp_path / "a.graphml")
    nx.write_edgelist(graph, tmp_path / "b.edgelist")
    node_link(tmp_path / "c.json", graph, "edges")
    node_link(tmp_path / "d.json", graph, "links")
    for name in ("a.graphml", "b.edgelist", "c.json", "d.json"):
        wiring = wiring_of(read_graph(tmp_path / name))
        assert wiring.labels == tuple(map(str, range(12))), name
        assert wiring.link_count == 13
        assert sorted(wiring.node_ports.tolist()) == [2] * 10 + [3] * 2
        assert np.nansum(wiring.figures["price"]) == 7.0
    nx.write_adjlist(graph, tmp_path / "e.adjlist")
    assert wiring_of(read_graph(tmp_path / "e.adjlist")).link_count == 12


def test_parallel_edges_add_up() -> None:
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    assert wiring_of(graph).links.tolist() == [2, 1]
    graph.add_edge(0, 1, price=5)
    with pytest.raises(InputError, match="parallel links differ"):
        wiring_of(graph)


@each(
    ("text", "words"),
    [
        ("chips: 4\nlinks: [{between: [0, 1]}, {between: [2, 3]}]", "2 parts .* 0, 1 | 2, 3"),
        ("links: [{between: [a, a]}]", "itself"),
        ("chips: [a]\nswitches: [s]\nlinks: [{between: [a, s]}]", "1 chip; at least 2"),
        ("chips: 1\nlinks: [{between: [0, 0]}]", "chips"),
        ("chips: 3\nlinks: [{between: [0, 9]}]", "'9' is neither a chip nor a switch"),
        ("chips: [a, b]\nswitches: [b]\nlinks: [{between: [a, b]}]", "is a chip as well"),
        ("links: [{between: [a, b], bandwidth_bytes_per_s: 0}]", "greater than 0"),
        ("links: [{between: [a, b], energy_j_per_byte: -1e-12}]", "at least 0"),
        ("links: [{between: [a, b], links: 0}]", "at least 1"),
        ("links: [{betwen: [a, b]}]", "did you mean 'between'"),
        ("links: []", "at least 1 entry"),
        ("links: 3", "must be a list"),
        ("links: [{between: [a, b, c]}]", "between"),
    ],
)
def test_wrong_yaml(text: str, words: str, tmp_path: Path) -> None:
    lines = refused(written(tmp_path / "g.yaml", text))
    assert any(re.search(words, line) for line in lines), lines


@each(
    ("name", "text", "words"),
    [
        ("g.txt", "0 1", "files end in"),
        ("g.json", "{", "no node-link JSON"),
        ("g.json", '{"nodes": [{"id": 0}], "edges": [{"source": 0}]}', "no node-link JSON"),
        ("g.json", '{"directed": true, "nodes": [{"id": 0}, {"id": 1}], "edges": '
                   '[{"source": 0, "target": 1}]}', "directed"),
        ("g.json", '{"nodes": [{"id": 0}, {"id": 1, "kind": "router"}], "edges": '
                   '[{"source": 0, "target": 1, "links": "x"}]}', "not one of chip, switch"),
        ("g.json", '{"nodes": [{"id": 0}, {"id": 1}], "edges": '
                   '[{"source": 0, "target": 1, "bandwidth_bytes_per_s": 0}]}', "greater than 0"),
        ("g.json", '{"nodes": [{"id": 0}, {"id": 1}], "edges": '
                   '[{"source": 0, "target": 1, "links": 1.5}]}', "whole number"),
        ("g.graphml", "<graphml>", "no GraphML"),
        ("g.graphml", '<!DOCTYPE x [<!ENTITY a "b">]><x/>', "entities"),
        ("g.edgelist", "0 1 2 3", "no edge list"),
        ("g.edgelist", "# nothing", "no nodes"),
    ],
)  # fmt: skip
def test_wrong_files(name: str, text: str, words: str, tmp_path: Path) -> None:
    lines = refused(written(tmp_path / name, text))
    assert any(words in line for line in lines), lines


def test_missing_files(tmp_path: Path) -> None:
    written(tmp_path / "rack.yaml", RACK)
    (line,) = refused(tmp_path / "rak.yaml")
    assert "did you mean 'rack.yaml'" in line


@pytest.fixture(name="rack")
def _rack(tmp_path: Path) -> Wiring:
    return wiring_of(read_graph(written(tmp_path / "rack.yaml", RACK)))


def test_traffic_files(rack: Wiring, tmp_path: Path) -> None:
    matrix = np.arange(16.0).reshape(4, 4) * (1 - np.eye(4))
    rows = "\n".join(",".join(map(str, row)) for row in matrix.tolist())
    np.save(tmp_path / "t.npy", matrix)
    files = {
        "t.csv": rows,
        "t.yaml": f"bytes: {matrix.tolist()}",
        "p.yaml": "pairs:\n" + "\n".join(
            f"- {{from: {'abcd'[i]}, to: {'abcd'[j]}, bytes: {matrix[i, j] / 2}}}"
            for _ in range(2) for i in range(4) for j in range(4) if i != j
        ),
    }  # fmt: skip
    for name, text in files.items():
        written(tmp_path / name, text)
    for name in (*files, "t.npy"):
        assert read_traffic(tmp_path / name, rack).tolist() == matrix.tolist(), name


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.txt", "0", "files end in"),
        ("t.csv", "0,1\n1,0", "is 2 x 2; 4 chips need 4 x 4"),
        ("t.csv", "0,1\n1", "equally many"),
        ("t.csv", "0,1\n\nx,0", "line 3: 'x' is not a number of bytes"),
        ("t.csv", "0,1,1,1\n" * 4, "to itself"),
        ("t.csv", "0,-1,0,0\n0,0,0,0\n0,0,0,0\n0,0,0,0", "from a to b: bytes are finite"),
        ("t.csv", "0,nan,0,0\n0,0,0,0\n0,0,0,0\n0,0,0,0", "bytes are finite"),
        ("t.csv", "0,0,0,0\n" * 4, "no chip sends anything"),
        ("t.npy", "not numpy", "no numpy array"),
        ("t.yaml", "matrix: [[0]]", "one of the fields bytes, pairs"),
        ("t.yaml", "bytes: [[0, x]]", "write it like"),
        ("t.yaml", "pairs: [{from: a, bytes: 1}]", "write it like"),
        ("t.yaml", "pairs: [{from: a, to: z, bytes: 1}]", "'z' is not one of a, b, c, d"),
    ],
)
def test_wrong_traffic(name: str, text: str, words: str, rack: Wiring, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_traffic(written(tmp_path / name, text), rack)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@each(
    ("parse", "text", "value"),
    [
        (parse_bandwidth, "50GB/s", 50e9),
        (parse_bandwidth, "5e10", 5e10),
        (parse_energy_per_byte, "1.6e-10", 1.6e-10),
        (parse_energy_per_byte, "160pJ/B", 1.6e-10),
        (parse_energy_per_byte, "20 pJ/bit", 1.6e-10),
        (parse_energy_per_byte, "0", 0.0),
        (parse_latency, "500ns", 5e-7),
        (parse_latency, "2us", 2e-6),
        (parse_latency, "1ms", 1e-3),
        (parse_latency, "1e-6", 1e-6),
    ],
)
def test_figures(parse: Any, text: str, value: float) -> None:
    assert parse(text) == pytest.approx(value, rel=1e-12)


@each(
    ("parse", "text"),
    [
        (parse_bandwidth, "0"), (parse_bandwidth, "-1GB/s"), (parse_bandwidth, "fast"),
        (parse_energy_per_byte, "-1e-12"), (parse_energy_per_byte, "3pJ/kg"),
        (parse_latency, "-1us"), (parse_latency, "soon"),
    ],
)  # fmt: skip
def test_wrong_figures(parse: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        parse(text)


def test_wrong_prices() -> None:
    with pytest.raises(InputError, match="link-price: '-5' must be at least 0"):
        parse_price("-5", "link-price")


@each("name", ["g.edgelist", "g.adjlist", "g.yaml", "g.json"])
def test_a_name_of_more_digits_than_a_number_may_have_is_a_name(name: str, tmp_path: Path) -> None:
    long = "9" * 5000
    links = f'[{{between: ["{long}", "1"]}}]'
    edge = f'{{"source": "{long}", "target": "1"}}'
    nodes = f'[{{"id": "{long}"}}, {{"id": "1"}}]'
    text = {
        "g.yaml": f"links: {links}",
        "g.json": f'{{"nodes": {nodes}, "edges": [{edge}]}}',
    }.get(name, f"{long} 1")
    assert wiring_of(read_graph(written(tmp_path / name, text))).labels == (long, "1")


def test_a_field_of_a_graph_may_have_any_name(tmp_path: Path) -> None:
    graph = nx.Graph([("1", "0")])
    graph.graph["incoming_graph_data"] = "x"
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert wiring_of(read_graph(tmp_path / "g.graphml")).labels == ("0", "1")

"""Graphs of many nodes and links: loads by either way of adding, files that are too large."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.network.topology import loads
from planner.network.topology.custom import read_graph
from planner.network.topology.wiring import wiring_of

GRAPHS = {
    "a ring": nx.cycle_graph(60),
    "a path": nx.path_graph(41),
    "a torus": nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 6, periodic=True)),
    "all joined": nx.complete_graph(20),
    "all joined, with a tail": nx.lollipop_graph(12, 20),
    "by chance": nx.connected_watts_strogatz_graph(40, 4, 0.3, seed=1),
}


@each("name", GRAPHS)
def test_few_pairs_and_many_are_added_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wiring = wiring_of(GRAPHS[name])
    traffic = np.random.default_rng(1).random((wiring.chips, wiring.chips))
    np.fill_diagonal(traffic, 0.0)
    found = []
    for few in (0, 8, 10**9):  # pairs alone, as is, whole arrays
        monkeypatch.setattr(loads, "_FEW", few)
        found.append(loads.shortest_loads(wiring, traffic))
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
    assert found[0].sum() > traffic.sum()


@each(("ending", "line"), [(".edgelist", "{0} {1} {{}}"), (".adjlist", "{0} {1}")])
def test_too_many_nodes_are_refused_before_they_are_read(
    ending: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reads(*_: object, **__: object) -> None:
        raise AssertionError("networkx takes long")

    monkeypatch.setattr(nx, "parse_edgelist", reads)
    monkeypatch.setattr(nx, "parse_adjlist", reads)
    path = tmp_path / f"large{ending}"
    path.write_text("\n".join(line.format(at, at + 1) for at in range(2048)), encoding="utf-8")
    with pytest.raises(InputError, match=r"^graph: 2,049 nodes; at most 2,048$"):
        read_graph(path)


def test_lines_mean_what_networkx_reads(tmp_path: Path) -> None:
    path = tmp_path / "small.edgelist"
    path.write_text("# a b c\n0 1 {}\n1 2 {'links': 2}  # d e\n2 0\n", encoding="utf-8")
    assert dict(read_graph(path).edges) == {
        ("0", "1"): {}, ("1", "2"): {"links": 2}, ("0", "2"): {},
    }  # fmt: skip

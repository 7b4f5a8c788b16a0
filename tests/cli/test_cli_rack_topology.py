"""`planner rack topology` on the command line."""

import csv
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from support.cases import each
from support.lines import without_lines

from cli.command import planner, refused


def answer(*arguments: object) -> dict[str, Any]:
    """Rows by topology."""
    outcome = planner("rack", "topology", *arguments, "--json")
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    return {row["topology"]: row for row in outcome.document["topologies"]}


def test_all_that_have_that_many_chips() -> None:
    outcome = planner("rack", "topology", "--chips", 16)
    assert outcome.code == 0
    for words in ("linear:16", "17/3 = 5.667", "fat-tree:k=4", "none with 16 chips: dragonfly"):
        assert words in outcome.out
    assert "time" not in outcome.out


def test_report_1_with_per_link_loads() -> None:
    """Every chip fetches the others' shards: bytes times hops are B (N + 1) / 3 on a line."""
    rows = answer("linear:12", "ring:12", "fully-connected:12", "--traffic", "all-gather",
                  "--bytes", 7680, "--bandwidth", 32, "--energy-per-hop", "1.6e-10")  # fmt: skip
    for name, hops in (("linear:12", "13/3"), ("ring:12", "36/11"), ("fully-connected:12", "1")):
        row = rows[name]
        assert row["average_hops_exact"] == hops
        assert row["traffic_bytes"] == pytest.approx(11 * 7680)
        assert row["traffic_hops"] == pytest.approx(float(Fraction(hops)))
        assert row["energy_j"] == pytest.approx(11 * 7680 * float(Fraction(hops)) * 1.6e-10)
        assert row["time_s"] == pytest.approx(row["busiest_link_bytes"] / 32)
    assert rows["linear:12"]["busiest_link"] == ["5", "6"]
    assert rows["linear:12"]["busiest_link_bytes"] == pytest.approx(36 * 640)
    assert rows["fully-connected:12"]["busiest_link_bytes"] == pytest.approx(640)


def test_prices_and_power() -> None:
    row = answer("leaf-spine:16", "--link-price", 10, "--port-price", 2, "--link-power", "3W",
                 "--port-power", 1, "--latency", "500ns")["leaf-spine:chips=16,leaf=4"]  # fmt: skip
    assert (row["links"], row["switch_ports"]) == (32, 48)
    assert row["price"] == 32 * 10 + 48 * 2
    assert row["static_power_w"] == 32 * 3 + 48
    assert row["latency_s"] == pytest.approx(4 * 5e-7)
    assert row["time_s"] is row["energy_j"] is None


def test_bisection_says_whether_it_is_proved() -> None:
    rows = answer("dgx-1", "dragonfly:a=8,h=4,p=4", "torus:4x4")
    assert (rows["dgx-1"]["bisection_links"], rows["dgx-1"]["bisection_proved"]) == (6, True)
    assert not rows["dragonfly:a=8,h=4,p=4"]["bisection_proved"]
    assert rows["torus:4x4"]["bisection_links"] == 8
    assert "<= " in planner("rack", "topology", "dragonfly:a=8,h=4,p=4").out


def _two_switches() -> nx.Graph:
    """Four chips on two switches, which have no bound of eigenvalues."""
    graph = nx.complete_bipartite_graph(4, 2)
    nx.set_node_attributes(graph, {4: "switch", 5: "switch"}, "kind")
    return graph


def test_bisections_without_a_closed_form_take_the_time_that_is_given(tmp_path: Path) -> None:
    """By default named topologies are not searched; five links are proved in a moment."""
    (row,) = answer("dragonfly:a=2,h=2,p=2").values()
    assert (row["bisection_links"], row["bisection_proved"]) == (5, False)
    (row,) = answer("dragonfly:a=2,h=2,p=2", "--time-limit", "60s").values()
    assert (row["bisection_links"], row["bisection_proved"]) == (5, True)
    graph = tmp_path / "g.graphml"
    nx.write_graphml(_two_switches(), graph)
    for flags, proved in (((), True), (("--time-limit", 0), False)):
        (row,) = answer("--graph", graph, *flags).values()
        assert (row["bisection_links"], row["bisection_proved"]) == (4, proved)
    words = "a cut that exists, not proved the fewest; --time-limit 60s seeks a proof"
    assert words in planner("rack", "topology", "dragonfly:a=2,h=2,p=2").out


def test_large_ones_have_closed_forms_only() -> None:
    row = answer("torus:32x32x32")["torus:32x32x32"]
    assert (row["chips"], row["links"], row["bisection_links"]) == (32768, 98304, 2048)
    assert row["busiest_link_bytes"] is row["traffic_hops"] is None


def test_fixed_routes_of_a_mesh_spread_better() -> None:
    shortest = answer("mesh:8x8")["mesh:8x8"]
    fixed = answer("mesh:8x8", "--routing", "fixed")["mesh:8x8"]
    assert fixed["traffic_hops"] == pytest.approx(shortest["traffic_hops"])
    assert fixed["busiest_link_bytes"] < shortest["busiest_link_bytes"]


def test_own_graph_and_traffic(tmp_path: Path) -> None:
    graph, traffic = tmp_path / "g.yaml", tmp_path / "t.csv"
    graph.write_text("links: [{between: [0, 1], links: 2}, {between: [1, 2], price: 5}]")
    traffic.write_text("0,8,2\n0,0,0\n0,4,0\n")
    loads = tmp_path / "loads.csv"
    row = answer("--graph", graph, "--traffic", traffic, "--bandwidth", 2, "--link-price", 1,
                 "--link-loads", loads)["graph:g"]  # fmt: skip
    assert (row["busiest_link"], row["busiest_link_bytes"]) == (["0", "1"], 5)
    assert (row["time_s"], row["price"], row["traffic_bytes"]) == (2.5, 7, 14)
    with loads.open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [(r["from"], r["to"], r["links"], r["bytes"], r["bytes_back"]) for r in found] == [
        ("0", "1", "2", "10.0", "0.0"), ("1", "2", "1", "2.0", "4.0"),
    ]  # fmt: skip


GRAPH = """\
name: two pairs
switches: [hub]
links:
  - {between: [a, b], bandwidth_bytes_per_s: 50e9, energy_j_per_byte: 1e-10, latency_s: 1e-6}
  - {between: [a, hub], price: 120}
  - {between: [c, hub]}
  - {between: [c, d]}
"""


def test_sums_are_of_all_links_or_none(tmp_path: Path) -> None:
    graph = tmp_path / "g.yaml"
    graph.write_text(GRAPH)
    figures = ("time_s", "energy_j", "latency_s", "price")
    outcome = planner("rack", "topology", "ring:4", "--graph", graph, "--json")
    row = outcome.document["topologies"][1]
    assert {row[name] for name in figures} == {None}
    notes = "\n".join(outcome.document["notes"])
    flags_of = {
        "time": "--bandwidth",
        "energy": "--energy-per-hop",
        "latency of the slowest pair": "--latency",
        "price": "--link-price and --port-price",
    }
    for what, flags in flags_of.items():
        assert re.search(f"no {what} of graph:two pairs: .* give {flags}", notes), notes
    given = ("--graph", graph, "--bandwidth", "25GB/s", "--energy-per-hop", 0, "--latency", 0,
             "--link-price", 10)  # fmt: skip
    (row,) = answer(*given).values()
    assert [row[name] is None for name in figures] == [False, False, False, True]
    (row,) = answer(*given, "--port-price", 1).values()
    assert row["price"] == 120 + 3 * 10 + 2
    table = planner("rack", "topology", *given, "ring:4").out
    assert re.search(r"ring:4 .* 40$", table, re.MULTILINE)
    assert re.search(r"graph:two pairs .* -$", table, re.MULTILINE)


def test_powers_are_of_all_links_and_ports_or_none() -> None:
    rows = answer("ring:4", "switch:4", "--link-power", "5W")
    assert (rows["ring:4"]["static_power_w"], rows["switch:4"]["static_power_w"]) == (20, None)
    out = planner("rack", "topology", "ring:4", "switch:4", "--link-power", "5W").out
    assert "no power of switch:4: not every link and port" in out


def test_the_cause_of_a_price_that_was_not_asked_for(tmp_path: Path) -> None:
    """Links with a price in the file of a graph are why its missing price is told at all."""
    graph = tmp_path / "one.yaml"
    graph.write_text("links:\n  - {between: [a, b], price: 3}\n  - {between: [b, c]}\n")
    flags = ("switch:4", "--graph", graph, "--link-power", "5W")
    notes = planner("rack", "topology", *flags, "--json").document["notes"]
    rest = "not every link and port of a switch has one; give"
    assert any(
        note.startswith(f"no price of graph:one: its file gives some links one, but {rest} "
                        "--link-price and --port-price") for note in notes
    )  # fmt: skip
    assert any(note.startswith(f"no power of switch:4: {rest} --link-power") for note in notes)
    assert not any("price of switch:4" in note for note in notes)


def test_a_graph_has_one_name_everywhere(tmp_path: Path) -> None:
    named, plain, again = (tmp_path / name for name in ("g.yaml", "plain.yaml", "h.json"))
    named.write_text(GRAPH)
    plain.write_text("links: [{between: [a, b]}]")
    path = nx.path_graph(3)
    path.graph["name"] = "three"
    again.write_text(json.dumps(nx.node_link_data(path, edges="edges")))
    names = {"g.yaml": "graph:two pairs", "plain.yaml": "graph:plain", "h.json": "graph:three"}
    rows = answer("--graph", named, "--graph", plain, "--graph", again)
    assert list(rows) == list(names.values())
    assert "graph:two pairs" in planner("rack", "topology", "--graph", named).out
    copy = tmp_path / "copy.yaml"
    copy.write_text(GRAPH)
    once = tmp_path / ".." / tmp_path.name / "g.yaml"
    twice = answer("--graph", named, "--graph", once, "--graph", copy)
    assert list(twice) == ["graph:two pairs", f"graph:two pairs ({copy})"]
    for file, name in names.items():
        found = planner("rack", "zero", "--figure", 8, "--graph", tmp_path / file, "--json")
        assert name in found.document["inputs"]["topologies"]


@each(("text", "words"), [
    ("chips: 1\nlinks: []", "chips: 1: a graph has 2 to 2,048 chips"),
    ("chips: 1000000000\nlinks: [{between: [0, 1]}]",
     "chips: 1000000000: a graph has 2 to 2,048 chips"),
    ("chips: two\nlinks: [{between: [0, 1]}]",
     "chips: 'two': must be a number of chips or a list of their names"),
    ("chips: [a, [b]]\nlinks: [{between: [a, b]}]",
     "chips: ['a', ['b']]: must be a number of chips or a list of their names"),
    (
        "chips: 2\nlinks: []",
        "links: must have at least 1 entry; a chip without any exchanges nothing",
    ),
])  # fmt: skip
def test_one_line_for_a_graph_that_is_none(text: str, words: str, tmp_path: Path) -> None:
    graph = tmp_path / "g.yaml"
    graph.write_text(text)
    for command in (("topology",), ("zero", "--figure", 8)):
        said = refused("rack", *command, "--graph", graph)
        assert [without_lines(line, text) for line in said] == [f"{graph}: {words}"]


@each(("link", "words"), [
    ("price: 1e300", "price: 1e+300 must be at most 1e+15"),
    ("bandwidth_bytes_per_s: 1e-300", "must be finite and greater than 0"),
    ("links: 1000000000000000000000000", "must be at most 1e+06"),
])  # fmt: skip
def test_figures_of_links_are_of_a_sensible_size(link: str, words: str, tmp_path: Path) -> None:
    graph = tmp_path / "g.yaml"
    graph.write_text(f"links: [{{between: [a, b], {link}}}]")
    (line,) = refused("rack", "topology", "--graph", graph)
    assert words in line


def test_a_matrix_of_a_sensible_size(tmp_path: Path) -> None:
    traffic = tmp_path / "t.csv"
    for text, words in (("0,1e308\n1,0\n", "1e+308 must be at most 1e+24 bytes"),
                        ("0,1e-300\n0,0\n", "1e-300 must be at least 1e-09 bytes")):  # fmt: skip
        traffic.write_text(text)
        (line,) = refused("rack", "topology", "ring:2", "--traffic", traffic, "--bandwidth", 1)
        assert line == f"traffic: {traffic}: {words}"


DRAWN = ("linear:4", "ring:6", "mesh:3x3", "torus:3x3x3", "star:4", "hypercube:8", "dgx-1",
         "fat-tree:k=4", "dragonfly:a=2,h=2,p=2", "switch:3", "ring:500")  # fmt: skip


@pytest.mark.parametrize(("name", "specs"), [("a.svg", DRAWN), ("a.png", DRAWN[2:4])])
def test_pictures(name: str, specs: tuple[str, ...], tmp_path: Path) -> None:
    """Every layout, the same bytes each time, and nothing but the picture."""
    path = tmp_path / name
    outcome = planner("rack", "topology", *specs, "--plot", path)
    assert (outcome.code, outcome.err) == (0, "")
    content = path.read_bytes()
    if name.endswith(".png"):
        assert content.startswith(b"\x89PNG")
    else:
        assert all(f">{spec}</text>".encode() in content for spec in specs)
        assert content.count(b"busiest link ") >= len(specs) - 1
    planner("rack", "topology", *specs, "--plot", path)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@each(("flags", "line"), [
    ((), "topology: none is given; name some, e.g. ring:8 torus:4x4, or give --chips"),
    (("--chips", 1), "chips: 1 gives no pair of chips; use at least 2"),
    (("ring:4", "--bandwidth", 0), "bandwidth: '0' must be greater than 0 and finite"),
    (("ring:4", "--energy-per-hop", "-1e-12"),
     "energy-per-hop: '-1e-12' must be at least 0 and finite"),
    (("ring:4", "--bytes", 0), "bytes: '0' must be greater than 0 and finite"),
    (("ring:4", "--routing", "quick"), "routing: 'quick' is not one of shortest, fixed"),
    (("fat-tree:k=4", "--routing", "fixed"),
     "routing: fat-tree has no fixed routes; use shortest"),
    (("ring:4", "--plot", "a.pdf"), "plot: a.pdf: pictures are written as .svg, .png or .html"),
    (("ring:4", "--seed", "-1"), "seed: -1 must be at least 0"),
    (("ring:4", "--bytes", "1e308"), "bytes: '1e308' must be at most 1e+24 B"),
    (("ring:4", "--bytes", "5e-324"), "bytes: '5e-324' must be at least 1e-09 B"),
    (("ring:4", "--bandwidth", "1e-300"), "bandwidth: '1e-300' must be at least 1e-09 B/s"),
    (("ring:4", "--bandwidth", "1e300"), "bandwidth: '1e300' must be at most 1e+24 B/s"),
    (("ring:4", "--energy-per-hop", "1e300"), "energy-per-hop: '1e300' must be at most 1e+06 J/B"),
    (("ring:4", "--latency", "1e300"), "latency: '1e300' must be at most 1e+09 s"),
    (("ring:4", "--link-price", "1e308"), "link-price: '1e308' must be at most 1e+15"),
    (("ring:4", "--port-power", "1e308"), "port-power: '1e308' must be at most 1e+15 W"),
    (("ring:4", "--time-limit", "-1"), "time-limit: '-1' must be at least 0 and finite"),
    (("ring:4", "--chips", 8), "topology: 'ring:4': has 4 chips, but 8 are asked for"),
])  # fmt: skip
def test_bad_input(flags: tuple[object, ...], line: str) -> None:
    assert refused("rack", "topology", *flags) == [line]


def test_all_mistakes_are_told(tmp_path: Path) -> None:
    apart = tmp_path / "apart.yaml"
    apart.write_text("links: [{between: [a, b]}, {between: [c, d]}]")
    lines = refused("rack", "topology", "tours:4x4", "ring:1", "--graph", apart,
                    "--traffic", "unifrm")  # fmt: skip
    assert len(lines) == 4
    for words in ("did you mean 'uniform'", "did you mean 'torus'", "at least 2",
                  "2 parts with no link between them: a, b | c, d"):  # fmt: skip
        assert any(words in line for line in lines), words


def test_a_graph_has_its_own_chips(tmp_path: Path) -> None:
    graph = tmp_path / "g.yaml"
    graph.write_text("links: [{between: [a, b]}]")
    lines = refused("rack", "topology", "--graph", graph, "--chips", 4)
    assert lines == ["chips: a graph has its own; leave it out"]


def test_nothing_is_written_on_bad_input(tmp_path: Path) -> None:
    loads = tmp_path / "loads.csv"
    assert refused("rack", "topology", "ring:4", "--traffic", "no.csv", "--link-loads", loads)
    assert list(tmp_path.iterdir()) == []


def test_topologies_may_come_as_an_option_with_commas() -> None:
    named = planner("rack", "topology", "ring:4", "dragonfly:a=2,h=2,p=2", "--json").document
    flags = ("--topology", "ring:4,dragonfly:a=2,h=2,p=2")
    assert planner("rack", "topology", *flags, "--json").document == named

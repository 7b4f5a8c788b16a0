"""`planner rack zero` on the command line: its figures, files and pictures, and what it refuses."""

import functools
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, refused
from hardware_db import load_chip
from planner.base.errors import InputError
from planner.cost.chip.within_chip import chip_array
from planner.question.records import cluster_named
from planner.studies.rack.model.machine import machine_of

TINY = """\
name: tiny
einsums:
  - {name: first, inner: 8, outputs: 4}
  - {name: second, inner: 4, outputs: 2, inputs: [first]}
"""


@functools.cache
def answer(*arguments: object) -> Any:
    """The JSON answer; a question that several tests ask is asked once."""
    outcome = planner("rack", "zero", *arguments, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.document


def test_the_keys_of_the_answer() -> None:
    found = answer()
    assert found["schema_version"] == 1
    assert found["last_hidden_gpus"] == {"linear": 6, "ring": 8, "fully_connected": None}
    assert found["plateau_cycles"] == 300.0
    for ratio in ("latency_ratio_at_12", "energy_ratio_at_12"):
        assert set(found[ratio]) == {"linear", "ring", "fully_connected"}
        assert all(set(row) == {"fully_connected", "convolution"} for row in found[ratio].values())
    assert set(found["figures"]) == set("345678")
    for figure in found["figures"].values():
        x = figure["pe_columns"] if "pe_columns" in figure else figure["gpus"]
        for series in figure["series"]:
            lists = [values for values in series.values() if isinstance(values, list)]
            assert lists
            assert all(len(values) == len(x) for values in lists)
    assert set(found["versions"]) == {
        "planner", "schema", "hardware_db", "models_db", "constants",
    }  # fmt: skip
    assert any("Rack-Scale" in title for title in found["sources"].values())
    assert found["inputs"]["bytes_per_cycle_per_gpu"] == 32
    assert found["assumptions"]["basis"] == "per_gpu"


def test_the_ratios_at_12_do_not_need_12_gpus_in_the_sweep() -> None:
    found = answer("--gpus", "2,4", "--figure", 8)
    assert found["latency_ratio_at_12"]["linear"]["fully_connected"] == pytest.approx(143 / 72)
    assert list(found["figures"]) == ["8"]
    assert found["figures"]["8"]["gpus"] == [2, 4]


def test_the_printed_equation_moves_the_thresholds() -> None:
    printed = answer("--basis", "network")
    assert printed["last_hidden_gpus"]["linear"] < 6
    assert printed["last_hidden_gpus"]["fully_connected"] is not None
    assert "B x hops / T" in printed["basis"]["cycles"]


def test_every_option_changes_the_answer() -> None:
    usual = answer()
    for flags in (
        ("--bandwidth", 64), ("--energy-per-hop", 2e-10), ("--sram", 300), ("--pes", 32),
        ("--workload", "conv,fc"), ("--topology", "ring"), ("--column-gpus", 6),
        ("--pe-columns", "2-6"), ("--hardware", "c2c-ndr400-rack"), ("--gpus", "2-8"),
        ("--memory-energy", "146pJ/B"), ("--workload", "fc:192x80,conv:16x16x3x28"),
    ):  # fmt: skip
        changed = answer(*flags)
        assert changed["inputs"] != usual["inputs"], flags
        assert changed["figures"] != usual["figures"], flags


def test_plain_numbers_and_units_mean_the_same() -> None:
    """At 1 GHz 64 bytes per cycle are 64 GB/s; 25 pJ per bit are 2e-10 J per byte."""
    plain = answer("--figure", 7, "--bandwidth", 64, "--energy-per-hop", 2e-10)
    for rate, joules in (("64GB/s", "25pJ/bit"), ("6.4e10/s", "200pJ/B")):
        other = answer("--figure", 7, "--bandwidth", rate, "--energy-per-hop", joules)
        assert other["inputs"]["bytes_per_cycle_per_gpu"] == pytest.approx(64)
        assert other["inputs"]["energy_per_hop_j_per_byte"] == pytest.approx(2e-10)
        for one, two in zip(plain["figures"]["7"]["series"], other["figures"]["7"]["series"],
                            strict=True):  # fmt: skip
            assert two["energy_ratio"] == pytest.approx(one["energy_ratio"])


def test_ranges_lists_and_repeated_flags_are_the_same() -> None:
    lists = answer("--figure", "7-8", "--topology", "ring,hypercube", "--gpus", "2,4")
    again = answer("--figure", 7, "--figure", 8, "--topology", "ring", "--topology", "hypercube",
                   "--gpus", "2,4")  # fmt: skip
    assert lists == again
    assert list(lists["figures"]) == ["7", "8"]


@each("name", ["report1-rack", "c2c-gpu", "h100-sxm5-80", "a100-sxm4-80"])
def test_the_header_shows_the_memory_that_is_used(name: str) -> None:
    """SRAM where the record has it, else L2; more PEs bring more of it."""
    cluster = cluster_named(name)
    chip, precision = cluster.chip, machine_of(cluster).precision
    own, double = (
        answer("--figure", 3, "--gpus", 2, "--hardware", name, "--pes", pes)["inputs"]["sram_bytes"]
        for pes in (chip.pe_count, 2 * chip.pe_count)
    )
    assert own == (chip.sram_bytes or chip.l2_bytes) > 0
    assert double == 2 * own == chip_array(chip, precision, pes=2 * chip.pe_count).sram_bytes
    out = planner("rack", "zero", "--figure", 3, "--gpus", 2, "--hardware", name).out
    assert (" of SRAM," if chip.sram_bytes else " of L2,") in out
    assert " 0 B of" not in out


def test_the_page_names_the_chips_that_can_be_asked_about() -> None:
    page = Path(__file__).parents[2] / "docs" / "rack" / "zero.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    sentence = text.partition("Records of chips that have these figures: ")[2].partition(".")[0]
    named = {word.strip(" `") for word in sentence.replace(" and ", ", ").split(",")}
    folder = Path(__file__).parents[2] / "hardware_db" / "data" / "chips"
    able = set()
    for path in folder.glob("*.yaml"):
        try:
            machine = machine_of(cluster_named(path.stem))
            chip_array(load_chip(path.stem), machine.precision)
        except InputError:
            continue
        able.add(path.stem)
    assert named == able


def test_only_what_the_figures_need_is_asked_of_a_topology() -> None:
    """No fat tree has the four GPUs of figures 5 and 6, and no ring is asked for there."""
    eight = answer("--figure", 8, "--gpus", "16,54,60", "--topology", "fat-tree,ring")
    fat, ring = eight["figures"]["8"]["series"]
    assert [ratio is None for ratio in fat["latency_ratio"]] == [False, False, True]
    assert None not in ring["latency_ratio"]
    assert eight["plateau_cycles"] is None
    three = answer("--figure", 3, "--gpus", 7, "--topology", "ring,hypercube")
    assert three["figures"]["3"]["series"][0]["energy_ratio"][0] > 1
    five = answer("--figure", 5, "--gpus", 7, "--topology", "fat-tree")
    assert five["inputs"]["column_gpus"] == five["figures"]["5"]["gpus"] == 2
    (line,) = refused("rack", "zero", "--figure", "3,6", "--gpus", 7, "--topology", "fat-tree")
    assert line == "gpus: no fat-tree has one of these numbers; nearest: 2 or 16"


def test_figures_of_links_in_a_graph_are_named_as_unused(tmp_path: Path) -> None:
    """Only the wiring counts; a graph that says no more brings no note."""
    links = ["{between: [0, 1], energy_j_per_byte: 1.0e-9, latency_s: 1.0e-6}", "{between: [1, 2]}",
             "{between: [2, 3]}"]  # fmt: skip
    found = {}
    for name, first in (("said", links[0]), ("bare", "{between: [0, 1]}")):
        path = tmp_path / f"{name}.yaml"
        lines = "\n".join(f"  - {link}" for link in [first, *links[1:]])
        path.write_text(f"chips: 4\nlinks:\n{lines}\n", encoding="utf-8")
        found[name] = path
    flags = ("--figure", 7, "--graph", found["said"], "--graph", found["bare"])
    document = answer(*flags)
    (note,) = document["notes"]
    assert note.startswith("graph:said: only its wiring counts here, not energy or latency of its")
    said, bare = (series["energy_ratio"] for series in document["figures"]["7"]["series"][-2:])
    assert said == bare
    out = " ".join(planner("rack", "zero", *flags).out.split())
    assert note in out


def test_two_graphs_of_one_name(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.edgelist").write_text("0 1\n1 2\n", encoding="utf-8")
    paths = [tmp_path / folder / "same.edgelist" for folder in ("a", "b")]
    flags = [word for path in (paths[0], *paths) for word in ("--graph", path)]
    names = ["graph:same", f"graph:same ({paths[1]})"]
    zero = planner("rack", "zero", "--figure", 8, "--json", *flags).document
    assert zero["inputs"]["topologies"][-2:] == names
    solve = planner("rack", "solve", "--json", *flags).document
    assert solve["space"]["topologies"][-2:] == names
    compared = planner("rack", "topology", "--json", *flags).document
    assert [row["topology"] for row in compared["topologies"]] == names


def test_topologies_with_holes_sizes_and_a_graph(tmp_path: Path) -> None:
    graph = tmp_path / "square.yaml"
    graph.write_text(
        "chips: 4\nlinks:\n"
        + "".join(f"  - {{between: [{i}, {(i + 1) % 4}]}}\n" for i in range(4)),
        encoding="utf-8",
    )
    specs = "ring,hypercube,torus:3x3,dragonfly:a=2,h=1,p=1"
    found = answer("--topology", specs, "--graph", graph, "--figure", "7-8")
    series = {line["topology"]: line["latency_ratio"] for line in found["figures"]["8"]["series"]}
    assert list(series) == [
        "ring", "hypercube", "torus:3x3", "dragonfly:a=2,h=1,p=1", "graph:square"
    ]  # fmt: skip
    gpus = found["figures"]["8"]["gpus"]
    there = {
        name: [n for n, x in zip(gpus, line, strict=True) if x] for name, line in series.items()
    }
    assert there["hypercube"] == [2, 4, 8]
    assert there["torus:3x3"] == [9]
    assert there["dragonfly:a=2,h=1,p=1"] == [6]
    assert there["graph:square"] == [4]
    joules = {line["topology"]: line["energy_ratio"] for line in found["figures"]["7"]["series"]}
    assert joules["graph:square"][gpus.index(4)] == joules["ring"][gpus.index(4)]
    assert found["latency_ratio_at_12"]["hypercube"]["fully_connected"] is None


def test_a_workload_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY, encoding="utf-8")
    found = answer("--workload", f"{path},fc", "--figure", "3,8")
    (tiny, _) = found["inputs"]["workloads"]
    assert tiny["name"] == "tiny"
    assert tiny["weight_bytes"] == 8 * 4 + 4 * 2
    assert tiny["einsums"][1]["inputs"] == ["first"]
    assert found["last_hidden_workload"] == "tiny"
    assert set(found["energy_ratio_at_12"]["linear"]) == {"tiny", "fully_connected"}


def test_tables() -> None:
    outcome = planner("rack", "zero")
    assert (outcome.code, outcome.err) == (0, "")
    for words in (
        "198.6*", "300*", "1.358", "up to 6 GPUs", "up to 8 GPUs", "always: r (N - 1) / N < r",
        "(0.4500, 0.5000]", "both take 16 L / T", "Figure 3", "Figure 8",
    ):  # fmt: skip
        assert words in outcome.out, words
    alone = planner("rack", "zero", "--figure", 5).out
    assert "Figure 5" in alone
    assert "Figure 6" not in alone


@pytest.mark.parametrize(
    ("name", "figures"), [("one.png", "4"), ("six.svg", "3-8"), ("six.html", "3-8")]
)
def test_pictures(name: str, figures: str, tmp_path: Path) -> None:
    path = tmp_path / name
    contents = []
    for _ in range(2):
        outcome = planner("rack", "zero", "--figure", figures, "--plot", path)
        assert (outcome.code, outcome.err) == (0, "")
        contents.append(path.read_bytes())
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert contents[0] == contents[1]
    if name.endswith(".png"):
        assert contents[0].startswith(b"\x89PNG")
    else:
        assert contents[0].count(b"hidden up to 6</text>") == 2
        assert contents[0].count(b'role="img"') == 6


def test_a_picture_of_one_figure_with_holes(tmp_path: Path) -> None:
    path = tmp_path / "eight.svg"
    flags = ("--figure", "8", "--topology", "hypercube,mesh:2x3,ring", "--gpus", "2-64")
    assert planner("rack", "zero", *flags, "--plot", path).code == 0
    text = path.read_text(encoding="utf-8")
    assert "hypercube" in text
    assert "nan" not in text.lower()


@each(("flags", "line"), [
    (("--gpus", 1), "gpus: 1: must be at least 2"),
    (("--gpus", ""), "gpus: the list is empty or has an empty entry; write it like 2-12"),
    (("--gpus", "2,,4"), "gpus: the list is empty or has an empty entry; write it like 2-12"),
    (("--gpus", "2-"), "gpus: '2-' is no number or range; write it like 2-12 or 4,8"),
    (("--figure", "all"), "figure: 'all' is no number or range; write it like 3-8 or 4,8"),
    (("--gpus", "12-2"), "gpus: '12-2' is empty; write it from 2 to 12"),
    (("--gpus", "2-100000"), "gpus: more than 1,000 values; give fewer"),
    (("--gpus", "2.5"), "gpus: '2.5' is not a whole number; nearest: 2"),
    (("--pes", 10), "pes: 10 do not fill the 4 rows of report1-gpu; nearest: 8 or 12"),
    (("--pes", 2), "pes: 2 do not fill the 4 rows of report1-gpu; nearest: 4"),
    (("--pes", "1e20"), "pes: '1e20': must be at most 1,000,000; nearest: 1,000,000"),
    (("--pes", "99999999999999999999"),
     "pes: '99999999999999999999': must be at most 1,000,000; nearest: 1,000,000"),
    (("--pe-columns", 0), "pe-columns: 0: must be at least 1"),
    (("--column-gpus", "3,4"), "column-gpus: 2 numbers; give one"),
    (("--bandwidth", 0), "bandwidth: '0' bytes per cycle: must be at least 1e-06"),
    (("--bandwidth", "nan"), "bandwidth: 'nan' is not a finite number of bytes per cycle; write it "
                             "like 32 or 32GB/s"),
    (("--bandwidth", "1e15GB/s"),
     "bandwidth: '1e15GB/s' is 1e+15 bytes per cycle: must be at most 1e+12"),
    (("--bandwidth", "0B/s"), "bandwidth: '0B/s' must be greater than 0 and finite"),
    (("--energy-per-hop", "20pJ/bot"),
     "energy-per-hop: '20pJ/bot' is no energy per byte; write 1.6e-10, 160pJ/B or 20pJ/bit"),
    (("--energy-per-hop", -1), "energy-per-hop: '-1' J per byte: must be at least 0"),
    (("--energy-per-hop", "inf"), "energy-per-hop: 'inf' is not a finite number of J per byte; "
                                  "write it like 1.6e-10, 160pJ/B or 20pJ/bit"),
    (("--sram", 0), "sram: '0': must be greater than 0"),
    (("--memory-energy", "x"), "memory-energy: 'x' is not a finite number of J per byte; write it "
                               "like 1.6e-10, 160pJ/B or 20pJ/bit"),
    (("--workload", "fc:96"),
     "workload: 'fc:96': write fc:INPUTSxOUTPUTS in whole numbers from 1"),
    (("--workload", "mlp:1x1"),
     "workload: with sizes, 'mlp' is not one of attention, conv, fc, ffn"),
    (("--workload", "attention:1x8x33"),
     "workload: 'attention:1x8x33': 33 is no multiple of the 32 heads; nearest: 32"),
    (("--basis", "gpu"), "basis: 'gpu' is not one of per_gpu, network, per_link; did you mean "
                         "'per_gpu'?"),
    (("--figure", 2), "figure: 2: must be at least 3"),
    (("--figure", 9), "figure: 9: must be at most 8"),
    (("--workload", ""), "workload: is empty; use attention, attention-mha, conv, fc, ffn or a "
                         "YAML file"),
    (("--workload", "fcc"), "workload: 'fcc' is not one of attention, attention-mha, conv, fc, "
                            "ffn, FILE.yaml; did you mean 'fc'?"),
    (("--topology", "hypercube", "--gpus", 3),
     "gpus: no hypercube has one of these numbers; nearest: 2 or 4"),
    (("--topology", "hypercube", "--column-gpus", 5),
     "column-gpus: no hypercube has 5 GPUs; nearest: 4 or 8"),
    (("--plot", "x.pdf"), "plot: x.pdf: pictures are written as .svg, .png or .html"),
])  # fmt: skip
def test_bad_input(flags: tuple[object, ...], line: str) -> None:
    assert refused("rack", "zero", *flags) == [line]


def test_an_unknown_topology_names_the_nearest() -> None:
    (line,) = refused("rack", "zero", "--topology", "rnig")
    assert line.startswith("topology: 'rnig' is not one of linear, ring, ")
    assert line.endswith("did you mean 'ring'?")


def test_an_sram_smaller_than_a_tile() -> None:
    """What was typed, for which PEs, and the least that works, which does work."""
    (line,) = refused("rack", "zero", "--sram", 2, "--figure", 3)
    assert line == (
        "sram: '2' for the 16 PEs of report1-gpu leaves 2 B to 16 (all of the chip), which cannot "
        "hold one tile; must be at least 3 B"
    )
    assert answer("--sram", 3, "--figure", 3)["inputs"]["sram_bytes"] == 3
    (line,) = refused("rack", "zero", "--sram", 10, "--figure", "3,6")
    assert line == (
        "sram: '10' for the 16 PEs of report1-gpu leaves 2.5 B to 4 (figures 5 and 6 from 1 column "
        "on), which cannot hold one tile; must be at least 12 B"
    )
    assert answer("--sram", 12, "--figure", "3,6")["inputs"]["sram_bytes"] == 12
    assert answer("--sram", 10, "--figure", 3)["inputs"]["sram_bytes"] == 10


def test_a_chip_without_sram_figures() -> None:
    lines = refused("rack", "zero", "--hardware", "tpu-v5p")
    assert all(line.startswith("chip: tpu-v5p: no ") for line in lines)


def test_several_mistakes_at_once() -> None:
    lines = refused("rack", "zero", "--gpus", 1, "--pes", 18, "--basis", "gpu", "--sram", "x")
    assert sorted(line.partition(":")[0] for line in lines) == ["basis", "gpus", "pes", "sram"]


@each(("text", "words"), [
    ("chips: 4\nlinks:\n  - {between: [0, 1]}\n  - {between: [2, 3]}\n", "2 parts with no link"),
    ("chips: [a]\nlinks:\n  - {between: [a, a]}\n", "graph"),
    ("chips: 2\n", "links: is missing"),
])  # fmt: skip
def test_bad_graphs(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.yaml"
    path.write_text(text, encoding="utf-8")
    lines = refused("rack", "zero", "--graph", path)
    assert any(words in line for line in lines), lines
    assert all(str(path) in line for line in lines), lines


@each(("change", "words"), [
    (("inner: 8", "inner: 0"), "einsums.0.inner: 0: must be at least 1"),
    (("inner: 8", "inner: many"), "einsums.0.inner: 'many': must be a whole number"),
    (("inner: 8", "iner: 8"), "einsums.0.iner: unknown field; did you mean 'inner'"),
    (("[first]", "[frist]"), "einsum 'second' reads 'frist', which is no einsum before it; did you "
                             "mean 'first'?"),
    (("name: second", "name: first"), "two einsums are named 'first'"),
    (("outputs: 4", "outputs: 4, input_elements: 9"),
     "einsums.0: input_elements 9 is more than rows x inner x copies, 8"),
    (("name: tiny", "name: tiny\nword_bytes: .nan"), "word_bytes"),
    (("name: tiny", "name: tiny\nbatch: 0"), "batch: 0: must be at least 1"),
    (("name: tiny", "name: fc"), ""),
    (("name: tiny", "layers: 3\nhidden: 4\nname: tiny"), ""),
])  # fmt: skip
def test_bad_workload_files(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(TINY.replace(*change), encoding="utf-8")
    (line,) = refused("rack", "zero", "--workload", f"fc,{path}")[:1]
    assert words in line, line


def test_a_file_of_another_kind_is_no_workload(tmp_path: Path) -> None:
    path = tmp_path / "chip.yaml"
    path.write_text("vendor: none\npe: {}\nclock: {}\n", encoding="utf-8")
    assert refused("rack", "zero", "--workload", path) == [
        f"workload: {path}: is a chip, not a workload"
    ]


def test_nothing_is_written_where_the_input_is_bad(tmp_path: Path) -> None:
    refused("rack", "zero", "--gpus", 1, "--plot", tmp_path / "a.svg")
    refused("rack", "zero", "--sram", 2, "--plot", tmp_path / "a.svg")
    assert list(tmp_path.iterdir()) == []

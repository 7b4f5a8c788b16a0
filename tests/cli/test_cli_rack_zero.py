"""`planner rack zero` on the command line: its figures, files and pictures, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest

from cli.command import planner, refused

TINY = """\
name: tiny
einsums:
  - {name: first, inner: 8, outputs: 4}
  - {name: second, inner: 4, outputs: 2, inputs: [first]}
"""


def answer(*arguments: object) -> Any:
    """The JSON answer."""
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
    assert set(found["versions"]) == {"planner", "schema", "hardware_db", "models_db"}
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
    ):  # fmt: skip
        changed = answer(*flags)
        assert changed["inputs"] != usual["inputs"], flags
        assert changed["figures"] != usual["figures"], flags


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


@pytest.mark.parametrize("name", ["six.png", "six.svg"])
def test_pictures(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / name
    contents = []
    for _ in range(2):
        outcome = planner("rack", "zero", "--plot", path)
        assert (outcome.code, outcome.err) == (0, "")
        contents.append(path.read_bytes())
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert contents[0] == contents[1]
    assert contents[0].startswith(b"\x89PNG") or b"<svg" in contents[0][:1000]


def test_a_picture_of_one_figure_with_holes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "eight.svg"
    flags = ("--figure", "8", "--topology", "hypercube,mesh:2x3,ring", "--gpus", "2-64")
    assert planner("rack", "zero", *flags, "--plot", path).code == 0
    assert b"hypercube" in path.read_bytes() or path.stat().st_size > 1000


@pytest.mark.parametrize(("flags", "line"), [
    (("--gpus", 1), "gpus: 1: must be at least 2"),
    (("--gpus", ""), "gpus: the list is empty or has an empty entry; write it like 2-12"),
    (("--gpus", "2,,4"), "gpus: the list is empty or has an empty entry; write it like 2-12"),
    (("--gpus", "12-2"), "gpus: '12-2' is empty; write it from 2 to 12"),
    (("--gpus", "2-100000"), "gpus: more than 1,000 values; give fewer"),
    (("--gpus", "2.5"), "gpus: '2.5' is not a whole number; nearest: 2"),
    (("--pes", 18), "pes: '18' PEs do not fill 4 rows of report1-gpu; must be a multiple of 4, "
                    "nearest: 16"),
    (("--pe-columns", 0), "pe-columns: 0: must be at least 1"),
    (("--column-gpus", "3,4"), "column-gpus: 2 numbers; give one"),
    (("--bandwidth", 0), "bandwidth: '0' bytes per cycle: must be at least 1e-06"),
    (("--bandwidth", "nan"), "bandwidth: 'nan' is not a finite number of bytes per cycle"),
    (("--energy-per-hop", -1), "energy-per-hop: '-1' J per byte: must be at least 0"),
    (("--energy-per-hop", "inf"), "energy-per-hop: 'inf' is not a finite number of J per byte"),
    (("--sram", 0), "sram: '0': must be greater than 0"),
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
    (("--plot", "x.pdf"), "plot: x.pdf: pictures are written as .svg or .png"),
])  # fmt: skip
def test_bad_input(flags: tuple[object, ...], line: str) -> None:
    assert refused("rack", "zero", *flags) == [line]


def test_an_unknown_topology_names_the_nearest() -> None:
    (line,) = refused("rack", "zero", "--topology", "rnig")
    assert line.startswith("topology: 'rnig' is not one of linear, ring, ")
    assert line.endswith("did you mean 'ring'?")


def test_an_sram_smaller_than_a_tile() -> None:
    (line,) = refused("rack", "zero", "--sram", 2)
    assert "sram" in line
    assert "cannot hold one tile" in line


def test_a_chip_without_sram_figures() -> None:
    lines = refused("rack", "zero", "--hardware", "tpu-v5p")
    assert all(line.startswith("chip: tpu-v5p: no ") for line in lines)


def test_several_mistakes_at_once() -> None:
    lines = refused("rack", "zero", "--gpus", 1, "--pes", 18, "--basis", "gpu", "--sram", "x")
    assert sorted(line.partition(":")[0] for line in lines) == ["basis", "gpus", "pes", "sram"]


@pytest.mark.parametrize(("text", "words"), [
    ("chips: 4\nlinks:\n  - {between: [0, 1]}\n  - {between: [2, 3]}\n", "2 parts with no link"),
    ("chips: [a]\nlinks:\n  - {between: [a, a]}\n", "graph"),
    ("chips: 2\n", "links: is missing"),
])  # fmt: skip
def test_bad_graphs(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.yaml"
    path.write_text(text, encoding="utf-8")
    lines = refused("rack", "zero", "--graph", path)
    assert any(words in line for line in lines), lines


@pytest.mark.parametrize(("change", "words"), [
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
    pytest.importorskip("matplotlib")
    refused("rack", "zero", "--gpus", 1, "--plot", tmp_path / "a.svg")
    refused("rack", "zero", "--sram", 2, "--plot", tmp_path / "a.svg")
    assert list(tmp_path.iterdir()) == []

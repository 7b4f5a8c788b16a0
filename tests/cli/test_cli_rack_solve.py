"""`planner rack solve` on the command line: answers, files, and what it refuses."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from support.cases import each

from cli.command import planner

SMALL = ("--strategy", "zero", "--gpus", "2,4,8")


def answer(*arguments: object, code: int = 0) -> Any:
    """The JSON answer."""
    outcome = planner("rack", "solve", *arguments, "--json")
    assert outcome.code == code, (outcome.code, outcome.err)
    assert outcome.err == ""
    return outcome.document


def test_an_answer() -> None:
    found = answer(*SMALL, "--max-links", 8, "--objective", "time")
    assert found["status"] == "optimal"
    assert found["objective"] == found["bound"] == found["best"]["latency_s"]
    assert found["gap"] == 0
    assert found["best"]["topology"] == "ring"
    assert found["best"]["mesh"] == {"dp": 8, "tp": 1, "pp": 1}
    assert found["best"] in found["front"]
    assert found["front_complete"]
    assert sum(found["best"]["energy_by_part_j"].values()) == pytest.approx(
        found["best"]["energy_j"]
    )
    (links,) = found["budgets"]
    assert (links["name"], links["used"], links["binds"], links["next_limit"]) == (
        "max_links", 8, True, 28,
    )  # fmt: skip
    assert 0 < links["gain"] < 1
    assert links["next_plan"]["topology"] == "fully-connected"
    assert found["counts"].keys() >= {"plans", "rows", "variables", "branches", "solves"}
    assert found["seconds"].keys() == {"build", "solve"}
    assert found["why"]
    assert {"hardware", "batch"} <= {default["name"] for default in found["defaults"]}


def test_the_table_for_people() -> None:
    outcome = planner("rack", "solve", *SMALL, "--max-links", 8)
    assert outcome.code == 0
    for words in ("Best, proved: 8 chips", "Front of latency and energy, proved", "max-links: 8",
                  "binds: 28 links", "CP-SAT:", "Assumed"):  # fmt: skip
        assert words in " ".join(outcome.out.split()), words


def test_no_plan_names_the_smallest_change() -> None:
    found = answer(*SMALL, "--max-memory", 1000, "--max-links", 6, code=3)
    assert found["status"] == "infeasible"
    assert found["best"] is None
    assert found["front"] == []
    changes = [remedy["budgets"] for remedy in found["remedies"]]
    assert changes == [{"max_links": 7.0}, {"max_memory": 1920.0}]
    enough = answer(*SMALL, "--max-memory", 1920, "--max-links", 6)
    assert enough["best"]["chips"] == 4
    said = planner("rack", "solve", *SMALL, "--max-memory", 1000, "--max-links", 6)
    assert said.code == 3
    words = " ".join(said.out.split())
    assert "--max-memory 1920B instead of 1000B" in words
    assert "--max-links 7 instead of 6" in words


def test_one_of_a_thing_is_one() -> None:
    said = planner("rack", "solve", "--strategy", "dp", "--gpus", "1,2", "--batch", 2,
                   "--max-links", 0)  # fmt: skip
    words = " ".join(said.out.split())
    assert "max-links: 0 links of 0 links; binds: 1 link would save" in words
    one = planner("rack", "solve", "--strategy", "tp", "--gpus", 2, "--batch", 1)
    assert ", 1 item, on" in one.out


def test_a_batch_decides_strong_or_weak_scaling() -> None:
    one = answer("--strategy", "dp", "--gpus", 4, "--batch", 4, "--pes", 16)
    six = answer("--strategy", "dp", "--gpus", 4, "--batch", 24, "--pes", 16)
    assert six["best"]["latency_s"] == pytest.approx(6 * one["best"]["latency_s"], rel=0.01)


def test_static_power_counts_only_when_asked() -> None:
    without = answer(*SMALL)["best"]["energy_by_part_j"]
    with_it = answer(*SMALL, "--static-power")["best"]["energy_by_part_j"]
    assert "static" not in without
    assert with_it["static"] > 0


@each("flags", [(), ("--static-power",)])
def test_many_chips(flags: tuple[str, ...]) -> None:
    found = answer(
        "--workload", "ffn", "--gpus", "4096", "--objective", "energy", "--topology",
        "fully-connected,torus", "--max-ports", 6, *flags,
    )  # fmt: skip
    assert found["best"]["topology"] == "torus"
    assert found["best"]["chips"] == 4096


def test_backward_adds_gradients() -> None:
    both = answer("--strategy", "dp", "--gpus", 4, "--backward")["best"]
    assert both["transfer_s"]["gradient_all_reduce"] > 0


def test_sized_topologies_and_graphs() -> None:
    found = answer("--strategy", "zero", "--gpus", 8, "--topology", "ring,dgx-1,torus:2x2x2")
    assert found["space"]["topologies"] == ["ring", "dgx-1", "torus:2x2x2"]


def test_a_graph_of_ones_own_competes(tmp_path: Path) -> None:
    """The cube of 8 chips, by a file and by its name, costs the same."""
    file = tmp_path / "cube.yaml"
    links = [{"between": [a, a ^ bit]} for a in range(8) for bit in (1, 2, 4) if a < a ^ bit]
    file.write_text(json.dumps({"links": links}))
    space = ("--strategy", "zero", "--gpus", 8, "--max-ports", 3)
    found = answer(*space, "--topology", "linear,ring", "--graph", file)
    named = answer(*space, "--topology", "linear,ring,hypercube")
    assert found["space"]["topologies"] == ["linear", "ring", "graph:cube"]
    assert found["best"]["topology"] == "graph:cube"
    assert (found["best"]["links"], found["best"]["ports"]) == (12, 3)
    assert found["best"]["latency_s"] == named["best"]["latency_s"]
    assert found["best"]["energy_j"] == pytest.approx(named["best"]["energy_j"])
    alone = answer("--strategy", "zero", "--graph", file, "--topology", "ring:8")
    assert alone["space"]["chips"] == [8]
    other = tmp_path / "box.yaml"
    said = [{**links[1], "energy_j_per_byte": 1e-9, "latency_s": 1e-6}, *links[2:]]
    other.write_text(json.dumps({"links": said}))
    both = answer(*space, "--topology", "linear", "--graph", file, "--graph", other)
    assert both["space"]["topologies"] == ["linear", "graph:cube", "graph:box"]
    assert both["best"]["topology"] == "graph:cube"
    graphs = {row["name"]: row["reason"] for row in both["defaults"] if "graph" in row["name"]}
    assert graphs == {"graph:box": "energy or latency of the links in its file: not used"}


def test_sizes_limit_the_chips_that_they_serve() -> None:
    found = answer("--strategy", "zero", "--gpus", "2-4", "--topology", "ring:8,ring:4")
    assert found["best"]["topology"] == "ring:4"
    usual = answer("--strategy", "zero", "--topology", "ring,ring:16")
    assert usual["space"]["chips"] == [*range(2, 13), 16]


@each("objective", ["time", "energy", "edp"])
def test_a_time_limit_leaves_a_plan_and_a_bound(objective: str) -> None:
    space = ("--strategy", "dp,zero,tp", "--gpus", "2,4,8", "--objective", objective)
    whole = answer(*space)
    found = answer(*space, "--time-limit", "0.001ms")
    assert found["status"] == "feasible"
    assert 0 < found["bound"] <= whole["objective"] * (1 + 1e-5)
    assert found["objective"] >= whole["objective"] * (1 - 1e-5)
    assert found["best"] in found["front"]
    assert not found["front_complete"]


def test_a_time_limit_without_a_plan_is_an_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a question so large that the plans that are listed first keep no budget."""
    monkeypatch.setattr("planner.studies.rack.solve.search.Search.unproved_front", lambda _: [])
    flags = (*SMALL, "--time-limit", "0.001ms")
    found = answer(*flags, code=4)
    assert (found["status"], found["best"], found["bound"]) == ("time_limit", None, None)
    assert found["remedies"] == []
    said = planner("rack", "solve", *flags)
    assert said.code == 4
    assert "Nothing found: the time limit ended the search" in said.out


def test_a_time_limit_before_what_frees_a_plan_is_said() -> None:
    flags = ("--workload", "attention", "--max-links", 0, "--time-limit", "0.001ms")
    found = answer(*flags, code=3)
    said = "The time limit ended the search for what frees a plan."
    assert (found["status"], found["remedies"], found["why"]) == ("infeasible", [], [said])
    assert said in planner("rack", "solve", *flags).out


@each(("objective", "words"), [
    ("time", r"latency [\d.]+ \ws EXACT, energy [\d.]+ \wJ\."),
    ("energy", r"energy [\d.]+ \wJ EXACT, latency [\d.]+ \ws\."),
    ("edp", r"energy times latency [\d.e-]+ J s EXACT, latency [\d.]+ \ws, energy [\d.]+ \wJ\."),
])  # fmt: skip
def test_the_sentence_has_each_figure_once(objective: str, words: str) -> None:
    exact = r"\(the solver's integers are exact to a part in [\d,]+\)"
    out = planner("rack", "solve", *SMALL, "--objective", objective).out
    sentence = "Best, proved: [^:]+: " + words.replace("EXACT", exact)
    assert re.search(sentence, " ".join(out.split()))


def test_what_takes_most_of_the_time_binds() -> None:
    found = answer("--workload", "ffn", "--strategy", "tp", "--gpus", 4)
    best, (first, *_) = found["best"], found["why"]
    exchanged = best["transfer_s"]["tensor_forward"] + best["transfer_s"]["tensor_backward"]
    assert exchanged > best["compute_s"]
    assert "bound by exchanges of tensor ranks, 61.7 % of the time; computing 38.3 %" in first
    assert exchanged / best["latency_s"] == pytest.approx(0.617, abs=5e-4)


def test_a_workload_file(tmp_path: Path) -> None:
    file = tmp_path / "mlp.yaml"
    file.write_text(
        "name: mlp\nbatch: 64\nword_bytes: 1\ngradient_bytes: 4\neinsums:\n"
        "  - {name: up, rows: 1, inner: 64, outputs: 128}\n"
        "  - {name: down, rows: 1, inner: 128, outputs: 64, inputs: [up]}\n"
    )
    found = answer("--workload", file, "--hardware", "report1-rack", "--gpus", "2-4")
    assert found["workload"] == "mlp"
    assert found["batch"] == 64


@each("ending", ["svg", "html", "csv", "json"])
def test_the_front_as_a_file(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"front.{ending}"
    found = answer("--strategy", "dp,zero,tp", "--gpus", "2,4,8", "--pareto", file)
    text = file.read_text(encoding="utf-8")
    count = len(found["front"])
    assert count > 1
    if ending == "csv":
        rows = list(csv.DictReader(text.splitlines()))
        assert [float(row["latency_s"]) for row in rows] == [
            point["latency_s"] for point in found["front"]
        ]
    elif ending == "json":
        assert json.loads(text)["front"] == found["front"]
    else:
        assert "<svg" in text
        assert "64 PEs per chip" in text
        assert "fully-connected" in text
    if ending == "html":
        assert text.count("<tr>") == count + 1
        assert text.startswith("<!doctype html>")
        assert "Best, proved" in text
        assert "Without " in text


@each("name", ["all.svg", "all.HTML"])
def test_a_picture_has_the_front_and_the_parts_of_the_best_plan(name: str, tmp_path: Path) -> None:
    """Without a library; the front beside it is written as well."""
    path, front = tmp_path / name, tmp_path / "front.csv"
    answer(*SMALL, "--plot", path, "--pareto", front)
    text = path.read_text(encoding="utf-8")
    for words in ("fully connected 96 -&gt; 80, 24 items", "Proved front", "8 x 64, zero 8",
                  "Energy of the best plan", "Latency of the best plan"):  # fmt: skip
        assert words in text, words
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([name, "front.csv"])


def test_a_picture_as_png(tmp_path: Path) -> None:
    answer(*SMALL, "--plot", tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_files_that_are_not_written(tmp_path: Path) -> None:
    """No input and no file of another flag; what is asked for is written whole or not at all."""
    graph, front, gone = tmp_path / "g.json", tmp_path / "f.svg", tmp_path / "none" / "f.csv"
    graph.write_text(json.dumps(nx.node_link_data(nx.path_graph(2), edges="edges")))
    for flags, words in (
        (
            ("--graph", graph, "--pareto", graph),
            f"pareto: {graph} is the graph file that is read; name another",
        ),
        (
            ("--plot", front, "--pareto", front),
            f"plot: {front} is the file of --pareto too; name another",
        ),
        (("--plot", front, "--pareto", gone), "cannot be written"),
        (("--plot", tmp_path / "a.pdf"), "pictures are written as .svg, .png or .html"),
        (("--pareto", tmp_path / "a.cvs"), ".csv, .json; did you mean '.csv'?"),
    ):
        outcome = planner("rack", "solve", *SMALL, *flags)
        assert (outcome.code, outcome.out) == (2, "")
        assert words in outcome.err, outcome.err
    assert [file.name for file in tmp_path.iterdir()] == ["g.json"]
    outcome = planner("rack", "solve", *SMALL, "--max-links", 0, "--plot", front)
    assert outcome.code == 3
    assert outcome.err == "plot: nothing to draw, there is no plan\n"
    assert not front.exists()


def test_a_file_is_not_written_when_there_is_no_plan(tmp_path: Path) -> None:
    file = tmp_path / "front.csv"
    planner("rack", "solve", *SMALL, "--max-links", 0, "--pareto", file)
    assert list(tmp_path.iterdir()) == []


@each(("flags", "line"), [
    (("--workload", "fcc"), "workload: 'fcc' is not one of attention, attention-mha, conv, fc, "
     "ffn, FILE.yaml; did you mean 'fc'?"),
    (("--gpus", "0"), "gpus: 0: must be at least 1"),
    (("--gpus", "12-2"), "gpus: '12-2' is empty; write it from 2 to 12"),
    (("--gpus", "two"), "gpus: 'two' is no number or range; write it like 2-12 or 4,8"),
    (("--gpus", "5000"), "gpus: 5000: must be at most 4,096"),
    (("--gpus", "1-500"), "gpus: more than 64 values; give fewer"),
    (("--pes", "6"), "pes: 6 do not fill the 4 rows of report1-gpu; nearest: 4 or 8"),
    (("--pes", "2000"), "pes: 2,000 is more than 64 times the 16 of report1-gpu; nearest: 1,024"),
    (("--pes", "1.5"), "pes: '1.5' is not a whole number; nearest: 2"),
    (("--strategy", "zer"), "strategy: 'zer' is not one of dp, zero, tp, pp; did you mean 'zero'?"),
    (("--objective", "power"), "objective: 'power' is not one of time, energy, edp"),
    (("--batch", "0"), "batch: 0: must be at least 1"),
    (("--batch", "1e19"), "batch: 1e+19: must be at most 1,000,000,000"),
    (("--batch", "2000000000"), "batch: 2,000,000,000: must be at most 1,000,000,000"),
    (("--micro-batches", "1e30"), "micro-batches: 1e+30: must be at most 1,000,000,000"),
    (("--topology", "ring:8", "--gpus", "2-4"), "topology: no ring:8 has 2, 3, 4 chips; nearest: "
     "8"),
    (("--topology", "torus:100x100"), "topology: torus:100x100 has 10,000 chips; must be at most "
     "4,096"),
    (("--graph", "nothing.txt"), "graph: nothing.txt: files end in .yaml, .yml, .json, .graphml, "
     ".edgelist, .adjlist"),
    (("--batch", "2", "--strategy", "dp", "--gpus", "4"), "strategy: dp cannot split 2 items of "
     "fc over 4 chips; allow more strategies or chip counts"),
    (("--topology", "hypercube", "--gpus", "7"), "topology: no hypercube has 7 chips; nearest: "
     "4 or 8"),
    (("--max-links", "-1"), "max-links: '-1': must be at least 0"),
    (("--total-pes", "0"), "total-pes: '0': must be above 0"),
    (("--max-area", "3kg"), "max-area: '3kg' is not an area; write it like 5000mm2 or 50cm2"),
    (("--max-power", "3A"), "max-power: unknown unit 'A' in '3A'; write 700W or 10MW"),
    (("--max-memory", "1Gb"), "max-memory: unknown unit 'Gb' in '1Gb'; write 80GB or 74.5GiB"),
    (("--basis", "chip"), "basis: 'chip' is not one of per_gpu, network, per_link"),
    (("--assumptions", "zero"), "assumptions: 'zero' is not one of rack-zero, rack-energy; did "
     "you mean 'rack-zero'?"),
    (("--time-limit", "0"), "time-limit: '0': must be above 0"),
    (("--micro-batches", "0"), "micro-batches: 0: must be at least 1"),
    (("--precision", "fp64"), "precision: report1-gpu has int8"),
])  # fmt: skip
def test_bad_input_is_one_line(flags: tuple[str, ...], line: str) -> None:
    outcome = planner("rack", "solve", *flags)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.mistakes == [line]


def test_all_mistakes_at_once() -> None:
    outcome = planner("rack", "solve", "--gpus", 0, "--pes", 3, "--topology", "rng", "--batch", 0,
                      "--max-ports", "x")  # fmt: skip
    assert outcome.code == 2
    named = [line.split(":")[0] for line in outcome.mistakes]
    assert sorted(named) == ["batch", "gpus", "max-ports", "pes", "topology"]


@each(("name", "words"), [
    ("front.png", "the front is written as .svg, .html, .csv, .json"),
    ("nowhere/front.csv", "cannot be written"),
])  # fmt: skip
def test_files_that_cannot_be_written(name: str, words: str, tmp_path: Path) -> None:
    outcome = planner("rack", "solve", *SMALL, "--pareto", tmp_path / name)
    assert outcome.code == 2
    (line,) = outcome.mistakes
    assert words in line
    assert list(tmp_path.iterdir()) == []


def test_help_has_examples() -> None:
    outcome = planner("rack", "solve", "--help")
    assert outcome.code == 0
    assert "planner rack solve --workload fc --strategy zero" in " ".join(outcome.out.split())

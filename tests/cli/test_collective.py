"""`planner collective bounds`, `synthesize` and `compare` on the command line."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.collective_asking import DGX1, answer, asked
from cli.command import planner, refused
from planner.collectives.questions.table import collective_table, published_beside


def front(*arguments: object) -> list[tuple[int, int, int]]:
    rows = answer("synthesize", *arguments, "--pareto")["front"]
    return [(row["chunks"], row["steps"], row["rounds"]) for row in rows]


def test_the_reference_command() -> None:
    """The front of the DGX-1: two schedules, both proved, and no other."""
    found = answer("synthesize", *DGX1, "allgather", "--pareto")
    rows = found["front"]
    assert [(row["chunks"], row["steps"], row["rounds"]) for row in rows] == [(2, 2, 3), (6, 3, 7)]
    assert [(row["proved"], row["lower_bound"]) for row in rows] == [(True, 3), (True, 7)]
    assert [row["rounds_per_chunk_exact"] for row in rows] == ["3/2", "7/6"]
    assert (found["status"], found["complete"], found["least_steps"]) == ("optimal", True, 2)
    assert found["machine"]["topology"] == "dgx-1"
    assert found["schema_version"] == 1
    assert found["versions"]["planner"]


def test_the_front_is_the_default() -> None:
    with_flag = answer("synthesize", *DGX1, "allgather", "--pareto")["front"]
    assert answer("synthesize", *DGX1, "allgather")["front"] == with_flag


def test_the_table_of_the_front() -> None:
    text = asked("synthesize", *DGX1, "allgather", "--pareto").out
    assert "allgather on dgx-1" in text
    assert "7/6 = 1.167" in text
    assert "up to 52.5 kB" in text
    assert "L is what each member contributes" in text


def test_the_table_of_every_collective() -> None:
    """Each front as it is asked for alone; published rows are had, beaten, or missing."""
    found = answer("synthesize", "--table", "dgx-1")
    rows = [row for row in found["rows"] if row["collective"] == "alltoall"]
    assert [(row["chunks"], row["chunks_sccl"], row["steps"], row["rounds"]) for row in rows] == [
        (3, 24, 2, 8)
    ]
    gathered = [row for row in found["rows"] if row["collective"] == "allgather"]
    assert [(row["chunks"], row["steps"], row["rounds"]) for row in gathered] == front(
        *DGX1, "allgather"
    )
    assert [row["optimal"] for row in gathered] == ["latency", "bandwidth"]
    verdicts = {(row["collective"], row["chunks"]): row["verdict"] for row in found["published"]}
    assert verdicts["allgather", 6] == verdicts["alltoall", 3] == "had"
    assert verdicts["allreduce", 8] == verdicts["allgather", 3] == "beaten"
    agrees_with_the_paper(found, 54)
    text = planner("collective", "synthesize", "--table", "dgx-1").out
    assert "Every published row is had or beaten" in text
    assert "gather, scatter" in text
    ring = answer("synthesize", "--table", "ring:3")
    assert (ring["machine"], ring["published"]) == ("ring:3", [])


def agrees_with_the_paper(found: dict[str, Any], count: int) -> None:
    """Every row of SCCL's table is had or beaten; what it calls optimal is so by our bounds."""
    listed = [one for one in found["published"] if "thesis" in one["source"]]
    assert len(listed) == count
    assert {one["verdict"] for one in found["published"]} <= {"had", "beaten"}
    for one in listed:
        rows = [row for row in found["rows"] if row["collective"] == one["collective"]]
        each_pair = 8 if one["collective"] == "alltoall" else 1
        assert one["chunks_sccl"] == one["chunks"] * each_pair
        if one["optimal"] in ("bandwidth", "both"):
            (best,) = [row for row in rows if row["optimal"] in ("bandwidth", "both")]
            load = Fraction(one["rounds"], one["chunks"])
            assert load == Fraction(best["rounds_per_chunk_exact"])
        if one["optimal"] in ("latency", "both") and one["collective"] != "allreduce":
            (least,) = [row for row in rows if row["optimal"] in ("latency", "both")]
            assert one["steps"] == least["steps"]
    unproved = [row for row in found["rows"] if not row["proved"]]
    assert {row["collective"] for row in unproved} == {"allreduce"}
    assert all(row["steps"] <= row["rounds_at_least"] < row["rounds"] for row in unproved)


def test_the_table_of_the_z52_reaches_beyond_the_steps_that_a_front_tries() -> None:
    """SCCL has a broadcast in eight steps; a front goes on from seven to more, along trees."""
    found = answer("synthesize", "--table", "gigabyte-z52")
    agrees_with_the_paper(found, 24)
    alone = front("--topology", "gigabyte-z52", "--collective", "broadcast")
    rows = [row for row in found["rows"] if row["collective"] == "broadcast"]
    triples = [(row["chunks"], row["steps"], row["rounds"]) for row in rows]
    assert set(triples) - set(alone) == {(10, 8, 8)}
    assert sorted(triples, key=lambda row: row[1]) == triples
    assert [row["proved"] for row in rows] == [True] * len(rows)


def test_a_published_schedule_that_no_row_reaches_is_missing() -> None:
    fronts = tuple(collective_table("ring:3").fronts)
    assert published_beside("ring:3", fronts) == ()
    missing = [one.verdict for one in published_beside("dgx-1", fronts)]  # as if it were a DGX-1
    assert set(missing) == {"beaten", "missing"}


def test_both_families_of_an_allreduce() -> None:
    """Gathering all and adding up wins at small sizes, reduce-scatter and allgather beyond."""
    found = answer("synthesize", *DGX1, "allreduce")
    rows = {(row["chunks"], row["steps"], row["rounds"]): row for row in found["front"]}
    assert set(rows) == {(2, 2, 3), (16, 4, 6), (48, 6, 14)}
    assert rows[2, 2, 3]["made"] == "gathered, then added up locally"
    assert [row["proved"] for row in rows.values()] == [False, False, True]
    loads = [row["least_of_steps"]["rounds_per_chunk_exact"] for row in rows.values()]
    assert loads == ["1", "4/13", "7/24"]
    assert (found["complete"], found["ended_by"]) == (False, "compositions")


def test_one_schedule() -> None:
    found = answer("synthesize", "--topology", "ring:4", "--chunks", 2, "--steps", 2)
    (row,) = found["front"]
    assert (row["chunks"], row["steps"], row["rounds"]) == (2, 2, 3)
    assert row["proved"] is True
    assert sum(row["rounds_of_steps"]) == 3


def test_chunks_default_to_one_and_steps_to_the_fewest() -> None:
    (of_steps,) = front_of_one("--steps", 3)
    (of_chunks,) = front_of_one("--chunks", 1)
    assert (of_steps["chunks"], of_steps["steps"]) == (1, 3)
    assert (of_chunks["chunks"], of_chunks["steps"]) == (1, 2)


def front_of_one(*arguments: object) -> list[Any]:
    rows: list[Any] = answer("synthesize", "--topology", "ring:4", *arguments)["front"]
    return rows


def test_the_least_time_counts_cables_of_their_own_speed() -> None:
    """Two DGX-1: NVLinks of 25 GB/s, not of the 12.5 GB/s lanes in which rounds are counted."""
    found = answer("synthesize", "--topology", "dgx-1:nodes=2", "--size", "1KB", "--chunks", 1,
                   "--steps", 4)  # fmt: skip
    assert found["status"] == "optimal"
    latencies_s = 3 * 0.7e-6 + 5e-6
    bytes_s = 1e3 / 12.5e9 + (1 + 2 + 2) * 1e3 / 25e9  # one step over InfiniBand, three inside
    assert found["time_s"] == pytest.approx(latencies_s + bytes_s, rel=1e-9)
    assert found["machine"]["lane_bytes_per_s"] == 12.5e9


def test_an_allreduce_of_given_chunks_and_steps() -> None:
    found = answer(
        "synthesize", "--topology", "ring:4", "--collective", "allreduce", "--chunks", 8,
        "--steps", 4,
    )  # fmt: skip
    (row,) = found["front"]
    assert (row["chunks"], row["steps"], row["rounds"]) == (8, 4, 6)


def test_a_root_by_name() -> None:
    found = answer(
        "synthesize", "--topology", "linear:3", "--collective", "broadcast", "--root", 1,
        "--chunks", 1,
    )  # fmt: skip
    assert found["root"] == "1"
    assert found["least_steps"] == 1


GRAPH = """name: pairs
chips: [a, b, c, d]
links:
  - {between: [a, b], bandwidth_bytes_per_s: 50e9}
  - {between: [b, c]}
  - {between: [c, d], bandwidth_bytes_per_s: 50e9}
  - {between: [d, a]}
"""


def test_a_graph_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GRAPH, encoding="utf-8")
    arguments = ("--graph", tmp_path / "mine.yaml", "--max-chunks", 8, "--json")
    outcome = planner("collective", "synthesize", *arguments)
    found = outcome.document
    assert outcome.code == 0
    assert found["machine"]["topology"] == "graph:pairs"
    assert found["machine"]["lane_bytes_per_s"] == 25e9
    assert found["machine"]["lanes"] == 12


def test_bounds_of_the_dgx1() -> None:
    found = answer("bounds", *DGX1, "allgather")
    assert found["least_steps"] == 2
    assert found["cut"]["rounds_per_chunk_exact"] == "7/6"
    assert (found["cut"]["chunks"], found["cut"]["lanes"]) == (7, 6)
    assert [(row["steps"], row["rounds_per_chunk_exact"]) for row in found["by_steps"]] == [
        (2, "3/2"), (3, "7/6"),
    ]  # fmt: skip
    assert all(row["exact"] for row in found["by_steps"])
    assert "the limit is reached" in found["why"]


def test_bounds_of_an_allreduce_count_its_sends() -> None:
    found = answer("bounds", *DGX1, "allreduce")
    assert found["cut"] is None
    assert found["limit"]["rounds_per_chunk_exact"] == "7/24"
    assert "2 (n - 1) sends" in asked("bounds", *DGX1, "allreduce").out


def test_the_cut_is_named() -> None:
    text = asked("bounds", *DGX1, "allgather").out
    assert "7 chunks (of C = 1) must leave chips" in text
    assert "over 6 lanes" in text


def test_too_few_steps_are_infeasible_and_the_diameter_is_said() -> None:
    outcome = asked("synthesize", *DGX1, "allgather", "--chunks", 1, "--steps", 1)
    assert outcome.code == 3
    assert "no schedule has fewer than 2 steps" in " ".join(outcome.out.lower().split())
    assert "diameter" in outcome.out
    document = asked(
        "synthesize", *DGX1, "allgather", "--chunks", 1, "--steps", 1, "--json"
    ).document
    assert (document["status"], document["front"]) == ("infeasible", [])


def test_a_time_limit_leaves_a_schedule_with_its_bound() -> None:
    outcome = planner(
        "collective", "synthesize", "--topology", "torus:4x4", "--chunks", 5, "--steps", 5,
        "--time-limit", "1ms", "--json",
    )  # fmt: skip
    assert outcome.code == 0
    (row,) = outcome.document["front"]
    least = Fraction(row["least_of_steps"]["rounds_per_chunk_exact"])
    assert row["rounds"] > row["lower_bound"] >= least * 5
    assert least == Fraction(15, 4)
    assert (outcome.document["status"], outcome.document["ended_by"]) == ("feasible", "time limit")
    assert "the time limit ended the search" in outcome.document["why"]
    assert [gap["reason"] for gap in outcome.document["open"]] == ["time limit"]


UNEVEN = """chips: [x, y, z]
links:
  - {between: [x, y], bandwidth_bytes_per_s: 50e9}
  - {between: [y, z], bandwidth_bytes_per_s: 33e9}
  - {between: [x, z]}
"""


@pytest.fixture
def uneven(tmp_path: Path) -> Path:
    (tmp_path / "uneven.yaml").write_text(UNEVEN, encoding="utf-8")
    return tmp_path / "uneven.yaml"


def test_the_chunks_that_the_least_load_needs_are_tried(uneven: Path) -> None:
    """1/29 needs 58 chunks, more than the 32 that are tried otherwise."""
    found = planner("collective", "synthesize", "--graph", uneven, "--json").document
    cells = [(row["chunks"], row["steps"], row["rounds"]) for row in found["front"]]
    assert cells == [(25, 1, 1), (58, 2, 2)]
    assert (found["complete"], found["ended_by"], found["open"]) == (True, "proof", [])


def test_chunks_that_were_not_tried_are_said(uneven: Path) -> None:
    arguments = ("collective", "synthesize", "--graph", uneven, "--max-chunks", 32)
    found = planner(*arguments, "--json").document
    assert [(row["chunks"], row["steps"]) for row in found["front"]] == [(25, 1)]
    assert (found["complete"], found["ended_by"]) == (False, "chunks")
    assert found["open"][0]["rounds_per_chunk_exact"] == "1/29"
    text = " ".join(planner(*arguments).out.split())
    assert "2 steps down to 1/29" in text
    assert "no more than 32 chunks were tried" in text
    assert "all sizes" not in text


def test_one_schedule_is_not_said_to_be_the_fastest() -> None:
    text = asked("synthesize", "--topology", "ring:4", "--chunks", 2, "--steps", 2).out
    assert "fastest" not in text


BAD = [
    (("--topology", "rign:8"), "topology: 'rign' is not one of .*did you mean 'ring'"),
    ((), "topology: is missing"),
    (("--topology", "ring:1"), "topology: 'ring:1': 1 gives no pair of chips"),
    (
        ("--topology", "ring:8", "--collective", "allgater"),
        "collective: .*did you mean 'allgather'",
    ),
    (("--topology", "ring:8", "--chunks", "0"), "chunks: 0 must be at least 1"),
    (("--topology", "ring:8", "--steps", "0"), "steps: 0 must be at least 1"),
    (("--topology", "ring:8", "--chunks", "1.5"), "chunks: '1.5' is not a whole number"),
    (("--topology", "ring:8", "--bandwidth", "nan"), "bandwidth: 'nan' is no rate"),
    (("--topology", "ring:8", "--latency", "-1us"), "latency: '-1us' must be at least 0"),
    (("--topology", "ring:8", "--time-limit", "0"), "time-limit: '0' must be greater than 0"),
    (("--topology", "ring:8", "--root", "2"), "root: allgather has none; broadcast, reduce"),
    (
        ("--topology", "ring:8", "--collective", "reduce", "--root", "8"),
        "root: '8' is not one of 0, 1, 2",
    ),
    (("--topology", "ring:8", "--pareto", "--chunks", "2"), "chunks: asks for one schedule and"),
    (("--topology", "ring:8", "--graph", "x.yaml"), "topology: give one of --topology and --graph"),
    (("--table", "ring:4", "--chunks", "2"), "chunks: has no effect with --table; leave it out"),
    (("--table", "rign:4"), "topology: 'rign' is not one of .*did you mean 'ring'"),
    (("--topology", "ring:8", "-o", "schedule.txt"), "output: schedule.txt: schedules are written"),
    (
        ("--topology", "ring:4", "--collective", "allreduce", "--chunks", "6", "--steps", "3"),
        "chunks: 6 of an all-reduce must be a multiple of its 4 members; nearest: 8",
    ),
]


@each(("arguments", "message"), BAD)
def test_bad_input(arguments: tuple[str, ...], message: str) -> None:
    import re  # noqa: PLC0415

    lines = refused("collective", "synthesize", *arguments)
    assert re.match(message, lines[0]), lines


def test_all_mistakes_are_said_at_once() -> None:
    lines = refused("collective", "synthesize", "--chunks", "0", "--bandwidth", "x", "--lanes", "0")
    assert [line.partition(":")[0] for line in lines] == ["chunks", "lanes", "bandwidth"]


def test_a_disconnected_graph(tmp_path: Path) -> None:
    text = "chips: 4\nlinks:\n  - {between: [0, 1]}\n  - {between: [2, 3]}\n"
    (tmp_path / "apart.yaml").write_text(text, encoding="utf-8")
    (line,) = refused("collective", "bounds", "--graph", tmp_path / "apart.yaml")
    assert line.endswith("apart.yaml: is in 2 parts with no link between them: 0, 1 | 2, 3")


def test_a_chip_alone(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("chips: [a]\nlinks: []\n", encoding="utf-8")
    (line,) = refused("collective", "bounds", "--graph", tmp_path / "one.yaml")
    assert line.endswith("must have at least 1 entry; a chip without any exchanges nothing")


def test_figures_that_are_no_numbers(tmp_path: Path) -> None:
    text = "chips: 2\nlinks:\n  - {between: [0, 1], bandwidth_bytes_per_s: .nan}\n"
    (tmp_path / "odd.yaml").write_text(text, encoding="utf-8")
    (line,) = refused("collective", "bounds", "--graph", tmp_path / "odd.yaml")
    assert "bandwidth_bytes_per_s" in line


@each(
    ("sizes", "message"),
    [
        ("1GB..1KB", "1 kB is below the first size"),
        ("0..1KB", "sizes: '0' must be greater than 0"),
        ("1..1TB,7", "sizes"),
        ("abc", "sizes: 'abc' is not a number"),
    ],
)
def test_bad_sizes(sizes: str, message: str) -> None:
    outcome = planner("collective", "compare", "--topology", "ring:4", "--sizes", sizes)
    if sizes == "1..1TB,7":
        assert outcome.code == 0
    else:
        assert outcome.code == 2
        assert message in outcome.err


def test_one_size_is_compared_and_drawn(tmp_path: Path) -> None:
    """The table has the size alone, the curves a decade on each side of it."""
    times, space = tmp_path / "times.svg", tmp_path / "space.svg"
    found = answer("compare", "--topology", "ring:4", "--collective", "allgather", "--sizes", "1MB",
                   "--plot", times, "--plot-schedule", space)  # fmt: skip
    assert found["sizes_bytes"] == [1e6]
    assert "100 kB to 10 MB" in times.read_text(encoding="utf-8")
    assert space.exists()
    alone = answer("compare", "--system", "h100-sxm5-80", "--chips", 16, "--collective",
                   "allreduce", "--sizes", "1MB", "--plot", times)  # fmt: skip
    assert len(alone["sizes_bytes"]) == 1

"""Fronts that `planner evaluate` refuses, and the answer of `solve --json`, which it takes."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.answers import SMALL
from cli.command import planner, refused, solve
from cli.plan_files import COSTS, evaluate


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """What solve answers, and the folder with its front in both forms."""
    folder = tmp_path_factory.mktemp("fronts")
    found = solve(*SMALL, "--pareto", folder / "front.json", "--pareto", folder / "front.csv")
    return found, folder


@pytest.fixture
def table(answer: tuple[Any, Path], tmp_path: Path) -> Callable[..., Path]:
    """Writes the front as CSV with other cells in its second row."""

    def write(**cells: str) -> Path:
        rows = list(csv.reader(io.StringIO((answer[1] / "front.csv").read_text("utf-8"))))
        for name, cell in cells.items():
            rows[2][rows[0].index(name)] = cell
        path = tmp_path / "edited.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        return path

    return write


@pytest.fixture
def document(answer: tuple[Any, Path], tmp_path: Path) -> Callable[..., Path]:
    """Writes the front as JSON after a change to its data."""

    def write(change: Callable[[Any], object]) -> Path:
        data = json.loads((answer[1] / "front.json").read_text("utf-8"))
        change(data)
        path = tmp_path / "edited.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return write


def test_an_empty_front(document: Any, answer: tuple[Any, Path], tmp_path: Path) -> None:
    path = document(lambda data: data.update(front=[]))
    assert refused("evaluate", path, "--row", 1) == [f"{path}: the front holds no plan"]
    heading = (answer[1] / "front.csv").read_text("utf-8").splitlines()[0]
    path = tmp_path / "heading.csv"
    path.write_text(f"{heading}\n", encoding="utf-8")
    assert refused("evaluate", path) == [f"{path}: the front holds no plan"]


def test_a_csv_without_a_heading(answer: tuple[Any, Path], tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    rows = (answer[1] / "front.csv").read_text("utf-8").splitlines()[1:]
    path.write_text("\n".join(rows), encoding="utf-8")
    line = f"{path}: is neither YAML nor a front as solve --pareto writes it"
    assert refused("evaluate", path, "--row", 1) == [line]
    assert refused("solve", path) == [line]


def test_a_heading_that_is_there_twice(answer: tuple[Any, Path], tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    heading, *rows = (answer[1] / "front.csv").read_text("utf-8").splitlines()
    lines = [f"mesh.dp,{heading}", *(f"4,{row}" for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    line = f"{path}: the heading 'mesh.dp' appears twice"
    assert refused("evaluate", path, "--row", 1) == [line]


@pytest.mark.parametrize("name", [
    "mesh.dp", "mesh.tp", "mesh.ep", "micro_batch", "schedule", "interleave", "sharding",
    "sequence_parallel", "cp_mode", "recompute", "split", "clock", "placement.order",
])  # fmt: skip
def test_a_field_of_a_plan_without_a_value_is_no_default(
    name: str, table: Any, document: Any
) -> None:
    path = table(**{name: ""})
    assert refused("evaluate", path, "--row", 2) == [f"{path}: row 2: {name}: is missing"]
    assert planner("evaluate", path, "--row", 1).code == 0

    def drop(data: Any) -> None:
        *outer, last = name.split(".")
        row = data["front"][1]
        del (row[outer[0]] if outer else row)[last]

    path = document(drop)
    assert refused("evaluate", path, "--row", 2) == [f"{path}: row 2: {name}: is missing"]


def test_all_that_a_row_lacks_is_said_at_once(table: Any) -> None:
    path = table(**{"mesh.dp": "", "sharding": ""})
    assert refused("evaluate", path, "--row", 2) == [
        f"{path}: row 2: mesh.dp: is missing", f"{path}: row 2: sharding: is missing",
    ]  # fmt: skip

    path = table(**{"mesh.dp": "", "sharding": "", "split": "", "clock": "", "micro_batch": ""})
    lines = refused("evaluate", path, "--row", 2)
    assert lines == [
        f"{path}: row 2: mesh.dp: is missing", f"{path}: row 2: micro_batch: is missing",
        f"{path}: row 2: sharding: is missing", "and 2 more mistakes",
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_lines_of_a_front_end_as_any_program_ends_them(end: str, table: Any) -> None:
    path = table()
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8", newline=end)
    assert planner("evaluate", path, "--row", 2, "--quiet").code == 0


def test_faults_of_a_csv_file_are_said_in_our_words(table: Any) -> None:
    path = table()
    text = path.read_text(encoding="utf-8")
    path.write_text(text + "x" * 140_000, encoding="utf-8")
    (line,) = refused("evaluate", path, "--row", 1)
    assert line == f"{path}: not a CSV file (a cell has more than 131,072 characters)"


def test_chips_that_contradict_the_mesh_of_a_row(table: Any, document: Any) -> None:
    words = "row 2: chips: 7 contradicts the mesh of the plan, which uses 8"
    path = table(chips="7", **{"mesh.dp": "8", "mesh.fsdp": "1"})
    assert refused("evaluate", path, "--row", 2) == [f"{path}: {words}"]

    def change(data: Any) -> None:
        data["front"][1] |= {"chips": 7, "mesh": {**data["front"][1]["mesh"], "dp": 8, "fsdp": 1}}

    path = document(change)
    assert refused("evaluate", path, "--row", 2) == [f"{path}: {words}"]


def test_a_mistake_in_a_row_is_named_with_the_row(table: Any) -> None:
    path = table(**{"mesh.dp": "9" * 5001})
    (line,) = refused("evaluate", path, "--row", 2)
    assert line.startswith(f"{path}: row 2: plan.mesh.dp: '999")


def test_a_row_that_is_no_plan(document: Any) -> None:
    path = document(lambda data: data.update(front=[3]))
    assert refused("evaluate", path, "--row", 1) == [
        f"{path}: row 1: 3 is not a plan as solve writes it"
    ]


def test_the_answer_of_solve_is_evaluated_as_its_front_is(
    answer: tuple[Any, Path], tmp_path: Path
) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(answer[0]), encoding="utf-8")
    for row, point in enumerate(answer[0]["front"]["plans"], start=1):
        again = evaluate(path, "--row", row)
        assert again == evaluate(answer[1] / "front.json", "--row", row)
        for key in COSTS:
            assert again[key] == point[key], key


def test_the_answer_that_no_plan_fits_holds_no_plan(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    outcome = planner(
        "solve", "--model", "gpt3-175b", "--hardware", "h100-sxm5-80", "--chips", 8, "--json"
    )
    assert outcome.code == 3
    path.write_text(outcome.out, encoding="utf-8")
    assert refused("evaluate", path, "--row", 1) == [f"{path}: the front holds no plan"]


@each("name", ["hardware", "batch_tokens", "seq_len", "precision", "framework"])
def test_an_empty_cell_of_the_job_is_no_default(name: str, tmp_path: Path) -> None:
    """Another job would be evaluated in silence."""
    table = tmp_path / "front.csv"
    solve(*SMALL, "--pareto", table)
    with table.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    rows[0][header.index(f"job.{name}")] = ""
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    assert refused("evaluate", table, "--row", 1) == [f"{table}: row 1: job.{name}: is missing"]

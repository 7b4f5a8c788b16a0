"""`planner sweep` on the command line: run, status, table, plot, and what is refused."""

import csv
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from pyarrow import ipc, parquet
from studies.sweep.stand_in import Here, Questions, known
from support.cases import each

from cli.command import planner, refused
from planner.answers import sweeping
from planner.base.errors import InputError
from planner.cli import interruption
from planner.report.charts.sweep_looks import best_words
from planner.report.charts.sweep_map import map_picture
from planner.studies.sweep.answer import opened
from planner.studies.sweep.columns import cell
from planner.studies.sweep.question.keys import answering_version
from planner.studies.sweep.rows import Row
from planner.studies.sweep.running import workers
from planner.studies.sweep.store import Solved, Store
from planner.studies.sweep.winners import noun_of, winners

STUDY = """
job: {model: gpt3-125m}
cross:
  chips: [8, 16, 32]
  hardware: [dgx-h100-ndr, dgx-b200-ndr]
  batch_tokens: [1Mi, 4Mi]
where: chips < 32 or batch_tokens > 1Mi
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study file with its store beside it: ten points, solved by a stand-in."""
    path = tmp_path_factory.mktemp("sweep") / "study.yaml"
    path.write_text(STUDY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeping, "solve_in_order", known)
        patch.setattr(workers, "LocalWorkers", lambda count: Here(threads=count or 1))
        outcome = planner("sweep", "run", path, "-o", path.with_suffix(".db"), "--workers", 2)
    assert outcome.code == 0, outcome.err
    assert "done       10 (100 %)" in outcome.out
    return path


@pytest.fixture
def store(study: Path) -> Path:
    return study.with_suffix(".db")


def test_status_says_how_far_a_study_is(store: Path) -> None:
    said = planner("sweep", "status", store).out
    assert "axes       chips, hardware, batch_tokens" in said
    assert "to do      0" in said
    document = planner("sweep", "status", store, "--json").document
    assert (document["points"], document["done"], document["to_do"]) == (10, 10, 0)
    assert document["by_status"] == {"optimal": 10}
    assert document["running"] == ""


def test_a_study_that_cannot_be_asked_leaves_a_store_as_it_was(store: Path, tmp_path: Path) -> None:
    """No new store, and the points of the study before in one that was there."""
    wrong = tmp_path / "wrong.yaml"
    kept = tmp_path / "kept.db"
    kept.write_bytes(store.read_bytes())
    for cross, said in (("[8, 0]", "at chips=0: chips: 0"), ("[8]", "no point is left")):
        text = f"job: {{model: gpt3-125m}}\ncross: {{chips: {cross}}}\nwhere: chips < 8\n"
        wrong.write_text(text, encoding="utf-8")
        for name in (kept, tmp_path / "new.db"):
            assert said in refused("sweep", "run", wrong, "-o", name)[0]
        assert sorted(one.name for one in tmp_path.iterdir()) == ["kept.db", "wrong.yaml"]
        assert planner("sweep", "status", kept, "--json").document["done"] == 10


@each("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_says_so(
    study: Path, tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every interruption in lines of JSON, with how far it came; its code is that of runs."""
    monkeypatch.setattr(sweeping, "solve_in_order", known)
    batches = list[int]()

    def stopped(questions: Questions) -> str:
        batches.append(len(questions))
        if len(batches) % 3 == 0:
            signal.raise_signal(number)
        return "finished"

    monkeypatch.setattr(workers, "LocalWorkers", lambda _: Here(stopped))
    for flags in ((), ("--log-json",)):
        monkeypatch.setattr(interruption, "_HEARD", [])
        outcome = planner("sweep", "run", study, "-o", tmp_path / f"{number}{flags}.db", *flags)
        said = "interrupted: 2 of 10 points are stored; the same command goes on"
        last = outcome.err.splitlines()[-1]
        if flags:
            found = json.loads(last)
            assert (found["event"], found["level"]) == ("interrupted", "warning")
            last = found["message"]
        assert (outcome.code, last) == (5, said)


def test_a_run_under_nohup_goes_on(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hung_up(_: Questions) -> str:
        signal.raise_signal(signal.SIGHUP)
        return "finished"

    monkeypatch.setattr(sweeping, "solve_in_order", known)
    monkeypatch.setattr(workers, "LocalWorkers", lambda _: Here(hung_up))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        outcome = planner("sweep", "run", study, "-o", tmp_path / "s.db")
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert outcome.code == 0, outcome.err
    assert "done       10 (100 %)" in outcome.out


def test_a_reason_of_several_lines_is_one_sentence(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: Any, **named: Any) -> None:
        raise InputError("chips: 8\nprice: is missing")

    monkeypatch.setattr(sweeping, "solve_request", refuses)
    monkeypatch.setattr(workers, "LocalWorkers", lambda _: Here())
    said = planner("sweep", "run", study, "-o", tmp_path / "s.db").out
    assert "refused: chips: 8; price: is missing" in said


BEST = {"mesh": {"dp": 8}, "sharding": "zero1", "micro_batch": 1, "recompute": "none"}


def unlike(tmp_path: Path) -> Path:
    """A store of 300 points, of which the last one alone has an answer, of another objective."""
    path = tmp_path / "unlike.db"
    with Store(path, write=True) as opened_store:
        with opened_store.new_points(axes='["chips", "batch_tokens"]', file="s.yaml") as add:
            add((at, {"chips": 8, "batch_tokens": at}, f"k{at}", "m", '{"chips": 8}')
                for at in range(300))  # fmt: skip
        found = [(298, "time", 1.0, 0.3), (299, "energy", 0.5, 0.5)]
        opened_store.add([
            Solved(f"k{at}", answering_version(), "optimal",
                   {"objective_name": name, "objective": value, "late": {"one": 1},
                    "best": BEST | {"mfu": mfu, "energy_per_step_j": 1 + mfu}}, 1.0, {})
            for at, name, value, mfu in found
        ])  # fmt: skip
    return path


def test_columns_of_any_point_are_known(tmp_path: Path) -> None:
    path = unlike(tmp_path)
    flags = ("--columns", "late.one", "--where", "best.mfu > 0.4", "--json")
    assert planner("sweep", "table", path, *flags).document["rows"] == [[1]]
    assert "late.one" in planner("sweep", "table", path, "--columns", "list").out.split()
    said = planner("sweep", "table", path, "--where", "best.mfu > 0.9").out
    assert "no rows: no point has an answer that fulfils the conditions" in said
    assert "planner sweep run s.yaml -o" in planner("sweep", "status", path).out


def test_more_is_better_of_some_figures_and_objectives_are_not_mixed(tmp_path: Path) -> None:
    path, picture = unlike(tmp_path), tmp_path / "p.svg"
    place = ("--x", "chips", "--y", "best.energy_per_step_j", "--plot", picture)
    assert "points minimize energy and time" in refused("sweep", "plot", path, *place)[0]
    found = planner("sweep", "plot", path, *place, "--least", "best.mfu", "--json").document
    assert [row[:3] for row in found["rows"]] == [["8", "1.5 J", "50 %"]]
    flags = ("--x", "best.mfu", "--y", "best.energy_per_step_j", "--plot", picture, "--json")
    found = planner("sweep", "plot", path, *flags).document
    assert [row[:2] for row in found["rows"]] == [["50 %", "1.5 J"], ["30 %", "1.3 J"]]
    said = "no other has as little energy per step (J) and as much mfu"
    assert said in picture.read_text(encoding="utf-8")


@each(("flags", "name"), [
    (("--x", "chips", "--y", "batch_tokens", "--color", "plan"), "least"),
    (("--kind", "scatter", "--x", "batch_tokens", "--y", "value"), "y"),
    (("--kind", "scatter", "--x", "value", "--y", "best.mfu"), "x"),
    (("--x", "batch_tokens", "--y", "value"), "y"),
    (("--columns", "chips,value"), "columns"),
    (("--x", "chips", "--y", "best.mfu", "--least", "best.mfu", "--color", "value"), "color"),
])  # fmt: skip
def test_no_picture_has_what_points_minimize_where_that_differs(
    flags: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    """Also where each is alone in its place."""
    said = refused("sweep", "plot", unlike(tmp_path), *flags, "--plot", tmp_path / "p.svg")
    assert said == [
        f"{name}: points minimize energy and time, which cannot be compared; name one figure, e.g. "
        f"--{name} best.step_time_s"
    ]


def test_money_is_not_compared_with_chip_hours(store: Path) -> None:
    rows = [
        row._replace(answer=row.answer | {"objective_name": "money"},
                     asked=row.asked | {"price_per_chip_hour": 2.0 if at % 2 else None})
        for at, row in enumerate(opened(store).rows())
    ]  # fmt: skip
    words = "points minimize chip-hours per step and money per step, which cannot be compared"
    with pytest.raises(InputError, match=words):
        winners(rows, ("model",), "value")
    assert noun_of(rows) == "value"
    assert noun_of(rows[::2]) == "chip-hours per step"


def test_a_dry_run_counts_estimates_and_shows_three(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "solve_in_order", known)
    said = planner("sweep", "run", study, "--dry-run").out
    assert "chips (3), hardware (2), batch_tokens (2)" in said
    assert "left out    2 by 1 condition" in said
    assert "about 5 s, from 5 points" in said
    assert said.count("optimal") == 3
    document = planner("sweep", "run", study, "--dry-run", "--json").document
    assert (document["points"], document["left_out"], document["cpu_s"]) == (10, 2, 5.0)


def test_a_table_has_the_columns_and_rows_that_are_asked_for(store: Path) -> None:
    columns = "chips,hardware,best.mesh.dp,plan"
    conditions = ("--where", "chips == 16", "--where", "batch_tokens == 4Mi")
    found = planner("sweep", "table", store, "--columns", columns, *conditions, "--json")
    assert found.document["rows"] == [
        [16, "dgx-h100-ndr", 16, "dp16, zero1, micro-batch 1"],
        [16, "dgx-b200-ndr", 16, "dp16, zero1, micro-batch 1"],
    ]
    down = planner("sweep", "table", store, "--columns", "value", "--sort", "-value", "--json")
    values = [row[0] for row in down.document["rows"]]
    assert values == sorted(values, reverse=True)
    said = planner("sweep", "table", store, "--rows", 3).out
    assert "7 more rows" in said
    assert "best.mesh.tp" in planner("sweep", "table", store, "--columns", "list").out.split()


def test_a_table_as_files_of_other_programs(store: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"t.{ending}" for ending in ("csv", "parquet", "arrow")]
    flags = [str(part) for path in files for part in (f"--{path.suffix[1:]}", path)]
    columns = "chips,hardware,batch-tokens,best.mfu,diagnosis"
    assert planner("sweep", "table", store, "--columns", columns, *flags).code == 0
    with files[0].open(encoding="utf-8") as text:
        rows = list(csv.reader(text))
    assert rows[0] == ["chips", "hardware", "batch_tokens", "best.mfu", "diagnosis"]
    assert rows[1] == ["8", "dgx-h100-ndr", "1048576", "0.4", ""]
    tables = [parquet.read_table(files[1]), ipc.open_file(files[2].read_bytes()).read_all()]
    for table in tables:
        assert table.to_pylist()[0] == {
            "chips": 8, "hardware": "dgx-h100-ndr", "batch_tokens": 1048576, "best.mfu": 0.4,
            "diagnosis": None,
        }  # fmt: skip
        assert table.num_rows == len(rows) - 1 == 10


@each(
    ("flags", "title", "rows"),
    [
        (("--x", "chips", "--y", "batch_tokens", "--color", "hardware"), "Who wins over chips", 5),
        (("--x", "chips", "--y", "best.step_time_s", "--color", "hardware"), "step time (s)", 6),
        (("--x", "best.step_time_s", "--y", "best.energy_per_step_j", "--color", "chips"),
         "energy per step (J) and step time (s)", 0),
        (("--columns", "chips,hardware,best.mfu", "--color", "hardware"), "Points across", 10),
    ],
)  # fmt: skip
def test_pictures(
    store: Path, tmp_path: Path, flags: tuple[str, ...], title: str, rows: int
) -> None:
    picture = tmp_path / "picture.svg"
    found = planner("sweep", "plot", store, *flags, "--plot", picture, "--json").document
    assert found["title"].startswith(title)
    assert len(found["rows"]) == rows or not rows
    assert "<svg" in picture.read_text(encoding="utf-8")


def rows_without_answers() -> list[Row]:
    """A point that is to do, and one that no plan fits."""
    asked = [{"chips": chips, "batch_tokens": 2**20} for chips in (64, 128)]
    return [
        Row(at, {}, fields, str(at), status, {}, None, 0.0)
        for at, (fields, status) in enumerate(zip(asked, (None, "infeasible"), strict=True))
    ]


def test_pictures_name_what_is_minimized_and_what_they_are_the_best_over(store: Path) -> None:
    rows = list(opened(store).rows())
    picture = map_picture(rows, "chips", "batch_tokens", "status", "value")
    (chart,) = picture.charts
    assert chart.title == "status of the point with the least step time"
    assert chart.subtitle == "in each place the best over hardware"
    minimized, price = {"objective_name": "money"}, {"price_per_chip_hour": 2.0}
    money = [row._replace(asked=row.asked | price, answer=row.answer | minimized) for row in rows]
    assert best_words("value", money) == "least money per step"


def test_a_plan_on_fewer_chips_than_its_row_says_so(store: Path) -> None:
    row = next(row for row in opened(store).rows() if row.answer.get("best"))
    fewer = row._replace(asked=row.asked | {"chips": 100_000})
    assert (
        str(cell(fewer, "plan")) == f"{cell(row, 'plan')}, on {row.answer['best']['chips']} chips"
    )


def test_a_map_shows_who_wins(store: Path, tmp_path: Path) -> None:
    """A faster cluster with a longer fixed time wins where there is much to do."""
    found = planner("sweep", "plot", store, "--x", "chips", "--y", "batch_tokens", "--color",
                    "hardware", "--plot", tmp_path / "m.svg", "--json").document  # fmt: skip
    won = {(row[1], row[0]): row[2] for row in found["rows"]}
    assert won["8", "4,194,304"] == "dgx-b200-ndr"
    assert won["16", "1,048,576"] == "dgx-b200-ndr"
    assert len(won) == 5
    rows = [*rows_without_answers(), *opened(store).rows()]
    picture = map_picture(rows, "chips", "batch_tokens", "hardware", "best.step_time_s")
    (chart,) = picture.charts
    assert [key.words for key in chart.legend][-2:] == ["no plan fits", "not solved yet"]
    assert len(chart.marks) == 5 + 2  # what a condition leaves out is not drawn
    html = tmp_path / "m.html"
    planner("sweep", "plot", store, "--x", "chips", "--y", "batch_tokens", "--color", "hardware",
            "--plot", html)  # fmt: skip
    assert "<table" in html.read_text(encoding="utf-8")


_OF_CHIPS = ("plot", "STORE", "--plot", "m.svg", "--x", "chips", "--y")


@each(
    ("arguments", "said"),
    [
        (("run", "STUDY"), "output: is missing; name the store"),
        (
            ("run", "STUDY", "-o", "s.db", "--workers", "0"),
            "workers: '0' is not a whole",
        ),
        (
            ("run", "STUDY", "-o", "s.db", "--workers", "9999"),
            "workers: '9999' is not a whole",
        ),
        (("run", "STUDY", "-o", "s.db", "--workers", "2", "--scheduler", "a"), "leave one out"),
        (("run", "STUDY", "-o", "."), "it is a folder"),
        (("run", "STUDY", "-o", "nowhere/s.db"), "no such file or directory"),
        (("run", "nothing.yaml", "-o", "s.db"), "cannot be read"),
        (("status", "nothing.db"), "there is no such store"),
        (("status", "STUDY"), "is no store of planner sweep"),
        (("table", "STORE", "--columns", "chps"), "did you mean 'chips'"),
        (("table", "STORE", "--rows", "0"), "rows: '0' is not a whole number from 1 to 1,0"),
        (("table", "STORE", "--csv", "t.txt"), "name it *.csv"),
        (("table", "STORE", "--csv", "nowhere/t.csv"), "cannot be written"),
        (("table", "STORE", "--where", "chps > 1"), "'chps' is no column"),
        (("table", "STORE", "--where", "chips >"), "is not a condition"),
        (("plot", "STORE"), "plot: is missing"),
        (("plot", "STORE", "--plot", "m.txt"), "pictures are written as"),
        (("plot", "STORE", "--plot", "m.svg"), "x: is missing"),
        (
            ("plot", "STORE", "--plot", "m.svg", "--x", "chips", "--y", "hardware"),
            "color: is missing",
        ),
        (("plot", "STORE", "--plot", "m.svg", "--kind", "pie"), "'pie' is not one of map"),
        (("plot", "STORE", "--plot", "m.svg", "--x", "chips", "--y", "plan"), "is not a number"),
        (("plot", "STORE", "--plot", "m.svg", "--columns", "chips"), "two columns or more"),
        ((*_OF_CHIPS, "hardware", "--color", "hardware"), "color: hardware is an axis of this map"),
        ((*_OF_CHIPS, "best.mfu", "--where", "chips > 99"), "where: no point has an answer that"),
        (("table", "STORE", "--where", "hardware == tpu"), "a text stands in quotes: 'tpu'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    study: Path,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"STUDY": str(study), "STORE": str(store)}
    mistakes = refused("sweep", *(names.get(word, word) for word in arguments))
    assert said in mistakes[0], mistakes
    assert list(tmp_path.iterdir()) == []


def test_the_schema_of_a_study_is_printed() -> None:
    document = planner("schema", "study").document
    assert set(document["properties"]) == {"schema_version", "job", "cross", "zip", "list", "where"}
    assert json.dumps(document).count("planner models list") == 1

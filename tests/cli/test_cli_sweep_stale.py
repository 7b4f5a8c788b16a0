"""Studies whose answers are of several versions: every way to look at them says so."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from studies.sweep.stand_in import Here, known

from cli.command import planner
from planner.answers import sweeping
from planner.studies.sweep.running import workers

STUDY = "job: {model: gpt3-125m}\ncross: {chips: [8, 16, 32], batch_tokens: [1Mi, 4Mi]}\n"
SAID = "4 of 6 points are of another version; sweep run --refresh computes them again"
MAP = ("plot", "--x", "chips", "--y", "batch_tokens", "--color", "best.mesh.tp", "--plot")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of six points, those of 8 and 16 chips solved by a version before."""
    path = tmp_path_factory.mktemp("sweep") / "study.yaml"
    path.write_text(STUDY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeping, "solve_in_order", known)
        patch.setattr(workers, "LocalWorkers", lambda _: Here())
        assert not planner("sweep", "run", path, "-o", path.with_suffix(".db")).code
    with closing(sqlite3.connect(path.with_suffix(".db"))) as database, database:
        database.execute(
            "UPDATE result SET version = '0.0.1+old' WHERE key IN (SELECT key FROM point "
            "WHERE json_extract(axes, '$.chips') < 32)"
        )
    return path.with_suffix(".db")


def test_what_shows_answers_of_several_versions_says_so(store: Path, tmp_path: Path) -> None:
    picture, table = tmp_path / "map.svg", tmp_path / "table.csv"
    for command in (("table",), ("table", "--csv", table), (*MAP, picture)):
        outcome = planner("sweep", command[0], store, *command[1:])
        assert (outcome.code, outcome.err.splitlines()) == (0, [SAID])
    assert SAID in " ".join(picture.read_text(encoding="utf-8").split())
    assert SAID in planner("sweep", "status", store).out
    for command in (("status",), ("table",), (*MAP, picture)):
        document = planner("sweep", command[0], store, *command[1:], "--json").document
        assert document["stale"] == 4


def test_points_that_are_not_shown_do_not_count(store: Path, tmp_path: Path) -> None:
    picture = tmp_path / "map.svg"
    for command in (("table",), (*MAP, picture)):
        asked = ("sweep", command[0], store, *command[1:], "--where")
        assert planner(*asked, "chips == 32").err == ""
        assert planner(*asked, "chips >= 16").err.startswith("2 of 4 points are")
        assert planner(*asked, "chips == 32", "--json").document["stale"] == 0

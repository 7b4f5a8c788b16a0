"""A store is one file once nobody has it open, also after those that only read."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from cli.command import planner

from planner.base.errors import InputError
from planner.studies.sweep.store import Solved, Store

FORMATS = Path(__file__).parents[2] / "formats"
ONE = Solved("k1", "v", "optimal", {"best": 1}, 1.0, {"seconds": 1.0})


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_readers_leave_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "k.db"
    with Store(path, write=True) as store:
        store.add([ONE])
        with Store(path) as reader:  # beside a run
            assert reader.results() == 1
        assert "k.db-wal" in names(tmp_path)
        store.add([ONE._replace(key="k2")])
    assert names(tmp_path) == ["k.db"]
    with Store(path) as reader:
        assert reader.results() == 2
    assert names(tmp_path) == ["k.db"]


def test_commands_leave_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "k.db"
    shutil.copy(FORMATS / "store-1.db", path)
    with Store(path, write=True):  # as a run has it: such a file has others beside it when read
        pass
    for command in (("status", path), ("table", path, "--csv", tmp_path / "t.csv")):
        assert planner("sweep", *command).code == 0
    assert names(tmp_path) == ["k.db", "t.csv"]


def test_what_a_killed_run_left_is_in_the_file_after_a_reader(tmp_path: Path) -> None:
    first, killed = tmp_path / "first", tmp_path / "killed"
    first.mkdir()
    with Store(first / "k.db", write=True) as store:
        store.add([ONE])
        shutil.copytree(first, killed)
    assert (killed / "k.db-wal").stat().st_size
    with Store(killed / "k.db") as reader:
        assert reader.results() == 1
    assert names(killed) == ["k.db"]
    database = sqlite3.connect(f"{(killed / 'k.db').as_uri()}?mode=ro&immutable=1", uri=True)
    assert database.execute("SELECT count(*) FROM result").fetchone() == (1,)
    database.close()


def test_readers_cannot_write(tmp_path: Path) -> None:
    with Store(tmp_path / "k.db", write=True) as store:
        store.add([ONE])
    with Store(tmp_path / "k.db") as reader:
        with pytest.raises(InputError, match="readonly"):
            reader.add([ONE._replace(key="k2")])
        assert reader.results() == 1

"""Stores: what is done, stale and failed, what is refused, and who holds one."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError, UnfinishedError
from planner.base.locks import held_by
from planner.studies.sweep import opening
from planner.studies.sweep.places import check_local, holding, locked_by
from planner.studies.sweep.store import READ, Solved, Store

OURS, THEIRS = "0.1.0+new", "0.1.0+old"


def solved(key: str, version: str = OURS, status: str = "optimal", answer: str = "a") -> Solved:
    return Solved(key, version, status, {"said": answer}, 0.5, {})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "study.db", write=True) as opened:
        with opened.new_points() as add:
            add((at, {"chips": at}, f"k{at}", f"model {at % 2}", "{}") for at in range(2500))
        yield opened


def test_a_point_without_a_result_is_to_do_neighbours_together(store: Store) -> None:
    store.add([solved("k0"), solved("k3"), solved("k5", THEIRS)])
    todo = [key for key, _, _ in store.to_do(OURS)]
    evens = [f"k{at}" for at in range(0, 2500, 2)]
    odds = [f"k{at}" for at in range(1, 2500, 2)]
    assert todo == [key for key in (*evens, *odds) if key not in ("k0", "k3", "k5")]
    again = [key for key, _, _ in store.to_do(OURS, refresh=True)]
    assert set(again) - set(todo) == {"k5"}


def test_every_question_of_one_family_is_to_do(store: Store) -> None:
    """They are read in pages."""
    with store.new_points() as add:
        add((at, {"chips": at}, f"k{at}", "one family", "{}") for at in range(2500))
    assert [key for key, _, _ in store.to_do(OURS)] == [f"k{at}" for at in range(2500)]


def test_results_that_no_point_asks_for_outlive_their_files(store: Store) -> None:
    """A study that has them again looks at the files then."""
    read = {READ: {"env.sh": "0" * 64}}
    store.add([solved("k1")._replace(run=read), solved("of another study")._replace(run=read)])
    store.drop_read(lambda _: True)
    assert store.result("k1", OURS) is None
    assert store.result("of another study", OURS) is not None


def test_what_is_stored_while_it_is_read_is_not_asked_again(store: Store) -> None:
    todo = store.to_do(OURS)
    first = next(todo)[0]
    store.add([solved(f"k{at}") for at in range(2500)])
    assert first == "k0"
    assert len(list(todo)) < 1000


def test_a_result_is_written_once(store: Store) -> None:
    assert store.add([solved("k1"), solved("k2")]) == 2
    assert store.add([solved("k2", answer="b"), solved("k3")]) == 1
    found = store.result("k2", OURS)
    assert found is not None
    assert (found.status, found.answer) == ("optimal", {"said": "a"})


def test_a_store_with_results_is_never_removed(store: Store) -> None:
    store.add([solved("k1")])
    store.discard()
    assert store.results() == 1
    store.drop("k1", OURS)
    store.discard()
    assert not store.path.exists()


def test_own_results_come_first_and_others_are_stale(store: Store) -> None:
    store.add([solved("k1", OURS, answer="ours"), solved("k1", THEIRS, answer="theirs")])
    store.add([solved("k2", "0.0.9", answer="older"), solved("k2", THEIRS, answer="theirs")])
    store.add([solved("k3", status="failed"), solved("k4", status="refused")])
    rows = {row.key: row for row in store.rows(OURS)}
    assert [rows[f"k{at}"].answer["said"] for at in (1, 2)] == ["ours", "theirs"]
    assert rows["k5"].status is None
    counts = store.counts(OURS)
    assert counts[:4] == (2500, 4, 1, 2)
    assert counts.by_status == {"optimal": 2, "failed": 1, "refused": 1}
    store.drop_failed()
    assert store.counts(OURS).done == 2


def test_points_of_another_study_replace_those_before(store: Store) -> None:
    store.add([solved("k7")])
    with store.new_points(digest="d") as add:
        add([(0, {"chips": 7}, "k7", "model", "{}"), (1, {}, "new", "model", "{}")])
    assert store.noted("digest") == "d"
    with suppress(KeyError), store.new_points(digest="e") as add:
        add([(0, {"chips": 9}, "k9", "model", "{}")])
        raise KeyError  # a later point cannot be asked: those before stay
    assert store.noted("digest") == "d"
    assert [key for key, _, _ in store.to_do(OURS)] == ["new"]
    assert [(row.place, row.key, row.status) for row in store.rows(OURS)] == [
        (0, "k7", "optimal"), (1, "new", None),
    ]  # fmt: skip


def test_a_transaction_that_is_broken_leaves_nothing(store: Store) -> None:
    with pytest.raises(InputError, match="cannot be used"):
        store.add([solved("k1"), solved("k2")._replace(status=None)])  # type: ignore[arg-type]
    assert store.results() == 0


@each(
    ("content", "said"),
    [(b"hello\n" * 200, "is no store of planner sweep"), (None, "there is no such store"),
     (b"", "is no store of planner sweep")],
)  # fmt: skip
def test_what_is_no_store_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "study.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        Store(path)


def test_another_database_and_another_form_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    sqlite3.connect(path).executescript("CREATE TABLE t (a); PRAGMA user_version = 7;")
    with pytest.raises(InputError, match="is no store"):
        Store(path, write=True)
    Store(tmp_path / "own.db", write=True).close()
    sqlite3.connect(tmp_path / "own.db").execute("PRAGMA user_version = 2")
    with pytest.raises(InputError, match="has form 2; this planner reads form 1"):
        Store(tmp_path / "own.db")


ENDLESS = """
ALTER TABLE {0} RENAME TO real;
CREATE VIEW {0} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
  SELECT real.* FROM real, n;
"""


@each("script", [
    *(ENDLESS.format(table) for table in ("meta", "job", "point", "result")),
    "CREATE TRIGGER t AFTER INSERT ON result BEGIN DELETE FROM result; END",
    "DROP INDEX point_key", "ALTER TABLE point ADD COLUMN more TEXT", "CREATE TABLE beside (a)",
])  # fmt: skip
def test_a_file_with_anything_else_in_it_is_refused(script: str, tmp_path: Path) -> None:
    """A view once asked SQLite for work without an end, which no signal interrupts."""
    path = tmp_path / "study.db"
    Store(path, write=True).close()
    with sqlite3.connect(path) as database:
        database.executescript(script)
    database.close()
    with pytest.raises(InputError, match="is no store as planner sweep writes it"):
        Store(path)


def test_results_that_cannot_be_read_are_not_left_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed run wrote last lies beside the store, which a read-only folder cannot merge.

    It lies beside the file itself, by whichever link the store is named.
    """
    link = store.path.with_name("link.db")
    link.symlink_to(store.path)
    store.add([solved("k1")])
    real = opening._connected

    def connected(uri: str, name: str, *, write: bool) -> sqlite3.Connection:
        if "immutable" not in uri:
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error
        return real(uri, name, write=write)

    monkeypatch.setattr(opening, "_connected", connected)
    for path in (store.path, link):
        with pytest.raises(
            InputError, match=r"its last results are in .*study\.db-wal, and its folder"
        ):
            Store(path)
    store.close()  # what is beside the file is in it now
    with Store(store.path) as opened:
        assert opened.results() == 1


def test_a_store_that_is_locked_is_not_read_past_the_lock(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_READER_WAITS_S", 0.05)
    path = store.path
    store.close()
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    database.execute("BEGIN EXCLUSIVE")
    with pytest.raises(UnfinishedError, match="is locked"):
        Store(path)
    database.close()


def test_damage_is_found_before_a_run(store: Store) -> None:
    store.add([solved(f"k{at}", answer="x" * 500) for at in range(300)])
    path = store.path
    store.close()
    content = bytearray(path.read_bytes())
    for at in range(3 * 4096, len(content), 4096):
        content[at : at + 512] = bytes(512)
    path.write_bytes(content)
    with (
        pytest.raises(InputError, match=r"is damaged \(.*\); name another.* \.recover prints"),
        Store(path, write=True) as opened,
    ):
        opened.check()


@each("asked", ['{"chips": 8', "7", b"\xff"])
def test_a_damaged_question_is_told_before_it_is_asked(store: Store, asked: str | bytes) -> None:
    other = sqlite3.connect(store.path)
    other.execute("UPDATE job SET asked = CAST(? AS TEXT) WHERE key = 'k4'", (asked,))
    other.commit()
    with pytest.raises(InputError, match=r"is damaged \(a row is not as it was written\)"):
        list(store.to_do(OURS))


def test_a_locked_store_names_who_holds_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(opening, "_WRITER_WAITS_S", 0.0)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store._db.execute("PRAGMA busy_timeout = 0")
    with pytest.raises(UnfinishedError, match="is locked"):
        store.add([solved("k1")])
    other.close()
    node = store.path.stat().st_ino
    listed = tmp_path / "locks"
    listed.write_text(
        f"1: POSIX  ADVISORY  READ 1 08:01:{node + 10**9} 128 128\n"
        f"2: POSIX  ADVISORY  WRITE 4711 08:01:{node} 120 120\n"
        f"3: POSIX  ADVISORY  READ {os.getpid()} 08:01:{node} 121 121\n",
        encoding="utf-8",
    )
    assert locked_by(store.path, listed).startswith(" by process 4711 on host "), "not by us"
    listed.write_text("", encoding="utf-8")
    assert locked_by(store.path, listed) == ""


def test_two_runs_do_not_hold_one_store(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with holding(path):
        assert held_by(path).startswith("process ")
        with (
            pytest.raises(InputError, match=r"another run holds it \(process \d+ on host"),
            holding(path),
        ):
            pass  # fmt: skip
    assert held_by(path) == ""
    assert list(tmp_path.iterdir()) == []
    with holding(path):
        pass


def test_two_runs_do_not_hold_one_store_by_two_names(store: Store) -> None:
    link = store.path.with_name("link.db")
    link.symlink_to(store.path)
    for one, other in ((store.path, link), (link, store.path)):
        with holding(one):
            assert held_by(other).startswith("process ")
            with pytest.raises(InputError, match="another run holds it"), holding(other):
                pass
    check_local(link)
    os.link(store.path, link.with_name("other.db"))
    with pytest.raises(InputError, match=r"study\.db: has several names \(hard links\)"):
        check_local(store.path)


@each(
    ("mounts", "refused"),
    [
        ("/dev/a / ext4 rw 0 0\nhost:/x FOLDER nfs4 rw 0 0\n", True),
        ("/dev/a / ext4 rw 0 0\nhost:/x FOLDER/other nfs4 rw 0 0\n", False),
        ("host:/x / nfs rw 0 0\n/dev/a FOLDER xfs rw 0 0\n", False),
        ("/dev/a / ext4 rw 0 0\n/dev/b FOLDER ext4 rw 0 0\n//x FOLDER cifs rw 0 0\n", True),
        ("", False),
    ],
)
def test_network_file_systems_are_refused(tmp_path: Path, mounts: str, refused: bool) -> None:
    listed = tmp_path / "mounts"
    listed.write_text(mounts.replace("FOLDER", str(tmp_path)), encoding="utf-8")
    if refused:
        with pytest.raises(InputError, match="network file system"):
            check_local(tmp_path / "study.db", listed)
    else:
        check_local(tmp_path / "study.db", listed)

"""SQLite files of somebody else: nothing in them computes, and signals count."""

import signal
import sqlite3

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.base.sqlite_files import guarded, heeding_signals, plain_tables

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
DISGUISED = f"""
    PRAGMA writable_schema = ON;
    UPDATE sqlite_master SET type = 'table', sql = 'CREATE VIEW a AS {ENDLESS}' WHERE name = 'a';
"""

VIRTUAL = """
    PRAGMA writable_schema = ON;
    INSERT INTO sqlite_master VALUES ('table', 'r', 'r', 0, 'CREATE VIRTUAL TABLE r USING some(x)');
"""


def made(*statements: str) -> sqlite3.Connection:
    """A database with two plain tables, an index, and what the statements make of it."""
    database = sqlite3.connect(":memory:")
    database.executescript("CREATE TABLE a (x PRIMARY KEY, y); CREATE TABLE b (x); ANALYZE;")
    database.executescript("CREATE UNIQUE INDEX a_y ON a (y); CREATE INDEX b_x ON b (x);")
    for statement in statements:
        database.executescript(statement)
    guarded(database)
    return database


def test_plain_tables() -> None:
    database = made()
    assert {"a", "b"} <= plain_tables(database, "file")
    assert database.execute("PRAGMA trusted_schema").fetchone() in (
        (0,),
        None,
    )  # None: is not known


@each(("statement", "words"), [
    (f"CREATE VIEW v AS {ENDLESS}", "'v' is no plain table"),
    ("CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; END", "'t' is no plain table"),
    (VIRTUAL, "'r' is no plain table"),
    (DISGUISED, "'a' is no plain table"),
    ("CREATE TABLE c (x, y AS (x LIKE '%a%b%'))", "'c' has a computed column"),
    ("CREATE TABLE c (x, y AS (zeroblob(x)) STORED)", "'c' has a computed column"),
])  # fmt: skip
def test_what_computes_is_refused(statement: str, words: str) -> None:
    with pytest.raises(InputError, match=f"^file: .*{words}"):
        plain_tables(made(statement), "file")


@each("asked", ["SELECT zeroblob(11000000)", "SELECT 'a' LIKE printf('%101d', 1)"])
def test_one_value_has_a_limit(asked: str) -> None:
    with pytest.raises(sqlite3.Error, match=r"too big|too complex"):
        made().execute(asked).fetchall()


class StoppedError(BaseException):
    """What the handler of a signal raises."""


def test_signals_count() -> None:
    def stop(*_: object) -> None:
        raise StoppedError

    database = made()
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(StoppedError), heeding_signals(database):
            database.execute(ENDLESS).fetchall()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert database.execute("SELECT 1").fetchall() == [(1,)]
    with pytest.raises(sqlite3.OperationalError, match="no such table"), heeding_signals(database):
        database.execute("SELECT * FROM missing")

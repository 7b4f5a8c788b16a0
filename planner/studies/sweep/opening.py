"""Opening the file of a store: what it has to hold, and what nobody is trusted with.

A file may come from somebody else. It has the tables that are written here and nothing beside them:
a view could ask SQLite for work without an end, which no signal interrupts.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path

from planner.base.errors import InputError
from planner.base.messages import one_line
from planner.base.sqlite_files import guarded

_APPLICATION = 0x504C5357  # "PLSW": what the file says of itself
_FORM = 1
_WRITER_WAITS_S, _READER_WAITS_S = 20.0, 5.0
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE job (
  key TEXT PRIMARY KEY, family TEXT NOT NULL, first INTEGER NOT NULL, asked TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE point (place INTEGER PRIMARY KEY, key TEXT NOT NULL, axes TEXT NOT NULL);
CREATE TABLE result (
  number INTEGER PRIMARY KEY, key TEXT NOT NULL, version TEXT NOT NULL, status TEXT NOT NULL,
  answer TEXT NOT NULL, cpu_s REAL NOT NULL, at TEXT NOT NULL, run TEXT NOT NULL,
  UNIQUE (key, version)
);
CREATE INDEX point_key ON point (key);
CREATE INDEX job_order ON job (family, first);
"""
_OBJECTS = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"
_NO_PLACE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def opened(path: Path, name: str, *, write: bool) -> sqlite3.Connection:
    """The database, checked; to be read from a folder that cannot be written to as well.

    Who reads may not change it, but opens it as who writes does: of these alone the last one takes
    the files beside it away, and what a run that was killed left in them into the file.

    Args:
        path: Of the store, through links.
        name: What messages call it.
        write: Whether it is made where it is missing, and may be changed.

    Raises:
        InputError: It is another database, one of another version, or has something else in it; its
            last results are in a second file, which cannot be read where it lies.
        sqlite3.Error: It is none, damaged or locked.
    """
    uri = path.absolute().as_uri()
    try:
        database = _connected(f"{uri}?mode={'rwc' if write else 'rw'}", name, write=write)
    except sqlite3.OperationalError as error:
        if write or error.sqlite_errorcode & 0xFF not in _NO_PLACE:
            raise
        _refuse_unmerged(path)
        database = _connected(f"{uri}?mode=ro&immutable=1", name, write=False)
    if write:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
    return database


def _refuse_unmerged(path: Path) -> None:
    """Refuses a store beside which what a run wrote last still lies in a file of its own."""
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        name = one_line(str(path))
        raise InputError(
            f"{name}: its last results are in {name}-wal, and its folder cannot be written to; "
            "copy both files to another folder"
        )


def _connected(uri: str, name: str, *, write: bool) -> sqlite3.Connection:
    waits_s = _WRITER_WAITS_S if write else _READER_WAITS_S
    database = sqlite3.connect(
        uri, uri=True, timeout=waits_s, isolation_level=None, check_same_thread=False
    )
    try:
        guarded(database)
        if not write:
            database.execute("PRAGMA query_only = ON")
        _recognise(database, name, write=write)
    except BaseException:
        database.close()
        raise
    return database


def _recognise(database: sqlite3.Connection, name: str, *, write: bool) -> None:
    """Makes the tables of an empty file; refuses one that is no store.

    Raises:
        InputError: It is another database, one of another version, or has something else in it.
    """
    kind = database.execute("PRAGMA application_id").fetchone()[0]
    objects = frozenset(database.execute(_OBJECTS).fetchall())
    if kind == 0 and not objects and write:
        made = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_FORM};"
        database.executescript(f"BEGIN IMMEDIATE; {made} {_TABLES} COMMIT;")
        return
    if kind != _APPLICATION:
        raise no_store(name)
    form = database.execute("PRAGMA user_version").fetchone()[0]
    if form != _FORM:
        raise InputError(f"{name}: has form {form}; this planner reads form {_FORM}")
    if odd := sorted(f"{what} {title}" for what, title, _ in objects ^ _own_objects()):
        raise InputError(
            f"{name}: is no store as planner sweep writes it (see {one_line(odd[0])}); name "
            "another file"
        )


def no_store(name: str) -> InputError:
    """What is said of another file."""
    return InputError(f"{name}: is no store of planner sweep; name another file")


@cache
def _own_objects() -> frozenset[tuple[str, str, str]]:
    """What the tables of a store are for SQLite: kind, name and text of each."""
    with sqlite3.connect(":memory:") as database:
        database.executescript(_TABLES)
        return frozenset(database.execute(_OBJECTS).fetchall())

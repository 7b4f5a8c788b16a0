"""SQLite files that somebody else may have made: read so that nothing in them computes.

The schema of such a file may hold more than tables: views over endless queries, triggers, columns
whose values are made while they are read. SQLite runs all of it within one call, in which no
signal counts.

Source: SQLite, Defense Against The Dark Arts, https://www.sqlite.org/security.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from planner.base.errors import InputError
from planner.base.files import LARGEST_FILE_BYTES
from planner.base.messages import one_line, shown
from strict_yaml.limits import largest

if TYPE_CHECKING:
    import sqlite3

_LONGEST_PATTERN = 100
"""Of LIKE and GLOB, whose time can grow as a power of it."""
_STEPS = 10_000
"""Of SQLite's machine, a fraction of a millisecond, between two looks at signals."""
_OTHERS = """
    SELECT name FROM sqlite_master WHERE NOT (
        (type = 'table' AND sql GLOB 'CREATE TABLE *')
        OR (type = 'index' AND (sql IS NULL OR sql GLOB 'CREATE INDEX *'
                                OR sql GLOB 'CREATE UNIQUE INDEX *'))
    ) LIMIT 1
"""
"""SQLite itself writes these words first, and makes what they say, whatever `type` says."""
_MADE = """
    SELECT table_of.name FROM sqlite_master AS table_of, pragma_table_xinfo(table_of.name) AS field
    WHERE table_of.type = 'table' AND field.hidden != 0 LIMIT 1
"""


def guarded(database: sqlite3.Connection) -> None:
    """Limits what a file can make SQLite do: texts, patterns, functions that its schema calls."""
    import sqlite3  # noqa: PLC0415  (not in every build of Python)

    database.execute(
        "PRAGMA trusted_schema = OFF"
    )  # older versions do not know it, and say nothing
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(largest(LARGEST_FILE_BYTES), 2**31 - 1))
    database.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _LONGEST_PATTERN)


def plain_tables(database: sqlite3.Connection, name: str) -> frozenset[str]:
    """Names of the tables of a file that has nothing but tables and indexes.

    Args:
        database: The file.
        name: What messages call it.

    Raises:
        InputError: It has views, triggers, virtual tables or columns that are computed.
    """
    for (what,) in database.execute(_OTHERS):
        allowed = "a file with views, triggers or virtual tables is not read"
        raise InputError(f"{name}: {shown(what)} is no plain table or index; {allowed}")
    for (what,) in database.execute(_MADE):
        raise InputError(f"{name}: the table {shown(what)} has a computed column; none is read")
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(str(what) for (what,) in found)


def check_whole(database: sqlite3.Connection, name: str) -> None:
    """Reads a file for damage, in time that grows with its size.

    Where it finds none, each page is of one row or one place of a tree: few pages cannot stand for
    endless rows.

    Raises:
        InputError: It has some.
    """
    database.execute("PRAGMA ignore_check_constraints = ON")  # else they are computed
    (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise InputError(f"{name}: is damaged ({one_line(str(found).splitlines()[-1])})")


@contextmanager
def heeding_signals(database: sqlite3.Connection) -> Iterator[None]:
    """Inside of it signals count while SQLite works: what their handler raises ends the query.

    SQLite itself only says that it was interrupted; the exception of the handler is raised instead.
    """
    raised: list[BaseException] = []
    look = _looking(raised)
    next(look)
    database.set_progress_handler(look.__next__, _STEPS)
    try:
        yield
    except Exception:
        if not raised:
            raise
    finally:
        database.set_progress_handler(None, _STEPS)
    if raised:
        raise raised[0]


def _looking(raised: list[BaseException]) -> Iterator[int]:
    """Gives 0, and 1 for ever once a signal's handler has raised, which happens in `yield`."""
    try:
        while True:
            yield 0
    except GeneratorExit:
        return
    except BaseException as error:  # whatever a handler raises; it is raised again
        raised.append(error)
    while True:
        yield 1

"""Damage to the store of a study by SQL: it stays a database, but not the one that was written.

Each function takes a `random.Random`, so that a seed says what it does.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from pathlib import Path
from random import Random

_COLUMNS = {
    "meta": ("name", "value"), "job": ("key", "family", "first", "asked"),
    "point": ("place", "key", "axes"),
    "result": ("number", "key", "version", "status", "answer", "cpu_s", "at", "run"),
}  # fmt: skip
_VALUES = (
    "'no JSON'", "''", "'[]'", "'{}'", "'1'", "'null'", "'{\"chips\": NaN}'",
    "'{\"chips\": 1e400}'",
    "NULL", "0", "-1", "1.5", "9e999", "9223372036854775807", "x'ff00'", "CAST(x'ff' AS TEXT)",
    "replace(hex(zeroblob(3000)), '0', '[')", "hex(zeroblob(100000))",
    "'optimal'", "'{\"a\": {\"b\": []}}'", "char(27) || '[31m'", "'a' || char(10) || 'b'",
    "'{\"chips\":' || hex(zeroblob(2600)) || '}'", "'{\"chips\":8,\"chips\":9}'",
)  # fmt: skip
_MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000)"
_STATEMENTS = (
    *("UPDATE {table} SET {column} = {value}",) * 12,
    *("UPDATE {table} SET {column} = {value} WHERE {column} = (SELECT {column} FROM {table} "
      "LIMIT 1)",) * 6,
    "DELETE FROM {table}", "DROP TABLE {table}",
    "ALTER TABLE {table} RENAME COLUMN {column} TO other",
    "ALTER TABLE {table} DROP COLUMN {column}", "ALTER TABLE {table} ADD COLUMN other",
    "{away}CREATE VIEW {table} AS SELECT * FROM away",
    "{away}CREATE VIEW {table} AS {many} SELECT {numbers} FROM n",
    "{away}CREATE TABLE {table} ({columns});\nINSERT INTO {table} SELECT * FROM away",
    "{away}CREATE VIRTUAL TABLE {table} USING fts5({columns})",
    "CREATE TRIGGER t BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM result; END",
    *(f"PRAGMA user_version = {number}" for number in (0, 2, 99, -1)),
    *(f"PRAGMA application_id = {number}" for number in (0, 1)),
    "PRAGMA writable_schema = ON;\n"
    "UPDATE sqlite_master SET sql = 'CREATE TABLE x' WHERE name = 'result'",
    "PRAGMA writable_schema = ON;\nUPDATE sqlite_master SET rootpage = 2",
    "PRAGMA writable_schema = ON;\nDELETE FROM sqlite_master WHERE name = 'point_key'",
    "INSERT INTO result SELECT number + 10, key, version || 'x', status, answer, cpu_s, at, run "
    "FROM result",
    "INSERT INTO point SELECT place + 10, key || 'x', axes FROM point", "CREATE TABLE more (a)",
)  # fmt: skip


def statement(random: Random) -> str:
    """Something that is done to a store; several statements stand in lines of their own."""
    table = random.choice([*_COLUMNS])
    columns = _COLUMNS[table]
    return random.choice(_STATEMENTS).format(
        table=table, column=random.choice(columns), columns=", ".join(columns),
        value=random.choice(_VALUES), numbers=", ".join(f"i AS {name}" for name in columns),
        many=_MANY, away=f"ALTER TABLE {table} RENAME TO away;\n",
    )  # fmt: skip


def _changed(base: sqlite3.Connection, random: Random) -> None:
    """One to three changes; what the database does not take is left out."""
    for _ in range(random.randint(1, 3)):
        for one in statement(random).split(";\n"):
            with contextlib.suppress(sqlite3.Error):
                base.execute(one)
    with contextlib.suppress(sqlite3.Error):
        base.commit()


def damaged(content: bytes, random: Random) -> bytes:
    """The file after some SQL."""
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.deserialize(content)
        _changed(base, random)
        return base.serialize()


def logged(content: bytes, random: Random | None = None) -> tuple[bytes, bytes]:
    """The file in the mode of a log, and a log of what is changed; None: a change of nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        path.write_bytes(content)
        with contextlib.closing(sqlite3.connect(path)) as base:
            base.execute("PRAGMA journal_mode = WAL")
        with contextlib.closing(sqlite3.connect(path)) as base:
            base.execute("PRAGMA wal_autocheckpoint = 0")
            if random is None:
                base.execute("UPDATE result SET run = run")
                base.commit()
            else:
                _changed(base, random)
            log = path.with_name("store.db-wal")
            return path.read_bytes(), log.read_bytes() if log.is_file() else b""

"""The store of a study: one SQLite file with its points, their questions and the answers.

A point is a place in the study and the key of its question; a question has at most one result for
each version of the program. Nothing says that a point is being worked on: one without a result is
to do. Only the run that holds the store (`holding`) writes to it, and a result is on disk before
anyone is told of it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from planner.base.apart import reading, updating
from planner.base.commands import path_typed
from planner.base.errors import InputError, UnfinishedError
from planner.base.files import is_file, real_path, similar_file
from planner.base.messages import one_line
from planner.studies.sweep.opening import no_store, opened
from planner.studies.sweep.places import locked_by
from planner.studies.sweep.rows import Row, object_in, row_of
from strict_yaml import contents

_CHUNK = 1000
_SHOWN = """
  result.number = (SELECT number FROM result AS own WHERE own.key = point.key
                   ORDER BY own.version = :version DESC, own.number DESC LIMIT 1)
"""
NewPoint = tuple[int, Mapping[str, Any], str, str, str]
"""Place, values of the axes, key, family, and the fields as JSON."""
FAILED = ("failed", "refused")
"""Of results without an answer: the program broke on it, or the question cannot be asked."""
READ = "read"
"""In `Solved.run`: what was read for a result beside what its key counts, as notes by files."""


class Solved(NamedTuple):
    """What a worker found for one question.

    Attributes:
        key: Of the question.
        version: Of the program that answered.
        status: Of the answer, or one of `FAILED`.
        answer: It, JSON-ready.
        cpu_s: CPU seconds that it took.
        run: Counts, times and the machine: what is of the run, not of the answer.
        read: What was read for it: files with their notes (`strict_yaml.contents`).
    """

    key: str
    version: str
    status: str
    answer: Mapping[str, Any]
    cpu_s: float
    run: Mapping[str, Any]
    read: tuple[tuple[str, str], ...] = ()


class Counts(NamedTuple):
    """How far a study is.

    Attributes:
        points: Of the study.
        done: With a result, stale ones included.
        stale: Whose only results are of other versions.
        failed: Whose result is no answer.
        by_status: Points by the status of their result.
        cpu_s: CPU seconds of all results.
    """

    points: int
    done: int
    stale: int
    failed: int
    by_status: dict[str, int]
    cpu_s: float


class Store:
    """An open store.

    Args:
        path: The file.
        write: Whether it is made where it is missing, and may be changed.
        flag: Names it in messages, where that is known.

    Raises:
        InputError: It is missing, no store, damaged, locked, or its folder cannot be written to;
            the command reads something else there, or is to write another file there.
    """

    def __init__(self, path: Path, *, write: bool = False, flag: str = "") -> None:
        self.path = real_path(path)  # where SQLite keeps its log, and runs their lock
        self._name = one_line(str(path))
        if write:
            updating(path, "store", flag)
        else:
            reading(path, "store")
            if not is_file(path):
                raise InputError(f"{self._name}: there is no such store{similar_file(path)}")
        with self._told():
            self._db = opened(self.path, self._name, write=write)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turns what SQLite raises into one line.

        Raises:
            InputError: The file is no store, damaged or cannot be written to.
            UnfinishedError: The disk is full, or another process keeps it locked.
        """
        try:
            yield
        except sqlite3.Error as error:
            said = str(error).lower()
            if "full" in said or "disk i/o" in said:
                raise UnfinishedError(
                    f"{self._name}: the disk is full or fails ({said})"
                ) from error
            if "locked" in said or "busy" in said:
                raise UnfinishedError(f"{self._name}: is locked{locked_by(self.path)}") from error
            if "decode to utf-8" in said:  # what follows is the text itself
                raise self._damaged("a row is not as it was written") from error
            if "not a database" in said:  # nor was it one: recovering needs what it begins with
                raise no_store(self._name) from error
            if "malformed" in said or "corrupt" in said:
                raise self._damaged(said) from error
            raise InputError(f"{self._name}: cannot be used ({said})") from error

    @contextmanager
    def _read(self) -> Iterator[None]:
        """As `_told`, where texts are read: the store is damaged where they are none of ours."""
        with self._told():
            try:
                yield
            except (ValueError, TypeError, RecursionError) as error:
                raise self._damaged("a row is not as it was written") from error

    def _damaged(self, said: str) -> InputError:
        return InputError(
            f"{self._name}: is damaged ({said}); name another file; "
            f"sqlite3 {path_typed(self._name)} .recover prints what can be read"
        )

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on disk at its end, or nothing."""
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Closes the file; what was written is in it alone then."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check(self) -> None:
        """Reads the whole file for damage.

        Raises:
            InputError: It has some.
        """
        with self._told():
            found = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise self._damaged(one_line(str(found).splitlines()[-1]))

    def noted(self, name: str) -> str | None:
        """What was noted under a name."""
        with self._told():
            found = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def axes(self) -> tuple[str, ...]:
        """Fields of the study that vary.

        Raises:
            InputError: The store is damaged.
        """
        text = self.noted("axes") or "[]"
        with self._read():
            return tuple(map(str, json.loads(text)))

    @contextmanager
    def new_points(self, **notes: str) -> Iterator[Callable[[Iterable[NewPoint]], None]]:
        """Puts the points of a study in the place of those that are there: all of them, or none.

        Questions and results stay. What it gives adds points.

        Args:
            **notes: Texts by name, for `noted`.
        """
        with self.writing() as database:
            database.execute("DELETE FROM point")
            database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", notes.items())
            yield partial(_add_points, database)

    def discard(self) -> None:
        """Removes the file of a store, unless it has results."""
        if self.results():
            return
        self.close()
        for ending in ("", "-wal", "-shm"):
            self.path.with_name(f"{self.path.name}{ending}").unlink(missing_ok=True)

    def add(self, results: Sequence[Solved]) -> int:
        """Writes results; those that are there already stay. Returns how many were new."""
        rows = [
            (one.key, one.version, one.status, json_text(one.answer), one.cpu_s, json_text(one.run))
            for one in results
        ]
        with self.writing() as database:
            before = database.total_changes
            database.executemany(
                "INSERT INTO result (key, version, status, answer, cpu_s, run, at) VALUES "
                "(?, ?, ?, ?, ?, ?, datetime('now')) ON CONFLICT (key, version) DO NOTHING",
                rows,
            )
            return database.total_changes - before

    def drop_failed(self) -> None:
        """Drops results that are no answers, so that their points are to do again."""
        with self.writing() as database:
            database.execute(f"DELETE FROM result WHERE status IN {FAILED!r}")

    def drop_read(self, changed: Callable[[Iterable[tuple[str, str]]], object]) -> None:
        """Drops results of the study that were found from files that hold something else now.

        Args:
            changed: Says so of what was read.
        """
        query = (
            f"SELECT number, run FROM result WHERE run LIKE '%\"{READ}\"%' "
            "AND key IN (SELECT key FROM point)"
        )
        with self._read():
            old = [
                (number,)
                for number, run in self._db.execute(query)
                if changed(_notes_in(object_in(run)))
            ]
        with self.writing() as database:
            database.executemany("DELETE FROM result WHERE number = ?", old)

    def to_do(
        self, version: str, *, refresh: bool = False
    ) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Questions without a result, neighbours one after another: key, family, fields.

        Args:
            version: Of this program.
            refresh: Whether those whose results are all stale are asked again.
        """
        own = "AND result.version = :version" if refresh else ""
        query = (
            "SELECT key, family, asked, first FROM job "
            "WHERE (family > :family OR (family = :family AND first > :first)) "
            "AND EXISTS (SELECT 1 FROM point WHERE point.key = job.key) "
            f"AND NOT EXISTS (SELECT 1 FROM result WHERE result.key = job.key {own}) "
            f"ORDER BY family, first LIMIT {_CHUNK}"
        )
        family, first = "", -1
        while True:
            asked = {"version": version, "family": family, "first": first}
            with self._read():
                page = self._db.execute(query, asked).fetchall()
                questions = [(row[0], row[1], object_in(row[2])) for row in page]
            if not page:
                return
            yield from questions
            family, first = page[-1][1], page[-1][3]

    def counts(self, version: str) -> Counts:
        """How far the study is.

        Args:
            version: Of this program.
        """
        query = (
            "SELECT result.status, result.version = :version, count(*), total(result.cpu_s) "
            f"FROM point LEFT JOIN result ON {_SHOWN} GROUP BY 1, 2"
        )
        with self._told():
            rows = self._db.execute(query, {"version": version}).fetchall()
        done = [row for row in rows if row[0] is not None]
        by_status = dict[str, int]()
        for status, _, count, _ in done:
            by_status[status] = by_status.get(status, 0) + count
        return Counts(
            points=sum(row[2] for row in rows),
            done=sum(row[2] for row in done),
            stale=sum(row[2] for row in done if not row[1]),
            failed=sum(by_status.get(name, 0) for name in FAILED),
            by_status=by_status,
            cpu_s=sum(row[3] for row in done),
        )

    def rows(self, version: str) -> Iterator[Row]:
        """The points in the order of the study, each with the newest result that fits it best.

        Args:
            version: Of this program, whose results come first.
        """
        query = (
            "SELECT point.place, point.axes, job.asked, point.key, result.status, result.answer, "
            "result.version, result.cpu_s FROM point JOIN job ON job.key = point.key "
            f"LEFT JOIN result ON {_SHOWN} WHERE point.place > :place "
            f"ORDER BY point.place LIMIT {_CHUNK}"
        )
        place = -1
        while True:
            with self._read():
                page = self._db.execute(query, {"version": version, "place": place}).fetchall()
                rows = [*map(row_of, page)]
            if not rows:
                return
            yield from rows
            place = rows[-1].place

    def results(self) -> int:
        """How many there are, of all versions and of questions that no point asks any more too."""
        with self._told():
            return int(self._db.execute("SELECT count(*) FROM result").fetchone()[0])

    def result(self, key: str, version: str) -> Solved | None:
        """What was found for a question in this version, if anything was."""
        with self._read():
            found = self._db.execute(
                "SELECT status, answer, cpu_s, run FROM result WHERE key = ? AND version = ?",
                (key, version),
            ).fetchone()
            if found is None:
                return None
            status, answer, cpu_s, run = found
            own = object_in(run)
            return Solved(
                key, version, str(status), object_in(answer), cpu_s, own, (*_notes_in(own),)
            )

    def drop(self, key: str, version: str) -> None:
        """Drops what was found for a question in a version."""
        with self.writing() as database:
            database.execute("DELETE FROM result WHERE key = ? AND version = ?", (key, version))


def _add_points(database: sqlite3.Connection, rows: Iterable[NewPoint]) -> None:
    points = [(at, key, json_text(axes), family, asked) for at, axes, key, family, asked in rows]
    database.executemany(
        "INSERT INTO job VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
        "family = excluded.family, first = excluded.first, asked = excluded.asked",
        [(key, family, at, asked) for at, key, _, family, asked in points],
    )
    database.executemany(
        "INSERT OR REPLACE INTO point VALUES (?, ?, ?)", [point[:3] for point in points]
    )


def _notes_in(run: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """What was read beside what a key counts.

    Raises:
        TypeError: It is not as it was written.
    """
    notes = run.get(READ, {})
    if not isinstance(notes, dict) or not all(map(contents.is_note, notes.values())):
        raise TypeError("no notes by files")
    return notes.items()


def json_text(value: Mapping[str, Any]) -> str:
    """What a store holds of a document.

    Raises:
        ValueError: It holds NaN or infinity.
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False)

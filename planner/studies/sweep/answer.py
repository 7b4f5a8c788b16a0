"""A study in its store, read when it is looked at: how far it is, its rows, its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from planner.base.errors import InputError
from planner.base.locks import held_by
from planner.base.printable import Shown
from planner.question.provenance import stamped
from planner.results.dataframes import dataframe
from planner.studies.sweep import columns
from planner.studies.sweep.question.conditions import condition_of
from planner.studies.sweep.question.keys import answering_version
from planner.studies.sweep.rows import Age, Row
from planner.studies.sweep.store import FAILED, Counts, Store

_REASONS = 3
_FIRST = 200  # points that are looked at for columns before all are


class SweepResult(Shown):
    """A study and its answers. Nothing is read before it is asked for, and never all at once.

    Args:
        path: Of the store.
        kept: What has to live as long as this: a temporary folder.
    """

    __slots__ = ("_kept", "path")

    def __init__(self, path: Path, kept: object = None) -> None:
        self.path = path
        self._kept = kept

    def __len__(self) -> int:
        return self.counts.points

    @property
    def counts(self) -> Counts:
        """How far it is."""
        with Store(self.path) as store:
            return store.counts(answering_version())

    @property
    def axes(self) -> tuple[str, ...]:
        """Fields that vary."""
        with Store(self.path) as store:
            return store.axes()

    @property
    def file(self) -> str:
        """The study file; empty: it comes from Python."""
        with Store(self.path) as store:
            return store.noted("file") or ""

    @property
    def running(self) -> str:
        """Who holds the store now; empty: nobody."""
        return held_by(self.path)

    def rows(self, where: Sequence[str] = ()) -> Iterator[Row]:
        """Points with their answers, in the order of the study.

        Args:
            where: Conditions over columns; rows that lack one of them are left out.
        """
        conditions = [condition_of(text) for text in where]
        self.named([name for one in conditions for name in one.names] or ["status"], "where")
        with Store(self.path) as store:
            yield from columns.chosen(store.rows(answering_version()), conditions)

    def age(self, where: Sequence[str] = ()) -> Age:
        """How many of the points for which conditions hold are of another version."""
        counts = self.counts
        if not where or not counts.stale:
            return Age(counts.stale, counts.points)
        ours = answering_version()
        old = [row.version not in (None, ours) for row in self.rows(where)]
        return Age(sum(old), len(old))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns: each that any point has."""
        return self._columns(None)

    def _columns(self, rows: int | None) -> tuple[str, ...]:
        """Those of so many of the first points; None: of all."""
        with Store(self.path) as store:
            found = columns.known(islice(store.rows(answering_version()), rows))
            return tuple(dict.fromkeys((*store.axes(), *found)))

    def named(self, names: Sequence[str] | None, what: str = "columns") -> tuple[str, ...]:
        """Columns by their names; without names the usual ones.

        Raises:
            InputError: One is unknown.
        """
        if names is None:
            return columns.usual(self.axes)
        with suppress(InputError):  # most studies have the same columns everywhere
            return columns.checked(names, self._columns(_FIRST), what)
        return columns.checked(names, self.columns, what)

    def table(
        self, names: Sequence[str] | None = None, where: Sequence[str] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Rows of some columns; arguments as of `named` and `rows`."""
        return columns.cells(self.rows(where), self.named(names))

    def reasons(self) -> list[str]:
        """The first few reasons for which points have no answer."""
        found = dict[str, None]()
        with Store(self.path) as store:
            for row in store.rows(answering_version()):
                if row.status in FAILED:
                    found[f"{row.status}: {row.answer.get('reason')}"] = None
                if len(found) == _REASONS:
                    break
        return list(found)

    def to_dataframe(self, names: Sequence[str] | None = None, where: Sequence[str] = ()) -> Any:
        """A table of pandas, which the extra `dataframe` installs.

        Args:
            names: Columns; None: all single values.
            where: Conditions over columns.

        Raises:
            InputError: A column is unknown, or there is no pandas.
        """
        wanted = self.columns if names is None else self.named(names)
        rows = [dict(zip(wanted, row, strict=True)) for row in self.table(wanted, where)]
        return dataframe({"rows": rows}, "rows")

    def to_dict(self) -> dict[str, Any]:
        """How far the study is, as JSON-ready data."""
        counts = self.counts
        fields = {
            "file": self.file,
            "axes": list(self.axes),
            **counts._asdict(),
            "to_do": counts.points - counts.done,
            "running": self.running,
            "reasons": self.reasons(),
            "answering": answering_version(),
        }
        return stamped(fields)


def opened(path: Path) -> SweepResult:
    """The study in a store.

    Raises:
        InputError: There is none.
    """
    found = SweepResult(path)
    if not found.counts.points:
        writer = found.running or "planner sweep run"
        raise InputError(f"{path}: has no points yet; {writer} writes them")
    return found

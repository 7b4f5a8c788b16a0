"""How commands print: JSON alone on standard output, tables for people, progress on errors'."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from planner.base.messages import printable
from planner.base.progress import NotedProgress
from planner.report.printing import print_lines

_QUIET_S = 0.7
_SAID_S = 10.0


def print_json(fields: Any) -> None:
    """One JSON document; NaN and infinity are bugs and raise."""
    print(json.dumps(fields, indent=2, allow_nan=False))


@contextmanager
def schedules_bar(*, wanted: bool) -> Iterator[None]:
    """A bar while tables of synthesized collectives are made, where a question needs new ones."""
    from planner.collectives.tables.tables import listening  # noqa: PLC0415  (numpy; not for --help)

    with progress_bar(wanted=wanted, verb="synthesizing") as told, listening(told):
        yield


@contextmanager
def standing_bar(*, wanted: bool, verb: str) -> Iterator[NotedProgress | None]:
    """`progress_bar` of a search that says where it stands, to files and pipes as well.

    There a line says so every few seconds.
    """
    if wanted and not sys.stderr.isatty():
        with _said_lines(verb) as said:
            yield said
        return
    with progress_bar(wanted=wanted, verb=verb, elapsed=True) as shown:
        yield shown


@contextmanager
def _said_lines(verb: str) -> Iterator[NotedProgress]:
    """A line on standard error every few seconds."""
    started, ended = time.perf_counter(), threading.Event()
    latest: list[str] = []

    def tell(what: str, done: int, of: int, note: str = "") -> None:
        latest[:] = [f"{verb} {what}{note and f': {note}'}"]

    def say() -> None:
        while not ended.wait(_SAID_S):
            if latest:
                seconds = time.perf_counter() - started
                print_lines(f"{latest[-1]} ({seconds:.0f} s)", to=sys.stderr)

    thread = threading.Thread(target=say, daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        ended.set()
        thread.join()


def _bar(*, elapsed: bool) -> Any:
    """A bar of Rich, with the time that has passed or that which is left."""
    from rich.console import Console  # noqa: PLC0415  (only for a bar on a terminal)
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415
    from rich.table import Column  # noqa: PLC0415

    columns = [
        BarColumn(bar_width=12),
        TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True)),
        TextColumn("{task.description}"),
    ]
    shown = columns if elapsed else Bar.get_default_columns()
    return Bar(*shown, console=Console(stderr=True), transient=True)


@contextmanager
def progress_bar(
    *, wanted: bool, verb: str = "searching", elapsed: bool = False
) -> Iterator[NotedProgress | None]:
    """A bar on standard error that appears when the work takes longer than a moment.

    It appears then even where the work says nothing between its first word and its end.

    Args:
        wanted: Whether there is one at all; there is none where errors go to no terminal.
        verb: What is done.
        elapsed: The time that has passed in place of that which is left.
    """
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.markup import escape  # noqa: PLC0415  (only for a bar on a terminal)

    bar = _bar(elapsed=elapsed)
    tasks: dict[str, Any] = {}
    latest: list[tuple[str, int, int, str]] = []
    lock = threading.Lock()
    quiet = threading.Timer(_QUIET_S, lambda: draw(*latest[-1]) if latest else None)
    quiet.daemon = True

    def draw(what: str, done: int, of: int, note: str) -> None:
        with lock:
            if not tasks:
                bar.start()
            if what not in tasks:
                tasks[what] = bar.add_task("", total=of)
            text = escape(printable(f"{verb} {what}{note and f': {note}'}"))
            bar.update(tasks[what], completed=done, total=of, description=text)

    def show(what: str, done: int, of: int, note: str = "") -> None:
        latest[:] = [(what, done, of, note)]
        if quiet.finished.is_set():
            draw(what, done, of, note)

    quiet.start()
    try:
        yield show
    finally:
        quiet.cancel()
        quiet.join()
        if tasks:
            bar.stop()


@contextmanager
def drawing_bar(path: Path, *, wanted: bool) -> Iterator[None]:
    """A bar on standard error where a picture takes longer than a moment to draw."""
    with progress_bar(wanted=wanted, verb="drawing") as on_progress:
        if on_progress is not None:
            on_progress(path.name, 0, 1)
        yield

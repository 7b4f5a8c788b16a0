"""How commands print: JSON alone on standard output, tables for people, progress on errors'."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from planner.messages import too_long

Progress = Callable[[str, int, int], None]
_QUIET_S = 0.7


def number(text: str | None) -> float | str | None:
    """The number in a flag without a unit; text that is none, for the validation to refuse."""
    if text is None or too_long(text):
        return text
    try:
        return float(text)
    except ValueError:
        return text


def print_json(fields: Any) -> None:
    """One JSON document; NaN and infinity are bugs and raise."""
    print(json.dumps(fields, indent=2, allow_nan=False))


@contextmanager
def schedules_bar(*, wanted: bool) -> Iterator[None]:
    """A bar while tables of synthesized collectives are made, where a question needs new ones."""
    from planner.collectives.tables import listening  # noqa: PLC0415  (numpy; not for --help)

    with progress_bar(wanted=wanted, verb="synthesizing") as told, listening(told):
        yield


@contextmanager
def progress_bar(*, wanted: bool, verb: str = "searching") -> Iterator[Progress | None]:
    """A bar on standard error that appears when the work takes longer than a moment.

    It appears then even where the work says nothing between its first word and its end.
    """
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  (only for a bar on a terminal)
    from rich.progress import Progress as Bar  # noqa: PLC0415

    bar = Bar(console=Console(stderr=True), transient=True)
    tasks: dict[str, Any] = {}
    latest: list[tuple[str, int, int]] = []
    lock = threading.Lock()
    quiet = threading.Timer(_QUIET_S, lambda: draw(*latest[-1]) if latest else None)
    quiet.daemon = True

    def draw(what: str, done: int, of: int) -> None:
        with lock:
            if not tasks:
                bar.start()
            if what not in tasks:
                tasks[what] = bar.add_task(f"{verb} {what}", total=of)
            bar.update(tasks[what], completed=done, total=of)

    def show(what: str, done: int, of: int) -> None:
        latest[:] = [(what, done, of)]
        if quiet.finished.is_set():
            draw(what, done, of)

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

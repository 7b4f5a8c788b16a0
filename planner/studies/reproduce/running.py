"""Runs items of the documents: one function per item, in the module of its document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.studies.reproduce.documents import Document, Item, document_named, documents
from planner.studies.reproduce.found import Found, Reproduced

MODULES = {
    "000": "zero",
    "001": "ridgeline",
    "002": "parallelism",
    "003": "chapter",
    "004": "sccl",
}
"""Where the functions of a document are: `RUNS`, by the names of its items."""
Runs = Mapping[str, Callable[[], Found]]


def runs_of(document: Document) -> Runs:
    """The functions of a document; its module is loaded only now."""
    runs: Runs = _module(document).RUNS
    return runs


def _module(document: Document) -> Any:
    return import_module(f"planner.studies.reproduce.{MODULES[document.number]}")


def reproduce(document: str, item: str, *, anew: bool = False) -> Reproduced:
    """One item of a document, run here.

    Args:
        document: Its number or short name.
        item: Its name.
        anew: Schedules are synthesized, not read from the files that ship.

    Raises:
        InputError: There is no such document or item, or nothing of it is read from files.
    """
    of = document_named(document)
    found = of.item(item)
    if anew and item not in getattr(_module(of), "ANEW", {}):
        raise InputError(
            f"resynthesize: {of.number} {item} reads no schedules from files; those of 004 fronts "
            "are made anew"
        )
    return _run(of, found, anew=anew)


def reproduce_all(
    document: str | None = None, on_progress: Progress | None = None, *, anew: bool = False
) -> tuple[Reproduced, ...]:
    """Every item of a document, or of all.

    Args:
        document: Its number or short name; None: all.
        on_progress: Called with (what, done, of).
        anew: Schedules are synthesized, not read from the files that ship.

    Raises:
        InputError: There is no such document, or nothing of it is read from files.
    """
    chosen = documents() if document is None else (document_named(document),)
    if anew and not any(hasattr(_module(of), "ANEW") for of in chosen):
        raise InputError(
            f"resynthesize: {chosen[0].number} reads no schedules from files; 004 does"
        )
    return tuple(_every(chosen, on_progress, anew=anew))


def _every(
    chosen: tuple[Document, ...], on_progress: Progress | None, *, anew: bool
) -> Iterator[Reproduced]:
    pairs = [(of, item) for of in chosen for item in of.items]
    for done, (of, item) in enumerate(pairs):
        if on_progress is not None:
            on_progress(f"{of.number} {item.name}", done, len(pairs))
        yield _run(of, item, anew=anew)


def _run(of: Document, item: Item, *, anew: bool) -> Reproduced:
    others: Runs = getattr(_module(of), "ANEW", {}) if anew else {}
    run = others.get(item.name) or runs_of(of)[item.name]
    return Reproduced(document=of, item=item, found=run())

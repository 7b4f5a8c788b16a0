"""Runs items of the documents: one function per item, in the module of its document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from planner.base.progress import Progress
from planner.studies.reproduce.documents import Document, Item, document_named, documents
from planner.studies.reproduce.found import Found, Reproduced

MODULES = {
    "000": "zero",
    "001": "ridgeline",
    "002": "parallelism",
    "003": "chapter",
}
"""Where the functions of a document are: `RUNS`, by the names of its items."""


def runs_of(document: Document) -> Mapping[str, Callable[[], Found]]:
    """The functions of a document; its module is loaded only now."""
    module = import_module(f"planner.studies.reproduce.{MODULES[document.number]}")
    runs: Mapping[str, Callable[[], Found]] = module.RUNS
    return runs


def reproduce(document: str, item: str) -> Reproduced:
    """One item of a document, run here.

    Args:
        document: Its number or short name.
        item: Its name.

    Raises:
        InputError: There is no such document or item.
    """
    of = document_named(document)
    return _run(of, of.item(item))


def reproduce_all(
    document: str | None = None, on_progress: Progress | None = None
) -> tuple[Reproduced, ...]:
    """Every item of a document, or of all.

    Args:
        document: Its number or short name; None: all.
        on_progress: Called with (what, done, of).

    Raises:
        InputError: There is no such document.
    """
    chosen = documents() if document is None else (document_named(document),)
    return tuple(_every(chosen, on_progress))


def _every(chosen: tuple[Document, ...], on_progress: Progress | None) -> Iterator[Reproduced]:
    pairs = [(of, item) for of in chosen for item in of.items]
    for done, (of, item) in enumerate(pairs):
        if on_progress is not None:
            on_progress(f"{of.number} {item.name}", done, len(pairs))
        yield _run(of, item)


def _run(of: Document, item: Item) -> Reproduced:
    return Reproduced(document=of, item=item, found=runs_of(of)[item.name]())

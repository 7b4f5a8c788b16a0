"""`planner reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.base.errors import InputError
from planner.base.files import check_writable, write_atomically
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json, progress_bar
from planner.cli.writing import before_printing

if TYPE_CHECKING:
    from planner.studies.reproduce.documents import Document
    from planner.studies.reproduce.found import Reproduced

_ENDINGS = (".html", ".htm")


def reproduce(
    document: Annotated[
        str | None,
        typer.Argument(metavar="DOCUMENT", help="Its number or short name (default: list them)."),
    ] = None,
    item: Annotated[
        str | None,
        typer.Argument(
            metavar="ITEM",
            help="A figure, table, question or number of it (default: list them).",
        ),
    ] = None,
    *,
    every: Annotated[
        bool,
        typer.Option("--all", help="Run every item of the document, or of all documents."),
    ] = False,
    resynthesize: Annotated[
        bool,
        typer.Option(
            "--resynthesize", help="Make the schedules of 004 anew, in place of reading its files."
        ),
    ] = False,
    html: Annotated[
        Path | None,
        option("Write one page with all numbers and pictures of what is run (.html).", OUTPUT),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The numbers of five published documents beside ours, and why they differ.

    Examples:
      planner reproduce

      planner reproduce 003

      planner reproduce 003 q3

      planner reproduce 003 --all --html chapter.html
    """
    if every and item is not None:
        raise InputError(f"all: runs every item, and {item} is one; leave one of the two out")
    runs = every or item is not None
    if resynthesize and not runs:
        raise InputError("resynthesize: nothing is run; name an item, such as 004 fronts, or --all")
    if html is not None:
        _check_page(html, runs=runs)
    if runs:
        _run(document, item, html, anew=resynthesize, as_json=as_json)
    else:
        _list(document, as_json=as_json)


def _check_page(html: Path, *, runs: bool) -> None:
    """Finds out before anything is run that there would be no page."""
    if not runs:
        raise InputError("html: nothing is run that a page could show; name an item or give --all")
    if html.suffix.lower() not in _ENDINGS:
        raise InputError(f"html: {html}: a page ends in .html")
    check_writable(html)


def _run(
    document: str | None, item: str | None, html: Path | None, *, anew: bool, as_json: bool
) -> None:
    """Runs an item or all, writes the page, then prints."""
    from planner.studies.reproduce import running  # noqa: PLC0415  (numpy; not for --help)

    found: tuple[Reproduced, ...]
    if item is not None:
        found = (running.reproduce(document or "", item, anew=anew),)
    else:
        with progress_bar(wanted=not as_json, verb="reproducing") as told:
            found = running.reproduce_all(document, told, anew=anew)
    if html is not None:
        from planner.report.pages.reproduce import reproduced_page  # noqa: PLC0415  (jinja2)

        with before_printing():
            write_atomically(html, reproduced_page(found))
    if as_json:
        from planner.question.provenance import stamped  # noqa: PLC0415  (not for --help)

        print_json(stamped({"items": [one.to_dict() for one in found]}))
        return
    from planner.report.tables import reproduce as views  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(views.item_view(found[0]) if item is not None else views.every_view(found))


def _list(document: str | None, *, as_json: bool) -> None:
    """Prints the documents, or the items of one."""
    from planner.studies.reproduce.documents import document_named, documents  # noqa: PLC0415  (reads files; not for --help)

    chosen = documents() if document is None else (document_named(document),)
    if as_json:
        from planner.question.provenance import stamped  # noqa: PLC0415  (not for --help)

        print_json(stamped({"documents": [_fields(one) for one in chosen]}))
        return
    from planner.report.tables.reproduce import documents_view, items_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(documents_view(chosen) if document is None else items_view(chosen[0]))


def _fields(one: Document) -> dict[str, object]:
    """A document for JSON."""
    fields: dict[str, object] = {
        name: getattr(one, name) for name in ("number", "name", "title", "authors", "source")
    }
    items = [
        {name: getattr(item, name) for name in ("name", "place", "title", "command")}
        for item in one.items
    ]
    return {**fields, "items": items}

"""`planner report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.base.apart import check_apart
from planner.base.errors import InputError
from planner.base.files import check_writable, write_atomically
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json, progress_bar
from planner.report.about import report_in
from planner.report.printing import print_lines

_STDIN = "-"
_ENDINGS = (".html", ".htm")


def report(
    result: Annotated[
        Path,
        typer.Argument(
            help="What `planner solve --json` (also with --phases or --down), `evaluate --json`, "
            "`explain --json` or `solve --pareto front.json` wrote; - reads standard input."
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        option(
            "Where to write the page (.html; default: beside the result, report.html for -).",
            OUTPUT,
            "-o",
            "--output",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """An answer as one page that works offline: what binds, the front, pictures of the plan.

    A file that another version wrote, or that does not match its own digest because it was edited
    or damaged, is refused. Then every plan in it is evaluated again, and what is said of them
    worked out again: reasons, plans one step away, defaults, sources. How the search ended is not.

    Examples:
      planner solve --model gpt3-125m --hardware h100-sxm5-80 --chips 8 --json > result.json

      planner report result.json -o report.html

      planner report front.json

      planner solve --model llama2-13b --chips 256 --json | planner report - -o llama.html
    """
    target = output or (Path("report.html") if str(result) == _STDIN else _beside(result))
    _check_target(target, result)
    from planner.answers.files.documents import read_document  # noqa: PLC0415  (not for --help)
    from planner.report.pages.page import page_of  # noqa: PLC0415  (numpy; not for --help)

    with progress_bar(wanted=not as_json, verb="drawing") as progress:
        if progress is not None:
            progress("the report", 0, 2)
        kind, view = report_in(read_document(result), progress)
        page = page_of(view)
    write_atomically(target, page)
    if not as_json:
        print_lines(f"{target}: {len(page.encode('utf-8')) / 1000:,.0f} kB")
        return
    from planner.question.provenance import stamped  # noqa: PLC0415

    fields = {
        "path": str(target),
        "bytes": len(page.encode("utf-8")),
        "kind": kind,
        "title": view.title,
        "sections": [{"id": part.ident, "title": part.title} for part in view.sections],
    }
    print_json(stamped(fields))


def _beside(result: Path) -> Path:
    """The page's file where none is named.

    Raises:
        InputError: The result's name has nothing to go by.
    """
    try:
        return result.with_suffix(".html")
    except ValueError as error:
        raise InputError(f"output: {result} is no file; name the page with -o") from error


def _check_target(target: Path, result: Path) -> None:
    """Finds out before anything is computed that the page could not be written.

    Raises:
        InputError: Another ending, the file that is read, or it cannot be written.
    """
    if target.suffix.lower() not in _ENDINGS:
        raise InputError(f"output: {target}: a report is written as {_ENDINGS[0]}")
    check_apart([("output", target)], {"result": None if str(result) == _STDIN else result})
    check_writable(target)

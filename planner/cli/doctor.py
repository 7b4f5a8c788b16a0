"""`planner doctor`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from planner.base.errors import ExitCode
from planner.cli.output import print_json
from planner.report.printing import print_lines

if TYPE_CHECKING:
    from planner.answers.installation import Findings


def doctor(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False
) -> None:
    """Versions, machine, databases, and a small job solved and checked: what a report needs.

    Imports every library that is installed. Exits with 1 if a package is missing or a check fails,
    and says which.

    Example:
      planner doctor
    """
    from planner.answers.installation import examine  # noqa: PLC0415  (not for --help)

    findings = examine()
    if as_json:
        print_json(findings.to_dict())
    else:
        from planner.report.tables.tables import (  # noqa: PLC0415  (only for people)
            pairs,
            print_view,
        )

        print_view(pairs([*_rows(findings)]))
    for failure in findings.failures:
        print_lines(f"error: {failure}", to=sys.stderr)
    if findings.failures:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _rows(findings: Findings) -> Iterator[tuple[str, str]]:
    """What is printed: names and what was found."""
    from planner.base.units import show_bytes  # noqa: PLC0415  (not for --help)

    yield from findings.versions.items()
    for name, value in findings.environment.items():
        shown = str(value or "not known")
        if isinstance(value, int) and name.endswith("_bytes"):
            shown = show_bytes(value)
        yield name.removesuffix("_bytes").replace("_", " "), shown
    for extra, packages in findings.extras.items():
        yield f"extra {extra}", ", ".join(f"{name} {found}" for name, found in packages.items())
    for name, passed in findings.checks.items():
        yield name, "ok" if passed else "FAILED"

"""`planner doctor`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from planner.cli.output import print_json


def doctor(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False
) -> None:
    """Versions, databases, and a small job solved and checked on this machine.

    Exits with 1 if a package is missing or a check fails, and says which.

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

        results = [(name, "ok" if ok else "FAILED") for name, ok in findings.checks.items()]
        print_view(pairs([*findings.versions.items(), *results]))
    for failure in findings.failures:
        print(f"error: {failure}", file=sys.stderr)
    if findings.failures:
        raise typer.Exit(1)

"""`planner verify`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from planner.base.errors import ExitCode
from planner.cli.options import AsJson
from planner.cli.output import print_json
from planner.report.printing import print_lines


def verify(
    certificate: Annotated[
        Path, typer.Argument(help="Written by planner solve --certificate.", metavar="FILE")
    ],
    *,
    every: Annotated[
        bool,
        typer.Option(
            "--every",
            help="Cost every plan of closed nodes too: no bound is believed. Of a .zip: solve the "
            "question again, and compare.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Checks the proof of an answer with code that shares nothing with the search.

    Lists the space of the question in plain loops, and computes all bounds and figures again; of a
    .zip SCIP solves the integer programs.

    Exit codes: 0 the proof holds, 1 it does not (with the first fault), 2 no certificate.

    Examples:
      planner verify cert.json

      planner verify cert.json --every --json
    """
    from planner.answers.files.proof import verified  # noqa: PLC0415  (numpy; not for --help)
    from planner.base.files import read_bytes  # noqa: PLC0415  (not for --help)
    from planner.verification.document import LARGEST_BYTES  # noqa: PLC0415  (pydantic)

    content = read_bytes(certificate, LARGEST_BYTES)
    found = verified(content, str(certificate), every=every)
    if as_json:
        print_json(found.to_dict())
    else:
        from planner.report.tables.tables import print_view  # noqa: PLC0415  (only for people)
        from planner.report.tables.verdict import verdict_view  # noqa: PLC0415

        print_view(verdict_view(found))
    if not found.verified:
        print_lines(f"error: {certificate} is refused: {found.fault}", to=sys.stderr)
        raise typer.Exit(ExitCode.CHECK_FAILED)

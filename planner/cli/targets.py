"""`planner targets`."""

from __future__ import annotations

from typing import Annotated

import typer

from planner.cli.output import print_json


def targets(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False
) -> None:
    """What plans are written for: the versions of each target, and what starts its jobs.

    The first version is the default of `planner export --target-version`. Launchers are those of
    `planner export --launcher`.

    Example:
      planner targets
    """
    from planner.frameworks.targets import TARGETS  # noqa: PLC0415  (not for --help)
    from planner.frameworks.writing.launchers import LAUNCHERS, started  # noqa: PLC0415

    rows = started(TARGETS.values())
    if as_json:
        records = [
            {
                "target": row.target.name,
                "title": row.target.title,
                "versions": [version for version in row.target.versions if version],
                "chips": row.chips,
                "refused": [
                    {"launcher": name, "reason": why} for name, why in row.refusals.items() if why
                ],
                "launchers": [name for name, why in row.refusals.items() if not why],
            }
            for row in rows
        ]
        from planner.question.provenance import stamped  # noqa: PLC0415  (hashes the databases)

        print_json(stamped({"targets": records}))
        return
    from planner.report.tables.tables import print_view  # noqa: PLC0415
    from planner.report.tables.targets import targets_view  # noqa: PLC0415  (only for people)

    print_view(targets_view(rows, [*LAUNCHERS]))

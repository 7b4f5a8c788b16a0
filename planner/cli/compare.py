"""`planner compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planner.cli.field_flags import with_fields
from planner.cli.options import AsJson
from planner.cli.output import print_json, schedules_bar
from planner.cli.plan_options import check_plot
from planner.question.asked import WHOLE_RUN

_SHARED = ("hardware", "assumptions", "calibration", "collectives", "degrade_link", *WHOLE_RUN)
_SAID = {
    "hardware": "Another cluster or chip than the files', for all plans; or with commas one for "
    "each.",
    "collectives": "Collectives that plans assume, for all: nccl, synthesized (schedules made for "
    "the wiring) or best (the faster of both); or with commas one for each.",
}
FEW = {
    "hardware": "Another cluster or chip for all; or one for each.",
    "collectives": "nccl, synthesized or best, for all; or one for each.",
    "plot": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


@with_fields(*_SHARED, replacing=True, said=_SAID)
def compare(
    plans: Annotated[
        list[str],
        typer.Argument(
            help="Two or more plan files (YAML), or rows of fronts, such as front.json:2; the "
            "others are compared with the first.",
            metavar="PLAN PLAN...",
        ),
    ],
    *,
    asked: dict[str, Any],
    plot: Annotated[
        Path | None,
        typer.Option(help="Write what makes the difference: .svg, .png or .html."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Plans beside each other: what differs, what each costs, which parts make the difference.

    Also says which times cannot be told apart, and which plan is better in time, energy and memory.

    Examples:
      planner compare plan.yaml front.json:2

      planner compare front.json:1 front.json:2 plan.yaml --json

      planner compare plan.yaml front.json:2 --train-tokens 2e12

      planner compare plan.yaml front.json:2 --plot compare.svg

      planner compare plan.yaml plan.yaml --hardware h100-sxm5-80,h200-sxm5-141

      planner compare plan.yaml plan.yaml --collectives nccl,best
    """
    from planner.answers.explained import (  # noqa: PLC0415  (numpy; not for --help)
        compare_files,
        file_and_row,
    )

    check_plot(plot, [file_and_row(name)[0] for name in plans])
    with schedules_bar(wanted=not as_json):
        result = compare_files(plans, asked, flags=True)
    if plot is not None:
        from planner.report.charts.compare import compare_picture  # noqa: PLC0415
        from planner.report.pages.picture_file import write_picture  # noqa: PLC0415

        write_picture(compare_picture(result), plot)
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.compare import compare_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(compare_view(result))

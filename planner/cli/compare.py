"""`planner compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.apart import check_apart
from planner.base.errors import InputError
from planner.cli.field_flags import with_fields
from planner.cli.options import AsJson
from planner.cli.output import print_json, schedules_bar
from planner.cli.writing import before_printing
from planner.question.asked import WHOLE_RUN
from strict_yaml import inputs

if TYPE_CHECKING:
    from planner.answers.files.two_answers import TwoAnswers

_TWO = 2
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
            "others are compared with the first. Or two answers of solve --json, the older first: "
            "why the newer one is another.",
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
    Of two answers of solve --json it says why they differ: the question, databases, constants, the
    cost model, the space of plans.

    Examples:
      planner compare plan.yaml front.json:2

      planner compare front.json:1 front.json:2 plan.yaml --json

      planner compare plan.yaml front.json:2 --train-tokens 2e12

      planner compare plan.yaml front.json:2 --plot compare.svg

      planner compare old.json new.json

      planner compare plan.yaml plan.yaml --hardware h100-sxm5-80,h200-sxm5-141

      planner compare plan.yaml plan.yaml --collectives nccl,best
    """
    from planner.answers.explained import (  # noqa: PLC0415  (numpy; not for --help)
        compare_files,
        file_and_row,
    )
    from planner.report.pages.picture_file import check_picture  # noqa: PLC0415  (not for --help)

    if answers := _two_answers(plans, [*asked, *(["plot"] if plot is not None else [])]):
        _show_answers(answers, as_json=as_json)
        return
    check_picture(plot)
    for name in plans:
        check_apart([("plot", plot)], {"plan": file_and_row(name)[0]})
    with schedules_bar(wanted=not as_json):
        result = compare_files(plans, asked, flags=True)
    if plot is not None:
        from planner.report.charts.compare import compare_picture  # noqa: PLC0415
        from planner.report.pages.picture_file import write_picture  # noqa: PLC0415

        with before_printing():
            write_picture(compare_picture(result), plot)
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.compare import compare_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(compare_view(result))


def _two_answers(names: list[str], given: list[str]) -> TwoAnswers | None:
    """Why two answers differ; None: plans are given.

    Raises:
        InputError: Something is asked that is of plans alone, or an answer cannot be used; also
            where one file is an answer, and the other cannot be read.
    """
    if len(names) != _TWO or not all(name.lower().endswith(".json") for name in names):
        return None
    from planner.answers.files.answer_changes import are_answers  # noqa: PLC0415  (numpy)
    from planner.answers.files.version_changes import two_answers  # noqa: PLC0415  (numpy)

    old, new = map(Path, names)
    if not are_answers(old, new):
        return None
    if given:
        flag = given[0].replace("_", "-")
        raise InputError(f"{flag}: is of plans; of two answers leave it out, or name their rows")
    if inputs.same(old, new):
        raise InputError(f"plans: {names[1]} is named twice; give an older and a newer answer")
    return two_answers(old, new)


def _show_answers(result: TwoAnswers, *, as_json: bool) -> None:
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.tables import print_view  # noqa: PLC0415  (only for people)
    from planner.report.tables.two_answers import two_answers_view  # noqa: PLC0415

    print_view(two_answers_view(result))

"""`planner compare`."""

from __future__ import annotations

from collections.abc import Sequence
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
    from planner.answers.changes.two_answers import TwoAnswers
    from planner.answers.files.documents import Document

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
    from planner.answers.explained import compare_files  # noqa: PLC0415  (numpy; not for --help)
    from planner.answers.files.documents import Compared, read_compared  # noqa: PLC0415
    from planner.question.files.front_file import file_and_row  # noqa: PLC0415
    from planner.report.pages.picture_file import check_picture  # noqa: PLC0415  (not for --help)

    places = [file_and_row(name) for name in plans]
    found = read_compared([path for path, _ in places]) if _may_be_answers(places) else Compared()
    if found.answers:
        given = [*asked, *(["plot"] if plot is not None else [])]
        _show_answers(_two_answers(plans, found.answers, given), as_json=as_json)
        return
    check_picture(plot)
    for path, _ in places:
        check_apart([("plot", plot)], {"plan": path})
    with schedules_bar(wanted=not as_json):
        result = compare_files(plans, asked, flags=True, contents=found.contents)
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


def _may_be_answers(places: Sequence[tuple[Path, int | None]]) -> bool:
    """Whether whole answers may be named: several files, and of none a row."""
    return len(places) >= _TWO and all(row is None for _, row in places)


def _two_answers(
    names: Sequence[str], answers: Sequence[Document], given: Sequence[str]
) -> TwoAnswers:
    """Why two answers differ.

    Raises:
        InputError: There are more, both are one file, something is asked that is of plans alone,
            or an answer cannot be used.
    """
    if len(answers) > _TWO:
        raise InputError(
            f"plans: {len(answers)} answers of planner solve are given; give two, the older first, "
            f"or name a row of each, such as {names[0]}:1"
        )
    if given:
        flag = given[0].replace("_", "-")
        raise InputError(f"{flag}: is of plans; of two answers leave it out, or name their rows")
    old, new = answers
    if inputs.same(old.path, new.path):
        twice = f"{names[1]} is named twice"
        said = twice if old.path == new.path else f"{names[0]} and {names[1]} are one file"
        raise InputError(f"plans: {said}; give an older and a newer answer")
    from planner.answers.changes.version_changes import two_answers  # noqa: PLC0415  (numpy)

    return two_answers(old, new)


def _show_answers(result: TwoAnswers, *, as_json: bool) -> None:
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.tables import print_view  # noqa: PLC0415  (only for people)
    from planner.report.tables.two_answers import two_answers_view  # noqa: PLC0415

    print_view(two_answers_view(result))

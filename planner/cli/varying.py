"""What `planner solve --vary` does with a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.base.apart import check_apart
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.cli.output import print_json, progress_bar
from planner.cli.writing import before_printing
from planner.question.asked.usual import BATCH, RANGE


def batches_of(asked: dict[str, Any], batch_range: str | None) -> str:
    """The range of batches that a question asks for, as a field that is varied; empty: none.

    Args:
        asked: Fields of the question; that of the batch goes where it is a range.
        batch_range: The same range by its other name.

    Raises:
        InputError: Both are given, or the range is none.
    """
    if batch_range is not None:
        if BATCH in asked:
            raise InputError("batch-range: batch-tokens says the batch; leave one of the two out")
        if RANGE not in batch_range:
            raise InputError(
                f"batch-range: {shown(batch_range)} is one batch; give a range, e.g. 4Mi..16Mi, or "
                "--batch-tokens"
            )
        asked[BATCH] = batch_range
    if RANGE not in (batch := str(asked.get(BATCH, ""))):
        return ""
    del asked[BATCH]
    return f"{BATCH}={batch}"


def varied(
    job_file: Path | None,
    asked: dict[str, Any],
    texts: list[str],
    plot: Path | None,
    others: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Asks for every value, writes the picture, then prints.

    Args:
        job_file: Whose fields `asked` overrides.
        asked: Fields of the question.
        texts: `PATH=VALUE,VALUE`.
        plot: Of the picture.
        others: Flags that are about one answer, by name, as they were given.
        as_json: Print one JSON object.

    Raises:
        InputError: The question cannot be asked as it is.
    """
    from planner.answers.varying.vary import vary_request  # noqa: PLC0415  (numpy; not for --help)
    from planner.cli.solving import question_of  # noqa: PLC0415
    from planner.report.charts.vary import vary_picture  # noqa: PLC0415
    from planner.report.pages.picture_file import check_picture, write_picture  # noqa: PLC0415

    if given := [name for name, value in others.items() if value]:
        raise InputError(
            "\n".join(
                f"{name}: is about one answer, and several values are asked for; leave one of the "
                "two out"
                for name in given
            )
        )
    request, origin = question_of(job_file, asked)
    check_picture(plot)
    check_apart([("plot", plot)], {"job": job_file})
    with progress_bar(wanted=not as_json) as on_progress:
        result = vary_request(request, texts, on_progress, origin)
    if plot is not None:
        with before_printing():
            write_picture(vary_picture(result), plot)
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.tables import print_view  # noqa: PLC0415
    from planner.report.tables.vary import vary_view  # noqa: PLC0415

    print_view(vary_view(result))

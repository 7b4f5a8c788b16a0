"""`planner goodput`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from planner.cli.field_flags import with_fields
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import drawing_bar, print_json, progress_bar
from planner.cli.writing import before_printing
from planner.question.asked import UPKEEP_ALONE

_JOB = "Job"
_CHECKED = "Simulation"
FEW = {
    "chips": "Chips: 16384, 512,16384 or 512..131072.",
    "stall": "How long a checkpoint stops the job, e.g. 5s.",
    "failure_site": "llama-3, rsc-1, ... (default: one not seen).",
    "restart": "Until the job works again (10min).",
    "spares": "Nodes that wait (default: enough).",
    "simulate": "exponential, weibull=0.7 or a file of gaps.",
    "plot": "Draw it: .svg, .png or .html.",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


@with_fields(*UPKEEP_ALONE, into="kept")
def goodput(
    *,
    chips: Annotated[
        list[str] | None,
        option("Chips of the job: 16384, 512,16384 or 512..131072 (by doubling).", _JOB),
    ] = None,
    nodes: Annotated[list[str] | None, option("Nodes of it, instead of --chips.", _JOB)] = None,
    chips_per_node: Annotated[str | None, option("Chips of a node (default: 8).", _JOB)] = None,
    stall: Annotated[
        str | None, option("For how long a checkpoint stops the job, e.g. 5s.", _JOB)
    ] = None,
    checkpoint_bytes: Annotated[
        str | None,
        option(
            "Size of a checkpoint, e.g. 5.68TB: it is whole when --checkpoint-store has it all "
            "(default: at once).",
            _JOB,
        ),
    ] = None,
    step_time: Annotated[
        str | None,
        option("Seconds of a step: checkpoints come after whole steps (default: 1s).", _JOB),
    ] = None,
    kept: dict[str, Any],
    spares_chance: Annotated[
        str | None, option("That spares are enough at any time (default: 99%).", _JOB)
    ] = None,
    simulate: Annotated[
        str | None,
        option(
            "Simulate runs beside the closed form, with gaps between failures that are "
            "exponential, weibull=SHAPE, or drawn from a text file with one a line, e.g. 3.2h.",
            _CHECKED,
            metavar="LAW",
        ),
    ] = None,
    runs: Annotated[str | None, option("How many (default: 10000).", _CHECKED)] = None,
    plot: Annotated[
        Path | None,
        option(
            "Draw goodput over chips beside published runs, and one day: .svg, .png or .html.",
            OUTPUT,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How much of a run's time counts on so many chips, with failures, checkpoints and spares.

    Of a plan, `planner solve --train-tokens` says it with the plan's own checkpoint and step time.

    Examples:
      planner goodput --chips 16384 --stall 5s

      planner goodput --chips 512..131072 --stall 5s --failure-site llama-3

      planner goodput --nodes 64,512 --stall 5s --spares-chance 99.9% --json

      planner goodput --chips 16384 --stall 5s --simulate weibull=0.7 --runs 1000

      planner goodput --chips 16384 --chip-hours-per-failure 50700 --stall 60s
        --checkpoint-writes blocking

      planner goodput --chips 16384 --checkpoint-bytes 5.68TB --checkpoint-store 500GB/s --stall 1s
        --plot goodput.svg
    """
    own = {
        "chips": chips,
        "nodes": nodes,
        "chips_per_node": chips_per_node,
        "stall": stall,
        "checkpoint_bytes": checkpoint_bytes,
        "step_time": step_time,
        "spares_chance": spares_chance,
        "simulate": simulate,
        "runs": runs,
    }
    _run({**kept, **own}, plot, as_json=as_json)


def _run(asked: dict[str, Any], plot: Path | None, *, as_json: bool) -> None:
    """Asks, writes the picture, then prints."""
    from planner.report.pages.picture_file import check_picture, write_picture  # noqa: PLC0415  (numpy; not for --help)
    from planner.studies.run.asking import goodput_over_chips  # noqa: PLC0415
    from planner.studies.run.kept import kept_of  # noqa: PLC0415
    from planner.studies.run.question import question_of  # noqa: PLC0415

    check_picture(plot)
    question = question_of(asked)
    with progress_bar(wanted=not as_json, verb="simulating") as on_progress:
        result = goodput_over_chips(question, on_progress)
    if plot is not None:
        from planner.report.charts.goodput import goodput_picture  # noqa: PLC0415

        with before_printing(), drawing_bar(plot, wanted=not as_json):
            picture = goodput_picture(kept_of(question), question.chips, question.law)
            write_picture(picture, plot)
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.goodput_over_chips import goodput_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(goodput_view(result))

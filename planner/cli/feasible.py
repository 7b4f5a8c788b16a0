"""`planner feasible`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planner.base.errors import ExitCode
from planner.base.messages import Origin
from planner.cli.completing import several_of
from planner.cli.field_flags import with_fields
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import drawing_bar, print_json, progress_bar
from planner.cli.writing import before_printing
from planner.question.asked import BY_NAME, FEASIBLE

_QUESTION = "Question"

FEW = {
    "model": "Models, with commas between them.",
    "hardware": "Clusters or chips (default: tpu-v5p).",
    "chips": "Chips: 512, 64,512, 64..4096 or 16x16x16.",
    "batch_tokens": "Tokens per step: 4Mi or 1Mi..16Mi.",
    "strategies": "dp, zero1, zero3, fsdp+tp, ... (all).",
    "seq_len": BY_NAME["seq_len"].few,
    "framework": BY_NAME["framework"].few,
    "plot": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


@with_fields(*FEASIBLE)
def feasible(
    *,
    model: Annotated[
        list[str] | None,
        option(
            "Model names or YAML files (repeatable, or with commas).",
            _QUESTION,
            complete=several_of("model"),
        ),
    ] = None,
    hardware: Annotated[
        list[str] | None,
        option(
            "Clusters or chips, or YAML files (repeatable, or with commas; default: tpu-v5p).",
            _QUESTION,
            complete=several_of("hardware"),
        ),
    ] = None,
    chips: Annotated[
        list[str] | None,
        option(
            "Chips: 512, 64,512, 64..4096 (by doubling) or a slice such as 16x16x16 (default: "
            "the largest count up to 4,096; with --batch-tokens alone, the largest is sought).",
            _QUESTION,
        ),
    ] = None,
    batch_tokens: Annotated[
        list[str] | None,
        option(
            "Tokens per step: 4Mi, 1Mi,3e6 or 1Mi..16Mi (by doubling); alone it asks for the "
            "largest chip count, with --chips for the verdict (exit code 3: feasible nowhere).",
            _QUESTION,
        ),
    ] = None,
    strategies: Annotated[
        list[str] | None,
        option(
            "Some of dp, zero1, zero2, zero3, hsdp, tp, fsdp+tp, fsdp+tp+pp, fsdp+tp+cp, "
            "across-pods (default: all).",
            _QUESTION,
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        option(
            "The smallest chip count that trains --train-tokens within, failures included, e.g. "
            "30d, or 30d@90% for a chance.",
            _QUESTION,
        ),
    ] = None,
    train_tokens: Annotated[
        str | None, option("Tokens of the whole run, e.g. 2e12.", _QUESTION)
    ] = None,
    asked: dict[str, Any],
    plot: Annotated[
        Path | None, option("Write the chapter's pictures: .svg, .png or .html.", OUTPUT)
    ] = None,
    picture: Annotated[
        str | None,
        option("Panels of --plot: some of ratio,time,split (default: all).", OUTPUT),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which batches and chip counts stay compute-bound and fit, per strategy, and what binds.

    Exit codes: 0 some strategy does, 3 none does; plans that are not compute-bound may fit then.

    Examples:
      planner feasible --model llama3-70b --hardware tpu-v5p --assumptions roofline

      planner feasible --model llama2-13b --chips 16x16x16 --batch-tokens 3e6
        --assumptions roofline --torus-axes fsdp=2,tp=1

      planner feasible --model llama3-70b --batch-tokens 16e6 --assumptions roofline
        --strategies zero3,fsdp+tp

      planner feasible --model llama2-7b,llama2-13b --hardware h100-sxm5-80 --chips 64,512
        --strategies zero3 --json

      planner feasible --model llama2-13b --deadline 30d --train-tokens 2e12
    """
    own = {
        "hardware": hardware or None,
        "chips": chips or None,
        "batch_tokens": batch_tokens or None,
        "strategies": strategies or None,
        "deadline": deadline,
        "train_tokens": train_tokens,
    }
    asked |= {name: value for name, value in own.items() if value is not None}
    _run(model or [], asked, plot, picture, as_json=as_json)


def _run(
    model: list[str],
    asked: dict[str, Any],
    plot: Path | None,
    picture: str | None,
    *,
    as_json: bool,
) -> None:
    """Asks, writes the picture, then prints."""
    from planner.collectives.tables.tables import listening  # noqa: PLC0415  (numpy; not for --help)
    from planner.report.charts.feasible import check_panels, feasible_picture  # noqa: PLC0415
    from planner.report.pages.picture_file import write_picture  # noqa: PLC0415
    from planner.studies.feasibility.asking import feasible as ask  # noqa: PLC0415
    from planner.studies.feasibility.pictured import check_drawn, pictured  # noqa: PLC0415

    origin = Origin(arguments=frozenset({"model", *asked}), dashes=True)
    panels = check_panels(plot, picture)
    if plot is not None:
        check_drawn(model, asked)
    with progress_bar(wanted=not as_json) as on_progress, listening(on_progress):
        result = ask(model=model, origin=origin, on_progress=on_progress, **asked)
    if plot is not None:
        with before_printing(), drawing_bar(plot, wanted=not as_json):
            write_picture(feasible_picture(pictured(model, asked, origin), panels), plot)
    if as_json:
        print_json(result.to_dict())
    else:
        from planner.report.tables.feasible import feasible_view  # noqa: PLC0415
        from planner.report.tables.tables import print_view  # noqa: PLC0415

        print_view(feasible_view(result))
    if result.impossible:
        raise typer.Exit(ExitCode.INFEASIBLE)

"""`planner feasible`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planner.cli.output import number, print_json, progress_bar
from planner.messages import Origin

_QUESTION = "Question"
_JOB = "Job"
_OUTPUT = "Output"


def _option(help_text: str, panel: str, *names: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel=panel, metavar=metavar)


def feasible(
    *,
    model: Annotated[
        list[str] | None,
        _option("Model names or YAML files (repeatable, or with commas).", _QUESTION),
    ] = None,
    hardware: Annotated[
        list[str] | None,
        _option(
            "Clusters or chips, or YAML files (repeatable, or with commas; default: tpu-v5p).",
            _QUESTION,
        ),
    ] = None,
    chips: Annotated[
        list[str] | None,
        _option(
            "Chips: 512, 64,512, 64..4096 (by doubling) or a slice such as 16x16x16 (default: "
            "the largest count up to 4,096; with --batch-tokens alone, the largest is sought).",
            _QUESTION,
        ),
    ] = None,
    batch_tokens: Annotated[
        list[str] | None,
        _option(
            "Tokens per step: 4Mi, 1Mi,3e6 or 1Mi..16Mi (by doubling); alone it asks for the "
            "largest chip count, with --chips for the verdict.",
            _QUESTION,
        ),
    ] = None,
    strategies: Annotated[
        list[str] | None,
        _option(
            "Some of dp, zero1, zero2, zero3, hsdp, tp, fsdp+tp, fsdp+tp+pp, fsdp+tp+cp, "
            "across-pods (default: all).",
            _QUESTION,
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        _option("The smallest chip count that trains --train-tokens within, e.g. 30d.", _QUESTION),
    ] = None,
    train_tokens: Annotated[
        str | None, _option("Tokens of the whole run, e.g. 2e12.", _QUESTION)
    ] = None,
    assumptions: Annotated[
        str | None,
        _option(
            "calibrated, roofline (a textbook's formulas) or YAML file of overrides (default: "
            "calibrated).",
            _JOB,
        ),
    ] = None,
    mfu: Annotated[
        str | None, _option("Under roofline: share of the peak, e.g. 0.4 (default: 1).", _JOB)
    ] = None,
    torus_axes: Annotated[
        str | None,
        _option(
            "Torus axes that serve mesh axes, e.g. fsdp=2,tp=1 (default: as placements have them).",
            _JOB,
            metavar="AXIS=NUMBER,...",
        ),
    ] = None,
    seq_len: Annotated[
        str | None, _option("Tokens per sequence (default: the model's own).", _JOB)
    ] = None,
    precision: Annotated[
        str | None, _option("bf16, fp16, fp8, ... (default: the chip's 16 bits).", _JOB)
    ] = None,
    framework: Annotated[
        str | None, _option("Whose memory and rules apply (default: by chip).", _JOB)
    ] = None,
    era: Annotated[
        str | None, _option("Software era of the time constants (default: the framework's).", _JOB)
    ] = None,
    max_memory: Annotated[
        str | None, _option("Bytes per chip a plan may fill, e.g. 72GB.", _JOB)
    ] = None,
    plot: Annotated[
        Path | None, _option("Write the chapter's pictures: .svg or .png.", _OUTPUT)
    ] = None,
    picture: Annotated[
        str | None,
        _option("Panels of --plot: some of ratio,time,split (default: all).", _OUTPUT),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=_OUTPUT)
    ] = False,
) -> None:
    """Which batches and chip counts stay compute-bound and fit, per strategy, and what binds.

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
    fields = {
        "hardware": hardware or None,
        "chips": chips or None,
        "batch_tokens": batch_tokens or None,
        "strategies": strategies or None,
        "deadline": deadline,
        "train_tokens": train_tokens,
        "assumptions": assumptions,
        "mfu": number(mfu),
        "torus_axes": torus_axes,
        "seq_len": seq_len,
        "precision": precision,
        "framework": framework,
        "era": era,
        "max_memory": max_memory,
    }
    asked = {name: value for name, value in fields.items() if value is not None}
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
    from planner.feasibility.asking import feasible as ask  # noqa: PLC0415  (numpy; not for --help)
    from planner.feasibility.pictured import check_drawn, pictured  # noqa: PLC0415
    from planner.report.feasible_picture import check_plot, draw  # noqa: PLC0415

    origin = Origin(arguments=frozenset({"model", *asked}), dashes=True)
    panels = check_plot(plot, picture)
    if plot is not None:
        check_drawn(model, asked)
    with progress_bar(wanted=not as_json) as on_progress:
        result = ask(model=model, origin=origin, on_progress=on_progress, **asked)
    if plot is not None:
        draw(pictured(model, asked, origin), panels, plot)
    if as_json:
        print_json(result.to_dict())
    else:
        from planner.report.feasible_view import feasible_view  # noqa: PLC0415
        from planner.report.tables import print_view  # noqa: PLC0415

        print_view(feasible_view(result))
    if result.impossible:
        raise typer.Exit(3)

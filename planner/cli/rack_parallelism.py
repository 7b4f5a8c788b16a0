"""`planner rack parallelism`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planner.base.errors import InputError
from planner.cli.field_flags import field_option
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json
from planner.cli.writing import before_printing

_RACK = "Rack"
_WORK = "Workload"
_READINGS = "Readings of the report"
FEW = {
    "hardware": "",
    "rack_chips": "",
    "figure": "",
    "beyond": "",
    "plot": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def parallelism(
    *,
    figure: Annotated[
        list[str] | None,
        option("Figures 2 to 13, e.g. 2-4 or 2,5 (repeatable; default: all).", OUTPUT),
    ] = None,
    hardware: Annotated[
        str | None,
        option("Cluster or chip, or YAML file (default: c2c-ndr400-rack).", _RACK),
    ] = None,
    set: Annotated[list[str] | None, field_option("set")] = None,
    rack_chips: Annotated[
        str | None,
        option("Chips per rack, e.g. 4, 8, 16 or 32 (default: as the record, 8).", _RACK),
    ] = None,
    block_size: Annotated[
        str | None,
        option("Threads of a block in the sweeps over GPUs, 1 to 1024 (default: 64).", _RACK),
    ] = None,
    block_sizes: Annotated[
        str | None,
        option(
            "Threads of a block in the sweeps over blocks (default: 64,128,256,512,1024).", _RACK
        ),
    ] = None,
    micro_batches: Annotated[
        str | None, option("Micro-batches of a pipeline (default: 16).", _RACK)
    ] = None,
    pes: Annotated[
        str | None, option("PEs of a GPU; its SRAM grows with them (default: the chip's).", _RACK)
    ] = None,
    sram: Annotated[
        str | None,
        option("SRAM of a GPU with the chip's own PEs, e.g. 64KiB (default: the chip's).", _RACK),
    ] = None,
    sequences: Annotated[str | None, option("Of the batch (default: 16).", _WORK)] = None,
    seq_len: Annotated[str | None, option("Tokens of a sequence (default: 2048).", _WORK)] = None,
    hidden: Annotated[
        str | None, option("Of the model, a multiple of its 32 heads (default: 4096).", _WORK)
    ] = None,
    width: Annotated[str | None, option("Of the MLP (default: 14336).", _WORK)] = None,
    ring: Annotated[
        str | None,
        option(
            "slowest_link: every step of a ring waits for it; chunk_path: the printed sum "
            "(default: slowest_link).",
            _READINGS,
        ),
    ] = None,
    transfers: Annotated[
        str | None,
        option(
            "Between stages: sharded, or copies of all rows to each rank (default: sharded).",
            _READINGS,
        ),
    ] = None,
    tensor: Annotated[
        str | None,
        option(
            "columns: of both matrices, as Figure 1b; megatron: columns, then rows (default: "
            "columns).",
            _READINGS,
        ),
    ] = None,
    in_stage: Annotated[
        str | None,
        option("Tensor ranks inside stages: gathers, or none (default: gathers).", _READINGS),
    ] = None,
    scores: Annotated[
        str | None,
        option("Attention scores: cross stages, or stay within one (default: cross).", _READINGS),
    ] = None,
    weight_loads: Annotated[
        str | None,
        option(
            "Pipelines load weights from main memory once, per_micro_batch or per_row (default: "
            "once).",
            _READINGS,
        ),
    ] = None,
    memory_chips: Annotated[
        str | None,
        option(
            "GPUs that main memory feeds at their own rate; more share it (default: 0, loading "
            "takes no time).",
            _READINGS,
        ),
    ] = None,
    beyond: Annotated[
        bool,
        typer.Option(
            "--beyond",
            help="Instead, what the report leaves out, one thing at a time: before and after.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    plot: Annotated[Path | None, option("Write the figures: .svg, .png or .html.", OUTPUT)] = None,
    as_json: AsJson = False,
) -> None:
    """Data, tensor and pipeline parallelism on a rack: latency and energy, figure by figure.

    Examples:
      planner rack parallelism

      planner rack parallelism --figure 6 --tensor megatron

      planner rack parallelism --figure 10,11 --rack-chips 32 --plot communication.svg

      planner rack parallelism --figure 11 --ring chunk_path --json

      planner rack parallelism --figure 2,3 --weight-loads per_row --memory-chips 8

      planner rack parallelism --beyond
    """
    settings: dict[str, Any] = {
        "hardware": hardware,
        "set": set or None,
        "rack_chips": rack_chips,
        "block_size": block_size,
        "block_sizes": block_sizes,
        "micro_batches": micro_batches,
        "pes": pes,
        "sram": sram,
        "sequences": sequences,
        "seq_len": seq_len,
        "hidden": hidden,
        "width": width,
        "ring": ring,
        "transfers": transfers,
        "tensor": tensor,
        "in_stage": in_stage,
        "scores": scores,
        "weight_loads": weight_loads,
        "memory_chips": memory_chips,
    }
    if beyond:
        _beyond(figure, settings, plot, as_json=as_json)
    else:
        _figures(figure, settings, plot, as_json=as_json)


def _figures(
    figure: list[str] | None, settings: dict[str, Any], plot: Path | None, *, as_json: bool
) -> None:
    """Asks, writes the picture, then prints."""
    from planner.report.charts.rack_parallelism import parallelism_picture  # noqa: PLC0415  (not for --help)
    from planner.report.pages.picture_file import check_picture, write_picture  # noqa: PLC0415
    from planner.studies.rack.parallelism.asking import figures_asked  # noqa: PLC0415  (numpy; not for --help)

    check_picture(plot)
    answer = figures_asked(figure, settings)
    if plot is not None:
        with before_printing():
            write_picture(parallelism_picture(answer.figures), plot)
    if as_json:
        print_json(answer.to_dict())
        return
    from planner.report.tables.rack_parallelism import parallelism_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(parallelism_view(answer))


def _beyond(
    figure: list[str] | None, settings: dict[str, Any], plot: Path | None, *, as_json: bool
) -> None:
    """Asks for what the report leaves out, then prints."""
    from planner.studies.rack.parallelism.asking import HARDWARE  # noqa: PLC0415  (not for --help)
    from planner.studies.rack.parallelism.beyond import beyond  # noqa: PLC0415  (numpy; not for --help)

    given = {**settings, "figure": figure or None, "plot": plot}
    hardware = settings["hardware"]
    lines = [
        f"{name.replace('_', '-')}: has no effect with --beyond; leave it out"
        for name, value in given.items()
        if value is not None and name != "hardware"
    ]
    if lines:
        raise InputError("\n".join(lines))
    answer = beyond(HARDWARE if hardware is None else hardware)
    if as_json:
        print_json(answer.to_dict())
        return
    from planner.report.tables.rack_beyond import beyond_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(beyond_view(answer))

"""`planner rack zero`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from planner.cli.field_flags import field_option
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json
from planner.cli.writing import before_printing

_RACK = "Rack"
if TYPE_CHECKING:
    from hardware_db import Cluster
    from planner.studies.rack.zero.figures import ZeroAnswer

_SWEEP = "Sweep"
FEW = {
    "hardware": "",
    "topology": "linear, ring, torus:4x4x4, ... (first: figures 3 to 6).",
    "workload": "fc, conv, ffn, attention, attention-mha or YAML files.",
    "gpus": "",
    "figure": "Figures of the report, e.g. 3-8 or 4,8.",
    "plot": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def zero(
    *,
    hardware: Annotated[
        str | None, option("Cluster or chip, or YAML file (default: report1-rack).", _RACK)
    ] = None,
    set: Annotated[list[str] | None, field_option("set")] = None,
    workload: Annotated[
        str | None,
        option(
            "fc, conv, ffn, attention, attention-mha, with sizes as in fc:96x80, or YAML files of "
            "einsums, with commas; the first is that of figures 5 to 8 (default: fc,conv).",
            _SWEEP,
        ),
    ] = None,
    figure: Annotated[
        list[str] | None,
        option(
            "Figures of the report, 3 to 8, e.g. 3-8 or 4,8 (repeatable; default: all).", OUTPUT
        ),
    ] = None,
    gpus: Annotated[
        str | None, option("Numbers of GPUs, e.g. 2-12 or 2,4,8 (default: 2-12).", _SWEEP)
    ] = None,
    pes: Annotated[
        str | None, option("PEs per GPU of figures 3, 4, 7, 8 (default: the chip's).", _SWEEP)
    ] = None,
    pe_columns: Annotated[
        str | None, option("Columns of PEs of figures 5 and 6 (default: 1-20).", _SWEEP)
    ] = None,
    column_gpus: Annotated[
        str | None, option("GPUs of figures 5 and 6 (default: 4).", _SWEEP)
    ] = None,
    topology: Annotated[
        list[str] | None,
        option(
            "linear, ring, fully-connected, mesh, hypercube, torus:4x4x4, ... (repeatable, or with "
            "commas); the first is that of figures 3 to 6 (default: linear,ring,fully-connected).",
            _RACK,
        ),
    ] = None,
    graph: Annotated[
        list[Path] | None,
        option(
            "One more topology from a file of links: .yaml, .json, .graphml, ... (repeatable); "
            "only its wiring counts.",
            _RACK,
        ),
    ] = None,
    basis: Annotated[
        str | None,
        option(
            "What the bandwidth belongs to: per_gpu, network (the printed equation) or per_link "
            "(default: per_gpu).",
            _RACK,
        ),
    ] = None,
    bandwidth: Annotated[
        str | None,
        option("Of each GPU: 32 (bytes per cycle) or 32GB/s (default: the hardware's).", _RACK),
    ] = None,
    energy_per_hop: Annotated[
        str | None,
        option(
            "Of a byte over a hop: 1.6e-10 (J/B), 160pJ/B or 20pJ/bit (default: the hardware's).",
            _RACK,
        ),
    ] = None,
    memory_energy: Annotated[
        str | None,
        option(
            "Of a byte of a GPU's memory: 1.6e-10 (J/B), 146pJ/B or 20pJ/bit (default: the "
            "hardware's).",
            _RACK,
        ),
    ] = None,
    sram: Annotated[
        str | None,
        option("SRAM of a GPU with the chip's own PEs, e.g. 64KiB (default: the chip's).", _RACK),
    ] = None,
    plot: Annotated[
        Path | None,
        option("Write the figures as panels of one picture: .svg, .png or .html.", OUTPUT),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """ZeRO against data parallelism: energy and latency over GPUs, columns of PEs and topologies.

    Regenerates figures 3 to 8 of the report on rack-scale ZeRO, for any workload and rack.

    Examples:
      planner rack zero

      planner rack zero --figure 8 --gpus 2-64 --topology ring,torus,hypercube

      planner rack zero --figure 4,8 --basis network

      planner rack zero --figure 3-8 --plot report.svg

      planner rack zero --workload attention,ffn --hardware c2c-ndr400-rack --json
    """
    asked = {
        "hardware": hardware,
        "set": set or None,
        "workload": workload,
        "figure": figure or None,
        "gpus": gpus,
        "pes": pes,
        "pe_columns": pe_columns,
        "column_gpus": column_gpus,
        "topology": topology or None,
        "graph": graph or None,
        "basis": basis,
        "bandwidth": bandwidth,
        "energy_per_hop": energy_per_hop,
        "memory_energy": memory_energy,
        "sram": sram,
    }
    _run({name: value for name, value in asked.items() if value is not None}, plot, as_json=as_json)


def _run(asked: dict[str, Any], plot: Path | None, *, as_json: bool) -> None:
    """Asks, writes the picture, then prints."""
    from planner.report.charts.rack_zero import zero_picture  # noqa: PLC0415  (not for --help)
    from planner.report.pages.picture_file import check_picture, write_picture  # noqa: PLC0415
    from planner.studies.rack.zero.figures import zero_study  # noqa: PLC0415  (numpy; not for --help)
    from planner.studies.rack.zero.json import to_dict  # noqa: PLC0415
    from planner.studies.rack.zero.request import zero_question  # noqa: PLC0415
    from planner.studies.whatif import with_each_counted  # noqa: PLC0415

    def answered(texts: tuple[str, ...]) -> tuple[ZeroAnswer, Cluster]:
        question, cluster = zero_question(**asked, **({"set": texts} if texts else {}))
        return zero_study(question), cluster

    check_picture(plot)
    answer, cluster = with_each_counted(
        asked.pop("set", None), answered, lambda found: to_dict(*found)
    )
    if plot is not None:
        with before_printing():
            write_picture(zero_picture(answer), plot)
    if as_json:
        print_json(to_dict(answer, cluster))
    else:
        from planner.report.tables.rack_zero import zero_view  # noqa: PLC0415
        from planner.report.tables.tables import print_view  # noqa: PLC0415

        print_view(zero_view(answer, cluster))

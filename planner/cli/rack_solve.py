"""`planner rack solve`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.apart import check_apart
from planner.base.errors import ExitCode
from planner.base.files import write_all
from planner.cli.field_flags import field_option
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json, progress_bar
from planner.cli.writing import before_printing
from planner.report.printing import print_lines

if TYPE_CHECKING:
    from planner.studies.rack.solve.answer import RackAnswer

_CHOICES = "Choices"
_BUDGETS = "Budgets"
_QUESTION = "Question"
FEW = {
    "workload": "fc, conv, ffn, attention, ... or a YAML file.",
    "hardware": "Cluster or chip with PEs, or YAML file.",
    "objective": "",
    "gpus": "Numbers of chips: 1-12, or 2,4,8.",
    "topology": "ring, torus:2x4, fat-tree, dgx-1, ...",
    "strategy": "Some of dp, zero, tp, pp (default: all).",
    "total_pes": "",
    "max_memory": "",
    "pareto": "",
    "plot": "Draw the front and the best plan.",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def solve(
    *,
    workload: Annotated[
        str | None,
        option("fc, conv, ffn, attention, attention-mha or a YAML file (default: fc).", _QUESTION),
    ] = None,
    hardware: Annotated[
        str | None,
        option(
            "Cluster or chip with PEs, or YAML file (default: report1-rack for fc and conv, "
            "else c2c-ndr400-rack).",
            _QUESTION,
        ),
    ] = None,
    set: Annotated[list[str] | None, field_option("set")] = None,
    batch: Annotated[
        str | None,
        option(
            "Items in all, shared by the data ranks (default: the workload's, or 24).", _QUESTION
        ),
    ] = None,
    objective: Annotated[
        str | None, option("time, energy or edp (default: time).", _QUESTION)
    ] = None,
    gpus: Annotated[
        str | None,
        option("Numbers of chips: 1-12, or 2,4,8 (default: 2-12, as in the report).", _CHOICES),
    ] = None,
    pes: Annotated[
        str | None,
        option("PEs per chip: 4,8,16 (default: a quarter to four times the chip's).", _CHOICES),
    ] = None,
    topology: Annotated[
        list[str] | None,
        option(
            "Some of linear, ring, fully-connected, mesh, torus, hypercube, hyperx, star, switch, "
            "leaf-spine, fat-tree, dragonfly, dgx-1, or with sizes: torus:2x4 (default: the first "
            "three).",
            _CHOICES,
        ),
    ] = None,
    graph: Annotated[
        list[Path] | None,
        option(
            "One more topology from a file of links: .yaml, .json, .graphml, ... (repeatable).",
            _CHOICES,
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        option("Some of dp, zero, tp, pp, alone or combined (default: all).", _CHOICES),
    ] = None,
    micro_batches: Annotated[
        str | None, option("Parts of a rank's items in a pipeline (default: 16).", _CHOICES)
    ] = None,
    total_pes: Annotated[str | None, option("PEs of all chips.", _BUDGETS)] = None,
    max_area: Annotated[
        str | None, option("Silicon of all chips, e.g. 6.7e6 (mm^2) or 6000mm2.", _BUDGETS)
    ] = None,
    max_power: Annotated[
        str | None, option("Rated power of all chips, e.g. 5kW.", _BUDGETS)
    ] = None,
    max_links: Annotated[str | None, option("Links of the network.", _BUDGETS)] = None,
    max_ports: Annotated[str | None, option("Links at one chip.", _BUDGETS)] = None,
    max_memory: Annotated[
        str | None, option("Bytes of weights per chip, e.g. 1kB.", _BUDGETS)
    ] = None,
    assumptions: Annotated[
        str | None,
        option("rack-zero or rack-energy (default: by the workload's report).", _QUESTION),
    ] = None,
    basis: Annotated[
        str | None,
        option("Whose the bandwidth is: per_gpu, network or per_link.", _QUESTION),
    ] = None,
    precision: Annotated[
        str | None, option("Number format (default: the chip's 16 bits, else int8).", _QUESTION)
    ] = None,
    backward: Annotated[
        bool, option("Count the communication of a backward pass.", _QUESTION, "--backward")
    ] = False,
    static_power: Annotated[
        bool, option("Chips draw their idle power all the time.", _QUESTION, "--static-power")
    ] = False,
    time_limit: Annotated[
        str | None, option("Wall time of the search, e.g. 60s (default: none).", OUTPUT)
    ] = None,
    pareto: Annotated[
        Path | None, option("Write the front: .svg, .html, .csv or .json.", OUTPUT)
    ] = None,
    plot: Annotated[
        Path | None,
        option("Draw the front and the parts of the best plan: .svg, .png or .html.", OUTPUT),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Chips, PEs per chip, topology and strategy chosen together, proved by CP-SAT.

    Examples:
      planner rack solve --workload fc --strategy zero --gpus 8 --max-links 8

      planner rack solve --workload fc --total-pes 64 --objective energy

      planner rack solve --workload ffn --max-area 6000mm2 --max-ports 2 --json

      planner rack solve --workload conv --max-memory 1kB --plot rack.svg

      planner rack solve --workload conv --max-memory 1kB --objective energy --pareto front.csv
        --plot rack.svg

      planner rack solve --workload fc --strategy zero --topology ring:8,torus:2x2x2,dgx-1
    """
    given = {
        "workload": workload,
        "hardware": hardware,
        "set": set or None,
        "batch": batch,
        "objective": objective,
        "gpus": gpus,
        "pes": pes,
        "topology": topology or None,
        "graph": graph or None,
        "strategy": strategy or None,
        "micro_batches": micro_batches,
        "total_pes": total_pes,
        "max_area": max_area,
        "max_power": max_power,
        "max_links": max_links,
        "max_ports": max_ports,
        "max_memory": max_memory,
        "assumptions": assumptions,
        "basis": basis,
        "precision": precision,
        "time_limit": time_limit,
        "static_power": static_power,
        "backward": backward,
    }
    _run(given, pareto, plot, as_json=as_json)


def _run(given: dict[str, Any], pareto: Path | None, plot: Path | None, *, as_json: bool) -> None:
    """Solves, writes the front and the picture, then prints."""
    from planner.studies.rack.solve.answer import RackAnswer  # noqa: PLC0415  (not for --help)
    from planner.studies.rack.solve.request import rack_request  # noqa: PLC0415  (not for --help)
    from planner.studies.rack.solve.solve import solve_rack  # noqa: PLC0415  (numpy; not for --help)
    from planner.studies.whatif import with_each_counted  # noqa: PLC0415

    rack_request(**given)
    _check_files(pareto, plot, given)
    with progress_bar(wanted=not as_json) as on_progress:

        def answered(texts: tuple[str, ...]) -> RackAnswer:
            request = rack_request(**{**given, "set": texts or None})
            return solve_rack(
                request.question,
                request.objective,
                time_limit_s=request.time_limit_s,
                defaults=request.defaults,
                on_progress=on_progress,
            )

        answer = with_each_counted(given["set"], answered, RackAnswer.to_dict)
    if answer.best is not None:
        with before_printing():
            _write(answer, pareto, plot)
    if as_json:
        print_json(answer.to_dict())
    else:
        from planner.report.tables.rack_solve import rack_solve_view  # noqa: PLC0415
        from planner.report.tables.tables import print_view  # noqa: PLC0415

        print_view(rack_solve_view(answer))
    if answer.best is None:
        if plot is not None:
            print_lines("plot: nothing to draw, there is no plan", to=sys.stderr)
        raise typer.Exit(ExitCode.without_plan(answer.status))


def _check_files(pareto: Path | None, plot: Path | None, given: dict[str, Any]) -> None:
    """Finds out before the search whether its answer can be written, each file once, no input.

    Raises:
        InputError: It cannot, with the flag.
    """
    from planner.report.pages.picture_file import check_picture  # noqa: PLC0415  (not for --help)
    from planner.report.pages.rack_solve_files import check_front  # noqa: PLC0415

    for graph in given["graph"] or (None,):
        read = {"workload": given["workload"], "hardware": given["hardware"], "graph": graph}
        check_apart([("pareto", pareto), ("plot", plot)], read)
    if pareto is not None:
        check_front(pareto)
    check_picture(plot)


def _write(answer: RackAnswer, pareto: Path | None, plot: Path | None) -> None:
    """Writes the front and the picture: what was asked for, or none of it."""
    from planner.report.charts.rack_solve import solve_picture  # noqa: PLC0415  (not for --help)
    from planner.report.pages.picture_file import picture_bytes  # noqa: PLC0415
    from planner.report.pages.rack_solve_files import front_text  # noqa: PLC0415

    contents: dict[Path, str | bytes] = {}
    if pareto is not None:
        contents[pareto] = front_text(answer, pareto)
    if plot is not None:
        contents[plot] = picture_bytes(solve_picture(answer), plot)
    write_all(contents)

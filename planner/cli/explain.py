"""`planner explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.cli.options import AsJson, Cooling, PowerCap, Pue
from planner.cli.output import number, print_json, progress_bar
from planner.cli.plan_options import (
    OtherAssumptions,
    OtherCalibration,
    OtherCollectives,
    OtherDegradeLink,
    OtherEra,
    OtherFramework,
    OtherHardware,
    OtherMargin,
    OtherMaxMemory,
    OtherPrecision,
    PlanFile,
    Row,
    check_plot,
    row_of,
)


def explain(
    plan_file: PlanFile,
    *,
    row: Row = None,
    objective: Annotated[
        str, typer.Option(help="What plans are compared by: time, energy, edp or memory.")
    ] = "time",
    hardware: OtherHardware = None,
    precision: OtherPrecision = None,
    framework: OtherFramework = None,
    era: OtherEra = None,
    assumptions: OtherAssumptions = None,
    calibration: OtherCalibration = None,
    collectives: OtherCollectives = None,
    degrade_link: OtherDegradeLink = None,
    max_memory: OtherMaxMemory = None,
    power_cap: PowerCap = None,
    cooling: Cooling = None,
    pue: Pue = None,
    memory_margin: OtherMargin = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Write the steps and what the answer leans on: .svg, .png or .html."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Why a plan costs what it costs: what binds it, what one step in each direction would change.

    Every figure is a real evaluation: of plans one step away, of the same plan on changed machines,
    and of both sides of each number that the answer may lean on.

    Examples:
      planner explain plan.yaml

      planner explain front.json --row 2 --objective energy

      planner explain plan.yaml --hardware h200-sxm5-141 --json

      planner explain plan.yaml --plot explain.svg
    """
    from planner.explaining import explain_plan  # noqa: PLC0415  (numpy; not for --help)
    from planner.explanation.rivals import rivals_in  # noqa: PLC0415
    from planner.planfile import read_plan_file  # noqa: PLC0415
    from planner.resolved import resolve  # noqa: PLC0415

    flags = {
        "hardware": hardware,
        "precision": precision,
        "framework": framework,
        "era": era,
        "assumptions": assumptions,
        "calibration": calibration,
        "collectives": collectives,
        "degrade_link": degrade_link or None,
        "max_memory": max_memory,
        "power_cap": power_cap,
        "cooling": cooling,
        "pue": number(pue),
        "memory_margin": number(memory_margin),
    }
    asked = {name: value for name, value in flags.items() if value is not None}
    check_plot(plot, [plan_file])
    request, plan, origin, assumed = read_plan_file(plan_file, asked, flags=True, row=row_of(row))
    resolved = resolve(request, origin, plan.chips)
    with progress_bar(wanted=not as_json, verb="changing") as on_progress:
        rivals = rivals_in(plan_file, request, plan.chips, asked, flags=True)
        result = explain_plan(resolved, plan, objective, assumed, on_progress, rivals)
    if plot is not None:
        from planner.report.explain_chart import explain_picture  # noqa: PLC0415
        from planner.report.picture_file import write_picture  # noqa: PLC0415

        write_picture(explain_picture(result), plot)
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.explain_view import explain_view  # noqa: PLC0415
    from planner.report.tables import print_view  # noqa: PLC0415

    print_view(explain_view(result))

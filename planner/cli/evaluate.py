"""`planner evaluate`."""

from __future__ import annotations

from typing import Annotated

import typer

from planner.cli.options import Cooling, PowerCap, Pue
from planner.cli.output import number, print_json
from planner.cli.plan_options import (
    Carbon,
    OtherAssumptions,
    OtherCalibration,
    OtherEra,
    OtherFramework,
    OtherHardware,
    OtherMargin,
    OtherMaxMemory,
    OtherPrecision,
    PlanFile,
    Price,
    Row,
    TrainTokens,
    row_of,
)


def evaluate(
    plan_file: PlanFile,
    *,
    row: Row = None,
    hardware: OtherHardware = None,
    precision: OtherPrecision = None,
    framework: OtherFramework = None,
    era: OtherEra = None,
    assumptions: OtherAssumptions = None,
    calibration: OtherCalibration = None,
    max_memory: OtherMaxMemory = None,
    power_cap: PowerCap = None,
    cooling: Cooling = None,
    pue: Pue = None,
    memory_margin: OtherMargin = None,
    train_tokens: TrainTokens = None,
    price_per_chip_hour: Price = None,
    carbon_intensity: Carbon = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """What one plan costs: time, memory and energy with their parts, and whether it fits.

    Examples:
      planner evaluate plan.yaml

      planner evaluate plan.yaml --hardware h200-sxm5-141 --json

      planner evaluate front.json --row 2

      planner evaluate plan.yaml --power-cap 500W --cooling liquid --pue 1.2
    """
    from planner.evaluation import evaluate_plan  # noqa: PLC0415  (numpy; not for --help)
    from planner.planfile import read_plan_file  # noqa: PLC0415
    from planner.resolved import resolve  # noqa: PLC0415

    flags = {
        "hardware": hardware,
        "precision": precision,
        "framework": framework,
        "era": era,
        "assumptions": assumptions,
        "calibration": calibration,
        "max_memory": max_memory,
        "power_cap": power_cap,
        "cooling": cooling,
        "pue": number(pue),
        "memory_margin": number(memory_margin),
        "train_tokens": train_tokens,
        "price_per_chip_hour": number(price_per_chip_hour),
        "carbon_intensity": number(carbon_intensity),
    }
    asked = {name: value for name, value in flags.items() if value is not None}
    request, plan, origin, assumed = read_plan_file(plan_file, asked, flags=True, row=row_of(row))
    result = evaluate_plan(resolve(request, origin, plan.chips), plan, assumed)
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables import print_view  # noqa: PLC0415
    from planner.report.terminal import evaluate_view  # noqa: PLC0415

    print_view(evaluate_view(result))

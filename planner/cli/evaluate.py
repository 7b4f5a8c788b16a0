"""`planner evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.cli.output import print_json


def evaluate(
    plan_file: Annotated[Path, typer.Argument(help="Plan file (YAML), as `solve -o` writes it.")],
    *,
    hardware: Annotated[
        str | None, typer.Option(help="Another cluster or chip than the file's.")
    ] = None,
    precision: Annotated[str | None, typer.Option(help="Another precision.")] = None,
    framework: Annotated[str | None, typer.Option(help="Another framework.")] = None,
    assumptions: Annotated[
        str | None, typer.Option(help="Preset, or YAML file of overrides.")
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(help="Bytes per chip a plan may fill, e.g. 72GB.")
    ] = None,
    train_tokens: Annotated[
        str | None, typer.Option(help="Tokens of the whole run: adds days and MWh.")
    ] = None,
    price_per_chip_hour: Annotated[
        float | None, typer.Option(help="Adds the price of the run.")
    ] = None,
    carbon_intensity: Annotated[
        float | None, typer.Option(help="Grams of CO2 per kWh: adds the CO2 of the run.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """What one plan costs: time, memory and energy with their parts, and whether it fits.

    Examples:
      planner evaluate plan.yaml

      planner evaluate plan.yaml --hardware h200-sxm5-141 --json
    """
    from planner.api import evaluate as evaluate_file  # noqa: PLC0415  (numpy; not for --help)

    flags = {
        "hardware": hardware,
        "precision": precision,
        "framework": framework,
        "assumptions": assumptions,
        "max_memory": max_memory,
        "train_tokens": train_tokens,
        "price_per_chip_hour": price_per_chip_hour,
        "carbon_intensity": carbon_intensity,
    }
    asked = {name: value for name, value in flags.items() if value is not None}
    result = evaluate_file(plan_file, **asked)
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.terminal import console, evaluate_view  # noqa: PLC0415

    console().print(evaluate_view(result))

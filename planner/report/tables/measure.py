"""The answer of `planner measure` as Rich tables for a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.commands import path_typed
from planner.base.units import show_seconds
from planner.evidence.calibration.launches.folder import MeasureResult
from planner.report.tables.tables import indented, section, table


def measure_view(result: MeasureResult, folder: Path) -> RenderableType:
    """What is to be run, and what then."""
    lines = [
        (
            one.command,
            f"{one.nodes}",
            f"{one.chips}",
            f"{one.layers}",
            f"{one.sequences}",
            show_seconds(one.step_time_s),
            one.tells or "base of the others",
        )
        for one in result.launches
    ]
    header = ("launch", "nodes", "chips", "layers", "sequences", "step", "tells apart")
    run = table(header, lines, right=header[1:6])
    then = [result.nccl] if result.nccl else []
    then.append(f"planner calibrate --measurements {path_typed(folder)} -o local.yaml")
    parts: list[RenderableType] = [
        Text(f"Short launches of {result.framework} on {result.cluster}", style="bold"),
        section(f"Run in {folder}, one or all", run),
        Text(),
    ]
    if result.home:
        parts += [Text(f"{result.home} names the checkout of {result.framework}."), Text()]
    parts += [section("Then", indented(then))]
    if result.remarks:
        parts += [Text(), section("Left to other settings", indented(result.remarks))]
    return Group(*parts)

"""The answer of `planner export` as Rich tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from planner.answers.traced import ChakraResult
from planner.base.units import plural, show_bytes, show_seconds
from planner.cost.chakra.trace import GROUPS_FILE
from planner.frameworks.writing import Lost
from planner.report.tables.tables import indented, pairs, section, table
from planner.results.export import ExportResult


def export_view(result: ExportResult, folder: Path | None = None) -> RenderableType:
    """What was written, how it is launched, and what the texts do not say.

    Args:
        result: The answer.
        folder: Where the files were written; None: nowhere.
    """
    export = result.export
    parts: list[RenderableType] = [_heading(result), Text()]
    lines = [(file.name, str(file.text.count("\n"))) for file in export.files]
    where = "Files" if folder is None else f"Written to {folder}"
    parts += [section(where, table(("file", "lines"), lines, right=("lines",))), Text()]
    if export.command:
        parts += [section("Launch", indented(export.command.split("\n"))), Text()]
    if export.hosts:
        parts += [section("Hosts", indented(export.hosts)), Text()]
    if export.environment:
        parts += [section("Environment", pairs(export.environment)), Text()]
    parts += _remarks(f"{result.target.title} runs another plan", export.unsupported)
    parts += _remarks("Left to other settings", export.lossy)
    if result.warnings:
        parts += [section("Warnings", indented(result.warnings)), Text()]
    return Group(*parts[:-1])


def chakra_view(result: ChakraResult, folder: Path) -> RenderableType:
    """Which traces were written, and how ASTRA-sim is given them."""
    traces = result.traces
    size = show_bytes(float(sum(map(len, result.files.values()))))
    whose = "all ranks" if len(traces.written) == traces.plan.chips else "the first rank of a stage"
    rows = [
        (f"stage {stage}", f"{traces.ranks.first_of_stage(stage)}", f"{len(nodes):,}")
        for stage, nodes in enumerate(traces.stages)
    ]
    flags = [
        f"--workload-configuration={folder / result.name}",
        f"--comm-group-configuration={folder / GROUPS_FILE}",
    ]
    parts: list[RenderableType] = [
        Text(
            f"Chakra traces of {result.name} on {plural(traces.plan.chips, 'chip')}", style="bold"
        ),
        Text(f"{plural(len(traces.written), 'file')} ({whose}), {size}, in {folder}"),
        Text(),
        table(("", "first rank", "nodes"), rows, right=("first rank", "nodes")),
        Text(),
        section("ASTRA-sim", indented(flags)),
    ]
    if len(traces.written) < traces.plan.chips:
        parts += [Text(), Text("ASTRA-sim wants a file for every rank: --ranks all")]
    return Group(*parts)


def _heading(result: ExportResult) -> RenderableType:
    job, export = result.job, result.export
    version = f" {export.version}" if export.version else ""
    return section(
        f"{job['model']} on {plural(result.plan.chips, 'chip')} for {result.target.title}{version}",
        pairs(
            [
                ("step time", f"{show_seconds(result.step_time_s)} (predicted)"),
                ("keys of", export.framework_version),
            ]
        ),
    )


def _remarks(title: str, lost: Sequence[Lost]) -> list[RenderableType]:
    if not lost:
        return []
    rows = [(one.field, one.reason) for one in lost]
    return [section(title, table(("field", "reason"), rows, whole=("field",))), Text()]

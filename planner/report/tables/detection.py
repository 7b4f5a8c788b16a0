"""What `planner hardware detect` saw, as Rich tables for a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.commands import path_typed
from planner.base.units import plural
from planner.machine.detection.cluster import Detected
from planner.report.tables.tables import indented, pairs, section, table


def detected_view(found: Detected, output: Path | None, missing: tuple[str, ...]) -> RenderableType:
    """The cluster, what was seen of it, what is assumed, and what to do next.

    Args:
        found: The cluster.
        output: The file that was written; None: none.
        missing: A line for each tool that said nothing.
    """
    cluster = found.cluster
    count = plural(found.nodes, "node") if found.nodes else "nodes"
    title = f"{output or cluster.name}: {count} of {cluster.node_chips} x {cluster.chip.name}"
    same = (f"All that was seen agrees with {' and '.join(found.same_as)}." if found.same_as
            else "No cluster of the database agrees with all that was seen.")  # fmt: skip
    header = ("seen", "", "where")
    assumed = [(part, ", ".join(fields)) for part, fields in found.assumed if fields]
    parts: list[RenderableType] = [
        Text(title, style="bold"), Text(same), Text(),
        table(header, found.seen, whole=header[:1]), Text(),
        section(f"Assumed, from {', '.join(found.records)}", pairs(assumed)),
    ]  # fmt: skip
    if lines := [*found.remarks, *missing]:
        parts += [Text(), section("Notes", indented(lines))]
    parts += [Text(), section("Then", indented(_commands(found, output)))]
    return Group(*parts)


def _commands(found: Detected, output: Path | None) -> list[str]:
    if output is None:
        return [
            "planner hardware detect -o my-cluster.yaml, with the same options, writes the file"
        ]
    chips = found.cluster.node_chips * (found.nodes or 1)
    file = path_typed(output)
    return [
        f"planner hardware show {file} --sources",
        f"planner solve --model llama3-8b --hardware {file} --chips {chips}",
    ]

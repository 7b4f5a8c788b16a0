"""The answer of `planner rack topology` as Rich tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, show_bytes, show_joules, show_seconds, show_watts
from planner.report.tables.tables import SplitTable, indented, section
from planner.studies.rack.topology.rows import TopologyResult, TopologyRow

_NONE = "-"


def topology_view(result: TopologyResult) -> RenderableType:
    """Everything that `planner rack topology` prints."""
    parts: list[RenderableType] = [
        section(
            "Wiring (ports per chip, average hops, links across the bisection)",
            wiring_table(result.rows),
        ),
        Text(),
        section(load_heading(result), load_table(result.rows)),
    ]
    if result.notes:
        parts += [Text(), indented(result.notes, by=0)]
    return Group(*parts)


def load_heading(result: TopologyResult) -> str:
    """Which traffic, and how it is routed."""
    words = "shortest paths" if result.traffic.routing == "shortest" else "fixed routes"
    return f"Load of {result.traffic.pattern} traffic over {words}"


def wiring_table(rows: Sequence[TopologyRow]) -> SplitTable:
    """A line of sizes per topology."""
    header = ("topology", "chips", "links", "ports", "switches", "hops", "diameter", "bisection")
    cells = [
        (
            row.name,
            f"{row.chips:,}",
            f"{row.links:,}",
            f"{row.ports_per_chip:,}",
            f"{row.switches:,}",
            hops_words(row),
            f"{row.diameter_hops:,}",
            bisection_words(row),
        )
        for row in rows
    ]
    return SplitTable(header, cells, by=("topology",), right=header[1:])


def hops_words(row: TopologyRow) -> str:
    """`13/3 = 4.333`, or the whole number."""
    exact = row.average_hops
    return str(exact) if exact.denominator == 1 else f"{exact} = {float(exact):.4g}"


def bisection_words(row: TopologyRow) -> str:
    """The fewest links between halves; with <= where that is not proved."""
    proved = row.bisection_lower == row.bisection_links
    return f"{row.bisection_links:,}" if proved else f"<= {row.bisection_links:,}"


def load_table(rows: Sequence[TopologyRow]) -> SplitTable:
    """A line of loads and what follows from them per topology."""
    columns = {
        "topology": [row.name for row in rows],
        "bytes": [_shown(row.traffic_bytes, show_bytes) for row in rows],
        "hops/byte": [_shown(row.traffic_hops, plain) for row in rows],
        "busiest link": ["-".join(row.busiest_link()) or _NONE for row in rows],
        "its load": [_NONE if row.load is None else show_bytes(row.load.busiest_bytes)
                     for row in rows],
        "time": [_shown(row.load and row.load.time_s, show_seconds) for row in rows],
        "energy": [_shown(row.load and row.load.energy_j, show_joules) for row in rows],
        "slowest pair": [_shown(row.latency_s, show_seconds) for row in rows],
        "price": [_shown(row.price, plain) for row in rows],
        "static power": [_shown(row.static_w, show_watts) for row in rows],
    }  # fmt: skip
    asked = ("time", "energy", "slowest pair", "price", "static power")
    kept = {
        name: cells
        for name, cells in columns.items()
        if name not in asked or any(cell != _NONE for cell in cells)
    }
    right = [name for name in kept if name not in ("topology", "busiest link")]
    lines = list(zip(*kept.values(), strict=True))
    return SplitTable(tuple(kept), lines, by=("topology",), right=right, whole=("busiest link",))


def _shown(value: object, show: object) -> str:
    """A number in words; a dash for None."""
    return _NONE if value is None else show(value)  # type: ignore[operator]

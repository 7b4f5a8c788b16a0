"""What is to be said about the rows of `planner rack topology`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from planner.network.topology.graphs import MOST_EDGES, MOST_NODES
from planner.studies.rack.topology.rows import LinkFigures, TopologyRow

_MOST_NAMED = 4
_OF_LINKS = (
    ("time", "bandwidth_bytes_per_s", "--bandwidth"),
    ("energy", "energy_j_per_byte", "--energy-per-hop"),
    ("latency of the slowest pair", "latency_s", "--latency"),
)


def row_notes(rows: Sequence[TopologyRow], figures: LinkFigures) -> list[str]:
    """Bounds that are not proved, loads that are too large, figures that some links lack."""
    notes = []
    if any(row.bisection_lower < row.bisection_links for row in rows):
        notes.append(
            "bisection with <=: a cut that exists, not proved the fewest; --time-limit 60s seeks "
            "a proof"
        )
    if any(row.load is None for row in rows):
        notes.append(f"no loads above {MOST_NODES:,} chips and switches or {MOST_EDGES:,} links")
    if any(row.name.startswith("dragonfly") for row in rows):
        notes.append("average hops of a dragonfly: local-global-local routes")
    return [*notes, *_lacking_links(rows, figures), *_lacking_sums(rows, figures)]


def _lacking_links(rows: Sequence[TopologyRow], figures: LinkFigures) -> Iterator[str]:
    """Where some links of a graph have a figure and others have none."""
    for what, name, flag in _OF_LINKS:
        known = [_known_links(row, name) for row in rows]
        found = [
            row for row, links in zip(rows, known, strict=True) if links.any() and not links.all()
        ]
        if found and getattr(figures, name) is None:
            yield f"no {what} of {_names(found)}: not every link says its own; give {flag}"


def _lacking_sums(rows: Sequence[TopologyRow], figures: LinkFigures) -> Iterator[str]:
    """Where some links or ports of a topology have a price or a power, and others have none."""
    priced = [_known_links(row, "price").any() for row in rows]
    sums = (
        ("price", [row.price for row in rows], priced, figures.link_price, figures.port_price),
        ("power", [row.static_w for row in rows], [False] * len(rows),
         figures.link_w, figures.port_w),
    )  # fmt: skip
    for what, values, own, link, port in sums:
        asked = link is not None or port is not None
        bare = [(row, some) for row, value, some in zip(rows, values, own, strict=True)
                if value is None]  # fmt: skip
        causes = {
            "its file gives some links one, but": [row for row, some in bare if some],
            "": [row for row, some in bare if asked and not some],
        }
        for cause, found in causes.items():
            if found:
                words = f"{cause} not every link and port of a switch has one".strip()
                yield (
                    f"no {what} of {_names(found)}: {words}; give --link-{what} and "
                    f"--port-{what}, 0 where there is none"
                )


def _known_links(row: TopologyRow, name: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(m,) which links of a graph have a figure of their own."""
    if row.wiring is None:
        return np.zeros(1, dtype=bool)
    return ~np.isnan(row.wiring.figures[name])


def _names(rows: Sequence[TopologyRow]) -> str:
    named = ", ".join(row.name for row in rows[:_MOST_NAMED])
    return named + (", ..." if len(rows) > _MOST_NAMED else "")

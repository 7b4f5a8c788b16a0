"""The answer of `planner collective compare --system` as Rich tables for a terminal."""

from __future__ import annotations

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, show_bytes, show_seconds
from planner.collectives.questions.question import size_words
from planner.collectives.questions.systems import SystemAnswer
from planner.report.tables.tables import SplitTable, indented, section

_MOST_SIZES = 6
_CONSTANTS = (
    "Times are those of NCCL's protocols under the constants of calibration nccl, fitted to "
    "measured calls; `planner validate --what collectives` prints how far off they are.",
    "Bus bandwidth is counted as nccl-tests does.",
)


def system_view(answer: SystemAnswer) -> RenderableType:
    """Everything that `planner collective compare --system` prints."""
    asked = answer.question
    network = f"{asked.network} between nodes" if asked.network else "no network between them"
    lines = [
        f"{one.after} overtakes {one.before} at {show_bytes(one.size_bytes)} "
        f"({show_seconds(one.time_s)})."
        for one in answer.curves.crossovers
    ]
    size = f"L is {size_words(asked.collective)}."
    return Group(
        Text(f"{asked.collective} on {asked.chips:,} chips of {asked.name}", style="bold"),
        indented([f"{asked.cluster.name}, {network}", size], by=0),
        Text(),
        section("Fastest", _fastest(answer)),
        Text(),
        section("Times by algorithm and protocol at some sizes L (--json has all)", _times(answer)),
        Text(),
        indented([*lines, *_CONSTANTS], by=0),
    )


def _fastest(answer: SystemAnswer) -> RenderableType:
    rows = []
    for at, (row, bus) in enumerate(zip(answer.best, answer.bus_bytes_per_s, strict=True)):
        line = answer.lines[row]
        time = show_seconds(float(answer.times_s[row, at]))
        size = show_bytes(float(answer.sizes_bytes[at]))
        rows.append([size, line.algorithm, line.protocol, time, f"{plain(bus / 1e9)} GB/s"])
    header = ["size L", "algorithm", "protocol", "time", "bus bandwidth"]
    return SplitTable(header, rows, by=("size L",), right=("size L", "time", "bus bandwidth"))


def _times(answer: SystemAnswer) -> RenderableType:
    """A row per line; of many sizes some from the first to the last."""
    last = len(answer.sizes_bytes) - 1
    shown = np.unique(np.rint(np.linspace(0, last, min(last + 1, _MOST_SIZES))).astype(int))
    sizes = [show_bytes(size) for size in answer.sizes_bytes[shown].tolist()]
    rows = [
        [line.algorithm, line.protocol, *map(show_seconds, times)]
        for line, times in zip(answer.lines, answer.times_s[:, shown].tolist(), strict=True)
    ]
    header = ["algorithm", "protocol", *sizes]
    return SplitTable(header, rows, by=("algorithm", "protocol"), right=sizes)

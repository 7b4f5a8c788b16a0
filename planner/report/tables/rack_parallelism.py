"""The figures of `planner rack parallelism` as Rich tables for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import show_bytes, show_joules, show_seconds
from planner.report.tables.tables import SplitTable, indented, section
from planner.studies.rack.parallelism.asking import ParallelismAnswer, setting_words
from planner.studies.rack.parallelism.figures import Figure, Point

NAMES = {"dp": "DP", "tp": "TP", "pp+tp": "PP + TP"}
PART_NAMES = {
    "main_memory_read": "main mem. read",
    "main_memory_write": "main mem. write",
    "gpu_memory_read": "GPU mem. read",
    "gpu_memory_write": "GPU mem. write",
    "sram_read": "SRAM read",
    "sram_write": "SRAM write",
    "registers_read": "registers read",
    "registers_write": "registers write",
    "compute": "compute",
    "network": "network",
    "network_between_racks": "between racks",
    "static": "static",
}
_SWEPT = {"gpus": "GPUs", "block_size": "block size"}


def parallelism_view(answer: ParallelismAnswer) -> RenderableType:
    """Everything that `planner rack parallelism` prints."""
    parts: list[RenderableType] = []
    for figure in answer.figures:
        parts += [section(f"Figure {figure.number}. {figure.title}", figure_table(figure)), Text()]
    words = setting_words(answer.setting)
    lines = [
        f"{words['hardware']}, racks of {words['rack_chips']:,}; "
        f"blocks of {words['block_size']:,} threads, {words['micro_batches']} micro-batches",
        "readings: " + ", ".join(f"--{n.replace('_', '-')} {words[n]}" for n in _read(words)),
        "Energy is that of all GPUs over one batch; computing is that of the forward pass.",
    ]
    return Group(*parts, indented(lines, by=0))


_READ = ("ring", "transfers", "tensor", "in_stage", "scores")
_IF_ASKED = {"weight_loads": "once", "memory_chips": 0}
"""Readings that are told where they are not these."""


def _read(words: Mapping[str, object]) -> tuple[str, ...]:
    """The readings that are told."""
    return (*_READ, *(name for name, usual in _IF_ASKED.items() if words[name] != usual))


def figure_table(figure: Figure) -> SplitTable:
    """The points of a figure as a table: a line per point where it shows parts of energy."""
    if figure.shown == "energy":
        return _breakdown(figure)
    return _curves(figure)


def curve_names(figure: Figure) -> list[str]:
    """The curves of a figure, in order."""
    return list(dict.fromkeys(curve_of(point) for point in figure.series))


def curve_of(point: Point) -> str:
    """`DP`, `TP forward`."""
    return " ".join(filter(None, (NAMES[point.strategy], point.direction)))


def _curves(figure: Figure) -> SplitTable:
    """A line per GPU count or block size, a column per curve."""
    curves = curve_names(figure)
    swept = sorted({getattr(point, figure.swept) for point in figure.series})
    at = {(curve_of(p), getattr(p, figure.swept)): p for p in figure.series}
    show: Callable[[Point], str] = (
        (lambda p: show_joules(p.total_j))
        if figure.shown == "total energy"
        else (lambda p: show_seconds(p.latency_s))
    )
    rows = [
        [f"{x:,}", *(show(at[curve, x]) if (curve, x) in at else "-" for curve in curves)]
        for x in swept
    ]
    header = (_SWEPT[figure.swept], *curves)
    return SplitTable(header, rows, by=header[:1], right=header)


def _breakdown(figure: Figure) -> SplitTable:
    """A line per part of the energy, a column per point."""
    points = figure.series
    labels = [_label(figure, point) for point in points]
    parts = list(points[0].energy_j)
    rows = [
        [PART_NAMES[part], *(show_joules(point.energy_j[part]) for point in points)]
        for part in parts
    ]
    rows.append(["total", *(show_joules(point.total_j) for point in points)])
    rows.append(["sent", *(show_bytes(point.wire_bytes) for point in points)])
    return SplitTable(("part", *labels), rows, by=("part",), right=labels)


def _label(figure: Figure, point: Point) -> str:
    """What tells a point from the others of its figure."""
    if len({p.strategy for p in figure.series}) > 1:
        return NAMES[point.strategy]
    noun = "threads" if figure.swept == "block_size" else "GPUs"
    return f"{getattr(point, figure.swept):,} {noun}"

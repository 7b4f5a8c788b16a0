"""The answer of `planner collective compare` as Rich tables for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, show_bytes, show_seconds
from planner.collectives.nccl.schedules import CHAINS, CHAINS_WORDS
from planner.collectives.questions.answers import load_words
from planner.collectives.questions.comparison import CompareAnswer
from planner.report.tables.collective import heading
from planner.report.tables.tables import SplitTable, indented, section

_CONSTANTS = {
    "machine": "All take the machine's latency per step, bandwidth and start.",
    "nccl": "All take the base, latency per step and share of the wire of NCCL's protocols (LL, "
    "LL128, Simple; src/graph/tuning.cc): at each size the fastest one, which Times names. Each "
    "changes its protocol at a size of its own, so two may overtake one another more than once.",
}


def compare_view(answer: CompareAnswer) -> RenderableType:
    """Everything that `planner collective compare` prints."""
    parts: list[RenderableType] = [heading(answer.found.question), Text()]
    if not answer.found.rows:
        return Group(*parts, indented([f"{answer.found.front.ends}."], by=0))
    parts += [section("Algorithms", _algorithms(answer)), Text()]
    parts += [section("Times", _times(answer)), Text()]
    lines = [
        f"{one.after} overtakes {one.before} at {show_bytes(one.size_bytes)} "
        f"({show_seconds(one.time_s)})."
        for one in answer.curves.crossovers
    ]
    if not any(one.library for one in answer.algorithms):
        lines.append("No ring or tree runs over the links of this machine.")
    if any(one.name.startswith(CHAINS) for one in answer.algorithms):
        lines.append(CHAINS_WORDS)
    parts.append(indented([*lines, _CONSTANTS[answer.constants]], by=0))
    return Group(*parts)


def _algorithms(answer: CompareAnswer) -> RenderableType:
    proved = ["yes" if row.proved else "no" for row in answer.found.rows]
    rows = [
        (
            one.name,
            "as a library runs it" if one.library else "synthesized",
            str(one.steps),
            load_words(one.load),
            "-" if one.library else proved[at],
        )
        for at, one in enumerate(answer.algorithms)
    ]
    header = ("algorithm", "", "steps S", "R / C", "proved")
    return SplitTable(header, rows, by=("algorithm",), right=("steps S",))


def _times(answer: CompareAnswer) -> RenderableType:
    """The fastest at each size, and how much faster it is than the best of a library."""
    rows = []
    for at, (size, row) in enumerate(zip(answer.sizes_bytes.tolist(), answer.best, strict=True)):
        time = float(answer.times_s[row, at])
        cells = [show_bytes(size), *_which(answer, row, at), show_seconds(time)]
        other = answer.best_of_library(at)
        if other is not None:
            slower = float(answer.times_s[other, at])
            cells += [*_which(answer, other, at), show_seconds(slower), f"{plain(slower / time)} x"]
        rows.append(cells)
    protocol, its = (["protocol"], ["its protocol"]) if answer.protocols else ([], [])
    header = ["size L", "fastest", *protocol, "time"]
    if any(one.library for one in answer.algorithms):
        header += ["library", *its, "its time", "gain"]
    return SplitTable(header, rows, by=("size L",), right=("size L", "time", "its time", "gain"))


def _which(answer: CompareAnswer, row: int, at: int) -> list[str]:
    """An algorithm and, where there are some, its protocol at a size."""
    name = answer.algorithms[row].name
    return [name, answer.protocols[row][at]] if answer.protocols else [name]

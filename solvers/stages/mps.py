"""The integer linear program of a stage problem as a file that every solver of such programs reads.

Free-format MPS: whole numbers, so nothing is lost. Variables `c0`, `c1`, ... are the columns of the
problem, in their order; `one` is fixed at 1 and holds the constant of the objective. Where only
choices below a value are wanted, the row `wanted` keeps the objective below it.
Source: the MPS format, https://lpsolve.sourceforge.net/5.5/mps-format.htm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from solvers.stages.backend import Question
from solvers.stages.master import Master, master_of
from solvers.stages.problem import LARGEST

WANTED = "wanted"
_OBJECTIVE, _ONE = "objective", "one"


def mps_of(question: Question, name: str = "stages") -> str:
    """The program of a question: what is minimized, under all of its limits."""
    lines = _lines(master_of(question), question.below)
    return "\n".join([f"NAME {name}", *lines, "ENDATA"]) + "\n"


def _lines(master: Master, below: int | None) -> Iterator[str]:
    """All sections."""
    kinds = [
        _kind(low, up) for low, up in zip(master.lower.tolist(), master.upper.tolist(), strict=True)
    ]
    yield "ROWS"
    yield f" N {_OBJECTIVE}"
    yield from (f" {kind} r{at}" for at, kind in enumerate(kinds))
    rows = [_OBJECTIVE]
    if below is not None:
        yield f" L {WANTED}"
        rows.append(WANTED)
    yield from _columns(master, rows)
    yield "RHS"
    if below is not None:
        yield f" RHS {WANTED} {below - 1}"
    ends = np.where([kind == "G" for kind in kinds], master.lower, master.upper)
    yield from (f" RHS r{at} {end}" for at, end in enumerate(ends.tolist()) if end)
    yield "RANGES"
    widths = (master.upper - master.lower).tolist()
    both = (at for at, kind in enumerate(kinds) if kind == "L" and master.lower[at] != -LARGEST)
    yield from (f" RNG r{at} {widths[at]}" for at in both)
    yield from _bounds(master)


def _kind(lower: int, upper: int) -> str:
    """Equal, less or greater; between two ends it is less, with a range."""
    if lower == upper:
        return "E"
    return "G" if upper == LARGEST else "L"


def _columns(master: Master, weighed: Sequence[str]) -> Iterator[str]:
    """The rows of every variable, whole ones between markers; `weighed` are as the objective."""
    yield "COLUMNS"
    yield from (f" {_ONE} {row} {master.constant}" for row in weighed)
    by_column = master.rows.tocsc()
    whole = False
    for at, binary in enumerate(master.binary.tolist()):
        if binary != whole:
            yield _marker(at, starts=binary)
            whole = binary
        yield from (f" c{at} {row} {int(master.objective[at])}" for row in weighed)
        own = slice(by_column.indptr[at], by_column.indptr[at + 1])
        pairs = zip(by_column.indices[own].tolist(), by_column.data[own].tolist(), strict=True)
        yield from (f" c{at} r{row} {value}" for row, value in pairs)
    if whole:
        yield _marker(len(master.binary), starts=False)


def _marker(at: int, *, starts: bool) -> str:
    return f" M{at} 'MARKER' '{'INTORG' if starts else 'INTEND'}'"


def _bounds(master: Master) -> Iterator[str]:
    """The range of every variable."""
    yield "BOUNDS"
    yield f" FX BND {_ONE} 1"
    ranges = zip(master.least.tolist(), master.most.tolist(), strict=True)
    for at, (least, most) in enumerate(ranges):
        if least == most:
            yield f" FX BND c{at} {least}"
        else:
            yield f" LO BND c{at} {least}"
            yield f" UP BND c{at} {most}"

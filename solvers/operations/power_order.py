"""The least time under a cap on power where the order of begins and ends is given.

With the begins and ends of all operations in a fixed order, what runs between two of them is known,
and the program of `solvers.operations.program` gets two kinds of rows: moments follow one another
as in the order, and where something begins, sum_ik p_ik x_ik over what runs is within the cap. An
operation of two levels draws less than that sum on average (it spends more of its time at the
slower one), so the rows are on the safe side. Its levels are mixed and its mean power counts, so it
is no schedule of whole levels yet: `solvers.operations.placing` makes one in its order.

Source: Bailey, Marathe, Lowenthal, Rountree, Schulz, Finding the limits of power-constrained
application performance, SC 2015, doi:10.1145/2807591.2807637.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from solvers.operations.graph import Floats, Ints
from solvers.operations.power import SLACK, Capped
from solvers.operations.program import Program

_SAME = 9
"""Decimals of seconds to which moments are one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Mixed levels in an order.

    Attributes:
        end: Of all.
        begin, seconds: (n,) of each operation.
    """

    end: float
    begin: Floats
    seconds: Floats


def planned(capped: Capped, begin: Floats, seconds: Floats) -> Planned | None:
    """The least time in the order of given begins and ends; None: there is none within the cap.

    Args:
        capped: The operations.
        begin, seconds: (n,) of a schedule, which may break the cap.
    """
    program = capped.program()
    rows = list(_rows(capped, program, begin, seconds))
    if rows:
        program.add(rows)
    found = program.solved()
    if found is None:
        return None
    values, _ = found
    took = (program.graph.seconds * program.mixed(values)).sum(axis=1)
    return Planned(end=float(values[-1]), begin=values[program.count : -1], seconds=took)


def _rows(
    capped: Capped, program: Program, begin: Floats, seconds: Floats
) -> Iterator[tuple[Ints, Floats, float]]:
    """The rows of the module."""
    events = _events(capped, begin, seconds)
    most = capped.power.max(axis=1)
    running: list[int] = []
    last: tuple[Ints, Floats] | None = None
    for at, (begins, one) in enumerate(events):
        moment = program.count + np.array([one], dtype=np.intp), np.ones(1)
        if begins:
            running.append(one)
            full = at + 1 == len(events) or not events[at + 1][0]
            if full and most[running].sum() > capped.cap:
                weights = capped.power[running].ravel()
                yield program.columns[running].ravel(), -weights, -capped.cap * (1 + SLACK)
        else:
            running.remove(one)
            took = program.columns[one], program.graph.seconds[one]
            moment = np.append(moment[0], took[0]), np.append(moment[1], took[1])
        if last is not None:
            yield np.append(moment[0], last[0]), np.append(moment[1], -last[1]), 0.0
        last = moment


def _events(capped: Capped, begin: Floats, seconds: Floats) -> list[tuple[bool, int]]:
    """Whether each begins, and which operation; what ends comes before what begins."""
    drawing = np.flatnonzero((capped.power > 0).any(axis=1) & (seconds > 0)).tolist()
    ends = np.round(begin + seconds, _SAME).tolist()
    begins = np.round(begin, _SAME).tolist()
    events = [(ends[one], False, one) for one in drawing]
    events += [(begins[one], True, one) for one in drawing]
    return [(begun, one) for _, begun, one in sorted(events)]

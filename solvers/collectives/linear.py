"""The model of a schedule with given rounds as a mixed-integer program, looked at for a moment.

The same sends and rules as in `model`, with capacities as numbers. That a node sends only what it
received before is said link by link, all steps up to one together:

    sum of x[k, i, (u, v), s'] over s' <= s  <=  sum of x[k, i, (w, u), s'] over w and s' < s

which is tighter than one send at a time, since a node receives a chunk once. The solver often
finds a schedule at the root of its tree, and where it does not, CP-SAT is better.

Source of the solver: Huangfu, Hall, Math. Prog. Comp. 2018, doi:10.1007/s12532-017-0130-5 (HiGHS).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from solvers.clock import left_s
from solvers.collectives.model import Crossing, Part, Symmetry, windows
from solvers.collectives.problem import Network

NODES = 8
"""Of the tree of the solver, at most."""


@dataclass(slots=True)
class _Rows:
    """Constraints under way: rows, columns, values, and what a row is at least and at most."""

    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def add(self, terms: Sequence[tuple[int, float]], low: float, high: float) -> None:
        """One row."""
        self.row += [len(self.low)] * len(terms)
        self.column += [column for column, _ in terms]
        self.value += [value for _, value in terms]
        self.low.append(low)
        self.high.append(high)


def linear_crossings(
    network: Network,
    parts: Sequence[Part],
    symmetry: Symmetry,
    rounds: Sequence[int],
    hops: Sequence[Sequence[int]],
    deadline: float,
) -> list[Crossing] | None:
    """The sends of the leading parts within the rounds, if they are found at once.

    Args:
        network: Links, lanes, shared capacities.
        parts: What is sent.
        symmetry: Of the group that the schedule is held to.
        rounds: r_s of every step.
        hops: (nodes, nodes) links on a shortest way.
        deadline: On the clock of `time.perf_counter`.

    Returns:
        None where none was found, which proves nothing.
    """
    column: dict[Crossing, int] = {}
    rows = _Rows()
    for at in symmetry.leaders:
        window = windows(network, parts[at], len(rounds), hops)
        for copy in range(len(parts[at].chunks)):
            mine = [
                Crossing(at, copy, link, step)
                for link, first, last in window
                for step in range(first, last + 1)
            ]
            column.update(zip(mine, count(len(column)), strict=False))
            if not _flow(rows, network, parts[at], mine, column):
                return None
    _capacity(rows, network, symmetry, rounds, column)
    shape = (len(rows.low), len(column))
    found = milp(
        np.zeros(len(column)),
        integrality=np.ones(len(column)),
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(
            csr_array((rows.value, (rows.row, rows.column)), shape=shape), rows.low, rows.high
        ),
        options={"time_limit": left_s(deadline), "node_limit": NODES},
    )
    if found.x is None:
        return None
    return [crossing for crossing, sent in zip(column, found.x, strict=True) if sent > 1 / 2]


def _flow(
    rows: _Rows,
    network: Network,
    part: Part,
    mine: Sequence[Crossing],
    column: dict[Crossing, int],
) -> bool:
    """One chunk: received once, held before it is sent; whether all destinations are reached."""
    into: dict[int, list[tuple[int, int]]] = defaultdict(list)
    over: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for crossing in mine:
        into[network.links[crossing.link][1]].append((crossing.step, column[crossing]))
        over[crossing.link].append((crossing.step, column[crossing]))
    for node, arrivals in into.items():
        once = float(node in part.destinations)
        rows.add([(sent, 1.0) for _, sent in arrivals], once, 1.0)
    for link, sends in over.items():
        tail = network.links[link][0]
        if tail == part.source:
            continue
        for step, _ in sends:
            so_far = [(sent, 1.0) for at, sent in sends if at <= step]
            before = [(sent, -1.0) for at, sent in into[tail] if at < step]
            rows.add([*so_far, *before], -np.inf, 0.0)
    return part.destinations <= set(into)


def _capacity(
    rows: _Rows,
    network: Network,
    symmetry: Symmetry,
    rounds: Sequence[int],
    column: dict[Crossing, int],
) -> None:
    """Links and shared capacities carry what their rounds allow."""
    on_link: dict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
    on_port: dict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
    ports: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row, (counts, _) in enumerate(symmetry.port_rows):
        for link, weight in counts.items():
            ports[link].append((row, weight))
    for crossing, sent in column.items():
        leader = symmetry.link_orbit[crossing.link]
        on_link[leader, crossing.step].append((sent, 1.0))
        for row, weight in ports[crossing.link]:
            on_port[row, crossing.step].append((sent, float(weight)))
    for (link, step), terms in on_link.items():
        rows.add(terms, -np.inf, network.lanes[link] * rounds[step])
    for (row, step), terms in on_port.items():
        rows.add(terms, -np.inf, symmetry.port_rows[row][1] * rounds[step])

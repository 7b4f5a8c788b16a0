"""Schedules of networks beyond what a search reaches: in phases over groups, or along packed trees.

Both are heuristics in steps. Their distance from the bound that holds for every schedule is part
of the answer. Reduce-scatters are all-gathers of the reversed network, run backwards; all-reduces
are a reduce-scatter and then an all-gather.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.collectives.machines.machine import Machine
from planner.collectives.machines.renumber import renumbered, renumbered_machine
from solvers.collectives.checking import faults
from solvers.collectives.commodities import same_backwards
from solvers.collectives.compose import in_turn, reverse, split
from solvers.collectives.cuts import cut_bound
from solvers.collectives.grouping import alike_groups, orbit_count
from solvers.collectives.hierarchy import grid_groups, in_phases
from solvers.collectives.packing import along_trees, packed_trees
from solvers.collectives.problem import Network, goal_of
from solvers.collectives.rows import Row
from solvers.collectives.schedule import Schedule
from solvers.collectives.synthesis import fewest_rounds, load_limit, question

SEARCH = "search"
PHASES = "phases"
TREES = "trees"
METHODS = (SEARCH, PHASES, TREES)
"""How schedules are made."""
COMPOSED = ("allgather", "reduce-scatter", "allreduce")
"""Collectives that phases and trees make."""
FEWEST_CHIPS = 16
"""Below this many a search is left alone unless another method is asked for."""
MOST_ORBITS = 24
"""Chips that no symmetry joins, above which a search finds little."""
MOST_SENDS = 400_000
"""Of a schedule: a pipeline is cut no finer."""
MOST_PIECES = 64
_PHASE_CHUNKS = (1, 2, 4)
_SEND_S = 2e-5
"""About what writing down and replaying one send takes."""
_SHARES = (0.75, 0.2)
"""Of the time, what a search takes where the other methods follow: within its reach, and beyond."""
_RESERVE_S = 10.0
"""What the other methods have at least, up to half of the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A schedule that was not searched for.

    Attributes:
        method: `phases` or `trees`.
        row: The schedule, and what no schedule goes below.
    """

    method: str
    row: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class _Effort:
    """How far schedules are made.

    Attributes:
        deadline: On the clock of `time.perf_counter`.
        most: The largest C of an all-gather that is cut further; None: `MOST_PIECES` pieces.
        on_progress: Called with (what, done, of).
    """

    deadline: float
    most: int | None
    on_progress: Progress | None

    def tell(self, what: str, done: int, of: int) -> None:
        """Says how far it is."""
        if self.on_progress is not None:
            self.on_progress(what, done, of)


def methods_for(machine: Machine, collective: str) -> tuple[str, ...]:
    """Which of phases and trees can make a collective on a machine.

    Args:
        machine: Phases need groups of chips with narrow links or trunks between them, trees links
            without shared capacities.
        collective: One of `solvers.collectives.problem.COLLECTIVES`.
    """
    if collective not in COMPOSED:
        return ()
    phases = (PHASES,) if alike_groups(machine.network) else ()
    return phases if machine.network.shared else (*phases, TREES)


def search_time_s(machine: Machine, collective: str, time_limit_s: float) -> float:
    """What a search takes of the time; the rest is for what can follow it."""
    network = machine.network
    if network.nodes < FEWEST_CHIPS or not methods_for(machine, collective):
        return time_limit_s
    share = _SHARES[orbit_count(network.nodes, machine.symmetries) > MOST_ORBITS]
    return min(time_limit_s * share, max(time_limit_s / 2, time_limit_s - _RESERVE_S))


def check_method(method: str, machine: Machine, collective: str) -> None:
    """Refuses a method that cannot make a collective on a machine.

    Raises:
        InputError: In one line, with what is allowed.
    """
    if method == SEARCH or method in methods_for(machine, collective):
        return
    if collective not in COMPOSED:
        raise InputError(
            f"method: {method} makes {COMPOSED[0]}, {COMPOSED[1]} and {COMPOSED[2]}; "
            f"ask for search with {collective}"
        )
    why = (
        f"{machine.label} has no groups of one size with trunks or narrower links between them"
        if method == PHASES
        else f"{machine.label} has ports or trunks that several links share"
    )
    allowed = (SEARCH, *methods_for(machine, collective))
    raise InputError(f"method: {method}: {why}; ask for {' or '.join(allowed)}")


def composed(
    machine: Machine,
    collective: str,
    methods: tuple[str, ...],
    *,
    limit: Fraction,
    deadline: float,
    most: int | None = None,
    on_progress: Progress | None = None,
) -> list[Composed]:
    """Schedules in phases and along trees, as many as the time allows.

    Args:
        machine: Where.
        collective: One of `COMPOSED`.
        methods: Some of `methods_for`.
        limit: No schedule has less R / C.
        deadline: On the clock of `time.perf_counter`.
        most: The largest C, of an all-reduce that of each half: no finer ones are made than the
            first of each method.
        on_progress: Called with (what, done, of).
    """
    network, found = machine.network, []
    effort = _Effort(deadline=deadline, most=most, on_progress=on_progress)
    for method in methods:
        try:
            for schedule in _made(machine, collective, method, effort):
                wrong = faults(schedule, network)
                if wrong:
                    raise AssertionError(f"a composed schedule is wrong: {wrong[0].text}")
                least = max(schedule.steps, math.ceil(limit * schedule.chunks))
                row = Row(schedule=schedule, lower_bound=least, load_bound=limit)
                found.append(Composed(method=method, row=row))
        except TimeoutError:
            continue
    return found


def with_chunks(
    rows: list[Composed], chunks: int | None, steps: int | None, most: int | None
) -> list[Composed]:
    """Those of at most so many steps and chunks, cut into so many where that can be done."""
    kept = []
    for one in rows:
        row = one.row
        if (steps is not None and row.steps > steps) or (chunks or row.chunks) % row.chunks:
            continue
        if most is not None and row.chunks > most:
            continue
        finer = split(row.schedule, (chunks or row.chunks) // row.chunks)
        least = max(finer.steps, math.ceil(row.load_bound * finer.chunks))
        cut = Row(schedule=finer, lower_bound=least, load_bound=row.load_bound)
        kept.append(Composed(method=one.method, row=cut))
    return kept


def worth_having(rows: list[Composed]) -> list[Composed]:
    """Those that no other beats in steps and in R / C, by steps; of equals the first."""
    kept: list[Composed] = []
    for one in sorted(rows, key=lambda one: (one.row.steps, one.row.load)):
        if not kept or one.row.load < kept[-1].row.load:
            kept.append(one)
    return kept


def _made(machine: Machine, collective: str, method: str, effort: _Effort) -> Iterator[Schedule]:
    """Schedules of one method."""
    made = _in_phases if method == PHASES else _along_trees
    back = replace(machine, network=machine.network.reversed())
    if collective == "allgather":
        yield from made(machine, effort)
        return
    there = iter(made(back, effort))
    if collective == "reduce-scatter":
        yield from map(reverse, there)
        return
    alike = same_backwards(machine.network)
    again = None if alike else made(machine, effort)
    for first in there:
        second = first if again is None else next(again, None)
        if second is not None:
            yield in_turn(reverse(first), second, members=machine.network.nodes)


def _in_phases(machine: Machine, effort: _Effort) -> Iterator[Schedule]:
    """All-gathers across the groups and then inside them, in ever more pieces."""
    groups = alike_groups(machine.network)
    order = [0] * machine.network.nodes
    for place, node in enumerate(node for group in groups for node in group):
        order[node] = place
    back = [node for group in groups for node in group]
    grid = renumbered_machine(machine, order)
    sizes = (len(groups), len(groups[0]))
    phases = [_phase(grid, sizes, axis, effort) for axis in (0, 1)]
    for pick in (0, -1):
        chosen = [(axis, phase[pick]) for axis, phase in enumerate(phases)]
        if pick and all(len(phase) == 1 for phase in phases):
            break
        first = in_phases(grid.network, sizes, chosen)
        for pieces in _pieces(first, PHASES, effort):
            schedule = in_phases(grid.network, sizes, chosen, pieces)
            yield renumbered(schedule, back)


def _phase(grid: Machine, sizes: tuple[int, int], axis: int, effort: _Effort) -> list[Schedule]:
    """All-gathers of the lines along an axis: with one chunk, then with less R / C.

    Raises:
        TimeoutError: None was found in time.
    """
    asked = question(
        grid.network, "allgather", groups=grid_groups(sizes, axis), symmetries=grid.symmetries
    )
    limit = load_limit(asked)
    found: list[Schedule] = []
    for at, chunks in enumerate(_PHASE_CHUNKS):
        effort.tell("phases", axis * len(_PHASE_CHUNKS) + at, 2 * len(_PHASE_CHUNKS))
        left = (effort.deadline - time.perf_counter()) / 4
        if left <= 0 or (found and found[-1].load <= limit):
            break
        best = fewest_rounds(
            asked, chunks, asked.least_steps, limit=limit, time_limit_s=left
        ).decision
        if found and (best is None or best.load >= found[-1].load):
            break
        found += [] if best is None else [best]
    if not found:
        raise TimeoutError("no phase was found")
    return found


def _along_trees(machine: Machine, effort: _Effort) -> Iterator[Schedule]:
    """All-gathers along packed trees, in ever more pieces."""
    network = machine.network

    def noted(done: int, of: int) -> None:
        effort.tell("trees", done, of)

    noted(0, network.nodes)
    load = _bottleneck(network, effort.deadline)
    trees = packed_trees(network, load, deadline=effort.deadline, on_tree=noted)
    first = along_trees(network, trees)
    for pieces in _pieces(first, TREES, effort):
        yield along_trees(network, trees, pieces)


def _bottleneck(network: Network, deadline: float) -> Fraction:
    """The bottleneck cut of an all-gather.

    Raises:
        TimeoutError: It was not settled in time.
    """
    left = max(deadline - time.perf_counter(), 0.0)
    found = cut_bound(network, goal_of("allgather", network.nodes, 1), time_limit_s=left)
    if time.perf_counter() >= deadline:
        raise TimeoutError("the time ended before the bottleneck cut was settled")
    return found.load


def _pieces(first: Schedule, what: str, effort: _Effort) -> Iterator[int]:
    """1, 2, 4, ...: as long as the sends are few enough to be written and checked in time."""
    pieces, of = 1, MOST_PIECES.bit_length()
    while pieces <= MOST_PIECES:
        sends = len(first.sends) * pieces
        too_fine = effort.most is not None and first.chunks * pieces > effort.most
        if pieces > 1 and (sends > MOST_SENDS or too_fine):
            return
        if time.perf_counter() + sends * _SEND_S > effort.deadline:
            return
        effort.tell(what, pieces.bit_length() - 1, of)
        yield pieces
        pieces *= 2

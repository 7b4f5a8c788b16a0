"""Aceso's problem solved: shortest chains of stages, whose recomputation is found when it matters.

States are the operators and devices left and the stages after them; columns lead from the end of
the pipeline to its begin. With devices alike, every state must leave each side enough devices for
its operators at the window's largest stage time, which leaves few. A column first costs a bound
on its stage; the shortest chain gets its stages solved, and again until its stages all are:
then no chain is shorter. Windows of the largest stage time rise until no slower stage can help.

Source: for edges evaluated only when a shortest path needs them, Dellin and Srinivasa, A Unifying
Formalism for Shortest Path Problems with Expensive Edge Evaluations, ICAPS 2016.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from engines.aceso import (
    RELATIVE,
    Floats,
    Ints,
    Model,
    Plan,
    Stage,
    Table,
    held_megabytes,
    milliseconds_per_step,
    saved_and_peak,
    sent_us,
)
from engines.aceso_recompute import Recomputing, pieces_of
from solvers.stages.free import Steps, least_total

_FIRST_WIDTH, _GROWTH = 0.05, 1.6
_SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A stage in a place: operators, parallelism, devices after it and stages after it."""

    begin: int
    end: int
    data: int
    tensor: int
    used: int
    after: int


def solve(model: Model) -> tuple[Plan, float, int]:
    """The best plan, what no plan undercuts, and how many stages were solved.

    Raises:
        ValueError: No plan fits.
    """
    searches = [_Search(model, samples) for samples in model.micro_batches]
    open_at = sorted((search.bound, i) for i, search in enumerate(searches))
    best: Plan | None = None
    least = math.inf
    while open_at and open_at[0][0] < least:
        _, i = heapq.heappop(open_at)
        plan = searches[i].widen(least)
        value = math.inf if plan is None else _value(model, plan)
        if value < least:
            best, least = plan, value
        if not searches[i].done:
            heapq.heappush(open_at, (searches[i].bound, i))
    if best is None:
        raise ValueError("no plan fits")
    bound = min(search.bound for search in searches)
    return best, min(bound, least), sum(search.solved for search in searches)


def _value(model: Model, plan: Plan) -> float:
    """Milliseconds of a plan; inf where a peak that its pieces do not show breaks the limit."""
    try:
        return milliseconds_per_step(model, plan)
    except ValueError:
        return math.inf


class _Search:
    """Plans of one micro-batch."""

    def __init__(self, model: Model, samples: int) -> None:
        self.model, self.samples, self.solved = model, samples, 0
        self.kinds, self.batches = model.kinds(), model.batch // samples
        self.again: dict[_Column, tuple[int, ...]] = {}
        self.costs: dict[_Column, float] = {}
        self.recomputing: dict[tuple[int, int], Recomputing] = {}
        self.ways = {
            size: [
                (data, size // data)
                for data in _SIZES
                if size % data == 0 and (samples // data, size // data) in model.tables
            ]
            for size in _SIZES
        }
        every = [
            (self._work(samples // data, tensor), size)
            for size, ways in self.ways.items()
            for data, tensor in ways
        ]
        self.passed = {key: np.r_[0.0, np.cumsum(self._work(*key))] for key in model.tables}
        self.areas = np.r_[0.0, np.cumsum(np.min([work * size for work, size in every], axis=0))]
        self.fastest = float(np.min([work for work, _ in every], axis=0).sum())
        self.high, self.width = float(self.areas[-1] / model.devices), _FIRST_WIDTH
        self.slowest = max(self._most(key) for key in model.tables)
        self.bound = (self.batches - 1) * self.high + self.fastest
        self.done = False

    def _work(self, samples: int, tensor: int) -> Floats:
        """(n,) milliseconds of each operator."""
        table = self.model.tables[samples, tensor]
        work: Floats = (table.forward + table.backward)[self.kinds] / 1e3
        return work

    def _most(self, key: tuple[int, int]) -> float:
        """Milliseconds that no stage exceeds: all work twice, all kinds sent near and far."""
        table, node = self.model.tables[key], self.model.devices_per_node
        moved = sum(
            sent_us(self.model, table, kind, kind, begin, end)
            for kind in np.unique(self.kinds).tolist()
            for begin, end in ((0, 1), (node, 2 * node))
        )
        return 2 * float(self.passed[key][-1]) + moved / 1e3

    def widen(self, below: float) -> Plan | None:
        """The best plan of the next window; raises `bound`, and is `done` where none is better.

        Plans of `below` milliseconds or more are not wanted, which limits the window.
        """
        rest = self.batches - 1
        last = (below - self.fastest) / rest * (1 + RELATIVE) if rest else math.inf
        self.high = min(self.high * (1 + self.width), last)
        self.width *= _GROWTH
        plan, least = self._window(self.high)
        beyond = (self.batches - 1) * self.high + self.fastest
        self.done = least <= beyond or self.high > self.slowest or self.high == last
        self.bound = least if self.done else beyond
        return plan

    def _window(self, high: float) -> tuple[Plan | None, float]:
        """The best plan whose stages take at most `high`, and a bound on all such plans."""
        columns = self._columns(high)
        if not columns:
            return None, math.inf
        costs = np.array([self._bound(column, high) for column in columns])
        while True:
            within = np.flatnonzero(costs <= high)
            found = least_total(self._steps(columns, costs, within), [self.batches - 1.0])
            if found.decision is None:
                return None, math.inf
            path = within[found.decision.columns[:-1]][::-1].tolist()
            fresh = [at for at in path if columns[at] not in self.again]
            if not fresh:
                stages = [self._stage(columns[at]) for at in path]
                return Plan(micro_batch=self.samples, stages=tuple(stages)), found.objective
            for at in fresh:
                costs[at] = self._solve(columns[at])

    def _columns(self, high: float) -> list[_Column]:
        """Stages between states that leave each side enough devices."""
        count, node = self.model.devices, self.model.devices_per_node
        rest = self.areas[-1] - self.areas
        spare = 1 + 1e-9
        states = [
            np.flatnonzero(
                (rest <= used * high * spare) & (self.areas <= (count - used) * high * spare)
            )
            for used in range(count + 1)
        ]
        found = []
        for used in range(count):
            for size, ways in self.ways.items():
                last = count - used - 1
                if size > last + 1 or (last - size + 1) // node != last // node:
                    continue
                ends = states[used] if used else np.array([len(self.kinds)])
                begins = states[used + size] if size <= last else np.array([0])
                for data, tensor in ways:
                    passed = self.passed[self.samples // data, tensor]
                    taken = passed[ends][:, None] - passed[begins][None, :]
                    longer = ends[:, None] > begins[None, :]
                    for i, k in np.argwhere(longer & (taken <= high)).tolist():
                        found += [
                            _Column(
                                begin=int(begins[k]),
                                end=int(ends[i]),
                                data=data,
                                tensor=tensor,
                                used=used,
                                after=after,
                            )
                            for after in range(-(-used // _SIZES[-1]), used + 1)
                        ]
        return found

    def _steps(self, columns: list[_Column], costs: Floats, rows: Ints) -> Steps:
        """Columns through states of operators, devices and stages, from the end to the begin."""
        n, wide = len(self.kinds), self.model.devices + 1
        own = [columns[row] for row in rows.tolist()]
        begin, end, used, after = (
            np.array([getattr(column, name) for column in own], dtype=np.int64)
            for name in ("begin", "end", "used", "after")
        )
        size = np.array([column.data * column.tensor for column in own], dtype=np.int64)
        last = np.arange(wide)
        final = (n + 1) * wide * wide
        closing = n * wide * wide + (wide - 1) * wide + last
        return Steps(
            level=np.r_[np.repeat(np.arange(n + 1), wide * wide), n + 1],
            starts=np.r_[((n - end) * wide + used) * wide + after, closing],
            ends=np.r_[((n - begin) * wide + used + size) * wide + after + 1, [final] * wide],
            lengths=np.r_[costs[rows], np.zeros(wide)],
            peaks=np.r_[costs[rows], np.zeros(wide)][:, None],
        )

    def _table(self, column: _Column) -> Table:
        return self.model.tables[self.samples // column.data, column.tensor]

    def _plain(self, column: _Column) -> tuple[float, float]:
        """Milliseconds without recomputation, and the megabytes that do not fit."""
        table, model = self._table(column), self.model
        last = model.devices - column.used
        moved = sent_us(
            model,
            table,
            int(self.kinds[column.begin]),
            int(self.kinds[column.end - 1]),
            last - column.data * column.tensor,
            last,
        )
        passed = self.passed[self.samples // column.data, column.tensor]
        time = float(passed[column.end] - passed[column.begin]) + moved / 1e3
        held = held_megabytes(table, self.kinds[column.begin : column.end], column.after + 1)
        return time, held - model.memory_mb

    def _inner(self, column: _Column) -> Recomputing:
        key = (self.samples // column.data, column.tensor)
        if key not in self.recomputing:
            self.recomputing[key] = Recomputing(self.model.tables[key])
        return self.recomputing[key]

    def _bound(self, column: _Column, high: float) -> float:
        """Milliseconds that the stage of a column takes at least; a rough bound above `high`."""
        if column not in self.costs:
            time, missing = self._plain(column)
            if missing > 0:
                quick = time + self._inner(column).quick_bound(missing, column.after + 1) / 1e3
                if quick > high:
                    return quick
                pieces = pieces_of(column.begin, column.end, self.model.layers)
                time += self._inner(column).bound(pieces, missing, column.after + 1) / 1e3
            else:
                self.again[column] = ()
            self.costs[column] = time
        return self.costs[column]

    def _solve(self, column: _Column) -> float:
        """Milliseconds of the stage of a column with the best recomputation.

        Where its peak is larger than the pieces say, `again` is a choice that fits, if slower.
        """
        self.solved += 1
        time, missing = self._plain(column)
        pieces = pieces_of(column.begin, column.end, self.model.layers)
        inner, wanted = self._inner(column), missing
        found = inner.best(pieces, wanted, column.after + 1)
        self.costs[column] = time + (math.inf if found is None else found[0] / 1e3)
        self.again[column] = ()
        while found is not None:
            self.again[column] = tuple(max(column.begin, 1) + at for at in found[1])
            over = missing - self._freed(column, self.again[column])
            if over <= self.model.memory_mb * RELATIVE:
                break
            wanted += over
            found = inner.best(pieces, wanted, column.after + 1)
        return self.costs[column]

    def _freed(self, column: _Column, again: tuple[int, ...]) -> float:
        """Megabytes that recomputing `again` frees."""
        bits = np.isin(np.arange(column.begin, column.end), again)[None, :]
        own = self.kinds[column.begin : column.end]
        saved, peak = saved_and_peak(self._table(column), own, bits, ends=True)
        return float((column.after + 1) * saved[0] - peak[0])

    def _stage(self, column: _Column) -> Stage:
        return Stage(
            begin=column.begin,
            end=column.end,
            data=column.data,
            tensor=column.tensor,
            again=self.again[column],
        )

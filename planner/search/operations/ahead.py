"""The front of time and energy over plans and the clocks of their operations, with its proof.

What slower clocks add to the simulated time of a step, they add to its step time; its joules are
those of its operations, and those of all waiting chips for that time:

    T = T_0 + s - s_0        E = sum c + P T        s: simulated, s_0: at the highest clock

For each limit on the step time, the plans that may need less than what is known wait in the order
of a lower bound of their joules. The first has its bound made better, and waits again: the bound
without its operations (`planner.search.operations.listing`), that of the operations of each stage
(`solvers.operations.chains`), and the linear program, whose dual bounds it and whose solution is a
plan with its clocks. Once the first bound is within the gap of the best plan, that is proved: no
plan with any clocks needs less than the bound. Levels are mixed there: an operation may change
its clock while it runs, in no time.

With whole clocks, and changes that take time, no plan needs less than that bound either. They are
sought (`planner.search.operations.clocks.whole_clocks`) for one plan after the other, in the order
of a fourth bound, that of the program with the changes: for all whose bound is below the best that
was found, so that a smaller space, which has some of these plans, has nothing better. That they
are the best clocks of their plan is not proved.

Every point of the front has its bound. What is looked at is counted, and the first of what is
allowed goes to a few points spread over the front; at the others the first bounds may be all.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.plan import Plan
from planner.results.operation_clocks import OperationFront, OperationPoint
from planner.search.deadline import Deadline, OutOfTime
from planner.search.operations.clocks import whole_clocks
from planner.search.operations.graph import StepOperations, step_operations
from planner.search.operations.listing import Listed, plans_below
from planner.search.uniform.engine import UniformSpace
from solvers.operations.chains import Chains
from solvers.operations.graph import at_level, evaluated
from solvers.operations.program import Below, solve, whole_bound

GAP = 2e-3
"""Relative, to which joules are proved where no gap is asked for."""
_FIRST = 6
"""Points of the front that are looked at before the others, spread over it."""
_MOST_PLANS = 800
"""Plans whose operations are looked at."""
_MOST_PROGRAMS = 120
"""Linear programs of mixed clocks, and as many of whole ones."""
_MOST_OPERATIONS = 4_000
"""Of a plan for which a linear program is solved."""
_MOST_BOUNDED = 80_000
"""Of a plan whose operations are looked at."""
_MOST_SOUGHT = 10
"""Plans whose whole clocks are sought within one limit."""
_MOST_SOUGHT_IN_ALL = 60
"""Such plans, counted at each limit."""
_LISTED, _CHAINS, _SOLVED, _CHANGING = range(4)
"""What the bound of a plan is of."""
_Bound = tuple[float, int, int]
"""With what it is of, and the plan."""


def front_ahead(
    space: UniformSpace,
    front: FloatArray,
    plans: Sequence[Plan],
    switching_s: float,
    gap: float | None,
    on_progress: Progress | None = None,
) -> OperationFront:
    """The least joules of plans with clocks per operation, within the times of a front.

    Args:
        space: The plans that the front was searched in.
        front: (f, 2) step times, ascending, and joules of the front of plans with one clock.
        plans: (f,) its plans.
        switching_s: Seconds of a change of the clock.
        gap: Relative, to which joules with mixed clocks are proved; None: `GAP`.
        on_progress: Called with (what, done, of).

    Raises:
        OutOfTime: The deadline of the space passed before the plans were listed.
    """
    wanted = GAP if gap is None else gap
    every = plans_below(space, front)
    search = _Search(space.model, every, wanted, Deadline(space.deadline))
    times, joules = front[:, 0].tolist(), front[:, 1].tolist()
    for number, at in enumerate(_spread_first(len(times))):
        if on_progress is not None:
            on_progress("clocks per operation", number, len(times))
        search.look(times[at], joules[at], switching_s)
    return OperationFront(
        points=tuple(map(search.point, times, joules, plans)),
        switching_s=switching_s,
        gap=wanted,
        considered=len(every.time_s),
        bounded=search.bounded,
        solved=search.programs,
        in_time=not search.late,
    )


def _spread_first(count: int) -> list[int]:
    """The numbers below `count`: `_FIRST` spread over them, then the others."""
    spread = np.linspace(0, count - 1, min(_FIRST, count)).astype(np.intp).tolist()
    return [*dict.fromkeys([*spread, *range(count)])]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clocked:
    """A plan whose operations have clocks.

    Attributes:
        plan: At the highest clock.
        steps: Its operations.
        chains: Their bound.
        added_s: What its step time has beside the simulated one.
    """

    plan: Plan
    steps: StepOperations
    chains: Chains
    added_s: float

    @staticmethod
    def of(model: CostModel, plan: Plan, time_s: float, deadline: Deadline) -> _Clocked:
        """The operations of a plan that takes `time_s` at the highest clock.

        Raises:
            InputError: It is not simulated, or has too many.
            OutOfTime: The deadline passed.
        """
        steps = step_operations(model, plan, _MOST_BOUNDED, deadline)
        graph = steps.graph
        deadline.check()
        fastest = evaluated(graph, at_level(graph, np.zeros(graph.groups, dtype=np.intp)))
        deadline.check()
        return _Clocked(
            plan=plan,
            steps=steps,
            chains=Chains.of(graph, steps.stage, deadline.moment),
            added_s=time_s - fastest.end,
        )

    @property
    def added_j(self) -> float:
        """What its joules have beside those of the graph."""
        return self.steps.graph.per_second * self.added_s

    def simulated_s(self, limit_s: float) -> float:
        """Seconds that the simulation may take within a step time; no less than the fastest."""
        return max(limit_s - self.added_s, self.chains.least_s)


class _Search:
    """What is known of plans whose operations have clocks, over all limits.

    Attributes:
        bounded: Plans whose operations were looked at.
        programs, whole_programs: Linear programs solved, of mixed and of whole clocks.
        sought: Plans whose whole clocks were sought, counted at each limit.
        late: Whether the deadline passed before all was looked at.
        _looked: By limit: joules with mixed clocks, their bound, whether all plans were sought.
        _whole: Limits, joules and plans with whole clocks that were better than those before.
    """

    def __init__(self, model: CostModel, plans: Listed, gap: float, deadline: Deadline) -> None:
        self.model, self.plans, self.gap, self.deadline = model, plans, gap, deadline
        self.bounded = self.programs = self.whole_programs = self.sought = 0
        self.late = False
        self._looked: dict[float, tuple[float, float, bool]] = {}
        self._whole: list[tuple[float, float, _Clocked]] = []
        self._known: dict[int, _Clocked | None] = {}
        self._changing: dict[int, Below] = {}

    def look(self, limit_s: float, joules: float, switching_s: float) -> None:
        """Bounds and seeks the least joules within a limit, in which one clock needs `joules`."""
        mixed_j, bound_j, bounds = self._least(limit_s, joules)
        every = self._seek_whole(limit_s, joules, bounds, switching_s)
        proved = bound_j >= mixed_j * (1 - self.gap)
        self.late |= self.deadline.passed and not (every and proved)
        self._looked[limit_s] = mixed_j, bound_j, every

    def point(self, limit_s: float, joules: float, own: Plan) -> OperationPoint:
        """What is known within a limit after all were looked at.

        Clocks found within a shorter one keep to it, and the bound within a longer one holds too.
        """
        mixed_j, _, every = self._looked[limit_s]
        bound_j = max(one for longer_s, (_, one, _) in self._looked.items() if longer_s >= limit_s)
        best, whole_j = self._best_whole(limit_s, joules)
        mixed_j = min(mixed_j, whole_j)
        return OperationPoint(
            step_time_s=limit_s,
            one_clock_j=joules,
            plan=own if best is None else best.plan,
            mixed_j=mixed_j,
            energy_j=whole_j,
            bound_j=min(bound_j, mixed_j),
            operations=0 if best is None else len(best.steps.stage),
            all_sought=every,
        )

    def _best_whole(self, limit_s: float, joules: float) -> tuple[_Clocked | None, float]:
        """The plan of least joules with whole clocks within a limit; None: none below `joules`."""
        best, best_j = None, joules
        for found_s, found_j, clocked in self._whole:
            if found_s <= limit_s and found_j < best_j:
                best, best_j = clocked, found_j
        return best, best_j

    def _least(self, limit_s: float, joules: float) -> tuple[float, float, list[_Bound]]:
        """The least joules with mixed clocks, the bound of all, and those of the plans."""
        rows = self.plans.within(limit_s, joules).tolist()
        waiting = [(float(self.plans.least_j[row]), _LISTED, row) for row in rows]
        heapq.heapify(waiting)
        best_j, done = joules, list[_Bound]()
        while waiting and waiting[0][0] < best_j * (1 - self.gap):
            bound, what, row = heapq.heappop(waiting)
            made = self._better(bound, what, row, limit_s)
            if made is None:
                done.append((bound, what, row))
                continue
            bound, what, found_j = made
            best_j = min(best_j, found_j)
            heapq.heappush(waiting, (bound, what, row))
        bounds = [*done, *waiting]
        return best_j, min(best_j, *(one[0] for one in bounds), np.inf), bounds

    def _seek_whole(
        self, limit_s: float, joules: float, waiting: list[_Bound], switching_s: float
    ) -> bool:
        """Seeks whole clocks of plans, those of the least bound first.

        Returns:
            Whether of all that may need less than what is found.
        """
        _, best_j = self._best_whole(limit_s, joules)
        heapq.heapify(waiting)
        every, most = True, min(self.sought + _MOST_SOUGHT, _MOST_SOUGHT_IN_ALL)
        while waiting and waiting[0][0] < best_j and self.sought < most:
            if self.deadline.passed:
                break
            bound, what, row = heapq.heappop(waiting)
            if what == _CHANGING:
                self.sought += 1
                clocked = self._known[row]
                assert clocked is not None
                within = clocked.simulated_s(limit_s)
                whole = whole_clocks(clocked.steps, switching_s, within, self.deadline)
                every &= not self.deadline.passed
                if (whole_j := whole.cost + clocked.added_j) < best_j:
                    best_j = whole_j
                    self._whole.append((limit_s, whole_j, clocked))
                continue
            made = self._with_changes(bound, what, row, limit_s, switching_s)
            every &= made is not None
            if made is not None:
                heapq.heappush(waiting, made)
        return every and not (waiting and waiting[0][0] < best_j)

    def _with_changes(
        self, bound: float, what: int, row: int, limit_s: float, switching_s: float
    ) -> _Bound | None:
        """A better bound of whole clocks of a plan, whose changes take time; None: no better."""
        if self.deadline.passed or (clocked := self._clocked(row)) is None:
            return None
        within = clocked.simulated_s(limit_s)
        if what == _LISTED:
            return max(bound, clocked.chains.bound(within) + clocked.added_j), _CHAINS, row
        known = self._changing.get(row)  # of another limit, without a program
        if known is not None and (least := known.within(within) + clocked.added_j) > bound:
            return least, what, row
        if len(clocked.steps.stage) > _MOST_OPERATIONS or self.whole_programs >= _MOST_PROGRAMS:
            return None
        self.whole_programs += 1
        graph = clocked.steps.with_switches(switching_s)
        try:
            below = self._changing[row] = whole_bound(graph, within, self.deadline.moment)
        except OutOfTime:
            return None
        return max(bound, below.at_limit + clocked.added_j), _CHANGING, row

    def _better(
        self, bound: float, what: int, row: int, limit_s: float
    ) -> tuple[float, int, float] | None:
        """A better bound of a plan, what it is of, and joules that were found; None: no better."""
        if what == _SOLVED or self.deadline.passed or (clocked := self._clocked(row)) is None:
            return None
        within = clocked.simulated_s(limit_s)
        if what == _LISTED:
            least = clocked.chains.bound(within) + clocked.added_j
            return max(bound, least), _CHAINS, np.inf
        small = len(clocked.steps.stage) <= _MOST_OPERATIONS
        if not small or self.programs >= _MOST_PROGRAMS:
            return None
        try:
            found = solve(clocked.steps.graph, within, self.deadline.moment)
        except OutOfTime:
            return None
        self.programs += 1
        if found is None:
            return np.inf, _SOLVED, np.inf
        return max(bound, found.bound + clocked.added_j), _SOLVED, found.cost + clocked.added_j

    def _clocked(self, row: int) -> _Clocked | None:
        """The operations of a plan; None: they are not looked at."""
        if row not in self._known:
            if self.bounded >= _MOST_PLANS or self.deadline.passed:
                return None
            plan, time_s = self.plans.plan(row), float(self.plans.time_s[row])
            try:
                self._known[row] = _Clocked.of(self.model, plan, time_s, self.deadline)
            except OutOfTime:
                return None
            except InputError:
                self._known[row] = None
            self.bounded += 1
        return self._known[row]

"""The joint search of a rack: the optimum, the front, what each budget costs, what frees it."""

from __future__ import annotations

import time
from typing import Any

from frozen_records import dataclass
from planner.base.progress import Progress
from planner.studies.rack.solve.answer import RackAnswer, RackPoint
from planner.studies.rack.solve.budgets import budgets_at, remedies_of, rivals_of
from planner.studies.rack.solve.joint import JointProblem, joint_problem
from planner.studies.rack.solve.question import RackQuestion
from planner.studies.rack.solve.search import Search
from planner.studies.rack.solve.why import why_it_wins
from solvers.factored import Decision
from solvers.solution import Solution, Status

_Best = tuple[Status, RackPoint | None, float | None]
_NOTHING: _Best = (Status.TIME_LIMIT, None, None)
_NO_PLAN: _Best = (Status.INFEASIBLE, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """Plans at the ends of the front, and bounds of time and energy; 0 where nothing is proved."""

    points: list[RackPoint]
    time_s: float
    energy_j: float


def solve_rack(
    question: RackQuestion,
    objective: str = "time",
    *,
    time_limit_s: float | None = None,
    defaults: tuple[tuple[str, str, str], ...] = (),
    on_progress: Progress | None = None,
) -> RackAnswer:
    """The best plan, proved, with the front and what the budgets do.

    Args:
        question: What may be chosen.
        objective: `time`, `energy` or `edp`.
        time_limit_s: Wall time, from here on. Building the problem and a first list of plans are
            not cut off.
        defaults: What was assumed, for the answer.
        on_progress: Called with what is done, how much of it, and of how much.

    Raises:
        InputError: See `joint_problem`.
    """
    started = time.perf_counter()
    joint = joint_problem(question)
    built = time.perf_counter()
    search = Search(joint, time_limit_s, started)
    tell = on_progress or (lambda *_: None)
    tell("the best plan", 0, 3)
    listed = [] if time_limit_s is None else search.unproved_front()
    ends = _ends(search) if objective == "edp" else None
    status, best, bound = _best(search, objective, listed) if ends is None else _NOTHING
    tell("the front", 1, 3)
    front, complete = _front(search)
    if ends is not None:
        status, best, bound = _best_product(front, complete, ends, listed)
    if not complete and best is not None:
        front = _with(front, best)
    tell("what binds", 2, 3)
    explained = _explained(search, objective, best, status)
    seconds = {"build": built - started, "solve": time.perf_counter() - built}
    return RackAnswer(
        question=question,
        objective=objective,
        status=status.value,
        best=best,
        bound=bound,
        resolution=None if best is None else _resolution(joint, objective, best),
        front=tuple(front),
        front_complete=complete,
        counts=dict(search.counts),
        seconds=seconds,
        defaults=defaults,
        **explained,
    )


def _explained(
    search: Search, objective: str, best: RackPoint | None, status: Status
) -> dict[str, Any]:
    """What binds and why the best plan wins, or what frees a plan, as far as there is time."""
    found: dict[str, Any] = {"budgets": (), "remedies": (), "why": ()}
    try:
        if status is Status.INFEASIBLE:
            found["remedies"] = tuple(remedies_of(search, objective))
        elif best is not None:
            found["budgets"] = tuple(budgets_at(search, objective, best))
            rivals = rivals_of(search, objective, best)
            found["why"] = why_it_wins(search.joint.question, objective, best, rivals)
    except TimeoutError:
        sought = "frees a plan" if status is Status.INFEASIBLE else "binds"
        found["why"] = (f"The time limit ended the search for what {sought}.",)
    return found


def _front(search: Search) -> tuple[list[RackPoint], bool]:
    """The front, ascending in latency, and whether it is complete."""
    found: list[RackPoint] = []
    try:
        found.extend(search.front(search.joint.problem))
    except TimeoutError:
        return found[::-1], False
    return found[::-1], True


def _best(search: Search, objective: str, listed: list[RackPoint]) -> _Best:
    """The optimum and its bound; where time runs out, the best plan so far and what is proved."""
    joint = search.joint
    found = search.least(joint.problem, objective)
    if found.status is Status.INFEASIBLE:
        return _NO_PLAN
    plans = list(listed)
    if found.decision is not None:
        try:
            best = search.first_of_ties(joint.problem, objective, int(found.objective))
        except TimeoutError:
            best = search.point(found.decision)
        if found.status is Status.OPTIMAL:
            return found.status, best, best.value(objective)
        plans.append(best)
    if not plans:
        return _NOTHING
    best = min(plans, key=lambda point: point.value(objective))
    bound = _bound_of(search, found, objective)
    return Status.FEASIBLE, best, min(bound, best.value(objective))


def _bound_of(search: Search, found: Solution[Decision], objective: str) -> float:
    """What no plan is below, in SI units: by a proof that was cut off, or by the least terms."""
    floor = search.floor(objective)
    if found.status is Status.TIME_LIMIT:
        return floor
    joint = search.joint
    quantum = joint.time_quantum_s if objective == "time" else joint.energy_quantum_j
    return max(floor, found.bound * quantum)


def _ends(search: Search) -> _Ends:
    """The ends of the front, where a time limit may cut it off: a third of the time for each."""
    points: list[RackPoint] = []
    bounds = {"time": 0.0, "energy": 0.0}
    if (left_s := search.left_s) is not None:
        for name in bounds:
            found = search.least(search.joint.problem, name, most_s=left_s / 3)
            if found.decision is not None:
                points.append(search.point(found.decision))
            if found.status is not Status.INFEASIBLE:
                bounds[name] = _bound_of(search, found, name)
    return _Ends(points=points, time_s=bounds["time"], energy_j=bounds["energy"])


def _best_product(
    front: list[RackPoint], complete: bool, ends: _Ends, listed: list[RackPoint]
) -> _Best:
    """The least energy times time.

    The product grows in both, so that its optimum is a point of the front. Of a part of the front
    it is the best plan so far. The plans that are not found yet take more energy than those that
    are, and at least the least time.
    """
    if complete:
        best = min(front, key=lambda point: point.edp_js, default=None)
        return _NO_PLAN if best is None else (Status.OPTIMAL, best, best.edp_js)
    best = min([*front, *ends.points, *listed], key=lambda point: point.edp_js, default=None)
    if best is None:
        return _NOTHING
    passed_j = max((point.solver_energy_j for point in front), default=0.0)
    bound = ends.time_s * max(ends.energy_j, passed_j)
    return Status.FEASIBLE, best, min(bound, best.edp_js)


def _with(front: list[RackPoint], best: RackPoint) -> list[RackPoint]:
    """A part of a front with the best plan, ascending in latency; without what is worse in both."""
    place = (best.latency_s, best.energy_j)
    if any(p.latency_s <= place[0] and p.energy_j <= place[1] for p in front):
        return front
    kept = [p for p in front if p.latency_s < place[0] or p.energy_j < place[1]]
    return sorted([*kept, best], key=lambda point: point.latency_s)


def _resolution(joint: JointProblem, objective: str, best: RackPoint) -> float:
    """Relative size of the rounding of a plan's terms: plans closer than this are equal to it."""
    shares = {
        "time": joint.time_quantum_s / best.latency_s,
        "energy": joint.energy_quantum_j / best.energy_j,
    }
    return 2 * shares.get(objective, sum(shares.values()))

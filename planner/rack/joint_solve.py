"""CP-SAT on the joint problem: the optimum, the front, what each budget costs, what frees it."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from planner.errors import TimeLimitError
from planner.rack.answer import BudgetUse, RackAnswer, RackPoint, Remedy
from planner.rack.joint import JointProblem, cost_of, joint_problem, quanta_of
from planner.rack.question import BUDGETS, RackQuestion, weight_bytes_per_chip
from planner.rack.why import why_it_wins
from planner.scaling import area_m2_at, busy_w_at
from solvers.factored import Decision, FactoredProblem, Limit
from solvers.factored_cpsat import evaluate, minimize
from solvers.factored_cpsat import front as exact_front
from solvers.solution import Solution, Status

Progress = Callable[[str, int, int], None]
_NOTICED = 1e-3
"""Improvements below this share are no reason for a larger budget."""
_ROUNDING = 4  # quanta that a plan's terms may be off by, all together


class Search:
    """Solves variants of one joint problem and counts what that took."""

    def __init__(self, joint: JointProblem, time_limit_s: float | None = None) -> None:
        self.joint = joint
        rows = sum(len(table.rows) for table in joint.problem.tables)
        self.counts: Counter[str] = Counter(plans=joint.plans, rows=rows)
        self._end = math.inf if time_limit_s is None else time.perf_counter() + time_limit_s

    @property
    def left_s(self) -> float | None:
        """Seconds left; None without a limit."""
        return None if self._end == math.inf else max(0.0, self._end - time.perf_counter())

    def least(
        self, problem: FactoredProblem, objective: str, bounds: Mapping[str, int] | None = None
    ) -> Solution[Decision]:
        """One minimization, counted."""
        found = minimize(problem, objective, upper_bounds=bounds, time_limit_s=self.left_s)
        self.counts["solves"] += 1
        most = max(self.counts["variables"], found.counts.get("variables", 0))
        self.counts["variables"] = most
        for name in ("branches", "conflicts"):
            self.counts[name] += found.counts.get(name, 0)
        return found

    def proved(
        self, problem: FactoredProblem, objective: str, bounds: Mapping[str, int] | None = None
    ) -> Solution[Decision]:
        """One minimization to its end.

        Raises:
            TimeoutError: The time limit came first.
        """
        found = self.least(problem, objective, bounds)
        if found.status in (Status.FEASIBLE, Status.TIME_LIMIT):
            raise TimeoutError("the time limit ended a proof")
        return found

    def optimum(
        self, problem: FactoredProblem, objective: str
    ) -> tuple[Solution[Decision], RackPoint | None]:
        """The optimum; of equal plans the best in the other objective, then the fewest parts."""
        found = self.proved(problem, objective)
        if found.decision is None:
            return found, None
        return found, self.first_of_ties(problem, objective, int(found.objective))

    def first_of_ties(self, problem: FactoredProblem, objective: str, value: int) -> RackPoint:
        """Of the plans with an objective of `value`, the best in the other, then in parts."""
        bounds = {objective: value}
        other = "energy" if objective == "time" else "time"
        bounds[other] = int(self.proved(problem, other, bounds).objective)
        return self.fewest_parts(problem, bounds)

    def fewest_parts(self, problem: FactoredProblem, bounds: Mapping[str, int]) -> RackPoint:
        """Of the plans within bounds that one exists for, the one with the fewest parts."""
        decision = self.proved(problem, "parts", bounds).decision
        assert decision is not None
        return self.point(decision)

    def front(self, problem: FactoredProblem) -> Iterator[RackPoint]:
        """The exact front, ascending in energy."""
        axes = ("time", "energy")
        for seconds, joules, _ in exact_front(problem, axes, time_limit_s=self.left_s):
            self.counts["solves"] += 2
            yield self.fewest_parts(problem, {"time": seconds, "energy": joules})

    def point(self, decision: Mapping[str, int]) -> RackPoint:
        """A decision evaluated again by the model.

        Raises:
            RuntimeError: The integer problem says something else than the model.
        """
        joint, question = self.joint, self.joint.question
        scored = evaluate(joint.without(*question.budgets), decision)
        assert scored is not None
        values, objectives = scored
        plans = joint.decode(decision)
        cost = cost_of(question, plans)
        solved = (
            objectives["time"] * joint.time_quantum_s,
            objectives["energy"] * joint.energy_quantum_j,
        )
        exact = float(cost.latency_s[0]), float(cost.total_j[0])
        chips, chip = int(plans.chips[0]), question.machine.chip
        _check_agreement(joint, chips, exact, solved)
        area = None if chip.die_area_m2 is None else chips * float(area_m2_at(chip, plans.pes)[0])
        return RackPoint(
            chips=chips,
            pes=decision["pes"],
            topology=question.machine.topologies[decision["topology"]],
            mesh={axis: decision[axis] for axis in ("dp", "tp", "pp")},
            zero=bool(decision["zero"]),
            micro_batches=int(plans.micro_batches[0]),
            latency_s=exact[0],
            energy_j=exact[1],
            energy_by_part_j={name: float(part[0]) for name, part in cost.energy_j.items()},
            transfer_s={name: float(one.latency_s[0]) for name, one in cost.transfers.items()},
            compute_s=float(cost.compute.latency_s[0]),
            links=values["links"],
            ports=values["ports"],
            total_pes=chips * decision["pes"],
            weight_bytes_per_chip=float(weight_bytes_per_chip(question, plans)[0]),
            power_w=chips * float(busy_w_at(chip, plans.pes)[0]),
            area_m2=area,
            solver_latency_s=solved[0],
            solver_energy_j=solved[1],
        )


def _check_agreement(
    joint: JointProblem, chips: int, exact: tuple[float, float], solved: tuple[float, float]
) -> None:
    """Compares latency and energy of a plan by the model and by the integer problem.

    Raises:
        RuntimeError: They differ by more than the rounding of the terms.
    """
    idle_j = joint.question.machine.chip.idle_w * (joint.static_quantum_s or 0.0)
    quanta = (joint.time_quantum_s, joint.energy_quantum_j + chips * idle_j)
    for name, one, other, quantum in zip(("time", "energy"), exact, solved, quanta, strict=True):
        if abs(one - other) > _ROUNDING * quantum + 1e-6 * one:
            raise RuntimeError(f"the solver's {name} is {other}, the model's {one}")


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
        time_limit_s: Wall time of all searches.
        defaults: What was assumed, for the answer.
        on_progress: Called with what is done, how much of it, and of how much.

    Raises:
        InputError: See `joint_problem`.
        TimeLimitError: The time limit ended the search before any plan was found.
    """
    started = time.perf_counter()
    joint = joint_problem(question)
    built = time.perf_counter()
    search = Search(joint, time_limit_s)
    tell = on_progress or (lambda *_: None)
    tell("the best plan", 0, 3)
    status, best, bound = Status.TIME_LIMIT, None, None
    if objective != "edp":
        status, best, bound = _best(search, objective)
    tell("the front", 1, 3)
    front, complete = _front(search)
    if objective == "edp":
        status, best, bound = _best_product(front, complete)
    if status is Status.TIME_LIMIT:
        raise TimeLimitError("time-limit: it ended the search before any plan was found")
    tell("what binds", 2, 3)
    explained = _explained(search, objective, best)
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


def _explained(search: Search, objective: str, best: RackPoint | None) -> dict[str, Any]:
    """What binds and why the best plan wins, or what frees a plan, as far as there is time."""
    found: dict[str, Any] = {"budgets": (), "remedies": (), "why": ()}
    try:
        if best is None:
            found["remedies"] = tuple(_remedies(search, objective))
        else:
            found["budgets"] = tuple(_budgets(search, objective, best))
            rivals = _rivals(search, objective, best)
            found["why"] = why_it_wins(search.joint.question, objective, best, rivals)
    except TimeoutError:
        found["why"] = ("The time limit ended the search for what binds.",)
    return found


def _front(search: Search) -> tuple[list[RackPoint], bool]:
    """The front, ascending in latency, and whether it is complete."""
    found: list[RackPoint] = []
    try:
        found.extend(search.front(search.joint.problem))
    except TimeoutError:
        return found[::-1], False
    return found[::-1], True


def _best(search: Search, objective: str) -> tuple[Status, RackPoint | None, float | None]:
    """The optimum and its bound; where time runs out, the best plan so far and what is proved."""
    joint = search.joint
    found = search.least(joint.problem, objective)
    if found.decision is None:
        return found.status, None, None
    try:
        best = search.first_of_ties(joint.problem, objective, int(found.objective))
    except TimeoutError:
        best = search.point(found.decision)
    if found.status is Status.OPTIMAL:
        return found.status, best, best.value(objective)
    quantum = joint.time_quantum_s if objective == "time" else joint.energy_quantum_j
    return found.status, best, min(found.bound * quantum, best.value(objective))


def _best_product(
    front: list[RackPoint], complete: bool
) -> tuple[Status, RackPoint | None, float | None]:
    """The least energy times time.

    The product grows in both, so that its optimum is a point of the front: of a part of the front
    it is the best plan so far, with nothing proved.
    """
    best = min(front, key=lambda point: point.edp_js, default=None)
    if best is None:
        return (Status.INFEASIBLE if complete else Status.TIME_LIMIT), None, None
    return (Status.OPTIMAL, best, best.edp_js) if complete else (Status.FEASIBLE, best, 0.0)


def _resolution(joint: JointProblem, objective: str, best: RackPoint) -> float:
    """Relative size of the rounding of a plan's terms: plans closer than this are equal to it."""
    shares = {
        "time": joint.time_quantum_s / best.latency_s,
        "energy": joint.energy_quantum_j / best.energy_j,
    }
    return 2 * shares.get(objective, sum(shares.values()))


def _quantum_value(joint: JointProblem, point: RackPoint, objective: str) -> int:
    if objective == "time":
        return round(point.solver_latency_s / joint.time_quantum_s)
    return round(point.solver_energy_j / joint.energy_quantum_j)


def _optimum_of(search: Search, problem: FactoredProblem, objective: str) -> RackPoint | None:
    """The optimum of a variant of the problem, for any objective."""
    if objective != "edp":
        return search.optimum(problem, objective)[1]
    return min(search.front(problem), key=lambda point: point.edp_js, default=None)


def _budgets(search: Search, objective: str, best: RackPoint) -> Iterator[BudgetUse]:
    """What each budget takes away: the smallest larger one that is worth it, and its optimum."""
    for name, limit in search.joint.question.budgets.items():
        step = _next_step(search, objective, best, name)
        yield BudgetUse(
            name=name,
            limit=limit,
            used=_used(best, name),
            next_limit=None if step is None else step[0] * BUDGETS[name].quantum,
            next_point=None if step is None else step[1],
        )


def _next_step(
    search: Search, objective: str, best: RackPoint, name: str
) -> tuple[int, RackPoint] | None:
    """The smallest larger budget, in its quanta, that is worth it alone, and the optimum there."""
    joint = search.joint
    problem = joint.without(name)
    if objective == "edp":
        return _bisected(search, best, name)
    better = int(_quantum_value(joint, best, objective) * (1 - _NOTICED))
    found = search.proved(problem, name, {objective: better})
    if found.decision is None:
        return None
    needed = int(found.objective)
    point = _optimum_of(search, _limited(problem, name, needed), objective)
    assert point is not None, "a plan was just found"
    return needed, point


def _bisected(search: Search, best: RackPoint, name: str) -> tuple[int, RackPoint] | None:
    """The same for energy times time, which no single proof bounds: halving the possible budgets.

    The optimum never gets worse with a larger budget, so the budgets that are worth it are those
    from some value on.
    """
    joint = search.joint
    problem = joint.without(name)
    limit = quanta_of(name, joint.question.budgets[name])
    steps = [step for step in joint.steps(name) if step > limit]
    found: tuple[int, RackPoint] | None = None
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2 if found else len(steps) - 1  # the largest one first
        point = _optimum_of(search, _limited(problem, name, steps[middle]), "edp")
        if point is not None and point.edp_js <= best.edp_js * (1 - _NOTICED):
            high, found = middle, (steps[middle], point)
        elif found is None:
            return None
        else:
            low = middle + 1
    return found


def _limited(problem: FactoredProblem, name: str, upper: int) -> FactoredProblem:
    limit = Limit(name=name, expression=problem.objective(name), upper=upper)
    return replace(problem, limits=(*problem.limits, limit))


def _used(point: RackPoint, name: str) -> float:
    """What a plan takes of a budget, SI."""
    taken: dict[str, Any] = {
        "total-pes": point.total_pes,
        "max-area": point.area_m2,
        "max-power": point.power_w,
        "max-links": point.links,
        "max-ports": point.ports,
        "max-memory": point.weight_bytes_per_chip,
    }
    return float(taken[name])


def _remedies(search: Search, objective: str) -> Iterator[Remedy]:
    """The smallest sets of budgets that free a plan when they grow, each as little as it can."""
    joint, names = search.joint, tuple(search.joint.question.budgets)
    for size in range(1, len(names) + 1):
        found = False
        for group in combinations(names, size):
            problem = joint.without(*group)
            needed = {}
            for name in group:
                least = search.proved(problem, name)
                if least.decision is None:
                    break
                needed[name] = int(least.objective)
                problem = _limited(problem, name, needed[name])
            else:
                found = True
                point = _optimum_of(search, problem, objective)
                assert point is not None
                grown = {name: most * BUDGETS[name].quantum for name, most in needed.items()}
                yield Remedy(budgets=grown, point=point)
        if found:
            return


def _rivals(search: Search, objective: str, best: RackPoint) -> dict[str, RackPoint | None]:
    """The optimum without each choice of the best plan: other chips, PEs, topology, strategy."""
    problem, question = search.joint.problem, search.joint.question
    taken = {
        "chips": best.chips,
        "pes": best.pes,
        "topology": question.machine.topologies.index(best.topology),
        "zero": int(best.zero),
    }
    rivals: dict[str, RackPoint | None] = {}
    for name, value in taken.items():
        others = tuple(other for other in problem.choices[name] if other != value)
        rivals[name] = None
        if others:
            choices = {**problem.choices, name: others}
            changed = replace(problem, choices=choices)
            rivals[name] = _optimum_of(search, changed, objective)
    return rivals

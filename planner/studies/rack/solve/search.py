"""CP-SAT on the joint problem: one proof after the other, counted, within one time limit."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from planner.base.arrays import IntArray
from planner.machine.scaling import area_m2_at, busy_w_at
from planner.studies.rack.solve.answer import RackPoint
from planner.studies.rack.solve.joint import JointProblem, cost_of
from planner.studies.rack.solve.question import weight_bytes_per_chip
from solvers.factored import ARRAY_OPS, Decision, FactoredProblem, brute_force_front
from solvers.factored_cpsat import evaluate, minimize
from solvers.factored_cpsat import front as exact_front
from solvers.frontier import nondominated
from solvers.solution import Solution, Status

_LISTED = 2**16
_SPREAD = 8
_ROUNDING = 4  # quanta that a plan's terms may be off by, all together


class Search:
    """Solves variants of one joint problem and counts what that took."""

    def __init__(
        self,
        joint: JointProblem,
        time_limit_s: float | None = None,
        started_s: float | None = None,
    ) -> None:
        """A search whose limit counts from `started_s` of `time.perf_counter`, default now."""
        self.joint = joint
        rows = sum(len(table.rows) for table in joint.problem.tables)
        self.counts: Counter[str] = Counter(plans=joint.plans, rows=rows)
        started = time.perf_counter() if started_s is None else started_s
        self._end = math.inf if time_limit_s is None else started + time_limit_s

    @property
    def left_s(self) -> float | None:
        """Seconds left; None without a limit."""
        return None if self._end == math.inf else max(0.0, self._end - time.perf_counter())

    def least(
        self,
        problem: FactoredProblem,
        objective: str,
        bounds: Mapping[str, int] | None = None,
        most_s: float = math.inf,
    ) -> Solution[Decision]:
        """One minimization, counted, of at most `most_s` seconds and those left."""
        limit_s = min(most_s, math.inf if self.left_s is None else self.left_s)
        limit = None if limit_s == math.inf else limit_s
        found = minimize(problem, objective, upper_bounds=bounds, time_limit_s=limit)
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

    def best_of(self, problem: FactoredProblem, objective: str) -> RackPoint | None:
        """The optimum of a variant of the problem, for any objective.

        Energy times time grows in both, so its optimum is a point of the front.
        """
        if objective != "edp":
            return self.optimum(problem, objective)[1]
        return min(self.front(problem), key=lambda point: point.edp_js, default=None)

    def unproved_front(self) -> list[RackPoint]:
        """The front of a list of plans, nothing of which is proved.

        Of a small question the list is whole. Of a large one it has the chips that split well
        with some of the PEs and topologies; then, for half of the time that is left, those chips
        one after the other with all of both.
        """
        joint, choices = self.joint, self.joint.problem.choices
        if joint.plans <= _LISTED:
            return [self.point(decision) for *_, decision in _front_of(joint.problem, {})]
        chips = sorted(choices["chips"], key=lambda count: (_odd_part(count), count))
        few = {name: _spread(choices[name]) for name in ("pes", "topology")}
        each = _plans_of(joint.problem, chips, few["topology"]) * len(few["pes"])
        fitting = max(1, int(np.searchsorted(np.cumsum(each), _LISTED, side="right")))
        found = _front_of(joint.problem, {"chips": tuple(sorted(chips[:fitting])), **few})
        half_s = math.inf if self.left_s is None else self.left_s / 2
        for count in chips:
            if self.left_s is not None and self.left_s <= half_s:
                break
            found += _front_of(joint.problem, {"chips": (count,)})
        values = np.array([row[:2] for row in found], dtype=np.float64).reshape(-1, 2)
        return [self.point(found[i][2]) for i in nondominated(values).tolist()]

    def floor(self, objective: str) -> float:
        """A bound in SI units from the least value of each term, without a proof."""
        joint = self.joint
        least = {n: int(v.min()) for n, v in joint.problem.domains().items() if len(v)}
        value = int(joint.problem.objective(objective)(least, ARRAY_OPS))
        return value * (joint.time_quantum_s if objective == "time" else joint.energy_quantum_j)

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


def _spread(values: tuple[int, ...]) -> tuple[int, ...]:
    """A few values, the least and the largest among them."""
    at = np.linspace(0, len(values) - 1, min(_SPREAD, len(values))).round().astype(int)
    return tuple(values[i] for i in at)


def _odd_part(count: int) -> int:
    """1 of a power of two, 3 of 3 x 2^k, ...: the smaller, the more ways there are to split."""
    return count // (count & -count)


def _plans_of(problem: FactoredProblem, chips: list[int], kinds: tuple[int, ...]) -> IntArray:
    """(c,) splits of each number of chips over some of the topologies."""
    transfer = next(table for table in problem.tables if table.name == "transfer")
    columns = {name: transfer.rows[:, at] for at, name in enumerate(transfer.keys)}
    counts = (columns["dp"] * columns["tp"] * columns["pp"])[np.isin(columns["topology"], kinds)]
    return np.bincount(counts, minlength=max(chips) + 1)[chips]


def _front_of(
    problem: FactoredProblem, choices: Mapping[str, tuple[int, ...]]
) -> list[tuple[int, int, Decision]]:
    """The front of time and energy with some of the choices only."""
    part = replace(problem, choices={**problem.choices, **choices})
    return list(brute_force_front(part, ("time", "energy")))


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

"""The joint search: PEs per chip, wirings, number of chips and plan decided together, exactly.

Each machine (PEs per chip and a wiring) has the chip counts that the budgets allow. The exhaustive
engine searches one machine after the other with one running front: a plan found on any of them
excludes whatever its bounds prove no better on the rest. So the front is that of all plans on all
machines, as if each had been searched alone and the fronts merged.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.machine.variants import Budgets, choices_of
from planner.objectives import MEMORY
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.question.request import Request
from planner.question.resolved import resolve
from planner.results.parts import MachineSearch
from planner.results.plan import PlanResult, plan_results
from planner.search.columns import Columns, prover_of
from planner.search.infeasible.near_misses import NearMisses
from planner.search.limits import Limits
from planner.search.machines.machines import (
    Candidate,
    budgets_of,
    candidate_of,
    reticle_words,
    use_words,
)
from planner.search.objective import optimum
from planner.search.uniform.batch import add_counts
from planner.search.uniform.engine import Found, Progress, Search, least_memory
from solvers.solution import Status

_MOST_MACHINES = 512
_OPEN = ("chips", "total_pes", "max_area", "max_power")  # one of them has to end the chip counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """The best plan over all machines.

    Attributes:
        row: Where it is in the search that holds it.
        model: The cost model of its machine.
        chips: That it uses.
        value: Of the objective; `bound`: no plan is below it.
    """

    row: int
    model: CostModel
    chips: int
    value: float
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFound:
    """What a joint search found.

    Attributes:
        proof: The search that holds the best plan: its front so far, over all machines.
        whole: The front.
        best: The best plan; None where there is none.
        counts, front_counts: Summed over machines; as in `planner.results.result.SolveResult`.
    """

    proof: Found
    whole: Found
    best: Winner | None
    counts: dict[str, dict[str, int]]
    front_counts: dict[str, dict[str, int]]


@dataclass(slots=True, kw_only=True)
class JointSearch:
    """All machines of a question, and the search over them.

    Attributes:
        request: The question.
        candidates: Its machines.
        options, limits: What is searched on each, and within what.
        deadline: `time.perf_counter` value after which nothing further is opened.
        on_progress: Called with (what, done, of).
        alone: What each machine's own search on its largest count found.
    """

    request: Request
    candidates: tuple[Candidate, ...]
    options: SpaceOptions
    limits: Limits
    deadline: float | None
    on_progress: Progress | None
    alone: dict[int, Found] = field(init=False, default_factory=dict)
    _tallies: dict[int, dict[str, dict[str, int]]] = field(init=False, default_factory=dict)
    _last: Search | None = field(init=False, default=None)

    @property
    def budgets(self) -> Budgets:
        """The limits on what all chips together may take."""
        return budgets_of(self.request)

    @property
    def late(self) -> bool:
        """Whether no time is left."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def run(self) -> JointFound:
        """The best plan and the front over all machines."""
        order = sorted(enumerate(self.candidates), key=lambda one: -one[1].model.chip.pe_count)
        full = [(at, self._full(one)) for at, one in order]  # the large first: they prune most
        if self.request.minimized.of_memory:
            return self._leanest(full)
        proof, counts = self._pass(full)
        rest = [(at, self._rest(one)) for at, one in order]
        whole = proof
        front_counts: dict[str, dict[str, int]] = {}
        hopeless = self.request.chips is not None and len(proof.points) == 0
        hopeless &= not self.request.minimized.over_chips
        if any(some for _, some in rest) and not hopeless:
            whole, front_counts = self._pass(rest)
            whole = _no_better_than(proof, whole)
            if self.request.chips is None or self.request.minimized.over_chips:  # a decision too
                proof = whole
                for stage, numbers in front_counts.items():
                    add_counts(counts.setdefault(stage, {}), numbers)
                front_counts = {}
        return self._found(proof, whole, counts, front_counts)

    def _found(
        self,
        proof: Found,
        whole: Found,
        counts: dict[str, dict[str, int]],
        front_counts: dict[str, dict[str, int]],
    ) -> JointFound:
        winner = None
        if len(proof.points):
            best = optimum(
                proof.points, proof.bound, proof.status, self.request.minimized, proof.columns
            )
            winner = Winner(
                row=best.row,
                model=proof.models[best.row],
                chips=proof.plans.plan(best.row).chips,
                value=best.value,
                bound=best.bound,
            )
        return JointFound(
            proof=proof,
            whole=whole,
            best=winner,
            counts=counts,
            front_counts=front_counts,
        )

    def _full(self, one: Candidate) -> tuple[int, ...]:
        """The chip count of the best plan: as asked for, else the largest."""
        asked = self.request.chips
        if asked is not None:
            return (asked,) if asked in one.counts else ()
        return one.counts[-1:]

    def _rest(self, one: Candidate) -> tuple[int, ...]:
        """The other counts of the front."""
        if self.request.chips_exact or one.model.assumptions.token_granularity:
            return ()
        full = self._full(one)
        return tuple(count for count in one.counts if count not in full)

    def _pass(
        self, work: list[tuple[int, tuple[int, ...]]]
    ) -> tuple[Found, dict[str, dict[str, int]]]:
        """Extends the front by every machine on some counts; statuses and bounds of all of them."""
        total: dict[str, dict[str, int]] = {}
        statuses, bounds, found = [], [], None
        for at, counts in work:
            if not counts:
                continue
            search = self.search(at)
            if self._last is not None:
                search.follow(self._last)
            found = search.run(counts)
            self._last = search
            self.alone.setdefault(at, found)
            statuses.append(found.status)
            bounds.append(found.bound)
            self._count(at, found, total)
        if found is None:
            return _nothing(self.request.compared), total
        return replace(
            found, status=_status(statuses, len(found.points)), bound=_lowest(bounds)
        ), total

    def _count(self, at: int, found: Found, total: dict[str, dict[str, int]]) -> None:
        mine = self._tallies.setdefault(at, {})
        for stage, numbers in found.counts.items():
            add_counts(total.setdefault(stage, {}), numbers)
            add_counts(mine.setdefault(stage, {}), numbers)

    def search(self, at: int) -> Search:
        """A search of one machine that has not begun."""
        progress = None
        if self.on_progress is not None:
            progress = partial(self._progress, at)
        return Search(
            model=self.candidates[at].model,
            options=self.options,
            limits=self.limits,
            columns=self.request.compared,
            deadline=self.deadline,
            on_progress=progress,
        )

    @property
    def _machines(self) -> int:
        return len(self.candidates)

    def _progress(self, at: int, _: str, done: int, of: int) -> None:
        assert self.on_progress is not None
        self.on_progress("machines", 1000 * at + 1000 * done // max(of, 1), 1000 * self._machines)

    def _leanest(self, full: list[tuple[int, tuple[int, ...]]]) -> JointFound:
        """The least memory over the machines, and the front of time and energy."""
        leanest: Found | None = None
        statuses: list[Status] = []
        for at, chips in full:
            if not chips:
                continue
            model = self.candidates[at].model
            found = least_memory(model, chips[0], self.options, self.limits, self.deadline)
            found = replace(found, models=(model,) * len(found.points))
            statuses.append(found.status)
            self.alone.setdefault(at, found)
            least = leanest is None or len(leanest.points) == 0
            if len(found.points) and (least or found.points[0, 0] < leanest.points[0, 0]):  # type: ignore[union-attr]
                leanest = found
        whole, counts = self._pass(full)
        proof = leanest or _nothing((MEMORY,))
        proof = replace(proof, status=_status(statuses, len(proof.points)))
        return self._found(proof, whole, counts, {})

    def of_model(self, model: CostModel) -> int:
        """Which machine a model is that of."""
        return next(at for at, one in enumerate(self.candidates) if one.model is model)

    def results(self, found: Found) -> list[PlanResult]:
        """The plans of a search with their costs and machines."""
        results: dict[int, PlanResult] = {}
        owners = np.array([self.of_model(model) for model in found.models], dtype=np.int64)
        for at in np.unique(owners):
            one, rows = self.candidates[int(at)], np.flatnonzero(owners == at)
            plans = found.plans.take(rows)
            costed = plan_results(one.model, plans, evaluate_table(one.model, plans))
            for row, result in zip(rows, costed, strict=True):
                results[int(row)] = replace(result, machine=one.machine(result.chips))
        return [results[row] for row in sorted(results)]

    def searched(self, front: Mapping[str, int]) -> tuple[MachineSearch, ...]:
        """What was searched of each machine; `front`: plans on the front by its words."""
        found = []
        for at, one in enumerate(self.candidates):
            tally = self._tallies.get(at, {})
            words = one.machine(one.counts[-1] if one.counts else 1).words
            most = one.counts[-1] if one.counts else 0
            found.append(
                MachineSearch(
                    words=words,
                    most_chips=most,
                    limited_by=one.limited_by,
                    chip_counts=len(self._full(one)) + len(self._rest(one)),
                    partial_plans=tally.get("partial_plans", {}).get("considered", 0),
                    bound=tally.get("partial_plans", {}).get("bound", 0),
                    evaluated=tally.get("candidates", {}).get("evaluated", 0),
                    front=front.get(words, 0),
                )
            )
        return tuple(found)

    def losses(self, at: int) -> list[str]:
        """What a machine asks of its makers."""
        return reticle_words(self.candidates[at].model, self.request)

    def use(self, at: int, chips: int) -> list[str]:
        """How much of each budget a machine takes, in words."""
        return use_words(self.candidates[at].model, self.budgets, chips)


def joint_search(
    request: Request,
    options: SpaceOptions,
    limits: Limits,
    on_progress: Progress | None,
    origin: Origin,
    deadline: float | None,
) -> JointSearch:
    """The machines of a question with the chip counts that its budgets allow.

    Raises:
        InputError: Nothing ends the chip counts, or a machine cannot be built; one line each.
    """
    if all(getattr(request, name) is None for name in _OPEN):
        raise InputError(
            f"{origin.label(['chips'])}: is missing; say how many chips to plan for, e.g. 4096, or "
            "give a budget: total-pes, max-area or max-power"
        )
    if request.minimized.of_memory and request.chips is None:
        raise InputError(
            f"{origin.label(['objective'])}: {request.objective} needs the number of chips; "
            "give chips"
        )
    if prover_of(request.minimized, request.compared) != request.compared:
        raise InputError(
            f"{origin.label(['front'])}: {', '.join(request.front)} does not hold the least "
            f"{request.objective} over several machines; allowed: "
            f"{', '.join(request.minimized.front)}"
        )
    candidates, problems = [], dict[str, None]()
    choices = list(choices_of(request.pes, request.topology))
    if len(choices) > _MOST_MACHINES:
        raise InputError(
            f"pes, topology: {len(choices):,} machines; allowed: at most {_MOST_MACHINES}"
        )
    for pes, words in choices:
        changes = {"pes": None if pes is None else (pes,), "topology": words}
        try:
            resolved = resolve(request.model_copy(update=changes), origin)
            candidates.append(candidate_of(request, resolved))
        except InputError as error:
            problems |= dict.fromkeys(str(error).split("\n"))
    if problems:
        raise InputError("\n".join(problems))
    return JointSearch(
        request=request,
        candidates=tuple(candidates),
        options=options,
        limits=limits,
        deadline=deadline,
        on_progress=on_progress,
    )


def _nothing(columns: Columns) -> Found:
    """The outcome where no machine has a chip count."""
    return Found(
        plans=PlanTable.from_plans([]),
        points=np.empty((0, len(columns))),
        columns=columns,
        status=Status.INFEASIBLE,
        bound=np.zeros(len(columns)),
        counts={},
        misses=NearMisses(),
        seconds=0.0,
    )


def _status(statuses: list[Status], points: int) -> Status:
    """Of several searches together: proved where each is."""
    if all(status in (Status.OPTIMAL, Status.INFEASIBLE) for status in statuses):
        return Status.OPTIMAL if points else Status.INFEASIBLE
    return Status.FEASIBLE if points else Status.TIME_LIMIT


def _lowest(bounds: list[FloatArray]) -> FloatArray:
    known = [bound for bound in bounds if np.isfinite(bound).all()]
    return np.min(known, axis=0) if known else bounds[0]


def _no_better_than(proof: Found, whole: Found) -> Found:
    """The whole front is as sure as both of its passes, and its bound the lower one."""
    points = len(whole.points)
    return replace(
        whole,
        status=_status([proof.status, whole.status], points),
        bound=_lowest([proof.bound, whole.bound]),
    )

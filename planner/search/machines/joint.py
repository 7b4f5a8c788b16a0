"""The search over machines: PEs per chip, wirings, number of chips and plan decided together.

Each machine (PEs per chip and a wiring) has the chip counts that the budgets allow, and is a space
of uniform plans. One search goes through all of them: a plan found on any machine excludes what
its bounds prove no better on the rest. So the front is that of all plans on all machines, as if
each had been searched alone and the fronts merged.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.machine.variants import Budgets, choices_of
from planner.question.kinds.kind import ENDING_CHIPS
from planner.question.kinds.runners import Runners
from planner.question.options import SpaceOptions
from planner.question.request import Request
from planner.question.resolved import resolve
from planner.search.columns import prover_of
from planner.search.driver import Driver, Found, bound_of, status_of
from planner.search.limits import Limits
from planner.search.machines.machines import Candidate, budgets_of, candidate_of
from planner.search.uniform.engine import UniformSpace, least_memory

if TYPE_CHECKING:  # few questions share anything
    from planner.search.sharing.session import Session

_MOST_MACHINES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """All machines of a question.

    Attributes:
        request: The question.
        candidates: Its machines.
        options, limits: What is searched on each, and within what.
        deadline: `time.perf_counter` value after which nothing further is opened.
        session: What the spaces share with those of other questions.
    """

    request: Request
    candidates: tuple[Candidate, ...]
    options: SpaceOptions
    limits: Limits
    deadline: float | None
    session: Session | None = None

    @property
    def budgets(self) -> Budgets:
        """The limits on what all chips together may take."""
        return budgets_of(self.request)

    @property
    def runners(self) -> Runners:
        """What has to run the plans: one kind of chips has one framework, on every machine."""
        return self.candidates[0].resolved.runners

    @property
    def late(self) -> bool:
        """Whether no time is left."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def space(self, at: int, *chips: int) -> UniformSpace:
        """The plans on one machine."""
        return UniformSpace(
            model=self.candidates[at].model,
            options=self.options,
            limits=self.limits,
            chips=chips,
            columns=self.request.compared,
            deadline=self.deadline,
            session=self.session,
        )

    def full(self, at: int) -> tuple[int, ...]:
        """The largest chip count of a machine."""
        return self._counts(at)[-1:]

    def rest(self, at: int) -> tuple[int, ...]:
        """The other counts, where not all chips have to be used."""
        return () if self.request.keeps_to_chips else self._counts(at)[:-1]

    def _counts(self, at: int) -> tuple[int, ...]:
        """The chip counts of a machine that budgets allow, from the fewest that are asked for."""
        fewest, _ = self.request.chip_range or (1, None)
        return tuple(count for count in self.candidates[at].counts if count >= fewest)

    def of_model(self, model: CostModel) -> int:
        """Which machine a model is that of."""
        return next(at for at, one in enumerate(self.candidates) if one.model is model)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesFound:
    """What a search over machines found.

    Attributes:
        proof: The search that holds the best plan: its front so far, over all machines.
        whole: The front.
        alone: What each machine's own search on its largest count found.
        runs: Each search of the front, with its machine.
    """

    proof: Found
    whole: Found
    alone: dict[int, Found]
    runs: tuple[tuple[int, Found], ...]


def search_machines(machines: Machines, on_progress: Progress | None = None) -> MachinesFound:
    """The best plan and the front over all machines."""
    request, alone = machines.request, dict[int, Found]()
    order = sorted(
        range(len(machines.candidates)),
        key=lambda at: -machines.candidates[at].model.chip.pe_count,
    )  # the large first: they prune most
    full = [at for at in order if machines.full(at)]
    rest = [at for at in order if machines.rest(at)]
    if request.minimized.of_memory:
        alone = {at: least_memory(machines.space(at, *machines.full(at))) for at in full}
        rest = []
    driver = Driver(on_progress)
    proof = whole = driver.run(*(machines.space(at, *machines.full(at)) for at in full))
    runs = [*zip(full, proof.each, strict=False)]
    if request.minimized.of_memory:
        proof = replace(_leanest(list(alone.values())), counts=whole.counts)
    if rest:
        more = driver.run(*(machines.space(at, *machines.rest(at)) for at in rest))
        runs += zip(rest, more.each, strict=False)
        proof = whole = driver.together([proof, more])
    for at, run in runs:
        alone.setdefault(at, run)
    return MachinesFound(
        proof=proof,
        whole=whole,
        alone=alone,
        runs=tuple(runs),
    )


def _leanest(found: list[Found]) -> Found:
    """The least memory over machines; as sure as it is on all of them."""
    some = [one for one in found if len(one.points)]
    if not some:
        return replace(Driver().run(), status=status_of([one.status for one in found], 0))
    least = min(some, key=lambda one: float(one.points[0, 0]))
    status = status_of([one.status for one in found], len(least.points))
    return replace(least, status=status, bound=bound_of(found))


def machines_of(
    request: Request, options: SpaceOptions, limits: Limits, origin: Origin, deadline: float | None
) -> Machines:
    """The machines of a question with the chip counts that its budgets allow.

    Raises:
        InputError: Nothing ends the chip counts, or a machine cannot be built; one line each.
    """
    if all(getattr(request, name) is None for name in ENDING_CHIPS):
        *budgets, last = (name.replace("_", "-") for name in ENDING_CHIPS[1:])
        raise InputError(
            f"{origin.label(['chips'])}: is missing; say how many chips to plan for, e.g. 4096, or "
            f"give a budget: {', '.join(budgets)} or {last}"
        )
    if request.minimized.of_memory and not request.keeps_to_chips:
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
    candidates, problems = list[Candidate](), dict[str, None]()
    choices = list(choices_of(request.pes, request.topology))
    if len(choices) > _MOST_MACHINES:
        raise InputError(
            f"pes, topology: {len(choices):,} machines; allowed: at most {_MOST_MACHINES}"
        )
    _, most = request.chip_range or (1, 1)
    for pes, words in choices:
        changes = {"pes": None if pes is None else (pes,), "topology": words}
        try:
            resolved = resolve(request.model_copy(update=changes), origin, most)
            candidates.append(candidate_of(request, resolved))
        except InputError as error:
            problems |= dict.fromkeys(str(error).split("\n"))
    if problems:
        raise InputError("\n".join(problems))
    return Machines(
        request=request,
        candidates=tuple(candidates),
        options=replace(options, runnable_in=candidates[0].resolved.runners.targets),
        limits=limits,
        deadline=deadline,
    )

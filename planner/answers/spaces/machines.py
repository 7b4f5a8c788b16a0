"""The answer of a search over machines: its best machine, its front, and what stands in the way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from planner.answers.building import (
    Chosen,
    Setting,
    as_best,
    setting_of,
    with_plan,
    without_plan,
)
from planner.answers.diagnosis.uniform import diagnose
from planner.answers.spaces.uniform import certificate_of, chosen_of
from planner.base.units import plural, show_watts
from planner.cost.evaluate import evaluate_table
from planner.machine.variants import counts_within, use_of
from planner.question.files.plan_file import asked_of
from planner.question.resolved import Resolved
from planner.results.certificate import Certificate
from planner.results.parts import Diagnosis, MachineSearch
from planner.results.plan import PlanResult, plan_results
from planner.results.result import SolveResult
from planner.results.solved_parts import Front
from planner.search.columns import BOTH
from planner.search.driver import Driver, Found, Progress
from planner.search.infeasible.remedies import rounded_up
from planner.search.machines.joint import Machines, MachinesFound, search_machines
from planner.search.machines.machines import Candidate, reticle_words, use_words
from planner.search.objective import optimum
from planner.search.uniform.engine import least_memory
from solvers.solution import Status

_FURTHER = 64  # times the chips of a budget: how far a larger one is looked for
_FEWEST = 4096
_MOST_REMEDIES = 4
_FIRST_RUN = 4
_NOUNS = {"total_pes": "PE", "max_links": "link", "max_ports": "port"}
_WATTS = ((1e6, "MW"), (1e3, "kW"), (1.0, "W"))


def solve_machines(machines: Machines, started: float, on_progress: Progress | None) -> SolveResult:
    """The best plan on the best machine, and the front over all machines.

    Args:
        machines: Not searched yet.
        started: `time.perf_counter` value at which the work began.
        on_progress: Called with (what, done, of).
    """
    found, request = search_machines(machines, on_progress), machines.request
    proof = found.proof
    if len(proof.points) == 0:
        return _without_plan(machines, found, started)
    row = optimum(proof.points, proof.bound, proof.status, request.minimized, proof.columns).row
    at, chips = machines.of_model(proof.models[row]), proof.plans.plan(row).chips
    resolved = _on(machines.candidates[at], chips)
    certificate = certificate_of(resolved, proof)
    space, rows = machines.space(at, chips), np.array([row])
    best = replace(proof, plans=proof.plans.take(rows), points=proof.points[rows])
    driver, exact = Driver(), best
    if not machines.late:
        own = driver.run(space)
        exact = own if len(own.points) or request.minimized.of_memory else best
        own = least_memory(space) if request.minimized.of_memory else own
        best = own if len(own.points) else best
    chosen, _ = chosen_of(resolved, space, best, exact, driver)
    losses = resolved.cost.allocation(chips).losses
    wishes = reticle_words(resolved.cost, request)
    setting = _setting(machines, resolved, (*losses, *wishes), started)
    chosen = _with_machines(machines, found, at, chosen)
    front = Counter(point.machine.words for point in chosen.front.plans if point.machine)
    answer = with_plan(setting, certificate, chosen, proof.counts, found.front_counts)
    return _searched(machines, found, answer, front)


def _setting(
    machines: Machines, resolved: Resolved, losses: tuple[str, ...], started: float
) -> Setting:
    """What an answer says of a machine, of a question about several."""
    setting = setting_of(resolved, losses, started)
    return replace(setting, question=replace(setting.question, asked=asked_of(machines.request)))


def _searched(
    machines: Machines, found: MachinesFound, answer: SolveResult, front: Mapping[str, int]
) -> SolveResult:
    """The answer with what was searched of each machine; `front`: plans by its words."""
    records = []
    for at, one in enumerate(machines.candidates):
        runs = [run.counts for machine, run in found.runs if machine == at]
        partial_plans, candidates = (
            sum((Counter(run[stage]) for run in runs), Counter[str]())
            for stage in ("partial_plans", "candidates")
        )
        most = one.counts[-1] if one.counts else 0
        words = one.machine(most or 1).words
        records.append(
            MachineSearch(
                words=words,
                most_chips=most,
                limited_by=one.limited_by,
                chip_counts=len(machines.full(at)) + len(machines.rest(at)),
                partial_plans=partial_plans["considered"],
                bound=partial_plans["bound"],
                evaluated=candidates["evaluated"],
                front=front.get(words, 0),
            )
        )
    return replace(answer, candidates=replace(answer.candidates, machines=tuple(records)))


def _without_plan(machines: Machines, found: MachinesFound, started: float) -> SolveResult:
    """The answer without a plan, which names the machine that comes nearest."""
    at, alone = _nearest_miss(machines, found)
    one = machines.candidates[at]
    resolved = _on(one, machines.request.chips or (one.counts[-1] if found.alone else 1))
    certificate = Certificate(status=alone.status.value, objective_name=machines.request.objective)
    why = None
    if alone.status is Status.INFEASIBLE:
        why = _diagnosis(machines, found) or diagnose(machines.space(at), resolved.chips, alone)
    setting = _setting(machines, resolved, (), started)
    answer = without_plan(setting, certificate, alone.counts, why)
    return _searched(machines, found, answer, {})


def _on(one: Candidate, chips: int) -> Resolved:
    """The job on a machine and its chips."""
    changes = {"chips": chips, "chips_exact": True}
    request = one.resolved.request.model_copy(update=changes)
    return replace(one.resolved, request=request)


def _with_machines(machines: Machines, found: MachinesFound, at: int, chosen: Chosen) -> Chosen:
    """The best plan of a machine with the front of all machines."""
    one, chips = machines.candidates[at], chosen.best.chips
    best = replace(chosen.best, machine=one.machine(chips))
    front = as_best(_results(machines, found.whole), best, machines.request.compared)
    complete = found.whole.status is Status.OPTIMAL
    return replace(
        chosen,
        best=best,
        front=Front(
            plans=front,
            objectives=machines.request.front,
            complete=complete,
            note=_note(machines, len(front), complete=complete),
        ),
        top=tuple(
            replace(plan, result=replace(plan.result, machine=one.machine(plan.result.chips)))
            for plan in chosen.top
        ),
        why=(*chosen.why, *use_words(one.model, machines.budgets, chips)),
    )


def _note(machines: Machines, points: int, *, complete: bool) -> str:
    """What the front ranges over."""
    several = plural(len(machines.candidates), "machine")
    most = max(one.counts[-1] for one in machines.candidates if one.counts)
    exactly = machines.request.chips_exact
    chips = f"{'the most' if exactly else 'all'} chips that the budgets allow (up to {most:,})"
    if machines.request.chips is not None:
        chips = f"{'exactly' if exactly else 'up to'} {plural(machines.request.chips, 'chip')}"
    scope = f"plans on {several} (PEs per chip and wiring) of {chips}"
    if not complete:
        return f"The front of {scope} is incomplete: the time limit ended the search."
    return f"The exact front of {scope}: {plural(points, 'plan')}; proved complete."


def _results(machines: Machines, found: Found) -> list[PlanResult]:
    """The plans of a search with their costs and machines."""
    results: dict[int, PlanResult] = {}
    owners = np.array([machines.of_model(model) for model in found.models], dtype=np.int64)
    for at in np.unique(owners):
        one, rows = machines.candidates[int(at)], np.flatnonzero(owners == at)
        plans = found.plans.take(rows)
        costed = plan_results(one.model, plans, evaluate_table(one.model, plans))
        for row, result in zip(rows, costed, strict=True):
            results[int(row)] = replace(result, machine=one.machine(result.chips))
    return [results[row] for row in sorted(results)]


def _nearest_miss(machines: Machines, found: MachinesFound) -> tuple[int, Found]:
    """The machine with the most memory that was searched, or the first; and its outcome."""

    def room(at: int) -> float:
        one = machines.candidates[at]
        return one.counts[-1] * one.model.allocatable_bytes

    searched = sorted(found.alone, key=room)
    return (searched[-1], found.alone[searched[-1]]) if searched else (0, found.proof)


def _diagnosis(machines: Machines, found: MachinesFound) -> Diagnosis | None:
    """Which budget leaves no machine with a plan; None where it is none of them.

    A budget is to blame where a plan exists without it; the least use of it that was found to be
    enough is the remedy. Where no single one is, all that have to grow are named together.
    """
    if found.proof.status is not Status.INFEASIBLE:
        return None
    names = [name for name in machines.budgets.given if name != "chips"]
    # Beside limits on time, the diagnosis of one machine says what excludes what.
    timed = machines.limits.step_time_s is not None or machines.limits.mfu is not None
    alone = [(name,) for name in names if name != "max_power" or not (found.alone and timed)]
    freed = [one for one in (_enough(machines, group) for group in alone) if one is not None]
    if not freed and not found.alone:
        together = _enough(machines, tuple(names))
        freed = [] if together is None else [together]
    if not freed:
        return None if found.alone else _nothing_allowed(machines)
    given = machines.budgets.given
    name, needed = next(iter(freed[0].needed.items()))
    return Diagnosis(
        constraint=" and ".join(map(_label, freed[0].needed)),
        explanation="; ".join(
            f"{_label(name)}: no machine within {_amount(name, given[name])} has a "
            f"plan; enough: {_amount(name, needed)}"
            for one in freed
            for name, needed in one.needed.items()
        ),
        needed=needed,
        available=given[name],
        remedies=tuple(one.remedy for one in freed[:_MOST_REMEDIES]),
    )


def _nothing_allowed(machines: Machines) -> Diagnosis:
    """No machine has a chip count, and larger budgets of any kind give none a plan."""
    names = [_label(name) for name in machines.budgets.given]
    return Diagnosis(
        constraint=" and ".join(names),
        explanation=f"no machine has a chip count that {', '.join(names)} allow together",
    )


def _label(name: str) -> str:
    return name.replace("_", "-")


def _amount(name: str, value: float) -> str:
    """A budget in words."""
    if name == "max_power":
        return show_watts(value)
    return f"{value:,.6g} mm^2" if name == "max_area" else plural(math.ceil(value), _NOUNS[name])


def _flag(name: str, value: float) -> str:
    """A budget as it is typed, never rounded down."""
    text = f"{math.ceil(value)}"
    if name == "max_power":
        scale, unit = next((one for one in _WATTS if value >= one[0]), _WATTS[-1])
        text = rounded_up(value / scale) + unit
    elif name == "max_area":
        text = f"{rounded_up(value)}mm2"
    return f"--{_label(name)} {text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Freed:
    """A machine and chips that have a plan within larger budgets, and what those have to be."""

    one: Candidate
    chips: int
    needed: dict[str, float]

    @property
    def remedy(self) -> str:
        """`--max-area 6512mm2: 8 chips of 132 SMs, ring, fat-tree`."""
        flags = " ".join(_flag(name, value) for name, value in self.needed.items())
        return f"{flags} ({plural(self.chips, 'chip')} of {self.one.machine(self.chips).words})"


def _enough(machines: Machines, names: tuple[str, ...]) -> _Freed | None:
    """The machine and chips with a plan that use the least of budgets above them.

    Of machines that need as much of the first budget, the one that needs the least of the next.
    """
    best, least = None, (math.inf,) * len(names)
    for at, one in enumerate(machines.candidates):
        chips = _first_with_plan(machines, at, _without(machines, one, names), least[0], names)
        if chips is None:
            continue
        use = use_of(one.model, chips)
        if "max_power" in names:
            power_w = _least_power(machines, at, chips)
            use["max_power"] = math.inf if power_w is None else power_w
        given = machines.budgets.given
        needed = {name: use[name] for name in names if use[name] > given[name]}
        taken = tuple(use[name] for name in names)
        if needed and taken < least and all(map(math.isfinite, needed.values())):
            best, least = _Freed(one=one, chips=chips, needed=needed), taken
    return best


def _without(machines: Machines, one: Candidate, names: tuple[str, ...]) -> tuple[int, ...]:
    """The chip counts of a machine that some budgets alone forbid.

    Power limits the plans on every count too.
    """
    asked = machines.request.chips
    most = max(_FEWEST, _FURTHER * (one.counts[-1] if one.counts else 1))
    freed = replace(machines.budgets, **dict.fromkeys(names), chips=float(asked or most))
    counts = counts_within(one.model, freed)
    allowed = () if "max_power" in names else one.counts
    return tuple(n for n in counts if n not in allowed and asked in (None, n))


def _first_with_plan(
    machines: Machines, at: int, counts: tuple[int, ...], cheaper: float, names: tuple[str, ...]
) -> int | None:
    """The smallest count with a plan and a use of at most `cheaper`; None where none has one.

    Runs of counts, each twice as long as the one before, until one holds a plan; then its counts.
    """
    model = machines.candidates[at].model
    start, length = 0, _FIRST_RUN
    while start < len(counts) and use_of(model, counts[start])[names[0]] <= cheaper:
        run = counts[start : start + length]
        if _has_plan(machines, at, run, names):
            return next(chips for chips in run if _has_plan(machines, at, (chips,), names))
        start, length = start + length, 2 * length
    return None


def _has_plan(machines: Machines, at: int, counts: tuple[int, ...], names: tuple[str, ...]) -> bool:
    limits = machines.limits
    if "max_power" in names:
        limits = replace(limits, power_w=None)
    space = replace(machines.space(at, *counts), columns=BOTH, limits=limits)
    return len(Driver().run(space).points) > 0


def _least_power(machines: Machines, at: int, chips: int) -> float | None:
    """Watts of the plan that draws the least within all other limits."""
    found = Driver().run(replace(machines.space(at, chips), columns=BOTH))
    coolest = found.misses.coolest_fast
    return None if coolest is None else coolest.power_w

"""The answer of a joint search: its best machine, its front, and what stands in the way."""

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
from planner.answers.spaces.uniform import chosen_of, proof_of
from planner.base.units import plural, show_watts
from planner.machine.variants import counts_within, use_of
from planner.question.files.plan_file import asked_of
from planner.question.resolved import Resolved
from planner.results.certificate import Certificate
from planner.results.parts import Diagnosis
from planner.results.result import SolveResult
from planner.results.solved_parts import Front
from planner.search.infeasible.remedies import rounded_up
from planner.search.limits import Limits
from planner.search.machines.joint import JointFound, JointSearch
from planner.search.machines.machines import Candidate
from planner.search.uniform.engine import Found, Search
from solvers.solution import Status

_FURTHER = 64  # times the chips of a budget: how far a larger one is looked for
_FEWEST = 4096
_MOST_REMEDIES = 4
_FIRST_RUN = 4
_NOUNS = {"total_pes": "PE", "max_links": "link", "max_ports": "port"}
_WATTS = ((1e6, "MW"), (1e3, "kW"), (1.0, "W"))


def solve_machines(joint: JointSearch, started: float) -> SolveResult:
    """The best plan on the best machine, and the front over all machines.

    Args:
        joint: The machines; nothing has run.
        started: `time.perf_counter` value at which the work began.
    """
    found = joint.run()
    if found.best is None:
        return _without_plan(joint, found, started)
    at = joint.of_model(found.best.model)
    one = joint.candidates[at]
    resolved = _on(one, found.best.chips)
    search = joint.search(at)
    proof = _alone(found) if joint.late else proof_of(resolved, search)
    if len(proof.points) == 0:
        proof = _alone(found)
    exact = proof
    if joint.request.minimized.of_memory and not joint.late:
        exact = search.run((found.best.chips,))
    chosen, _ = chosen_of(resolved, search, proof, exact, search)
    losses = resolved.cost.allocation(found.best.chips).losses
    setting = _setting(joint, resolved, (*losses, *joint.losses(at)), started)
    chosen = _with_machines(joint, found, at, chosen)
    front = Counter(point.machine.words for point in chosen.front if point.machine)
    answer = with_plan(
        setting, _certificate(joint, found), chosen, found.counts, found.front_counts
    )
    return _searched(joint, answer, front)


def _setting(
    joint: JointSearch, resolved: Resolved, losses: tuple[str, ...], started: float
) -> Setting:
    """What an answer says of a machine, of a question about several."""
    setting = setting_of(resolved, losses, started)
    return replace(setting, question=replace(setting.question, asked=asked_of(joint.request)))


def _searched(joint: JointSearch, answer: SolveResult, front: Mapping[str, int]) -> SolveResult:
    """The answer with what was searched of each machine; `front`: plans by its words."""
    candidates = replace(answer.candidates, machines=joint.searched(front))
    return replace(answer, candidates=candidates)


def _certificate(joint: JointSearch, found: JointFound) -> Certificate:
    """That no plan on any machine is better."""
    best = found.best
    return Certificate(
        status=found.proof.status.value,
        objective_name=joint.request.objective,
        objective=None if best is None else best.value,
        bound=None if best is None else best.bound,
        uniform=None if best is None else best.value,
    )


def _without_plan(joint: JointSearch, found: JointFound, started: float) -> SolveResult:
    """The answer without a plan, which names the machine that comes nearest."""
    resolved, alone = _nearest_miss(joint, found)
    certificate = replace(_certificate(joint, found), status=alone.status.value)
    why = None
    if alone.status is Status.INFEASIBLE:
        why = _diagnosis(joint, found) or diagnose(
            resolved.cost, resolved.chips, joint.options, joint.limits, alone, joint.deadline
        )
    setting = _setting(joint, resolved, (), started)
    return _searched(joint, without_plan(setting, certificate, alone.counts, why), {})


def _alone(found: JointFound) -> Found:
    """The best plan alone, as the outcome of a search."""
    rows, proof = np.array([0 if found.best is None else found.best.row]), found.proof
    return replace(
        proof,
        plans=proof.plans.take(rows),
        points=proof.points[rows],
        models=tuple(proof.models[row] for row in rows),
        counts=found.counts,
    )


def _on(one: Candidate, chips: int) -> Resolved:
    """The job on a machine and its chips."""
    changes = {"chips": chips, "chips_exact": True}
    request = one.resolved.request.model_copy(update=changes)
    return replace(one.resolved, request=request)


def _with_machines(joint: JointSearch, found: JointFound, at: int, chosen: Chosen) -> Chosen:
    """The best plan of a machine with the front of all machines."""
    one, chips = joint.candidates[at], chosen.best.chips
    best = replace(chosen.best, machine=one.machine(chips))
    front = as_best(joint.results(found.whole), best, joint.request.compared)
    complete = found.whole.status is Status.OPTIMAL
    return replace(
        chosen,
        best=best,
        front=Front(
            plans=front,
            objectives=joint.request.front,
            complete=complete,
            note=_note(joint, len(front), complete=complete),
        ),
        top=tuple(
            replace(plan, result=replace(plan.result, machine=one.machine(plan.result.chips)))
            for plan in chosen.top
        ),
        why=(*chosen.why, *joint.use(at, chips)),
    )


def _note(joint: JointSearch, points: int, *, complete: bool) -> str:
    """What the front ranges over."""
    machines = plural(len(joint.candidates), "machine")
    most = max(one.counts[-1] for one in joint.candidates if one.counts)
    exactly = joint.request.chips_exact
    chips = f"{'the most' if exactly else 'all'} chips that the budgets allow (up to {most:,})"
    if joint.request.chips is not None:
        chips = f"{'exactly' if exactly else 'up to'} {plural(joint.request.chips, 'chip')}"
    scope = f"plans on {machines} (PEs per chip and wiring) of {chips}"
    if not complete:
        return f"The front of {scope} is incomplete: the time limit ended the search."
    return f"The exact front of {scope}: {plural(points, 'plan')}; proved complete."


def _nearest_miss(joint: JointSearch, found: JointFound) -> tuple[Resolved, Found]:
    """The machine with the most memory that was searched, or the first; and its outcome."""

    def room(at: int) -> float:
        one = joint.candidates[at]
        return one.counts[-1] * one.model.allocatable_bytes

    searched = sorted(joint.alone, key=room)
    if not searched:
        return _on(joint.candidates[0], joint.request.chips or 1), found.proof
    one, alone = joint.candidates[searched[-1]], joint.alone[searched[-1]]
    return _on(one, joint.request.chips or one.counts[-1]), alone


def _diagnosis(joint: JointSearch, found: JointFound) -> Diagnosis | None:
    """Which budget leaves no machine with a plan; None where it is none of them.

    A budget is to blame where a plan exists without it; the least use of it that was found to be
    enough is the remedy. Where no single one is, all that have to grow are named together.
    """
    if found.proof.status is not Status.INFEASIBLE:
        return None
    names = [name for name in joint.budgets.given if name != "chips"]
    # Beside limits on time, the diagnosis of one machine says what excludes what.
    timed = joint.limits.step_time_s is not None or joint.limits.mfu is not None
    alone = [(name,) for name in names if name != "max_power" or not (joint.alone and timed)]
    freed = [one for one in (_enough(joint, group) for group in alone) if one is not None]
    if not freed and not joint.alone:
        together = _enough(joint, tuple(names))
        freed = [] if together is None else [together]
    if not freed:
        return None if joint.alone else _nothing_allowed(joint)
    name, needed = next(iter(freed[0].needed.items()))
    return Diagnosis(
        constraint=" and ".join(map(_label, freed[0].needed)),
        explanation="; ".join(
            f"{_label(name)}: no machine within {_amount(name, joint.budgets.given[name])} has a "
            f"plan; enough: {_amount(name, needed)}"
            for one in freed
            for name, needed in one.needed.items()
        ),
        needed=needed,
        available=joint.budgets.given[name],
        remedies=tuple(one.remedy for one in freed[:_MOST_REMEDIES]),
    )


def _nothing_allowed(joint: JointSearch) -> Diagnosis:
    """No machine has a chip count, and larger budgets of any kind give none a plan."""
    names = [_label(name) for name in joint.budgets.given]
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


def _enough(joint: JointSearch, names: tuple[str, ...]) -> _Freed | None:
    """The machine and chips with a plan that use the least of budgets above them.

    Of machines that need as much of the first budget, the one that needs the least of the next.
    """
    best, least = None, (math.inf,) * len(names)
    for at, one in enumerate(joint.candidates):
        chips = _first_with_plan(joint, at, _without(joint, one, names), least[0], names)
        if chips is None:
            continue
        use = use_of(one.model, chips)
        if "max_power" in names:
            power_w = _least_power(joint, at, chips)
            use["max_power"] = math.inf if power_w is None else power_w
        given = joint.budgets.given
        needed = {name: use[name] for name in names if use[name] > given[name]}
        taken = tuple(use[name] for name in names)
        if needed and taken < least and all(map(math.isfinite, needed.values())):
            best, least = _Freed(one=one, chips=chips, needed=needed), taken
    return best


def _without(joint: JointSearch, one: Candidate, names: tuple[str, ...]) -> tuple[int, ...]:
    """The chip counts of a machine that some budgets alone forbid.

    Power limits the plans on every count too.
    """
    asked = joint.request.chips
    most = max(_FEWEST, _FURTHER * (one.counts[-1] if one.counts else 1))
    freed = replace(joint.budgets, **dict.fromkeys(names), chips=float(asked or most))
    counts = counts_within(one.model, freed)
    allowed = () if "max_power" in names else one.counts
    return tuple(n for n in counts if n not in allowed and asked in (None, n))


def _first_with_plan(
    joint: JointSearch, at: int, counts: tuple[int, ...], cheaper: float, names: tuple[str, ...]
) -> int | None:
    """The smallest count with a plan and a use of at most `cheaper`; None where none has one.

    Runs of counts, each twice as long as the one before, until one holds a plan; then its counts.
    """
    model = joint.candidates[at].model
    start, length = 0, _FIRST_RUN
    while start < len(counts) and use_of(model, counts[start])[names[0]] <= cheaper:
        run = counts[start : start + length]
        if _has_plan(joint, at, run, names):
            return next(chips for chips in run if _has_plan(joint, at, (chips,), names))
        start, length = start + length, 2 * length
    return None


def _quick(joint: JointSearch, at: int, limits: Limits) -> Search:
    """A search of one machine for any plan."""
    search = joint.search(at)
    return Search(
        model=search.model, options=search.options, limits=limits, deadline=joint.deadline
    )


def _has_plan(joint: JointSearch, at: int, counts: tuple[int, ...], names: tuple[str, ...]) -> bool:
    limits = joint.limits
    if "max_power" in names:
        limits = replace(limits, power_w=None)
    return len(_quick(joint, at, limits).run(counts).points) > 0


def _least_power(joint: JointSearch, at: int, chips: int) -> float | None:
    """Watts of the plan that draws the least within all other limits."""
    coolest = _quick(joint, at, joint.limits).run((chips,)).misses.coolest_fast
    return None if coolest is None else coolest.power_w

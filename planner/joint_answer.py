"""The answer of a joint search: its best machine, its front, and what stands in the way."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from planner.answers import Diagnosis
from planner.joint import JointFound, JointSearch
from planner.joint_machines import Candidate
from planner.resolved import Resolved
from planner.results import PlanResult, SolveResult
from planner.search.engine import Found, Search
from planner.search.ties import SAME
from planner.units import plural
from planner.variants import counts_within, use_of
from solvers.solution import Status

_FURTHER = 64  # times the chips of a budget: how far a larger one is looked for
_FEWEST = 4096
_MOST_REMEDIES = 4
_FIRST_RUN = 4


def winning(found: JointFound) -> Found:
    """The best plan alone, as the outcome of a search."""
    assert found.row is not None
    rows, proof = np.array([found.row]), found.proof
    return replace(
        proof,
        plans=proof.plans.take(rows),
        points=proof.points[rows],
        models=(proof.models[found.row],),
        counts=found.counts,
    )


def winner_of(joint: JointSearch, found: JointFound) -> Resolved:
    """The job on the machine and the chips of the best plan."""
    assert found.row is not None
    one = joint.candidates[joint.of_model(found.proof.models[found.row])]
    chips = found.proof.plans.plan(found.row).chips
    return _on(one, chips)


def _on(one: Candidate, chips: int) -> Resolved:
    changes = {"chips": chips, "chips_exact": True}
    request = one.resolved.request.model_copy(update=changes)
    return replace(one.resolved, request=request)


def described(joint: JointSearch, found: JointFound, answer: SolveResult) -> SolveResult:
    """The answer on the best machine with the front, proof and counts of the joint search."""
    assert answer.best is not None
    assert found.row is not None
    at = joint.of_model(found.proof.models[found.row])
    one = joint.candidates[at]
    best = replace(answer.best, machine=one.machine(answer.best.chips))
    front = tuple(
        best if _is(point, best, joint) else point for point in joint.results(found.whole)
    )
    complete = found.whole.status is Status.OPTIMAL
    return replace(
        answer,
        status=found.proof.status.value,
        objective=found.value,
        bound=found.bound,
        gap=(found.value - found.bound) / found.value if found.value > 0 else 0.0,
        best=best,
        front=front,
        front_complete=complete,
        front_note=_note(joint, len(front), complete=complete),
        top=tuple(
            replace(plan, result=replace(plan.result, machine=one.machine(plan.result.chips)))
            for plan in answer.top
        ),
        top_complete=answer.top_complete,
        why=(*answer.why, *joint.use(at, best.chips)),
        losses=(*answer.losses, *joint.losses(at)),
        counts=found.counts,
        front_counts=found.front_counts,
        machines=joint.searched(Counter(p.machine.words for p in front if p.machine)),
    )


def _is(point: PlanResult, best: PlanResult, joint: JointSearch) -> bool:
    """Whether a plan of the front has the objectives of the best plan, on the same machine."""
    fields = {
        "time": "step_time_s",
        "energy": "energy_per_step_j",
        "memory": "memory_per_chip_bytes",
    }
    pairs = [(getattr(point, fields[n]), getattr(best, fields[n])) for n in joint.request.front]
    same = all(math.isclose(mine, other, rel_tol=SAME) for mine, other in pairs)
    return same and point.chips == best.chips and point.machine == best.machine


def _note(joint: JointSearch, points: int, *, complete: bool) -> str:
    """What the front ranges over."""
    machines = plural(len(joint.candidates), "machine")
    most = max(one.counts[-1] for one in joint.candidates if one.counts)
    exactly = joint.request.chips_exact
    chips = f"{'the most' if exactly else 'all'} chips that the budgets allow (up to {most:,})"
    if joint.request.chips is not None:
        chips = f"{'exactly' if exactly else 'up to'} {joint.request.chips:,} chips"
    scope = f"plans on {machines} (PEs per chip and wiring) of {chips}"
    if not complete:
        return f"The front of {scope} is incomplete: the time limit ended the search."
    return f"The exact front of {scope}: {plural(points, 'plan')}; proved complete."


def nearest_miss(joint: JointSearch, found: JointFound) -> tuple[Resolved, Found]:
    """The machine with the most memory that was searched, or the first; and its outcome."""

    def room(at: int) -> float:
        one = joint.candidates[at]
        return one.counts[-1] * one.model.room_bytes

    searched = sorted(joint.alone, key=room)
    if not searched:
        return _on(joint.candidates[0], joint.request.chips or 1), found.proof
    one, alone = joint.candidates[searched[-1]], joint.alone[searched[-1]]
    return _on(one, joint.request.chips or one.counts[-1]), alone


def diagnosis_of(joint: JointSearch, found: JointFound) -> Diagnosis | None:
    """Which budget leaves no machine with a plan; None where it is none of them.

    A budget is to blame where a plan exists without it; the least use of it that was found to be
    enough is the remedy.
    """
    if found.proof.status is not Status.INFEASIBLE:
        return None
    remedies, lines, worst = [], [], None
    for name, limit in joint.budgets.given.items():
        if name in ("chips", "max_power"):
            continue
        freed = _enough(joint, name)
        if freed is None:
            continue
        one, chips, needed = freed
        label = name.replace("_", "-")
        words = one.machine(chips).words
        remedies.append(f"raise {label} to {needed:,.10g}: {plural(chips, 'chip')} of {words}")
        lines.append(
            f"{label}: no machine within {limit:,.10g} has a plan; {needed:,.10g} is enough"
        )
        worst = worst or (label, needed, limit)
    if worst is None:
        return None if joint.alone else _nothing_allowed(joint)
    label, needed, limit = worst
    return Diagnosis(
        constraint=label,
        explanation="; ".join(lines),
        needed=needed,
        available=limit,
        remedies=tuple(remedies[:_MOST_REMEDIES]),
    )


def _nothing_allowed(joint: JointSearch) -> Diagnosis:
    """No machine has a chip count, and no single budget is the reason."""
    given = joint.budgets.given
    names = [name.replace("_", "-") for name in given]
    return Diagnosis(
        constraint=" and ".join(names),
        explanation=f"no machine has a chip count that {', '.join(names)} allow together",
    )


def _enough(joint: JointSearch, name: str) -> tuple[Candidate, int, float] | None:
    """The machine and chips that use the least of a budget, above it, and have a plan."""
    best: tuple[Candidate, int, float] | None = None
    for at, one in enumerate(joint.candidates):
        counts = _without(joint, one, name)
        least = math.inf if best is None else best[2]
        chips = _first_with_plan(joint, at, counts, least, name)
        if chips is None:
            continue
        needed = use_of(one.model, chips)[name]
        if best is None or needed < best[2]:
            best = (one, chips, needed)
    return best


def _without(joint: JointSearch, one: Candidate, name: str) -> tuple[int, ...]:
    """The chip counts of a machine that one budget alone forbids."""
    asked = joint.request.chips
    most = max(_FEWEST, _FURTHER * (one.counts[-1] if one.counts else 1))
    freed = replace(joint.budgets, **{name: None}, chips=float(asked or most))
    counts = counts_within(one.model, freed)
    return tuple(n for n in counts if n not in one.counts and asked in (None, n))


def _first_with_plan(
    joint: JointSearch, at: int, counts: tuple[int, ...], cheaper: float, name: str
) -> int | None:
    """The smallest count with a plan and a use below `cheaper`; None where none has one.

    Runs of counts, each twice as long as the one before, until one holds a plan; then its counts.
    """
    model = joint.candidates[at].model
    start, length = 0, _FIRST_RUN
    while start < len(counts) and use_of(model, counts[start])[name] < cheaper:
        run = counts[start : start + length]
        if _has_plan(joint, at, run):
            return next(chips for chips in run if _has_plan(joint, at, (chips,)))
        start, length = start + length, 2 * length
    return None


def _has_plan(joint: JointSearch, at: int, counts: tuple[int, ...]) -> bool:
    search = joint.search(at)
    quick = Search(
        model=search.model,
        options=search.options,
        limits=search.limits,
        deadline=joint.deadline,
    )
    return len(quick.run(counts).points) > 0


def with_budgets(joint: JointSearch, answer: SolveResult) -> SolveResult:
    """An answer without a plan, with what was searched of each machine."""
    return replace(answer, machines=joint.searched({}))

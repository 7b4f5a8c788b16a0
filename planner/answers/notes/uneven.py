"""What is said of a plan whose stages differ, and of the front that it is part of."""

from __future__ import annotations

from dataclasses import replace

from planner.answers.building import Chosen
from planner.answers.notes.caveats import not_launchable
from planner.answers.simulated import simulated_step_s
from planner.base.deferred import Deferred
from planner.base.units import plural, show_percent, show_seconds
from planner.cost.facts import PlanFacts
from planner.explanation.causes import CAUSES
from planner.objectives import BY_PRODUCT, BY_TIME
from planner.question.kinds.uneven import is_fastest_alone
from planner.question.request import Request
from planner.question.resolved import Resolved
from planner.results.certificate import Certificate
from planner.results.gains import unconfirmed_words, within_gap
from planner.results.plan import PlanResult
from planner.results.result import simulated_s
from planner.results.solved_parts import Front, Stages
from solvers.solution import Status


def said_of_stages(
    resolved: Resolved, certificate: Certificate, chosen: Chosen, uniform: PlanResult | None
) -> Chosen:
    """The best plan beside the best uniform one, and what there is to say of it and its front.

    Args:
        resolved: The job on its machine.
        certificate: What is proved of the plan.
        chosen: The plan, with what binds it.
        uniform: The best plan with uniform stages; None where none fits.
    """
    best = chosen.best
    stages = Stages(
        uniform=uniform,
        uniform_simulated_s=_uniform_simulated_s(resolved, chosen, uniform),
    )
    doubts = unconfirmed_words(certificate, simulated_s(best, chosen.facts), stages)
    doubts += _not_launchable(resolved, best)
    note = front_note(resolved, certificate, chosen.front)
    return replace(
        chosen,
        stages=stages,
        why=Deferred(lambda: (*chosen.why, *_balance(chosen.facts), *_against(best, uniform))),
        scope=replace(chosen.scope, words=(*chosen.scope.words, *doubts)),
        front=replace(chosen.front, note=note),
    )


def _uniform_simulated_s(
    resolved: Resolved, chosen: Chosen, uniform: PlanResult | None
) -> float | None:
    """The simulated time of the best uniform plan, where it tells whether a gain in time holds."""
    simulated = simulated_s(chosen.best, chosen.facts) is not None
    by_time = resolved.request.minimized.uneven == BY_TIME and simulated
    if uniform is None or not by_time or uniform.plan == chosen.best.plan:
        return None
    return simulated_step_s(resolved.cost, uniform.plan)


def _not_launchable(resolved: Resolved, best: PlanResult) -> list[str]:
    """What of the stages the framework has no setting for, and what avoids it."""
    return [
        f"{line[0].upper()}{line[1:]}: {flag} finds a plan without that."
        for line, flag in not_launchable(resolved.cost, best.plan)
    ]


def _balance(facts: PlanFacts) -> list[str]:
    """How even the times of the stages are."""
    if len(facts.stages) == 1:
        return []
    times = [stage.forward_s + stage.backward_s for stage in facts.stages]
    share = show_percent(min(times) / max(times))
    return [f"The fastest stage takes {share} of the time of the slowest."]


def _against(best: PlanResult, uniform: PlanResult | None) -> list[str]:
    """What of the step the best plan saves against the uniform one, and what it pays for that."""
    if uniform is None:
        return []
    changes = {name: best.time_s[name] - uniform.time_s[name] for name in best.time_s}
    less, more = (pick(changes, key=lambda name: changes[name]) for pick in (min, max))
    if changes[less] >= 0 or best.plan == uniform.plan:
        return []
    words = (
        f"Against the best uniform plan {CAUSES[less]} takes {show_seconds(-changes[less])} less"
    )
    if changes[more] > 0:
        words += f", and {CAUSES[more]} {show_seconds(changes[more])} more"
    return [f"{words}."]


def front_note(resolved: Resolved, certificate: Certificate, front: Front) -> str:
    """What the front of uneven plans ranges over, and how much of it is proved."""
    request, model = resolved.request, resolved.cost
    clocks = len(model.clocks(wanted=bool(request.clocks)))
    ranges = f"plans on exactly {plural(resolved.chips, 'chip')} whose stages may differ"
    ranges += f", at {clocks} clock levels per stage" if clocks > 1 else ""
    count = plural(len(front), "plan")
    if front.complete:
        return f"The exact front of {ranges}: {count}; proved complete."
    proved = sum(front.proved)
    if (limits := front.limits) is not None:
        how = f"{limits.proved:,} of {limits.asked:,} time limits proved"
        stopped = limits.proved < limits.asked
    else:
        how = f"{proved:,} of {plural(len(front), 'plan')} proved"
        stopped = (
            request.minimized.uneven != BY_PRODUCT or certificate.status != Status.OPTIMAL.value
        )
    if stopped and request.gap is not None and _gap_ended(request, request.gap, certificate):
        within = _within_gap(request, request.gap, front)
        return f"The front of {ranges}, within the gap: {count}. {within}"
    if stopped:
        return f"The front of {ranges} is incomplete: {_ended(request)}, {how}; {count} so far."
    if limits is None:
        return (
            f"The front of {ranges}: {count}. Those that the least product of energy and time "
            "depends on are proved; the others are the best known."
        )
    if is_fastest_alone(request):
        also = "front points 2 or more add plans of less energy"
        return f"The fastest of {ranges}: its time is the one limit ({also})."
    return (
        f"The front of {ranges}: {count}. Those of at most {plural(limits.asked, 'time limit')}, "
        "from the fastest plan to the one of least energy, are proved; the others are the best "
        "known (front points all proves every one)."
    )


def _gap_ended(request: Request, gap: float, certificate: Certificate) -> bool:
    """Whether the gap, and not the time limit, ended the search."""
    if request.minimized.uneven == BY_PRODUCT:
        return within_gap(gap, certificate)
    return request.time_limit is None


def _within_gap(request: Request, gap: float, front: Front) -> str:
    """What is proved of the points of a front that was searched within a gap."""
    share = show_percent(gap)
    if request.minimized.uneven == BY_PRODUCT:
        return (
            f"No plan has an energy x time smaller than the least of them by more than {share}; "
            "otherwise they are the best known."
        )
    if (limits := front.limits) is None:
        proved, of = sum(front.proved), plural(len(front), "plan")
        each = "No plan that is as fast as one of them takes less energy"
    else:
        proved, of = limits.proved, plural(limits.asked, "time limit")
        each = "Within each time limit no plan takes less energy than one of them"
    return (
        f"{each} by more than {share}; none takes less at all for {proved:,} of {of} (those are "
        "marked as proved)."
    )


def _ended(request: Request) -> str:
    """What left points of a front without a proof."""
    if request.time_limit is None:
        return "the search ended before"
    return "stopped by the time limit" + (" or within the gap" if request.gap else "")

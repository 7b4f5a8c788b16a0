"""What is said of a plan whose stages differ, and of the front that it is part of."""

from __future__ import annotations

from dataclasses import replace

from planner.answers.notes.caveats import untold
from planner.answers.simulated import simulated_step_s
from planner.base.units import plural, show_percent, show_seconds
from planner.cost.facts import PlanFacts
from planner.explanation.causes import CAUSES
from planner.objectives import BY_PRODUCT, BY_TIME
from planner.question.request import Request
from planner.question.resolved import Resolved
from planner.question.uneven_request import is_fastest_alone
from planner.results.gains import unconfirmed_words, within_gap
from planner.results.plan import PlanResult
from planner.results.result import SolveResult
from solvers.solution import Status


def with_uneven_words(
    resolved: Resolved, answer: SolveResult, uniform: PlanResult | None
) -> SolveResult:
    """An answer with the best uniform plan, and what there is to say beside it.

    Args:
        resolved: The job on its machine.
        answer: With a plan and a certificate, what binds the plan included.
        uniform: The best plan with uniform stages; None where none fits.
    """
    answer = replace(
        answer,
        uniform=uniform,
        uniform_simulated_s=_uniform_simulated_s(resolved, answer, uniform),
    )
    assert answer.best is not None
    against = [] if uniform is None else _against(answer.best, uniform)
    against += unconfirmed_words(answer)
    return replace(
        answer,
        why=(*answer.why, *_balance(answer.facts), *against, *_untold(resolved, answer.best)),
        front_note=front_note(resolved, answer),
    )


def _uniform_simulated_s(
    resolved: Resolved, answer: SolveResult, uniform: PlanResult | None
) -> float | None:
    """The simulated time of the best uniform plan, where it tells whether a gain in time holds."""
    assert answer.best is not None
    by_time = answer.minimized.uneven == BY_TIME and answer.best_simulated_s is not None
    if uniform is None or not by_time or uniform.plan == answer.best.plan:
        return None
    return simulated_step_s(resolved.cost, uniform.plan)


def _untold(resolved: Resolved, best: PlanResult) -> list[str]:
    """What the framework cannot be told of the stages, and what avoids it."""
    return [
        f"{line[0].upper()}{line[1:]}: {flag} finds a plan without that."
        for line, flag in untold(resolved.cost, best.plan)
    ]


def _balance(facts: PlanFacts | None) -> list[str]:
    """How even the times of the stages are."""
    if facts is None or len(facts.stages) == 1:
        return []
    times = [stage.forward_s + stage.backward_s for stage in facts.stages]
    share = show_percent(min(times) / max(times))
    return [f"The fastest stage takes {share} of the time of the slowest."]


def _against(best: PlanResult, uniform: PlanResult) -> list[str]:
    """What of the step the best plan saves against the uniform one, and what it pays for that."""
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


def front_note(resolved: Resolved, answer: SolveResult) -> str:
    """What the front of uneven plans ranges over, and how much of it is proved."""
    request, model = resolved.request, resolved.cost
    assert request.chips is not None
    clocks = len(model.clocks(wanted=request.clocks))
    ranges = f"plans on exactly {plural(request.chips, 'chip')} whose stages may differ"
    ranges += f", at {clocks} clock levels per stage" if clocks > 1 else ""
    count = plural(len(answer.front), "plan")
    if answer.front_complete:
        return f"The exact front of {ranges}: {count}; proved complete."
    proved = sum(answer.front_proved)
    if (limits := answer.front_limits) is not None:
        how = f"{limits.proved:,} of {limits.asked:,} time limits proved"
        stopped = limits.proved < limits.asked
    else:
        how = f"{proved:,} of {plural(len(answer.front), 'plan')} proved"
        stopped = request.minimized.uneven != BY_PRODUCT or answer.status != Status.OPTIMAL.value
    if stopped and request.gap is not None and _gap_ended(request, answer):
        return f"The front of {ranges}, within the gap: {count}. {_within_gap(request, answer)}"
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


def _gap_ended(request: Request, answer: SolveResult) -> bool:
    """Whether the gap, and not the time limit, ended the search."""
    if request.minimized.uneven == BY_PRODUCT:
        return answer.certificate is not None and within_gap(answer, answer.certificate)
    return request.time_limit is None


def _within_gap(request: Request, answer: SolveResult) -> str:
    """What is proved of the points of a front that was searched within a gap."""
    assert request.gap is not None
    share = show_percent(request.gap)
    if request.minimized.uneven == BY_PRODUCT:
        return (
            f"No plan has an energy x time smaller than the least of them by more than {share}; "
            "otherwise they are the best known."
        )
    if (limits := answer.front_limits) is None:
        proved, of = sum(answer.front_proved), plural(len(answer.front), "plan")
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

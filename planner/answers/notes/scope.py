"""What the best plan was chosen among: plans that a target launches, and what others would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from frozen_records import dataclass
from planner.answers.evaluation import limits_of
from planner.answers.notes.unmodelled import unmodelled
from planner.base.deferred import Deferred
from planner.base.units import plural, show_percent
from planner.base.vocabulary import ANY
from planner.explanation.judging import gain_of
from planner.frameworks.decoders import unwritten
from planner.frameworks.launching import default_target
from planner.frameworks.rules import refused_by
from planner.frameworks.targets import Target
from planner.plan import Plan
from planner.question.kinds.scope import MAX_OOM_RISK, RECOMPUTE, RUNNABLE_IN
from planner.question.request import Request
from planner.question.resolved import Resolved
from planner.results.plan import PlanResult, RankedPlan
from planner.results.solved_parts import Wider
from planner.results.words import choice_words, join_words, mesh_words
from planner.search.infeasible.more_memory import risk_flag
from planner.search.limits import Limits

BOTH_WISHES = f"{RUNNABLE_IN},{MAX_OOM_RISK}"
_ANY_TARGET, _ANY_RISK = f"--{RUNNABLE_IN} {ANY}", f"--{MAX_OOM_RISK} 100%"
_ANY_MODULES = f"--fix {RECOMPUTE}={ANY}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is said of the choice.

    Attributes:
        words: Sentences.
        runs_in: Names of the targets that run the best plan as it is.
        wider: What lifting a wish would give.
    """

    words: Sequence[str] = ()
    runs_in: Sequence[str] = ()
    wider: Sequence[Wider] = ()


def scope_when_read(make: Callable[[], Scope]) -> Scope:
    """A scope that is made when a part of it is first looked at: it takes another search."""
    made = cache(make)
    return Scope(
        words=Deferred(lambda: made().words),
        runs_in=Deferred(lambda: made().runs_in),
        wider=Deferred(lambda: made().wider),
    )


def risk_words(request: Request) -> Iterator[str]:
    """Which risk is left out, where what it would give was not searched."""
    if request.oom_risk is not None:
        yield f"{_left_out(request.oom_risk)} ({_ANY_RISK} searches it)."


def _left_out(risk: float) -> str:
    return f"Above {show_percent(risk)} risk of running out of memory is left out"


def targets_running(resolved: Resolved, plan: Plan) -> tuple[Target, ...]:
    """What has to run the plans of a search whose best plan is known: nothing, if it runs it not.

    A search keeps to what its targets run wherever one of these plans fits.
    """
    targets = resolved.runners.targets
    return () if resolved.runners.assumed and refused_by(resolved.cost, plan, targets) else targets


def limits_kept(resolved: Resolved, best: PlanResult) -> Limits:
    """What a plan has to obey: no risk of memory that was assumed, if it has a greater one."""
    limits, assumed = limits_of(resolved.request), resolved.request.max_oom_risk is None
    risk = limits.oom_risk
    lifted = assumed and risk is not None and best.out_of_memory_probability > risk
    return replace(limits, oom_risk=None) if lifted else limits


def scope_of(
    resolved: Resolved,
    best: PlanResult,
    wider: Sequence[Wider] = (),
    chips: Sequence[str] = (),
    *,
    proved: bool,
) -> Scope:
    """What is said of the choice of a best plan.

    Args:
        resolved: The job on its machine.
        best: The plan.
        wider: What lifting a wish would give, as far as that was searched.
        chips: What is said of the number of chips.
        proved: Whether it is proved to be the best.
    """
    running = targets_running(resolved, best.plan)
    return Scope(
        words=(
            *_launching(resolved, best, wider, runs=bool(running), proved=proved),
            *_risking(resolved, best, wider),
            *_recomputing(resolved, best, wider),
            *chips,
            *(f"{line[0].upper()}{line[1:]}." for line in unmodelled(resolved.cost)),
        ),
        runs_in=tuple(target.name for target in running),
        wider=tuple(wider),
    )


def _launching(
    resolved: Resolved, best: PlanResult, wider: Sequence[Wider], *, runs: bool, proved: bool
) -> Iterator[str]:
    """What runs the best plan, if something `runs` it, and what all plans would give."""
    runners, framework = resolved.runners, resolved.cost.framework.name
    names = ",".join(target.name for target in runners.targets)
    titles = join_words([target.title for target in runners.targets])
    titles += " runs" if len(runners.targets) == 1 else " run"
    if not runners.targets:
        if runners.assumed:
            yield f"All plans of {framework} are searched: {runners.reason}."
        else:
            yield from _not_launched(resolved, best.plan)
    elif not runs:
        found = refused_by(resolved.cost, best.plan, runners.targets)
        why = f"No plan that {titles} as it is fits"
        if any(rule.of_job for rule, _ in found):
            found = [one for one in found if one[0].of_job]
            why = f"{titles} no plan of this job as it is"
        yield (
            f"{why}; this is the best {'' if proved else 'known '}of all plans of {framework}. It "
            f"lacks: "
            f"{'; '.join(dict.fromkeys(line for _, line in found))}."
            + ("" if unwritten(resolved.cost.job) else _nearest_of(names))
        )
    else:
        yield f"{titles} this plan as it is{_beyond(resolved, best, wider)}."


def _nearest_of(names: str) -> str:
    """How the nearest plan is written, as another sentence."""
    return f" planner export --to {names} --allow-lossy writes the nearest."


def _beyond(resolved: Resolved, best: PlanResult, wider: Sequence[Wider]) -> str:
    """What plans that targets do not run would give, as the end of a sentence."""
    found, both = _of(wider, RUNNABLE_IN), _of(wider, BOTH_WISHES)
    if found is None:
        return f"; plans that it cannot run were not searched ({_ANY_TARGET})"
    if found.plan is not None:
        return f"; {_ANY_TARGET} would give {_better(resolved, best, found.plan)}"
    if not found.proved:
        return f"; time ended the search of plans that it cannot run ({_ANY_TARGET})"
    least = f"less {resolved.request.minimized.noun} (proved)"
    if both is None or both.plan is None:
        risk = "" if resolved.request.oom_risk is None else ", of any risk of memory,"
        alone = risk if _settled(wider) else " of as little risk"
        beside = "" if _of(wider, RECOMPUTE) is None else "but for modules (below) "
        return f"; {beside}no other plan{alone} has {least}"
    together = f"{_ANY_TARGET} {_ANY_RISK}"
    better = _better(resolved, best, both.plan)
    return f"; no other plan of as little risk has {least}; {together} would give {better}"


def _settled(wider: Sequence[Wider]) -> bool:
    """Whether it is proved that lifting what runs the plan, and all else, gives nothing better."""
    known = _of(wider, RUNNABLE_IN) is not None
    wishes = (one for one in wider if one.lifted != RECOMPUTE)
    return known and all(one.plan is None and one.proved for one in wishes)


def _of(wider: Sequence[Wider], name: str) -> Wider | None:
    """What lifting one wish would give; None: that was not searched, of modules nothing."""
    return next((one for one in wider if one.lifted == name), None)


def _better(resolved: Resolved, best: PlanResult, plan: RankedPlan) -> str:
    """A better plan, by how much, and whether that can be told."""
    words = f"{mesh_words(plan.result.plan)}; {choice_words(plan.result.plan)}"
    if plan.result.chips != best.chips:
        words += f", on {plural(plan.result.chips, 'chip')}"
    gain = gain_of(best, plan.result, resolved.request.minimized)
    return f"{words}: {gain}{', a tie' if plan.tie else ''}"


def _risking(resolved: Resolved, best: PlanResult, wider: Sequence[Wider]) -> Iterator[str]:
    """What plans would give that run out of memory more often."""
    risk, found = resolved.request.oom_risk, _of(wider, MAX_OOM_RISK)
    if risk is None or found is None:
        yield from risk_words(resolved.request)
    elif found.plan is not None:
        chance = show_percent(found.plan.result.out_of_memory_probability)
        better = _better(resolved, best, found.plan)
        flag = risk_flag(found.plan.result.out_of_memory_probability)
        yield f"{_left_out(risk)}; {flag} would give {better}, {chance} risk."
    elif _settled(wider):
        return  # the sentence about what runs the plan has said it
    elif found.proved:
        noun = resolved.request.minimized.noun
        yield f"{_left_out(risk)}; no such plan has less {noun} (proved)."
    else:
        yield f"{_left_out(risk)}; time ended the search of it ({_ANY_RISK})."


def _recomputing(resolved: Resolved, best: PlanResult, wider: Sequence[Wider]) -> Iterator[str]:
    """What a plan would give some of whose modules recompute."""
    found = _of(wider, RECOMPUTE)
    if found is not None and found.plan is not None:
        better = _better(resolved, best, found.plan)
        yield (
            f"Modules that recompute apart are left out; {_ANY_MODULES} would give {better}; or a "
            "better plan."
        )


def _not_launched(resolved: Resolved, plan: Plan) -> Iterator[str]:
    """That the target of the framework cannot run a plan as it is, where any plan was asked for."""
    target = default_target(resolved.cost.framework.name, resolved.cost.job.learns)
    if target is None or resolved.cost.assumptions.token_granularity:
        return
    found = refused_by(resolved.cost, plan, (target,))
    if of_job := dict.fromkeys(line for rule, line in found if rule.of_job):
        yield f"{target.title} runs no plan of this job as it is: {'; '.join(of_job)}."
    elif found:
        fields = ", ".join(dict.fromkeys(rule.field for rule, _ in found))
        yield (
            f"{target.title} cannot run this plan as it is ({fields}): --{RUNNABLE_IN} "
            f"{target.name} keeps to plans that it runs."
        )

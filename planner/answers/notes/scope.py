"""What the best plan was chosen among: plans that a target launches, and what others would give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from planner.answers.evaluation import limits_of
from planner.base.units import show_percent
from planner.base.vocabulary import ANY
from planner.explanation.judging import gain_of
from planner.frameworks.launching import default_target
from planner.frameworks.rules import Rule, broken
from planner.frameworks.targets import Target
from planner.plan import Plan, PlanTable
from planner.question.resolved import Resolved
from planner.results.plan import PlanResult, RankedPlan
from planner.results.solved_parts import Wider
from planner.results.words import choice_words, join_words, mesh_words
from planner.search.limits import Limits

RUNNABLE_IN, MAX_OOM_RISK = "runnable-in", "max-oom-risk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is said of the choice.

    Attributes:
        words: Sentences.
        runs_in: Names of the targets that run the best plan as it is.
        wider: What lifting a wish would give.
    """

    words: tuple[str, ...] = ()
    runs_in: tuple[str, ...] = ()
    wider: tuple[Wider, ...] = ()


def scope_default(resolved: Resolved) -> Iterator[tuple[str, str, str]]:
    """What is taken to run the plans, and their risk, where the question leaves these open."""
    runners, request = resolved.runners, resolved.request
    if runners.assumed:
        yield RUNNABLE_IN, runners.words, runners.reason
    if request.max_oom_risk is None and request.oom_risk is not None:
        yield MAX_OOM_RISK, show_percent(request.oom_risk), "by the spread of published runs"


def targets_running(resolved: Resolved, plan: Plan) -> tuple[Target, ...]:
    """What has to run the plans of a search whose best plan is known: nothing, if it runs it not.

    A search keeps to what its targets run wherever one of these plans fits.
    """
    targets = resolved.runners.targets
    return () if resolved.runners.assumed and _broken(resolved, targets, plan) else targets


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
) -> Scope:
    """What is said of the choice of a best plan.

    Args:
        resolved: The job on its machine.
        best: The plan.
        wider: What lifting a wish would give, as far as that was searched.
        chips: What is said of the number of chips.
    """
    running = targets_running(resolved, best.plan)
    return Scope(
        words=(*_launching(resolved, best, wider), *_risking(resolved, best, wider), *chips),
        runs_in=tuple(target.name for target in running),
        wider=tuple(wider),
    )


def _launching(resolved: Resolved, best: PlanResult, wider: Sequence[Wider]) -> Iterator[str]:
    """What runs the best plan, and what all plans of the framework would give."""
    runners, framework = resolved.runners, resolved.cost.framework.name
    names = ",".join(target.name for target in runners.targets)
    titles = join_words([target.title for target in runners.targets])
    if not runners.targets:
        if runners.assumed:
            yield f"All plans of {framework} are searched: {runners.reason}."
        else:
            yield from _not_launched(resolved, best.plan)
    elif not targets_running(resolved, best.plan):
        found = _broken(resolved, runners.targets, best.plan)
        why = f"No plan that {titles} runs as it is fits"
        if any(rule.of_job for rule, _ in found):
            found = [one for one in found if one[0].of_job]
            why = f"{titles} runs no plan of this job as it is"
        yield (
            f"{why}; this is the best of all plans of {framework}. It lacks: "
            f"{'; '.join(dict.fromkeys(line for _, line in found))}. planner export --to {names} "
            "--allow-lossy writes the nearest."
        )
    else:
        yield f"{titles} runs this plan as it is{_beyond(resolved, best, wider)}."


def _beyond(resolved: Resolved, best: PlanResult, wider: Sequence[Wider]) -> str:
    """What plans that targets do not run would give, as the end of a sentence."""
    noun, flag = resolved.request.minimized.noun, f"--{RUNNABLE_IN} {ANY}"
    found = _of(wider, RUNNABLE_IN)
    if found is None:
        return f"; plans that it cannot run were not searched ({flag})"
    if found.plan is None and found.proved:
        return f"; no other plan has less {noun} (proved)"
    if found.plan is None:
        return f"; time ended the search of plans that it cannot run ({flag})"
    return f"; {flag} would give {_better(resolved, best, found.plan)}"


def _of(wider: Sequence[Wider], name: str) -> Wider | None:
    """What lifting one wish would give; None: that was not searched."""
    return next((one for one in wider if one.lifted == name), None)


def _better(resolved: Resolved, best: PlanResult, plan: RankedPlan) -> str:
    """A better plan, by how much, and whether that can be told."""
    words = f"{mesh_words(plan.result.plan)}; {choice_words(plan.result.plan)}"
    gain = gain_of(best, plan.result, resolved.request.minimized)
    return f"{words}: {gain}{', a tie' if plan.tie else ''}"


def _risking(resolved: Resolved, best: PlanResult, wider: Sequence[Wider]) -> Iterator[str]:
    """What plans would give that run out of memory more often."""
    risk, flag = resolved.request.oom_risk, f"--{MAX_OOM_RISK} 100%"
    if risk is None:
        return
    noun, found = resolved.request.minimized.noun, _of(wider, MAX_OOM_RISK)
    start = f"Above {show_percent(risk)} risk of running out of memory is left out"
    if found is None:
        yield f"{start} ({flag} searches it)."
    elif found.plan is None and found.proved:
        yield f"{start}; no such plan has less {noun} (proved)."
    elif found.plan is None:
        yield f"{start}; time ended the search of it ({flag})."
    else:
        chance = show_percent(found.plan.result.out_of_memory_probability)
        yield f"{start}; {flag} would give {_better(resolved, best, found.plan)}, {chance} risk."


def _not_launched(resolved: Resolved, plan: Plan) -> Iterator[str]:
    """That the target of the framework cannot run a plan as it is, where any plan was asked for."""
    target = default_target(resolved.cost.framework.name)
    if target is None or resolved.cost.assumptions.token_granularity:
        return
    if found := _broken(resolved, (target,), plan):
        fields = ", ".join(dict.fromkeys(rule.field for rule, _ in found))
        yield (
            f"{target.title} cannot run this plan as it is ({fields}): --{RUNNABLE_IN} "
            f"{target.name} keeps to plans that it runs."
        )


def _broken(resolved: Resolved, targets: Sequence[Target], plan: Plan) -> list[tuple[Rule, str]]:
    """The rules of targets that a plan breaks, with a line for each."""
    table, orders = PlanTable.from_plans([plan]), resolved.request.placement != "framework"
    return [
        one
        for target in targets
        for one in broken(resolved.cost, table, target=target, all_orders=orders)
    ]

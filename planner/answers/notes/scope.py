"""What the best plan was chosen among: plans that a target launches, and what others would give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.base.vocabulary import ANY
from planner.explanation.judging import verdict_of
from planner.frameworks.launching import default_target
from planner.frameworks.rules import Rule, broken
from planner.frameworks.targets import Target
from planner.plan import Plan, PlanTable
from planner.question.resolved import Resolved
from planner.results.plan import PlanResult
from planner.results.solved_parts import Wider
from planner.results.words import choice_words, join_words, mesh_words

RUNNABLE_IN = "runnable-in"


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
    """What is taken to run the plans, where the question leaves it open."""
    runners = resolved.runners
    if runners.assumed:
        yield RUNNABLE_IN, runners.words, runners.reason


def targets_running(resolved: Resolved, plan: Plan) -> tuple[Target, ...]:
    """What has to run the plans of a search whose best plan is known: nothing, if it runs it not.

    A search keeps to what its targets run wherever one of these plans fits.
    """
    targets = resolved.runners.targets
    return () if resolved.runners.assumed and _broken(resolved, targets, plan) else targets


def scope_of(resolved: Resolved, best: PlanResult, wider: Sequence[Wider] = ()) -> Scope:
    """What is said of the choice of a best plan.

    Args:
        resolved: The job on its machine.
        best: The plan.
        wider: What lifting a wish would give, as far as that was searched.
    """
    running = targets_running(resolved, best.plan)
    return Scope(
        words=tuple(_launching(resolved, best, wider)),
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
        lines = dict.fromkeys(line for _, line in _broken(resolved, runners.targets, best.plan))
        yield (
            f"No plan that {titles} runs as it is fits; this is the best of the others. It lacks: "
            f"{'; '.join(lines)}. planner export --to {names} --allow-lossy writes the nearest."
        )
    else:
        yield f"{titles} runs this plan as it is{_beyond(resolved, best, wider)}."


def _beyond(resolved: Resolved, best: PlanResult, wider: Sequence[Wider]) -> str:
    """What plans that targets do not run would give, as the end of a sentence."""
    minimized = resolved.request.minimized
    found = next((one for one in wider if one.lifted == RUNNABLE_IN), None)
    flag = f"--{RUNNABLE_IN} {ANY}"
    if found is None:
        return f"; plans that it cannot run were not searched ({flag})"
    if found.plan is None and found.proved:
        return f", and no plan that it cannot run has less {minimized.noun} (proved)"
    if found.plan is None:
        return f"; time ended the search of plans that it cannot run ({flag})"
    plan = found.plan.result
    tie = ", a tie" if found.plan.tie else ""
    words = f"{mesh_words(plan.plan)}; {choice_words(plan.plan)}"
    proved = "" if found.proved else " (time ended that search)"
    return f"; {flag} would give {words}: {verdict_of(best, plan, minimized)}{tie}{proved}"


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

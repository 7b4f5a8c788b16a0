"""What has to launch the plans of a question about batches, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.units import show_percent
from planner.base.vocabulary import ANY
from planner.frameworks.rules import demands_of
from planner.frameworks.targets import Target
from planner.plan import Plan, PlanTable
from planner.question.kinds.scope import MAX_OOM_RISK, RUNNABLE_IN, scope_default
from planner.question.resolved import Resolved
from planner.results.words import join_words


def launchers(resolved: Resolved, origin: Origin) -> tuple[Target, ...]:
    """The targets that have to run the plans; none that was assumed and runs no plan of the job.

    Args:
        resolved: The job on its machine.
        origin: Where its fields come from.

    Raises:
        InputError: Targets are named, and the assumptions know no framework.
    """
    runners = resolved.runners
    if resolved.cost.assumptions.token_granularity:
        if runners.targets:
            raise InputError(
                f"{origin.label(['runnable_in'])}: {runners.words} has no effect under "
                f"{resolved.cost.assumptions.name}, whose formulas know no framework; leave it out"
            )
        return ()
    return () if runners.assumed and _refused(resolved) else runners.targets


def _refused(resolved: Resolved) -> list[str]:
    """Why the targets run no plan of the job, whatever it is."""
    plan = Plan()
    table = PlanTable.from_plans([plan])
    return [
        demand.rule.explain(demand.model, plan)
        for demand in demands_of(resolved.cost, resolved.runners.targets)
        if demand.rule.of_job and not demand.holds(table)[0]
    ]


def kept_default(resolved: Resolved) -> Iterator[tuple[str, str, str]]:
    """What is taken to launch the plans, and their risk, where the question leaves these open."""
    for name, value, reason in scope_default(resolved):
        if name != RUNNABLE_IN:
            yield name, value, reason
        elif resolved.cost.assumptions.token_granularity:
            continue
        elif lines := _refused(resolved):
            yield name, ANY, f"{value} runs no plan of this job: {'; '.join(lines)}"
        else:
            yield name, value, reason


def kept_words(resolved: Resolved, targets: tuple[Target, ...]) -> str:
    """What plans are kept to, in one sentence; empty: to nothing."""
    kept, lifts = [], []
    if targets:
        kept.append(f"{join_words([target.title for target in targets])} can launch as they are")
        lifts.append(f"--{RUNNABLE_IN} {ANY}")
    if (risk := resolved.request.oom_risk) is not None:
        kept.append(f"run out of memory with a chance of at most {show_percent(risk)}")
        lifts.append(f"--{MAX_OOM_RISK} 100%")
    if not kept:
        return ""
    return f"Plans are those that {' and that '.join(kept)} (lifted by {' and '.join(lifts)})."


def kept_notes(kept: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """What plans are kept to, once, or by name where that differs.

    Args:
        kept: `kept_words` of each model and cluster.
    """
    several = len(set(kept.values())) > 1
    for words in filter(None, dict.fromkeys(kept.values())):
        named = [" on ".join(job) for job, own in kept.items() if own == words]
        yield f"{', '.join(named)}: {words}" if several else words

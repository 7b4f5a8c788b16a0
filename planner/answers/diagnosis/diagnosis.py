"""One diagnosis of "no plan fits": what the rules forbid, then memory, then the limits on costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from planner.base.messages import distinguished
from planner.base.units import show_bytes, show_percent, show_seconds, show_watts
from planner.cost.energy.boundaries import MEASURED
from planner.plan import Plan
from planner.results.parts import Diagnosis
from planner.results.words import choice_words, join_words, mesh_words
from planner.search.limits import Limits


class Reasons(ABC):
    """What a space knows of why none of its plans fits; to be written for each space.

    `diagnose` asks for the reasons in the order of the methods. Each gives the figures of what
    comes nearest, and remedies of `planner.search.infeasible` that were checked.
    """

    def of_run(self) -> Diagnosis | None:
        """That limits on the whole run leave no plan of those that the others leave."""
        return None

    @abstractmethod
    def of_rules(self) -> Diagnosis | None:
        """That rules leave no plan, whatever its memory and costs; None where they leave some."""

    @abstractmethod
    def of_memory(self) -> Diagnosis | None:
        """That no plan which the rules leave has room; None where one has."""

    @abstractmethod
    def of_costs(self) -> Diagnosis:
        """Which limits on time, utilization and power forbid every plan that has room."""


def diagnose(reasons: Reasons) -> Diagnosis:
    """What forbids every plan of a space, of which it is proved that none fits."""
    return reasons.of_run() or reasons.of_rules() or reasons.of_memory() or reasons.of_costs()


def unfinished(blamed: Sequence[str], excluded: str, sought: str) -> Diagnosis:
    """That no plan fits, where time ended before it was known why.

    Args:
        blamed: What may be the reason, by name.
        excluded: Which plans there are none of.
        sought: What would tell the reason.
    """
    return Diagnosis(
        constraint=" or ".join(blamed),
        explanation=f"{excluded}; the time limit ended the search for {sought}, and for changes "
        "that would free one",
    )


def some_limit(limits: Limits, *, roomy: bool = False) -> Diagnosis:
    """That limits leave no plan, where time ended before it was known which of them.

    Args:
        limits: What was asked for.
        roomy: Whether a plan is known that has room in memory.
    """
    given = "" if limits.memory_bytes is None else f" of {show_bytes(limits.memory_bytes)}"
    memory = {} if roomy else {"memory": f"memory{given}"}
    words = {**memory, **_on_costs(limits)}
    noun = "limits" if len(words) > 1 else "limit"
    return unfinished(
        [*words],
        f"no plan that the rules allow is within the {noun} on {join_words([*words.values()])}",
        "the limit to blame" if limits.on_costs else "the leanest one",
    )


def _on_costs(limits: Limits) -> dict[str, str]:
    """The limits on costs that are given: their names, and what they are on."""
    every = {
        "max-step-time": ("step time", limits.step_time_s),
        "min-mfu": ("utilization", limits.mfu),
        "max-power": ("power", limits.power_w),
    }
    return {name: words for name, (words, limit) in every.items() if limit is not None}


def lacking_memory(
    leanest: str,
    plan: Plan,
    figures: tuple[float, float],
    where: str,
    remedies: tuple[str, ...],
) -> Diagnosis:
    """That the leanest plan which is known overfills a stage.

    Args:
        leanest: What the plan is called, with what else is known.
        plan: The plan.
        figures: Bytes that the stage needs, and that may be filled, which are less.
        where: The chip, and the stage.
        remedies: What frees it.
    """
    needed, limit = figures
    if needed <= limit:
        raise ValueError("the plan fits in memory: memory is not the reason")
    needs, has = distinguished(needed, limit, show_bytes)
    return Diagnosis(
        constraint="memory",
        explanation=(
            f"memory: {leanest} ({mesh_words(plan)}; {choice_words(plan)}) needs "
            f"{needs} of the {has} that may be filled on each {where}: "
            f"{show_bytes(needed - limit)} too much"
        ),
        needed=needed,
        available=limit,
        remedies=remedies,
    )


def broken_limit(
    limits: Limits,
    which: str,
    costs: tuple[float, float, float],
    power_words: str,
    remedies: tuple[str, ...],
    *,
    proved: bool,
) -> Diagnosis:
    """The first limit that the fastest plan breaks: on the step time, on utilization, on power.

    Where time ended before it was proved the fastest, a faster one may break another limit alone.

    Args:
        limits: What was asked for; the plan breaks one of them.
        which: What the plan is called.
        costs: Its step in seconds, its MFU, its mean power in watts where that is limited.
        power_words: What is said of the power, after the limit.
        remedies: What frees it.
        proved: Whether no plan is faster.
    """
    if not proved and len(_on_costs(limits)) > 1:
        return some_limit(limits, roomy=True)
    time_s, mfu, power_w = costs
    if limits.step_time_s is not None and time_s > limits.step_time_s:
        return slower(limits.step_time_s, which, time_s, remedies)
    if limits.mfu is not None and mfu < limits.mfu:
        return less_used(limits.mfu, which, mfu, remedies)
    limit = limits.most_w
    drawn, most = distinguished(power_w, limit, show_watts)
    return Diagnosis(
        constraint="max-power",
        explanation=f"power: no plan within the other limits draws at most {most} "
        f"{MEASURED[limits.power_boundary]}{power_words} draws {drawn}",
        needed=power_w,
        available=limit,
        remedies=remedies,
    )


def slower(limit_s: float, which: str, time_s: float, remedies: tuple[str, ...]) -> Diagnosis:
    """That a plan, the fastest, takes longer than the limit."""
    takes, most = distinguished(time_s, limit_s, show_seconds)
    return Diagnosis(
        constraint="max-step-time",
        explanation=f"step time: {which} takes {takes}, the limit is {most}",
        needed=time_s,
        available=limit_s,
        remedies=remedies,
    )


def less_used(limit: float, which: str, mfu: float, remedies: tuple[str, ...]) -> Diagnosis:
    """That a plan, the best, uses less of the chips than the limit."""
    reached, least = distinguished(mfu, limit, show_percent)
    return Diagnosis(
        constraint="min-mfu",
        explanation=f"utilization: {which} reaches an MFU of {reached}, the limit is {least}",
        needed=limit,
        available=mfu,
        remedies=remedies,
    )

"""What targets demand of a plan beyond the rules of the job's own framework.

A job keeps the framework whose memory and time it is predicted with. Where another one runs it,
the rules of both hold: those of its own first, then those that each target adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from frozen_records import dataclass
from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.framework import Target
from planner.frameworks.rules.checking import LAYOUT_RULE, applicable, broken, judged_for
from planner.frameworks.rules.rule import Rule
from planner.plan import PlanTable

TARGET = ": "
"""Between target and rule in the name of a demand; no other name has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A rule of a target.

    Attributes:
        target: Whose it is.
        rule: The rule.
        model: What it judges plans for: the job under the framework that runs the target.
    """

    target: Target
    rule: Rule
    model: CostModel

    @property
    def name(self) -> str:
        """As counts have it, e.g. `megatron: offload`."""
        return f"{self.target.name}{TARGET}{self.rule.name}"

    def holds(self, plans: PlanTable) -> BoolArray:
        """(n,) plans that obey it."""
        return self.rule.holds(self.model, plans)


def demands_of(model: CostModel, targets: Iterable[Target]) -> tuple[Demand, ...]:
    """The rules that targets add, each once, in their order."""
    return tuple(_added(model, targets))


def _added(model: CostModel, targets: Iterable[Target]) -> Iterator[Demand]:
    """The demands of `demands_of`.

    What a framework offers is a rule of each framework. Its rank layouts are demanded even where a
    search is asked for others.
    """
    own = (rule for rule in applicable(model.framework) if rule.name != LAYOUT_RULE)
    known = {_key(rule, model) for rule in own}
    for target in targets:
        judged = judged_for(model, target)
        for rule in applicable(judged.framework, target):
            any_layout = rule.name == LAYOUT_RULE and not judged.framework.orders
            if _key(rule, judged) in known or any_layout:
                continue
            known.add(_key(rule, judged))
            yield Demand(target=target, rule=rule, model=judged)


def _key(rule: Rule, model: CostModel) -> tuple[str, str]:
    """What tells rules apart."""
    return rule.name, model.framework.name if rule.framework == "framework" else ""


def unmet(
    model: CostModel, plans: PlanTable, targets: Iterable[Target], known: Iterable[str] = ()
) -> list[str]:
    """One line per plan and broken rule of targets, in order, without those that are known."""
    found = {
        f"{target.name}{TARGET}{line}": line
        for target in targets
        for _, line in broken(model, plans, target=target)
    }
    said = set(known)
    return [words for words, line in found.items() if line not in said]

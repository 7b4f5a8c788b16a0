"""Which plans a job and a framework can run: one table of rules, read by search and export.

There is one file per subject of rules. Each rule is a predicate on a plan table, with the framework
it belongs to (`any` for arithmetic that no implementation escapes), where that framework enforces
it, and a sentence that says what is allowed and what is nearest. `violations` names the broken
rules of single plans; `planner.search` drops candidates by the same predicates and counts them.
Begin with `rule` and `table`.
"""

from planner.frameworks.rules.checking import (
    applicable,
    broken,
    judged_for,
    offloads_allowed,
    refused_by,
    unbroken,
    violations,
)
from planner.frameworks.rules.demands import TARGET, Demand, demands_of, unmet
from planner.frameworks.rules.freedom import ALIKE, BLOCKS, LAYERS, Freedom, freedom_of
from planner.frameworks.rules.numbers import divisors, nearest_divisors
from planner.frameworks.rules.predicates import fits_layers, heads_exchange
from planner.frameworks.rules.rule import DEVICES_RULE, PLACEMENT, Rule
from planner.frameworks.rules.table import all_rules

__all__ = [
    "ALIKE",
    "BLOCKS",
    "DEVICES_RULE",
    "LAYERS",
    "PLACEMENT",
    "TARGET",
    "Demand",
    "Freedom",
    "Rule",
    "all_rules",
    "applicable",
    "broken",
    "demands_of",
    "divisors",
    "fits_layers",
    "freedom_of",
    "heads_exchange",
    "judged_for",
    "nearest_divisors",
    "offloads_allowed",
    "refused_by",
    "unbroken",
    "unmet",
    "violations",
]

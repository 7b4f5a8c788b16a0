"""Every uniform plan on every number of chips of every machine that a question names."""

from __future__ import annotations

from enumerated.found import Enumerated
from enumerated.plain import Plain, no_freedom
from enumerated.uniform import add_all
from planner.machine.variants import BUDGETS, choices_of, use_of
from planner.question.kinds.kind import Kind, kind_of
from planner.question.request import Request
from planner.question.resolved import Resolved, resolve

MOST_CHIPS = 64


def on_one_machine(request: Request, plain: Plain = no_freedom) -> Enumerated:
    """The plans on the one machine of a question: as many chips as are asked for, or fewer."""
    resolved = resolve(request)
    counts = list(resolved.counts)
    if request.keeps_to_chips and not request.chips_exact:
        every = resolved.cost.cluster.chip_counts(resolved.chips)
        counts = [n for n in reversed(every) if n <= resolved.chips]
    return _all(request, [(resolved, n) for n in counts], plain)


def on_every_machine(request: Request, plain: Plain = no_freedom) -> Enumerated:
    """The plans on all machines of a question."""
    pairs = []
    fewest, most = request.chip_range or (1, MOST_CHIPS)
    for pes, words in choices_of(request.pes, request.topology):
        changes = {"pes": None if pes is None else (pes,), "topology": words}
        resolved = resolve(request.model_copy(update=changes), chips=most)
        counts = [
            n
            for n in resolved.cost.cluster.chip_counts(most)
            if n >= fewest and _affordable(request, resolved, n)
        ]
        kept = counts[-1:] if request.keeps_to_chips else counts
        pairs += [(resolved, n) for n in kept]
    return _all(request, pairs, plain)


def _affordable(request: Request, resolved: Resolved, chips: int) -> bool:
    """Whether so many chips are within the budgets, but for that on power."""
    use = use_of(resolved.cost, chips)
    given = {name: getattr(request, name) for name in BUDGETS if name != "max_power"}
    return all(use[name] <= most for name, most in given.items() if most is not None)


def _all(request: Request, pairs: list[tuple[Resolved, int]], plain: Plain) -> Enumerated:
    """The plans of pairs; where what is assumed to launch them runs none, whatever runs them.

    Those of the first pair that has plans, where all chips of one machine are asked for.
    """
    found = Enumerated(request)
    assumed = bool(pairs) and pairs[0][0].runners.assumed
    for launched in (True, False) if assumed else (True,):
        for resolved, chips in pairs:
            targets = resolved.runners.targets if launched else ()
            add_all(found, resolved.cost.on(chips), chips, targets, plain)
            if len(found.front) and _fewer_instead(request):
                return found
        if len(found.front):
            return found
    return found


def _fewer_instead(request: Request) -> bool:
    """Whether fewer chips are looked at only where more have no plan."""
    return request.keeps_to_chips and not request.chips_exact and kind_of(request) is Kind.UNIFORM

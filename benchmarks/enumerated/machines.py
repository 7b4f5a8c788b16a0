"""Every uniform plan on every number of chips of every machine that a question names."""

from __future__ import annotations

from enumerated.found import Enumerated
from enumerated.uniform import add_all
from planner.machine.variants import BUDGETS, choices_of, use_of
from planner.question.request import Request
from planner.question.resolved import Resolved, resolve

MOST_CHIPS = 64


def on_one_machine(request: Request) -> Enumerated:
    """The plans on the one machine of a question: as many chips as are asked for, or fewer."""
    resolved = resolve(request)
    counts = list(resolved.counts)
    if request.keeps_to_chips and not request.chips_exact:
        every = resolved.cost.cluster.chip_counts(resolved.chips)
        counts = [n for n in reversed(every) if n <= resolved.chips]
    return _first_with_plans(request, [(resolved, n) for n in counts])


def on_every_machine(request: Request) -> Enumerated:
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
    return _all(request, pairs)


def _affordable(request: Request, resolved: Resolved, chips: int) -> bool:
    """Whether so many chips are within the budgets, but for that on power."""
    use = use_of(resolved.cost, chips)
    given = {name: getattr(request, name) for name in BUDGETS if name != "max_power"}
    return all(use[name] <= most for name, most in given.items() if most is not None)


def _first_with_plans(request: Request, pairs: list[tuple[Resolved, int]]) -> Enumerated:
    """All pairs where a range was asked for, else the first that has a plan."""
    if not request.keeps_to_chips:
        return _all(request, pairs)
    found = Enumerated(request)
    for pair in pairs:
        more = _all(request, [pair])
        more.costed += found.costed
        found = more
        if len(found.front):
            break
    return found


def _all(request: Request, pairs: list[tuple[Resolved, int]]) -> Enumerated:
    """The plans of pairs; where what is assumed to launch them runs none, whatever runs them."""
    found = Enumerated(request)
    for resolved, chips in pairs:
        add_all(found, resolved.cost, chips, resolved.runners.targets)
    if not len(found.front) and pairs and pairs[0][0].runners.assumed:
        for resolved, chips in pairs:
            add_all(found, resolved.cost, chips, ())
    return found

"""The sections of the whole print of an answer, by the names that `--show` takes.

They stand here, away from the tables themselves, since help and the completion of words in shells
read them and must not wait for numpy. `planner.report.tables.sections` has what each prints.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown

ALL = "all"
_OF_A_PLAN = {
    "plan": "every choice and every cost of the plan",
    "energy": "energy and power by boundary and by part",
    "time": "the parts of the step time",
    "memory": "the parts of the memory of the fullest chip",
    "pools": "what the plan does on each pool of chips",
    "stages": "memory and passes of each pipeline stage",
    "collectives": "size, time and algorithm of each collective",
    "evidence": "what the intervals rest on",
}
SOLVE: Mapping[str, str] = {
    **_OF_A_PLAN,
    "proof": "why no plan is better, and what uneven stages gain",
    "ties": "the best 3 plans, and which of them tie",
    "notes": "what runs the plan, the risk that is taken, and what else must not be missed",
    "why": "what binds the plan, and the plans one step away",
    "run": "the whole training run",
    "front": "the Pareto front, as a table and a plot",
    "clocks": "what a clock for every operation saves (--clocks per-operation)",
    "machines": "what was searched of each machine",
    "candidates": "how many candidates each stage of the search dropped",
    "assumed": "what was assumed, and why",
    "leaning": "the numbers that the step time leans on",
}
"""Sections of `planner solve`, in the order of `--show all`, with what each holds."""
WITHOUT_PLAN = ("pools", "stages", "machines", "candidates", "assumed")
"""Those that do not come with every plan, or without one too."""
EVALUATE: Mapping[str, str] = {
    **_OF_A_PLAN,
    "clocks": SOLVE["clocks"],
    "run": SOLVE["run"],
    "assumed": SOLVE["assumed"],
    "launch": "settings of a launch that were not read, and what would beat it",
}
"""Sections of `planner evaluate`."""


def sections_in(text: str, sections: Mapping[str, str]) -> tuple[str, ...]:
    """The sections that a text names, in the order of the print.

    Args:
        text: Names with commas between them, or `all`.
        sections: Those that there are.

    Raises:
        InputError: It is no text, or a name is none of them.
    """
    if not isinstance(text, str):
        raise InputError(
            f"show: {shown(text)} is not text; names with commas between them, or {ALL}"
        )
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name != ALL and name not in sections:
            raise InputError(f"show: {not_one_of(name, (*sections, ALL))}")
    return tuple(name for name in sections if name in names or ALL in names)

"""Proven-optimal parallelism plans for training large models: time, memory and energy.

>>> import planner
>>> answer = planner.solve(model="llama2-13b", chips=4096)  # doctest: +SKIP
>>> answer.best.step_time_s  # doctest: +SKIP

Importing this package is cheap; numpy is loaded with the first question.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from planner.base.errors import InfeasibleError as InfeasibleError
from planner.base.errors import InputError as InputError
from planner.base.errors import PlannerError as PlannerError
from planner.base.errors import TimeLimitError as TimeLimitError
from planner.base.errors import UnfinishedError as UnfinishedError
from planner.base.offered import offer
from planner.base.printable import formatters_in
from planner.base.version import __version__ as __version__

if TYPE_CHECKING:
    from planner.answers.api import evaluate as evaluate
    from planner.answers.api import solve as solve
    from planner.answers.explained import compare as compare
    from planner.answers.explained import explain as explain
    from planner.answers.exported import export_file as export_file
    from planner.answers.fleet import fleet as fleet
    from planner.answers.run.outage import solve_down as solve_down
    from planner.answers.run.phases import solve_phases as solve_phases
    from planner.answers.sweeping import sweep as sweep
    from planner.answers.varying.vary import vary as vary
    from planner.collectives.questions.fronts import collective_front as collective_front
    from planner.plan import Plan as Plan
    from planner.plan import Stage as Stage
    from planner.search.sharing.session import Session as Session
    from planner.studies.feasibility.asking import feasible as feasible
    from planner.studies.ridgeline.asking import ridgelines as ridgelines
    from planner.studies.run.asking import goodput as goodput

__all__ = [
    "InfeasibleError",
    "InputError",
    "Plan",
    "PlannerError",
    "Session",
    "Stage",
    "TimeLimitError",
    "UnfinishedError",
    "__version__",
    "collective_front",
    "compare",
    "evaluate",
    "explain",
    "export_file",
    "feasible",
    "fleet",
    "goodput",
    "ridgelines",
    "solve",
    "solve_down",
    "solve_phases",
    "sweep",
    "vary",
]

formatters_in("planner.report.formatters")
offer("export", "planner.answers.exported:export_result")

_HOME = {
    "solve": "answers.api",
    "solve_down": "answers.run.outage",
    "solve_phases": "answers.run.phases",
    "sweep": "answers.sweeping",
    "vary": "answers.varying.vary",
    "evaluate": "answers.api",
    "explain": "answers.explained",
    "export_file": "answers.exported",
    "collective_front": "collectives.questions.fronts",
    "compare": "answers.explained",
    "fleet": "answers.fleet",
    "feasible": "studies.feasibility.asking",
    "goodput": "studies.run.asking",
    "ridgelines": "studies.ridgeline.asking",
    "Plan": "plan",
    "Session": "search.sharing.session",
    "Stage": "plan",
}


def __getattr__(name: str) -> Any:
    """Loads the heavy names when they are first used.

    What modules hold lives to the end of the process: looking for cycles among it after every 700
    new objects takes a twentieth of the time of loading.
    """
    if name not in _HOME:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  (heavy names load late)

    collects = gc.isenabled()
    gc.disable()
    try:
        return getattr(import_module(f"planner.{_HOME[name]}"), name)
    finally:
        if collects:
            gc.freeze()  # counts start anew: what was loaded waits, unfrozen, for a full collection
            gc.unfreeze()
            gc.enable()


def __dir__() -> list[str]:
    """Lists the names that load late as well, for tab completion."""
    return sorted({*globals(), *_HOME})

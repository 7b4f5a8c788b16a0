"""Proven-optimal parallelism plans for training large models: time, memory and energy.

>>> import planner
>>> answer = planner.solve(model="llama2-13b", chips=4096)  # doctest: +SKIP
>>> answer.best.step_time_s  # doctest: +SKIP

Importing this package is cheap; numpy is loaded with the first question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.errors import InfeasibleError as InfeasibleError
from planner.errors import InputError as InputError
from planner.errors import PlannerError as PlannerError
from planner.errors import TimeLimitError as TimeLimitError
from planner.version import __version__ as __version__

if TYPE_CHECKING:
    from planner.api import evaluate as evaluate
    from planner.api import solve as solve
    from planner.collectives.asking import collective_front as collective_front
    from planner.explaining import compare as compare
    from planner.explaining import explain as explain
    from planner.export_answer import export_file as export_file
    from planner.feasibility.asking import feasible as feasible
    from planner.plan import Plan as Plan
    from planner.plan import Stage as Stage
    from planner.ridgeline.asking import ridgelines as ridgelines

__all__ = [
    "InfeasibleError",
    "InputError",
    "Plan",
    "PlannerError",
    "Stage",
    "TimeLimitError",
    "__version__",
    "collective_front",
    "compare",
    "evaluate",
    "explain",
    "export_file",
    "feasible",
    "ridgelines",
    "solve",
]

_HOME = {
    "solve": "api",
    "evaluate": "api",
    "explain": "explaining",
    "export_file": "export_answer",
    "collective_front": "collectives.asking",
    "compare": "explaining",
    "feasible": "feasibility.asking",
    "ridgelines": "ridgeline.asking",
    "Plan": "plan",
    "Stage": "plan",
}


def __getattr__(name: str) -> Any:
    """Loads the heavy names when they are first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(f"planner.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    """Lists the names that load late as well, for tab completion."""
    return sorted({*globals(), *_HOME})

"""The answer of `planner.solve` where the stages of a pipeline may differ."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from planner.cost.evaluate import evaluate_table
from planner.evaluation import training_run
from planner.likely import against_first, spread_of
from planner.plan import PlanTable
from planner.provenance import sources_of
from planner.request import Request
from planner.resolved import Resolved
from planner.results import PlanResult, SolveResult, plan_results
from planner.search.engine import Found, Search
from planner.search.objective import optimum
from planner.search.uneven.certificate import best_time
from planner.search.uneven.found import UnevenFound
from planner.search.uneven.front import OnPoint, energy_front
from planner.solved import about_job, reasons, without_plan
from planner.stage_facts import plan_facts
from planner.uneven_request import FRONT_POINTS
from planner.units import plural
from solvers.solution import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class UnevenSearch:
    """A question about uneven pipelines, with the search of its uniform plans.

    Attributes:
        resolved: The job on its machine.
        search: Of plans whose stages are equal; it has run on the chips asked for.
        uniform: What that found.
        losses: What the cluster gives away at this number of chips.
        started: `time.perf_counter` value at which the work began.
    """

    resolved: Resolved
    search: Search
    uniform: Found
    losses: tuple[str, ...]
    started: float

    @property
    def request(self) -> Request:
        """The question."""
        return self.resolved.request

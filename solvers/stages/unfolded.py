"""Backend for several chunks per device: the chain of `solvers.stages.unfolding`, solved."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from solvers.solution import Solution
from solvers.stages.answers import answer
from solvers.stages.backend import Backend, Need, Question
from solvers.stages.labels import Labels
from solvers.stages.problem import Choice
from solvers.stages.unfolding import unfolded


class Unfolding:
    """Exact for time alone, with totals and crossings; polynomial for fixed chunks per device."""

    @property
    def name(self) -> str:
        """Its name in answers."""
        return "unfolding"

    @property
    def can(self) -> frozenset[Need]:
        """What it can do."""
        return frozenset({Need.CHUNKS, Need.TOTALS, Need.CROSSINGS, Need.COST})

    def solve(self, question: Question) -> Solution[Choice]:
        """The best choice with its bound.

        Raises:
            ValueError: There are too many states, or time is not what is minimized.
        """
        started = time.perf_counter()
        chain = unfolded(question.problem)
        if len(chain.columns) == 0:
            return answer(question, None, np.inf, started)
        left = question.seconds
        if left is not None:
            left = max(left - (time.perf_counter() - started), 0.0)
        inner: Backend = Labels()
        found = inner.solve(replace(question, problem=chain.problem, hint=None, seconds=left))
        chosen = None if found.decision is None else chain.columns[found.decision.columns]
        counts = {"arcs": len(chain.columns), **found.counts}
        return answer(question, chosen, found.bound, started, counts)

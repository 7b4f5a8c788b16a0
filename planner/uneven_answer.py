"""The answer of `planner.solve` where the stages of a pipeline may differ."""

from __future__ import annotations

from dataclasses import dataclass

from planner.request import Request
from planner.resolved import Resolved
from planner.search.engine import Found, Search


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

"""The searches of a job that tell what a freedom is worth, each done once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, isnan, nan
from typing import Any

from uneven_jobs import Asked, Timed, said, timed

from planner.plan.recomputations import ALL_CODES
from planner.question.options import SpaceOptions
from planner.search.driver import Driver
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status

MODULES_OF_LAYERS = {"recompute": ALL_CODES}


@dataclass(slots=True, kw_only=True)
class Once:
    """Searches that are done once each, and told with what they took.

    Attributes:
        done: Name to seconds of the fastest plan, and to what finding it took.
    """

    done: dict[str, tuple[float, Timed]] = field(default_factory=dict)

    def once(self, name: str, search: Callable[[], float]) -> float:
        """What a search finds: inf where nothing fits, nan where time ended before the proof."""
        if name not in self.done:
            self.done[name] = timed(search)
            seconds, spent = self.done[name]
            said(f"  {name}: {seconds:.6g} s, CPU {spent.cpu_s:.1f} s")
        return self.done[name][0]


@dataclass(slots=True)
class Searches(Once):
    """The searches of one job.

    Attributes:
        asked: The job.
    """

    asked: Asked

    @property
    def title(self) -> str:
        """Of the job."""
        return self.asked.job.title

    def uniform(self, **options: Any) -> float:
        """Of plans whose stages are alike, with other options of the space."""
        words = ", ".join(f"{name} {_listed(value)}" for name, value in options.items())
        changed = replace(self.asked.options, clocks=False, **options)
        return self.once(
            f"uniform {words}", lambda: uniform_s(replace(self.asked, options=changed))
        )

    def uneven(self) -> float:
        """Of plans whose stages may differ."""
        return self.once("uneven", lambda: uneven_s(self.asked))

    def today(self) -> float:
        """Of all that is searched without being asked for more."""
        return least(self.uniform(), self.uneven())


def _listed(value: Any) -> str:
    """An option in words; all recomputations as such."""
    return "any recomputation" if value == MODULES_OF_LAYERS else str(value)


def least(*seconds: float) -> float:
    """The least; nan where one is not proved."""
    return nan if any(map(isnan, seconds)) else min(seconds)


def uniform_s(asked: Asked) -> float:
    space = UniformSpace(model=asked.model, options=asked.options, limits=asked.limits)
    return float(Driver().run(space.on(asked.job.chips)).points[:, 0].min(initial=inf))


def uneven_s(asked: Asked, options: SpaceOptions | None = None, *, bound: bool = False) -> float:
    """Seconds of the best, nan where it is not proved; of a relaxation what none is below."""
    plain = replace(options or asked.options, clocks=False)
    known = replace(asked, options=plain).uniform()
    found = asked.fastest(known, plain)
    if bound and len(found.points):
        return float(found.bound[0])
    if found.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        return nan
    return float(found.points[:, 0].min(initial=inf))


@dataclass(frozen=True, slots=True, kw_only=True)
class Freedom:
    """A row.

    Attributes:
        name: What may differ.
        today: What the space holds.
        told: What can be told it.
        before, after: Seconds of the best plan without and with it.
        most: Whether `after` is a bound of what could be built.
    """

    name: str
    today: str
    told: str
    before: Callable[[Any], float]
    after: Callable[[Any], float]
    most: bool = False

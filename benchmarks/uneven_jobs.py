"""The searches of `uneven.py`: proofs of the least time, fronts, and what each freedom is worth."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from jobs import BenchmarkJob
from measuring import Cell

from planner.answers.evaluation import limits_of, options_of
from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.plan import RECOMPUTES, SHARDINGS, Plan
from planner.question.options import SpaceOptions
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.results.certificate import UnevenFound
from planner.search.driver import Driver, Found
from planner.search.limits import Limits
from planner.search.uneven.certificate import best_time
from planner.search.uneven.clocks import clock_front
from planner.search.uneven.front import energy_front
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status

Made = TypeVar("Made")
_AT = 1 + 1e-9  # a limit at a time keeps the plan that takes it
_SAME = 1e-9  # gains below are of rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A job with what is asked about it.

    Attributes:
        job: As the benchmark names it.
        model: Its cost model.
        options, limits: As `planner solve` has them without options.
        most_s: Seconds that one search may take.
    """

    job: BenchmarkJob
    model: CostModel
    options: SpaceOptions
    limits: Limits
    most_s: float

    @staticmethod
    def of(job: BenchmarkJob, most_s: float) -> Asked:
        """What `planner solve` reads of a job."""
        request = request_from(job.fields())
        return Asked(
            job=job,
            model=resolve(request).cost,
            options=options_of(request),
            limits=limits_of(request),
            most_s=most_s,
        )

    def uniform(self, limits: Limits | None = None) -> Found:
        """The front of uniform plans."""
        search = UniformSpace(model=self.model, options=self.options, limits=limits or self.limits)
        return Driver().run(search.on(self.job.chips))

    def fastest(self, known: Found, options: SpaceOptions | None = None) -> UnevenFound:
        """The fastest plan with its proof; `known` plans are of the space."""
        return best_time(
            self.model,
            options or self.options,
            self.limits,
            self.job.chips,
            uniform=known,
            deadline=time.perf_counter() + self.most_s,
        )

    def front(
        self,
        start: UnevenFound,
        known: Found,
        points: int,
        *,
        within_s: float | None = None,
    ) -> UnevenFound:
        """The front of time and energy; of one point the least energy within a time."""
        return energy_front(
            self.model,
            self.options,
            replace(self.limits, step_time_s=within_s),
            self.job.chips,
            start=start,
            uniform=known,
            points=points,
            deadline=time.perf_counter() + self.most_s,
        )


@dataclass(frozen=True, slots=True)
class Timed:
    """Wall and CPU seconds of some work, those of all its threads together."""

    wall_s: float
    cpu_s: float


def timed(work: Callable[[], Made]) -> tuple[Made, Timed]:
    """What some work makes, and what it takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = work()
    return made, Timed(time.perf_counter() - wall, time.process_time() - cpu)


def said(text: str) -> None:
    """Tells what is being done."""
    print(text, file=sys.stderr, flush=True)


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None


def gain(before: float, after: float) -> float:
    """How much less, in percent; 0 below what rounding hides, nan of infinite ones."""
    share = (before - after) / before
    return 0.0 if share <= _SAME else 100 * share


def proof_cells(asked: Asked) -> tuple[dict[str, Cell], dict[str, Cell]]:
    """One row of the table of proofs, and one of the table of what bounds drop."""
    known, first = timed(asked.uniform)
    found, second = timed(lambda: asked.fastest(known))
    name: dict[str, Cell] = {"job": asked.job.title}
    said(f"{asked.job.title}: {first.wall_s:.1f} + {second.wall_s:.1f} s")
    certificate = found.certificate
    if certificate.objective is None:
        raise SystemExit(f"error: {asked.job.title}: no plan")
    proof: dict[str, Cell] = {
        "uniform, CPU s": first.cpu_s,
        "uneven, CPU s": second.cpu_s,
        "wall s": first.wall_s + second.wall_s,
        "step, s": certificate.objective,
        "saved, %": gain(certificate.uniform or np.inf, certificate.objective),
        "proved": found.status is Status.OPTIMAL,
        "gap": f"{certificate.gap:.0e}",
        "plan": short_words(found.plans.plan(0)),
    }
    funnel: dict[str, Cell] = {
        "rows after LB0": _rows(found, "LB1"),
        "meshes": _meshes(found, "LB1"),
        "after LB1": _rows(found, "LB2"),
        "after LB2": _rows(found, "stages"),
        "their meshes": _meshes(found, "stages"),
        "solved": certificate.solved,
        "stage solves": certificate.stage_solves,
        "left": certificate.left,
    }
    return name | proof, name | funnel


def _rows(found: UnevenFound, name: str) -> int:
    return sum(step.rows for step in found.certificate.funnel if step.name == name)


def _meshes(found: UnevenFound, name: str) -> int:
    return sum(step.meshes for step in found.certificate.funnel if step.name == name)


def short_words(plan: Plan) -> str:
    """Mesh and schedule, and how many different stages there are."""
    axes = " ".join(f"{axis}{size}" for axis, size in plan.mesh.items() if size > 1)
    v = f" v{plan.interleave}" if plan.interleave > 1 else ""
    uneven = ", uneven" if plan.stages is not None else ""
    return f"{axes} mb{plan.micro_batch} {plan.schedule}{v}{uneven}"


def front_cells(asked: Asked, points: int) -> tuple[dict[str, Cell], list[dict[str, Cell]]]:
    """One row of the table of fronts, and the points of one."""
    known = asked.uniform()
    start, first = timed(lambda: asked.fastest(known))
    front, second = timed(lambda: asked.front(start, known, points))
    said(f"{asked.job.title}: front {second.wall_s:.1f} s")
    rows = [_point(point, known.points) for point in front.points]
    saved = [row["saved, %"] for row in rows]
    certificate = front.certificate
    cells: dict[str, Cell] = {
        "job": asked.job.title,
        "fastest, CPU s": first.cpu_s,
        "front, CPU s": second.cpu_s,
        "wall s": first.wall_s + second.wall_s,
        "limits": points,
        "points": len(front.plans),
        "proved": front.status is Status.OPTIMAL,
        "stage solves": certificate.stage_solves,
        "most saved, %": max(cell for cell in saved if isinstance(cell, float)),
        "least energy, MJ": float(front.points[:, 1].min()) / 1e6,
        "gap": f"{certificate.gap:.0e}",
    }
    return cells, rows


def _point(point: FloatArray, uniform: FloatArray) -> dict[str, Cell]:
    """A point beside the cheapest uniform plan that is as fast."""
    seconds, joules = (float(value) for value in point)
    before = cheapest(uniform, seconds)
    return {
        "step, s": f"{seconds:.4f}",
        "energy, MJ": f"{joules / 1e6:.4f}",
        "uniform, MJ": f"{before / 1e6:.4f}",
        "saved, %": gain(before, joules),
    }


def cheapest(points: FloatArray, within_s: float) -> float:
    """Least joules of the points within a time; inf without one."""
    return float(points[points[:, 0] <= within_s * _AT, 1].min(initial=np.inf))


def freedom_cells(asked: Asked) -> tuple[dict[str, Cell], list[dict[str, Cell]]]:
    """One row of what each freedom takes off the step time, and two of the energy."""
    known = asked.uniform()
    started = time.process_time()
    best, proved = known, True
    cells: dict[str, Cell] = {"job": asked.job.title, "uniform, s": _time_s(known)}
    for name, spaces in _spaces(asked.options).items():
        for options in spaces:
            found = asked.fastest(best, options)
            proved &= found.status is Status.OPTIMAL
            best = replace(known, plans=found.plans, points=found.points)
            last = found
        cells[f"{name}, %"] = gain(_time_s(known), _time_s(best))
    seconds = time.process_time() - started
    said(f"{asked.job.title}: freedoms {seconds:.1f} s")
    return cells | {"proved": proved, "CPU s": seconds}, list(_clock_cells(asked, known, last))


def _time_s(found: Found) -> float:
    return float(found.points[:, 0].min())


def _spaces(options: SpaceOptions) -> dict[str, list[SpaceOptions]]:
    """Spaces one inside the other, each as the union of several."""

    def fixed(**codes: int) -> SpaceOptions:
        return replace(options, fixed={name: frozenset({code}) for name, code in codes.items()})

    shardings, recomputes = range(len(SHARDINGS)), range(len(RECOMPUTES))
    return {
        "layers": [fixed(sharding=z, recompute=r) for r in recomputes for z in shardings],
        "+ recompute": [fixed(sharding=z) for z in shardings],
        "+ sharding": [options],
    }


def _clock_cells(asked: Asked, known: Found, best: UnevenFound) -> Iterator[dict[str, Cell]]:
    """The least energy within 1 and 1.05 times the least time, three ways."""
    plan = best.plans.plan(0)
    for slower in (1.0, 1.05):
        within_s = float(best.points[0, 0]) * slower * _AT
        uniform_j = cheapest(known.points, within_s)
        front, spent = timed(partial(asked.front, best, known, 1, within_s=within_s))
        joint_j = cheapest(front.points, within_s)
        clocked = clock_front(asked.model, plan, within_s)[1]
        then_j = cheapest(np.concatenate([best.points, clocked]), within_s)
        said(f"{asked.job.title}: clocks at {slower} {spent.wall_s:.1f} s")
        yield {
            "job": asked.job.title,
            "times": f"{slower:.2f}",
            "uniform, MJ": _finite(uniform_j / 1e6),
            "plan first, MJ": then_j / 1e6,
            "joint, MJ": joint_j / 1e6,
            "of uniform, %": _finite(gain(uniform_j, joint_j)),
            "of plan first, %": gain(then_j, joint_j),
            "proved": front.status is Status.OPTIMAL,
            "CPU s": spent.cpu_s,
        }

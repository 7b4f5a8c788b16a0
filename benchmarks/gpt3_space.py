"""GPT-3 175B on 4,096 A100-80GB, 4,096 sequences of 2,048 tokens: the whole space, proved.

Counts the candidates of the space (every mesh, choice, set of offloads, order of the axes and
clock that the rules allow), then finds the optimum and the exact front of time and energy as
`planner solve --offload --placement all --chips-exact` does, and reports CPU seconds, the best of
fresh searches. The plans of the front are evaluated directly first; unless time and energy are
equal bit for bit, nothing is timed and the exit status is 1.

With --exhaustive every candidate that fits in memory is costed, without any bound and with the
offloads that the search proves needless; unless both fronts are equal bit for bit, the exit status
is 1.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace

import measuring
import numpy as np
from jobs import GPT3_175B
from measuring import Cell, Report, Samples, Table

from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.frameworks.rules import offloads_allowed
from planner.objectives import ENERGY, MEMORY, TIME
from planner.plan import AXES, OFFLOADS, ORDERS
from planner.question.options import SpaceOptions
from planner.search.driver import Driver, Found
from planner.search.limits import Limits
from planner.search.uniform.batch import Tally, build_batch
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import PartialPlans, cross_choices, cross_partial_plans
from planner.search.uniform.tables import build_placements
from solvers.mesh import RunningFront
from solvers.solution import Status

# "Total executions" that calculon 0.1.0 (https://github.com/calculon-ai/calculon, commit
# caa4b11) counts in `llm-optimal-execution` with its models/gpt3-175B.json, 4,096 processors,
# batch 4,096, float16, systems/a100_80g.json and default flags; `peers.py` counts them again.
CALCULON_PLANS = 7_126_368
_CALCULON_NOTE = (
    f"calculon counts {CALCULON_PLANS:,} executions: neither clocks nor context parallelism, "
    "ZeRO-1 at most; but its choices of overlap and of a network per axis, which here follow from "
    "the framework and the placement, and weights and activations on the host in pipelines, which "
    "Megatron-Core refuses."
)
TARGET_S = 5.0
QUICK_CHIPS = 64
_PARTIAL_PLANS = 1024
_BOXES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Sizes of the space, before memory is looked at.

    Attributes:
        meshes, plans: Meshes; plans with neither offload, placement nor clock.
        offloaded: Plans times the sets of offloads that the rules allow.
        placed: Those times the distinct placements of their meshes.
        ordered: Those times all orders of the axes that exceed 1, equal networks counted apart.
        candidates: `placed` times clocks.
    """

    meshes: int
    plans: int
    offloaded: int
    placed: int
    ordered: int
    candidates: int


def parts(partial_plans: PartialPlans) -> list[PartialPlans]:
    """The partial plans in groups."""
    starts = range(0, len(partial_plans), _PARTIAL_PLANS)
    every = np.arange(len(partial_plans))
    return [partial_plans.take(every[start : start + _PARTIAL_PLANS]) for start in starts]


def counted(model: CostModel, chips: int, options: SpaceOptions, clocks: int) -> Counts:
    """Counts every candidate on exactly `chips` that the rules allow."""
    meshes = enumerate_meshes(model, (chips,), options)
    plans = offloaded = placed = ordered = 0
    for some in parts(cross_partial_plans(model, meshes, options)):
        space = cross_choices(model, some, options)
        placements = build_placements(model, some.meshes.columns, ORDERS).count[space.mesh_id]
        big = sum((some.meshes.columns[axis] > 1).astype(np.int64) for axis in AXES)
        orders = np.array([1, 1, 2, 6, 24, 120])[big][space.mesh_id]
        sets = np.zeros(len(space), dtype=np.int64)
        for mask in range(2 ** len(OFFLOADS)):
            moved = replace(space.plans, offload=np.full(len(space), mask))
            sets += offloads_allowed(model, moved).astype(np.int64)
        plans += len(space)
        offloaded += int(sets.sum())
        placed += int((sets * placements).sum())
        ordered += int((sets * orders).sum())
    return Counts(
        meshes=len(meshes),
        plans=plans,
        offloaded=offloaded,
        placed=placed,
        ordered=ordered,
        candidates=placed * clocks,
    )


def solved(model: CostModel, chips: int, options: SpaceOptions) -> tuple[UniformSpace, Found]:
    """A fresh search for the proved front on exactly `chips`."""
    search = UniformSpace(model=model, options=options, limits=Limits())
    return search, Driver().run(search.on(chips))


def reproduced(model: CostModel, found: Found) -> bool:
    """Whether direct evaluation gives the front's times and energies, to the last bit."""
    if len(found.points) == 0:
        return found.status is Status.INFEASIBLE
    cost = evaluate_totals(model, found.plans)
    again = np.stack([cost.step_time_s, cost.energy_j], axis=1)
    return np.array_equal(again, found.points)


def swept(
    model: CostModel, chips: int, options: SpaceOptions, clocks: FloatArray
) -> tuple[RunningFront, dict[str, int]]:
    """The front of every candidate that fits, and what was looked at; no bound is used."""
    meshes = enumerate_meshes(model, (chips,), options)
    front = RunningFront(2, 4)
    tally = Tally(plans={}, candidates={})
    evaluated = fitting = 0
    for number, some in enumerate(parts(cross_partial_plans(model, meshes, options))):
        # With memory as an objective no offload counts as needless, so that all are costed.
        batch = build_batch(
            model, some, options, Limits(), clocks, tally, columns=(TIME, ENERGY, MEMORY)
        )
        if batch is None:
            continue
        fitting += len(batch.space)
        every = np.arange(len(batch.space))
        for start in range(0, len(every), _BOXES):
            opened = batch.open(every[start : start + _BOXES], number)
            evaluated += len(opened.points)
            front.add(opened.points[:, :2], opened.labels)
    return front, {"plans that fit": fitting, "candidates costed": evaluated}


def compared(
    model: CostModel, chips: int, search: UniformSpace, found: Found, seconds: float
) -> tuple[Table, bool]:
    """Costs everything; says what that took and whether both fronts are equal."""
    results: list[tuple[RunningFront, dict[str, int]]] = []
    spent = measuring.cpu_seconds(
        lambda: results.append(swept(model, chips, search.options, search.clocks)), 1
    )
    front, counts = results[0]
    equal = bool(np.array_equal(front.points, found.points))
    row: dict[str, Cell] = {
        **counts,
        "CPU s": spent.best,
        "candidates per CPU-second": counts["candidates costed"] / spent.best,
        "over the search": spent.best / seconds,
        "fronts equal": equal,
    }
    return Table(title="Everything that fits, without bounds (--exhaustive)", rows=[row]), equal


def space_table(counts: Counts) -> Table:
    """The sizes of the space as a table."""
    sizes = {
        "meshes": counts.meshes,
        "plans: meshes with every choice": counts.plans,
        "plans x sets of offloads": counts.offloaded,
        "plans x offloads x distinct placements": counts.placed,
        "the same with all orders of the axes": counts.ordered,
        "plans x offloads x distinct placements x clocks": counts.candidates,
    }
    return Table(
        title="The space, before memory is looked at",
        rows=[
            {"what": name, "number": number, "over the size of calculon's": number / CALCULON_PLANS}
            for name, number in sizes.items()
        ],
    )


def search_table(found: Found, spent: Samples) -> Table:
    """What the search did and took."""
    point = found.points[0]
    return Table(
        title="The proved optimum and the exact front",
        rows=[
            {
                "status": found.status.value,
                "CPU s": spent.best,
                "plans opened": found.counts["plans"]["considered"],
                "candidates costed": found.counts["candidates"]["evaluated"],
                "front": len(found.points),
                "step time, s": float(point[0]),
                "energy, MJ": float(point[1]) / 1e6,
            }
        ],
    )


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--repeats", type=measuring.positive, default=5, help="searches [5]")
    parser.add_argument("--exhaustive", action="store_true", help="also cost everything (minutes)")
    options: argparse.Namespace = parser.parse_args()
    chips = QUICK_CHIPS if options.quick else GPT3_175B.chips
    job = replace(GPT3_175B, chips=chips)
    model = job.cost_model()
    space = SpaceOptions(offload=True, all_orders=True)
    search, found = solved(model, chips, space)
    measuring.require(reproduced(model, found), f"{job.title}: the front is not reproduced")
    spent = measuring.cpu_seconds(
        lambda: solved(model, chips, space), 1 if options.quick else options.repeats
    )
    peak = measuring.peak_bytes()
    counts = counted(model, chips, space, len(search.clocks))
    report = Report(name="gpt3_space", tables=[space_table(counts), search_table(found, spent)])
    report.facts = {"plan": str(found.plans.plan(0)), "peak bytes of the search": peak}
    report.notes = [f"Peak memory after the search: {peak / 1e6:,.0f} MB."]
    if not options.quick:
        verdict = "met" if spent.best < TARGET_S else "missed"
        report.notes.insert(0, f"Target {TARGET_S:g} CPU s: {verdict}.")
        report.notes.append(_CALCULON_NOTE)
    equal = True
    if options.exhaustive:
        table, equal = compared(model, chips, search, found, spent.best)
        report.tables.append(table)
    measuring.show(report, options)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())

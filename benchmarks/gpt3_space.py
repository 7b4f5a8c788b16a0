"""GPT-3 175B on 4,096 A100-80GB, 4,096 sequences of 2,048 tokens: the whole space, proved.

Counts the candidates of the space (every mesh, choice, set of offloads, order of the axes and
clock that the rules allow), then finds the optimum and the exact front of time and energy with
the search of `planner solve --offload --placement all --chips-exact` and reports CPU seconds.

With --exhaustive every candidate that fits in memory is costed, without any bound and with the
offloads that the search proves needless; both fronts must be equal, else the exit status is 1.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import measuring
import numpy as np
from jobs import GPT3_175B
from measuring import Report, Samples, Table

from planner.cost.context import CostModel
from planner.plan import AXES, NO_RECOMPUTE, ORDERS
from planner.search.batch import Tally, build_batch
from planner.search.engine import Found, Search
from planner.search.limits import Limits
from planner.search.meshes import enumerate_meshes
from planner.search.options import SpaceOptions
from planner.search.space import Skeletons, cross_choices, cross_skeletons
from planner.search.tables import build_placements
from solvers.mesh import RunningFront

# "Total executions" that calculon 0.1.0 (https://github.com/calculon-ai/calculon, commit
# caa4b11) counts in `llm-optimal-execution` with its models/gpt3-175B.json, 4,096 processors,
# batch 4,096, float16, systems/a100_80g.json and default flags; `vs_calculon.py` counts it again.
CALCULON_PLANS = 7_126_368
TARGET_S = 5.0
_OFFLOADS = {True: 8, False: 4}  # sets of {optimizer, weights, activations}; without recomputation
_SKELETONS = 1024
_BOXES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Sizes of the space, before memory is looked at.

    Attributes:
        meshes, plans: Meshes; plans with neither offload, placement nor clock.
        offloaded: Plans times sets of offloads.
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


def parts(skeletons: Skeletons) -> list[Skeletons]:
    """The skeletons in groups."""
    starts = range(0, len(skeletons), _SKELETONS)
    every = np.arange(len(skeletons))
    return [skeletons.take(every[start : start + _SKELETONS]) for start in starts]


def counted(model: CostModel, chips: int, options: SpaceOptions, clocks: int) -> Counts:
    """Counts every candidate on exactly `chips` that the rules allow."""
    meshes = enumerate_meshes(model, (chips,), options)
    plans = offloaded = placed = ordered = 0
    for some in parts(cross_skeletons(model, meshes, options)):
        space = cross_choices(model, some, options)
        placements = build_placements(model, some.meshes.columns, ORDERS).count[space.mesh_id]
        big = sum((some.meshes.columns[axis] > 1).astype(np.int64) for axis in AXES)
        orders = np.array([1, 1, 2, 6, 24, 120])[big][space.mesh_id]
        keeps_all = space.plans.recompute == NO_RECOMPUTE
        sets = np.where(keeps_all, _OFFLOADS[True], _OFFLOADS[False]).astype(np.int64)
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


def solved(model: CostModel, options: SpaceOptions, repeats: int) -> tuple[Search, Found, Samples]:
    """The proved front of the last of several fresh searches, and CPU seconds of each."""
    found: list[tuple[Search, Found]] = []

    def work() -> None:
        search = Search(model=model, options=options, limits=Limits())
        found.append((search, search.run((GPT3_175B.chips,))))

    spent = measuring.cpu_seconds(work, repeats)
    return (*found[-1], spent)


def swept(
    model: CostModel, options: SpaceOptions, clocks: np.ndarray
) -> tuple[RunningFront, dict[str, int]]:
    """The front of every candidate that fits, and what was looked at; no bound is used."""
    meshes = enumerate_meshes(model, (GPT3_175B.chips,), options)
    front = RunningFront(2, 4)
    tally = Tally(plans={}, candidates={})
    evaluated = fitting = 0
    for number, some in enumerate(parts(cross_skeletons(model, meshes, options))):
        # With memory as an objective no offload counts as needless, so that all are costed.
        batch = build_batch(model, some, options, Limits(), clocks, tally, with_memory=True)
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
    model: CostModel, search: Search, found: Found, seconds: float, report: Report
) -> bool:
    """Sweeps everything, adds it to the report, and says whether both fronts are equal."""
    swept_front: list[tuple[RunningFront, dict[str, int]]] = []
    spent = measuring.cpu_seconds(
        lambda: swept_front.append(swept(model, search.options, search.clocks)), 1
    )
    front, counts = swept_front[0]
    equal = bool(np.array_equal(front.points, found.points))
    report.tables.append(
        Table(
            title="Everything that fits, without bounds",
            rows=[
                {
                    **counts,
                    "CPU s": spent.best,
                    "candidates per CPU-second": counts["candidates costed"] / spent.best,
                    "over the search": spent.best / seconds,
                    "fronts equal": equal,
                }
            ],
        )
    )
    return equal


def space_table(counts: Counts) -> Table:
    """The sizes of the space as a table."""
    sizes = {
        "meshes": counts.meshes,
        "plans (mesh and choices)": counts.plans,
        "x sets of offloads": counts.offloaded,
        "x distinct placements": counts.placed,
        "x all orders instead": counts.ordered,
        "distinct placements x clocks": counts.candidates,
    }
    return Table(
        title="The space, before memory is looked at",
        rows=[
            {"what": name, "number": number, "over calculon's": number / CALCULON_PLANS}
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
                "first run, CPU s": spent.seconds[0],
                "median": spent.median,
                "best": spent.best,
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
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--repeats", type=measuring.positive, default=5, help="searches [5]")
    parser.add_argument("--exhaustive", action="store_true", help="also cost everything")
    options: argparse.Namespace = parser.parse_args()
    model = GPT3_175B.cost_model()
    space = SpaceOptions(offload=True, all_orders=True)
    search, found, spent = solved(model, space, options.repeats)
    counts = counted(model, GPT3_175B.chips, space, len(search.clocks))
    report = Report(name="gpt3_space")
    report.tables = [space_table(counts), search_table(found, spent)]
    equal = True
    if options.exhaustive:
        equal = compared(model, search, found, spent.median, report)
    report.facts = {"plan": str(found.plans.plan(0)), "peak bytes": measuring.peak_bytes()}
    report.notes = [
        f"Target {TARGET_S:g} CPU s: {'met' if spent.median < TARGET_S else 'missed'}.",
        f"Peak memory of this process: {measuring.peak_bytes() / 1e6:,.0f} MB.",
        f"calculon counts {CALCULON_PLANS:,} executions: no clocks and no context parallelism, "
        "ZeRO-1 at most, but its fused-activation, overlap and per-axis network choices, which "
        "here are properties of the framework and of the placement.",
    ]
    measuring.show(report, options)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())

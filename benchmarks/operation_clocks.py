"""Clocks per operation of ten plans: what they save, and the program against Lowtime's crawling.

    python benchmarks/operation_clocks.py
    python benchmarks/operation_clocks.py --lowtime
    python benchmarks/operation_clocks.py --write docs/uneven/operation-clocks.md
    python benchmarks/operation_clocks.py --lowtime --write docs/uneven/operation-clocks.md

The first table has, for each plan, the joules that a clock per operation saves beyond the best
clock per stage in the same time, by the time that a change of the clock takes, and at most (the
bound, without changes). The second asks Lowtime, the solver of Perseus (package lowtime 0.3.0), for
the same graphs, and for the pipeline that is invented in `engines.perseus`: its whole front in
steps of a two-hundredth of the fastest step, or finer where an operation needs it, where changes
take no time; every plan of it is evaluated on the true seconds and joules, and so are ours, rounded
from the linear program at each deadline. The CPU time is of its front and of our five deadlines.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import measuring
import numpy as np
import pages
from engines import perseus
from measuring import Cell, Report, Table

from planner.plan import Plan, Stage
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.results.operation_clocks import SHOWN_S
from planner.search.operations.clocks import clocks_per_operation
from planner.search.operations.graph import step_operations
from solvers.operations.graph import Operations, at_level, evaluated
from solvers.operations.program import solve
from solvers.operations.rounding import rounded

_DEADLINES = (1.0, 1.02, 1.05, 1.1, 1.2)
_STEPS = 200
"""Units of Lowtime in the fastest step."""
_LEAST = 8
"""Units at least between the fastest and the slowest level of an operation, for its fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A plan of a job."""

    name: str
    model: str
    hardware: str
    tokens: int
    plan: Plan

    def cost(self) -> Any:
        """The cost model of the job."""
        asked = {"model": self.model, "hardware": self.hardware, "chips": self.plan.chips}
        asked |= {"batch_tokens": self.tokens, "framework": "megatron"}
        return resolve(request_from(asked)).cost


def cases() -> list[Case]:
    """The ten plans."""
    big = Plan(dp=2, tp=8, pp=4, micro_batch=1, sharding="zero1")
    uneven = tuple(Stage(layers=layers) for layers in (17, 21, 21, 21))
    plans = {
        "1f1b": big,
        "gpipe": replace(big, schedule="gpipe"),
        "interleaved, 2 chunks": replace(big, schedule="interleaved", interleave=2),
        "zero-bubble": replace(big, schedule="zero-bubble"),
        "dualpipe": replace(big, schedule="dualpipe"),
        "1f1b, 17 + 3 x 21 layers": replace(big, stages=uneven),
    }
    h100 = "dgx-h100-ndr"
    some = [
        Case(name=name, model="llama3-70b", hardware=h100, tokens=2**17, plan=plan)
        for name, plan in plans.items()
    ]
    few = replace(big, dp=4, tp=1)
    some.append(Case(name="1f1b", model="llama3-8b", hardware=h100, tokens=2**18, plan=few))
    older = replace(big, dp=4, tp=2)
    some.append(
        Case(name="1f1b", model="llama2-13b", hardware="dgx-a100-80-hdr", tokens=2**18, plan=older)
    )
    deep = replace(big, dp=1, pp=8)
    some.append(Case(name="1f1b", model="gpt3-175b", hardware=h100, tokens=2**15, plan=deep))
    many = Case(name="1f1b", model="llama3-70b", hardware=h100, tokens=2**19, plan=big)
    return [*some, many]


def gains() -> Iterator[dict[str, Cell]]:
    """The first table, a row per plan."""
    for case in cases():
        found = clocks_per_operation(case.cost(), case.plan, 0.0)
        most = 1 - found.choices[0].bound_j / found.per_stage_j
        saved = {
            f"{1000 * seconds:g} ms": 100 * one.saved
            for seconds, one in zip(SHOWN_S, found.choices, strict=True)
        }
        yield {"model": case.model, "plan": case.name, "operations": found.operations, **saved,
               "at most": 100 * most}  # fmt: skip


def invented() -> Operations:
    """The graph of the pipeline of `engines.perseus`: four stages, eight micro-batches."""
    pipeline = perseus.invented(4, 8)
    nodes = list(itertools.chain(*perseus.orders(pipeline)))
    at = {node: i for i, node in enumerate(nodes)}
    pairs = [(at[a], at[b]) for a, b in perseus.edges(pipeline)]
    of = [(stage, int(not forward)) for stage, _, forward in nodes]
    return _sorted(
        np.array([pipeline.seconds[one] for one in of]),
        np.array([pipeline.joules[one] for one in of]),
        np.array(pairs, dtype=np.intp),
        0.0,
    )


def passes(case: Case) -> Operations:
    """The passes of a plan alone, without what messages hide behind: Lowtime knows no lags."""
    steps = step_operations(case.cost(), case.plan)
    graph = steps.graph
    kept = np.zeros(len(graph.seconds), dtype=np.bool_)
    kept[steps.of_pass] = True
    edges = np.stack([graph.before, graph.after], axis=1)
    number = np.cumsum(kept) - 1
    inside = edges[kept[edges].all(axis=1)]
    return _sorted(graph.seconds[kept], graph.cost[kept], number[inside], graph.per_second)


def _sorted(seconds: Any, cost: Any, pairs: Any, per_second: float) -> Operations:
    """A graph whose operations come after those that they wait for."""
    graphs = import_module("graphlib")
    sorter = graphs.TopologicalSorter({at: () for at in range(len(seconds))})
    for one, other in pairs.tolist():
        sorter.add(other, one)
    order = np.array(list(sorter.static_order()), dtype=np.intp)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Operations(
        seconds=seconds[order], cost=cost[order], group=np.arange(len(order)),
        before=place[pairs[:, 0]], after=place[pairs[:, 1]], lag=np.zeros(len(pairs)),
        per_second=per_second,
    )  # fmt: skip


def crawled(graph: Operations, unit_s: float) -> list[Any]:
    """Levels of every plan of Lowtime's front; it must be installed."""
    graphs, operation = import_module("networkx"), import_module("lowtime.operation")
    utilities = import_module("lowtime.graph_utils")
    made = graphs.DiGraph()
    for at in range(len(graph.seconds)):
        spec = perseus.operation_spec(graph.seconds[at], graph.cost[at], unit_s)
        made.add_node(at + 1, op=operation.Operation(spec=spec))
    made.add_edges_from(zip((graph.before + 1).tolist(), (graph.after + 1).tolist(), strict=True))
    last = len(graph.seconds) + 1
    utilities.add_source_node(made, 0)
    utilities.add_sink_node(made, last)
    made.graph |= {"source_node": 0, "sink_node": last}
    solver = import_module("lowtime.solver").PhillipsDessouky(made)
    found = [[made.nodes[at]["op"].assigned_knob for at in range(1, last)] for _ in solver.run()]
    return [evaluated(graph, at_level(graph, np.array(one))) for one in found]


def compared(name: str, graph: Operations) -> Iterator[dict[str, Cell]]:
    """The rows of a graph: joules of both at each deadline, the bound, and the ratio of times."""
    fastest = evaluated(graph, at_level(graph, np.zeros(graph.groups, dtype=np.intp))).end
    started = time.process_time()
    ranges = graph.seconds.max(axis=1) - graph.seconds.min(axis=1)
    theirs = crawled(graph, min(fastest / _STEPS, float(ranges.min()) / _LEAST))
    their_s, started = time.process_time() - started, time.process_time()
    ours = []
    for factor in _DEADLINES:
        mixed = solve(graph, factor * fastest)
        assert mixed is not None
        whole = rounded(graph, factor * fastest)
        assert whole is not None
        ours.append((whole, mixed))
    our_s = time.process_time() - started
    best = float("inf")
    for factor, (whole, mixed) in zip(_DEADLINES, ours, strict=True):
        within = [one.cost for one in theirs if one.end <= factor * fastest * (1 + 1e-9)]
        best = min(best, whole.cost)
        yield {
            "graph": name, "operations": len(graph.seconds), "deadline": factor,
            "Lowtime, J": min(within) if within else "-", "ours, J": best,
            "change, %": 100 * (best / min(within) - 1) if within else "-",
            "mixed, J": mixed.cost, "bound, J": mixed.bound, "CPU, theirs / ours": their_s / our_s,
        }  # fmt: skip


def against_lowtime() -> Iterator[dict[str, Cell]]:
    """The second table."""
    yield from compared("Perseus's, invented", invented())
    for case in cases():
        yield from compared(f"{case.model}, {case.name}", passes(case))


def table(name: str) -> list[Table]:
    """The table of a region."""
    title, rows = {
        "clocks-saved": ("Joules saved beyond the best clock per stage, by the time of a change, %",
                         gains),
        "clocks-lowtime": ("Joules at each deadline, in fastest steps", against_lowtime),
    }[name]  # fmt: skip
    return [Table(title=title, rows=[*rows()])]


def main() -> int:
    """Prints or writes the table that is asked for."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--lowtime", action="store_true", help="compare with the package lowtime")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="page that keeps them")
    options = parser.parse_args()
    name = "clocks-lowtime" if options.lowtime else "clocks-saved"
    if options.lowtime:
        measuring.require(find_spec("lowtime") is not None, "pip install lowtime")
    tables = pages.told([name], table, options.write)
    if options.write is None:
        measuring.show(Report(name="operation clocks", tables=tables), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())

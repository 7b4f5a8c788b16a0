"""How far schedules of collectives are found and proved, and in what time.

    python benchmarks/collectives.py --write docs/collectives/scaling.md

Takes two to four minutes. The page holds regions between `<!-- begin: NAME -->` and
`<!-- end: NAME -->`; each is replaced. Without --write the tables are printed. Every schedule is
replayed by the checker before it is timed in a table: nothing else leaves the synthesizer.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import measuring
import numpy as np
from measuring import Report, Table

from planner.base.files import write_atomically
from planner.collectives.machines.machine import Machine
from planner.collectives.machines.machines import LinkAsked, machine_of
from planner.collectives.questions.fronts import collective_front
from solvers.collectives.checking import faults
from solvers.collectives.cuts import cut_bound
from solvers.collectives.front import pareto
from solvers.collectives.hierarchy import grid_groups, in_phases
from solvers.collectives.packing import along_trees, packed_trees
from solvers.collectives.problem import Network, goal_of
from solvers.collectives.step_search import Effort
from solvers.collectives.synthesis import fewest_rounds, load_limit, question, synthesize

FRONTS = (
    ("dgx-1", "allgather", 1), ("dgx-1", "reduce-scatter", 1), ("dgx-1", "allreduce", 1),
    ("dgx-1", "gather", 1), ("dgx-1", "scatter", 1), ("dgx-1", "alltoall", 1),
    ("dgx-1", "broadcast", 1), ("ring:8", "allgather", 1), ("ring:8", "alltoall", 1),
    ("ring:8", "gather", 1), ("switch:16", "allgather", 6), ("torus:4x4", "allgather", 1),
    ("torus:4x4", "alltoall", 1), ("dgx-1:nodes=2", "allgather", 1),
)  # fmt: skip
"""Topology, collective, lanes per link."""
CELLS = tuple((chunks, steps) for steps in range(2, 8) for chunks in range(1, 7))
SYMMETRIC = (
    ("dgx-1", "allgather", 5, 3), ("dgx-1", "allgather", 6, 3),
    ("dgx-1:nodes=2", "allgather", 1, 4), ("torus:4x4", "allgather", 1, 4),
    ("torus:4x4", "allgather", 2, 4), ("torus:4x4", "alltoall", 1, 4),
)  # fmt: skip
SCALE = (
    ("dgx-1:nodes=2", "allgather", 1, 4), ("dgx-1:nodes=2", "allgather", 3, 4),
    ("dgx-1:nodes=2", "allgather", 5, 5), ("dgx-1:nodes=2", "allgather", 8, 6),
    ("dgx-1:nodes=2", "alltoall", 1, 4), ("dgx-1:nodes=4", "allgather", 1, 5),
    ("dgx-1:nodes=4", "allgather", 2, 5), ("dgx-1:nodes=4", "alltoall", 1, 5),
    ("torus:4x4x4", "allgather", 6, 6), ("torus:8x8", "allgather", 4, 8),
    ("torus:16x16", "allgather", 4, 16), ("torus:8x8x4", "allgather", 6, 10),
    ("torus:8x8x8", "allgather", 6, 12), ("torus:4x4x4", "alltoall", 1, 6),
    ("torus:8x8", "alltoall", 1, 8), ("torus:16x16", "alltoall", 1, 16),
    ("torus:8x8x4", "alltoall", 1, 10), ("torus:8x8x8", "alltoall", 1, 12),
    ("nvl72", "allgather", 18, 1),
    ("nvl72", "reduce-scatter", 18, 1), ("nvl72", "alltoall", 18, 1),
    ("leaf-spine:chips=16,leaf=4,spines=4", "allgather", 1, 2),
    ("leaf-spine:chips=16,leaf=4,spines=1", "allgather", 2, 2),
    ("leaf-spine:chips=64,leaf=8,spines=8", "allgather", 1, 2),
    ("mesh:4x4", "allgather", 2, 6), ("mesh:8x8", "allgather", 1, 14),
)  # fmt: skip
PHASES = (
    ("leaf-spine:chips=16,leaf=4,spines=4", (4, 4), (0, 1), 1),
    ("leaf-spine:chips=16,leaf=4,spines=1", (4, 4), (0, 1), 1),
    ("leaf-spine:chips=16,leaf=4,spines=1", (4, 4), (0, 1), 16),
    ("leaf-spine:chips=128,leaf=8,spines=8", (16, 8), (0, 1), 1),
    ("leaf-spine:chips=128,leaf=8,spines=2", (16, 8), (0, 1), 1),
    ("leaf-spine:chips=128,leaf=8,spines=2", (16, 8), (0, 1), 8),
    ("dgx-1:nodes=2", (2, 8), (0, 1), 1),
    ("dgx-1:nodes=4", (4, 8), (0, 1), 1),
)  # fmt: skip
"""Topology, grid of its chips, order of its dimensions, pieces of the buffer."""

TREES = (
    ("dgx-1:nodes=2", 16), ("dgx-1:nodes=4", 16), ("mesh:8x8", 16), ("torus:8x8", 16),
    ("random:24", 16), ("random:48", 16), ("random:96", 16),
)  # fmt: skip
"""Topology, or nodes of a random digraph without symmetries; pieces of the buffer."""

METHODS = (
    ("leaf-spine:chips=128,leaf=16,spines=4", "phases"), ("random:96", "trees"),
    ("dgx-1:nodes=8", "phases"), ("dgx-1:nodes=8", "trees"),
)  # fmt: skip
"""Topology, or nodes of a random digraph as a file; `--method` of `planner collective`."""

Row = dict[str, measuring.Cell]


@cache
def machine(topology: str, lanes: int = 1) -> Machine:
    """A machine by name."""
    return machine_of(topology, links=LinkAsked(lanes=None if lanes == 1 else lanes))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What is returned, and CPU seconds of this process."""
    started = time.process_time()
    return work(), time.process_time() - started


def front_row(topology: str, collective: str, lanes: int, limit_s: float) -> Row:
    """A whole front."""
    on = machine(topology, lanes)
    effort = Effort(time_limit_s=limit_s)
    front, seconds = timed(
        lambda: pareto(on.network, collective, symmetries=on.symmetries, effort=effort)
    )
    return {
        "network": topology if lanes == 1 else f"{topology}, {lanes} lanes",
        "collective": collective,
        "(C, S, R)": " ".join(f"({r.chunks},{r.steps},{r.rounds})" for r in front.rows),
        "least R/C of all": str(front.limit),
        "complete": front.complete
        or (f"to {front.complete_to} chunks" if front.complete_to else False),
        "CPU s": seconds,
    }


def cell_row(limit_s: float) -> Row:
    """All cells of the DGX-1's all-gather against the bound."""
    on = machine("dgx-1")
    asked = question(on.network, "allgather", symmetries=on.symmetries)
    found, seconds = timed(
        lambda: [fewest_rounds(asked, c, s, time_limit_s=limit_s) for c, s in CELLS]
    )
    return {
        "cells (C 1-6, S 2-7)": len(CELLS),
        "R proved least": sum(one.objective <= one.bound for one in found),
        "CPU s": seconds,
    }


def symmetric_row(topology: str, collective: str, chunks: int, steps: int, limit_s: float) -> Row:
    """The same question held to symmetries and not, in one run."""
    on = machine(topology)
    asked = question(on.network, collective, symmetries=on.symmetries)
    alone = replace(asked, group=(tuple(range(on.network.nodes)),))
    runs = [
        timed(lambda q=q: fewest_rounds(q, chunks, steps, time_limit_s=limit_s))  # type: ignore[misc]
        for q in (asked, alone)
    ]
    (held, fast), (free, slow) = runs
    return {
        "network": topology, "collective": collective, "C": chunks, "S": steps,
        "symmetries": len(asked.group), "R": int(held.objective), "R without": int(free.objective),
        "bound without": int(free.bound), "CPU s": fast, "CPU s without": slow,
        "ratio": slow / fast,
    }  # fmt: skip


def scale_row(topology: str, collective: str, chunks: int, steps: int, limit_s: float) -> Row:
    """One question on a large network."""
    on = machine(topology)
    found, seconds = timed(
        lambda: synthesize(
            on.network, collective, chunks, steps, symmetries=on.symmetries, time_limit_s=limit_s
        )
    )
    return {
        "network": topology, "chips": on.network.nodes, "collective": collective,
        "C": chunks, "S": steps, "R": int(found.objective), "bound": int(found.bound),
        "proved": found.objective <= found.bound,
        "by": ", ".join(found.counts) or "at once", "CPU s": seconds,
    }  # fmt: skip


def phase_row(
    topology: str, sizes: tuple[int, ...], order: tuple[int, ...], pieces: int, limit_s: float
) -> Row:
    """An all-gather in phases, against the cut of the whole network."""
    on = machine(topology)

    def made() -> Any:
        phases = []
        for axis in order:
            groups = grid_groups(sizes, axis)
            asked = question(on.network, "allgather", groups=groups, symmetries=on.symmetries)
            found = fewest_rounds(
                asked, 1, asked.least_steps, limit=load_limit(asked), time_limit_s=limit_s
            )
            assert found.decision is not None
            phases.append((axis, found.decision))
        return in_phases(on.network, sizes, phases, pieces)

    schedule, seconds = timed(made)
    assert not faults(schedule, on.network)
    cut = cut_bound(on.network, goal_of("allgather", on.network.nodes, 1)).load
    return {
        "network": topology, "pieces": pieces, "C": schedule.chunks, "S": schedule.steps,
        "R": schedule.total_rounds, "R/C": float(schedule.load), "cut": float(cut),
        "gap %": 100 * float(schedule.load / cut - 1), "CPU s": seconds,
    }  # fmt: skip


def random_network(nodes: int) -> Network:
    """A directed ring in random order and two further links per node of 1 to 3 lanes."""
    draw = np.random.default_rng(nodes)
    order = draw.permutation(nodes).tolist()
    lanes = dict.fromkeys(zip(order, order[1:] + order[:1], strict=True), 1)
    for u, v in draw.integers(0, nodes, (2 * nodes, 2)).tolist():
        if u != v:
            lanes[u, v] = int(draw.integers(1, 4))
    links = tuple(sorted(lanes))
    return Network(nodes=nodes, links=links, lanes=tuple(lanes[link] for link in links))


def tree_row(topology: str, pieces: int) -> Row:
    """Trees packed at the bottleneck cut, and a pipeline along them."""
    kind, _, nodes = topology.partition(":")
    network = random_network(int(nodes)) if kind == "random" else machine(topology).network
    cut, before = timed(lambda: cut_bound(network, goal_of("allgather", network.nodes, 1)).load)
    trees, seconds = timed(lambda: packed_trees(network, cut))
    schedule = along_trees(network, trees, pieces)
    assert not faults(schedule, network)
    return {
        "network": topology, "chips": network.nodes, "cut = R/C of the trees": str(cut),
        "kinds of trees": len(trees), "pieces": pieces, "C": schedule.chunks,
        "S": schedule.steps, "R": schedule.total_rounds,
        "gap %": 100 * float(schedule.load / cut - 1), "CPU s": before + seconds,
    }  # fmt: skip


def method_row(topology: str, method: str, limit_s: float) -> Row:
    """What `planner collective synthesize --method` answers: the row with the least R / C."""
    with tempfile.TemporaryDirectory() as folder:
        fields: dict[str, Any] = {"topology": topology}
        if topology.startswith("random:"):
            fields = {"graph": graph_file(int(topology.partition(":")[2]), Path(folder))}
        found, seconds = timed(
            lambda: collective_front(**fields, method=method, time_limit=limit_s)
        )
    first, last = found.rows[0], found.rows[-1]
    cells = [f"({row.chunks},{row.steps},{row.rounds})" for row in (first, last)]
    return {
        "network": topology, "chips": found.machine.network.nodes, "method": method,
        "rows": len(found.rows), "fewest steps": cells[0],
        "above the bound %": 100 * float(first.load / first.load_bound - 1),
        "least R/C": cells[1],
        "above the bound % of it": 100 * float(last.load / last.load_bound - 1),
        "CPU s": seconds,
    }  # fmt: skip


def graph_file(nodes: int, folder: Path) -> Path:
    """The random network as a file that users could have written."""
    network = random_network(nodes)
    data = {
        "directed": True, "multigraph": False, "graph": {"name": f"random-{nodes}"},
        "nodes": [{"id": f"c{node}"} for node in range(nodes)],
        "links": [
            {"source": f"c{u}", "target": f"c{v}", "bandwidth_bytes_per_s": 25e9 * lanes}
            for (u, v), lanes in zip(network.links, network.lanes, strict=True)
        ],
    }  # fmt: skip
    path = folder / "random.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def tables(names: Sequence[str], limit_s: float, *, quick: bool) -> dict[str, Table]:
    """The tables asked for, by name."""
    few = 2 if quick else None
    made: dict[str, Callable[[], Table]] = {
        "fronts": lambda: Table(
            title="Whole fronts",
            rows=[front_row(*one, limit_s) for one in FRONTS[:few]],
        ),
        "cells": lambda: Table(title="All cells of the DGX-1", rows=[cell_row(limit_s)]),
        "symmetry": lambda: Table(
            title="With and without symmetries",
            rows=[symmetric_row(*one, limit_s) for one in SYMMETRIC[:few]],
        ),
        "scale": lambda: Table(
            title="Large networks", rows=[scale_row(*one, limit_s) for one in SCALE[:few]]
        ),
        "phases": lambda: Table(
            title="In phases", rows=[phase_row(*one, limit_s) for one in PHASES[:few]]
        ),
        "trees": lambda: Table(title="Packed trees", rows=[tree_row(*one) for one in TREES[:few]]),
        "methods": lambda: Table(
            title="By the command", rows=[method_row(*one, limit_s) for one in METHODS[:few]]
        ),
    }
    found = {}
    for name in names:
        print(f"{name} ...", file=sys.stderr)
        found[name] = made[name]()
    return found


def rewritten(page: str, found: dict[str, str]) -> str:
    """A page with the regions of tables replaced.

    Raises:
        SystemExit: A region is missing.
    """
    for name, text in found.items():
        begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
        before, opening, rest = page.partition(begin)
        _, closing, after = rest.partition(end)
        if not opening or not closing:
            raise SystemExit(f"error: the page needs {begin} and {end}")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


NAMES = ("fronts", "cells", "symmetry", "scale", "phases", "trees", "methods")


def main() -> int:
    """Runs the tables, prints or writes them."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="page to rewrite")
    parser.add_argument("--only", default=",".join(NAMES), help="tables, e.g. scale,phases")
    parser.add_argument("--limit", type=float, default=30.0, help="wall seconds per question")
    options = parser.parse_args()
    front_row("ring:8", "allgather", 1, options.limit)  # Libraries are loaded once, untimed.
    found = tables(options.only.split(","), options.limit, quick=options.quick)
    if options.write is None:
        measuring.show(Report(name="collectives", tables=list(found.values())), options)
        return 0
    texts = {
        name: measuring.as_markdown(Report(name=name, tables=[table]))
        for name, table in found.items()
    }
    here = measuring.machine()
    texts["machine"] = (
        f"Measured on {here['processor']}, {here['cores']} cores, one thread; python "
        f"{here['python']}; at most {options.limit:g} wall seconds per question. CPU seconds of "
        "the process, bounds and the check of the schedule included."
    )
    page = options.write.read_text(encoding="utf-8")
    write_atomically(options.write, rewritten(page, texts))
    return 0


if __name__ == "__main__":
    sys.exit(main())

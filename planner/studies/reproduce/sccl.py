"""CSC290 Final report on simulating SCCL's collectives (document 004), and SCCL's own schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from hardware_db import load_cluster
from planner.base.units import show_bytes, show_seconds
from planner.collectives.machines.machines import machine_of
from planner.collectives.questions.answers import row_name
from planner.collectives.questions.comparison import CompareAnswer, compare
from planner.collectives.questions.question import Question, question_of
from planner.collectives.questions.shipped import MACHINES, Shipped, shipped_fronts, verified
from planner.collectives.questions.simulation import changes_of, simulated
from planner.collectives.questions.table import CollectiveTable, collective_table
from planner.collectives.runs.simulate import formula_s, simulate
from planner.studies.reproduce.documents import Value
from planner.studies.reproduce.found import Found, Rows, Shown

SETTING = {"bandwidth": "26.8435456GB/s", "latency": "1us"}
"""The document's: 200 Gib/s per link, and about one microsecond."""
_LARGEST = 64e6
_NEIGHBOURS = 2
"""Of a node on a ring."""
_SIZES = tuple(1e3 * 2**at for at in range(17))


@lru_cache(maxsize=1)
def _question() -> Question:
    """An all-gather on a DGX-1 with the document's links."""
    return question_of({"topology": "dgx-1", "collective": "allgather", **SETTING})


@lru_cache(maxsize=1)
def _compared() -> CompareAnswer:
    """Its front over sizes, beside a ring."""
    return compare(_question(), _SIZES, mode="synchronous")


def wiring() -> Found:
    """The links of a DGX-1."""
    nvlink = load_cluster("dgx1-v100").levels[0]
    network = machine_of("dgx-1").network
    lanes = dict(zip(network.links, network.lanes, strict=True))
    each = Counter(source for (source, _), count in lanes.items() for _ in range(count))
    narrow, wide = ([pair for pair, count in lanes.items() if count == width] for width in (1, 2))
    return Found(
        values={
            "chips": network.nodes,
            "links": nvlink.links,
            "rate": nvlink.link_bandwidth_bytes_per_s,
            "each": bool(set(each.values()) == {nvlink.links}),
            "double": _is_ring(wide, network.nodes),
            "single": _is_ring(narrow, network.nodes),
        }
    )


def _is_ring(links: Sequence[tuple[int, int]], nodes: int) -> bool:
    """Whether links, each way, form one ring through all nodes."""
    beside = {node: [end for start, end in links if start == node] for node in range(nodes)}
    if set(map(len, beside.values())) != {_NEIGHBOURS}:
        return False
    before, here, passed = 0, beside[0][0], 1
    while here != 0:
        before, here = here, next(end for end in beside[here] if end != before)
        passed += 1
    return passed == nodes


def allgather() -> Found:
    """Figure 3: the all-gather over sizes, at the document's bandwidth and latency."""
    compared, machine = _compared(), _question().machine
    rows = compared.found.rows
    schedule = rows[-1].schedule
    run_s = simulate(schedule, machine, _LARGEST).finish_s
    by_formula = float(formula_s(schedule, machine, np.array([_LARGEST]))[0])
    small = compared.found.rows[0].schedule
    small_s = float(formula_s(small, machine, np.array([1e3]))[0])
    header = ("size", *(row_name(row.schedule) for row in rows))
    at = [0, 4, 8, 12, 16]
    table = tuple(
        (
            show_bytes(_SIZES[k]),
            *(show_seconds(compared.times_s[row, k]) for row in range(len(rows))),
        )
        for k in at
    )
    return Found(
        values={
            "largest": _LARGEST,
            "formula": bool(np.isclose(run_s, by_formula, rtol=1e-9)),
            "latency": bool(small.steps * float(machine.latency_s[0]) > 0.5 * small_s),
            "sends": max(Counter(send.step for send in schedule.sends).values()),
        },
        tables=(Rows(title="Time at 200 Gib/s and 1 us", header=header, rows=table),),
        pictured=(Shown(answer=compared.curves, labels=("Figure 3", "Figure 3")),),
    )


def unequal_links() -> Found:
    """One pair of NVLinks at a quarter of its speed: 64 MB."""
    question = question_of({"topology": "dgx-1", "collective": "allgather"})
    changes = changes_of(question.machine, ["0-2=0.25"], [])
    changed = simulated(question, [_LARGEST], changes=changes).changed
    assert changed is not None
    return Found(
        values={
            "oblivious": float(changed.row("oblivious").over_healthy[0]),
            "again": float(changed.row("re-synthesized").over_healthy[0]),
        }
    )


def fronts() -> Found:
    """The shipped fronts, read, replayed, and their exact bounds derived anew, or an error."""
    shipped = [one for machine in MACHINES for one in shipped_fronts(machine)]
    for one in shipped:
        verified(one)
    rows = tuple(_row(one) for one in shipped)
    return Found(values={"hold": True, **_proofs(shipped)}, tables=(_listed(rows),))


def fronts_anew() -> Found:
    """The same fronts synthesized anew, and compared with the shipped ones."""
    shipped = [one for machine in MACHINES for one in shipped_fronts(machine)]
    triples = {
        (machine, one.question.collective): {
            (row.chunks, row.steps, row.rounds) for row in one.rows
        }
        for machine in MACHINES
        for one in collective_table(machine).fronts
    }
    same = [one for one in shipped if one.triple in triples[one.machine, one.collective]]
    rows = tuple(_row(one) for one in same)
    held = len(same) == len(shipped)
    return Found(values={"hold": held, **_proofs(same)}, tables=(_listed(rows),))


def _proofs(rows: list[Shipped]) -> dict[str, Value]:
    """Whether each is proved, and whether the others are all-reduces alone."""
    left = {one.collective for one in rows if one.proof is None}
    return {"proved": not left, "others": left <= {"allreduce"}}


def _row(one: Shipped) -> tuple[str, ...]:
    numbers = map(str, (*one.triple, one.rounds_at_least))
    return (one.machine, one.collective, *numbers, one.proof or "not proved")


def _listed(rows: tuple[tuple[str, ...], ...]) -> Rows:
    header = ("machine", "collective", "C", "S", "R", "R at least", "proof")
    return Rows(title="Schedules", header=header, rows=rows)


def published() -> Found:
    """The published schedules for the DGX-1 that could be traced, beside our fronts."""
    table: CollectiveTable = collective_table("dgx-1")
    fronts = {one.question.collective: one for one in table.fronts}
    gathered = fronts["allgather"]
    return Found(
        values={
            **_verdicts(table),
            "least": gathered.front.least_steps,
            "limit": float(gathered.front.limit),
            "points": len(gathered.rows),
            "gather": float(fronts["gather"].front.limit),
        },
        tables=(_beside(table),),
    )


def published_z52() -> Found:
    """Those for SCCL's AMD machine."""
    table: CollectiveTable = collective_table("gigabyte-z52")
    gathered = next(one for one in table.fronts if one.question.collective == "allgather")
    return Found(
        values={
            **_verdicts(table),
            "least": gathered.front.least_steps,
            "limit": float(gathered.front.limit),
        },
        tables=(_beside(table),),
    )


def _verdicts(table: CollectiveTable) -> dict[str, Value]:
    """How many published rows there are, and whether our fronts are as good as each."""
    return {
        "rows": len(table.published),
        "all": all(one.verdict != "missing" for one in table.published),
    }


def _beside(table: CollectiveTable) -> Rows:
    rows = tuple(
        (one.collective, str((one.chunks, one.steps, one.rounds)), one.verdict, str(one.by))
        for one in table.published
    )
    header = ("collective", "published (C, S, R)", "here", "at least as good")
    return Rows(title="Published schedules", header=header, rows=rows)


RUNS: Mapping[str, Callable[[], Found]] = {
    "wiring": wiring,
    "fig3": allgather,
    "unequal-links": unequal_links,
    "published": published,
    "published-z52": published_z52,
    "fronts": fronts,
}
ANEW: Mapping[str, Callable[[], Found]] = {"fronts": fronts_anew}
"""What `--resynthesize` runs in place of those of `RUNS`."""

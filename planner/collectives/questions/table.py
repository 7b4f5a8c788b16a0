"""The fronts of all collectives of a machine as one table, beside what others published.

SCCL counts the chunks of what a node holds: of an all-to-all n times those that one member sends
to one other; of the others they are ours (Cai et al., Synthesizing Optimal Collective Algorithms,
PPoPP 2021, section 3, relations `Scattered` and `Transpose`).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib import resources
from typing import Any

from frozen_records import dataclass
from planner.base.progress import NotedProgress
from planner.collectives.machines.large import Composed, worth_having
from planner.collectives.machines.machine import Machine
from planner.collectives.questions.answers import FrontAnswer, exactly
from planner.collectives.questions.fronts import answer
from planner.collectives.questions.question import TIME_LIMIT_S, Question, question_of
from solvers.collectives.problem import COLLECTIVES
from solvers.collectives.rows import Row

HAD, BEATEN, MISSING = "had", "beaten", "missing"
_FILE = "published.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A schedule that others published, and whether the front is as good.

    Attributes:
        collective, chunks, steps, rounds: Which.
        chunks_sccl: C as SCCL counts it.
        optimal: What its source calls it: `latency`, `bandwidth`, `both`; empty: none of them.
        source: Where it is published.
        verdict: `had`: the same is on the front; `beaten`: one with no more steps and no more
            rounds per chunk is; `missing`: neither.
        by: Chunks, steps and rounds of that one.
    """

    collective: str
    chunks: int
    chunks_sccl: int
    steps: int
    rounds: int
    optimal: str
    source: str
    verdict: str
    by: tuple[int, int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CollectiveTable:
    """The front of each collective.

    Attributes:
        machine: Where.
        fronts: One answer per collective, with published schedules that a front left untried.
        published: What others have.
    """

    machine: Machine
    fronts: tuple[FrontAnswer, ...]
    published: tuple[Published, ...]

    def to_fields(self) -> dict[str, Any]:
        """JSON-ready, without the versions."""
        return {
            "machine": self.machine.label,
            "rows": [
                {
                    "collective": one.question.collective,
                    "chunks": row.chunks,
                    "chunks_sccl": sccl_chunks(one, row.chunks),
                    "steps": row.steps,
                    "rounds": row.rounds,
                    **exactly(row.load),
                    "optimal": optimal_in(one, row),
                    "proved": row.proved,
                    "rounds_at_least": row.lower_bound,
                }
                for one in self.fronts
                for row in one.rows
            ],
            "complete": [one.question.collective for one in self.fronts if one.front.complete],
            "published": [
                {name: getattr(row, name) for name in row.__slots__} for row in self.published
            ],
        }


def collective_table(
    topology: str, *, time_limit: str | None = None, on_progress: NotedProgress | None = None
) -> CollectiveTable:
    """The fronts of all collectives of a machine.

    Args:
        topology: Its name, as that of `planner collective synthesize`.
        time_limit: When the search for each front ends.
        on_progress: Called with (what, done, of) and where the search stands.

    Raises:
        InputError: There is no such machine, or the limit is none.
    """
    limit = time_limit or TIME_LIMIT_S
    asked = [
        question_of({"topology": topology, "collective": name, "time_limit": limit})
        for name in COLLECTIVES
    ]
    machine = asked[0].machine
    listed = _listed(machine.label)
    fronts = tuple(_front(question, listed, on_progress) for question in asked)
    return CollectiveTable(
        machine=machine, fronts=fronts, published=published_beside(machine.label, fronts)
    )


def _front(
    question: Question, listed: tuple[_Listed, ...], on_progress: NotedProgress | None
) -> FrontAnswer:
    """A front, and beyond the steps that it tried the published ones that it does not reach.

    Those are made anew, with as many chunks and steps, and kept where they are worth having.
    """
    found = answer(question, on_progress)
    for one in listed:
        if one.collective != question.collective or _as_good(one, found.rows) is not None:
            continue
        again = answer(replace(question, chunks=one.chunks, steps=one.steps), on_progress)
        rows = [*zip(found.row_methods, found.rows, strict=True),
                *zip(again.row_methods, again.rows, strict=True)]  # fmt: skip
        kept = worth_having([Composed(method=method, row=row) for method, row in rows])
        front = replace(found.front, rows=tuple(each.row for each in kept))
        found = replace(found, front=front, methods=tuple(each.method for each in kept))
    return found


def sccl_chunks(found: FrontAnswer, chunks: int) -> int:
    """C as SCCL counts it."""
    each = found.machine.network.nodes if found.question.collective == "alltoall" else 1
    return chunks * each


def optimal_in(found: FrontAnswer, row: Row) -> str:
    """`latency`, `bandwidth`, `both`, or `neither`: a point of the front between them."""
    latency = row is found.rows[0] and row.steps == found.front.least_steps
    bandwidth = row.load == found.front.limit
    if latency and bandwidth:
        return "both"
    return "latency" if latency else "bandwidth" if bandwidth else "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """A row of the file of published schedules; see `Published`."""

    collective: str
    chunks: int
    steps: int
    rounds: int
    optimal: str
    source: str

    @property
    def triple(self) -> tuple[int, int, int]:
        """(C, S, R)."""
        return self.chunks, self.steps, self.rounds


def _listed(label: str) -> tuple[_Listed, ...]:
    """What others published for a machine."""
    file = resources.files("planner.collectives.tables").joinpath("data", _FILE)
    from strict_yaml.cache import load_shipped  # noqa: PLC0415  (start-up: only for tables)

    entries: list[dict[str, Any]] = load_shipped(file.read_bytes(), "planner/published")
    return tuple(
        _Listed(
            collective=collective, chunks=row[0], steps=row[1], rounds=row[2],
            optimal=row[3] if len(row) > 3 else "", source=entry["source"],
        )
        for entry in entries
        if entry["machine"] == label
        for table in entry["tables"]
        for collective in table["collectives"]
        for row in table["rows"]
    )  # fmt: skip


def published_beside(label: str, fronts: tuple[FrontAnswer, ...]) -> tuple[Published, ...]:
    """What others published for a machine, beside our fronts."""
    found = {one.question.collective: one for one in fronts}
    return tuple(_judged(one, found[one.collective]) for one in _listed(label))


def _as_good(one: _Listed, rows: tuple[Row, ...]) -> Row | None:
    """The row with the least R / C that has no more steps and no more rounds per chunk."""
    load = Fraction(one.rounds, one.chunks)
    found = [row for row in rows if row.steps <= one.steps and row.load <= load]
    return min(found, key=lambda row: (row.load, row.steps), default=None)


def _judged(one: _Listed, found: FrontAnswer) -> Published:
    best = _as_good(one, found.rows)
    same = any((row.chunks, row.steps, row.rounds) == one.triple for row in found.rows)
    return Published(
        collective=one.collective, chunks=one.chunks, steps=one.steps, rounds=one.rounds,
        chunks_sccl=sccl_chunks(found, one.chunks), optimal=one.optimal, source=one.source,
        verdict=HAD if same else BEATEN if best is not None else MISSING,
        by=None if best is None else (best.chunks, best.steps, best.rounds),
    )  # fmt: skip

"""The fronts of all collectives of a machine as one table, beside what others published.

SCCL counts the chunks of what a node holds: of an all-to-all n times those that one member sends
to one other; of the others they are ours (Cai et al., Synthesizing Optimal Collective Algorithms,
PPoPP 2021, section 3, relations `Scattered` and `Transpose`).
"""

from __future__ import annotations

from fractions import Fraction
from importlib import resources
from typing import Any

from frozen_records import dataclass
from planner.base.progress import NotedProgress
from planner.collectives.machines.machine import Machine
from planner.collectives.questions.answers import FrontAnswer, exactly
from planner.collectives.questions.fronts import answer
from planner.collectives.questions.question import TIME_LIMIT_S, question_of
from solvers.collectives.problem import COLLECTIVES
from solvers.collectives.rows import Row

HAD, BEATEN, MISSING = "had", "beaten", "missing"
_FILE = "published.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A schedule that others published, and whether the front is as good.

    Attributes:
        collective, chunks, steps, rounds: Which.
        source: Where it is published.
        verdict: `had`: the same is on the front; `beaten`: one with no more steps and no more
            rounds per chunk is; `missing`: neither.
        by: Chunks, steps and rounds of that one.
    """

    collective: str
    chunks: int
    steps: int
    rounds: int
    source: str
    verdict: str
    by: tuple[int, int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CollectiveTable:
    """The front of each collective.

    Attributes:
        machine: Where.
        fronts: One answer per collective.
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
                    "chunks_sccl": sccl_chunks(one, row),
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
    fronts = tuple(
        answer(
            question_of({"topology": topology, "collective": name, "time_limit": limit}),
            on_progress,
        )
        for name in COLLECTIVES
    )
    machine = fronts[0].machine
    return CollectiveTable(
        machine=machine, fronts=fronts, published=published_beside(machine.label, fronts)
    )


def sccl_chunks(found: FrontAnswer, row: Row) -> int:
    """C as SCCL counts it."""
    each = found.machine.network.nodes if found.question.collective == "alltoall" else 1
    return row.chunks * each


def optimal_in(found: FrontAnswer, row: Row) -> str:
    """`latency`, `bandwidth`, `both`, or `neither`: a point of the front between them."""
    latency = row is found.rows[0] and row.steps == found.front.least_steps
    bandwidth = row.load == found.front.limit
    if latency and bandwidth:
        return "both"
    return "latency" if latency else "bandwidth" if bandwidth else "neither"


def published_beside(label: str, fronts: tuple[FrontAnswer, ...]) -> tuple[Published, ...]:
    """What others published for a machine, beside our fronts."""
    file = resources.files("planner.collectives.tables").joinpath("data", _FILE)
    from strict_yaml.cache import load_shipped  # noqa: PLC0415  (start-up: only for tables)

    entries: list[dict[str, Any]] = load_shipped(file.read_bytes(), "planner/published")
    rows = {one.question.collective: one.rows for one in fronts}
    return tuple(
        _judged(entry["collective"], triple, entry["source"], rows[entry["collective"]])
        for entry in entries
        if entry["machine"] == label
        for triple in entry["rows"]
    )


def _judged(collective: str, triple: list[int], source: str, rows: tuple[Row, ...]) -> Published:
    chunks, steps, rounds = triple
    load = Fraction(rounds, chunks)
    found = [row for row in rows if row.steps <= steps and row.load <= load]
    best = min(found, key=lambda row: (row.load, row.steps), default=None)
    same = any((row.chunks, row.steps, row.rounds) == tuple(triple) for row in rows)
    return Published(
        collective=collective, chunks=chunks, steps=steps, rounds=rounds, source=source,
        verdict=HAD if same else BEATEN if best is not None else MISSING,
        by=None if best is None else (best.chunks, best.steps, best.rounds),
    )  # fmt: skip

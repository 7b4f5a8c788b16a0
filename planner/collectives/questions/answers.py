"""What is answered about collectives, as data."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import Any

from frozen_records import dataclass
from planner.base.units import plain
from planner.collectives.machines.machine import Machine
from planner.collectives.questions.question import Question, size_words
from solvers.collectives.candidates import LONGEST_FRACTION
from solvers.collectives.cuts import Cut
from solvers.collectives.rows import Front, Row
from solvers.collectives.schedule import Schedule

SYNTHESIZED = "synthesized"
IN_TURN = "reduce-scatter, then allgather"
LOCAL = "gathered, then added up locally"


def made(schedule: Schedule) -> str:
    """How a schedule came about."""
    if schedule.local_reduce:
        return LOCAL
    return IN_TURN if schedule.collective == "allreduce" else SYNTHESIZED


def row_name(schedule: Schedule) -> str:
    """`(6, 3, 7)`: chunks, steps, rounds."""
    return f"({schedule.chunks}, {schedule.steps}, {schedule.total_rounds})"


def load_words(load: Fraction) -> str:
    """R / C: `7/6 = 1.167`, `4`, `0.2651` for a long fraction, or a dash where nothing is known."""
    if not load:
        return "-"
    if load.denominator == 1:
        return str(load)
    decimal = plain(float(load), 4)
    return f"{load} = {decimal}" if len(str(load)) <= LONGEST_FRACTION else decimal


def exactly(load: Fraction) -> dict[str, Any]:
    """R / C as JSON-ready data, rounded and exact; null where nothing is known."""
    return {
        "rounds_per_chunk": float(load) if load else None,
        "rounds_per_chunk_exact": str(load) if load else None,
    }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FrontAnswer:
    """Schedules of a collective, none of which is worse than another in S and in R / C.

    Attributes:
        question: What was asked.
        status: `optimal`: all is proved; `feasible`: schedules without all proofs; `infeasible`:
            proved that there is none; `time_limit`: none was found in time.
        front: The rows by steps, what bounds them, and why there are no more.
        timed_s: Of the timed objective: seconds of the one schedule and their lower bound.
        methods: Of each row, one of `planner.collectives.machines.large.METHODS`; empty: all by
            search.
    """

    question: Question
    status: str
    front: Front
    timed_s: tuple[float, float] | None = None
    methods: tuple[str, ...] = ()

    def __repr__(self) -> str:
        question, names = self.question, [row_name(row.schedule) for row in self.rows]
        what = f"{question.collective} on {question.machine.label}"
        return f"<{type(self).__name__}: {what}, {self.status}: {', '.join(names) or 'none'}>"

    @property
    def machine(self) -> Machine:
        """Where."""
        return self.question.machine

    @property
    def rows(self) -> tuple[Row, ...]:
        """The schedules, by steps."""
        return self.front.rows

    @property
    def row_methods(self) -> tuple[str, ...]:
        """How each schedule was made."""
        return self.methods or ("search",) * len(self.rows)

    def to_fields(self) -> dict[str, Any]:
        """JSON-ready, without the versions."""
        front = self.front
        timed = self.timed_s
        return {
            **question_fields(self.question),
            "status": self.status,
            "least_steps": front.least_steps,
            "limit": exactly(front.limit),
            "front": [
                _row_fields(row, method)
                for row, method in zip(front.rows, self.row_methods, strict=True)
            ],
            "complete": front.complete,
            "why": front.ends,
            "ended_by": front.ended_by,
            "open": [
                {"steps": gap.steps, **exactly(gap.load), "reason": gap.reason}
                for gap in front.gaps
            ],
            "size_bytes": self.question.size_bytes,
            "time_s": None if timed is None else timed[0],
            "time_bound_s": None if timed is None else timed[1],
            "seconds": front.seconds,
        }


def gap_of(row: Row) -> float | None:
    """How far R / C is above what no schedule goes below, as a share; None: nothing is known."""
    return float(row.load / row.load_bound) - 1.0 if row.load_bound else None


def _row_fields(row: Row, method: str) -> dict[str, Any]:
    schedule = row.schedule
    return {
        "chunks": row.chunks,
        "steps": row.steps,
        "rounds": row.rounds,
        "proved": row.proved,
        "proof": row.proof,
        "lower_bound": row.lower_bound,
        **exactly(row.load),
        "least_of_steps": exactly(row.load_bound),
        "rounds_of_steps": list(schedule.rounds),
        "sends": len(schedule.sends),
        "made": made(schedule),
        "method": method,
        "above_bound": gap_of(row),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBound:
    """What no schedule with S steps goes below.

    Attributes:
        steps: S.
        load: R / C.
        exact: Some chunks and rounds reach it when chunks may be split; else only a bound.
        by: `cut`, `linear program`.
    """

    steps: int
    load: Fraction
    exact: bool
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsAnswer:
    """Lower bounds of a collective on a machine.

    Attributes:
        question: What was asked.
        least_steps: S_min: the longest of the shortest ways that chunks must go.
        farthest: Two nodes that are so far apart, in the direction of the data.
        cut: The set of nodes that bounds R / C whatever S; None: an all-reduce, whose sends are
            counted.
        limit: No schedule has less R / C, whatever S.
        limit_exact: Some schedules come as near to it as one likes.
        by_steps: For S = S_min and on.
        why: Why it ends there.
        seconds: Wall time; not compared.
    """

    question: Question
    least_steps: int
    farthest: tuple[int, int]
    cut: Cut | None
    limit: Fraction
    limit_exact: bool
    by_steps: tuple[StepBound, ...]
    why: str
    seconds: float = field(compare=False)

    def to_fields(self) -> dict[str, Any]:
        """JSON-ready, without the versions."""
        names = self.question.machine.names
        return {
            **question_fields(self.question),
            "least_steps": self.least_steps,
            "farthest": [names[node] for node in self.farthest],
            "limit": {**exactly(self.limit), "exact": self.limit_exact},
            "cut": None
            if self.cut is None
            else {
                "chips": [names[node] for node in self.cut.nodes],
                "chunks": self.cut.demand,
                "lanes": self.cut.capacity,
                **exactly(self.cut.load),
            },
            "by_steps": [
                {
                    "steps": bound.steps,
                    **exactly(bound.load),
                    "exact": bound.exact,
                    "by": bound.by,
                }
                for bound in self.by_steps
            ],
            "why": self.why,
            "seconds": self.seconds,
        }


def machine_fields(machine: Machine) -> dict[str, Any]:
    """A machine as JSON-ready data."""
    network = machine.network
    return {
        "topology": machine.label,
        "chips": network.nodes,
        "links": len(network.links),
        "lanes": sum(network.lanes),
        "shared_limits": len(network.shared),
        "lane_bytes_per_s": machine.lane_bytes_per_s,
        "latency_s": {
            "least": float(machine.latency_s.min()),
            "most": float(machine.latency_s.max()),
        },
        "start_s": machine.start_s,
        "notes": list(machine.notes),
    }


def question_fields(question: Question) -> dict[str, Any]:
    """What was asked as JSON-ready data."""
    return {
        "collective": question.collective,
        "root": question.root_name,
        "size_is": size_words(question.collective),
        "machine": machine_fields(question.machine),
    }

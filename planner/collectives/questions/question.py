"""What can be asked about collectives, and the reading of what was typed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import Attempts, Origin, not_one_of, shown
from planner.base.units import parse_seconds, parse_whole, show_bytes, texts_of
from planner.collectives.machines.large import METHODS, check_method
from planner.collectives.machines.machine import Machine
from planner.collectives.machines.machines import LinkAsked, machine_of
from planner.network.topology.figures import parse_amount, parse_bandwidth, parse_latency
from solvers.collectives.problem import COLLECTIVES, ROOTED

TIME_LIMIT_S = 60.0
"""When the search for schedules ends, if nothing else is asked."""
MOST_CHUNKS = 4096
MOST_STEPS = 4096
MOST_SIZES = 64
_GROWTH = 2.0
_SIZE_WORDS = {
    "allgather": "what each member contributes",
    "gather": "what each member contributes",
    "reduce-scatter": "what each member ends with",
    "scatter": "what each member receives",
    "broadcast": "the whole buffer",
    "reduce": "the whole buffer",
    "allreduce": "the whole buffer",
    "alltoall": "what each member sends to one other",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A collective on a machine.

    Attributes:
        machine: Where.
        collective: One of `solvers.collectives.problem.COLLECTIVES`.
        root: Node of a rooted collective, else 0.
        chunks, steps: C and S of one schedule; None: not asked.
        pareto: The whole front.
        max_chunks: The most chunks that are tried, of an all-reduce in each half per member; None:
            see `candidates.promising`.
        size_bytes: L of the timed objective; None: fewest rounds.
        time_limit_s: When the search ends.
        method: One of `planner.collectives.machines.large.METHODS`; None: search, then what else
            applies.
    """

    machine: Machine
    collective: str = "allgather"
    root: int = 0
    chunks: int | None = None
    steps: int | None = None
    pareto: bool = False
    max_chunks: int | None = None
    size_bytes: float | None = None
    time_limit_s: float = TIME_LIMIT_S
    method: str | None = None

    @property
    def of_front(self) -> bool:
        """Whether all schedules worth having are asked for, not one."""
        return self.chunks is None and self.steps is None and self.size_bytes is None

    @property
    def root_name(self) -> str | None:
        """The root as the machine names it; None where the collective has none."""
        return self.machine.names[self.root] if self.collective in ROOTED else None


MACHINE_FIELDS = ("topology", "graph", "lanes", "bandwidth", "latency", "start", "numbering")
"""What says which machine."""
FIELDS = (
    *MACHINE_FIELDS, "collective", "root", "chunks", "steps", "pareto", "max_chunks", "size",
    "time_limit", "method",
)  # fmt: skip
"""Names of what can be asked."""


def size_words(collective: str) -> str:
    """What L, the size of a collective, is."""
    return _SIZE_WORDS[collective]


def question_of(asked: Mapping[str, Any], origin: Origin | None = None) -> Question:
    """The question that flags ask; those not given are left out or None.

    Args:
        asked: Some of `FIELDS`; numbers as text or as they are.
        origin: How the fields are named in messages; default: with dashes.

    Raises:
        InputError: A value cannot be read, or values contradict one another; one line per mistake.
    """
    if unknown := [name for name in asked if name not in FIELDS]:
        raise InputError(not_one_of(unknown[0], FIELDS))
    given = {name: value for name, value in asked.items() if value not in (None, False)}
    attempts = Attempts(origin or Origin(dashes=True), FIELDS)
    readers: dict[str, Callable[[Any], Any]] = {
        "collective": lambda value: _one_of("collective", value, COLLECTIVES),
        "chunks": lambda value: _count("chunks", value, MOST_CHUNKS),
        "steps": lambda value: _count("steps", value, MOST_STEPS),
        "max_chunks": lambda value: _count("max-chunks", value, MOST_CHUNKS),
        "size": lambda value: parse_amount(str(value), "size"),
        "time_limit": _time_limit,
        "method": lambda value: _one_of("method", value, METHODS),
    }
    read: dict[str, Any] = {
        name: attempts.attempt(readers[name], given[name]) for name in readers if name in given
    }
    machine = attempts.attempt(machine_from, given, attempts)
    collective = read.get("collective") or "allgather"
    root = 0
    if machine is not None and read.get("method"):
        attempts.attempt(check_method, read["method"], machine, collective)
    if machine is not None and "root" in given:
        root = attempts.attempt(_root, given["root"], machine, collective) or 0
    attempts.add(_contradictions(given))
    return Question(
        machine=attempts.needed(machine),
        collective=collective,
        root=root,
        chunks=read.get("chunks"),
        steps=read.get("steps"),
        pareto=bool(given.get("pareto")),
        max_chunks=read.get("max_chunks"),
        size_bytes=read.get("size"),
        time_limit_s=read.get("time_limit") or TIME_LIMIT_S,
        method=read.get("method"),
    )


def machine_from(given: Mapping[str, Any], attempts: Attempts) -> Machine | None:
    """The machine that some fields say; None where they cannot be read."""
    readers: dict[str, Callable[[Any], Any]] = {
        "lanes": lambda value: _count("lanes", value, None),
        "bandwidth": lambda value: parse_bandwidth(str(value), "bandwidth"),
        "latency": lambda value: parse_latency(str(value), "latency"),
        "start": lambda value: parse_latency(str(value), "start"),
    }
    before = len(attempts.problems)
    read = {
        name: attempts.attempt(reader, given[name])
        for name, reader in readers.items()
        if given.get(name) is not None
    }
    if len(attempts.problems) > before:
        return None
    graph = given.get("graph")
    return machine_of(
        given.get("topology"),
        None if graph is None else Path(graph),
        links=LinkAsked(
            lanes=read.get("lanes"),
            bandwidth_bytes_per_s=read.get("bandwidth"),
            latency_s=read.get("latency"),
            start_s=read.get("start") or 0.0,
        ),
        numbering=given.get("numbering") or "sccl",
    )


def sizes_of(given: object, what: str = "sizes") -> tuple[float, ...]:
    """Sizes in bytes, rising: `1KB`, `1KB,64KB`, `1KB..1GB` (by doubling, the last one with it).

    Raises:
        InputError: A size cannot be read, a range runs backwards, or there are too many.
    """
    found: set[float] = set()
    for text in texts_of(given):
        first, dots, last = text.partition("..")
        low = parse_amount(first, what)
        if not dots:
            found.add(low)
            continue
        high = parse_amount(last, what)
        if high < low:
            raise InputError(f"{what}: {shown(text)}: {show_bytes(high)} is below the first size")
        count = math.floor(math.log(high / low, _GROWTH) + 1e-9) + 1
        if count > MOST_SIZES:
            raise InputError(f"{what}: {shown(text)} has {count} sizes; at most {MOST_SIZES}")
        found |= {low * _GROWTH**at for at in range(count)} | {high}
    if len(found) > MOST_SIZES:
        raise InputError(f"{what}: {len(found)} sizes; at most {MOST_SIZES}")
    return tuple(sorted(found))


def _contradictions(given: Mapping[str, Any]) -> list[str]:
    """Fields that exclude one another; one line each."""
    lines = []
    single = [name for name in ("chunks", "steps") if name in given]
    if "pareto" in given and single:
        lines.append(
            f"{single[0]}: asks for one schedule and --pareto for all that are best; give one"
        )
    if "size" in given and "pareto" in given:
        lines.append("size: asks for the fastest at one size and --pareto for all; give one")
    if "size" in given and given.get("method") in METHODS[1:]:
        lines.append("method: the least time at one size takes a search; leave --method out")
    if "max_chunks" in given and "chunks" in given:
        lines.append("max-chunks: has no effect with --chunks; leave it out")
    return lines


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{name}: {not_one_of(value, allowed)}")
    return value


def _count(name: str, value: object, most: int | None) -> int:
    number = parse_whole(str(value), name)
    if number < 1:
        raise InputError(f"{name}: {number} must be at least 1")
    if most is not None and number > most:
        raise InputError(f"{name}: {number:,} must be at most {most:,}")
    return number


def _time_limit(value: object) -> float:
    seconds = parse_seconds(str(value), "time-limit")
    if not 0 < seconds < math.inf:
        raise InputError(f"time-limit: {shown(value)} must be greater than 0 and finite")
    return seconds


def _root(value: object, machine: Machine, collective: str) -> int:
    """A node by the name that the machine has for it."""
    if collective not in ROOTED:
        raise InputError(
            f"root: {collective} has none; {', '.join(ROOTED[:-1])} and {ROOTED[-1]} do"
        )
    if str(value) not in machine.names:
        names = machine.names
        if len(names) > 12 and names == tuple(map(str, range(len(names)))):
            raise InputError(f"root: {shown(value)} is not one of the chips 0 to {len(names) - 1}")
        raise InputError(f"root: {not_one_of(str(value), names[:64])}")
    return machine.names.index(str(value))

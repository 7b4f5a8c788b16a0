"""What can be asked about the goodput of a run, and the reading of what was typed.

How a run is kept going is said by the fields of every question, `planner.question.asked.upkeep`:
they are read and checked as a `Request`. No model is asked about, so that the size of a checkpoint
or the time that it stops the job is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import is_file
from planner.base.messages import Origin, shown
from planner.base.numerals import beyond, number_of
from planner.base.units import (
    parse_bytes,
    parse_chance,
    parse_seconds,
    parse_whole,
    plural,
    texts_of,
)
from planner.base.vocabulary import CHECKPOINT_WRITES
from planner.cost.goodput.spares import CHANCE
from planner.evidence.goodput.gaps import read_gaps
from planner.question.asked import UPKEEP_ALONE
from planner.question.request import Request, request_from
from planner.question.run.upkeep import PEER_MEMORY, rate_problems

NODE = 8
"""Chips of a node, where nobody says."""
RUNS = 10_000
EXPONENTIAL, WEIBULL = "exponential", "weibull"
_NO_MODEL = "none"  # `Request` needs a name; nothing here looks at it
_MOST_VALUES = 64
_MOST_CHIPS, _MOST_RUNS = 10**9, 10**6
_RANGE = ".."


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """How the seconds between failures are drawn.

    Attributes:
        words: As typed, for people.
        shape: Of Weibull gaps; 1: exponential.
        gaps_s: A list that they are drawn from; empty: they have a shape.
    """

    words: str
    shape: float = 1.0
    gaps_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, read and checked.

    Attributes:
        kept: Fields of `UPKEEP_ALONE`; no other one of it counts.
        chips: Of the jobs, ascending.
        chips_per_node: Of each.
        stall_s: For how long a checkpoint stops the job; None: its bytes over what the store takes.
        checkpoint_bytes: Of a checkpoint; None: it is written at once.
        step_time_s: Checkpoints come after whole steps.
        spares_chance: That spares are enough at any time.
        law: What is simulated beside the closed form; None: nothing.
        runs: How many.
    """

    kept: Request
    chips: tuple[int, ...]
    chips_per_node: int = NODE
    stall_s: float | None = None
    checkpoint_bytes: float | None = None
    step_time_s: float = 1.0
    spares_chance: float = CHANCE
    law: Law | None = None
    runs: int = RUNS

    @property
    def is_blocking(self) -> bool:
        """Whether the job waits for the store."""
        return self.kept.checkpoint_writes == CHECKPOINT_WRITES[1]

    def nodes(self, chips: int) -> int:
        """Of a job, the last one perhaps not full."""
        return -(-chips // self.chips_per_node)


def question_of(asked: Mapping[str, Any]) -> Question:
    """The question that flags ask; those not given are left out or None.

    Raises:
        InputError: Flags contradict one another, or a value cannot be read; one line per mistake.
    """
    given = {name: value for name, value in asked.items() if value not in (None, [], ())}
    kept, problems = _kept({name: given[name] for name in UPKEEP_ALONE if name in given})
    fields: dict[str, Any] = {}
    for name, (field, read) in _READERS.items():
        if name not in given:
            continue
        try:
            fields[field] = read(given[name])
        except InputError as error:
            problems += str(error).split("\n")
    if not problems:
        problems = [*_contradictions(given, kept)]
    if problems:
        raise InputError("\n".join(problems))
    nodes = fields.pop("nodes", ())
    if nodes:
        fields["chips"] = tuple(n * fields.get("chips_per_node", NODE) for n in nodes)
    question = Question(kept=kept, **fields)
    if lines := [*_beyond(question)]:
        raise InputError("\n".join(lines))
    return question


def _kept(given: Mapping[str, Any]) -> tuple[Request, list[str]]:
    """Fields of how a run is kept going, and what is wrong with them."""
    origin = Origin(arguments=frozenset(given), dashes=True)
    try:
        request = request_from({"model": _NO_MODEL, **given}, origin)
    except InputError as error:
        lines = [line for line in str(error).split("\n") if not line.startswith("model: ")]
        return request_from({"model": _NO_MODEL}), lines
    return request, [*rate_problems(request)]


def _contradictions(given: Mapping[str, Any], kept: Request) -> list[str]:
    """Flags that exclude one another, or mean nothing without another; one line each."""
    blocking = kept.checkpoint_writes == CHECKPOINT_WRITES[1]
    has_bytes, has_stall = "checkpoint_bytes" in given, "stall" in given
    lines = []
    if kept.checkpoint_writes == PEER_MEMORY:
        lines.append(
            f"checkpoint-writes: {PEER_MEMORY} takes a plan, whose peers and network are known; "
            "planner solve --train-tokens has it"
        )
    if "chips" in given and "nodes" in given:
        lines.append("nodes: chips says how large the job is; leave one of the two out")
    if "chips" not in given and "nodes" not in given:
        lines.append("chips: is missing; say how many chips the job has, e.g. --chips 16384")
    if blocking and has_bytes and has_stall:
        lines.append(
            "stall: of blocking writes it is checkpoint-bytes over checkpoint-store; leave one out"
        )
    if not has_stall and not (blocking and has_bytes):
        lines.append(
            "stall: is missing; say for how long a checkpoint stops the job, e.g. --stall 5s, or "
            "give --checkpoint-bytes with --checkpoint-writes blocking"
        )
    if kept.checkpoint_store is not None and not has_bytes:
        lines.append("checkpoint-store: has no effect without checkpoint-bytes")
    if "runs" in given and "simulate" not in given:
        lines.append("runs: has no effect without simulate")
    return lines


def _beyond(question: Question) -> list[str]:
    """What cannot be of the jobs that are asked for."""
    kept, lines = question.kept, []
    least = question.nodes(question.chips[0])
    if kept.spares is not None and kept.spares > least:
        lines.append(f"spares: {kept.spares:,} is more than the {plural(least, 'node')} of the job")
    one = len(question.chips) == 1
    if kept.mtbf is not None and not one:
        lines.append("mtbf: is of one job; of several numbers of chips give "
                     "chip-hours-per-failure")  # fmt: skip
    if question.law is not None and question.law.gaps_s:
        rates = [name for name in ("mtbf", "chip_hours_per_failure", "failure_site")
                 if getattr(kept, name) is not None]  # fmt: skip
        lines += [f"{name.replace('_', '-')}: the gaps of simulate say how often the job fails; "
                  "leave one of the two out" for name in rates]  # fmt: skip
        if not one:
            lines.append("simulate: gaps of a file are those of one job; give one number of chips")
    return lines


def _counts(name: str) -> Callable[[Any], tuple[int, ...]]:
    """`16384`, `512,16384` or `512..131072` (by doubling), ascending."""

    def read(given: Any) -> tuple[int, ...]:
        found: set[int] = set()
        for text in texts_of(given):
            low, _, high = text.partition(_RANGE)
            ends = [_count(name, end) for end in ((low, high) if _RANGE in text else (text,))]
            if ends[0] > ends[-1]:
                raise InputError(
                    f"{name}: {shown(text)} is empty; write it from {ends[-1]} to {ends[0]}"
                )
            found |= {ends[0] << k for k in range(32) if ends[0] << k <= ends[-1]}
        if len(found) > _MOST_VALUES:
            raise InputError(f"{name}: {len(found)} values; at most {_MOST_VALUES} are compared")
        return tuple(sorted(found))

    return read


def _count(name: str, text: Any, most: int = _MOST_CHIPS) -> int:
    value = parse_whole(str(text), name)
    if not 1 <= value <= most:
        rule = "at least 1" if value < 1 else f"at most {most:,}"
        raise InputError(f"{name}: {shown(value)}: must be {rule}")
    return value


def _positive(
    name: str, parse: Callable[[str, str], float], *, zero: bool = False
) -> Callable[[Any], float]:
    def read(given: Any) -> float:
        value = parse(str(given), name)
        rule = "" if zero and value == 0.0 else beyond(value)
        if rule:
            rule = "must be at least 0, and finite" if zero and not value > 0.0 else rule
            raise InputError(f"{name}: {shown(given)}: {rule}")
        return value

    return read


def _law(given: Any) -> Law:
    """`exponential`, `weibull=0.7`, or the file of a list of gaps."""
    text = str(given)
    name, _, value = text.partition("=")
    if text == EXPONENTIAL:
        return Law(words=text)
    if name == WEIBULL and value:
        shape = _shape(value)
        return Law(words=f"Weibull, shape {shape:g}", shape=shape)
    if not is_file(Path(text)):
        raise InputError(
            f"simulate: {shown(text)} is neither {EXPONENTIAL}, nor a shape such as "
            f"{WEIBULL}=0.7, nor a file of gaps"
        )
    gaps = read_gaps(Path(text))
    return Law(words=f"{plural(len(gaps), 'gap')} of {Path(text).name}", gaps_s=gaps)


def _shape(text: str) -> float:
    try:
        value = number_of(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 10.0:
        raise InputError(f"simulate: {WEIBULL}={text}: the shape must be between 0.1 and 10")
    return value


_READERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "chips": ("chips", _counts("chips")),
    "nodes": ("nodes", _counts("nodes")),
    "chips_per_node": ("chips_per_node", lambda given: _count("chips-per-node", given)),
    "stall": ("stall_s", _positive("stall", parse_seconds, zero=True)),
    "checkpoint_bytes": ("checkpoint_bytes", _positive("checkpoint-bytes", parse_bytes)),
    "step_time": ("step_time_s", _positive("step-time", parse_seconds)),
    "spares_chance": (
        "spares_chance",
        lambda given: parse_chance(str(given), "spares-chance", "99%"),
    ),
    "simulate": ("law", _law),
    "runs": ("runs", lambda given: _count("runs", given, _MOST_RUNS)),
}
"""Field of `Question` and reader, by flag."""
FIELDS = (*_READERS, *UPKEEP_ALONE)
"""What can be asked, by flag."""

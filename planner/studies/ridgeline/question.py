"""What can be asked about ridgelines, and the reading of what was typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown
from planner.base.units import parse_whole, texts_of
from planner.question.changes.texts import with_changes
from planner.studies.ridgeline.plans import SWEEPS
from planner.studies.ridgeline.products import COUNTINGS

SOURCES = ("case", "workload", "gemm", "model", "plan", "csv")
"""What points can be made of; one at a time."""
# What each other field goes with.
_GOES_WITH = {
    "batches": ("case", "workload", "model"),
    "counting": ("case", "workload", "gemm"),
    "chips": ("case", "workload", "gemm", "model"),
    "forward": ("case", "workload", "gemm"),
    "sweep": ("plan",),
    "row": ("plan",),
    "tp": ("model",),
    "ep": ("model",),
    "seq_len": ("model",),
}
_MOST = 2**31
_MOST_VALUES = 64
_RANGE = re.compile(r"(?s)(.+?)(?:\.\.|-)(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, read and checked.

    Attributes:
        hardware, level, precision: The machine; None: the default, all levels, the chip's own.
        set: Fields of it that are changed, `PATH=VALUE`.
        case, workload, gemms, model, plan, csv: What the points are made of; at most one.
        batches: Items per chip, ascending; empty: the default.
        counting: How bytes of memory are counted; None: the default.
        chips: That exchange; None: the default.
        forward: The forward pass alone.
        sweep: Path of a plan.
        row: Which plan of a front, from 1.
        tp, ep, seq_len: Of a layer.
    """

    hardware: str | None = None
    set: tuple[str, ...] = ()
    level: str | None = None
    precision: str | None = None
    case: str | None = None
    workload: str | None = None
    gemms: tuple[tuple[int, int, int], ...] = ()
    model: str | None = None
    plan: Path | None = None
    csv: Path | None = None
    batches: tuple[int, ...] = ()
    counting: str | None = None
    chips: int | None = None
    forward: bool = False
    sweep: str | None = None
    row: int | None = None
    tp: int | None = None
    ep: int | None = None
    seq_len: int | None = None


FIELDS = (
    "hardware", "set", "level", "precision", *SOURCES, "batches", "counting", "chips", "forward",
    "sweep", "row", "tp", "ep", "seq_len",
)  # fmt: skip
"""Names of what can be asked."""


def question_of(asked: Mapping[str, Any]) -> Question:
    """The question that flags ask; those not given are left out or None.

    Raises:
        InputError: Flags contradict one another, or a value cannot be read; one line per mistake.
    """
    given = {name: value for name, value in asked.items() if value not in (None, False, [])}
    problems = _contradictions(given)
    readers: dict[str, Callable[[Any], Any]] = {
        "set": lambda value: with_changes((), value),
        "gemm": _gemms,
        "batches": _batches,
        "counting": lambda value: _one_of("counting", value, COUNTINGS),
        "sweep": lambda value: _one_of("sweep", value, SWEEPS),
        "chips": lambda value: _count("chips", value),
        "tp": lambda value: _count("tp", value),
        "ep": lambda value: _count("ep", value),
        "row": lambda value: _count("row", value),
        "seq_len": lambda value: _count("seq-len", value),
    }
    fields: dict[str, Any] = {}
    for name, value in given.items():
        try:
            fields["gemms" if name == "gemm" else name] = readers.get(name, _as_it_is)(value)
        except InputError as error:
            problems += str(error).split("\n")
    if problems:
        raise InputError("\n".join(problems))
    return Question(**fields)


def _contradictions(given: Mapping[str, Any]) -> list[str]:
    """Flags that exclude one another, or mean nothing without another; one line each."""
    sources = [name for name in SOURCES if name in given]
    if len(sources) > 1:
        flags = " and ".join(f"--{name}" for name in sources)
        return [f"{sources[1]}: {flags} each say what the points are; give one of them"]
    lines = []
    for name, others in _GOES_WITH.items():
        if name in given and not set(sources) & set(others):
            flags = " or ".join(f"--{other}" for other in others)
            lines.append(f"{name.replace('_', '-')}: has no effect without {flags}")
    return lines


def _as_it_is(value: Any) -> Any:
    return value


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InputError(f"{name}: {not_one_of(value, allowed)}")
    return value


def _count(name: str, text: str) -> int:
    value = parse_whole(str(text), name)
    if not 1 <= value <= _MOST:
        rule = "at least 1" if value < 1 else f"at most {_MOST:,}"
        raise InputError(f"{name}: {shown(value)}: must be {rule}")
    return value


def _batches(given: object) -> tuple[int, ...]:
    """`512`, `16,64`, `16..16384` or `16-16384` (by doubling), ascending."""
    found: set[int] = set()
    for text in texts_of(given):
        ends = _RANGE.fullmatch(text)
        if ends is None:
            found.add(_count("batches", text))
            continue
        low, high = (_count("batches", end) for end in ends.groups())
        if low > high:
            raise InputError(f"batches: {shown(text)} is empty; write it from {high} to {low}")
        found |= {low << k for k in range(32) if low << k <= high}
    if len(found) > _MOST_VALUES:
        raise InputError(f"batches: {len(found)} values; at most {_MOST_VALUES} are drawn")
    return tuple(sorted(found))


def _gemms(given: object) -> tuple[tuple[int, int, int], ...]:
    """`512x4096x4096`: tokens, inputs, outputs."""
    found = []
    for text in texts_of(given):
        sizes = [part.strip() for part in text.lower().split("x")]
        if len(sizes) != 3 or not all(sizes):
            raise InputError(
                f"gemm: {shown(text)} is not M x K x N (tokens, inputs, outputs); write it like "
                "512x4096x4096"
            )
        m, k, n = (_count("gemm", size) for size in sizes)
        found.append((m, k, n))
    if len(found) > _MOST_VALUES:
        raise InputError(f"gemm: {len(found)} multiplications; at most {_MOST_VALUES} are drawn")
    return tuple(found)

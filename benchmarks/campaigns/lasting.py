"""Long life: many questions in one process, and at once in threads and in processes."""

from __future__ import annotations

import gc
import json
import os
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

from campaigns.same import different, without_run
from planner import PlannerError, solve

Told = Callable[[str], None]
_MODELS = ("gpt3-125m", "gpt3-350m", "gpt3-1.3b")
_HARDWARE = ("h100-sxm5-80", "mi300x", "h200-sxm5-141")
_AXES = (("dp",), ("tp", "dp"), ("dp", "pp"), ("fsdp",))
FLAT_AFTER, MOST_GROWTH, MOST_OBJECTS = 100, 0.03, 0.1
"""Solves after which memory may grow by this share at most, and objects by so many per solve."""
LEAST_PLANS = 0.5
"""Of the questions asked at once, this share has a plan at least; of seed 1 three quarters do."""


@dataclass(slots=True)
class Memory:
    """What a process held after so many solves."""

    resident_mb: float
    objects: int
    grown_percent: float


def drawn(seed: str) -> dict[str, Any]:
    """A small question that differs from nearly all others."""
    chance = Random(seed)
    return {
        "model": chance.choice(_MODELS), "hardware": chance.choice(_HARDWARE),
        "chips": chance.choice((4, 8, 12, 16)), "axes": chance.choice(_AXES),
        "batch_tokens": 2048 * chance.randint(16, 4096), "clocks": False,
    }  # fmt: skip


def answered(seed: str) -> Any:
    """The document of a question's answer, or why there is none."""
    try:
        return without_run(json.loads(json.dumps(solve(**drawn(seed)).to_dict())))
    except PlannerError as error:
        return str(error)


def one_process(solves: int, seed: int, told: Told) -> Iterator[tuple[str, Memory]]:
    """Memory along many solves; each tenth of them after the hundredth is a row."""
    flat, few = 0.0, 0
    marks = {FLAT_AFTER, *(solves * tenth // 10 for tenth in range(1, 11))}
    for number in range(1, solves + 1):
        answered(f"{seed} {number}")
        if number not in marks or number < FLAT_AFTER:
            continue
        gc.collect()
        now = _resident_bytes()
        objects = len(gc.get_objects())
        flat, few = flat or now, few or objects
        grown, more = now / flat - 1, objects - few
        if more > MOST_OBJECTS * (number - FLAT_AFTER):
            told(f"{number} solves: {more} more objects than after {FLAT_AFTER}")
        if grown > MOST_GROWTH:
            told(f"{number} solves: {now / 1e6:.1f} MB, {flat / 1e6:.1f} MB after {FLAT_AFTER}")
        row = Memory(round(now / 1e6, 1), objects, round(100 * grown, 2))
        yield str(number), row


def _resident_bytes() -> int:
    """What of this process is in memory now."""
    status = Path("/proc/self/statm")
    if status.is_file():
        return int(status.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@dataclass(slots=True)
class Count:
    """How many answers of one way were held against those of one thread."""

    solves: int = 0
    plans: int = 0
    faults: int = 0


def at_once(solves: int, seed: int, told: Told) -> Iterator[tuple[str, Count]]:
    """The same questions one after the other, in 8 threads, and in 4 processes."""
    seeds = [f"{seed} at once {number}" for number in range(solves)]
    alone = [answered(one) for one in seeds]
    plans = sum(not isinstance(one, str) for one in alone)
    if plans < LEAST_PLANS * solves:
        told(f"{plans} of {solves} questions have a plan: {next(one for one in alone if one)}")
    ways: dict[str, Callable[[], Executor]] = {
        "8 threads": lambda: ThreadPoolExecutor(8),
        "4 processes": lambda: ProcessPoolExecutor(4, mp_context=get_context("spawn")),
    }
    for title, made in ways.items():
        count = Count(solves=solves, plans=plans)
        with made() as pool:
            for one, found, kept in zip(seeds, pool.map(answered, seeds), alone, strict=True):
                if json.dumps(found) != json.dumps(kept):
                    count.faults += 1
                    told(f"{title}: {drawn(one)}: {different(kept, found, 0.0)}")
        yield title, count

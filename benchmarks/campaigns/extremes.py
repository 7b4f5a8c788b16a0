"""Wrong with confidence: what a plan costs, with figures of chip and cluster at other sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import planner
from planner.base.errors import InputError
from planner.question.changes.changes import fields_of

_PLANS: dict[str, tuple[dict[str, Any], Any]] = {
    "dense, GPUs": (
        {"model": "llama3-8b", "hardware": "h100-sxm5-80", "chips": 64, "batch_tokens": 2**20},
        {"tp": 2, "pp": 2, "dp": 16},
    ),
    "experts, GPUs": (
        {"model": "mixtral-8x7b", "hardware": "h200-sxm5-141", "chips": 64,
         "batch_tokens": 2**20},
        {"tp": 2, "pp": 2, "dp": 16},
    ),
    "dense, TPUs": (
        {"model": "llama2-7b", "hardware": "tpu-v5p", "chips": 64, "batch_tokens": 2**20},
        {"fsdp": 64},
    ),
}  # fmt: skip
FACTORS = (0.1, 0.5, 2.0, 10.0)
_FASTER = ("bandwidth", "peak", "rate", "flop")
"""Words of fields of which more is never slower."""
_SLOWER = ("latency", "overhead")
_SLACK = 1e-9


@dataclass(slots=True)
class Count:
    """How one job fared."""

    fields: int = 0
    tried: int = 0
    refused: int = 0
    faults: int = 0


def campaign(fields: int, told: Callable[[str], None]) -> Iterator[tuple[str, Count]]:
    """Figures at a tenth, half, twice and ten times: of each plan about so many, spread evenly."""
    for name, (job, mesh) in _PLANS.items():
        count = Count()
        plan = planner.Plan(**_whole(mesh))
        usual = _costs(plan, job)
        leaves, _ = fields_of(job["model"], job["hardware"])
        numbers = [leaf.full_path for leaf in leaves if isinstance(leaf.value, int | float)]
        for path in numbers[:: max(1, len(numbers) // fields)]:
            count.fields += 1
            found: dict[float, dict[str, float]] = {1.0: usual}
            for factor in FACTORS:
                count.tried += 1
                try:
                    found[factor] = _costs(plan, {**job, "set": [f"{path}={factor}x"]})
                except InputError:
                    count.refused += 1
            for wrong in _wrong(path, found):
                count.faults += 1
                told(f"{name}: {path}: {wrong}")
        yield name, count


def _whole(mesh: dict[str, int]) -> dict[str, Any]:
    return {**mesh, "micro_batch": 1, "sharding": "zero1" if "dp" in mesh else "zero3"}


def _costs(plan: Any, job: dict[str, Any]) -> dict[str, float]:
    """Figures of a plan that have to be finite and not negative."""
    answer = planner.evaluate(plan, **job)
    result = answer.result
    parts = {f"part {name}": value for name, value in result.time_s.items()}
    return {
        "time": result.step_time_s, "energy": result.energy_per_step_j,
        "memory": result.memory_per_chip_bytes, "power": result.power_per_chip_w,
        "mfu": result.mfu, **parts,
    }  # fmt: skip


def _wrong(path: str, found: dict[float, dict[str, float]]) -> Iterator[str]:
    for factor, costs in found.items():
        for name, value in costs.items():
            if not math.isfinite(value) or value < 0:
                yield f"x{factor:g}: {name} is {value}"
    word = path.rpartition(".")[2]
    times = [found[factor]["time"] for factor in sorted(found)]
    pairs = [*itertools.pairwise(times)]
    if any(one in word for one in _FASTER) and any(b > a * (1 + _SLACK) for a, b in pairs):
        yield f"more is slower: {times}"
    if any(one in word for one in _SLOWER) and any(b < a * (1 - _SLACK) for a, b in pairs):
        yield f"more is faster: {times}"

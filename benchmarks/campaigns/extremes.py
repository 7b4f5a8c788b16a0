"""Wrong with confidence: what a plan costs, with figures of chip and cluster at other sizes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    "dense, 4,096 GPUs, FP8": (
        {"model": "llama3-70b", "hardware": "h100-sxm5-80", "chips": 4096, "precision": "fp8",
         "batch_tokens": 2**23},
        {"tp": 8, "pp": 4, "cp": 2, "dp": 64},
    ),
    "experts, racks": (
        {"model": "deepseek-v3", "hardware": "gb200-nvl72", "chips": 256, "batch_tokens": 2**22},
        {"dp": 256, "ep": 32},
    ),
    "dense, a cube of GPUs": (
        {"model": "qwen2.5-1.5b", "hardware": "v100-32gb-edr", "chips": 64,
         "batch_tokens": 2**20},
        {"tp": 4, "cp": 2, "dp": 8},
    ),
}  # fmt: skip
FACTORS = (0.1, 0.5, 0.67, 2.0, 10.0)
"""Sizes; at the third, rates of a cube's groups that differ by a half are nearly the same."""
_SIZES = (
    r"^model\.(layers|hidden|\w*heads|head_dim|vocab_size|"
    r"(mlp|moe)\.(?!first_dense_layers|layer_period)\w+)$"
)
_ORDERED: tuple[tuple[str, str, bool], ...] = (
    (r"\.peak\.|bandwidth|efficiency|\.links$|overlap$|\.gain$", "time", False),
    (r"latency|overhead|oversubscription|_s(_per_\w+)?$|elementwise", "time", True),
    (_SIZES, "time", True),
    (_SIZES, "memory", True),
    (r"^model\.moe\.(first_dense_layers|layer_period)$", "time", False),
    (r"^chip\.(energy|power)\.|levels\.\w+\.energy|\w_power$|sigma", "energy", True),
)
"""Fields by path, the cost that follows one, and whether it grows with it or falls."""
_MOVES: tuple[tuple[str, str], ...] = (
    (r"^chip\.peak\.", "time"), (r"^chip\.memory\.bandwidth", "time"),
    (r"levels\.\w+\.bandwidth", "time"), (r"levels\.\w+\.latency", "time"), (_SIZES, "time"),
    (_SIZES, "memory"), (r"^chip\.(energy|power)\.", "energy"),
)  # fmt: skip
"""Fields by path, and a cost that one of those moves that are answered."""
LEAST_ANSWERED = 0.1
"""Of all sizes, this share is answered at least: a fifth is, of the plan where most are refused."""
_SLACK = 1e-9


@dataclass(slots=True)
class Count:
    """How one job fared.

    Attributes:
        fields: Figures that were changed.
        tried: Sizes of them.
        refused: Of these, those that no answer takes: nothing reads the field, or it is too large.
        moved: Of the others, those that changed some cost.
        ordered: Fields of which more than one size was compared for its direction.
        faults: What should not be.
    """

    fields: int = 0
    tried: int = 0
    refused: int = 0
    moved: int = 0
    ordered: int = 0
    faults: int = 0


def campaign(fields: int, told: Callable[[str], None]) -> Iterator[tuple[str, Count]]:
    """Figures at `FACTORS` of their size: all of the records of each plan's question.

    Args:
        fields: About so many constants of the cost model beside them, spread evenly.
        told: Called with a line for each fault.
    """
    for name, (job, mesh) in _PLANS.items():
        count = Count()
        plan = planner.Plan(**_whole(mesh))
        usual = _costs(plan, job)
        leaves, _ = fields_of(job["model"], job["hardware"])
        numbers = {
            leaf.full_path: leaf.value for leaf in leaves
            if isinstance(leaf.value, int | float) and not isinstance(leaf.value, bool)
        }  # fmt: skip
        seen: dict[str, dict[float, dict[str, float]]] = {}
        for path in _some(numbers, fields):
            count.fields += 1
            found: dict[float, dict[str, float]] = {1.0: usual}
            for factor in FACTORS:
                count.tried += 1
                try:
                    change = f"{path}={_size(numbers[path], factor)}"
                    found[factor] = _costs(plan, {**job, "set": [change]})
                    count.moved += found[factor] != usual
                except InputError:
                    count.refused += 1
            seen[path] = found
            count.ordered += len(found) > 1 and bool(_orders(path))
            for wrong in _wrong(path, found):
                count.faults += 1
                told(f"{name}: {path}: {wrong}")
        for wrong in _unmoved(seen):
            count.faults += 1
            told(f"{name}: {wrong}")
        yield name, count


def _unmoved(seen: Mapping[str, Mapping[float, Mapping[str, float]]]) -> Iterator[str]:
    """Kinds of figures that no answer heeds, and whether too few are answered at all.

    Args:
        seen: Costs by the path of a figure and its size, 1 being the usual.
    """
    answered = sum(len(found) - 1 for found in seen.values())
    if answered < LEAST_ANSWERED * len(FACTORS) * len(seen):
        yield f"{answered} of {len(FACTORS) * len(seen)} sizes are answered"
    for pattern, cost in _MOVES:
        values = [
            {costs[cost] for costs in found.values()} for path, found in seen.items()
            if re.search(pattern, path) and len(found) > 1
        ]  # fmt: skip
        if values and all(len(one) == 1 for one in values):
            yield f"{cost} is moved by none of {len(values)} figures {pattern}"


def _some(paths: Iterable[str], constants: int) -> list[str]:
    """Those of records, and about so many constants."""
    of_model = [path for path in paths if path.startswith("calibration.")]
    kept = {*of_model[:: max(1, len(of_model) // constants)]}
    return [path for path in paths if path in kept or path not in of_model]


def _size(value: float, factor: float) -> str:
    """A change of a figure, of whole numbers to the nearest."""
    return str(max(1, round(value * factor))) if isinstance(value, int) else f"{factor}x"


def _orders(path: str) -> list[tuple[str, bool]]:
    """Costs that follow a field, and whether they grow with it."""
    return [(cost, grows) for pattern, cost, grows in _ORDERED if re.search(pattern, path)]


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
    for cost, grows in _orders(path):
        values = [found[factor][cost] for factor in sorted(found)]
        for less, more in itertools.pairwise(values if grows else values[::-1]):
            if less > more * (1 + _SLACK):
                yield f"{cost} does not {'grow' if grows else 'fall'} with it: {values}"
                break

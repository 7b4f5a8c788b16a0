"""Why no columns of linear tables fit: which device lacks how much memory, and what would help.

Every layer takes at least held[s, k] + c min_r kept[s, k, r], so the least memory of a segment is
a minimum over settings of sums; limits enter nowhere else. The least addition to all limits is
found by bisection, because more memory never breaks a chain of segments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.stages.linear import LinearTables
from solvers.stages.problem import Ints

_NEVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """No layout fits the memory.

    Attributes:
        device: The first on which nothing fits; where there is none, the one that lacks the least
            memory for a layer more, with as many layers as fit on the devices before it.
        layers: Most layers that fit it then.
        missing: Memory it lacks for more; None where chunks may not hold more.
        memory: Least memory that, added to every device, makes some layout fit; None where no
            amount does, because chunks may not hold so many layers.
        fewer_layers: Least number of last layers whose removal makes some layout fit; None where
            none does.
    """

    device: int
    layers: int
    missing: int | None
    memory: int | None
    fewer_layers: int | None


def shortfall(tables: LinearTables) -> Shortfall | None:
    """What is missing with one chunk per device; None where some layout fits."""
    needed = least_memory(tables)
    if _reached(needed, tables.memory)[-1, -1]:
        return None
    return _named(tables, needed)


def least_memory(tables: LinearTables) -> Ints:
    """(p, L + 1, most + 1) least memory of so many layers from a position; huge if not allowed."""
    layers = tables.layers
    most = min(tables.most_layers, layers)
    start, length = np.arange(layers + 1)[:, None], np.arange(most + 1)[None, :]
    end = np.minimum(start + length, layers)
    needed = np.full((tables.devices, layers + 1, most + 1), _NEVER)
    for d in range(tables.devices):
        layer = tables.held + tables.in_flight[d, 0] * tables.kept.min(axis=2)
        passed = np.zeros((len(layer), layers + 1), dtype=np.int64)
        passed[:, 1:] = np.cumsum(layer[:, tables.kinds], axis=1)
        taken = passed[:, end] - passed[:, start] + tables.extra_memory[d][:, None, None]
        allowed = (start + length <= layers) & (length >= tables.least(d))
        needed[d] = np.where(allowed, taken.min(axis=0), _NEVER)
    return needed


def _reached(needed: Ints, memory: Ints) -> npt.NDArray[np.bool_]:
    """(p + 1, L + 1) where chunks that fit can end before device d."""
    devices, positions, lengths = needed.shape
    reached = np.zeros((devices + 1, positions), dtype=np.bool_)
    reached[0, 0] = True
    for d in range(devices):
        fits = needed[d] <= memory[d]
        for n in range(lengths):
            reached[d + 1, n:] |= reached[d, : positions - n] & fits[: positions - n, n]
    return reached


def _named(tables: LinearTables, needed: Ints) -> Shortfall:
    reached = _reached(needed, tables.memory)
    stopped = np.flatnonzero(~reached.any(axis=1))
    furthest = [int(np.flatnonzero(row).max(initial=-1)) for row in reached]
    if len(stopped):
        device, layers = int(stopped[0]) - 1, 0
        least = int(needed[device][reached[device]].min())
    else:
        lacks = [_next(needed[d, furthest[d]], tables.memory[d]) for d in range(tables.devices)]
        device = int(
            np.argmin([least - int(m) for (_, least), m in zip(lacks, tables.memory, strict=True)])
        )
        layers, least = lacks[device]
    return Shortfall(
        device=device,
        layers=layers,
        missing=least - int(tables.memory[device]) if least < _NEVER else None,
        memory=_least_addition(needed, tables.memory),
        fewer_layers=tables.layers - furthest[-1] if not len(stopped) else None,
    )


def _next(needed: Ints, memory: int) -> tuple[int, int]:
    """Most layers that fit of those from one position, and the least memory of more."""
    layers = int(np.flatnonzero(needed <= memory).max(initial=0))
    return layers, int(needed[layers + 1 :].min(initial=_NEVER))


def _least_addition(needed: Ints, memory: Ints) -> int | None:
    most = int(needed[needed < _NEVER].max(initial=0))
    if not _reached(needed, memory + most)[-1, -1]:
        return None
    low, high = 0, most
    while low + 1 < high:
        middle = (low + high) // 2
        fits = bool(_reached(needed, memory + middle)[-1, -1])
        low, high = (low, middle) if fits else (middle, high)
    return high

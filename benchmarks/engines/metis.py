"""Metis's problem: stages of layers on groups of consecutive devices, with a batch count.

    T = (b - 1) max_i t_i + sum_i (t_i + send_i) + max_i update_i + max_i sync_i + b (tail + load)

in milliseconds, t_i and the tail of the last stage from profiles by (device type, tensor
parallelism, micro-batch), send_i of activations, update_i of the optimizer, sync_i of gradients.
A stage takes a power of two of devices of one type; a state is the first layer and the first
device of a stage. The order of the device types and b are enumerated. Stages over two types of
devices, which Metis allows too, are left out: with one type of device nothing is.

Source: Um et al., Metis: Fast Automatic Distributed Training on Heterogeneous GPUs, USENIX ATC
2024; `cost_estimator.py` of its repository.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from solvers.stages.free import Steps, least_total

Floats = npt.NDArray[np.float64]
_MEMORY_FACTOR, _MEMORY_EXTRA_MB, _MIB = 5.0, 0.001, 2.0**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Devices of each type, each with memory_mb, all joined at one bandwidth in Metis's unit."""

    devices: Mapping[str, int]
    memory_mb: Mapping[str, float]
    bandwidth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What Metis is told of a model, with its batch and the largest profiled degrees."""

    layers: int
    hidden: int
    sequence: int
    vocabulary: int
    batch: int
    most_tensor: int
    most_samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan in Metis's terms: types in order, devices, (data, tensor) and layers of each stage."""

    types: tuple[str, ...]
    groups: tuple[int, ...]
    strategies: tuple[tuple[int, int], ...]
    ends: tuple[int, ...]
    batches: int


def solve(profile: Mapping[str, Any], cluster: Cluster, model: Model) -> tuple[Plan, float, int]:
    """The best plan, its milliseconds, which nothing undercuts, and the number of columns.

    Raises:
        ValueError: No plan fits.
    """
    best: Plan | None = None
    least, columns = math.inf, 0
    counts = [b for b in range(1, model.batch + 1) if model.batch % b == 0]
    for types in itertools.permutations(cluster.devices):
        for batches in counts:
            table = _Columns(profile, cluster, model, types, batches)
            if not table.rows:
                continue
            steps = table.steps()
            columns += len(steps.starts)
            found = least_total(steps, [batches - 1.0, 1.0, 1.0])
            total = found.objective + batches * profile["model"]["batch_generator"]
            if found.decision is not None and total < least:
                best, least = table.plan(found.decision.columns), total
    if best is None:
        raise ValueError("no plan fits")
    return best, least, columns


class _Columns:
    """Stages for one order of device types and one count of batches."""

    def __init__(
        self,
        profile: Mapping[str, Any],
        cluster: Cluster,
        model: Model,
        types: Sequence[str],
        batches: int,
    ) -> None:
        self.profile, self.cluster, self.model = profile, cluster, model
        self.types, self.batches = tuple(types), batches
        self.total = sum(cluster.devices.values())
        self.rows: list[tuple[int, int, int, int, int, int]] = []
        self.numbers: list[tuple[float, float, float, float]] = []
        for place in self._places():
            self._add(*place)

    def _places(self) -> Iterator[tuple[str, int, int, int]]:
        """Type, first device, data and tensor parallelism of the groups that profiles cover."""
        begin = 0
        for kind in self.types:
            end = begin + self.cluster.devices[kind]
            sizes = [2**k for k in range(self.total.bit_length()) if 2**k <= end - begin]
            for size in sizes:
                for tensor in (t for t in sizes if t <= min(size, self.model.most_tensor)):
                    samples = self.model.batch // (size // tensor) // self.batches
                    if 1 <= samples <= self.model.most_samples:
                        for first in range(begin, end - size + 1):
                            yield kind, first, size // tensor, tensor
            begin = end

    def _add(self, kind: str, first: int, data: int, tensor: int) -> None:
        """All segments of layers on one group."""
        model, key = self.model, self._key(data, tensor)
        own = self.profile[f"DeviceType.{kind}"].get(key)
        sized = self.profile[f"DeviceType.{self.types[0]}"].get(key)
        if own is None or sized is None:
            return
        passed = np.r_[0.0, np.cumsum(own["time"]["layer-computes"])]
        held = np.r_[0.0, np.cumsum(sized["memory"])]
        room = self.cluster.memory_mb[kind] * data * tensor
        for begin, end in itertools.combinations(range(model.layers + 1), 2):
            needed = _MEMORY_EXTRA_MB + _MEMORY_FACTOR * (held[end] - held[begin])
            tail = own["time"]["fb_sync"] if end == model.layers else 1.0
            if needed > room or not tail:
                continue
            time = float(passed[end] - passed[begin])
            last = tail * self.batches if end == model.layers else self._send(end, data, tensor)
            update = self.profile["model"]["optimizer_time"] / tensor * (end - begin) / model.layers
            self.rows.append((begin, end, first, first + data * tensor, data, tensor))
            self.numbers.append((time + last, time, update, self._sync(begin, end, data, tensor)))

    def _key(self, data: int, tensor: int) -> str:
        return f"tp{tensor}_bs{self.model.batch // data // self.batches}"

    def _send(self, end: int, data: int, tensor: int) -> float:
        model = self.model
        samples = model.batch // data // self.batches
        wide = model.vocabulary / tensor if end == model.layers - 1 else model.hidden
        return samples * model.sequence * wide / (self.cluster.bandwidth * _MIB)

    def _sync(self, begin: int, end: int, data: int, tensor: int) -> float:
        sizes = self.profile["model"]["parameters"]
        layers, held = end - begin, 0.0
        if begin == 0:
            held, layers = held + sizes[0], layers - 1
        if end == self.model.layers:
            held, layers = held + sizes[-1], layers - 1
        weights = (held + layers * sizes[1]) / tensor
        return float(2 * (data - 1) / (data * self.cluster.bandwidth * _MIB) * weights)

    def steps(self) -> Steps:
        """States by layer and device."""
        rows, numbers = np.array(self.rows), np.array(self.numbers)
        wide = self.total + 1
        last = self.model.layers * wide + self.total
        level = np.repeat(np.arange(self.model.layers + 1), wide)
        return Steps(
            level=level[: last + 1],
            starts=rows[:, 0] * wide + rows[:, 2],
            ends=rows[:, 1] * wide + rows[:, 3],
            lengths=numbers[:, 0],
            peaks=numbers[:, 1:],
        )

    def plan(self, columns: npt.NDArray[np.intp]) -> Plan:
        """Stages of a path."""
        rows = [self.rows[column] for column in columns.tolist()]
        return Plan(
            types=self.types,
            groups=tuple(row[3] - row[2] for row in rows),
            strategies=tuple((row[4], row[5]) for row in rows),
            ends=tuple(row[1] for row in rows),
            batches=self.batches,
        )

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
Ints = npt.NDArray[np.int64]
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
    bounds = sorted((_bound(profile, cluster, model, batches), batches) for batches in counts)
    for (bound, batches), types in itertools.product(
        bounds, itertools.permutations(cluster.devices)
    ):
        if bound >= least:
            break
        table = _Columns(profile, cluster, model, types, batches)
        table.drop(least)
        if not len(table.rows):
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


def _bound(profile: Mapping[str, Any], cluster: Cluster, model: Model, batches: int) -> float:
    """Milliseconds that no plan of so many batches undercuts; inf where no profile serves it.

    Every layer takes at least the least device time of any group; on a type it takes at least
    `slower` times as much. The slowest stage times the devices, each counted by how much slower
    it is, covers all layers.
    """
    used: dict[str, Floats] = {}
    times, tails = [], []
    for kind, count in cluster.devices.items():
        own = []
        for data, tensor in _degrees(count, model, batches):
            key = f"tp{tensor}_bs{model.batch // data // batches}"
            table = profile[f"DeviceType.{kind}"].get(key)
            if table is not None:
                times.append(np.array(table["time"]["layer-computes"]))
                tails.append(table["time"]["fb_sync"])
                own.append(times[-1] * (data * tensor))
        if own:
            used[kind] = np.min(own, axis=0)
    if not used:
        return math.inf
    least = np.maximum(np.min(list(used.values()), axis=0), 1e-300)
    slower = {kind: float(np.min(work / least)) for kind, work in used.items()}
    peak = float(least.sum()) / sum(cluster.devices[kind] / slower[kind] for kind in used)
    loads = batches * (profile["model"]["batch_generator"] + min(tails))
    return float((batches - 1) * peak + np.min(times, axis=0).sum() + loads)


def _degrees(devices: int, model: Model, batches: int) -> Iterator[tuple[int, int]]:
    """Data and tensor parallelism of groups of up to so many devices that profiles may cover."""
    sizes = [2**k for k in range(devices.bit_length())]
    for size in sizes:
        for tensor in (t for t in sizes if t <= min(size, model.most_tensor)):
            if 1 <= model.batch // (size // tensor) // batches <= model.most_samples:
                yield size // tensor, tensor


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
        rows, numbers = [np.empty((0, 6), dtype=np.int64)], [np.empty((0, 4))]
        for kind, firsts, data, tensor in self._places():
            own, values = self._segments(kind, data, tensor)
            placed = np.empty((len(firsts), len(own), 6), dtype=np.int64)
            placed[:, :, :2] = own
            placed[:, :, 2] = np.array(firsts)[:, None]
            placed[:, :, 3] = placed[:, :, 2] + data * tensor
            placed[:, :, 4:] = data, tensor
            rows.append(placed.reshape(-1, 6))
            numbers.append(np.tile(values, (len(firsts), 1)))
        self.rows, self.numbers = np.concatenate(rows), np.concatenate(numbers)

    def drop(self, least: float) -> None:
        """Leaves out stages with which a step takes at least `least` milliseconds."""
        kept = self.numbers[:, 0] + (self.batches - 1) * self.numbers[:, 1] < least
        self.rows, self.numbers = self.rows[kept], self.numbers[kept]

    def _places(self) -> Iterator[tuple[str, range, int, int]]:
        """Type, first devices, data and tensor parallelism of the groups that profiles cover."""
        begin = 0
        for kind in self.types:
            end = begin + self.cluster.devices[kind]
            for data, tensor in _degrees(end - begin, self.model, self.batches):
                yield kind, range(begin, end - data * tensor + 1), data, tensor
            begin = end

    def _segments(self, kind: str, data: int, tensor: int) -> tuple[Ints, Floats]:
        """(x, 2) segments of layers that fit a group, and their (x, 4) length and peaks."""
        model, key = self.model, self._key(data, tensor)
        own = self.profile[f"DeviceType.{kind}"].get(key)
        sized = self.profile[f"DeviceType.{self.types[0]}"].get(key)
        found, values = [], []
        if own is not None and sized is not None:
            passed = np.r_[0.0, np.cumsum(own["time"]["layer-computes"])].tolist()
            held = np.r_[0.0, np.cumsum(sized["memory"])].tolist()
            room = self.cluster.memory_mb[kind] * data * tensor
            for begin, end in itertools.combinations(range(model.layers + 1), 2):
                needed = _MEMORY_EXTRA_MB + _MEMORY_FACTOR * (held[end] - held[begin])
                tail = own["time"]["fb_sync"] if end == model.layers else 1.0
                if needed > room or not tail:
                    continue
                time = passed[end] - passed[begin]
                ends = end == model.layers
                last = tail * self.batches if ends else self._send(end, data, tensor)
                update = self.profile["model"]["optimizer_time"] / tensor
                update *= (end - begin) / model.layers
                found.append((begin, end))
                values.append((time + last, time, update, self._sync(begin, end, data, tensor)))
        return (
            np.array(found, dtype=np.int64).reshape(-1, 2),
            np.array(values, dtype=np.float64).reshape(-1, 4),
        )

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
        rows, numbers = self.rows, self.numbers
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
        rows = self.rows[columns].tolist()
        return Plan(
            types=self.types,
            groups=tuple(row[3] - row[2] for row in rows),
            strategies=tuple((row[4], row[5]) for row in rows),
            ends=tuple(row[1] for row in rows),
            batches=self.batches,
        )

"""Piper's problem: stages of a layer graph with data and tensor parallelism and recomputation.

A stage runs the layers S with tensor parallelism t and data parallelism d on d t devices. Per
sample it takes

    TPS = (sum of times)/d + [2 (transfers over edges that leave or enter S)/d
                              + 4 (d - 1)/d (weights)/N] / bandwidth

and holds y = ceil(s/d) samples, s the sum of d over itself and all later stages; the chosen modes
of its layers must obey sum a y + b <= memory. Least is the largest TPS with at most K devices,
where each d divides N and s is at most N.

Source: Tarnawski, Narayanan and Phanishayee, Piper: Multidimensional Planner for DNN
Parallelization, NeurIPS 2021, sections 3 and 4; the input format of its repository.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
RELATIVE = 1e-12
"""Memory beyond the limit that is rounding only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Layers from pipeline begin to end: node numbers, degrees, and the mode of each node."""

    nodes: tuple[int, ...]
    data: int
    tensor: int
    modes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An input of Piper with nodes renumbered from 0.

    Attributes:
        times, fixed, growing: By tensor parallelism, (n, r) time per sample, memory b, memory a.
        weights: By tensor parallelism, (n,).
        into, out_of: By tensor parallelism, (e,) what crosses each edge at its end, at its begin.
        edges: (e, 2) source and destination.
        names: Of the modes.
        memory, devices, samples, bandwidth: Limits: K, N and bytes per second.
    """

    times: Mapping[int, Floats]
    fixed: Mapping[int, Floats]
    growing: Mapping[int, Floats]
    weights: Mapping[int, Floats]
    into: Mapping[int, Floats]
    out_of: Mapping[int, Floats]
    edges: Ints
    names: tuple[str, ...]
    memory: float
    devices: int
    samples: int
    bandwidth: float

    @property
    def nodes(self) -> int:
        """How many layers there are."""
        return len(next(iter(self.times.values())))


def instance_of(record: Mapping[str, Any]) -> Instance:
    """An instance from a record in the format of Piper's inputs.

    Raises:
        ValueError: Modes of a layer differ in what they transfer, or layers in their modes.
    """
    nodes, edges = record["nodes"], record["edges"]
    number = {node["id"]: i for i, node in enumerate(nodes)}
    names = tuple(mode["id"] for mode in nodes[0]["TMPCs"]["1"])
    degrees = sorted(set.intersection(*(set(map(int, node["TMPCs"])) for node in nodes)))
    tables: dict[str, dict[int, Any]] = {key: {} for key in _FIELDS}
    weights, into, out_of = ({} for _ in range(3))
    for t in degrees:
        modes = [node["TMPCs"][str(t)] for node in nodes]
        for own in modes:
            same = {str([mode[key] for key in _SHARED]) for mode in own}
            if len(same) > 1 or tuple(mode["id"] for mode in own) != names:
                raise ValueError(f"modes of every layer must be {names} and transfer the same")
        for key, field in _FIELDS.items():
            tables[key][t] = np.array([[mode[field] for mode in own] for own in modes])
        weights[t] = np.array([own[0]["parameterSize"] for own in modes])
        into[t], out_of[t] = _crossing(edges, number, modes)
    return Instance(
        **tables,
        weights=weights,
        into=into,
        out_of=out_of,
        edges=np.array([[number[e["sourceId"]], number[e["destId"]]] for e in edges]),
        names=names,
        memory=record["maxMemoryPerDevice"],
        devices=record["maxDevices"],
        samples=record["mbsInBatch"],
        bandwidth=record["bandwidth"],
    )


_FIELDS = {"times": "timePerSample", "fixed": "memoryUsageB", "growing": "memoryUsageA"}
_SHARED = ("parameterSize", "syncTimeFw", "syncTimeBw")


def _crossing(
    edges: Sequence[Mapping[str, Any]], number: Mapping[int, int], modes: Sequence[Any]
) -> tuple[Floats, Floats]:
    into, out_of = [], []
    for edge in edges:
        source, end, cost = edge["sourceId"], edge["destId"], edge["communicationCost"]
        into.append(cost + modes[number[end]][0]["syncTimeFw"][str(source)])
        out_of.append(cost + modes[number[source]][0]["syncTimeBw"][str(end)])
    return 2 * np.array(into), 2 * np.array(out_of)


def seconds_per_sample(instance: Instance, stages: Sequence[Stage]) -> float:
    """The largest TPS of a plan by Piper's formula, one layer and edge at a time.

    Raises:
        ValueError: The plan breaks a limit.
    """
    owner = {v: i for i, stage in enumerate(stages) for v in stage.nodes}
    if sorted(v for stage in stages for v in stage.nodes) != list(range(instance.nodes)):
        raise ValueError("every layer must be in one stage")
    if any(owner[u] > owner[v] for u, v in instance.edges.tolist()):
        raise ValueError("an edge leads to an earlier stage")
    if sum(stage.data * stage.tensor for stage in stages) > instance.devices:
        raise ValueError("too many devices")
    in_flight = sum(stage.data for stage in stages)
    if in_flight > instance.samples:
        raise ValueError("too many samples in flight")
    slowest = 0.0
    for i, stage in enumerate(stages):
        d, t = stage.data, stage.tensor
        if instance.samples % d:
            raise ValueError(f"{d} does not divide {instance.samples}")
        y = -(-in_flight // d)
        in_flight -= d
        pairs = list(zip(stage.nodes, stage.modes, strict=True))
        used = sum(y * instance.growing[t][v, r] + instance.fixed[t][v, r] for v, r in pairs)
        if used > instance.memory * (1 + RELATIVE):
            raise ValueError(f"stage {i} needs {used} bytes of {instance.memory}")
        sent = 0.0
        for e, (u, v) in enumerate(instance.edges.tolist()):
            if owner[u] != owner[v]:
                sent += float(instance.into[t][e]) if owner[v] == i else 0.0
                sent += float(instance.out_of[t][e]) if owner[u] == i else 0.0
        weights = float(instance.weights[t][list(stage.nodes)].sum())
        resync = 4 * (d - 1) * weights / d / instance.samples
        work = sum(instance.times[t][v, r] for v, r in pairs)
        slowest = max(slowest, (sent / d + resync) / instance.bandwidth + work / d)
    return slowest


def closed_sets(instance: Instance) -> list[int]:
    """Sets of layers that hold all their successors, as bit masks, smaller ones first."""
    after = [0] * instance.nodes
    for u, v in instance.edges.tolist():
        after[u] |= 1 << v
    found, queue = {0}, [0]
    while queue:
        own = queue.pop()
        for v, needed in enumerate(after):
            grown = own | 1 << v
            if grown not in found and needed & ~own == 0:
                found.add(grown)
                queue.append(grown)
    return sorted(found, key=lambda own: (own.bit_count(), own))


def nodes_of(mask: int) -> tuple[int, ...]:
    """The layers of a bit mask."""
    return tuple(v for v in range(mask.bit_length()) if mask >> v & 1)

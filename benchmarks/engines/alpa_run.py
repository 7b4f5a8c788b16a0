"""Alpa's inter-operator dynamic program from a checkout, and ours, on stage costs of Metis.

Alpa publishes no stage costs: it profiles them on the cluster. The costs here are sums of layer
times that Metis publishes for an A100 (tensor parallelism 1, 2, 4; 1, 2, 4 samples): a stage on n
devices runs micro-batches of 4 samples with tensor parallelism t on n / t replicas. Deeper models
repeat the middle layer. All stages fit the memory of 80 GB.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np

from engines import alpa
from engines.compared import Cell, Outcome, row, timed

_CASES = ((10, 16), (32, 32), (64, 64), (96, 128))
"""Layers and devices."""
_QUICK = _CASES[:1]
_TENSOR, _SAMPLES, _MICRO_BATCHES, _LARGEST = (1, 2, 4), 4, 32, 16


def tables(profile: Path, layers: int, devices: int) -> alpa.Tables:
    """Stage costs of a model of so many layers."""
    sizes = [2**i for i in range(5) if 2**i <= min(devices, _LARGEST)]
    cost = np.full((layers, layers, len(sizes), len(_TENSOR)), np.inf)
    for m, size in enumerate(sizes):
        for c, t in enumerate(_TENSOR):
            replicas = size // t
            if replicas * t == size and replicas <= _SAMPLES:
                times = _times(profile, t, _SAMPLES // replicas, layers)
                passed = np.r_[0.0, np.cumsum(times)]
                for begin in range(layers):
                    cost[begin, begin:, m, c] = passed[begin + 1 :] - passed[begin]
    return alpa.Tables(
        cost=cost,
        after=np.full(cost.shape, layers),
        sizes=np.array(sizes),
        devices=devices,
        micro_batches=_MICRO_BATCHES,
    )


def _times(profile: Path, tensor: int, samples: int, layers: int) -> list[float]:
    """Seconds of each layer."""
    text = (profile / f"DeviceType.A100_tp{tensor}_bs{samples}.json").read_text(encoding="utf-8")
    times = [ms / 1e3 for ms in json.loads(text)["execution_time"]["layer_compute_total_ms"]]
    return times[:2] + [times[2]] * (layers - 4) + times[-2:]


def rows(checkout: Path, profile: Path, *, quick: bool, repeats: int) -> list[dict[str, Cell]]:
    """A row per case."""
    run = alpa.engine(checkout)
    found = []
    for layers, devices in _QUICK if quick else _CASES:
        asked = tables(profile, layers, devices)
        run(asked)  # compiles
        plan, seconds = timed(partial(run, asked), repeats)
        other = Outcome(objective=alpa.seconds_per_step(asked, plan), seconds=seconds)
        (own, solution), seconds = timed(partial(alpa.solve, asked), repeats)
        mine = Outcome(
            objective=alpa.seconds_per_step(asked, own), seconds=seconds, bound=solution.bound
        )
        found.append(row(f"{layers} layers, {devices} devices", other, mine))
    return found

"""The least bottleneck that leaves room for all layers: stages filled one by one, as a relaxation.

Stage i may hold layers in r modes (recomputation: more time, fewer bytes) under one of z settings
(sharding). With bottleneck t it holds at most

    cap_i(t) = max over z of max { sum_r n_r :  sum_r n_r tau_rz <= t - phi_i,
                                   sum_r n_r mu_irz + beta_rz <= M_iz for all used r,  n >= 0 }

layers, and every pipeline whose slowest stage takes t has sum_i floor(cap_i(t)) >= L. The first
and the last stage may be empty, whatever a stage with layers needs beside them. The linear
program has two constraints, so that its maximum is at one mode or at a pair of them. beta is what
a mode needs once (the layer that is computed again).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_SLACK = 1e-9
_HALVINGS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """n pipelines of p stages; inf in `tau` where a setting is not allowed.

    Attributes:
        tau: (n, r, z) time of a layer.
        ends: (n, p) phi: time of what else is on a stage.
        size: (n, p, r, z) mu: bytes of a layer.
        once: (n, r, z) beta.
        room: (n, p, z) M: bytes for layers.
        layers: (n,) or a number: L.
        size_later, room_later: The same as `size` and `room` at another moment, without `once`;
            layers may free bytes then. None: there is none.
    """

    tau: Floats
    ends: Floats
    size: Floats
    once: Floats
    room: Floats
    layers: Floats | int
    size_later: Floats | None = None
    room_later: Floats | None = None

    def take(self, index: npt.NDArray[np.intp]) -> Stages:
        """The pipelines of `index`."""
        layers = self.layers if isinstance(self.layers, int) else self.layers[index]
        return Stages(
            tau=self.tau[index],
            ends=self.ends[index],
            size=self.size[index],
            once=self.once[index],
            room=self.room[index],
            layers=layers,
            size_later=None if self.size_later is None else self.size_later[index],
            room_later=None if self.room_later is None else self.room_later[index],
        )

    def fits(self, bottleneck: Floats) -> Bools:
        """(n,) whether there is room for all layers with (n,) bottlenecks."""
        total = most_layers(self, bottleneck).sum(axis=1)
        return np.asarray(total >= self.layers)


class Fillable(Protocol):
    """Pipelines that may have room for all layers; the more time, the more room."""

    def take(self, index: npt.NDArray[np.intp]) -> Self:
        """The pipelines of `index`."""

    def fits(self, bottleneck: Floats) -> Bools:
        """(n,) whether there is room for all layers with (n,) bottlenecks."""


def most_layers(stages: Stages, bottleneck: Floats) -> Floats:
    """(n, p) floor(cap_i(t)) of (n,) bottlenecks, rounded up by a hair; -inf: not even none.

    Source: the bound LB2 of the module; vertices of a linear program with two constraints.
    """
    left = bottleneck[:, None] - stages.ends
    best = _most(stages, left, bottleneck)
    if stages.size_later is not None and stages.room_later is not None:
        later = replace(
            stages,
            size=stages.size_later,
            room=stages.room_later,
            once=np.zeros_like(stages.once),
        )
        best = np.minimum(best, _most(later, left, bottleneck))
    return np.floor(best * (1 + _SLACK) + _SLACK)


def _most(stages: Stages, left: Floats, bottleneck: Floats) -> Floats:
    """(n, p) the largest vertex over settings."""
    best = np.full(left.shape, -np.inf)
    modes = range(stages.tau.shape[1])
    empty = np.zeros(left.shape[1], dtype=np.bool_)
    empty[[0, -1]] = True
    for z in range(stages.tau.shape[2]):
        for r in modes:
            room = stages.room[:, :, z] - stages.once[:, r, z, None]
            by_time = _ratio(left, stages.tau[:, r, z, None])
            each = stages.size[:, :, r, z]
            by_room = np.where(each > 0, _ratio(room, each), np.inf)
            best = np.maximum(best, np.minimum(by_time, by_room))
        for r, s in combinations(modes, 2):
            best = np.maximum(best, _pair(stages, left, r, s, z))
        none = (left >= -_SLACK * bottleneck[:, None]) & (empty | (stages.room[:, :, z] >= 0))
        best = np.where(none & np.isfinite(stages.tau[:, 0, z, None]), np.maximum(best, 0.0), best)
    return best


def _ratio(left: Floats, each: Floats) -> Floats:
    """How many of `each` fit in `left`; -inf where that is negative."""
    with np.errstate(all="ignore"):
        return np.where((left >= 0) & (each < np.inf), left / np.maximum(each, 1e-300), -np.inf)


def _pair(stages: Stages, left: Floats, r: int, s: int, z: int) -> Floats:
    """(n, p) layers in modes r and s that use up time and bytes; -inf where one is negative."""
    room = stages.room[:, :, z] - np.maximum(stages.once[:, r, z], stages.once[:, s, z])[:, None]
    fast, slow = stages.tau[:, r, z, None], stages.tau[:, s, z, None]
    large, small = stages.size[:, :, r, z], stages.size[:, :, s, z]
    with np.errstate(all="ignore"):
        det = fast * small - slow * large
        first = (left * small - slow * room) / det
        second = (fast * room - left * large) / det
        both = first + second
        ok = (first >= 0) & (second >= 0) & np.isfinite(both)
    return np.where(ok, both, -np.inf)


def least_bottleneck(
    stages: Fillable, lower: Floats, upper: Floats, halvings: int = _HALVINGS
) -> Floats:
    """(n,) no bottleneck below this has room for all layers; inf where `upper` has none.

    By bisection, whose lower end is returned.

    Args:
        stages: n pipelines.
        lower: (n,) bounds that are known.
        upper: (n,) bottlenecks above which nothing is wanted.
        halvings: Of the range between them.
    """
    found = np.full(len(lower), np.inf)
    rows = np.flatnonzero(stages.fits(upper))
    here = stages.take(rows)
    low, high = lower[rows].copy(), upper[rows].copy()
    high = np.maximum(low, high)
    done = here.fits(low)
    for _ in range(halvings):
        middle = (low + high) / 2
        enough = here.fits(middle)
        high = np.where(enough, middle, high)
        low = np.where(enough | done, low, middle)
    found[rows] = low
    return found

"""Lower bounds of the step time of bidirectional schedules, linear in the layers of pairs of ranks.

With the symbols of `planner.schedules.bidirectional`, t = D - H the time of a round, of n = pp / 2
pairs, T is the larger of max paced + sum early and max paced + sum late + max over. For the pair
of the largest t, paced >= (m/2) t + H - Q, and Q - H <= k t with k at most 1. What adds up is at
least each of its four parts,

    late  = F + max(b - W, 0) / 2 + H / 2
          >= F + H / 2,   F + (b - W) / 2 + H / 2
    early = (F + max(F, b) + max(b - W, 0)) / 2 - F / (2 n) + H / 2
          >= (F + b - F / n + H) / 2,   (F + 2 b - W - F / n + H) / 2

so that T >= (m/2 - k) max t + sum part for each of them: layers and ends count their own, messages
and the host once per pair.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import ArrayRecord, FloatArray
from planner.cost.context import CostModel
from planner.cost.layer_costs import EndCost, LayerCost
from planner.search.uneven.rows import Rows

PARTS = 4
"""Of the module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round(ArrayRecord):
    """Seconds of a round: F, b, W and H of the module, shaped alike."""

    forward: FloatArray
    backward: FloatArray
    weight_grad: FloatArray
    hidden: FloatArray

    @staticmethod
    def of_layer(cost: LayerCost) -> Round:
        """A layer; messages and the host not included."""
        whole, back, grad, hidden = np.broadcast_arrays(
            cost.total, cost.backward, cost.weight_grad, cost.paired
        )
        return Round(forward=whole - back, backward=back - grad, weight_grad=grad, hidden=hidden)

    @staticmethod
    def of_ends(ends: EndCost) -> Round:
        """Embedding and head together."""
        whole, grad = ends.embedding + ends.head, ends.head_weight_grad
        back = ends.head_backward + ends.tower_backward
        return Round(
            forward=whole - back,
            backward=back - grad,
            weight_grad=grad,
            hidden=np.zeros_like(whole),
        )

    @staticmethod
    def of_sends(model: CostModel, p2p: FloatArray) -> Round:
        """Messages of `p2p` seconds and the host."""
        a = model.assumptions
        send = a.micro_batch_s + p2p
        return Round(
            forward=send,
            backward=send,
            weight_grad=np.zeros_like(send),
            hidden=2 * a.beside_overlap * p2p,
        )

    @property
    def time(self) -> FloatArray:
        """Seconds: t of the module."""
        return self.forward + self.backward + self.weight_grad - self.hidden

    def waits(self) -> FloatArray:
        """Q - H."""
        f, b = self.forward, self.backward
        wait = (f + np.maximum(f, b) + np.maximum(b - self.weight_grad, 0.0)) / 2
        return np.asarray(wait - self.hidden)

    def parts(self, pairs: FloatArray) -> list[FloatArray]:
        """The four parts; `pairs` is n, that goes with the shape of the times."""
        f, b, w, h = self.forward, self.backward, self.weight_grad, self.hidden
        return [
            f + h / 2,
            f + (b - w + h) / 2,
            (f + b - f / pairs + h) / 2,
            (f + 2 * b - w - f / pairs + h) / 2,
        ]


def longest_wait(rows: Rows, layers: list[Round], ends: Round) -> FloatArray:
    """(n,) k of the module.

    Args:
        rows: n rows.
        layers: Of each kind, (n, r, z, k).
        ends: (n, k).
    """
    most: FloatArray = _share(ends).max(axis=1)
    for layer in layers:
        each = np.where(rows.shardings[:, None, :, None], _share(layer), 0.0)
        most = np.maximum(most, each.max(axis=(1, 2, 3)))
    return most


def _share(one: Round) -> FloatArray:
    """(Q - H) / t, at least 0; 0 where there is nothing to do."""
    time = one.time
    return np.where(time > 0, np.maximum(one.waits(), 0.0) / np.where(time > 0, time, 1.0), 0.0)


def sums_s(rows: Rows, layers: list[tuple[int, Round]], ends: Round, sends: Round) -> FloatArray:
    """(n, PARTS) seconds beside (m/2 - k) max t and the messages that pace the rounds, at least.

    Args:
        rows: n rows.
        layers: How many of each kind, and one of them, (n, r, z, k).
        ends: (n, k).
        sends: (n,).
    """
    pairs = np.maximum(rows.devices, 1).astype(np.float64)
    own = [part.min(axis=1) for part in ends.parts(pairs[:, None])]
    each = sends.parts(pairs)
    least = [_least(rows, layer, pairs) for _, layer in layers]
    found = [
        own[part]
        + pairs * each[part]
        - sends.waits()
        + sum((count * one[part] for (count, _), one in zip(layers, least, strict=True)), 0.0)
        for part in range(PARTS)
    ]
    return np.stack(found, axis=1)


def _least(rows: Rows, layer: Round, pairs: FloatArray) -> list[FloatArray]:
    """(n,) the least of each part over recomputations, shardings and clocks."""
    parts = layer.parts(pairs[:, None, None, None])
    allowed = rows.shardings[:, None, :, None]
    return [np.where(allowed, part, np.inf).min(axis=(1, 2, 3)) for part in parts]

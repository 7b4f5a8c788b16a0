"""Two pipelines in opposite directions over the same ranks, so that F and B meet.

Rank d of pp holds the chunks d and pp - 1 - d of the model, each with its parameters: there are two
copies of the model. Half of the m micro-batches enters at rank 0, half at rank pp - 1; a *round* is
one of each. Where F of one direction runs beside B of the other they hide H = `hidden` of their
communication. With seconds per rank and round, a pair of ranks being d and pp - 1 - d:

    D = F + b + W over both chunks      (F forward, b input gradients, W weight gradients)
    Q = (F + max(F, b) + max(b - W, 0)) / 2
    T = max ((m/2)(D - H) + H - Q) + sum (Q + H / 2) - min(mean F / 2, sum over - max over)
    over = max(b - F, 0) / 2            (max, sum and mean over the pp / 2 pairs)

For equal ranks T is to rounding what a simulation of DeepSeek's order gives (any F, b, W and H;
`planner.schedules.orders`): with F = b = W per chunk its bubble is the published
(pp/2 - 1)(F&B + B - 3W). For unequal ranks T is an estimate.

In flight: chunk c holds the activations of pp - c micro-batches, as with 1F1B, so a rank those of
pp + 1 chunks.

Source: DeepSeek-V3, arXiv:2412.19437, section 3.2.1, figure 5 and table 2; order and published
figures: github.com/deepseek-ai/DualPipe (dualpipe/dualpipe.py, README.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray
from planner.schedules.passes import SplitPasses


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTimes:
    """Seconds of one round on a class of equal ranks, messages included; (n, k).

    Attributes:
        count: (n, 1) ranks of the class.
        forward, backward, weight_grad: F, b (the gradients of inputs alone) and W of both chunks.
        hidden: H.
    """

    count: FloatArray
    forward: FloatArray
    backward: FloatArray
    weight_grad: FloatArray
    hidden: FloatArray

    @property
    def wait(self) -> FloatArray:
        """Q."""
        f, b, w = self.forward, self.backward, self.weight_grad
        return np.asarray((f + np.maximum(f, b) + np.maximum(b - w, 0.0)) / 2)

    @property
    def over(self) -> FloatArray:
        """max(b - F, 0) / 2."""
        return np.asarray(np.maximum(self.backward - self.forward, 0.0) / 2)

    def paced(self, turns: FloatArray) -> FloatArray:
        """(m/2)(D - H) + H - Q, `turns` being m / 2."""
        whole = self.forward + self.backward + self.weight_grad
        return np.asarray(turns * (whole - self.hidden) + self.hidden - self.wait)


def pipeline_s(ranks: Sequence[RankTimes], turns: FloatArray) -> FloatArray:
    """(n, k) seconds of all passes: T of the module.

    Args:
        ranks: The classes of ranks.
        turns: (n, 1) rounds per step, m / 2.
    """
    none = np.zeros_like(ranks[0].forward)
    longest = most_over = total_over = filled = ahead = none
    for rank in ranks:
        pairs, exists = rank.count / 2, rank.count > 0
        over = np.where(exists, rank.over, 0.0)
        longest = np.maximum(longest, np.where(exists, rank.paced(turns), 0.0))
        filled = filled + pairs * (rank.wait + rank.hidden / 2)
        ahead = ahead + pairs * rank.forward / 2
        most_over, total_over = np.maximum(most_over, over), total_over + pairs * over
    count = reduce(np.add, [rank.count for rank in ranks]) / 2
    return np.asarray(longest + filled - np.minimum(ahead / count, total_over - most_over))


def rank_times(
    a: Assumptions, passes: SplitPasses, hidden: FloatArray, p2p: FloatArray
) -> RankTimes:
    """The times of a class of ranks; arguments as for `wait_s`."""
    send = a.micro_batch_s + p2p  # one way on each of two chunks
    return RankTimes(
        count=passes.count,
        forward=passes.total + hidden - passes.backward + send,
        backward=passes.backward - passes.weight_grad + send,
        weight_grad=passes.weight_grad,
        hidden=hidden + 2 * a.beside_overlap * p2p,
    )


def paced_messages_s(a: Assumptions, p2p: FloatArray) -> FloatArray:
    """(n, k) seconds of the host and of messages in every round; `p2p` as for `wait_s`."""
    return np.asarray(2 * (a.micro_batch_s + (1 - a.beside_overlap) * p2p))


def wait_s(
    a: Assumptions,
    passes: Sequence[SplitPasses],
    hidden: Sequence[FloatArray],
    p2p: FloatArray,
    turns: FloatArray,
    slowest: FloatArray,
) -> FloatArray:
    """(n, k) seconds beyond rounds of the slowest rank with the messages that pace them.

    Args:
        a: Overlap and the host's time per micro-batch.
        passes: The classes of ranks: a round less what its passes hide of the layers.
        hidden: (n, k) that, per class.
        p2p: Seconds of the two sends of a micro-batch between chunks.
        turns: (n, 1) rounds per step.
        slowest: (n, k) the longest round in `passes`.
    """
    ranks = [rank_times(a, *each, p2p) for each in zip(passes, hidden, strict=True)]
    paced = turns * (slowest + paced_messages_s(a, p2p))
    return np.maximum(pipeline_s(ranks, turns) - paced, 0.0)


def rank_classes(kinds: IntArray) -> list[tuple[float, ...]]:
    """Rows of the stage classes of DualPipe ranks, from the layers of every chunk.

    Ranks d and pp - 1 - d are equal. Pairs with the same layers share a class where both chunks
    hold the same: then they hold as many activations too.

    Args:
        kinds: (pp, 2) dense and expert layers per chunk.

    Returns:
        Rows of `every_rank`; each stands for `count` ranks.
    """
    classes: dict[tuple[float, ...], list[tuple[float, ...]]] = {}
    for row in every_rank(kinds)[: len(kinds) // 2]:
        near, far = row[6:8], row[8:]
        apart = row[5] if near != far else -1.0
        classes.setdefault((*row[:5], *near, *far, apart), []).append(row)
    return [(*rows[0][:2], 2.0 * len(rows), *rows[0][3:]) for rows in classes.values()]


def every_rank(kinds: IntArray) -> list[tuple[float, ...]]:
    """(dense, moe, count 1, first, last, position, dense and moe of each chunk) of every rank."""
    last = len(kinds) - 1
    rows = []
    for rank in range(len(kinds)):
        own, other = kinds[rank].tolist(), kinds[last - rank].tolist()
        both = (own[0] + other[0], own[1] + other[1])
        end = rank in (0, last)
        rows.append(tuple(map(float, (*both, 1, end, end, rank, *own, *other))))
    return rows

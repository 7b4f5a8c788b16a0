"""ZB-V: weight gradients fill the bubbles of two chunks per rank, that lie in a V.

Rank i of pp holds the chunks i and 2 pp - 1 - i of the model: micro-batches go down the ranks and
come back, so that the last rank turns them at once, and rank 0 has embedding and head. With n = pp
- 1, and F, B (the gradients of inputs alone) and W of one chunk with its messages,

    bubble = max(n B, 2 n (B - W), B + (n - 1) W, F + (n - 1) W, (2 n - 1) F - (n - 1) B,
                 2 n F - n B - W, 2 n F - (2 n + 1) W, (2 n - 1) F + B - 2 n W) + 5 n lag

where lag is what a message takes that the sender does not wait for. For equal ranks and m of at
least 2 pp - 1 this is to rounding what a simulation of the order gives without lag, any F, B and W;
within 2 % with a lag up to 0.3 F. For others, whose means it takes, it is an estimate. With F = B =
W it is n F: no rank waits between its first and its last pass, as the paper has it, and what is
left is that the first rank starts n F before the last. The paper lets optimizers start as unevenly
as passes end; here, as with other schedules, they start together, when the norm of all gradients is
known.

A rank holds at most 2 pp chunks of micro-batches, those of pp stages as rank 0 under 1F1B: 2 pp - i
of its first chunk with i of its second, or one less with one more.

The order is fixed, whatever F, B and W are. Rank i runs, 0 and 1 being its chunks and FBW1 the next
F, B and W on chunk 1 in turn,

    2 (pp - i) - 1 times F0;  i times F1, F0;  pp - i times FBW1;
    F0, B0, W0, FBW1 until all forward passes are done;
    i times B0, B1;  pp - i times B0, W0;  the W1 and the W0 that are left

Sources: Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 6 (ZB-V); Qi et al.,
Pipeline Parallelism with Controllable Memory, arXiv:2405.15362; the order is that of PyTorch,
torch/distributed/pipelining/schedules.py, ScheduleZBVZeroBubble.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.schedules.orders import BACKWARD, FORWARD, WEIGHT_GRAD, Orders, orders_from
from planner.schedules.passes import StepTimes
from planner.schedules.schedule import Schedule

_KINDS = {"F": FORWARD, "B": BACKWARD, "W": WEIGHT_GRAD}
_BOTH = ("F1", "B1", "W1")


class ZeroBubbleV(Schedule):
    """See the module."""

    name = "zb-v"
    source = "Qi et al., arXiv:2401.10241, section 6; arXiv:2405.15362"
    rule_source = (
        "PyTorch torch/distributed/pipelining/schedules.py, ScheduleZBVZeroBubble: 2 pp - 1 "
        "micro-batches fill the pipeline; weight gradients apart"
    )
    splits_backward = True

    def fits_interleave(self, v: IntArray) -> BoolArray:
        """With two chunks."""
        return np.asarray(v == 2)

    def runs_on(self, pp: IntArray) -> BoolArray:
        """With stages."""
        return np.asarray(pp > 1)

    def runs(self, pp: IntArray, m: IntArray) -> BoolArray:
        """With micro-batches that fill the pipeline."""
        return np.asarray((pp > 1) & (m >= 2 * pp - 1))

    def why_not(self, pp: int, m: float, *, trains_all: bool) -> str:
        """That it has no pipeline, too few micro-batches, or nothing to fill it with."""
        if pp == 1 or not trains_all:
            return f"schedule {self.name} needs pp > 1 and a job that trains all weights"
        return (
            f"schedule {self.name} with pp {pp} and {m:g} micro-batches: at least {2 * pp - 1} "
            f"(2 pp - 1) are needed; nearest: {2 * pp - 1}"
        )

    def place(self, stage: IntArray, chunk: IntArray, pp: IntArray, v: IntArray) -> IntArray:
        """Down the ranks and back."""
        return np.where(chunk == 1, 2 * pp - 1 - stage, stage)

    def in_flight(
        self, pp: IntArray, v: IntArray, m: FloatArray, position: FloatArray
    ) -> FloatArray:
        """As many on every rank."""
        return np.minimum(m, pp + 0.0 * position)

    def most_in_flight(
        self, pp: IntArray, v: IntArray, m: FloatArray, position: FloatArray, chunks: FloatArray
    ) -> FloatArray:
        """See the module."""
        first = 2 * pp[:, None] - position
        held = [
            np.minimum(m, first - more) * chunks[..., 0]
            + np.minimum(m, position + more) * chunks[..., 1]
            for more in (0, 1)
        ]
        return np.maximum(*held)

    def bubble_s(self, step: StepTimes, own: BoolArray) -> FloatArray:
        """See the module."""
        n, (f, b, w) = step.pp - 1, self._passes(step)
        falling = [
            2 * n * (b - w),
            (2 * n - 1) * f - (n - 1) * b,
            2 * n * f - n * b - w,
            2 * n * f - (2 * n + 1) * w,
            (2 * n - 1) * f + b - 2 * n * w,
        ]
        return np.asarray(reduce(np.maximum, [*self._rising(step), *falling]) + self._lag_s(step))

    def least_bubble_s(self, step: StepTimes, own: BoolArray) -> FloatArray:
        """The parts of the bubble that never fall when a pass takes longer."""
        return np.asarray(reduce(np.maximum, self._rising(step)) + self._lag_s(step))

    def _rising(self, step: StepTimes) -> list[FloatArray]:
        n, (f, b, w) = step.pp - 1, self._passes(step)
        return [n * b, b + (n - 1) * w, f + (n - 1) * w]

    def _sends(self, step: StepTimes) -> FloatArray:
        """Seconds of a message in which the rank that sends it is busy."""
        return self.exposed_sends(step.assumptions, step.v) / step.v * step.p2p / 2

    def _lag_s(self, step: StepTimes) -> FloatArray:
        return np.asarray(5 * (step.pp - 1) * (step.p2p / 2 - self._sends(step)))

    def _passes(self, step: StepTimes) -> tuple[FloatArray, FloatArray, FloatArray]:
        """F, B and W of the module, the means over chunks."""
        busy = self._sends(step) + step.assumptions.micro_batch_s / step.v / 2
        ranks = step.split_passes()
        total, backward, w = (
            reduce(np.add, [one.count * getattr(one, name) for one in ranks]) / step.pp / step.v
            for name in ("total", "backward", "weight_grad")
        )
        return total - backward + busy, backward - w + busy, w

    def orders(self, pp: int, m: int, v: int = 2) -> Orders:
        """See the module."""
        self.check(pp, m, v)
        if pp == 1:
            raise ValueError(f"no schedule {self.name} of one stage")
        found = orders_from([_order(pp, m, rank) for rank in range(pp)], 2, m)
        return Orders(
            kind=found.kind,
            micro_batch=found.micro_batch,
            chunk=found.chunk,
            chunks=2,
            micro_batches=m,
            places=self.places(pp, v),
        )


def _order(pp: int, m: int, rank: int) -> IntArray:
    """(3, 6 m) kinds, micro-batches and chunks of a rank."""
    left = pp - rank
    words = ["F0"] * (2 * left - 1) + ["F1", "F0"] * rank + list(_BOTH) * left
    for ahead in range(pp + left - 1, m + left - 1):
        words += ["F0"] * (ahead < m) + ["B0", "W0", *_BOTH]
    words += ["B0", "B1"] * rank + ["B0", "W0"] * left
    count = Counter(words)
    words += ["W1"] * (m - count["W1"]) + ["W0"] * (m - count["W0"])
    seen: Counter[str] = Counter()
    table = []
    for word in words:
        table.append((_KINDS[word[0]], seen[word], int(word[1])))
        seen[word] += 1
    return np.array(table, dtype=np.int64).T


SCHEDULE = ZeroBubbleV()

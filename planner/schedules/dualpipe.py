"""DualPipe: two pipelines in opposite directions over the same ranks.

`planner.schedules.bidirectional` has the equations, `planner.schedules.dualpipe_order` the order.

Source: DeepSeek-V3, arXiv:2412.19437, section 3.2.1, figure 5 and table 2.
"""

from __future__ import annotations

import math

import numpy as np

from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.schedules.bidirectional import every_rank, rank_classes, wait_s
from planner.schedules.dualpipe_order import rank_order
from planner.schedules.orders import Orders
from planner.schedules.passes import StepTimes
from planner.schedules.schedule import Schedule, StageRows, StepForms


class DualPipe(Schedule):
    """See the module."""

    name = "dualpipe"
    source = "DeepSeek-V3, arXiv:2412.19437, section 3.2.1, figure 5 and table 2"
    rule_source = (
        "deepseek-ai/DualPipe dualpipe.py, step: ranks and micro-batches even, at least two "
        "micro-batches per rank; weight gradients apart"
    )
    replicas = 2
    side_by_side = True
    splits_backward = True
    lists_chunks = True
    uneven = True

    def runs_on(self, pp: IntArray) -> BoolArray:
        """With pairs of ranks."""
        return np.asarray((pp > 1) & (pp % 2 == 0))

    def runs(self, pp: IntArray, m: IntArray) -> BoolArray:
        """Also with an even m of at least 2 pp."""
        return np.asarray(self.runs_on(pp) & (m % 2 == 0) & (m >= 2 * pp))

    def why_not(self, pp: int, m: float, *, trains_all: bool) -> str:
        """Why it cannot run micro-batches in both directions."""
        if not trains_all:
            return f"schedule {self.name} needs a job that trains all weights"
        if pp == 1 or pp % 2:
            return f"schedule {self.name} needs an even pp > 1, not {pp}; nearest: {pp + 1}"
        return (
            f"schedule {self.name} with pp {pp} and {m:g} micro-batches: an even number of at "
            f"least {2 * pp} is needed; nearest: {max(2 * pp, 2 * math.ceil(m / 2))}"
        )

    def chunks(self, v: IntArray) -> IntArray:
        """One of each direction."""
        return np.asarray(2 * v)

    def place(self, stage: IntArray, chunk: IntArray, pp: IntArray, v: IntArray) -> IntArray:
        """D and pp - 1 - d."""
        return np.where(chunk == 1, pp - 1 - stage, stage)

    def every_stage(self, kinds: IntArray, pp: int) -> StageRows:
        """Every rank, with the layers of its chunks."""
        return every_rank(kinds)

    def stage_classes(self, kinds: IntArray, pp: int) -> StageRows:
        """Ranks d and pp - 1 - d are equal; more where both chunks hold the same."""
        return rank_classes(kinds)

    def in_flight(
        self, pp: IntArray, v: IntArray, m: FloatArray, position: FloatArray
    ) -> FloatArray:
        """Of equal chunks half of both together."""
        return np.minimum(m, (pp + 1) / 2 + 0.0 * position)

    def most_in_flight(
        self, pp: IntArray, v: IntArray, m: FloatArray, position: FloatArray, chunks: FloatArray
    ) -> FloatArray:
        """Pp - d of chunk d, d + 1 of chunk pp - 1 - d."""
        ranks = chunks[..., 0] * (pp[:, None] - position) + chunks[..., 1] * (position + 1)
        return np.where(m > 0, ranks, 0.0)

    def exposed_sends(self, a: Assumptions, v: FloatArray | IntArray) -> FloatArray:
        """The passes beside them hide the others."""
        return np.asarray(1 - a.beside_overlap + 0.0 * np.asarray(v))

    def bubble_s(self, step: StepTimes, own: BoolArray) -> FloatArray:
        """T of the module beyond rounds of the slowest rank with the messages that pace them."""
        return wait_s(
            step.assumptions,
            step.split_passes(),
            step.hidden(),
            step.p2p,
            step.rounds,
            step.slowest,
        )

    def step_forms(self, m: int, v: int, *, bubbles: bool) -> StepForms:
        """The larger of P_paced + S_early and P_paced + P_over + S_late."""
        if not bubbles:
            return StepForms(sums=(), peaks=("round",), forms=(((), (1,)),))
        return StepForms(
            sums=("early", "late"),
            peaks=("paced", "over"),
            forms=(((1, 0), (1, 0)), ((0, 1), (1, 1))),
        )

    def orders(self, pp: int, m: int, v: int = 1) -> Orders:
        """See `planner.schedules.dualpipe_order`."""
        self.check(pp, m, v)
        if pp == 1:
            raise ValueError(f"no schedule {self.name} of one stage")
        table = np.array([rank_order(pp, m, rank) for rank in range(pp)], dtype=np.int64)
        return Orders(
            kind=table[:, :, 0],
            micro_batch=table[:, :, 1],
            chunk=table[:, :, 2],
            chunks=2,
            micro_batches=m,
            joined=table[:, :, 3] > 0,
            places=self.places(pp, v),
        )

    def caveats(self, a: Assumptions) -> list[str]:
        """That no published run tells what its passes hide."""
        return [
            f"{self.name}: assumed, not fitted: passes side by side hide {a.beside_overlap:.0%} of "
            f"all-to-alls and messages, products run at {a.beside_kernels:.0%} of their rate "
            "beside all-to-alls (dualpipe_overlap, dualpipe_kernels)"
        ]


SCHEDULE = DualPipe()

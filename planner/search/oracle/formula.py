"""Time, energy and memory of a plan over whole numbers, for `planner.search.oracle.oracle`.

The formulas of `planner.cost.step` and `planner.cost.memory.memory`, written independently of
them, as expressions that the constraint solver and the join of `solvers.factored` both evaluate. A
quantum is the oracle's unit of time; stage classes are numbered, and a name ends in the number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from solvers.factored import Ops

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFormula:
    """The step of `planner.cost.step` over whole numbers of quanta.

    Attributes:
        classes, chips: Stage classes; chips of the job.
        common: A multiple of every interleave, so that what is divided by it stays whole.
        micro_s, step_s: Overheads per micro-batch and step, in quanta.
        standing_w: Power per chip whatever happens, in quanta.
        waits: 1 where pipelines have bubbles, else 0.
    """

    classes: int
    chips: int
    common: int
    micro_s: int
    step_s: int
    standing_w: int
    waits: int

    @staticmethod
    def of(
        a: Assumptions,
        *,
        classes: int,
        chips: int,
        common: int,
        seconds: Callable[[float], int],
        standing_w: int,
    ) -> StepFormula:
        """The formula under some assumptions."""
        return StepFormula(
            classes=classes,
            chips=chips,
            common=common,
            micro_s=seconds(a.micro_batch_s),
            step_s=seconds(a.step_s),
            standing_w=standing_w,
            waits=int(a.bubbles),
        )

    def time(self, v: Values, ops: Ops) -> Any:
        """`common` times m (t_max + c_mb + s p2p) + bubble + exposed + optimizer + c_step.

        t_max is the slowest stage, under GPipe the slowest forward and the slowest backward pass.
        """
        stages = [self._stage_s(v, i) for i in range(self.classes)]
        forward = [self._forward_s(v, i) for i in range(self.classes)]
        backward = [stage + ahead * -1 for stage, ahead in zip(stages, forward, strict=True)]
        passes = ops.maximum(*forward) + ops.maximum(*backward)
        slowest = ops.maximum(*stages, self.waits * v["gpipe"] * passes)
        others = sum((v[f"count{i}"] * s for i, s in enumerate(stages)), slowest * -1)
        steady = v["m"] * (slowest + self.micro_s + v["paced"])
        optimizer = ops.maximum(*(v[f"optimizer{i}"] for i in range(self.classes)))
        waits = v["share"] * (others + (v["pp"] - 1) * self.micro_s)
        waits = waits + (v["pp"] - 1) * v["p2p"] * self.common
        once = self._exposed_s(v, ops) + optimizer + self.step_s
        return self.common * (steady + once) + self.waits * waits

    def energy(self, v: Values, ops: Ops) -> Any:
        """`common` times chips / pp * sum of kernels * extra power + chips * T * standing."""
        busy = sum(
            (v[f"count{i}"] * self._kernels_s(v, i) for i in range(1, self.classes)),
            v["count0"] * self._kernels_s(v, 0),
        )
        extra = self.common * (v["ranks"] * (busy * v["extra_w"]))
        return extra + self.chips * self.standing_w * self.time(v, ops)

    def bytes_here(self, v: Values, ops: Ops) -> Any:
        """Bytes on the chip of the fullest stage: state + max(live + buffers, phase)."""
        return ops.maximum(
            *(
                v[f"state{i}"] + ops.maximum(v[f"live{i}"] + v[f"buffers{i}"], v[f"phase{i}"])
                for i in range(self.classes)
            )
        )

    def bytes_on_host(self, v: Values, ops: Ops) -> Any:
        """Bytes on the host of the stage that moves most."""
        return ops.maximum(*(v[f"host{i}"] + v[f"host_live{i}"] for i in range(self.classes)))

    def _stage_s(self, v: Values, i: int) -> Any:
        layers = v[f"dense{i}"] * v["dense_total"] + v[f"moe{i}"] * v["moe_total"]
        return layers + self._ends_s(v, i)

    def _forward_s(self, v: Values, i: int) -> Any:
        layers = v[f"dense{i}"] * v["dense_ahead"] + v[f"moe{i}"] * v["moe_ahead"]
        first = v[f"first{i}"] * (v["embedding"] - v["tower_back"])
        return layers + first + v[f"last{i}"] * v["head_ahead"]

    def _ends_s(self, v: Values, i: int) -> Any:
        return v[f"first{i}"] * v["embedding"] + v[f"last{i}"] * v["head"]

    def _kernels_s(self, v: Values, i: int) -> Any:
        layers = v[f"dense{i}"] * v["dense_kernels"] + v[f"moe{i}"] * v["moe_kernels"]
        return v["m"] * (layers + self._ends_s(v, i)) + v[f"optimizer_kernels{i}"]

    def _exposed_s(self, v: Values, ops: Ops) -> Any:
        """Largest of all stages: c - min(overlap c, overlap window t_b)."""
        stages = range(self.classes)
        return ops.maximum(
            *(
                v[f"collective{i}"] - ops.minimum(v[f"hidden{i}"], self._hiding_s(v, i))
                for i in stages
            )
        )

    def _hiding_s(self, v: Values, i: int) -> Any:
        layers = v[f"dense{i}"] * v["dense_hides"] + v[f"moe{i}"] * v["moe_hides"]
        return layers + v[f"first{i}"] * v["tower_hides"] + v[f"last{i}"] * v["head_hides"]

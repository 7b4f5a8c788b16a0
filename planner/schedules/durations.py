"""How long the operations of a pipeline take: what a simulation of its schedule is given."""

from __future__ import annotations

from frozen_records import dataclass
from planner.base.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Seconds of every operation of a plan.

    Attributes:
        forward_s, backward_s, weight_grad_s: (pp, v) of one micro-batch on a chunk; backward is
            the gradients of the inputs alone where weight_grad_s is not 0.
        send_s: Of these, in forward and backward pass each, while a message is sent.
        lag_s: From the end of an operation until its result is at the next stage, which hides it.
        reduction_s, optimizer_s: (pp,) once per step: exposed reduction, optimizer.
        overhead_s: Once per step, on all stages.
        hidden_s: (2, pp, v) what forward and backward passes hide beside one another, or None.
    """

    forward_s: FloatArray
    backward_s: FloatArray
    weight_grad_s: FloatArray
    send_s: float
    lag_s: float
    reduction_s: FloatArray
    optimizer_s: FloatArray
    overhead_s: float
    hidden_s: FloatArray | None = None

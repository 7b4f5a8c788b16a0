"""Seconds that the jobs of one installation waited for nothing: messages that took half a second.

Of the runs that Hugging Face published for its Ultra-Scale Playbook about a third took another
second or more per micro-batch, whatever its size, the model, and the number of micro-batches; the
same plan, published twice, once did and once did not. No code of nanotron waits so long, so this
is the installation. What it adds is regular:

    with a pipeline      receive_s for every message that a middle stage waits for:
                         (1 where pp = 2, else 2) m + max(pp - 3, 0)
    without              layer_s for every layer and micro-batch

Which runs it befell shows in two things that a plan says: nearly all jobs on `nodes` nodes, the
largest, and all whose tensor ranks spread over `tp_nodes` nodes beside a pipeline. Others, about a
sixth, cannot be told beforehand. Constants: `stall` in `hardware_db/data/calibration`, fitted by
`benchmarks/stalls.py`, which predicts one half of the runs by the other.
"""

from __future__ import annotations

import math

from frozen_records import dataclass
from hardware_db import Calibration
from planner.evidence.runs.rows import Run


@dataclass(frozen=True, slots=True)
class Counts:
    """What stalls of a run: messages that a middle stage waits for, or layers times micro-batches.

    Attributes:
        receives: 0 without a pipeline.
        layers: 0 with one.
    """

    receives: float
    layers: float

    @staticmethod
    def of(run: Run) -> Counts:
        """Those of a run's step."""
        plan = run.plan
        m = run.job.global_batch / (plan.dp * plan.fsdp * plan.micro_batch)
        if plan.pp == 1:
            return Counts(receives=0.0, layers=m * run.job.model.layers)
        return Counts(receives=min(plan.pp - 1, 2) * m + max(plan.pp - 3, 0), layers=0.0)

    def seconds(self, receive_s: float, layer_s: float) -> float:
        """Seconds that a stalled run waits."""
        return self.receives * receive_s + self.layers * layer_s


def stall_s(run: Run, constants: Calibration) -> float:
    """Seconds that a run is expected to have stalled; 0 where it is not known to."""
    if not run.profile.stalls or not is_expected(run, constants):
        return 0.0
    return most_stall_s(run, constants)


def most_stall_s(run: Run, constants: Calibration) -> float:
    """Seconds that a run stalls if it does; 0 on installations without stalls."""
    if not (group := run.profile.stalls):
        return 0.0
    receive_s, layer_s = (
        constants.value(f"stall.{group}.{name}") for name in ("receive_s", "layer_s")
    )
    return Counts.of(run).seconds(receive_s, layer_s)


def has_stalled(run: Run, predicted_s: float, stall_s: float) -> bool:
    """Whether a run's measured time is nearer to its prediction with the stall than without."""
    if stall_s == 0.0:
        return False
    with_s, without_s = (
        abs(math.log(run.measured_step_time_s / seconds))
        for seconds in (predicted_s + stall_s, predicted_s)
    )
    return with_s < without_s


def is_expected(run: Run, constants: Calibration) -> bool:
    """Whether a run's plan is one of those that stalled on its installation."""
    plan, node = run.plan, run.cluster.node_chips
    nodes, tp_nodes = (
        constants.value(f"stall.{run.profile.stalls}.{name}") for name in ("nodes", "tp_nodes")
    )
    if plan.tp >= tp_nodes * node:
        return plan.pp > 1
    return plan.chips >= nodes * node

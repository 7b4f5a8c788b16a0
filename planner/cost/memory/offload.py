"""When keeping the optimizer on the host can pay although it fits on the chip."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.cost.energy.clock import extra_w
from planner.cost.terms import host_rates


def offloads_only_cost(model: CostModel) -> bool:
    """Whether a plan never gets faster or cheaper by moving state or activations to the host.

    Weights and activations only add transfers. The optimizer step takes `here` seconds per
    parameter on the chip and `there` on the host, which saves the power of running kernels but
    makes everything else wait:

        there >= here   and   (there - here) (P_wait + P_host) >= here (P_busy - P_wait)

    The slowest stage decides the time and the mean stage the energy saved, so what holds per
    parameter holds for any plan.
    """
    a, chip = model.assumptions, model.chip
    link, host = host_rates(model)
    here = a.optimizer_traffic_bytes / a.memory_bytes_per_s
    there = (a.gradient_wire_bytes + 2.0) / link + a.optimizer_traffic_bytes / host
    saved_j = here * float(extra_w(chip, np.array(1.0)))
    return there >= here and (there - here) * (chip.wait_w + chip.host_w) >= saved_j

"""A limit on mean power at a boundary, as one on node and fabric, which searches work with.

What lies between two boundaries is decided by the number of chips, whatever a plan does on them:

    P_chip = P - chips (P_host + P_net)     P: node and fabric, E / T
    P_node = P - chips P_net
    P_facility = PUE P

so a plan draws at most W inside a boundary exactly where P is at most `Meter.it_w(W)`. Where energy
is that of components only, what the network draws depends on the plan, and the two boundaries below
node and fabric have no such limit (`below_fabric`).
"""

from __future__ import annotations

from collections.abc import Sequence

from frozen_records import dataclass
from planner.base.vocabulary import BOUNDARIES
from planner.cost.context import CostModel
from planner.cost.energy.boundaries import PRINTED
from planner.cost.pools.pools import Pool, network_w, total_chips

_ROUNDED_UP = 1 + 1e-14
"""A plan that draws just what is allowed stays allowed, however its joules were added up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """What a meter around a boundary shows of plans on some chips.

    Attributes:
        scale: Watts that it shows for each one inside node and fabric.
        outside_w: Watts of node and fabric that it does not see.
    """

    scale: float = 1.0
    outside_w: float = 0.0

    def shown_w(self, power_w: float) -> float:
        """What it shows where node and fabric draw `power_w`."""
        return self.scale * (power_w - self.outside_w)

    def it_w(self, shown_w: float) -> float:
        """The most that node and fabric may draw where it shows at most `shown_w`."""
        return (shown_w / self.scale + self.outside_w) * _ROUNDED_UP


def below_fabric(boundary: str) -> bool:
    """Whether a boundary leaves out some of node and fabric."""
    return BOUNDARIES.index(boundary) < BOUNDARIES.index(PRINTED)


def meter_of(model: CostModel, boundary: str, chips: int) -> Meter:
    """The meter around a boundary of plans on so many chips.

    Args:
        model: Chip, cluster, facility.
        boundary: One of `BOUNDARIES`; where energy is that of components not `below_fabric`.
        chips: Chips of the plans.
    """
    if boundary == BOUNDARIES[-1]:
        return Meter(scale=model.facility.pue)
    if boundary == PRINTED:
        return Meter()
    outside_w = model.network_w_per_chip(chips)
    if boundary == BOUNDARIES[0]:
        outside_w += model.chip.host_w
    return Meter(outside_w=chips * outside_w)


def pooled_meter(pools: Sequence[Pool], boundary: str) -> Meter:
    """As `meter_of`, of plans on all chips of pools, which are in one facility."""
    if not below_fabric(boundary):
        return meter_of(pools[0].model, boundary, pools[0].chips)
    total = total_chips(pools)
    host = boundary == BOUNDARIES[0]
    each = [network_w(pool, total) + host * pool.model.chip.host_w for pool in pools]
    return Meter(outside_w=sum(pool.chips * w for pool, w in zip(pools, each, strict=True)))


def waiting_w_per_chip(model: CostModel, boundary: str) -> float:
    """What a meter shows of a chip that only waits, without its share of the network."""
    if model.assumptions.component_energy:
        return 0.0
    scale = model.facility.pue if boundary == BOUNDARIES[-1] else 1.0
    return scale * (model.chip.wait_w + (boundary != BOUNDARIES[0]) * model.chip.host_w)

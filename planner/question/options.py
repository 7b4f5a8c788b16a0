"""What the user narrows or widens before a search."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from frozen_records import dataclass
from planner.assumptions.software import FrameworkProfile
from planner.base.arrays import BoolArray, IntArray
from planner.base.vocabulary import MESH_AXES
from planner.frameworks.targets import Target
from planner.plan import ORDERS


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceOptions:
    """What the user narrows or widens.

    Attributes:
        axes: Mesh axes that may exceed 1; None: all.
        fixed: Values that a field must take, e.g. {"pp": {8}, "sharding": {3}} (codes).
        offload: Whether state and activations may move to the host.
        clocks: Whether the chip's clock levels are a decision.
        all_orders: All orders of the axes; else those of the framework's rank layout.
        torus: Beside the orders, all layouts of the axes over the torus of the cluster.
        layers: Layers of every chunk of the pipeline in order; None: they are a decision. Only a
            search of uneven pipelines reads it.
        runnable_in: What has to run the plans, all of them.
    """

    axes: frozenset[str] | None = None
    fixed: dict[str, frozenset[int]] = field(default_factory=dict)
    offload: bool = False
    clocks: bool = True
    all_orders: bool = False
    torus: bool = False
    layers: tuple[int, ...] | None = None
    runnable_in: tuple[Target, ...] = ()

    def orders(self, framework: FrameworkProfile) -> tuple[tuple[str, ...], ...]:
        """The orders of the axes to consider, innermost first."""
        return ORDERS if self.all_orders else framework.orders or ORDERS

    def allows(self, name: str, values: IntArray) -> BoolArray:
        """(n,) whether the values of a field are among those asked for."""
        ok = np.ones(len(values), dtype=np.bool_)
        if name in MESH_AXES and self.axes is not None and name not in self.axes:
            ok &= values == 1
        if name in self.fixed:
            ok &= np.isin(values, list(self.fixed[name]))
        return ok

"""The formulas with continuous X and Y for a machine: its alpha, and M_X and M_Y where given.

How to Scale Your Model, part 5, "Combining FSDP and Tensor Parallelism": X and Y need not be
whole, and M_X, M_Y torus axes serve them. Where `torus_axes` gives both, or no whole mesh is
compute-bound, the formulas are those of `planner.studies.feasibility.textbook.algebra`; elsewhere
the split with the least communication follows from the rates of a whole mesh, which stand for
M_X / M_Y.
"""

from __future__ import annotations

import math

import numpy as np

from frozen_records import dataclass
from planner.cost.context import CostModel
from planner.frameworks.rules import divisors
from planner.studies.feasibility.strategies import Strategy
from planner.studies.feasibility.textbook import algebra
from planner.studies.feasibility.textbook.meshes import MeshLimits

_FEWEST = 2
"""Ranks of TP that are any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuous:
    """What the formulas need of a machine and a model.

    Attributes:
        chips: N.
        width: F.
        intensity: alpha of one torus axis.
        axes_x, axes_y: M_X, M_Y.
        pods: Slices, 1 inside one.
        across: Tokens per step that hide the reduction across slices; 0 inside one.
    """

    chips: int
    width: float
    intensity: float
    axes_x: float
    axes_y: float
    pods: int = 1
    across: float = 0.0

    @property
    def least(self) -> float:
        """Tokens per step above which FSDP + TP is compute-bound, across pods as well."""
        mixed = algebra.least_batch_mixed(
            self.width, self.chips, self.intensity, self.axes_x, self.axes_y
        )
        return max(mixed, self.across)

    @property
    def most_tp(self) -> float:
        """M_Y F / alpha."""
        return algebra.largest_tp(self.width, self.intensity, self.axes_y)

    def most_chips(self, batch_tokens: float) -> float:
        """Chips up to which FSDP + TP in one slice is compute-bound at a batch."""
        if self.most_tp <= 1.0:
            return 0.0
        each = self.intensity**2 / (self.axes_x * self.axes_y * self.width)
        return batch_tokens / max(each, 1.0)

    def x_opt(self, batch_tokens: float) -> float:
        """FSDP ranks of one slice with the least communication."""
        every = algebra.optimal_fsdp(batch_tokens, self.width, self.chips, self.axes_x, self.axes_y)
        return every / self.pods


def axis_bytes_per_s(model: CostModel, chips: int) -> float | None:
    """W of one torus axis in both directions; None where the innermost level is no torus."""
    torus = model.fabric(chips).levels[0].torus
    return None if torus is None else torus.ring_links * torus.link_bytes_per_s


def continuous_of(model: CostModel, strategy: Strategy, limits: MeshLimits) -> Continuous | None:
    """The formulas of a mixed strategy where its torus axes are given.

    Those of FSDP + TP also where no whole mesh is compute-bound, on the axes that allow the
    smallest batch; None elsewhere.
    """
    rate = axis_bytes_per_s(model, limits.chips)
    if rate is None or strategy.name not in ("fsdp+tp", "across-pods"):
        return None
    intensity = algebra.operational_intensity(model.assumptions.matmul_flop_per_s, rate)
    axes = _axes(model, strategy, limits, intensity)
    if axes is None:
        return None
    pods = int(limits.plans.dp[0]) if strategy.pods else 1
    return Continuous(
        chips=limits.chips,
        width=float(model.shapes.dense_width),
        intensity=intensity,
        axes_x=axes[0],
        axes_y=axes[1],
        pods=pods,
        across=float(limits.across.max()) if strategy.pods else 0.0,
    )


def _axes(
    model: CostModel, strategy: Strategy, limits: MeshLimits, intensity: float
) -> tuple[float, float] | None:
    """M_X and M_Y: as given, or, where no whole mesh is compute-bound, the best of whole axes.

    The text splits the axes of a slice among both, and of splits that are as good gives FSDP more.
    A split for which two ranks of TP would be too many has no mesh.
    """
    given = model.torus_axes
    if given or strategy.pods or np.isfinite(limits.least).any():
        return (given["fsdp"], given["tp"]) if {"fsdp", "tp"} <= given.keys() else None
    torus = model.fabric(limits.chips).levels[0].torus
    count = 0 if torus is None else sum(size > 1 for size in torus.dims)
    width = float(model.shapes.dense_width)
    least = {
        (count - tp, tp): algebra.least_batch_mixed(width, limits.chips, intensity, count - tp, tp)
        for tp in range(1, count)
        if algebra.largest_tp(width, intensity, tp) >= _FEWEST
    }
    return min(least, key=least.__getitem__, default=None)


def x_opt_of_mesh(
    model: CostModel, limits: MeshLimits, row: int, batch_tokens: float
) -> float | None:
    """X_opt of FSDP inside a slice or stage from the rates of a whole mesh; None without TP."""
    plans = limits.plans
    if plans.tp[row] == 1 or plans.fsdp[row] * plans.cp[row] == 1 or batch_tokens <= 0:
        return None
    ratio = float(limits.beta_y[row] / limits.beta_x[row])
    chips = limits.chips / int(plans.pp[row])
    every = math.sqrt(batch_tokens / model.shapes.dense_width * ratio * chips)
    return every / float(plans.dp[row] * plans.cp[row])


def nearest_split(x_opt: float, chips: int, width: int, least_tp: int = 2) -> dict[str, int] | None:
    """The whole split X Y = `chips` whose X is nearest to X_opt in ratio, and whose Y divides F.

    Args:
        x_opt: FSDP ranks with the least communication.
        chips: Chips that are split.
        width: F.
        least_tp: Smallest Y.
    """
    pairs = [
        (x, chips // x)
        for x in divisors(chips)
        if width % (chips // x) == 0 and chips // x >= least_tp
    ]
    if not pairs:
        return None
    goal = math.log2(max(x_opt, 1e-9))
    fsdp, tp = min(pairs, key=lambda pair: abs(math.log2(pair[0]) - goal))
    return {"fsdp": fsdp, "tp": tp}

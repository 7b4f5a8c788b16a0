"""The curves of a textbook's pictures: time to compute and to communicate, per layer and pass.

How to Scale Your Model, part 5, "Combining FSDP and Tensor Parallelism": the ratio of both on a
4x4x4 slice and the times on a 16x16x16 slice against the batch, and the total over the split of
the chips into X and Y. Pure FSDP and pure TP have all links of the slice; their mix has M_X and M_Y
axes of a torus with continuous X and Y, or elsewhere the best whole mesh.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray
from planner.cost.context import CostModel
from planner.studies.feasibility.strategies import STRATEGIES
from planner.studies.feasibility.textbook import algebra
from planner.studies.feasibility.textbook.continuous import axis_bytes_per_s
from planner.studies.feasibility.textbook.meshes import MeshLimits, mesh_limits

_BY_NAME = {strategy.name: strategy for strategy in STRATEGIES}
_POINTS = 241
_LOWEST, _HIGHEST = 1.0 / 64.0, 16.0  # batches around the threshold of pure FSDP


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the curves depend on.

    Attributes:
        chips: N.
        hidden, width: D, F.
        flop_per_s: C.
        all_bytes_per_s: Ring rate of a group of all chips.
        axes: M_X W and M_Y W in bytes/s where X and Y are continuous, else None.
        meshes: Whole meshes of FSDP + TP, where there are any.
    """

    chips: int
    hidden: float
    width: float
    flop_per_s: float
    all_bytes_per_s: float
    axes: tuple[float, float] | None
    meshes: MeshLimits | None

    def math_s(self, batches: FloatArray) -> FloatArray:
        """T_math of a layer's forward pass."""
        return algebra.math_s(batches, self.hidden, self.width, self.chips, self.flop_per_s)

    def fsdp_s(self, batches: FloatArray) -> FloatArray:
        """T_comms of pure DP or FSDP, whatever the batch."""
        once = algebra.fsdp_s(self.hidden, self.width, 1.0, 1.0, self.all_bytes_per_s)
        return np.full(batches.shape, once)

    def tp_s(self, batches: FloatArray) -> FloatArray:
        """T_comms of pure TP."""
        alone = np.ones(1)
        return algebra.tp_s(batches, self.hidden, alone, 1.0, self.all_bytes_per_s)

    def mixed_s(self, batches: FloatArray) -> FloatArray:
        """T_comms of FSDP + TP at the best split for each batch."""
        if self.axes is not None:
            return np.asarray(self.split_s(batches, self._best_x(batches)).max(axis=0))
        if self.meshes is None:
            return np.full(batches.shape, np.nan)
        parts = self._of_meshes(batches[:, None], self.meshes)
        return np.asarray(np.maximum(*parts).min(axis=1))

    def _best_x(self, batches: FloatArray) -> FloatArray:
        """X_opt for each batch, between 1 and N."""
        assert self.axes is not None
        x = algebra.optimal_fsdp(batches, self.width, self.chips, *self.axes)
        return np.clip(x, 1.0, float(self.chips))

    def _of_meshes(
        self, batches: FloatArray | float, meshes: MeshLimits
    ) -> tuple[FloatArray, FloatArray]:
        """T_comms of FSDP and of TP on whole meshes."""
        tp, x = meshes.plans.tp.astype(np.float64), meshes.plans.fsdp.astype(np.float64)
        gathers = algebra.fsdp_s(self.hidden, self.width, tp, 1.0, 1.0 / meshes.beta_x)
        return gathers, algebra.tp_s(batches, self.hidden, x, 1.0, 1.0 / meshes.beta_y)

    def split_s(self, batches: FloatArray, x: FloatArray) -> FloatArray:
        """(2, ...) T_comms of FSDP and of TP for continuous X."""
        assert self.axes is not None
        gathers = algebra.fsdp_s(self.hidden, self.width, self.chips / x, 1.0, self.axes[0])
        exchanges = algebra.tp_s(batches, self.hidden, x, 1.0, self.axes[1])
        return np.stack(np.broadcast_arrays(gathers, exchanges))

    def whole_splits(self, batch_tokens: float) -> tuple[FloatArray, FloatArray]:
        """(k,) X of whole meshes, ascending, and (2, k) T_comms of FSDP and TP at the best."""
        if self.meshes is None:
            return np.empty(0), np.empty((2, 0))
        plans = self.meshes.plans
        x = plans.fsdp.astype(np.float64)
        if self.axes is not None:
            kept = np.unique(x)
            return kept, self.split_s(np.asarray(batch_tokens), kept)
        gathers, exchanges = self._of_meshes(batch_tokens, self.meshes)
        order = np.lexsort((np.maximum(gathers, exchanges), x))
        first = order[np.unique(x[order], return_index=True)[1]]
        return x[first], np.stack([gathers[first], exchanges[first]])

    def batches(self) -> FloatArray:
        """Batches around the threshold of pure FSDP, evenly spaced in their logarithm."""
        pure = self.chips * self.flop_per_s / self.all_bytes_per_s
        low, high = max(pure * _LOWEST, float(self.chips)), pure * _HIGHEST
        return np.geomspace(low, high, _POINTS)

    def crossing(self) -> float:
        """Smallest batch from which FSDP + TP is compute-bound, by bisection; nan for none."""
        batches = np.geomspace(self.chips, self.batches()[-1], 4 * _POINTS)
        good = self._hides(batches)
        if not good.any():
            return float("nan")
        first = int(np.argmax(good))
        low, high = (batches[max(first - 1, 0)], batches[first])
        for _ in range(60):
            middle = np.sqrt(low * high)
            hides = bool(self._hides(np.array([middle]))[0])
            low, high = (low, middle) if hides else (middle, high)
        return float(high)

    def _hides(self, batches: FloatArray) -> BoolArray:
        return np.asarray(self.mixed_s(batches) <= self.math_s(batches) * (1 + 1e-12))

    def least_split(self, batch_tokens: float) -> tuple[float, float]:
        """X with the least communication, and its T_comms; of whole meshes where X is whole."""
        if self.axes is None:
            x, parts = self.whole_splits(batch_tokens)
        else:
            x = self._best_x(np.array([batch_tokens]))
            parts = self.split_s(np.asarray(batch_tokens), x)
        total = parts.max(axis=0)
        least = int(np.argmin(total))
        return float(x[least]), float(total[least])


def machine_of(model: CostModel, chips: int) -> Machine | None:
    """What the curves of a model on `chips` chips need; None where data parallelism has no mesh.

    Args:
        model: Job, cluster and the assumptions `roofline`; its torus axes are M_X and M_Y.
        chips: N.
    """
    pure = mesh_limits(model, _BY_NAME["zero3"], chips, np.inf)
    if pure is None:
        return None
    return Machine(
        chips=chips,
        hidden=float(model.job.model.hidden),
        width=float(model.shapes.dense_width),
        flop_per_s=model.assumptions.matmul_flop_per_s,
        all_bytes_per_s=float(1.0 / pure.beta_x.min()),
        axes=_axes_of(model, chips),
        meshes=mesh_limits(model, _BY_NAME["fsdp+tp"], chips, np.inf),
    )


def _axes_of(model: CostModel, chips: int) -> tuple[float, float] | None:
    """M_X W and M_Y W: as given, else all axes of the torus but one for FSDP and one for TP."""
    rate, rules = axis_bytes_per_s(model, chips), model.cluster.levels[0].torus
    if rate is None or rules is None or len(rules.pod) < 2:
        return None
    axes_x = model.torus_axes.get("fsdp", len(rules.pod) - 1.0)
    return axes_x * rate, model.torus_axes.get("tp", 1.0) * rate

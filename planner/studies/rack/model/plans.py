"""Ways to run a workload on a rack, as a struct of arrays."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, IntArray
from planner.base.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RackPlans:
    """n plans; every attribute has shape (n,).

    Chip c of a plan is tensor rank c mod tp, data rank (c div tp) mod dp and stage c div (tp dp).

    Attributes:
        dp: Data-parallel ranks; they split the batch.
        tp: Tensor-parallel ranks; they split einsums.
        pp: Pipeline stages; they hold whole einsums.
        zero: Whether data ranks hold 1 / dp of the weights each and fetch the rest (ZeRO).
        pes: Processing elements per chip.
        topology: Index into the machine's topologies.
        micro_batches: Parts of the batch that follow each other through the stages.
    """

    dp: IntArray
    tp: IntArray
    pp: IntArray
    zero: BoolArray
    pes: IntArray
    topology: IntArray
    micro_batches: IntArray

    def __len__(self) -> int:
        return len(self.dp)

    @property
    def chips(self) -> IntArray:
        """Chips of every plan."""
        return self.dp * self.tp * self.pp

    def take(self, rows: IntArray) -> RackPlans:
        """The plans of `rows`."""
        return RackPlans(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def rack_plans(
    *,
    pes: IntArray | int,
    dp: IntArray | int = 1,
    tp: IntArray | int = 1,
    pp: IntArray | int = 1,
    zero: BoolArray | bool = False,
    topology: IntArray | int = 0,
    micro_batches: IntArray | int = 1,
) -> RackPlans:
    """Plans from arrays and numbers that broadcast to one dimension.

    Raises:
        InputError: A count below one.
    """
    given = {"dp": dp, "tp": tp, "pp": pp, "pes": pes, "micro_batches": micro_batches}
    for name, values in given.items():
        if np.any(np.asarray(values) < 1):
            raise InputError(f"{name.replace('_', '-')}: {np.min(values)} is not at least 1")
    columns = np.broadcast_arrays(
        *(np.atleast_1d(values) for values in (*given.values(), zero, topology))
    )
    names = (*given, "zero", "topology")
    arrays = {
        name: column.astype(np.bool_ if name == "zero" else np.int64)
        for name, column in zip(names, columns, strict=True)
    }
    return RackPlans(**arrays)  # type: ignore[arg-type]

"""What a plan does on one of several pools of chips, as an immutable record."""

from __future__ import annotations

from typing import Any

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUse:
    """What a plan does on one pool.

    Attributes:
        name, hardware, chip, chips: The pool.
        stages: Which stages of the pipeline are on it, from 0.
        layers: Transformer layers on them.
        memory_bytes, memory_limit_bytes: Of its fullest chip, without the reserve; what a search
            lets it fill.
        fits: Whether all its stages do.
        alone_s: Step time of the best plan on this pool alone, of any mesh and layers; None: there
            is none, or it was not looked for.
        alone: How that search ended: optimal, feasible, infeasible, time_limit; None: not asked.
    """

    name: str
    hardware: str
    chip: str
    chips: int
    stages: tuple[int, ...]
    layers: int
    memory_bytes: float
    memory_limit_bytes: float
    fits: bool
    alone_s: float | None = None
    alone: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        own = {name: getattr(self, name) for name in self.__slots__}
        return {**own, "stages": list(self.stages)}

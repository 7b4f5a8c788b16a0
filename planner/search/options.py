"""What the user narrows or widens before a search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from planner.errors import InputError
from planner.plan import (
    CP_MODES,
    RECOMPUTES,
    SCHEDULES,
    SHARDINGS,
    SPLITS,
    BoolArray,
    IntArray,
)

MESH_AXES = ("tp", "cp", "pp", "dp", "fsdp", "ep")
CHOICES = (
    "sharding",
    "micro_batch",
    "schedule",
    "interleave",
    "split",
    "sequence_parallel",
    "cp_mode",
    "recompute",
)
_NAMED: dict[str, tuple[str, ...]] = {
    "sharding": SHARDINGS,
    "schedule": SCHEDULES,
    "split": SPLITS,
    "cp_mode": CP_MODES,
    "recompute": RECOMPUTES,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceOptions:
    """What the user narrows or widens.

    Attributes:
        axes: Mesh axes that may exceed 1; None: all.
        fixed: Values that a field must take, e.g. {"pp": {8}, "sharding": {3}} (codes).
        offload: Whether state and activations may move to the host.
        clocks: Whether the chip's clock levels are a decision.
        all_orders: All orders of the axes; else those of the framework's rank layout.
    """

    axes: frozenset[str] | None = None
    fixed: dict[str, frozenset[int]] = field(default_factory=dict)
    offload: bool = False
    clocks: bool = True
    all_orders: bool = False

    def allows(self, name: str, values: IntArray) -> BoolArray:
        """(n,) whether the values of a field are among those asked for."""
        ok = np.ones(len(values), dtype=np.bool_)
        if name in MESH_AXES and self.axes is not None and name not in self.axes:
            ok &= values == 1
        if name in self.fixed:
            ok &= np.isin(values, list(self.fixed[name]))
        return ok


def fixed_values(name: str, texts: Iterable[str]) -> frozenset[int]:
    """Codes of the values that a user fixes, e.g. `fixed_values("sharding", ["zero3"])`.

    Raises:
        InputError: The field or one of its values is unknown.
    """
    allowed = (*MESH_AXES, *CHOICES)
    if name not in allowed:
        raise InputError(f"fix: unknown field {name!r}; allowed: {', '.join(allowed)}")
    return frozenset(_fixed_value(name, text) for text in texts)


def _fixed_value(name: str, text: str) -> int:
    if name in _NAMED:
        if text not in _NAMED[name]:
            raise InputError(f"fix {name}: {text!r} is not one of {', '.join(_NAMED[name])}")
        return _NAMED[name].index(text)
    if name == "sequence_parallel":
        if text.lower() not in {"true", "false"}:
            raise InputError(f"fix {name}: {text!r} is not true or false")
        return int(text.lower() == "true")
    if not text.isdigit() or int(text) < 1:
        raise InputError(f"fix {name}: {text!r} is not a positive whole number")
    return int(text)

"""What the user narrows or widens before a search."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planner.errors import InputError
from planner.frameworks import Framework
from planner.messages import did_you_mean, not_one_of, shown
from planner.plan import (
    CP_MODES,
    ORDERS,
    RECOMPUTES,
    SCHEDULES,
    SHARDINGS,
    SPLITS,
    BoolArray,
    IntArray,
)
from planner.targets import Target

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
LARGEST_SIZE = 2**31
_WHOLE = re.compile("0*[1-9][0-9]{0,11}")
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

    def orders(self, framework: Framework) -> tuple[tuple[str, ...], ...]:
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


def fixed_values(name: str, texts: Iterable[str]) -> frozenset[int]:
    """Codes of the values that a user fixes, e.g. `fixed_values("sharding", ["zero3"])`.

    Raises:
        InputError: The field or one of its values is unknown.
    """
    allowed = (*MESH_AXES, *CHOICES)
    if name not in allowed:
        raise InputError(
            f"fix: unknown field {shown(name)}{did_you_mean(name, allowed)}; "
            f"allowed: {', '.join(allowed)}"
        )
    return frozenset(_fixed_value(name, text) for text in texts)


def fix_schema() -> dict[str, Any]:
    """The JSON Schema of a mapping from fields to the values that they may take."""
    digits = {"type": "string", "pattern": "^[1-9][0-9]*$"}
    whole = {"anyOf": [{"type": "integer", "minimum": 1}, digits]}
    values: dict[str, dict[str, Any]] = {name: whole for name in (*MESH_AXES, *CHOICES)}
    values |= {name: {"type": "string", "enum": list(names)} for name, names in _NAMED.items()}
    values["sequence_parallel"] = {"enum": [True, False, "true", "false"]}
    return {
        "type": "object",
        "properties": {
            name: {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}
            for name, one in values.items()
        },
        "additionalProperties": False,
    }


def _fixed_value(name: str, text: str) -> int:
    if name in _NAMED:
        if text not in _NAMED[name]:
            raise InputError(f"fix: {name}: {not_one_of(text, _NAMED[name])}")
        return _NAMED[name].index(text)
    if name == "sequence_parallel":
        if text.lower() not in {"true", "false"}:
            raise InputError(f"fix: {name}: {shown(text)} is not true or false")
        return int(text.lower() == "true")
    if not _WHOLE.fullmatch(text) or int(text) > LARGEST_SIZE:
        raise InputError(
            f"fix: {name}: {shown(text)} is not a positive whole number up to {LARGEST_SIZE:,}"
        )
    return int(text)

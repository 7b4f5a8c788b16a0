"""A user's file of changes to the assumptions: its form, and the assumptions that it makes.

Beside fields of `Assumptions` it may hold constants of the calibration by their paths, under which
`planner explain` and `planner calibrate` name them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import inf
from typing import Annotated, Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from hardware_db import Calibration, FrozenMap, load_calibration
from planner.assumptions.assumptions import ORIGIN, PRESETS, Assumptions
from planner.base.errors import InputError
from planner.base.fields import choice, schema_of
from planner.base.messages import Origin, shown
from planner.base.mistakes import mistakes

_ARGUMENTS = Origin()


@cache
def changes_model() -> type[BaseModel]:
    """The form of a file of changes: every field of `Assumptions` may be there, none has to."""
    hints = get_type_hints(Assumptions, include_extras=True)
    changeable: Any = {
        name: (hint, Field(default=None, description=_meaning(hint)))
        for name, hint in hints.items()
        if name not in ORIGIN
    }
    changeable["preset"] = (
        Annotated[str, choice(PRESETS)],
        Field(default=None, description="Preset that the file changes; default calibrated."),
    )
    config = ConfigDict(extra="forbid", strict=True)
    return create_model("AssumptionChanges", __config__=config, **changeable)


def _meaning(hint: Any) -> str:
    """The words beside a field of `Assumptions`."""
    return str(get_args(hint)[-1])


def changes_schema() -> dict[str, Any]:
    """The JSON Schema of a file of changes."""
    schema = schema_of(changes_model())
    for field in schema["properties"].values():
        field.pop("default")
    tops = sorted({re.escape(path.partition(".")[0]) for path in _constants(load_calibration())})
    number = {"type": "number", "exclusiveMinimum": 0}
    constant = {**number, "description": "Constant of the calibration."}
    return {
        **schema,
        "patternProperties": {f"^({'|'.join(tops)})([.].+)?$": constant},
        "description": "Constants of the cost model to change; SI units.",
    }


def _constants(base: Calibration) -> list[str]:
    """Paths of the constants that decide assumptions: not those of intervals."""
    return [path for path in base.values if not path.startswith("intervals.")]


def with_constants(
    base: Calibration, changes: Mapping[str, Any], origin: Origin = _ARGUMENTS
) -> tuple[Calibration, dict[str, Any]]:
    """A calibration with the constants that some changes name, and the other changes.

    Args:
        base: What stays where nothing is said.
        changes: Path of a constant, or field of `Assumptions`, to value.
        origin: Where the changes come from, for messages.

    Raises:
        InputError: A constant is not a positive number; one line per mistake.
    """
    known = set(_constants(base))
    moved = {path: value for path, value in changes.items() if path in known}
    wrong = [
        f"{origin.label([path])}: {shown(value)}: must be a number above 0"
        for path, value in moved.items()
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf
    ]
    if wrong:
        raise InputError("\n".join(wrong))
    values = {**base.values, **{path: float(value) for path, value in moved.items()}}
    changed = replace(base, values=FrozenMap(values)) if moved else base
    return changed, {name: value for name, value in changes.items() if name not in moved}


def overridden(
    base: Assumptions, changes: dict[str, Any], origin: Origin = _ARGUMENTS
) -> Assumptions:
    """A copy with some fields changed by hand.

    Args:
        base: What stays where nothing is said.
        changes: Field name to value.
        origin: Where the changes come from, for messages.

    Raises:
        InputError: A field is unknown or its value is impossible; one line per mistake.
    """
    lists = {name: tuple(given) for name, given in changes.items() if isinstance(given, list)}
    try:
        found = changes_model().model_validate({**changes, **lists})
    except ValidationError as error:
        known = [*changes_model().model_fields, *_constants(load_calibration())]
        raise InputError("\n".join(mistakes(error, origin.label, known))) from error
    fields = found.model_dump(exclude_unset=True, exclude={"preset"})
    changed = replace(base, **fields, are_fitted=False)
    if changed.tile_m > 0 and changed.tile_n == 0:
        raise InputError(f"{origin.label(['tile_n'])}: 0: must be at least 1 where tile_m is set")
    return changed

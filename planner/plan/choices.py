"""The fields of a plan that a user may fix, and the reading of the values that are fixed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.base.counts import whole_within
from planner.base.errors import InputError
from planner.base.messages import did_you_mean, not_one_of, shown
from planner.base.units import pattern_of
from planner.base.vocabulary import ANY, CHOICES, MESH_AXES, MODULES, RECOMPUTES
from planner.plan.plan import NAMED, Plan
from planner.plan.recomputations import ALL_CODES, recomputation_codes
from planner.schedules import BUILT_IN

LARGEST_SIZE = 2**31
_LISTED = {**NAMED, "schedule": [schedule.name for schedule in BUILT_IN]}
"""What the schema lists: not what other packages add, which start-up would have to look for."""
_MODULE = f"({'|'.join(MODULES)})"
_NEEDS = {"sequence_parallel": "tp", "cp_mode": "cp", "schedule": "pp", "interleave": "pp"}


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
    if name == "recompute":
        return frozenset(code for text in texts for code in _recomputed(text))
    return frozenset(_fixed_value(name, text) for text in texts)


def fixed_text(name: str, text: str) -> str:
    """A value as plans have it: `1e3` is 1000; others stay as they are typed.

    Raises:
        InputError: The field or its value is unknown.
    """
    codes = fixed_values(name, (text,))
    worded = name in NAMED or name in ("sequence_parallel", "recompute")
    return text if worded else fixed_words(name, codes)


def fixed_words(name: str, codes: Iterable[int]) -> str:
    """Values that are fixed as they are typed, e.g. "zero1,zero3"; inverse of `fixed_values`."""
    if name == "recompute" and {*codes} == ALL_CODES:
        return ANY
    names = ("false", "true") if name == "sequence_parallel" else NAMED.get(name)
    return ",".join(names[code] if names else str(code) for code in sorted(codes))


def says_something(plan: Plan, name: str) -> bool:
    """Whether a field of a plan can change what it costs, given its other fields."""
    if name == "split":
        return plan.pp > 1 and plan.stages is None
    if name == "sharding":
        return plan.dp * plan.fsdp * plan.cp > 1
    return getattr(plan, _NEEDS[name]) > 1 if name in _NEEDS else True


def recomputation_schema(words: Iterable[str]) -> dict[str, Any]:
    """The JSON Schema of what is computed again: one of some words, or modules of layers."""
    return {
        "anyOf": [
            {"type": "string", "enum": [*words]},
            {"type": "string", "pattern": rf"^{_MODULE}(\+{_MODULE})*$"},
        ]
    }


def fix_schema() -> dict[str, Any]:
    """The JSON Schema of a mapping from fields to the values that they may take."""
    count = {"type": "string", "pattern": pattern_of("count")}
    whole = {"anyOf": [{"type": "integer", "minimum": 1}, count]}
    values: dict[str, dict[str, Any]] = {name: whole for name in (*MESH_AXES, *CHOICES)}
    values |= {name: {"type": "string", "enum": list(names)} for name, names in _LISTED.items()}
    values["recompute"] = recomputation_schema((*RECOMPUTES, ANY))
    values["sequence_parallel"] = {"enum": [True, False, "true", "false"]}
    return {
        "type": "object",
        "properties": {
            name: {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}
            for name, one in values.items()
        },
        "additionalProperties": False,
    }


def _recomputed(text: str) -> frozenset[int]:
    try:
        return recomputation_codes(text)
    except InputError as error:
        raise InputError(f"fix: {error}") from error


def _fixed_value(name: str, text: str) -> int:
    if name in NAMED:
        if text not in NAMED[name]:
            raise InputError(f"fix: {name}: {not_one_of(text, NAMED[name])}")
        return NAMED[name].index(text)
    if name == "sequence_parallel":
        if text.lower() not in {"true", "false"}:
            raise InputError(f"fix: {name}: {shown(text)} is not true or false")
        return int(text.lower() == "true")
    return whole_within(text, f"fix: {name}", 1, LARGEST_SIZE)

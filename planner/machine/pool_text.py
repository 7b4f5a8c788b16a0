"""Pools of chips as text and in files: `dgx-h100-ndr=512,dgx-a100-80-hdr=512`, or a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from planner.base.errors import InputError
from planner.base.fields import plain, plain_whole, refusal
from planner.base.messages import shown
from planner.base.units import parse_whole, pattern_of

_EXAMPLE = "dgx-h100-ndr=512,dgx-a100-80-hdr=512"
_MOST = 10**9


def read_pools(value: Any) -> Any:
    """Hardware to its chips, in order; text and numbers that are no pools are refused."""
    if value is None:
        return None
    pairs = _pairs(value)
    pools: dict[str, int] = {}
    called: set[str] = set()
    problems = []
    for name, count in pairs:
        try:
            chips = parse_whole(count, "number") if isinstance(count, str) else plain_whole(count)
        except InputError:
            chips = None
        if isinstance(chips, bool) or not isinstance(chips, int) or not 1 <= chips <= _MOST:
            problems.append(f"{shown(name)}: {shown(count)} is not a number of chips")
        elif pool_name(name) in called:
            problems.append(f"{shown(name)} is named twice; add its chips up")
        else:
            pools[name] = chips
            called.add(pool_name(name))
    if not problems and len(pools) < 2:
        problems.append(
            f"{shown(value)} is one pool; name two or more, as in {_EXAMPLE}, or use hardware and "
            "chips"
        )
    if problems:
        raise refusal("\n".join(problems))
    return pools


def _pairs(value: Any) -> list[tuple[str, Any]]:
    """Names with counts, as they are written."""
    if isinstance(value, Mapping):
        return [(str(plain(name)).strip(), count) for name, count in value.items()]
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise refusal(f"{shown(value)} are not pools of chips, as in {_EXAMPLE}")
    pairs = [word.rpartition("=") for word in words]
    for word, (name, equals, count) in zip(words, pairs, strict=True):
        if not name.strip() or not equals or not count.strip():
            raise refusal(f"{shown(word)} is not of the form HARDWARE=CHIPS, as in {_EXAMPLE}")
    return [(name.strip(), count.strip()) for name, _, count in pairs]


def pool_name(hardware: str) -> str:
    """What stages call a pool: its hardware, of a user's file the name without folder and end."""
    lowered = hardware.lower()
    return PurePath(hardware).stem if lowered.endswith((".yaml", ".yml")) else hardware


def pools_schema() -> dict[str, Any]:
    """The JSON Schema of pools."""
    count = {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string", "pattern": pattern_of("count")},
        ]
    }
    mapping = {"type": "object", "additionalProperties": count, "minProperties": 2}
    return {"anyOf": [mapping, {"type": "string", "examples": [_EXAMPLE]}]}

"""How many torus axes serve each mesh axis, where the user says so: `fsdp=2,tp=1`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from hardware_db import Cluster
from planner.base.fields import plain, refusal
from planner.base.messages import not_one_of, shown
from planner.base.numerals import number_of
from planner.plan import AXES

_MOST = 16.0  # axes of any torus


def read_torus_axes(value: Any) -> Any:
    """`fsdp=2,tp=1`, or a mapping, as a mapping from mesh axes to numbers."""
    if isinstance(value, str):
        value = _once(list(_pairs(value.split(","))))
    if not isinstance(value, Mapping):
        raise refusal(f"{shown(value)} is not of the form fsdp=2,tp=1")
    return {name: _number(name, count) for name, count in value.items()}


def _once(pairs: list[tuple[str, str]]) -> dict[str, str]:
    for name, times in Counter(name for name, _ in pairs).items():
        if times > 1:
            raise refusal(f"{shown(name)} is given twice")
    return dict(pairs)


def _pairs(texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    for text in texts:
        name, equals, count = (part.strip() for part in text.partition("="))
        if not name or not equals or not count:
            raise refusal(f"{shown(text)} is not of the form AXIS=NUMBER, e.g. fsdp=2,tp=1")
        yield name, count


def _number(name: Any, count: Any) -> float:
    """A number of torus axes; parts of an axis are allowed."""
    if name not in AXES:
        raise refusal(not_one_of(name, AXES))
    try:
        number = number_of(plain(count))
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number <= _MOST or isinstance(count, bool):
        raise refusal(f"{name}: {shown(count)} is not a positive number of torus axes, e.g. 1")
    return number


def torus_axes_schema() -> dict[str, Any]:
    """The JSON Schema of such a mapping."""
    number = {"type": "number", "exclusiveMinimum": 0, "maximum": _MOST}
    one = rf"\s*({'|'.join(AXES)})\s*=\s*[0-9.]+\s*"
    mapping = {
        "type": "object",
        "properties": dict.fromkeys(AXES, number),
        "additionalProperties": False,
    }
    return {"anyOf": [mapping, {"type": "string", "pattern": f"^{one}(,{one})*$"}]}


def torus_axes_problem(given: Mapping[str, float], cluster: Cluster) -> str:
    """Why a cluster cannot serve mesh axes with so many torus axes, or nothing."""
    rules = cluster.levels[0].torus
    if not given:
        return ""
    if rules is None:
        inner = cluster.levels[0]
        return (
            f"torus-axes: {cluster.name} has no torus (its {inner.name} is a {inner.topology}); "
            "leave it out"
        )
    total, most = sum(given.values()), len(rules.pod)
    if total > most:
        return (
            f"torus-axes: {', '.join(f'{name}={count:g}' for name, count in given.items())} are "
            f"{total:g} axes; the torus of {cluster.name} has {most}"
        )
    return ""

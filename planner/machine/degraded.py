"""Degraded links of a cluster, as a question gives them: `nvlink:0-2=0.25`, of a failed one 0.

The link between chips 0 and 2 of every domain of the level `nvlink` carries a quarter of its rate,
both ways. `leaf:3=0.5` is the link of chip 3 to the switches of a level that has them: a port, or a
network card. Chips count from 0 within their domain. All domains have it, for what one of them is
slow in holds up all the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hardware_db import Cluster
from planner.base.errors import InputError
from planner.base.fields import refusal
from planner.base.messages import not_one_of, shortened, shown
from planner.base.numerals import number_of
from planner.network.domains import check_degraded, link_words

_FORM = re.compile(r"([^:=\s]+)\s*:\s*([0-9]{1,6})(?:\s*-\s*([0-9]{1,6}))?\s*=\s*([^=\s]+)\s*")
_PATTERN = r"^[^:=\s]+:[0-9]{1,6}(-[0-9]{1,6})?=[0-9.eE+%-]+$"


def read_degraded(value: Any) -> Any:
    """Words of a flag or a file in their plain form, the lower chip first.

    >>> read_degraded("nvlink:2-0=25%, nvlink:4-5=0")
    ('nvlink:0-2=0.25', 'nvlink:4-5=0')
    """
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(text, str) for text in given):
        return value
    found: dict[tuple[str, int, int], float] = {}
    problems = []
    for text in (part.strip() for whole in given for part in whole.split(",")):
        try:
            level, u, v, share = _parsed(text)
        except InputError as error:
            problems.append(str(error))
            continue
        if (level, u, v) in found:
            problems.append(f"{level}:{link_words(u, v)}: is given twice")
        found[level, u, v] = share
    if problems:
        raise refusal("\n".join(problems))
    return tuple(f"{level}:{link_words(u, v)}={share:g}" for (level, u, v), share in found.items())


def level_of(word: str) -> str:
    """The level that a word in its plain form is of."""
    return word.partition(":")[0]


def degraded_schema() -> dict[str, Any]:
    """The JSON Schema of `degrade_link`."""
    word = {"type": "string", "pattern": _PATTERN, "examples": ["nvlink:0-2=0.25"]}
    return {"anyOf": [{"type": "array", "items": word, "minItems": 1}, {"type": "string"}]}


def _parsed(text: str) -> tuple[str, int, int, float]:
    """Level, both chips, share; of a link to a switch the chip twice.

    Raises:
        InputError: It is not of the form, or the share is not from 0 to below 1.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise InputError(
            f"{shown(shortened(text))} is not of the form LEVEL:CHIP-CHIP=SHARE, e.g. "
            "nvlink:0-2=0.25 (0: failed), or LEVEL:CHIP=SHARE on a level with switches"
        )
    level, first, second, share_text = found.groups()
    number = share_text.removesuffix("%")
    try:
        share = number_of(number) / (100 if number != share_text else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise InputError(
            f"{shown(shortened(text))}: the share of the rate that is left must be from 0 (failed) "
            "to below 1, e.g. 0.25 or 25%"
        )
    u, v = sorted((int(first), int(first if second is None else second)))
    if second is not None and u == v:
        raise InputError(f"{shown(shortened(text))}: two different chips, or one alone")
    return level, u, v, share


def with_degraded(cluster: Cluster, words: Iterable[str]) -> Cluster:
    """The cluster with links degraded as words in their plain form say, beside its own.

    Raises:
        InputError: A level is unknown, or has no such link, in its record neither; one line each.
    """
    levels = {level.name: level for level in cluster.levels}
    problems = []
    for level in cluster.levels:
        for u, v, _ in level.degraded:
            try:
                check_degraded(level, u, v, cluster.name)
            except InputError as error:
                problems.append(f"hardware: degraded: {error}")
    for word in words:
        name, u, v, share = _parsed(word)
        try:
            if name not in levels:
                raise InputError(not_one_of(name, tuple(levels)))
            check_degraded(levels[name], u, v, cluster.name)
            if u == v and share == 0:
                raise InputError("a chip whose link has failed takes no part; give a share above 0")
        except InputError as error:
            problems.append(f"degrade-link: {word}: {error}")
            continue
        level = levels[name]
        others = tuple(link for link in level.degraded if link[:2] != (u, v))
        levels[name] = replace(level, degraded=tuple(sorted((*others, (u, v, share)))))
    if problems:
        raise InputError("\n".join(problems))
    return replace(cluster, levels=tuple(levels.values()))

"""Numbers with units as people type them, and SI numbers as people read them.

Inside, everything is SI (seconds, bytes, joules, FLOP). This module is the edge: it parses
`80GB`, `4Mi`, `3e6`, `30d` and prints `79.6 GB`, `1.27 s`, `43.1 MJ`.
"""

from __future__ import annotations

import math
import re

from planner.errors import InputError

_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0, "d": 86400.0, "y": 31557600.0}
_NUMBER = re.compile(r"^\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z/%]*)\s*$")


def _split(text: str, what: str, example: str) -> tuple[float, str]:
    match = _NUMBER.match(text)
    if match is None:
        raise InputError(f"{what}: {text!r} is not a number with a unit; write it like {example}")
    value = float(match.group(1).replace("_", ""))
    if not math.isfinite(value):
        raise InputError(f"{what}: {text!r} is not finite; write it like {example}")
    return value, match.group(2)


def parse_count(text: str, what: str = "count") -> float:
    """A count such as `4096`, `3e6`, `4Mi` (2**22) or `1.5T`; returns a float."""
    value, unit = _split(text, what, "4096, 3e6, 4Mi or 1.5T")
    scale = {**_DECIMAL, **_BINARY}.get(unit)
    if scale is None:
        raise InputError(
            f"{what}: unknown suffix {unit!r} in {text!r}; allowed: k M G T P Ki Mi Gi Ti Pi"
        )
    return value * scale


def parse_whole(text: str, what: str = "count") -> int:
    """A whole count; `1.5` or `nan` is an `InputError`."""
    value = parse_count(text, what)
    if value != int(value):
        nearest = max(1, round(value))
        raise InputError(f"{what}: {text!r} is not a whole number; nearest: {nearest}")
    return int(value)


def parse_bytes(text: str, what: str = "memory") -> float:
    """Bytes: `80GB` is 80e9, `80GiB` is 80 * 2**30; a bare number is bytes."""
    value, unit = _split(text, what, "80GB or 74.5GiB")
    scale = {**_DECIMAL, **_BINARY}.get(unit.removesuffix("B"))
    if scale is None or unit.endswith("b"):
        raise InputError(f"{what}: unknown unit {unit!r} in {text!r}; write 80GB or 74.5GiB")
    return value * scale


def parse_seconds(text: str, what: str = "time") -> float:
    """Seconds: `90`, `90s`, `250ms`, `2h`, `30d`."""
    value, unit = _split(text, what, "90s, 250ms, 2h or 30d")
    if unit not in _SECONDS:
        raise InputError(f"{what}: unknown unit {unit!r} in {text!r}; allowed: ms s min h d y")
    return value * _SECONDS[unit]


def parse_watts(text: str, what: str = "power") -> float:
    """Watts: `700`, `700W`, `1.2kW`, `10MW`."""
    value, unit = _split(text, what, "700W or 10MW")
    scale = _DECIMAL.get(unit.removesuffix("W"))
    if scale is None:
        raise InputError(f"{what}: unknown unit {unit!r} in {text!r}; write 700W or 10MW")
    return value * scale


def _scaled(value: float, unit: str, digits: int) -> str:
    if value == 0:
        return f"0 {unit}"
    steps = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]
    small = [(1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p")]
    for scale, prefix in steps + small:
        if abs(value) >= scale * (1 - 0.5 * 10.0**-digits):
            return f"{value / scale:.{digits}g} {prefix}{unit}"
    return f"{value:.{digits}g} {unit}"


def show_bytes(value: float) -> str:
    """`81.6 GB`: decimal units, three digits."""
    return _scaled(value, "B", 3)


def show_seconds(value: float) -> str:
    """`397 ms`, `1.27 s`, `3.2 h`, `17 d`."""
    if value >= 2 * 86400:
        return f"{value / 86400:.3g} d"
    if value >= 2 * 3600:
        return f"{value / 3600:.3g} h"
    return _scaled(value, "s", 4) if value < 1000 else f"{value:,.0f} s"


def show_joules(value: float) -> str:
    """`2.31 MJ`."""
    return _scaled(value, "J", 4)


def show_watts(value: float) -> str:
    """`512 W`, `2.1 MW`."""
    return _scaled(value, "W", 3)


def show_count(value: float) -> str:
    """`4,096`, `13.0e9` style counts: thousands separated below a million, else `13 G`."""
    if value < 1e6 and value == int(value):
        return f"{int(value):,}"
    return _scaled(value, "", 4).strip()


def show_percent(share: float) -> str:
    """A fraction as `43.2 %`."""
    return f"{100 * share:.3g} %"

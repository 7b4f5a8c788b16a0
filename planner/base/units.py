"""Numbers with units as people type them, and SI numbers as people read them.

Inside, everything is SI (seconds, bytes, joules, FLOP). This module is the edge: it parses
`80GB`, `4Mi`, `3e6`, `30d` and prints `79.6 GB`, `1.27 s`, `43.1 MJ`.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

from planner.base.errors import InputError
from planner.base.messages import LONGEST_NUMBER, shown, too_long
from planner.base.numerals import NUMBER, WHOLE, lost, number_of

MIB, GIB = 2.0**20, 2.0**30
"""Bytes."""
_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
HOUR_S, DAY_S = 3600.0, 86400.0
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "min": 60.0, "h": HOUR_S, "d": DAY_S, "y": 31557600.0}
_MM2 = {"mm": 1.0, "cm": 100.0, "m": 1e6}
_MOST_MM2 = 1e18
M2_PER_MM2 = 1e-6
MOST_PRINTED = 1e18
"""Above every number that a tool prints of what exists; larger ones are damage."""
_AREA = re.compile(r"(?s)(.*?)(?:(mm|cm|m)(?:2|\^2|\u00b2))?")
_NUMBER = re.compile(rf"^\s*({NUMBER})\s*+([A-Za-z/%]*)\s*$")


def _split(text: str, what: str, example: str) -> tuple[float, str]:
    match = _NUMBER.match(text)
    if match is None:
        raise InputError(
            f"{what}: {shown(text)} is not a number with a unit; write it like {example}"
        )
    if refused := too_long(match.group(1)):
        raise InputError(f"{what}: {refused}")
    if refused := lost(match.group(1)):
        raise InputError(f"{what}: {shown(text)} {refused}")
    return float(match.group(1).replace("_", "")), match.group(2)


def printed_number(printed: object) -> float | None:
    """A number in a text of another tool; None: it is none, or beyond `MOST_PRINTED`.

    Args:
        printed: Its text, such as `1234` or `1.5e3`, or what a reader of JSON made of it.
    """
    if isinstance(printed, str):
        if len(printed) > LONGEST_NUMBER:
            return None
        try:
            printed = number_of(printed)
        except ValueError:
            return None
    if isinstance(printed, bool) or not isinstance(printed, int | float):
        return None
    return float(printed) if abs(printed) <= MOST_PRINTED else None  # NaN is in no order


def _scaled_up(value: float, scale: float, text: str, what: str) -> float:
    """The product of a number and its unit.

    Raises:
        InputError: It is too large for a floating-point number.
    """
    result = value * scale
    if not math.isfinite(result):
        raise InputError(f"{what}: {shown(text)} is not a finite number")
    return result


def parse_count(text: str, what: str = "count") -> float:
    """A count such as `4096`, `3e6`, `4Mi` (2**22) or `1.5T`; returns a float."""
    value, unit = _split(text, what, "4096, 3e6, 4Mi or 1.5T")
    scale = {**_DECIMAL, **_BINARY}.get(unit)
    if scale is None:
        raise InputError(
            f"{what}: unknown suffix {shown(unit)} in {shown(text)}; "
            "allowed: k M G T P Ki Mi Gi Ti Pi"
        )
    return _scaled_up(value, scale, text, what)


def parse_whole(text: str, what: str = "count") -> int:
    """A whole count; `1.5` or `nan` is an `InputError`."""
    value = parse_count(text, what)
    exact = _exact_count(text) if value else Fraction(0)
    if exact.denominator != 1:
        nearest = max(1, round(value))
        raise InputError(f"{what}: {shown(text)} is not a whole number; nearest: {nearest}")
    return exact.numerator


def _exact_count(text: str) -> Fraction:
    """A count that `parse_count` reads, with all the digits that were typed."""
    match = _NUMBER.match(text)
    assert match is not None
    number, unit = match.groups()
    return Fraction(Decimal(number.replace("_", ""))) * {**_DECIMAL, **_BINARY}[unit]


def parse_bytes(text: str, what: str = "memory") -> float:
    """Bytes: `80GB` is 80e9, `80GiB` is 80 * 2**30; a bare number is bytes."""
    value, unit = _split(text, what, "80GB or 74.5GiB")
    scale = {**_DECIMAL, **_BINARY}.get(unit.removesuffix("B"))
    if scale is None:
        raise InputError(
            f"{what}: unknown unit {shown(unit)} in {shown(text)}; write 80GB or 74.5GiB"
        )
    return _scaled_up(value, scale, text, what)


def parse_bytes_per_s(text: str, what: str = "bandwidth") -> float:
    """Bytes per second: `200GB/s`, `1.5TiB/s`; a bare number is bytes per second."""
    return parse_bytes(text.strip().removesuffix("/s"), what)


def parse_seconds(text: str, what: str = "time") -> float:
    """Seconds: `90`, `90s`, `250ms`, `2h`, `30d`."""
    value, unit = _split(text, what, "90s, 250ms, 2h or 30d")
    if unit not in _SECONDS:
        raise InputError(
            f"{what}: unknown unit {shown(unit)} in {shown(text)}; allowed: ms s min h d y"
        )
    return _scaled_up(value, _SECONDS[unit], text, what)


def parse_watts(text: str, what: str = "power") -> float:
    """Watts: `700`, `700W`, `1.2kW`, `10MW`."""
    value, unit = _split(text, what, "700W or 10MW")
    scale = _DECIMAL.get(unit.removesuffix("W"))
    if scale is None:
        raise InputError(f"{what}: unknown unit {shown(unit)} in {shown(text)}; write 700W or 10MW")
    return _scaled_up(value, scale, text, what)


def parse_joules(text: str, what: str = "energy") -> float:
    """Joules: `20GWh`, `500 MWh`, `72TJ`; a bare number is joules."""
    value, unit = _split(text, what, "20GWh or 72TJ")
    hours = unit.endswith("Wh")
    scale = _DECIMAL.get(unit.removesuffix("Wh") if hours else unit.removesuffix("J"))
    if scale is None:
        raise InputError(f"{what}: unknown unit {shown(unit)} in {shown(text)}; write 20GWh")
    return _scaled_up(value, scale * (3600.0 if hours else 1.0), text, what)


def parse_chance(text: str, what: str, example: str) -> float:
    """A chance above 0 and below 1: `90%` or `0.9`.

    Args:
        text: As typed.
        what: Names it in messages.
        example: Of the whole text that it is in, for messages.
    """
    try:
        share = parse_share(text, what) if text.strip().endswith("%") else number_of(text)
    except ValueError as error:
        raise InputError(f"{what}: {shown(text)} is not a chance; write {example}") from error
    if not 0.0 < share < 1.0:
        raise InputError(
            f"{what}: a chance of {shown(text.strip())} is none; allowed: above 0 and below "
            f"100 %, e.g. {example}"
        )
    return share


def parse_within(text: str, what: str = "deadline") -> tuple[float, float | None]:
    """Seconds, and the chance that they are enough: `60d`, `60d@90%`; None: of the mean time."""
    time, at, chance = text.partition("@")
    seconds = parse_seconds(time, what)
    if not at:
        return seconds, None
    return seconds, parse_chance(chance, what, "60d@90%")


def parse_mm2(text: str, what: str = "area") -> float:
    """Square millimetres: `5000`, `6.7e6`, `5000mm2`, `50cm^2`, `0.005m2`."""
    match = _AREA.fullmatch(text.rstrip())
    assert match is not None  # it matches any line
    number, unit = match.groups()
    try:
        value = parse_count(number, what) * _MM2[unit or "mm"]
    except InputError:
        value = math.nan
    doubtful = unit and number[-1:].isalpha()  # 5Mm2
    if doubtful or not abs(value) <= _MOST_MM2:
        raise InputError(f"{what}: {shown(text)} is not an area; write it like 5000mm2 or 50cm2")
    return value


def parse_share(text: str, what: str = "share") -> float:
    """A share written as a percentage: `40%` is 0.4."""
    value, unit = _split(text, what, "40%")
    if unit != "%":
        raise InputError(f"{what}: {shown(text)} is not a percentage; write it like 40%")
    return value / 100.0


_FRACTIONS = {"f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3}
_PREFIXES = {**_DECIMAL, **_BINARY, **_FRACTIONS}
_COUNTED = ("", "1", "chip", "tokens", "parameters")
_FORM = re.compile(rf"^\s*({NUMBER})\s*+(\S*+)\s*$")


def parse_quantity(text: str, unit: str, what: str, near: float | None = None) -> float:
    """A number with its SI unit, or a multiple of that: `900GB/s`, `10pJ/B`, `1.2us`.

    Args:
        text: As typed; only 0 needs no unit. Of a pure number also a percentage.
        unit: Such as B/s; empty or 1: a pure number.
        what: Names it in messages.
        near: A usual value in that unit, of whose size a number without one was probably meant.

    Raises:
        InputError: It is no number, has no unit, or another one.
    """
    if unit in _COUNTED:
        return parse_share(text, what) if text.strip().endswith("%") else parse_count(text, what)
    match = _FORM.match(text)
    if unit == "m2" and (match is None or match.group(2)):
        return parse_mm2(text, what) * M2_PER_MM2
    if match is None or too_long(match.group(1)):
        raise InputError(f"{what}: {shown(text)} is not a number in {unit}, e.g. 1.5G{unit}")
    number, given = float(match.group(1).replace("_", "")), match.group(2)
    if given in _PREFIXES and number:
        raise InputError(f"{what}: {text.strip()} has no unit{_meant(number, given, unit, near)}")
    scale = _PREFIXES.get(given.removesuffix(unit))
    if scale is None:
        raise InputError(f"{what}: {shown(given)} is not {unit} or a multiple, e.g. 1.5G{unit}")
    return _scaled_up(number, scale, text, what)


def _meant(number: float, prefix: str, unit: str, near: float | None) -> str:
    """What a number without a unit may have meant: the multiple nearest to a usual value."""
    if unit == "m2":
        return "; write it like 814mm2"
    if prefix or number < 0 or not near:
        return f"; did you mean {number:.6g}{prefix}{unit}?"
    multiples = {**_DECIMAL, **_FRACTIONS}
    exact = [one for one, size in _BINARY.items() if number * size == near]
    nearest = min(multiples, key=lambda one: abs(math.log(number * multiples[one] / near)))
    best = next(iter(exact), nearest)
    return f"; did you mean {number:.6g}{best}{unit}? It is {_scaled(near, unit, 3)} now"


_MULTIPLES = [unit for unit in (*_DECIMAL, *_BINARY) if unit]
_SUFFIXES = {
    "count": f"({'|'.join(_MULTIPLES)})?",
    "bytes": f"({'|'.join(_MULTIPLES)})?B?",
    "seconds": f"({'|'.join(unit for unit in _SECONDS if unit)})?",
    "share": "%",
    "area": f"({'|'.join(_MULTIPLES)}|(mm|cm|m)(2|\\^2|\u00b2))?",
    "bandwidth": f"({'|'.join(_MULTIPLES)})?(B|B/s)?",
    "watts": f"({'|'.join(unit for unit in _DECIMAL if unit)})?W?",
    "joules": f"({'|'.join(unit for unit in _DECIMAL if unit)})?(Wh|J)?",
}


def pattern_of(quantity: str) -> str:
    """The regular expression, as JSON Schema understands it, of text that is read as a number.

    Args:
        quantity: count, bytes, seconds, share, area, watts or joules;
            numbers below zero are left out.
    """
    number = rf"\+?({WHOLE.replace('?:', '')}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
    return rf"^\s*{number}\s*{_SUFFIXES[quantity]}\s*$"


_LARGE = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
LEAST_CHANGE = 5e-5
"""The smallest relative change that is told: smaller ones round to 0.00 %."""
_SMALL = ((1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p"))


_UNCOUNTED = 1e15


def plain(value: float, digits: int = 3) -> str:
    """`12.3`, `0.0021`, `12,345`: so many digits, never fewer than the whole part has.

    Where that would be a row of digits that nobody counts: `3.73e+25`, `5.59e-64`.
    """
    if abs(value) >= _UNCOUNTED or 0.0 < abs(value) < 1.0 / _UNCOUNTED:
        return f"{value:.{digits}g}"
    if abs(value) >= 10.0**digits - 0.5:
        return f"{value:,.0f}"
    return f"{Decimal(f'{value:.{digits}g}'):f}"


def _scaled(value: float, unit: str, digits: int) -> str:
    if value == 0:
        return f"0 {unit}"
    for scale, prefix in _LARGE + _SMALL:
        if abs(value) >= scale * (1 - 0.5 * 10.0**-digits):
            if abs(value) >= _UNCOUNTED * 1e9:  # beyond the largest prefix
                return f"{value:.{digits}g} {unit}"
            return f"{plain(value / scale, digits)} {prefix}{unit}"
    return f"{value:.{digits}g} {unit}"


def unit_for(value: float, unit: str) -> tuple[float, str]:
    """The size and name of the unit that a value is best told in, e.g. (1e6, "MJ")."""
    for scale, prefix in _LARGE + _SMALL:
        if abs(value) >= scale:
            return scale, f"{prefix}{unit}"
    return 1.0, unit


def show_bytes(value: float, more: int = 0) -> str:
    """`81.6 GB`: decimal units, three digits, or more."""
    return _scaled(value, "B", 3 + more)


def show_seconds(value: float, more: int = 0) -> str:
    """`397 ms`, `1.27 s`, `3.2 h`, `17 d`, `1,234 d`; with more digits where they are asked for."""
    if value >= 2 * DAY_S:
        return f"{plain(value / DAY_S, 3 + more)} d"
    if value >= 2 * 3600:
        return f"{plain(value / 3600, 3 + more)} h"
    return _scaled(value, "s", 4 + more) if value < 999.95 else f"{value:,.{4 + more}g} s"


def show_days(value: float, more: int = 0) -> str:
    """`62.1 days`; below one in smaller units."""
    if value < 1:
        return show_seconds(value * DAY_S, more)
    text = plain(value, 3 + more)
    return f"{text} {'day' if text == '1' else 'days'}"


def show_joules(value: float, digits: int = 4) -> str:
    """`2.31 MJ`."""
    return _scaled(value, "J", digits)


def show_watt_hours(value: float, more: int = 0) -> str:
    """`64.98 MWh`, `0.02976 Wh`: never thousandths, which look like millions."""
    digits = 4 + more
    return _scaled(value, "Wh", digits) if value >= 999.95 else f"{_small(value, digits)} Wh"


def show_steps(value: float) -> str:
    """`476,837`, `0.000238`: below ten with the part of a step."""
    return plain(value, 2 if value < 99.5 else 3) if value >= 10 else _small(value, 3)


def _small(value: float, digits: int) -> str:
    """Plain digits, unless they would be zeros."""
    return plain(value, digits) if value >= 1e-6 or value == 0 else f"{value:.{digits}g}"


def show_watts(value: float, more: int = 0) -> str:
    """`512 W`, `2.1 MW`; three digits, or more."""
    return _scaled(value, "W", 3 + more)


def show_count(value: float) -> str:
    """`4,096`, `13.02 G`: thousands separated below a million, else a prefix."""
    if value < 1e6 and value == int(value):
        return f"{int(value):,}"
    return _scaled(value, "", 4).strip()


def show_percent(share: float, more: int = 0) -> str:
    """A fraction as `43.2 %`; three digits, or more."""
    return f"{plain(100 * share, 3 + more)} %"


def show_change(share: float) -> str:
    """The size of a change as `43.2 %`, to a hundredth of a per cent: finer ones say nothing."""
    size = abs(share)
    return show_percent(size if size >= 0.01 else round(size, 4))


def is_change(share: float) -> bool:
    """Whether a relative change is told: whether it is at least `LEAST_CHANGE`."""
    return abs(share) >= LEAST_CHANGE


def plural(count: int, noun: str) -> str:
    """`1 sequence`, `2 sequences`, `1,024 chips`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def texts_of(given: object) -> list[str]:
    """A number, text with commas, or a list of them, as the texts between commas."""
    parts = given if isinstance(given, list | tuple) else [given]
    return [piece.strip() for part in parts for piece in str(part).split(",")]

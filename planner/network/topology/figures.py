"""Figures of links as people type them: `50GB/s`, `1.6e-10`, `20pJ/bit`, `2us`."""

from __future__ import annotations

import math
import re

from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.units import parse_bytes, parse_count, parse_seconds, parse_watts

MOST = {
    "bytes": 1e24,
    "bandwidth_bytes_per_s": 1e24,
    "energy_j_per_byte": 1e6,
    "latency_s": 1e9,
    "price": 1e15,
    "static_power_w": 1e15,
    "links": 1e6,
}
"""Far above what exists; larger figures are slips, and their sums would not be numbers."""
LEAST = 1e-9
"""Bytes, and bytes per second: below, quotients of them would not be numbers."""
_BITS = 8
_JOULES = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15}
_ENERGY = re.compile(r"(.*?)(?:([munpf]?)J/(B|byte|bit|b))?")
_UNITS = {
    "bytes": " B",
    "bandwidth_bytes_per_s": " B/s",
    "energy_j_per_byte": " J/B",
    "latency_s": " s",
    "price": "",
    "static_power_w": " W",
}
_SHORT = {"ns": 1e-9, "us": 1e-6}


def parse_bandwidth(text: str, what: str = "bandwidth") -> float:
    """Bytes per second of a link and direction: `50GB/s`, `50e9`.

    Raises:
        InputError: It is no rate, or not greater than 0.
    """
    try:
        value = parse_bytes(text.strip().removesuffix("/s"), what)
    except InputError as error:
        raise InputError(f"{what}: {shown(text)} is no rate; write 50GB/s or 50e9") from error
    return _above_zero(value, text, what, "bandwidth_bytes_per_s")


def parse_energy_per_byte(text: str, what: str = "energy-per-hop") -> float:
    """Joules per byte: `1.6e-10`, `160pJ/B`, `20pJ/bit`.

    Raises:
        InputError: It is no such figure, or negative.
    """
    match = _ENERGY.fullmatch(text.strip())
    number, prefix, per = match.groups() if match else (text, None, None)
    try:
        value = parse_count(number, what)
    except InputError as error:
        raise InputError(
            f"{what}: {shown(text)} is no energy per byte; write 1.6e-10, 160pJ/B or 20pJ/bit"
        ) from error
    bits = _BITS if per in ("bit", "b") else 1
    return _not_negative(value * _JOULES[prefix or ""] * bits, text, what, "energy_j_per_byte")


def parse_latency(text: str, what: str = "latency") -> float:
    """Seconds per hop: `2us`, `500ns`, `1e-6`.

    Raises:
        InputError: It is no time, or negative.
    """
    for unit, scale in _SHORT.items():
        if text.strip().endswith(unit):
            value = parse_count(text.strip().removesuffix(unit), what) * scale
            return _not_negative(value, text, what, "latency_s")
    return _not_negative(parse_seconds(text, what), text, what, "latency_s")


def parse_amount(text: str, what: str = "bytes") -> float:
    """Bytes above 0: `1GB`.

    Raises:
        InputError: It is no amount, or not greater than 0.
    """
    return _above_zero(parse_bytes(text, what), text, what, "bytes")


def parse_price(text: str, what: str) -> float:
    """A price in any currency, at least 0."""
    return _not_negative(parse_count(text, what), text, what, "price")


def parse_static_power(text: str, what: str) -> float:
    """Watts, at least 0."""
    return _not_negative(parse_watts(text, what), text, what, "static_power_w")


def _above_zero(value: float, text: str, what: str, kind: str) -> float:
    if not 0 < value < math.inf:
        raise InputError(f"{what}: {shown(text)} must be greater than 0 and finite")
    if value < LEAST:
        raise InputError(f"{what}: {shown(text)} must be at least {LEAST:g}{_UNITS[kind]}")
    return _at_most(value, text, what, kind)


def _not_negative(value: float, text: str, what: str, kind: str) -> float:
    if not 0 <= value < math.inf:
        raise InputError(f"{what}: {shown(text)} must be at least 0 and finite")
    return _at_most(value, text, what, kind)


def _at_most(value: float, text: str, what: str, kind: str) -> float:
    if value > MOST[kind]:
        raise InputError(f"{what}: {shown(text)} must be at most {MOST[kind]:g}{_UNITS[kind]}")
    return value

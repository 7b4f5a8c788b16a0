"""A chip of which a file says little: the rest follows from a record, in proportion.

    name: my-chip
    peak: {bf16: {value: 1.0e+15, unit: FLOP/s, kind: assumed, note: a wish}}
    memory:
      capacity: {value: 9.6e+10, unit: B, kind: assumed, note: a wish}
      bandwidth: {value: 4.0e+12, unit: B/s, kind: assumed, note: a wish}
    power: {tdp: {value: 700, unit: W, kind: assumed, note: a wish}}
    default_cluster: dgx-h100-ndr

Powers keep their shares of the rated power, joules per FLOP theirs of what a busy chip draws at its
peak. Paths to the host, voltage, joules per byte and the keys of fitted constants are those of the
record. What the chip has on it, and how many processing elements, is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strict_yaml.merging import is_group, leaf_paths, merged, node_at

LIKEST = "h100-sxm5-80"
"""The record that the rest is taken from: of its chip most runs are published."""
_SECTIONS = ("pe", "dvfs", "energy", "on_chip", "host", "calibration")
_LABELS = ("title", "vendor", "architecture", "year", "process")
_POWERS = ("idle", "wait", "wait_sigma", "busy", "busy_sigma", "host", "host_sigma")
_KEPT = ("energy.memory", "host", "calibration", "dvfs.voltage_slope", "dvfs.voltage_floor")
_UNKNOWN = "not stated"


def is_minimal(data: Mapping[str, Any]) -> bool:
    """Whether a file is of a chip of which it leaves out all that can be derived."""
    given = is_group(data.get("peak")) and is_group(data.get("memory"))
    return given and not any(section in data for section in _SECTIONS)


def filled(data: Mapping[str, Any], base: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The whole content of a chip's file, and the paths of what was derived.

    Args:
        data: What the file says.
        base: Of `LIKEST`.
    """
    name = str(data.get("name", ""))
    rest: dict[str, Any] = {
        **dict.fromkeys(_LABELS, _UNKNOWN),
        "title": name or _UNKNOWN,
        "vendor": "none",
        "pe": {"kind": "core", "count": _node(1, "1", "counted as one: the file says nothing")},
        "clock": _node(None, "Hz", _UNKNOWN),
        "memory": {"type": _UNKNOWN, "label": _UNKNOWN},
        "on_chip": {},
        "power": _powers(data, base),
        "dvfs": {"settable": False, "levels": _node([1.0], "1", "one clock")},
        "energy": {"flop": _joules(data, base)},
        "scale_up": {"generation": _UNKNOWN},
        "sources": base["sources"],
    }
    for path in _KEPT:
        *groups, last = path.split(".")
        place = rest
        for group in groups:
            place = place[group]
        place[last] = node_at(base, path)
    whole: dict[str, Any] = merged(rest, data)
    given = set(leaf_paths(data))
    derived = [path for path in leaf_paths(rest) if path not in given and "sources" not in path]
    return whole, [path for path in derived if path not in _LABELS]


def _powers(data: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Shares of the rated power."""
    rated = node_at(base, "power.tdp")["value"]
    tdp = _number(node_at(data, "power.tdp")) or rated  # where it is missing, that alone is said
    return {
        name: _node(node_at(base, f"power.{name}")["value"] / rated * tdp, "W",
                    f"as large a share of the rated power as {LIKEST} has")
        for name in _POWERS
    }  # fmt: skip


def _joules(data: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Joules per FLOP: as large a share of what a busy chip draws at its peak."""
    busy = _number(node_at({"power": _powers(data, base)}, "power.busy"))
    found = {}
    for name, peak in data["peak"].items():
        joules = _number(node_at(base, f"energy.flop.{name}"))
        of_base, rate = _number(node_at(base, f"peak.{name}")), _number(peak)
        if joules and of_base and rate and busy:
            drawn = node_at(base, "power.busy")["value"]
            value = joules * of_base / drawn * busy / rate
            note = f"as large a share of the power at the peak as {LIKEST} has"
            found[name] = _node(value, "J/FLOP", note)
    return found


def _number(node: Any) -> float | None:
    value = node.get("value") if isinstance(node, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _node(value: Any, unit: str, note: str) -> dict[str, Any]:
    return {"value": value, "unit": unit, "kind": "assumed", "note": note}

"""Consistency between the fields of a record: what one file says twice must agree."""

from __future__ import annotations

import math
from collections.abc import Collection

from pydantic import BaseModel

from hardware_db.schema_base import QuantityModel
from hardware_db.schema_chip import ChipModel, ScaleUp
from hardware_db.schema_cluster import ClusterModel, LevelModel, TorusModel

_EXACT = 1e-6
_SHAPED = ("torus", "mesh", "hypercube")
_TDP_TOLERANCE = 1.1
_MOST_CHIPS = 10_000_000
_MOST_DIGITS = 12
_MOST_CUBES = 100_000


def _number(quantity: QuantityModel | None) -> float | None:
    return None if quantity is None or quantity.value is None else float(quantity.value)


def _differs(left: float | None, right: float | None, tolerance: float = _EXACT) -> bool:
    if left is None or right is None:
        return False
    return not math.isclose(left, right, rel_tol=tolerance)


def chip_problems(chip: ChipModel, gemm_keys: Collection[str]) -> list[str]:
    """Contradictions inside a chip record and keys that nothing has, each with its path."""
    return [
        *_gemm_problems(chip.calibration.gemm, gemm_keys),
        *_peak_problems(chip),
        *_power_problems(chip),
        *_clock_problems(chip),
        *_link_problems("scale_up", chip.scale_up),
    ]


def _gemm_problems(key: str, known: Collection[str]) -> list[str]:
    if key in known:
        return []
    return [f"calibration.gemm: {key!r} is not one of {', '.join(sorted(known))}"]


def _peak_problems(chip: ChipModel) -> list[str]:
    peaks = {name: _number(getattr(chip.peak, name)) for name in type(chip.peak).model_fields}
    found = []
    if all(peak is None for peak in peaks.values()):
        found.append("peak: at least one format needs a rate")
    count, clock = _number(chip.pe.count), _number(chip.clock)
    for name in type(chip.pe.flop_per_clock or chip.peak).model_fields:
        width = _number(getattr(chip.pe.flop_per_clock, name, None))
        if count and clock and width and _differs(count * clock * width, peaks[name], 0.01):
            product = count * clock * width
            found.append(
                f"peak.{name}: {peaks[name]:.4g} FLOP/s, but {count:g} PEs x {clock:.4g} Hz x "
                f"{width:g} FLOP/cycle = {product:.4g} (more than 1 % apart)"
            )
    for kind in ("flop", "mac"):
        found += [
            f"energy.{kind}.{name}: given, but peak.{name} is not"
            for name in _given(getattr(chip.energy, kind))
            if peaks[name] is None
        ]
    return found + _mac_problems(chip)


def _given(energies: BaseModel | None) -> list[str]:
    """Formats with an energy."""
    names = () if energies is None else type(energies).model_fields
    return [name for name in names if getattr(energies, name) is not None]


def _mac_problems(chip: ChipModel) -> list[str]:
    """A multiply-accumulate alone takes no more than its two FLOP with memories."""
    found = []
    for name in _given(chip.energy.mac):
        alone = _number(getattr(chip.energy.mac, name)) or 0.0
        whole = _number(getattr(chip.energy.flop, name))
        if whole is not None and alone > 2 * whole * (1 + _EXACT):
            found.append(
                f"energy.mac.{name}: {alone:g} J/MAC is above two FLOP of energy.flop.{name} "
                f"({whole:g} J/FLOP each), which hold the arithmetic"
            )
    return found


def _power_problems(chip: ChipModel) -> list[str]:
    power = chip.power
    order = ("idle", "wait", "busy")
    values = [_number(getattr(power, name)) or 0.0 for name in order]
    found = []
    for name, low, following, high in zip(order, values, order[1:], values[1:], strict=False):
        if low > high:
            found.append(f"power.{name}: {low:g} W is above power.{following} ({high:g} W)")
    tdp = _number(power.tdp) or 0.0
    if values[-1] > tdp * _TDP_TOLERANCE:
        found.append(f"power.busy: {values[-1]:g} W is more than 10 % above tdp ({tdp:g} W)")
    return found


def _clock_problems(chip: ChipModel) -> list[str]:
    levels = list(chip.dvfs.levels.value)
    if max(levels) > 1.0 or levels[0] != 1.0 or levels != sorted(set(levels), reverse=True):
        return [
            f"dvfs.levels: falling numbers in (0, 1] that start with 1.0 required, not {levels}"
        ]
    return []


def _link_problems(path: str, links: ScaleUp | LevelModel) -> list[str]:
    found = []
    count, one, total = map(_number, (links.links, links.link_bandwidth, links.bandwidth))
    if count and one and _differs(count * one, total):
        found.append(
            f"{path}.bandwidth: {total:.4g} B/s, but {count:g} links x {one:.4g} B/s = "
            f"{count * one:.4g} B/s"
        )
    both = _number(links.bidirectional)
    if total and _differs(2 * total, both):
        found.append(f"{path}.bidirectional: {both:.4g} B/s is not twice {path}.bandwidth")
    return found


def cluster_problems(cluster: ClusterModel) -> list[str]:
    """Contradictions inside a cluster record (its chip aside), each with its path."""
    found = _domain_problems(cluster)
    for index, level in enumerate(cluster.levels):
        path = f"levels[{index}]"
        found += _link_problems(path, level)
        found += _wiring_problems(path, level)
    node, largest = _number(cluster.node_chips) or 1, _number(cluster.max_chips) or 1
    if largest < node:
        found.append(f"max_chips: {largest:g} is less than node_chips ({node:g})")
    if largest > _MOST_CHIPS:
        found.append(f"max_chips: at most {_MOST_CHIPS} can be modelled, not {largest:g}")
    return found


def _domain_problems(cluster: ClusterModel) -> list[str]:
    found = []
    node, inner, names = _number(cluster.node_chips) or 1.0, 1.0, set[str]()
    for index, level in enumerate(cluster.levels):
        path, size = f"levels[{index}]", _number(level.domain)
        if level.name in names:
            found.append(f"{path}.name: {level.name!r} occurs twice")
        names.add(level.name)
        if size is None:
            if index < len(cluster.levels) - 1:
                found.append(f"{path}.domain: only the outermost level may leave it out")
            continue
        if size <= inner:
            found.append(
                f"{path}.domain: {size:g} chips do not exceed the level inside ({inner:g})"
            )
        elif size % inner:
            found.append(
                f"{path}.domain: {size:g} is not a multiple of the level inside ({inner:g})"
            )
        if size % node and node % size:
            found.append(f"{path}.domain: {size:g} chips do not fit nodes of {node:g}")
        inner = size
    return found


def _wiring_problems(path: str, level: LevelModel) -> list[str]:
    found = []
    size, peers = _number(level.domain), _number(level.links_per_pair)
    if level.topology == "fully-connected":
        if peers is None or level.link_bandwidth is None or size is None:
            found.append(f"{path}: a fully connected level needs domain, links_per_pair and "
                         "link_bandwidth")  # fmt: skip
        elif _differs(peers * (size - 1), _number(level.links)):
            found.append(f"{path}.links: is not links_per_pair x (domain - 1) = "
                         f"{peers * (size - 1):g}")  # fmt: skip
    for group in level.bandwidth_by_group or {}:
        digits = group.isascii() and group.isdecimal() and len(group) <= _MOST_DIGITS
        if not digits or not 1 < int(group) <= (size or math.inf):
            found.append(f"{path}.bandwidth_by_group.{group}: a group size between 2 and the "
                         "domain is required")  # fmt: skip
    found += _degraded_problems(path, level, size)
    if (level.topology in _SHAPED) != (level.torus is not None):
        found.append(f"{path}.torus: required for a torus, mesh or hypercube, and only there")
    elif level.torus is not None:
        found += _torus_problems(path, level, level.torus)
    return found


def _degraded_problems(path: str, level: LevelModel, size: float | None) -> list[str]:
    found = []
    for pair, share in (level.degraded or {}).items():
        chips = pair.split("-")
        digits = all(
            chip.isascii() and chip.isdecimal() and len(chip) <= _MOST_DIGITS for chip in chips
        )
        named = digits and len(chips) <= 2 and len(set(map(int, chips))) == len(chips)
        if not named or max(map(int, chips)) >= (size or math.inf):
            of = f", of 0 to {size - 1:g}" if size else ""
            found.append(f"{path}.degraded.{pair}: two different chips of the domain are required, "
                         f"such as 0-2, or one with a link to a switch{of}")  # fmt: skip
        elif not (_number(share) or 0.0) < 1:
            found.append(f"{path}.degraded.{pair}: a share from 0 (failed) to below 1 is required")
    return found


def _torus_problems(path: str, level: LevelModel, torus: TorusModel) -> list[str]:
    pod = [int(axis) for axis in torus.pod.value]
    found = []
    if math.prod(pod) != (_number(level.domain) or 0):
        found.append(f"{path}.torus.pod: {pod} does not hold the chips of the domain")
    if math.prod(pod) / (_number(torus.cube_edge) or math.inf) ** len(pod) > _MOST_CUBES:
        found.append(f"{path}.torus.pod: more than {_MOST_CUBES} building blocks")
    if level.link_bandwidth is None:
        found.append(f"{path}.link_bandwidth: required for a torus")
    if not torus.slices and torus.cube_edge is None:
        found.append(f"{path}.torus: slices or cube_edge is required")
    for index, shape in enumerate(torus.slices):
        axes = sorted(int(axis) for axis in shape.value)
        if len(axes) != len(pod) or any(a > p for a, p in zip(axes, sorted(pod), strict=False)):
            found.append(f"{path}.torus.slices[{index}]: {axes} does not fit the pod {pod}")
    return found

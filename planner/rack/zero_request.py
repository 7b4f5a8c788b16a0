"""The flags of `planner rack zero` as a question: read, checked, one line per mistake."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from hardware_db import Cluster
from planner.errors import InputError
from planner.messages import Attempts, Origin, not_one_of, shown
from planner.network.topology.fit import nearest_chips
from planner.network.topology.kinds import MOST_CHIPS
from planner.rack.assumptions import BASES, RACK_ZERO
from planner.rack.machine import Machine, machine_of
from planner.rack.wired import Wired, wired
from planner.rack.workload_file import workload_from
from planner.rack.workloads import Workload
from planner.rack.zero import FIGURES, ZeroQuestion
from planner.rack.zero_json import key_of
from planner.records import cluster_named
from planner.units import parse_bytes, parse_whole, texts_of

FIELDS = (
    "hardware", "workload", "figure", "gpus", "pes", "pe_columns", "column_gpus", "topology",
    "graph", "basis", "bandwidth", "energy_per_hop", "sram",
)  # fmt: skip
DEFAULTS: dict[str, Any] = {
    "hardware": "report1-rack",
    "workload": "fc,conv",
    "figure": ",".join(map(str, FIGURES)),
    "pe_columns": "1-20",
    "topology": "linear,ring,fully-connected",
    "basis": "per_gpu",
}
_GPUS, _COLUMN_GPUS = "2-12", 4
_RATES = (1e-6, 1e12)  # bytes per cycle
_JOULES = (0.0, 1.0)  # per byte and hop
_MOST_SRAM = 1e15
_MOST_VALUES = 1000
_MOST_COLUMNS = 1_000_000


def whole_list(text: object, what: str, least: int, most: int = MOST_CHIPS) -> tuple[int, ...]:
    """Whole numbers such as `2-12` or `2,4,8`, ascending, each once.

    Args:
        text: As typed.
        what: The field, for messages.
        least, most: What is allowed.

    Raises:
        InputError: One is no whole number or out of bounds, or there are none or too many.
    """
    found: set[int] = set()
    for piece in texts_of(text):
        if not piece:
            raise InputError(f"{what}: the list is empty or has an empty entry; write it like 2-12")
        low, dash, high = piece.partition("-")
        if not low:
            raise InputError(f"{what}: {shown(piece)}: must be at least {least:,}")
        ends = [parse_whole(end, what) for end in ((low, high) if dash else (low,))]
        if min(ends) < least or max(ends) > most:
            bad = min(ends) if min(ends) < least else max(ends)
            rule = f"at least {least:,}" if bad < least else f"at most {most:,}"
            raise InputError(f"{what}: {shown(bad)}: must be {rule}")
        if ends[0] > ends[-1]:
            raise InputError(
                f"{what}: {shown(piece)} is empty; write it from {ends[1]} to {ends[0]}"
            )
        if ends[-1] - ends[0] >= _MOST_VALUES or len(found) > _MOST_VALUES:
            raise InputError(f"{what}: more than {_MOST_VALUES:,} values; give fewer")
        found |= set(range(ends[0], ends[-1] + 1))
    return tuple(sorted(found))


def zero_question(**given: Any) -> tuple[ZeroQuestion, Cluster]:
    """The question that flags ask.

    Args:
        **given: Some of `FIELDS`, as typed; `DEFAULTS` and the hardware's record fill in the rest.

    Raises:
        InputError: A value cannot be used; one line for each.
    """
    fields = {**DEFAULTS, **{name: value for name, value in given.items() if value is not None}}
    tries = Attempts(Origin(arguments=frozenset(FIELDS), dashes=True), FIELDS)
    cluster = tries.attempt(cluster_named, fields["hardware"])
    workloads = tries.attempt(_workloads, fields["workload"])
    figures = tries.attempt(_figures, fields["figure"])
    columns = tries.attempt(whole_list, fields["pe_columns"], "pe-columns", 1, _MOST_COLUMNS)
    racks = tries.attempt(wired, fields["topology"], fields.get("graph"))
    if fields["basis"] not in BASES:
        tries.add([f"basis: {not_one_of(fields['basis'], BASES)}"])
    machine = None if cluster is None else tries.attempt(_machine, cluster, fields)
    pes = None if cluster is None else tries.attempt(_pes, fields.get("pes"), cluster)
    gpus = tries.attempt(_gpus, fields, racks or {})
    fixed = tries.attempt(_column_gpus, fields, racks or {})
    if machine is not None and racks and gpus and fixed:
        machine = replace(
            machine,
            topologies=tuple(racks),
            fixed={name: one for name, one in racks.items() if one is not None},
        )
        tries.attempt(_check_racks, machine, gpus, fixed)
    if tries.problems:
        raise tries.error()
    assert cluster is not None
    assert machine is not None
    assert workloads is not None
    assert figures is not None
    assert columns is not None
    assert gpus is not None
    assert fixed is not None
    assert pes is not None
    question = ZeroQuestion(
        machine=machine,
        workloads=workloads,
        assumptions=replace(RACK_ZERO, basis=fields["basis"]),
        gpus=gpus,
        pes=pes,
        pe_columns=columns,
        column_gpus=fixed,
        figures=figures,
    )
    return question, cluster


def _gpus(fields: dict[str, Any], racks: Wired) -> tuple[int, ...]:
    """The numbers asked for; by default those of the report and of topologies with one number."""
    if "gpus" in fields:
        return whole_list(fields["gpus"], "gpus", 2)
    sizes = {one.chips for one in racks.values() if one is not None}
    if racks and all(racks.values()):
        return tuple(sorted(sizes))
    return tuple(sorted(sizes.union(whole_list(_GPUS, "gpus", 2))))


def _column_gpus(fields: dict[str, Any], racks: Wired) -> int:
    """The number asked for; by default the report's, or the only one of the first topology."""
    if "column_gpus" in fields:
        found = whole_list(fields["column_gpus"], "column-gpus", 2)
        if len(found) > 1:
            raise InputError(f"column-gpus: {len(found)} numbers; give one")
        return found[0]
    first = next(iter(racks.values()), None)
    return _COLUMN_GPUS if first is None else first.chips


def _workloads(given: object) -> tuple[Workload, ...]:
    found = tuple(workload_from(text) for text in dict.fromkeys(texts_of(given)))
    names = [key_of(workload.name) for workload in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"workload: two are named {shown(twice[0])}; give each its own name")
    return found


def _figures(given: object) -> tuple[int, ...]:
    return whole_list(given, "figure", FIGURES[0], FIGURES[-1])


def _machine(cluster: Cluster, fields: dict[str, Any]) -> Machine:
    """The cluster's machine with the links and SRAM asked for."""
    machine = machine_of(cluster)
    inner, chip = machine.inner, machine.chip
    if (rate := fields.get("bandwidth")) is not None:
        per_cycle = _number(rate, "bandwidth", "bytes per cycle", _RATES)
        if chip.clock_hz is None:
            raise InputError(f"hardware: {chip.name} has no clock in its record")
        inner = replace(inner, bytes_per_s=per_cycle * chip.clock_hz)
    if (joules := fields.get("energy_per_hop")) is not None:
        inner = replace(inner, j_per_byte=_number(joules, "energy-per-hop", "J per byte", _JOULES))
    if (held := fields.get("sram")) is not None:
        chip = replace(chip, sram_bytes=_sram(held))
    return replace(machine, inner=inner, chip=chip)


def _sram(given: object) -> float:
    held = parse_bytes(str(given), "sram")
    if not 0 < held <= _MOST_SRAM:
        rule = "greater than 0" if held <= 0 else f"at most {_MOST_SRAM:g} bytes"
        raise InputError(f"sram: {shown(given)}: must be {rule}")
    return held


def _number(given: object, what: str, unit: str, ends: tuple[float, float]) -> float:
    """A number within bounds."""
    try:
        value = float(str(given))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{what}: {shown(given)} is not a finite number of {unit}")
    low, high = ends
    if not low <= value <= high:
        rule = f"at least {low:g}" if value < low else f"at most {high:g}"
        raise InputError(f"{what}: {shown(given)} {unit}: must be {rule}")
    return value


def _pes(given: object, cluster: Cluster) -> int:
    """PEs per GPU that fill the rows of the array; those of the record by default."""
    if given is None:
        return cluster.chip.pe_count
    pes, rows = parse_whole(str(given), "pes"), cluster.chip.pe_rows or 1
    if pes < 1 or pes % rows:
        nearest = max(rows, round(pes / rows) * rows)
        raise InputError(
            f"pes: {shown(given)} PEs do not fill {rows} rows of {cluster.chip.name}; must be a "
            f"multiple of {rows}, nearest: {nearest}"
        )
    return pes


def _check_racks(machine: Machine, gpus: tuple[int, ...], column_gpus: int) -> None:
    """Every topology must exist for one of the numbers of GPUs, or its lines would be empty."""
    lines = [
        f"gpus: no {name} has one of these numbers; nearest: {_near(machine, name, gpus[0])}"
        for name in machine.topologies
        if not any(machine.has_rack(name, count) for count in gpus)
    ]
    first = machine.topologies[0]
    if not machine.has_rack(first, column_gpus):
        near = _near(machine, first, column_gpus)
        lines.append(f"column-gpus: no {first} has {column_gpus:,} GPUs; nearest: {near}")
    if lines:
        raise InputError("\n".join(lines))


def _near(machine: Machine, name: str, chips: int) -> str:
    if name in machine.fixed:
        return f"{machine.fixed[name].chips:,}"
    return " or ".join(f"{count:,}" for count in nearest_chips(name, chips))

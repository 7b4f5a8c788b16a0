"""The flags of `planner rack zero` as a question: read, checked, one line per mistake."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from hardware_db import Cluster
from planner.base.errors import InputError
from planner.base.messages import Attempts, Origin, not_one_of, shown
from planner.base.numerals import is_digits, number_of
from planner.base.units import parse_whole, plural, texts_of
from planner.cost.chip.chip_array import WORD_BYTES
from planner.cost.chip.pes import on_chip_at, unfilled_rows
from planner.cost.chip.tiling import LEAST_ELEMENTS
from planner.network.topology.figures import parse_bandwidth, parse_energy_per_byte
from planner.network.topology.fit import fits, nearest_chips
from planner.network.topology.kinds import MOST_CHIPS
from planner.studies.rack.model.assumptions import BASES, RACK_ZERO
from planner.studies.rack.model.lists import whole_list
from planner.studies.rack.model.machine import Machine, machine_of, parse_sram
from planner.studies.rack.model.wired import Wired, wired
from planner.studies.rack.model.workload_file import workload_from
from planner.studies.rack.model.workloads import Workload
from planner.studies.rack.zero.figures import FIGURES, ZeroQuestion, over_columns
from planner.studies.rack.zero.json import key_of
from planner.studies.whatif import cluster_with

FIELDS = (
    "hardware", "set", "workload", "figure", "gpus", "pes", "pe_columns", "column_gpus", "topology",
    "graph", "basis", "bandwidth", "energy_per_hop", "memory_energy", "sram",
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
_BOUNDS = {"bandwidth": (1e-6, 1e12), "energy-per-hop": (0.0, 1.0), "memory-energy": (0.0, 1.0)}
"""In bytes per cycle, joules per byte and hop, and joules per byte."""
_MOST_COLUMNS = 1_000_000
_MOST_PES = 1_000_000


def zero_question(**given: Any) -> tuple[ZeroQuestion, Cluster]:
    """The question that flags ask.

    Args:
        **given: Some of `FIELDS`, as typed; `DEFAULTS` and the hardware's record fill in the rest.

    Raises:
        InputError: A value cannot be used; one line for each.
    """
    fields = {**DEFAULTS, **{name: value for name, value in given.items() if value is not None}}
    tries = Attempts(Origin(arguments=frozenset(FIELDS), dashes=True), FIELDS)
    cluster = tries.attempt(cluster_with, fields["hardware"], fields.get("set"))
    workloads = tries.attempt(_workloads, fields["workload"])
    figures = tries.attempt(_figures, fields["figure"])
    columns = tries.attempt(whole_list, fields["pe_columns"], "pe-columns", 1, _MOST_COLUMNS)
    specs = ",".join(texts_of(fields["topology"]))
    racks = tries.attempt(wired, specs, fields.get("graph"))
    if fields["basis"] not in BASES:
        tries.add([f"basis: {not_one_of(fields['basis'], BASES)}"])
    machine = None if cluster is None else tries.attempt(_machine, cluster, fields)
    pes = None if cluster is None else tries.attempt(_pes, fields.get("pes"), cluster)
    gpus = tries.attempt(_gpus, fields, racks or {})
    fixed = tries.attempt(_column_gpus, fields, racks or {})
    if machine is not None and racks and gpus and fixed and figures:
        machine = _wired(machine, racks)
        tries.attempt(_check_racks, machine, gpus, fixed, figures)
    if machine is not None and pes and columns and figures:
        tries.attempt(_check_sram, machine, fields, pes, min(columns), figures)
    question = ZeroQuestion(
        machine=tries.needed(machine),
        workloads=tries.needed(workloads),
        assumptions=replace(RACK_ZERO, basis=fields["basis"]),
        gpus=tries.needed(gpus),
        pes=tries.needed(pes),
        pe_columns=tries.needed(columns),
        column_gpus=tries.needed(fixed),
        figures=tries.needed(figures),
    )
    return question, tries.needed(cluster)


def _wired(machine: Machine, racks: Wired) -> Machine:
    """The machine with the topologies asked for."""
    fixed = {name: one for name, one in racks.items() if one is not None}
    return replace(machine, topologies=tuple(racks), fixed=fixed)


def _gpus(fields: dict[str, Any], racks: Wired) -> tuple[int, ...]:
    """The numbers asked for; by default those of the report and of topologies with one number."""
    if "gpus" in fields:
        return whole_list(fields["gpus"], "gpus", 2, MOST_CHIPS)
    sizes = {one.chips for one in racks.values() if one is not None}
    if racks and all(racks.values()):
        return tuple(sorted(sizes))
    return tuple(sorted(sizes.union(whole_list(_GPUS, "gpus", 2, MOST_CHIPS))))


def _column_gpus(fields: dict[str, Any], racks: Wired) -> int:
    """The number asked for; by default the report's, or the nearest that the first topology has."""
    if "column_gpus" in fields:
        found = whole_list(fields["column_gpus"], "column-gpus", 2, MOST_CHIPS)
        if len(found) > 1:
            raise InputError(f"column-gpus: {len(found)} numbers; give one")
        return found[0]
    name, first = next(iter(racks.items()), (None, None))
    if first is not None:
        return first.chips
    if name is None or fits(name, _COLUMN_GPUS):
        return _COLUMN_GPUS
    return int(nearest_chips(name, _COLUMN_GPUS)[0])


def _workloads(given: object) -> tuple[Workload, ...]:
    found = tuple(workload_from(text) for text in dict.fromkeys(texts_of(given)))
    times = Counter(key_of(workload.name) for workload in found)
    if twice := [name for name, count in times.items() if count > 1]:
        raise InputError(f"workload: two are named {shown(twice[0])}; give each its own name")
    return found


def _figures(given: object) -> tuple[int, ...]:
    return whole_list(given, "figure", FIGURES[0], FIGURES[-1], "3-8 or 4,8")


def _machine(cluster: Cluster, fields: dict[str, Any]) -> Machine:
    """The cluster's machine with the links and SRAM asked for."""
    machine = machine_of(cluster)
    inner, chip = machine.inner, machine.chip
    if (rate := fields.get("bandwidth")) is not None:
        if chip.clock_hz is None:
            raise InputError(f"hardware: {chip.name} has no clock in its record")
        inner = replace(inner, bytes_per_s=_bytes_per_cycle(rate, chip.clock_hz) * chip.clock_hz)
    if (joules := fields.get("energy_per_hop")) is not None:
        inner = replace(inner, j_per_byte=_j_per_byte(joules, "energy-per-hop"))
    if (joules := fields.get("memory_energy")) is not None:
        chip = replace(chip, memory_j_per_byte=_j_per_byte(joules, "memory-energy"))
    if (held := fields.get("sram")) is not None:
        chip = replace(chip, sram_bytes=parse_sram(held))
    return replace(machine, inner=inner, chip=chip)


def _bytes_per_cycle(given: object, clock_hz: float) -> float:
    """`32` is bytes per cycle, `32GB/s` a rate."""
    text, unit = str(given).strip(), "bytes per cycle"
    if not text.endswith("/s"):
        return _within(_number(text, "bandwidth", unit, "32 or 32GB/s"), text, "bandwidth", unit)
    return _within(parse_bandwidth(text) / clock_hz, text, "bandwidth", unit, "is {:g} {}")


def _j_per_byte(given: object, what: str) -> float:
    """`1.6e-10`, `160pJ/B` or `20pJ/bit`."""
    text, unit = str(given).strip(), "J per byte"
    if is_digits(text[-1:]) or not is_digits(text[:1]):
        value = _number(text, what, unit, "1.6e-10, 160pJ/B or 20pJ/bit")
        return _within(value, text, what, unit)
    return _within(parse_energy_per_byte(text, what), text, what, unit, "is {:g} {}")


def _number(text: str, what: str, unit: str, example: str) -> float:
    """A finite number."""
    try:
        value = number_of(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"{what}: {shown(text)} is not a finite number of {unit}; write it like {example}"
        )
    return value


def _within(value: float, text: str, what: str, unit: str, words: str = "{1}") -> float:
    """A number within its bounds."""
    low, high = _BOUNDS[what]
    if not low <= value <= high:
        rule = f"at least {low:g}" if value < low else f"at most {high:g}"
        raise InputError(f"{what}: {shown(text)} {words.format(value, unit)}: must be {rule}")
    return value


def _pes(given: object, cluster: Cluster) -> int:
    """PEs per GPU that fill the rows of the array; those of the record by default."""
    if given is None:
        return cluster.chip.pe_count
    pes, rows = parse_whole(str(given), "pes"), cluster.chip.pe_rows or 1
    if pes > _MOST_PES:
        nearest = _MOST_PES // rows * rows
        raise InputError(
            f"pes: {shown(given)}: must be at most {_MOST_PES:,}; nearest: {nearest:,}"
        )
    if line := unfilled_rows(cluster.chip, pes):
        raise InputError(line)
    return pes


def _check_racks(
    machine: Machine, gpus: tuple[int, ...], column_gpus: int, figures: tuple[int, ...]
) -> None:
    """Every topology of the figures must have one of their racks, or a line would be empty."""
    first, *others = machine.topologies
    shown_first = not {3, 4, 7, 8}.isdisjoint(figures)
    compared = ([first] if shown_first else []) + ([] if {7, 8}.isdisjoint(figures) else others)
    lines = [
        f"gpus: no {name} has one of these numbers; nearest: {_near(machine, name, gpus[0])}"
        for name in compared
        if not any(machine.has_rack(name, count) for count in gpus)
    ]
    if over_columns(figures) and not machine.has_rack(first, column_gpus):
        near = _near(machine, first, column_gpus)
        lines.append(f"column-gpus: no {first} has {column_gpus:,} GPUs; nearest: {near}")
    if lines:
        raise InputError("\n".join(lines))


def _check_sram(
    machine: Machine, fields: dict[str, Any], pes: int, columns: int, figures: tuple[int, ...]
) -> None:
    """The SRAM asked for must hold a tile on the fewest PEs of the figures."""
    if fields.get("sram") is None:
        return
    chip, fewest, where = machine.chip, pes, "--pes" if "pes" in fields else "all of the chip"
    if over_columns(figures) and (least := columns * (chip.pe_rows or 1)) < pes:
        fewest, where = least, f"figures 5 and 6 from {plural(columns, 'column')} on"
    tile = LEAST_ELEMENTS * WORD_BYTES[machine.precision]
    share = float(np.asarray(on_chip_at(replace(chip, sram_bytes=1.0), fewest)["sram_bytes"]))
    held = (chip.sram_bytes or 0.0) * share
    if held < tile:
        raise InputError(
            f"sram: {shown(fields['sram'])} for the {plural(chip.pe_count, 'PE')} of {chip.name} "
            f"leaves {held:g} B to {fewest:,} ({where}), which cannot hold one tile; must be at "
            f"least {math.ceil(tile / share):,} B"
        )


def _near(machine: Machine, name: str, chips: int) -> str:
    if name in machine.fixed:
        return f"{machine.fixed[name].chips:,}"
    return " or ".join(f"{count:,}" for count in nearest_chips(name, chips))

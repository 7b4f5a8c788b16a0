"""The numbers behind an answer: each with its kind and source, and the model with another value.

They come from three places. Facts of the chip and of the network levels are fields of the
records of `hardware_db`; changing one makes the assumptions anew, so that what was derived from it
follows. Constants of the calibration are those that change the assumptions at all. What is left
are fields of `Assumptions` that neither decides: values of the preset or of a user's file.

Whole numbers and switches (sizes of tiles, domains, ports) have no small change and are left out;
so are zeros, which have no relative one, and what software or a format sets (`SETTINGS`) unless a
user's file gives it: that is a choice and not a fact that may be wrong. The rate of a level is
that of all its links together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from math import inf
from typing import Any, get_args, get_type_hints

from frozen_records import dataclass
from hardware_db import Calibration, Chip, FrozenMap, Level
from planner.assumptions.assumptions import ORIGIN, Assumptions
from planner.cost.context import CostModel
from planner.explanation.sensitivity.rebuilding import Rebuilding

GIVEN = "given"
"""Kind of a number that the user's own file of assumptions sets."""
SETTINGS = (
    "site_factor", "causal_share", "operand_bytes", "on_chip_bytes", "gradient_wire_bytes",
    "bucket_bytes",
)  # fmt: skip
"""Fields of `Assumptions` that are choices: bytes of a format, sizes of buffers, no site."""
ASSUMED = ("assumed", GIVEN)
"""Kinds of numbers that nobody measured or published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number that an answer may lean on.

    Attributes:
        record: What holds it: a chip, a cluster, the calibration, a preset or a file.
        path: Dotted path in the record.
        value: SI units.
        unit: As in `hardware_db.quantity.UNITS`; empty where its name holds it.
        kind: datasheet, measured, derived, assumed or given.
        source: Titles of its sources.
        note: Caveats; how an assumed number was obtained.
        most: What it cannot exceed; None: no limit.
    """

    record: str
    path: str
    value: float
    unit: str
    kind: str
    source: str = ""
    note: str = ""
    most: float | None = None

    @property
    def is_assumed(self) -> bool:
        """Whether nobody measured or published it."""
        return self.kind in ASSUMED

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """A number, and the cost model in which it is so many times as large."""

    number: Number
    times: Callable[[float], CostModel]


_CHIP = {
    "memory_bandwidth_bytes_per_s": "memory.bandwidth",
    "l2_bytes": "on_chip.l2",
    "sram_bytes": "on_chip.sram",
    "tdp_w": "power.tdp",
    "idle_w": "power.idle",
    "wait_w": "power.wait",
    "busy_w": "power.busy",
    "host_w": "power.host",
    "voltage_slope": "dvfs.voltage_slope",
    "voltage_floor": "dvfs.voltage_floor",
    "memory_j_per_byte": "energy.memory",
    "host_link_bandwidth_bytes_per_s": "host.link_bandwidth",
    "host_memory_bandwidth_bytes_per_s": "host.memory.bandwidth",
}
"""Fields of a chip that time, energy or memory may depend on, with their paths in its file."""
_LEVEL = {
    "bandwidth_bytes_per_s": "bandwidth",
    "latency_s": "latency",
    "energy_j_per_byte": "energy",
    "in_network_gain": "in_network_reduction.gain",
    "switch_power_w_per_chip": "switch_power",
    "oversubscription": "oversubscription",
}
_OF_ENERGY, _OF_POWER = ("power.", "dvfs.", "energy."), (".energy", ".switch_power")
_RATES = ("link_bandwidth_bytes_per_s", "peer_bandwidth_bytes_per_s")
_AT_MOST_ONE = ("gemm_efficiency.", "attention_efficiency.", "memory_efficiency")
_UNITS = {"_flop_per_s": "FLOP/s", "_bytes_per_s": "B/s", "_s": "s", "_bytes": "B"}


def levers(made: Rebuilding, chips: int) -> tuple[list[Lever], tuple[str, ...]]:
    """The numbers of a question that can be changed a little, and the names of those left out.

    Args:
        made: The model, and how to make it again from other numbers.
        chips: Chips of the plan: levels that it does not reach are left out.
    """
    facts = [*_of_chip(made), *_of_levels(made, chips)]
    constants = list(_of_calibration(made))
    derived = _moved_fields(made, [*facts, *constants])
    own, left_out = _of_assumptions(made, derived)
    return [*facts, *constants, *own], left_out


def for_time(found: Iterable[Lever]) -> list[Lever]:
    """Numbers that a time may depend on: not powers, voltages and energies of chips and levels."""
    return [
        lever
        for lever in found
        if not lever.number.path.startswith(_OF_ENERGY)
        and not (lever.number.path.startswith("levels.") and lever.number.path.endswith(_OF_POWER))
    ]


def faster_level(level: Level, factor: float) -> Level:
    """A level all of whose rates are so many times as large."""
    return replace(
        level,
        bandwidth_bytes_per_s=level.bandwidth_bytes_per_s * factor,
        bandwidth_by_group=tuple((n, rate * factor) for n, rate in level.bandwidth_by_group),
        **{name: getattr(level, name) * factor for name in _RATES},
    )


def _of_chip(made: Rebuilding) -> Iterator[Lever]:
    """Peak rates that count, and the other fields of the chip."""
    chip = made.model.chip
    record = f"chip {chip.name}"

    def with_peak(dtype: str, factor: float) -> Chip:
        rates = {**chip.peak_flop_per_s, dtype: chip.peak_flop_per_s[dtype] * factor}
        return replace(chip, peak_flop_per_s=FrozenMap(rates))

    for dtype, rate in chip.peak_flop_per_s.items():
        if made.assumptions(with_peak(dtype, 1.01)) != made.model.assumptions:
            number = _number(record, f"peak.{dtype}", rate, "FLOP/s", chip)
            yield Lever(
                number=number,
                times=lambda factor, dtype=dtype: made.on_chip(with_peak(dtype, factor)),  # type: ignore[misc]
            )
    for field, path in _CHIP.items():
        value = getattr(chip, field)
        if not value:
            continue
        liquid = field == "host_w" and value == chip.host_liquid_w
        where = "power.host_liquid" if liquid else path
        yield Lever(
            number=_number(record, where, value, _unit_of(field), chip),
            times=lambda factor, field=field, value=value: made.on_chip(  # type: ignore[misc]
                replace(chip, **{field: value * factor})
            ),
        )


def _of_levels(made: Rebuilding, chips: int) -> Iterator[Lever]:
    """Rates, latencies and powers of the levels that a number of chips reaches."""
    cluster = made.model.cluster
    reached = {level.name for level in made.model.allocation(chips).levels}

    def changed(level: Level, field: str, factor: float) -> Level:
        if field == "bandwidth_bytes_per_s":
            return faster_level(level, factor)
        return replace(level, **{field: getattr(level, field) * factor})

    for index, level in enumerate(cluster.levels):
        for field, path in _LEVEL.items():
            value = getattr(level, field)
            idle = field == "in_network_gain" and level.in_network_reduction == "none"
            whole = field == "oversubscription" and value == 1.0
            if level.name not in reached or not value or idle or whole:
                continue
            where = f"levels.{level.name}.{path}"
            yield Lever(
                number=_number(f"cluster {cluster.name}", where, value, _unit_of(field), cluster),
                times=lambda factor, index=index, level=level, field=field: made.on_level(  # type: ignore[misc]
                    index, changed(level, field, factor)
                ),
            )


def _of_calibration(made: Rebuilding) -> Iterator[Lever]:
    """The constants that decide any field of the assumptions."""
    constants = made.constants
    if constants is None:
        return

    def times(path: str, factor: float) -> Calibration:
        values = {**constants.values, path: constants.values[path] * factor}
        return replace(constants, values=FrozenMap(values))

    for path, value in constants.values.items():
        if not value or path.startswith("intervals."):
            continue
        changed = made.assumptions(constants=times(path, 0.99))
        if changed == made.model.assumptions:
            continue
        most = value * _room(made.model.assumptions, changed)
        if path.startswith(_AT_MOST_ONE):
            most = min(most, max(value, 1.0))
        found = _number(f"calibration {constants.name}", path, value, _unit_of(path), constants)
        yield Lever(
            number=replace(found, most=None if most == inf else most),
            times=lambda factor, path=path: made.with_constants(times(path, factor)),  # type: ignore[misc]
        )


def _of_assumptions(
    made: Rebuilding, derived: frozenset[str]
) -> tuple[list[Lever], tuple[str, ...]]:
    """Fields that neither records nor constants decide; names of those without a small change."""
    base = made.model.assumptions
    found, left_out = [], []
    for field in fields(Assumptions):
        value = getattr(base, field.name)
        if field.name in ORIGIN or field.name in derived:
            continue
        setting = field.name in SETTINGS and field.name not in made.given
        if setting or not isinstance(value, float):
            left_out.append(field.name)
            continue
        if value == 0:
            continue
        number = Number(
            record=f"assumptions {base.name}",
            path=field.name,
            value=value,
            unit=_unit_of(field.name),
            kind=GIVEN if field.name in made.given else "assumed",
            note=_meaning(field.name),
            most=_HIGHEST.get(field.name),
        )
        found.append(
            Lever(
                number=number,
                times=lambda factor, name=field.name, value=value: replace(  # type: ignore[misc]
                    made.model, assumptions=replace(base, **{name: value * factor})
                ),
            )
        )
    return found, tuple(left_out)


def _moved_fields(made: Rebuilding, found: Iterable[Lever]) -> frozenset[str]:
    """Fields of the assumptions that some lever changes."""
    base = made.model.assumptions
    moved: set[str] = set()
    for lever in found:
        other = lever.times(0.99).assumptions
        if other != base:
            moved |= {
                field.name
                for field in fields(Assumptions)
                if getattr(other, field.name) != getattr(base, field.name)
            }
    return frozenset(moved)


_HINTS = get_type_hints(Assumptions, include_extras=True)


def _highest() -> dict[str, float]:
    """Fields of `Assumptions` that are shares, with what they may be at most."""
    found = {}
    for name, hint in _HINTS.items():
        limits = [
            rule.le
            for part in get_args(hint)[1:]
            for rule in getattr(part, "metadata", ())
            if hasattr(rule, "le")
        ]
        if limits and min(limits) <= 1:
            found[name] = float(min(limits))
    return found


_HIGHEST = _highest()


def _room(base: Assumptions, changed: Assumptions) -> float:
    """The factor up to which the shares that a constant decides stay possible."""
    return min(
        (
            most / getattr(base, name)
            for name, most in _HIGHEST.items()
            if getattr(base, name) > 0 and getattr(base, name) != getattr(changed, name)
        ),
        default=inf,
    )


def _meaning(name: str) -> str:
    """The words beside a field of `Assumptions`."""
    return str(get_args(_HINTS[name])[-1])


def _unit_of(name: str) -> str:
    """The SI unit that a name ends in; pure numbers have none."""
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")


def _number(record: str, path: str, value: float, unit: str, held: Any) -> Number:
    """A number with the provenance that its record has of it.

    A value that is not that of the file was changed on the way: by a local calibration, other
    processing elements or another wiring.
    """
    quantity = held.quantities.get(path)
    if quantity is None:
        return Number(record=record, path=path, value=value, unit=unit, kind="derived")
    same = isinstance(quantity.value, int | float) and abs(quantity.value - value) <= 1e-9 * value
    titles = [held.sources[key].title for key in quantity.sources if key in held.sources]
    return Number(
        record=record,
        path=path,
        value=value,
        unit=quantity.unit,
        kind=quantity.kind if same else "derived",
        source="; ".join(titles),
        note=quantity.note if same else "not the value of the record: changed by the question",
    )

"""The flags of `planner rack solve` as a question: read, checked, one line per mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from hardware_db import Cluster
from planner.base.errors import InputError
from planner.base.messages import Attempts, Origin, not_one_of, shown
from planner.base.units import (
    M2_PER_MM2,
    parse_bytes,
    parse_mm2,
    parse_seconds,
    parse_watts,
    parse_whole,
    texts_of,
)
from planner.machine.scaling import area_m2_at, check_pes
from planner.question.changes.texts import with_changes
from planner.studies.rack.model.assumptions import BASES, RACK_ENERGY, RACK_ZERO, RackAssumptions
from planner.studies.rack.model.lists import whole_list
from planner.studies.rack.model.machine import Machine, machine_of
from planner.studies.rack.model.wired import Wired, wired
from planner.studies.rack.model.workload_file import workload_from
from planner.studies.rack.model.workloads import Workload
from planner.studies.rack.solve.question import BUDGETS, OBJECTIVES, STRATEGIES, RackQuestion
from planner.studies.whatif import cluster_with

PRESETS = {"rack-zero": RACK_ZERO, "rack-energy": RACK_ENERGY}
"""Assumptions by name: those of the two student reports."""
FIELDS = (
    "workload", "hardware", "set", "gpus", "pes", "topology", "graph", "strategy", "objective",
    "batch", "micro_batches", "assumptions", "basis", "precision", "time_limit",
    *(name.replace("-", "_") for name in BUDGETS),
)  # fmt: skip
_ITEMS = 24
_MICRO_BATCHES = 16
_MOST_CHIPS = 4096
_MOST_ITEMS = 10**9
_GPUS = "2-12"
_GPUS_WHY = "the report's, which starts at two; 1-12 lets one chip compete too"
_MOST_PES = 2**30
_MOST_VALUES = 64
_TOPOLOGIES = "linear,ring,fully-connected"
_WHY = "of the report that the workload is from"
_MICRO_WHY = "of each data rank, where it has so many items; only pipelines use them"

Default = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RackRequest:
    """A question and how it is searched.

    Attributes:
        question: What may be chosen.
        objective: One of `OBJECTIVES`.
        time_limit_s: Wall time, or None.
        defaults: What was assumed: name, value, reason.
    """

    question: RackQuestion
    objective: str
    time_limit_s: float | None
    defaults: tuple[Default, ...]


def rack_request(
    *, static_power: bool = False, backward: bool = False, **given: Any
) -> RackRequest:
    """The question that flags ask.

    Args:
        static_power: Chips draw their idle power all the time.
        backward: The communication of a backward pass counts too.
        **given: Some of `FIELDS`, as typed; None stands for the default.

    Raises:
        InputError: A value cannot be used; one line for each.
    """
    reader = _Reader({name: value for name, value in given.items() if value is not None})
    workload = reader.read("workload", workload_from, default="fc")
    small = workload is None or workload.batch is None
    cluster = reader.read(
        "hardware",
        lambda name: cluster_with(name, given.get("set")),
        default="report1-rack" if small else "c2c-ndr400-rack",
        why=_WHY,
    )
    if cluster is not None:
        reader.defaults += [("set", one, "of yours") for one in with_changes((), given.get("set"))]
    assumptions = reader.assumptions("rack-zero" if small else "rack-energy")
    machine = reader.machine(cluster)
    fields = {
        "workload": reader.with_items(workload),
        "machine": machine,
        "chips": reader.chips(machine),
        "pes": reader.pes(machine),
        "strategies": reader.read("strategy", _strategies, default=",".join(STRATEGIES)),
        "micro_batches": reader.read(
            "micro_batches", _micro_batches, default=str(_MICRO_BATCHES), why=_MICRO_WHY
        ),
    }
    objective = reader.read("objective", _objective, default="time")
    limit = reader.read("time_limit", _time_limit, default=None)
    budgets = reader.budgets(machine)
    preset = reader.needed(assumptions)
    assumptions = replace(preset, static_power=static_power, backward=preset.backward or backward)
    return RackRequest(
        question=RackQuestion(assumptions=assumptions, budgets=budgets, **fields),
        objective=objective,
        time_limit_s=limit,
        defaults=tuple(reader.defaults),
    )


class _Reader(Attempts):
    """Reads flags, noting mistakes and defaults."""

    def __init__(self, asked: dict[str, Any]) -> None:
        super().__init__(Origin(arguments=frozenset(asked), dashes=True), FIELDS)
        self.asked = asked
        self.defaults: list[Default] = []

    def note(self, name: str, value: str, reason: str) -> None:
        """Notes what was assumed."""
        self.defaults.append((name, value, reason))

    def read(
        self, name: str, read: Callable[[Any], Any], *, default: str | None, why: str = "default"
    ) -> Any:
        """A flag, or its default; None where it cannot be read."""
        if name not in self.asked and default is None:
            return None
        if name not in self.asked:
            self.note(name.replace("_", "-"), str(default), why)
        return self.attempt(read, self.asked.get(name, default))

    def assumptions(self, preset: str) -> RackAssumptions | None:
        """Those of a report, with the hops of rings and the basis that is asked for."""
        found = self.read("assumptions", _preset, default=preset, why=_WHY)
        basis = self.read("basis", _basis, default=None)
        self.note("ring hops", "counted", "ring collectives pay for links that the wiring lacks")
        if not isinstance(found, RackAssumptions):
            return None
        return replace(found, ring_hops=True, basis=basis or found.basis)

    def machine(self, cluster: Cluster | None) -> Machine | None:
        """The machine with the topologies to choose from."""
        racks = self.read("topology", self._topologies, default=_TOPOLOGIES)
        for name, one in (racks or {}).items():
            if one is not None and one.ignored:
                reason = f"{one.ignored_words} of the links in its file: not used"
                self.note(name, "its wiring only", reason)
        if cluster is None:
            return None
        machine = self.attempt(machine_of, cluster, self.asked.get("precision"))
        if machine is None or racks is None:
            return machine
        fixed = {name: one for name, one in racks.items() if one is not None}
        self.add(
            f"topology: {name} has {one.chips:,} chips; must be at most {_MOST_CHIPS:,}"
            for name, one in fixed.items()
            if one.chips > _MOST_CHIPS
        )
        return replace(machine, topologies=tuple(racks), fixed=fixed)

    def _topologies(self, given: object) -> Wired:
        """The topologies by name, and the graph file where there is one."""
        return wired(",".join(texts_of(given)), self.asked.get("graph"))

    def chips(self, machine: Machine | None) -> tuple[int, ...] | None:
        """Numbers of chips; those of graphs and topologies with sizes are added by default."""
        if "gpus" in self.asked:
            return self.attempt(_gpus, self.asked["gpus"])
        usual, why = _gpus(_GPUS), _GPUS_WHY
        fixed = {one.chips for one in machine.fixed.values()} if machine is not None else set()
        if machine is not None and fixed and len(machine.fixed) == len(machine.topologies):
            usual, why = (), "all that the topologies have"
        found = tuple(sorted({*usual, *fixed}))
        self.note("gpus", _GPUS if found == usual else ",".join(map(str, found)), why)
        return found

    def with_items(self, workload: Workload | None) -> Workload | None:
        """The workload with a number of items in all."""
        items = None
        if "batch" in self.asked:
            items = self.attempt(_count, self.asked["batch"], "batch", _MOST_ITEMS)
        elif workload is not None:
            items = self.attempt(_count, workload.batch or _ITEMS, "batch", _MOST_ITEMS)
            why = (
                "of the workload" if workload.batch else "divides among 2, 3, 4, 6, 8 and 12 ranks"
            )
            self.note("batch", str(items), why)
        return workload if items is None or workload is None else replace(workload, batch=items)

    def pes(self, machine: Machine | None) -> tuple[int, ...] | None:
        """PEs per chip; a quarter to four times the record's, whole rows of its array."""
        given = None
        if "pes" in self.asked:
            given = self.attempt(_pes, self.asked["pes"])
            if given is None:
                return None
        if machine is None:
            return given
        rows = machine.chip.pe_rows or 1
        if given is None:
            shares = (0.25, 0.5, 1, 2, 4)
            wanted = (max(1, round(machine.chip.pe_count * r / rows)) * rows for r in shares)
            given = tuple(sorted(set(wanted)))
            self.note("pes", ",".join(map(str, given)), "a quarter to four times the record's")
        for count in given:
            self.attempt(check_pes, machine.chip, count)
        return given

    def budgets(self, machine: Machine | None) -> dict[str, float]:
        """The budgets that are given, SI."""
        found: dict[str, float] = {}
        for name in BUDGETS:
            if (text := self.asked.get(name.replace("-", "_"))) is not None:
                value = self.attempt(_budget, name, text)
                found |= {} if value is None else {name: value}
        if "max-area" in found and machine is not None and machine.chip.die_area_m2 is None:
            self.attempt(area_m2_at, machine.chip, np.array([machine.chip.pe_count]))
        return found


def _count(text: object, what: str, most: int) -> int:
    number = parse_whole(str(text), what)
    if number < 1:
        raise InputError(f"{what}: {shown(number)}: must be at least 1")
    if number > most:
        given = f"{number:,}" if number < 10**15 else f"{number:.4g}"
        raise InputError(f"{what}: {given}: must be at most {most:,}")
    return number


def _gpus(text: object) -> tuple[int, ...]:
    return whole_list(text, "gpus", 1, _MOST_CHIPS, values=_MOST_VALUES)


def _pes(text: object) -> tuple[int, ...]:
    return whole_list(text, "pes", 1, _MOST_PES, values=_MOST_VALUES)


def _micro_batches(text: object) -> int:
    return _count(text, "micro-batches", _MOST_ITEMS)


def _strategies(given: object) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(texts_of(given)))
    for name in names:
        if name not in STRATEGIES:
            raise InputError(f"strategy: {not_one_of(name, STRATEGIES)}")
    return names


def _objective(text: str) -> str:
    if text not in OBJECTIVES:
        raise InputError(f"objective: {not_one_of(text, OBJECTIVES)}")
    return text


def _basis(text: str) -> str:
    if text not in BASES:
        raise InputError(f"basis: {not_one_of(text, BASES)}")
    return text


def _preset(text: str) -> RackAssumptions:
    if text not in PRESETS:
        raise InputError(f"assumptions: {not_one_of(text, PRESETS)}")
    return PRESETS[text]


def _time_limit(text: str) -> float:
    seconds = parse_seconds(text, "time-limit")
    if seconds <= 0:
        raise InputError(f"time-limit: {shown(text)}: must be above 0")
    return seconds


def _budget(name: str, text: str) -> float:
    """A budget in SI units; counts are whole."""
    if name == "max-memory":
        value = parse_bytes(text, name)
    elif name == "max-power":
        value = parse_watts(text, name)
    elif name == "max-area":
        value = parse_mm2(text, name) * M2_PER_MM2
    else:
        value = float(parse_whole(text, name))
    if value < 0 or (value == 0 and name not in ("max-links", "max-ports")):
        least = "at least 0" if name in ("max-links", "max-ports") else "above 0"
        raise InputError(f"{name}: {shown(text)}: must be {least}")
    return value

"""The machines that a question leaves open: PEs per chip and wirings, within budgets.

A budget on PEs, silicon, links or ports holds for every plan on some chips of a machine, so it
decides which chip counts each machine may have before any plan is looked at. So does a budget of
power in part: chips that only wait draw power.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product

from frozen_records import dataclass
from hardware_db import Cluster
from planner.base.errors import InputError
from planner.base.units import M2_PER_MM2
from planner.cost.context import CostModel
from planner.cost.energy.boundaries import PRINTED
from planner.cost.energy.energy import standing_w
from planner.cost.energy.meter import meter_of, waiting_w_per_chip
from planner.machine.ports import links_of, ports_per_chip
from planner.machine.scaling import with_pes
from planner.machine.wiring import SCALE_OUT, SCALE_UP, rewired, wiring_of

BUDGETS = ("chips", "total_pes", "max_area", "max_links", "max_ports", "max_power")
"""Fields of a request that limit the chips of a machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """What all chips together may take; None does not limit.

    Attributes:
        chips: Chips.
        total_pes: Processing elements.
        max_area: Silicon in square millimetres.
        max_links: Links of all levels.
        max_ports: Ports of a chip.
        max_power: Watts of the whole job.
        power_boundary: Inside which of `planner.base.vocabulary.BOUNDARIES`.
    """

    chips: float | None = None
    total_pes: float | None = None
    max_area: float | None = None
    max_links: float | None = None
    max_ports: float | None = None
    max_power: float | None = None
    power_boundary: str = PRINTED

    @property
    def given(self) -> dict[str, float]:
        """The budgets that limit something."""
        pairs = ((name, getattr(self, name)) for name in BUDGETS)
        return {name: value for name, value in pairs if value is not None}


def choices_of(
    pes: Collection[int] | None, topology: Collection[str]
) -> Iterator[tuple[int | None, tuple[str, ...]]]:
    """Every combination of PEs per chip and one wiring for each kind of level."""
    kinds: list[list[tuple[str, ...]]] = [
        [(word,) for word in topology if wiring_of(word).level == level] or [()]
        for level in (SCALE_UP, SCALE_OUT)
    ]
    for count in pes or (None,):
        for words in product(*kinds):
            yield count, tuple(word for some in words for word in some)


def variant_of(
    cluster: Cluster,
    pes: Collection[int] | None,
    topology: Collection[str],
    scale: Collection[str],
    given: Collection[str] = (),
) -> Cluster:
    """The cluster with one choice of PEs and one wiring for each kind of level.

    Args:
        cluster: As its record has it.
        pes, topology: One choice each.
        scale, given: As of `planner.machine.scaling.with_pes`.

    Raises:
        InputError: There are several, or the cluster cannot be built so; one line each.
    """
    lines = []
    if pes is not None and len(pes) > 1:
        several = ", ".join(map(str, pes))
        lines.append(f"pes: {several}: several are a decision of planner solve; give one")
    levels = [wiring_of(word).level for word in topology]
    if len(set(levels)) < len(levels):
        several = ", ".join(topology)
        lines.append(f"topology: {several}: several are a decision of planner solve; give one")
    if lines:
        raise InputError("\n".join(lines))
    built = rewired(cluster, topology)
    return built if pes is None else with_pes(built, next(iter(pes)), scale, given)


def use_of(model: CostModel, chips: int, boundary: str = PRINTED) -> dict[str, float]:
    """What `chips` chips take of each budget of `BUDGETS`; waiting power stands for power.

    Args:
        model: Of the job on the machine.
        chips: Chips.
        boundary: Inside which power is limited.
    """
    allocation, chip = model.allocation(chips), model.chip
    use = {
        "chips": float(chips),
        "total_pes": float(chips * chip.pe_count),
        "max_links": float(links_of(allocation)),
        "max_ports": float(ports_per_chip(allocation)),
        "max_power": meter_of(model, boundary, chips).shown_w(chips * standing_w(model, chips)),
    }
    if chip.die_area_m2 is not None:
        use["max_area"] = chips * chip.die_area_m2 / M2_PER_MM2
    return use


def counts_within(model: CostModel, budgets: Budgets) -> tuple[int, ...]:
    """Every chip count of a machine that the budgets allow, ascending.

    Raises:
        InputError: A budget of silicon, and the record does not say how much a chip has.
    """
    chip, given = model.chip, budgets.given
    most = float(model.cluster.max_chips)
    for name, each in (("chips", 1.0), ("total_pes", float(chip.pe_count))):
        most = min(most, given.get(name, most * each) // each)
    if "max_area" in given:
        if chip.die_area_m2 is None:
            raise InputError(f"max-area: the record of {chip.name} has no die area; leave it out")
        # A sum of equal areas may be above the budget by rounding alone.
        most = min(most, (given["max_area"] * M2_PER_MM2 / chip.die_area_m2 + 1e-9) // 1)
    if "max_power" in given:
        each = waiting_w_per_chip(model, budgets.power_boundary)
        most = min(most, given["max_power"] // each) if each else most
    counts = model.cluster.chip_counts(int(most))
    late = ("max_links", "max_ports", "max_power")
    rest = {name: limit for name, limit in given.items() if name in late}
    at = budgets.power_boundary
    return tuple(count for count in counts if within(model, count, rest, at)) if rest else counts


def within(
    model: CostModel, chips: int, limits: Mapping[str, float], boundary: str = PRINTED
) -> bool:
    """Whether a number of chips keeps to some budgets."""
    use = use_of(model, chips, boundary)
    return all(use[name] <= limit for name, limit in limits.items())

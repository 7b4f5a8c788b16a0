"""The ridges of a machine: one per level of its network, or one for a bandwidth that is given."""

from __future__ import annotations

from collections.abc import Sequence

from frozen_records import dataclass
from hardware_db import Cluster
from planner.assumptions.assumptions import peak_flop_per_s
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.units import parse_bytes, show_bytes
from planner.studies.ridgeline.plane import Ridge

ALL = "all"
_FASTEST = 1e18


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A cluster with what its ridgelines need: `ridges`, one per level that is asked for."""

    cluster: Cluster
    precision: str
    ridges: tuple[Ridge, ...]


def ridges_of(
    cluster: Cluster, precision: str, level: str = ALL, clock: float = 1.0
) -> tuple[Ridge, ...]:
    """One ridge per level of a cluster, innermost first, or the one that is asked for.

    Rates are peaks of the records: what no run goes beyond. Where a level is oversubscribed, its
    rate is that of all chips sending at once.

    Args:
        cluster: Chip and levels.
        precision: Of the arithmetic.
        level: `all`, the name of a level, or a bandwidth such as `12GB/s`.
        clock: Of the arithmetic, relative to that of the peak rates; other rates stay.

    Raises:
        InputError: The chip has no rate at the precision; the level is unknown or too slow.
    """
    chip = cluster.chip
    peak = clock * peak_flop_per_s(chip, precision)
    rates = {one.name: one.bandwidth_bytes_per_s / one.oversubscription for one in cluster.levels}
    if level.startswith(tuple("0123456789+-.")):
        rate = _bandwidth(level)
        chosen = {f"{show_bytes(rate)}/s": rate}
    elif level == ALL:
        chosen = rates
    elif level in rates:
        chosen = {level: rates[level]}
    else:
        names = (*rates, ALL)
        raise InputError(
            f"level: {not_one_of(level, names)}, nor a bandwidth such as 12GB/s "
            f"(levels of {cluster.name})"
        )
    return tuple(
        Ridge(
            level=name,
            flop_per_s=peak,
            memory_bytes_per_s=chip.memory_bandwidth_bytes_per_s,
            network_bytes_per_s=rate,
        )
        for name, rate in chosen.items()
    )


def _bandwidth(text: str) -> float:
    """Bytes per second.

    Raises:
        InputError: The text is no bandwidth, or not above 0.
    """
    if text.endswith(("b/s", "bps")):
        raise InputError(f"level: {text!r} counts bits; write bytes, like 12GB/s")
    rate = parse_bytes(text.removesuffix("/s"), "level")
    if not 1 <= rate <= _FASTEST:
        rule = "at least 1 B/s" if rate < 1 else "at most 1e18 B/s"
        raise InputError(f"level: {text!r}: a bandwidth must be {rule}")
    return rate


def level_columns(cluster: Cluster, ridges: Sequence[Ridge]) -> list[int]:
    """For every ridge the index of its level in the cluster.

    Raises:
        InputError: A ridge is that of a bandwidth, which no byte of a plan can be traced to.
    """
    names = [level.name for level in cluster.levels]
    if unknown := [ridge.level for ridge in ridges if ridge.level not in names]:
        raise InputError(
            f"level: {unknown[0]} is no level of {cluster.name}, and the bytes of a plan are those "
            f"of its levels; use {', '.join((*names, ALL))}"
        )
    return [names.index(ridge.level) for ridge in ridges]

"""A chip with more or fewer processing elements than its record, and what scales with them.

With r = p / p0 PEs of the record's p0:

    peak rates                    r times; the clock stays
    L2, SRAM and its rate         r times (`planner.cost.chip.pes`); registers of one PE stay
    P_busy = P_idle + (P_busy0 - P_idle) (1 - s + s r), P_wait alike      s: the record's share
    P_TDP and the spreads         in proportion to P_busy
    die area                      (1 - a + a r) times                     a: the record's share
    host, idle power              stay

Device memory, links and network cards stay as they are unless `scale` names them; with the memory
the rest of the dynamic power grows too, since memory traffic is most of it. Values that the
question gives itself are those of the chip with all its PEs, and stay. All of it is assumed: no
such chip exists.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from hardware_db import Chip, Cluster, FrozenMap, Level
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.cost.chip.pes import on_chip_at, unfilled_rows

RETICLE_M2 = 8.58e-4
"""The field that one exposure prints, 26 x 33 mm: the largest die in one piece."""
_OF_PATH: Mapping[str, tuple[str, ...]] = {
    "power.tdp": ("tdp_w", "busy_w", "busy_sigma_w"),  # busy kernels follow the rated power
    "power.wait": ("wait_w", "wait_sigma_w"),
    "power.wait_sigma": ("wait_sigma_w",),
    "power.busy": ("busy_w", "busy_sigma_w"),
    "power.busy_sigma": ("busy_sigma_w",),
    "on_chip.l2": ("l2_bytes",),
    "on_chip.sram": ("sram_bytes",),
    "on_chip.bandwidth": ("sram_bandwidth_bytes_per_s",),
    "die.area": ("die_area_m2",),
    "memory.capacity": ("memory_bytes",),
    "memory.bandwidth": ("memory_bandwidth_bytes_per_s",),
    "scale_up.link_bandwidth": ("scale_up_link_bytes_per_s", "scale_up_bytes_per_s"),
    "scale_up.bandwidth": ("scale_up_link_bytes_per_s", "scale_up_bytes_per_s"),
}
"""What PEs scale of a chip, by the paths of its file."""
_PEAK = "peak."
_SCALED = " scaled to "
_MOST = 64  # times the record's PEs: beyond, nothing of the record says anything


def check_pes(chip: Chip, pes: int) -> None:
    """Refuses a number of PEs that the record cannot be scaled to.

    Raises:
        InputError: The record lacks the shares that this takes, or it is too far away.
    """
    if pes == chip.pe_count:
        return
    if chip.die_area_m2 is None:
        raise InputError(
            f"pes: the record of {chip.name} does not say which share of its die and power comes "
            f"with its {chip.pe_count:,} {chip.pe_kind}s (die: area, pe_share, pe_power_share); "
            f"allowed: {chip.pe_count:,}"
        )
    most = _MOST * chip.pe_count
    if pes > most:
        raise InputError(
            f"pes: {pes:,} is more than {_MOST} times the {chip.pe_count:,} of {chip.name}; "
            f"nearest: {most:,}"
        )
    if line := unfilled_rows(chip, pes):
        raise InputError(line)


def with_pes(
    cluster: Cluster, pes: int, scale: Collection[str] = (), given: Collection[str] = ()
) -> Cluster:
    """The cluster with chips of so many PEs.

    Args:
        cluster: As its record has it, or rewired.
        pes: Processing elements per chip.
        scale: Which of `planner.base.vocabulary.SCALES` grow with them.
        given: Full paths of fields whose values are those of the chip with all its PEs.

    Raises:
        InputError: See `check_pes`.
    """
    chip = cluster.chip
    check_pes(chip, pes)
    if pes == chip.pe_count:
        return cluster
    ratio = pes / chip.pe_count
    return replace(
        cluster,
        chip=_as_given(_scaled_chip(chip, pes, scale), chip, given),
        levels=tuple(
            level if _gives(level, given) else _scaled_level(level, ratio, scale)
            for level in cluster.levels
        ),
    )


def grows(path: str, scale: Collection[str] = ()) -> bool:
    """Whether the field at a full path, such as `chip.power.tdp`, grows with PEs."""
    record, _, of_record = path.partition(".")
    if record == "cluster":
        return bool({"links", "network"} & {*scale}) and path.rpartition(".")[2] in _RATES
    section = {"memory": "memory", "scale_up": "links"}.get(of_record.partition(".")[0])
    named = of_record in _OF_PATH or of_record.startswith(_PEAK)
    return record == "chip" and named and (section is None or section in scale)


def _as_given(scaled: Chip, chip: Chip, given: Collection[str]) -> Chip:
    """A scaled chip with what was given of it before."""
    paths = [path.removeprefix("chip.") for path in given if path.startswith("chip.")]
    names = [name for path in paths for name in _OF_PATH.get(path, ())]
    peaks = {path.removeprefix(_PEAK) for path in paths if path.startswith(_PEAK)}
    rates = {**scaled.peak_flop_per_s, **{name: chip.peak_flop_per_s[name] for name in peaks}}
    stays = {name: getattr(chip, name) for name in names}
    return replace(scaled, peak_flop_per_s=FrozenMap(rates), **stays) if paths else scaled


def _gives(level: Level, given: Collection[str]) -> bool:
    """Whether a rate of a level is given."""
    paths = tuple(f"cluster.levels.{level.name}.{name}" for name in _RATES)
    return any(path.startswith(paths) for path in given)


_RATES = ("bandwidth", "bidirectional", "link_bandwidth", "peer_bandwidth")


def area_m2_at(chip: Chip, pes: IntArray) -> FloatArray:
    """(n,) square metres of silicon of a chip with so many PEs.

    Raises:
        InputError: The record has no die area.
    """
    if chip.die_area_m2 is None:
        raise InputError(f"max-area: the record of {chip.name} has no die area (die: area)")
    return chip.die_area_m2 * _grown(chip.pe_area_share, pes / chip.pe_count)


def busy_w_at(chip: Chip, pes: IntArray) -> FloatArray:
    """(n,) watts of a busy chip with so many PEs, its host left out.

    Without a share in the record all of the dynamic power comes with the PEs.
    """
    return chip.idle_w + (chip.busy_w - chip.idle_w) * _grown(
        chip.pe_power_share, pes / chip.pe_count
    )


def _grown(share: float | None, ratio: FloatArray) -> FloatArray:
    """What 1 grows to where `share` of it comes with the PEs."""
    grows = _part(share)
    return 1 - grows + grows * ratio


def _part(share: float | None) -> float:
    """A share of a record, all where it has none."""
    return 1.0 if share is None else share


def _scaled_chip(chip: Chip, pes: int, scale: Collection[str]) -> Chip:
    ratio, count = pes / chip.pe_count, np.array([pes])
    dynamic_share, area_share = _part(chip.pe_power_share), _part(chip.pe_area_share)
    grown = float(_grown(chip.pe_power_share, count / chip.pe_count)[0])
    dynamic = ratio if "memory" in scale else grown
    busy = chip.idle_w + (chip.busy_w - chip.idle_w) * dynamic
    louder = busy / chip.busy_w
    scaled = replace(
        chip,
        name=_scaled_name(chip, chip.name, pes),
        title=_scaled_name(chip, chip.title, pes),
        record_pe_count=None if pes == _record_pes(chip) else _record_pes(chip),
        pe_count=pes,
        peak_flop_per_s=_times(chip.peak_flop_per_s, ratio),
        **on_chip_at(chip, pes),  # type: ignore[arg-type]
        tdp_w=chip.tdp_w * louder,
        wait_w=chip.idle_w + (chip.wait_w - chip.idle_w) * dynamic,
        wait_sigma_w=chip.wait_sigma_w * louder,
        busy_w=busy,
        busy_sigma_w=chip.busy_sigma_w * louder,
        die_area_m2=float(area_m2_at(chip, count)[0]),
        # What is left of the new area and power grows with further PEs as before.
        pe_area_share=_share(area_share, ratio),
        pe_power_share=dynamic_share if "memory" in scale else _share(dynamic_share, ratio),
    )
    if "links" in scale:
        scaled = replace(
            scaled,
            scale_up_link_bytes_per_s=_scaled(chip.scale_up_link_bytes_per_s, ratio),
            scale_up_bytes_per_s=_scaled(chip.scale_up_bytes_per_s, ratio),
        )
    if "memory" in scale:
        scaled = replace(
            scaled,
            memory_bytes=chip.memory_bytes * ratio,
            memory_bandwidth_bytes_per_s=chip.memory_bandwidth_bytes_per_s * ratio,
        )
    return scaled


def _record_pes(chip: Chip) -> int:
    return chip.record_pe_count or chip.pe_count


def _scaled_name(chip: Chip, name: str, pes: int) -> str:
    """`h100-sxm5-80 scaled to 264 SMs (record: 132)`; the name alone at the record's number."""
    record = _record_pes(chip)
    base = name.partition(_SCALED)[0]
    return base if pes == record else f"{base}{_SCALED}{pes:,} {chip.pe_kind}s (record: {record:,})"


def _share(share: float, ratio: float) -> float:
    return share * ratio / (1 - share + share * ratio)


def _scaled(value: float | None, ratio: float) -> float | None:
    return None if value is None else value * ratio


def _times(rates: Mapping[str, float], ratio: float) -> FrozenMap[float]:
    return FrozenMap({name: rate * ratio for name, rate in rates.items()})


def _scaled_level(level: Level, ratio: float, scale: Collection[str]) -> Level:
    """A level whose rates grow with the PEs; switches and optics of faster cards draw more."""
    wanted = "links" if level.kind == "scale-up" else "network"
    if wanted not in scale:
        return level
    groups = tuple((size, rate * ratio) for size, rate in level.bandwidth_by_group)
    return replace(
        level,
        bandwidth_bytes_per_s=level.bandwidth_bytes_per_s * ratio,
        link_bandwidth_bytes_per_s=level.link_bandwidth_bytes_per_s * ratio,
        peer_bandwidth_bytes_per_s=level.peer_bandwidth_bytes_per_s * ratio,
        bandwidth_by_group=groups,
        switch_power_w_per_chip=level.switch_power_w_per_chip * ratio,
    )

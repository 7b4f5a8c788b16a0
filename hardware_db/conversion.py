"""From validated files to the frozen dataclasses that the rest of the program uses."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel

from hardware_db.chip import DTYPES, Chip
from hardware_db.cluster import Cluster, Level, TorusRules
from hardware_db.constants import Calibration, Reference
from hardware_db.frozen_map import FrozenMap
from hardware_db.provenance import labels, quantities, sources
from hardware_db.schema_base import QuantityModel
from hardware_db.schema_chip import ChipModel, Die, Host
from hardware_db.schema_cluster import ClusterModel, LevelModel, TorusModel
from hardware_db.torus import exchange_gain, wraparound


def _float(quantity: QuantityModel) -> float:
    return float(quantity.value)


def _int(quantity: QuantityModel) -> int:
    return int(quantity.value)


def _known(quantity: QuantityModel | None) -> float | None:
    return None if quantity is None or quantity.value is None else float(quantity.value)


def _by_dtype(model: BaseModel | None) -> FrozenMap[float]:
    rates = ((name, _known(getattr(model, name, None))) for name in DTYPES)
    return FrozenMap({name: rate for name, rate in rates if rate is not None})


def to_chip(model: ChipModel, data: dict[str, Any]) -> Chip:
    """The chip of a validated file; `data` is the file, kept for the provenance."""
    links = _known(model.scale_up.links)
    return Chip(
        **{name: getattr(model, name) for name in _CHIP_LABELS},
        **_power(model),
        devices=int(_known(model.devices) or 1),
        pe_kind=model.pe.kind,
        pe_count=_int(model.pe.count),
        pe_rows=None if model.pe.rows is None else _int(model.pe.rows),
        clock_hz=_known(model.clock),
        peak_flop_per_s=_by_dtype(model.peak),
        flop_per_pe_per_clock=_by_dtype(model.pe.flop_per_clock),
        memory_type=model.memory.type,
        memory_label=model.memory.label,
        memory_bytes=_float(model.memory.capacity),
        memory_bandwidth_bytes_per_s=_float(model.memory.bandwidth),
        l2_bytes=_known(model.on_chip.l2),
        sram_bytes=_known(model.on_chip.sram),
        sram_bytes_per_pe=_known(model.on_chip.sram_per_pe),
        register_bytes_per_pe=_known(model.on_chip.registers_per_pe),
        sram_bandwidth_bytes_per_s=_known(model.on_chip.bandwidth),
        **_die(model.die),
        flop_j=_by_dtype(model.energy.flop),
        mac_j=_by_dtype(model.energy.mac),
        memory_j_per_byte=_float(model.energy.memory),
        sram_j_per_byte=_known(model.energy.sram),
        register_j_per_byte=_known(model.energy.registers),
        scale_up_generation=model.scale_up.generation,
        scale_up_links=None if links is None else int(links),
        scale_up_link_bytes_per_s=_known(model.scale_up.link_bandwidth),
        scale_up_bytes_per_s=_known(model.scale_up.bandwidth),
        **_host(model.host),
        gemm_tile=_tile(model.gemm_tile),
        calibration_gemm=model.calibration.gemm,
        calibration_attention=model.calibration.attention,
        quantities=FrozenMap(quantities(data)),
        sources=FrozenMap(sources(data)),
    )


_CHIP_LABELS = (
    "name", "title", "vendor", "architecture", "year", "process", "default_cluster",
)  # fmt: skip


def _tile(quantity: QuantityModel | None) -> tuple[int, int] | None:
    if quantity is None:
        return None
    rows, columns = quantity.value
    return int(rows), int(columns)


def _die(die: Die | None) -> dict[str, Any]:
    if die is None:
        return {}
    return {
        "die_area_m2": _float(die.area),
        "pe_area_share": _float(die.pe_share),
        "pe_power_share": _float(die.pe_power_share),
    }


def _host(host: Host) -> dict[str, Any]:
    return {
        "host_link_name": host.link,
        "host_link_bandwidth_bytes_per_s": _float(host.link_bandwidth),
        "host_memory_bytes": _float(host.memory.capacity),
        "host_memory_bandwidth_bytes_per_s": _float(host.memory.bandwidth),
        "host_memory_j_per_byte": _known(host.memory.energy),
    }


def _power(model: ChipModel) -> dict[str, Any]:
    power, dvfs = model.power, model.dvfs
    names = ("tdp", "idle", "wait", "wait_sigma", "busy", "busy_sigma", "host", "host_sigma")
    return {
        **{f"{name}_w": _float(getattr(power, name)) for name in names},
        "host_liquid_w": _known(power.host_liquid),
        "clock_settable": dvfs.settable,
        "clock_levels": tuple(float(level) for level in dvfs.levels.value),
        "voltage_slope": _float(dvfs.voltage_slope),
        "voltage_floor": _float(dvfs.voltage_floor),
    }


def to_cluster(model: ClusterModel, data: dict[str, Any], chip: Chip) -> Cluster:
    """The cluster of a validated file with its chip."""
    own = {key: node for key, node in data.items() if key != "chip"}
    return Cluster(
        name=model.name,
        title=model.title,
        chip=chip,
        node_chips=_int(model.node_chips),
        max_chips=_int(model.max_chips),
        levels=tuple(_level(level) for level in model.levels),
        quantities=FrozenMap(quantities(own)),
        sources=FrozenMap(sources(own)),
    )


def _level(model: LevelModel) -> Level:
    reduction = model.in_network_reduction
    link = _known(model.link_bandwidth) or 0.0
    pairs = int(_known(model.links_per_pair) or 0)
    bandwidth = _float(model.bandwidth)
    domain = _known(model.domain)
    rules = None if model.torus is None else _rules(model.torus)
    groups = model.bandwidth_by_group or {}
    slow = (model.degraded or {}).items()
    return Level(
        name=model.name,
        kind=model.kind,
        topology=model.topology,
        domain_chips=None if domain is None else int(domain),
        bandwidth_bytes_per_s=bandwidth,
        links=int(_known(model.links) or 0),
        link_bandwidth_bytes_per_s=link,
        links_per_pair=pairs,
        peer_bandwidth_bytes_per_s=_peer(model, pairs * link or link, bandwidth),
        bandwidth_by_group=tuple(
            sorted((int(size), _float(rate)) for size, rate in groups.items())
        ),
        degraded=tuple(sorted(_degraded(pair, share) for pair, share in slow)),
        latency_s=_float(model.latency),
        energy_j_per_byte=_float(model.energy),
        in_network_reduction=reduction.method if reduction else "none",
        in_network_gain=(_known(reduction.gain) if reduction else None) or 1.0,
        in_network_min_group=int((_known(reduction.min_group) if reduction else None) or 0),
        switch_ports=int(_known(model.switch_ports) or 0),
        switch_power_w_per_chip=_float(model.switch_power),
        switch_power_in_host_w_per_chip=_known(model.switch_power_in_host),
        nic_power_w_per_chip=_known(model.nic_power) or 0.0,
        oversubscription=_known(model.oversubscription) or 1.0,
        torus_dims=rules.pod if rules else (),
        torus_wrap=wraparound(rules.pod, rules) if rules else (),
        torus_exchange_gain=exchange_gain(rules.pod, rules) if rules else 1.0,
        torus=rules,
    )


def _degraded(pair: str, share: QuantityModel) -> tuple[int, int, float]:
    """`0-2` and what is left of the link, the lower chip first; of `3`, to a switch, it twice."""
    chips = sorted(map(int, pair.split("-")))
    return chips[0], chips[-1], _float(share)


def _peer(model: LevelModel, wired: float, bandwidth: float) -> float:
    """Bandwidth of one pair: as given, all links through a switch, else the direct links."""
    given = _known(model.peer_bandwidth)
    if given is not None:
        return given
    switched = model.topology in ("switch", "fat-tree", "dragonfly")
    return bandwidth if switched else wired or bandwidth


def _rules(model: TorusModel) -> TorusRules:
    pod = tuple(int(axis) for axis in model.pod.value)
    everything = math.prod(pod)
    return TorusRules(
        pod=pod,
        cube_edge=int(_known(model.cube_edge) or 0),
        wrap_rule=model.wrap_rule,
        slices=tuple(tuple(int(axis) for axis in shape.value) for shape in model.slices),
        largest_slice_chips=int(_known(model.largest_slice) or everything),
        smallest_multislice_chips=int(_known(model.smallest_multislice) or everything),
        max_slices=int(_known(model.max_slices) or 1),
        twist_gains=(_float(model.twist.k_k_2k), _float(model.twist.k_2k_2k))
        if model.twist
        else (),
    )


def to_calibration(data: dict[str, Any]) -> Calibration:
    """The constants of a validated calibration file."""
    found = quantities(data["constants"])
    return Calibration(
        name=data["name"],
        title=data["title"],
        values=FrozenMap({path: quantity.number for path, quantity in found.items()}),
        quantities=FrozenMap(found),
        sources=FrozenMap(sources(data)),
    )


def to_reference(data: dict[str, Any]) -> Reference:
    """The table of a validated reference file."""
    return Reference(
        name=data["name"],
        title=data["title"],
        labels=FrozenMap(labels(data["constants"])),
        quantities=FrozenMap(quantities(data["constants"])),
        sources=FrozenMap(sources(data)),
    )

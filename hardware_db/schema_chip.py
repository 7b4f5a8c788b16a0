"""The schema of a chip file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hardware_db.schema_base import (
    Bandwidth,
    Bytes,
    ClockLevels,
    Count,
    EnergyPerByte,
    EnergyPerFlop,
    FlopPerCycle,
    Fraction,
    PublishedBandwidth,
    PublishedBytes,
    PublishedClock,
    PublishedCount,
    PublishedPeak,
    RatioOrZero,
    SourceModel,
    Strict,
    Text,
    Tile,
    Watts,
    one_of,
)


class Widths(Strict):
    """FLOP per cycle and processing element, per number format."""

    fp64: FlopPerCycle | None = None
    fp32: FlopPerCycle | None = None
    tf32: FlopPerCycle | None = None
    bf16: FlopPerCycle | None = None
    fp16: FlopPerCycle | None = None
    fp8: FlopPerCycle | None = None
    fp6: FlopPerCycle | None = None
    fp4: FlopPerCycle | None = None
    int8: FlopPerCycle | None = None


class Pe(Strict):
    """The processing elements."""

    kind: Text
    count: Count
    flop_per_clock: Widths | None = None


class Peaks(Strict):
    """Dense peak rates; null where unsupported or unpublished."""

    fp64: PublishedPeak | None = None
    fp32: PublishedPeak | None = None
    tf32: PublishedPeak | None = None
    bf16: PublishedPeak | None = None
    fp16: PublishedPeak | None = None
    fp8: PublishedPeak | None = None
    fp6: PublishedPeak | None = None
    fp4: PublishedPeak | None = None
    int8: PublishedPeak | None = None


class Memory(Strict):
    """The device memory."""

    type: Text
    label: Text
    capacity: Bytes
    bandwidth: Bandwidth


class OnChip(Strict):
    """On-chip storage."""

    l2: PublishedBytes | None = None
    sram: PublishedBytes | None = None
    sram_per_pe: PublishedBytes | None = None
    registers_per_pe: PublishedBytes | None = None


class Power(Strict):
    """Electrical power per chip; see `hardware_db.chip.Chip`."""

    tdp: Watts
    idle: Watts
    wait: Watts
    wait_sigma: Watts
    busy: Watts
    busy_sigma: Watts
    host: Watts
    host_sigma: Watts
    host_liquid: Watts | None = None


class Dvfs(Strict):
    """Clock and voltage scaling."""

    settable: bool
    levels: ClockLevels
    voltage_slope: RatioOrZero
    voltage_floor: Fraction


class FlopEnergies(Strict):
    """Energy per FLOP, per number format."""

    fp32: EnergyPerFlop | None = None
    tf32: EnergyPerFlop | None = None
    bf16: EnergyPerFlop | None = None
    fp16: EnergyPerFlop | None = None
    fp8: EnergyPerFlop | None = None
    fp6: EnergyPerFlop | None = None
    fp4: EnergyPerFlop | None = None
    int8: EnergyPerFlop | None = None


class Energy(Strict):
    """The component energy model."""

    flop: FlopEnergies
    memory: EnergyPerByte


class ScaleUp(Strict):
    """The chip's own links."""

    generation: Text
    links: PublishedCount | None = None
    link_bandwidth: PublishedBandwidth | None = None
    bandwidth: PublishedBandwidth | None = None
    bidirectional: PublishedBandwidth | None = None


class HostMemory(Strict):
    """Host memory, per chip."""

    capacity: Bytes
    bandwidth: Bandwidth


class Host(Strict):
    """The path to the host, per chip."""

    link: Text
    link_bandwidth: Bandwidth
    memory: HostMemory


class CalibrationKeys(Strict):
    """Which fitted constants apply."""

    gemm: Text
    attention: Annotated[Text, one_of("a100", "hopper", "cudnn", "tpu")]


class ChipModel(Strict):
    """A chip file. Every number is `{value, unit, kind, source, note}`."""

    name: Text
    title: Text
    vendor: Text
    architecture: Text
    year: Text
    process: Text
    note: Text | None = None
    pe: Pe
    clock: PublishedClock
    peak: Peaks
    memory: Memory
    on_chip: OnChip
    power: Power
    dvfs: Dvfs
    energy: Energy
    scale_up: ScaleUp
    host: Host
    gemm_tile: Tile | None = None
    calibration: CalibrationKeys
    default_cluster: Text
    sources: dict[str, SourceModel] = Field(default_factory=dict)

"""The schema of a chip file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hardware_db.schema_base import (
    Area,
    Bandwidth,
    Bytes,
    ClockLevels,
    Count,
    EnergyPerByte,
    EnergyPerFlop,
    EnergyPerMac,
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

Width = Annotated[
    FlopPerCycle | None, Field(description="Of one processing element in this number format.")
]
Peak = Annotated[PublishedPeak | None, Field(description="Dense rate in this number format.")]
FlopEnergy = Annotated[EnergyPerFlop | None, Field(description="Per FLOP in this number format.")]
MacEnergy = Annotated[
    EnergyPerMac | None, Field(description="Per multiply-accumulate in this number format.")
]


class Widths(Strict):
    """FLOP per cycle and processing element, per number format."""

    fp64: Width = None
    fp32: Width = None
    tf32: Width = None
    bf16: Width = None
    fp16: Width = None
    fp8: Width = None
    fp6: Width = None
    fp4: Width = None
    int8: Width = None


class Pe(Strict):
    """The processing elements."""

    kind: Text = Field(description="What a processing element is: SM, CU, TensorCore, ...")
    count: Count = Field(description="Processing elements per chip.")
    rows: Count | None = Field(
        default=None, description="Rows of a rigid array of processing elements."
    )
    flop_per_clock: Widths | None = Field(
        default=None, description="FLOP per cycle of one processing element."
    )


class Peaks(Strict):
    """Dense peak rates; null where unsupported or unpublished."""

    fp64: Peak = None
    fp32: Peak = None
    tf32: Peak = None
    bf16: Peak = None
    fp16: Peak = None
    fp8: Peak = None
    fp6: Peak = None
    fp4: Peak = None
    int8: Peak = None


class Memory(Strict):
    """The device memory."""

    type: Text = Field(description="HBM3, GDDR6, ...")
    label: Text = Field(description="Capacity as the vendor prints it.")
    capacity: Bytes = Field(description="What a framework can allocate at most.")
    bandwidth: Bandwidth = Field(description="Peak of the device memory.")


class OnChip(Strict):
    """On-chip storage."""

    l2: PublishedBytes | None = Field(default=None, description="Last shared cache.")
    sram: PublishedBytes | None = Field(
        default=None, description="Software-managed memory of the chip."
    )
    sram_per_pe: PublishedBytes | None = Field(
        default=None, description="L1 or shared memory of one processing element."
    )
    registers_per_pe: PublishedBytes | None = Field(
        default=None, description="Register file of one processing element."
    )
    bandwidth: PublishedBandwidth | None = Field(
        default=None, description="Of the last shared memory on the chip, reads and writes."
    )


class Power(Strict):
    """Electrical power per chip; see `hardware_db.chip.Chip`."""

    tdp: Watts = Field(description="Power limit.")
    idle: Watts = Field(description="Clean idle.")
    wait: Watts = Field(description="Clocks up, waiting in communication, bubble or stall.")
    wait_sigma: Watts = Field(description="One standard deviation of `wait`.")
    busy: Watts = Field(description="Kernels running.")
    busy_sigma: Watts = Field(description="One standard deviation of `busy`.")
    host: Watts = Field(
        description="What the node draws beside its chips, per chip, without switches and optics."
    )
    host_sigma: Watts = Field(description="One standard deviation of `host`.")
    host_liquid: Watts | None = Field(
        default=None, description="`host` in a liquid-cooled node, where it was told apart."
    )


class Dvfs(Strict):
    """Clock and voltage scaling."""

    settable: bool = Field(description="Whether a user may choose the clock.")
    levels: ClockLevels = Field(description="Relative clocks to choose from, 1 first.")
    voltage_slope: RatioOrZero = Field(
        description="Relative voltage lost per relative clock given up."
    )
    voltage_floor: Fraction = Field(description="Least relative voltage.")


class Die(Strict):
    """The silicon, and what of it comes and goes with the processing elements."""

    area: Area = Field(description="Of all dies of the chip that compute.")
    pe_share: Fraction = Field(description="Of that area: what grows with processing elements.")
    pe_power_share: Fraction = Field(
        description="Of the power that running kernels add to idle: what grows with them."
    )


class FlopEnergies(Strict):
    """Energy per FLOP, per number format."""

    fp32: FlopEnergy = None
    tf32: FlopEnergy = None
    bf16: FlopEnergy = None
    fp16: FlopEnergy = None
    fp8: FlopEnergy = None
    fp6: FlopEnergy = None
    fp4: FlopEnergy = None
    int8: FlopEnergy = None


class MacEnergies(Strict):
    """Energy of one multiply-accumulate, per number format."""

    fp32: MacEnergy = None
    bf16: MacEnergy = None
    fp16: MacEnergy = None
    fp8: MacEnergy = None
    fp4: MacEnergy = None
    int8: MacEnergy = None


class Energy(Strict):
    """The component energy model."""

    flop: FlopEnergies = Field(description="Per FLOP; only ratios are relied on.")
    mac: MacEnergies | None = Field(
        default=None,
        description="Of the arithmetic alone, without memories; needed where energy.flop was "
        "fitted to the power of whole chips and so holds a part of them.",
    )
    memory: EnergyPerByte = Field(description="Per byte of device memory traffic, at system level.")
    sram: EnergyPerByte | None = Field(
        default=None, description="Per byte of an access to the last shared memory on the chip."
    )
    registers: EnergyPerByte | None = Field(
        default=None, description="Per byte of an access to the registers."
    )


class ScaleUp(Strict):
    """The chip's own links."""

    generation: Text = Field(description="NVLink4, ICI, xGMI, ...")
    links: PublishedCount | None = Field(default=None, description="Links per chip.")
    link_bandwidth: PublishedBandwidth | None = Field(
        default=None, description="One link, one direction."
    )
    bandwidth: PublishedBandwidth | None = Field(
        default=None, description="All links, one direction."
    )
    bidirectional: PublishedBandwidth | None = Field(
        default=None, description="All links, both directions together."
    )


class HostMemory(Strict):
    """Host memory, per chip."""

    capacity: Bytes = Field(description="Share of one chip.")
    bandwidth: Bandwidth = Field(description="Share of one chip.")
    energy: EnergyPerByte | None = Field(
        default=None, description="Read or write, the link to the chip included."
    )


class Host(Strict):
    """The path to the host, per chip."""

    link: Text = Field(description="PCIe 5.0 x16, NVLink-C2C, ...")
    link_bandwidth: Bandwidth = Field(description="Chip to host memory, one direction.")
    memory: HostMemory = Field(description="Memory of the host.")


class CalibrationKeys(Strict):
    """Which fitted constants apply."""

    gemm: Text = Field(description="Key of `gemm_efficiency` in a calibration file.")
    attention: Annotated[
        Text, one_of("a100", "ampere", "hopper", "cudnn", "h20", "tpu", "cdna3", "unfused")
    ] = Field(
        description="Key of `attention_efficiency`; hopper and cdna3 stand for what the "
        "software uses there, unfused for chips that no fused kernel is made for."
    )


class ChipModel(Strict):
    """A chip file. Every number is `{value, unit, kind, source, note}`."""

    name: Text = Field(description="Name on the command line.")
    title: Text = Field(description="Full name.")
    vendor: Text = Field(description="Who makes it.")
    architecture: Text = Field(description="Name of the architecture.")
    year: Text = Field(description="Year of its release.")
    process: Text = Field(description="Node of the process it is made in.")
    note: Text | None = Field(default=None, description="Anything a reader should know.")
    devices: Count | None = Field(
        default=None,
        description="Devices that software sees of one chip, each with an equal part of it; "
        "one where absent.",
    )
    pe: Pe = Field(description="Processing elements.")
    clock: PublishedClock = Field(description="Clock at which the peak rates hold.")
    peak: Peaks = Field(description="Dense peak rates of the whole chip.")
    memory: Memory = Field(description="Device memory.")
    on_chip: OnChip = Field(description="Storage on the chip.")
    power: Power = Field(description="Electrical power.")
    dvfs: Dvfs = Field(description="Clocks to choose from, and the voltage they need.")
    die: Die | None = Field(
        default=None, description="Silicon; needed where processing elements are a decision."
    )
    energy: Energy = Field(description="Energy per operation and byte.")
    scale_up: ScaleUp = Field(description="Its own links to other chips.")
    host: Host = Field(description="The path to the host.")
    gemm_tile: Tile | None = Field(
        default=None,
        description="Rows and columns of the usual matrix tile; none on systolic arrays.",
    )
    calibration: CalibrationKeys = Field(description="Which fitted constants apply.")
    default_cluster: Text = Field(description="Cluster used when only the chip is named.")
    sources: dict[str, SourceModel] = Field(
        default_factory=dict, description="Documents that the numbers come from, by key."
    )

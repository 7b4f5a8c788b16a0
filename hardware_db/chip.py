"""One accelerator chip as plain SI numbers, with the provenance of each."""

from __future__ import annotations

from dataclasses import field

from frozen_records import dataclass
from hardware_db.frozen_map import FrozenMap
from hardware_db.quantity import Quantity, Source

DTYPES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8")
"""Number formats for which peak rates may be given, widest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A schedulable accelerator (one GPU package, one TPU chip, one CPU socket).

    All rates are dense peaks (no structured sparsity) of the whole chip. Powers are electrical
    watts of one chip; `host_w` is what the node draws beside its chips (CPUs, memory, NICs, fans,
    power supplies), per chip, and contains neither network switches nor optical transceivers.

    Attributes:
        name, title, vendor, architecture, year, process: Labels.
        devices: Devices that software sees of one chip, each with an equal part of it.
        pe_kind: What a processing element is (SM, CU, TensorCore, ...).
        pe_count: Processing elements per chip.
        record_pe_count: Those of the record, where this chip is one scaled to another number that
            does not exist; else None.
        pe_rows: Rows of a rigid array of them; None where each works by itself.
        clock_hz: Clock at which `peak_flop_per_s` holds; None if unpublished.
        peak_flop_per_s: Peak per number format of `DTYPES` (integer operations for int8); formats
            without a published rate are absent.
        flop_per_pe_per_clock: The same per processing element and cycle, where known.
        memory_type: HBM3, GDDR6, ...
        memory_label: Capacity as the vendor prints it.
        memory_bytes: What a framework can allocate at most (the capacity visible to software).
        memory_bandwidth_bytes_per_s: Peak of the device memory.
        l2_bytes, sram_bytes, sram_bytes_per_pe, register_bytes_per_pe: On-chip storage (last
            shared cache; software-managed memory of the chip; L1 or shared memory and register
            file of one PE); None if unpublished or absent.
        sram_bandwidth_bytes_per_s: Of the last shared memory on the chip, reads and writes.
        tdp_w, idle_w: Power limit; clean idle.
        wait_w: Clocks up, waiting in communication, bubble or stall.
        busy_w: Kernels running. wait_sigma_w, busy_sigma_w: One standard deviation.
        host_w, host_sigma_w: Host share per chip (see above) and its standard deviation.
        host_liquid_w: Host share in a liquid-cooled node, where it was told apart, else None.
        clock_settable: Whether a user may choose the clock.
        clock_levels: Relative clocks to choose from, 1.0 first.
        voltage_slope, voltage_floor: V/V0 = max(floor, 1 + slope (f/f0 - 1)).
        die_area_m2: Silicon that computes; None if unknown, as the next two then are.
        pe_area_share: Of it, what grows with the number of processing elements.
        pe_power_share: Of `busy_w` - `idle_w`, what grows with them.
        flop_j: Energy per FLOP and format (component model: only ratios are trusted); where it was
            fitted to the power of whole chips it holds a part of the memories' too.
        mac_j: Energy of one multiply-accumulate alone per format, without any memory; empty where
            no source gives one, and then twice `flop_j` stands for it.
        memory_j_per_byte: Energy per byte of device memory traffic, at system level.
        sram_j_per_byte, register_j_per_byte: Energy per byte of an access to the last shared
            memory on the chip, and to the registers; None if no source gives one.
        scale_up_generation: NVLink4, ICI, xGMI, ...
        scale_up_links: Links per chip; None if unpublished.
        scale_up_link_bytes_per_s: One link, one direction; None if unpublished.
        scale_up_bytes_per_s: All links, one direction; None if there are none.
        host_link_name: PCIe 5.0 x16, NVLink-C2C, ...
        host_link_bandwidth_bytes_per_s: Chip to host memory, one direction, per chip.
        host_memory_bytes, host_memory_bandwidth_bytes_per_s: Share of one chip.
        host_memory_j_per_byte: Access from the chip, link included; None if no source gives one.
        gemm_tile: Rows and columns of the usual matrix-multiplication tile, or None where wave
            quantization does not apply (systolic arrays).
        calibration_gemm: Key of `gemm_efficiency` in a `Calibration`.
        calibration_attention: Key of `attention_efficiency`; `hopper` stands for `fa2_hopper` or
            `cudnn`, `ampere` for `fa2_ampere` or `a100`, whichever the training software uses;
            `unfused`: no fused kernel is made for
            the chip, so that scores cross memory.
        default_cluster: Cluster used when only the chip is named.
        quantities: Dotted path in the file to the quantity with its provenance.
        sources: Source key to source.
        base: The chip that this one is changed from; None: it stands for itself.
        changed: Dotted paths in the file of what differs from that.
        derived: Dotted paths of what its file does not say and follows from the rest.
        is_record: Whether all of its numbers are those of a chip of this database, so that what
            was measured on that chip holds for it.
    """

    name: str
    title: str
    vendor: str
    architecture: str
    year: str
    process: str
    devices: int = 1
    pe_kind: str
    pe_count: int
    record_pe_count: int | None = None
    pe_rows: int | None
    clock_hz: float | None
    peak_flop_per_s: FrozenMap[float]
    flop_per_pe_per_clock: FrozenMap[float]
    memory_type: str
    memory_label: str
    memory_bytes: float
    memory_bandwidth_bytes_per_s: float
    l2_bytes: float | None
    sram_bytes: float | None
    sram_bytes_per_pe: float | None
    register_bytes_per_pe: float | None
    sram_bandwidth_bytes_per_s: float | None
    tdp_w: float
    idle_w: float
    wait_w: float
    wait_sigma_w: float
    busy_w: float
    busy_sigma_w: float
    host_w: float
    host_sigma_w: float
    host_liquid_w: float | None
    clock_settable: bool
    clock_levels: tuple[float, ...]
    voltage_slope: float
    voltage_floor: float
    flop_j: FrozenMap[float]
    memory_j_per_byte: float
    sram_j_per_byte: float | None
    register_j_per_byte: float | None
    scale_up_generation: str
    scale_up_links: int | None
    scale_up_link_bytes_per_s: float | None
    scale_up_bytes_per_s: float | None
    host_link_name: str
    host_link_bandwidth_bytes_per_s: float
    host_memory_bytes: float
    host_memory_bandwidth_bytes_per_s: float
    host_memory_j_per_byte: float | None
    gemm_tile: tuple[int, int] | None
    calibration_gemm: str
    calibration_attention: str
    default_cluster: str
    quantities: FrozenMap[Quantity]
    sources: FrozenMap[Source]
    die_area_m2: float | None = None
    pe_area_share: float | None = None
    pe_power_share: float | None = None
    mac_j: FrozenMap[float] = field(default_factory=lambda: FrozenMap({}))
    base: Chip | None = None
    changed: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    is_record: bool = True

"""What a chip draws whatever it computes: leakage of its silicon, transceivers of its links.

    P_leakage = A d g(node) V             A: area of its dies, with SRAM that was added
    P_links   = sum over levels of 8 B e  B: bytes/s in one direction, e by kind and reach

d is what AccelWattch measured of GV100 (12 nm, 815 mm^2): 80 SMs take 0.283 W each where they idle,
and 48.9 W together where all run on tensor cores. Foundries publish power and density of a node
over those of the node before, not leakage. g is power times density: silicon of one area is taken
to leak as much more as it draws more at one clock: 0.4 / 0.3 of 7 nm over 16, 0.7 x 1.84 of 5 over
7 nm. P = V I of a transistor that is off (Butts and Sohi, A static power model for architects,
MICRO 2000).

e is the energy per bit of a transmitter and a receiver at one end of a link inside a scale-up
domain, drawn while the link is up, whether bits go over it or not. Optics are in the switch power
of a level, network cards in that of the host.

Sources:
    AccelWattch: accelwattch_sass_sim.xml of SM7_QV100 (idle_core_power, static_cat6_flane),
        https://github.com/accel-sim/gpgpu-sim_distribution at 667834cf
    GV100: NVIDIA, Tesla V100 GPU architecture, WP-08608-001
    7 nm over 16FF+, dies 70 % smaller, 60 % less power: https://techgage.com/news/
        tsmc-has-begun-mass-production-of-chips-built-on-its-7nm-process/
    5 over 7 nm, 1.84 times as dense, 30 % less power: https://www.dvhardware.net/article72643.html
    SRAM at 5 nm, 31.8 Mib per mm^2 with its periphery: https://fuse.wikichip.org/news/7343/
        iedm-2022-did-we-just-witness-the-death-of-sram/
    In a package, 112 Gb/s over 30 mm, 1.24 pJ/b: Poon et al., IEEE JSSC 57(4), 2022
    On a board, 40 Gb/s single-ended (NVLink-C2C) 1.3 pJ/b, SerDes of 112 Gb/s 5.5 pJ/b:
        https://www.besthub.dev/articles/
        why-nvidia-s-nvlink-c2c-is-redefining-gpu-cpu-interconnects-f3c3b77f8d87
    PCIe 5.0, five times as much as NVLink-C2C: https://sgline.org/what-is-nvlink-nvidia-blogs/
"""

from __future__ import annotations

from hardware_db import Chip, Cluster

_GV100_M2 = 815e-6
IDLE_LEAKAGE_W_PER_M2 = 80 * 0.28279166 / _GV100_M2
BUSY_LEAKAGE_W_PER_M2 = 48.94875596 / _GV100_M2
"""At 12 nm, where all SMs idle, and where all run on tensor cores."""
_AT_7_NM = 0.4 / 0.3
_AT_5_NM = _AT_7_NM * 0.7 * 1.84
_NODES = (
    (("4N", "N4", "N5", "5 nm", "N3"), _AT_5_NM),  # 3 nm: as 5 nm
    (("N7", "N6", "7 nm"), _AT_7_NM),
    (("12FFN", "16 nm", "14 nm"), 1.0),
)
"""What the process of a record contains, to leakage per area over that at 12 nm."""
SRAM_BYTES_PER_M2 = 31.8 * 2**20 / 8 * 1e6
J_PER_BIT = {"package": 1.24e-12, "NVLink-C2C": 1.3e-12, "PCIe": 6.5e-12, "SerDes": 5.5e-12}
"""By kind and reach."""


def leakage_w(process: str, area_m2: float | None) -> tuple[float, float]:
    """Watts of leakage of silicon that idles, and that works; 0 where nobody knows area or node.

    Args:
        process: As a chip's record names it.
        area_m2: Of all dies.
    """
    times = (times for names, times in _NODES if any(name in process for name in names))
    leaks = (area_m2 or 0.0) * next(times, 0.0)
    return leaks * IDLE_LEAKAGE_W_PER_M2, leaks * BUSY_LEAKAGE_W_PER_M2


def link_w(cluster: Cluster) -> float:
    """Watts of the transceivers of a chip's links to its neighbours and to the switches inside."""
    joules = J_PER_BIT[link_kind(cluster.chip)]
    inside = (level for level in cluster.levels if level.kind == "scale-up")
    return sum(8 * level.bandwidth_bytes_per_s * joules for level in inside)


def link_kind(chip: Chip) -> str:
    """Which of `J_PER_BIT` a chip's links are."""
    return next((kind for kind in J_PER_BIT if kind in chip.scale_up_generation), "SerDes")

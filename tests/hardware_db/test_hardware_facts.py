"""Shipped numbers against data sheets and against arithmetic that the loader does not do."""

import math
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from support.cases import each

import hardware_db
from hardware_db import Chip, load_calibration, load_chip, load_cluster, load_reference
from hardware_db.reading import DATA, read_file
from strict_yaml.reading import load as load_yaml

CHIPS = hardware_db.list_chips()
CLUSTERS = hardware_db.list_clusters()
REQUIRED_CLUSTERS = {
    "dgx1-v100", "dgx2-v100", "dgx-a100-40-hdr", "dgx-a100-80-hdr", "dgx-h100-ndr",
    "dgx-h200-ndr", "dgx-b200-ndr", "dgx-b300", "gb200-nvl72", "gb300-nvl72", "h100-500w",
    "gh200-ndr", "mi250x-slingshot", "mi300x-8way", "mi325x-8way", "mi355x-8way", "tpu-v3",
    "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7", "trn1", "trn2", "gaudi2", "gaudi3",
    "h800-pod", "xeon-clx-socket", "report1-rack", "c2c-ndr400-rack", "ascend-910b",
    "gigabyte-z52",
}  # fmt: skip

# Typed from data sheets and vendor pages: peak (16 bit), memory bandwidth, TDP, links x rate.
DATASHEETS = [
    ("v100-sxm2-16", "fp16", 125e12, 900e9, 300, 6, 25e9),
    ("a100-sxm4-40", "bf16", 312e12, 1555e9, 400, 12, 25e9),
    ("a100-sxm4-80", "bf16", 312e12, 2039e9, 400, 12, 25e9),
    ("h100-sxm5-80", "bf16", 989e12, 3.35e12, 700, 18, 25e9),
    ("h200-sxm5-141", "bf16", 989e12, 4.8e12, 700, 18, 25e9),
    ("b200-sxm-180", "bf16", 2250e12, 8e12, 1000, 18, 50e9),
    ("gb200-nvl72-gpu", "bf16", 2500e12, 8e12, 1200, 18, 50e9),
    ("mi50", "fp16", 26.82e12, 1024e9, 300, 2, 33e9),
    ("mi250x", "bf16", 383e12, 3.28e12, 560, 7, 50e9),
    ("mi300x", "bf16", 1307.4e12, 5.3e12, 750, 7, 64e9),
    ("mi355x", "bf16", 2516.6e12, 8e12, 1400, 7, 76.5e9),
    ("tpu-v4", "bf16", 275e12, 1.2e12, 192, 6, 45e9),
    ("tpu-v5p", "bf16", 459e12, 2765e9, None, 6, 90e9),
    ("tpu-v6e", "bf16", 918e12, 1638e9, None, 4, 90e9),
    ("gaudi2", "bf16", 432e12, 2.46e12, 600, 21, 12.5e9),
    ("ascend-910b", "bf16", 353.9e12, 1.6e12, None, 7, 28e9),
]
VISIBLE_MIB = {
    "h100-sxm5-80": 81559,
    "h200-sxm5-141": 143771,
    "b200-sxm-180": 183359,
    "gb200-nvl72-gpu": 189471,
    "b300-sxm-288": 275040,
    "gb300-nvl72-gpu": 284208,
}


# Bits of the memory interface and transfers per second and pin, as other pages than the records'
# sources have them: NVIDIA's deviceQuery on A100, a list of Hopper's final figures, nvidia-smi on
# B200 (Machine Learning Engineering), databases of third parties, AMD's eight stacks and rocm-smi.
MEMORY_PINS = [
    ("a100-sxm4-40", 5120, 2 * 1215e6),
    ("a100-sxm4-80", 5120, 2 * 1593e6),
    ("h100-sxm5-80", 5120, 5.2e9),
    ("h100-pcie-80", 5120, 2 * 1593e6),
    ("b200-sxm-180", 8192, 2 * 3996e6),
    ("mi50", 4096, 2 * 1000e6),
    ("mi250x", 8 * 1024, 2 * 1600e6),
]


def test_enough_records_and_the_required_ones() -> None:
    assert len(CHIPS) >= 31
    assert len(CLUSTERS) >= 28
    assert set(CLUSTERS) >= REQUIRED_CLUSTERS


@each("row", DATASHEETS)
def test_data_sheet(row: tuple[str, str, float, float, float | None, int, float]) -> None:
    name, dtype, peak, bandwidth, tdp, links, link = row
    chip = load_chip(name)
    assert chip.peak_flop_per_s[dtype] == pytest.approx(peak, rel=1e-3)
    assert chip.memory_bandwidth_bytes_per_s == pytest.approx(bandwidth, rel=1e-3)
    assert tdp is None or chip.tdp_w == tdp
    assert (chip.scale_up_links, chip.scale_up_link_bytes_per_s) == (links, link)
    assert chip.scale_up_bytes_per_s == links * link


@each(("name", "bits", "transfers_per_s"), MEMORY_PINS)
def test_memory_bandwidth_is_that_of_known_pins(
    name: str, bits: int, transfers_per_s: float
) -> None:
    """Vendors round what they print: 2.3 % on B200."""
    product = bits / 8 * transfers_per_s
    assert load_chip(name).memory_bandwidth_bytes_per_s == pytest.approx(product, rel=0.025)


@each(("name", "mib"), VISIBLE_MIB.items())
def test_memory_is_what_software_sees(name: str, mib: int) -> None:
    assert load_chip(name).memory_bytes == mib * 2**20


def test_tpu_v5p_memory_is_what_can_be_allocated() -> None:
    assert load_chip("tpu-v5p").memory_bytes == 95 * 2**30


def test_scaling_book_intensity_of_v5p() -> None:
    """alpha = C / W: 4.59e14 over 1.8e11, one axis in both directions (How to Scale, part 5)."""
    cluster = load_cluster("tpu-v5p")
    axis = 2 * cluster.levels[0].link_bandwidth_bytes_per_s
    assert cluster.chip.peak_flop_per_s["bf16"] / axis == pytest.approx(2550)


def test_report_two_links() -> None:
    inside, outside = load_cluster("c2c-ndr400-rack").levels
    assert 1 / inside.bandwidth_bytes_per_s == pytest.approx(1.11e-12, rel=2e-3)
    assert 1 / outside.bandwidth_bytes_per_s == pytest.approx(20e-12)
    assert inside.energy_j_per_byte / 8 == pytest.approx(1.3e-12)
    assert outside.energy_j_per_byte / 8 == pytest.approx(20e-12)


def test_report_one_rack() -> None:
    cluster = load_cluster("report1-rack")
    level = cluster.levels[0]
    assert cluster.chip.clock_hz == 1e9
    assert level.bandwidth_bytes_per_s / 1e9 == 32  # bytes per cycle and GPU
    assert level.energy_j_per_byte == 1.6e-10
    assert cluster.chip.peak_flop_per_s["int8"] / 2 / 1e9 == 16  # multiply-accumulates per cycle
    assert cluster.chip.memory_j_per_byte * 8 == pytest.approx(1.3e-9)


def test_ridgeline_socket() -> None:
    cluster = load_cluster("xeon-clx-socket")
    peak = cluster.chip.peak_flop_per_s["fp32"]
    network = cluster.levels[0].bandwidth_bytes_per_s
    assert cluster.chip.memory_bandwidth_bytes_per_s / network == 8.75
    assert peak / cluster.chip.memory_bandwidth_bytes_per_s == pytest.approx(40)


def test_static_power_of_a_two_tier_ndr_fabric() -> None:
    """Four transceiver ends of 9 W and three of the 64 ports of a 747 W switch: 71 W per GPU."""
    levels = load_cluster("dgx-h100-ndr").scale(2048).levels
    assert [level.name for level in levels] == ["nvlink", "leaf", "spine"]
    watts = sum(level.switch_power_w_per_chip for level in levels)
    assert watts == pytest.approx(4 * 9 + 3 * 747 / 64, abs=0.1)


@each("name", CHIPS)
def test_chip_is_consistent(name: str) -> None:
    chip = load_chip(name)
    assert chip.name == name
    assert 0 < chip.idle_w <= chip.wait_w <= chip.busy_w <= 1.1 * chip.tdp_w
    assert chip.clock_levels[0] == 1.0
    assert all(0 < level <= 1 for level in chip.clock_levels)
    assert chip.clock_settable == (chip.vendor in ("NVIDIA", "AMD"))
    for dtype, width in chip.flop_per_pe_per_clock.items():
        assert chip.clock_hz is not None
        product = chip.pe_count * chip.clock_hz * width
        assert product == pytest.approx(chip.peak_flop_per_s[dtype], rel=0.01)
    assert not looks_sparse(chip)
    assert chip.default_cluster in CLUSTERS
    numbers = [chip.memory_bytes, chip.host_memory_bytes, chip.host_w, chip.memory_j_per_byte,
               chip.host_link_bandwidth_bytes_per_s, *chip.flop_j.values()]  # fmt: skip
    assert all(0 < number < math.inf for number in numbers)
    assert set(chip.flop_j) <= set(chip.peak_flop_per_s)
    assert set(chip.mac_j) <= set(chip.flop_j)
    assert all(0 < joules < 2 * chip.flop_j[dtype] for dtype, joules in chip.mac_j.items())


# Gb/s of a pin, and GB of a stack of 1024 pins, that the generations of memory come with: about
# those of JEDEC's standards (JESD235 for HBM2 and HBM2e, JESD238 for HBM3), as products run them.
STACKS = {
    "HBM2": ((1.6, 2.45), (4, 8)), "HBM2e": ((2.8, 3.65), (8, 16)),
    "HBM3": ((5.0, 6.5), (16, 24)), "HBM3e": ((5.8, 9.3), (24, 32, 36)),
}  # fmt: skip
OTHER_PINS = {"l40s": (384, 18.0)}  # GDDR6: pins, and Gb/s of each
# What Google calls HBM2 has pins as fast as those of HBM2e; the other two only say HBM.
UNLIKE = {"tpu-v5e", "tpu-v2", "tpu-v3", "tpu-v6e"}


@each("name", CHIPS)
def test_memory_bandwidth_is_that_of_whole_stacks(name: str) -> None:
    """With a whole number of stacks, which have the capacity on the label or little more."""
    data, _ = read_file(DATA / "chips" / f"{name}.yaml")
    kind, bandwidth = data["memory"]["type"], data["memory"]["bandwidth"]["value"]
    if name in OTHER_PINS:
        pins, gbit_per_s = OTHER_PINS[name]
        assert bandwidth == pytest.approx(pins * gbit_per_s * 1e9 / 8, rel=0.01)
    elif kind.startswith("HBM") and name not in UNLIKE:
        (least, most), sizes = STACKS[kind]
        capacity = float(data["memory"]["label"].split()[0])
        fitting = [
            (count, size) for count in range(1, 13) for size in sizes
            if least <= bandwidth * 8 / (count * 1024 * 1e9) <= most
            and capacity <= count * size <= 1.07 * capacity
        ]  # fmt: skip
        assert fitting, (bandwidth, capacity)


def looks_sparse(chip: Chip) -> bool:
    """Sparse figures are twice the dense ones: fp8 would exceed 2.1 times bf16."""
    rates = chip.peak_flop_per_s
    return "fp8" in rates and "bf16" in rates and rates["fp8"] > 2.1 * rates["bf16"]


@each("name", CHIPS)
def test_calibration_keys_exist(name: str) -> None:
    chip, constants = load_chip(name), load_calibration()
    assert 0 < constants.value(f"gemm_efficiency.{chip.calibration_gemm}") <= 1
    key = chip.calibration_attention
    families = {"hopper": ("fa2_hopper", "cudnn"), "ampere": ("fa2_ampere", "a100"), "unfused": ()}
    for used in families.get(key, (key,)):
        assert 0 < constants.value(f"attention_efficiency.{used}") <= 1


def test_every_energy_per_flop_follows_the_stated_rule() -> None:
    """0.9 pJ/FLOP on H100 at bf16, others by TDP over peak; fp8 in proportion to its rate."""
    assert load_chip("h100-sxm5-80").flop_j["bf16"] == pytest.approx(0.9e-12)
    assert load_chip("h100-sxm5-80").flop_j["fp8"] == pytest.approx(0.45e-12, rel=1e-3)
    expected = 0.9e-12 * (400 / 312e12) / (700 / 989e12)
    assert load_chip("a100-sxm4-80").flop_j["bf16"] == pytest.approx(expected, rel=5e-3)


def test_sixteen_bits_take_four_times_the_arithmetic_of_eight() -> None:
    """Multipliers grow with the square of their width, adders with it: between 2 and 4 times."""
    for name in ("h100-sxm5-80", "a100-sxm4-80", "c2c-gpu"):
        alone = load_chip(name).mac_j
        (eight,) = {alone[kind] for kind in ("fp8", "int8") if kind in alone}
        assert 2 < alone["bf16"] / eight < 4
        assert alone["fp16"] == alone["bf16"]


@each("name", CLUSTERS)
def test_cluster_is_consistent(name: str) -> None:
    cluster = load_cluster(name)
    assert cluster.name == name
    sizes = [level.domain_chips or math.inf for level in cluster.levels]
    assert sizes == sorted(set(sizes))
    assert all(size != math.inf for size in sizes[:-1])
    for level in cluster.levels:
        assert level.bandwidth_bytes_per_s > 0
        assert level.peer_bandwidth_bytes_per_s <= level.bandwidth_bytes_per_s
        if level.links and level.link_bandwidth_bytes_per_s:
            total = level.links * level.link_bandwidth_bytes_per_s
            assert total == pytest.approx(level.bandwidth_bytes_per_s)
        if level.topology == "fully-connected":
            assert level.links == level.links_per_pair * ((level.domain_chips or 0) - 1)
        if level.torus is not None:
            assert math.prod(level.torus_dims) == level.domain_chips
            assert level.links == 2 * len(level.torus_dims)


@each("name", CLUSTERS)
def test_scale_up_level_agrees_with_the_chip(name: str) -> None:
    cluster = load_cluster(name)
    inner = [level for level in cluster.levels if level.kind == "scale-up"]
    # Two of the eight links go elsewhere in a Frontier node; two of the eight of a ring are PCIe.
    fabric = {"mi250x-slingshot", "gigabyte-z52"}
    if inner and name not in fabric and cluster.chip.scale_up_bytes_per_s is not None:
        wired = [level for level in inner if level.name != "pcie"] or inner
        total = sum(level.bandwidth_bytes_per_s for level in wired)
        assert total == pytest.approx(cluster.chip.scale_up_bytes_per_s, rel=1e-6)


def test_dgx1_graph_gives_the_group_bandwidths() -> None:
    """Rings counted on the adjacency matrix: 2, 4 and 6 links of the weakest member per group."""
    links = load_reference("topologies").quantities["dgx1-v100.links_between"].value
    assert isinstance(links, tuple)
    rows = [row for row in links if isinstance(row, tuple)]
    assert [sum(row) for row in rows] == [6] * 8
    assert sum(map(sum, rows)) == 2 * 24
    level = load_cluster("dgx1-v100").levels[0]
    pair = max(rows[0])
    quad = min(sum(rows[a][b] for b in range(4)) for a in range(4))
    assert dict(level.bandwidth_by_group) == {2: pair * 25e9, 4: quad * 25e9, 8: 6 * 25e9}


def test_the_msccl_matrix_is_the_same_graph() -> None:
    table = load_reference("topologies").quantities
    ours = table["dgx1-v100.links_between"].value
    theirs = table["dgx1-v100.links_between_msccl"].value
    where = [0, 3, 1, 2, 4, 7, 5, 6]
    assert isinstance(ours, tuple)
    assert isinstance(theirs, tuple)
    for a in range(8):
        for b in range(8):
            assert theirs[a][b] == ours[where[a]][where[b]]  # type: ignore[index]


def test_the_z52_is_two_islands_of_xgmi_that_pcie_joins_to_a_ring() -> None:
    """The islands are those of amd8() in MSCCL's tools: what it gives six lanes and not five.

    Source: https://github.com/microsoft/msccl-tools/blob/e46d5a79/msccl/topologies/amd.py
    """
    six = [[2, 3, 5], [4, 6, 7], [0, 3, 5], [0, 2, 5], [1, 6, 7], [0, 2, 3], [1, 4, 7], [1, 4, 6]]
    table = load_reference("topologies").quantities
    xgmi, unused, pcie = (
        nx.Graph(np.asarray(table[f"gigabyte-z52.{name}"].value).tolist())
        for name in ("xgmi_pairs", "xgmi_pairs_unused", "pcie_pairs")
    )
    islands = list(nx.connected_components(xgmi))
    assert all({at, *six[at]} in islands for at in range(8))
    closed = nx.compose(xgmi, unused)
    assert [closed.degree[at] for at in range(8)] == [2] * 8
    assert list(nx.connected_components(closed)) == islands
    ring = np.asarray(table["gigabyte-z52.ring"].value).tolist()
    assert nx.utils.graphs_equal(nx.compose(xgmi, pcie), nx.cycle_graph(ring))
    level = load_cluster("gigabyte-z52").levels[0]
    assert level.bandwidth_bytes_per_s == level.links * level.link_bandwidth_bytes_per_s


def test_fitted_constants_say_how_sure_they_are_and_what_they_rest_on() -> None:
    constants = load_calibration()
    for path in ("gemm_efficiency.a100", "network.scale_up_efficiency", "site_factor.bloomtune"):
        quantity = constants.quantities[path]
        assert quantity.kind == "derived"
        assert quantity.uncertainty is not None
        assert 0 < quantity.uncertainty < 0.2
        assert quantity.rows is not None
        assert quantity.rows >= 40
    assert constants.value("jitter") == 0.0
    for path in ("memory_efficiency", "gemm_efficiency.mi", "moe.fused.host_s_per_expert"):
        assert constants.quantities[path].kind == "assumed"


def test_calibration_names_the_nearest_constant() -> None:
    with pytest.raises(hardware_db.HardwareError, match="mean 'overlap\\.tensor_parallel'"):
        load_calibration().value("overlap.tensor_paralel")
    assert load_calibration().group("era.jax").keys() == {
        "dp_overlap",
        "zero3_overlap",
        "elementwise",
        "host_s_per_layer",
        "fixed_s_per_layer",
    }
    with pytest.raises(hardware_db.HardwareError, match="no group 'overlaps'"):
        load_calibration().group("overlaps")


@each("name", hardware_db.list_references())
def test_reference_tables_load(name: str) -> None:
    assert load_reference(name).quantities


def test_published_reference_values() -> None:
    energy = load_reference("energy").quantities
    assert energy["operations_45nm.fp32_mul"].number == pytest.approx(3.7e-12)
    assert energy["operations_7nm.fp32_mul"].number == pytest.approx(1.31e-12)
    nccl = load_reference("nccl-tuner").quantities
    assert nccl["base_latency.ring"].value == pytest.approx((6.6e-6, 14e-6, 8.4e-6))
    assert load_reference("links").quantities["nvlink5.link_bandwidth"].number == 5e10


def test_year_and_labels_are_text() -> None:
    raw = Path(hardware_db.__file__).parent / "data" / "chips" / "h100-sxm5-80.yaml"
    assert load_yaml(raw.read_text(encoding="utf-8"))["year"] == "2022"
    assert load_chip("h100-sxm5-80").year == "2022"

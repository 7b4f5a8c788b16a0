"""Regions of the plane against the longest of three times; counts of products by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import each

from planner.base.errors import InputError
from planner.cost.communication.traffic import carried_bytes
from planner.question.records import cluster_named
from planner.studies.rack.model.workloads import workload_named
from planner.studies.ridgeline.machine import ridges_of
from planner.studies.ridgeline.plane import REGIONS, Counts, Ridge, place
from planner.studies.ridgeline.products import case_counts, case_of_gemms, case_of_workload

SIZES = st.floats(1e3, 1e18)
RATES = st.floats(1e6, 1e17)


def counts(flop: float, memory: float, *network: float) -> Counts:
    return Counts(
        names=("one",),
        flop=np.array([flop]),
        memory_bytes=np.array([memory]),
        network_bytes=np.array([network]),
    )


def region_on_the_plane(ridge: Ridge, x: float, y: float) -> str:
    """The paper's quadrants: the upper left one is divided by the diagonal."""
    if x < ridge.knee_x:
        return "network" if y < ridge.knee_y or x * y < ridge.diagonal else "compute"
    return "memory" if y < ridge.knee_y else "compute"


@given(flop=SIZES, memory=SIZES, network=SIZES, rates=st.tuples(RATES, RATES, RATES))
def test_quadrants_are_the_longest_of_three_times(
    flop: float, memory: float, network: float, rates: tuple[float, float, float]
) -> None:
    ridge = Ridge(
        level="l", flop_per_s=rates[0], memory_bytes_per_s=rates[1], network_bytes_per_s=rates[2]
    )
    placed = place((ridge,), counts(flop, memory, network))
    times = {"compute": flop / rates[0], "memory": memory / rates[1], "network": network / rates[2]}
    region = REGIONS[placed.region[0]]
    assert placed.bound_s[0] == max(times.values()) == times[region]
    ranked = sorted(times.values())
    assert bool(placed.near_ridge[0]) == (ranked[1] >= 0.9 * ranked[2])
    if ranked[1] < ranked[2] * (1 - 1e-9):  # not on a border
        assert region_on_the_plane(ridge, memory / network, flop / memory) == region


@given(share=st.floats(1e-6, 1.0), wide=st.floats(1.1, 1e6), rates=st.tuples(RATES, RATES, RATES))
def test_all_of_a_contour_has_one_rate(
    share: float, wide: float, rates: tuple[float, float, float]
) -> None:
    ridge = Ridge(
        level="l", flop_per_s=rates[0], memory_bytes_per_s=rates[1], network_bytes_per_s=rates[2]
    )
    across = (ridge.knee_x / wide, ridge.knee_x * wide)
    up = (ridge.knee_y / wide, ridge.knee_y * wide)
    corners = ridge.contour(share, across, up)
    assert bool(corners) == (share > wide**-2) or share == pytest.approx(wide**-2, rel=1e-6)
    for x, y in corners:
        assert ridge.share(x, y) == pytest.approx(share)
        assert across[0] * (1 - 1e-9) <= x <= across[1] * (1 + 1e-9)
        assert up[0] * (1 - 1e-9) <= y <= up[1] * (1 + 1e-9)
    assert list(corners) == sorted(corners)


def test_the_roof() -> None:
    (ridge,) = ridges_of(cluster_named("xeon-clx-socket"), "fp32", "12GB/s")
    assert ridge.roof(np.array([1.0, 40.0, 400.0])).tolist() == [105e9, 4.2e12, 4.2e12]


@given(st.lists(SIZES, min_size=2, max_size=5), st.lists(RATES, min_size=5, max_size=5))
def test_the_slowest_level_binds(network: list[float], rates: list[float]) -> None:
    ridges = tuple(
        Ridge(level=str(i), flop_per_s=1e12, memory_bytes_per_s=1e12, network_bytes_per_s=rate)
        for i, rate in enumerate(rates[: len(network)])
    )
    placed = place(ridges, counts(1.0, 1.0, *network))
    seconds = [sent / rate for sent, rate in zip(network, rates, strict=False)]
    assert seconds[placed.level[0]] == max(seconds)
    for index, time in enumerate(seconds):
        alone = placed.of_level(index)
        assert alone.bound_s[0] == max(1e-12, time)
        assert alone.bound_s[0] <= placed.bound_s[0]


def test_levels_of_a_cluster() -> None:
    ridges = ridges_of(cluster_named("h100-sxm5-80"), "bf16")
    assert [ridge.level for ridge in ridges] == ["nvlink", "leaf", "spine", "core"]
    assert ridges[0].knee_x == pytest.approx(3.35e12 / 450e9)
    assert ridges[1].diagonal == pytest.approx(989e12 / 50e9)
    assert ridges_of(cluster_named("h100-sxm5-80"), "fp8", "leaf")[0].flop_per_s == 1979e12
    (given_rate,) = ridges_of(cluster_named("tpu-v5p"), "bf16", "12GB/s")
    assert given_rate.network_bytes_per_s == 12e9


def test_what_crosses_the_spine_has_crossed_the_leaf_but_no_nvlink() -> None:
    cluster = cluster_named("h100-sxm5-80")
    passing = carried_bytes(cluster, [np.array([float(8**k)]) for k in range(4)])
    assert [float(one[0]) for one in passing] == [1, 8 + 64 + 512, 64 + 512, 512]


@each("counting", ["step", "gemm"])
def test_products_by_hand(counting: str) -> None:
    chip = cluster_named("h100-sxm5-80").chip
    found = case_counts(
        case_of_gemms([(3, 5, 7)]), chip, "bf16", levels=2, batches=(1,), counting=counting, chips=4
    )
    assert found.flop.tolist() == [3 * 2 * 3 * 5 * 7]
    operands = 3 * 5 + 5 * 7 + 3 * 7
    assert found.memory_bytes.tolist() == [2 * operands * (1 if counting == "step" else 3)]
    assert found.network_bytes.tolist() == [[2 * 3 / 4 * 5 * 7 * 2] * 2]


def test_heads_without_weights_grow_with_the_batch_and_send_nothing() -> None:
    chip = cluster_named("h100-sxm5-80").chip
    case = case_of_workload(workload_named("attention"))
    one, two = (
        case_counts(case, chip, "bf16", levels=1, batches=(b,), counting="gemm", chips=None)
        for b in (1, 2)
    )
    at = one.names.index("scores")
    assert one.network_bytes[at, 0] == 0
    assert two.memory_bytes[at] == 2 * one.memory_bytes[at]
    shared = one.names.index("query")
    assert one.network_bytes[shared, 0] == two.network_bytes[shared, 0] > 0
    assert one.memory_bytes[shared] < two.memory_bytes[shared] < 2 * one.memory_bytes[shared]
    assert np.allclose(two.flop, 2 * one.flop)


def test_a_chip_without_the_precision() -> None:
    with pytest.raises(InputError, match="precision: xeon-clx-socket has no bf16 rate"):
        ridges_of(cluster_named("xeon-clx-socket"), "bf16")

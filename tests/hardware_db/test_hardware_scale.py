"""Which chip counts a cluster can give, with which levels, and what is lost."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from hardware_db import Allocation, HardwareError, describe, list_clusters, load_cluster


def scale(name: str, chips: int) -> Allocation:
    return load_cluster(name).scale(chips)


def test_v5p_cube_of_sixteen() -> None:
    allocation = scale("tpu-v5p", 4096)
    (ici,) = allocation.levels
    assert ici.torus_dims == (16, 16, 16)
    assert ici.torus_wrap == (True, True, True)
    assert (allocation.slices, allocation.losses) == (1, ())


def test_v5p_refuses_thirteen_and_names_the_nearest() -> None:
    with pytest.raises(HardwareError, match=r"cannot give 13 chips.*nearest counts are 8 and 16"):
        scale("tpu-v5p", 13)


def test_v5p_below_a_cube_has_no_wraparound() -> None:
    allocation = scale("tpu-v5p", 8)
    assert allocation.levels[0].torus_dims == (2, 2, 2)
    assert allocation.levels[0].torus_wrap == (False, False, False)
    assert "no axis of the 2x2x2 slice has wraparound" in allocation.losses[0]


def test_v5p_whole_pod_is_above_the_largest_schedulable_slice() -> None:
    allocation = scale("tpu-v5p", 8960)
    assert allocation.levels[0].torus_dims == (16, 20, 28)
    assert "largest slice that can be scheduled (6144 chips)" in allocation.losses[0]
    assert scale("tpu-v5p", 6144).losses == ()


def test_v5p_between_the_largest_slice_and_the_pod() -> None:
    """One slice of the pod where there is one with that many chips, else several."""
    assert scale("tpu-v5p", 7680).slices == 1
    assert scale("tpu-v5p", 8192).slices == 2
    assert {7680, 8192} <= set(load_cluster("tpu-v5p").chip_counts(8960))


def test_v5p_beyond_a_pod_uses_the_fewest_slices() -> None:
    allocation = scale("tpu-v5p", 12288)
    ici, dcn = allocation.levels
    assert (allocation.slices, ici.domain_chips, ici.torus_dims) == (2, 6144, (16, 16, 24))
    assert (dcn.name, dcn.domain_chips) == ("dcn", 12288)
    assert "2 slices are joined by dcn only" in allocation.losses


def test_v5e_wraps_only_axes_of_sixteen() -> None:
    allocation = scale("tpu-v5e", 128)
    assert allocation.levels[0].torus_dims == (8, 16)
    assert allocation.levels[0].torus_wrap == (False, True)
    assert "only part of the axes" in allocation.losses[0]
    assert scale("tpu-v5e", 256).levels[0].torus_wrap == (True, True)
    assert scale("tpu-v5e", 512).slices == 2


def test_v3_wraps_only_axes_of_the_pod() -> None:
    assert scale("tpu-v3", 512).levels[0].torus_wrap == (False, True)
    assert scale("tpu-v3", 256).levels[0].torus_wrap == (False, False)


@each(("chips", "shape"), [
    (4, (2, 2, 1)), (16, (2, 2, 4)), (32, (2, 4, 4)), (64, (4, 4, 4)), (512, (8, 8, 8)),
    (768, (8, 8, 12)), (3072, (12, 16, 16)), (5120, (16, 16, 20)),
])  # fmt: skip
def test_v5p_takes_the_most_cubic_shape(chips: int, shape: tuple[int, ...]) -> None:
    assert scale("tpu-v5p", chips).levels[0].torus_dims == shape


def test_gpu_nodes() -> None:
    with pytest.raises(HardwareError, match=r"12 chips.*nodes of 8.*nearest counts are 8 and 16"):
        scale("dgx-h100-ndr", 12)
    assert [level.name for level in scale("dgx-h100-ndr", 8).levels] == ["nvlink"]
    assert scale("dgx-h100-ndr", 4).losses == ("4 of the 8 chips of the node stay idle",)
    domains = {level.name: level.domain_chips for level in scale("dgx-h100-ndr", 4096).levels}
    assert domains == {"nvlink": 8, "leaf": 256, "spine": 2048, "core": 4096}


def test_nvl72_fills_racks_evenly() -> None:
    allocation = scale("gb200-nvl72", 128)
    assert [level.domain_chips for level in allocation.levels] == [64, 128]
    assert allocation.losses == ("8 of the 72 chips of each scale-up domain stay idle",)
    assert scale("gb200-nvl72", 72).losses == ()
    assert scale("gb200-nvl72", 36).losses == ()
    whole = scale("gb200-nvl72", 1152)
    assert [level.domain_chips for level in whole.levels] == [72, 576, 1152]


def test_hybrid_cube_mesh_gives_only_groups_with_known_rings() -> None:
    assert scale("dgx1-v100", 4).levels[0].bandwidth_by_group[1] == (4, 1e11)
    with pytest.raises(HardwareError, match="nearest counts are 2 and 4"):
        scale("dgx1-v100", 3)


def test_directly_wired_chips_lose_links_in_part_of_a_node() -> None:
    level = scale("mi300x-8way", 4).levels[0]
    assert level.bandwidth_bytes_per_s == 3 * 64e9
    assert level.peer_bandwidth_bytes_per_s == 64e9
    assert scale("mi300x-8way", 8).levels[0].bandwidth_bytes_per_s == 7 * 64e9


def test_trainium_torus_and_ultraserver() -> None:
    assert scale("trn2", 16).levels[0].torus_wrap == (True, True)
    assert scale("trn2", 8).levels[0].torus_dims == (2, 4)
    assert [level.domain_chips for level in scale("trn2", 128).levels] == [16, 64, 128]
    assert any("ring is cut open" in loss for loss in scale("trn2", 32).losses)


@each("chips", [0, -1, 10**12, True, 1.5, "8", None])
def test_impossible_counts_are_refused_in_one_line(chips: object) -> None:
    for name in ("tpu-v5p", "dgx-h100-ndr"):
        with pytest.raises(HardwareError) as caught:
            load_cluster(name).scale(chips)  # type: ignore[arg-type]
        assert str(caught.value).startswith("chips: ")
        assert "\n" not in str(caught.value)


@each("name", list_clusters())
def test_counts_are_exactly_those_that_scale_accepts(name: str) -> None:
    cluster = load_cluster(name)
    limit = min(cluster.max_chips, 700)
    counts = cluster.chip_counts(limit)
    assert list(counts) == sorted(set(counts))
    for chips in range(1, limit + 1):
        if chips in counts:
            check(cluster.scale(chips), chips)
        else:
            with pytest.raises(HardwareError):
                cluster.scale(chips)


def check(allocation: Allocation, chips: int) -> None:
    """What every allocation must satisfy."""
    assert allocation.chips == chips
    sizes = [level.domain_chips for level in allocation.levels]
    assert sizes[-1] == chips
    assert sizes == sorted(set(sizes), key=lambda size: size or 0)
    for level in allocation.levels:
        assert math.prod(level.torus_dims or (level.domain_chips or 0,)) == level.domain_chips
        assert len(level.torus_dims) == len(level.torus_wrap)


@settings(max_examples=200, deadline=None)
@given(name=st.sampled_from(list_clusters()), chips=st.integers(1, 300_000))
def test_any_count_is_given_or_refused_with_true_neighbours(name: str, chips: int) -> None:
    cluster = load_cluster(name)
    try:
        check(cluster.scale(chips), chips)
    except HardwareError as error:
        if "nearest" in str(error):
            tail = str(error).split(" is ")[-1].split(" are ")[-1]
            near = [int(word) for word in tail.split() if word.isdigit()]
            assert near
            for count in near:
                cluster.scale(count)


def test_max_chips_reaches_two_to_the_seventeenth() -> None:
    for name in ("tpu-v5p", "dgx-h100-ndr"):
        check(scale(name, 2**17), 2**17)


@each(
    ("chips", "shape", "gain"),
    [
        (4, (1, 2, 2), 1.0),
        (64, (4, 4, 4), 1.0),
        (128, (4, 4, 8), 1.63),
        (256, (4, 8, 8), 1.31),
        (192, (4, 4, 12), 1.0),
        (512, (8, 8, 8), 1.0),
        (1024, (8, 8, 16), 1.63),
        (2048, (8, 16, 16), 1.31),
    ],
)
def test_slices_with_one_or_two_long_axes_are_twisted(
    chips: int, shape: tuple[int, ...], gain: float
) -> None:
    """k x k x 2k and k x 2k x 2k with k a multiple of 4, on v4 and v5p; not on the 2D tori."""
    for name in ("tpu-v4", "tpu-v5p"):
        level = scale(name, chips).levels[0]
        assert tuple(sorted(level.torus_dims)) == shape
        assert level.torus_exchange_gain == gain
        assert level.torus_wrap == (all(axis % 4 == 0 for axis in shape),) * 3
    for name in ("tpu-v5e", "trn2"):
        assert scale(name, 16).levels[0].torus_exchange_gain == 1.0


def test_the_twist_is_listed_with_its_kind() -> None:
    rows = {row.path: row for row in describe("tpu-v5p")}
    row = rows["levels.ici.torus.twist.k_k_2k"]
    assert (row.value, row.kind) == (1.63, "assumed")
    assert "remembered" in row.note

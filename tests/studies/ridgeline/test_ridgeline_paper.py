"""The case study of the paper: Cascade Lake, a 4096-wide layer, batches 2^4 to 2^14."""

import math
from typing import Any

import pytest
from cli.command import planner

CASE = ("ridgeline", "--hardware", "xeon-clx-socket", "--case", "mlp-4096")


@pytest.fixture(scope="module")
def answer() -> Any:
    outcome = planner(*CASE, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.document


@pytest.fixture(scope="module")
def points(answer: Any) -> dict[int, Any]:
    return {point["batch"]: point for point in answer["points"]}


def test_the_knee(answer: Any) -> None:
    assert answer["knee"] == {"x": 105 / 12, "y": 40.0}
    assert answer["ridgelines"][0]["diagonal"] == 4.2e12 / 12e9
    assert not answer["degenerate"]


def test_the_batches_and_their_regions(points: dict[int, Any]) -> None:
    assert list(points) == [2**k for k in range(4, 15)]
    for batch, point in points.items():
        assert point["region"] == ("network" if batch < 512 else "compute"), batch
        assert point["near_ridge"] == (batch == 512), batch


def test_an_all_reduce_moves_the_weights_twice(points: dict[int, Any]) -> None:
    for point in points.values():
        assert point["network_bytes"] == 2 * 4096 * 4096 * 4


def test_the_times_around_the_ridge(points: dict[int, Any]) -> None:
    at = points[512]
    assert at["compute_time_s"] == pytest.approx(12.27e-3, abs=5e-6)
    assert at["network_time_s"] == pytest.approx(11.18e-3, abs=5e-6)
    assert at["projected_time_s"] == at["compute_time_s"]
    assert at["distance"]["diagonal"] == pytest.approx(12.27 / 11.18, rel=1e-3)
    for batch, point in points.items():
        longest = max(point[f"{what}_time_s"] for what in ("compute", "memory", "network"))
        assert point["projected_time_s"] == longest, batch


def test_the_ridge_is_crossed_at_467() -> None:
    """6 B D^2 / C = 8 D^2 / W_N, so B = 8 C / (6 W_N) = 466.7 whatever the width."""
    assert pytest.approx(466.7, abs=0.05) == 8 * 4.2e12 / (6 * 12e9)
    found = planner(*CASE, "--batches", "466,467", "--json").document["points"]
    assert [point["region"] for point in found] == ["network", "compute"]


def test_the_roofline_is_crossed_at_32_where_operands_count_once(points: dict[int, Any]) -> None:
    assert points[32]["operational_intensity"] == pytest.approx(47.3, abs=0.05)
    assert points[16]["operational_intensity"] == pytest.approx(23.8, abs=0.05)


def test_the_roofline_is_crossed_at_83_where_every_gemm_counts_its_own() -> None:
    """2 B D / (4 (2 B + D)) = 40 at D = 4096: B = 83.2."""
    found = planner(*CASE, "--counting", "gemm", "--batches", "83,84", "--json").document["points"]
    below, above = (point["operational_intensity"] for point in found)
    assert below < 40 < above


def test_blocking_moves_no_less_than_every_operand_once() -> None:
    flags = (*CASE, "--batches", "16..16384", "--json", "--counting")
    blocked = planner(*flags, "blocked").document["points"]
    once = planner(*flags, "gemm").document["points"]
    assert all(b["memory_bytes"] >= o["memory_bytes"] for b, o in zip(blocked, once, strict=True))
    assert blocked[-1]["memory_bytes"] > once[-1]["memory_bytes"]


def test_no_point_is_faster_than_the_peak(points: dict[int, Any]) -> None:
    for batch, point in points.items():
        assert point["achieved_flop_per_s"] <= 4.2e12, batch
        expected = point["flop"] / point["projected_time_s"]
        assert point["achieved_flop_per_s"] == pytest.approx(expected, rel=1e-12), batch


def test_the_rule_of_near_the_ridge_in_words(answer: Any) -> None:
    assert any("at least 90 % of the longest" in note for note in answer["notes"])


def test_a_ring_of_few_chips_moves_less(points: dict[int, Any]) -> None:
    few = planner(*CASE, "--chips", 4, "--batches", 512, "--json").document["points"][0]
    assert few["network_bytes"] == points[512]["network_bytes"] * 3 / 4


def test_one_chip_has_a_roofline_and_no_plane() -> None:
    alone = planner(*CASE, "--chips", 1, "--json").document
    assert alone["degenerate"]
    for point in alone["points"]:
        above = point["operational_intensity"] >= 40
        assert point["region"] == ("compute" if above else "memory")
        assert point["memory_intensity"] is None
        assert point["level"] is None
    assert any("roofline" in note for note in alone["notes"])
    assert "roofline" in planner(*CASE, "--chips", 1).out


def test_energy_adds_up(answer: Any, points: dict[int, Any]) -> None:
    joules, per_byte = answer["energy"], answer["energy"]["network_j_per_byte"][0]
    assert joules["balance"] == joules["memory_j_per_byte"] / joules["flop_j"]
    for point in points.values():
        expected = (
            point["flop"] * joules["flop_j"]
            + point["memory_bytes"] * joules["memory_j_per_byte"]
            + point["network_bytes"] * per_byte
            + joules["static_w"] * point["projected_time_s"]
        )
        assert math.isclose(point["energy_j"], expected, rel_tol=1e-12)
    assert joules["assumed"] == ["flop_j", "memory_j_per_byte", "static_w"]

"""Numbers that How to Scale Your Model, part 5, prints, from `planner.studies.feasibility`."""

import math
from typing import Any

import numpy as np
import pytest
from support.cases import each

import planner
from planner.studies.feasibility.textbook import algebra
from planner.studies.feasibility.textbook.continuous import nearest_split
from planner.studies.feasibility.textbook.curves import Machine

C, W, DCN = 4.59e14, 1.8e11, 6.25e9
ALPHA = C / W


def rows(**question: Any) -> dict[str, Any]:
    """The rows of a question under `roofline`, by strategy."""
    answer = planner.feasible(assumptions="roofline", **question)
    return {row.strategy: row for row in answer.rows}


def test_operational_intensity() -> None:
    assert algebra.operational_intensity(C, W) == pytest.approx(2550)


def test_data_parallelism_on_all_axes() -> None:
    assert algebra.least_batch_data(1, ALPHA, 1) == pytest.approx(2550)
    assert algebra.least_batch_data(1, ALPHA, 3) == pytest.approx(850)
    assert algebra.least_batch_data(8960, ALPHA, 3) == pytest.approx(7.6e6, rel=0.01)
    found = rows(model="llama3-70b", chips=8960, strategies="zero3")["zero3"]
    assert found.min_batch_tokens_compute_bound == pytest.approx(850 * 8960)


def test_forty_million_tokens_take_47_000_chips() -> None:
    assert algebra.most_chips_data(40e6, ALPHA, 3) == pytest.approx(47_000, rel=0.002)
    found = rows(model="llama3-70b", batch_tokens=40e6, strategies="zero3")["zero3"]
    assert found.max_chips_continuous == pytest.approx(40e6 / 850)
    assert 46_000 < found.max_chips <= found.max_chips_continuous


def test_llama3_70b_in_17_days() -> None:
    chips = algebra.most_chips_data(16e6, ALPHA, 3)
    assert int(chips) == 18_823
    assert algebra.training_days(70e9, 15e12, chips, 0.5 * C) == pytest.approx(17, abs=0.2)
    found = rows(model="llama3-70b", batch_tokens=16e6, strategies="zero3")["zero3"]
    assert int(found.max_chips_continuous) == 18_823
    assert found.max_chips == 18_816
    (run,) = planner.feasible(
        model="llama3-70b", assumptions="roofline", mfu=0.5, batch_tokens=16e6,
        train_tokens=15e12, deadline="17d",
    ).deadlines  # fmt: skip
    assert run.chips is not None
    assert 18_823 < run.chips < 18_823 * 1.01
    assert run.days == pytest.approx(17, abs=0.1)


def test_pure_data_parallelism_holds_9_billion_parameters() -> None:
    assert algebra.largest_model_data(96e9) == pytest.approx(9.6e9)


@each(("width", "most"), [(32_768, 12.85), (13_824, 5.42), (28_672, 11.24)])
def test_largest_tp(width: float, most: float) -> None:
    assert algebra.largest_tp(width, ALPHA, 1) == pytest.approx(most, abs=0.01)
    assert algebra.largest_tp(width, ALPHA, 2) == pytest.approx(2 * most, abs=0.02)


@each(("batch", "x_opt"), [(49_152, 13.856), (48_000, 13.693)])
def test_optimal_split_of_a_4x4x4_slice(batch: float, x_opt: float) -> None:
    found = algebra.optimal_fsdp(batch, 32_768, 64, 2, 1)
    assert found == pytest.approx(x_opt, abs=1e-3)
    assert nearest_split(found, 64, 32_768) == {"fsdp": 16, "tp": 4}


def test_mixed_bounds() -> None:
    assert algebra.least_batch_mixed(32_768, 1e6, ALPHA, 2, 1) / 1e6 == pytest.approx(99, abs=0.5)
    assert algebra.least_batch_mixed(13_824, 1e6, ALPHA, 2, 1) / 1e6 == pytest.approx(235, abs=0.5)
    assert algebra.least_batch_mixed(2_000, 64, ALPHA, 2, 1) == math.inf
    least = algebra.least_batch_mixed(32_768, 4096, ALPHA, 2, 1)
    assert algebra.math_over_communication(least, 32_768, 4096, ALPHA, 2, 1) == pytest.approx(1)


def test_the_crossing_of_the_16x16x16_picture() -> None:
    machine = Machine(
        chips=4096, hidden=8192, width=32_768, flop_per_s=C, all_bytes_per_s=3 * W,
        axes=(2 * W, W), meshes=None,
    )  # fmt: skip
    assert machine.crossing() == pytest.approx(4096 * ALPHA**2 / (2 * 8192 * 4), rel=1e-6)
    assert machine.crossing() == pytest.approx(4e5, rel=0.02)
    batch = 256.0**2 * 32_768 / (2 * 4096)
    assert machine.least_split(batch)[0] == pytest.approx(256)
    parts = machine.split_s(np.asarray(batch), np.array([256.0]))
    assert parts[0, 0] == pytest.approx(parts[1, 0])


@each(("rate", "tokens"), [(4.46e14, 71_360), (4.59e14, 73_440)])
def test_across_pods(rate: float, tokens: float) -> None:
    assert algebra.least_batch_across_pods(1, rate, DCN) == pytest.approx(tokens)
    assert algebra.least_batch_across_pods(2, rate, DCN) == pytest.approx(2 * tokens)


def test_70b_on_two_pods_at_2_million_tokens() -> None:
    assert pytest.approx(111.6, abs=0.1) == 2e6 / (2 * 8960)
    each = algebra.least_batch_mixed(30_000, 1e6, ALPHA, 2, 1) / 1e6
    assert each == pytest.approx(108.4, abs=0.1)  # just below 111.6
    assert algebra.least_batch_across_pods(2, C, DCN) < 2e6
    found = rows(
        model="llama3-70b", chips=17_920, batch_tokens=2e6, torus_axes="fsdp=2,tp=1",
        strategies="across-pods",
    )["across-pods"]  # fmt: skip
    by_formula = 111.6 / (ALPHA**2 / 2 / 28_672)
    assert found.margin_continuous == pytest.approx(by_formula, abs=0.01)  # 0.98


def test_question_two() -> None:
    assert algebra.state_bytes(13e9) == 130e9
    assert algebra.checkpoint_bytes(40, 5120, 13_824, 16e6) == pytest.approx(42e12, rel=0.01)
    assert algebra.checkpoint_bytes(40, 5120, 13_824, 3e6) == pytest.approx(7.86e12, rel=0.001)


def test_question_three() -> None:
    found = rows(model="llama2-13b", chips="16x16x16", batch_tokens="3e6", torus_axes="fsdp=2,tp=1")
    assert (found["dp"].feasible, found["dp"].binds) == (False, "memory: state")
    pure, mixed = found["zero3"], found["fsdp+tp"]
    assert (pure.feasible, pure.fits, pure.binds) == (False, True, "fsdp communication")
    assert pure.min_batch_tokens_compute_bound == pytest.approx(3.48e6, rel=0.001)
    assert (mixed.feasible, mixed.binds) == (True, "nothing")
    assert mixed.min_batch_tokens_compute_bound / 4096 == pytest.approx(235, abs=0.5)
    assert mixed.x_opt == pytest.approx(1333, abs=0.5)
    assert dict(mixed.x_opt_mesh) == {"fsdp": 1024, "tp": 4}
    assert mixed.max_tp == pytest.approx(5.42, abs=0.01)
    at_40 = rows(
        model="llama2-13b", chips=4096, batch_tokens=3e6, torus_axes="fsdp=2,tp=1", mfu=0.4,
        strategies="fsdp+tp",
    )["fsdp+tp"]  # fmt: skip
    assert at_40.step_time_s == pytest.approx(0.3115, abs=1e-4)
    assert algebra.step_s(13e9, 3e6, 4096, 0.4 * 4.6e14) == pytest.approx(0.31, abs=0.005)


def test_a_verdict_that_holds_for_continuous_splits_only_says_so() -> None:
    found = rows(
        model="llama2-13b", chips=4096, batch_tokens=1e6, torus_axes="fsdp=2,tp=1",
        strategies="fsdp+tp",
    )["fsdp+tp"]  # fmt: skip
    assert found.compute_bound_continuous
    assert not found.compute_bound
    assert not found.feasible
    assert found.min_batch_tokens_whole_mesh == 1_305_600
    assert found.margin == pytest.approx(1e6 / 1_305_600)
    assert found.words == (
        "compute-bound with continuous X and Y only; whole meshes from 1.306 M tokens on"
    )


def test_given_torus_axes_count_for_a_mesh_that_fills_the_slice() -> None:
    """2,550 tokens per chip on one axis, half on two, and the text's 850 on all three."""
    question: dict[str, Any] = {"model": "llama3-70b", "chips": "16x16x16"}
    for axes, intensity in (("fsdp=1", 2550), ("fsdp=1,tp=1", 1275), ("fsdp=2,tp=1", 850)):
        found = rows(**question, torus_axes=axes, strategies="dp,zero3")
        for row in found.values():
            assert row.min_batch_tokens_compute_bound / 4096 == pytest.approx(intensity, rel=1e-12)
    sharded = rows(**question, torus_axes="dp=1", strategies="dp,zero3")
    least = {name: row.min_batch_tokens_compute_bound / 4096 for name, row in sharded.items()}
    assert least == {"dp": pytest.approx(2550), "zero3": pytest.approx(850)}
    (most,) = rows(
        model="llama3-70b", batch_tokens=30e6, torus_axes="fsdp=1", strategies="zero3"
    ).values()
    assert most.max_chips_continuous == pytest.approx(30e6 / 2550)


def test_the_formula_stands_in_where_no_whole_mesh_is_compute_bound() -> None:
    """On v6e a pair of TP ranks has one link where the text gives it a ring of two."""
    for hardware, axes in (("tpu-v6e", "fsdp=1,tp=1"), ("tpu-v7", "fsdp=1,tp=2")):
        question = {"model": "llama2-13b", "hardware": hardware, "chips": 4096}
        (free,) = rows(**question, strategies="fsdp+tp").values()
        (given,) = rows(**question, strategies="fsdp+tp", torus_axes=axes).values()
        assert free.min_batch_tokens_whole_mesh is None
        assert free.min_batch_tokens_compute_bound == given.min_batch_tokens_compute_bound
        assert free.x_opt == pytest.approx(given.x_opt)
        assert f"--torus-axes {axes}" in free.words
        assert given.min_batch_tokens_whole_mesh is not None


def test_the_mesh_of_a_verdict_is_that_to_which_x_opt_rounds() -> None:
    for chips, tokens in (("4x4x4", 48_000), ("16x16x16", 3e6)):
        for axes in (None, "fsdp=2,tp=1"):
            asked = {} if axes is None else {"torus_axes": axes}
            (found,) = rows(
                model="llama2-13b", chips=chips, batch_tokens=tokens, strategies="fsdp+tp", **asked
            ).values()
            assert found.mesh == found.x_opt_mesh


def test_mfu_decides_times_and_the_peak_is_told_beside() -> None:
    question = {"model": "llama2-13b", "chips": 4096, "strategies": "zero3,fsdp+tp"}
    slow, peak = (rows(**question, batch_tokens=2e6, mfu=mfu) for mfu in (0.4, 1.0))
    for name in slow:
        assert slow[name].feasible_at_peak == peak[name].feasible
        least = peak[name].min_batch_tokens_compute_bound
        assert slow[name].min_batch_tokens_at_peak == least
        assert peak[name].feasible_at_peak is None
    assert (slow["zero3"].feasible, slow["zero3"].feasible_at_peak) == (True, False)

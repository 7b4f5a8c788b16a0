"""Newer chips predicted from older ones: what is disclosed, what follows, and what is printed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hardware_db import load_chip
from planner.evidence.validation.families import (
    DISCLOSED,
    FAMILIES,
    POWER_BOUND,
    TIME_BOUND,
    disclosed,
    family_table,
    like_older,
)
from planner.question.request import request_from
from planner.question.resolved import resolve


def test_a_newer_chip_has_the_older_one_s_constants() -> None:
    older, newer = load_chip("b200-sxm-180"), load_chip("b300-sxm-288")
    asked = {"model": "llama3-8b", "hardware": newer.name, "chips": 8}
    own = resolve(request_from(asked)).cost
    found = like_older(own, older, newer)
    chip = found.model.chip
    changes = disclosed(older, newer)
    assert changes
    assert set(changes) <= set(DISCLOSED)
    assert replace(older, **changes).busy_w == older.busy_w  # powers are not disclosed
    assert chip.busy_w == pytest.approx(older.busy_w * newer.tdp_w / older.tdp_w)
    assert chip.calibration_gemm == older.calibration_gemm
    assert found.clock > 1


def test_a_kernel_that_a_run_states_is_kept() -> None:
    older, newer = load_chip("h100-sxm5-80"), load_chip("h200-sxm5-141")
    asked = {"model": "llama3-8b", "hardware": newer.name, "chips": 8, "framework": "torchtitan"}
    own = resolve(request_from(asked)).cost
    stated = replace(newer, calibration_attention="cudnn")
    own = replace(own, cluster=replace(own.cluster, chip=stated))
    assert like_older(own, older, newer).model.chip.calibration_attention == "cudnn"


def test_nothing_of_the_newer_chip_is_a_guess() -> None:
    for older, newer in FAMILIES:
        chip = load_chip(newer)
        for name, value in disclosed(load_chip(older), chip).items():
            known = chip.quantities[DISCLOSED[name]]
            assert (known.kind, value) != ("assumed", getattr(chip, name)), (newer, name)
            assert value
    # Google publishes no rated power; the records estimate it from the power that is predicted.
    assert "tdp_w" not in disclosed(load_chip("tpu-v5e"), load_chip("tpu-v6e"))


def test_every_family_is_predicted() -> None:
    table = family_table()
    assert [(one.older, one.newer) for one in table.families] == list(FAMILIES)
    for one in table.families:
        assert one.changes
        assert one.runs
        if "tdp_w" in one.kinds:  # TPUs are compared for their time alone
            assert one.busy_w == pytest.approx(one.own_busy_w, rel=POWER_BOUND)
        assert one.power_error is None or one.power_error <= POWER_BOUND
        # What is disclosed carries most of it: the newer chip's own constants do little better.
        assert one.time_error is not None
        assert one.own_time_error is not None
        assert one.time_error < max(TIME_BOUND, 1.25 * one.own_time_error)
        # Of one software, job and plan the ratio of both chips is within the bound.
        assert (one.pairs > 0) == (one.ratio_error is not None)
        assert (one.ratio_error or 0.0) <= TIME_BOUND
    assert max(one.pairs for one in table.families) > 2
    together = {one.newer for one in table.families if "gemm" in one.shared}
    assert together == {"a100-sxm4-80", "h200-sxm5-141", "tpu-v6e"}
    assert sum(one.within for one in table.families) >= 2

"""Newer chips predicted from older ones: what is disclosed, what follows, and what is printed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hardware_db import load_chip
from planner.evidence.validation.families import (
    DISCLOSED,
    FAMILIES,
    POWER_BOUND,
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


def test_every_family_is_predicted() -> None:
    table = family_table()
    assert [(one.older, one.newer) for one in table.families] == list(FAMILIES)
    for one in table.families:
        assert one.changes
        assert one.runs
        assert one.busy_w == pytest.approx(one.own_busy_w, rel=POWER_BOUND)
        assert one.power_error is None or one.power_error <= POWER_BOUND
    # A record as good as its own constants would be: what is disclosed carries most of it.
    assert sum(one.within for one in table.families) >= 3

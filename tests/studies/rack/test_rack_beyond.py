"""What the report on energy and latency leaves out, switched on one thing at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import hardware_db
from planner.base.errors import InputError
from planner.cost.evaluate import evaluate_table
from planner.frameworks.rules.checking import violations
from planner.plan import PlanTable
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.studies.rack.parallelism.beyond import (
    CHIPS,
    SEQ_LEN,
    SEQUENCES,
    BeyondAnswer,
    Change,
    beyond,
)

RACK = "c2c-ndr400-rack"
Table = Mapping[tuple[str, str], Change]


@pytest.fixture(scope="module")
def answer() -> BeyondAnswer:
    return beyond(RACK)


@pytest.fixture(scope="module")
def table(answer: BeyondAnswer) -> Table:
    """Changes by name and plan before."""
    return {(change.change, change.before.plan): change for change in answer.changes}


def test_everything_of_the_reports_list_is_there(answer: BeyondAnswer) -> None:
    assert {change.change for change in answer.changes} >= {
        "startup", "overlap", "bubbles", "tree collectives", "sequence parallelism",
        "expert parallelism", "FSDP",
    }  # fmt: skip


def test_startup_slows_and_overlap_speeds_up(table: Table) -> None:
    for plan in ("DP", "TP", "PP + TP"):
        assert table["startup", plan].time_ratio > 1
        assert table["achieved bandwidth", plan].time_ratio > 1
        assert table["overlap", plan].time_ratio < 1
        assert table["overlap", plan].energy_ratio == pytest.approx(1, rel=1e-12)
        power = table["standing power", plan]
        assert power.energy_ratio > 1.2
        assert power.time_ratio == 1
        assert power.changed == ("component_energy",)


def test_bubbles_are_those_of_the_formula(table: Table) -> None:
    """(p - 1) / m of the time of the passes: 2 stages, 64 / 2 micro-batches."""
    change = table["bubbles", "PP + TP"]
    assert change.changed == ("bubbles",)
    assert 1 < change.time_ratio < 1 + 1 / 32


def test_trees_pay_where_messages_are_small(table: Table) -> None:
    """TP's many small exchanges gain; the one large sum of gradients does not."""
    assert table["tree collectives", "TP"].time_ratio < 1
    assert table["tree collectives", "DP"].time_ratio == pytest.approx(1, abs=1e-3)
    assert table["links at their own rate", "DP"].time_ratio < 0.5


def test_other_plans_hold_less(table: Table) -> None:
    """Sequence parallelism and FSDP trade memory; experts that are shared out save time too."""
    for name, plan in (
        ("sequence parallelism", "TP"),
        ("FSDP", "DP"),
        ("expert parallelism", "DP"),
    ):
        change = table[name, plan]
        assert change.after.memory_bytes < change.before.memory_bytes
        assert change.changed == ()
    fsdp = table["FSDP", "DP"]
    assert (fsdp.before.fits, fsdp.after.fits) == (False, True)
    assert fsdp.energy_ratio == pytest.approx(1, abs=1e-3)  # 2 + 2 + 4 bytes, as 2 x 4
    assert table["FSDP, overlapped", "DP"].time_ratio < fsdp.time_ratio < 1
    assert table["expert parallelism", "DP"].model == "mixtral-8x7b"


def test_both_ends_are_the_presets(table: Table) -> None:
    """`everything` goes from rack-energy to calibrated, as `planner evaluate` has them."""
    from planner.studies.rack.parallelism.beyond import _PLANS  # noqa: PLC0415

    change = table["everything", "TP"]
    for preset, costs in (("rack-energy", change.before), ("calibrated", change.after)):
        asked = {"model": "llama3-8b", "hardware": RACK, "chips": CHIPS, "assumptions": preset}
        batch = {"seq_len": SEQ_LEN, "batch_tokens": float(SEQ_LEN * SEQUENCES)}
        model = resolve(request_from({**asked, **batch})).cost
        found = evaluate_table(model, PlanTable.from_plans([_PLANS["TP"]]))
        assert costs.step_time_s == pytest.approx(float(found.step_time_s[0]), rel=1e-12)
        assert costs.energy_j == pytest.approx(float(found.energy.total[0]), rel=1e-12)


def test_the_plans_obey_the_rules_of_arithmetic() -> None:
    from planner.studies.rack.parallelism.beyond import _PLANS  # noqa: PLC0415

    asked = {"hardware": RACK, "chips": CHIPS, "seq_len": SEQ_LEN, "assumptions": "rack-energy"}
    batch = {"batch_tokens": float(SEQ_LEN * SEQUENCES)}
    for name, plan in _PLANS.items():
        model = "mixtral-8x7b" if name == "EP" else "llama3-8b"
        cost = resolve(request_from({**asked, **batch, "model": model})).cost
        assert plan.chips == CHIPS
        assert violations(cost, PlanTable.from_plans([plan]), arithmetic_only=True) == []


def test_a_cluster_that_is_too_small(tmp_path: Path) -> None:
    record = Path(hardware_db.__file__).parent / "data" / "clusters" / f"{RACK}.yaml"
    small = tmp_path / "small.yaml"
    small.write_text(record.read_text("utf-8").replace("value: 1024", "value: 16"), "utf-8")
    with pytest.raises(InputError, match="has at most 16 chips; the comparison needs 32"):
        beyond(str(small))

"""Predicted against published peak memory, over every shipped row that has one."""

import math
from statistics import fmean

import numpy as np
import pytest
from evidence import tables_once
from support.cases import each

from planner.base.units import GIB
from planner.cost.evaluate import evaluate_table
from planner.cost.memory.risk import HEADROOM_SHARE, SLOWDOWN, SPREADS
from planner.evidence.csvfile import published
from planner.evidence.runs.partly import partly_said
from planner.evidence.runs.rows import later_stages, run_of
from planner.evidence.validation.failures import MARGINS, MODES, FailuresTable
from planner.evidence.validation.memory import (
    MemoryErrors,
    MemoryRow,
    cost_model,
    errors_by_set,
    memory_rows,
)
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import PlanTable
from planner.question.asked.usual import OOM_RISK


@pytest.fixture(scope="module")
def found() -> tuple[list[MemoryRow], dict[str, str]]:
    return memory_rows()


@pytest.fixture(scope="module")
def errors(found: tuple[list[MemoryRow], dict[str, str]]) -> dict[str, MemoryErrors]:
    return {error.set_name: error for error in errors_by_set(found[0])}


@pytest.fixture(scope="module")
def failures() -> FailuresTable:
    return tables_once.failures()


@each(
    ("name", "rows", "most"),
    [
        ("simumax dense", 22, 2.0),
        ("simumax moe", 8, 2.0),
        ("nanotron tp=1", 132, 5.0),
        ("nanotron", 1265, 12.0),
        ("kempner", 11, 10.0),
        ("stas", 10, 6.0),
        ("titan", 7, 10.0),
        ("bloomtune", 49, 7.0),
        ("qwenft", 63, 9.0),
        ("msamp", 12, 9.0),
        ("lambda405", 1, 9.0),
    ],
)
def test_mean_error_of_a_set(
    errors: dict[str, MemoryErrors], name: str, rows: int, most: float
) -> None:
    assert errors[name].rows == rows
    assert errors[name].mean <= most


def test_nanotron_with_the_nearer_of_two_modes(errors: dict[str, MemoryErrors]) -> None:
    """Not an error that a user can have: what is left when the unknown flag is known."""
    assert errors["nanotron"].best_mode_mean <= 8.0


def test_every_row_is_predicted_or_named(found: tuple[list[MemoryRow], dict[str, str]]) -> None:
    rows, left_out = found
    known = [row["id"] for row in published("runs") if row["peak_mem_gib_per_chip"]]
    assert sorted([row.key for row in rows] + list(left_out)) == sorted(known)
    assert len(known) == 1750
    assert all("is missing" in reason for reason in left_out.values())
    assert all(row.least_gib <= row.most_gib for row in rows)


@each(
    ("spread", "sets"),
    [
        ("profile", ("nanotron tp=1", "titan", "stas", "kempner")),
        ("flag", ("nanotron tp>1",)),
        ("era", ("bloomtune", "v100")),
    ],
)
def test_spreads_are_those_of_the_rows(
    found: tuple[list[MemoryRow], dict[str, str]], spread: str, sets: tuple[str, ...]
) -> None:
    """Within a fifth of the root mean square, without what is fitted to single sources."""
    reserve_gib = FRAMEWORKS["megatron"].reserve_bytes / GIB
    logs = [
        math.log(
            (row.measured_gib - reserve_gib * (row.outside_gib > 0))
            / (row.predicted_gib - row.outside_gib)
        )
        for row in found[0]
        if row.set_name in sets
    ]
    measured = math.sqrt(fmean(log**2 for log in logs))
    assert SPREADS[spread].kind == "derived"
    assert measured == pytest.approx(SPREADS[spread].value, rel=0.2)


def test_the_default_limit_flags_what_failed(failures: FailuresTable) -> None:
    assert (failures.failed, failures.succeeded) == (1529, 1265)
    (share,) = [row for row in failures.margins if (row.mode, row.margin) == ("expected", 0.90)]
    assert share.flagged >= 0.83
    assert share.false_alarms <= 0.025
    assert failures.auc >= 0.93


def test_the_default_risk_is_held_against_runs_that_ran_and_that_failed(
    failures: FailuresTable,
) -> None:
    """Of the sweep, which says what failed, and of all published runs, which ran."""
    risk = failures.risk
    assert risk.default == OOM_RISK
    (sweep,) = [row for row in risk.sources if row.failed]
    assert (sweep.ran, sweep.failed) == (1265, 1529)
    assert sweep.offered <= 0.13 * sweep.failed
    assert sweep.refused <= 0.08 * sweep.ran
    assert sum(row.refused for row in risk.sources) == len(risk.refused_runs)
    assert all(row.chance > risk.default for row in risk.refused_runs)
    assert len(risk.refused_runs) <= 0.11 * sum(row.ran for row in risk.sources)
    for figure, falls in (("refused", True), ("refused_stated", True), ("offered", False)):
        values = [getattr(row, figure) for row in risk.risks]
        assert values == sorted(values, reverse=falls)
    assert all(one.partly for one in risk.refused_runs if "ironwood" in one.source)
    (default,) = [row for row in risk.risks if row.risk == risk.default]
    (even,) = [row for row in risk.risks if row.risk == 0.5]
    assert sum(row.stated for row in risk.sources) >= 600
    assert default.refused_stated <= 0.17
    assert even.refused_stated <= 0.015  # of more the prediction is above what the chip has
    assert default.offered == pytest.approx(sweep.offered / sweep.failed)


@each(
    ("flags", "said"),
    [
        ("--recompute-modules mla_up_proj moe_act", 0),
        ("--recompute-modules mla_up_proj mhc", 1),
        ("--recompute-modules mhc mla_up_proj", 1),
        ("--recompute-norm --recompute-norm-num-layers 8", 1),
        ("--recompute-modules core_attn", 0),
        ("--recompute-method block --recompute-num-layers 5", 1),
        ("--recompute-method uniform --recompute-num-layers 1", 0),
        ("0 layers checkpointed", 0),
        ("20 layers checkpointed", 1),
        ("remat_policy=custom decoder_layer_input=device query_proj=remat", 0),
        ("remat_policy=custom decoder_layer_input=offload", 1),
        ("remat_policy=minimal", 1),
        ("--cpu-offloading-num-layers 40; --recompute-modules mhc", 2),
        ("", 0),
    ],
)
def test_what_a_plan_cannot_say_of_memory_is_known(flags: str, said: int) -> None:
    assert len(partly_said({"flags": flags})) == said
    assert len(partly_said({"notes": flags})) == said


def test_a_tighter_limit_flags_more_of_both_sides(failures: FailuresTable) -> None:
    for mode in MODES:
        curve = [row for row in failures.margins if row.mode == mode]
        assert [row.margin for row in curve] == list(MARGINS)
        for figure in ("flagged", "false_alarms"):
            values = [getattr(row, figure) for row in curve]
            assert values == sorted(values)
    by_mode = {(row.mode, row.margin): row for row in failures.margins}
    for margin in MARGINS:
        low, high = by_mode["never kept", margin], by_mode["always kept", margin]
        assert low.flagged <= by_mode["expected", margin].flagged <= high.flagged


def test_the_parts_of_the_failures_add_up(failures: FailuresTable) -> None:
    whole = failures.failed + failures.succeeded
    assert sum(row.configurations for row in failures.sizes) == whole
    assert sum(row.failed for row in failures.models) == failures.failed
    assert sum(row.succeeded for row in failures.models) == failures.succeeded
    flagged = sum((row.flagged or 0) * row.failed for row in failures.models) / failures.failed
    (sweep,) = [row for row in failures.risk.sources if row.failed]
    assert flagged == pytest.approx(1 - sweep.offered / sweep.failed)
    shares = [row.share_failed for row in failures.sizes]
    assert shares == sorted(shares)


def test_runs_without_headroom_were_slow() -> None:
    """Of nanotron all above the share, typically by the factor; of other software none.

    But for one whose experts are computed one by one, which is why it was slow.
    """
    slow: dict[bool, list[float]] = {True: [], False: []}
    for row in published("runs"):
        if not row["peak_mem_gib_per_chip"] or row["complete"] != "1":
            continue
        run = run_of(row)
        assert run.measured_memory_bytes is not None
        if "experts loop" in row["flags"]:
            continue
        if run.measured_memory_bytes <= HEADROOM_SHARE.value * run.cluster.chip.memory_bytes:
            continue
        costs = evaluate_table(cost_model(run), PlanTable.from_plans([run.plan]))
        ratio = run.measured_step_time_s / float(costs.step_time_s[0])
        slow[run.profile.framework == "nanotron"].append(ratio)
    assert len(slow[True]) == 15
    assert min(slow[True]) >= 2.0
    assert float(np.median(slow[True])) == pytest.approx(SLOWDOWN.value, rel=0.25)
    assert len(slow[False]) == 19
    assert max(slow[False]) <= 1.6


def test_stages_of_the_published_nanotron_runs() -> None:
    """The 1B model: 16 layers and a head that costs 4; where a share is reached the stage ends."""
    rows = {row["model_name"]: row for row in published("runs")}
    model = run_of(rows["nanotron-llama-1B"]).job.model
    assert model.tied_embeddings
    assert later_stages(model, 1) is None
    for pp, layers in ((2, (10, 6)), (4, (5, 5, 5, 1)), (8, (3, 2, 3, 2, 3, 2, 1, 0))):
        stages = later_stages(model, pp)
        assert stages is not None
        assert tuple(stage.layers for stage in stages) == layers
    many = later_stages(model, 32)
    assert many is not None
    assert [stage.layers for stage in many] == [1] * 16 + [0] * 16

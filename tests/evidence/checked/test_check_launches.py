"""`planner check` of a log that holds several runs: the steps of the plan alone count."""

from dataclasses import replace
from pathlib import Path

import pytest
from cli.command import planner, refused

from evidence.calibration.launched import megatron_line
from planner.evidence.checked.comparing import check_log, counted_steps
from planner.evidence.runs.reading import read_runs
from planner.plan import Plan
from planner.question.files.plan_text import plan_text
from planner.question.request import request_from
from planner.question.resolved import Resolved, resolve

FIELDS = {
    "model": "llama3-8b", "hardware": "h100-sxm5-80", "batch_tokens": 16 * 8192, "seq_len": 8192,
    "precision": "bf16", "framework": "megatron", "chips": 16,
}  # fmt: skip
PLAN = Plan(dp=8, tp=2, micro_batch=1, recompute="selective", sharding="zero1")
OTHER = replace(PLAN, dp=4, tp=4)


@pytest.fixture(scope="module")
def resolved() -> Resolved:
    return resolve(request_from(FIELDS), chips=16)


def launch(plan: Plan, seconds: float, steps: int, memory: float) -> str:
    """What Megatron-LM prints of a run."""
    head = (
        f"using world size: {plan.chips}, data-parallel size: {plan.dp}, context-parallel size: 1, "
        f"x: None, tensor-model-parallel size: {plan.tp}, pipeline-model-parallel size: 1\n"
        "[before the start of training step] datetime: 2026-03-16 10:00:00 \n"
    )
    held = f"[Rank 0] (after 2 iterations) memory (MB) | allocated: 2.0 | max allocated: {memory} |"
    lines = [megatron_line(step, seconds) for step in range(1, steps + 1)]
    return "".join([head, *lines, held, "\n"])


MINE, OTHERS = launch(PLAN, 1.25, 14, 40000.0), launch(OTHER, 0.5, 60, 70000.0)
SAID = "60 steps of another run (tp 4) are left out"


def test_another_run_in_the_log_changes_nothing_but_a_note(resolved: Resolved) -> None:
    alone = check_log(resolved, PLAN, MINE, Path("train.log"))
    for text in (OTHERS + MINE, MINE + OTHERS):
        both = check_log(resolved, PLAN, text, Path("train.log"))
        assert both.remarks == (SAID, *alone.remarks)
        assert (both.quantities, both.steps) == (alone.quantities, alone.steps)
        assert check_log(resolved, OTHER, text, Path("train.log")).quantities[0].measured == 0.5


def test_each_run_of_a_log_has_a_row_of_its_own(resolved: Resolved, tmp_path: Path) -> None:
    log, rows = tmp_path / "train.log", tmp_path / "runs.csv"
    log.write_text(OTHERS + MINE)
    for name, plan in (("mine", PLAN), ("other", OTHER), ("mine", PLAN)):
        path = tmp_path / f"{name}.yaml"
        path.write_text(plan_text(resolved, plan, []), encoding="utf-8")
        planner("check", path, "--log", log, "-o", rows)
    runs = [one.run for one in read_runs(rows).runs]
    assert sorted((one.plan.tp, one.measured_step_time_s) for one in runs) == [(2, 1.25), (4, 0.5)]
    log.write_text(OTHERS)
    (line,) = refused("check", tmp_path / "mine.yaml", "--log", log, "-o", rows)
    assert line.endswith("is the log of another run: it has tp 4, the plan 2")


def test_the_watch_waits_for_the_steps_of_the_plan(resolved: Resolved) -> None:
    for text, count in (
        (OTHERS, 55),  # nothing to wait for: refused
        (OTHERS + MINE, 9),
        (OTHERS + launch(PLAN, 1.25, 3, 40000.0), 0),
    ):
        assert counted_steps(resolved.cost, PLAN, text, Path("train.log")) == count

"""A log beside the prediction of its plan: whether it is of that plan, and inside its intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from hardware_db import load_calibration
from planner.base.errors import InputError
from planner.base.files import path_as_text
from planner.base.messages import one_line
from planner.base.units import plural
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.evidence.calibration.launches.measured import planned_run
from planner.evidence.checked.answer import (
    DIVERGED,
    INSIDE,
    MEMORY,
    OUTSIDE,
    Checked,
    CheckResult,
    StepsRead,
)
from planner.evidence.checked.causes import suspects_of
from planner.evidence.checked.identity import run_key
from planner.evidence.checked.others import look_alikes
from planner.evidence.checked.row import lacking, row_of
from planner.evidence.training_logs.log import LoggedStep, TrainingLog
from planner.evidence.training_logs.own import OtherRunError, own_steps
from planner.evidence.training_logs.readers import READERS, read_log
from planner.frameworks.rules import violations
from planner.plan import Plan, PlanTable
from planner.question.facility import under_limit
from planner.question.resolved import Resolved
from planner.results.plan import PlanResult, plan_results

_DRIFT = 0.05
_PER_PAIR = 2  # the chosen and the rejected answer


def check_log(resolved: Resolved, plan: Plan, text: str, file: Path, most: int = 0) -> CheckResult:
    """Holds a log against the prediction of a plan.

    Args:
        resolved: The job on its machine.
        plan: The plan that runs.
        text: The log.
        file: Where it was read, for messages.
        most: Count so many steps at most, the first ones; 0: all.

    Raises:
        InputError: The log has no step or is of another run, or the times of the plan are bounds.
    """
    cost = resolved.cost
    label, name = one_line(str(file)), path_as_text(file.stem)
    if label == "-":
        label, name = "standard input", "log"
    plan = under_limit(plan, cost.clock_limit)
    text = whole_lines(text)
    framework, log = _read_log(cost, text, label)
    own = own_steps(log, plan, cost.job, label, most)
    log, steps = own.log, own.counted
    predicted = _predicted(cost, plan)
    if predicted.step_time_low_s is None:
        raise InputError(
            f"assumptions: times of {cost.assumptions.name} are bounds without an interval; check "
            "a log with --assumptions calibrated"
        )
    seconds = [one.seconds(_tokens(cost), plan.chips, cost.job.global_batch) for one in steps]
    quantities = _quantities(cost, plan, predicted, median(seconds), log.memory_bytes)
    read = _read(log, steps, seconds)
    status = DIVERGED if read.bad else INSIDE if all(q.inside for q in quantities) else OUTSIDE
    time, run = quantities[0], planned_run("job", cost, plan)
    key = run_key(name, text, lambda beginning: _has_own(cost, plan, beginning))
    row = row_of(key, resolved.request, run, time.measured, log.memory_bytes)
    off = () if time.inside else suspects_of(run, load_calibration(), time.ratio)
    agree = status != INSIDE and not all(q.inside for q in quantities)
    return CheckResult(
        status=status,
        framework=framework,
        file=label,
        steps=read,
        quantities=quantities,
        suspects=off,
        others=look_alikes(cost, plan, time.measured, log.memory_bytes) if agree else (),
        remarks=(*own.left_out, *_remarks(cost, plan, framework, log, read)),
        row=row,
        row_lacks=lacking(row, cost, plan),
    )


def counted_steps(cost: CostModel, plan: Plan, text: str, file: Path) -> int:
    """How many lines of a log that is still written are behind the warm-up; 0: none yet.

    Those of the plan; where no launch is of it, all: there is nothing to wait for.
    """
    label = one_line(str(file))
    try:
        _, log = _read_log(cost, whole_lines(text), label)
        log = own_steps(log, plan, cost.job, label).log
    except OtherRunError:
        return len(log.warm())
    except InputError:
        return 0
    return len(log.warm())


def _read_log(cost: CostModel, text: str, label: str) -> tuple[str, TrainingLog]:
    """The framework that printed a log, and its steps in sequences."""
    framework, log = read_log(text, label)
    if cost.job.reference and READERS[framework].samples:
        log = log.in_sequences(_PER_PAIR)
    return framework, log


def _has_own(cost: CostModel, plan: Plan, text: str) -> bool:
    """Whether a log has a step of the plan behind a warm-up."""
    try:
        own_steps(_read_log(cost, text, "log")[1], plan, cost.job, "log")
    except InputError:
        return False
    return True


def whole_lines(text: str) -> str:
    """A log without a last line whose end is not written yet."""
    end = max(text.rfind("\n"), text.rfind("\r"))
    return text if end < 0 else text[: end + 1]


def _tokens(cost: CostModel) -> float:
    return cost.job.global_batch * cost.job.seq_len


def _predicted(cost: CostModel, plan: Plan) -> PlanResult:
    """What the plan is predicted to take.

    Raises:
        InputError: It breaks a rule of arithmetic.
    """
    table = PlanTable.from_plans([plan])
    if broken := violations(cost, table, arithmetic_only=True):
        raise InputError("\n".join(f"plan: {line}" for line in broken))
    cost.allocation(plan.chips)
    return plan_results(cost, table, evaluate_table(cost, table))[0]


def _quantities(
    cost: CostModel,
    plan: Plan,
    predicted: PlanResult,
    seconds: float,
    memory_bytes: float | None,
) -> tuple[Checked, ...]:
    """The measured quantities, the step time first."""
    low, high = predicted.step_time_low_s, predicted.step_time_high_s
    assert low is not None
    assert high is not None
    inside = low <= seconds <= high
    rate = _tokens(cost) / plan.chips
    found = [
        Checked(
            name="step_time_s",
            measured=seconds,
            predicted=predicted.step_time_s,
            low=low,
            high=high,
            inside=inside,
        ),
        Checked(
            name="tokens_per_s_per_chip",
            measured=rate / seconds,
            predicted=rate / predicted.step_time_s,
            low=rate / high,
            high=rate / low,
            inside=inside,
        ),
    ]
    least, most = predicted.memory_low_bytes, predicted.memory_high_bytes
    if memory_bytes is not None and least is not None and most is not None:
        found.append(
            Checked(
                name=MEMORY,
                measured=memory_bytes,
                predicted=predicted.memory_per_chip_bytes,
                low=least,
                high=most,
                inside=memory_bytes <= most and (memory_bytes >= least or plan.pp > 1),
            )
        )
    return tuple(found)


def _read(log: TrainingLog, steps: Sequence[LoggedStep], seconds: Sequence[float]) -> StepsRead:
    """Which steps count, and how they scatter."""
    times = np.array(seconds)
    half = len(times) // 2
    drift = float(np.median(times[half:]) / np.median(times[:half]) - 1) if half else 0.0
    return StepsRead(
        counted=len(steps),
        first=min(one.step - one.covers + 1 for one in steps),
        last=max(one.step for one in steps),
        warm_up=log.warm_up,
        launches=len(log.launches),
        skipped=log.skipped,
        bad=log.bad_steps,
        spread=float(np.quantile(np.abs(times / np.median(times) - 1), 0.9)),
        drift=drift,
    )


def _remarks(
    cost: CostModel, plan: Plan, framework: str, log: TrainingLog, read: StepsRead
) -> Iterator[str]:
    """What else the log says, one sentence each."""
    if read.bad:
        first = f"{read.bad[0]}" + (f" and {len(read.bad) - 1} more" if len(read.bad) > 1 else "")
        yield f"the loss is no number in step {first}"
    if read.launches > 1:
        yield f"the run was started {read.launches} times; each launch warms up"
    if read.skipped:
        scale = "" if log.loss_scale is None else f" (loss scale {log.loss_scale:g} at the end)"
        yield f"{plural(read.skipped, 'update')} skipped{scale}; lines of those alone do not count"
    if read.drift < -_DRIFT:
        yield (
            f"steps still become faster, by {-read.drift:.0%} from the first half to the second: "
            "the run may warm up longer than is left out; read more steps"
        )
    if read.drift > _DRIFT:
        yield (
            f"steps become slower, by {read.drift:.0%} from the first half to the second: look at "
            "the clock, the input, and what else runs"
        )
    own = cost.job.framework.name
    if not own.startswith(framework) and (framework, own) not in _OF_ONE:
        yield (
            f"the log is one of {READERS[framework].title}, the plan is predicted for {own}: "
            "memory and speed of another framework"
        )
    if log.memory_bytes is None:
        yield f"{READERS[framework].title} prints no memory in this log"
    elif plan.pp > 1:
        yield "memory is that of the ranks that print it, the fullest stage may be another"


_OF_ONE = (
    ("maxtext", "jax"),
    ("accelerate", "fsdp"),
    ("transformers", "fsdp"),
    ("transformers", "deepspeed"),
)
"""Logs and profiles that are of one framework under two names."""

"""A log beside the prediction of its plan: whether it is of that plan, and inside its intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from planner.evidence.training_logs.readers import READERS, read_log
from planner.frameworks.rules import violations
from planner.plan import Plan, PlanTable
from planner.question.facility import under_limit
from planner.question.resolved import Resolved
from planner.results.plan import PlanResult, plan_results

_ROUNDED = 0.02
"""Numbers of a log with three digits are off by up to half a per cent each."""
_DRIFT = 0.05
_PER_PAIR = 2  # the chosen and the rejected answer
_EXACT = ("tp", "cp", "pp", "ep", "seq_len", "micro_batch", "sequences", "tokens", "chips")


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
    framework, log = read_log(text, label)
    if cost.job.reference and READERS[framework].samples:
        log = log.in_sequences(_PER_PAIR)
    steps = _steps_of(log, cost, plan, label, most)
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
    key = run_key(name, text)
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
        remarks=tuple(_remarks(cost, plan, framework, log, read)),
        row=row,
        row_lacks=lacking(row, cost, plan),
    )


def counted_steps(text: str, file: Path) -> int:
    """How many lines of a log that is still written are behind the warm-up; 0: none yet."""
    try:
        _, log = read_log(whole_lines(text), one_line(str(file)))
    except InputError:
        return 0
    return len(log.warm())


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


def _steps_of(
    log: TrainingLog, cost: CostModel, plan: Plan, label: str, most: int
) -> tuple[LoggedStep, ...]:
    """The steps that count, of a log that is of this plan.

    Raises:
        InputError: It is of another run, or ends while it warms up.
    """
    batch = cost.job.global_batch
    printed = sorted({one.sequences for one in log.steps if one.sequences is not None})
    if printed and batch not in printed:
        words = ", ".join(map(str, printed[:3]))
        raise InputError(
            f"{label}: is the log of another run: its steps have {words} sequences, those of the "
            f"plan {batch}"
        )
    if lines := list(_mismatches(log, cost, plan)):
        raise InputError(f"{label}: is the log of another run: {'; '.join(lines)}")
    own = tuple(one for one in log.steps if one.sequences in (None, batch))
    log = replace(log, steps=own)
    found = log.counted(most)
    if not found or log.longest <= log.warm_up:
        raise InputError(
            f"{label}: ends with step {log.last}; the first {log.warm_up} of a launch warm up, "
            "read more of them"
        )
    return found


def _mismatches(log: TrainingLog, cost: CostModel, plan: Plan) -> Iterator[str]:
    """What the log says of its run that is not so of the plan."""
    known = {
        **{axis: float(getattr(plan, axis)) for axis in ("tp", "cp", "pp", "ep", "micro_batch")},
        "chips": float(plan.chips),
        "seq_len": float(cost.job.seq_len),
        "sequences": float(cost.job.global_batch),
        "tokens": _tokens(cost),
    }
    for name in _EXACT:
        said = log.stated.get(name)
        if said is not None and not _same(said, known[name]):
            words = {"sequences": "sequences per step", "tokens": "tokens per step"}.get(name, name)
            yield f"it has {words} {said:,.10g}, the plan {known[name]:,.10g}"
    if (log.loss_scale or 1.0) != 1.0 and cost.job.precision != "fp16":
        yield (
            f"its loss scale {log.loss_scale:g} is of fp16, the plan computes in "
            f"{cost.job.precision}"
        )


def _same(said: float, known: float) -> bool:
    return said == known if said == int(said) else abs(said / known - 1) <= _ROUNDED


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
        launches=log.launches,
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

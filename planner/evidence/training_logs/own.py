"""Which launches of a log are of a plan: what they say of themselves is held against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.units import plural
from planner.cost.job import Job
from planner.evidence.training_logs.log import Launch, LoggedStep, TrainingLog, same
from planner.plan import Plan

_AXES = ("tp", "cp", "pp", "ep")
_COUNTED = {
    "sequences": "sequences per step",
    "tokens": "tokens per step",
    "chips": "chips",
}
"""What a number counts, where it is not called by its name."""


class OtherRunError(InputError):
    """No launch of a log is of the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSteps:
    """What a log says of the run of a plan.

    Attributes:
        log: The launches of the plan, with their steps of its batch.
        counted: The steps that count, at least one.
        left_out: Launches of other runs, a sentence each.
    """

    log: TrainingLog
    counted: tuple[LoggedStep, ...]
    left_out: tuple[str, ...]


class _Difference(NamedTuple):
    """What a launch says that is not so of the plan: shortly, and in a sentence."""

    short: str
    sentence: str


def own_steps(log: TrainingLog, plan: Plan, job: Job, label: str, most: int = 0) -> OwnSteps:
    """The steps of a log that are of a plan.

    Args:
        log: The log.
        plan: The plan that runs.
        job: Its job.
        label: What messages call the log.
        most: Count so many steps at most, the first ones; 0: all.

    Raises:
        OtherRunError: No launch is of the plan.
        InputError: Those that are end while they warm up.
    """
    batch = job.global_batch
    found = {one.number: tuple(_differences(log, one, plan, job)) for one in log.launches}
    own = [number for number, differences in found.items() if not differences]
    if not own:
        said = "; ".join(one.sentence for one in found[log.launches[-1].number])
        raise OtherRunError(f"{label}: is the log of another run: {said}")
    mine = log.only(
        one for one in log.steps if one.launch in own and one.sequences in (None, batch)
    )
    left_out = tuple(_left_out(log, found))
    counted = mine.counted(most)
    if not counted or mine.longest <= mine.warm_up:
        ends = (
            f"{label}: ends with step {mine.last}; the first {mine.warm_up} of a launch warm up, "
            "more are needed"
        )
        raise InputError("; ".join((ends, *left_out)))
    return OwnSteps(log=mine, counted=counted, left_out=left_out)


def _left_out(log: TrainingLog, found: dict[int, tuple[_Difference, ...]]) -> Iterator[str]:
    """A sentence for each other run: launches that differ in the same."""
    steps: dict[str, int] = {}
    for number, differences in found.items():
        if differences:
            words = ", ".join(one.short for one in differences)
            steps[words] = steps.get(words, 0) + log.length(number)
    for words, count in steps.items():
        are = "is" if count == 1 else "are"
        yield f"{plural(count, 'step')} of another run ({words}) {are} left out"


def _differences(log: TrainingLog, launch: Launch, plan: Plan, job: Job) -> Iterator[_Difference]:
    """What a launch says that is not so of the plan."""
    batch = job.global_batch
    printed = {one.sequences for one in log.steps if one.launch == launch.number} - {None}
    if printed and batch not in printed:
        words = _listed(sorted(one for one in printed if one is not None))
        yield _Difference(
            f"{words} sequences per step",
            f"its steps have {words} sequences, those of the plan {batch}",
        )
    for name, known in _known(plan, job).items():
        said = launch.stated.get(name)
        if said is not None and not same(said, known):
            number, words = f"{said:,.10g}", _COUNTED.get(name, name)
            yield _Difference(
                f"{number} {words}" if name in _COUNTED else f"{words} {number}",
                f"it has {words} {number}, the plan {known:,.10g}",
            )
    scale = launch.loss_scale or 1.0
    if scale != 1.0 and job.precision != "fp16":
        yield _Difference(
            f"loss scale {scale:g}",
            f"its loss scale {scale:g} is of fp16, the plan computes in {job.precision}",
        )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:3]))


def _known(plan: Plan, job: Job) -> dict[str, float]:
    """What a launch of a plan may say of itself."""
    return {
        "chips": float(plan.chips),
        **{axis: float(getattr(plan, axis)) for axis in _AXES},
        "seq_len": float(job.seq_len),
        "micro_batch": float(plan.micro_batch),
        "sequences": float(job.global_batch),
        "tokens": float(job.global_batch) * job.seq_len,
    }

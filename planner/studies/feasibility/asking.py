"""`planner.feasible`: from a question about batches, chips or a deadline to rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.progress import Progress
from planner.base.units import texts_of
from planner.cost.context import CostModel
from planner.cost.intervals import is_prediction, situation
from planner.cost.job import LONGEST_SEQUENCE
from planner.frameworks.targets import Target
from planner.question.asked import FEASIBLE
from planner.question.asked.typed import FeasibleFields
from planner.question.asked.usual import BATCH_MI, BATCH_TOKENS
from planner.question.provenance import versions
from planner.question.request import ARGUMENTS, Request, request_from
from planner.question.resolved import Resolved, resolve
from planner.question.run.upkeep import unused_in_days
from planner.search.limits import Limits
from planner.studies.feasibility import fitted as default
from planner.studies.feasibility import words
from planner.studies.feasibility.answer import DeadlineRow, FeasibleResult, Row
from planner.studies.feasibility.deadline import Goal, goal_of, smallest_count
from planner.studies.feasibility.launching import (
    kept_default,
    kept_notes,
    kept_words,
    launchers,
)
from planner.studies.feasibility.sizes import batches_of, check_batch, chips_of, default_chips
from planner.studies.feasibility.strategies import NAMES, Strategy, strategies_named
from planner.studies.feasibility.textbook import inverse
from planner.studies.feasibility.textbook.asked import check_roofline
from planner.studies.feasibility.textbook.roofline import model_at_peak, roofline_rows
from planner.studies.whatif import with_each_counted

MOST_CHIPS = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model on a cluster, with what is asked about it.

    Attributes:
        model: The cost model; its batch is not read.
        limits: Bytes per chip.
        targets: What has to launch the plans.
        kept: What plans are kept to, in a sentence; empty: to nothing.
        chips: Counts asked for; empty: the largest is looked for.
        batches: Tokens per step asked for; empty: thresholds are looked for.
        offload: Whether state and activations may move to the host.
        request: As asked; of a deadline, with the tokens of the run.
        at_peak: The cost model without `mfu`, under `roofline` with one.
    """

    model: CostModel
    limits: Limits
    targets: tuple[Target, ...]
    kept: str
    chips: tuple[int, ...]
    batches: tuple[float, ...]
    offload: bool
    request: Request
    at_peak: CostModel | None = None

    def may_move(self, chosen: Sequence[Strategy]) -> Sequence[Strategy]:
        """Strategies whose plans move to the host what the question allows."""
        return [replace(one, offload=True) for one in chosen] if self.offload else chosen

    @property
    def roofline(self) -> bool:
        """Whether the textbook's algebra holds."""
        return self.model.assumptions.token_granularity

    def counts(self, batch_tokens: float) -> tuple[int, ...]:
        """Counts among which the largest or the smallest is looked for at a batch."""
        every = self.chips or self.model.cluster.chip_counts(MOST_CHIPS)
        return tuple(n for n in every if n <= batch_tokens <= n * LONGEST_SEQUENCE)


def feasible(
    *,
    model: str | Sequence[str],
    hardware: str | Sequence[str] | None = None,
    chips: int | str | Sequence[int | str] | None = None,
    batch_tokens: float | str | Sequence[float | str] | None = None,
    strategies: str | Sequence[str] | None = None,
    deadline: float | str | None = None,
    train_tokens: float | str | None = None,
    origin: Origin = ARGUMENTS,
    on_progress: Progress | None = None,
    **fields: Unpack[FeasibleFields],
) -> FeasibleResult:
    """Which batches and chip counts stay compute-bound and fit, per strategy, and what binds.

    With `chips` alone: thresholds of the batch. With `batch_tokens` alone: the largest chip count.
    With both: the verdict and its margin. With `deadline` and `train_tokens`: the smallest chip
    count. Lists and text with commas ask for every combination.

    Args:
        model: Names of the database, or paths of YAML files.
        hardware: Clusters or chips; default `tpu-v5p`.
        chips: `512`, `"64,512"`, `"64..4096"` (by doubling), `"16x16x16"`.
        batch_tokens: Tokens per step: `4e6`, `"4Mi"`, `"1Mi..16Mi"` (by doubling).
        strategies: Names of `planner.studies.feasibility.strategies.NAMES`; default all.
        deadline: Seconds, or text such as `"30d"`.
        train_tokens: Tokens of the whole run.
        origin: Where the fields come from, for messages.
        on_progress: Called with (what, done, of).
        **fields: Further fields of the question.

    Raises:
        InputError: The question cannot be asked as it is; one line per mistake.
    """
    _check_fields(fields)
    given = {
        "model": model, "hardware": hardware, "chips": chips, "batch_tokens": batch_tokens,
        "strategies": strategies, "deadline": deadline, "train_tokens": train_tokens,
    }  # fmt: skip

    def answered(texts: tuple[str, ...]) -> FeasibleResult:
        changes: Any = {"set": texts} if texts else {}
        return _answered(**given, fields={**fields, **changes}, origin=origin, tell=on_progress)

    return with_each_counted(fields.pop("set", None), answered, FeasibleResult.to_dict)


def _answered(
    *,
    model: Any,
    hardware: Any,
    chips: Any,
    batch_tokens: Any,
    strategies: Any,
    deadline: Any,
    train_tokens: Any,
    fields: Mapping[str, Any],
    origin: Origin,
    tell: Progress | None,
) -> FeasibleResult:
    """The answer of `feasible`, whatever of it the changes move; arguments as there."""
    started = time.perf_counter()
    goal = goal_of(deadline, train_tokens)
    chosen = strategies_named(NAMES if strategies is None else texts_of(strategies))
    batches = () if batch_tokens is None else batches_of(batch_tokens)
    notes: list[tuple[str, str, str]] = []
    if goal and not batches:
        batches = (float(BATCH_TOKENS),)
    asked = {**fields, "train_tokens": goal[1], "deadline": deadline} if goal else fields
    cases = _cases(model, hardware, chips, batches, asked, origin, notes, goal=bool(goal))
    if goal and strategies is not None and not cases[0].roofline:
        raise InputError(
            "strategies: has no effect on a deadline under the fitted model, whose search is over "
            "all plans; leave it out, or use the assumptions roofline"
        )
    rows: list[Row] = []
    deadlines: list[DeadlineRow] = []
    for case in cases:
        if goal:
            found = _deadlines(case, chosen, goal, tell)
            deadlines += (replace(row, **_ends(case, row.step_time_s)) for row in found)
        else:
            for row in _rows(case, chosen, tell):
                rows.append(replace(row, **_ends(case, row.step_time_s)))
    kept = {(case.model.job.model.name, case.model.cluster.name): case.kept for case in cases}
    question = _kind(bool(goal), chips is not None or not batches, bool(batches))
    return FeasibleResult(
        assumptions=cases[0].model.assumptions.name,
        question=question,
        rows=tuple(rows),
        deadlines=tuple(deadlines),
        defaults=tuple(dict.fromkeys(notes)),
        notes=(*_notes(cases[0], goal=bool(goal)), *kept_notes(kept)),
        seconds=time.perf_counter() - started,
        versions=versions(),
    )


def _notes(case: Case, *, goal: bool) -> tuple[str, ...]:
    """What holds for all rows."""
    if not goal and case.at_peak is not None and case.chips:
        return (*words.ROOFLINE_NOTES, words.AT_PEAK)
    if not goal:
        return words.ROOFLINE_NOTES if case.roofline else words.DEFAULT_NOTES
    return (words.AT_ONCE,) if case.roofline else ()


def _ends(case: Case, step_time_s: float | None) -> dict[str, Any]:
    """The ends of the 80 % interval of a step time, where it is a prediction."""
    if step_time_s is None or not is_prediction(case.model.assumptions):
        return {}
    a, model = case.model.assumptions, case.model
    spread = situation(model.job, model.cluster, local_runs=a.local_runs, fitted=a.are_fitted)
    return {
        "step_time_low_s": step_time_s * spread.low,
        "step_time_high_s": step_time_s * spread.high,
    }


def _kind(goal: bool, with_chips: bool, with_batch: bool) -> str:
    if goal:
        return "deadline"
    if with_batch:
        return "verdict" if with_chips else "chips"
    return "thresholds"


def _check_fields(fields: Mapping[str, Any]) -> None:
    if unknown := sorted(set(fields) - set(FEASIBLE)):
        raise InputError(f"{unknown[0]}: unknown field; allowed: {', '.join(FEASIBLE)}")


def _cases(
    model: Any,
    hardware: Any,
    chips: Any,
    batches: tuple[float, ...],
    fields: Mapping[str, Any],
    origin: Origin,
    notes: list[tuple[str, str, str]],
    *,
    goal: bool,
) -> list[Case]:
    """Every model on every cluster.

    Raises:
        InputError: What cannot be used, of all of them, one line per mistake.
    """
    named = [{"model": name} for name in texts_of(model)] if model else [{}]
    machines = [{}] if hardware is None else [{"hardware": name} for name in texts_of(hardware)]
    cases, problems = [], []
    for one in ({**name, **machine} for name in named for machine in machines):
        try:
            request = request_from({**fields, **one}, origin)
            resolved = resolve(request, origin, chips=1)
            notes += _defaults(resolved, batches, goal=goal)
            cases.append(_case(resolved, chips, batches, notes, origin, goal=goal))
        except InputError as error:
            problems += str(error).split("\n")
    if cases and not problems:
        kinds = [case.model.chip.name for case in cases]
        lines = unused_in_days(cases[0].request, kinds)
        problems = [origin.blame(line, Request.model_fields) for line in lines]
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    return cases


def _case(
    resolved: Resolved,
    chips: Any,
    batches: tuple[float, ...],
    notes: list[tuple[str, str, str]],
    origin: Origin,
    *,
    goal: bool,
) -> Case:
    """One model on one cluster.

    Raises:
        InputError: The cluster cannot give the chips, or the batch cannot be dealt out to them.
    """
    request = resolved.request
    named = resolved.changes.named(resolved.cost.cluster)
    model = replace(resolved.cost, cluster=named)
    check_roofline(model, request, origin)
    targets = launchers(resolved, origin)
    counts: tuple[int, ...] = ()
    if chips is not None:
        counts = chips_of(chips, model.cluster)
    elif not batches:
        counts = (default_chips(model.cluster),)
        reason = f"the largest of {model.cluster.name} up to 4,096; --chips asks for others"
        notes.append(("chips", f"{counts[0]:,}", reason))
    for batch in batches:
        check_batch(model, batch, counts)
    return Case(
        model=model,
        limits=Limits(
            memory_bytes=request.max_memory,
            memory_margin=request.memory_margin,
            oom_risk=request.oom_risk,
        ),
        targets=targets,
        kept=kept_words(resolved, targets),
        chips=counts,
        batches=batches,
        offload=request.offload,
        request=request,
        at_peak=model_at_peak(model) if request.mfu not in (None, 1.0) else None,
    )


def _defaults(
    resolved: Resolved, batches: tuple[float, ...], *, goal: bool
) -> list[tuple[str, str, str]]:
    """What was assumed; the batch only where it is one."""
    found = [
        note
        for note in resolved.defaults
        if note[0] != "batch-tokens"
        and not (note[0] == "seq-len" and resolved.cost.assumptions.token_granularity)
    ]
    found += kept_default(resolved)
    if goal and batches == (float(BATCH_TOKENS),):
        found.append(("batch-tokens", f"{BATCH_TOKENS:,} tokens", f"{BATCH_MI} Mi tokens"))
    return found


def _rows(case: Case, chosen: Sequence[Strategy], on_progress: Progress | None) -> Iterator[Row]:
    """The rows of a model on a cluster."""
    if not case.chips:
        for batch in case.batches:
            for strategy in case.may_move(chosen):
                yield _largest(case, strategy, batch, on_progress)
        return
    for chips in case.chips:
        by_strategy = [
            _at(case, strategy, chips, on_progress) for strategy in case.may_move(chosen)
        ]
        for same_batch in zip(*by_strategy, strict=True):
            yield from same_batch


def _at(case: Case, strategy: Strategy, chips: int, on_progress: Progress | None) -> list[Row]:
    """The rows of a strategy on so many chips, one per batch or one without."""
    model, limits = case.model, case.limits
    if not case.roofline:
        return default.default_rows(
            model, strategy, chips, limits, case.batches, on_progress, case.targets
        )
    memory = limits.chip_bytes(model)
    return roofline_rows(model, strategy, chips, memory, case.batches, case.at_peak)


def _largest(case: Case, strategy: Strategy, batch: float, on_progress: Progress | None) -> Row:
    model, limits = case.model, case.limits
    counts = case.counts(batch)
    if case.roofline:
        memory = limits.chip_bytes(model)
        return inverse.largest_chips(model, strategy, counts, memory, batch, on_progress)
    return default.largest_chips(model, strategy, counts, limits, batch, on_progress, case.targets)


def _deadlines(
    case: Case,
    chosen: Sequence[Strategy],
    goal: tuple[tuple[float, float | None], float],
    on_progress: Progress | None,
) -> Iterator[DeadlineRow]:
    """The smallest count for each batch."""
    (seconds, chance), tokens = goal
    for batch in case.batches:
        wanted = Goal(batch_tokens=batch, train_tokens=tokens, deadline_s=seconds, chance=chance)
        yield smallest_count(
            case.model,
            chosen,
            case.counts(batch),
            case.limits,
            wanted,
            on_progress,
            case.targets,
            offload=case.offload,
            request=case.request,
        )

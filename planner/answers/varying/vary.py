"""`planner.vary`: one question for several values of one or two of its fields."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any, Unpack

from planner.answers.api import searched_for, solved
from planner.answers.evaluation import limits_of, options_of
from planner.answers.notes.changes import with_changes_noted
from planner.answers.varying.axes import Axis, axes_of, request_at
from planner.answers.varying.result import Between, Varied, VaryResult
from planner.answers.varying.turning import Place, turns_between
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.progress import Progress
from planner.cost.evaluate import evaluate_table
from planner.plan import PlanTable
from planner.question.asked.typed import SolveFields
from planner.question.changes.resolving import given_powers
from planner.question.facility import under_limit, without_limit
from planner.question.request import ARGUMENTS, Request, request_from
from planner.question.resolved import resolve
from planner.results.plan import PlanResult, plan_results
from planner.results.result import SolveResult
from planner.search.machines.machines import on_machine


def vary(
    vary: Mapping[str, Any] | Sequence[str],
    *,
    on_progress: Progress | None = None,
    **fields: Unpack[SolveFields],
) -> VaryResult:
    """The best plan for each value of a field, and the values where it changes; of two, a map.

    Args:
        vary: `{"memory.bandwidth": ["0.5x", "1x", "2x"]}`, or texts `memory.bandwidth=0.5x,1x,2x`:
            fields that `set` may change, or fields of the question.
        on_progress: Called with (what, done, of).
        **fields: Fields of the question, as of `planner.solve`.

    Raises:
        InputError: The question cannot be asked as it is; the message says what is allowed.
    """
    return vary_request(request_from(fields), vary, on_progress)


def vary_request(
    request: Request,
    given: Mapping[str, Any] | Sequence[str],
    on_progress: Progress | None = None,
    origin: Origin = ARGUMENTS,
) -> VaryResult:
    """`vary` for a validated request; `origin` names its fields in messages."""
    started = time.perf_counter()
    _check_one_plan(request, origin)
    axes = axes_of(given, request, origin)
    combinations = list(product(*(axis.texts for axis in axes)))
    points = []
    for done, texts in enumerate(combinations):
        if on_progress is not None:
            on_progress("values", done, len(combinations))
        asked = request_at(request, dict(zip(axes, texts, strict=True)))
        answer = _answer(asked, origin)
        points.append(Varied(texts=texts, answer=answer, best=_best(asked, answer)))
    _check_counted(request, axes, points, origin)
    between = _betweens(request, axes[0], points) if len(axes) == 1 else ()
    return VaryResult(
        subject=_subject(request, {axis.name for axis in axes}),
        axes=axes,
        points=tuple(points),
        between=tuple(between),
        seconds=time.perf_counter() - started,
    )


def _answer(asked: Request, origin: Origin) -> SolveResult:
    """The answer at one value; whether the value moves it is looked at for all values together."""
    question = searched_for(asked, origin)
    return question.with_run(solved(question.request, None, origin, None))


def _check_one_plan(request: Request, origin: Origin) -> None:
    """Refuses what asks about more than one plan at each value.

    Raises:
        InputError: It does.
    """
    for name in ("phases", "down"):
        if getattr(request, name):
            raise InputError(
                f"{origin.label([name])}: has no place beside vary, which asks about one plan at "
                "each value; leave one of the two out"
            )


def _subject(request: Request, varied: Container[str]) -> str:
    """`llama3-70b on 512 x h100-sxm5-80 with levels.leaf.bandwidth=0.5x`, but what is varied."""
    asked = None if "chips" in varied else request.chip_range
    count = "" if asked is None else f"{asked[1]:,} x "
    changed = f" with {', '.join(request.set)}" if request.set else ""
    model = "each model" if "model" in varied else request.model
    hardware = "each machine" if "hardware" in varied else request.hardware
    return f"{model} on {count}{hardware}{changed}"


def _check_counted(
    request: Request, axes: Sequence[Axis], points: Sequence[Varied], origin: Origin
) -> None:
    """Refuses a field none of whose values can change the answer.

    Raises:
        InputError: There is one.
    """
    refused: dict[Axis, list[InputError]] = {}
    for at, axis in enumerate(axes):
        answers = {point.texts[at]: point.answer for point in points}
        for text, answer in answers.items() if not axis.of_question else ():
            asked = request_at(request, {axis: text})
            try:
                with_changes_noted(asked, answer, options_of(asked), origin)
            except InputError as error:
                refused.setdefault(axis, []).append(error)
        known = refused.get(axis, [])
        same = sum(text == "1x" for text in answers)
        if known and len(known) + same == len(answers):
            raise InputError(str(known[-1]).replace("set:", "vary:"))


def _betweens(request: Request, axis: Axis, points: Sequence[Varied]) -> Iterator[Between]:
    """What is known between neighbours."""
    for low, high in pairwise(points):
        (below,), (above,) = low.texts, high.texts
        if not axis.continuous:
            yield Between(below=below, above=above)
            continue
        ends = [_place(axis.at(point.texts[0]), point.answer, point.best) for point in (low, high)]
        turns: Sequence[Any] = ()
        if differ := not ends[0].alike(ends[1]):
            turns = _turns(request, axis, ends[0], ends[1])
        within = None if differ else _within(request, axis, low.answer, high.answer)
        yield Between(
            below=below, above=above, turns=tuple(turns), within=within, searched=differ
        )  # fmt: skip


def _place(at: float, answer: SolveResult, best: PlanResult | None) -> Place:
    return Place(at=at, best=best, proved=answer.status in ("optimal", "infeasible"))


def _best(asked: Request, answer: SolveResult) -> PlanResult | None:
    """The best plan; plans that only the clock of a power cap tells apart are one."""
    best = answer.best
    if best is None or asked.power_cap is None:
        return best
    chip = resolve(on_machine(asked, best.machine), chips=best.chips).cost.chip
    return replace(best, plan=without_limit(best.plan, chip.clock_levels))


def _turns(request: Request, axis: Axis, below: Place, above: Place) -> Sequence[Any]:
    def solve(at: float) -> Place:
        asked = request_at(request, {axis: axis.text(at)})
        answer = _answer(asked, ARGUMENTS)
        return _place(at, answer, _best(asked, answer))

    def better(at: float, one: PlanResult, other: PlanResult) -> bool:
        asked = request_at(request, {axis: axis.text(at)})
        first, second = _value(asked, one), _value(asked, other)
        return first is not None and (second is None or first < second)

    return turns_between(below, above, solve, better)


def _value(request: Request, known: PlanResult) -> float | None:
    """What a plan has of what is minimized; None: it does not fit in memory, or cannot be."""
    try:
        resolved = resolve(on_machine(request, known.machine), chips=known.chips)
        table = PlanTable.from_plans([under_limit(known.plan, resolved.cost.clock_limit)])
        costs = evaluate_table(resolved.cost, table)
    except InputError:
        return None
    fits, _ = limits_of(request).memory(resolved.cost, table, costs.memory)
    result = plan_results(resolved.cost, table, costs)[0]
    return request.minimized.value_of(result.costs) if fits[0] else None


def _within(request: Request, axis: Axis, low: SolveResult, high: SolveResult) -> float | None:
    """By which share another plan may be faster between two values at which one is best.

    The least step time T*(x) never rises with a rate, unless power is limited, of which a faster
    chip takes more, MFU, of which it has less, or what the run costs. At x between a and b it is
    then at least T*(b), and the plan that is best at both takes at most T*(a).
    """
    of_run = (request.budget, request.max_run_energy)
    limits = (request.max_power, request.power_cap, request.min_mfu, *of_run)
    if any(limit is not None for limit in limits) or not axis.rises or request.objective != "time":
        return None
    if low.best is None or high.best is None or not low.status == high.status == "optimal":
        return None
    for text in (axis.texts[0], axis.texts[-1]):
        asked = on_machine(request_at(request, {axis: text}), high.best.machine)
        if "tdp_w" in given_powers(resolve(asked, chips=high.best.chips).cost.chip):
            return None
    return 1 - high.best.step_time_s / low.best.step_time_s

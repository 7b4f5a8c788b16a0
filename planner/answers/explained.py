"""`planner.explain` and `planner.compare`: why a plan costs what it costs, and against others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from planner.answers.evaluation import evaluate_plan, options_of
from planner.answers.notes.scope import limits_kept, targets_running
from planner.base.errors import InputError
from planner.base.files import is_file, read_bytes, real_path
from planner.base.frozen import thawed
from planner.base.messages import not_one_of, shown
from planner.base.progress import Progress
from planner.base.units import plural
from planner.explanation.answer import ExplainResult
from planner.explanation.comparison.answer import CompareResult
from planner.explanation.comparison.comparing import Asked, compared
from planner.explanation.explaining import explained
from planner.explanation.rivals import rivals_in
from planner.explanation.sensitivity.elasticities import Elasticity, largest_of_time
from planner.explanation.sensitivity.numbers import for_time, levers
from planner.explanation.sensitivity.rebuilding import rebuilding
from planner.frameworks.targets import Target
from planner.objectives import OBJECTIVES
from planner.plan import Plan
from planner.question.asked.typed import ExplainFields
from planner.question.chips_of_plan import check_request_chips
from planner.question.files.front_file import file_and_row
from planner.question.files.plan_file import PlanRead, read_plan_file
from planner.question.kinds.objectives import check_price, check_run
from planner.question.request import ARGUMENTS, request_from
from planner.question.resolved import Resolved, resolve
from planner.results.result import SolveResult

_FEWEST = 2
FEW = 4
"""Numbers of each kind that the end of a search names."""


def explain(
    source: str | Path | Plan,
    *,
    objective: str = "time",
    on_progress: Progress | None = None,
    **fields: Unpack[ExplainFields],
) -> ExplainResult:
    """Why one plan costs what it costs: what binds it, its neighbours, what it leans on.

    Args:
        source: Path of a plan file, or of a row of a front such as `front.json:2`, or a `Plan`
            (then `fields` say the job).
        objective: The name of what plans are compared by.
        on_progress: Called with (what, done, of).
        **fields: Fields of the question that override those of the file.

    Raises:
        InputError: The file or the plan cannot be used.
    """
    if isinstance(source, Plan):
        request = request_from(fields)
        check_request_chips(request, source, ARGUMENTS)
        resolved = resolve(request, chips=source.chips)
        return explain_plan(resolved, source, objective, on_progress=on_progress)
    path, row = file_and_row(source)
    content = read_bytes(path)
    request, plan, origin, assumed = read_plan_file(path, fields, row=row, content=content)
    resolved = resolve(request, origin, plan.chips)
    rivals = rivals_in(path, request, plan.chips, fields, content=content)
    return explain_plan(resolved, plan, objective, assumed, on_progress, rivals)


def explain_plan(
    resolved: Resolved,
    plan: Plan,
    objective: str = "time",
    assumed: tuple[tuple[str, str, str], ...] = (),
    on_progress: Progress | None = None,
    rivals: Sequence[Plan] = (),
    targets: tuple[Target, ...] = (),
) -> ExplainResult:
    """`explain` for a resolved job.

    Args:
        resolved: The job.
        plan: The plan.
        objective: The name of what plans are compared by.
        assumed: What the source of the plan left out.
        on_progress: Called with (what, done, of).
        rivals: Plans that might overtake it, beside those one step away.
        targets: What has to run the plans one step away, beside those that the job names.

    Raises:
        InputError: The plan breaks a rule of arithmetic, the cluster cannot give its chips, or
            the objective is unknown.
    """
    if objective not in OBJECTIVES:
        raise InputError(f"objective: {not_one_of(objective, OBJECTIVES)}")
    request = resolved.request
    check_price(request.price_per_chip_hour, (OBJECTIVES[objective],), ARGUMENTS)
    check_run(request, (OBJECTIVES[objective],), ARGUMENTS)
    evaluated = evaluate_plan(resolved, plan, assumed)
    runs = tuple(dict.fromkeys((*targets_running(resolved, plan), *targets)))
    asked = options_of(request, runs)
    options = replace(asked, offload=True, clocks=True, axes=None, fixed={})
    return ExplainResult(
        evaluated=evaluated,
        explained=explained(
            resolved,
            evaluated.result,
            limits_kept(resolved, evaluated.result),
            options,
            OBJECTIVES[objective].priced(request.price_per_chip_hour),
            rivals=rivals,
            on_progress=on_progress,
        ),
    )


def leaning_of(result: SolveResult, on_progress: Progress | None = None) -> tuple[Elasticity, ...]:
    """What the time of the best plan of a search leans on, largest first; empty without a plan.

    The `FEW` largest of what is known and of what is assumed.

    Args:
        result: The answer of `planner.solve`.
        on_progress: Called with (what, done, of).
    """
    best = result.best
    if best is None or result.stages.pools:
        return ()
    job = {
        **thawed(result.question.plan_job),
        **({} if best.machine is None else best.machine.fields),
    }
    resolved = resolve(request_from(job), chips=best.chips)
    found = for_time(levers(rebuilding(resolved), best.chips)[0])
    return tuple(largest_of_time(resolved.cost, found, best.plan, FEW, on_progress))


def compare(*sources: str | Path, **fields: Any) -> CompareResult:
    """Plans beside each other: what differs, what each costs, what makes the difference.

    Args:
        *sources: Two or more plan files, or rows of fronts written as `front.json:2`.
        **fields: Fields of `planner.question.request.Request` that override those of every file.

    Raises:
        InputError: A file or a plan cannot be used, or the plans cannot be compared.
    """
    return compare_files([str(source) for source in sources], fields)


def compare_files(
    sources: Sequence[str],
    fields: dict[str, Any],
    *,
    flags: bool = False,
    contents: Mapping[Path, bytes] | None = None,
) -> CompareResult:
    """`compare` for a list.

    Args:
        sources: The plans.
        fields: As of `compare`.
        flags: Whether they are flags of the command line.
        contents: What files hold that were read before.

    Raises:
        InputError: One line per mistake.
    """
    if len(sources) < _FEWEST:
        raise InputError(
            f"plans: {len(sources) or 'none'} given; two or more are compared: plan files, or rows "
            "of a front such as front.json:2"
        )
    lines: list[str] = []
    asked: list[Asked] = []
    seen: dict[tuple[Path, int | None, str, str], str] = {}
    machines = _each("hardware", fields.get("hardware"), len(sources), "machine")
    modes = _each("collectives", fields.get("collectives"), len(sources), "mode")
    twice = {source for source, times in Counter(sources).items() if times > 1}
    for source, machine, mode in zip(sources, machines, modes, strict=True):
        path, row = file_and_row(source)
        key = (real_path(path), row, machine, mode)
        if key in seen:
            lines.append(
                f"plans: {source} is the same as {seen[key]}; give different plans, or a machine "
                "for each, e.g. --hardware h100-sxm5-80,h200-sxm5-141, or --collectives nccl,best"
            )
            continue
        seen[key] = source
        other = {"hardware": machine, "collectives": mode}
        own = {**fields, **{name: value for name, value in other.items() if value}}
        name = source
        if source in twice:
            name += f" on {machine}" if len(set(machines)) > 1 else ""
            name += f" with {mode}" if len(set(modes)) > 1 else ""
        content = (contents or {}).get(path)
        try:
            read = read_plan_file(path, own, flags=flags, row=row, content=content)
            asked.append(_asked(name, read))
        except InputError as error:
            lines += str(error).split("\n")
    if lines:
        raise InputError("\n".join(dict.fromkeys(lines)))
    return compared(asked)


def _each(field: str, given: object, plans: int, noun: str) -> list[str]:
    """The machine or the mode of each plan, where others than those of the files are asked for.

    Args:
        field: Of the question.
        given: Its value: one for all, or one for each.
        plans: How many there are.
        noun: What one is.

    Raises:
        InputError: Several, but not one for each plan.
    """
    if not isinstance(given, str) or "," not in given or is_file(Path(given)):
        return [given if isinstance(given, str) else ""] * plans
    names = [name.strip() for name in given.split(",")]
    if len(names) != plans or not all(names):
        named = plural(sum(map(bool, names)), noun)
        raise InputError(
            f"{field}: {shown(given)} names {named} for {plans} plans; give one for all, or one "
            "for each"
        )
    return names


def _asked(source: str, read: PlanRead) -> Asked:
    """A plan that was read, costed in its job."""
    resolved = resolve(read.request, read.origin, read.plan.chips)
    machine = {name: ", ".join(map(str, given)) for name, given in read.request.machine.items()}
    return Asked(
        name=source,
        model=resolved.cost,
        machine=machine,
        evaluated=evaluate_plan(resolved, read.plan, read.assumed),
    )

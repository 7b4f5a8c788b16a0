"""`planner.solve_down`: nodes of a run are down; what to run now, and whether that pays.

Two plans are looked for on the chips that are left: the best that loads the run's checkpoint as it
is, and the best of all, into which the checkpoint has to be brought over the store where it does
not load. Both are proved, as any answer is; `planner.cost.goodput.outage` weighs them against
waiting. The batch stays that of the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

from frozen_records import dataclass
from planner.answers.api import solve_request
from planner.answers.evaluation import evaluate_plan, training_run
from planner.answers.resuming import narrowed
from planner.answers.run.lost import DownResult, Way
from planner.answers.run.passages import passage_of
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.progress import Progress
from planner.base.units import HOUR_S, plural
from planner.cost.goodput.checkpoints import checkpoint_bytes
from planner.cost.goodput.outage import Detour
from planner.cost.goodput.rates import known
from planner.objectives import TIME
from planner.plan import Plan
from planner.question.asked import UPKEEP
from planner.question.asked.typed import SolveFields
from planner.question.files.plan_text import asked_of
from planner.question.kinds.kind import Kind, kind_of
from planner.question.launch.resuming import run_of
from planner.question.request import ARGUMENTS, Request, request_from
from planner.question.resolved import Resolved, resolve
from planner.question.run.outage import lost_of
from planner.question.run.prices import filled_prices
from planner.question.run.running import upkeep_of
from planner.question.run.upkeep import (
    OF_THE_WHOLE,
    RUN_LIMITS,
    spares_problems,
    upkeep_problems,
)
from planner.results.plan import PlanResult
from planner.results.result import SolveResult

_ENDLESS = 1e30
"""Tokens of a run that does not end before the interval of its checkpoints matters."""


def solve_down(*, on_progress: Progress | None = None, **fields: Unpack[SolveFields]) -> DownResult:
    """What to run while nodes of a run are down, and whether that pays against waiting.

    Args:
        on_progress: Called with (what, done, of) while the searches run.
        **fields: Fields of the question, `down` and `resume_from` among them.

    Raises:
        InputError: The question cannot be asked as it is; the message says what is allowed.
    """
    return solve_down_request(request_from(fields), on_progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The run, and what its outage costs.

    Attributes:
        request: The question as it was asked.
        alone: The same about its plan alone.
        endless: The same about a run that does not end.
        plan: The plan that runs.
        framework: Of it, by the name of its profile.
        restart_s, repair_s: Of the job, and of a node.
        write_s: A checkpoint, over the store; as long to read.
        rate: Tokens per second of the run, goodput counted where that is known.
    """

    request: Request
    alone: Request
    endless: Request
    plan: Plan
    framework: str
    restart_s: float
    repair_s: float
    write_s: float = 0.0
    rate: float = 0.0


def solve_down_request(
    request: Request, on_progress: Progress | None = None, origin: Origin = ARGUMENTS
) -> DownResult:
    """`solve_down` for a validated request; `origin` names its fields in messages."""
    started = time.perf_counter()
    _check(request, origin)
    alone = request.model_copy(
        update={"down": None, "chips": None, "chips_at_most": None} | dict.fromkeys(UPKEEP)
    )
    first = resolve(alone, origin, 1)
    plan = run_of(alone, first)
    nodes, lost = _lost(request, plan, first, origin)
    spares = min(request.spares or 0, nodes)
    left = plan.chips - max(lost - spares * first.cost.cluster.node_chips, 0)
    run, found = _standing(request, alone, resolve(alone, origin, plan.chips), plan, left)
    found = replace(found, nodes=nodes, spares=spares)
    if not found.covered:
        found = _with_ways(found, run, left, on_progress, origin)
    return replace(found, seconds=time.perf_counter() - started)


def _standing(
    request: Request, alone: Request, whole: Resolved, plan: Plan, left: int
) -> tuple[_Run, DownResult]:
    """The run, and the answer before anything is looked for.

    Args:
        request: The question.
        alone: The same about one plan.
        whole: That on all chips of the run.
        plan: The plan that runs.
        left: Chips that are left.
    """
    own, upkeep = evaluate_plan(whole, plan).result, upkeep_of(request)
    store = request.checkpoint_store or known().quantities["usual.store_per_chip"].number * left
    held = checkpoint_bytes(whole.cost.job)
    run = _Run(
        request=request,
        alone=alone,
        endless=_endless(request, plan.chips),
        plan=plan,
        framework=whole.cost.framework.name,
        restart_s=upkeep.restart_s,
        repair_s=upkeep.repair_s,
        write_s=held / store,
    )
    share = _share(run, own)
    run = replace(run, rate=own.tokens_per_s * (1.0 if share is None else share))
    passage = passage_of(run.framework, plan, plan, request.checkpoint)
    return run, DownResult(
        subject=_subject(whole, plan),
        asked=asked_of(request),
        down=request.down or "",
        chips=plan.chips,
        left=left,
        running=own,
        own_rate=run.rate,
        share=share,
        restart_s=upkeep.restart_s,
        repair_s=upkeep.repair_s,
        repair_given=request.repair is not None,
        checkpoint_bytes=held,
        store_bytes_per_s=store,
        form=passage.form,
        form_given=passage.said,
    )


def _check(request: Request, origin: Origin) -> None:
    """Refuses what does not go with an outage.

    Raises:
        InputError: One line per field.
    """
    lines = []
    if request.resume_from is None:
        lines.append(
            "down: has no effect without resume-from, the run that lost them: its plan file, its "
            "launch or its mesh"
        )
    if (kind := kind_of(request)) in (Kind.POOLS, Kind.MACHINES):
        of = "pools" if kind is Kind.POOLS else "several machines"
        lines.append(f"down: a run that exists is on one machine, and the question is about {of}")
    if request.objective != TIME.name:
        lines.append(
            f"objective: with down plans are compared by tokens per second, not by "
            f"{request.objective}; leave it out"
        )
    lines += [
        f"{name.replace('_', '-')}: has no effect with down, which is about the hours until a "
        "repair; leave it out"
        for name in (*OF_THE_WHOLE, *RUN_LIMITS)
        if getattr(request, name) is not None and name not in filled_prices(request.prices)
    ]
    if request.chips_at_most is not None:
        lines.append("chips-at-most: has no effect with down: the run says its chips; leave it out")
    lines += upkeep_problems(request.model_copy(update={"train_tokens": 1.0}))
    if lines:
        raise InputError("\n".join(origin.blame(line, Request.model_fields) for line in lines))


def _lost(request: Request, plan: Plan, resolved: Resolved, origin: Origin) -> tuple[int, int]:
    """Nodes that are hit, and chips that are lost.

    Raises:
        InputError: The run has no more, or it has other chips than those asked for.
    """
    cluster, lines = resolved.cost.cluster, []
    nodes, lost = lost_of(request.down or "", cluster.node_chips)
    all_nodes = -(-plan.chips // cluster.node_chips)
    if lost >= plan.chips:
        most = plural(all_nodes - 1, "node") if all_nodes > 1 else plural(plan.chips - 1, "chip")
        lines.append(
            f"down: {request.down} leave nothing of the {plan.chips:,} chips of the run "
            f"({plural(all_nodes, 'node')} of {cluster.name}); at most {most} can be down"
        )
    if request.chips is not None and request.chips != plan.chips:
        lines.append(
            f"chips: {request.chips} contradicts the run, which has {plan.chips:,}; leave it out"
        )
    lines += spares_problems(request, cluster, plan.chips)
    if lines:
        raise InputError("\n".join(origin.blame(line, Request.model_fields) for line in lines))
    return nodes, lost


def _share(run: _Run, best: PlanResult) -> float | None:
    """The goodput of a plan of an endless run; None where nobody knows how often chips fail."""
    resolved = resolve(run.endless, chips=best.chips)
    found = training_run(resolved.request, best, resolved.cost)
    return None if found is None or found.goodput is None else found.goodput.share


def _endless(request: Request, chips: int) -> Request:
    """A question about a run that does not end, whose chips fail as those of the run do."""
    mean = request.mtbf
    per_failure = request.chip_hours_per_failure if mean is None else mean * chips / HOUR_S
    return request.model_copy(
        update={
            "down": None,
            "chips": None,
            "spares": None,
            "mtbf": None,
            "chip_hours_per_failure": per_failure,
            "train_tokens": _ENDLESS,
        }
    )


def _with_ways(
    found: DownResult, run: _Run, left: int, on_progress: Progress | None, origin: Origin
) -> DownResult:
    """With the plans for what is left."""
    free = run.alone.model_copy(
        update={"resume_from": None, "checkpoint": None, "chips_at_most": left}
    )
    best = solve_request(free, on_progress, origin)
    ways = [*_way(run, free, best)]
    missing = ""
    if not ways or ways[0].refused:
        narrow: Request | None = None
        try:
            narrow = narrowed(run.alone.model_copy(update={"chips_at_most": left}), origin)[0]
        except InputError as error:
            missing = str(error).split("\n")[0].rpartition("resume-from: ")[2]
        if narrow is not None:
            loading = [*_way(run, narrow, solve_request(narrow, on_progress, origin))]
            missing = "" if loading else f"none fits on {left:,} chips or fewer"
            ways = [*loading, *ways]
    return replace(
        found, ways=tuple(ways), missing=missing, others=_others(run, ways) if ways else ()
    )


def _others(run: _Run, ways: Sequence[Way]) -> tuple[tuple[str, str], ...]:
    """Forms in which the best plan of all would load, where it does not."""
    last = ways[-1]
    if not last.refused:
        return ()
    return passage_of(run.framework, run.plan, last.best.plan, run.request.checkpoint).others


def _way(run: _Run, request: Request, answer: SolveResult) -> Iterator[Way]:
    """What the best plan of a search gains; nothing where there is none."""
    best = answer.best
    if best is None:
        return
    there = passage_of(run.framework, run.plan, best.plan, run.request.checkpoint)
    back = passage_of(run.framework, best.plan, run.plan, run.request.checkpoint)
    convert_s, restart_s = 2.0 * run.write_s, run.restart_s
    share = _share(run, best)
    detour = Detour(
        rate=best.tokens_per_s * (1.0 if share is None else share),
        own_rate=run.rate,
        in_s=restart_s + (0.0 if there.loads else convert_s),
        back_s=run.write_s + restart_s + (0.0 if back.loads else convert_s),
        restart_s=restart_s,
    )
    yield Way(
        request=request,
        answer=answer,
        best=best,
        refused=there.refused if there.form else ("no form of its checkpoint is known",),
        returns=back.loads,
        share=share,
        convert_s=convert_s,
        write_s=run.write_s,
        detour=detour,
        gained_s=float(detour.gained_s(run.repair_s)),
    )


def _subject(resolved: Resolved, plan: Plan) -> str:
    """`llama3-70b on 512 x h100-sxm5-80 (dgx-h100-ndr)`."""
    cluster: Any = resolved.cost.cluster
    return (
        f"{resolved.cost.job.model.name} on {plan.chips:,} x {cluster.chip.name} ({cluster.name})"
    )

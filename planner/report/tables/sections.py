"""The whole print of an answer: its sections in order, each under the name that `--show` takes.

A block is what stands together under some names, apart from the next by a blank line. `--show all`
prints every block; a block of several names prints those parts that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from planner.explanation.sensitivity.elasticities import Elasticity
from planner.report.section_names import EVALUATE, SOLVE, WITHOUT_PLAN
from planner.report.tables.breakdown import breakdown_view, simulated_words, stage_view
from planner.report.tables.certificate import certificate_view
from planner.report.tables.collectives import collectives_view
from planner.report.tables.explain import short_leaning_view
from planner.report.tables.front import front_view
from planner.report.tables.launch import launch_view
from planner.report.tables.likely import ranked_view, spread_words, tie_words
from planner.report.tables.machine_marks import machines_view
from planner.report.tables.pools import alone_words, pools_view
from planner.report.tables.tables import ByWidth, indented, section, spaced, table
from planner.report.tables.terminal import (
    boundary_view,
    counts_view,
    defaults_view,
    fits_view,
    head,
    panel_view,
    proof_words,
    run_view,
    solve_head,
)
from planner.results.gains import gain_words
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult
from planner.results.words import job_words, plan_line

Answer = SolveResult | EvaluateResult
_Made = tuple[list[str], list[RenderableType]]
"""The sections of a block, and its views."""


class Block(NamedTuple):
    """What stands together.

    Attributes:
        names: The sections of it.
        view: From the answer and the names that are shown to views; none: the answer has no such.
    """

    names: tuple[str, ...]
    view: Callable[..., Sequence[RenderableType]]


def _of(name: str, view: Callable[[Any], Sequence[RenderableType]]) -> Block:
    """A block of one section."""
    return Block((name,), lambda answer, _: view(answer))


def _blocks_of_plan(of: Callable[[Any], PlanResult | None], title: str) -> tuple[Block, ...]:
    """The blocks about a plan: its choices and costs, and their parts."""

    def panel(answer: Any) -> list[RenderableType]:
        plan = of(answer)
        return [] if plan is None else [panel_view(title, plan)]

    def boundaries(answer: Any) -> list[RenderableType]:
        plan = of(answer)
        return [] if plan is None else [boundary_view(plan)]

    def parts(answer: Any, names: Collection[str]) -> list[RenderableType]:
        plan = of(answer)
        return [] if plan is None else [breakdown_view(plan, names)]

    return (
        _of("plan", panel),
        _of("energy", boundaries),
        Block(("time", "energy", "memory"), parts),
    )


def _stages(answer: Answer, plan: PlanResult | None) -> list[RenderableType]:
    """Each stage, and the step time simulated operation by operation."""
    if plan is None:
        return []
    lines = simulated_words(answer.facts, plan.step_time_s)
    return [*stage_view(answer.facts), *map(Text, lines)]


def _evidence(answer: Answer, plan: PlanResult | None) -> list[RenderableType]:
    return [] if plan is None else [Text(spread_words(answer.notes.spread))]


def _proof(result: SolveResult) -> list[RenderableType]:
    """How good the plan is proved to be, and what stages that may differ gain."""
    if result.best is None:
        return []
    lines = [proof_words(result)]
    if result.stages.pools:
        lines += alone_words(result)
    elif result.stages.may_differ:
        lines.append(gain_words(result))
    return [*map(Text, lines)]


def _caveats(result: SolveResult) -> list[RenderableType]:
    """What must not be missed."""
    lines = result.notes.caveats
    return [section("Notes", indented(lines))] if lines else []


def _why(result: SolveResult) -> list[RenderableType]:
    if result.best is None:
        return []
    parts: list[RenderableType] = [section("Why this plan", indented(result.notes.why))]
    if result.candidates.neighbors:
        parts += [Text(), _neighbor_table(result)]
        parts += [Text(line) for line in [tie_words(result.notes.spread, result.minimized)] if line]
    return parts


def _neighbor_table(result: SolveResult) -> ByWidth:
    rows = [
        (neighbor.change, neighbor.verdict + (" (tie)" if neighbor.tie else ""))
        for neighbor in result.candidates.neighbors
    ]
    return table(("one step away", "instead"), rows)


def _front(result: SolveResult) -> list[RenderableType]:
    return [] if result.best is None else [front_view(result)]


def _machines(result: SolveResult) -> list[RenderableType]:
    return [machines_view(result)] if result.candidates.machines else []


def _ties(result: SolveResult) -> list[RenderableType]:
    return [] if result.best is None else ranked_view(result)


def _clocks(result: EvaluateResult) -> list[RenderableType]:
    if result.clocks is None:
        return []
    from planner.report.tables.operation_clocks import clocks_tables  # noqa: PLC0415  (few ask)

    return [one.view for one in clocks_tables(result.clocks)]


def _front_clocks(result: SolveResult) -> list[RenderableType]:
    if result.clocks is None:
        return []
    from planner.report.tables.operation_front import front_clocks_table  # noqa: PLC0415  (few ask)

    return [front_clocks_table(result.clocks).view]


_SOLVE = (
    *_blocks_of_plan(lambda result: result.best, "Best plan"),
    _of("pools", lambda result: pools_view(result.stages.pools)),
    _of("stages", lambda result: _stages(result, result.best)),
    _of("collectives", lambda result: collectives_view(result.facts)),
    _of("evidence", lambda result: _evidence(result, result.best)),
    _of("proof", _proof),
    _of("ties", _ties),
    _of("notes", _caveats),
    _of("why", _why),
    _of("run", lambda result: run_view(result.run)),
    _of("front", _front),
    _of("clocks", _front_clocks),
    _of("machines", _machines),
    _of("proof", certificate_view),
    _of("candidates", counts_view),
    _of("assumed", lambda result: defaults_view(result.notes.defaults)),
)
_EVALUATE = (
    *_blocks_of_plan(lambda result: result.result, "Plan"),
    _of("pools", lambda result: pools_view(result.pools)),
    _of("stages", lambda result: _stages(result, result.result)),
    _of("collectives", lambda result: collectives_view(result.facts)),
    _of("evidence", lambda result: _evidence(result, result.result)),
    _of("clocks", _clocks),
    _of("run", lambda result: run_view(result.run)),
    _of("assumed", lambda result: defaults_view(result.notes.defaults)),
    _of("launch", launch_view),
)


def evaluate_head(result: EvaluateResult) -> list[RenderableType]:
    """What is asked, what to beware of, and whether the plan fits."""
    return [*head(job_words(result), result.notes.losses, result.warnings), fits_view(result)]


def solve_view(
    result: SolveResult,
    names: Collection[str] = tuple(SOLVE),
    leaning: Sequence[Elasticity] = (),
) -> RenderableType:
    """The sections of an answer of `planner solve`: all that there are, or those asked for.

    Args:
        result: The answer.
        names: Of `planner.report.section_names.SOLVE`.
        leaning: What the step time leans on, from evaluations of its own; empty: nothing is known.
    """
    last = _of("leaning", lambda _: [short_leaning_view(leaning)] if leaning else [])
    blocks = _chosen(result, (*_SOLVE, last), names)
    missing = ""
    if result.best is None:
        missing = "no plan fits" if result.status == "infeasible" else "no plan was found in time"
    return _whole(solve_head(result), result.best, blocks, names, SOLVE, missing)


def evaluate_view(
    result: EvaluateResult, names: Collection[str] = tuple(EVALUATE)
) -> RenderableType:
    """The sections of an answer of `planner evaluate`; arguments as of `solve_view`."""
    blocks = _chosen(result, _EVALUATE, names)
    return _whole(evaluate_head(result), result.result, blocks, names, EVALUATE)


def _chosen(answer: Answer, blocks: Sequence[Block], names: Collection[str]) -> list[_Made]:
    """The blocks of the sections that are shown, with their sections."""
    chosen = [(block, [name for name in block.names if name in names]) for block in blocks]
    return [(shown, [*block.view(answer, shown)]) for block, shown in chosen if shown]


def _whole(
    start: list[RenderableType],
    plan: PlanResult | None,
    made: Sequence[_Made],
    names: Collection[str],
    every: Mapping[str, str],
    missing: str = "",
) -> RenderableType:
    """The head, the plan in a line where its panel is not asked for, and the blocks.

    `missing` says why there is no plan, where there is none.
    """
    blocks = [views for _, views in made if views]
    if plan is not None and "plan" in names:
        start += blocks.pop(0)
    elif plan is not None:
        start.append(Text(f"Plan: {plan_line(plan)}"))
    if len(names) < len(every):
        found = {name for shown, views in made if views for name in shown}
        absent = [name for name in names if name not in found]
        blocks += [[Text(_absent_words(name, every[name], missing))] for name in absent]
    return spaced([start, *blocks])


def _absent_words(name: str, what: str, missing: str) -> str:
    """Why there is nothing to print of a section."""
    none = "this answer has none"
    if missing and name not in WITHOUT_PLAN:
        none = f"{missing}, so there is none"
    return f"{name}: {none} ({what})."

"""The questions of `planner collective`: fronts, single schedules, bounds."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.progress import NotedProgress
from planner.base.units import show_seconds
from planner.collectives.machines.machine import Machine, Wires
from planner.collectives.machines.machines import maps_onto_itself
from planner.collectives.questions.answers import FrontAnswer
from planner.collectives.questions.methods import by_methods
from planner.collectives.questions.progress import Standing
from planner.collectives.questions.question import Question, question_of
from solvers.collectives.allreduce import Members, allreduce_load, load_of_steps
from solvers.collectives.candidates import SIZE, TIME, Gap
from solvers.collectives.compose import in_turn
from solvers.collectives.distances import distances, least_steps
from solvers.collectives.flows import load_bound
from solvers.collectives.front import pareto
from solvers.collectives.greedy import rounds_of
from solvers.collectives.problem import goal_of
from solvers.collectives.rows import MIXED_INTEGER, SEARCH, Front, Row
from solvers.collectives.schedule import Schedule
from solvers.collectives.searching import RAISED
from solvers.collectives.step_search import Effort
from solvers.collectives.symmetry import free_subgroup
from solvers.collectives.synthesis import synthesize
from solvers.collectives.timed import Timing, fastest
from solvers.solution import Solution, Status

_ENDED = 0.95
"""Of the time limit: a search that took more was ended by it."""


_SHARE = 0.2
"""Of the time limit: for each bound."""


def collective_front(*, on_progress: NotedProgress | None = None, **fields: Any) -> FrontAnswer:
    """Schedules of a collective on a machine: the front, or one for given chunks and steps.

    Args:
        on_progress: Called with (what, done, of) and where the search stands.
        **fields: What the flags of `planner collective synthesize` say, e.g. `topology="dgx-1"`,
            `collective="allgather"`, `chunks=6, steps=3`, `graph="mine.yaml"`, `time_limit=10`.

    Raises:
        InputError: The question cannot be asked as it is; one line per mistake.
    """
    return answer(question_of(fields, Origin()), on_progress)


def answer(question: Question, on_progress: NotedProgress | None = None) -> FrontAnswer:
    """The front, or the one schedule that a question asks for.

    Raises:
        InputError: Chunks or steps that an all-reduce cannot have.
    """
    if question.size_bytes is not None:
        return timed(question, question.size_bytes, on_progress)
    whole = question.chunks is None and question.steps is None
    return by_methods(
        question,
        lambda asked: front_of(asked, on_progress) if whole else single(asked, on_progress),
        lambda asked: (load_of(asked), steps_needed(asked)[0]),
        on_progress,
    )


def front_of(question: Question, on_progress: NotedProgress | None = None) -> FrontAnswer:
    """All schedules worth having."""
    stand = Standing(on_progress)
    stand.tell()
    machine = question.machine
    front = pareto(
        machine.network,
        question.collective,
        root=question.root,
        symmetries=machine.symmetries,
        effort=Effort(
            max_chunks=question.max_chunks,
            time_limit_s=question.time_limit_s,
            on_search=stand.searching,
        ),
        on_row=stand.found,
    )
    whole = front.complete or front.complete_to is not None
    proved = whole and all(row.proved for row in front.rows)
    status = Status.OPTIMAL if proved else Status.FEASIBLE if front.rows else Status.TIME_LIMIT
    return FrontAnswer(question=question, status=status.value, front=front)


def single(question: Question, on_progress: NotedProgress | None = None) -> FrontAnswer:
    """One schedule with the fewest rounds for C chunks and S steps.

    C is 1 where only steps are asked for, S the fewest there can be where only chunks are.

    Raises:
        InputError: An all-reduce whose chunks its members do not divide, or with odd steps.
    """
    started = time.perf_counter()
    least, _ = steps_needed(question)
    halves = 2 if question.collective == "allreduce" else 1
    nodes = question.machine.network.nodes
    chunks = question.chunks or (nodes if halves == 2 else 1)
    steps = question.steps or least * halves
    if halves == 2:
        _check_allreduce(chunks, steps, nodes)
    if steps < least * halves:
        return _none(question, Status.INFEASIBLE, too_few(question, least, steps), started)
    if on_progress is not None:
        on_progress("a schedule", 0, 1, f"S = {steps}, C = {chunks}")
    share_s = question.time_limit_s * _SHARE
    limit = load_of(question, time_limit_s=share_s)
    load = max(limit, load_of(question, steps, time_limit_s=share_s))
    left_s = max(question.time_limit_s - (time.perf_counter() - started), 1e-3)
    asked = replace(question, time_limit_s=left_s)
    found = _composed(asked, chunks, steps) if halves == 2 else _found(asked, chunks, steps)
    if found.decision is None:
        words = f"no schedule within {show_seconds(question.time_limit_s)}"
        return _none(question, Status.TIME_LIMIT, words, started)
    row = Row(
        schedule=found.decision,
        lower_bound=max(math.ceil(found.bound), math.ceil(load * chunks), steps),
        load_bound=load,
        bound_by=SEARCH if RAISED in found.counts else MIXED_INTEGER,
    )
    seconds = time.perf_counter() - started
    reason = None if row.proved else _reason(question, seconds)
    left_open = Gap(
        steps=steps, load=Fraction(row.lower_bound, chunks), chunks=chunks, reason=reason or ""
    )
    front = Front(
        collective=question.collective, rows=(row,), least_steps=least * halves,
        limit=limit, complete=row.proved, ends=_ends(question, row, reason), seconds=seconds,
        gaps=(left_open,) if reason else (),
    )  # fmt: skip
    status = Status.OPTIMAL if row.proved else Status.FEASIBLE
    return FrontAnswer(question=question, status=status.value, front=front)


def _reason(question: Question, seconds: float) -> str | None:
    """Why nothing is proved; None: other ways to compose an all-reduce were not tried."""
    if seconds >= question.time_limit_s * _ENDED:
        return TIME
    return None if question.collective == "allreduce" else SIZE


def _ends(question: Question, row: Row, reason: str | None) -> str:
    """What is proved of one schedule, and what ended the search."""
    if row.proved:
        return "no schedule with so many chunks and steps has fewer rounds"
    because = {
        TIME: "the time limit ended the search",
        SIZE: "its program is too large for the solver",
    }
    why = because.get(reason or "", "only a reduce-scatter and then an allgather was tried")
    return f"{why}; fewer rounds than {row.rounds} are not excluded, down to {row.lower_bound}"


TIMED_CHUNKS = 4
"""Numbers of chunks tried where the least time is asked for."""
TIMED_STEPS = 2
"""Most steps beyond the fewest that schedules may then have."""


def timed(
    question: Question, size_bytes: float, on_progress: NotedProgress | None = None
) -> FrontAnswer:
    """The schedule that takes the least time at one size, link by link.

    Chunks 1 to `TIMED_CHUNKS` and up to `TIMED_STEPS` - 1 steps more than the fewest are tried,
    unless they are asked for; the bound holds for those alone.

    Raises:
        InputError: An all-reduce, whose halves are to be asked for.
    """
    if question.collective == "allreduce":
        raise InputError("size: ask for the halves of an all-reduce: reduce-scatter and allgather")
    started = time.perf_counter()
    machine, least = question.machine, steps_needed(question)[0]
    most = question.steps or least + TIMED_STEPS - 1
    if most < least:
        return _none(question, Status.INFEASIBLE, too_few(question, least, most), started)
    tried = [question.chunks] if question.chunks else list(range(1, TIMED_CHUNKS + 1))
    wires = machine.wires
    timing = timing_of(wires, size_bytes)
    kept = tuple(p for p in machine.symmetries if maps_onto_itself(p, wires.network))
    found = []
    for at, chunks in enumerate(tried):
        if on_progress is not None:
            on_progress("chunks", at, len(tried))
        left = question.time_limit_s - (time.perf_counter() - started)
        found.append(fastest(
            wires.network, question.collective, chunks, most, timing, root=question.root,
            symmetries=kept, time_limit_s=max(left / (len(tried) - at), 1e-3),
        ))  # fmt: skip
    best = min(found, key=lambda one: one.objective)
    if best.decision is None:
        words = f"no schedule within {show_seconds(question.time_limit_s)}"
        return _none(question, Status.TIME_LIMIT, words, started)
    return _timed_answer(question, best, min(one.bound for one in found), tried, most, started)


def _timed_answer(
    question: Question,
    best: Solution[Schedule],
    bound_s: float,
    tried: list[int],
    most: int,
    started: float,
) -> FrontAnswer:
    """The fastest schedule with what is proved of its time."""
    assert best.decision is not None
    load, schedule = load_of(question), _recounted(best.decision, question.machine)
    row = Row(
        schedule=schedule,
        lower_bound=max(schedule.steps, math.ceil(load * schedule.chunks)),
        load_bound=load,
    )
    time_s = question.machine.start_s + best.objective
    bound_s = question.machine.start_s + min(bound_s, best.objective)
    proved = bound_s >= time_s * (1.0 - 1e-6)
    chunks = f"{tried[0]}" if len(tried) == 1 else f"{tried[0]} to {tried[-1]}"
    tries = f"tried: C = {chunks}, in at most {most} steps"
    ended = not proved and time.perf_counter() - started >= question.time_limit_s * _ENDED
    if ended:
        tries += "; the time limit ended the search"
    front = Front(
        collective=question.collective, rows=(row,), least_steps=steps_needed(question)[0],
        limit=load, complete=proved, ends=tries, seconds=time.perf_counter() - started,
        out_of_time=ended,
    )  # fmt: skip
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    return FrontAnswer(
        question=question, status=status.value, front=front, timed_s=(time_s, bound_s)
    )


def timing_of(wires: Wires, size_bytes: float) -> Timing:
    """What the links of a machine take for a buffer of L bytes."""
    return Timing(
        latency_s=tuple(wires.latency_s.tolist()),
        lane_s_per_byte=tuple((1.0 / wires.bytes_per_s).tolist()),
        size_bytes=size_bytes,
        port_s_per_byte=tuple((1.0 / wires.port_bytes_per_s).tolist()),
    )


def _recounted(schedule: Schedule, machine: Machine) -> Schedule:
    """A schedule with its rounds in the lanes of the machine."""
    return replace(schedule, rounds=rounds_of(machine.network, schedule.sends, schedule.steps))


def _check_allreduce(chunks: int, steps: int, nodes: int) -> None:
    """Refuses what no reduce-scatter followed by an allgather has."""
    problems = []
    if chunks % nodes:
        near = max(1, round(chunks / nodes)) * nodes
        problems.append(
            f"chunks: {chunks} of an all-reduce must be a multiple of its {nodes} members; "
            f"nearest: {near}"
        )
    if steps % 2:
        problems.append(
            f"steps: {steps} of an all-reduce must be even, half of them for its reduce-scatter; "
            f"nearest: {steps + 1}"
        )
    if problems:
        raise InputError("\n".join(problems))


def _found(question: Question, chunks: int, steps: int) -> Solution[Schedule]:
    machine = question.machine
    return synthesize(
        machine.network, question.collective, chunks, steps, root=question.root,
        symmetries=machine.symmetries, time_limit_s=question.time_limit_s,
    )  # fmt: skip


def _composed(question: Question, chunks: int, steps: int) -> Solution[Schedule]:
    """An all-reduce of two halves."""
    machine, nodes = question.machine, question.machine.network.nodes
    halves = [
        synthesize(
            machine.network, name, chunks // nodes, steps // 2,
            symmetries=machine.symmetries, time_limit_s=question.time_limit_s / 2,
        )
        for name in ("reduce-scatter", "allgather")
    ]  # fmt: skip
    seconds = sum(half.seconds for half in halves)
    first, second = (half.decision for half in halves)
    if first is None or second is None:
        return Solution(
            decision=None, objective=math.inf, bound=0.0, status=Status.TIME_LIMIT, seconds=seconds
        )
    whole = in_turn(first, second, members=nodes)
    return Solution(
        decision=whole, objective=float(whole.total_rounds), bound=float(steps),
        status=Status.FEASIBLE, seconds=seconds,
    )  # fmt: skip


def _none(question: Question, status: Status, words: str, started: float) -> FrontAnswer:
    front = Front(
        collective=question.collective, rows=(), least_steps=steps_needed(question)[0],
        limit=Fraction(0), complete=status is Status.INFEASIBLE, ends=words,
        seconds=time.perf_counter() - started,
    )  # fmt: skip
    return FrontAnswer(question=question, status=status.value, front=front)


def load_of(
    question: Question, steps: int | None = None, *, time_limit_s: float = 60.0
) -> Fraction:
    """A lower bound of R / C with S steps, or however many; of an all-reduce by its sends."""
    network = question.machine.network
    if question.collective == "allreduce":
        if steps is None:
            return allreduce_load(network, (network.nodes,))
        among = Members(network=network, groups=None)
        return load_of_steps(among, steps, time_limit_s=time_limit_s)
    goal = goal_of(question.collective, network.nodes, 1, root=question.root)
    group = group_of(question, time_limit_s=time_limit_s)
    return load_bound(network, goal, steps, group=group, time_limit_s=time_limit_s).load


def group_of(question: Question, *, time_limit_s: float = math.inf) -> tuple[tuple[int, ...], ...]:
    """Symmetries of network and goal that keep no node in place."""
    machine = question.machine
    name = "allgather" if question.collective == "allreduce" else question.collective
    goal = goal_of(name, machine.network.nodes, 1, root=question.root)
    return tuple(
        free_subgroup(machine.network, goal, machine.symmetries, time_limit_s=time_limit_s)
    )


def steps_needed(question: Question) -> tuple[int, tuple[int, int]]:
    """S_min, of an all-reduce that of one half, and two nodes that are so far apart."""
    network = question.machine.network
    name = "allgather" if question.collective == "allreduce" else question.collective
    goal = goal_of(name, network.nodes, 1, root=question.root)
    steps = least_steps(network, goal)
    away = distances(network)
    pairs = (
        (u, v)
        for starts, ends in zip(goal.initial, goal.final, strict=True)
        for u in sorted(starts)
        for v in sorted(ends)
    )
    return steps, next(pair for pair in pairs if away[pair] == steps)


def too_few(question: Question, least: int, steps: int) -> str:
    """Why there is no schedule in so few steps."""
    _, (u, v) = steps_needed(question)
    names = question.machine.names
    twice = " in each half" if question.collective == "allreduce" else ""
    return (
        f"no schedule has fewer than {least} steps{twice} (asked: {steps}): the diameter, from "
        f"{names[u]} to {names[v]}, is {least} links"
    )

"""The question of `planner collective bounds`: what no schedule goes below."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from planner.base.progress import NotedProgress
from planner.base.units import show_seconds
from planner.collectives.machines.machine import Machine
from planner.collectives.machines.machines import maps_onto_itself
from planner.collectives.questions.answers import BoundsAnswer, StepBound
from planner.collectives.questions.fronts import group_of, load_of, steps_needed
from planner.collectives.questions.question import Question
from solvers.collectives.cuts import Cut, cut_bound
from solvers.collectives.flows import load_bound
from solvers.collectives.problem import goal_of

MORE_STEPS = 3
"""Steps beyond the fewest that are looked at unless more are asked for."""


def bounds_of(question: Question, on_progress: NotedProgress | None = None) -> BoundsAnswer:
    """Fewest steps, the worst cut, and the least R / C for each number of steps.

    Args:
        question: Its `steps` are the most that are looked at.
        on_progress: Called with (what, done, of).
    """
    started = time.perf_counter()
    least, farthest = steps_needed(question)
    if question.collective == "allreduce":
        return BoundsAnswer(
            question=question, least_steps=least, farthest=farthest, cut=None,
            limit=load_of(question), limit_exact=False, by_steps=(), why=_COUNTED,
            seconds=time.perf_counter() - started,
        )  # fmt: skip
    network = question.machine.network
    goal = goal_of(question.collective, network.nodes, 1, root=question.root)
    group = group_of(question)
    cut = cut_bound(network, goal, group=group)
    limit = load_bound(network, goal, group=group, time_limit_s=question.time_limit_s / 4)
    last = question.steps or least + MORE_STEPS
    found: list[StepBound] = []
    why = f"more than {last} steps were not looked at"
    for steps in range(least, last + 1):
        if on_progress is not None:
            on_progress("steps", steps - least, last + 1 - least)
        if time.perf_counter() - started > question.time_limit_s:
            why = f"the time limit of {show_seconds(question.time_limit_s)} ended it"
            break
        left = question.time_limit_s - (time.perf_counter() - started)
        bound = load_bound(network, goal, steps, group=group, time_limit_s=max(left, 0.0))
        by = "cut" if isinstance(bound.certificate, Cut) else "linear program"
        found.append(StepBound(steps=steps, load=bound.load, exact=bound.exact, by=by))
        if bound.load <= limit.load:
            why = f"more than {steps} steps gain nothing: the limit is reached"
            break
    if question.steps is not None and question.steps < least:
        why = f"no schedule has fewer than {least} steps"
    return BoundsAnswer(
        question=question, least_steps=least, farthest=farthest, cut=cut, limit=limit.load,
        limit_exact=limit.exact, by_steps=tuple(found), why=why,
        seconds=time.perf_counter() - started,
    )  # fmt: skip


_FINENESS = 1000
"""Lanes of the slowest link where bandwidths are made whole; those of others are rounded up."""
_EXACT = 1e-9


def least_time(question: Question) -> tuple[int, float]:
    """S_min, and seconds per byte of L beside latencies: no schedule with barriers takes less.

    Unlike R / C in rounds, it holds for links of any bandwidth: nothing is rounded down.
    """
    fine, lane_bytes_per_s = _finely(question.machine)
    asked = replace(question, machine=fine)
    return steps_needed(asked)[0], float(load_of(asked)) / lane_bytes_per_s


def _finely(machine: Machine) -> tuple[Machine, float]:
    """A machine with at least the bandwidth of another in small lanes, and what they carry."""
    wires = machine.wires
    rates: list[float] = wires.bytes_per_s.tolist()
    ports: list[float] = wires.port_bytes_per_s.tolist()
    lane = min((*rates, *ports)) / _FINENESS

    def units(capacity: int, rate: float) -> int:
        return math.ceil(capacity * rate / lane * (1.0 - _EXACT))

    network = replace(
        wires.network,
        lanes=tuple(map(units, wires.network.lanes, rates)),
        shared=tuple(
            replace(port, capacity=units(port.capacity, rate))
            for port, rate in zip(wires.network.shared, ports, strict=True)
        ),
    )
    kept = tuple(p for p in machine.symmetries if maps_onto_itself(p, network))
    fine = replace(machine, network=network, latency_s=wires.latency_s, symmetries=kept)
    return fine, lane


_COUNTED = (
    "every chunk takes at least 2 (n - 1) sends among n members: n - 1 until some member has the "
    "sum, and n - 1 more until all have it"
)

"""The fastest schedule where links differ: the sum of step times for one buffer size.

A step lasts as long as its slowest link:

    T_s >= alpha_e used[e, s] + ceil(n[e, s] / lanes_e) (L / C) beta_e,    min sum of T_s

with n[e, s] the chunks that cross link e in step s. The n[p, s] chunks through shared capacity p
take ceil(n[p, s] / capacity_p) (L / C) beta_p beside the latency of each of its links in use. With
equal alpha and beta this is S alpha + (R / C) L beta. Steps without sends take no time and are left
out, so S is only the most that there can be.

CP-SAT counts time in whole ticks, and every duration is rounded down once, so that its bound holds
for the true times; the schedule found is then timed exactly.

Source of the homogeneous model: Cai et al., Synthesizing Optimal Collective Algorithms, PPoPP
2021, doi:10.1145/3437801.3441620.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from solvers.clock import OutOfTime, deadline_of, keep_time, left_s
from solvers.collectives.greedy import rounds_of
from solvers.collectives.model import (
    Model,
    Part,
    Permutation,
    Symmetry,
    parts_of,
    sends_of,
    size_of,
    symmetry_of,
    unrolled,
)
from solvers.collectives.problem import Network
from solvers.collectives.schedule import Schedule, Send
from solvers.collectives.searching import MOST_CROSSINGS
from solvers.collectives.synthesis import (
    Question,
    as_asked,
    fewest_rounds,
    question,
)
from solvers.collectives.timed_bounds import least_seconds
from solvers.cpsat_solver import new_solver, run_search
from solvers.solution import Solution, Status

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

TICKS = 10_000_000
"""Ticks of the longest duration of one chunk or latency."""
TOLERANCE = 1e-6
"""A schedule within this part of the bound is called optimal: ticks are that coarse."""
_SHARE = 0.4
"""Of the time that is left, what each search but the last may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds that links take.

    Attributes:
        latency_s: Per link, alpha: seconds of a message beside its bytes.
        lane_s_per_byte: Per link, beta: seconds per byte of one of its lanes.
        size_bytes: L, the buffer of the collective (see `problem.goal_of`).
        port_s_per_byte: Per shared capacity, beta of one unit of it; empty: that of the fastest of
            its links.
    """

    latency_s: tuple[float, ...]
    lane_s_per_byte: tuple[float, ...]
    size_bytes: float
    port_s_per_byte: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.latency_s) != len(self.lane_s_per_byte):
            raise ValueError("every link needs a latency and a time per byte")
        seconds = (*self.latency_s, *self.lane_s_per_byte, *self.port_s_per_byte)
        if min((*seconds, self.size_bytes)) < 0:
            raise ValueError("times and sizes are not negative")

    def of_ports(self, network: Network) -> tuple[float, ...]:
        """Seconds per byte of each shared capacity of a network."""
        return self.port_s_per_byte or tuple(
            min(self.lane_s_per_byte[link] for link in port.links) for port in network.shared
        )


def step_times_s(schedule: Schedule, network: Network, timing: Timing) -> tuple[float, ...]:
    """Seconds of each step by the formula above.

    Args:
        schedule: On links of the network.
        network: Lanes and shared capacities.
        timing: Of the network's links, and the buffer size.
    """
    chunk_bytes = timing.size_bytes / schedule.chunks
    link_at = {ends: link for link, ends in enumerate(network.links)}
    carried: dict[tuple[int, int], int] = defaultdict(int)
    for send in schedule.sends:
        carried[link_at[send.source, send.target], send.step] += 1
    times = [0.0] * schedule.steps
    for (link, step), count in carried.items():
        chunks_s = _ceil(count, network.lanes[link]) * chunk_bytes * timing.lane_s_per_byte[link]
        times[step] = max(times[step], timing.latency_s[link] + chunks_s)
    for port, beta in zip(network.shared, timing.of_ports(network), strict=True):
        for step in range(schedule.steps):
            used = [link for link in port.links if carried.get((link, step))]
            count = sum(carried[link, step] for link in used)
            if count:
                chunks_s = _ceil(count, port.capacity) * chunk_bytes * beta
                alpha = max(timing.latency_s[link] for link in used)
                times[step] = max(times[step], alpha + chunks_s)
    return tuple(times)


def _ceil(count: int, capacity: int) -> int:
    return -(-count // capacity)


def fastest(
    network: Network,
    collective: str,
    chunks: int,
    steps: int,
    timing: Timing,
    *,
    root: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
    symmetries: Sequence[Permutation] = (),
    time_limit_s: float = 60.0,
    seed: int = 0,
) -> Solution[Schedule]:
    """The schedule of C chunks in at most S steps that takes the least time at one buffer size.

    Args:
        network, collective, root, groups, symmetries: See `synthesis.question`.
        chunks: C.
        steps: The most steps.
        timing: What links take, and the buffer size.
        time_limit_s: When the search ends without a proof.
        seed: Of CP-SAT, which runs with one worker.

    Returns:
        Objective and bound in seconds, for this C and at most so many steps. OPTIMAL: within
        `TOLERANCE` of what CP-SAT proved for all of them. INFEASIBLE: too few steps.

    Raises:
        ValueError: Times that do not fit the links, or what `question` refuses.
    """
    started, deadline = time.perf_counter(), deadline_of(time_limit_s)
    if len(timing.latency_s) != len(network.links):
        raise ValueError(f"{len(timing.latency_s)} latencies for {len(network.links)} links")
    asked = question(
        network, collective, root=root, groups=groups, symmetries=symmetries,
        time_limit_s=time_limit_s * _SHARE,
    )  # fmt: skip
    first = fewest_rounds(asked, chunks, steps, time_limit_s=left_s(deadline) * _SHARE, seed=seed)
    if first.decision is None:
        return first
    search = _Search(
        asked=asked,
        parts=parts_of(asked.copied(chunks)),
        chunks=chunks,
        steps=steps,
        timing=timing,
        deadline=deadline,
        seed=seed,
        best=_packed(first.decision),
        best_s=sum(step_times_s(first.decision, network, timing)),
        bound_s=least_seconds(
            asked.forward, asked.copied(1), timing.latency_s, timing.lane_s_per_byte,
            timing.size_bytes, chunks, timing.of_ports(network),
        ),
    )  # fmt: skip
    search.run()
    proved = search.bound_s >= search.best_s * (1 - TOLERANCE)
    return Solution(
        decision=search.best,
        objective=search.best_s,
        bound=search.best_s if proved else search.bound_s,
        status=Status.OPTIMAL if proved else Status.FEASIBLE,
        seconds=time.perf_counter() - started,
        counts=search.counts,
    )


def _packed(schedule: Schedule) -> Schedule:
    """The schedule without its empty steps."""
    used = sorted({send.step for send in schedule.sends})
    number = {step: at for at, step in enumerate(used)}
    return replace(
        schedule,
        rounds=tuple(schedule.rounds[step] for step in used),
        sends=tuple(send._replace(step=number[send.step]) for send in schedule.sends),
    )


@dataclass(slots=True, kw_only=True)
class _Search:
    """The searches of one C, the fastest schedule so far, and what is proved.

    Attributes:
        asked: The question.
        parts: Of the goal that copies.
        chunks, steps: C and the most steps.
        timing: Of links.
        deadline: On the clock of `time.perf_counter`.
        seed: Of CP-SAT.
        best, best_s: The fastest schedule and its seconds.
        bound_s: No schedule takes less.
        counts: Searches run, by kind.
    """

    asked: Question
    parts: tuple[Part, ...]
    chunks: int
    steps: int
    timing: Timing
    deadline: float
    seed: int
    best: Schedule
    best_s: float
    bound_s: float
    counts: dict[str, int] = field(default_factory=dict)

    def run(self) -> None:
        """Under the symmetries that keep times too, then without any."""
        forward = self.asked.forward
        group = _timed_group(self.asked, self.timing)
        if len(group) > 1:
            self._search("under symmetry", symmetry_of(forward, self.parts, group), _SHARE)
        self._search("free", symmetry_of(forward, self.parts), 1.0)

    def _search(self, kind: str, symmetry: Symmetry, share: float) -> None:
        """One search by CP-SAT; keeps a faster schedule, and the bound if it holds for all."""
        from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy)

        until = deadline_of(left_s(self.deadline) * share)
        problem = (self.asked.forward, self.parts, symmetry, self.steps, self.asked.hops)
        if not left_s(until) or size_of(*problem) > MOST_CROSSINGS:
            return
        self.counts[kind] = 1
        try:
            made = unrolled(*problem, deadline=until)
            tick_s = self._add_times(made, symmetry)
            keep_time(until)
        except OutOfTime:
            return
        solver = new_solver()
        solver.parameters.max_time_in_seconds = left_s(until)
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = self.seed
        status = run_search(solver, made.model)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            crossings = [c for c, x in made.crossings.items() if solver.boolean_value(x)]
            self._keep(sends_of(self.asked.forward, self.parts, symmetry, crossings))
        if kind == "free" and status != cp_model.INFEASIBLE:
            self.bound_s = max(self.bound_s, solver.best_objective_bound * tick_s)

    def _keep(self, sends: Sequence[Send]) -> None:
        """Take a schedule if it is faster, without its empty steps."""
        rounds = rounds_of(self.asked.forward, sends, self.steps)
        schedule = _packed(as_asked(self.asked, self.chunks, sends, rounds))
        seconds = sum(step_times_s(schedule, self.asked.network, self.timing))
        if seconds < self.best_s:
            self.best, self.best_s = schedule, seconds

    def _add_times(self, made: Model, symmetry: Symmetry) -> float:
        """T_s and the objective; returns the seconds of a tick."""
        timing, model = self.timing, made.model
        chunk_bytes = timing.size_bytes / self.chunks
        moved_s = [chunk_bytes * beta for beta in timing.lane_s_per_byte]
        tick_s = max((*timing.latency_s, *moved_s, 1e-15)) / TICKS
        alpha, unit = ([int(s / tick_s) for s in of] for of in (timing.latency_s, moved_s))
        most = int(self.best_s / tick_s) + 1
        lasts = [model.new_int_var(0, most, f"T{step}") for step in range(self.steps)]
        used = {}
        for (link, step), variables in made.on_link.items():
            counted = [(1, variable) for variable in variables]
            lanes = self.asked.forward.lanes[link]
            used[link, step], batches = _batches(model, counted, lanes)
            model.add(lasts[step] >= alpha[link] * used[link, step] + unit[link] * batches)
        ports = [chunk_bytes * beta / tick_s for beta in timing.of_ports(self.asked.network)]
        port_unit = int(min(ports, default=0.0))  # of the fastest, so that bounds hold
        for (row, step), counted in made.on_port.items():
            links, capacity = symmetry.port_rows[row]
            _, batches = _batches(model, counted, capacity)
            moved = port_unit * batches
            for leader in sorted({symmetry.link_orbit[link] for link in links}):
                if (leader, step) in used:
                    model.add(lasts[step] >= alpha[leader] * used[leader, step] + moved)
        model.add_linear_constraint(sum(lasts), 0, most)
        model.minimize(sum(lasts))
        return tick_s


def _batches(
    model: cp_model.CpModel, counted: Sequence[tuple[int, cp_model.IntVar]], capacity: int
) -> tuple[cp_model.IntVar, cp_model.IntVar]:
    """Whether anything is sent, and how often a capacity must be filled to send it all."""
    used = model.new_bool_var("")
    for _, variable in counted:
        model.add_implication(variable, used)
    most = -(-sum(count for count, _ in counted) // capacity)
    if most <= 1:
        return used, used
    batches = model.new_int_var(0, most, "")
    model.add(sum(count * variable for count, variable in counted) <= capacity * batches)
    model.add(batches >= used)
    return used, batches


def _timed_group(asked: Question, timing: Timing) -> tuple[Permutation, ...]:
    """The elements of the group that map every link on one with the same times."""
    times = dict(
        zip(
            asked.forward.links,
            zip(timing.latency_s, timing.lane_s_per_byte, strict=True),
            strict=True,
        )
    )
    return tuple(
        h for h in asked.group if all(times[h[u], h[v]] == of for (u, v), of in times.items())
    )

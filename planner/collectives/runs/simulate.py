"""Runs a schedule on a machine, event by event, and says when each send starts and arrives.

A link with b cables carries b chunks at once (`planner.collectives.machines.machine.Wires`); a
chunk occupies its cable for L / C times beta_e of the link, one unit of every port and trunk on
its way for L / C times their own beta, and arrives alpha_e of the link after the slowest of these.
Two modes:

    synchronous   a step begins when all sends of the one before have arrived ("k-synchronous")
    dependent     a send begins when its chunk has arrived (of a sum: all that is added to it) and
                  its lane is free, as run-times do that keep no barriers. Each link keeps the order
                  of the schedule: without that, a send that could wait may delay one that cannot,
                  and the whole may end later than with barriers

On links that are all alike the synchronous mode takes start + S alpha + (R / C) L beta; on others
the sum over steps of the largest alpha_e + turns_e (L / C) beta_e (`synchronous_s`). The formula is
no upper bound of the dependent mode.

Source of the model: Cai et al., Synthesizing Optimal Collective Algorithms, PPoPP 2021,
doi:10.1145/3437801.3441620, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.collectives.machines.machine import Machine
from planner.collectives.runs.program import Program, program_of
from solvers.collectives.schedule import Schedule

MODES = ("synchronous", "dependent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """One run.

    Attributes:
        program: What was run.
        mode: One of `MODES`.
        size_bytes: L.
        hop_busy_s: (hops,) seconds that each occupies its cable.
        hop_start_s, hop_arrive_s: (hops,) of the program, from the call on.
        step_end_s: (S,) when the last send of each step has arrived.
        link_busy_s: (links,) seconds of all cables of a link together.
        finish_s: When all is done, the start cost included.
    """

    program: Program
    mode: str
    size_bytes: float
    hop_busy_s: FloatArray
    hop_start_s: FloatArray
    hop_arrive_s: FloatArray
    step_end_s: FloatArray
    link_busy_s: FloatArray
    finish_s: float

    @property
    def send_start_s(self) -> FloatArray:
        """(sends,) when each send of the schedule begins."""
        starts = np.full(len(self.program.schedule.sends), math.inf)
        np.minimum.at(starts, self._sends, self.hop_start_s)
        return starts

    @property
    def send_end_s(self) -> FloatArray:
        """(sends,) when each send of the schedule has arrived."""
        ends = np.zeros(len(self.program.schedule.sends))
        np.maximum.at(ends, self._sends, self.hop_arrive_s)
        return ends

    @property
    def link_use(self) -> FloatArray:
        """(links,) share of the run during which cables are busy."""
        lanes = np.array(self.program.wires.network.lanes, dtype=np.float64)
        used: FloatArray = self.link_busy_s / lanes / self.finish_s
        return used

    @property
    def busiest_use(self) -> float:
        """The share of the run during which the fullest link, port or trunk is busy."""
        wires = self.program.wires
        moved = self.link_busy_s * wires.bytes_per_s
        shared = [
            float(moved[list(port.links)].sum()) / rate / port.capacity / self.finish_s
            for port, rate in zip(
                wires.network.shared, wires.port_bytes_per_s.tolist(), strict=True
            )
        ]
        busiest: float = max([float(self.link_use.max()), *shared])
        return busiest

    @property
    def _sends(self) -> IntArray:
        return np.array(self.program.send, dtype=np.int64)


def simulate(
    schedule: Schedule,
    machine: Machine,
    size_bytes: float,
    *,
    mode: str = "synchronous",
    reroute: bool = False,
) -> Simulation:
    """Runs a schedule once.

    Args:
        schedule: A valid one.
        machine: Links with their lanes, bandwidth and latency.
        size_bytes: L, the buffer that the collective is defined on
            (`solvers.collectives.problem.goal_of`).
        mode: One of `MODES`.
        reroute: Sends over links that the machine lacks take a shortest way round.

    Raises:
        InputError: The mode is unknown, the size no positive number, or a send names what the
            machine does not have.
    """
    return run(program_of(schedule, machine, reroute=reroute), size_bytes, mode=mode)


def run(program: Program, size_bytes: float, *, mode: str = "synchronous") -> Simulation:
    """Runs a prepared schedule once; see `simulate`."""
    if mode not in MODES:
        raise InputError(f"mode: {not_one_of(mode, MODES)}")
    check_size(size_bytes)
    schedule, wires = program.schedule, program.wires
    chunk_bytes = size_bytes / schedule.chunks
    starts, arrivals, ends = _timed(program, chunk_bytes, barriers=mode == "synchronous")
    link_s = chunk_bytes / wires.bytes_per_s
    counts = np.bincount(program.link, minlength=len(wires.network.links))
    return Simulation(
        program=program, mode=mode, size_bytes=size_bytes,
        hop_busy_s=link_s[list(program.link)],
        hop_start_s=np.array(starts), hop_arrive_s=np.array(arrivals), step_end_s=np.array(ends),
        link_busy_s=link_s * counts.astype(np.float64),
        finish_s=max(ends, default=program.machine.start_s),
    )  # fmt: skip


def check_size(size_bytes: float) -> None:
    """Refuses what is no size.

    Raises:
        InputError: It is not a finite number above zero.
    """
    if not (math.isfinite(size_bytes) and size_bytes > 0):
        raise InputError(f"size: {size_bytes:g} bytes; it must be a finite number above 0")


def times_s(program: Program, sizes_bytes: FloatArray, *, mode: str = "synchronous") -> FloatArray:
    """(sizes,) seconds at each size: by `synchronous_s` where it holds, else run by run."""
    wires = program.wires
    plain = not program.detours and (wires.alike or not wires.network.shared)
    if mode == "synchronous" and plain:
        return synchronous_s(program, sizes_bytes)
    return np.array([run(program, size, mode=mode).finish_s for size in sizes_bytes.tolist()])


def synchronous_s(program: Program, sizes_bytes: FloatArray) -> FloatArray:
    """(sizes,) what the synchronous mode takes: start + sum_s max_e (alpha_e + n_e (L/C) beta_e).

    n_e are the turns of link e in step s: its chunks over its cables, rounded up, or more where a
    port holds them up. Where ports differ from links in their bandwidth, it is a lower bound.

    Args:
        program: One without detours, whose steps are no plain row of turns.
        sizes_bytes: (sizes,) L.
    """
    for size in sizes_bytes.tolist():
        check_size(size)
    schedule, wires = program.schedule, program.wires
    chunk_s = sizes_bytes / schedule.chunks / wires.bytes_per_s[:, None]
    last = np.zeros((schedule.steps, len(wires.bytes_per_s)))
    at = (np.array(program.step, dtype=np.int64), np.array(program.link, dtype=np.int64))
    np.maximum.at(last, at, np.array(program.turn, dtype=np.float64) + 1)
    total = np.full(sizes_bytes.shape, program.machine.start_s)
    for turns in last:
        used = np.flatnonzero(turns)
        if len(used):
            each = wires.latency_s[used, None] + turns[used, None] * chunk_s[used]
            total = total + each.max(axis=0)
    return total


def formula_s(schedule: Schedule, machine: Machine, sizes_bytes: FloatArray) -> FloatArray:
    """(sizes,) start + S alpha + (R / C) L beta, with the largest alpha of the links.

    It is what `synchronous_s` gives on links that are all alike.
    """
    alpha_s = float(np.max(machine.latency_s, initial=0.0))
    lasting = float(schedule.load) * sizes_bytes / machine.lane_bytes_per_s
    return machine.start_s + schedule.steps * alpha_s + lasting


def _timed(
    program: Program, chunk_bytes: float, *, barriers: bool
) -> tuple[list[float], list[float], list[float]]:
    """Start and arrival of every hop, and the end of every step."""
    count = len(program.link)
    starts, arrivals = [0.0] * count, [0.0] * count
    bounds = np.searchsorted(program.step, range(program.schedule.steps + 1)).tolist()
    if not barriers:
        events = _Events(program, chunk_bytes, starts, arrivals)
        events.run(range(count), program.machine.start_s, program.before)
    ends, now = [], program.machine.start_s
    none: tuple[tuple[int, ...], ...] = ((),) * count
    for first, last in pairwise(bounds):
        if barriers and last > first:
            events = _Events(program, chunk_bytes, starts, arrivals)
            events.run(range(first, last), now, none)
        now = max(arrivals[first:last], default=now)
        ends.append(now)
    return starts, arrivals, ends


_FREE, _FREE_PORT, _ARRIVED = 0, 1, 2


class _Events:
    """What happens to some hops, in order of time.

    Hops are numbered in the order in which they go where several may; every link keeps it.
    """

    def __init__(
        self, program: Program, chunk_bytes: float, starts: list[float], arrivals: list[float]
    ) -> None:
        wires = program.wires
        network = wires.network
        self.program = program
        self.starts, self.arrivals = starts, arrivals
        self.latency_s = wires.latency_s.tolist()
        self.link_s: list[float] = (chunk_bytes / wires.bytes_per_s).tolist()
        port_s = (chunk_bytes / wires.port_bytes_per_s).tolist()
        self.lanes = list(network.lanes)
        self.room = [port.capacity for port in network.shared]
        self.ports: list[list[int]] = [[] for _ in network.links]
        for number, port in enumerate(network.shared):
            for link in port.links:
                self.ports[link].append(number)
        self.port_s = [[port_s[port] for port in ports] for ports in self.ports]
        self.blocked: list[set[int]] = [set() for _ in network.shared]
        self.queues: dict[int, list[int]] = {}
        self.missing: dict[int, int] = {}
        self.followers: dict[int, list[int]] = {}
        self.heap: list[tuple[float, int, int, int]] = []

    def run(self, hops: range, now: float, before: Sequence[tuple[int, ...]]) -> None:
        """Carries out hops from a moment on; each waits for others among them."""
        for hop in reversed(hops):
            self.queues.setdefault(self.program.link[hop], []).append(hop)
        for hop in hops:
            relayed = self.program.relayed[hop]
            needs = before[hop] if relayed < 0 else (*before[hop], relayed)
            self.missing[hop] = len(needs)
            for other in needs:
                self.followers.setdefault(other, []).append(hop)
        touched = set(self.queues)
        while True:
            self._begin(touched, now)
            if not self.heap:
                return
            now = self.heap[0][0]
            touched = self._happened(now)

    def _happened(self, now: float) -> set[int]:
        """Takes note of everything at a moment; the links where something may now begin."""
        touched: set[int] = set()
        while self.heap and self.heap[0][0] == now:
            _, kind, hop, place = heappop(self.heap)
            link = self.program.link[hop]
            if kind == _FREE:
                self.lanes[link] += 1
                touched.add(link)
            elif kind == _FREE_PORT:
                port = self.ports[link][place]
                self.room[port] += 1
                touched |= self.blocked[port]
                self.blocked[port].clear()
            else:
                for follower in self.followers.get(hop, ()):
                    self.missing[follower] -= 1
                    touched.add(self.program.link[follower])
        return touched

    def _begin(self, touched: set[int], now: float) -> None:
        """Begins what can begin on some links, first hops first."""
        heads = [self.queues[link][-1] for link in touched if self.queues.get(link)]
        heapify(heads)
        while heads:
            hop = heappop(heads)
            link = self.program.link[hop]
            if self.missing[hop] or not self.lanes[link]:
                continue
            full = next((port for port in self.ports[link] if not self.room[port]), None)
            if full is not None:
                self.blocked[full].add(link)
                continue
            self.lanes[link] -= 1
            for port in self.ports[link]:
                self.room[port] -= 1
            queue = self.queues[link]
            queue.pop()
            if queue:
                heappush(heads, queue[-1])
            free = now + self.link_s[link]
            heappush(self.heap, (free, _FREE, hop, 0))
            for place, busy_s in enumerate(self.port_s[link]):
                heappush(self.heap, (now + busy_s, _FREE_PORT, hop, place))
                free = max(free, now + busy_s)
            self.starts[hop], self.arrivals[hop] = now, free + self.latency_s[link]
            heappush(self.heap, (self.arrivals[hop], _ARRIVED, hop, 0))

"""Long runs with failures, event by event, of jobs that recover from peers or that shrink.

Each is one job; nothing here uses the closed forms of `cost.goodput`. What such a job does next
depends on copies and nodes that are away, so that runs are played one by one, not side by side as
in `simulation`.
"""

from __future__ import annotations

import heapq
import math
import random

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PeersRun:
    """A job with copies in the memory of peers; seconds, as of `cost.goodput.peers`.

    Attributes:
        mtbf_s: Mean time between failures.
        covered: Chance that the state comes back from the peers.
        work_s, stall_s: Work between two copies, and for how long one stops the job.
        write_s, store_write_s: Until the peer has a copy, and the store.
        copies: Between two that the store takes.
        near_s, far_s: Downtime if the state comes back from the peers, and from the store.
        while_down: Whether failures strike during downtimes.
    """

    mtbf_s: float
    covered: float
    work_s: float
    stall_s: float
    write_s: float
    store_write_s: float
    copies: int
    near_s: float
    far_s: float
    while_down: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PeersFound:
    """Shares of the time."""

    work: float
    stalls: float
    down: float


def peers_played(run: PeersRun, failures: int, seed: int) -> PeersFound:
    """A run of so many failures."""
    draw = random.Random(seed)
    cycle = run.work_s + run.stall_s
    now, saved, in_store, pending = 0.0, 0, 0, (math.inf, 0)
    peers, down = True, 0.0
    fails = draw.expovariate(1 / run.mtbf_s)
    for _ in range(failures):
        made = saved + max(math.floor((fails - now - run.write_s) / cycle), 0)
        peers = peers or made > saved
        if pending[0] <= fails:
            in_store, pending = max(in_store, pending[1]), (math.inf, 0)
        old = saved + max(math.floor((fails - now - run.store_write_s) / cycle), 0)
        stored = old - old % run.copies
        in_store = max(in_store, stored if stored > saved else in_store)
        newest = made - made % run.copies
        if newest > max(saved, in_store):
            pending = (now + (newest - saved) * cycle + run.store_write_s, newest)
        from_peers = peers and draw.random() < run.covered
        if from_peers:
            saved = made
        else:
            saved, peers, pending = in_store, False, (math.inf, 0)
        away = run.near_s if from_peers else run.far_s
        gap = draw.expovariate(1 / run.mtbf_s)
        if run.while_down:
            down += min(gap, away)
            now, fails = fails + min(gap, away), fails + gap
        else:
            down += away
            now, fails = fails + away, fails + away + gap
    work, stalls = saved * run.work_s, saved * run.stall_s
    return PeersFound(work=work / fails, stalls=stalls / fails, down=down / fails)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkingRun:
    """A job that runs on with fewer chips; seconds, as of `cost.goodput.shrinking`.

    Attributes:
        theta_s: Chip-seconds per failure.
        chips, step_s, work_s: While 0, 1, 2, ... domains more than there are spares are away:
            chips, step time, and work between two checkpoints.
        stall_s, write_s: Of a checkpoint.
        down_s, restart_s: Downtime of a failure, and of a planned restart.
        node_share, repair_s: Chance that a failure pulls a domain, and until it is back.
        spares: Domains that wait.
        while_down: Whether failures strike during downtimes.
    """

    theta_s: float
    chips: tuple[float, ...]
    step_s: tuple[float, ...]
    work_s: tuple[float, ...]
    stall_s: float
    write_s: float
    down_s: float
    restart_s: float
    node_share: float
    repair_s: float
    spares: int = 0
    while_down: bool = True


def shrinking_played(run: ShrinkingRun, failures: int, seed: int) -> float:
    """Goodput of a run of so many failures: work at full size over wall time."""
    played = _Shrinking(run, seed)
    while played.failures < failures:
        played.go_on()
    return played.done_s / played.now


class _Shrinking:
    """The state of a job that shrinks; `back_at` has when each domain that is away is back."""

    def __init__(self, run: ShrinkingRun, seed: int) -> None:
        self.run, self.draw = run, random.Random(seed)
        self.now, self.done_s, self.failures = 0.0, 0.0, 0
        self.back_at: list[float] = []

    def go_on(self) -> None:
        """To the next failure, growth or end of a wait, and through the downtime after it."""
        run, size = self.run, self._size()
        if size == len(run.chips):
            self.now = max(self.now, heapq.heappop(self.back_at))
            return self._away(run.restart_s)
        fails = self.now + self.draw.expovariate(run.chips[size] / run.theta_s)
        grows = self._grows(size, fails)
        cycle = run.work_s[size] + run.stall_s
        if grows is not None:
            self.done_s += self._whole((grows - self.now) * run.work_s[size] / cycle, size)
            self.now = grows
            return self._away(run.restart_s)
        made = max(math.floor((fails - self.now - run.write_s) / cycle), 0)
        self.done_s += self._whole(made * run.work_s[size], size)
        self.now = fails
        self._fail()
        return self._away(run.down_s) if self._size() < len(run.chips) else None

    def _size(self) -> int:
        return max(len(self.back_at) - self.run.spares, 0)

    def _whole(self, work_s: float, size: int) -> float:
        """Work at the whole size that does as much."""
        return work_s * self.run.step_s[0] / self.run.step_s[size]

    def _grows(self, size: int, until: float) -> float | None:
        """When domains are back that change the number of chips; None: not before a failure."""
        chips, grows = self.run.chips, self.now
        while self.back_at and self.back_at[0] <= until and chips[self._size()] == chips[size]:
            grows = max(grows, heapq.heappop(self.back_at))
        return None if chips[self._size()] == chips[size] else grows

    def _fail(self) -> None:
        self.failures += 1
        if self.draw.random() < self.run.node_share:
            heapq.heappush(self.back_at, self.now + self.run.repair_s)

    def _away(self, seconds: float) -> None:
        """A downtime, again after each failure in it."""
        while self.run.while_down:
            gap = self.draw.expovariate(self.run.chips[self._size()] / self.run.theta_s)
            if gap >= seconds:
                break
            self.now += gap
            self._fail()
            if self._size() == len(self.run.chips):
                return
        self.now += seconds

"""One long run with failures, event by event, of jobs that recover from peers or shrink.

Nothing here uses the closed forms of `planner.cost.goodput`.
"""

from __future__ import annotations

import heapq
import math
import random

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WithPeers:
    """A job with copies in the memory of peers; seconds, as of `planner.cost.goodput.peers`."""

    mtbf: float
    covered: float
    work: float
    stall: float
    write: float
    store_write: float
    copies: int
    near: float
    far: float
    while_down: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Shares of the time."""

    work: float
    stalls: float
    down: float


def with_peers(job: WithPeers, failures: int, seed: int) -> Found:
    """A run of so many failures."""
    draw = random.Random(seed)
    cycle = job.work + job.stall
    now, saved, in_store, pending = 0.0, 0, 0, (math.inf, 0)
    peers, down, best, again = True, 0.0, 0, 0.0
    fails = draw.expovariate(1 / job.mtbf)
    for _ in range(failures):
        made = saved + max(math.floor((fails - now - job.write) / cycle), 0)
        peers = peers or made > saved
        if pending[0] <= fails:
            in_store, pending = max(in_store, pending[1]), (math.inf, 0)
        old = saved + max(math.floor((fails - now - job.store_write) / cycle), 0)
        stored = old - old % job.copies
        in_store = max(in_store, stored if stored > saved else in_store)
        newest = made - made % job.copies
        if newest > max(saved, in_store):
            pending = (now + (newest - saved) * cycle + job.store_write, newest)
        from_peers = peers and draw.random() < job.covered
        if from_peers:
            saved = made
        else:
            saved, peers, pending = in_store, False, (math.inf, 0)
        again = job.near if from_peers else job.far
        now = fails + again
        gap = draw.expovariate(1 / job.mtbf)
        if job.while_down:
            down += min(gap, again)
            fails = fails + gap
            now = min(now, fails) if fails < now else now
        else:
            down += again
            fails = now + gap
        best = max(best, saved)
    return Found(work=saved * job.work / fails, stalls=saved * job.stall / fails, down=down / fails)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrinks:
    """A job that runs on with fewer chips; as of `planner.cost.goodput.shrinking`."""

    theta: float
    chips: tuple[float, ...]
    steps: tuple[float, ...]
    works: tuple[float, ...]
    stall: float
    write: float
    down: float
    restart: float
    node_share: float
    repair: float
    spares: int = 0
    while_down: bool = True


def shrinks(job: Shrinks, failures: int, seed: int) -> float:
    """Goodput of a run of so many failures: work at full size over wall time."""
    draw = random.Random(seed)
    now, done, count, grown = 0.0, 0.0, 0, 0.0
    back: list[float] = []

    def size() -> int:
        return max(len(back) - job.spares, 0)

    def away(seconds: float) -> float:
        """The end of a downtime, again after each failure in it."""
        nonlocal count
        at = now
        while job.while_down and (gap := draw.expovariate(job.chips[size()] / job.theta)) < seconds:
            at, count = at + gap, count + 1
            if draw.random() < job.node_share:
                heapq.heappush(back, at + job.repair)
            if size() == len(job.chips):
                return at
        return at + seconds

    while count < failures:
        if size() == len(job.chips):
            now = max(now, heapq.heappop(back))
            now = away(job.restart)
            continue
        k = size()
        fails = now + draw.expovariate(job.chips[k] / job.theta)
        cycle = job.works[k] + job.stall
        while back and back[0] <= fails and job.chips[size()] == job.chips[k]:
            grown = heapq.heappop(back)
        if job.chips[size()] != job.chips[k]:
            grown = max(grown, now)
            done += (grown - now) * job.works[k] / cycle / job.steps[k]
            now = grown
            now = away(job.restart)
            continue
        made = max(math.floor((fails - now - job.write) / cycle), 0)
        done += made * job.works[k] / job.steps[k]
        now, count = fails, count + 1
        if draw.random() < job.node_share:
            heapq.heappush(back, now + job.repair)
        if size() < len(job.chips):
            now = away(job.down)
    return done * job.steps[0] / now

"""Tables of synthesized collectives, made for a domain of chips.

For every form of groups that tile a domain, schedules are made for all groups side by side: their
parts are the commodities of one problem, and chips of one group may pass on the parts of another.
So a table never promises one group the links that its neighbours need at the same time.

Where links are slow, schedules are made for several designs of the domain: as if these links were
well, at each share of `DESIGNS`, and failed. Each is then charged what it takes on the links as
they are: a step lasts as long as its slowest link,

    sum over steps of max over links of ceil(chunks / lanes) / share       rounds of a healthy lane

so no table promises what links cannot carry. The designs do not depend on the shares, so with one
slow link (or with several of one share) a larger share never costs more.

A search ends after a given amount of work, not of time: tables are the same on every machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np

from frozen_records import dataclass
from hardware_db import Level
from planner.base.arrays import IntArray
from planner.base.progress import Progress
from planner.network.domains import lanes_between
from planner.network.synthesized.tables import (
    MOST_POINTS,
    DomainTable,
    GroupTable,
    Members,
    Point,
    forms,
    front_of,
    side_by_side,
    wiring_of,
)
from solvers.collectives.problem import Network
from solvers.collectives.schedule import Schedule
from solvers.collectives.synthesis import Question, fewest_rounds, question
from solvers.solution import Solution, Status

DESIGNS = (Fraction(1, 2), Fraction(1, 4))
"""Shares of slow links that schedules are made for, beside all and nothing."""
WORK = 0.3
"""CP-SAT's deterministic time, near seconds, of one search; see `fewest_rounds`."""
_COLLECTIVES = ("allgather", "alltoall")
_CHUNKS = {"allgather": 6, "alltoall": 3}  # the most chunks that are tried, times the parts
_MOST_CHUNKS = 12
_LARGE = 8  # chips of a domain above which less is tried
_FEW = {"allgather": (1, 2, 3, 4), "alltoall": (1, 2)}
_ONE_BY_ONE = 2  # slow links of which every subset is tried as failed

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The chips of a domain and the links between them.

    Attributes:
        lanes: (chips, chips) lanes; none where a link has failed.
        slow: The share of its rate that each degraded link has left, the lower chip first.
    """

    lanes: IntArray
    slow: dict[Pair, Fraction]

    @property
    def chips(self) -> int:
        """Number of chips."""
        return len(self.lanes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A schedule.

    Attributes:
        schedule: Its chunks, steps, sends.
        proved: Whether no schedule of as many chunks and steps has fewer rounds on its design.
    """

    schedule: Schedule
    proved: bool


def domain_of(level: Level, chips: int) -> Domain:
    """The chips of a domain of a level."""
    lanes = lanes_between(level, chips).copy()
    slow = {}
    for u, v, share in level.degraded:
        if max(u, v) >= chips:
            continue
        if share > 0:
            slow[min(u, v), max(u, v)] = Fraction(repr(share))
        else:
            lanes[u, v] = lanes[v, u] = 0
    return Domain(lanes=lanes, slow=slow)


def designs_of(domain: Domain) -> Iterator[tuple[Network, int]]:
    """What schedules are made for, and the lanes that a lane of a healthy link makes there.

    All slow links at the same share, of `DESIGNS` (up to `_LARGE` chips), one or nothing;
    and some of them failed while the others are well: of two links each alone, of more the slowest
    ones.
    """
    yield _design(domain, {})
    if not domain.slow:
        return
    for share in DESIGNS if domain.chips <= _LARGE else ():
        yield _design(domain, dict.fromkeys(domain.slow, share))
    yield _design(domain, dict.fromkeys(domain.slow, Fraction(0)))
    by_share = sorted(domain.slow, key=lambda pair: (domain.slow[pair], pair))
    few = len(by_share) <= _ONE_BY_ONE
    failed = combinations(by_share, 1) if few else (by_share[:n] for n in range(1, len(by_share)))
    for pairs in failed:
        if len(by_share) > 1:
            yield _design(domain, dict.fromkeys(pairs, Fraction(0)))


def _design(domain: Domain, shares: dict[Pair, Fraction]) -> tuple[Network, int]:
    """The network where some links have a share of their lanes."""
    parts = math.lcm(1, *(share.denominator for share in shares.values()))
    lanes = domain.lanes * parts
    for (u, v), share in shares.items():
        lanes[u, v] = lanes[v, u] = int(lanes[u, v] * share)
    links = [(int(u), int(v)) for u, v in np.argwhere(lanes > 0)]
    network = Network(
        nodes=domain.chips, links=tuple(links), lanes=tuple(int(lanes[pair]) for pair in links)
    )
    return network, parts


def make(
    level: Level, chips: int, on_progress: Progress | None = None, work: float = WORK
) -> DomainTable | None:
    """The table of a domain, synthesized; None where failed links part its chips.

    Args:
        level: A level of direct links.
        chips: Chips of a domain that the job has.
        on_progress: Called with (what, done, of).
        work: Of one search; where it ends one, a point is not proved.
    """
    domain = domain_of(level, chips)
    designs = list(designs_of(domain))
    shapes = forms(chips)
    groups = []
    for at, members in enumerate(shapes):
        found: dict[str, list[Point]] = {name: [] for name in _COLLECTIVES}
        for count, (network, parts) in enumerate(designs):
            if on_progress is not None:
                done = at * len(designs) + count
                on_progress(
                    f"schedules for {wiring_of(level, chips)}", done, len(shapes) * len(designs)
                )
            for name, points in found.items():
                made = schedules(network, parts, name, members, work)
                points += [_point(domain, one, network, parts, len(members)) for one in made]
        if not all(found.values()):  # some chips cannot reach others
            return None
        fronts = {name: front_of(points) for name, points in found.items()}
        groups.append(
            GroupTable(members=members, gather=fronts["allgather"], exchange=fronts["alltoall"])
        )
    return DomainTable(wiring=wiring_of(level, chips), chips=chips, groups=tuple(groups))


def _point(domain: Domain, made: Made, network: Network, parts: int, members: int) -> Point:
    """A schedule as it runs on a domain; proved if its design is what the domain is."""
    rounds = rounds_on(domain, made.schedule)
    lanes = dict(zip(network.links, network.lanes, strict=True))
    share = domain.slow.get
    same = all(
        lanes.get((u, v), 0) == domain.lanes[u, v] * share((min(u, v), max(u, v)), 1) * parts
        for u, v in map(tuple, np.argwhere(domain.lanes > 0).tolist())
    )
    return Point(
        chunks=made.schedule.chunks,
        steps=made.schedule.steps,
        rounds=rounds,
        load=rounds / (made.schedule.chunks * members),
        proved=made.proved and same and rounds == parts * made.schedule.total_rounds,
    )


def rounds_on(domain: Domain, schedule: Schedule) -> Fraction:
    """Rounds of a lane of a healthy link that a schedule takes, step by step, on a domain."""
    carried = Counter((send.step, send.source, send.target) for send in schedule.sends)
    longest = [Fraction(1)] * schedule.steps
    for (step, u, v), count in carried.items():
        share = domain.slow.get((min(u, v), max(u, v)), Fraction(1))
        longest[step] = max(longest[step], -(-count // int(domain.lanes[u, v])) / share)
    return sum(longest, Fraction(0))


@lru_cache(maxsize=4096)
def schedules(
    network: Network, parts: int, name: str, members: Members, work: float
) -> tuple[Made, ...]:
    """The fewest rounds per chunk with S_min steps and a few more; empty: chips are parted.

    With S steps a number of chunks is only looked into for fewer rounds per chunk than those before
    it have, and more steps only as long as they help.

    Args:
        network: A design.
        parts: Numbers of chunks are multiples of it.
        name: The collective.
        members: Of the group of rank 0.
        work: Of one search.
    """
    try:
        asked = question(network, name, groups=side_by_side(members, network.nodes))
    except ValueError:
        return ()
    few = range(1, _CHUNKS[name] + 1) if network.nodes <= _LARGE else _FEW[name]
    counts = [count * parts for count in few if count == 1 or count * parts <= _MOST_CHUNKS]
    found: list[Made] = []
    for steps in range(asked.least_steps, asked.least_steps + MOST_POINTS):
        rows = _with_steps(asked, steps, counts, [one.schedule.load for one in found], work)
        if not rows:
            break
        found += rows
    return tuple(found)


def _with_steps(
    asked: Question, steps: int, counts: Sequence[int], before: Sequence[Fraction], work: float
) -> list[Made]:
    """Schedules of S steps, each with fewer rounds per chunk than all before it."""
    found: list[Made] = []
    best = min(before, default=None)
    for count in counts:
        most = None if best is None else math.ceil(best * count) - 1
        if most is not None and most < steps:
            continue
        answer = _fewest(asked, count, steps, most, work)
        if answer.decision is None:
            continue
        best = answer.decision.load
        found.append(Made(schedule=answer.decision, proved=answer.status is Status.OPTIMAL))
    return found


def _fewest(
    asked: Question, chunks: int, steps: int, most: int | None, work: float
) -> Solution[Schedule]:
    """The schedule with the fewest rounds, of at most so many."""
    if most is not None:
        fits = fewest_rounds(asked, chunks, steps, rounds=most, time_limit_s=math.inf, work=work)
        if fits.decision is None or fits.status is Status.OPTIMAL:
            return fits
    return fewest_rounds(asked, chunks, steps, time_limit_s=math.inf, work=work)

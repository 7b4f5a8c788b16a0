"""All-reduce: composed of schedules that are synthesized, and bounded by what it must send.

Two families: a reduce-scatter and then an allgather (2 S steps, 2 R rounds for n C chunks), and an
allgather of whole buffers that every member adds up itself (half the steps, many more rounds).

Of all sums of a reduce-scatter and an allgather those are kept that are the fastest for some
buffer size: S alpha + (R / C) L beta is a sum of two terms that are minimized apart, so a mix of
a short and a long half never beats both pure ones.

Source of the second family's name and of the first's rounds: Cai et al., Synthesizing Optimal
Collective Algorithms, PPoPP 2021, doi:10.1145/3437801.3441620.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from solvers.collectives.checking import faults
from solvers.collectives.compose import in_turn, local_reduce
from solvers.collectives.flows import load_bound
from solvers.collectives.problem import Network, goal_of
from solvers.collectives.rows import Row
from solvers.collectives.schedule import Schedule


def allreduce_load(network: Network, members: Sequence[int]) -> Fraction:
    """Rounds per buffer that every all-reduce takes, whatever C and S.

    Of any one chunk, let the sends happen one by one, in the order of the steps. Until the first
    node knows the whole sum, each other member has sent its part away: n - 1 sends. From then on,
    each other member must still receive the sum: n - 1 more. So there are 2 C (n - 1) sends per
    group, and a round carries no more than all links together can.

    The count is that of gossip with one-way calls: Harary, Schwenk, The communication problem on
    graphs and digraphs, J. Franklin Institute 297 (1974) 491-495. Among n equal members it is the
    2 (n - 1) / n of Patarasuk, Yuan, J. Parallel Distrib. Comput. 69 (2009) 117-124.

    Args:
        network: Its links carry `round_capacity` chunks a round.
        members: How many each group has.
    """
    return Fraction(2 * sum(size - 1 for size in members), round_capacity(network))


def round_capacity(network: Network) -> int:
    """Chunks that all links together carry in a round, at most.

    Shared capacities are counted instead of their links where that is less, no link twice.
    """
    left = set(range(len(network.links)))
    total = 0
    saved = sorted(
        network.shared,
        key=lambda port: port.capacity - sum(network.lanes[link] for link in port.links),
    )
    for port in saved:
        lanes = sum(network.lanes[link] for link in port.links)
        if port.capacity < lanes and left.issuperset(port.links):
            left -= set(port.links)
            total += port.capacity
    return total + sum(network.lanes[link] for link in left)


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Among whom.

    Attributes:
        network: Nodes and links.
        groups: Members of each group, of one size; None: all nodes.
    """

    network: Network
    groups: tuple[tuple[int, ...], ...] | None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Members of each group."""
        return tuple(map(len, self.groups)) if self.groups else (self.network.nodes,)


def allreduce_rows(
    among: Members, scattering: Sequence[Schedule], gathering: Sequence[Schedule], farthest: int
) -> tuple[Row, ...]:
    """All-reduces that are the fastest for some buffer size, of both families.

    Args:
        among: Network and groups.
        scattering, gathering: Reduce-scatters and allgathers.
        farthest: The longest shortest way between two members: no schedule has fewer steps.

    Raises:
        ValueError: Groups of different sizes.
    """
    sizes = among.sizes
    if len(set(sizes)) > 1:
        raise ValueError("an all-reduce needs groups of one size")
    found = [local_reduce(schedule) for schedule in gathering]
    found += [
        in_turn(first, second, members=sizes[0]) for first in scattering for second in gathering
    ]
    rows = []
    for schedule in corners(found):
        wrong = faults(schedule, among.network, groups=among.groups)
        if wrong:
            raise AssertionError(f"a composed schedule is wrong: {wrong[0].text}")
        load = load_of_steps(among, schedule.steps)
        least = max(schedule.steps, math.ceil(load * schedule.chunks), farthest)
        rows.append(Row(schedule=schedule, lower_bound=least, load_bound=load))
    return tuple(rows)


def load_of_steps(among: Members, steps: int, *, time_limit_s: float = 2.0) -> Fraction:
    """A lower bound of R / C of any all-reduce in S steps: by its sends, and as a broadcast.

    What the first member has must reach all others, whatever is added to it on the way, so an
    all-reduce takes no fewer rounds than a broadcast of the whole buffer.

    Args:
        among: Network and groups.
        steps: S, at least those of a broadcast.
        time_limit_s: Of the linear program.
    """
    network = among.network
    goal = goal_of("broadcast", network.nodes, 1, root=0, groups=among.groups)
    found = load_bound(network, goal, steps, time_limit_s=time_limit_s)
    return max(found.load, allreduce_load(network, among.sizes))


def corners(schedules: Sequence[Schedule]) -> tuple[Schedule, ...]:
    """Those with the least S + (R / C) x for some x > 0, S rising: corners of the lower hull."""
    hull: list[Schedule] = []
    for schedule in sorted(schedules, key=lambda one: (one.steps, one.load, one.chunks)):
        if hull and schedule.load >= hull[-1].load:
            continue
        while len(hull) > 1 and _above(hull[-2], hull[-1], schedule):
            hull.pop()
        hull.append(schedule)
    return tuple(hull)


def _above(first: Schedule, middle: Schedule, last: Schedule) -> bool:
    """Whether the middle one lies on or above the line between the two others."""
    falls = (first.load - middle.load) * (last.steps - first.steps)
    return falls <= (first.load - last.load) * (middle.steps - first.steps)

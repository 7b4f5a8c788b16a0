"""Broadcasts, scatters and gathers at once: pipelines along trees, scatter and then allgather.

All of these are ways of chunks in time (`ways`): the trees that Edmonds' theorem packs at the
limit by cuts, started in every step, are a pipeline; a tree that goes to one neighbour first and
from there to all others, once for each neighbour, is a scatter and then an allgather. They are
weighed together with cheap ways by a linear program, and dealt to whole chunks.

With one round a step, q packed trees of depth D carry q (S - D + 1) chunks in S steps, so R / C
comes near the limit 1 / q as S grows.

Sources: Edmonds, Edge-disjoint branchings, 1973 (trees packed at the least cut); Van de Geijn,
J. Parallel Distrib. Comput. 1994, doi:10.1006/jpdc.1994.1080 (broadcast as scatter and allgather).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from solvers.clock import OutOfTime, deadline_of, left_s
from solvers.collectives.cuts import cut_bound
from solvers.collectives.model import Part, parts_of
from solvers.collectives.packing import packed_trees
from solvers.collectives.problem import ROOTED
from solvers.collectives.schedule import Send
from solvers.collectives.ways import Way, Ways, later

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvers.collectives.synthesis import Question

MOST_CELLS = 150_000
"""Links x steps above which no ways are made."""
GROWN_STEPS = 3
"""Steps beyond the fewest for which new ways are made; with more, those known start later."""
DEAL_S = 3.0
"""Of the program that deals chunks to ways."""
_SHARE = 0.5
"""Of the time that is left, what making ways may take."""
_DEAL_SHARE = 0.15
"""And what dealing may take, of each of its two ways."""
_USED = 1e-6


def rooted_sends(
    asked: Question, parts: Sequence[Part], steps: int, least: int, deadline: float
) -> tuple[Send, ...] | None:
    """The sends of a collective with a root, with few rounds.

    Args:
        asked: The question; ways are kept with it for other numbers of chunks.
        parts: Of its goal with C chunks.
        steps: S.
        least: No schedule has fewer rounds.
        deadline: On the clock of `time.perf_counter`.

    Returns:
        The sends; None for other collectives, large networks, or when time is over.
    """
    if asked.collective not in ROOTED or len(asked.forward.links) * steps > MOST_CELLS:
        return None
    chunks = len(parts[0].chunks)
    try:
        made = ways_of(asked, steps, deadline_of(left_s(deadline) * _SHARE))
    except OutOfTime:
        return None
    dealt = made.dealt(chunks, least, min(DEAL_S, left_s(deadline) * _DEAL_SHARE))
    sends, given = [], [0] * len(parts)
    for way in dealt:
        chunk = parts[way.part].chunks[given[way.part]]
        given[way.part] += 1
        sends += [Send(step, *asked.forward.links[link], chunk) for link, step in way.sends]
    return tuple(sorted(sends))


def pipeline(asked: Question, steps: int) -> tuple[int, tuple[Send, ...]] | None:
    """A broadcast down the trees that are always good, one chunk after the other; C and sends.

    A tree of depth D carries S - D + 1 chunks. None: another collective, or no tree that fits.
    """
    parts = parts_of(asked.copied(1))
    if asked.collective not in ROOTED or len(parts) > 1:
        return None
    made = Ways(asked.forward, parts, steps)
    sends, chunk = [], 0
    for way in _over_neighbours(made) or _packed(asked, made):
        for by in range(steps - way.sends[-1][1]):
            sends += [
                Send(step + by, *asked.forward.links[link], chunk) for link, step in way.sends
            ]
            chunk += 1
    return (chunk, tuple(sorted(sends))) if chunk else None


def ways_of(asked: Question, steps: int, deadline: float) -> Ways:
    """The ways of a question in S steps, made once.

    Raises:
        OutOfTime: Before there was a way for every part.
    """
    if steps in asked.made:
        return asked.made[steps]
    made = Ways(asked.forward, parts_of(asked.copied(1)), steps)
    for way in _known(asked, made, steps, deadline):
        last = max(step for _, step in way.sends)
        for by in range(steps - last):
            made.add(later(way, by))
    made.make(deadline, grow=steps <= asked.least_steps + GROWN_STEPS)
    if math.isinf(made.load):
        raise OutOfTime
    asked.made[steps] = made
    return made


def _known(asked: Question, made: Ways, steps: int, deadline: float) -> list[Way]:
    """Ways that are good whatever S is: packed trees, and those in use with fewer steps."""
    found = []
    for before in (asked.least_steps, asked.least_steps + GROWN_STEPS):
        if before < steps and len(made.parts) == 1:
            of_fewer = ways_of(asked, before, deadline_of(left_s(deadline) * _SHARE))
            found += [
                _from_start(way)
                for way, share in zip(of_fewer.ways, of_fewer.shares, strict=True)
                if share > _USED
            ]
    always = _over_neighbours(made) or _packed(asked, made)
    found += [way for way in always if way.sends[-1][1] < steps]
    return sorted(set(found))


def _from_start(way: Way) -> Way:
    return later(way, -way.sends[0][1])


def _over_neighbours(made: Ways) -> list[Way]:
    """Where links join all nodes, each tree that goes to one of them and from there to the rest."""
    number = {ends: link for link, ends in enumerate(made.network.links)}
    if len(made.parts) > 1 or len(number) < made.network.nodes * (made.network.nodes - 1):
        return []
    root, others = made.parts[0].source, sorted(made.parts[0].destinations)
    return [
        Way(0, ((number[root, u], 0), *sorted((number[u, v], 1) for v in others if v != u)))
        for u in others
    ]


def _packed(asked: Question, made: Ways) -> list[Way]:
    """The trees of a broadcast to all nodes, packed at the limit by cuts, each so many times."""
    forward = asked.forward
    if len(made.parts) > 1 or len(made.parts[0].destinations) < forward.nodes - 1 or forward.shared:
        return []
    root = made.parts[0].source
    load = cut_bound(forward, asked.copied(1), group=asked.group).load
    ways = []
    for tree in packed_trees(forward, Fraction(load), [root]):
        depth = {root: 0}
        sends = []
        for link in tree.links:
            u, v = forward.links[link]
            depth[v] = depth[u] + 1
            sends.append((link, depth[u]))
        way = Way(0, tuple(sorted(sends, key=lambda send: (send[1], send[0]))))
        ways += [way] * tree.count
    return ways

"""All-to-all where symmetries carry every node to every other and commute: tori, rings, cubes.

In a schedule that looks the same from every node, what a step carries over a link is what all
displacements together move in its direction, wherever their chunks are. A chunk for displacement d
moves along a shortest word of directions, in any order, one a step. So two things are left:

    a shortest word for every chunk, such that no direction has more moves than need be;
    a step for every move: at most one per chunk and step, lanes r_s per direction.

The second is an edge colouring of the bipartite graph of chunks and directions, one colour a step.
It is made step by step as a flow: chunks with as many moves left as steps must move, and no
direction may be left with more than what remains of the rounds. Dividing what is left by the steps
left is a fractional solution, so a flow with rounded rounds is there but for ties of the rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from solvers.clock import left_s
from solvers.collectives.distances import IntArray
from solvers.collectives.model import Crossing, Part, Symmetry
from solvers.collectives.problem import Network

STEP_LIMIT_S = 5.0
"""Of the program of one step."""


def exchange_crossings(
    network: Network,
    parts: Sequence[Part],
    symmetry: Symmetry,
    steps: int,
    hops: Sequence[Sequence[int]],
    deadline: float = math.inf,
) -> list[Crossing] | None:
    """The sends of the leading parts of an all-to-all, along shortest words of directions.

    Args:
        network: Links and lanes.
        parts: From every node to every other.
        symmetry: Of a commuting group that carries one node to every other.
        steps: S.
        hops: (nodes, nodes) links on a shortest way.
        deadline: On the clock of `time.perf_counter`.

    Returns:
        The crossings; None where the group, the parts or the network are others, some
        destination is too far away, or the rounding found no flow.
    """
    words = _Words.of(network, parts, symmetry, hops) if left_s(deadline) else None
    if words is None or words.longest > steps:
        return None
    moves = words.chosen()
    order = _steps_of(moves, np.array(words.lanes, dtype=np.int64), steps, deadline)
    return None if order is None else words.crossings(order)


class _Words:
    """Displacements of the leading parts as words of directions.

    Attributes:
        leaders: Numbers of the parts that start at node 0.
        first: Of every direction, its link out of node 0.
        lanes: Of every direction.
        longest: Letters of the longest word.
    """

    def __init__(
        self,
        network: Network,
        parts: Sequence[Part],
        symmetry: Symmetry,
        hops: Sequence[Sequence[int]],
    ) -> None:
        self.parts, self.leaders = parts, symmetry.leaders
        self.away = hops[0]
        self.first = [link for link, (u, _) in enumerate(network.links) if u == 0]
        self.lanes = [network.lanes[link] for link in self.first]
        by_start = {h[0]: h for h in symmetry.group}
        number = {ends: link for link, ends in enumerate(network.links)}
        # Node w of direction a, seen from node u, is w carried by the element that takes 0 to u.
        heads = [network.links[link][1] for link in self.first]
        self.after = [[by_start[u][w] for w in heads] for u in range(network.nodes)]
        self.link = [[number[u, v] for v in self.after[u]] for u in range(network.nodes)]
        self.before: list[list[tuple[int, int]]] = [[] for _ in range(network.nodes)]
        for u, heads_of_u in enumerate(self.after):
            for direction, v in enumerate(heads_of_u):
                self.before[v].append((u, direction))
        self.ends = [next(iter(parts[at].destinations)) for at in self.leaders]
        self.longest = max(self.away[end] for end in self.ends)

    @classmethod
    def of(
        cls,
        network: Network,
        parts: Sequence[Part],
        symmetry: Symmetry,
        hops: Sequence[Sequence[int]],
    ) -> _Words | None:
        """The words, if the group and the parts are right."""
        group = np.array(symmetry.group, dtype=np.int64)
        single = all(len(part.destinations) == 1 for part in parts)
        rooted = all(parts[at].source == 0 for at in symmetry.leaders)
        if not single or not rooted or network.shared or len(group) != network.nodes:
            return None
        near = [int(v) for u, v in network.links if u == 0]
        steps = [h for h in group if int(h[0]) in near]
        if any((one[other] != other[one]).any() for one in steps for other in steps):
            return None
        return cls(network, parts, symmetry, hops)

    def chosen(self) -> IntArray:
        """(jobs, directions) moves of every copy of every leading part, shortest words only.

        Displacements with one word come first; each of the others takes the word whose directions
        carry the least, and chooses again once all are known.
        """
        lanes = np.array(self.lanes, dtype=np.float64)
        jobs = [
            place
            for place, at in enumerate(self.leaders)
            for _ in range(len(self.parts[at].chunks))
        ]
        moves = np.zeros((len(jobs), len(lanes)), dtype=np.int64)
        only = [self._only_word(end) for end in self.ends]
        free = [job for job, place in enumerate(jobs) if only[place] is None]
        for job, place in enumerate(jobs):
            if (word := only[place]) is not None:
                moves[job] = word
        total = moves.sum(axis=0)
        for job in free + free:
            total -= moves[job]
            moves[job] = self._word(self.ends[jobs[job]], total / lanes)
            total += moves[job]
        return moves

    def _only_word(self, end: int) -> IntArray | None:
        """The moves of the shortest words to a displacement; None: they differ.

        Under prices of which no two sums are equal, the cheapest and the dearest would differ.
        """
        prices = np.sqrt(np.arange(len(self.lanes)) + 2.0)
        low, high = self._word(end, prices), self._word(end, prices[-1] - prices)
        return low if (low == high).all() else None

    def _word(self, end: int, load: np.ndarray) -> IntArray:
        """(directions,) moves of the shortest word to a displacement with the least total load."""
        price_of = load.tolist()
        cost = {end: 0.0}
        step: dict[int, tuple[int, int]] = {}
        layer = [end]
        while layer != [0]:
            nearer = set()
            for node in layer:
                for u, direction in self.before[node]:
                    price = cost[node] + price_of[direction]
                    if self.away[u] == self.away[node] - 1 and price < cost.get(u, np.inf):
                        cost[u], step[u] = price, (node, direction)
                        nearer.add(u)
            layer = sorted(nearer)
        node, word = 0, np.zeros(len(load), dtype=np.int64)
        while node != end:
            node, direction = step[node]
            word[direction] += 1
        return word

    def crossings(self, order: IntArray) -> list[Crossing]:
        """The sends of jobs whose moves were given steps: (jobs, steps) direction or -1."""
        crossings: list[Crossing] = []
        job = 0
        for at in self.leaders:
            for copy in range(len(self.parts[at].chunks)):
                node = 0
                for step, direction in enumerate(order[job].tolist()):
                    if direction >= 0:
                        crossings.append(Crossing(at, copy, self.link[node][direction], step))
                        node = self.after[node][direction]
                job += 1
        return crossings


def _steps_of(moves: IntArray, lanes: IntArray, steps: int, deadline: float) -> IntArray | None:
    """(jobs, steps) the direction that each job moves in in each step, -1 where it waits."""
    left = moves.copy()
    order = np.full((len(moves), steps), -1, dtype=np.int64)
    rounds = max(steps, int((-(-left.sum(axis=0) // lanes)).max()))
    for step in range(steps):
        after = steps - step - 1
        chosen = None
        for now in dict.fromkeys((-(-rounds // (after + 1)), rounds // (after + 1))):
            limit_s = min(STEP_LIMIT_S, left_s(deadline))
            chosen = _one_step(left, lanes, now, rounds - now, after, limit_s)
            if chosen is not None:
                break
        if chosen is None:
            return None
        rounds -= now
        jobs, directions = chosen
        order[jobs, step] = directions
        left[jobs, directions] -= 1
    return order


def _one_step(
    left: IntArray, lanes: IntArray, now: int, later: int, after: int, limit_s: float
) -> tuple[IntArray, IntArray] | None:
    """Jobs that move in a step of `now` rounds and where to; None: there is no such step."""
    jobs, directions = np.nonzero(left)
    if not len(jobs):
        return jobs, directions
    if limit_s <= 0:
        return None
    ones, column = np.ones(len(jobs)), np.arange(len(jobs))
    by_job = coo_array((ones, (jobs, column)), shape=(len(left), len(jobs))).tocsr()
    by_way = coo_array((ones, (directions, column)), shape=(len(lanes), len(jobs))).tocsr()
    must = (left.sum(axis=1) > after).astype(np.float64)
    floor = np.maximum(left.sum(axis=0) - lanes * later, 0)
    found = milp(
        -ones,
        integrality=ones,
        bounds=Bounds(0.0, 1.0),
        constraints=[
            LinearConstraint(by_job, must, 1.0),
            LinearConstraint(by_way, floor, lanes * now),
        ],
        options={"time_limit": limit_s},
    )
    if found.x is None:
        return None
    moved = found.x > 0.5
    return jobs[moved], directions[moved]

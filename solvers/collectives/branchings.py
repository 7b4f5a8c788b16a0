"""A schedule with given rounds as trees in time, each so many times: linear and whole programs.

A tree says over which link and in which step every node receives a chunk. Schedules with rounds r_s
that are invariant under a group H are as many trees of each leading part as it has chunks, within

    trees over link e or an image of it in step s  <=  lanes_e r_s, likewise on shared capacities.

As fractions of chunks, the most chunks that fit are a linear program over all trees. Those are made
that are cheap at its prices (column generation), down to the cheapest there is, found by CP-SAT in
the model of one chunk. So it is exact, unlike `ways`, which makes trees of shortest ways. Where C
chunks fit as fractions, whole numbers of the trees made are a small problem for CP-SAT, with a row
per link and step; where they do not fit, more trees are made at prices nearby.

Sources: Dantzig, Wolfe, Operations Research 1960, doi:10.1287/opre.8.1.101 (column generation);
Zhao et al., ForestColl, arXiv:2402.06787 (collectives as packed trees, there without steps).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import coo_array, csr_array

from solvers.clock import OutOfTime, keep_time, left_s
from solvers.collectives.model import Crossing, Part, Symmetry, unrolled
from solvers.collectives.problem import Network
from solvers.collectives.ways import Way
from solvers.cpsat_solver import new_solver, run_search

TURNS = 400
"""Times that prices are taken, at most."""
MORE_TREES = 4
"""Times that whole numbers are looked for, with more trees each time."""
WHOLE_WORK = 2.0
"""The most deterministic time of each."""
_TINY = 1e-9
_GAIN = 1e-7
"""A tree that costs so much less than the dearest in use is worth having."""
_FINE = (10_000, 1_000_000)
"""Whole numbers that the dearest link and step is counted in: coarse is quick, and goes first."""
_DEARER = 100
"""One of them over one send: of trees that cost the same, one with few sends is taken."""

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(slots=True)
class Branchings:
    """Trees of the leading parts, and the program that weighs them.

    Attributes:
        network: Links, lanes, shared capacities.
        parts: All parts, with C chunks each.
        symmetry: Of the group that the schedule is held to.
        steps: S.
        hops: (nodes, nodes) links on a shortest way.
        trees: Made so far, each once; `part` is the number of a leading part.
        columns: (capacity rows x S,) of each: what one chunk takes.
    """

    network: Network
    parts: Sequence[Part]
    symmetry: Symmetry
    steps: int
    hops: Sequence[Sequence[int]]
    trees: list[Way] = field(default_factory=list)
    columns: list[Array] = field(default_factory=list)
    _seen: set[Way] = field(default_factory=set, repr=False)
    _count: Array = field(init=False, repr=False)
    _lanes: IntArray = field(init=False, repr=False)
    _room: IntArray = field(init=False, repr=False)
    _makers: list[_Maker] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        leaders, orbit = np.unique(self.symmetry.link_orbit, return_inverse=True)
        room = [self.network.lanes[link] for link in leaders.tolist()]
        ports = self.symmetry.port_rows
        self._count = np.zeros((len(room) + len(ports), len(orbit)))
        self._count[orbit.reshape(-1), np.arange(len(orbit))] = 1.0
        for row, (counts, _) in enumerate(ports, len(room)):
            self._count[row, list(counts)] = list(counts.values())
        room += [capacity for _, capacity in ports]
        self._lanes = np.array(room, dtype=np.int64)
        self._makers = [_Maker(self, at) for at in self.symmetry.leaders]

    def crossings(self, rounds: Sequence[int], deadline: float) -> list[Crossing] | None:
        """The sends of the leading parts, within the rounds; None: no such schedule was found.

        Trees that were made for other rounds are used again.

        Args:
            rounds: r_s of every step.
            deadline: On the clock of `time.perf_counter`.

        Raises:
            OutOfTime: The deadline passed.
        """
        chunks = len(self.parts[self.symmetry.leaders[0]].chunks)
        self._room = np.outer(self._lanes, np.array(rounds, dtype=np.int64))
        price = self._priced(chunks, deadline)
        if price is None:
            return None
        chance = np.random.default_rng(0)
        for _ in range(MORE_TREES):
            counts = self._whole(chunks, deadline)
            if counts is not None:
                return self._numbered(counts)
            near = price * (1.0 + chance.random(price.shape)) + _TINY * chance.random(price.shape)
            self._made(near, np.full(len(self._makers), np.inf), _FINE[0], deadline)
        return None

    def _priced(self, chunks: int, deadline: float) -> Array | None:
        """Makes trees until C chunks fit as fractions; their prices. None: fewer fit."""
        if not self.trees:
            anyone = np.full(len(self._makers), np.inf)
            self._made(1.0 / self._room, anyone, _FINE[0], deadline)
        fine = 0
        for _ in range(TURNS):
            found = self._fitted()
            price, worth = np.split(np.maximum(-found.ineqlin.marginals, 0.0), [self._room.size])
            price = price.reshape(self._room.shape)
            if -found.fun >= chunks - _TINY:
                return price
            while not self._made(price, worth - _GAIN, _FINE[fine], deadline):
                fine += 1
                if fine == len(_FINE):
                    return None
        return None

    def _made(self, price: Array, worth: Array, finest: int, deadline: float) -> int:
        """Makes trees at prices that cost less than they are worth; how many are new."""
        before = len(self.trees)
        for maker, most in zip(self._makers, worth, strict=True):
            keep_time(deadline)
            for tree in maker.cheap(price, finest, deadline):
                taken = self._taken(tree)
                if tree not in self._seen and float(taken.ravel() @ price.ravel()) < most:
                    self._seen.add(tree)
                    self.trees.append(tree)
                    self.columns.append(taken)
        return len(self.trees) - before

    def _taken(self, tree: Way) -> Array:
        """(capacity rows, S) what one chunk along a tree takes."""
        taken = np.zeros(self._room.shape)
        for link, step in tree.sends:
            taken[:, step] += self._count[:, link]
        return taken

    def _fitted(self) -> OptimizeResult:
        """The most chunks of every leading part that fit, along the trees made so far."""
        width, leaders = len(self.trees), list(self.symmetry.leaders)
        taken = np.stack([column.ravel() for column in self.columns], axis=1)
        of_parts = np.zeros((len(leaders), width))
        of_parts[[leaders.index(tree.part) for tree in self.trees], np.arange(width)] = -1.0
        matrix = np.block([
            [taken, np.zeros((len(taken), 1))],
            [of_parts, np.ones((len(leaders), 1))],
        ])  # fmt: skip
        return linprog(
            np.append(np.zeros(width), -1.0), A_ub=csr_array(coo_array(matrix)),
            b_ub=np.concatenate([self._room.ravel(), np.zeros(len(leaders))]), method="highs",
        )  # fmt: skip

    def _whole(self, chunks: int, deadline: float) -> IntArray | None:
        """Whole numbers of trees that add up to C chunks of each leading part; None: not found."""
        from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy)

        total = cp_model.LinearExpr.weighted_sum
        model = cp_model.CpModel()
        counts = [model.new_int_var(0, chunks, "") for _ in self.trees]
        taken = np.stack([column.ravel() for column in self.columns]).astype(np.int64)
        for row, room in zip(taken.T, self._room.ravel().tolist(), strict=True):
            used = np.flatnonzero(row).tolist()
            if used:
                model.add(total([counts[at] for at in used], row[used].tolist()) <= room)
        for leader in self.symmetry.leaders:
            of_part = zip(self.trees, counts, strict=True)
            model.add(sum(count for tree, count in of_part if tree.part == leader) == chunks)
        solver = new_solver()
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = left_s(deadline)
        solver.parameters.max_deterministic_time = WHOLE_WORK
        if run_search(solver, model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        return np.array([solver.value(count) for count in counts], dtype=np.int64)

    def _numbered(self, counts: IntArray) -> list[Crossing]:
        """The sends along trees in whole numbers, copy after copy."""
        given = dict.fromkeys(self.symmetry.leaders, 0)
        crossings = []
        for tree, count in zip(self.trees, counts.tolist(), strict=True):
            for copy in range(given[tree.part], given[tree.part] + count):
                crossings += [Crossing(tree.part, copy, link, step) for link, step in tree.sends]
            given[tree.part] += count
        return crossings


class _Maker:
    """The cheapest trees of one leading part at prices of links in every step, by CP-SAT."""

    def __init__(self, of: Branchings, part: int) -> None:
        symmetry = of.symmetry
        place = symmetry.leaders.index(part)
        alone = replace(symmetry, leaders=(part,), images=(symmetry.images[place],))
        parts = [replace(one, chunks=one.chunks[:1]) for one in of.parts]
        self.part = part
        self.count = of._count
        self.made = unrolled(of.network, parts, alone, of.steps, of.hops)
        self.sends = [(crossing.link, crossing.step) for crossing in self.made.crossings]

    def cheap(self, price: Array, finest: int, deadline: float) -> list[Way]:
        """Trees that get cheaper and cheaper, the last the cheapest of all.

        Args:
            price: (capacity rows, S).
            finest: Whole numbers that the dearest link and step is counted in.
            deadline: On the clock of `time.perf_counter`.

        Raises:
            OutOfTime: The deadline passed.
        """
        from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy)

        at = np.array(self.sends)
        of_link = (self.count.T @ price)[at[:, 0], at[:, 1]]
        whole = np.rint(of_link * (finest / max(of_link.max(), _TINY))).astype(np.int64)
        sent = list(self.made.crossings.values())
        self.made.model.minimize(
            cp_model.LinearExpr.weighted_sum(sent, (whole * _DEARER + 1).tolist())
        )
        solver = new_solver()
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = left_s(deadline)
        met: list[Way] = []

        class Met(cp_model.CpSolverSolutionCallback):
            def on_solution_callback(this) -> None:  # noqa: N805
                met.append(self._way([this.boolean_value(one) for one in sent]))

        run_search(solver, self.made.model, Met())
        if not met:
            raise OutOfTime
        return met

    def _way(self, used: Sequence[bool]) -> Way:
        kept = [send for send, one in zip(self.sends, used, strict=True) if one]
        return Way(self.part, tuple(sorted(kept, key=lambda send: (send[1], send[0]))))

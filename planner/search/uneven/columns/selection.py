"""Which choices every stage of a row is offered: those that fit, help, and lead to a better plan.

Dropped is what no plan within the upper bound holds, by proof: choices that need more memory than
there is, choices whose time with the least time of everything else passes the bound, and choices
that another one with the same layers on the same stage beats in everything that counts.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import ArrayRecord, BoolArray, FloatArray, IntArray, distinct, ranges
from planner.plan import FULL, NO_RECOMPUTE
from planner.search.deadline import Deadline
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uneven.columns.places import Place, Places
from planner.search.uneven.columns.stage_choices import (
    OneRow,
    StageChoiceCosts,
    StageChoices,
)
from planner.search.uneven.rows import given_runs
from planner.search.uneven.terms import KINDS, unstaged_s
from solvers.frontier import nondominated
from solvers.stages.segments import chains


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(ArrayRecord):
    """Fills of one stage with their costs.

    Attributes:
        choices: c of them.
        costs: Of each, without the factor of the step.
        vector: (c,) row of `Kinds.vectors`: the layers of each.
        pool: (c,) which kind of chips each is on; 0 where there is one.
    """

    choices: StageChoices
    costs: StageChoiceCosts
    vector: IntArray
    pool: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """Runs of consecutive layers by how many they have of each kind.

    Attributes:
        vectors: (q, 2) counts, of `KINDS`.
        first: (q, 2) those of them that are among the first N; none where N is not given.
        run: (q,) number of the runs that a vector stands for.
        of: (L + 1, L + 1) number of the run, by the layer it begins with and how many layers it
            has; -1 where there are not so many.
    """

    vectors: IntArray
    first: IntArray
    run: IntArray
    of: IntArray

    @staticmethod
    @lru_cache(maxsize=256)
    def build(layer_kinds: tuple[str, ...], first: int = 0) -> Kinds:
        """Of the layers of a model, the `first` of every run told apart."""
        is_kind = np.array([[kind == name for name in KINDS] for kind in layer_kinds])
        passed = np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(is_kind, axis=0)])
        counts = passed[None, :, :] - passed[:, None, :]
        start, end = np.nonzero(np.triu(np.ones(counts.shape[:2], dtype=np.bool_)))
        begun = counts[start, np.minimum(start + first, end)]
        both = np.concatenate([counts[start, end], begun], axis=1)
        unique, row = distinct(list(both.T))
        vectors = both[unique]
        of = np.full(counts.shape[:2], -1, dtype=np.int64)
        of[start, end - start] = row
        parts = vectors[:, : len(KINDS)], vectors[:, len(KINDS) :]
        return Kinds(vectors=parts[0], first=parts[1], run=np.arange(len(vectors)), of=of)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepForm:
    """The step time of a row as weights: T / factor = paced max t + added sum t + constant + ....

    Attributes:
        paced: Of the slowest stage.
        added: Of the sum over stages.
        constant: Seconds that no stage changes.
    """

    paced: float
    added: float
    constant: float

    @staticmethod
    def of(one: OneRow) -> StepForm:
        """Of a row; `planner.cost.step` has the formula."""
        a = one.model.assumptions
        added = float(a.bubbles) / one.v
        constant = float(unstaged_s(a, one.rows.plans, np.array([one.m]), one.terms.p2p)[0])
        return StepForm(paced=one.m - added, added=added, constant=constant)


@lru_cache(maxsize=4096)
def splits(layers: int, modes: int) -> IntArray:
    """(c, modes) all ways to divide layers among recomputations."""
    if modes == 1:
        return np.array([[layers]])
    parts = [
        np.hstack([np.full((len(rest), 1), own), rest])
        for own in range(layers, -1, -1)
        for rest in (splits(layers - own, modes - 1),)
    ]
    return np.vstack(parts)


def mixes(vector: IntArray, modes: int) -> IntArray:
    """(c, 2, modes) all ways to recompute layers of both kinds, (2,) counts."""
    dense, moe = (splits(int(count), modes) for count in vector)
    both = np.empty((len(dense), len(moe), 2, modes), dtype=np.int64)
    both[:, :, 0], both[:, :, 1] = dense[:, None], moe[None, :]
    return both.reshape(-1, 2, modes)


def ways(one: OneRow, vector: IntArray, first: IntArray) -> IntArray:
    """(c, 2, modes) the ways of a row to recompute layers of both kinds.

    Args:
        one: The row.
        vector: (2,) layers.
        first: (2,) those among them that recompute where the first of every chunk do.
    """
    codes = one.rows.recomputes
    if one.first >= 0:
        counts = np.zeros((1, len(KINDS), len(codes)), dtype=np.int64)
        counts[0, :, codes.index(NO_RECOMPUTE)] = vector - first
        counts[0, :, codes.index(FULL)] = first
        return counts
    found = mixes(vector, len(one.modes))
    counts = np.zeros((*found.shape[:2], len(codes)), dtype=np.int64)
    counts[..., one.modes] = found
    return counts


def place_of(one: OneRow, device: int) -> Place:
    """Where a device is; it holds the ends where its first or last chunk does."""
    pp = int(one.rows.plans.pp[0])
    return Place(position=device, first=device == 0, last=device == pp - 1)


def alike(one: OneRow) -> dict[int, int]:
    """Device to the first device that is offered the same: equal ends, equal in flight."""
    pp = int(one.rows.plans.pp[0])
    seen: dict[tuple[bool, bool, float], int] = {}
    return {d: seen.setdefault((d == 0, d == pp - 1, one.in_flight(d)), d) for d in range(pp)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What offers of all stages of a row share.

    Attributes:
        one: The row.
        kinds: Runs of layers of the model.
        limit_bytes: Per chip.
        upper_s: Plans that take longer are not wanted, factor included.
        form: Weights of the step time.
        least_layer: (2,) least seconds of a layer of each kind.
        least_all: Least seconds of all layers and both ends.
        attributes: Names of `StageChoiceCosts` in which less is better.
        every: Keep also what another fill beats (where more time may be better).
        deadline: When to give up: columns may take seconds.
        pool: Which kind of chips its stages are on.
    """

    one: OneRow
    kinds: Kinds
    limit_bytes: float
    upper_s: float
    form: StepForm
    least_layer: FloatArray
    least_all: float
    attributes: tuple[str, ...]
    every: bool
    deadline: Deadline
    pool: int = 0

    @staticmethod
    def build(
        one: OneRow,
        limit_bytes: float,
        upper_s: float,
        *,
        energy: bool,
        every: bool,
        deadline: Deadline,
        pool: int = 0,
    ) -> Packing:
        """Of a row, for plans up to `upper_s`."""
        layer_kinds = one.model.job.model.layer_kinds
        kinds = Kinds.build(layer_kinds, max(one.first, 0))
        totals = np.array([layer_kinds.count(kind) for kind in KINDS])
        layer = np.zeros(2)
        allowed = one.rows.shardings[0]
        for at, kind in enumerate(KINDS):
            if kind in one.terms.layers:
                layer[at] = one.terms.layers[kind].total[0][one.modes][:, allowed].min()
        ends = float(one.terms.ends.embedding.min() + one.terms.ends.head.min())
        return Packing(
            one=one,
            kinds=kinds,
            limit_bytes=limit_bytes,
            upper_s=upper_s,
            form=StepForm.of(one),
            least_layer=layer,
            least_all=float(totals @ layer) + ends,
            attributes=attributes_of(one, energy=energy),
            every=every,
            deadline=deadline,
            pool=pool,
        )

    def runs(self, own: BoolArray, beside: BoolArray) -> list[IntArray]:
        """Per device the runs of layers that it may hold in some plan, by time alone.

        Args:
            own: Its `lengths`.
            beside: (p, L + 1, L + 1) how many layers devices may hold, where those beside one may
                be other chips: more than `own`, or as many.
        """
        allowed = self._reachable(beside)
        allowed &= own[:, :, : allowed.shape[2]]
        runs = self.kinds.of[:, : allowed.shape[2]]
        return [np.unique(runs[mask]) for mask in allowed]

    @property
    def lengths(self) -> BoolArray:
        """(p, L + 1, L + 1) whether devices may hold so many layers from a layer on, by time."""
        return np.stack([self._lengths(d) for d in range(self.devices)]) & self.given

    @property
    def devices(self) -> int:
        """How many there are: pp."""
        return int(self.one.rows.plans.pp[0])

    @property
    def given(self) -> BoolArray:
        """(p, L + 1, L + 1) the layers of devices where they are given."""
        return given_runs(self.one.rows.layers, self.devices, self.kinds.of.shape[0] - 1)

    def laid(self, offers: list[Offer]) -> list[tuple[IntArray, IntArray]]:
        """Per device rows of its offer and the layer at which each begins, where a chain passes."""
        runs = self.kinds.of
        exists = np.zeros((self.devices, int(self.kinds.run.max()) + 2), dtype=np.bool_)
        own = [self.kinds.run[offer.vector] for offer in offers]
        for d, run in enumerate(own):
            exists[d, run] = True
        used = self._reachable(exists[:, runs] & self.given)
        return [_laid(run, mask, runs) for run, mask in zip(own, used, strict=True)]

    def _lengths(self, device: int) -> BoolArray:
        """(L + 1, L + 1) whether a device may hold so many layers from a layer on."""
        place = place_of(self.one, device)
        own = np.full(int(self.kinds.run.max()) + 1, np.inf)
        np.minimum.at(own, self.kinds.run, self.kinds.vectors @ self.least_layer)
        own = own + self._ends(place)
        step = self._least_step(own, own)
        ok = np.append(step * self.one.factor * ROUNDED_DOWN <= self.upper_s, False)
        allowed = ok[self.kinds.of]
        allowed[:, : 1 - place.first - place.last] = False
        return allowed

    def _ends(self, place: Place | Places) -> FloatArray:
        ends = self.one.terms.ends
        return np.asarray(place.first * ends.embedding.min() + place.last * ends.head.min())

    def _least_step(self, time: FloatArray, own: FloatArray) -> FloatArray:
        """(c,) least seconds of a step with a stage of some time, of which `own` is the least."""
        form = self.form
        if self.one.schedule.fills_bubbles:
            return self.one.m * time + form.constant
        others = form.added * (self.least_all - own)
        return (form.paced + form.added) * time + others + form.constant

    @staticmethod
    def _reachable(allowed: BoolArray) -> BoolArray:
        """(p, L + 1, n + 1) segments through which a chain over all layers passes."""
        most = int(np.flatnonzero(allowed.any(axis=(0, 1))).max(initial=0))
        cut = allowed[:, :, : most + 1]
        forth, back = chains(cut)
        layers = cut.shape[1] - 1
        ends = np.minimum(np.arange(layers + 1)[:, None] + np.arange(most + 1), layers)
        return np.asarray(cut & forth[:-1, :, None] & back[1:][:, ends])

    def offer(self, place: Place, runs: IntArray) -> Offer:
        """The choices of a stage with some of the runs of layers.

        Raises:
            OutOfTime: The deadline passed.
        """
        self.deadline.check()
        kinds, rows = self.kinds, np.flatnonzero(np.isin(self.kinds.run, runs)).tolist()
        parts = [(row, ways(self.one, kinds.vectors[row], kinds.first[row])) for row in rows]
        counts = np.concatenate([part for _, part in parts])
        vector = np.concatenate([np.full(len(part), row) for row, part in parts])
        soon = self.soon(place, counts)
        choices, vector = self.crossed(counts[soon], vector[soon])
        fits = np.flatnonzero(self.one.bytes_of(place, choices).total[0] <= self.limit_bytes)
        self.deadline.check()
        choices, vector = self.clocked(choices.take(fits), vector[fits])
        return self.offered(place, choices, self.one.costs(place, choices), vector)

    def offered(
        self,
        place: Place | Places,
        choices: StageChoices,
        costs: StageChoiceCosts,
        vector: IntArray,
    ) -> Offer:
        """The choices among some that may be in a plan within the bound, and are useful there."""
        pool = np.full(len(vector), self.pool)
        offer = Offer(choices=choices, costs=costs, vector=vector, pool=pool)
        return self.useful(offer.take(np.flatnonzero(self.timely(place, offer))))

    def soon(self, place: Place | Places, counts: IntArray) -> BoolArray:
        """(c,) counts of layers with which, by time alone, some plan may be within the bound."""
        allowed = self.one.rows.shardings[0]
        seconds = np.zeros((len(KINDS), len(self.one.rows.recomputes)))
        for at, kind in enumerate(KINDS):
            if kind in self.one.terms.layers:
                seconds[at] = self.one.terms.layers[kind].total[0][:, allowed].min(axis=(1, 2))
        time = np.tensordot(counts, seconds, axes=2) + self._ends(place)
        own = counts.sum(axis=2) @ self.least_layer + self._ends(place)
        step = self._least_step(time, own) * self.one.factor * ROUNDED_DOWN
        return np.asarray(step <= self.upper_s)

    def timely(self, place: Place | Places, offer: Offer) -> BoolArray:
        """(c,) choices with which some plan may be within the upper bound."""
        costs = offer.costs
        own = offer.choices.kinds @ self.least_layer + self._ends(place)
        step = self._least_step(costs.time, own) + costs.exposed + costs.optimizer
        return np.asarray(step * self.one.factor * ROUNDED_DOWN <= self.upper_s)

    def useful(self, offer: Offer) -> Offer:
        """Without the choices that another with the same layers beats, unless those count too."""
        if self.every:
            return offer
        points = np.stack([getattr(offer.costs, name) for name in self.attributes], axis=1)
        order = np.argsort(offer.vector, kind="stable")
        bounds = np.flatnonzero(np.diff(offer.vector[order])) + 1
        kept = [rows[nondominated(points[rows])] for rows in np.split(order, bounds) if len(rows)]
        return offer.take(np.sort(np.concatenate(kept))) if kept else offer

    def crossed(self, counts: IntArray, vector: IntArray) -> tuple[StageChoices, IntArray]:
        """Counts of layers under every sharding at the first clock, with their rows of vectors."""
        codes = np.flatnonzero(self.one.rows.shardings[0])
        choices = StageChoices(
            counts=np.repeat(counts, len(codes), axis=0),
            sharding=np.tile(codes, len(counts)),
            clock=np.zeros(len(codes) * len(counts), dtype=np.int64),
            spread=np.zeros(len(codes) * len(counts), dtype=np.bool_),
        )
        return choices, np.repeat(vector, len(codes))

    def clocked(self, choices: StageChoices, vector: IntArray) -> tuple[StageChoices, IntArray]:
        """Fills at every clock, the clock fastest, with their rows of vectors."""
        clocks = np.arange(len(self.one.terms.clocks))
        found = StageChoices(
            counts=np.repeat(choices.counts, len(clocks), axis=0),
            sharding=np.repeat(choices.sharding, len(clocks)),
            clock=np.tile(clocks, len(choices)),
            spread=np.repeat(choices.spread, len(clocks)),
        )
        return found, np.repeat(vector, len(clocks))


def _laid(run: IntArray, used: BoolArray, runs: IntArray) -> tuple[IntArray, IntArray]:
    """Rows with the start of every used segment that is their run of layers."""
    order = np.argsort(run, kind="stable")
    start, length = np.nonzero(used)
    wanted = runs[start, length]
    low = np.searchsorted(run[order], wanted, side="left")
    count = np.searchsorted(run[order], wanted, side="right") - low
    return order[ranges(low, count)], np.repeat(start, count)


def attributes_of(one: OneRow, *, energy: bool) -> tuple[str, ...]:
    """What counts of a choice; less of each is better."""
    joules = ("extra_j",) if energy else ()
    return (*one.schedule.compared, "exposed", "optimizer", *joules)

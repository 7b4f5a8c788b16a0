"""What devices with several chunks may hold, as `solvers.stages.devices` asks for it.

T v = (m v - 1) max D + sum (v C + ends) + ...: D is all of a device's time, C its longest chunk,
ends what embedding and head take there. Bytes are linear in the layers of every chunk once it is
said which kinds of layers a device has and whether it recomputes any in full: each such *variant*
is a setting of its own, beside sharding and clock; what a variant does not have, does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from planner.cost.held import held_chunks
from planner.cost.memory import Memory
from planner.plan import FULL, FloatArray, IntArray
from planner.search.uneven.fills import FillCosts, Fills, OneRow, Place
from planner.search.uneven.terms import KINDS
from solvers.frontier import nondominated
from solvers.stages.devices import Priced

_TOO_MUCH = 1e300


@dataclass(frozen=True, slots=True)
class Variant:
    """A setting: what a device has, and how it runs it.

    Attributes:
        kinds: Which of `KINDS` it has; each at least once.
        full: Of which of them it recomputes a layer in full.
        sharding: Code.
        clock: Index of `RowTerms.clocks`.
    """

    kinds: tuple[bool, bool]
    full: tuple[bool, bool]
    sharding: int
    clock: int


@dataclass(frozen=True, kw_only=True)
class RowTables:
    """`solvers.stages.devices.DeviceTables` of an interleaved row.

    Attributes:
        one: The row.
        limit_bytes: Per chip.
        time_s, joules: Units of the integers.
        energy: Whether joules are summed; else 0.
        most_s: Seconds that all layers of a device may take.
    """

    one: OneRow
    limit_bytes: float
    time_s: float
    joules: float
    energy: bool
    most_s: float

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """The settings."""
        known = [name in self.one.terms.layers for name in KINDS]
        recomputes = self.one.rows.recomputes
        both = ((False, False), (False, True), (True, False), (True, True))
        pairs = [
            (kinds, full)
            for kinds, full in product(both, both)
            if any(kinds)
            and all(is_known or not has for is_known, has in zip(known, kinds, strict=True))
            and all(has or not again for has, again in zip(kinds, full, strict=True))
            and (FULL in recomputes or not any(full))
            and (recomputes != (FULL,) or full == kinds)
        ]
        shardings = np.flatnonzero(self.one.rows.shardings[0]).tolist()
        clocks = range(len(self.one.terms.clocks))
        return tuple(
            Variant(kinds, full, sharding, clock)
            for (kinds, full), sharding, clock in product(pairs, shardings, clocks)
        )

    @property
    def settings(self) -> int:
        """How many variants there are."""
        return len(self.variants)

    @property
    def recomputes(self) -> int:
        """Recomputations of a layer."""
        return len(self.one.rows.recomputes)

    def times(self, setting: int) -> FloatArray:
        """(2, r) seconds of a layer."""
        variant = self.variants[setting]
        found = np.zeros((len(KINDS), self.recomputes))
        for at, kind in enumerate(KINDS):
            if kind in self.one.terms.layers:
                table = self.one.terms.layers[kind].total
                found[at] = table[0, :, variant.sharding, variant.clock]
        return found

    def memory(self, device: int, setting: int) -> FloatArray:
        """(v, 2, r, h) bytes of a layer in each chunk, at each moment that matters."""
        return self._bytes(device, self.variants[setting])[0]

    def room(self, device: int, setting: int) -> FloatArray:
        """(h,) bytes that the layers of a device may take at those moments."""
        return self._bytes(device, self.variants[setting])[1]

    def price(self, device: int, setting: int, counts: IntArray, longest: FloatArray) -> Priced:
        """Sums: v C + ends, joules. Peaks: D, exposed, optimizer. See the module."""
        variant, v = self.variants[setting], float(self.one.rows.plans.interleave[0])
        fills = _fills(counts, variant)
        costs = self.one.costs(self.place(device), fills)
        layers = np.tensordot(counts, self.times(setting), axes=2)
        filled = v * longest + (costs.time - layers)
        return Priced(
            sums=np.stack([self._whole(filled), self._joules(costs)], axis=1),
            peaks=np.stack(
                [self._whole(getattr(costs, name)) for name in ("time", "exposed", "optimizer")],
                axis=1,
            ),
            fits=self._has(fills, variant),
        )

    def place(self, device: int) -> Place:
        """Where a device is."""
        pp = int(self.one.rows.plans.pp[0])
        return Place(position=device, first=device == 0, last=device == pp - 1)

    def _whole(self, seconds: FloatArray) -> IntArray:
        return np.floor(seconds * self.one.factor / self.time_s).astype(np.int64)

    def _joules(self, costs: FillCosts) -> IntArray:
        if not self.energy:
            return np.zeros(len(costs.time), dtype=np.int64)
        return np.floor(costs.extra_j / self.joules).astype(np.int64)

    def _has(self, fills: Fills, variant: Variant) -> np.ndarray:
        """(c,) fills that have what the variant says."""
        has = (fills.kinds > 0) == np.array(variant.kinds)
        if FULL in self.one.rows.recomputes:
            full = fills.counts[:, :, self.one.rows.recomputes.index(FULL)] > 0
            has &= full == np.array(variant.full)
        return np.asarray(has.all(axis=1))

    def _bytes(self, device: int, variant: Variant) -> tuple[FloatArray, FloatArray]:
        """Bytes of layers and room for them, from one layer more of each sort.

        Where the largest contents fit however they are divided among chunks, only what a variant
        does not have is too much.
        """
        place, r = self.place(device), self.recomputes
        least, steps = self._least(variant)
        base = self.one.bytes_of(place, _fills(least[None], variant))
        more = self.one.bytes_of(place, _fills(least[None] + steps, variant))
        each = (more.total - base.total)[0].reshape(len(KINDS), r)
        kept = _kept(more, base).reshape(len(KINDS), r)
        state, kept = each - kept, kept / self.one.in_flight(device)
        held = self._held(device)
        allowed = self._allowed(variant)[None, :, :, None]
        layers = state[None, :, :, None] + held.T[:, None, None, :] * kept[None, :, :, None]
        room = self.limit_bytes - float(base.total[0, 0]) + float((least * each).sum())
        most = np.max(layers, where=allowed, initial=0.0) * self._most_layers(variant)
        if most <= room:
            layers, held = np.zeros((*layers.shape[:3], 1)), held[:1]
        return np.where(allowed, layers, _TOO_MUCH), np.full(len(held), room)

    def _held(self, device: int) -> FloatArray:
        """(h, v) micro-batches in flight of every chunk, at moments of which none holds less."""
        pp, v = (int(getattr(self.one.rows.plans, name)[0]) for name in ("pp", "interleave"))
        rounds = min(max(int(np.ceil(self.one.m / pp)), 1), 3)
        held = np.minimum(held_chunks(pp, v, pp * rounds)[device], self.one.m)
        moments = -held.astype(np.float64)
        most: FloatArray = -moments[nondominated(moments)]
        return most

    def _most_layers(self, variant: Variant) -> float:
        """Layers that a device may have within `most_s`."""
        times = self.times(self.variants.index(variant))
        return self.most_s / float(times[np.array(variant.kinds)].min())

    def _allowed(self, variant: Variant) -> np.ndarray:
        """(2, r) what layers a variant may have."""
        recomputes = np.array(self.one.rows.recomputes)
        kinds, full = np.array(variant.kinds)[:, None], np.array(variant.full)[:, None]
        return np.asarray(kinds & ((recomputes != FULL) | full))

    def _least(self, variant: Variant) -> tuple[IntArray, IntArray]:
        """(2, r) one layer of everything that a variant has, and the steps to one more of each."""
        r = self.recomputes
        least = np.zeros((len(KINDS), r), dtype=np.int64)
        for kind, (has, again) in enumerate(zip(variant.kinds, variant.full, strict=True)):
            least[kind, self.one.rows.recomputes.index(FULL) if again else 0] = has
        steps = np.eye(len(KINDS) * r, dtype=np.int64).reshape(-1, len(KINDS), r)
        return least, steps * self._allowed(variant)


def _kept(more: Memory, base: Memory) -> FloatArray:
    """Bytes of activations that the steps add."""
    return np.asarray(more.parts["activations"][0] - base.parts["activations"][0])


def _fills(counts: IntArray, variant: Variant) -> Fills:
    same = np.ones(len(counts), dtype=np.int64)
    return Fills(counts=counts, sharding=variant.sharding * same, clock=variant.clock * same)

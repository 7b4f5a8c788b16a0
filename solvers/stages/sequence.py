"""Layers of several kinds in a row, as an automaton whose states replace positions.

What a chunk costs depends on the kinds of its layers, not on where they are. A sequence of layers
is cut into *stretches*: a pattern of kinds that repeats, such as 3 dense layers, or 24 times
(dense, experts). Inside a stretch all positions with the same offset in the pattern are
interchangeable, so a boundary between chunks is given by its *state*, (stretch, offset), and the
layers that all chunks take of a stretch must add up to its length:

    chunk c ends in the state in which chunk c + 1 begins; sum over chunks of use_s = length_s

Any chunks that obey both, laid end to end, are the sequence: within a stretch the offsets say which
kinds follow, and only the last chunk in a stretch leaves it, with all its layers taken. Conversely
every split into chunks gives such states; a chunk that ends where a stretch ends is in the first
state of the next. Identical layers have one state, and only the sum is left. A stretch that does
not repeat needs no sum: its offsets are positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.stages.problem import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSegments:
    """Ways to take consecutive layers, one per row.

    Attributes:
        start, end: (n,) states before the first layer and after the last.
        use: (n, r) layers of each repeating stretch.
        counts: (n, k) layers of each kind.
    """

    start: Ints
    end: Ints
    use: Ints
    counts: Ints

    def __len__(self) -> int:
        return len(self.start)

    def take(self, index: npt.NDArray[np.intp]) -> StateSegments:
        """The segments of `index`."""
        return StateSegments(**{name: getattr(self, name)[index] for name in self.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A pattern of kinds, `repeats` times; its first state is `state`."""

    pattern: tuple[int, ...]
    repeats: int
    state: int

    @property
    def length(self) -> int:
        """Layers of the stretch."""
        return len(self.pattern) * self.repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerStates:
    """A sequence of layers as stretches; see the module.

    Attributes:
        kinds: How many kinds there are.
        stretches: In order.
    """

    kinds: int
    stretches: tuple[Stretch, ...]

    @property
    def end(self) -> int:
        """The state after the last layer; states before it are 0 to `end` - 1."""
        return sum(len(stretch.pattern) for stretch in self.stretches)

    @property
    def layers(self) -> int:
        """L."""
        return sum(stretch.length for stretch in self.stretches)

    @property
    def lengths(self) -> Ints:
        """(r,) layers of the repeating stretches, which must be used up."""
        return np.array([s.length for s in self.stretches if s.repeats > 1], dtype=np.int64)

    def segments(self, fewest: int, most: int) -> StateSegments:
        """All segments of `fewest` to `most` layers, by start, length and layers per stretch."""
        rows = [
            row
            for index, stretch in enumerate(self.stretches)
            for offset in range(len(stretch.pattern))
            for size in range(fewest, most + 1)
            for row in self._from(index, offset, size)
        ]
        if fewest == 0:
            rows.append((self.end, self.end, {}, (0,) * self.kinds))
        column = {i: n for n, i in enumerate(self._repeating())}
        use = np.zeros((len(rows), len(column)), dtype=np.int64)
        for row, (_, _, taken, _) in enumerate(rows):
            for stretch, layers in taken.items():
                if stretch in column:
                    use[row, column[stretch]] = layers
        return StateSegments(
            start=np.array([row[0] for row in rows], dtype=np.int64),
            end=np.array([row[1] for row in rows], dtype=np.int64),
            use=use,
            counts=np.array([row[3] for row in rows], dtype=np.int64).reshape(-1, self.kinds),
        )

    def windows(self, fewest: Ints, most: Ints) -> tuple[Ints, Ints]:
        """(n + 1,) lowest and highest state of each boundary of n chunks.

        Args:
            fewest, most: (n,) layers that each chunk may hold.
        """
        before = [np.concatenate([[0], np.cumsum(size)]) for size in (fewest, most)]
        after = [total[-1] - total for total in before]
        earliest = np.maximum(before[0], self.layers - after[1])
        latest = np.minimum(before[1], self.layers - after[0])
        ends = np.cumsum([stretch.length for stretch in self.stretches])
        states = np.array([s.state for s in self.stretches] + [self.end, self.end + 1])
        low = states[np.searchsorted(ends, earliest, side="right")]
        high = states[np.searchsorted(ends, latest, side="right") + 1] - 1
        high[0] = 0
        return low.astype(np.int64), high.astype(np.int64)

    def _repeating(self) -> list[int]:
        return [i for i, stretch in enumerate(self.stretches) if stretch.repeats > 1]

    def _from(
        self, index: int, offset: int, size: int
    ) -> list[tuple[int, int, dict[int, int], tuple[int, ...]]]:
        """StateSegments of `size` layers from an offset of a stretch: within it, or leaving it."""
        stretch = self.stretches[index]
        period = len(stretch.pattern)
        left = stretch.length - offset
        found = []
        if size < left:
            state = stretch.state + (offset + size) % period
            taken = {index: size}
            found.append((stretch.state + offset, state, taken, self._counts(taken, offset)))
        for inside in range(period - offset, min(size, left) + 1, period):
            taken = {index: inside}
            after, rest = index + 1, size - inside
            while after < len(self.stretches) and rest >= self.stretches[after].length:
                taken[after] = self.stretches[after].length
                rest -= taken[after]
                after += 1
            if after == len(self.stretches):
                if rest:
                    continue
                state = self.end
            else:
                taken[after] = rest
                state = self.stretches[after].state + rest % len(self.stretches[after].pattern)
            found.append((stretch.state + offset, state, taken, self._counts(taken, offset)))
        return found

    def _counts(self, taken: dict[int, int], offset: int) -> tuple[int, ...]:
        """Layers of each kind, the first stretch entered at an offset and the others at 0."""
        counts = [0] * self.kinds
        for stretch, layers in taken.items():
            pattern = self.stretches[stretch].pattern
            for position in range(layers):
                counts[pattern[(offset + position) % len(pattern)]] += 1
            offset = 0
        return tuple(counts)


def layer_states(
    layers: tuple[int, ...], *, kinds: int | None = None, repeating: int = 3
) -> LayerStates:
    """The stretches of a sequence of kinds.

    From the front the pattern that covers most layers by repeating is taken. Only the longest
    `repeating` stretches count as such; the others become single layers, whose states are
    positions.

    Args:
        layers: (L,) kind of every layer, from 0.
        kinds: How many there are; None: those that occur.
        repeating: At most so many sums; 0 gives every position its own state.
    """
    if not layers or min(layers) < 0:
        raise ValueError(f"layers need kinds from 0 and at least one layer, not {layers}")
    found: list[tuple[tuple[int, ...], int]] = []
    at = 0
    while at < len(layers):
        pattern, repeats = _pattern(layers[at:])
        found.append((pattern, repeats))
        at += len(pattern) * repeats
    kept = sorted(found, key=lambda one: -len(one[0]) * one[1])[:repeating]
    shortest = min((len(p) * r for p, r in kept if r > 1), default=0)
    stretches: list[Stretch] = []
    room, state = repeating, 0
    for pattern, repeats in found:
        whole = repeats > 1 and len(pattern) * repeats >= shortest and room > 0
        room -= whole
        parts = [(pattern, repeats)] if whole else [((kind,), 1) for kind in pattern * repeats]
        for part, times in parts:
            stretches.append(Stretch(pattern=part, repeats=times, state=state))
            state += len(part)
    count = max(layers) + 1 if kinds is None else kinds
    return LayerStates(kinds=count, stretches=tuple(stretches))


def _pattern(layers: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """The pattern at the front that covers most layers, the shortest of those; or one layer."""
    best = (layers[:1], 1)
    for period in range(1, len(layers) // 2 + 1):
        same = next(
            (i for i in range(period, len(layers)) if layers[i] != layers[i - period]), len(layers)
        )
        repeats = same // period
        if repeats > 1 and period * repeats > len(best[0]) * best[1]:
            best = (layers[:period], repeats)
    return best

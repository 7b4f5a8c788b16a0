"""Chunks of interleaved pipelines, as `docs/uneven.md` declares them: nearly equal ones.

And how recomputed layers of a stage are dealt out over its chunks: to the first ones, or to all of
them in turn.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

Pair = tuple[int, int]
"""Dense layers, and those with experts."""
Way = tuple[tuple[tuple[str, Pair], ...], ...]
"""By chunk: how it recomputes, with so many layers."""
_SAVING = ("full", "selective")


@functools.cache
def nearly_equal_chunks(layers: int, pp: int, v: int) -> tuple[tuple[int, ...], ...]:
    """All layers of chunks, in the order in which a micro-batch passes them."""
    share = max(-(-layers // pp), v)
    return tuple(
        sizes
        for sizes in every_chunks(layers, pp * v)
        if any(_is_nearly_equal(sizes, layers, pp, n) for n in range(share, share + 3))
    )


def every_chunks(layers: int, chunks: int, *, first: bool = True) -> Iterator[tuple[int, ...]]:
    """All layers of chunks of which none is empty but the first and the last."""
    if chunks == 1:
        yield (layers,)
        return
    for size in range(0 if first else 1, layers + 1):
        for rest in every_chunks(layers - size, chunks - 1, first=False):
            yield (size, *rest)


def _is_nearly_equal(sizes: tuple[int, ...], layers: int, pp: int, n: int) -> bool:
    """Whether no stage has more than n layers, dealt out as the page says."""
    v = len(sizes) // pp
    *others, last = [sizes[stage::pp] for stage in range(pp)]
    full, equal = _evenly(n, v), (n // v,) * v
    lacking = [n - sum(chunks) for chunks in others]
    beyond = n > max(-(-layers // pp), v)
    if min(lacking) < 0 or sum(lacking) > (pp - 2 if beyond else pp - 1):
        return False
    few_longer = n >= 2 * v and sum(lacking) >= (pp - 1) // 2
    if last[:-1] != full[:-1] and not (few_longer and last[:-1] == equal[:-1]):
        return False
    if last[-1] > (full if last[:-1] == full[:-1] else equal)[-1]:
        return False
    even = [chunks == _evenly(sum(chunks), v) and min(chunks) > 0 for chunks in others]
    relieved = others[0][1:] == full[1:] and others[0][0] <= full[0]
    return all(even[1:]) and (even[0] or relieved)


def _evenly(layers: int, v: int) -> tuple[int, ...]:
    return tuple(layers // v + (chunk < layers % v) for chunk in range(v))


def dealt_out(counts: Mapping[str, Pair], chunks: Sequence[Pair]) -> list[Way]:
    """The two ways to deal recomputed layers of a stage out over its chunks."""
    return [_to_the_first(counts, chunks), _in_turn(counts, chunks)]


def _to_the_first(counts: Mapping[str, Pair], chunks: Sequence[Pair]) -> Way:
    """Of each kind those that save most go to the first chunks."""
    room, found = [list(chunk) for chunk in chunks], _nothing(counts, chunks)
    for name, kind, chunk in product(_SAVING, range(2), range(len(chunks))):
        if name in counts:
            left = counts[name][kind] - sum(one[name][kind] for one in found)
            _give(found, room, chunk, name, kind, min(left, room[chunk][kind]))
    return _as_way(found)


def _in_turn(counts: Mapping[str, Pair], chunks: Sequence[Pair]) -> Way:
    """Each goes to the first of the chunks that have the fewest by then, and room for it."""
    room, found = [list(chunk) for chunk in chunks], _nothing(counts, chunks)
    for name, kind in product(_SAVING, range(2)):
        for _ in range(counts[name][kind] if name in counts else 0):
            open_ones = [chunk for chunk in range(len(chunks)) if room[chunk][kind]]
            taken = [sum(sum(pair) for pair in one.values()) for one in found]
            _give(found, room, min(open_ones, key=taken.__getitem__), name, kind, 1)
    return _as_way(found)


def _nothing(counts: Mapping[str, Pair], chunks: Sequence[Pair]) -> list[dict[str, list[int]]]:
    return [{name: [0, 0] for name in counts} for _ in chunks]


def _give(
    found: list[dict[str, list[int]]],
    room: list[list[int]],
    chunk: int,
    name: str,
    kind: int,
    layers: int,
) -> None:
    found[chunk][name][kind] += layers
    room[chunk][kind] -= layers


def _as_way(found: list[dict[str, list[int]]]) -> Way:
    return tuple(tuple((name, (pair[0], pair[1])) for name, pair in one.items()) for one in found)

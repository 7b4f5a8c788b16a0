"""Ranks, domains and links by enumeration, and lower bounds that no schedule can beat."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from planner.network.fabric import FabricLevel, Torus
from planner.network.groups import Segment

Group = tuple[int, ...]


def level(domain: int, **changes: object) -> FabricLevel:
    """A switched scale-up level with round numbers."""
    values: dict[str, object] = {
        "name": f"level-{domain}",
        "scale_out": False,
        "domain": domain,
        "bytes_per_s": 100e9,
        "base_latency_s": 0.0,
        "hop_latency_s": 0.0,
    }
    return FabricLevel(**{**values, **changes})  # type: ignore[arg-type]


def segments_of(*pairs: tuple[int, int]) -> list[Segment]:
    """(size, stride) pairs as one-row arrays."""
    return [(np.array([size]), np.array([stride])) for size, stride in pairs]


def groups_of(pairs: Sequence[tuple[int, int]], ranks: int) -> list[Group]:
    """All groups of a product of segments that tile `ranks` ranks, in ascending order."""
    offsets = sorted(
        sum(i * stride for i, (_, stride) in zip(index, pairs, strict=True))
        for index in product(*(range(size) for size, _ in pairs))
    )
    groups = []
    seen: set[int] = set()
    for first in range(ranks):
        if first not in seen:
            group = tuple(first + offset for offset in offsets)
            assert not seen & set(group), "the segments do not tile the ranks"
            seen |= set(group)
            groups.append(group)
    assert seen == set(range(ranks)), "the segments do not tile the ranks"
    return groups


def members_per_domain(groups: Sequence[Group], domain: int) -> set[int]:
    """How many members a group has in a domain that it touches, over all groups and domains."""
    return {n for group in groups for n in Counter(r // domain for r in group).values()}


def place(rank: int, dims: Sequence[int]) -> tuple[int, ...]:
    """Coordinates on a torus; rank 0 walks the first axis first."""
    at = []
    for length in dims:
        rank, here = divmod(rank, length)
        at.append(here)
    return tuple(at)


@cache
def cuts(torus: Torus) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Every interval of every axis: which ranks are inside (c, ranks), the links into it (c,)."""
    ranks = math.prod(torus.dims)
    places = np.array([place(rank, torus.dims) for rank in range(ranks)])
    found, rates = [], []
    for axis, length in enumerate(torus.dims):
        for start, width in product(range(length), range(1, length)):
            open_axis = not torus.wrap[axis]
            if open_axis and start + width > length:
                continue
            found.append((places[:, axis] - start) % length < width)
            borders = 2 - (open_axis and start == 0) - (open_axis and start + width == length)
            rates.append(borders * ranks / length * torus.link_bytes_per_s)
    return np.array(found), np.array(rates)


def gather_bound_s(torus: Torus, groups: Sequence[Group]) -> float:
    """Least seconds per byte of V of all groups' all-gathers at once, over every cut.

    What is inside an interval must receive the shards that start outside: V (outside / g).
    """
    inside, rate = cuts(torus)
    size = len(groups[0])
    within = inside[:, np.array(groups)].sum(axis=2)
    crossing = np.where(within > 0, (size - within) / size, 0.0).sum(axis=1)
    return float(np.max(crossing / rate))


def exchange_bound_s(torus: Torus, groups: Sequence[Group]) -> float:
    """Least seconds per byte sent of all groups' all-to-alls at once, over every cut."""
    inside, rate = cuts(torus)
    size = len(groups[0])
    within = inside[:, np.array(groups)].sum(axis=2)
    crossing = (within * (size - within) / size).sum(axis=1)
    return float(np.max(crossing / rate))


def exchange_load(torus: Torus, groups: Sequence[Group]) -> float:
    """Largest load of a link, per byte that each member sends, under dimension-ordered routing.

    Each member sends 1/g to every member; a message walks each axis the shorter way, and half of
    it each way where both are equally long.
    """
    load: Counter[tuple[tuple[int, ...], int, int]] = Counter()
    for group in groups:
        for source, target in product(group, group):
            at = list(place(source, torus.dims))
            goal = place(target, torus.dims)
            for axis, length in enumerate(torus.dims):
                ahead = (goal[axis] - at[axis]) % length
                back = length - ahead
                ways = [(1, 1.0)] if goal[axis] > at[axis] else [(-1, 1.0)]
                if torus.wrap[axis] and ahead != back:
                    ways = [(1 if ahead < back else -1, 1.0)]
                elif torus.wrap[axis]:
                    ways = [(1, 0.5), (-1, 0.5)]
                for step, share in ways:
                    here = list(at)
                    while here[axis] != goal[axis]:
                        load[(tuple(here), axis, step)] += share / len(group)  # type: ignore[assignment]
                        here[axis] = (here[axis] + step) % length
                at[axis] = goal[axis]
    return max(load.values(), default=0.0)

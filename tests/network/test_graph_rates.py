"""Rates on graphs known by the rates of groups side by side: no rate lowers another."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from network.enumeration import level, segments_of
from planner.network.fabric import FabricLevel
from planner.network.groups import members_inside, merged
from planner.network.rates import level_rate
from planner.search.uniform.bounds import _most_per_chip
from planner.verification.bounds import _most_bytes_per_s

DOMAINS = (2, 3, 4, 6, 8, 16)
NVLINK, QUAD, PAIR = 150e9, 100e9, 50e9
RATES = st.floats(1e6, 1e13)


def graph(domain: int, by_group: dict[int, float]) -> FabricLevel:
    rates = tuple(sorted(by_group.items()))
    return level(domain, bytes_per_s=rates[-1][1], by_group=rates)


def own_rate(one: FabricLevel, pairs: list[tuple[int, int]]) -> float:
    segments = merged(segments_of(*pairs))
    return float(level_rate(one, members_inside(one.domain, segments), segments)[0])


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, dict[int, float]]:
    """A domain, and rates of some sizes of groups in any order of size."""
    domain = draw(st.sampled_from(DOMAINS))
    sizes = draw(st.sets(st.integers(2, domain), min_size=1, max_size=4)) | {domain}
    return domain, {size: draw(RATES) for size in sizes}


@st.composite
def groups(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Some axes of a mesh, as (size, stride)."""
    lengths = [draw(st.sampled_from((1, 2, 2, 3, 4, 8))) for _ in range(4)]
    chosen = sorted(draw(st.sets(st.integers(0, 3), min_size=1, max_size=3)))
    return [(lengths[axis], math.prod(lengths[:axis])) for axis in chosen]


@settings(max_examples=150, deadline=None)
@given(graphs(), groups(), st.data())
def test_a_rate_that_rises_lowers_none_and_moves_all_by_as_much_at_most(
    drawn: tuple[int, dict[int, float]], pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    """A rate that came near another one took the links between their blocks away, down to none.

    That the rate of a group grows by no larger factor than the rates makes it continuous.
    """
    domain, rates = drawn
    size = data.draw(st.sampled_from(sorted(rates)))
    near = [one * factor for one in rates.values() for factor in (1 - 1e-9, 1.0, 1 + 1e-9)]
    after = data.draw(st.one_of(st.sampled_from(near), RATES))
    slow, fast = sorted((rates[size], after))
    less = own_rate(graph(domain, rates | {size: slow}), pairs)
    more = own_rate(graph(domain, rates | {size: fast}), pairs)
    assert less * (1 - 1e-12) <= more <= less * fast / slow * (1 + 1e-12)


@settings(max_examples=150, deadline=None)
@given(graphs(), groups())
def test_no_group_beats_the_bounds_of_the_search(
    drawn: tuple[int, dict[int, float]], pairs: list[tuple[int, int]]
) -> None:
    one = graph(*drawn)
    members, rate = math.prod(size for size, _ in pairs), own_rate(one, pairs)
    assert rate <= _most_per_chip(one, members) * (1 + 1e-12)
    assert rate <= _most_bytes_per_s(one, members) * (1 + 1e-12)


@each(("pairs", "by_hand"), [
    ([(2, 4)], NVLINK / 3 / 4), ([(2, 2)], QUAD / 2 / 2), ([(4, 2)], NVLINK * 2 / 3 / 2),
    ([(2, 1), (2, 4)], PAIR + NVLINK / 3 * 2 / 4), ([(2, 2), (4, 8)], QUAD / 2 / 2),
    ([(8, 1), (4, 16)], NVLINK), ([(2, 3), (8, 24)], NVLINK / 3 / 3),
])  # fmt: skip
def test_members_further_apart_by_hand(pairs: list[tuple[int, int]], by_hand: float) -> None:
    """Members in other nodes bring no links within a node; they did."""
    cube = graph(8, {2: PAIR, 4: QUAD, 8: NVLINK})
    assert np.isclose(own_rate(cube, pairs), by_hand, rtol=1e-12)

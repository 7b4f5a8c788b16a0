"""Cheapest ways of a chunk over links in time, and chunks dealt to them, against every way."""

import itertools
import math

import numpy as np
from collective_networks import random_network
from scipy.sparse import csr_array

from solvers.collectives.cheapest import Clock
from solvers.collectives.dealing import Dealer
from solvers.collectives.model import Part


def least_prices(network, price, source, steps):
    """(nodes,) the least price of a path from a source in so many steps; it may wait."""
    best = np.full(network.nodes, math.inf)
    best[source] = 0.0
    for step in range(steps):
        after = best.copy()
        for link, (u, v) in enumerate(network.links):
            after[v] = min(after[v], best[u] + price[step, link])
        best = after
    return best


def test_ways_go_from_the_source_and_cost_no_more_than_paths_of_their_own():
    for seed in range(20):
        network, rng = random_network(seed, most=6), np.random.default_rng(seed)
        steps = int(rng.integers(1, network.nodes + 1))
        price = rng.integers(1, 9, (steps, len(network.links))).astype(float)
        clock = Clock(network, steps)
        for count in (1, 2, network.nodes - 1):
            source, *others = rng.permutation(network.nodes).tolist()
            part = Part(source=source, destinations=frozenset(others[:count]), chunks=(0,))
            way = clock.way(part, price[:, clock.order])
            least = least_prices(network, price, source, steps)[list(part.destinations)]
            assert (way is None) == np.isinf(least).any(), seed
            if way is None:
                continue
            there = {source: 0}
            for link, step in way:
                tail, head = network.links[link]
                assert there[tail] <= step < steps, seed
                assert head not in there, seed
                there[head] = step + 1
            assert part.destinations <= {*there}, seed
            used = {network.links[link][0] for link, _ in way}
            assert {*there} - {source} <= used | part.destinations, seed  # nothing in vain
            cost = sum(price[step, link] for link, step in way)
            if count == 1:
                assert cost == least[0], seed
            assert least.max() <= cost <= least.sum(), seed


def test_prices_of_all_nodes_after_each_step():
    network, rng = random_network(3, most=6), np.random.default_rng(3)
    price = rng.random((4, len(network.links)))
    clock = Clock(network, 4)
    since = np.full(network.nodes, math.inf)
    since[1] = 0
    found = clock.costs(price[:, clock.order], since)
    for steps in range(5):
        np.testing.assert_allclose(found[steps], least_prices(network, price, 1, steps))


def rounds_of(take, room, counts, steps):
    """Rounds of all steps: as many as the fullest row of each takes, at least one."""
    used = (take @ counts).reshape(-1, steps) / np.array(room)[:, None]
    return int(np.maximum(np.ceil(used - 1e-9).max(axis=0), 1).sum())


def random_deal(seed):
    """Ways of two parts over two rows and two steps."""
    rng = np.random.default_rng(seed)
    take = (rng.random((4, 5)) < 0.5).astype(float)
    take[rng.integers(0, 4, 5), range(5)] = 1.0  # every way takes something
    parts = np.array([0, 0, 0, 1, 1])
    return take, rng.integers(1, 4, 2).astype(float), parts


def test_dealt_chunks_are_all_there_in_the_fewest_rounds():
    chunks, steps, fewest = 4, 2, 0
    for seed in range(12):
        take, room, parts = random_deal(seed)
        every = [
            counts for counts in itertools.product(range(chunks + 1), repeat=5)
            if sum(counts[:3]) == sum(counts[3:]) == chunks
        ]  # fmt: skip
        best = min(rounds_of(take, room, np.array(counts), steps) for counts in every)
        dealer = Dealer(csr_array(take), room, parts)
        begun = np.array([1, 0, 0, 0, 2])
        for counts, least in ((np.zeros(5, dtype=np.int64), best), (begun, best)):
            dealt, rounds = dealer.dealt(counts, chunks, least, math.inf)
            assert (dealt >= 0).all()
            assert (dealt[:3].sum(), dealt[3:].sum()) == (chunks, chunks)
            assert best <= rounds == rounds_of(take, room, dealt, steps), seed
            fewest += rounds == best
        assert begun.tolist() == [1, 0, 0, 0, 2]
    assert fewest == 24


def test_without_time_the_first_deal_stays(monkeypatch):
    monkeypatch.setattr("solvers.collectives.dealing.TURNS", 40)
    take, room, parts = random_deal(1)
    dealer = Dealer(csr_array(take), room, parts)
    first, rounds = dealer.dealt(np.zeros(5, dtype=np.int64), 4, 0, -math.inf)
    assert rounds == rounds_of(take, room, first, 2)
    again, fewer = dealer.dealt(np.zeros(5, dtype=np.int64), 4, 0, math.inf)
    assert fewer <= rounds
    assert again.sum() == first.sum() == 8

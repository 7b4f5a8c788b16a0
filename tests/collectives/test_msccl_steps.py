"""Steps and rounds of transfers of which only the order is known."""

import time

import numpy as np

from planner.collectives.msccl.run import Transfer
from planner.collectives.msccl.steps import _vectors, connection, placed


def transfer(source, target, after=(), not_before=()):
    ends = (source, target, 0)
    return Transfer(*ends, frozenset({(0, 0)}), frozenset(after), frozenset(not_before))


def test_transfers_that_must_come_before_and_after_one_another():
    cycle = (transfer(0, 1, not_before=(1,)), transfer(1, 2, not_before=(2,)), transfer(2, 0, (0,)))
    assert placed(cycle, {connection(one): 1 for one in cycle}) is None


def test_rounds_are_not_begun_in_vain():
    """The last ten of 40 steps need 30 rounds: vectors come at once, the smallest total first."""
    steps = np.arange(40)
    needed = steps[:, None] - steps[None, :] + 1
    needed[39, :31] = np.maximum(needed[39, :31], 60 - np.arange(31))
    needed[30, 20] = 15
    began = time.perf_counter()
    found = [rounds for rounds, _ in zip(_vectors(needed, 70), range(200), strict=False)]
    assert time.perf_counter() - began < 2.0
    assert len(found) == 200
    for rounds in found:
        ends = np.concatenate([[0], np.cumsum(rounds)])
        spans = ends[1:, None] - ends[None, :-1]
        assert (np.tril(spans) >= np.tril(needed)).all()
    totals = [sum(rounds) for rounds in found]
    assert totals == sorted(totals)

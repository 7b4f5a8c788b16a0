"""The fastest schedule for a buffer size, where links are equal and where they are not."""

from dataclasses import replace

import pytest
from collective_networks import dgx1, ring, switch
from support.cases import each

from solvers.collectives.checking import faults
from solvers.collectives.problem import Network
from solvers.collectives.schedule import Schedule, Send
from solvers.collectives.synthesis import synthesize
from solvers.collectives.timed import Timing, fastest, step_times_s
from solvers.solution import Status

NVLINK = (0.7e-6, 1 / 25e9)
INFINIBAND = (5e-6, 1 / 12.5e9)


def equal(network: Network, size_bytes: float) -> Timing:
    alpha, beta = NVLINK
    count = len(network.links)
    return Timing(
        latency_s=(alpha,) * count, lane_s_per_byte=(beta,) * count, size_bytes=size_bytes
    )


def two_boxes() -> Network:
    """Two DGX-1 with InfiniBand between four pairs; lanes are NVLinks and InfiniBand links."""
    network = dgx1(boxes=2)
    lanes = tuple(max(1, count // 2) for count in network.lanes)
    return replace(network, lanes=lanes)


def unequal(network: Network, size_bytes: float) -> Timing:
    kinds = [NVLINK if (u < 8) == (v < 8) else INFINIBAND for u, v in network.links]
    return Timing(
        latency_s=tuple(alpha for alpha, _ in kinds),
        lane_s_per_byte=tuple(beta for _, beta in kinds),
        size_bytes=size_bytes,
    )


@each(("chunks", "steps", "rounds"), [(1, 2, 2), (2, 2, 3), (3, 3, 4)])
def test_equal_links_take_the_formula(chunks: int, steps: int, rounds: int) -> None:
    schedule = synthesize(dgx1(), "allgather", chunks, steps).decision
    assert schedule is not None
    size = 3e6
    alpha, beta = NVLINK
    seconds = sum(step_times_s(schedule, dgx1(), equal(dgx1(), size)))
    assert seconds == pytest.approx(steps * alpha + rounds * size / chunks * beta, rel=1e-12)


def test_the_fastest_on_equal_links_has_the_fewest_rounds() -> None:
    size = 1e6
    found = fastest(dgx1(), "allgather", 2, 2, equal(dgx1(), size))
    alpha, beta = NVLINK
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(2 * alpha + 3 * size / 2 * beta, rel=1e-9)
    assert found.decision is not None
    assert found.decision.total_rounds == 3


def test_shared_capacities_take_their_time() -> None:
    star = switch(4, 1)
    found = fastest(star, "allgather", 1, 1, equal(star, 25e3))
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(0.7e-6 + 3e-6, rel=1e-9)


def test_steps_without_sends_are_left_out() -> None:
    found = fastest(ring(4), "broadcast", 1, 4, equal(ring(4), 1.0))
    assert found.decision is not None
    assert found.decision.steps == 2
    assert found.status is Status.OPTIMAL


def test_slow_links_are_gone_round_for_large_buffers_only() -> None:
    links = ((0, 1), (0, 2), (2, 1))
    network = Network(nodes=3, links=links, lanes=(1, 1, 1))

    def ways(size_bytes: float) -> Schedule:
        timing = Timing(
            latency_s=(1e-6, 1e-6, 1e-6), lane_s_per_byte=(1e-8, 1e-9, 1e-9), size_bytes=size_bytes
        )
        found = fastest(network, "broadcast", 1, 2, timing)
        assert found.status is Status.OPTIMAL
        assert found.decision is not None
        assert faults(found.decision, network) == ()
        return found.decision

    assert ways(10).steps == 1
    large = ways(1e6)
    assert Send(1, 2, 1, 0) in large.sends
    assert large.steps == 2


def test_sums_take_what_their_copies_take_backwards() -> None:
    network = Network(nodes=3, links=((0, 1), (1, 2), (2, 0), (1, 0)), lanes=(1, 1, 2, 1))
    timing = Timing(
        latency_s=(1e-6, 2e-6, 3e-6, 4e-6), lane_s_per_byte=(1e-9, 2e-9, 1e-9, 3e-9), size_bytes=9e3
    )
    sums = fastest(network, "reduce-scatter", 1, 2, timing)
    copies = fastest(network.reversed(), "allgather", 1, 2, timing)
    assert sums.status is copies.status is Status.OPTIMAL
    assert sums.objective == pytest.approx(copies.objective, rel=1e-9)
    assert sums.decision is not None
    assert faults(sums.decision, network) == ()


def test_two_boxes_wait_for_infiniband_once() -> None:
    network = two_boxes()
    timing = unequal(network, 1024)
    found = fastest(network, "allgather", 1, 4, timing, time_limit_s=30)
    assert found.status is Status.OPTIMAL
    assert found.decision is not None
    assert faults(found.decision, network) == ()
    # One step of InfiniBand with 2 chunks per link, three of NVLink with 1 chunk a lane.
    transfers_s = 2 * 1024 / 12.5e9 + 3 * 1024 / 25e9
    assert found.objective == pytest.approx(5e-6 + 3 * 0.7e-6 + transfers_s, rel=1e-9)
    oblivious = synthesize(network, "allgather", 1, 4).decision
    assert oblivious is not None
    assert sum(step_times_s(oblivious, network, timing)) > 1.5 * found.objective


def test_times_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="latencies for 32 links"):
        fastest(dgx1(), "allgather", 1, 2, equal(ring(4), 1.0))
    with pytest.raises(ValueError, match="not negative"):
        equal(ring(4), -1.0)
    with pytest.raises(ValueError, match="needs a latency"):
        Timing(latency_s=(1.0,), lane_s_per_byte=(), size_bytes=1.0)


def test_too_few_steps() -> None:
    assert fastest(ring(8), "allgather", 1, 3, equal(ring(8), 1.0)).status is Status.INFEASIBLE


def test_without_time_the_bound_is_honest() -> None:
    network = two_boxes()
    found = fastest(network, "allgather", 1, 4, unequal(network, 1024), time_limit_s=0.0)
    assert found.decision is not None
    assert found.status is Status.FEASIBLE
    assert found.bound < found.objective

"""Costs of NCCL's protocols on real systems: latency, bandwidth, networks and errors."""

from __future__ import annotations

import numpy as np
import pytest

from hardware_db import load_calibration, load_cluster
from planner.assumptions.fitted import PROTOCOLS
from planner.base.errors import InputError
from planner.collectives.nccl.costs import (
    NETWORKS,
    call_lines,
    nccl_assumptions,
    nccl_costs,
    nccl_time_s,
)
from planner.evidence.validation.collective_systems import kind_of, place_of
from planner.evidence.validation.collectives import (
    Measured,
    collective_scores,
    measured_collectives,
)
from planner.report.charts.nccl import LOOKS, calls_of, nccl_picture
from planner.report.drawing.chart import Dot

H100 = load_cluster("h100-sxm5-80")
CONSTANTS = load_calibration("nccl")
SMALL, LARGE = np.array([8.0]), np.array([2.0**34])


@pytest.fixture(scope="module")
def calls() -> list[Measured]:
    return measured_collectives()[0]


def test_small_messages_take_ll_and_large_ones_simple() -> None:
    whole = [(np.array([8]), np.array([1]))]
    costs = nccl_costs(H100, 8, whole)
    for collective in ("allgather", "allreduce"):
        times = [costs.each_s(collective, size)[:, 0] for size in (SMALL, LARGE)]
        assert PROTOCOLS[int(np.argmin(times[0]))] == "ll"
        assert PROTOCOLS[int(np.argmin(times[1]))] == "simple"
        assert costs.time_s(collective, SMALL)[0] == times[0].min()


def test_an_empty_call_takes_the_latencies_of_the_table() -> None:
    """A chain over 8 chips, up and down: launch, and 14 steps of LL inside the node."""
    launch = (6.6e-6 + 6.8e-6) / 2 + CONSTANTS.value("latency.scale_up_s")
    step = 0.6e-6 * CONSTANTS.value("step_factor.scale_up")
    found = nccl_time_s(H100, 8, "allreduce", np.array([0.0]))
    assert found[0] == pytest.approx(launch + 14 * step)


def test_large_messages_take_the_bandwidth_of_the_links() -> None:
    gather = nccl_time_s(H100, 8, "allgather", LARGE)[0]
    assert LARGE[0] * 7 / 8 / gather == pytest.approx(0.8 * 450e9, rel=0.01)
    reduce = nccl_time_s(H100, 8, "allreduce", LARGE)[0]
    gain = H100.levels[0].in_network_gain
    assert LARGE[0] * 2 * 7 / 8 / reduce == pytest.approx(0.8 * gain * 450e9, rel=0.01)


def test_switches_that_reduce_serve_several_nodes() -> None:
    """Two nodes swap their sums at the full rate of their cards; more pass all on twice."""
    inside = nccl_time_s(H100, 8, "allreduce", LARGE)[0]
    two, four = (nccl_time_s(H100, chips, "allreduce", LARGE)[0] for chips in (16, 32))
    cards = 8 * 50e9 * CONSTANTS.value("efficiency.infiniband")
    assert two == pytest.approx(inside, rel=0.03)
    assert LARGE[0] / cards < two
    assert four == pytest.approx(
        2 * 31 / 32 * LARGE[0] / cards, rel=0.05
    )  # a ring and a tree differ by that little


def test_networks_differ_only_across_nodes() -> None:
    inside = {network: nccl_time_s(H100, 8, "allreduce", SMALL, network=network)[0]
              for network in NETWORKS}  # fmt: skip
    across = [nccl_time_s(H100, 16, "allreduce", SMALL, network=network)[0]
              for network in NETWORKS]  # fmt: skip
    assert len(set(inside.values())) == 1
    assert across == sorted(across)
    assert across[0] > inside["infiniband"]


def test_the_first_generation_of_efa_runs_simple_alone() -> None:
    protocols = {line.protocol for line in call_lines(H100, 16, "allreduce", network="efa-v1")}
    assert protocols == {"Simple"}
    assert len({line.protocol for line in call_lines(H100, 16, "allreduce", network="efa")}) == 3
    assert len({line.protocol for line in call_lines(H100, 8, "allreduce", network="efa-v1")}) == 3


def test_virtual_machines_start_calls_inside_a_node_later() -> None:
    bare, virtual = (
        nccl_time_s(H100, 8, "allreduce", SMALL, virtual=which)[0] for which in (False, True)
    )
    assert virtual - bare == pytest.approx(CONSTANTS.value("latency.virtual_s"))
    assert place_of("Azure ND H100 v5 (8x H100, NVLink4)").virtual
    assert not place_of("DGX H100 (NVLink4, NVLS)").virtual


def test_wrong_questions_are_named() -> None:
    with pytest.raises(InputError, match=r"network: 'eva'.*efa"):
        nccl_assumptions(H100, 16, network="eva")
    with pytest.raises(InputError, match="known for NVIDIA and AMD chips"):
        nccl_assumptions(load_cluster("tpu-v4"), 16)
    with pytest.raises(InputError, match="collective: 'allgathers'"):
        nccl_time_s(H100, 8, "allgathers", SMALL)


def test_all_measured_calls_are_predicted_better_than_by_the_training_step(
    calls: list[Measured],
) -> None:
    every = collective_scores(calls)[-1]
    assert every.nccl.rows == every.time.rows == 234
    assert every.nccl.median < 0.12 < 0.15 < every.time.median
    assert every.nccl.mean < every.time.mean
    for row in calls:
        assert np.all(np.diff(row.nccl_s) >= 0), row.system


def test_the_picture_has_every_call_twice(calls: list[Measured]) -> None:
    usual, nccl = nccl_picture(calls).charts
    drawn = calls_of(calls)
    for chart, name in ((usual, "usual_s"), (nccl, "nccl_s")):
        dots = [mark for mark in chart.marks if isinstance(mark, Dot)]
        assert [(dot.x, dot.y) for dot in dots] == [
            (call.measured_s, getattr(call, name)) for call in drawn
        ]
        assert len(chart.rows) == 234
    assert {call.kind for call in drawn} == set(LOOKS)
    assert "median error 10.7 %" in nccl.subtitle
    assert kind_of("GB200 NVL72", 72) == "one NVLink domain"

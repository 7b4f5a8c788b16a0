"""Tables of synthesized collectives: made again they are those that the package ships."""

from dataclasses import replace

import pytest

from hardware_db import load_cluster
from planner.collectives.tables import as_data, make, network_of, shipped, table_of
from planner.degraded import with_degraded
from planner.network.algorithms import wiring_of
from solvers.collectives.problem import Network


@pytest.mark.parametrize(("name", "chips"), [("dgx1-v100", 4), ("gaudi2", 4)])
def test_a_table_made_again_is_the_one_of_the_package(name: str, chips: int) -> None:
    level = load_cluster(name).scale(chips).levels[0]
    told: list[tuple[str, int, int]] = []
    made = make(level, chips, lambda *progress: told.append(progress))
    assert made is not None
    assert as_data(made) == as_data(shipped()[wiring_of(level, chips)])
    assert [done for _, done, _ in told] == [0, 1, 2]
    assert all(p.proved for group in made.groups for p in (*group.gather, *group.exchange))


def test_slow_links_have_fewer_lanes() -> None:
    """A quarter: every other lane becomes four, the slow one is one of them."""
    level = with_degraded(load_cluster("dgx1-v100"), ["nvlink:0-2=0.25"]).scale(8).levels[0]
    network, parts = network_of(level, 8)
    lanes = dict(zip(network.links, network.lanes, strict=True))
    assert isinstance(network, Network)
    assert parts == 4
    assert lanes[0, 2] == lanes[2, 0] == 1
    assert lanes[0, 1] == 8
    assert lanes[0, 3] == 4


def test_a_failed_link_that_parts_the_chips_leaves_no_table() -> None:
    level = load_cluster("dgx1-v100").scale(2).levels[0]
    assert table_of(level, 2) is not None
    assert table_of(replace(level, degraded=((0, 1, 0.0),)), 2) is None


def test_switches_need_no_table() -> None:
    level = load_cluster("dgx-h100-ndr").scale(8).levels[0]
    assert table_of(level, 8) is None

"""Tables of synthesized collectives: those shipped can be made again; slow links cost their all."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from support.cases import each

from hardware_db import Level, load_cluster
from planner.collectives.tables import tables
from planner.collectives.tables.making import designs_of, domain_of, make, rounds_on, schedules
from planner.collectives.tables.tables import as_data, listening, shipped, table_of
from planner.machine.degraded import with_degraded
from planner.network.synthesized.tables import DomainTable, side_by_side, wiring_of
from solvers.collectives.flows import load_bound
from solvers.collectives.problem import Network, goal_of
from solvers.collectives.synthesis import fewest_rounds, question

SHARES = ("0", "0.01", "0.05", "0.3", "0.96")


def level_of(share: str, chips: int = 4, pair: str = "0-2") -> Level:
    """The first chips of a V100 node whose link between two chips keeps a share of its rate."""
    cluster = with_degraded(load_cluster("dgx1-v100"), [f"nvlink:{pair}={share}"])
    return cluster.scale(chips).levels[0]


@pytest.fixture(scope="module")
def made() -> dict[str, DomainTable]:
    """Tables of four chips by the share of one link."""
    found = {share: make(level_of(share), 4) for share in SHARES}
    return {share: table for share, table in found.items() if table is not None}


def exact_network(level: Level, chips: int) -> tuple[Network, int]:
    """The links of a domain in lanes of a hundredth, and how many a lane of a healthy link has."""
    domain = domain_of(level, chips)
    lanes = {}
    for u, v in map(tuple, np.argwhere(domain.lanes > 0).tolist()):
        share = domain.slow.get((min(u, v), max(u, v)), Fraction(1))
        lanes[u, v] = int(domain.lanes[u, v] * 100 * share)
    return Network(nodes=chips, links=tuple(lanes), lanes=tuple(lanes.values())), 100


@each(("name", "chips"), [("dgx1-v100", 4), ("gaudi2", 4)])
def test_a_table_made_again_is_the_one_of_the_package(name: str, chips: int) -> None:
    level = load_cluster(name).scale(chips).levels[0]
    told: list[tuple[str, int, int]] = []
    again = make(level, chips, lambda *progress: told.append(progress))
    assert again is not None
    assert as_data(again) == as_data(shipped()[wiring_of(level, chips)])
    assert [done for _, done, _ in told] == [0, 1, 2]
    assert all(p.proved for group in again.groups for p in (*group.gather, *group.exchange))


def test_a_degraded_table_made_again_is_the_one_of_the_package() -> None:
    for share in ("0.25", "0"):
        again = make(level_of(share), 4)
        assert again is not None
        assert as_data(again) == as_data(shipped()[f"hybrid-cube-mesh:4,0-2={share}"])


@each("share", SHARES)
def test_no_table_promises_less_than_any_schedule_can_take(
    made: dict[str, DomainTable], share: str
) -> None:
    """Against the exact bound of the linear program, on lanes of a hundredth."""
    network, parts = exact_network(level_of(share), 4)
    for group in made[share].groups:
        beside = side_by_side(group.members, 4)
        for name, points in (("allgather", group.gather), ("alltoall", group.exchange)):
            bound = load_bound(network, goal_of(name, 4, 1, groups=beside)).load
            assert points
            for point in points:
                assert point.load * len(group.members) >= bound * parts, (group.members, point)


def test_the_load_never_rises_with_the_share_of_a_slow_link(made: dict[str, DomainTable]) -> None:
    """With any number of steps, and with as few as there are points."""
    for slower, faster in pairwise(SHARES):
        for less, more in zip(made[slower].groups, made[faster].groups, strict=True):
            for name in ("gather", "exchange"):
                for point in getattr(less, name):
                    others = [p.load for p in getattr(more, name) if p.steps <= point.steps]
                    assert min(others) <= point.load, (slower, faster, less.members, name)


def test_a_slow_link_costs_what_it_has_left_or_as_if_it_had_failed(
    made: dict[str, DomainTable],
) -> None:
    """A share of 0.01 is used by nothing; one of 0.96 costs at most a twenty-fourth more."""
    healthy = shipped()["hybrid-cube-mesh:4"].groups
    for well, faint, strong, failed in zip(
        healthy, made["0.01"].groups, made["0.96"].groups, made["0"].groups, strict=True
    ):
        assert faint.gather[-1].load == failed.gather[-1].load
        least = min(p.load for p in well.gather)
        assert least <= min(p.load for p in strong.gather) <= least / Fraction(96, 100)
    pair = make(level_of("0.01", 2, "0-1"), 2)
    assert pair is not None  # no way around: a hundred times as long
    well_wired = shipped()["hybrid-cube-mesh:2"].groups[0].gather[0]
    assert pair.groups[0].gather[0].load == 100 * well_wired.load


def test_a_node_with_a_slow_link_lies_between_a_healthy_one_and_one_with_a_failed_link() -> None:
    """All eight chips, R/C of 4/3 is what no schedule of 3 steps goes below."""
    node = {word: shipped()[f"hybrid-cube-mesh:8{word}"] for word in ("", ",0-2=0.25", ",0-2=0")}
    for groups in zip(*(table.groups for table in node.values()), strict=True):
        for name in ("gather", "exchange"):
            least = [min(p.load for p in getattr(group, name)) for group in groups]
            assert least == sorted(least), groups[0].members
    whole = node[",0-2=0.25"].groups[-1].gather[-1]
    assert (whole.chunks, whole.steps, whole.rounds, whole.proved) == (12, 3, 16, True)


def test_designs_do_not_depend_on_the_share() -> None:
    """One slow link: well, half, a quarter, failed; a lane of a healthy link is 1, 2, 4, 1."""
    for share in ("0.25", "0.96"):
        designs = list(designs_of(domain_of(level_of(share, 8), 8)))
        slow = [dict(zip(n.links, n.lanes, strict=True)).get((0, 2), 0) for n, _ in designs]
        assert [parts for _, parts in designs] == [1, 2, 4, 1]
        assert slow == [1, 1, 1, 0]
    failed = list(designs_of(domain_of(level_of("0", 8), 8)))
    assert len(failed) == 1
    assert (0, 2) not in failed[0][0].links


def test_a_schedule_is_charged_the_slowest_link_of_every_step() -> None:
    """By hand: one chunk each way in one step, over lanes that have 0.3 of their rate."""
    domain = domain_of(level_of("0.3", 2, "0-1"), 2)
    network, parts = next(designs_of(domain))
    (first, *_) = schedules(network, parts, "allgather", (0, 1), 1.0)
    assert (first.schedule.chunks, first.schedule.total_rounds) == (1, 1)
    assert rounds_on(domain, first.schedule) == Fraction(10, 3)


def test_searches_end_after_their_work_and_not_after_their_time() -> None:
    """With next to no work what greedy trees give is left, and it says that it is not proved."""
    asked = question(domain_network(), "allgather", groups=[tuple(range(8))])
    little = [fewest_rounds(asked, 6, 3, time_limit_s=math.inf, work=1e-6) for _ in range(2)]
    assert little[0].decision == little[1].decision
    assert little[0].decision is not None
    enough = fewest_rounds(asked, 6, 3, time_limit_s=math.inf, work=5.0)
    assert enough.objective == 7 < little[0].objective


def domain_network() -> Network:
    """A healthy V100 node."""
    level = load_cluster("dgx1-v100").scale(8).levels[0]
    return next(designs_of(domain_of(level, 8)))[0]


@pytest.fixture
def unmade() -> Iterator[None]:
    """No table is kept from before."""
    kept = dict(tables._MADE)
    tables._MADE.clear()
    yield
    tables._MADE.clear()
    tables._MADE.update(kept)


@pytest.mark.usefixtures("unmade")
def test_tables_made_when_they_are_asked_for_say_how_far_they_are() -> None:
    told: list[tuple[str, int, int]] = []
    with listening(lambda *progress: told.append(progress)):
        assert table_of(level_of("0.7"), 4) is not None
    assert told[0] == ("schedules for hybrid-cube-mesh:4,0-2=0.7", 0, 12)
    assert table_of(level_of("0.8"), 4) is not None
    assert all("0.8" not in what for what, *_ in told)


def test_a_failed_link_that_parts_the_chips_leaves_no_table() -> None:
    level = load_cluster("dgx1-v100").scale(2).levels[0]
    assert table_of(level, 2) is not None
    assert table_of(replace(level, degraded=((0, 1, 0.0),)), 2) is None


def test_switches_need_no_table() -> None:
    level = load_cluster("dgx-h100-ndr").scale(8).levels[0]
    assert table_of(level, 8) is None

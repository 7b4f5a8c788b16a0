"""Phases and packed trees behind the question: what is made, by what, and how far off it is."""

from fractions import Fraction

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.collectives.machines.large import methods_for
from planner.collectives.machines.machines import machine_of
from planner.collectives.questions.answers import FrontAnswer, gap_of, load_words
from planner.collectives.questions.fronts import collective_front
from solvers.collectives.allreduce import allreduce_load
from solvers.collectives.candidates import TIME, Gap, gap_words
from solvers.collectives.checking import faults
from solvers.collectives.grouping import alike_groups, orbit_count
from solvers.collectives.problem import Network

LEAVES = "leaf-spine:chips=16,leaf=4,spines=1"


@pytest.fixture(scope="module")
def phases() -> FrontAnswer:
    return collective_front(topology=LEAVES, method="phases", time_limit=20)


@pytest.fixture(scope="module")
def trees() -> FrontAnswer:
    return collective_front(topology="dgx-1:nodes=2", method="trees", time_limit=20)


def cells(found: FrontAnswer) -> list[tuple[int, int, int]]:
    return [(row.chunks, row.steps, row.rounds) for row in found.rows]


def test_phases_come_near_the_cut_of_oversubscribed_leaves(phases: FrontAnswer) -> None:
    """Trunks of four chips on one link: 24 rounds at once, 15.6 in sixteen pieces, 15 at best."""
    assert (1, 2, 24) in cells(phases)
    assert (16, 17, 249) in cells(phases)
    assert phases.front.limit == 15
    assert set(phases.row_methods) == {"phases"}
    gap = gap_of(phases.rows[-1])
    assert gap is not None
    assert 0 < gap < 0.02


def test_packed_trees_come_near_the_cut_of_two_dgx1(trees: FrontAnswer) -> None:
    assert cells(trees)[0] == (1, 4, 4)
    assert (16, 19, 35) in cells(trees)
    assert trees.rows[0].proved  # Four steps are needed, and four rounds are the least in them.
    assert not trees.rows[-1].proved
    assert trees.status == "feasible"


@pytest.mark.parametrize("which", ["phases", "trees"])
def test_rows_get_longer_and_lighter(which: str, request: pytest.FixtureRequest) -> None:
    found: FrontAnswer = request.getfixturevalue(which)
    steps = [row.steps for row in found.rows]
    loads = [row.load for row in found.rows]
    assert steps == sorted(set(steps))
    assert loads == sorted(set(loads), reverse=True)
    assert all(row.load >= found.front.limit for row in found.rows)


@pytest.mark.parametrize(("topology", "method"), [(LEAVES, "phases"), ("dgx-1:nodes=2", "trees")])
@pytest.mark.parametrize("collective", ["reduce-scatter", "allreduce"])
def test_sums_are_made_of_reversed_gathers(
    topology: str, method: str, collective: str, request: pytest.FixtureRequest
) -> None:
    """Each has the rounds of its halves, under the bound of its own collective."""
    gathers: FrontAnswer = request.getfixturevalue(method)
    twice = collective == "allreduce"
    found = collective_front(
        topology=topology, method=method, collective=collective, time_limit=20,
        steps=gathers.rows[0].steps * (1 + twice),
    )  # fmt: skip
    network = found.machine.network
    first, before = found.rows[0], gathers.rows[0]
    assert (first.steps, first.rounds) == ((1 + twice) * before.steps, (1 + twice) * before.rounds)
    assert first.chunks == before.chunks * (network.nodes if twice else 1)
    assert not faults(first.schedule, network)
    if twice:
        assert found.front.limit == allreduce_load(network, (network.nodes,))


def test_sums_of_phases_that_lead_through_other_chips() -> None:
    """Half the chips of a DGX-1 have no card: across boxes they go through chips that have."""
    found = collective_front(
        topology="dgx-1:nodes=2", method="phases", collective="allreduce", time_limit=20
    )
    assert found.rows
    assert not any(faults(row.schedule, found.machine.network) for row in found.rows)


def test_a_search_is_widened_where_it_leaves_room() -> None:
    """Beyond what is found in time: rows of each method, none beaten by another."""
    found = collective_front(topology=LEAVES, time_limit=3)
    assert found.row_methods[0] == "search"
    assert found.row_methods[-1] == "phases"
    searched = [
        row.load
        for row, method in zip(found.rows, found.row_methods, strict=True)
        if method == "search"
    ]
    assert found.rows[-1].load < min(searched)


def test_long_fractions_are_told_as_decimals() -> None:
    long = Fraction(2**60, 3**39)
    words = gap_words([Gap(steps=4, load=long, chunks=1, reason=TIME)])
    assert f"4 steps down to {float(long):.4g}:" in words
    assert load_words(long) == f"{float(long):.4g}"


def test_answers_are_compared_and_printed_shortly() -> None:
    one, same, other = (collective_front(topology=name) for name in ("ring:4", "ring:4", "ring:5"))
    assert one == same
    assert one != other
    assert repr(one) == "<FrontAnswer: allgather on ring:4, optimal: (2, 2, 3)>"
    assert len(repr(one.front)) + len(repr(one.machine)) < 1000


def test_search_alone_is_asked_for() -> None:
    found = collective_front(topology="ring:4", method="search")
    assert set(found.row_methods) == {"search"}
    assert found.status == "optimal"


def test_chunks_and_steps_of_a_method() -> None:
    """Two pieces in at most five steps, cut into six chunks."""
    found = collective_front(
        topology="dgx-1:nodes=2", method="trees", chunks=6, steps=5, time_limit=20
    )
    assert cells(found) == [(6, 5, 21)]
    none = collective_front(topology="dgx-1:nodes=2", method="trees", steps=3, time_limit=20)
    assert (none.rows, none.status) == ((), "infeasible")
    assert "no schedule has fewer than 4 steps" in none.front.ends


@each(("chunks", "steps", "words"), [
    (6, 3, "of 6 chunks in 3 steps: their fewest are 5; a search may find one"),
    (None, 3, "in 3 steps: their fewest are 5; a search may find one"),
    (5, None, "of 5 chunks: their chunks are a multiple of 6; a search may find one"),
])  # fmt: skip
def test_what_a_method_does_not_make(chunks: int | None, steps: int | None, words: str) -> None:
    """The time does not end it: a search has (6, 3, 7)."""
    none = collective_front(topology="dgx1", method="trees", chunks=chunks, steps=steps)
    assert (none.rows, none.status) == ((), "infeasible")
    assert none.front.ends == f"trees on dgx-1 have no schedule {words}"


def test_no_method_has_more_chunks_than_asked_for(trees: FrontAnswer) -> None:
    """Of an all-reduce as many per chip."""
    found = collective_front(topology="dgx-1:nodes=2", max_chunks=8, method="trees")
    assert cells(found) == [cell for cell in cells(trees) if cell[0] <= 8]
    widened = collective_front(topology=LEAVES, max_chunks=8, time_limit=2)
    assert widened.row_methods[-1] == "phases"
    assert max(row.chunks for row in widened.rows) == 8
    both = collective_front(
        topology="dgx-1:nodes=2", max_chunks=8, method="trees", collective="allreduce"
    )
    assert max(row.chunks for row in both.rows) == 8 * 16
    none = collective_front(topology="dgx1", method="trees", max_chunks=4)
    assert (none.rows, none.status) == ((), "infeasible")
    assert none.front.ends == (
        "trees on dgx-1 have no schedule of at most 4 chunks: their chunks are a multiple of 6; "
        "a search may find one"
    )


@each(
    ("fields", "line"),
    [
        ({"topology": LEAVES, "method": "trees"}, "ports or trunks that several links share"),
        ({"topology": "mesh:4x4", "method": "phases"}, "no groups of one size"),
        ({"topology": "mesh:4x4", "method": "phase"}, "method: 'phase' is not one of"),
        (
            {"topology": "mesh:4x4", "method": "trees", "collective": "alltoall"},
            "ask for search with alltoall",
        ),
        ({"topology": "mesh:4x4", "method": "trees", "size": "1KB"}, "leave --method out"),
    ],
)
def test_what_cannot_be_asked(fields: dict[str, str], line: str) -> None:
    with pytest.raises(InputError) as refused:
        collective_front(**fields)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_groups_are_read_from_trunks_and_widths() -> None:
    def groups(topology: str) -> list[int]:
        return [group[0] for group in alike_groups(machine_of(topology).network)]

    assert groups(LEAVES) == [0, 4, 8, 12]
    assert groups("dgx-1:nodes=4") == [0, 8, 16, 24]
    assert groups("mesh:4x4") == []
    assert methods_for(machine_of(LEAVES), "allgather") == ("phases",)
    assert methods_for(machine_of("mesh:4x4"), "broadcast") == ()


def test_groups_need_not_stand_in_order() -> None:
    """Wide pairs 0-3 and 1-2, narrow links between them."""
    ends = ((0, 1), (0, 3), (1, 0), (1, 2), (2, 1), (2, 3), (3, 0), (3, 2))
    wide = {(0, 3), (3, 0), (1, 2), (2, 1)}
    network = Network(nodes=4, links=ends, lanes=tuple(2 if end in wide else 1 for end in ends))
    assert alike_groups(network) == ((0, 3), (1, 2))


def test_orbits() -> None:
    assert orbit_count(6, [(1, 2, 0, 3, 4, 5)]) == 4
    assert orbit_count(6, []) == 6

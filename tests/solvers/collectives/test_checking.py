"""The replay finds every fault that is put into a schedule, and no other."""

from dataclasses import replace

import pytest
from collective_networks import dgx1, ring, switch
from support.cases import each

from solvers.collectives.checking import Fault, faults, goal_for
from solvers.collectives.compose import in_turn, local_reduce, reverse, split
from solvers.collectives.problem import goal_of
from solvers.collectives.schedule import Schedule, Send

TRIANGLE = ring(3)
GATHERED = Schedule(
    collective="allgather",
    chunks=1,
    rounds=(1,),
    sends=tuple(Send(0, u, v, u) for u in range(3) for v in range(3) if u != v),
)
"""Every node of a triangle sends its chunk to both others."""
ROUND = Schedule(
    collective="allgather",
    chunks=1,
    rounds=(1, 1),
    sends=tuple(Send(step, u, (u + 1) % 3, (u - step) % 3) for step in range(2) for u in range(3)),
)
"""The same one way round."""
SUMS = reverse(ROUND)


def rules(found: tuple[Fault, ...]) -> list[str]:
    return [fault.rule for fault in found]


def with_send(schedule: Schedule, at: int, send: Send) -> Schedule:
    sends = list(schedule.sends)
    sends[at] = send
    return replace(schedule, sends=tuple(sends))


def test_right_schedules_have_no_fault() -> None:
    assert faults(GATHERED, TRIANGLE) == faults(ROUND, TRIANGLE) == ()
    assert faults(SUMS, TRIANGLE) == ()
    assert SUMS.collective == "reduce-scatter"
    assert faults(in_turn(SUMS, ROUND, members=3), TRIANGLE) == ()
    assert faults(local_reduce(GATHERED), TRIANGLE) == ()


@each(
    ("send", "rule", "words"),
    [
        (Send(7, 0, 1, 0), "step", "steps are 0 to 1"),
        (Send(0, 0, 0, 0), "link", "no link from 0 to 0"),
        (Send(0, 0, 1, 9), "chunk", "chunks are 0 to 2"),
        (Send(0, 0, 1, 0, True), "kind", "adds nothing up"),
        (Send(0, 0, 1, 2), "holds", "node 0 does not have it before step 0"),
    ],
)
def test_a_wrong_send_is_named(send: Send, rule: str, words: str) -> None:
    found = faults(with_send(ROUND, 0, send), TRIANGLE)
    assert found[0].rule == rule
    assert found[0].send == 0
    assert words in found[0].text
    assert found[0].text.startswith("send 0 (step ")
    assert "goal" in rules(found[1:])


def test_what_arrives_in_a_step_leaves_in_the_next() -> None:
    hasty = replace(ROUND, rounds=(2,), sends=tuple(send._replace(step=0) for send in ROUND.sends))
    assert rules(faults(hasty, TRIANGLE)) == ["holds"] * 3 + ["goal"] * 3


def test_lanes_and_ports() -> None:
    crowded = replace(ROUND, sends=(*ROUND.sends, Send(0, 0, 1, 0)))
    found = faults(crowded, TRIANGLE)
    assert rules(found) == ["lanes"]
    assert found[0].send == len(ROUND.sends)
    assert "carries 2 chunks; 1 lane in 1 round carries 1" in found[0].text
    one_port = switch(3, 1)
    found = faults(GATHERED, one_port)
    assert rules(found) == ["shared"] * 6
    assert found[0].text.endswith("carries 2 chunks; 1 a round in 1 round carry 1")
    assert faults(replace(GATHERED, rounds=(2,)), one_port) == ()


def test_steps_without_rounds() -> None:
    assert rules(faults(replace(ROUND, rounds=(1, 0)), TRIANGLE))[0] == "rounds"


def test_a_part_added_twice_is_named() -> None:
    sends = (Send(0, 0, 1, 0, True), Send(0, 2, 1, 0, True), Send(1, 0, 1, 0, True))
    schedule = Schedule(collective="reduce", chunks=1, rounds=(1, 1), sends=sends)
    found = faults(schedule, TRIANGLE, root=1)
    assert rules(found) == ["twice"]
    assert found[0].send == 2
    assert "node 1 has already added what node 0 contributes" in found[0].text


def test_half_a_sum_is_no_result() -> None:
    sends = (Send(0, 0, 1, 0, True), Send(1, 1, 2, 0))
    schedule = Schedule(collective="reduce", chunks=1, rounds=(1, 1), sends=sends)
    found = faults(schedule, TRIANGLE, root=2)
    assert rules(found) == ["complete", "goal"]
    assert "the sum lacks what node 2 contributes" in found[0].text
    assert "lacks what nodes 0, 1 contribute" in found[1].text


def test_a_missing_part_is_named() -> None:
    found = faults(replace(SUMS, sends=SUMS.sends[1:]), TRIANGLE)
    assert "goal" in rules(found)


def test_a_node_with_nothing_to_add() -> None:
    groups = ((0, 1),)
    sends = (Send(0, 2, 0, 0, True), Send(0, 1, 0, 0, True))
    schedule = Schedule(collective="reduce", chunks=1, rounds=(1,), sends=sends)
    found = faults(schedule, TRIANGLE, groups=groups)
    assert rules(found) == ["holds"]
    assert found[0].send == 0


def test_local_sums_have_the_goal_of_what_is_gathered() -> None:
    schedule = local_reduce(GATHERED)
    assert schedule.collective == "allreduce"
    assert goal_for(schedule, 3) == goal_of("allgather", 3, 1)
    with pytest.raises(ValueError, match="adds nothing up"):
        goal_for(replace(GATHERED, local_reduce=True), 3)
    with pytest.raises(ValueError, match="gathers nothing whole"):
        local_reduce(SUMS)


def test_compositions_of_other_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="not allgather and allgather"):
        in_turn(ROUND, ROUND, members=3)
    with pytest.raises(ValueError, match="is not reversed"):
        reverse(in_turn(SUMS, ROUND, members=3))
    with pytest.raises(ValueError, match="at least 1"):
        split(ROUND, 0)


def test_pieces_travel_together() -> None:
    finer = split(ROUND, 3)
    assert (finer.chunks, finer.rounds, finer.load) == (3, (3, 3), ROUND.load)
    assert faults(finer, TRIANGLE) == ()
    unequal = in_turn(split(SUMS, 2), split(ROUND, 3), members=3)
    assert (unequal.chunks, unequal.rounds) == (18, (6, 6, 6, 6))
    assert faults(unequal, TRIANGLE) == ()


def test_a_reversed_alltoall_swaps_its_parts() -> None:
    direct = Schedule(
        collective="alltoall",
        chunks=2,
        rounds=(2,),
        sends=tuple(
            Send(0, u, v, (3 * u + v) * 2 + i)
            for u in range(3)
            for v in range(3)
            for i in range(2)
            if u != v
        ),
    )
    assert faults(direct, TRIANGLE) == ()
    assert faults(reverse(direct, group_sizes=(3,)), TRIANGLE.reversed()) == ()
    with pytest.raises(ValueError, match="sizes of its groups"):
        reverse(direct)


def test_reversed_twice_is_the_same() -> None:
    assert reverse(SUMS) == ROUND
    gathered = Schedule(
        collective="gather", chunks=1, rounds=(1,), sends=(Send(0, 1, 0, 1), Send(0, 2, 0, 2))
    )
    assert faults(gathered, TRIANGLE) == ()
    assert reverse(gathered).collective == "scatter"
    assert faults(reverse(gathered), TRIANGLE.reversed()) == ()


def test_a_link_that_is_not_there_on_a_dgx1() -> None:
    schedule = Schedule(collective="broadcast", chunks=1, rounds=(1,), sends=(Send(0, 0, 7, 0),))
    assert faults(schedule, dgx1())[0].text.endswith("there is no link from 0 to 7")

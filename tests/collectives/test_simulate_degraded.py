"""Slow and failed links: what a schedule made for other links costs, what a new one buys."""

from fractions import Fraction

import numpy as np
import pytest

from planner.collectives.degrade import cut_for, degrade, fail, pair_of
from planner.collectives.machines import machine_of
from planner.collectives.program import program_of
from planner.collectives.resynthesis import resynthesis
from planner.collectives.simulate import run
from planner.errors import InputError
from solvers.collectives.checking import faults
from tests.collectives.solved import (
    allgather,
    dgx1,
    failed_pair,
    ring_allgather,
    ring_machine,
    slow_pair,
)

SIZE = 64.0 * 2**20


def test_a_slow_pair_cuts_all_lanes() -> None:
    machine = slow_pair()
    lanes = dict(zip(machine.network.links, machine.network.lanes, strict=True))
    assert (lanes[0, 2], lanes[2, 0], lanes[0, 3], lanes[0, 1]) == (1, 1, 4, 8)
    assert machine.lane_bytes_per_s == 25e9 / 4
    assert machine.notes[-1] == "links 0-2 at 1/4 of their bandwidth"
    assert machine.symmetries == ((2, 3, 0, 1, 6, 7, 4, 5),)


def test_a_slow_link_of_several_lanes_needs_no_cut() -> None:
    machine = degrade(dgx1(), [(0, 1)], 0.5)
    assert machine.lane_bytes_per_s == 25e9
    lanes = dict(zip(machine.network.links, machine.network.lanes, strict=True))
    assert (lanes[0, 1], lanes[0, 4]) == (1, 2)


def test_ports_keep_their_bandwidth() -> None:
    before = machine_of("switch:4")
    after = degrade(before, [(0, 1)], 0.5)
    assert [port.capacity for port in after.network.shared] == [
        2 * port.capacity for port in before.network.shared
    ]


def test_fractions_are_rounded_and_say_so() -> None:
    machine = degrade(dgx1(), [(0, 2), (1, 3)], 0.33)
    assert machine.notes[-2:] == (
        "links 0-2, 1-3 at 1/3 of their bandwidth", "0.33 is rounded to 1/3",
    )  # fmt: skip


def test_a_slow_pair_slows_an_oblivious_schedule_to_its_own_speed() -> None:
    """The figures of the study: 12,529 against 3,134 us at 64 MiB, 3,581 once it is known."""
    table = resynthesis(
        dgx1(), slow_pair(), [allgather(2, 2), allgather(6, 3)], [allgather(12, 3, "slow")],
        np.array([1e3, SIZE]), least_steps=2, least_load=Fraction(1, 3),
    )  # fmt: skip
    rows = {row.what: row for row in table.rows}
    assert list(rows) == ["healthy", "oblivious", "re-synthesized", "lower bound"]
    micro = {name: row.time_s[1] * 1e6 for name, row in rows.items()}
    assert round(micro["healthy"]) == 3134
    assert round(micro["oblivious"]) == 12529
    assert round(micro["re-synthesized"]) == 3581
    assert micro["lower bound"] == pytest.approx(1.4 + 4 / 3 * SIZE / 25e3)
    assert rows["oblivious"].over_healthy[1] == pytest.approx(4.0, abs=0.01)
    assert rows["re-synthesized"].over_healthy[1] == pytest.approx(1.14, abs=0.005)
    assert rows["healthy"].schedules == ("(2,2,3)", "(6,3,7)")
    assert rows["re-synthesized"].schedules == ("(12,3,4)",) * 2
    assert (table.changed, table.reroutes) == (
        "dgx-1; links 0-2 at 1/4 of their bandwidth", False,
    )  # fmt: skip
    for row in table.rows:
        assert (
            row.time_s >= rows["lower bound"].time_s * (1 - 1e-12)
        ).all() or row.what == "healthy"


def test_the_new_schedule_is_right_and_as_good_as_any() -> None:
    new = allgather(12, 3, "slow")
    assert not faults(new, slow_pair().network)
    assert (new.total_rounds, new.load * 4) == (4, Fraction(4, 3))


def test_a_failed_pair_is_routed_around() -> None:
    table = resynthesis(dgx1(), failed_pair(), [allgather(6, 3)], [allgather(5, 3, "failed")],
                        np.array([SIZE]))  # fmt: skip
    healthy, oblivious, new = table.rows
    assert table.reroutes
    assert not faults(allgather(5, 3, "failed"), failed_pair().network)
    assert oblivious.over_healthy[0] > new.over_healthy[0] > 1
    assert new.over_healthy[0] == pytest.approx(6 / 5, abs=0.01)  # 7/5 over 7/6
    assert healthy.over_healthy.tolist() == [1]


def test_a_ring_with_a_gap_goes_the_other_way_round() -> None:
    """Every send over the gap takes n - 1 hops, all of which the barriers wait for."""
    machine = fail(ring_machine(6), [(0, 5)])
    schedule = ring_allgather(6)
    program = program_of(schedule, machine, reroute=True)
    across = next(at for at, one in enumerate(schedule.sends) if (one.source, one.target) == (5, 0))
    hops = [program.link[at] for at, send in enumerate(program.send) if send == across]
    assert [machine.network.links[link] for link in hops] == [(v, v - 1) for v in range(5, 0, -1)]
    hop_s = 0.7e-6 + 1e6 / 25e9
    assert run(program, 1e6).finish_s == pytest.approx(5 * 5 * hop_s)
    assert run(program, 1e6, mode="dependent").finish_s < 5 * 5 * hop_s
    with pytest.raises(InputError, match=r"step 0, 5 to 0, chunk 5\): ring:6 has no such link"):
        program_of(schedule, machine)


def test_symmetries_that_hold_only_together_are_kept() -> None:
    """A rotation by one step moves the slow links, that by two does not."""
    machine = degrade(ring_machine(6), [(0, 1), (2, 3), (4, 5)], 0.5)
    assert machine.symmetries == ((2, 3, 4, 5, 0, 1), (4, 5, 0, 1, 2, 3))


def test_cut_for_keeps_a_schedule_right() -> None:
    cut = cut_for(allgather(2, 2), dgx1(), slow_pair())
    assert (cut.chunks, cut.rounds) == (8, tuple(4 * r for r in allgather(2, 2).rounds))
    assert cut_for(allgather(2, 2), dgx1(), failed_pair()) == allgather(2, 2)


@pytest.mark.parametrize(("factor", "words"), [
    (0.0, "must be above 0"), (1.5, "at most 1"), (float("nan"), "must be above 0"),
])  # fmt: skip
def test_factors_out_of_range_are_refused(factor: float, words: str) -> None:
    with pytest.raises(InputError, match=words):
        degrade(dgx1(), [(0, 2)], factor)


def test_pairs_without_a_link_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        fail(dgx1(), [(0, 7)])
    assert str(caught.value) == ("fail: dgx-1 has no link 0-7; chip 0 is joined to 1, 2, 3, 4")


def test_a_machine_does_not_fall_apart() -> None:
    with pytest.raises(InputError, match="without 0-1, 0-3 some chips of ring:4 cannot be reached"):
        fail(ring_machine(4), [(0, 1), (0, 3)])


@pytest.mark.parametrize(("text", "words"), [
    ("0-9", "degrade: '0-9': dgx-1 has no chip '9'; chips are 0 to 7"),
    ("0:2", "degrade: '0:2' is no pair of chips; write it like 0-2"),
    ("0-7", "degrade: dgx-1 has no link 0-7; chip 0 is joined to 1, 2, 3, 4"),
])  # fmt: skip
def test_pairs_as_people_write_them(text: str, words: str) -> None:
    assert pair_of("0-2", dgx1(), "degrade") == pair_of(" 0 - 2", dgx1(), "degrade") == (0, 2)
    with pytest.raises(InputError) as caught:
        pair_of(text, dgx1(), "degrade")
    assert str(caught.value) == words

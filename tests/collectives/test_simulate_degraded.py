"""Slow and failed links: what a schedule made for other links costs, what a new one buys."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.collectives.machines.degraded import degrade, fail, pair_of
from planner.collectives.machines.machines import machine_of
from planner.collectives.questions.bounds import least_time
from planner.collectives.questions.question import question_of
from planner.collectives.questions.simulation import (
    changed_machine,
    changes_of,
    one_run,
    run_title,
    simulated,
)
from planner.collectives.runs.program import program_of
from planner.collectives.runs.resynthesis import Resynthesis, resynthesis
from planner.collectives.runs.simulate import run
from solvers.collectives.checking import faults
from solvers.collectives.problem import Network
from solvers.collectives.schedule import Schedule, Send
from solvers.collectives.synthesis import synthesize
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
    wires = dict(zip(machine.wires.network.links, machine.wires.bytes_per_s, strict=True))
    assert (wires[0, 2], wires[0, 1]) == (25e9 / 4, 25e9)
    assert machine.wires.network == dgx1().network
    assert machine.symmetries == ((2, 3, 0, 1, 6, 7, 4, 5),)


def test_every_cable_of_a_slow_link_is_slow() -> None:
    """Two cables at half their speed: a chunk takes twice as long, which one cable would not."""
    machine = degrade(dgx1(), [(0, 1)], 0.5)
    assert machine.lane_bytes_per_s == 12.5e9
    lanes = dict(zip(machine.network.links, machine.network.lanes, strict=True))
    assert (lanes[0, 1], lanes[0, 4]) == (2, 4)
    one = Schedule(collective="broadcast", chunks=1, rounds=(2,), sends=(Send(0, 0, 1, 0),))
    assert run(program_of(one, machine), 25e3).finish_s == pytest.approx(0.7e-6 + 2e-6)


def test_ports_keep_their_bandwidth() -> None:
    before = machine_of("switch:4")
    after = degrade(before, [(0, 1)], 0.5)
    assert [port.capacity for port in after.network.shared] == [
        2 * port.capacity for port in before.network.shared
    ]


@each(("share", "lanes", "words"), [
    (0.33, (1, 4), "at 0.33 of their bandwidth; counted at 1/4 where rounds are, in full where "
                   "times are"),
    (0.96, (3, 4), "at 0.96 of their bandwidth; counted at 3/4 where rounds are, in full where "
                   "times are"),
    (0.01, (0, 1), "at 0.01 of their bandwidth; counted as failed where rounds are, in full where "
                   "times are"),
])  # fmt: skip
def test_lanes_are_rounded_down_and_say_so(
    share: float, lanes: tuple[int, int], words: str
) -> None:
    machine = degrade(dgx1(), [(0, 2), (1, 3)], share)
    assert machine.notes[-1] == f"links 0-2, 1-3 {words}"
    count = dict(zip(machine.network.links, machine.network.lanes, strict=True))
    assert (count.get((0, 2), 0), count[0, 3]) == lanes
    assert count.get((0, 2), 0) * machine.lane_bytes_per_s <= share * 25e9
    rate = dict(zip(machine.wires.network.links, machine.wires.bytes_per_s, strict=True))
    assert rate[0, 2] == rate[3, 1] == share * 25e9


def test_a_slow_link_that_is_the_only_way_is_kept() -> None:
    """However slow: others have no more lanes than there may be."""
    machine = degrade(machine_of("linear:3"), [(0, 1)], 0.001)
    lanes = dict(zip(machine.network.links, machine.network.lanes, strict=True))
    assert lanes == {(0, 1): 1, (1, 0): 1, (1, 2): 256, (2, 1): 256}
    assert machine.lane_bytes_per_s == pytest.approx(25e6)


def test_a_slow_pair_slows_an_oblivious_schedule_to_its_own_speed() -> None:
    """The figures of the study: 12,529 against 3,134 us at 64 MiB, 3,581 once it is known."""
    table = resynthesis(
        dgx1(), slow_pair(), [allgather(2, 2), allgather(6, 3)], [allgather(12, 3, "slow")],
        np.array([1e3, SIZE]), least_steps=2, least_s_per_byte=4 / 3 / 25e9,
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
    assert rows["re-synthesized"].schedules == ("(2,2,3) as before", "(12,3,4)")
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


SHARES = (0.01, 0.05, 0.25, 0.5, 0.9, 0.96, 1.0)


@pytest.fixture(scope="module")
def by_share() -> dict[float, Resynthesis]:
    """The all-gather of a DGX-1 whose link 0-2 has a share of its bandwidth; 0: none."""
    question = question_of({"topology": "dgx-1", "max_chunks": 12})
    both = [allgather(2, 2), allgather(6, 3)]
    tables = {}
    for share in (0.0, *SHARES):
        slow = changes_of(dgx1(), [f"0-2={share}"] if share else [], [] if share else ["0-2"])
        worse = changed_machine(dgx1(), slow)
        tables[share] = resynthesis(
            dgx1(), worse, both, _made(worse.network), np.array([1e3, 64e3, 1e6, 64e6]),
            without=[allgather(1, 2, "failed"), allgather(5, 3, "failed")],
            least_steps=2, least_s_per_byte=least_time(replace(question, machine=worse))[1],
        )  # fmt: skip
    return tables


@cache
def _made(network: Network) -> list[Schedule]:
    """What is made for the lanes that a share leaves, without its longest searches."""
    found = [fewest(network, chunks, steps) for chunks, steps in ((5, 2), (12, 3))]
    return [one for one in found if one is not None]


def fewest(network: Network, chunks: int, steps: int) -> Schedule | None:
    return synthesize(network, "allgather", chunks, steps, symmetries=SYMMETRY).decision


SYMMETRY = ((2, 3, 0, 1, 6, 7, 4, 5),)


def test_a_better_link_never_costs_more(by_share: dict[float, Resynthesis]) -> None:
    for what in ("oblivious", "re-synthesized", "lower bound"):
        times = [by_share[share].row(what).time_s for share in SHARES]
        assert (np.diff(times, axis=0) <= 1e-15).all(), what


def test_a_slow_link_is_never_worse_than_none(by_share: dict[float, Resynthesis]) -> None:
    none = by_share[0.0].row("re-synthesized").time_s
    for table in by_share.values():
        rows = {row.what: row.time_s for row in table.rows}
        assert (rows["re-synthesized"] <= none * (1 + 1e-12)).all()
        assert (rows["re-synthesized"] <= rows["oblivious"]).all()
        assert (rows["lower bound"] <= rows["re-synthesized"] * (1 + 1e-9)).all()


def test_runs_without_barriers_have_a_bound_of_their_own(
    by_share: dict[float, Resynthesis],
) -> None:
    """Some beat that of runs with barriers, none its own."""
    ahead = 0
    for table in by_share.values():
        bound = table.row("lower bound")
        assert (bound.dependent_s <= bound.time_s).all()
        for what in ("oblivious", "re-synthesized"):
            dependent_s = table.row(what).dependent_s
            assert (dependent_s >= bound.dependent_s * (1 - 1e-9)).all(), what
            ahead += int((dependent_s < bound.time_s * (1 - 1e-9)).sum())
    assert ahead
    bound = by_share[0.0].row("lower bound")
    assert bound.dependent_s[0] == pytest.approx(1.4e-6)
    assert bound.dependent_s[-1] == pytest.approx(0.7e-6 + 7 / 5 * 64e6 / 25e9)


def test_a_slow_link_costs_what_it_leaves(by_share: dict[float, Resynthesis]) -> None:
    """All lanes are full in the old schedule, so that large sizes take 1 / share as long."""
    for share in SHARES:
        row = by_share[share].row("oblivious")
        assert row.over_healthy[-1] == pytest.approx(1 / share, rel=2e-3)
    assert by_share[0.01].row("re-synthesized").schedules[-1].startswith("(5,3,7)")
    assert by_share[0.96].row("re-synthesized").schedules[-1] == "(6,3,7) as before"
    assert by_share[0.96].row("re-synthesized").over_healthy[-1] < 1.042
    assert by_share[0.25].row("re-synthesized").over_healthy[-1] == pytest.approx(8 / 7, rel=1e-3)
    assert by_share[1.0].row("oblivious").over_healthy.tolist() == [1] * 4


def test_the_changed_machine_is_what_is_drawn() -> None:
    question = question_of({"topology": "dgx-1", "chunks": 2, "steps": 2})
    answered = simulated(question, [1e6], changes=changes_of(dgx1(), ["0-2=0.3"], []),
                         schedule=allgather(2, 2))  # fmt: skip
    assert answered.changed is not None
    drawn = one_run(answered, 1e6)
    best = answered.changed.row("re-synthesized")
    assert drawn.finish_s == pytest.approx(best.time_s[0])
    assert drawn.program.wires.bytes_per_s.min() == 0.3 * 25e9
    assert run_title(answered) == (
        "allgather on dgx-1, 0-2 at 0.3 of its bandwidth, space against time"
    )


@each(("factor", "words"), [
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


@each(("text", "words"), [
    ("0-9", "degrade: '0-9': dgx-1 has no chip '9'; chips are 0 to 7"),
    ("0:2", "degrade: '0:2' is no pair of chips; write it like 0-2"),
    ("0-7", "degrade: dgx-1 has no link 0-7; chip 0 is joined to 1, 2, 3, 4"),
])  # fmt: skip
def test_pairs_as_people_write_them(text: str, words: str) -> None:
    assert pair_of("0-2", dgx1(), "degrade") == pair_of(" 0 - 2", dgx1(), "degrade") == (0, 2)
    with pytest.raises(InputError) as caught:
        pair_of(text, dgx1(), "degrade")
    assert str(caught.value) == words

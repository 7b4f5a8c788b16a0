"""The simulator against the formula, and against what can be worked out by hand."""

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.collectives.machines.degraded import degrade
from planner.collectives.machines.machine import Machine
from planner.collectives.machines.machines import machine_of
from planner.collectives.questions.fronts import timing_of
from planner.collectives.runs import turns
from planner.collectives.runs.program import program_of
from planner.collectives.runs.simulate import (
    MODES,
    formula_s,
    run,
    simulate,
    synchronous_s,
    times_s,
)
from planner.collectives.runs.turns import turns_of
from solvers.collectives.checking import faults
from solvers.collectives.compose import reverse, split
from solvers.collectives.problem import Network, Shared
from solvers.collectives.schedule import Schedule, Send
from solvers.collectives.timed import step_times_s
from tests.collectives.flooding import flooded
from tests.collectives.solved import (
    CELLS,
    allgather,
    allreduce,
    dgx1,
    ring_allgather,
    ring_machine,
)

SIZES = np.geomspace(1e3, 1e9, 17)


def two_links(latency_s: tuple[float, float] = (1e-6, 1e-6), lanes: int = 1) -> Machine:
    """0 to 1 to 2, 1 byte per nanosecond and lane."""
    return Machine(
        label="line", names=("0", "1", "2"),
        network=Network(nodes=3, links=((0, 1), (1, 2)), lanes=(lanes, 1)),
        lane_bytes_per_s=1e9, latency_s=np.array(latency_s),
    )  # fmt: skip


def chain(*sends: Send, chunks: int, rounds: tuple[int, ...]) -> Schedule:
    return Schedule(collective="broadcast", chunks=chunks, rounds=rounds, sends=sends)


@each("cell", CELLS)
def test_steps_kept_apart_take_what_the_formula_says(cell: tuple[int, int]) -> None:
    schedule, machine = allgather(*cell), replace(dgx1(), start_s=8.4e-6)
    program = program_of(schedule, machine)
    formula = formula_s(schedule, machine, SIZES)
    events = [run(program, size).finish_s for size in SIZES.tolist()]
    assert events == pytest.approx(formula, rel=1e-12)
    assert synchronous_s(program, SIZES) == pytest.approx(formula, rel=1e-12)
    by_hand = 8.4e-6 + schedule.steps * 0.7e-6 + schedule.total_rounds / cell[0] * SIZES / 25e9
    assert formula == pytest.approx(by_hand, rel=1e-12)


@each("made", [lambda: reverse(allgather(6, 3)), allreduce])
def test_sums_take_as_long_as_copies(made: Callable[[], Schedule]) -> None:
    schedule, machine = made(), dgx1()
    assert not faults(schedule, machine.network)
    program = program_of(schedule, machine)
    formula = formula_s(schedule, machine, SIZES)
    assert [run(program, x).finish_s for x in SIZES] == pytest.approx(formula, rel=1e-12)
    dependent = np.array([run(program, x, mode="dependent").finish_s for x in SIZES])
    assert (dependent <= formula * (1 + 1e-12)).all()


def test_dependent_sends_of_the_schedule_of_the_paper() -> None:
    """At 128 KB seven rounds in three steps gain from missing barriers; a full lane stays full."""
    program = program_of(allgather(6, 3), dgx1())
    with_barriers = run(program, 128e3).finish_s
    assert with_barriers == pytest.approx(3 * 0.7e-6 + 7 / 6 * 128e3 / 25e9)
    without = run(program, 128e3, mode="dependent").finish_s
    assert 0.8 * with_barriers < without < with_barriers
    assert without >= 7 / 6 * 128e3 / 25e9 + 0.7e-6


@each("mode", MODES)
def test_no_send_begins_before_its_chunk_is_there_and_no_lane_carries_two(mode: str) -> None:
    schedule, machine = allgather(6, 3), dgx1()
    done = simulate(schedule, machine, 1e6, mode=mode)
    there = {(send.chunk, send.target): end for send, end in
             zip(schedule.sends, done.send_end_s.tolist(), strict=True)}  # fmt: skip
    for send, start in zip(schedule.sends, done.send_start_s.tolist(), strict=True):
        assert start >= there.get((send.chunk, send.source), 0.0)
    lanes = dict(zip(machine.network.links, machine.network.lanes, strict=True))
    for ends, count in lanes.items():
        starts = sorted(start for send, start in zip(schedule.sends, done.send_start_s, strict=True)
                        if (send.source, send.target) == ends)  # fmt: skip
        for first, later in zip(starts, starts[count:], strict=False):
            assert later >= first + done.hop_busy_s[0] * (1 - 1e-9)
    assert done.finish_s == done.send_end_s.max() == done.step_end_s[-1]
    assert done.link_busy_s.sum() == pytest.approx(done.hop_busy_s.sum())
    assert set(done.hop_busy_s) == {1e6 / 6 / 25e9}
    assert 0.9 < done.link_use.max() <= 1


@each("spec", ["dgx-1", "dgx-1:nodes=2", "switch:8", "torus:3x3"])
def test_the_timed_objective_has_the_same_steps(spec: str) -> None:
    """Where ports are as fast as links: one formula for the search and for the simulator."""
    machine = machine_of(spec)
    if spec == "dgx-1":
        machine = degrade(machine, [(0, 2)], 0.3)
    schedule = flooded(replace(machine.wires.network, shared=()), "allgather", 3)
    program = program_of(schedule, machine)
    for size in (1e3, 64e3, 64e6):
        timing = timing_of(machine.wires, size)
        steps = step_times_s(schedule, machine.wires.network, timing)
        assert sum(steps) == pytest.approx(times_s(program, np.array([size]))[0], rel=1e-12)
        assert sum(steps) == pytest.approx(run(program, size).finish_s, rel=1e-12)


def test_each_link_keeps_the_order_of_the_schedule() -> None:
    done = simulate(allgather(6, 7), dgx1(), 64e6, mode="dependent")
    for link in set(done.program.link):
        hops = [at for at, own in enumerate(done.program.link) if own == link]
        starts = done.hop_start_s[hops]
        assert (np.diff(starts) >= 0).all()
        assert np.diff([done.program.step[hop] for hop in hops]).min() >= 0


def test_lanes_carry_as_many_chunks_at_once() -> None:
    sends = [Send(0, 0, 1, chunk) for chunk in range(5)]
    schedule = chain(*sends, chunks=5, rounds=(3,))
    done = simulate(schedule, two_links(lanes=2), 5000.0)
    assert done.finish_s == pytest.approx(1e-6 + 3 * 1e-6)  # ceil(5 / 2) turns of 1000 bytes
    assert done.send_start_s.tolist() == pytest.approx([0, 0, 1e-6, 1e-6, 2e-6])


def test_unequal_latencies_count_step_by_step() -> None:
    schedule = chain(Send(0, 0, 1, 0), Send(1, 0, 1, 1), Send(1, 1, 2, 0), Send(2, 1, 2, 1),
                     chunks=2, rounds=(1, 1, 1))  # fmt: skip
    machine = two_links((1e-6, 5e-6))
    done = simulate(schedule, machine, 2000.0)
    assert done.step_end_s.tolist() == pytest.approx([2e-6, 8e-6, 14e-6])
    assert synchronous_s(done.program, np.array([2000.0])) == pytest.approx([14e-6])
    dependent = simulate(schedule, machine, 2000.0, mode="dependent")
    assert dependent.send_start_s.tolist() == pytest.approx([0, 1e-6, 2e-6, 3e-6])
    assert dependent.finish_s == pytest.approx(9e-6)


def test_ports_of_a_switch_are_shared() -> None:
    machine = machine_of("switch:6")
    sends = [Send(0, u, v, 6 * u + v) for u in range(6) for v in range(6) if u != v]
    exchange = Schedule(collective="alltoall", chunks=1, rounds=(5,), sends=tuple(sorted(sends)))
    program = program_of(exchange, machine)
    assert program.turns == (5,)
    expected = formula_s(exchange, machine, SIZES)
    for mode in MODES:
        assert times_s(program, SIZES, mode=mode) == pytest.approx(expected, rel=1e-12)
    for turn in range(5):
        pairs = [machine.network.links[link] for link, own in
                 zip(program.link, program.turn, strict=True) if own == turn]  # fmt: skip
        assert sorted(u for u, _ in pairs) == sorted(v for _, v in pairs) == list(range(6))


@each("seed", range(6))
def test_turns_meet_the_fullest_port(seed: int) -> None:
    """Random sends through a switch with two lanes per port: Koenig's bound, which is met."""
    network = machine_of("switch:7").network
    network = replace(network, shared=tuple(replace(p, capacity=2) for p in network.shared),
                      lanes=(2,) * len(network.links))  # fmt: skip
    links = sorted(np.random.default_rng(seed).integers(0, len(network.links), 60).tolist())
    turns = turns_of(links, network)
    counts = np.bincount(links, minlength=len(network.links))
    fullest = max(-(-counts[list(port.links)].sum() // 2) for port in network.shared)
    assert max(turns) + 1 == fullest
    for turn in range(fullest):
        own = np.bincount([link for link, at in zip(links, turns, strict=True) if at == turn],
                          minlength=len(network.links))  # fmt: skip
        assert max(own[list(port.links)].sum() for port in network.shared) <= 2


def test_where_no_turns_meet_the_bound_some_are_found() -> None:
    """Three pairs of which any two share a port take three turns, though no port has three."""
    network = Network(
        nodes=4, links=((0, 1), (0, 2), (0, 3)), lanes=(1, 1, 1),
        shared=tuple(Shared(links=pair, capacity=1) for pair in ((0, 1), (0, 2), (1, 2))),
    )  # fmt: skip
    assert sorted(turns_of([0, 1, 2], network)) == [0, 1, 2]


def test_steps_that_are_alike_are_shared_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network = replace(machine_of("switch:7").network, nodes=8)  # of no other test
    shared_out: list[object] = []
    greedy = turns._greedy
    monkeypatch.setattr(turns, "_greedy", lambda *asked: shared_out.append(asked) or greedy(*asked))
    first, again, other = (turns_of(links, network) for links in ([0, 1], [1, 0], [0, 0]))
    assert (first, again, other) == ([0, 1], [1, 0], [0, 1])
    assert len(shared_out) == 2


def test_a_ring_takes_a_step_per_neighbour_whatever_the_mode() -> None:
    machine, schedule = ring_machine(8, start_s=5e-6), ring_allgather(8)
    for mode in MODES:
        done = simulate(schedule, machine, 1e6, mode=mode)
        assert done.finish_s == pytest.approx(5e-6 + 7 * (0.7e-6 + 1e6 / 25e9), rel=1e-12)


def test_cut_chunks_take_as_long() -> None:
    machine = dgx1()
    whole, cut = allgather(2, 2), split(allgather(2, 2), 3)
    for size in (1e3, 1e6):
        assert simulate(cut, machine, size).finish_s == pytest.approx(
            simulate(whole, machine, size).finish_s, rel=1e-12
        )


def test_a_step_without_sends_takes_no_time() -> None:
    schedule = chain(Send(0, 0, 1, 0), Send(2, 1, 2, 0), chunks=1, rounds=(1, 1, 1))
    done = simulate(schedule, two_links(), 1000.0)
    assert done.step_end_s.tolist() == pytest.approx([2e-6, 2e-6, 4e-6])


def test_a_run_takes_about_a_millisecond_at_any_size() -> None:
    program = program_of(allgather(6, 3), dgx1())
    for size in (1e3, 1e9):
        best = math.inf
        for _ in range(5):
            begin = time.perf_counter()
            run(program, size, mode="dependent")
            best = min(best, time.perf_counter() - begin)
        assert best < 20e-3  # 0.7 ms when nothing else runs


@each(("send", "words"), [
    (Send(0, 0, 5, 0), "send 0 (step 0, 0 to 5, chunk 0): line has nodes 0 to 2"),
    (Send(0, 0, 2, 0), "send 0 (step 0, 0 to 2, chunk 0): line has no such link"),
    (Send(4, 0, 1, 0), "send 0 (step 4, 0 to 1, chunk 0): steps are 0 to 0"),
])  # fmt: skip
def test_a_send_that_cannot_be_is_named(send: Send, words: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(chain(send, chunks=1, rounds=(1,)), two_links(), 1e3)
    assert str(caught.value) == words


@each("size", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_size_is_refused(size: float) -> None:
    program = program_of(ring_allgather(4), ring_machine(4))
    with pytest.raises(InputError, match=r"size: .* must be a finite number above 0"):
        run(program, size)
    with pytest.raises(InputError, match="size"):
        synchronous_s(program, np.array([size]))


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(InputError, match=r"'dependend' is not one of .*did you mean 'dependent'"):
        simulate(ring_allgather(4), ring_machine(4), 1e3, mode="dependend")

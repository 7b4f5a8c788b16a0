"""Schedules written for the MSCCL runtime, run by the interpreter, and read back."""

from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from collectives.flooding import dgx1, flooded, gathered, network_of
from planner.base.errors import InputError
from planner.collectives.msccl.limits import broken_limits
from planner.collectives.msccl.program import from_xml, to_xml
from planner.collectives.msccl.read import schedule_of
from planner.collectives.msccl.run import run
from planner.collectives.msccl.xml import program_of
from solvers.collectives.checking import faults
from solvers.collectives.problem import Network
from solvers.collectives.schedule import Schedule, Send
from solvers.collectives.synthesis import synthesize

SYMMETRIES = ((2, 3, 0, 1, 6, 7, 4, 5), (4, 5, 6, 7, 0, 1, 2, 3))
RING = network_of(np.roll(np.eye(4, dtype=int), 1, axis=1) * 2)
PLAIN = (
    ("allgather", 2, 0), ("reduce-scatter", 2, 0), ("allreduce", 1, 0), ("broadcast", 3, 2),
    ("reduce", 3, 2), ("gather", 2, 5), ("scatter", 2, 5), ("alltoall", 1, 0),
)  # fmt: skip
GATHERED = (("allgather", 2, 0), ("gather", 2, 3), ("alltoall", 1, 0))


@cache
def best() -> Schedule:
    """The bandwidth-optimal allgather of a DGX-1: (C, S, R) = (6, 3, 7)."""
    found = synthesize(dgx1(), "allgather", 6, 3, symmetries=SYMMETRIES).decision
    assert found is not None
    assert found.total_rounds == 7
    return found


@cache
def made(collective: str, chunks: int, root: int, local: bool) -> Schedule:
    return (gathered if local else flooded)(dgx1(), collective, chunks, root)


def asked() -> list[tuple]:
    cases = [(*case, False) for case in PLAIN] + [(*case, True) for case in GATHERED]
    ways = [(in_place, combined) for in_place in (False, True) for combined in (False, True)]
    return [
        (*case, *way)
        for case in cases
        for way in ways
        if not (case[0] == "alltoall" and not case[3] and way[0])
    ]


@each("in_place", [False, True])
def test_dgx1_allgather_fits_as_designed(in_place):
    """A lane is a channel; 6 lanes each way are 12 thread blocks of 7 chunks, and one that copies
    the own part out of place."""
    program = program_of(best(), dgx1(), in_place=in_place, label="dgx-1")
    assert program.channels == 2
    assert program.name == "allgather-dgx-1-c6-s3-r7"
    assert program.chunks_per_loop == 48
    for gpu in program.gpus:
        moving = [block for block in gpu.blocks if max(block.send, block.recv) >= 0]
        assert len(moving) == 12
        assert len(gpu.blocks) == 12 + (not in_place)
        assert max(len([s for s in b.steps if s.kind in "sr"]) for b in moving) == 7
        assert (gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks) == (6, 48, 0)
    assert run(program).faults == ()


def test_combined_blocks_are_half_as_many():
    program = program_of(best(), dgx1(), combined=True, in_place=True)
    assert {len(gpu.blocks) for gpu in program.gpus} == {6}
    assert run(program).faults == run(program, slots=1).faults == ()


@each("noted", [False, True])
def test_the_best_allgather_comes_back_with_its_steps_and_rounds(noted):
    program = program_of(best(), dgx1())
    if not noted:
        program = replace(program, notes={})
    read, network, root = schedule_of(program, "a.xml")
    assert (read, network, root) == (best(), dgx1(), 0)


@each(("collective", "chunks", "root", "local", "in_place", "combined"), asked())
def test_every_collective_runs_and_comes_back(collective, chunks, root, local, in_place, combined):
    schedule, network = made(collective, chunks, root, local), dgx1()
    program = program_of(schedule, network, root=root, in_place=in_place, combined=combined)
    again = from_xml(to_xml(program), "a.xml")
    assert again == program
    for slots in (None, 1):
        done = run(again, slots=slots)
        assert done.faults == ()
        assert done.races_checked
        assert len(done.transfers) == len(schedule.sends)
    read, _, found = schedule_of(again, "a.xml", network)
    assert faults(read, network, root=root) == ()
    assert found == root
    assert read.collective == schedule.collective
    assert read.local_reduce == local
    assert (read.chunks, read.steps) == (schedule.chunks, schedule.steps)
    assert read.total_rounds <= schedule.total_rounds
    assert sorted(s[1:] for s in read.sends) == sorted(s[1:] for s in schedule.sends)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    nodes=st.integers(2, 6),
    case=st.sampled_from(PLAIN),
    options=st.fixed_dictionaries(
        {"in_place": st.booleans(), "combined": st.booleans(), "channels": st.integers(1, 3)}
    ),
)
def test_random_networks(seed, nodes, case, options):
    graph = nx.gnp_random_graph(nodes, 0.4, seed=seed, directed=True)
    matrix = np.roll(np.eye(nodes, dtype=int), 1, axis=1)
    for u, v in graph.edges:
        matrix[u, v] = 1 + (seed + u + v) % 3
    collective, chunks, root = case[0], case[1], case[2] % nodes
    options["in_place"] &= collective != "alltoall"
    network = network_of(matrix)
    schedule = flooded(network, collective, chunks, root)
    program = program_of(schedule, network, root=root, **options)
    assert run(program, slots=1).faults == ()
    read, _, _ = schedule_of(program, "a.xml", network)
    assert read.steps == schedule.steps
    assert read.total_rounds <= schedule.total_rounds


def test_an_exchange_within_a_step_keeps_what_both_had():
    """Two GPUs that swap their sums in one step: each sends before it adds what it gets."""
    network = network_of([[0, 1], [1, 0]])
    sends = tuple(Send(0, u, 1 - u, c, True) for u in (0, 1) for c in (0, 1))
    schedule = Schedule(collective="allreduce", chunks=2, rounds=(2,), sends=sends)
    for in_place in (False, True):
        program = program_of(schedule, network, in_place=in_place)
        assert run(program, slots=1).faults == ()
        assert schedule_of(program, "a.xml")[0] == schedule


def crowd(nodes: int, lanes: int) -> Network:
    return network_of(lanes * (np.ones((nodes, nodes), dtype=int) - np.eye(nodes, dtype=int)))


def test_many_peers_are_spread_over_channels():
    network = crowd(40, 1)
    program = program_of(flooded(network, "allgather", 1), network)
    assert program.channels == 2
    assert run(program).faults == ()


def test_no_more_additions_in_a_row_than_the_runtime_has_room_for():
    """It keeps the sources of 16 that it takes together; a signal or a wait parts them."""
    line = network_of(np.eye(40, k=1, dtype=int) + np.eye(40, k=-1, dtype=int))
    program = program_of(gathered(line, "gather", 1, 39), line, root=39)
    last = program.gpus[39]
    assert [step.kind for step in last.blocks[-1].steps].count("re") == 39
    assert run(program).faults == ()
    unparted = replace(
        last.blocks[-1], steps=tuple(replace(s, signals=False) for s in last.blocks[-1].steps)
    )
    crammed = replace(last, blocks=(*last.blocks[:-1], unparted))
    (text,) = broken_limits(replace(program, gpus=(*program.gpus[:39], crammed)))
    assert "39 additions in a row; the MSCCL runtime takes at most 16" in text


def test_limits_are_named():
    ring = flooded(RING, "allgather", 180)
    with pytest.raises(InputError, match=r"GPU 0: thread block 0: 270 steps; .* at most 256"):
        program_of(ring, RING)
    network = crowd(29, 4)
    with pytest.raises(InputError, match=r"GPU 0: 225 thread blocks; .* at most 216"):
        program_of(flooded(network, "allgather", 4), network)
    star = np.zeros((36, 36), dtype=int)
    star[0, 1:] = star[1:, 0] = 4
    wide = network_of(star)
    with pytest.raises(InputError, match=r"GPU 0: waits for thread block 139; .* knows 0 to 127"):
        program_of(gathered(wide, "gather", 4), wide)


@each(
    ("options", "words"),
    [
        ({"protocol": "LL64"}, "'LL64' is not one of Simple, LL, LL128"),
        ({"name": "n" * 64}, "64 characters in the name; the MSCCL runtime keeps 63"),
        ({"channels": 0}, "0 channels; at least 1"),
        ({"min_bytes": 8, "max_bytes": 8}, "sizes from 8 to 8 bytes"),
    ],
)
def test_options_that_do_not_fit(options, words):
    with pytest.raises(InputError, match=words):
        program_of(best(), dgx1(), **options)


def test_an_alltoall_does_not_run_in_place():
    with pytest.raises(InputError, match="alltoall cannot run in place"):
        program_of(made("alltoall", 1, 0, False), dgx1(), in_place=True)


def test_a_wrong_schedule_is_not_exported():
    wrong = replace(best(), sends=best().sends[1:])
    with pytest.raises(InputError, match=r"does not reach node|does not have it before"):
        program_of(wrong, dgx1())


def test_a_file_of_other_gpus_does_not_fit_a_network():
    program = program_of(best(), dgx1())
    with pytest.raises(InputError, match="is for 8 GPUs, the network has 4 nodes"):
        schedule_of(program, "a.xml", RING)


def test_chunks_made_of_different_chunks_are_no_schedule():
    """An algorithm may be right and still move what the model has no name for."""
    network = network_of([[0, 1], [1, 0]])
    program = program_of(flooded(network, "broadcast", 2), network)
    assert schedule_of(program, "a.xml")[0].chunks == 2
    without = replace(program, collective="custom", notes={})
    with pytest.raises(InputError, match="does not say what this custom collective"):
        schedule_of(without, "a.xml")

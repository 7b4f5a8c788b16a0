"""The interpreter against algorithms written out by hand, right and wrong."""

from dataclasses import replace

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.collectives.msccl.program import (
    Gpu,
    Instruction,
    Program,
    ThreadBlock,
    from_xml,
    to_xml,
)
from planner.collectives.msccl.read import schedule_of
from planner.collectives.msccl.run import run


def ring_allreduce(nodes: int = 3) -> Program:
    """One thread block a GPU that receives, adds and sends on: s, rrs, ..., rrcs, rcs, ..., r."""

    def block(rank: int) -> ThreadBlock:
        kinds = ["s", *["rrs"] * (nodes - 2), "rrcs", *["rcs"] * (nodes - 2), "r"]
        steps = []
        for at, kind in enumerate(kinds):
            place = "i", (rank - at) % nodes
            steps.append(Instruction(kind=kind, src=place, dst=place))
        return ThreadBlock(
            send=(rank + 1) % nodes, recv=(rank - 1) % nodes, channel=0, steps=tuple(steps)
        )

    gpus = tuple(
        Gpu(input_chunks=nodes, output_chunks=nodes, scratch_chunks=0, blocks=(block(rank),))
        for rank in range(nodes)
    )
    return Program(
        name="ring", collective="allreduce", protocol="LL", channels=1, chunks_per_loop=nodes,
        in_place=True, min_bytes=0, max_bytes=2**20, gpus=gpus,
    )  # fmt: skip


def pair(
    *blocks: tuple[tuple[int, int, tuple[Instruction, ...]], ...], inputs: int = 1, **more
) -> Program:
    """An allgather of one chunk between two GPUs: (send, recv, steps) of each thread block."""
    fields = {
        "name": "pair", "collective": "allgather", "protocol": "Simple", "channels": 1,
        "chunks_per_loop": 2, "in_place": True, "min_bytes": 0, "max_bytes": 2**20,
    }  # fmt: skip
    gpus = tuple(
        Gpu(
            input_chunks=inputs,
            output_chunks=more.get("chunks_per_loop", 2),
            scratch_chunks=1,
            blocks=tuple(
                ThreadBlock(send=send, recv=recv, channel=0, steps=steps)
                for send, recv, steps in rows
            ),
        )
        for rows in blocks
    )
    return Program(**(fields | more), gpus=gpus)


def step(kind: str, src: int, dst: int | None = None, buffer: str = "o", **more) -> Instruction:
    there = src if dst is None else dst
    return Instruction(kind=kind, src=(buffer, src), dst=(buffer, there), **more)


SWAP = (
    ((1, -1, (step("s", 0),)), (-1, 1, (step("r", 1),))),
    ((0, -1, (step("s", 1),)), (-1, 0, (step("r", 0),))),
)


@each("nodes", [2, 3, 5])
def test_a_ring_adds_up_and_comes_back_as_a_schedule(nodes):
    done = run(ring_allreduce(nodes))
    assert done.faults == ()
    assert len(done.transfers) == 2 * nodes * (nodes - 1)
    schedule, network, _ = schedule_of(ring_allreduce(nodes), "ring.xml")
    assert (schedule.steps, schedule.total_rounds) == (2 * (nodes - 1),) * 2
    assert len(network.links) == nodes
    assert sum(send.reduces for send in schedule.sends) == nodes * (nodes - 1)


def test_a_swap_is_an_allgather():
    assert run(pair(*SWAP)).faults == ()


def test_an_own_copy_is_needed_out_of_place_only():
    found = run(pair(*SWAP, in_place=False)).faults
    assert found == ("GPU 0: thread block 0: step 0 reads o[0], which holds nothing yet",)


@each(
    ("first", "words"),
    [
        (((1, -1, (step("s", 0),)),), "does not take 1 messages of GPU 1"),
        (((-1, 1, (step("r", 1),)),), "waits for ever for a message from GPU 0"),
        (((1, 1, (step("r", 1), step("s", 0))),), ""),
        (((1, -1, (step("s", 1),)), (-1, 1, (step("r", 1),))), "o[1]"),
        (((1, -1, (step("s", 0, count=2),)), (-1, 1, (step("r", 1),))), "o[1]"),
        (((1, -1, (step("s", 0),)), (-1, 1, (step("r", 0),))), "race"),
        (((1, -1, (step("s", 0),)), (-1, 1, (step("r", 3),))), "uses o[3], but the buffer has 2"),
        (((1, -1, (step("s", 0),)), (-1, 1, (step("rrc", 1),))), "reads o[1], which holds nothing"),
        (((1, -1, (step("s", 0),)), (-1, 1, (step("rrc", 0, 1),))), "holds i[0] of GPU 0"),
        (((1, -1, (step("s", 0, buffer="s"),)), (-1, 1, (step("r", 1),))), "reads s[0]"),
    ],
)
def test_faults_are_found_and_placed(first, words):
    found = run(pair(first, SWAP[1])).faults
    assert bool(found) == bool(words)
    assert words in " ".join(found)


def test_both_receiving_first_is_a_deadlock():
    blocks = [((1 - r, 1 - r, (step("r", 1 - r), step("s", r))),) for r in (0, 1)]
    found = run(pair(*blocks)).faults
    assert len(found) == 2
    assert "GPU 0: thread block 0: step 0 waits for ever for a message from GPU 1" in found[0]


def test_full_connections_hold_up_senders():
    """Three sends before the first receive, on connections of two messages."""
    blocks = [((1 - r, 1 - r, (*[step("s", r)] * 3, *[step("r", 1 - r)] * 3)),) for r in (0, 1)]
    assert "waits for ever for room for a message" in run(pair(*blocks)).faults[0]
    assert run(pair(*blocks, protocol="LL")).faults == ()


def test_a_wait_orders_what_would_race():
    """GPU 1 passes on what arrives: without the wait, by chance."""

    def program(wait: tuple[int, int] | None, signals: bool) -> Program:
        first = ((1, 1, (step("s", 0), step("r", 1))),)
        second = (
            (-1, 0, (step("r", 0, signals=signals),)),
            (0, -1, (step("s", 0, waits_for=wait),)),
        )
        return pair(first, second)

    assert "race" in run(program(None, True)).faults[0]
    waits = " ".join(run(program((0, 0), False)).faults)
    assert "waits for ever for step 0 of thread block 0" in waits
    assert "race" not in " ".join(run(program((0, 0), True)).faults)


def test_adding_twice_is_a_fault():
    again = replace(ring_allreduce(2))
    gpus = []
    for gpu in again.gpus:
        block = gpu.blocks[0]
        kinds = [replace(one, kind="rrc" if one.kind == "r" else one.kind) for one in block.steps]
        gpus.append(replace(gpu, blocks=(replace(block, steps=tuple(kinds)),)))
    assert "a second time" in run(replace(again, gpus=tuple(gpus))).faults[0]


def test_local_additions():
    """re adds one chunk of memory to another."""
    steps = (step("r", 0, buffer="s"), Instruction(kind="re", src=("s", 0), dst=("i", 0)))
    rows = [((1 - r, 1 - r, (step("s", 0, buffer="i"), *steps)),) for r in (0, 1)]
    program = pair(*rows, collective="allreduce", chunks_per_loop=1)
    assert run(program).faults == ()
    schedule, _, _ = schedule_of(program, "a.xml")
    assert schedule.local_reduce
    assert schedule.steps == 1


@each(
    ("fields", "words"),
    [
        ({"chunks_per_loop": 10**12}, "1,000,000,000,000 chunks per loop; the MSCCL runtime takes"),
        ({"chunks_per_loop": 3}, "nchunksperloop is 3, no multiple of the 2 GPUs"),
        ({"chunks_per_loop": 4}, "GPU 0: i_chunks is 1, not 2"),
        ({"channels": 99}, "99 channels; the MSCCL runtime takes at most 32"),
    ],
)
def test_sizes_that_the_runtime_refuses(fields, words):
    assert words in " ".join(run(replace(pair(*SWAP), **fields)).faults)


def test_two_blocks_cannot_share_a_connection():
    twice = (*SWAP[0], (1, -1, (step("s", 0),)))
    found = run(pair(twice, SWAP[1])).faults
    assert found == ("GPU 0: 2 thread blocks send with GPU 1 on channel 0",)


@each(
    ("change", "words"),
    [
        (("<algo", "<algos", 1), "line"),
        (("</algo>", "", 1), "line 1[0-9]: not valid XML"),
        (
            ('coll="allgather"', 'coll="allgathre"', 1),
            "algo: coll: 'allgathre' is not one of .*; did",
        ),
        (('type="s"', 'type="x"', 1), "gpu 0: tb 0: step 0: type: 'x' is not one of"),
        ((' cnt="1"', "", 1), "gpu 0: tb 0: step 0: cnt is missing"),
        (('cnt="1"', 'cnt="one"', 1), "cnt: 'one' is not a whole number"),
        (('ngpus="2"', 'ngpus="3"', 1), "ngpus is 3, so the gpu elements are 0 to 2"),
        (('send="1"', 'send="7"', 1), "gpu 0: tb 0: send and recv are -1 or GPUs 0 to 1"),
        (('send="1"', 'send="-1"', 1), "gpu 0: tb 0: step 0 is s, but send is -1"),
        (('tb id="1"', 'tb id="0"', 1), "gpu 0: tb 0 stands twice"),
        (('step s="0"', 'step s="1"', 1), "its steps are not numbered from 0 in order"),
        (("<algo", '<!DOCTYPE a [<!ENTITY b "c">]><algo', 1), "declares a document type"),
    ],
)
def test_files_that_cannot_be_read(change, words):
    text = to_xml(pair(*SWAP)).replace(*change)
    with pytest.raises(InputError, match=words) as caught:
        from_xml(text, "a.xml")
    assert str(caught.value).startswith("a.xml: ")
    assert "\n" not in str(caught.value)


def test_sums_made_in_memory_and_passed_on_come_back_as_sums():
    """Reduce-scatter into scratch with `re`, then the sums to the other: two steps."""

    def block(rank: int) -> tuple[int, int, tuple[Instruction, ...]]:
        other = 1 - rank
        steps = (
            step("s", other, buffer="i"),
            step("r", 0, buffer="s"),
            Instruction(kind="re", src=("s", 0), dst=("i", rank)),
            step("s", rank, buffer="i"),
            step("r", other, buffer="i"),
        )
        return other, other, steps

    program = pair((block(0),), (block(1),), inputs=2, collective="allreduce")
    assert run(program).faults == ()
    schedule, _, _ = schedule_of(program, "a.xml")
    assert not schedule.local_reduce
    assert [(send.step, send.reduces) for send in schedule.sends] == [
        (0, True), (0, True), (1, False), (1, False),
    ]  # fmt: skip

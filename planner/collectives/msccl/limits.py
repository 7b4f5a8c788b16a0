"""What the MSCCL runtime would refuse or misread in an algorithm.

Source: github.com/microsoft/msccl, src/graph/topo.cc (checks, and additions that are taken
together), src/graph/xml.h and src/include/msccl.h (limits).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from planner.collectives.msccl.program import Gpu, Place, Program, ThreadBlock

MOST_STEPS = 256
"""Instructions of one thread block."""
MOST_BLOCKS = 216
"""Thread blocks of one GPU."""
MOST_ON_CHANNEL = 32
"""Peers that a GPU sends to, or receives from, on one channel."""
MOST_CHANNELS = 32
MOST_COUNT = 71
"""Chunks that one instruction moves."""
MOST_FUSED = 16
"""Additions in a row into one place: the runtime takes them together, with room for so many."""
LAST_AWAITED = 127
"""Highest number of a thread block that others can wait for: the runtime keeps it in 8 bits."""
LAST_OFFSET = 32767
"""Highest offset into a buffer: the runtime keeps it in 16 bits."""
MOST_ELEMENTS = 4096
"""XML elements that the runtime reads: all `gpu` and, of its own, every `tb` and `step`."""
MOST_PARTS = 1024
"""XML elements directly inside one other: all `gpu`; more than the `tb` or `step` allowed."""
MOST_CELLS = 2 * 10**6
"""Chunks of the larger buffer of all GPUs that are read here."""


def broken_limits(program: Program) -> list[str]:
    """What the runtime would refuse or misread, one line each."""
    lines = []
    if program.channels > MOST_CHANNELS:
        lines.append(_over("channels", program.channels, MOST_CHANNELS))
    if program.chunks_per_loop > LAST_OFFSET + 1:
        lines.append(_over("chunks per loop", program.chunks_per_loop, LAST_OFFSET + 1))
    if program.members > MOST_PARTS:
        lines.append(_over("GPUs", program.members, MOST_PARTS))
    cells = program.members * program.chunks_per_loop
    if cells > MOST_CELLS:
        lines.append(f"{cells:,} chunks in the buffers of all GPUs; at most {MOST_CELLS:,}")
    lines += _odd_sizes(program)
    for rank, gpu in enumerate(program.gpus):
        lines += [f"GPU {rank}: {line}" for line in _broken_of(gpu, program.members)]
    return lines


def _odd_sizes(program: Program) -> Iterator[str]:
    """Buffers that are not of the size that the collective gives them."""
    whole, parted = program.chunks_per_loop, ("allgather", "reduce_scatter", "alltoall")
    if program.collective in parted and whole % program.members:
        yield f"nchunksperloop is {whole}, no multiple of the {program.members} GPUs"
        return
    part = whole // program.members
    inputs = part if program.collective == "allgather" else whole
    outputs = part if program.collective == "reduce_scatter" else whole
    for rank, gpu in enumerate(program.gpus):
        if gpu.input_chunks not in (0, inputs):
            yield f"GPU {rank}: i_chunks is {gpu.input_chunks}, not {inputs}"
        if gpu.output_chunks not in (0, outputs):
            yield f"GPU {rank}: o_chunks is {gpu.output_chunks}, not {outputs}"


def _over(what: str, number: int, most: int) -> str:
    return f"{number:,} {what}; the MSCCL runtime takes at most {most:,}"


def _broken_of(gpu: Gpu, members: int) -> Iterator[str]:
    """The limits that one GPU breaks."""
    if len(gpu.blocks) > MOST_BLOCKS:
        yield _over("thread blocks", len(gpu.blocks), MOST_BLOCKS)
    elements = 1 + members + len(gpu.blocks) + sum(len(block.steps) for block in gpu.blocks)
    if elements > MOST_ELEMENTS:
        yield _over("XML elements", elements, MOST_ELEMENTS)
    for number, block in enumerate(gpu.blocks):
        if len(block.steps) > MOST_STEPS:
            yield f"thread block {number}: {_over('steps', len(block.steps), MOST_STEPS)}"
        if (fused := _fused(block)) > MOST_FUSED:
            yield f"thread block {number}: {_over('additions in a row', fused, MOST_FUSED)}"
        largest = max((step.count for step in block.steps), default=0)
        if largest > MOST_COUNT:
            yield f"thread block {number}: {_over('chunks in one step', largest, MOST_COUNT)}"
    yield from _crowded(gpu)
    awaited = [step.waits_for[0] for b in gpu.blocks for step in b.steps if step.waits_for]
    if awaited and max(awaited) > LAST_AWAITED:
        yield f"waits for thread block {max(awaited)}; the MSCCL runtime knows 0 to {LAST_AWAITED}"
    chunks = max(gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks)
    if chunks > LAST_OFFSET + 1:
        yield _over("chunks in one buffer", chunks, LAST_OFFSET + 1)


def _fused(block: ThreadBlock) -> int:
    """The most `re` into one place that nothing parts: neither a wait nor a signal."""
    most = length = 0
    into: tuple[Place, str] | None = None
    for step in block.steps:
        if step.kind == "nop":
            continue
        here = (step.dst, step.src[0]) if step.kind == "re" else None
        goes_on = here is not None and here == into and step.waits_for is None
        length = length + 1 if goes_on else int(here is not None)
        into = None if step.signals else here
        most = max(most, length)
    return most


def _crowded(gpu: Gpu) -> Iterator[str]:
    """Channels with more peers than the runtime keeps."""
    for what in ("send", "recv"):
        peers = Counter(b.channel for b in gpu.blocks if getattr(b, what) >= 0)
        for channel, number in sorted(peers.items()):
            if number > MOST_ON_CHANNEL:
                words = f"thread blocks that {what} on channel {channel}"
                yield _over(words, number, MOST_ON_CHANNEL)


def clashes(program: Program) -> Iterator[str]:
    """Two thread blocks at one end of a connection, and waits for what is not there."""
    for rank, gpu in enumerate(program.gpus):
        for what in ("send", "recv"):
            ends = Counter((getattr(b, what), b.channel) for b in gpu.blocks)
            for (peer, channel), number in sorted(ends.items()):
                if peer >= 0 and number > 1:
                    words = f"{number} thread blocks {what} with GPU {peer} on channel {channel}"
                    yield f"GPU {rank}: {words}"
        for number, block in enumerate(gpu.blocks):
            if not 0 <= block.channel < program.channels:
                yield f"GPU {rank}: thread block {number}: channel {block.channel} is not there"
            if rank in (block.send, block.recv):
                yield f"GPU {rank}: thread block {number} has its own GPU as its peer"
            for at, step in enumerate(block.steps):
                other = step.waits_for
                if other and not (
                    other[0] < len(gpu.blocks) and 0 <= other[1] < len(gpu.blocks[other[0]].steps)
                ):
                    where = f"GPU {rank}: thread block {number}: step {at}"
                    yield f"{where} waits for step {other[1]} of {other[0]}, which is not there"

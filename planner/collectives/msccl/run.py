"""An interpreter of MSCCL algorithms: does the collective come about, whatever the timing?

It knows nothing of how an algorithm was made. Memory cells hold sets of contributions (rank,
offset into its input); connections are queues of few messages; a thread block stands still while
it waits. What is reported: instructions that no run gets past (deadlock), reads of cells that
nothing was written to, contributions added twice, outputs that differ from what the collective
asks for, and races: two instructions of different thread blocks that touch one cell, one of them
writing, without anything that makes one wait for the other.

Source: github.com/microsoft/msccl, src/collectives/device/msccl_interpreter.h (what instructions
do), src/graph/topo.cc (what is refused), src/graph/tuning.cc (which calls are in place).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frozen_records import dataclass
from planner.collectives.msccl.goal import Wanted, wanted_of
from planner.collectives.msccl.limits import broken_limits, clashes
from planner.collectives.msccl.program import RECEIVES, REDUCES, SENDS, Instruction, Place, Program

SLOTS = {"Simple": 2, "LL": 8, "LL128": 8}
"""Messages that a connection holds, by protocol: 8 buffers of NCCL, of which Simple uses 4 each."""
LARGEST_CLOCKS = 2 * 10**8
"""Instructions times thread blocks up to which races are looked for."""

Contributions = frozenset[tuple[int, int]]


class Transfer(NamedTuple):
    """One chunk that crossed a connection.

    Attributes:
        source, target, channel: The connection.
        value: The contributions in it.
        after: Earlier transfers that it is made of, by number.
        not_before: Transfers that read or wrote the cell which it changes, by number.
        strictly: Whether it replaces what the others of `not_before` wrote.
    """

    source: int
    target: int
    channel: int
    value: Contributions
    after: frozenset[int]
    not_before: frozenset[int] = frozenset()
    replaces: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run showed.

    Attributes:
        faults: What is wrong, one line each; empty: the algorithm is right.
        transfers: In the order in which they were sent.
        root: Of a rooted collective; found out where the file does not say it.
        instructions: How many were done.
        races_checked: Whether races were looked for, which takes memory.
    """

    faults: tuple[str, ...]
    transfers: tuple[Transfer, ...]
    root: int
    instructions: int
    races_checked: bool


def run(program: Program, *, slots: int | None = None) -> Run:
    """Run an algorithm once, and say what is wrong with it in any run.

    Args:
        program: The algorithm.
        slots: Messages that a connection holds; default: by the protocol.
    """
    faults = broken_limits(program) + list(clashes(program))
    if faults:
        return Run(faults=tuple(faults), transfers=(), root=0, instructions=0, races_checked=False)
    wanted = wanted_of(program)
    machine = _Machine(program, wanted, slots or SLOTS[program.protocol])
    machine.run()
    root = wanted.root if wanted.root is not None else machine.found_root()
    found = [*machine.faults, *machine.stuck()]
    if not found:
        found = list(machine.wrong_outputs(root))
    return Run(
        faults=tuple(found),
        transfers=tuple(machine.transfers),
        root=root or 0,
        instructions=machine.done,
        races_checked=machine.clocked,
    )


class _Piece(NamedTuple):
    """One chunk of a message."""

    value: Contributions
    after: frozenset[int]
    number: int


class _Message(NamedTuple):
    pieces: list[_Piece]
    clock: NDArray[np.int32] | None


@dataclass(slots=True)
class _Cell:
    """A chunk of memory.

    Attributes:
        value: Contributions in it.
        after: Transfers that wrote what is in it.
        readers: Transfers that read it since it was last replaced.
        written: (thread block, instruction) of the last write.
        read: Of the reads since.
    """

    value: Contributions
    after: frozenset[int] = frozenset()
    readers: set[int] = field(default_factory=set)
    written: tuple[int, int] | None = None
    read: list[tuple[int, int]] = field(default_factory=list)


class _Block:
    """A thread block that runs."""

    def __init__(self, rank: int, number: int, index: int) -> None:
        self.rank, self.number, self.index = rank, number, index
        self.at = 0
        self.clock: NDArray[np.int32] | None = None


class _Machine:
    """All GPUs with their memory, and the connections between them."""

    def __init__(self, program: Program, wanted: Wanted, slots: int) -> None:
        self._program = program
        self._wanted = wanted
        self._slots = slots
        self.faults: list[str] = []
        self.transfers: list[Transfer] = []
        self.done = 0
        self._cells: dict[tuple[int, Place], _Cell] = {}
        self._queues: dict[tuple[int, int, int], deque[_Message]] = defaultdict(deque)
        self._blocks: list[_Block] = []
        self._index: dict[tuple[int, int], int] = {}
        for rank, gpu in enumerate(program.gpus):
            for number in range(len(gpu.blocks)):
                self._index[rank, number] = len(self._blocks)
                self._blocks.append(_Block(rank, number, len(self._blocks)))
            for offset in range(wanted.inputs(gpu.input_chunks)):
                here = rank, wanted.address(rank, ("i", offset))
                self._cells[here] = _Cell(frozenset({(rank, offset)}))
        total = sum(len(b.steps) for gpu in program.gpus for b in gpu.blocks)
        self.clocked = total * len(self._blocks) <= LARGEST_CLOCKS
        if self.clocked:
            for block in self._blocks:
                block.clock = np.zeros(len(self._blocks), dtype=np.int32)
        self._signals: dict[int, list[int]] = {}
        self._clocks: dict[tuple[int, int], NDArray[np.int32]] = {}
        for block in self._blocks:
            steps = program.gpus[block.rank].blocks[block.number].steps
            self._signals[block.index] = [at for at, step in enumerate(steps) if step.signals]

    def run(self) -> None:
        """Lets thread blocks go on until none can."""
        moved = True
        while moved and not self.faults:
            moved = False
            for block in self._blocks:
                while self._goes_on(block):
                    moved = True

    def _goes_on(self, block: _Block) -> bool:
        """Does the next instruction of a thread block, if nothing holds it up."""
        of = self._program.gpus[block.rank].blocks[block.number]
        if block.at >= len(of.steps) or self._holds_up(block) or self.faults:
            return False
        step = of.steps[block.at]
        if step.waits_for is not None:
            other = self._index[block.rank, step.waits_for[0]]
            signal = next(at for at in self._signals[other] if at >= step.waits_for[1])
            self._join(block, self._clocks.get((other, signal)))
        message = None
        if step.kind in RECEIVES:
            message = self._queues[of.recv, block.rank, of.channel].popleft()
            self._join(block, message.clock)
        if block.clock is not None:
            block.clock[block.index] = block.at + 1
        self._do(block, step, message)
        if step.signals and block.clock is not None:
            self._clocks[block.index, block.at] = block.clock.copy()
        block.at += 1
        self.done += 1
        return True

    def _holds_up(self, block: _Block) -> str:
        """What the next instruction of a thread block waits for; empty: nothing."""
        of = self._program.gpus[block.rank].blocks[block.number]
        step = of.steps[block.at]
        if step.waits_for is not None:
            other = self._index[block.rank, step.waits_for[0]]
            done = [at for at in self._signals[other] if step.waits_for[1] <= at]
            if not done or self._blocks[other].at <= done[0]:
                return f"step {step.waits_for[1]} of thread block {step.waits_for[0]}"
        if step.kind in RECEIVES and not self._queues[of.recv, block.rank, of.channel]:
            return f"a message from GPU {of.recv} on channel {of.channel}"
        queue = self._queues[block.rank, of.send, of.channel]
        if step.kind in SENDS and len(queue) >= self._slots:
            return f"room for a message to GPU {of.send} on channel {of.channel}"
        return ""

    @staticmethod
    def _join(block: _Block, clock: NDArray[np.int32] | None) -> None:
        if block.clock is not None and clock is not None:
            np.maximum(block.clock, clock, out=block.clock)

    def _do(self, block: _Block, step: Instruction, message: _Message | None) -> None:
        if step.kind == "nop":
            return
        of = self._program.gpus[block.rank].blocks[block.number]
        arrived: list[_Piece] = message.pieces if message else []
        if message and len(arrived) != step.count:
            self._fault(block, f"receives {step.count} chunks of a message of {len(arrived)}")
            return
        leaving = []
        for at in range(step.count):
            if step.kind == "cpy" and self._onto_itself(block, step, at):
                continue
            piece = self._one(block, step, at, arrived[at] if message else None)
            if piece is None:
                return
            if step.kind in SENDS:
                number = len(self.transfers)
                if step.kind in ("s", "rrs"):
                    cell = self._cells.get(self._here(block, step.src, at))
                    if cell is not None:
                        cell.readers.add(number)
                leaving.append(_Piece(piece.value, piece.after, number))
                self.transfers.append(
                    Transfer(block.rank, of.send, of.channel, piece.value, piece.after)
                )
        if step.kind in SENDS:
            clock = None if block.clock is None else block.clock.copy()
            self._queues[block.rank, of.send, of.channel].append(_Message(leaving, clock))

    def _one(self, block: _Block, step: Instruction, at: int, came: _Piece | None) -> _Piece | None:
        """One chunk of an instruction: what it computes, stored where it says; None: a fault."""
        value: Contributions = came.value if came else frozenset()
        after = frozenset({came.number}) if came else frozenset()
        for end in _READ.get(step.kind, ()):
            place = step.src if end == "src" else step.dst
            cell = self._reading(block, place, at)
            if cell is None:
                return None
            if twice := value & cell.value:
                rank, offset = min(twice)
                self._fault(block, f"adds what GPU {rank} has at i[{offset}] a second time")
                return None
            value, after = value | cell.value, after | cell.after
        if step.kind in _STORES:
            self._store(block, step, at, came, _Piece(value, after, -1))
        return None if self.faults else _Piece(value, after, -1)

    def _here(self, block: _Block, place: Place, at: int) -> tuple[int, Place]:
        buffer, offset = place
        return block.rank, self._wanted.address(block.rank, (buffer, offset + at))

    def _onto_itself(self, block: _Block, step: Instruction, at: int) -> bool:
        """Whether a copy in place has nothing to do."""
        return self._here(block, step.src, at) == self._here(block, step.dst, at)

    def _inside(self, block: _Block, place: Place, at: int) -> bool:
        gpu = self._program.gpus[block.rank]
        sizes = {"i": gpu.input_chunks, "o": gpu.output_chunks, "s": gpu.scratch_chunks}
        if 0 <= place[1] + at < sizes[place[0]]:
            return True
        words = f"{place[0]}[{place[1] + at}]"
        self._fault(block, f"uses {words}, but the buffer has {sizes[place[0]]} chunks")
        return False

    def _reading(self, block: _Block, place: Place, at: int) -> _Cell | None:
        if not self._inside(block, place, at):
            return None
        cell = self._cells.get(self._here(block, place, at))
        if cell is None:
            self._fault(block, f"reads {place[0]}[{place[1] + at}], which holds nothing yet")
            return None
        self._ordered(block, cell.written, place, at)
        cell.read.append((block.index, block.at))
        return cell

    def _store(
        self, block: _Block, step: Instruction, at: int, came: _Piece | None, new: _Piece
    ) -> None:
        """Writes a cell, and notes what the transfer that came must not come before."""
        if not self._inside(block, step.dst, at):
            return
        here = self._here(block, step.dst, at)
        cell = self._cells.setdefault(here, _Cell(frozenset()))
        mine = (block.index, block.at)
        for other in [cell.written, *cell.read]:
            self._ordered(block, other, step.dst, at)
        if came is not None:
            held = frozenset(cell.readers)
            adds = step.kind in REDUCES
            old = self.transfers[came.number]
            self.transfers[came.number] = old._replace(
                not_before=held | (cell.after if adds else frozenset()),
                replaces=frozenset() if adds else cell.after,
            )
        cell.value, cell.after = new.value, new.after
        cell.written, cell.read = mine, []

    def _ordered(self, block: _Block, other: tuple[int, int] | None, place: Place, at: int) -> None:
        """A fault if nothing makes this instruction wait for another that used the same cell."""
        if other is None or block.clock is None or other[0] == block.index:
            return
        if block.clock[other[0]] < other[1] + 1:
            number = self._blocks[other[0]].number
            words = f"{place[0]}[{place[1] + at}] at any time before or after step {other[1]}"
            self._fault(block, f"uses {words} of thread block {number}, which uses it too (race)")

    def _fault(self, block: _Block, words: str) -> None:
        self.faults.append(
            f"GPU {block.rank}: thread block {block.number}: step {block.at} {words}"
        )

    def stuck(self) -> Iterator[str]:
        """What waits for ever, and messages that nobody takes."""
        if self.faults:
            return
        for block in self._blocks:
            steps = self._program.gpus[block.rank].blocks[block.number].steps
            if block.at < len(steps):
                where = f"GPU {block.rank}: thread block {block.number}: step {block.at}"
                yield f"{where} waits for ever for {self._holds_up(block)}"
        for (source, target, channel), queue in sorted(self._queues.items()):
            if queue:
                yield (
                    f"GPU {target} does not take {len(queue)} messages of GPU {source} on channel "
                    f"{channel}"
                )

    def found_root(self) -> int | None:
        """The root of a broadcast or reduction whose file does not name it."""
        return self._wanted.root_of(self._held)

    def _held(self, rank: int, place: Place) -> Contributions:
        cell = self._cells.get((rank, self._wanted.address(rank, place)))
        return cell.value if cell else frozenset()

    def wrong_outputs(self, root: int | None) -> Iterator[str]:
        """Outputs that are not what the collective asks for."""
        if not self._wanted.known:
            yield "the file does not say what this custom collective is to achieve"
            return
        for rank in range(self._program.members):
            for place, value in self._wanted.outputs(rank, root or 0):
                held = self._held(rank, place)
                if held != value:
                    where = f"GPU {rank}: {place[0]}[{place[1]}]"
                    yield f"{where} {_difference(held, value)}"


_READ = {
    "s": ("src",), "cpy": ("src",), "rrs": ("src",), "rrc": ("src",), "rrcs": ("src",),
    "re": ("src", "dst"),
}  # fmt: skip
_STORES = ("r", "rcs", "rrc", "rrcs", "cpy", "re")


def _difference(held: Contributions, value: Contributions) -> str:
    """What an output holds and should hold, in words."""
    if not held:
        return "holds nothing at the end"
    missing, surplus = sorted(value - held), sorted(held - value)
    words = [f"lacks i[{offset}] of GPU {rank}" for rank, offset in missing[:1]]
    words += [f"holds i[{offset}] of GPU {rank}" for rank, offset in surplus[:1]]
    return " and ".join(words)

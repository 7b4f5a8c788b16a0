"""A schedule as an algorithm for the MSCCL runtime.

Each lane of a link is a connection on a channel of its own, with a thread block that sends and one
that receives. Sends keep the order of the schedule, but its steps are no barriers at run time: an
instruction waits only for those of other thread blocks that wrote what it reads or overwrites, or
that read what it overwrites.

All instructions have a place in one order (step, chunk, sends before receives), which every thread
block keeps and in which every wait points back; so nothing can wait for itself, however few
messages a connection holds.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import groupby, takewhile

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.collectives.msccl.layout import Layout
from planner.collectives.msccl.limits import MOST_FUSED, MOST_ON_CHANNEL, broken_limits
from planner.collectives.msccl.program import (
    COLLECTIVES,
    MOST_NOTE,
    NAME_CHARACTERS,
    PROTOCOLS,
    Gpu,
    Instruction,
    Place,
    Program,
    ThreadBlock,
)
from solvers.collectives.checking import faults, goal_for
from solvers.collectives.problem import ROOTED, Goal, Network
from solvers.collectives.schedule import Schedule, Send

MAX_BYTES = 2**30
"""Largest size by default. The runtime allocates scratch memory for it at start-up."""
_MOST = 4
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._:=+x-]+")
_NOT_IN_A_LABEL = re.compile(r"[^A-Za-z0-9._:=+, x-]+")
_LOCAL = (-1, -1, -1, 0)

_Block = tuple[int, int, int, int]


def program_of(
    schedule: Schedule,
    network: Network,
    *,
    root: int = 0,
    name: str = "",
    label: str = "",
    protocol: str = "Simple",
    in_place: bool = False,
    combined: bool = False,
    channels: int | None = None,
    min_bytes: int = 0,
    max_bytes: int = MAX_BYTES,
) -> Program:
    """The algorithm that runs a schedule; rank k is node k.

    Args:
        schedule: What is run.
        network: Its links; a link of b lanes uses b channels.
        root: Of a rooted collective.
        name: Of the algorithm; default: made of the collective, the label and C, S, R.
        label: Of the topology.
        protocol: One of `PROTOCOLS`.
        in_place: For calls whose input and output are one memory; the runtime uses an algorithm
            for one kind of call only.
        combined: One thread block per peer and channel that sends and receives, instead of two:
            half as many, which do one thing at a time.
        channels: At most so many for a link.
        min_bytes, max_bytes: Sizes (of the larger buffer) that it is used for: min <= size < max.

    Raises:
        InputError: The schedule breaks a rule, an option does not fit, or a limit of the runtime
            is exceeded; one line each.
    """
    problems = [fault.text for fault in faults(schedule, network, root=root)]
    if protocol not in PROTOCOLS:
        problems.append(f"protocol: {not_one_of(protocol, PROTOCOLS)}")
    if in_place and schedule.collective == "alltoall":
        problems.append("alltoall cannot run in place: parts arrive where others wait to leave")
    if not 0 <= min_bytes < max_bytes < 2**63:
        problems.append(f"sizes from {min_bytes:,} to {max_bytes:,} bytes: the first is smaller")
    if len(name) > NAME_CHARACTERS:
        most = f"the MSCCL runtime keeps {NAME_CHARACTERS}"
        problems.append(f"{len(name)} characters in the name; {most}")
    if channels is not None and channels < 1:
        problems.append(f"{channels} channels; at least 1")
    _refuse(problems)
    layout = Layout(
        collective=schedule.collective, members=network.nodes, chunks=schedule.chunks, root=root,
        in_place=in_place, local_reduce=schedule.local_reduce,
    )  # fmt: skip
    writer = _Writer(layout, goal_for(schedule, network.nodes, root=root), combined)
    writer.write(schedule, _Lanes(network, schedule, channels))
    gpus = tuple(writer.gpu(node) for node in range(network.nodes))
    used = [block.channel for gpu in gpus for block in gpu.blocks]
    program = Program(
        name=name or _name(schedule, label),
        collective=COLLECTIVES[schedule.collective],
        protocol=protocol,
        channels=1 + max(used, default=0),
        chunks_per_loop=layout.per_loop,
        in_place=in_place,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        gpus=gpus,
        notes=_notes(schedule, root, label),
    )
    _refuse(broken_limits(program))
    return program


def _refuse(problems: list[str]) -> None:
    if problems:
        more = len(problems) - _MOST
        lines = problems[:_MOST] + ([f"and {more:,} more of this kind"] if more > 0 else [])
        raise InputError("\n".join(lines))


def _name(schedule: Schedule, label: str) -> str:
    """`allgather-dgx-1-c6-s3-r7`."""
    ends = f"c{schedule.chunks}-s{schedule.steps}-r{schedule.total_rounds}"
    room = NAME_CHARACTERS - len(schedule.collective) - len(ends) - 2
    middle = _NOT_IN_A_NAME.sub("-", label)[: max(room, 0)].strip("-")
    return "-".join(part for part in (schedule.collective, middle, ends) if part)


def _notes(schedule: Schedule, root: int, label: str) -> dict[str, str]:
    """What the runtime does not need and a reader of the file does."""
    notes = {"collective": schedule.collective}
    if topology := _NOT_IN_A_LABEL.sub("-", label)[:MOST_NOTE].strip("- "):
        notes["topology"] = topology
    if schedule.collective in ROOTED:
        notes["root"] = str(root)
    if schedule.local_reduce:
        notes["local_reduce"] = "1"
    rounds = " ".join(map(str, schedule.rounds))
    return notes | ({"rounds": rounds} if len(rounds) <= MOST_NOTE else {})


class _Lanes:
    """The channel of each send: the lanes of a link take turns."""

    def __init__(self, network: Network, schedule: Schedule, channels: int | None) -> None:
        most = channels or max(network.lanes, default=1)
        self._lanes = {
            link: min(lanes, most) for link, lanes in zip(network.links, network.lanes, strict=True)
        }
        self._nodes = network.nodes
        self._sent: dict[tuple[int, int], int] = defaultdict(int)
        used = {(send.source, send.target) for send in schedule.sends}
        ends = [[link[end] for link in used] for end in (0, 1)]
        peers = max((end.count(node) for end in ends for node in set(end)), default=0)
        self._bands = max((self._lanes[link] for link in used), default=1)
        self._crowded = peers > MOST_ON_CHANNEL

    def channel(self, send: Send) -> int:
        """Lane k is channel k; with many peers, those further round the ring use later ones."""
        link = send.source, send.target
        lane = self._sent[link] % self._lanes[link]
        self._sent[link] += 1
        if not self._crowded:
            return lane
        apart = (send.target - send.source) % self._nodes - 1
        return lane + self._bands * (apart // MOST_ON_CHANNEL)


@dataclass(slots=True, kw_only=True, eq=False)
class _Draft:
    """An instruction that is not numbered yet.

    Attributes:
        block: (sends to, receives from, channel, order) of its thread block.
        kind, src, dst: See `Instruction`.
        waits_for: Others of the same GPU.
        order: Its place among all of its GPU.
        number: Its place in its thread block, with the `nop` before it counted.
        signals: Another waits for it.
    """

    block: _Block
    kind: str
    src: Place = ("i", -1)
    dst: Place = ("o", -1)
    waits_for: list[_Draft] = field(default_factory=list)
    order: int = -1
    number: int = -1
    signals: bool = False


class _Writer:
    """Turns sends into instructions and keeps track of what each memory cell was used for."""

    def __init__(self, layout: Layout, goal: Goal, combined: bool) -> None:
        self._layout = layout
        self._goal = goal
        self._combined = combined
        self._at: dict[tuple[int, int], Place] = {
            (node, chunk): layout.initial(node, chunk)
            for chunk, start in enumerate(goal.initial)
            for node in start
        }
        self._scratch: dict[int, dict[int, int]] = defaultdict(dict)
        self._drafts: dict[int, list[_Draft]] = defaultdict(list)
        self._wrote: dict[tuple[int, Place], _Draft] = {}
        self._read: dict[tuple[int, Place], list[_Draft]] = defaultdict(list)

    def write(self, schedule: Schedule, lanes: _Lanes) -> None:
        """All instructions of a schedule, in the order that thread blocks keep."""
        inorder = sorted(schedule.sends, key=lambda s: (s.step, s.chunk, s.source, s.target))
        for _, group in groupby(inorder, key=lambda send: (send.step, send.chunk)):
            sends = [(send, lanes.channel(send)) for send in group]
            for send, channel in sends:
                self._send(send, channel)
            for send, channel in sends:
                self._receive(send, channel)
        for node in range(self._layout.members):
            self._copies(node)
            self._sums(node)

    def _send(self, send: Send, channel: int) -> None:
        recv = send.target if self._combined else -1
        block = (send.target, recv, channel, 0 if self._combined else 1)
        src = self._at[send.source, send.chunk]
        self._add(send.source, _Draft(block=block, kind="s", src=src, dst=src))

    def _receive(self, send: Send, channel: int) -> None:
        node, chunk = send.target, send.chunk
        back = send.source if self._combined else -1
        block = (back, send.source, channel, 0)
        home = self._home(node, chunk)
        own = self._at.get((node, chunk))
        if send.reduces and own is not None:
            draft = _Draft(block=block, kind="rrc", src=own, dst=home)
        else:
            draft = _Draft(block=block, kind="r", src=home, dst=home)
        self._add(node, draft)
        self._at[node, chunk] = home

    def _home(self, node: int, chunk: int) -> Place:
        """Where a chunk that arrives is kept: in its place at the end, else in scratch."""
        place = self._layout.final(node, chunk) if node in self._goal.final[chunk] else None
        if place is not None:
            return place
        rows = self._scratch[node]
        return "s", rows.setdefault(chunk, len(rows))

    def _copies(self, node: int) -> None:
        """What a node has and keeps, from input to output."""
        for chunk, end in enumerate(self._goal.final):
            place = self._layout.final(node, chunk) if node in end else None
            if place is not None:
                self._copy(node, self._at[node, chunk], place)

    def _copy(self, node: int, src: Place, dst: Place) -> None:
        if self._layout.address(node, src) != self._layout.address(node, dst):
            self._add(node, _Draft(block=_LOCAL, kind="cpy", src=src, dst=dst))

    def _sums(self, node: int) -> None:
        """With local reduction: the own contribution, and then those of the others added."""
        for place, chunks in self._layout.sums(node):
            own = [chunk for chunk in chunks if node in self._goal.initial[chunk]]
            for chunk in own:
                self._copy(node, self._at[node, chunk], place)
            for chunk in chunks:
                if chunk not in own:
                    self._add_up(node, self._at[node, chunk], place)

    def _add_up(self, node: int, src: Place, dst: Place) -> None:
        """Adds a contribution; a signal parts additions that the runtime would take together."""
        drafts = self._drafts[node]
        row = list(takewhile(lambda one: one.kind == "re" and one.dst == dst, reversed(drafts)))
        parted = len(row) % MOST_FUSED == MOST_FUSED - 1
        self._add(node, _Draft(block=_LOCAL, kind="re", src=src, dst=dst, signals=parted))

    def _add(self, node: int, draft: _Draft) -> None:
        """Adds an instruction behind those that touched the same cells before it."""
        reads = draft.kind in ("s", "rrc", "cpy", "re")
        writes = draft.kind != "s"
        src, dst = (node, self._cell(node, draft.src)), (node, self._cell(node, draft.dst))
        read = [src] * reads + [dst] * (draft.kind == "re")
        waits = [self._wrote[cell] for cell in read if cell in self._wrote]
        if writes:
            waits += self._read[dst] + ([self._wrote[dst]] if dst in self._wrote else [])
        draft.waits_for = waits
        draft.order = len(self._drafts[node])
        for cell in read:
            self._read[cell].append(draft)
        if writes:
            self._wrote[dst] = draft
            self._read[dst] = []
        self._drafts[node].append(draft)

    def _cell(self, node: int, place: Place) -> Place:
        return self._layout.address(node, place)

    def gpu(self, node: int) -> Gpu:
        """Thread blocks that receive first, as others wait for those; local work last."""
        drafts = self._drafts[node]
        keys = {draft.block for draft in drafts}
        ordered = sorted(keys, key=lambda key: (key == _LOCAL, key[3], max(key[:2]), key[2]))
        numbers = {key: number for number, key in enumerate(ordered)}
        blocks = {key: [one for one in drafts if one.block == key] for key in ordered}
        for rows in blocks.values():
            _thin_out(rows)
        for rows in blocks.values():
            for draft in rows:
                for other in draft.waits_for:
                    other.signals = True
        sizes = self._layout.sizes(node)
        return Gpu(
            input_chunks=sizes.inputs,
            output_chunks=sizes.outputs,
            scratch_chunks=len(self._scratch[node]),
            blocks=tuple(
                ThreadBlock(
                    send=key[0],
                    recv=key[1],
                    channel=max(key[2], 0),
                    steps=tuple(_instructions(blocks[key], numbers)),
                )
                for key in ordered
            ),
        )


def _thin_out(block: list[_Draft]) -> None:
    """Keeps, per other thread block, the last wait; none that an earlier instruction has done.

    Instructions get their numbers, with one `nop` for each wait but the last.
    """
    done: dict[_Block, int] = {}
    number = 0
    for draft in block:
        last: dict[_Block, _Draft] = {}
        for other in sorted(draft.waits_for, key=lambda one: one.order):
            if other.block != draft.block and other.order > done.get(other.block, -1):
                last[other.block] = other
        draft.waits_for = [last[key] for key in sorted(last)]
        done.update({other.block: other.order for other in draft.waits_for})
        number += max(len(draft.waits_for), 1)
        draft.number = number - 1


def _instructions(block: Iterable[_Draft], numbers: dict[_Block, int]) -> Iterator[Instruction]:
    """An instruction waits for one other; a `nop` before it waits for each further one."""
    for draft in block:
        waits = [(numbers[other.block], other.number) for other in draft.waits_for]
        for awaited in waits[:-1]:
            yield Instruction(kind="nop", count=0, waits_for=awaited)
        yield Instruction(
            kind=draft.kind,
            src=draft.src,
            dst=draft.dst,
            waits_for=waits[-1] if waits else None,
            signals=draft.signals,
        )

"""The nodes of one pipeline stage: its passes in the order of the timeline, layer by layer.

A stage runs one pass after the other. A pass waits for the message of the chunk before it (a
receive, or a plain dependency where both chunks are on one stage); its layers follow one another,
each with its computing and then its collectives, which the next layer waits for. What nothing waits
for until the step ends runs beside: sends, the reduction of a layer's gradients, and the gathering
of the weights of the next layer, one ahead. The optimizer waits for every reduction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.chakra.state import StateWork
from planner.cost.chakra.work import Message, Pass, StageWork, Work
from planner.cost.timeline import Timeline
from planner.schedules.orders import BACKWARD, FORWARD, KINDS, WEIGHT_GRAD

COMPUTE, HOST, LOAD, STORE, SEND, RECEIVE = (
    "compute", "host", "load", "store", "send", "receive",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node of a trace.

    Attributes:
        id: Its number in the stage, from 0.
        name: What it is, for people.
        kind: `COMPUTE` and the others above, or a collective.
        needs: Numbers of the nodes that it waits for.
        seconds: Of computing and of the host.
        flop: Of computing.
        size_bytes: Between chip and memory of computing; of loads and stores; of messages as
            `planner.cost.chakra.work.Message` has it.
        group: Of a collective.
        peer, tag: Stage at the other end of a send or receive, and the number of the message.
    """

    id: int
    name: str
    kind: str
    needs: tuple[int, ...]
    seconds: float = 0.0
    flop: float = 0.0
    size_bytes: float = 0.0
    group: str = ""
    peer: int = -1
    tag: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What the nodes of a stage are made of.

    Attributes:
        index: Which stage.
        work, state: What it does for a micro-batch, and for its weights and gradients.
        layers: (v, 2, 3) dense and expert layers of each chunk, by recomputation.
        places: (v,) which chunk of the model each is.
        chunks: Of the model.
        sizes: Members of each group.
        message_bytes: Of one message between chunks.
        host_s, step_s: Of the host, per pass and per step.
    """

    index: int
    work: StageWork
    state: StateWork
    layers: FloatArray
    places: IntArray
    chunks: int
    sizes: Mapping[str, int]
    message_bytes: float
    host_s: float
    step_s: float

    def works(self, chunk: int) -> list[Work]:
        """Embedding, layers and head of a chunk, in the order of the forward pass."""
        found = [self.work.embedding] if self.places[chunk] == 0 else []
        for (moe, code), work in self.work.layers.items():
            found += [work] * int(self.layers[chunk, int(moe), code])
        return found + ([self.work.head] if self.places[chunk] == self.chunks - 1 else [])

    def shares(self, chunk: int) -> int:
        """Layers of a chunk that have a share of the state; a stage without layers has one."""
        count = int(self.layers[chunk].sum())
        return 1 if not self.layers.sum() and chunk == 0 else count


def expected_nodes(stage: Stage, micro_batches: int) -> int:
    """About how many nodes a stage has, without making them; what is once per step is left out."""
    state = stage.state
    per_step = 0
    for chunk in range(len(stage.places)):
        per_step += (2 if stage.host_s else 0) + (4 if stage.chunks > 1 else 0)  # the messages
        for work in stage.works(chunk):
            passes = (work.forward, work.backward, work.weight_grad)
            kept = [one for one in passes if one.seconds or one.flop]
            messages = [message for one in kept for message in one.messages]
            gathered = () if state.once else state.gathered * 2
            listed = (*messages, *gathered, *state.reduced)
            per_step += len(kept) + sum(stage.sizes.get(one.group, 1) > 1 for one in listed)
    return per_step * micro_batches


def stage_nodes(stage: Stage, timeline: Timeline) -> list[Node]:
    """The nodes of a stage, each behind those that it waits for."""
    build = _Building(stage=stage, timeline=timeline)
    here = np.flatnonzero(timeline.of_stage(stage.index)).tolist()
    passes = [at for at in here if timeline.micro_batch[at] >= 0]
    receivers = defaultdict(list)
    for at in np.flatnonzero(timeline.needs >= 0).tolist():
        receivers[int(timeline.needs[at])].append(at)
    gives = WEIGHT_GRAD if timeline.splits_backward else BACKWARD
    last = {int(timeline.chunk[at]): at for at in passes if timeline.kind[at] == gives}
    first = {int(timeline.chunk[at]): at for at in reversed(passes)}
    for at in passes:
        chunk = int(timeline.chunk[at])
        build.run(at, is_first=first[chunk] == at, is_last=last[chunk] == at)
        build.send(at, receivers[at])
    build.finish()
    return build.nodes


@dataclass(slots=True)
class _Building:
    """The nodes of a stage while they are put in order.

    Attributes:
        chain: The node that the next one of the stage waits for.
        ahead: What gathering one layer ahead waits for: the computing before the chain.
        beside: Nodes that the optimizer waits for.
        after: What each pass ended with, by the operation.
    """

    stage: Stage
    timeline: Timeline
    nodes: list[Node] = field(default_factory=list)
    chain: tuple[int, ...] = ()
    ahead: tuple[int, ...] = ()
    beside: list[int] = field(default_factory=list)
    after: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def run(self, at: int, *, is_first: bool, is_last: bool) -> None:
        """One pass over a chunk."""
        kind, chunk = int(self.timeline.kind[at]), int(self.timeline.chunk[at])
        name = f"{KINDS[kind]} {self.timeline.micro_batch[at]}"
        name += f" chunk {chunk}" if self.timeline.interleave > 1 else ""
        self._arrive(at, name)
        if self.stage.host_s and kind in (FORWARD, BACKWARD):
            self._follow(f"{name} host", HOST, seconds=self.stage.host_s)
        works = self.stage.works(chunk)
        of_layers = {id(work) for work in self.stage.work.layers.values()}
        for number, work in enumerate(works if kind == FORWARD else reversed(works)):
            own = id(work) in of_layers
            each = (work.forward, work.backward, work.weight_grad)[kind]
            words = f"{name} layer {number}"
            gathers = own and kind != WEIGHT_GRAD and (is_first or not self.stage.state.once)
            self._pass(words, each, gathers=gathers)
            if own and kind != FORWARD:
                self._reduce(words, is_last=is_last, kind=kind)
        if not self.stage.layers.sum() and self.stage.shares(chunk):
            self._alone(name, kind, is_last=is_last)
        self.after[at] = self.chain

    def _arrive(self, at: int, name: str) -> None:
        """What a pass waits for: its message, or the chunk before it on the same stage."""
        source = int(self.timeline.needs[at])
        if source < 0:
            return
        peer = int(self.timeline.stage[source])
        if peer == self.stage.index:
            self.chain = tuple(dict.fromkeys((*self.chain, *self.after[source])))
            return
        size = self.stage.message_bytes
        found = self._add(f"{name} receive", RECEIVE, (), size_bytes=size, peer=peer, tag=at)
        self.chain = (*self.chain, found)

    def send(self, at: int, receivers: Sequence[int]) -> None:
        """The messages that a pass gives to other stages."""
        for receiver in receivers:
            peer = int(self.timeline.stage[receiver])
            if peer != self.stage.index:
                size = self.stage.message_bytes
                name = f"{KINDS[int(self.timeline.kind[at])]} {self.timeline.micro_batch[at]} send"
                self._add(name, SEND, self.after[at], size_bytes=size, peer=peer, tag=receiver)

    def _pass(self, name: str, one: Pass, *, gathers: bool) -> None:
        """The computing of a layer and its collectives, behind its weights."""
        needs = list(self.chain)
        if gathers:
            found = (self._exchange(name, each, self.ahead) for each in self.stage.state.gathered)
            needs += [at for at in found if at is not None]
        if one.loaded_bytes:
            needs.append(self._add(f"{name} load", LOAD, self.ahead, size_bytes=one.loaded_bytes))
        self.ahead = self.chain
        if one.seconds or one.flop or len(needs) > len(self.chain):
            cost = {"seconds": one.seconds, "flop": one.flop, "size_bytes": one.memory_bytes}
            self.chain = (self._add(name, COMPUTE, needs, **cost),)
        if one.stored_bytes:
            self._add(f"{name} store", STORE, self.chain, size_bytes=one.stored_bytes)
        for message in one.messages:
            at = self._exchange(name, message, self.chain)
            self.chain = self.chain if at is None else (at,)

    def _reduce(self, name: str, *, is_last: bool, kind: int) -> None:
        """The reduction of the gradients of a layer; nothing but the optimizer waits for it."""
        if self.timeline.splits_backward and kind == BACKWARD:
            return
        state = self.stage.state
        for message in (*state.reduced, *(state.reduced_last if is_last else ())):
            at = self._exchange(name, message, self.chain)
            if at is not None:
                self.beside.append(at)

    def _alone(self, name: str, kind: int, *, is_last: bool) -> None:
        """The state of a stage without layers: its embedding or head."""
        if kind != WEIGHT_GRAD and not self.stage.state.once:
            found = (self._exchange(name, one, self.ahead) for one in self.stage.state.gathered)
            self.beside += [at for at in found if at is not None]
        if kind != FORWARD:
            self._reduce(name, is_last=is_last, kind=kind)

    def finish(self) -> None:
        """The optimizer, what it gives to the other ranks, and the host's time of a step."""
        state = self.stage.state
        self.chain = (*self.chain, *self.beside)
        if state.to_host:
            self._follow("gradients to the host", STORE, size_bytes=state.to_host)
        moved = state.optimizer_bytes
        kind = HOST if state.to_host else COMPUTE
        self._follow("optimizer", kind, seconds=state.optimizer_s, size_bytes=moved)
        if state.from_host:
            self._follow("weights from the host", LOAD, size_bytes=state.from_host)
        found = [self._exchange("updated weights", one, self.chain) for one in state.updated]
        self.chain = tuple(at for at in found if at is not None) or self.chain
        if self.stage.step_s:
            self._follow("step host", HOST, seconds=self.stage.step_s)

    def _follow(self, name: str, kind: str, **more: float) -> None:
        self.chain = (self._add(name, kind, self.chain, **more),)

    def _exchange(self, name: str, message: Message, needs: Iterable[int]) -> int | None:
        """A collective; None where its group has one member."""
        if self.stage.sizes.get(message.group, 1) < 2 or message.size_bytes <= 0:
            return None
        words, size = f"{name} {message.group}", message.size_bytes
        return self._add(words, message.collective, needs, size_bytes=size, group=message.group)

    def _add(self, name: str, kind: str, needs: Iterable[int], **more: float | int | str) -> int:
        found = Node(
            id=len(self.nodes),
            name=name,
            kind=kind,
            needs=tuple(dict.fromkeys(needs)),
            **more,  # type: ignore[arg-type]
        )
        self.nodes.append(found)
        return found.id

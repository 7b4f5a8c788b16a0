"""Where the chunks of a collective lie in the buffers of each GPU for the MSCCL runtime.

With C chunks and n GPUs, `i` and `o` being input and output:

    allgather        GPU k: i[j] -> o[k C + j] everywhere
    reduce-scatter   i[k C + j] of all, added up -> o[j] of GPU k
    allreduce        i[c] of all, added up -> o[c] everywhere
    alltoall         GPU u: i[v C + j] -> o[u C + j] of GPU v
    broadcast        i[c] of the root -> o[c] everywhere
    reduce           i[c] of all, added up -> o[c] of the root
    gather           GPU k: i[k C + j] -> o[k C + j] of the root     (buffers of n C chunks)
    scatter          root: i[k C + j] -> o[k C + j] of GPU k         (buffers of n C chunks)

In place, input and output are one memory: an allgather's input is part k of its output, a
reduce-scatter's output part k of its input, and otherwise i[c] is o[c].
"""

from __future__ import annotations

from frozen_records import dataclass
from planner.collectives.msccl.program import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Chunks of input and output of one GPU."""

    inputs: int
    outputs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Places of the chunks of a schedule.

    Attributes:
        collective: Of the schedule.
        members: n.
        chunks: C of the schedule.
        root: Of a rooted collective.
        in_place: Input and output are one memory.
        local_reduce: Members get all contributions and add them up themselves.
    """

    collective: str
    members: int
    chunks: int
    root: int
    in_place: bool
    local_reduce: bool = False

    @property
    def per_loop(self) -> int:
        """Chunks of the larger of input and output: `nchunksperloop`."""
        whole = self.collective in ("allreduce", "broadcast", "reduce")
        return self.chunks if whole else self.members * self.chunks

    def sizes(self, node: int) -> Sizes:
        """Chunks of input and output; 0 where the collective does not use one."""
        inputs = outputs = self.per_loop
        if self.collective == "allgather":
            inputs = self.chunks
        if self.collective == "reduce-scatter":
            outputs = self.chunks
        if self.collective in ("reduce", "gather") and node != self.root:
            outputs = 0
        if self.collective in ("broadcast", "scatter") and node != self.root:
            inputs = 0
        return Sizes(inputs=inputs, outputs=outputs)

    def initial(self, node: int, chunk: int) -> Place:
        """Where a node that has a chunk at the start has it."""
        part, within = divmod(chunk, self.chunks)
        if self.collective == "allgather":
            return "i", within
        if self.collective == "alltoall" or self._gathered("reduce-scatter"):
            return "i", part % self.members * self.chunks + within
        if self.local_reduce:
            return "i", within
        return "i", chunk

    def final(self, node: int, chunk: int) -> Place | None:
        """Where a node that must have a chunk at the end must have it; None: anywhere."""
        part, within = divmod(chunk, self.chunks)
        if self.local_reduce:
            return None
        if self.collective == "reduce-scatter":
            return "o", within
        if self.collective == "alltoall":
            return "o", part // self.members * self.chunks + within
        return "o", chunk

    def sums(self, node: int) -> list[tuple[Place, list[int]]]:
        """With local reduction: each output that a node adds up, and the chunks that it is of."""
        n, each = self.members, self.chunks
        if not self.local_reduce or (self.collective == "reduce" and node != self.root):
            return []
        if self.collective == "reduce-scatter":
            return [(("o", j), [(u * n + node) * each + j for u in range(n)]) for j in range(each)]
        return [(("o", j), [k * each + j for k in range(n)]) for j in range(each)]

    def address(self, node: int, place: Place) -> Place:
        """One name for each memory cell: in place, an input and an output may be the same."""
        buffer, offset = place
        if not self.in_place or buffer == "s":
            return place
        if self.collective == "allgather":
            return "o", offset + (node * self.chunks if buffer == "i" else 0)
        if buffer == "o":
            return "i", offset + (node * self.chunks if self.collective == "reduce-scatter" else 0)
        return place

    def _gathered(self, collective: str) -> bool:
        return self.local_reduce and self.collective == collective

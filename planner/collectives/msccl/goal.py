"""What each collective of an MSCCL file must leave in the outputs, and which cells are one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from frozen_records import dataclass
from planner.base.numerals import is_digits
from planner.collectives.msccl.program import COLLECTIVES, Place, Program

_NAMES = {xml: name for name, xml in COLLECTIVES.items() if xml != "custom"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The collective of a program.

    Attributes:
        collective: Its name here; empty: a custom one that the file says nothing about.
        members: GPUs.
        each: Chunks of one part; of the whole buffer where there are no parts.
        in_place: Input and output are one memory.
        root: Of a rooted collective; None: not said.
    """

    collective: str
    members: int
    each: int
    in_place: bool
    root: int | None

    @property
    def known(self) -> bool:
        """Whether there is something to compare with."""
        return bool(self.collective)

    def address(self, rank: int, place: Place) -> Place:
        """One name for each memory cell."""
        buffer, offset = place
        if self.in_place and buffer == "i" and self.collective == "allgather":
            return "o", rank * self.each + offset
        if self.in_place and buffer == "o" and self.collective == "reduce-scatter":
            return "i", rank * self.each + offset
        if self.in_place and buffer == "o" and self.collective != "allgather":
            return "i", offset
        return place

    def inputs(self, stated: int) -> int:
        """Chunks of input that a GPU has. In place, a file may state 0 and mean the output."""
        parted = self.collective in ("reduce-scatter", "alltoall", "gather", "scatter")
        whole = self.each * (self.members if parted else 1)
        return stated or (whole if self.in_place else 0)

    def outputs(self, rank: int, root: int) -> Iterator[tuple[Place, frozenset[tuple[int, int]]]]:
        """Each chunk of output that a GPU must have, and what it must hold."""
        everyone, each = range(self.members), self.each
        name = self.collective
        if name in ("reduce", "gather") and rank != root:
            return
        if name in ("allgather", "alltoall", "gather"):
            for part in everyone:
                for at in range(each):
                    there = {"allgather": at, "alltoall": rank * each + at}
                    offset = there.get(name, part * each + at)
                    yield ("o", part * each + at), frozenset({(part, offset)})
        for at in range(0 if name in ("allgather", "alltoall", "gather") else each):
            if name == "broadcast":
                yield ("o", at), frozenset({(root, at)})
            elif name == "scatter":
                yield ("o", rank * each + at), frozenset({(root, rank * each + at)})
            else:
                offset = rank * each + at if name == "reduce-scatter" else at
                yield ("o", at), frozenset((member, offset) for member in everyone)

    def root_of(self, held: Callable[[int, Place], frozenset[tuple[int, int]]]) -> int | None:
        """The root that the outputs of a broadcast or a reduction are from or at."""
        if self.collective == "broadcast":
            origins = {rank for rank, _ in held(0, ("o", 0))}
            return min(origins, default=None)
        if self.collective == "reduce":
            full = [rank for rank in range(self.members) if len(held(rank, ("o", 0))) > 1]
            return full[0] if full else None
        return None


def wanted_of(program: Program) -> Wanted:
    """The collective of a program, by its name in the file and the notes beside it."""
    noted = program.notes.get("collective", "")
    name = _NAMES.get(program.collective) or (noted if noted in ("gather", "scatter") else "")
    whole = name in ("allreduce", "broadcast", "reduce")
    root = program.notes.get("root", "")
    return Wanted(
        collective=name,
        members=program.members,
        each=program.chunks_per_loop // (1 if whole else program.members),
        in_place=program.in_place,
        root=int(root) if is_digits(root) and int(root) < program.members else None,
    )

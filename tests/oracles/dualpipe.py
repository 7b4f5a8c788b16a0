"""DualPipe, group by group: an independent reading of DeepSeek's published step, in plain floats.

Ranks are actors that issue groups of passes; a group starts when its rank is free and all its
inputs are there, and delivers at its end. Source: github.com/deepseek-ai/DualPipe, README.md
(figures, table) and dualpipe/dualpipe.py (the eight phases of a step).
"""

from collections.abc import Sequence
from dataclasses import dataclass

Pass = tuple[str, int, int]  # F, B or W; direction; micro-batch of the direction


class _Rank:
    """Counts the passes that a rank has issued; a direction is named by where it enters."""

    def __init__(self, ranks: int, rank: int) -> None:
        self.swapped = rank >= ranks // 2
        self.done = {"F": [0, 0], "B": [0, 0]}
        self.delayed: list[Pass] = []
        self.groups: list[list[Pass]] = []

    def _next(self, kind: str, phase: int) -> Pass:
        direction = 1 - phase if self.swapped else phase
        number = self.done[kind][direction]
        self.done[kind][direction] += 1
        return kind, direction, number

    def run(self, *, forward: int = -1, backward: int = -1, delay: bool = False) -> None:
        """One group: a forward pass, a backward pass, or both side by side."""
        group = [self._next("F", forward)] if forward >= 0 else []
        if backward >= 0:
            whole = self._next("B", backward)
            grad = ("W", *whole[1:])
            group.append(whole)
            (self.delayed if delay else group).append(grad)
        self.groups.append(group)

    def weights(self) -> None:
        """The oldest weight gradients that were put off."""
        self.groups.append([self.delayed.pop(0)])


def groups_of(ranks: int, m: int, rank: int) -> list[list[Pass]]:
    """What a rank runs, in order; lists of several run side by side."""
    one, half = _Rank(ranks, rank), ranks // 2
    near = min(rank, ranks - 1 - rank)
    outer = half - near - 1
    for _ in range(2 * outer):
        one.run(forward=0)
    for _ in range(near + 1):
        one.run(forward=0)
        one.run(forward=1)
    for _ in range(outer):
        one.run(backward=1, delay=True)
        one.weights()
        one.run(forward=1)
    for turn in range(m // 2 - ranks + near + 1):
        if turn == 0 and outer == 0:
            one.run(forward=0)
            one.run(backward=1)
        else:
            one.run(forward=0, backward=1)
        one.run(forward=1, backward=0)
    for _ in range(outer):
        one.run(backward=1)
        one.run(forward=1, backward=0)
    for last in range(2 * (near + 1)):
        one.run(backward=1 - last % 2, delay=last > near)
    for _ in range(outer):
        one.weights()
        one.run(backward=0, delay=True)
    for _ in range(near + 1):
        one.weights()
    assert not one.delayed
    return one.groups


@dataclass(frozen=True)
class Chunk:
    """Seconds of the passes of one chunk of the model, and what each hides beside another."""

    forward: float
    backward: float
    weight_grad: float
    hidden_forward: float = 0.0
    hidden_backward: float = 0.0


def makespan(chunks: Sequence[Chunk], m: int) -> float:
    """Seconds until every rank has run its groups; fails where they wait for one another."""
    ranks = len(chunks)
    orders = [groups_of(ranks, m, rank) for rank in range(ranks)]
    delivered: dict[tuple[int, Pass], float] = {}
    at, now = [0] * ranks, [0.0] * ranks
    moved = True
    while moved:
        moved = False
        for rank in range(ranks):
            while at[rank] < len(orders[rank]):
                group = orders[rank][at[rank]]
                inputs = [_input(ranks, rank, one) for one in group]
                if any(need is not None and need not in delivered for need in inputs):
                    break
                start = max([now[rank], *(delivered[n] for n in inputs if n is not None)])
                now[rank] = start + _seconds(chunks, rank, group)
                delivered.update({(rank, one): now[rank] for one in group})
                at[rank], moved = at[rank] + 1, True
    assert at == [len(order) for order in orders]
    return max(now)


def _place(ranks: int, rank: int, direction: int) -> int:
    return ranks - 1 - rank if direction else rank


def _input(ranks: int, rank: int, one: Pass) -> tuple[int, Pass] | None:
    kind, direction, _ = one
    place, step = _place(ranks, rank, direction), -1 if direction else 1
    if kind == "F" and place > 0:
        return rank - step, one
    if kind == "B" and place < ranks - 1:
        return rank + step, one
    return None


def _seconds(chunks: Sequence[Chunk], rank: int, group: list[Pass]) -> float:
    both = {"F", "B"} <= {kind for kind, _, _ in group}
    total = 0.0
    for kind, direction, _ in group:
        chunk = chunks[_place(len(chunks), rank, direction)]
        if kind == "F":
            total += chunk.forward - both * chunk.hidden_forward
        elif kind == "B":
            total += chunk.backward - both * chunk.hidden_backward
        else:
            total += chunk.weight_grad
    return total

"""The order in which the ranks of DualPipe run their passes.

A rank at distance h = min(i, pp - 1 - i) from its end calls 0 the direction whose first half it is
in, and 1 the other. F0 is a forward pass of the next micro-batch of direction 0, B1 a whole
backward pass, b1 one without its weight gradients, w the oldest of the weight gradients that wait;
with n = pp / 2 and r = n - h - 1 it runs

    2 r F0;  h + 1 times F0, F1;  r times b1, w, F1;  m/2 - pp + h + 1 times F0&B1, F1&B0;
    r times B1, F1&B0;  h + 1 times B1, B0 (the last h + 1 passes as b);  r times w, b0;  h + 1 w

F0&B1 run side by side: both start when both have what they need, and what they give leaves with
the end of both. Only the first such pair of the two middle ranks runs one after the other.

Source: github.com/deepseek-ai/DualPipe, dualpipe/dualpipe.py, `step`; DeepSeek-V3,
arXiv:2412.19437, section 3.2.1 and figure 5.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

FORWARD, BACKWARD, WEIGHT_GRAD = range(3)  # as in `planner.schedules.orders`

Operation = tuple[int, int, int, bool]
"""Kind, micro-batch, chunk; whether it runs together with the operation before it."""


def passes_of(pp: int, m: int, distance: int) -> Iterator[str]:
    """What a rank runs, in the words of the module; see there.

    Args:
        pp: Ranks, even.
        m: Micro-batches, even and at least 2 pp.
        distance: h.
    """
    rest = pp // 2 - distance - 1
    main = m // 2 - pp + distance + 1
    yield from ("F0",) * (2 * rest)
    yield from ("F0", "F1") * (distance + 1)
    yield from ("b1", "w", "F1") * rest
    yield from ("F0", "B1", "F1&B0") if rest == 0 else ("F0&B1", "F1&B0")
    yield from ("F0&B1", "F1&B0") * (main - 1)
    yield from ("B1", "F1&B0") * rest
    last = ["B1", "B0"] * (distance + 1)
    yield from last[: distance + 1]
    yield from (one.lower() for one in last[distance + 1 :])
    yield from ("w", "b0") * rest
    yield from ("w",) * (distance + 1)


def rank_order(pp: int, m: int, rank: int) -> list[Operation]:
    """The operations of a rank in order.

    Chunk 0 of rank i is the chunk i of the model, which micro-batches 0 .. m/2 - 1 visit from rank
    0 on; chunk 1 is the chunk pp - 1 - i, which the others visit from rank pp - 1 on.

    Args:
        pp, m: As in `passes_of`.
        rank: i.
    """
    second_half = rank >= pp // 2
    counts = {"F": [0, 0], "B": [0, 0]}
    waiting: deque[tuple[int, int]] = deque()
    found: list[Operation] = []
    for words in passes_of(pp, m, min(rank, pp - 1 - rank)):
        together = False
        for word in words.split("&"):
            if word == "w":
                found.append((WEIGHT_GRAD, *waiting.popleft(), False))
                continue
            chunk = int(word[1]) ^ second_half
            seen = counts[word[0].upper()]
            number = chunk * (m // 2) + seen[chunk]
            seen[chunk] += 1
            found.append((FORWARD if word[0] == "F" else BACKWARD, number, chunk, together))
            together = True
            if word[0] == "B":
                found.append((WEIGHT_GRAD, number, chunk, True))
            elif word[0] == "b":
                waiting.append((number, chunk))
    return found

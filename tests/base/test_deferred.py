"""A deferred part of an answer is made once, at the first look, and is like the tuple of it."""

import pickle
from collections.abc import Iterator

from planner.base.deferred import Deferred


def test_it_is_made_at_the_first_look_and_once() -> None:
    looks: list[int] = []

    def make() -> Iterator[int]:
        looks.append(1)
        yield from (3, 1, 2)

    part = Deferred(make)
    assert not looks
    assert (part[0], part[1:], len(part), list(part)) == (3, (1, 2), 3, [3, 1, 2])
    assert (part == (3, 1, 2), part == (3, 1, 2), part == Deferred(make)) == (True, True, True)
    assert part != (3, 1)
    assert part != [3, 1, 2]
    assert (part + (4,), [4] + part) == ((3, 1, 2, 4), (4, 3, 1, 2))  # noqa: RUF005
    assert (hash(part), repr(part)) == (hash((3, 1, 2)), "(3, 1, 2)")
    assert pickle.loads(pickle.dumps(part)) == (3, 1, 2)
    assert len(looks) == 2

"""Numbers of a question that are beyond a limit: the value as typed, both ends, the nearest."""

from typing import Any

import pytest
from cli.command import refused
from support.cases import each

from planner.base.errors import InputError
from planner.base.mistakes import ends_of
from planner.question.request import Request, request_from

SMALL = ("--model", "gpt3-125m", "--hardware", "dgx-h100-ndr", "--chips", 8)


@each(("flag", "line"), [
    ("--pue=0", "pue: 0: must be at least 1 and at most 3; nearest: 1"),
    ("--pue=4", "pue: 4: must be at most 3 and at least 1; nearest: 3"),
    ("--gap=-1", "gap: -1: must be greater than 0 and at most 1"),
    ("--gap=-5%", "gap: -5 %: must be greater than 0 and at most 100 %"),
    ("--gap=150%", "gap: 150 %: must be at most 100 % and greater than 0; nearest: 100 %"),
    ("--gap=1e-400", "gap: '1e-400' is too close to 0"),
    ("--straggler-loss=1e400", "straggler-loss: '1e400' is too large a number"),
    ("--straggler-loss=1", "straggler-loss: 1: must be less than 1 and at least 0"),
    ("--max-memory=1e-400GB", "max-memory: '1e-400GB' is too close to 0"),
    ("--spares=-1", "spares: -1: must be at least 0; nearest: 0"),
    ("--front-points=2.5", "front-points: '2.5' is not all or a whole number from 1 to 10,000; "
     "nearest: 2"),
    ("--set=memory.bandwidth=-1x", "set: memory.bandwidth: value: a positive number is required, "
     "not -3.35e+12 (memory.bandwidth=-1x)"),
])  # fmt: skip
def test_flags(flag: str, line: str) -> None:
    assert refused("solve", *SMALL, flag) == [line]


BOTH = {
    name: found
    for name, field in Request.model_fields.items()
    if len(found := ends_of(field)) > 1 and max(map(abs, found.values())) < 1e15
}
"""Fields whose numbers have two ends, other than those of any number."""


@each("name", list(BOTH))
def test_every_field_of_two_ends_says_both(name: str) -> None:
    ends = BOTH[name]
    low, high = (next(ends[end] for end in pair if end in ends) for pair in ("gt ge", "lt le")
                 for pair in [pair.split()])  # fmt: skip
    for wrong in (low - 1, high + 1):
        asked: dict[str, Any] = {"model": "gpt3-125m", "chips": 8, name: wrong}
        with pytest.raises(InputError, match=f"^{name}: ") as caught:
            request_from(asked)
        (line,) = str(caught.value).split("\n")
        assert f"{low:,.15g}" in line, line
        assert f"{high:,.15g}" in line, line
        assert ("nearest: " in line) == (("ge" if wrong < low else "le") in ends)


def test_there_are_such_fields() -> None:
    assert {"pue", "gap", "straggler_loss", "images", "price_per_chip_hour"} <= BOTH.keys()

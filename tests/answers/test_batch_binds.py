"""Where the values that are asked for leave nothing of this batch, the diagnosis says the batch."""

import re
from typing import Any

from support.cases import each

import planner

JOB: dict[str, Any] = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "chips_exact": True,
    "seq_len": 2048,
}  # fmt: skip
NAMED = re.compile(r"the batch: its ([\d,]+) sequences? would have to be a multiple of ([\d,]+)\b")


def why(fix: dict[str, Any], sequences: int, **fields: Any) -> str:
    """What is said where no plan is; empty where one is."""
    found = planner.solve(**JOB, fix=fix, batch_tokens=sequences * 2048, **fields)
    return "" if found.diagnosis is None else found.diagnosis.explanation


@each(("fix", "sequences", "multiple"), [
    ({"fsdp": 8, "sharding": "zero3"}, 4, 8),
    ({"dp": 8}, 4, 8),
    ({"dp": 8, "micro_batch": 2}, 8, 16),
    ({"dp": 2, "tp": 4, "micro_batch": 3}, 8, 6),
    ({"micro_batch": 64}, 32, 64),
])  # fmt: skip
def test_it_is_named_with_what_frees_it(fix: dict[str, Any], sequences: int, multiple: int) -> None:
    found = NAMED.search(why(fix, sequences))
    assert found is not None
    assert (found[1], found[2]) == (f"{sequences}", f"{multiple}")
    assert not why(fix, multiple)


@each(
    ("fix", "sequences"), [({"dp": 3}, 4), ({"dp": 8, "interleave": 2}, 8), ({"dp": 8, "tp": 2}, 8)]
)
def test_it_is_not_named_where_another_would_not_help(fix: dict[str, Any], sequences: int) -> None:
    for times in (1, 2):
        assert not NAMED.search(why(fix, times * sequences) or "none")


def test_other_layouts_and_machines_say_it_too() -> None:
    for fields in ({"layout": "uneven"}, {"pes": (66, 132)}):
        assert NAMED.search(why({"dp": 8}, 4, **fields))

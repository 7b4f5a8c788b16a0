"""The least and the largest that a job may be, and the batches beside one that does not divide."""

from dataclasses import replace
from typing import Any

import pytest
from support.cases import each
from support.jobs import cost_model, dense_model

from planner.base.errors import InputError
from planner.cost.job import LARGEST_BATCH, LONGEST_SEQUENCE, sequences_in

JOB = cost_model(dense_model(2, 64, 2, 2, 256), "dgx-h100-ndr", global_batch=4).job


@each("field, least, most", [
    ("seq_len", 1, LONGEST_SEQUENCE),
    ("global_batch", 1, LARGEST_BATCH),
    ("lora_rank", 1, None),
])  # fmt: skip
def test_the_ends_of_a_range_are_in_it(field: str, least: int, most: int | None) -> None:
    def with_value(value: int) -> Any:
        fields: dict[str, Any] = {field: value}
        return getattr(replace(JOB, **fields), field)

    assert with_value(least) == least
    with pytest.raises(InputError):
        with_value(least - 1)
    if most is not None:
        assert with_value(most) == most
        with pytest.raises(InputError):
            with_value(most + 1)


def test_sequences_of_a_batch() -> None:
    assert sequences_in(2048, 2048) == 1
    assert sequences_in(3 * 2048, 2048) == 3
    with pytest.raises(InputError, match=r"nearest: 4,096 or 6,144$"):
        sequences_in(5000, 2048)
    with pytest.raises(InputError, match=r"nearest: 2,048$"):
        sequences_in(1000, 2048)

"""Plans listed in plain loops: of small questions, the best is that of the search."""

from __future__ import annotations

import pytest

import planner
from planner.question.request import request_from


def test_each_pool_has_the_clock_of_its_own_cap() -> None:
    """The slowest stage is on the second pool, whose clock is not that of the first."""
    from enumerated import pools  # noqa: PLC0415  (found beside benchmarks)
    from enumerated.drawing import of_few_layers  # noqa: PLC0415  (found beside benchmarks)
    from enumerated.plain import no_freedom  # noqa: PLC0415  (found beside benchmarks)

    fields = {
        "model": of_few_layers("gpt3-350m", 3), "seq_len": 1024, "batch_tokens": 4096,
        "framework": "megatron", "precision": "bf16", "layout": "uneven", "runnable_in": ["any"],
        "pools": "dgx-a100-80-hdr=1,l40s-pcie=2", "power_cap": 250,
        "fix": {"sharding": ["ddp"], "micro_batch": ["1"], "pp": ["3"], "recompute": ["none"]},
    }  # fmt: skip
    answer = planner.solve(**fields)
    listed = pools.on_pools(request_from(fields), no_freedom)
    assert answer.best is not None
    assert listed.best == pytest.approx(answer.best.step_time_s, rel=1e-9)

"""What a plan shrinks to while failure domains are away."""

from __future__ import annotations

from planner.answers.run.sizes import Smaller, ranks_of_domain, smaller_sizes
from planner.cost.goodput.domains import domain_of
from planner.plan import Plan
from planner.question.request import request_from
from planner.question.resolved import resolve


def test_each_domain_that_is_away_takes_all_data_ranks_that_lie_in_it() -> None:
    """A node of 8 chips has two data ranks of 4; 840 sequences are divided by what is left."""
    asked = {"model": "gpt3-1.3b", "hardware": "dgx-h100-ndr", "chips": 48, "seq_len": 2048,
             "batch_tokens": 840 * 2048}  # fmt: skip
    model, plan = resolve(request_from(asked)).cost, Plan(dp=12, tp=4)
    node = domain_of(model.cluster, "node", plan.chips)
    assert ranks_of_domain(plan, node.chips) == 2
    found = smaller_sizes(model, plan, node)
    assert isinstance(found, Smaller)
    left = [12, 10, 8, 6, 4, 2]
    assert found.lost == 2
    assert list(found.ranks) == left
    assert list(found.sizes.chips) == [4.0 * ranks for ranks in left]
    times = list(found.sizes.step_time_s)
    assert times == sorted(times)

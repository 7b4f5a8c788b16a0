"""Weights on the host, by plain arithmetic."""

import pytest
from support.cases import each

from cost.cases import case_of
from planner.plan import Plan


@each(("sharding", "fsdp", "shards"), [("zero3", 8, 8), ("zero3", 2, 2), ("zero1", 1, 1)])
def test_every_rank_brings_its_shard_from_the_host(sharding: str, fsdp: int, shards: int) -> None:
    """In both passes of every layer and micro-batch, and no more of it where zero3 divides it."""
    case = case_of("llama3-8b", batch=16, layers=4).assuming(host_link_overlap=0.0)
    plan = Plan(dp=8 // fsdp, fsdp=fsdp, micro_batch=1, sharding=sharding, offload=("weights",))
    model = case.job.model
    moved = 2 * model.layers * model.layer_parameters("dense") * 2 / shards
    link = case.cluster.chip.host_link_bandwidth_bytes_per_s
    found = case.run([plan]).time_parts["offload"][0]
    assert found == pytest.approx(2 * moved / link, rel=0.03)  # two micro-batches

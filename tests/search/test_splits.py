"""Which layer splits are searched, and what frameworks without pipelines are offered."""

from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model

from models_db import load_model
from planner.answers.diagnosis.diagnosis import diagnose
from planner.answers.diagnosis.uniform import UniformReasons
from planner.frameworks.rules import violations
from planner.plan import (
    EVEN,
    EVEN_COUNTED,
    FRONT,
    FRONT_COUNTED,
    NO_RECOMPUTE,
    SELECTIVE,
    Plan,
    PlanTable,
)
from planner.question.options import SpaceOptions
from planner.search.driver import Driver
from planner.search.limits import Limits, usable_bytes
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import PartialPlans, cross_choices, cross_partial_plans

EVERYTHING = SpaceOptions()


def partial_plans(name: str, options: SpaceOptions = EVERYTHING) -> PartialPlans:
    """All partial plans of a Megatron job on 64 chips."""
    model = cost_model(load_model(name), "dgx-h100-ndr", global_batch=64)
    return cross_partial_plans(model, enumerate_meshes(model, (64,), options), options)


def pipelines(found: PartialPlans, split: int) -> set[tuple[int, int]]:
    """(pp, interleave) pairs with a layer split and more than one stage."""
    pp = found.meshes.columns["pp"][found.mesh_id]
    here = (found.columns["split"] == split) & (pp > 1)
    return set(zip(pp[here].tolist(), found.columns["interleave"][here].tolist(), strict=True))


def test_a_prime_number_of_layers_is_dealt_out_unevenly() -> None:
    """61 layers: no two chunks per stage of any pipeline are equal, so none is interleaved."""
    found = partial_plans("deepseek-v3")
    assert pipelines(found, EVEN) == pipelines(found, EVEN_COUNTED) == set()
    assert {v for pp, v in pipelines(found, FRONT) if pp == 8} == {1}


def test_even_splits_are_not_repeated_unevenly() -> None:
    """40 layers: dealt from the front only where pp does not divide them."""
    found = partial_plans("llama2-13b")
    assert {pp for pp, _ in pipelines(found, EVEN)} == {2, 4, 8}
    assert pipelines(found, FRONT) == {(16, 1), (32, 1)}


def test_a_split_that_is_asked_for_is_searched() -> None:
    front = SpaceOptions(fixed={"split": frozenset({FRONT})})
    found = partial_plans("llama2-13b", front)
    assert pipelines(found, EVEN) == set()
    assert {pp for pp, _ in pipelines(found, FRONT)} == {2, 4, 8, 16, 32}
    chunks = SpaceOptions(fixed={"interleave": frozenset({5})})
    assert pipelines(partial_plans("llama2-13b", chunks), EVEN) == {(2, 5), (4, 5), (8, 5)}
    assert len(partial_plans("deepseek-v3", chunks)) == 0


def test_interleaved_chunks_are_equal_as_the_rule_counts() -> None:
    """torchtitan counts both ends: 30 layers make 16 chunks of 2, 28 do not.

    They would make 32 chunks of 1 as well, but PyTorch gathers more than 3 of a stage again.
    """
    for layers, offered in ((30, {(8, 1), (8, 2)}), (28, {(8, 1)})):
        config = replace(load_model("gpt3-1.3b"), layers=layers)
        model = cost_model(config, "dgx-h100-ndr", global_batch=64, framework="torchtitan")
        pp = SpaceOptions(fixed={"pp": frozenset({8})})
        found = cross_partial_plans(model, enumerate_meshes(model, (8,), pp), pp)
        assert pipelines(found, FRONT_COUNTED) == offered


@pytest.mark.parametrize("name", ["llama2-13b", "mixtral-8x7b"])
def test_fsdp_has_no_pipelines_and_no_expert_parallelism(name: str) -> None:
    model = cost_model(load_model(name), "dgx-h100-ndr", global_batch=64, framework="fsdp")
    options = SpaceOptions()
    meshes = enumerate_meshes(model, (64,), options)
    space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
    assert len(space)
    assert np.all(space.plans.pp == 1)
    assert np.all(space.plans.ep == 1)


def test_a_pipeline_by_hand_is_named() -> None:
    model = cost_model(load_model("llama2-13b"), "dgx-h100-ndr", global_batch=64, framework="fsdp")
    table = PlanTable.from_plans([Plan(pp=2, dp=8, sharding="ddp", split="front")])
    lines = violations(model, table)
    assert "accelerate (fsdp) has no pipeline parallelism: pp 2 must be 1" in lines


def test_sharding_rules_are_one_sentence() -> None:
    model = cost_model(load_model("llama2-13b"), "dgx-h100-ndr", global_batch=64)
    alone = violations(model, PlanTable.from_plans([Plan(tp=4)]))
    assert alone == ["zero1 has no data ranks to shard over (dp x fsdp x cp is 1): use ddp"]
    one = violations(model, PlanTable.from_plans([Plan(dp=8, sharding="zero3")]))
    assert one == [
        "zero3 shards over fsdp x cp, which is 1; the dp 8 ranks are replicas: use fsdp 8 with "
        "dp 1 to shard over them, or ddp"
    ]
    wrong = violations(model, PlanTable.from_plans([Plan(fsdp=4, dp=2)]))
    assert wrong == ["fsdp 4 shards weights and zero1 does not: use zero3, or dp 8 with fsdp 1"]


@pytest.mark.parametrize("moved", ["weights", "activations", "optimizer"])
def test_megatron_offloads_weights_and_activations_without_pipelines(moved: str) -> None:
    model = cost_model(load_model("llama2-13b"), "dgx-h100-ndr", global_batch=64)
    plan = Plan(pp=4, dp=2, offload=(moved,))
    lines = violations(model, PlanTable.from_plans([plan, replace(plan, pp=1)]))
    words = f"megatron moves {moved} to the host without a pipeline only, not with pp 4"
    assert lines == ([] if moved == "optimizer" else [words])
    options = SpaceOptions(offload=True)
    found = Driver().run(
        UniformSpace(model=model, options=options, limits=Limits(memory_bytes=20e9), chips=(16,))
    )
    assert any(plan.offload for plan in map(found.plans.plan, range(len(found.plans))))
    assert not violations(model, found.plans)


def test_selective_recomputation_that_drops_nothing_can_be_asked_for() -> None:
    """Attention that is fused runs again under Megatron-LM; searched where none is not."""
    model = cost_model(load_model("llama2-13b"), "dgx-h100-ndr", global_batch=64)

    def best(recompute: int) -> float:
        options = SpaceOptions(fixed={"recompute": frozenset({recompute})})
        found = Driver().run(
            UniformSpace(model=model, options=options, limits=Limits(), chips=(16,))
        )
        assert found.plans.recompute[0] == recompute
        return float(found.points[0, 0])

    assert best(SELECTIVE) > best(NO_RECOMPUTE)


def explained(offload_bytes: float | None, chips: int, chip_bytes: float | None = None) -> str:
    """Why GPT-3 175B with offloading does not fit; also that the figures conflict."""
    model = cost_model(load_model("gpt3-175b"), "dgx-h100-ndr", global_batch=2048)
    if chip_bytes is not None:
        chip = replace(model.chip, memory_bytes=chip_bytes)
        model = replace(model, cluster=replace(model.cluster, chip=chip))
        assert usable_bytes(model) == 0.0
    options, limits = SpaceOptions(offload=True), Limits(host_bytes=offload_bytes)
    space = UniformSpace(model=model, options=options, limits=limits, chips=(chips,))
    found = Driver().run(space)
    assert len(found.points) == 0
    diagnosis = diagnose(UniformReasons(searched=space, chips=chips, found=found))
    assert diagnosis.needed is not None
    assert diagnosis.available is not None
    assert diagnosis.needed > diagnosis.available
    return diagnosis.explanation


def test_the_host_is_named_beside_the_chip() -> None:
    said = explained(None, 3)
    assert said.startswith("memory and host memory: the leanest plan (tp 3")
    assert "offload optimizer, weights, activations" in said


def test_the_host_alone_is_named() -> None:
    said = explained(100e9, 16)
    assert said.startswith("host memory: of the plans that fit on the chip the leanest on the host")
    assert "of the 100 GB of host memory that each chip has" in said


def test_a_reserve_above_the_capacity_is_named() -> None:
    said = explained(None, 16, chip_bytes=2e9)
    assert "the reserve of megatron alone (2.68 GB" in said
    assert "all 2 GB of each" in said

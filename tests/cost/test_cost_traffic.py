"""What a step moves: every byte once, on the groups that really hold it, in time and in energy."""

import math
from dataclasses import replace

import numpy as np
from support.cases import each

from cost.cases import Case, case_of
from cost.reference_volume import wire
from cost.test_within_chip_traffic import best_integer_tile
from planner.cost.context import mesh_of, networks
from planner.cost.memory.state import shards
from planner.plan import Plan, PlanTable


def wire_total(case: Case, plan: Plan) -> float:
    """Bytes over all levels."""
    return float(sum(column[0] for column in case.run([plan]).wire_bytes.values()))


def memory_traffic(case: Case, plan: Plan) -> float:
    """Device-memory bytes of a step, read back from the energy split (its scale cancels)."""
    found = case.run([plan])
    chip = case.cluster.chip
    ratio = found.energy.parts["memory"][0] / found.energy.parts["compute"][0]
    return float(ratio * found.flop[0] * chip.flop_j["bf16"] / chip.memory_j_per_byte)


def test_data_parallel_volume_by_hand() -> None:
    """Llama 3 8B on 8 chips, zero1: (g-1)/g of 2 and 2 bytes for every parameter, 8 times."""
    case = case_of("llama3-8b", layers=32, batch=8, framework="deepspeed")
    plan = Plan(dp=8, sharding="zero1", sequence_parallel=False)
    assert math.isclose(wire_total(case, plan), 7 / 8 * 4 * 8_030_261_248 * 8, rel_tol=1e-12)
    ddp = replace(plan, sharding="ddp")
    assert math.isclose(wire_total(case, ddp), 7 / 8 * 4 * 8_030_261_248 * 8, rel_tol=1e-12)


def test_tensor_parallel_volume_by_hand() -> None:
    """4 gathers of 2 T h bytes per layer and pass, 7/8 of each received, on 8 chips."""
    case = case_of("llama3-8b", layers=32, batch=4, seq_len=2048, framework="deepspeed")
    plan = Plan(tp=8, sharding="ddp")
    expected = 8 * 7 / 8 * 2 * 4 * 32 * 4 * (2 * 2048 * 4096)
    assert math.isclose(wire_total(case, plan), expected, rel_tol=1e-12)
    full = wire_total(case, replace(plan, recompute="full"))
    assert math.isclose(full, 1.5 * expected, rel_tol=1e-12)


@each(("batch", "interleave"), [(8, 1), (16, 1), (16, 2)])
def test_seconds_of_sends_between_stages_by_hand(batch: int, interleave: int) -> None:
    """Two messages of 2 T h bytes for each micro-batch and chunk, hidden or not."""
    case = case_of("llama3-8b", layers=8, batch=batch, framework="megatron")
    plan = Plan(pp=2, tp=2, sharding="ddp", interleave=interleave)
    plans = PlanTable.from_plans([plan])
    model = case.model
    net = networks(model, mesh_of(plans))["pp"]
    one = float(np.squeeze(net.send_s(np.array([[2 * 4096 * 4096 / 2]]))))
    found = case.run([plan])
    seconds = float(found.communication_s["pipeline_transfer"][0])
    assert math.isclose(seconds, batch * interleave * 2 * one, rel_tol=1e-12)
    assert found.time_parts["pipeline_transfer"][0] <= seconds < found.step_time_s[0]


@each("name", ["gpt3-1.3b", "gemma2-9b"])
def test_a_tied_table_is_reduced_once(name: str) -> None:
    """On one stage the head is the embedding: its gradients are one buffer."""
    case = case_of(name, layers=8, framework="deepspeed")
    plan = Plan(dp=8, sharding="zero1", sequence_parallel=False)
    expected = 7 / 8 * 4 * case.job.model.total_parameters * 8
    assert math.isclose(wire_total(case, plan), expected, rel_tol=1e-9)


def test_experts_under_hybrid_sharding_reduce_their_own_shards() -> None:
    """An expert shard is 1 / (tp cp fsdp / ep) of the experts, not 1 / (cp fsdp)."""
    case = case_of("mixtral-8x7b", layers=4)
    plan = Plan(dp=2, fsdp=4, ep=4, sharding="zero3", sequence_parallel=False)
    book = wire(case.job, case.cluster, case.model.assumptions, plan)
    assert math.isclose(wire_total(case, plan), book.total, rel_tol=1e-9)


@each("order", [("tp", "cp", "fsdp", "dp", "pp"), ("tp", "cp", "dp", "fsdp", "pp")])
def test_memory_and_network_agree_on_who_shares_the_experts(order: tuple[str, ...]) -> None:
    """zero3 divides the experts of a chip by the ranks that gather them."""
    case = case_of("mixtral-8x7b", layers=4)
    plan = Plan(dp=4, fsdp=4, ep=4, sharding="zero3", sequence_parallel=False, order=order)
    table = PlanTable.from_plans([plan])
    _, divided = shards(table, table.sharding[:, None])
    gathered = networks(case.model, mesh_of(table))["expert_shard"].size
    assert divided[0, 0] == gathered[0]


def test_every_replica_updates_its_own_optimizer_shard() -> None:
    """8 shards and 2 x 4: the second keeps, reads and writes the optimizer state twice."""
    case = case_of("llama3-8b", layers=8, framework="deepspeed")
    whole = Plan(fsdp=8, sharding="zero3", sequence_parallel=False)
    hybrid = replace(whole, fsdp=4, dp=2)
    state = case.model.assumptions.optimizer_traffic_bytes * case.job.model.total_parameters
    more = memory_traffic(case, hybrid) - memory_traffic(case, whole)
    assert math.isclose(more, state, rel_tol=1e-6)


def test_recomputation_repeats_the_element_wise_traffic() -> None:
    """One more forward pass moves the operands of its four products once more, and its own.

    The products of a layer by hand; 50 MiB of L2 hold a block of 26 Mi elements.
    """
    case = case_of("llama3-8b", layers=8, framework="deepspeed")
    a, job, chip = case.model.assumptions, case.job, case.cluster.chip
    plan = Plan(dp=8, sharding="zero1", sequence_parallel=False)
    model = job.model
    width = a.row_bytes + a.tp_bytes
    element = 2 * a.elementwise * (model.hidden * width + 2 * a.ffn_bytes * (model.mlp.hidden or 0))
    element *= job.batch_tokens * model.layers
    room = int((chip.l2_bytes or 0) / 2)
    products = sum(
        best_integer_tile(job.seq_len, outputs, inputs, room)
        for inputs, outputs in ((4096, 6144), (4096, 4096), (4096, 2 * 14336), (14336, 4096))
    )
    operands = 2 * job.global_batch * model.layers * products
    more = memory_traffic(case, replace(plan, recompute="full")) - memory_traffic(case, plan)
    assert math.isclose(more, operands + element, rel_tol=1e-6)


def test_experts_move_their_routed_tokens_through_memory() -> None:
    """Routing reads and writes k copies of each token's activations, as in the time of a layer."""
    case = case_of("mixtral-8x7b", layers=4)
    plan = Plan(dp=8, ep=8, sharding="zero1", sequence_parallel=False)
    free = case.assuming(routing_bytes=0.0)
    more = memory_traffic(case, plan) - memory_traffic(free, plan)
    a = case.model.assumptions
    copies = case.job.batch_tokens * 4 * 2 * 4096  # layers, experts per token, hidden
    copies *= 1 + a.elementwise_backward
    assert math.isclose(more, 2 * a.routing_bytes * copies, rel_tol=1e-6)


def test_component_energies_are_in_proportion_to_what_they_count() -> None:
    """FLOP, memory bytes and each level's bytes times their joules, scaled by one factor."""
    case = case_of("llama3-8b", "dgx-h100-ndr", batch=128)
    plan = Plan(dp=4, tp=8, pp=2, sharding="zero1")
    found = case.run([plan])
    chip, parts = case.cluster.chip, found.energy.parts
    scale = parts["compute"][0] / (found.flop[0] * chip.flop_j["bf16"])
    for level in case.cluster.levels:
        joules = found.wire_bytes[level.name][0] * level.energy_j_per_byte
        assert math.isclose(parts[f"network: {level.name}"][0], scale * joules, rel_tol=1e-12)
    dynamic = found.energy.total[0] - parts["host"][0] - parts["static"][0]
    split = [parts[name][0] for name in parts if name not in ("host", "static")]
    assert math.isclose(sum(split), dynamic, rel_tol=1e-12)
    assert np.all(np.array(split) >= 0)


def test_phase_energy_by_hand() -> None:
    """Busy seconds draw busy power, all other seconds waiting power, host and network always."""
    case = case_of("llama3-8b", batch=64)
    found = case.run([Plan(dp=16, sharding="zero1", sequence_parallel=False)])
    chip = case.cluster.chip
    parts, time = found.time_parts, found.step_time_s[0]
    kernels = sum(parts[name][0] for name in ("compute", "memory_bound", "optimizer"))
    network = sum(lv.switch_power_w_per_chip for lv in case.cluster.scale(16).levels)
    joules = kernels * chip.busy_w + (time - kernels) * chip.wait_w
    joules += time * (chip.host_w + network)
    assert math.isclose(found.energy.total[0], 16 * joules, rel_tol=1e-12)

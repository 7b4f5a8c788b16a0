"""A vision tower on the first stage: FLOP, parameters, memory and time, by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.jobs import TOWER, cost_model, dense_model, with_images

from models_db import load_model
from planner.base.errors import InputError
from planner.cost.columns import columns_of
from planner.cost.communication.data_parallel import exposed_s
from planner.cost.communication.traffic import model_flop_per_token
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, memory_table
from planner.cost.facts import plan_facts
from planner.cost.step import exposed_reduction_s
from planner.cost.vision.activations import bytes_per_image, first_chunk_in_flight
from planner.cost.vision.seconds import tower_s
from planner.cost.vision.tower import flop_per_image, images_on_chip, tower_parameters
from planner.plan import Plan, PlanTable
from planner.schedules import schedule_of

ONE = np.array([[1]])


def small(images: int = 4, recompute: str = "full", **job: object) -> CostModel:
    model = dense_model(8, 512, 8, 8, 2048)
    return with_images(cost_model(model, "dgx-h100-ndr", global_batch=16, **job), images, recompute)  # type: ignore[arg-type]


def test_flop_of_one_image_by_hand() -> None:
    """Qwen3.5 9B: 27 layers of width 1152 over 48 x 48 patches of 16 x 16 x 3 x 2; 576 tokens."""
    model = load_model("qwen3.5-9b")
    assert model.vision is not None
    layer = 2 * 2304 * (4 * 1152**2 + 2 * 1152 * 4304) + 4 * 2304**2 * 1152
    patches = 2 * 2304 * 1536 * 1152
    merger = 2 * 576 * (4608 * 4608 + 4608 * 4096)
    assert flop_per_image(model.vision, 4096) == 27 * layer + patches + merger == 2_609_022_763_008


def test_mfu_counts_three_forward_passes_of_the_tower() -> None:
    model, text = small(), small(images=0)
    more = model_flop_per_token(model.job, model.shapes) - model_flop_per_token(
        text.job, text.shapes
    )
    assert more == pytest.approx(3 * 4 * flop_per_image(TOWER, 512) / 2048)


def test_parameters_are_those_of_the_record_and_divide_over_tp() -> None:
    model = load_model("qwen3.5-9b")
    assert model.vision is not None
    every, gathered = tower_parameters(model.vision, model.hidden, np.array([1, 2]))
    divided = 27 * (4 * 1152**2 + 2 * 1152 * 4304) + 4608 * 4608 + 4608 * 4096
    assert every[0] == model.vision_parameters
    assert every[0] - every[1] == divided / 2
    assert every[0] - gathered[0] == 26 * model.vision.layer_parameters


def test_only_the_first_stage_holds_it() -> None:
    plans = PlanTable.from_plans([Plan(pp=4, dp=2)])
    held, text = (memory_table(model, plans) for model in (small(), small(images=0)))
    own, framework = TOWER.parameters(512), small().framework
    for name, per_parameter in (
        ("weights", framework.weight_bytes),
        ("gradients", framework.gradient_bytes),
    ):
        more = held.parts[name] - text.parts[name]
        assert more[0].tolist() == pytest.approx([per_parameter * own, 0, 0])
    saved, working = (
        float(part[0, 0]) for part in bytes_per_image(small().job, TOWER, ONE, fused=True)
    )
    more = held.parts["activations"] - text.parts["activations"]
    assert more[0].tolist() == pytest.approx([4 * (4 * saved + working), 0, 0])


def test_bytes_of_an_image_by_hand() -> None:
    """Full: the input of each layer, the pixels of patches, inputs and norm of the merger."""
    saved, working = bytes_per_image(small().job, TOWER, ONE, fused=True)
    layers, pixels = 3 * 256 * 2 * 256, 256 * 2 * 1536
    merger = 64 * 2 * (1024 + 1024) + 256 * 2 * 256
    assert saved[0, 0] == layers + pixels + merger
    every, none = bytes_per_image(small(recompute="none").job, TOWER, ONE, fused=True)
    # Four inputs of norms and products, queries to output and log-sum-exp, two of the MLP.
    assert every[0, 0] - saved[0, 0] == 3 * 256 * (
        2 * 4 * 256 + 4 * 2 * 256 + 4 * 4 + small().framework.plain_saved * 512 - 2 * 256
    )
    assert none[0, 0] == 0 < working[0, 0]


@pytest.mark.parametrize(
    ("name", "v", "most"),
    [("1f1b", 1, 4), ("gpipe", 1, 16), ("interleaved", 2, 8), ("zb-v", 2, 8), ("dualpipe", 1, 4)],
)
def test_micro_batches_of_the_first_chunk_are_those_of_the_order(
    name: str, v: int, most: int
) -> None:
    plans = PlanTable.from_plans([Plan(pp=4, schedule=name, interleave=v)])
    found = first_chunk_in_flight(plans, np.array([[16.0]]))
    orders = schedule_of(name).orders(4, 16, v)
    assert found[0, 0] == orders.held_by_chunk()[0, :, 0].max() == most


def test_chips_of_a_context_parallel_group_take_whole_images() -> None:
    job = small(images=3).job
    tokens = job.seq_len * np.array([1.0, 0.5, 0.25, 0.125, 2.0])
    assert images_on_chip(job, tokens).tolist() == [3, 2, 1, 1, 6]


def test_its_time_is_on_the_first_stage_and_in_the_parts() -> None:
    plan, model, text = Plan(pp=2, tp=2), small(images=30), small(images=0)
    facts = [plan_facts(one, plan, 8e10).stages for one in (model, text)]
    (first, last), (plain, other) = facts
    assert (last.forward_s, last.backward_s) == (other.forward_s, other.backward_s)
    ahead, back = first.forward_s - plain.forward_s, first.backward_s - plain.backward_s
    assert 2 * ahead < back < 4 * ahead  # both gradients and the forward pass again
    costs = evaluate_table(model, PlanTable.from_plans([plan]))
    assert sum(costs.time_parts.values())[0] == pytest.approx(costs.step_time_s[0])
    kept = evaluate_table(small(30, "none"), PlanTable.from_plans([plan]))
    assert kept.step_time_s[0] < costs.step_time_s[0]
    assert kept.memory_per_chip_bytes[0] > costs.memory_per_chip_bytes[0]


def test_its_backward_pass_hides_reductions_of_the_first_stage() -> None:
    """As the head's does those of the last; two stages, of which only one has a tower."""
    a = cost_model(dense_model(8, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=16).assumptions
    first, last = np.array([[True, False]]), np.array([[False, True]])
    stage = SimpleNamespace(
        sum_layers=lambda _: np.array([[3.0, 3.0]]), first=first, last=last,
        collective=np.array([[9.0, 9.0]]),
    )  # fmt: skip
    for tower, hidden in ((2.0, [[5.0, 4.0]]), (0.0, [[3.0, 4.0]])):
        ends = SimpleNamespace(tower_backward=np.array([[tower]]), head_backward=np.array([[1.0]]))
        found = exposed_reduction_s(a, stage, SimpleNamespace(ends=ends))  # type: ignore[arg-type]
        assert found.tolist() == exposed_s(a, stage.collective, np.array(hidden)).tolist()
    assert exposed_s(a, 9.0, 5.0) < exposed_s(a, 9.0, 3.0)


def test_its_time_is_printed_by_cause() -> None:
    """Memory twice as fast takes half of what it bounds, and what tp sends is seen as such."""
    plan = PlanTable.from_plans([Plan(tp=4, dp=2, micro_batch=2, sequence_parallel=False)])
    found = [evaluate_table(model, plan) for model in (small(images=30), small(images=0))]
    more = {name: float(found[0].time_parts[name][0] - found[1].time_parts[name][0])
            for name in found[0].time_parts}  # fmt: skip
    assert sum(more.values()) == pytest.approx(
        float(found[0].step_time_s[0] - found[1].step_time_s[0])
    )
    for name in ("compute", "memory_bound", "tensor_parallel"):
        assert more[name] > 0, name
    model = small(images=30)
    rate = model.assumptions.memory_bytes_per_s
    rate = replace(model.assumptions, memory_bytes_per_s=2 * rate)
    fast = evaluate_table(replace(model, assumptions=rate), plan)
    assert fast.time_parts["memory_bound"][0] < 0.6 * found[0].time_parts["memory_bound"][0]
    for one in found:
        assert one.communication_s["tensor_parallel"] >= one.time_parts["tensor_parallel"]


def test_its_attention_is_whole_and_its_projector_reduces_both_ways() -> None:
    """Every patch sees every other, however much of the decoder's scores is computed."""
    model, tp, tokens = small(images=4), np.array([[4]]), np.array([[2048.0]])
    columns = columns_of(model, PlanTable.from_plans([Plan(tp=4, dp=2)]))
    seconds = []
    for share in (0.5, 0.25):
        a = replace(model.assumptions, causal_share=share)
        own = replace(model, assumptions=a)
        seconds.append(tower_s(own, TOWER, tp, tokens, np.ones((1, 1)), columns.nets["tp"]))
    assert seconds[0]["tower"] == seconds[1]["tower"]
    net, patches = columns.nets["tp"], 4 * 256
    of_layers = 3 * (2 + model.assumptions.tp_backward) * 2 * net.reduce_s(2.0 * patches * 256)
    ends = net.reduce_s(2.0 * 4 * 64 * 512) + net.reduce_s(2.0 * 4 * 64 * 1024)
    assert seconds[0]["tower_sent"] == pytest.approx(of_layers + ends)
    exposed = (1 - model.assumptions.tp_overlap) * of_layers
    assert seconds[0]["tower_tp"] == pytest.approx(exposed + ends)


def test_bytes_that_its_kernels_move_by_hand() -> None:
    """Three layers of width 256 over 256 patches, of plain MLPs of 512; pixels get no gradient."""
    model, text = small(images=4), small(images=0)
    plan = PlanTable.from_plans([Plan(dp=2, micro_batch=2, sharding="ddp")])
    more = evaluate_table(model, plan).memory_traffic_bytes
    more = float((more - evaluate_table(text, plan).memory_traffic_bytes)[0])
    a, rows, images = model.assumptions, 8 * 256, 16 * 4

    def once(rows: float, inputs: float, outputs: float) -> float:
        return a.operand_bytes * (rows * (inputs + outputs) + inputs * outputs)

    layer = 4 * sum(once(rows, i, o) for i, o in ((256, 768), (256, 256), (256, 512), (512, 256)))
    pixels = 2 * once(rows, 1536, 256)
    merger = 3 * (once(8 * 64, 1024, 1024) + once(8 * 64, 1024, 512))
    products = images / 8 * (3 * layer + pixels + merger)
    state = a.optimizer_traffic_bytes * TOWER.parameters(512) * 2
    element = 2 * a.elementwise * (256 * (a.row_bytes + a.tp_bytes) + a.ffn_bytes * 512)
    passes = 2 + a.elementwise_backward
    assert more == pytest.approx(products + state + passes * images * 3 * 256 * element)


def test_text_alone_costs_what_it_costs_without_a_tower() -> None:
    model = small(images=0)
    blind = replace(model, job=replace(model.job, model=replace(model.job.model, vision=None)))
    plans = PlanTable.from_plans([Plan(pp=2, tp=2), Plan(fsdp=8, sharding="zero3")])
    one, other = evaluate_table(model, plans), evaluate_table(blind, plans)
    assert one.step_time_s.tolist() == other.step_time_s.tolist()
    assert one.memory_per_chip_bytes.tolist() == other.memory_per_chip_bytes.tolist()


@pytest.mark.parametrize(("images", "kind", "words"), [
    (40, "pretrain", "images: 40 of 64 tokens each do not fit into a sequence of 2,048 tokens; "),
    (1, "lora", "images: of a lora job they are not modelled: "),
])  # fmt: skip
def test_what_is_refused(images: int, kind: str, words: str) -> None:
    with pytest.raises(InputError) as raised:
        small(images, kind=kind)
    assert str(raised.value).startswith(words)

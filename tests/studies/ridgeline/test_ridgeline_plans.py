"""Points of plans and layers against the breakdown of the cost model."""

from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.base.units import show_percent
from planner.cost.communication.traffic import model_flop_per_token
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.cost.facts import plan_facts
from planner.cost.kernels.executed import flop_without_repeats
from planner.plan import Plan, PlanTable, Stage
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.report.charts.ridgeline import ridgeline_picture
from planner.report.drawing.chart import Chart, Dot
from planner.report.drawing.geometry.chart_frame import frame_of
from planner.report.drawing.geometry.places import labels_of
from planner.report.tables.ridgeline import ridgeline_view
from planner.report.tables.tables import text_of
from planner.search.limits import Limits
from planner.studies.ridgeline.asking import ridgeline
from planner.studies.ridgeline.layer import layer_counts
from planner.studies.ridgeline.machine import ridges_of
from planner.studies.ridgeline.of_plan import plan_ridgeline
from planner.studies.ridgeline.plane import REGIONS
from planner.studies.ridgeline.plans import SWEEPS, mean_clock
from planner.studies.ridgeline.question import question_of

PLAN = Plan(dp=8, tp=4, pp=2, micro_batch=1)


@pytest.fixture(scope="module")
def model() -> CostModel:
    request = request_from(
        {"model": "llama2-7b", "hardware": "h100-sxm5-80", "chips": 64, "batch_tokens": 2**20}
    )
    return resolve(request).cost


def test_a_plan_has_the_counts_of_its_breakdown(model: CostModel) -> None:
    costs = evaluate_table(model, PlanTable.from_plans([PLAN]))
    found = plan_ridgeline(model, PLAN)
    assert found.counts.flop[0] == pytest.approx(costs.flop[0] / 64)
    assert found.counts.memory_bytes[0] == pytest.approx(costs.memory_traffic_bytes[0] / 64)
    sent = dict(
        zip([ridge.level for ridge in found.ridges], found.counts.network_bytes[0], strict=True)
    )
    wires = {name: float(each[0]) / 64 for name, each in costs.wire_bytes.items()}
    assert sent["nvlink"] == pytest.approx(wires["nvlink"])
    assert sent["leaf"] == pytest.approx(wires["leaf"] + wires["spine"] + wires["core"])
    assert found.times_s == (pytest.approx(float(costs.step_time_s[0])),)


def test_every_byte_of_a_plan_costs_energy_once(model: CostModel) -> None:
    costs = evaluate_table(model, PlanTable.from_plans([PLAN]))
    found, chip = plan_ridgeline(model, PLAN), model.chip
    wires = {level.name: level.energy_j_per_byte for level in model.cluster.levels}
    moved = sum(float(costs.wire_bytes[name][0]) * joules for name, joules in wires.items())
    moved += costs.memory_traffic_bytes[0] * chip.memory_j_per_byte
    moved += costs.flop[0] * chip.flop_j["bf16"]
    expected = moved / 64 + chip.idle_w * found.placed.bound_s[0]
    assert found.energy.joules(found.counts, found.placed)[0] == pytest.approx(expected)


def test_joules_of_a_network_do_not_depend_on_the_level_that_is_looked_at(model: CostModel) -> None:
    all_levels = plan_ridgeline(model, PLAN)
    expected = float(all_levels.energy.joules(all_levels.counts, all_levels.placed)[0])
    sent = all_levels.counts.crossed_bytes
    assert sent is not None
    assert (sent[0, :2] > 0).all()
    for level in ("nvlink", "leaf", "spine"):
        one = plan_ridgeline(model, PLAN, level=level)
        assert one.placed.bound_s[0] == all_levels.placed.bound_s[0]
        found = float(one.energy.joules(one.counts, one.placed)[0])
        assert found == pytest.approx(expected, rel=1e-12)


def test_joules_of_a_layer_do_not_depend_on_the_level_that_is_looked_at() -> None:
    flags = {"hardware": "h100-sxm5-80", "model": "llama3-8b", "chips": "16", "tp": "8"}
    every, leaf = (
        ridgeline(question_of(flags | {"batches": "4", "level": level}))
        for level in ("all", "leaf")
    )
    row = every.series.index("layer")
    assert every.placed.bound_s[row] == leaf.placed.bound_s[row]
    joules = (float(one.energy.joules(one.counts, one.placed)[row]) for one in (every, leaf))
    assert next(joules) == pytest.approx(next(joules), rel=1e-12)


def test_the_ridge_is_at_the_clock_of_the_plan(model: CostModel) -> None:
    full, slow = plan_ridgeline(model, PLAN), plan_ridgeline(model, replace(PLAN, clock=0.6))
    for there, here in zip(full.ridges, slow.ridges, strict=True):
        assert here.flop_per_s == pytest.approx(0.6 * there.flop_per_s)
        assert here.knee_y == pytest.approx(0.6 * there.knee_y)
        assert here.diagonal == pytest.approx(0.6 * there.diagonal)
        assert here.knee_x == there.knee_x
    assert slow.placed.compute_s[0] == pytest.approx(full.placed.compute_s[0] / 0.6)
    assert slow.times_s[0] is not None
    assert slow.placed.bound_s[0] < slow.times_s[0]
    assert any("0.6 of the clock" in note for note in slow.notes)
    assert not any("of the clock" in note for note in full.notes)
    assert (slow.to_dict()["clock"], full.to_dict()["clock"]) == (0.6, 1.0)


def test_clocks_of_stages_and_a_power_cap(model: CostModel) -> None:
    half = model.job.model.layers // 2
    stages = (Stage(layers=half, clock=0.6), Stage(layers=half))
    assert mean_clock(model, replace(PLAN, stages=stages)) == pytest.approx(0.8)
    assert mean_clock(replace(model, clock_limit=0.7), PLAN) == pytest.approx(0.7)
    found = plan_ridgeline(model, replace(PLAN, stages=stages))
    assert found.times_s[0] is not None
    assert found.placed.bound_s[0] < found.times_s[0]


def test_the_bound_is_below_the_step_of_the_cost_model(model: CostModel) -> None:
    for sweep in SWEEPS:
        found = plan_ridgeline(model, PLAN, sweep=sweep)
        assert len(found.counts) > 1
        assert list(found.steps) == sorted(set(found.steps))
        assert all(
            bound < time
            for bound, time in zip(found.placed.bound_s, found.times_s, strict=True)
            if time is not None
        )


def test_the_plan_itself_is_on_its_path(model: CostModel) -> None:
    alone = plan_ridgeline(model, PLAN)
    for sweep in SWEEPS:
        path = plan_ridgeline(model, PLAN, sweep=sweep)
        assert path.placed.bound_s[path.given] == pytest.approx(alone.placed.bound_s[0])
        assert path.times_s[path.given] == pytest.approx(alone.times_s[0])


def test_sweeps_change_what_they_say(model: CostModel) -> None:
    tp = plan_ridgeline(model, PLAN, sweep="tp")
    assert set(tp.steps) <= {1, 2, 4, 8, 16, 32}
    nvlink = tp.counts.network_bytes[:, 0]
    assert nvlink[0] < nvlink[-1]
    chips = plan_ridgeline(model, PLAN, sweep="chips")
    assert np.allclose(
        chips.counts.flop * np.array(chips.steps), chips.counts.flop[0] * chips.steps[0]
    )
    batch = plan_ridgeline(model, PLAN, sweep="batch")
    assert batch.step_name == "batch-tokens"
    assert np.allclose(
        batch.counts.flop / np.array(batch.steps), batch.counts.flop[0] / batch.steps[0]
    )


def test_one_chip_is_a_roofline(model: CostModel) -> None:
    small = resolve(
        request_from(
            {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 1, "batch_tokens": 2**14}
        )
    ).cost
    found = plan_ridgeline(small, Plan(micro_batch=1, sharding="ddp"))
    assert found.is_degenerate
    titles = [chart.title for chart in ridgeline_picture(found).charts]
    assert titles == ["Roofline", "Roofline of energy"]
    assert [chart.title for chart in ridgeline_picture(found, ["ridgeline"]).charts] == ["Roofline"]


def test_a_plan_that_cannot_run(model: CostModel) -> None:
    with pytest.raises(InputError, match="plan: "):
        plan_ridgeline(model, replace(PLAN, micro_batch=7))


def test_the_operators_of_a_layer_are_the_layers_of_a_step(model: CostModel) -> None:
    """All layers together have the FLOP of the model without its head, and the parts their sum."""
    ridges = ridges_of(model.cluster, "bf16")
    table = PlanTable.from_plans([Plan(dp=8, tp=8, micro_batch=b, sharding="ddp") for b in (1, 2)])
    counts = layer_counts(model, table, ridges)
    flop = counts.flop.reshape(-1, 2)
    assert np.allclose(flop[:-1].sum(axis=0), flop[-1])
    job, shapes = model.job, model.shapes
    head = 6 * shapes.hidden * shapes.vocab
    a_step = (flop_without_repeats(model) - head) * job.seq_len / 8
    assert flop[-1][0] * job.model.layers == pytest.approx(a_step, rel=1e-3)
    assert model_flop_per_token(job, shapes) > 0


def test_exchanges_and_gradients_of_a_layer(model: CostModel) -> None:
    ridges = ridges_of(model.cluster, "bf16")
    table = PlanTable.from_plans([Plan(dp=8, tp=8, micro_batch=b, sharding="ddp") for b in (1, 2)])
    counts = layer_counts(model, table, ridges)
    sent = counts.network_bytes.reshape(-1, 2, len(ridges))[-1]
    hidden, tokens = model.shapes.hidden, model.job.seq_len
    exchanges = 8 * 2 * tokens * hidden * 7 / 8  # 4 forward, 4 backward, 2 bytes each
    assert sent[0, 0] == pytest.approx(exchanges)
    assert sent[1, 0] == pytest.approx(2 * exchanges)
    parameters = model.shapes.dense_parameters / 8
    gradients = 2 * model.assumptions.gradient_wire_bytes * parameters * 7 / 8
    assert sent[0, 1] == pytest.approx(gradients, rel=1e-3)
    assert sent[1, 1] == sent[0, 1]


def resolved(**fields: object) -> CostModel:
    return resolve(request_from(fields)).cost


@pytest.fixture(scope="module")
def one_chip() -> CostModel:
    return resolved(model="gpt3-125m", hardware="h100-sxm5-80", chips=1, batch_tokens=2**22)


def test_points_that_do_not_fit_are_marked(model: CostModel) -> None:
    """Fewer replicas hold more of the optimizer each; the limit is between two of them."""
    held = evaluate_table(model, PlanTable.from_plans([replace(PLAN, dp=4), PLAN]))
    limit = float(held.memory_per_chip_bytes.mean())
    found = plan_ridgeline(model, PLAN, sweep="chips", limits=Limits(memory_bytes=limit))
    fits = {int(step): fits for step, fits in zip(found.steps, found.fits, strict=True)}
    assert (fits[32], fits[64]) == (False, True)
    points = {point["chips"]: point for point in found.to_dict()["points"]}
    assert {chips: point["fits"] for chips, point in points.items()} == fits
    assert any(note.startswith("Does not fit") and "chips 32 (" in note for note in found.notes)
    assert "fits" in text_of(ridgeline_view(found), 200).split()
    for chart in ridgeline_picture(found).charts:
        dots = [mark for mark in chart.marks if isinstance(mark, Dot) and mark.detail]
        hollow = [dot for dot in dots if dot.hollow]
        assert all("does not fit" in dot.detail for dot in hollow)
        assert bool(hollow) == any(key.hollow for key in chart.legend)
    times = next(one for one in ridgeline_picture(found).charts if one.title == "Projected time")
    assert {mark.x: not mark.hollow for mark in times.marks if isinstance(mark, Dot)} == fits


def test_a_level_carries_the_same_in_both_pictures(model: CostModel) -> None:
    plan = Plan(dp=64, tp=8, micro_batch=1)
    big = resolved(model="llama2-7b", hardware="h100-sxm5-80", chips=512, batch_tokens=2**20)
    found = plan_ridgeline(big, plan)
    columns = {ridge.level: at for at, ridge in enumerate(found.ridges)}
    levels = plan_facts(big, plan, 1e11).levels
    assert [level.name for level in levels] == ["nvlink", "leaf", "spine"]
    for level in levels:
        sent = found.counts.network_bytes[0, columns[level.name]]
        assert level.wire_bytes / 512 == pytest.approx(sent)
        assert level.bytes_per_s <= found.ridges[columns[level.name]].network_bytes_per_s
    assert levels[1].wire_bytes > levels[2].wire_bytes > 0


def test_the_bound_is_told_beside_the_step(one_chip: CostModel) -> None:
    plan = Plan(micro_batch=1, sharding="ddp")
    found = plan_ridgeline(one_chip, plan)
    costs = evaluate_table(one_chip, PlanTable.from_plans([plan]))
    share = costs.time_parts["compute"][0] / costs.step_time_s[0]
    assert REGIONS[found.placed.region[0]] == "memory"
    assert "at peak rates (memory)" in found.summary
    larger = resolved(model="gpt3-350m", hardware="h100-sxm5-80", chips=1, batch_tokens=2**22)
    assert "at peak rates (compute, near the ridge)" in plan_ridgeline(larger, plan).summary
    assert f"{show_percent(float(share))} of it compute" in found.summary
    assert "need not name the same part" in found.summary
    assert found.to_dict()["summary"] == found.summary
    assert found.summary[:40] in text_of(ridgeline_view(found), 200)


def test_points_that_coincide_have_one_name(one_chip: CostModel) -> None:
    found = plan_ridgeline(one_chip, Plan(micro_batch=32, sharding="ddp"), sweep="batch")
    charts = {chart.title: chart for chart in ridgeline_picture(found).charts}
    for title in ("Roofline", "Roofline of energy"):
        assert names_of(charts[title]) == ["262,144 to 64 Mi"]
    assert [key.words for key in charts["Roofline"].legend] == ["memory-bound", "cost model"]


def names_of(chart: Chart) -> list[str]:
    return [mark.words for mark in chart.marks if isinstance(mark, Dot) and mark.words]


@each("sweep", SWEEPS)
def test_all_names_find_room(model: CostModel, sweep: str) -> None:
    found = plan_ridgeline(model, PLAN, sweep=sweep)
    for chart in ridgeline_picture(found, ["ridgeline", "roofline", "energy"]).charts:
        placed = [dot.words for _, dot in labels_of(chart, frame_of(chart, 560))]
        assert sorted(placed) == sorted(names_of(chart))
        assert not any("without a name" in note for note in chart.notes)


def test_assumptions_that_count_no_bytes_say_so() -> None:
    plain = resolved(
        model="llama2-7b", hardware="h100-sxm5-80", chips=64, batch_tokens=2**20,
        assumptions="roofline",
    )  # fmt: skip
    found = plan_ridgeline(plain, Plan(dp=64, micro_batch=1))
    assert found.counts.memory_bytes[0] == 0
    assert not found.drawable.any()
    assert any("(roofline) count no bytes of memory" in note for note in found.notes)
    assert ridgeline_picture(found).charts


def test_the_operators_of_a_layer_with_experts() -> None:
    """One layer of each kind; together they have the FLOP and the bytes of a step."""
    moe = resolved(model="deepseek-v3", hardware="gb200-nvl72", chips=64, seq_len=4096)
    ridges = ridges_of(moe.cluster, "bf16")
    plan = Plan(dp=64, ep=32, micro_batch=1, sharding="ddp")
    table = PlanTable.from_plans([plan])
    counts = layer_counts(moe, table, ridges)
    flop = dict(zip(counts.names, counts.flop, strict=True))
    sent = dict(zip(counts.names, counts.network_bytes[:, 0], strict=True))
    for kind, names in (("dense", ("mlp",)), ("moe", ("router", "experts", "shared experts"))):
        parts = [f"{name} ({kind})" for name in ("attention", *names)]
        assert sum(flop[name] for name in parts) == pytest.approx(flop[f"layer ({kind})"])
        assert sum(sent[name] for name in parts) == pytest.approx(sent[f"layer ({kind})"])
    kinds = moe.job.model.layer_kinds
    layers = {kind: kinds.count(kind) for kind in ("dense", "moe")}
    one_step = replace(moe, job=replace(moe.job, global_batch=64))
    whole = evaluate_table(one_step, table)
    of_layers = sum(count * flop[f"layer ({kind})"] for kind, count in layers.items())
    shapes = moe.shapes
    head = 6 * shapes.hidden * shapes.vocab * moe.job.seq_len
    assert of_layers == pytest.approx(float(whole.flop[0]) / 64 - head, rel=2e-3)
    exchanged = 4 * 2 * moe.job.seq_len * shapes.experts_per_token * shapes.hidden * 31 / 32
    expert = 3 * shapes.hidden * shapes.expert_width * shapes.experts / 32
    gradients = 2 * moe.assumptions.gradient_wire_bytes * expert / 2
    assert sent["experts (moe)"] == pytest.approx(exchanged + gradients)

"""The algebra of whole meshes is the ordinary cost model under `roofline`."""

from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.cases import each

from hardware_db import load_cluster
from models_db import load_model
from planner.assumptions.assumptions import Assumptions
from planner.cost.breakdown import breakdown
from planner.cost.communication.traffic import Traffic
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluated
from planner.cost.job import Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.search.limits import usable_bytes
from planner.studies.feasibility.strategies import NAMES, STRATEGIES, Strategy, with_batch
from planner.studies.feasibility.textbook.inverse import largest_chips, most_chips_bound
from planner.studies.feasibility.textbook.meshes import MeshLimits, mesh_limits
from planner.studies.feasibility.textbook.roofline import roofline_row

CLUSTERS = ("tpu-v5p", "tpu-v5e", "tpu-v4", "dgx-h100-ndr", "gb200-nvl72", "dgx-a100-80-hdr")
MODELS = ("llama2-13b", "llama3-70b", "gpt3-13b", "llama3-8b", "gpt3-175b")
BY_NAME = dict(zip(NAMES, STRATEGIES, strict=True))


@cache
def roofline(model: str, hardware: str, mfu: float = 1.0) -> CostModel:
    """The cost model of a textbook's job."""
    cluster = load_cluster(hardware)
    job = Job(
        model=load_model(model), seq_len=1024.0, global_batch=1,
        framework=FRAMEWORKS["textbook"], era="jax",
    )  # fmt: skip
    precision = next(name for name in ("bf16", "fp16") if name in cluster.chip.peak_flop_per_s)
    return CostModel.build(job, cluster, Assumptions.roofline(cluster.chip, precision, mfu=mfu))


def waits(model: CostModel, limits: MeshLimits, row: int, batch: float) -> float:
    """Share of a step that is not computing, by the ordinary model."""
    one = limits.plans.take(np.array([row]))
    sized = with_batch(model, limits.chips, batch / limits.chips)
    none = np.zeros(1)
    moved = Traffic(flop=none, memory_bytes=none, wire_bytes=(none,) * len(model.cluster.levels))
    costs = breakdown(sized, evaluated(sized, one), moved)  # its times do not depend on what moves
    return float(1 - costs.time_parts["compute"][0] / costs.step_time_s[0])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_thresholds_are_those_of_the_ordinary_model(data: st.DataObject) -> None:
    model = roofline(
        data.draw(st.sampled_from(MODELS)),
        data.draw(st.sampled_from(CLUSTERS)),
        data.draw(st.sampled_from([0.4, 1.0])),
    )
    chips = data.draw(st.sampled_from(model.cluster.chip_counts(4096)[-60:]))
    strategy = BY_NAME[data.draw(st.sampled_from(NAMES))]
    limits = mesh_limits(model, strategy, chips, usable_bytes(model))
    assume(limits is not None)
    assert limits is not None
    row = data.draw(st.integers(0, len(limits) - 1))
    least = float(limits.least[row])
    if not np.isfinite(least):
        assert waits(model, limits, row, 1e6 * chips) > 1e-9
        return
    low, high = float(chips), max(4.0 * least, 2.0 * chips)
    for batch in np.geomspace(least * (1 + 1e-6), high, 4):
        assert waits(model, limits, row, batch) < 1e-9
    if waits(model, limits, row, low) < 1e-9:
        assert least == chips
        return
    for batch in np.geomspace(low, least * (1 - 1e-6), 4):
        assert waits(model, limits, row, batch) >= 1e-9


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_memory_is_that_of_the_ordinary_model(data: st.DataObject) -> None:
    model = roofline(data.draw(st.sampled_from(MODELS)), data.draw(st.sampled_from(CLUSTERS)))
    chips = data.draw(st.sampled_from(model.cluster.chip_counts(2048)[-40:]))
    strategy = BY_NAME[data.draw(st.sampled_from(NAMES))]
    room = usable_bytes(model)
    limits = mesh_limits(model, strategy, chips, room)
    assume(limits is not None)
    assert limits is not None
    row = data.draw(st.integers(0, len(limits) - 1))
    batch = float(limits.most[row])
    assume(batch >= chips)
    one = limits.plans.take(np.array([row]))
    costs = evaluate_table(with_batch(model, chips, batch / chips), one)
    assert costs.memory_per_chip_bytes[0] == pytest.approx(room, rel=1e-9)
    assert costs.micro_batches[0] == 1


@each("hardware", ["tpu-v5p", "dgx-h100-ndr"])
@each("name", ["zero3", "hsdp", "fsdp+tp", "tp"])
def test_the_largest_count_is_that_of_a_loop(hardware: str, name: str) -> None:
    model, strategy = roofline("llama2-13b", hardware), BY_NAME[name]
    counts, room, batch = model.cluster.chip_counts(600), usable_bytes(model), 3e5
    good = []
    for chips in counts:
        limits = mesh_limits(model, strategy, chips, room)
        if limits is not None and np.any((limits.least <= batch) & (limits.most >= batch)):
            good.append(chips)
    found = largest_chips(model, strategy, counts, room, batch)
    assert found.max_chips == max(good, default=None)
    assert max(good, default=0) <= most_chips_bound(model, strategy, batch)


@each("strategy", STRATEGIES)
def test_a_verdict_agrees_with_its_threshold(strategy: Strategy) -> None:
    model = roofline("llama3-8b", "tpu-v5p")
    room = usable_bytes(model)
    plain = roofline_row(model, strategy, 64, room)
    least = plain.min_batch_tokens_compute_bound
    if least is None or plain.min_batch_tokens_fit is None:
        assert not roofline_row(model, strategy, 64, room, 1e6).feasible
        return
    above = roofline_row(model, strategy, 64, room, least * 1.001)
    assert (above.compute_bound, above.fits, above.feasible) == (True, True, True)
    assert above.margin == pytest.approx(1.001, rel=1e-3)
    if least > 64:
        assert not roofline_row(model, strategy, 64, room, least * 0.999).feasible
    assert plain.max_batch_tokens_fit is not None
    assert not roofline_row(model, strategy, 64, room, plain.max_batch_tokens_fit + 1e3).fits

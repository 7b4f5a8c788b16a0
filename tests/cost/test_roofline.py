"""The preset `roofline` of the ordinary cost model against the closed forms of a textbook.

How to Scale Your Model, part 5: D, F widths of an MLP of two matrices, B tokens per step, X chips
of data parallelism, Y of tensor parallelism, C FLOP/s of a chip, W bytes/s of a torus axis in both
directions, M_X, M_Y axes. The forms are written here from the text, not from the package.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.cases import each

from hardware_db import Cluster, list_clusters, load_cluster
from models_db import Model, load_model
from planner.assumptions.assumptions import Assumptions
from planner.cost.communication.ledger import layer_ledger
from planner.cost.context import CostModel, mesh_of, networks
from planner.cost.evaluate import evaluate_table
from planner.cost.job import Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import Plan, PlanTable

EXACT = 1e-12
TPUS = sorted(name for name in list_clusters() if name.startswith("tpu"))


def two_matrices(hidden: int, width: int, layers: int, *, gated: bool) -> Model:
    """A model with those widths; its attention and vocabulary only add parameters."""
    model = load_model("llama2-13b" if gated else "gpt3-13b")
    return replace(model, layers=layers, hidden=hidden, mlp=replace(model.mlp, hidden=width))


def axis_bytes_per_s(cluster: Cluster) -> float:
    """W: one torus axis has two links."""
    return 2.0 * cluster.levels[0].link_bandwidth_bytes_per_s


def slice_axes(cluster: Cluster, chips: int) -> float:
    """Axes of a whole slice: an open axis is half of one."""
    inner = cluster.scale(chips).levels[0]
    pairs = zip(inner.torus_dims, inner.torus_wrap, strict=True)
    return sum(1.0 if closed else 0.5 for length, closed in pairs if length > 1)


@dataclass(frozen=True)
class Case:
    """A textbook question: a stack of MLPs, a batch, a slice."""

    model: Model
    cluster: Cluster
    chips: int
    tokens: float
    mfu: float = 1.0
    gathers_again: bool = False
    axes: tuple[tuple[str, float], ...] = ()

    @cached_property
    def cost(self) -> CostModel:
        """The ordinary cost model under the preset."""
        assumptions = Assumptions.roofline(
            self.cluster.chip, mfu=self.mfu, gathers_again=self.gathers_again
        )
        job = Job(
            model=self.model,
            seq_len=self.tokens / self.chips,
            global_batch=self.chips,
            framework=FRAMEWORKS["textbook"],
            era="jax",
        )
        return CostModel.build(job, self.cluster, assumptions, dict(self.axes))

    @property
    def flop_per_s(self) -> float:
        """C times the utilization."""
        return self.cluster.chip.peak_flop_per_s["bf16"] * self.mfu

    @property
    def mlps(self) -> float:
        """MLPs of two matrices that hold the parameters of the model."""
        width = self.model.mlp.hidden
        assert width is not None
        return self.model.total_parameters / (2 * self.model.hidden * width)


@cache
def chip_counts(name: str, most: int, *, pods: bool) -> list[int]:
    """The counts above 1 that a cluster gives on several pods, or on one."""
    cluster = load_cluster(name)
    return [n for n in cluster.chip_counts(most) if n > 1 and (cluster.scale(n).slices > 1) is pods]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Random widths, batch, TPU and slice."""
    cluster = load_cluster(draw(st.sampled_from(TPUS)))
    assume(cluster.levels[0].torus is not None and "bf16" in cluster.chip.peak_flop_per_s)
    chips = draw(st.sampled_from(chip_counts(cluster.name, 8192, pods=False)))
    model = two_matrices(
        128 * draw(st.integers(1, 128)),
        8192 * draw(st.integers(1, 8)),
        draw(st.integers(1, 100)),
        gated=draw(st.booleans()),
    )
    return Case(
        model=model,
        cluster=cluster,
        chips=chips,
        tokens=chips * draw(st.floats(1.0, 1e5)),
        mfu=draw(st.sampled_from((1.0, 0.4, 0.55))),
        gathers_again=draw(st.booleans()),
    )


def seconds(case: Case, plan: Plan) -> tuple[float, dict[str, float]]:
    """Step time and communication of a plan from the ordinary model."""
    found = evaluate_table(case.cost, PlanTable.from_plans([plan]))
    sent = {name: float(part[0]) for name, part in found.communication_s.items()}
    parts = sum(float(part[0]) for part in found.time_parts.values())
    assert math.isclose(parts, found.step_time_s[0], rel_tol=EXACT)
    return float(found.step_time_s[0]), sent


@settings(max_examples=150, deadline=None)
@given(cases(), st.sampled_from(("ddp", "zero1", "zero2")))
def test_data_parallelism(case: Case, sharding: str) -> None:
    """T = max(8BDF/(XC), 8DF/(W M)) backward, 4BDF/(XC) forward; all shardings cost the same."""
    plan = Plan(dp=case.chips, sharding=sharding)
    d, f, b, x = case.model.hidden, case.model.mlp.hidden or 0, case.tokens, case.chips
    c, w = case.flop_per_s, axis_bytes_per_s(case.cluster) * slice_axes(case.cluster, x)
    time, sent = seconds(case, plan)
    backward = max(8 * b * d * f / (x * c), 8 * d * f / w)
    assert time == pytest.approx(case.mlps * (4 * b * d * f / (x * c) + backward), rel=EXACT)
    assert sent["data_parallel"] == pytest.approx(case.mlps * 8 * d * f / w, rel=EXACT)
    ledger = layer_ledger(case.cost, PlanTable.from_plans([plan]))
    assert ledger.forward.flop[0] == pytest.approx(4 * b * d * f / x, rel=EXACT)
    assert ledger.backward.flop[0] == pytest.approx(8 * b * d * f / x, rel=EXACT)
    assert ledger.forward.data_bytes[0] == 0
    assert ledger.backward.data_bytes[0] == pytest.approx(8 * d * f, rel=EXACT)


@settings(max_examples=150, deadline=None)
@given(cases())
def test_fully_sharded(case: Case) -> None:
    """T = max(4BDF/(XC), 4DF/(W M)) forward, twice that backward."""
    plan = Plan(fsdp=case.chips, sharding="zero3")
    d, f, b, x = case.model.hidden, case.model.mlp.hidden or 0, case.tokens, case.chips
    c, w = case.flop_per_s, axis_bytes_per_s(case.cluster) * slice_axes(case.cluster, x)
    time, sent = seconds(case, plan)
    forward = max(4 * b * d * f / (x * c), 4 * d * f / w)
    assert time == pytest.approx(case.mlps * 3 * forward, rel=EXACT)
    assert sent["data_parallel"] == pytest.approx(case.mlps * 12 * d * f / w, rel=EXACT)
    ledger = layer_ledger(case.cost, PlanTable.from_plans([plan]))
    assert ledger.forward.shard_bytes[0] == pytest.approx(4 * d * f, rel=EXACT)
    assert ledger.backward.shard_bytes[0] == pytest.approx(8 * d * f, rel=EXACT)
    assert ledger.forward.communication_s[0] == pytest.approx(4 * d * f / w, rel=EXACT)
    assert ledger.forward.compute_s[0] == pytest.approx(4 * b * d * f / (x * c), rel=EXACT)


@settings(max_examples=150, deadline=None)
@given(cases())
def test_tensor_parallel(case: Case) -> None:
    """T = max(4BDF/(YC), 4BD/(W M)) forward; 8BDF/(YC), 4BD or 6BD backward."""
    plan = Plan(tp=case.chips, micro_batch=case.chips, sharding="ddp")
    d, f, b, y = case.model.hidden, case.model.mlp.hidden or 0, case.tokens, case.chips
    c, w = case.flop_per_s, axis_bytes_per_s(case.cluster) * slice_axes(case.cluster, y)
    back = 6 if case.gathers_again else 4
    time, sent = seconds(case, plan)
    forward = max(4 * b * d * f / (y * c), 4 * b * d / w)
    backward = max(8 * b * d * f / (y * c), back * b * d / w)
    assert time == pytest.approx(case.mlps * (forward + backward), rel=EXACT)
    assert sent["tensor_parallel"] == pytest.approx(case.mlps * (4 + back) * b * d / w, rel=EXACT)
    ledger = layer_ledger(case.cost, PlanTable.from_plans([plan]))
    assert ledger.forward.flop[0] == pytest.approx(4 * b * d * f / y, rel=EXACT)
    assert ledger.forward.tensor_bytes[0] == pytest.approx(4 * b * d, rel=EXACT)
    assert ledger.backward.tensor_bytes[0] == pytest.approx(back * b * d, rel=EXACT)


@settings(max_examples=200, deadline=None)
@given(cases(), st.data())
def test_mixed(case: Case, data: st.DataObject) -> None:
    """max(math, FSDP, TP) in each pass, with M_X and M_Y given."""
    degrees = [y for y in (2, 4, 8, 16, 32) if case.chips % y == 0 and y < case.chips]
    assume(degrees)
    y = data.draw(st.sampled_from(degrees))
    x = case.chips // y
    most = len(case.cluster.levels[0].torus.pod) - 1  # type: ignore[union-attr]
    m_x, m_y = data.draw(st.sampled_from([(most, 1), (1, 1), (0.5, 0.5)]))
    case = replace(case, axes=(("fsdp", m_x), ("tp", m_y)))
    plan = Plan(fsdp=x, tp=y, micro_batch=y, sharding="zero3")
    d, f, b = case.model.hidden, case.model.mlp.hidden or 0, case.tokens
    c, w = case.flop_per_s, axis_bytes_per_s(case.cluster)
    back = 6 if case.gathers_again else 4
    fsdp, tp = 4 * d * f / (y * w * m_x), b * d / (x * w * m_y)
    math_s = 4 * b * d * f / (x * y * c)
    time, sent = seconds(case, plan)
    passes = max(math_s, fsdp, 4 * tp) + max(2 * math_s, 2 * fsdp, back * tp)
    assert time == pytest.approx(case.mlps * passes, rel=EXACT)
    assert sent["data_parallel"] == pytest.approx(case.mlps * 3 * fsdp, rel=EXACT)
    assert sent["tensor_parallel"] == pytest.approx(case.mlps * (4 + back) * tp, rel=EXACT)
    ledger = layer_ledger(case.cost, PlanTable.from_plans([plan]))
    for found, flop, shard, tensor in (
        (ledger.forward, 4, 4, 4),
        (ledger.backward, 8, 8, back),
    ):
        assert found.flop[0] == pytest.approx(flop * b * d * f / (x * y), rel=EXACT)
        assert found.shard_bytes[0] == pytest.approx(shard * d * f / y, rel=EXACT)
        assert found.tensor_bytes[0] == pytest.approx(tensor * b * d / x, rel=EXACT)
        assert found.communication_s[0] == pytest.approx(
            max(shard / 4 * fsdp, tensor * tp), rel=EXACT
        )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_across_pods(data: st.DataObject) -> None:
    """T_comms = 8DF/(M W_dcn) for replicas on slices of M chips that shard within."""
    cluster = load_cluster(data.draw(st.sampled_from(("tpu-v4", "tpu-v5p", "tpu-v5e", "tpu-v6e"))))
    chips = data.draw(st.sampled_from(chip_counts(cluster.name, 32768, pods=True)))
    pods = cluster.scale(chips).slices
    per_slice = chips // pods
    model = two_matrices(128 * data.draw(st.integers(1, 128)), 8192, 40, gated=True)
    case = Case(model, cluster, chips, chips * data.draw(st.floats(1.0, 1e4)))
    d, f, b, c = model.hidden, 8192, case.tokens, case.flop_per_s
    w = axis_bytes_per_s(cluster) * slice_axes(cluster, per_slice)
    dcn = cluster.levels[1].bandwidth_bytes_per_s
    plan = Plan(dp=pods, fsdp=per_slice, sharding="zero3", order=("tp", "cp", "fsdp", "dp", "pp"))
    time, sent = seconds(case, plan)
    across = 8 * d * f / (per_slice * dcn)
    backward = max(8 * b * d * f / (chips * c), 8 * d * f / w, across)
    forward = max(4 * b * d * f / (chips * c), 4 * d * f / w)
    assert time == pytest.approx(case.mlps * (forward + backward), rel=EXACT)
    assert sent["data_parallel"] == pytest.approx(case.mlps * (12 * d * f / w + across), rel=EXACT)
    ledger = layer_ledger(case.cost, PlanTable.from_plans([plan]))
    assert ledger.backward.data_s[0] == pytest.approx(across, rel=EXACT)


@each(
    ("order", "m_x", "m_y"),
    [
        (("fsdp", "tp"), 2.0, 1.0),  # fsdp on the first two axes, tp on the third
        (("tp", "fsdp"), 2.0, 1.0),  # tp on the first axis, fsdp on the others
    ],
)
def test_torus_axes_follow_from_the_placement(
    order: tuple[str, str], m_x: float, m_y: float
) -> None:
    """Bandwidth adds over the axes that serve a mesh axis: M_X W and M_Y W."""
    cluster = load_cluster("tpu-v5p")
    case = Case(load_model("llama2-13b"), cluster, 4096, 3e6)
    rest = tuple(axis for axis in ("tp", "cp", "fsdp", "dp", "pp") if axis not in order)
    plan = Plan(fsdp=256, tp=16, micro_batch=16, sharding="zero3", order=(*order, *rest))
    nets = networks(case.cost, mesh_of(PlanTable.from_plans([plan])))
    w = axis_bytes_per_s(cluster)
    one = np.ones(1)
    assert 1 / nets["shard"].gather_s(one)[0] == pytest.approx(m_x * w, rel=EXACT)
    assert 1 / nets["tp"].gather_s(one)[0] == pytest.approx(m_y * w, rel=EXACT)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_ten_bytes_of_state(case: Case) -> None:
    """10 P, 2 P + 8 P / N or 10 P / N of state; checkpoints of 2 L B (D + n F)."""
    p, n, model = case.model.total_parameters, case.chips, case.model
    plans = [
        Plan(dp=n, sharding="ddp"),
        Plan(dp=n, sharding="zero1"),
        Plan(fsdp=n, sharding="zero3"),
        Plan(tp=n, micro_batch=n, sharding="ddp"),
    ]
    found = evaluate_table(case.cost, PlanTable.from_plans(plans))
    matrices = 1 + model.mlp.gated
    kept = 2 * model.layers * case.tokens * (model.hidden + matrices * (model.mlp.hidden or 0)) / n
    for row, state in enumerate((10 * p, 2 * p + 8 * p / n, 10 * p / n, 10 * p / n)):
        assert found.memory_per_chip_bytes[row] == pytest.approx(state + kept, rel=EXACT)

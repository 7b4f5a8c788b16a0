"""The split and the torus axes with the least communication, against every layout."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each
from support.jobs import dense_model, roofline_model

from planner.cost.context import CostModel, mesh_of, networks
from planner.plan import Plan, PlanTable
from planner.studies.feasibility.strategies import STRATEGIES
from planner.studies.feasibility.textbook.meshes import mesh_limits
from planner.studies.feasibility.textbook.placed import least_communication
from solvers.torus import patterns_of

SLICES = [("tpu-v5p", 64), ("tpu-v5p", 4), ("tpu-v5p", 128), ("tpu-v5e", 64), ("tpu-v4", 32)]
WHOLE = 1e-6  # costs are whole numbers of a quantum


def every_layout(model: CostModel, chips: int) -> PlanTable:
    """FSDP x TP in every layout on the slice, both above 1."""
    torus = model.fabric(chips).levels[0].torus
    assert torus is not None
    plans = []
    for patterns in product(*(list(patterns_of(n, ("fsdp", "tp"))) for n in torus.dims)):
        layout = tuple(part for pattern in patterns for part in pattern)
        tp = int(np.prod([size for axis, size in layout if axis == "tp"]))
        if 1 < tp < chips and model.shapes.dense_width % tp == 0:
            plans.append(Plan(fsdp=chips // tp, tp=tp, sharding="zero3", layout=layout))
    return PlanTable.from_plans(plans)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SLICES), st.floats(0.0, 4.0), st.sampled_from((1536, 4096, 20480)))
def test_no_layout_communicates_less(case: tuple[str, int], power: float, width: int) -> None:
    """max(T_FSDP, T_TP) of the decision is the least over all meshes and layouts."""
    hardware, chips = case
    tokens = chips * 10**power
    model = roofline_model(dense_model(4, 1024, 8, 8, width), hardware, chips, tokens)
    plans = every_layout(model, chips)
    nets = networks(model, mesh_of(plans))
    weights = nets["shard"].gather_s(4.0 * 1024 * width / plans.tp)
    exchanged = nets["tp"].gather_s(4.0 * tokens * 1024 / plans.fsdp)
    least = float(np.maximum(weights, exchanged).min())
    placed = least_communication(model, chips, tokens)
    assert placed is not None
    assert placed.communication_s == pytest.approx(least, rel=WHOLE)
    assert placed.mesh["fsdp"] * placed.mesh["tp"] == chips


def test_only_on_one_slice_of_a_torus() -> None:
    """Not on switches, not over several slices, not where the axes are given."""
    small = dense_model(4, 1024, 8, 8, 4096)
    assert least_communication(roofline_model(small, "dgx-h100-ndr", 16, 1e6), 16, 1e6) is None
    assert least_communication(roofline_model(small, "tpu-v5e", 512, 1e6), 512, 1e6) is None
    given_axes = roofline_model(small, "tpu-v5p", 64, 1e6, torus_axes={"fsdp": 2.0, "tp": 1.0})
    assert least_communication(given_axes, 64, 1e6) is None


@each("strategy", STRATEGIES)
@each(("hardware", "chips"), [*SLICES, ("dgx-h100-ndr", 32)])
def test_ideal_placements_bound_real_ones(strategy: object, hardware: str, chips: int) -> None:
    """What no placement does for a group alone, none does for all groups together."""
    model = roofline_model(dense_model(4, 1024, 8, 8, 4096), hardware, chips, 1e6)
    real = mesh_limits(model, strategy, chips, 1e11)  # type: ignore[arg-type]
    ideal = mesh_limits(model, strategy, chips, 1e11, ideal=True)  # type: ignore[arg-type]
    assert (real is None) == (ideal is None)
    if real is None or ideal is None:
        return
    axes = ("dp", "fsdp", "tp", "cp", "pp")
    bounds = {
        tuple(int(getattr(ideal.plans, axis)[row]) for axis in axes): ideal.least[row]
        for row in range(len(ideal))
    }
    for row in range(len(real)):
        mesh = tuple(int(getattr(real.plans, axis)[row]) for axis in axes)
        assert bounds[mesh] <= real.least[row] * (1 + 1e-12)

"""What a mesh holds at least is below what every plan on it holds, whatever its schedule."""

from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, moe_model, random_chips, random_cost_model

from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import RECOMPUTES
from planner.question.options import SpaceOptions
from planner.schedules import BUILT_IN, code_of_schedule, schedule_of
from planner.schedules.zb_v import SCHEDULE
from planner.search.uniform import mesh_memory
from planner.search.uniform.mesh_memory import lean_pipelines, mesh_bytes
from planner.search.uniform.meshes import Meshes, enumerate_meshes
from planner.search.uniform.space import Space, cross_choices, cross_partial_plans

JOBS = 120


def spaces(jobs: int, first: int) -> list[tuple[CostModel, Space, bool]]:
    """Random jobs with every plan on some chips, and whether to offload; half on torchtitan."""
    options, found = SpaceOptions(), []
    for seed in range(jobs):
        model = random_cost_model(first + seed)
        if seed % 2:
            model = replace(model, job=replace(model.job, framework=FRAMEWORKS["torchtitan"]))
        meshes = enumerate_meshes(model, (random_chips(model, seed, most=32),), options)
        space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
        found.append((model, space, seed % 4 == 0))
    return found


def least_of_meshes(
    model: CostModel, meshes: Meshes, recompute: int, *, offload: bool
) -> np.ndarray:
    """(m,) what the search says that a mesh holds at least."""
    pipelines = {at: np.flatnonzero(runs) for at, runs in lean_pipelines(model, meshes).items()}
    return mesh_bytes(model, meshes, pipelines, recompute, offload=offload)


def test_no_plan_holds_less_than_the_bound_of_its_mesh() -> None:
    plans, leanest, tight = np.zeros(len(BUILT_IN), dtype=np.int64), set[int](), 0
    for model, space, offload in spaces(JOBS, 7000):
        for recompute in range(len(RECOMPUTES)):
            least = least_of_meshes(model, space.meshes, recompute, offload=offload)
            here = space.take(np.flatnonzero(space.plans.recompute == recompute))
            if len(here) == 0:
                continue
            codes = here.plans.schedule
            for mask in range(8) if offload else (0,):
                moved = replace(here.plans, offload=np.full(len(here), mask))
                held = memory_table(model, moved).peak
                assert np.all(least[here.mesh_id] <= held)
                touched = held <= least[here.mesh_id] * (1 + 1e-9)
                tight += int(touched.sum())
                leanest |= set(codes[touched].tolist())
            plans += np.bincount(codes, minlength=len(BUILT_IN))
    print(f"{JOBS} jobs, {int(plans.sum())} plans, {tight} at the bound of their mesh")
    assert np.all(plans > 0), "plans of every schedule were compared"
    assert {code_of_schedule(name) for name in ("1f1b", "zb-v")} <= leanest


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_a_schedule_that_holds_less_lowers_the_bound(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schedule that deals layers as 1F1B does, of which a stage holds a share of the others."""
    kind, plain, lowered = type(schedule_of("gpipe")), schedule_of("1f1b"), 0
    cases = [(model, space) for model, space, _ in spaces(24, 7500)]
    before = [least_of_meshes(model, space.meshes, 0, offload=False) for model, space in cases]
    monkeypatch.setattr(kind, "in_flight", lambda self, *at: share * plain.in_flight(*at))
    for (model, space), least in zip(cases, before, strict=True):
        after = least_of_meshes(model, space.meshes, 0, offload=False)
        assert np.all(after <= least)
        lowered += int((after < least).sum())
        here = space.take(np.flatnonzero(space.plans.recompute == 0))
        assert np.all(after[here.mesh_id] <= memory_table(model, here.plans).peak)
    assert (lowered > 0) == (share < 1)


def test_a_schedule_whose_chunks_are_listed_stands_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then only a simulated order tells what it holds, which other micro-batches may need."""
    monkeypatch.setattr(type(SCHEDULE), "lists_chunks", True)
    compared = 0
    for model, space, _ in spaces(24, 7600):
        least = least_of_meshes(model, space.meshes, 0, offload=False)
        here = space.take(np.flatnonzero(space.plans.recompute == 0))
        assert np.all(least[here.mesh_id] <= memory_table(model, here.plans).peak)
        compared += int((here.plans.schedule == code_of_schedule("zb-v")).sum())
    assert compared > 0


def test_an_interleave_that_mixes_kinds_of_layers_in_another_way_is_in_the_bound() -> None:
    """Chunks that lie apart may have fewer layers with experts than stages of 1F1B have."""
    model = cost_model(moe_model(4, 4), "dgx-h100-ndr", global_batch=16, framework="torchtitan")
    options = SpaceOptions(fixed={"recompute": frozenset({0})})
    meshes = enumerate_meshes(model, (8,), options)
    space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
    held = memory_table(model, space.plans).peak
    least = least_of_meshes(model, meshes, 0, offload=False)
    assert np.all(least[space.mesh_id] <= held)
    of_mesh = np.full((2, len(meshes)), np.inf)
    np.minimum.at(of_mesh, ((space.plans.interleave > 1).astype(np.int64), space.mesh_id), held)
    assert np.any(of_mesh[1] < of_mesh[0])


def test_the_bound_is_below_what_it_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a rounding, which another order of the same sum may take away."""
    cases = [(model, space.meshes) for model, space, _ in spaces(4, 7500)]
    kept = [least_of_meshes(model, meshes, 0, offload=False) for model, meshes in cases]
    monkeypatch.setattr(mesh_memory, "ROUNDED_DOWN", 1.0)
    for (model, meshes), least in zip(cases, kept, strict=True):
        exact = least_of_meshes(model, meshes, 0, offload=False)
        assert np.all(least < exact)
        np.testing.assert_allclose(least, exact, rtol=1e-6)

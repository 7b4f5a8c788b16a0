"""Goodput of plans: worked figures, spares, break-even rates, checkpoints."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from support.cases import each

from planner.cost.evaluate import memory_table
from planner.cost.goodput.checkpoints import checkpoint_bytes, checkpointing
from planner.cost.goodput.goodput import Pace, Upkeep, break_even_s, chips_at, goodput
from planner.cost.goodput.peers import PeerCopies
from planner.cost.goodput.segments import Checkpointing
from planner.cost.goodput.spares import spares_for, waiting
from planner.cost.memory.adapters import adapter_parameters
from planner.cost.memory.state import optimizer_bytes, trained_bytes
from planner.plan import Plan, PlanTable
from planner.question.request import request_from
from planner.question.resolved import resolve

THETA_S = 50_700 * 3600.0
UPKEEP = Upkeep(
    detection_s=120.0, restart_s=600.0, spares=None, straggler_loss=0.0, node_share=0.5,
    repair_s=72 * 3600.0,
)  # fmt: skip


def pace(chips: float = 16_384, stall_s: float = 5.0, write_s: float = 0.0) -> Pace:
    saved = Checkpointing(stall_s=stall_s, write_s=write_s)
    return Pace(chips=chips, step_time_s=1.0, steps=math.inf, saved=saved)


def test_shares_sum_to_one_over_plans_with_all_that_takes_time() -> None:
    plans = Pace(
        chips=np.array([512.0, 16_384.0, 16_384.0]),
        step_time_s=np.array([1.0, 0.7, 3.0]),
        steps=1e6,
        saved=Checkpointing(stall_s=np.array([0.1, 5.0, 5.0]), write_s=np.array([3.0, 0.0, 60.0])),
    )
    found = goodput(THETA_S, plans, replace(UPKEEP, straggler_loss=0.05))
    parts = (found.work, found.stragglers, found.stalls, found.down, found.lost, found.waits)
    assert sum(parts) == pytest.approx(np.ones(3), rel=1e-12)
    assert found.stragglers == pytest.approx(found.work * 0.05 / 0.95)
    assert all((part >= 0).all() for part in parts)


def test_a_run_is_not_longer_between_checkpoints_than_itself() -> None:
    short = replace(pace(8), steps=40.0)
    assert float(goodput(1e12, short, UPKEEP).steps_between) == 40
    copies = PeerCopies(covered=0.77, stall_s=5.0, write_s=10.0, restart_s=300.0)
    found = goodput(1e12, replace(short, peers=copies), UPKEEP)
    assert float(found.steps_between) == 40
    assert 0.0 < float(found.work) < 1.0


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_a_checkpoint_of_adapters_holds_them_alone(optimizer: str) -> None:
    """None of what Adam keeps of embedding and head beside an optimizer of matrices."""
    asked = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 8, "framework": "megatron"}
    asked["optimizer"] = optimizer
    job = resolve(request_from({**asked, "job": "lora"})).cost.job
    own, _ = optimizer_bytes(job)
    each_bytes = job.framework.weight_bytes + own
    assert checkpoint_bytes(job) == pytest.approx(adapter_parameters(job) * each_bytes, rel=1e-12)
    whole = resolve(request_from(asked)).cost.job
    assert checkpoint_bytes(whole) >= whole.model.total_parameters * each_bytes


@pytest.mark.parametrize(("nodes", "spares"), [(64, 2), (512, 8), (2048, 20), (12_500, 91)])
def test_spares_at_a_chance_of_99_percent(nodes: int, spares: int) -> None:
    assert spares_for(UPKEEP.pulled(THETA_S, 8 * nodes)) == spares


@pytest.mark.parametrize("mean", [1e-6, 0.3, 11.6, 800.0, 9_000.0, 5e5])
@pytest.mark.parametrize("chance", [0.5, 0.99, 0.9999])
def test_spares_are_the_quantile_of_poisson(mean: float, chance: float) -> None:
    exact = stats.poisson(mean).ppf(chance)
    found = spares_for(mean, chance)
    assert exact <= found <= exact + (0 if mean <= 1e4 else 1)


def test_a_chance_that_no_sum_reaches_still_has_spares() -> None:
    assert 11.6 < spares_for(11.6, math.nextafter(1.0, 0.0)) < 200


def test_waiting_is_the_loss_of_erlang() -> None:
    terms = [11.6**k / math.factorial(k) for k in range(14)]
    assert waiting(11.6, 12) == pytest.approx(terms[-1] / sum(terms), rel=1e-12)
    assert waiting(2.0, 0) == pytest.approx(2 / 3), "up for 1 and away for 2"
    ample, few = (goodput(THETA_S, pace(), replace(UPKEEP, spares=n)) for n in (40, 12))
    assert float(ample.waits) < 1e-9 < float(few.waits)


def test_the_break_even_rate_gives_the_goodput() -> None:
    theta = break_even_s(0.9, pace(), UPKEEP)
    assert theta is not None
    assert float(goodput(theta, pace(), UPKEEP).work) == pytest.approx(0.9, abs=2e-4)
    assert break_even_s(0.9, pace(), replace(UPKEEP, straggler_loss=0.2)) is None


def test_chips_at_which_half_the_time_is_lost() -> None:
    chips = chips_at(0.5, THETA_S, pace(), UPKEEP)
    slow = replace(UPKEEP, spares=0, straggler_loss=0.3, maintenance=0.1)
    assert chips == chips_at(0.5, THETA_S, pace(), slow), "by failures alone"
    assert float(goodput(THETA_S, pace(chips), UPKEEP).work) == pytest.approx(0.5, abs=2e-3)


def test_a_restart_longer_than_the_time_between_failures_is_an_answer() -> None:
    found = goodput(16_384 * 300.0, pace(), UPKEEP)
    assert 0.0 < float(found.work) < 0.1
    hopeless = goodput(16_384 * 0.5, pace(), UPKEEP)
    assert float(hopeless.work) == 0.0
    assert float(hopeless.down) == pytest.approx(1.0)


def test_checkpoints_of_a_plan() -> None:
    asked = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 64}
    model = resolve(request_from(asked)).cost
    whole = checkpoint_bytes(model.job)
    assert whole == 14 * model.job.model.total_parameters, "bf16, copy and moments of fp32"
    held = whole / 64
    beside = checkpointing(model, held, 1e9, beside=True)
    assert float(beside.stall_s) == held / model.chip.host_link_bandwidth_bytes_per_s
    assert float(beside.write_s) == whole / 1e9
    blocking = checkpointing(model, held, 1e9, beside=False)
    assert (float(blocking.stall_s), float(blocking.write_s)) == (whole / 1e9, 0.0)
    fast = checkpointing(model, held, 1e15, beside=False)
    assert float(fast.stall_s) == float(beside.stall_s), "the job stops for the copy at least"
    adapters = resolve(request_from({**asked, "job": "lora"})).cost
    assert checkpoint_bytes(adapters.job) < 0.02 * whole


@each("fields", [
    {"job": "finetune"}, {"job": "dpo"}, {"job": "lora"}, {"job": "qlora"},
    {"job": "lora", "reference": "model", "frozen_weights": "nf4"},
])  # fmt: skip
def test_a_checkpoint_copies_what_is_trained(fields: dict[str, str]) -> None:
    """On one chip all of it: neither frozen weights nor those of a reference model."""
    asked = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 8, "framework": "fsdp"}
    model = resolve(request_from(asked | fields)).cost
    parts = memory_table(model, PlanTable.from_plans([Plan(sharding="ddp", micro_batch=2)])).fullest
    assert float(trained_bytes(model.job, parts)[0]) == pytest.approx(checkpoint_bytes(model.job))


def test_a_checkpoint_has_what_each_parameter_has_of_its_own_optimizer() -> None:
    """Muon keeps one moment of matrices; embedding and head have both, as with Adam."""
    asked = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 64, "optimizer": "muon"}
    job = resolve(request_from(asked)).cost.job
    ends = job.model.embedding_parameters + job.model.head_parameters
    assert ends > 1e9
    assert checkpoint_bytes(job) == 10 * (job.model.total_parameters - ends) + 14 * ends

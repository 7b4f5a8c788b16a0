"""Phases of a run: their sum is that of plans solved alone, proved by brute force; what loads."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.brute import brute_force_s, every_plan_s
from support.cases import each

import planner
from planner.answers.api import solve_request
from planner.answers.run.passages import passage_of
from planner.answers.run.phased import Passage, Phase, PhasesResult
from planner.answers.run.phases import solve_phases
from planner.answers.run.shared import with_one_plan
from planner.answers.run.stops import stop_between
from planner.base.errors import InputError
from planner.cost.goodput.checkpoints import checkpoint_bytes
from planner.plan import Plan, Stage
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.question.run.phases import read_phases
from planner.report.tables.phases import sum_rows

SMALL: dict[str, Any] = {
    "model": "llama3-8b", "hardware": "h100-sxm5-80", "chips": 8, "batch_tokens": 2**18,
    "seq_len": 8192, "max_oom_risk": 1, "clocks": False, "framework": "megatron",
}  # fmt: skip
PHASES = ("1e9,batch_tokens=128Ki,seq_len=4096", "3e10", "2e9,seq_len=32768")
WARM_UP = ("1e10,batch_tokens=128Ki", "3e10,plan=same")
ADDED = ("tokens", "steps", "days", "days_low", "days_high", "ideal_days", "energy_mwh",
         "facility_energy_mwh", "cost", "electricity_cost", "co2_t")  # fmt: skip
PRICES: dict[str, Any] = {
    "price_per_chip_hour": 2.0, "electricity_price": 0.1, "carbon_intensity": 300.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def found() -> PhasesResult:
    return solve_phases(**SMALL, **PRICES, phases=PHASES)


@pytest.fixture(scope="module")
def warmed() -> PhasesResult:
    return solve_phases(**SMALL, phases=WARM_UP)


def alone(**fields: Any) -> Any:
    return planner.solve(**{**SMALL, **PRICES, **fields})


def test_each_phase_is_the_question_alone_and_all_add_up(found: PhasesResult) -> None:
    answers = [
        alone(train_tokens=1e9, batch_tokens=2**17, seq_len=4096),
        alone(train_tokens=3e10),
        alone(train_tokens=2e9, seq_len=32768),
    ]
    assert [phase.best.plan for phase in found.phases if phase.best] == [
        answer.best.plan for answer in answers
    ]
    assert found.total is not None
    pairs = zip(pairwise(found.phases), found.passages, strict=True)
    stops = [stop_between(*pair, passage) for pair, passage in pairs]
    for name in ADDED:
        parts = [getattr(run, name) for run in (*(answer.run for answer in answers), *stops)]
        assert getattr(found.total.run, name) == pytest.approx(sum(parts), rel=1e-12), name
    kept = [answer.run.goodput for answer in answers]
    assert found.total.failures == pytest.approx(sum(one.failures for one in kept))
    shares = [one.share for one in kept]
    assert min(shares) < (found.total.share or 0.0) < max(shares)
    names = [name for name, _ in sum_rows(found, found.total)]
    assert names[:6] == ["tokens", "steps", "time", "if nothing failed", "goodput",
                         "stops between phases"]  # fmt: skip
    assert len(set(names) & {"lost time", "without these", "unknown"}) == 0


def test_their_proofs_are_the_proof_of_the_sum(found: PhasesResult) -> None:
    least = 0.0
    for phase in found.phases:
        asked = phase.answer.question.job
        own = {"batch_tokens": asked["batch_tokens"], "seq_len": asked["seq_len"]}
        run = phase.answer.run
        assert run is not None
        least += run.steps * brute_force_s({**SMALL, **own}, lambda p: np.ones(len(p), bool))
    assert found.status == "optimal"
    assert found.total is not None
    assert found.total.objective == pytest.approx(least, rel=1e-12)
    assert found.total.bound == pytest.approx(least, rel=1e-12)
    work_s = found.total.run.ideal_days * 86400 - found.total.stops_s
    assert found.total.objective == pytest.approx(work_s, rel=1e-12)
    assert "their proofs are the proof of the sum" in str(found)


def test_a_stop_is_a_last_checkpoint_and_a_restart(found: PhasesResult) -> None:
    """On 8 chips, each with 122.07 MB/s of the store and the power of a chip that waits."""
    assert found.total is not None
    model = resolve(found.phases[0].request, chips=8).cost
    write_s, seconds = checkpoint_bytes(model.job) / (8 * 1.2207e8), 0.0
    for phase, passage in zip(found.phases[:-1], found.passages, strict=True):
        assert phase.best is not None
        held = phase.best.memory_bytes["weights"] + phase.best.memory_bytes["optimizer"]
        copy_s = held / model.chip.host_link_bandwidth_bytes_per_s
        assert passage.loads
        seconds += copy_s + write_s + 600
    assert found.total.stops_s == pytest.approx(seconds, rel=1e-9)
    first, second, _ = found.phases
    loads, brought = (
        stop_between(first, second, Passage(form="torch_dist", refused=refused))
        for refused in ((), ("tp",))
    )
    assert loads is not None
    assert brought is not None
    more_s = (brought.ideal_days - loads.ideal_days) * 86400
    assert more_s == pytest.approx(2 * write_s), "read and written in another form"
    chip_w = model.chip.wait_w + model.chip.host_w + model.network_w_per_chip(8)
    runs = [phase.answer.run for phase in found.phases if phase.answer.run]
    joules = (found.total.run.energy_mwh or 0) - sum(run.energy_mwh or 0 for run in runs)
    assert joules * 3.6e9 == pytest.approx(8 * chip_w * seconds, rel=1e-6)
    money = (found.total.run.cost or 0.0) - sum(run.cost or 0.0 for run in runs)
    assert money == pytest.approx(2.0 * 8 * seconds / 3600, rel=1e-6)
    assert "stops between phases" in str(found)


def test_one_plan_of_a_warm_up(warmed: PhasesResult) -> None:
    """By brute force over all plans that run both: as good as it is said to be."""
    first, second = warmed.phases
    assert first.best is not None
    assert second.best is not None
    assert first.best.plan == second.best.plan
    assert (first.same, second.same) == (False, True)
    assert warmed.total is not None
    assert warmed.total.stops_s == 0.0
    small, large = (every_plan_s({**SMALL, "batch_tokens": batch}) for batch in (2**17, 2**18))
    steps = [1e10 / 2**17, 3e10 / 2**18]
    least = min(steps[0] * small[plan] + steps[1] * large[plan] for plan in small.keys() & large)
    assert warmed.total is not None
    assert warmed.total.bound is not None
    assert warmed.total.objective is not None
    parted = steps[0] * min(small.values()) + steps[1] * min(large.values())
    assert warmed.total.bound == pytest.approx(parted, rel=1e-12)
    assert warmed.total.bound < least * (1 + 1e-12) <= warmed.total.objective * (1 + 2e-12)
    assert warmed.total.objective == pytest.approx(least, rel=0.02)
    for phase, times in zip(warmed.phases, (small, large), strict=True):
        assert phase.best is not None
        assert phase.best.step_time_s == pytest.approx(times[phase.best.plan], rel=1e-12)
        assert phase.answer.run is not None
        assert phase.answer.run.steps in (pytest.approx(steps[0]), pytest.approx(steps[1]))


def test_a_sum_that_is_not_proved_says_how_far_off_it_is() -> None:
    result = solve_phases(
        **{**SMALL, "seq_len": 2048}, phases=("5e9,batch_tokens=16Ki", WARM_UP[1])
    )
    assert result.total is not None
    assert result.total.objective is not None
    assert result.total.bound is not None
    gap = 1 - result.total.bound / result.total.objective
    assert gap > 0.001
    assert "from the least sum of step time over all steps" in str(result)
    assert [phase.answer.status for phase in result.phases].count("optimal") <= 1


def test_a_sum_without_a_bound_is_not_said_to_have_no_sum(found: PhasesResult) -> None:
    assert found.total is not None
    phase = found.phases[0]
    proof = replace(phase.answer.certificate, status="feasible", bound=None)
    stopped = replace(phase, answer=replace(phase.answer, certificate=proof))
    result = replace(found, phases=(stopped, *found.phases[1:]))
    result = replace(result, total=replace(found.total, bound=None))
    said = dict(sum_rows(result, result.total))["proof"] if result.total else ""
    assert said == (
        "not every phase is proved; how far the sum of step time is from the least is unknown"
    )


@each(("price", "noun"), [(3.0, "money per step"), (None, "chip-hours per step")])
def test_a_sum_of_money_is_named_by_whether_there_is_a_price(
    price: float | None, noun: str
) -> None:
    asked = {**SMALL, "model": "gpt3-125m", "objective": "money", "price_per_chip_hour": price}
    result = solve_phases(**{**asked, "seq_len": 2048}, phases=("1e9",))
    assert f"each phase has the least {noun}" in " ".join(str(result).split())


def test_energy_adds_and_memory_does_not() -> None:
    energy = solve_phases(**SMALL, phases=PHASES[1:], objective="energy")
    assert energy.total is not None
    runs = [phase.answer.run for phase in energy.phases if phase.answer.run]
    joules = sum(run.energy_mwh or 0.0 for run in runs) * 3.6e9
    assert energy.total.objective == pytest.approx(joules, rel=1e-3), "stops left out"
    memory = solve_phases(**SMALL, phases=PHASES[1:], objective="memory")
    assert memory.total is not None
    assert (memory.total.objective, memory.total.bound) == (None, None)
    assert "memory per chip has no sum over phases" in str(memory)


def test_chips_of_a_phase_are_kept_with_its_plan() -> None:
    phases = ({"train_tokens": 1e9, "chips": 4}, {"train_tokens": "1G", "plan": "same"}, "1e9")
    result = solve_phases(**{**SMALL, "model": "gpt3-1.3b", "seq_len": 2048}, phases=phases)
    assert [phase.best.chips for phase in result.phases if phase.best] == [4, 4, 8]
    assert result.subject == "gpt3-1.3b on h100-sxm5-80 (dgx-h100-ndr)"


def test_a_phase_without_a_plan_leaves_no_sum() -> None:
    result = solve_phases(**{**SMALL, "chips": 1}, phases=("1e9", "1e9"))
    assert (result.total, result.passages, result.status) == (None, (), "infeasible")
    assert "No plan fits phase 1 (proved)" in str(result)
    assert result.to_dict()["total"] is None


def test_chips_without_a_published_rate_have_ideal_days() -> None:
    fields = {"model": "gpt3-1.3b", "hardware": "tpu-v5p", "chips": 8, "batch_tokens": "128Ki"}
    result = solve_phases(**fields, phases=("1e9", "1e9"))
    assert result.total is not None
    assert result.total.share is None
    assert result.total.run.days == result.total.run.ideal_days
    assert re.search("goodput +unknown: nobody published", str(result))


ZERO1 = {"sharding": "zero1", "pp": 2, "dp": 4}


@each(("framework", "run", "plan", "form", "refused", "others"), [
    ("megatron", {**ZERO1, "tp": 8}, {**ZERO1, "tp": 8, "dp": 2}, "torch_dist", (), None),
    ("megatron", {**ZERO1, "tp": 8}, {**ZERO1, "tp": 4}, "torch_dist", ("tp 8 to 4",),
     ("torch_dist-reshardable",)),
    ("megatron", ZERO1, {**ZERO1, "split": "front"}, "torch_dist", ("the layers of stages",),
     ("torch_dist-reshardable",)),
    ("megatron", ZERO1, {**ZERO1, "stages": (Stage(layers=15), Stage(layers=17))}, "torch_dist",
     ("the layers of stages",), ("torch_dist-reshardable",)),
    ("megatron", {**ZERO1, "tp": 8}, {"sharding": "zero3", "fsdp": 8}, "torch_dist",
     ("tp 8 to 1", "pp 2 to 1", "sharding zero1 to zero3"), ()),
    ("deepspeed", {"dp": 8, "sharding": "zero2"}, {"dp": 4, "sharding": "zero2"}, "zero",
     ("chips 8 to 4",), ("universal",)),
    ("torchtitan", {"fsdp": 8, "sharding": "zero3"}, {"tp": 8, "sharding": "ddp"}, "dcp",
     (), None),
])  # fmt: skip
def test_what_loads_into_what(
    framework: str,
    run: dict[str, Any],
    plan: dict[str, Any],
    form: str,
    refused: tuple[str, ...],
    others: tuple[str, ...] | None,
) -> None:
    passage = passage_of(framework, Plan(**run), Plan(**plan))
    assert (passage.form, passage.refused) == (form, refused)
    assert passage.loads == (not refused)
    if others is not None:
        assert tuple(name for name, _ in passage.others) == others


def test_what_loads_is_what_resuming_allows() -> None:
    """The best plan that a search finds for a checkpoint loads it; the best of all may not."""
    run = Plan(tp=2, dp=4)
    kept = planner.solve(**SMALL, resume_from="tp=2,dp=4")
    free = planner.solve(**SMALL)
    assert kept.best is not None
    assert free.best is not None
    assert passage_of("megatron", run, kept.best.plan).loads
    loads = passage_of("megatron", run, free.best.plan).loads
    assert loads == (free.best.plan.mesh["tp"] == 2 and kept.best.plan == free.best.plan)


@each(("given", "plain"), [
    ("1e12", ("train_tokens=1e12",)),
    ([" 1e12 , seq-len = 8192"], ("train_tokens=1e12,seq_len=8192",)),
    ([{"seq_len": 8192, "train_tokens": 1e12}], ("train_tokens=1000000000000,seq_len=8192",)),
    ({"train_tokens": "1T", "chips": "16x16"}, ("train_tokens=1T,chips=16x16",)),
    (["1e12", "train_tokens=2e12,plan=same"], ("train_tokens=1e12", "train_tokens=2e12,plan=same")),
])  # fmt: skip
def test_phases_in_words(given: Any, plain: tuple[str, ...]) -> None:
    assert read_phases(given) == plain
    assert read_phases(plain) == plain


@each(("fields", "words"), [
    ({"phases": ()}, "phases: is missing; say the tokens of each"),
    ({"phases": ["seq_len=8192"]}, "phases: phase 1: train_tokens: is missing"),
    ({"phases": ["1e12,colour=red"]}, "phase 1: 'colour' is not one of train_tokens"),
    ({"phases": ["1e12", "0"]}, "phase 2: train_tokens: 0: must be greater than 0"),
    ({"phases": ["1e12,batch_tokens=-1"]}, "phase 1: batch_tokens: -1: must be greater than 0"),
    ({"phases": ["nan"]}, "phase 1: train_tokens: 'nan' is not a number"),
    ({"phases": ["1e99"]}, "at most 1e+30"),
    ({"phases": ["1e12,"]}, "phase 1: '1e12,' is not of the form"),
    ({"phases": ["1e12,seq_len=1,seq_len=2"]}, "phase 1: seq_len: is given twice"),
    ({"phases": ["1e12,plan=same"]}, "phase 1: plan: same as which?"),
    ({"phases": ["1e12", "1e12,plan=other"]}, "phase 2: plan: 'other' is not same"),
    ({"phases": ["1e12", "1e12,plan=same,chips=8"]}, "phase 2: chips: plan same has those"),
    ({"phases": [{"train_tokens": True}]}, "phase 1: train_tokens: true is not a number or text"),
    ({"phases": [{"train_tokens": "1e12,2"}]}, "phase 1: train_tokens: '1e12,2' is not one value"),
    ({"phases": [3]}, "phase 1: 3 is not of the form"),
    ({"phases": ["1e12"] * 65}, "phases: 65 phases; allowed: up to 64"),
    ({"phases": ["1e12,seq_len=0"]}, "phases: phase 1: seq_len: 0"),
    ({"phases": ["1e12,chips=many"]}, "phases: phase 1: chips: 'many'"),
    ({"phases": ["1e12"], "train_tokens": 1e12}, "train_tokens: each phase says its own"),
    ({"phases": ["1e12"], "down": "1 node"}, "down: is about one plan that runs"),
    ({"phases": ["1e12"], "pes": [66, 132]}, "phases: are planned on one machine"),
    ({"phases": ["1e12", "1e12,plan=same"], "objective": "memory"}, "phases: plan=same needs an"),
    ({"phases": ["1e12"], "spares": 9}, "phase 1: spares: 9 is more than the 1 node"),
])  # fmt: skip
def test_what_cannot_be_asked_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        solve_phases(**{**SMALL, **fields})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_plan_of_one_phase_runs_in_the_other() -> None:
    """4 sequences on 4 data ranks; 6 on 2, three at a time."""
    common = {**SMALL, "model": "gpt3-125m", "chips": 4, "seq_len": 2048, "train_tokens": 1e9}
    phases = []
    for sequences, fix in ((4, {"dp": ["4"]}), (6, {"dp": ["2"], "micro_batch": ["3"]})):
        request = request_from({**common, "batch_tokens": sequences * 2048, "fix": fix})
        phases.append(Phase(request=request, answer=solve_request(request)))
    with pytest.raises(InputError, match=r"best plans of phases 1 to 2 runs in all of them"):
        with_one_plan(phases, "1 to 2")


def test_other_questions_refuse_phases() -> None:
    for ask in (planner.solve, lambda **fields: planner.vary(["seq_len=4096,8192"], **fields)):
        with pytest.raises(InputError, match="phases: "):
            ask(**SMALL, phases=["1e12"])

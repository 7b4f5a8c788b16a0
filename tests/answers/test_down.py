"""Nodes that are down: the best plans for what is left, by brute force, and what they gain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.brute import brute_force_s
from support.cases import each

import planner
from planner.answers.run.lost import DownResult
from planner.answers.run.outage import solve_down
from planner.base.errors import InputError
from planner.plan import SHARDINGS, PlanTable
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.question.run.outage import lost_of, read_down

JOB: dict[str, Any] = {
    "model": "llama3-8b", "hardware": "h100-sxm5-80", "batch_tokens": 2**17, "seq_len": 8192,
    "max_oom_risk": 1, "clocks": False, "framework": "megatron",
}  # fmt: skip
RUN = {"resume_from": "pp=2,dp=4", "down": "4 chips"}
ZERO1 = SHARDINGS.index("zero1")


def loads(plans: PlanTable) -> Any:
    """What the distributed checkpoint of `RUN` loads into."""
    return (plans.tp == 1) & (plans.pp == 2) & (plans.interleave == 1) & (plans.sharding == ZERO1)


@pytest.fixture(scope="module")
def found() -> DownResult:
    return solve_down(**JOB, **RUN, repair="2h", restart="5min", checkpoint_store="10GB/s")


def least_s(left: int, allowed: Any) -> float:
    """The least step time of all plans on any number of chips up to what is left."""
    cluster = resolve(request_from({**JOB, "chips": left})).cost.cluster
    counts = cluster.chip_counts(left)
    return min(brute_force_s({**JOB, "chips": chips}, allowed) for chips in counts)


def test_both_plans_are_the_best_of_all(found: DownResult) -> None:
    assert (found.chips, found.left, found.nodes) == (8, 4, 1)
    loading, free = found.ways
    assert loading.best.step_time_s == pytest.approx(least_s(4, loads), rel=1e-12)
    every = least_s(4, lambda plans: np.ones(len(plans), dtype=bool))
    assert free.best.step_time_s == pytest.approx(every, rel=1e-12)
    assert (loading.refused, bool(free.refused)) == ((), True)
    assert all(way.answer.status == "optimal" for way in found.ways)
    own = planner.evaluate(planner.Plan(pp=2, dp=4), **JOB)
    assert found.running.step_time_s == own.result.step_time_s


def test_what_they_gain_by_hand(found: DownResult) -> None:
    """One writes and reads 112 GB at 10 GB/s; H100 have a failure rate, so goodput counts."""
    once = found.checkpoint_bytes / 1e10
    assert once == pytest.approx(14 * 8.03e9 / 1e10, rel=1e-3)
    assert found.share is not None
    whole = found.share * 2**17 / found.running.step_time_s
    for way, extra in zip(found.ways, (0.0, 2 * once), strict=True):
        assert way.share is not None
        rate = way.share * 2**17 / way.best.step_time_s
        assert way.share > found.share, "fewer chips fail less often"
        stops, back = 300 + extra, once + 300 + (0.0 if way.returns else 2 * once)
        gained = rate * (7200 - stops) / whole - (back - 300)
        assert way.gained_s == pytest.approx(gained, rel=1e-9)
        edge = stops + (back - 300) * whole / rate
        assert float(way.detour.break_even_s) == pytest.approx(edge, rel=1e-9)
    assert found.pays
    assert found.now is not None
    assert found.now.gained_s == max(way.gained_s for way in found.ways)


def test_a_short_repair_is_waited_for() -> None:
    result = solve_down(**JOB, **RUN, repair="5min")
    assert not result.pays
    assert "Wait 300 s for the repair: going on with plan " in str(result)
    edge = min(float(way.detour.break_even_s) for way in result.ways)
    longer = solve_down(**JOB, **RUN, repair=edge + 1.0)
    assert longer.pays
    assert "Go on with plan" in str(longer)


def test_spares_come_first() -> None:
    covered = solve_down(**JOB, **RUN, spares=1)
    assert covered.covered
    assert (covered.left, covered.ways, covered.now) == (8, (), None)
    assert "1 spare node takes its place: restart with the plan that runs." in str(covered)
    none = solve_down(**JOB, **RUN, spares=0)
    assert none.left == 4


def test_some_spares_leave_fewer_nodes_down() -> None:
    run = {**JOB, "resume_from": "tp=8,dp=4", "down": "2 nodes"}
    result = solve_down(**run, spares=1)
    assert (result.chips, result.left, result.spares) == (32, 24, 1)
    assert "1 spare node of 2 that are needed." in str(result)


def test_a_form_that_loads_anywhere_leaves_one_way(found: DownResult) -> None:
    """What the question says of such a form is what the answer offers."""
    assert [name for name, _ in found.others] == ["torch_dist-reshardable"]
    result = solve_down(**JOB, **RUN, checkpoint="torch_dist-reshardable")
    (way,) = result.ways
    assert way.refused == ()
    assert way.best.plan == found.ways[-1].best.plan


def test_a_checkpoint_of_as_many_chips_loads_into_no_plan() -> None:
    fields = {**JOB, "framework": "deepspeed", "resume_from": "tp=2,dp=4,sharding=zero2"}
    result = solve_down(**fields, down="4 chips")
    (way,) = result.ways
    assert "chips 8 to" in ", ".join(way.refused)
    assert "is loaded on as many" in result.missing
    assert [name for name, _ in result.others] == ["universal"]


def test_no_plan_fits_on_what_is_left() -> None:
    fields = {**JOB, "model": "llama3-70b", "resume_from": "tp=8,pp=2,dp=1,recompute=full"}
    result = solve_down(**fields, down="15 chips")
    assert (result.ways, result.now) == ((), None)
    assert "no plan fits on what is left" in str(result)


def test_chips_without_a_published_rate_have_no_goodput() -> None:
    fields = {"model": "gpt3-1.3b", "hardware": "tpu-v5p", "batch_tokens": "512Ki"}
    result = solve_down(**fields, resume_from="fsdp=32", down="1 node")
    assert result.share is None
    assert all(way.share is None for way in result.ways)
    assert "goodput" not in str(result)
    assert result.to_dict()["running"]["goodput"] is None


@each(("text", "plain", "lost"), [
    ("3nodes", "3 nodes", (3, 24)), (" 1 Node ", "1 node", (1, 8)),
    ("24chips", "24 chips", (3, 24)), ("1 chip", "1 chip", (1, 1)), ("9 chips", "9 chips", (2, 9)),
])  # fmt: skip
def test_what_is_down_in_words(text: str, plain: str, lost: tuple[int, int]) -> None:
    assert read_down(text) == plain
    assert lost_of(plain, 8) == lost


@each(("fields", "words"), [
    ({"down": "3"}, "down: '3' is not a number of nodes or chips"),
    ({"down": 3}, "down: 3 is not a number of nodes or chips"),
    ({"down": "0 nodes"}, "down: '0 nodes' is not a number"),
    ({"down": "1 node"}, "down: 1 node leave nothing of the 8 chips of the run"),
    ({"down": "9999999 nodes"}, "at most 7 chips can be down"),
    ({"resume_from": None}, "down: has no effect without resume-from"),
    ({"chips": 16}, "chips: 16 contradicts the run, which has 8"),
    ({"chips_at_most": 16}, "chips_at_most: has no effect with down"),
    ({"objective": "energy"}, "objective: with down plans are compared by tokens per second"),
    ({"train_tokens": 1e12}, "train_tokens: has no effect with down"),
    ({"price_per_chip_hour": 2.0}, "price_per_chip_hour: has no effect with down"),
    ({"prices": ["aws-blocks-h100"]}, "prices: has no effect with down"),
    ({"spares": 2}, "spares: 2 is more than the 1 node of the job"),
    ({"mtbf": "3h", "failure_site": "rsc-1"}, "failure_site: mtbf says how often"),
    ({"resume_from": "tp=3,dp=8"}, "resume-from: tp 3 does not divide the 32 attention heads"),
    ({"pes": [66, 132]}, "down: a run that exists is on one machine"),
    ({"phases": ["1e12"]}, "phases: "),
])  # fmt: skip
def test_what_cannot_be_asked_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        solve_down(**{**JOB, **RUN, **fields})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_questions_refuse_it(tmp_path: Path) -> None:
    for ask in (planner.solve, lambda **fields: planner.vary(["seq_len=4096,8192"], **fields)):
        with pytest.raises(InputError, match="down: "):
            ask(**{**JOB, **RUN})
    plan = tmp_path / "plan.yaml"
    plan.write_text("schema_version: 1\njob: {model: llama3-8b, down: 1 node}\nplan: {}\n")
    with pytest.raises(InputError, match="down: "):
        planner.evaluate(plan)

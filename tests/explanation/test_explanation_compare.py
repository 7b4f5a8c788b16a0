"""Plans beside each other: the waterfall, the noise, who dominates."""

import re
from dataclasses import replace
from itertools import pairwise
from math import isclose
from pathlib import Path
from typing import Any

import pytest

import planner
from explanation.cases import JOB, PLAN
from planner.explanation.comparison.answer import CompareResult
from planner.question.files.plan_text import plan_fields
from planner.report.tables.compare import compare_view
from planner.report.tables.tables import text_of
from strict_yaml.writing import dump as dump_yaml

PLANS = {
    "a": PLAN,
    "b": planner.Plan(dp=8, tp=2, micro_batch=2, sharding="zero2"),
    "c": planner.Plan(dp=4, tp=1, pp=4, micro_batch=1, sharding="ddp", recompute="full"),
    "half": planner.Plan(dp=2, tp=2, pp=2, micro_batch=2, sharding="zero1"),
}


def write(path: Path, plan: planner.Plan = PLAN, **changes: Any) -> str:
    """A plan file; returns its path."""
    job = {name: value for name, value in {**JOB, **changes}.items() if value is not None}
    data = {"schema_version": 1, "job": job, "plan": plan_fields(plan)}
    path.write_text(dump_yaml(data), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("plans")
    return {name: write(folder / f"{name}.yaml", plan) for name, plan in PLANS.items()}


@pytest.fixture(scope="module")
def result(files: dict[str, str]) -> CompareResult:
    return planner.compare(*files.values())


def test_the_costs_are_those_of_evaluate(result: CompareResult, files: dict[str, str]) -> None:
    costs = {cost.name: cost for cost in result.costs}
    for number, file in enumerate(files.values()):
        alone = planner.evaluate(file).result
        assert costs["step_time_s"].values[number] == alone.step_time_s
        assert costs["step_time_s"].low[number] == alone.step_time_low_s
        assert costs["energy_per_step_j"].values[number] == alone.energy_per_step_j
        assert costs["memory_per_chip_bytes"].values[number] == alone.memory_per_chip_bytes
    times = costs["step_time_s"]
    assert times.absolute[0] == times.relative[0] == 0
    assert times.values[1] is not None
    assert times.values[0] is not None
    assert times.relative[1] == times.values[1] / times.values[0] - 1


def test_a_waterfall_adds_up(result: CompareResult) -> None:
    for fall in result.waterfalls:
        total = fall.start_s + sum(fall.parts.values())
        assert isclose(total, fall.end_s, rel_tol=1e-12)
        assert fall.start_s == result.sides[0].result.step_time_s
    bubbles = [fall.parts.get("bubble") for fall in result.waterfalls]
    assert bubbles[0] is not None
    assert bubbles[0] < 0, "b has no pipeline"


def test_figures_that_say_nothing_are_not_spelled_out(result: CompareResult) -> None:
    fall = replace(result.waterfalls[0], start_s=10.0, end_s=10.0007,
                   parts={"compute": 0.0007, "host": 449e-9, "bubble": 1e-12})  # fmt: skip
    chance = next(cost for cost in result.costs if cost.name == "out_of_memory_probability")
    time = next(cost for cost in result.costs if cost.name == "step_time_s")
    tiny = replace(chance, values=(9.11e-16,) * 4)
    near = replace(time, values=(10.0, 10.0007481, 10.0001, 10.0), low=(), high=())
    text = text_of(compare_view(replace(
        result, costs=(tiny, near), waterfalls=(fall, *result.waterfalls[1:]))))  # fmt: skip
    assert "under 0.01 %" in text
    assert "+0.01 %" in text
    assert "0.00748" not in text
    assert "0.000000" not in text
    assert "about 0 s" in text
    assert not re.search(r"\d (ns|ps)", text)


def test_what_differs_is_named_and_nothing_else(result: CompareResult) -> None:
    named = {(one.group, one.name): one.values for one in result.differences}
    assert named["mesh", "pp"] == ("2", "1", "4", "2")
    assert named["machine", "chips"] == ("16", "16", "16", "8")
    assert named["choices", "recompute"] == ("none", "none", "full", "none")
    assert ("job", "model") not in named
    assert ("choices", "schedule") not in named


def test_ties_are_the_same_either_way_round(result: CompareResult, files: dict[str, str]) -> None:
    back = planner.compare(*reversed(files.values()))
    known = {frozenset((p.left, p.right)): p for p in back.pairs}
    assert len(result.pairs) == 6
    for pair in result.pairs:
        other = known[frozenset((pair.left, pair.right))]
        assert (pair.tie, pair.overlap, pair.common, pair.dominates) == (
            other.tie, other.overlap, other.common, other.dominates,
        )  # fmt: skip
        assert pair.noise == pytest.approx(other.noise)


def test_errors_are_shared_on_one_machine_and_as_many_chips(
    result: CompareResult, tmp_path: Path, files: dict[str, str]
) -> None:
    common = {(p.left, p.right): p.common for p in result.pairs}
    assert common[files["a"], files["b"]]
    assert not common[files["a"], files["half"]]
    elsewhere = write(tmp_path / "h200.yaml", PLAN, hardware="dgx-h200-ndr")
    (pair,) = planner.compare(files["a"], elsewhere).pairs
    assert not pair.common
    ends = [planner.evaluate(name).result for name in (files["a"], elsewhere)]
    assert pair.noise is not None
    assert pair.tie == (
        max(pair.noise, 1 / pair.noise) >= max(
            ends[0].step_time_s / ends[1].step_time_s, ends[1].step_time_s / ends[0].step_time_s
        )
    )  # fmt: skip


def test_the_better_plan_in_everything_dominates(result: CompareResult) -> None:
    for pair in result.pairs:
        sides = {side.name: side.result for side in result.sides}
        left, right = sides[pair.left], sides[pair.right]
        better = [
            getattr(left, name) - getattr(right, name)
            for name in ("step_time_s", "energy_per_step_j", "memory_per_chip_bytes")
        ]
        if pair.dominates == pair.left:
            assert max(better) <= 0
        elif pair.dominates == pair.right:
            assert min(better) >= 0
        else:
            assert min(better) < 0 < max(better)


def test_the_same_plan_twice_differs_in_nothing(files: dict[str, str], tmp_path: Path) -> None:
    found = planner.compare(files["a"], write(tmp_path / "again.yaml"))
    assert found.differences == ()
    assert all(cost.relative[1] in (0, None) for cost in found.costs)
    (pair,) = found.pairs
    assert pair.tie is True
    assert pair.dominates == ""


def test_other_batches_are_compared_per_token(files: dict[str, str], tmp_path: Path) -> None:
    larger = write(tmp_path / "larger.yaml", batch_tokens=2**20)
    found = planner.compare(files["a"], larger)
    assert any("batches differ" in line for line in found.warnings)
    costs = {cost.name: cost.values for cost in found.costs}
    alone = planner.evaluate(larger).result
    assert costs["basis_time_s"][1] == alone.step_time_s / 2
    assert costs["step_time_s"][1] == alone.step_time_s
    (fall,) = found.waterfalls
    assert fall.end_s == alone.step_time_s / 2
    assert isclose(fall.start_s + sum(fall.parts.values()), fall.end_s, rel_tol=1e-12)


def test_other_models_are_warned_of_and_adapters_refused(
    files: dict[str, str], tmp_path: Path
) -> None:
    other = write(tmp_path / "other.yaml", model="gpt3-350m")
    assert any("models differ" in line for line in planner.compare(files["a"], other).warnings)
    adapters = write(tmp_path / "lora.yaml", job="lora", lora_rank=16)
    with pytest.raises(planner.InputError, match="trains adapters"):
        planner.compare(files["a"], adapters)


def test_another_optimizer_and_lengths_are_named(files: dict[str, str], tmp_path: Path) -> None:
    other = write(tmp_path / "other.yaml", optimizer="muon", lengths={"mean": 300, "cv": 1.5})
    named = {one.name: one.values for one in planner.compare(files["a"], other).differences}
    assert named == {"optimizer": ("-", "muon"), "lengths": ("-", "mean 300, cv 1.5")}


def test_bounds_have_no_noise(files: dict[str, str], tmp_path: Path) -> None:
    bound = write(tmp_path / "bound.yaml", assumptions="roofline")
    found = planner.compare(files["a"], bound)
    (pair,) = found.pairs
    assert pair.tie is pair.noise is pair.overlap is None
    assert any("bounds" in line for line in found.warnings)


def test_every_pair_once(result: CompareResult) -> None:
    names = [side.name for side in result.sides]
    assert [(p.left, p.right) for p in result.pairs][:3] == [(names[0], name) for name in names[1:]]
    assert len({(p.left, p.right) for p in result.pairs}) == 6
    assert all(first != second for first, second in pairwise(names))


def test_plans_that_differ_in_the_clock_alone_share_their_whole_error(
    files: dict[str, str], tmp_path: Path
) -> None:
    """The noise and the tie say the same: any difference of their times counts."""
    slower = write(tmp_path / "slower.yaml", replace(PLAN, clock=0.9))
    (pair,) = planner.compare(files["a"], slower).pairs
    assert (pair.common, pair.noise, pair.tie) == (True, 1.0, False)


def test_the_noise_decides_the_tie(result: CompareResult) -> None:
    times = {side.name: side.result.step_time_s for side in result.sides}
    for pair in result.pairs:
        ratio = times[pair.left] / times[pair.right]
        assert pair.noise is not None
        assert pair.tie == (max(ratio, 1 / ratio) <= pair.noise)
    assert len({pair.tie for pair in result.pairs}) == 2

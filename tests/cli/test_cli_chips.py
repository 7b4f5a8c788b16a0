"""How many chips: a number, a range, or at most so many; what the answer says of fewer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cases import each

import planner as package
from cli.answers import SMALL, answer_to
from cli.command import planner, refused, solve
from planner.base.errors import InputError
from planner.plan import Plan
from solvers.frontier import nondominated

JOB = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80")


def points(answer: Any) -> Any:
    rows = answer["front"]["plans"]
    return np.array([[row["step_time_s"], row["energy_per_step_j"]] for row in rows])


def test_a_range_is_what_each_number_gives_alone() -> None:
    """Front and best plan over 2, 4 and 8 chips against three questions of one number each."""
    alone = {n: solve(*JOB, "--chips", n, "--batch-tokens", "64Ki") for n in (2, 4, 8)}
    every = np.vstack([points(answer) for answer in alone.values()])
    several = solve(*JOB, "--chips", "2..8", "--batch-tokens", "64Ki")
    np.testing.assert_allclose(points(several), every[nondominated(every)], rtol=1e-12)
    assert {row["chips"] for row in several["front"]["plans"]} > {8}
    energy = solve(*JOB, "--chips", "2..8", "--batch-tokens", "64Ki", "--objective", "energy")
    assert energy["certificate"]["status"] == "optimal"
    assert energy["best"]["energy_per_step_j"] == pytest.approx(every[:, 1].min(), rel=1e-12)
    assert energy["best"]["chips"] < 8
    assert "It uses" in " ".join(energy["notes"]["caveats"])


def test_at_most_is_a_range_from_one_chip() -> None:
    flags = (*JOB, "--batch-tokens", "64Ki")
    range_, most = solve(*flags, "--chips", "1..8"), solve(*flags, "--chips-at-most", "8")
    assert most["question"]["asked"]["chips_at_most"] == 8
    assert range_["question"]["asked"]["chips"] == "1..8"
    for part in ("best", "front", "certificate"):
        assert range_[part] == most[part]


def test_a_range_ends_where_the_cluster_gives_no_such_number() -> None:
    flags = (*JOB, "--batch-tokens", "64Ki", "--front", "time,energy")
    assert solve(*flags, "--chips-at-most", "11")["best"] == solve(*flags, "--chips", "8")["best"]
    assert "on up to 11 x h100-sxm5-80" in planner("solve", *flags, "--chips-at-most", "11").out
    assert "on 8 x h100-sxm5-80" in planner("solve", *flags, "--chips", "8").out


def test_one_number_is_that_number(tmp_path: Path) -> None:
    exact = answer_to("dense, GPU, clocks")
    assert {row["chips"] for row in exact["front"]["plans"]} == {exact["best"]["chips"]} == {8}
    assert solve(*SMALL, "--chips-exact")["best"] == exact["best"]
    job = tmp_path / "job.yaml"
    job.write_text("model: gpt3-125m\nhardware: h100-sxm5-80\nchips: 16\n", encoding="utf-8")
    assert {row["chips"] for row in solve(job, "--chips-at-most", "4")["front"]["plans"]} >= {4}


def test_where_no_plan_uses_all_chips_the_most_are_used(tmp_path: Path) -> None:
    """Of the numbers below, each alone: the first with a plan; and why not, where that is asked."""
    flags = (*JOB, "--batch-tokens", "64Ki", "--max-power", "3kW")
    answer = solve(*flags, "--chips", "8")
    used = answer["best"]["chips"]
    assert used < 8
    assert answer["certificate"]["status"] == "optimal"
    for count in range(used + 1, 9):
        assert planner("solve", *flags, "--chips", count, "--chips-exact", "--json").code == 3
    alone = solve(*flags, "--chips", used, "--chips-exact")
    assert answer["best"] == alone["best"]
    (said,) = [
        line for line in answer["notes"]["caveats"] if line.startswith("No plan fits on all")
    ]
    assert said.startswith(f"No plan fits on all 8 chips: {used} are the most below on which one")
    assert f"exactly {used} chips" in answer["front"]["note"]
    path = tmp_path / "answer.json"
    path.write_text(planner("solve", *flags, "--chips", "8", "--json").out, encoding="utf-8")
    assert planner("report", path).code == 0


def test_fewer_that_share_the_tokens_have_their_own_plans(tmp_path: Path) -> None:
    """Under roofline each number of chips has other shares; wider spaces are searched on each."""
    flags = (*JOB, "--batch-tokens", "64Ki", "--max-power", "3kW", "--min-mfu", "0.9")
    flags += ("--assumptions", "roofline", "--runnable-in")
    any_plan, flags = (*flags, "any", "--chips"), (*flags, "megatron", "--chips")
    path = tmp_path / "answer.json"
    answer = solve(*flags, "4", "-o", tmp_path / "plan.yaml")
    used, best = answer["best"]["chips"], answer["best"]
    assert used < 4
    assert best == solve(*flags, used, "--chips-exact")["best"]
    assert planner("solve", *flags, used + 1, "--chips-exact", "--json").code == 3
    (said,) = [one for one in answer["notes"]["caveats"] if one.startswith("No plan fits on all")]
    assert "--chips-at-most" not in said  # each number is asked for alone
    (wider,) = answer["candidates"]["wider"]
    assert wider["plan"]["step_time_s"] == solve(*any_plan, "3")["best"]["step_time_s"]
    again = planner("evaluate", tmp_path / "plan.yaml", "--json").document
    assert again["step_time_s"] == best["step_time_s"]
    path.write_text(planner("solve", *flags, "4", "--json").out, encoding="utf-8")
    assert planner("report", path).code == 0


def test_slices_of_a_torus_end_a_range() -> None:
    shapes = solve("--model", "llama2-7b", "--chips", "4x4x4..4x4x8")
    assert shapes["question"]["asked"]["chips"] == "64..128"


def test_that_fewer_take_less_energy_is_the_cost_of_a_plan() -> None:
    """The sentence names a plan, and its figures are those of evaluating it."""
    question: dict[str, Any] = {
        "model": "llama2-13b", "batch_tokens": 2**22, "runnable_in": "any", "max_oom_risk": 1,
    }  # fmt: skip
    answer = package.solve(**question, chips=4096)
    fewer = "Fewer chips take less energy"
    (said,) = [line for line in answer.notes.caveats if line.startswith(fewer)]
    assert "dp 8 x fsdp 128 x tp 2 on 2,048 takes 10.6 % less a step in 1.72x the time" in said
    assert answer.best is not None
    plan = Plan(dp=8, fsdp=128, tp=2, sharding="zero3", micro_batch=1, sequence_parallel=True)
    less = package.evaluate(plan, **question).result
    assert 1 - less.energy_per_step_j / answer.best.energy_per_step_j == pytest.approx(
        0.106, abs=5e-4
    )
    assert less.step_time_s / answer.best.step_time_s == pytest.approx(1.72, abs=5e-3)
    whole = package.solve(**question, chips_at_most=4096)
    assert min(one.energy_per_step_j for one in whole.front) <= less.energy_per_step_j
    assert not any("Fewer chips" in line for line in whole.notes.caveats)


def test_a_batch_that_chips_cannot_share_names_one_that_they_can() -> None:
    """The sentence names a plan of another batch, and its command finds one at least as good."""
    question = {"model": "llama3-8b", "hardware": "gb200-nvl72", "chips": 72}
    answer = package.solve(**question)
    (said,) = [line for line in answer.notes.caveats if "do not divide" in line]
    assert said == (
        "512 sequences do not divide by 9, a factor of 72 chips: of 576 (--batch-tokens 4718592) "
        "dp 72 takes 1.44x the tokens a second (a plan near this one)."
    )
    better = package.solve(**question, batch_tokens=4718592)
    assert better.require().tokens_per_s >= 1.435 * answer.require().tokens_per_s
    assert not any("do not divide" in line for line in better.notes.caveats)
    asked = package.solve(**question, batch_tokens=2**22)
    assert not any("do not divide" in line for line in asked.notes.caveats), "as it was asked"


def test_counts_that_divide_badly_say_so() -> None:
    flags = ("--model", "mixtral-8x7b", "--hardware", "gb300-nvl72", "--seq-len", "8192")
    said = " ".join(planner("solve", *flags, "--chips", "72").out.split())
    assert "Fewer chips take less energy: " in said
    assert "--chips-at-most 72 finds the best)." in said
    assert solve(*flags, "--chips-at-most", "72")["best"]["chips"] == 64


@each(
    ("flags", "line"),
    [
        (("--chips", "8..2"), "chips: '8..2' is not a range from at least 1 up; nearest: 2..8"),
        (("--chips", "0..2"), "chips: '0..2' is not a range from at least 1 up; nearest: 1..2"),
        (("--chips", "2..x"), "chips: '2..x' is not a range of whole numbers, e.g. 512..4096"),
        (("--chips", "2..4.."), "chips: '2..4..' is not a range of whole numbers, e.g. 512..4096"),
        (("--chips", ".."), "chips: '..' is not a range of whole numbers, e.g. 512..4096"),
        (("--chips-at-most", "1e8"),
         "chips-at-most: 100000000 is outside 1 .. 262144, the range that dgx-h100-ndr is modelled "
         "for"),
        (("--chips", "9..15"),
         "chips: dgx-h100-ndr cannot give 15 chips (it is divided into nodes of 8 chips); the "
         "nearest counts are 8 and 16"),
        (("--chips", "8", "--chips-at-most", "8"),
         "chips-at-most: chips says how many there are; leave one of the two out"),
        (("--chips", "8", "--layout", "uneven", "--no-chips-exact"),
         "chips-exact: uneven stages use all chips in any case; leave it out"),
        (("--chips", "8", "--pes", "66,132", "--no-chips-exact"),
         "chips-exact: several machines use all chips in any case; leave it out"),
        (("--chips", "2..8", "--chips-exact"),
         "chips-exact: contradicts a range of chips; leave one of the two out"),
        (("--chips", "2..8", "--assumptions", "roofline"),
         "chips: under roofline the chips share a step's tokens, so that each number of chips "
         "has its own plans; give one number"),
    ],
)  # fmt: skip
def test_what_is_no_number_of_chips_is_refused(flags: tuple[str, ...], line: str) -> None:
    assert refused("solve", *JOB, *flags) == [line]


def test_a_plan_on_other_chips_contradicts_the_question() -> None:
    job: dict[str, Any] = {"model": "gpt3-125m", "hardware": "h100-sxm5-80"}
    assert package.evaluate(Plan(dp=4), **job, chips="2..8").result.chips == 4
    for fields, name in (({"chips": "8..16"}, "chips"), ({"chips_at_most": 2}, "chips_at_most")):
        with pytest.raises(InputError, match=f"^{name}: .* contradicts the mesh of the plan"):
            package.evaluate(Plan(dp=4), **job, **fields)


def test_the_default_of_chips_exact_can_be_named() -> None:
    question: dict[str, Any] = {
        "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "axes": ("dp",),
    }  # fmt: skip
    for limit in (0.39, 0.4):  # all chips reach the first alone
        plain, named = (
            package.solve(**question, min_mfu=limit, chips_exact=given) for given in (None, False)
        )
        assert plain.require().plan == named.require().plan
        assert plain.require().chips == (8 if limit == 0.39 else 4)


def test_chips_exact_says_that_it_is_the_default() -> None:
    question: dict[str, Any] = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8}
    plain, asked = package.solve(**question), package.solve(**question, chips_exact=True)
    assert plain.plan == asked.plan
    words = "--chips-exact is the default where a plan fits on all chips"
    assert [words in " ".join(one.notes.caveats) for one in (plain, asked)] == [False, True]

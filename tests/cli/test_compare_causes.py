"""`planner compare old.json new.json`: no cause is named that both plans do not show.

The older answer is one of today with another best plan, other versions or another end.
"""

import copy
import itertools
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import hardware_db
from cli.command import planner, refused, replaced, solve
from cli.test_compare_answers import ASKED, Edit, second, settled, written
from planner.base.units import plain

CONSTANTS, PROGRAM = {"constants": "x"}, {"planner": "0.0.9"}
UNBOUND = ("--max-memory", "79GB")
OF_RUN = ("--train-tokens", "1e12", "--price-per-chip-hour", "2")


@pytest.fixture(scope="module")
def answers() -> Callable[..., Any]:
    """Answers of today, each asked once."""
    found: dict[tuple[str, ...], Any] = {}

    def answer(*more: str) -> Any:
        if more not in found:
            found[more] = solve(*replaced(ASKED, *more))
        return copy.deepcopy(found[more])

    return answer


def reasons(old: Any, new: Any, folder: Path, edit: Edit = lambda _: None) -> list[Any]:
    """Those with a share, which have to multiply to the whole change."""
    pair = written(folder / "old.json", old, edit), written(folder / "new.json", new)
    found = planner("compare", *pair, "--json")
    assert (found.code, found.err) == (0, "")
    shares = [one for one in found.document["reasons"] if one["change"] is not None]
    total = 1.0
    for one in shares:
        total *= 1 + one["change"]
    assert total == pytest.approx(1 + found.document["change"], rel=1e-9)
    return shares


def older(versions: dict[str, str], *edits: Edit) -> Edit:
    """What the best plan of another version was: today's second one, but for the edits."""

    def edit(document: Any) -> None:
        first = copy.deepcopy(document["best"]) | {"step_time_s": 1.0}
        second(document)
        for one in edits:
            one(document)
        document["candidates"]["top"] += [first] * (knowing in edits)
        document["versions"] |= versions

    return edit


def slower(document: Any) -> None:
    """The older version gave the plan a longer step."""
    document["best"]["step_time_s"] *= 1.1
    settled(document)


def knowing(_: Any) -> None:
    """The older answer names the best plan of today, as a worse one."""


def early(document: Any) -> None:
    document["certificate"]["status"] = "feasible"


@each("more", [OF_RUN, UNBOUND, ("--pue", "1.5"), ()])
@each("edits", [(), (slower,)])
def test_constants_are_not_the_question(
    more: tuple[str, ...], edits: Sequence[Edit], answers: Any, tmp_path: Path
) -> None:
    """What was asked otherwise has no part where the newer plan is the better one without it."""
    old, new = answers(), answers(*more)
    *costs, choice = reasons(old, new, tmp_path, older(CONSTANTS, *edits))
    assert choice["cause"] == "cost"
    assert choice["words"].endswith(": by the constants of the cost model")
    assert ("in the question of the older answer too" in choice["words"]) == bool(more)
    asked = [one for one in costs if one["cause"] == "question"]
    assert [one["change"] for one in asked] == [0.0] * bool(more)
    assert all("moves neither" in one["words"] for one in asked)
    moved = [one["words"] for one in costs if one["cause"] == "cost"]
    assert moved == ["the step time of the same plan moved: the constants of the cost model"] * len(
        edits
    )


@each(("more", "versions", "edits", "cause", "words"), [
    ((), CONSTANTS, (), "cost", "the plan of the newer answer, which the older answer does not"),
    ((), {"hardware_db": "x"}, (), "cost", "is the better one: by the hardware database"),
    ((), {"models_db": "x"}, (), "cost", "is the better one: by the model database"),
    ((), PROGRAM, (), "unknown", "it costs less, or was not searched there, by the cost model"),
    ((), CONSTANTS, (knowing,), "cost", "the change of the costs: the constants of the cost model"),
    (UNBOUND, PROGRAM, (knowing,), "cost",
     "the costs in the question of the older answer too: the cost model"),
    ((), CONSTANTS, (early,), "unknown", "or as the search for the older answer proved no plan"),
    ((), {}, (early,), "search", "older answer proved no plan the best (feasible), and did not"),
    (UNBOUND, {}, (early,), "search", "better in the question of the older answer too"),
    ((), {}, (), "unknown", "by the same versions: another cost model of this version number"),
    (UNBOUND, {}, (), "unknown", "question of the older answer too, by the same versions"),
    (("--fix", "sharding=zero2"), CONSTANTS, (), "cost",
     "the plan of the older answer is not allowed: not asked for (--fix rules out sharding"),
    ((), CONSTANTS | PROGRAM, (slower,), "unknown",
     "by the constants of the cost model or the cost model"),
])  # fmt: skip
def test_why_the_older_plan_was_best(
    more: tuple[str, ...], versions: dict[str, str], edits: Sequence[Edit], cause: str, words: str,
    answers: Any, tmp_path: Path,
) -> None:  # fmt: skip
    choice = reasons(answers(), answers(*more), tmp_path, older(versions, *edits))[-1]
    assert choice["cause"] == cause, choice
    assert words in choice["words"]


@each("versions", [{}, CONSTANTS])
@each(("old", "new", "words"), [
    ((), ("--fix", "tp=2"), "that of the older answer is not allowed in the question of the newer "
     "answer (not asked for (--fix rules out tp 1))"),
    (("--fix", "tp=2"), (), "that of the newer answer is not allowed in the question of the older "
     "answer (not asked for (--fix rules out tp 1))"),
    ((), ("--max-power", "6kW"), "(power: 8.44 of 6 kW at the facility)"),
    ((), ("--max-memory", "30GB"), "(memory: 40 of 30 GB)"),
    ((), ("--chips", "4"), "(it takes 8 chips, there are 4)"),
    (("--chips", "4"), (), "(it takes 8 chips, there are 4)"),
])  # fmt: skip
def test_a_question_that_allows_one_plan_alone(
    versions: dict[str, str], old: tuple[str, ...], new: tuple[str, ...], words: str, answers: Any,
    tmp_path: Path,
) -> None:  # fmt: skip
    """It is the question, whatever else changed."""

    edit: Edit = lambda it: it["versions"].update(versions)  # noqa: E731
    choice = reasons(answers(*old), answers(*new), tmp_path, edit)[-1]
    assert choice["cause"] == "question", choice
    assert choice["words"].startswith("another plan is best under what was asked or assumed")
    assert words in choice["words"]
    assert ("by the versions of the newer answer" in choice["words"]) == bool(versions)


def test_the_older_answer_is_of_this_installation(answers: Any, tmp_path: Path) -> None:
    """What its versions say of both plans in both questions is said as before."""
    old, new = answers(), answers(*UNBOUND)
    older(CONSTANTS)(new)
    asked, choice = reasons(old, new, tmp_path)
    assert asked["change"] == 0.0
    assert choice["cause"] == "cost"
    assert "the plan of the older answer, which the newer answer does not name" in choice["words"]


def test_a_plan_that_the_versions_of_today_refuse(answers: Any, tmp_path: Path) -> None:
    """A rule that it breaks is named, whatever was asked."""

    def edit(document: Any) -> None:
        document["best"] |= {"sharding": "zero2"}
        document["best"]["mesh"] |= {"dp": 4, "pp": 2}
        document["best"]["step_time_s"] *= 2
        settled(document)

    for more, versions in itertools.product(((), UNBOUND), (PROGRAM, {})):
        ends = answers("--axes", "dp,pp"), answers("--axes", "dp,pp", *more)
        choice = reasons(*ends, tmp_path, older(versions, edit))[-1]
        assert choice["cause"] == "space"
        assert choice["words"].startswith("the plan of the older answer is refused by the other")
        assert "megatron has zero2" in choice["words"]


def test_a_note_about_a_plan_is_no_refusal(answers: Any, tmp_path: Path) -> None:
    """Nor is a target that was assumed and runs no plan of the job."""
    for more in (("--hardware", "gaudi2"), ("--job", "lora", "--frozen-weights", "nf4")):
        answer = answers(*more)
        choice = reasons(answer, answer, tmp_path, older(CONSTANTS))[-1]
        assert choice["cause"] == "cost"
        assert "refused" not in choice["words"]


@each(("versions", "cause", "words"), [
    ({}, "question", "another plan is best under what was asked or assumed otherwise"),
    (CONSTANTS, "unknown", "as may be the constants of the cost model: which of them made it so"),
])  # fmt: skip
def test_plans_of_a_form_that_is_not_judged(
    versions: dict[str, str], cause: str, words: str, answers: Any, tmp_path: Path
) -> None:
    """Layers that were given, and stages that the search chose."""
    small = ("--chips", "2", "--axes", "dp,pp", "--layout")
    edit: Edit = lambda it: it["versions"].update(versions)  # noqa: E731
    choice = reasons(answers(*small, "6,6"), answers(*small, "uneven"), tmp_path, edit)[-1]
    assert (choice["cause"], words in choice["words"]) == (cause, True), choice


def test_equal_answers_that_cannot_be_costed(answers: Any, tmp_path: Path) -> None:
    """As on pools: nothing moved, so nothing is to be said of it."""

    def edit(document: Any) -> None:
        document["question"]["plan_job"]["model"] = "no-such-model"

    old = written(tmp_path / "old.json", answers(), edit)
    new = written(tmp_path / "new.json", answers("--pue", "1.5"), edit)
    (reason,) = planner("compare", old, new, "--json").document["reasons"]
    assert reason["words"] == "pue: 1.1 (assumed) before, 1.5 now"


def test_a_file_that_the_question_names(tmp_path: Path) -> None:
    """It may have changed: no version tells of it."""
    shipped = resources.files("models_db").joinpath("data", "gpt3-125m.yaml")
    model = tmp_path / "my.yaml"
    model.write_text(shipped.read_text(encoding="utf-8"), encoding="utf-8")
    new = solve(*replaced(ASKED, "--model", model))

    def edit(document: Any) -> None:
        slower(document)
        document["versions"] |= CONSTANTS

    (reason,) = reasons(new, new, tmp_path, edit)
    assert reason["words"].endswith(
        "moved: the constants of the cost model or a file that it names"
    )


def test_both_of_another_version(answers: Any, tmp_path: Path) -> None:
    """One that costs here what it says does not make this installation the one of both."""
    old, new = answers(), answers("--fix", "tp=2")
    for one in (old, new):
        one["versions"] |= PROGRAM
    pair = (written(tmp_path / "old.json", old, slower), written(tmp_path / "new.json", new))
    last = planner("compare", *pair, "--json").document["reasons"][-1]
    assert last["cause"] == "unknown"
    assert last["words"].startswith("neither file is an answer of this installation")


def test_a_hash_of_hardware_that_held_the_constants(answers: Any, tmp_path: Path) -> None:
    """Of answers before the two had hashes apart."""
    whole = {"hardware_db": hardware_db.database_hash()}
    old = written(tmp_path / "old.json", answers(), lambda it: it["versions"].update(whole))
    new = written(tmp_path / "new.json", answers())
    assert planner("compare", old, new, "--json").document["reasons"] == []


@each(("objective", "scaled", "noun"), [
    ("energy", "energy_per_step_j", "energy per step"),
    ("edp", "energy_per_step_j", "energy-delay product"),
    ("memory", "memory_per_chip_bytes", "memory per chip"),
    ("money", "step_time_s", "chip-hours per step"),
    ("days", "", "wall time of the run"),
])  # fmt: skip
def test_words_follow_the_objective(objective: str, scaled: str, noun: str, tmp_path: Path) -> None:
    asked = replaced(ASKED, "--axes", "dp", "--objective", objective)
    new = solve(*asked, *(("--train-tokens", "1e9") if objective == "days" else ()))

    def edit(document: Any) -> None:
        for name in ("objective", "bound"):
            document["certificate"][name] *= 1.1
        if scaled:
            document["best"][scaled] *= 1.1
        document["versions"] |= CONSTANTS

    (reason,) = reasons(new, new, tmp_path, edit)
    assert reason["words"] == f"the {noun} of the same plan moved: the constants of the cost model"
    assert reason["change"] == pytest.approx(1 / 1.1 - 1)


def test_money_with_a_price_and_without(tmp_path: Path) -> None:
    asked = replaced(ASKED, "--axes", "dp", "--objective", "money")
    old = written(tmp_path / "old.json", solve(*asked))
    new = written(tmp_path / "new.json", solve(*asked, "--price-per-chip-hour", "2"))
    (line,) = refused("compare", old, new)
    assert line.endswith(f"chip-hours per step and {new} money per step; compare answers to one "
                         "question")  # fmt: skip


def test_money_is_no_chip_hours(tmp_path: Path) -> None:
    document = solve(*ASKED, "--no-clocks", "--objective", "money", "--price-per-chip-hour", "3")
    pair = [written(tmp_path / f"{at}.json", document) for at in range(2)]
    said = " ".join(planner("compare", *pair).out.split())
    money = plain(document["certificate"]["objective"], 4)
    assert f"1.json: {money} (optimal); the answers are the same" in said

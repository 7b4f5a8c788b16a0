"""`planner compare old.json new.json`: why the answer to one question is another than before."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, refused, solve
from planner.base.jsonfile import sealed

ASKED = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8", "--axes", "dp,tp",
         "--batch-tokens", "512Ki")  # fmt: skip
Edit = Callable[[Any], None]


def written(path: Path, document: Any, edit: Edit = lambda _: None) -> Path:
    """An answer as another version might have written it: changed, and sealed again."""
    changed = copy.deepcopy(document)
    edit(changed)
    path.write_text(json.dumps(sealed(changed)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def answer() -> Any:
    return solve(*ASKED)


@pytest.fixture
def why(answer: Any, tmp_path: Path) -> Callable[[Edit], Any]:
    """Why the answer of today is another than an edited one."""
    new = written(tmp_path / "new.json", answer)

    def compared(edit: Edit) -> Any:
        found = planner("compare", written(tmp_path / "old.json", answer, edit), new, "--json")
        assert (found.code, found.err) == (0, ""), found
        return found.document

    return compared


def costlier(document: Any) -> None:
    """The constants of then made computing slower by a tenth of the step."""
    best = document["best"]
    more = best["step_time_s"] / 10
    for one in (best, document["certificate"]):
        name = "objective" if "objective" in one else "step_time_s"
        one[name] += more
    best["breakdown"]["time_s"]["compute"] += more
    document["versions"] |= {"constants": "other", "hardware_db": "other"}


def test_equal_answers(why: Callable[[Edit], Any], tmp_path: Path) -> None:
    found = why(lambda _: None)
    assert found["change"] == 0
    assert found["reasons"] == found["changes"] == []
    said = planner("compare", tmp_path / "old.json", tmp_path / "new.json").out
    assert " ".join(said.split()).endswith("the answers are the same")


def test_constants(why: Callable[[Edit], Any], answer: Any) -> None:
    found = why(costlier)
    (reason,) = found["reasons"]
    assert reason["cause"] == "cost"
    assert reason["words"].endswith(": the constants of the cost model")
    assert reason["change"] == pytest.approx(1 / 1.1 - 1)
    (part,) = found["parts_s"].items()
    old, new = part[1]
    assert part[0] == "compute"
    assert old - new == pytest.approx(answer["best"]["step_time_s"] / 10)


@each(("version", "words"), [
    ({"planner": "0.0.9"}, "the cost model"), ({"models_db": "x"}, "the model database"),
    ({"hardware_db": "x"}, "the hardware database"), ({}, "under the same version number"),
    ({"models_db": "x", "planner": "0.0.9"}, "the model database or the cost model"),
])  # fmt: skip
def test_what_may_be_behind_a_cost(
    version: dict[str, str], words: str, why: Callable[[Edit], Any]
) -> None:
    def edit(document: Any) -> None:
        before = dict(document["versions"])
        costlier(document)
        document["versions"] = before | version

    (reason,) = why(edit)["reasons"]
    assert reason["words"].endswith(words)


def test_an_older_answer_that_is_of_this_installation(answer: Any, tmp_path: Path) -> None:
    """The newer one is of another: the same change, the other way round."""
    old, new = written(tmp_path / "a.json", answer), written(tmp_path / "b.json", answer, costlier)
    found = planner("compare", old, new, "--json").document
    (reason,) = found["reasons"]
    assert reason["change"] == pytest.approx(0.1)
    assert found["parts_s"]["compute"][1] > found["parts_s"]["compute"][0]


def test_parts_of_a_change_multiply_to_it(answer: Any, tmp_path: Path) -> None:
    """Costs and choice at once, whichever of the two answers is of this installation."""

    def both(document: Any) -> None:
        costlier(document)
        second(document)
        for one in (document["best"], document["certificate"]):
            one["objective" if "objective" in one else "step_time_s"] *= 1.1

    today, other = written(tmp_path / "a.json", answer), written(tmp_path / "b.json", answer, both)
    for pair in ((today, other), (other, today)):
        found = planner("compare", *pair, "--json").document
        cost, choice = (one["change"] for one in found["reasons"])
        assert (1 + cost) * (1 + choice) == pytest.approx(1 + found["change"], rel=1e-12)
        assert (cost > 0) == (choice > 0) == (pair[0] == today)


def second(document: Any) -> None:
    """An answer whose best plan was the second of today: the first was none of its plans."""
    first, other = document["candidates"]["top"][:2]
    document["best"] |= {name: value for name, value in other.items() if name in document["best"]}
    document["best"]["breakdown"]["time_s"] = {}
    document["certificate"]["objective"] = other["step_time_s"]
    document["candidates"]["top"] = document["candidates"]["top"][1:]
    document["front"]["plans"] = [other]
    assert first["step_time_s"] < other["step_time_s"]


def test_a_plan_that_was_not_among_the_candidates(why: Callable[[Edit], Any], answer: Any) -> None:
    def edit(document: Any) -> None:
        second(document)
        document["candidates"]["counts"]["meshes"]["considered"] -= 1
        document["candidates"]["counts"]["meshes"]["searched"] -= 1

    found = why(edit)
    (reason,) = found["reasons"]
    assert (reason["cause"], reason["change"]) == ("space", found["change"])
    assert "meshes: considered" in reason["words"]
    assert {one["group"] for one in found["changes"]} >= {"plan", "counts"}


def test_a_plan_that_was_known_and_costlier(why: Callable[[Edit], Any]) -> None:
    def edit(document: Any) -> None:
        first = copy.deepcopy(document["candidates"]["top"][0])
        second(document)
        document["front"]["plans"].append(first)

    (reason,) = why(edit)["reasons"]
    assert reason["cause"] == "cost"
    assert reason["words"].startswith("both versions know both plans")


def test_a_question_that_was_another(answer: Any, tmp_path: Path) -> None:
    old = written(tmp_path / "old.json", answer)
    new = written(tmp_path / "new.json", solve(*ASKED, "--fix", "tp=2"))
    found = planner("compare", old, new, "--json").document
    assert [one["cause"] for one in found["reasons"]] == ["question", "question"]
    assert found["reasons"][0]["words"] == "fix: not given before, tp=2 now"
    assert found["reasons"][1]["change"] == pytest.approx(found["change"])
    said = planner("compare", old, new).out
    assert "another plan is best under what was asked" in said


def test_an_answer_without_a_plan(answer: Any, tmp_path: Path) -> None:
    old = written(tmp_path / "old.json", answer)
    none = planner("solve", *ASKED, "--max-memory", "100MB", "--json")
    assert none.code == 3
    new = written(tmp_path / "new.json", none.document)
    found = planner("compare", old, new, "--json").document
    assert found["objectives"][1] is found["change"] is None
    words = " ".join(one["words"] for one in found["reasons"])
    assert "max_memory" in words
    assert f"{new} has no plan" in words
    assert planner("compare", new, old).code == 0


def test_what_cannot_be_compared(answer: Any, tmp_path: Path) -> None:
    old, new = written(tmp_path / "old.json", answer), written(tmp_path / "new.json", answer)
    assert refused("compare", old, old) == [f"plans: {old} is named twice; give an older and a "
                                            "newer answer"]  # fmt: skip
    (line,) = refused("compare", old, new, "--hardware", "h200-sxm5-141")
    assert line.startswith("hardware: is of plans")
    damaged = tmp_path / "damaged.json"
    damaged.write_text(
        old.read_text(encoding="utf-8").replace('"mfu": 0.', '"mfu": 0.1', 1), encoding="utf-8"
    )
    (line,) = refused("compare", damaged, new)
    assert "was edited" in line
    other = written(tmp_path / "energy.json", solve(*ASKED, "--objective", "energy"))
    (line,) = refused("compare", old, other)
    assert line.endswith(f"minimizes time and {other} energy; compare answers to one question")
    assert all("choose one" in line for line in refused("compare", old, tmp_path / "no.json")[:1])

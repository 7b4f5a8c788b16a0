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
    settled(document)
    document["versions"] |= {"constants": "other", "hardware_db": "other"}


def settled(document: Any) -> None:
    """The objective is what the best plan takes, and proved."""
    proved = document["certificate"]
    proved["bound"] = proved["objective"] = document["best"]["step_time_s"]
    proved["gap"] = 0.0


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
    assert reason["words"].endswith(": the hardware database or the constants of the cost model")
    assert reason["change"] == pytest.approx(1 / 1.1 - 1)
    (part,) = found["parts_s"].items()
    old, new = part[1]
    assert part[0] == "compute"
    assert old - new == pytest.approx(answer["best"]["step_time_s"] / 10)


@each(("version", "words"), [
    ({"planner": "0.0.9"}, "the cost model"), ({"models_db": "x"}, "the model database"),
    ({"hardware_db": "x"}, "moved: the hardware database"),
    ({"constants": "x"}, "moved: the constants of the cost model"),
    ({}, "under the same versions: another cost model had this version number, or a file that it "
         "names changed"),
    ({"models_db": "x", "planner": "0.0.9"}, "the model database or the cost model"),
    (dict.fromkeys(("models_db", "hardware_db", "constants", "planner"), "x"),
     "the model database or the hardware database or the constants of the cost model or the cost "
     "model"),
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
        document["best"]["step_time_s"] *= 1.1
        settled(document)

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
    settled(document)
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
        first["step_time_s"] *= 2
        second(document)
        document["front"]["plans"].append(first)
        document["versions"]["constants"] = "x"

    (reason,) = why(edit)["reasons"]
    assert reason["cause"] == "cost"
    assert reason["words"].startswith("both versions know both plans")
    assert reason["words"].endswith(": the constants of the cost model")


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
    (line,) = refused("compare", old, tmp_path / "no.json")
    assert line.startswith(f"{tmp_path / 'no.json'}: cannot be read")


def unsealed(path: Path, document: Any, edit: Edit) -> Path:
    """An answer of a planner before digests, or one that was edited by hand."""
    changed = copy.deepcopy(document)
    del changed["digest"]
    edit(changed)
    path.write_text(json.dumps(changed), encoding="utf-8")
    return path


@each(("part", "fields", "words"), [
    ("certificate", {"objective": 0.5}, "certificate.objective: the file says 0.5"),
    ("certificate", {"gap": 0.5}, "certificate.gap: the file says 0.5"),
    ("certificate", {"bound": 1e9}, "certificate.bound: 1e+09 is above the objective"),
    ("certificate", {"bound": None}, "certificate.bound: is missing beside a best plan"),
    ("certificate", {"status": "infeasible"}, "certificate.status: 'infeasible' contradicts a"),
    ("certificate", {"status": "time_limit"}, "certificate.status: 'time_limit' contradicts a"),
    ("", {"best": None}, "certificate.status: 'optimal' contradicts no best plan"),
    ("best", {"step_time_s": True}, "best: its step time, energy, memory or chips are no numbers"),
    ("front", {"plans": []}, "best, front.plans, candidates.top: one is empty, another is not"),
])  # fmt: skip
def test_an_answer_that_contradicts_itself_is_refused(
    part: str, fields: dict[str, Any], words: str, answer: Any, tmp_path: Path
) -> None:
    """With its digest or without, the older one or the newer one."""

    def edit(document: Any) -> None:
        (document[part] if part else document).update(fields)

    good = written(tmp_path / "good.json", answer)
    for bad in (written(tmp_path / "a.json", answer, edit),
                unsealed(tmp_path / "b.json", answer, edit)):  # fmt: skip
        for pair in ((good, bad), (bad, good)):
            first = refused("compare", *pair)[0]
            assert first.startswith(f"{bad}: {words}")
            assert first.endswith("contradicts itself, so it was edited or is damaged: solve again")


def test_no_plan_has_no_objective(answer: Any, tmp_path: Path) -> None:
    none = planner("solve", *ASKED, "--max-memory", "100MB", "--json").document
    bad = unsealed(tmp_path / "bad.json", none, lambda it: it["certificate"].update(objective=1.0))
    (line,) = refused("compare", written(tmp_path / "old.json", answer), bad)
    assert "certificate.objective: contradicts no best plan" in line


def test_figures_of_the_same_versions_that_are_others(answer: Any, tmp_path: Path) -> None:
    """Of a file without a digest that is no reason, whatever version this installation is."""

    def edit(document: Any) -> None:
        document["best"]["step_time_s"] *= 2
        settled(document)

    for version in (answer["versions"]["planner"], "0.0.9"):

        def of_version(document: Any, name: str = version) -> None:
            document["versions"]["planner"] = name

        old = unsealed(tmp_path / "old.json", answer, of_version)
        new = unsealed(tmp_path / "new.json", answer, lambda it: (of_version(it), edit(it)))
        (reason,) = planner("compare", old, new, "--json").document["reasons"]
        assert (reason["cause"], reason["change"]) == ("unknown", pytest.approx(1.0))
        assert (
            "new.json: the step time of its plan is another, under the same versions"
            in reason["words"]
        )
        assert "it was edited or is damaged" in reason["words"]
    old = unsealed(tmp_path / "old.json", answer, edit)
    words = [one["words"] for one in planner("compare", old, new, "--json").document["reasons"]]
    assert len(words) == 1
    assert "old.json: the step time of its plan is another" in words[0]


def test_a_search_that_ended_otherwise(answer: Any, tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", written(tmp_path / "new.json", answer)
    written(old, answer, lambda it: it["certificate"].update(status="feasible"))
    found = planner("compare", old, new, "--json").document
    assert [(one["name"], one["old"], one["new"]) for one in found["changes"]] == [
        ("status", "feasible", "optimal")
    ]
    assert [one["words"] for one in found["reasons"]] == [
        "the search ended otherwise: feasible before, optimal now"
    ]
    assert "the same" not in planner("compare", old, new).out


def test_answers_are_the_same_in_all_but_their_seconds(answer: Any, tmp_path: Path) -> None:
    """Where nothing else differs, whatever does is named."""
    new = written(tmp_path / "new.json", answer)
    old = written(tmp_path / "old.json", answer, lambda it: it["candidates"].update(seconds=9.0))
    assert "the answers are the same" in " ".join(planner("compare", old, new).out.split())
    edits: dict[str, Edit] = {
        "best.mfu": lambda it: it["best"].update(mfu=0.9),
        "front.note": lambda it: it["front"].update(note="another"),
        "candidates.top": lambda it: it["candidates"]["top"].pop(),
        "notes.why": lambda it: it["notes"].update(why=["x"]),
    }
    for name, edit in edits.items():
        found = planner("compare", written(old, answer, edit), new, "--json").document
        assert [one["name"] for one in found["changes"]] == [name]
        assert "the same" not in planner("compare", old, new).out


@each("count", [2000, 100_000])
def test_the_first_differences_are_told_and_the_number_of_the_rest(
    count: int, answer: Any, tmp_path: Path
) -> None:
    def edit(document: Any) -> None:
        document["question"]["asked"] |= {f"k{at}": at for at in range(count)}
        document["question"]["job"] |= {f"j{at}": "x" * 500 for at in range(count // 10)}

    old, new = written(tmp_path / "old.json", answer), unsealed(tmp_path / "new.json", answer, edit)
    found = planner("compare", old, new, "--json").document
    assert found["changes_left_out"] == {"question": count - 10, "job": count // 10 - 10}
    assert len(found["changes"]) == 20
    assert [one["words"] for one in found["reasons"]][9:] == [
        "k9: not given before, 9 now", f"and {count - 10:,} more of what was asked or assumed"
    ]  # fmt: skip
    said = planner("compare", old, new).out
    assert len(said.splitlines()) < 100
    assert f"and {count - 10:,} more" in said


@each("text", ['{"a": NaN}', '{"a": 1' + "0" * 400 + "}", "{", "", "[1]"])
def test_the_damage_of_one_answer_is_told(text: str, answer: Any, tmp_path: Path) -> None:
    good, bad = written(tmp_path / "good.json", answer), tmp_path / "bad.json"
    bad.write_text(text, encoding="utf-8")
    for pair in ((good, bad), (bad, good)):
        (line,) = refused("compare", *pair)
        assert line.startswith(f"{bad}: ")
        assert "row" not in line


def test_what_was_assumed_and_is_asked_now_is_one_line(answer: Any, tmp_path: Path) -> None:
    def lines(*more: str) -> list[str]:
        new = written(tmp_path / "new.json", solve(*ASKED, *more))
        found = planner("compare", old, new, "--json").document
        return [one["words"] for one in found["reasons"] if "before" in one["words"]]

    old = written(tmp_path / "old.json", answer)
    assert lines("--pue", "1.5") == ["pue: 1.1 (assumed) before, 1.5 now"]
    assert lines("--max-oom-risk", "1%") == ["max_oom_risk: 5 % (assumed) before, 1 % now"]
    assert lines("--seq-len", "2048", "--pue", "1.1") == [], "what it was before"
    old = written(tmp_path / "old.json", solve(*ASKED, "--seq-len", "1024"))
    assert lines() == ["seq_len: 1,024 before, 2,048 (assumed) now"]
    old = written(tmp_path / "old.json", answer)
    said = lines("--max-memory", "60GB")
    assert all("not given now" not in line for line in said), said
    assert "max_memory: not given before, 60 GB now" in said


@each(("batch", "parts"), [("64Ki", 1), ("1Mi", 2), ("640Ki", 1)])
def test_another_job_is_no_other_choice(
    batch: str, parts: int, answer: Any, tmp_path: Path
) -> None:
    """What one plan costs in another job is told from which plan is best in it."""
    old = written(tmp_path / "old.json", answer)
    new = written(tmp_path / "new.json", solve(*ASKED[:-1], batch))
    for pair in ((old, new), (new, old)):
        found = planner("compare", *pair, "--json").document
        shares = [one for one in found["reasons"] if one["change"] is not None]
        total = 1.0
        for one in shares:
            total *= 1 + one["change"]
        assert total == pytest.approx(1 + found["change"], rel=1e-9)
        assert all(one["cause"] == "question" for one in shares)
        assert shares[0]["words"].startswith("the job is another")
        assert all(abs(one["change"]) < 0.5 for one in shares[1:]), shares
        if pair[0] == old:
            assert len(shares) == parts, (batch, found["reasons"], found["changes"])


@each("more", [
    ("--objective", "memory"), ("--objective", "edp"),
    ("--objective", "money", "--price-per-chip-hour", "2"),
    ("--objective", "days", "--train-tokens", "1e9"), ("--layout", "uneven"),
    ("--chips-at-most", "8", "--objective", "money", "--price-per-chip-hour", "2"),
])  # fmt: skip
def test_every_answer_agrees_with_itself(more: tuple[str, ...], tmp_path: Path) -> None:
    words = [*ASKED, *more]
    if "--chips-at-most" in more:
        del words[words.index("--chips") : words.index("--chips") + 2]
    document = solve(*words)
    old, new = written(tmp_path / "old.json", document), written(tmp_path / "new.json", document)
    assert "the answers are the same" in " ".join(planner("compare", old, new).out.split())

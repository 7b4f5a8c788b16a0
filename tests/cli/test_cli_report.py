"""`planner report`: answers become pages, and what is no answer of this planner is refused."""

import copy
import functools
import io
import json
import re
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from cli.answers import SMALL, answer_to
from cli.command import planner, refused, solve
from cli.jobs import JOBS
from planner.jsonfile import sealed

FRONT = "dense, GPU, clocks"
Change = Callable[[dict[str, Any]], None]


def document() -> dict[str, Any]:
    """An answer with a front, to be changed at will."""
    return copy.deepcopy(answer_to(FRONT))


def written(folder: Path, content: Any, name: str = "result.json") -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def resealed(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer that was changed by somebody who knows how its digest is made."""
    return sealed(answer) if "digest" in answer else answer


def page_of(path: Path, *flags: object) -> str:
    """The page that the command writes beside a result."""
    outcome = planner("report", path, *flags)
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    return path.with_suffix(".html").read_text(encoding="utf-8")


@functools.cache
def infeasible() -> str:
    outcome = planner("solve", "--model", "gpt3-175b", "--hardware", "h100-sxm5-80", "--chips", 8,
                      "--json")  # fmt: skip
    assert outcome.code == 3
    return outcome.out


def sections(page: str) -> list[str]:
    return re.findall(r'<section id="(\w+)"', page)


def test_an_answer_becomes_one_page_that_loads_nothing(tmp_path: Path) -> None:
    answer = document()
    page = page_of(written(tmp_path, answer))
    assert sections(page) == [
        "binds", "front", "plan", "breakdown", "steps", "leaning", "memory", "timeline",
        "ridgeline", "mesh", "search", "provenance",
    ]  # fmt: skip
    assert not re.search(r"""(?:src|href)=["'](?!#)|@import|url\((?!#)""", page)
    assert "default-src 'none'" in unescape(page)
    assert len(re.findall(r'data-key="front-\d+"', page)) == len(answer["front"]) > 3
    for name, version in answer["versions"].items():
        assert f"{name} {version}" in page
    for line in answer["sources"].values():
        assert line.split("&")[0][:20] in page
    assert {path.name for path in tmp_path.iterdir()} == {"result.html", "result.json"}


def test_the_page_is_the_same_each_time(tmp_path: Path) -> None:
    path = written(tmp_path, document())
    assert page_of(path) == page_of(path)


def test_json_says_what_was_written(tmp_path: Path) -> None:
    target = tmp_path / "other.html"
    outcome = planner("report", written(tmp_path, document()), "-o", target, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = outcome.document
    assert found["path"] == str(target)
    assert found["bytes"] == target.stat().st_size
    assert found["kind"] == "solve"
    page = target.read_text(encoding="utf-8")
    assert [part["id"] for part in found["sections"]] == sections(page)
    assert found["versions"]["planner"] == document()["versions"]["planner"]


def test_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = json.dumps(document()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert planner("report", "-").code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page == page_of(written(tmp_path, document()))


def test_no_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert refused("report", "-", "-o", tmp_path / "r.html") == [
        "standard input: is closed; name a file"
    ]


def test_a_front_and_an_evaluation_are_answers_too(tmp_path: Path) -> None:
    plan, front = tmp_path / "plan.yaml", tmp_path / "front.json"
    solve(*SMALL, "-o", plan, "--pareto", front)
    page = page_of(front)
    assert {"front", "plan", "breakdown", "provenance"} <= set(sections(page))
    assert "The fastest plan" in page
    evaluated = planner("evaluate", plan, "--json").out
    page = page_of(written(tmp_path, evaluated))
    assert "front" not in sections(page)
    assert "The plan fits" in page


def test_an_explanation_is_reported_by_its_objective(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    solve(*SMALL, "-o", plan)
    for objective in ("time", "energy"):
        explained = planner("explain", plan, "--objective", objective, "--json").document
        page = page_of(written(tmp_path, explained))
        assert {"binds", "steps", "leaning"} <= set(sections(page))
        first = explained["steps"][0]["change"]
        assert unescape(page).count(first) > 0


def test_plans_one_step_away_are_marked_as_solve_draws_them(tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.html"
    answer = solve(*JOBS[FRONT], "--plot", drawn)
    read = page_of(written(tmp_path, answer))
    marks = re.findall(r"One step away \([^<]*", drawn.read_text(encoding="utf-8"))
    assert marks
    assert re.findall(r"One step away \([^<]*", read) == marks


def test_an_answer_without_a_plan_is_reported(tmp_path: Path) -> None:
    page = page_of(written(tmp_path, infeasible()))
    assert sections(page) == ["binds", "search", "provenance"]
    diagnosis = json.loads(infeasible())["diagnosis"]
    assert diagnosis["explanation"].split("'")[0] in page
    assert all(remedy.split("'")[0] in page for remedy in diagnosis["remedies"])


def test_plans_on_several_machines(tmp_path: Path) -> None:
    answer = solve("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--total-pes", "16x132",
                   "--pes", "64,132", "--topology", "ring", "--no-clocks")  # fmt: skip
    page = page_of(written(tmp_path, answer))
    assert f"{answer['best']['machine']['pes']} SMs" in page
    changed = copy.deepcopy(answer)
    changed["front"][0]["job"]["pes"] = [100]
    assert "front.1" in refused("report", written(tmp_path, resealed(changed)))[0]
    changed = copy.deepcopy(answer)
    changed["why"][-1] = "total-pes: 1 of 2,112 (0.05 %)"
    assert "why." in refused("report", written(tmp_path, resealed(changed)))[0]


def test_a_whole_training_run(tmp_path: Path) -> None:
    answer = solve(*SMALL, "--train-tokens", "1e9", "--price-per-chip-hour", "4")
    assert "run" in sections(page_of(written(tmp_path, answer)))


def set_to(*path: Any) -> Change:
    """Replaces a value; the last is the new one."""
    *outer, name, value = path

    def change(data: dict[str, Any]) -> None:
        for step in outer:
            data = data[step]
        data[name] = value

    return change


def without(*path: Any) -> Change:
    *outer, name = path

    def change(data: dict[str, Any]) -> None:
        for step in outer:
            data = data[step]
        del data[name]

    return change


def step_time(plan: dict[str, Any]) -> float:
    return float(plan["step_time_s"])


FAULTS: dict[str, tuple[Change, str]] = {
    "another planner": (
        set_to("versions", "planner", "0.0.1"), "was written by planner 0.0.1, this is planner"),
    "another schema": (set_to("schema_version", 7), "schema_version is 7, this planner reads"),
    "another hardware database": (
        set_to("versions", "hardware_db", "0123456789abcdef"),
        "the hardware database has changed since (hash 0123456789abcdef then"),
    "another model database": (
        set_to("versions", "models_db", "0123456789abcdef"), "the model database has changed"),
    "no versions": (without("versions"), "versions: is missing"),
    "no schema": (without("schema_version"), "schema_version is missing"),
    "a faster step": (
        set_to("best", "step_time_s", 1e-3), "best.step_time_s: the file says 0.001, its plan"),
    "another mesh": (set_to("best", "mesh", "tp", 2), "contradicts the mesh of the plan"),
    "another choice": (set_to("best", "micro_batch", 1), "best."),
    "a part of the time": (
        set_to("front", 2, "breakdown", "time_s", "compute", 1.0),
        "front.3.breakdown.time_s.compute: the file says 1.0"),
    "a stage": (
        set_to("best", "per_stage", 0, "total_bytes", 1.0),
        "best.per_stage.1.total_bytes: the file says 1.0"),
    "no plan job": (without("plan_job"), "a report needs what planner solve --json"),
    "another job": (set_to("plan_job", "model", "gpt3-350m"), "step_time_s: the file says"),
    "an unknown model": (set_to("plan_job", "model", "gpt3-125"), "gpt3-125m"),
    "another job in words": (set_to("job", "seq_len", 17), "job.seq_len: the file says 17"),
    "another objective": (set_to("objective", 1.0), "objective: the file says 1.0"),
    "a bound above": (set_to("bound", 100.0), "is above the objective"),
    "a gap": (set_to("gap", 0.5), "gap: the file says 0.5"),
    "a status": (set_to("status", "infeasible"), "status: 'infeasible' contradicts a best plan"),
    "an unknown status": (set_to("status", "best"), "status: "),
    "an unknown objective": (set_to("objective_name", "speed"), "objective_name: "),
    "no best plan": (set_to("best", None), "contradicts no best plan"),
    "a front of words": (set_to("front", ["fast"]), "front"),
    "a plan without a mesh": (without("best", "mesh"), "best: mesh"),
    "counts of words": (set_to("counts", "plans", "kept", "all"), "counts.plans.kept"),
    "an interval of words": (set_to("interval", "low", "little"), "interval.low"),
    "reasons that are none": (set_to("why", 3), "why: "),
    "another reason": (set_to("why", 0, "Nothing binds."), "why.1: the file says 'Nothing binds.'"),
    "a reason less": (without("why", 0), "why: the file says"),
    "a verdict": (
        set_to("neighbors", 0, "verdict", "faster by 50 %"),
        "neighbors.1.verdict: the file says 'faster by 50 %'"),
    "a neighbor's cost": (
        set_to("neighbors", 0, "costs", "step_time_s", 1e-3), "neighbors.1.costs.step_time_s: the"),
    "a neighbor less": (without("neighbors", 0), "neighbors: the file says"),
    "a point less": (without("front", 1), "front_note: the file says"),
    "a point in the wrong place": (
        lambda data: data["front"].reverse(), "front.2: is faster than the plan before it"),
    "a point that is beaten": (
        lambda data: data.update(front=sorted([*data["front"], data["top"][-1]], key=step_time)),
        "beats it"),
    "the first of the best less": (without("top", 0), "top.1: is not the best plan"),
    "a difference": (set_to("top", 1, "difference", 0.5), "top.2.difference: the file says 0.5"),
    "a feasible answer": (
        set_to("status", "feasible"), "status: 'feasible' contradicts a search without a time"),
    "counts that do not add up": (
        set_to("counts", "meshes", "considered", 10**6), "considered is not the sum of the others"),
    "a count below zero": (set_to("counts", "meshes", "considered", -1), "counts.meshes"),
    "negative seconds": (set_to("seconds", -5), "seconds: "),
    "no defaults": (set_to("defaults", []), "defaults: the file says"),
    "a default": (set_to("defaults", 0, "value", "7"), "defaults.1.value: the file says '7'"),
    "other sources": (set_to("sources", {"model x": "a book"}), "sources."),
    "more sources": (set_to("sources", "model x", "a book"), "sources.model x: "),
    "words of the interval": (
        set_to("interval", "words", "measured here"), "interval.words: the file says"),
    "another question": (set_to("asked", "model", "gpt3-350m"), "job.model: the file says"),
    "another objective asked": (set_to("asked", "objective", "energy"), "objective_name: contra"),
    "no question": (without("asked"), "asked: is missing"),
    "other losses": (set_to("losses", ["half of the chips wait"]), "losses: the file says"),
    "an MFU of its own": (set_to("mfu_convention", "ours"), "mfu_convention: the file says"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_answers_that_were_changed_are_refused(tmp_path: Path, fault: str) -> None:
    change, words = FAULTS[fault]
    answer = document()
    change(answer)
    path = written(tmp_path, resealed(answer))
    mistakes = refused("report", path)
    assert words in mistakes[0], mistakes
    assert all(str(path) in line for line in mistakes)
    assert len(mistakes) <= 6
    assert not path.with_suffix(".html").exists()


@pytest.mark.parametrize("fault", ["a verdict", "negative seconds", "a point less", "a status"])
def test_any_edit_is_noticed(tmp_path: Path, fault: str) -> None:
    answer = document()
    FAULTS[fault][0](answer)
    mistakes = refused("report", written(tmp_path, answer))
    assert len(mistakes) == 1
    assert "was edited since it was written, or is damaged" in mistakes[0]
    del answer["digest"]
    assert "digest: is missing" in refused("report", written(tmp_path, answer))[0]


@pytest.mark.parametrize("layout", [{"indent": None}, {"sort_keys": True, "indent": 1}])
def test_the_layout_of_the_file_is_no_edit(tmp_path: Path, layout: dict[str, Any]) -> None:
    page_of(written(tmp_path, json.dumps(document(), **layout)))


def test_whole_numbers_without_a_point_are_no_edit(tmp_path: Path) -> None:
    text = json.dumps(document(), indent=2)
    short = re.sub(r"(?<=\d)\.0(?=,?$)", "", text, flags=re.MULTILINE)
    assert short != text
    page_of(written(tmp_path, short))


def test_figures_in_the_last_digit_are_no_difference(tmp_path: Path) -> None:
    answer = document()
    answer["best"]["step_time_s"] *= 1 + 1e-13
    page_of(written(tmp_path, resealed(answer)))


OTHERS: dict[str, tuple[Any, str]] = {
    "nothing": ("", "is empty"),
    "blanks": (" \n", "is empty"),
    "words": ("a plan", "line 1: not valid JSON: "),
    "a list": ([1, 2], "must be one JSON object"),
    "a number": ("3", "must be one JSON object"),
    "bytes": (b"\x89PNG\r\n\xff", "not a text file"),
    "another encoding": (json.dumps({"a": 1}).encode("utf-16"), "not a text file"),
    "too large": (b" " * (10 * 2**20 + 1), "larger than 10 MiB"),
    "nan": ('{"status": NaN}', "NaN is not a number"),
    "infinity": ('{"status": -Infinity}', "-Infinity is not a number"),
    "a number that is too large": ('{"status": 1e999}', "is too large"),
    "a number that is too long": ('{"status": ' + "9" * 5000 + "}", "5,000 digits"),
    "a name twice": ('{"a": 1, "a": 2}', "the name 'a' appears twice"),
    "deep": ("[" * 100_000, "nested deeper"),
    "not so deep": ('{"a": ' + "[" * 50 + "]" * 50 + "}", "nested deeper"),
    "two documents": ('{"a": 1}\n{"b": 2}', "line 2: not valid JSON: extra data"),
    "something else": ({"answer": 42}, "is no answer of this planner; a report needs"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_answer_is_refused(tmp_path: Path, other: str) -> None:
    content, words = OTHERS[other]
    mistakes = refused("report", written(tmp_path, content))
    assert len(mistakes) == 1
    assert words in mistakes[0], mistakes
    assert not (tmp_path / "result.html").exists()


KINDS = {
    "ridgeline --case mlp-4096 --batches 16,512": "the answer of planner ridgeline, not an answer",
    "feasible --model llama2-13b --chips 64 --batch-tokens 1e6 --assumptions roofline":
        "the answer of planner feasible, not an answer",
    "rack zero --figure 3 --gpus 2": "the answer of planner rack zero",
    "rack parallelism --figure 2": "the answer of planner rack parallelism",
    "rack solve --gpus 2 --pes 4 --topology ring --strategy dp": "the answer of planner rack solve",
    "rack topology ring:8": "the answer of planner rack topology",
}  # fmt: skip


@pytest.mark.parametrize("line", KINDS)
def test_answers_of_other_commands_are_named(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, planner(*line.split(), "--json").out)
    command = " ".join(word for word in line.split()[:2] if not word.startswith("-"))
    mistakes = refused("report", path)
    assert len(mistakes) == 1
    assert KINDS[line] in mistakes[0]
    assert f"planner {command} --plot draws it" in mistakes[0]
    assert KINDS[line].split(",")[0] in refused("evaluate", path)[0]


def test_a_plan_and_a_comparison_are_no_answers_but_named(tmp_path: Path) -> None:
    plan, front = tmp_path / "plan.yaml", tmp_path / "front.csv"
    solve(*SMALL, "-o", plan, "--pareto", front)
    mistakes = refused("report", plan)
    assert len(mistakes) == 1
    assert "is a plan, not an answer: planner evaluate takes it" in mistakes[0]
    assert f"planner evaluate {plan} --plot report.html reports it" in mistakes[0]
    assert "is a front, not an answer" in refused("report", front)[0]
    both = planner("compare", plan, plan, "--hardware", "h100-sxm5-80,a100-sxm4-80", "--json")
    mistakes = refused("report", written(tmp_path, both.out))
    assert "is the answer of planner compare, not an answer" in mistakes[0]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.9999])
def test_an_answer_that_is_cut_off_is_refused(tmp_path: Path, share: float) -> None:
    text = json.dumps(answer_to(FRONT), indent=2)
    mistakes = refused("report", written(tmp_path, text[: int(share * len(text))]))
    assert len(mistakes) == 1
    assert "is cut off" in mistakes[0] or "not valid JSON" in mistakes[0]


def test_answers_of_other_commands_are_refused(tmp_path: Path) -> None:
    for arguments in (("models", "list"), ("schema", "plan")):
        out = planner(*arguments, "--json").out
        assert "a report needs" in " ".join(refused("report", written(tmp_path, out)))


def test_a_machine_of_ones_own_that_has_changed(tmp_path: Path) -> None:
    own = tmp_path / "local.yaml"
    text = (Path(__file__).parent / "local.yaml").read_text(encoding="utf-8")
    own.write_text(text, encoding="utf-8")
    answer = solve(*SMALL, "--calibration", own)
    path = written(tmp_path, answer)
    page_of(path)
    assert "value: 0.5" in text
    own.write_text(text.replace("value: 0.5", "value: 0.4"), encoding="utf-8")
    mistakes = refused("report", path)
    assert "it was edited, or a file that it names has changed since" in mistakes[0]


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("result.json", "a report is written as .html"),
        ("report.pdf", "a report is written as .html"),
        ("report", "a report is written as .html"),
        ("missing/report.html", "cannot be written"),
        (".", "a report is written as .html"),
    ],
)
def test_pages_that_cannot_be_written(tmp_path: Path, output: str, words: str) -> None:
    path = written(tmp_path, document())
    before = path.read_text(encoding="utf-8")
    mistakes = refused("report", path, "-o", tmp_path / output)
    assert len(mistakes) == 1
    assert words in mistakes[0]
    assert path.read_text(encoding="utf-8") == before


def test_the_result_is_not_written_over(tmp_path: Path) -> None:
    path = written(tmp_path, document(), "result.html")
    assert "is the result file that is read" in refused("report", path)[0]
    assert "is the result file that is read" in refused("report", path, "-o", path)[0]
    assert json.loads(path.read_text(encoding="utf-8")) == document()


@pytest.mark.parametrize("name", ["nothing.json", ".", "..", "a\nb.json"])
def test_results_that_are_not_there(tmp_path: Path, name: str) -> None:
    mistakes = refused("report", tmp_path / name, "-o", tmp_path / "r.html")
    assert len(mistakes) == 1
    assert "cannot be read" in mistakes[0]

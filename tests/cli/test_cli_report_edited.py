"""`planner report`: answers that were edited are refused, by their digest or by what they say."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.cases import each

import hardware_db
from cli.answers import answer_to
from cli.command import planner, refused
from planner.answers.files.reevaluation import OF_ANOTHER
from planner.base.jsonfile import sealed

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
        set_to("versions", "planner", "0.0.1"),
        "was written by planner 0.0.1, this is planner",
    ),
    "another schema": (
        set_to("schema_version", 7),
        "schema_version is 7; this planner reads version 1 or 2",
    ),
    "another hardware database": (
        set_to("versions", "hardware_db", "0123456789abcdef"),
        "the hardware database has changed since (hash 0123456789abcdef then",
    ),
    "another model database": (
        set_to("versions", "models_db", "0123456789abcdef"),
        "the model database has changed",
    ),
    "other constants": (
        set_to("versions", "constants", "0123456789abcdef"),
        "the constants of the cost model have changed since (hash 0123456789abcdef then",
    ),
    "no versions": (without("versions"), "versions: is missing"),
    "no schema": (without("schema_version"), "schema_version is missing"),
    "a faster step": (
        set_to("best", "step_time_s", 1e-3),
        "best.step_time_s: the file says 0.001, its plan",
    ),
    "another mesh": (set_to("best", "mesh", "tp", 2), "contradicts the mesh of the plan"),
    "another choice": (set_to("best", "micro_batch", 1), "best."),
    "a part of the time": (
        set_to("front", "plans", 2, "breakdown", "time_s", "compute", 1.0),
        "front.plans.3.breakdown.time_s.compute: the file says 1.0",
    ),
    "a stage": (
        set_to("best", "per_stage", 0, "total_bytes", 1.0),
        "best.per_stage.1.total_bytes: the file says 1.0",
    ),
    "no plan job": (without("question", "plan_job"), "question.plan_job: is missing"),
    "another job": (
        set_to("question", "plan_job", "model", "gpt3-350m"),
        "step_time_s: the file says",
    ),
    "an unknown model": (set_to("question", "plan_job", "model", "gpt3-125"), "gpt3-125m"),
    "another job in words": (
        set_to("question", "job", "seq_len", 17),
        "job.seq_len: the file says 17",
    ),
    "another objective": (set_to("certificate", "objective", 1.0), "objective: the file says 1.0"),
    "a bound above": (set_to("certificate", "bound", 100.0), "is above the objective"),
    "a gap": (set_to("certificate", "gap", 0.5), "gap: the file says 0.5"),
    "a status": (
        set_to("certificate", "status", "infeasible"),
        "status: 'infeasible' contradicts a best plan",
    ),
    "an unknown status": (set_to("certificate", "status", "best"), "status: "),
    "an unknown objective": (set_to("certificate", "objective_name", "speed"), "objective_name: "),
    "no best plan": (set_to("best", None), "contradicts no best plan"),
    "a front of words": (set_to("front", "plans", ["fast"]), "front"),
    "a plan without a mesh": (without("best", "mesh"), "best: mesh"),
    "counts of words": (
        set_to("candidates", "counts", "plans", "kept", "all"),
        "counts.plans.kept",
    ),
    "an interval of words": (set_to("notes", "interval", "low", "little"), "interval.low"),
    "reasons that are none": (set_to("notes", "why", 3), "why: "),
    "another reason": (
        set_to("notes", "why", 0, "Nothing binds."),
        "why.1: the file says 'Nothing binds.'",
    ),
    "the end of a long reason": (
        lambda data: data["notes"].update(
            why=[
                data["notes"]["why"][0].replace(" of the step.", " of it."),
                *data["notes"]["why"][1:],
            ]
        ),
        "of it.', its plan gives '...",
    ),
    "a reason less": (without("notes", "why", 0), "why: the file says"),
    "a verdict": (
        set_to("candidates", "neighbors", 0, "verdict", "faster by 50 %"),
        "neighbors.1.verdict: the file says 'faster by 50 %'",
    ),
    "a neighbor's cost": (
        set_to("candidates", "neighbors", 0, "costs", "step_time_s", 1e-3),
        "neighbors.1.costs.step_time_s: the",
    ),
    "a neighbor less": (without("candidates", "neighbors", 0), "neighbors: the file says"),
    "a point less": (without("front", "plans", 1), "front.note: the file says"),
    "a point in the wrong place": (
        lambda data: data["front"]["plans"].reverse(),
        "front.2: is faster than the plan before it",
    ),
    "a point that is beaten": (
        lambda data: data["front"].update(
            plans=sorted([*data["front"]["plans"], data["candidates"]["top"][-1]], key=step_time)
        ),
        "beats it",
    ),
    "the first of the best less": (without("candidates", "top", 0), "top.1: is not the best plan"),
    "a difference": (
        set_to("candidates", "top", 1, "difference", 0.5),
        "candidates.top.2.difference: the file says 0.5",
    ),
    "a feasible answer": (
        set_to("certificate", "status", "feasible"),
        "status: 'feasible' contradicts a search without a time",
    ),
    "counts that do not add up": (
        set_to("candidates", "counts", "meshes", "considered", 10**6),
        "considered is not the sum of the others",
    ),
    "a count below zero": (
        set_to("candidates", "counts", "meshes", "considered", -1),
        "counts.meshes",
    ),
    "negative seconds": (set_to("candidates", "seconds", -5), "seconds: "),
    "no defaults": (set_to("notes", "defaults", []), "defaults: the file says"),
    "a default": (
        set_to("notes", "defaults", 0, "value", "7"),
        "defaults.1.value: the file says '7'",
    ),
    "other sources": (set_to("notes", "sources", {"model x": "a book"}), "sources."),
    "more sources": (set_to("notes", "sources", "model x", "a book"), "sources.model x: "),
    "words of the interval": (
        set_to("notes", "interval", "words", "measured here"),
        "interval.words: the file says",
    ),
    "another question": (
        set_to("question", "asked", "model", "gpt3-350m"),
        "job.model: the file says",
    ),
    "another objective asked": (
        set_to("question", "asked", "objective", "energy"),
        "objective_name: contra",
    ),
    "no question": (without("question", "asked"), "asked: is missing"),
    "other losses": (
        set_to("notes", "losses", ["half of the chips wait"]),
        "losses: the file says",
    ),
    "an MFU of its own": (
        set_to("notes", "mfu_convention", "ours"),
        "mfu_convention: the file says",
    ),
}


@each("fault", FAULTS)
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


def test_an_answer_whose_hash_of_hardware_held_the_constants_is_of_this_installation(
    tmp_path: Path,
) -> None:
    """Until they had hashes apart."""
    answer = document()
    answer["versions"] |= {"hardware_db": hardware_db.database_hash()}
    page_of(written(tmp_path, resealed(answer)))


@each("fault", ["a verdict", "negative seconds", "a point less", "a status"])
def test_any_edit_is_noticed(tmp_path: Path, fault: str) -> None:
    answer = document()
    FAULTS[fault][0](answer)
    mistakes = refused("report", written(tmp_path, answer))
    assert len(mistakes) == 1
    assert "was edited since it was written, or is damaged" in mistakes[0]
    del answer["digest"]
    assert "digest: is missing" in refused("report", written(tmp_path, answer))[0]


@each("layout", [{"indent": None}, {"sort_keys": True, "indent": 1}])
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


def test_what_a_digest_speaks_for_was_not_edited(tmp_path: Path) -> None:
    """Its figures are not those of today, under the versions of today."""
    answer = document()
    answer["best"]["step_time_s"] *= 1.5
    (line, *_) = refused("report", written(tmp_path, resealed(answer)))
    assert line.endswith(f"; {OF_ANOTHER}; solve again")
    assert "edited" not in line

"""A file's kind: the fields that tell it are at the top of its schema, and of no other."""

import functools
from pathlib import Path
from typing import Any

from cli.command import planner, refused
from support.cases import each

from planner.assumptions.file_kinds import KINDS, OTHER, another_kind, kind_of, with_command

KEPT = Path(__file__).parents[1] / "formats"
SCHEMAS: dict[str, dict[str, Any]] = planner("schema").document
# The kinds that have a schema; those of reference tables and calibrations have the same fields.
OF = {"job", "plan", "model", "cluster", "chip", "assumptions", "graph"}
FIELDS = {name: set(SCHEMAS[name]["properties"]) for name in OF}
FIELDS["table"] = set(SCHEMAS["calibration"]["properties"])


@each("name", sorted(FIELDS))
def test_what_tells_a_kind_is_in_its_schema_and_in_no_other(name: str) -> None:
    telling = KINDS[name].telling
    assert telling
    assert telling <= FIELDS[name]
    assert not [other for other in FIELDS if other != name and telling & FIELDS[other]]


@each("name", sorted({"front", "evaluation"}))
def test_what_tells_an_answer_is_in_no_file_that_people_write(name: str) -> None:
    assert not [other for other in FIELDS if KINDS[name].telling & FIELDS[other]]


def test_what_tells_one_kind_tells_no_other() -> None:
    every = [field for kind in KINDS.values() for field in kind.telling]
    assert len(every) == len(set(every))


def test_the_likeliest_kind() -> None:
    assert kind_of({"plan": {}, "job": {}}) == "plan"
    assert kind_of({"name": 1, "title": 2}) == kind_of({}) == ""
    assert kind_of({"model": 1, "plan": 2}, "plan") == "plan"
    assert kind_of({"model": 1, "plan": 2}, "job") == "job"


def test_what_is_said_of_another_kind() -> None:
    assert another_kind({"levels": [], "chip": "x"}, "a model", "model") == (
        "is a cluster, not a model"
    )
    assert another_kind({"levels": [], "hidden": 1, "chip": "x"}, "a cluster", "cluster") == ""
    assert with_command({"plan": {}}, "a job file", "job") == (
        "is a plan, not a job file: planner evaluate takes it"
    )
    assert with_command({"levels": []}, "a job file", "job") == "is a cluster, not a job file"


STAMP = {"schema_version": 1, "versions": {}}


def test_what_is_stamped_as_an_answer_is_no_file_that_people_write() -> None:
    """Whatever its other fields are called; one field that another answer has does not tell it."""
    values = {**STAMP, "subject": "", "axes": [], "points": [], "between": [], "front": []}
    assert kind_of(values) == kind_of(values, "front") == "values"
    for names in ("model hardware framework chips", "axes chips", "plan", "failures", "objectives",
                  "rows", "levels"):  # fmt: skip
        assert kind_of({**STAMP, **dict.fromkeys(names.split())}) == OTHER, names
    assert kind_of({**STAMP, "plan_job": {}, "objectives": []}) == "front"
    assert with_command({**STAMP, "chips": 8}, "a plan", "plan", "front") == (
        "is the answer of another command of planner, not a plan"
    )


@functools.cache
def answer_at_values(*flags: str) -> str:
    """The answer of `planner solve` at several values of a field."""
    job = ("--model", "gpt3-125m", "--chips", "8", "--axes", "dp", "--no-clocks")
    return planner("solve", *job, *flags, "--json").out


@each("command", ["evaluate", "explain", "report", "solve", "compare"])
@each("flags", [("--vary", "memory.bandwidth=1x,2x"), ("--batch-tokens", "64Ki..128Ki")])
def test_answers_at_several_values(command: str, flags: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / ("v" if command == "compare" else "v.json")
    path.write_text(answer_at_values(*flags), encoding="utf-8")
    (line,) = refused(command, path, *([KEPT / "result-2.json"] if command == "compare" else []))
    assert "is the answer of planner solve at several values, not a" in line
    assert "no command reads it, planner solve --vary --plot draws it" in line

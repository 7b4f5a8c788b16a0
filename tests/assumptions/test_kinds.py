"""A file's kind: the fields that tell it are at the top of its schema, and of no other."""

from typing import Any

from cli.command import planner
from support.cases import each

from planner.assumptions.file_kinds import KINDS, another_kind, kind_of, with_command

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

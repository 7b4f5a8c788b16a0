"""A study: fixed fields of a question, and axes whose values are crossed, zipped or listed.

    job:                       # fixed fields, as in a job file
      model: llama3-8b
      hardware: h100-sxm5-80
    cross:                     # each with each
      chips: {from: 64, to: 1024, factor: 2}
      batch_tokens: [1Mi, 4Mi]
      memory.bandwidth: [1x, 2x]        # a path that --set takes
      fix.pp: [1, 2]                    # a field of the plan
    zip:                       # side by side; a list of such groups for several
      seq_len: [4096, 8192]
      max_memory: [60GB, 70GB]
    list:                      # one by one
      - {precision: bf16}
      - {precision: fp8, framework: torchtitan}
    where:                     # points for which one does not hold are left out
      - batch_tokens / seq_len >= chips

Axes, zipped groups and the list are crossed with one another; the last one runs fastest.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.fields import schema_of
from planner.base.files import read_yaml_text
from planner.base.messages import MOST_UNKNOWN, Origin, did_you_mean, first_lines, repeated, shown
from planner.base.mistakes import mistakes
from planner.question.asked import BY_NAME
from planner.question.files.versions import OF_PLANS, check_given_version
from planner.question.records import located
from planner.studies.sweep.question.conditions import Condition, condition_of
from planner.studies.sweep.question.ranges import values_of

FIX = "fix."
_SEVERAL = ("phases", "down", "set", "fix")
"""Fields that ask several questions at once, or that axes of their own are for."""
MOST_POINTS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Fields that move together.

    Attributes:
        names: Of the fields.
        rows: Their values at each step; None: not given there.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Questions to ask.

    Attributes:
        fixed: Fields that all of them have.
        groups: What is crossed, the last one fastest.
        conditions: What holds for all points.
        file: Where it was read; empty: it comes from Python.
        text: Of that file, for messages about its lines.
    """

    fixed: Mapping[str, Any]
    groups: tuple[Group, ...]
    conditions: tuple[Condition, ...] = ()
    file: str = ""
    text: bytes | str = b""

    @property
    def names(self) -> tuple[str, ...]:
        """Fields that vary, in their order."""
        return tuple(name for group in self.groups for name in group.names)

    @property
    def combinations(self) -> int:
        """Points before conditions leave some out."""
        return prod(len(group.rows) for group in self.groups)

    @property
    def origin(self) -> Origin:
        """Names its fields in messages."""
        return Origin(file=self.file, content=self.text)


class StudyFile(BaseModel):
    """The form of a study file; values of fields are checked point by point."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    schema_version: Literal[1] = Field(default=1, description="Of this form.")
    job: dict[str, Any] = Field(default={}, description="Fixed fields of the question.")
    cross: dict[str, Any] = Field(default={}, description="Axes, each value with each other one.")
    zip: dict[str, Any] | builtins.list[dict[str, Any]] = Field(
        default=[], description="Axes that move together; a list of groups for several."
    )
    list: builtins.list[dict[str, Any]] = Field(
        default=[], description="Points one by one, crossed with the axes."
    )
    where: str | builtins.list[str] = Field(
        default=[], description="Conditions, e.g. chips <= 1024; other points are left out."
    )


def read_study(path: Path) -> Study:
    """The study in a file; files that it names lie where they are seen from its folder.

    Raises:
        InputError: One line per mistake.
    """
    data, text = read_yaml_text(path)
    origin = Origin(file=str(path), content=text.content)
    check_given_version(data, origin, OF_PLANS)
    try:
        form = StudyFile.model_validate(data)
    except ValidationError as error:
        raise InputError(
            "\n".join(mistakes(error, origin.label, StudyFile.model_fields))
        ) from error
    zipped = [form.zip] if isinstance(form.zip, dict) else form.zip
    where = [form.where] if isinstance(form.where, str) else form.where
    try:
        return study_of(
            located(form.job, path),
            cross=_seen(form.cross, path),
            zipped=[_seen(group, path) for group in zipped],
            points=[located(point, path) for point in form.list],
            where=where,
            file=str(path),
            text=text.content,
        )
    except InputError as error:
        lines = str(error).split("\n")
        raise InputError("\n".join(f"{path}: {line}" for line in lines)) from error


def _seen(axes: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Axes with the files that their values name, seen from the folder of the study."""
    return {
        name: [located({name: value}, path)[name] for value in values]
        if isinstance(values, builtins.list)
        else values
        for name, values in axes.items()
    }


def study_of(
    fixed: Mapping[str, Any],
    *,
    cross: Mapping[str, Any],
    zipped: Sequence[Mapping[str, Any]] = (),
    points: Sequence[Mapping[str, Any]] = (),
    where: Sequence[str] = (),
    file: str = "",
    text: bytes | str = b"",
) -> Study:
    """A study from its parts.

    Args:
        fixed: Fields of all questions.
        cross: Values, or a range, by field.
        zipped: Groups of the same that move together.
        points: Fields of points, one by one.
        where: Conditions.
        file, text: Where they were read.

    Raises:
        InputError: One line per mistake.
    """
    groups = [*_listed(points), *(_zipped(group) for group in zipped)]
    for given, values in cross.items():
        name = _field(given)
        groups.append(Group(names=(name,), rows=tuple((one,) for one in values_of(values, name))))
    study = Study(
        fixed=dict(fixed),
        groups=tuple(groups),
        conditions=tuple(map(condition_of, where)),
        file=file,
        text=text,
    )
    _check(study)
    return study


def _listed(points: Sequence[Mapping[str, Any]]) -> list[Group]:
    """The group of points that are listed, if any are; what one lacks is not given there."""
    named = [{_field(name): value for name, value in point.items()} for point in points]
    names = tuple(dict.fromkeys(name for point in named for name in point))
    if not names:
        return []
    return [Group(names=names, rows=tuple(tuple(map(point.get, names)) for point in named))]


def _zipped(axes: Mapping[str, Any]) -> Group:
    values = {_field(name): values_of(given, name) for name, given in axes.items()}
    lengths = {name: len(column) for name, column in values.items()}
    if not lengths or len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {count}" for name, count in lengths.items()) or "none"
        raise InputError(f"zip: fields that move together have as many values each: {said}")
    return Group(names=tuple(values), rows=tuple(zip(*values.values(), strict=True)))


def _field(name: str) -> str:
    """The name of an axis as the study keeps it: a field, `fix.FIELD`, or a path of `--set`."""
    plain = name.strip().replace("-", "_")
    if plain in BY_NAME:
        return plain
    return name.strip().removeprefix("set.")


def _check(study: Study) -> None:
    """Refuses names that no question has, and fields that are given twice.

    Raises:
        InputError: There are some.
    """
    problems = [
        f"{name}: is given twice; a field is fixed or has one axis"
        for name in repeated([*study.fixed, *study.names])
    ]
    problems += [
        f"{name}: is no axis; {_INSTEAD[name]}" for name in study.names if name in _SEVERAL
    ]
    unknown = [name for name in study.names if name not in BY_NAME and "." not in name]
    problems += [
        f"{name}: unknown field{did_you_mean(name, BY_NAME)}" for name in unknown[:MOST_UNKNOWN]
    ]
    known = {*BY_NAME, *study.names}
    strange = [
        (condition, name)
        for condition in study.conditions
        for name in condition.names
        if name not in known
    ]
    problems += [
        f"where: {condition.text!r}: {shown(name)} is no field of the question"
        f"{did_you_mean(name, known)}"
        for condition, name in strange[:MOST_UNKNOWN]
    ]
    if study.combinations > MOST_POINTS:
        problems.append(f"{study.combinations:,} points; at most {MOST_POINTS:,} of one study")
    if problems:
        unread = len(unknown[MOST_UNKNOWN:]) + len(strange[MOST_UNKNOWN:])
        raise InputError("\n".join(first_lines(problems, unread=unread)))


_INSTEAD = {
    "phases": "each phase is a question of its own",
    "down": "it asks two questions at once",
    "set": "give the path that changes, e.g. memory.bandwidth: [1x, 2x]",
    "fix": "give the field of the plan, e.g. fix.pp: [1, 2]",
}


def study_schema() -> dict[str, Any]:
    """The JSON Schema of a study file, with that of every field for editors."""
    from planner.question.request import Request  # noqa: PLC0415  (numpy; only where it is printed)

    fields = schema_of(Request)["properties"]
    own = [name for name in fields if name not in _SEVERAL]
    ranged = {"$ref": "#/$defs/range"}
    axes = {
        "type": "object",
        "properties": {
            name: {"anyOf": [{"type": "array", "items": _of(name), "minItems": 1}, ranged]}
            for name in own
        },
        "additionalProperties": {"anyOf": [{"type": "array", "minItems": 1}, ranged]},
    }
    schema = schema_of(StudyFile)
    said, group = schema["properties"], {"$ref": "#/$defs/axes"}
    job = {name: _of(name) for name in fields}
    said["job"] |= {"properties": job, "additionalProperties": False}
    said["cross"] = {**group, "description": said["cross"]["description"]}
    said["zip"]["anyOf"] = [group, {"type": "array", "items": group}]
    said["list"]["items"] = {"type": "object", "properties": {name: _of(name) for name in own}}
    values = {f"field_{name}": field for name, field in fields.items()}
    return {**schema, "$defs": {"range": _range_schema(), "axes": axes, **values}}


def _of(name: str) -> dict[str, str]:
    """Where the schema of a field stands."""
    return {"$ref": f"#/$defs/field_{name}"}


def _range_schema() -> dict[str, Any]:
    end = {"type": ["number", "string"]}
    return {
        "type": "object",
        "properties": {"from": end, "to": end, "step": end, "factor": end},
        "additionalProperties": False,
        "required": ["from", "to"],
        "oneOf": [{"required": ["step"]}, {"required": ["factor"]}],
    }

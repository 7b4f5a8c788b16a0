"""Fronts as `solve --pareto` and `solve --json` write them, read one plan at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.base.errors import InputError
from planner.base.files import is_file, read_bytes, read_text, read_yaml_text
from planner.base.flat import csv_records
from planner.base.messages import MOST_UNKNOWN, first_lines, shown
from planner.base.numerals import is_digits
from planner.plan import AXES
from planner.plan.ranks import regrouped
from planner.question.files.result_layout import front_of, version_of_plans
from strict_yaml.text import YamlText

_LISTS = (
    "offload",
    "placement.order",
    "job.pes",
    "job.scale",
    "job.topology",
)  # columns of a front in CSV
_PARTS = {"mesh": (*AXES, "ep"), "placement": ("order",)}
_HEADINGS = ("mesh.dp", "placement.order", "job.model", "schema_version")  # are in every front

_DIGITS = 15
_ARCHIVE = b"PK\x03\x04"


def file_and_row(source: str | Path, row: int | None = None) -> tuple[Path, int | None]:
    """`front.json:2` as file and row; anything else is a file.

    Args:
        source: What is named where a plan is asked for.
        row: That is asked for beside it.

    Raises:
        InputError: A row is asked for in both ways.
    """
    name, colon, digits = str(source).rpartition(":")
    if not (colon and name and is_digits(digits)) or is_file(Path(source)):
        return Path(source), row
    if row is not None:
        raise InputError(f"row: {source} names row {digits[:_DIGITS]} already; leave one out")
    return Path(name), int(digits.lstrip("0")[:_DIGITS] or "0")


def read_content(path: Path, content: bytes | None = None) -> tuple[dict[str, Any], YamlText]:
    """The mapping in a file, and its text; of a CSV file the front in it, as JSON holds it.

    Args:
        path: The file.
        content: What it holds, where it was read before.

    Raises:
        InputError: The file cannot be read.
    """
    content = read_bytes(path) if content is None else content
    if content.startswith(_ARCHIVE):
        raise InputError(f"{path}: is a ZIP archive; one with a certificate planner verify takes")
    if path.suffix.lower() == ".csv":
        return _front_of_csv(path, content), YamlText(str(path))
    return read_yaml_text(path, content)


def _front_of_csv(path: Path, content: bytes) -> dict[str, Any]:
    """The plans of a front in a CSV file; arguments of `read_content`.

    Raises:
        InputError: The file is no front.
    """
    text = read_text(path, content)
    try:
        front = csv_records(text, _LISTS, _HEADINGS)
    except InputError as error:
        lines = (f"{path}: {line}" for line in str(error).split("\n"))
        raise InputError("\n".join(lines)) from error
    if front is None:
        raise InputError(f"{path}: is neither YAML nor a front as solve --pareto writes it")
    return {"front": front, "plan_job": None}  # each row has its own


def point_of(
    data: Mapping[str, Any], path: Path, row: int | None, asked_by: str = "row"
) -> dict[str, Any] | None:
    """The row of a front that is asked for; None of what is no front.

    Args:
        data: What the file holds.
        path: The file.
        row: That is asked for.
        asked_by: What asks for it, for messages.

    Raises:
        InputError: A front without a row, or with one that it has not; a row of a single plan.
    """
    front, job = front_of(data)
    if not isinstance(front, list):
        if row is not None:
            raise InputError(f"{asked_by}: {path} is not a front of several plans; leave it out")
        return None
    if not front:
        raise InputError(f"{path}: the front holds no plan")
    if row is None or not 1 <= row <= len(front):
        asked = "" if row is None else f"; {shown(row)} is not one of them"
        example = f", such as {path}:1" if row is None else ""
        words = f"holds plans 1 to {len(front)}, choose one{example}{asked}"
        raise InputError(f"{asked_by}: {path} {words}")
    point = front[row - 1]
    if not isinstance(point, dict):
        raise InputError(f"{path}: row {row}: {shown(point)} is not a plan as solve writes it")
    return {
        **point,
        "schema_version": point.get("schema_version", version_of_plans(data)),
        "job": point.get("job", job),
    }


def plan_file_of(
    point: Mapping[str, Any], where: str, names: Collection[str], of_job: Collection[str]
) -> dict[str, Any]:
    """The content of a plan file with the plan in a row of a front.

    Args:
        point: The row.
        where: The file and the row, for messages.
        names: Fields of a plan; solve writes all of them but `stages`, so that none is a default.
        of_job: Fields of the job that solve always writes.

    Raises:
        InputError: A field has no value; one line for each of the first.
    """
    job = point["job"] if isinstance(point["job"], dict) else {}
    lost = [*_lost(point, names), *(f"job.{name}" for name in of_job if job.get(name) is None)]
    if lost:
        lines = [f"{where}: {name}: is missing" for name in lost]
        raise InputError("\n".join(first_lines(lines, MOST_UNKNOWN)))
    plan = {name: point[name] for name in names if name in point}
    order = point["placement"]["order"]
    words = isinstance(order, list) and all(isinstance(word, str) for word in order)
    plan["placement"] = regrouped(order) if words else order
    return {"schema_version": point["schema_version"], "job": point["job"], "plan": plan}


def _lost(point: Mapping[str, Any], names: Collection[str]) -> Iterator[str]:
    """Dotted names of the fields without a value."""
    for name in names:
        value = point.get(name)
        if name in _PARTS:
            parts = value if isinstance(value, dict) else {}
            yield from (f"{name}.{part}" for part in _PARTS[name] if parts.get(part) in (None, []))
        elif value is None and name != "stages":
            yield name

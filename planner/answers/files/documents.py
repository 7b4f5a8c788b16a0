"""What a document of an answer says it is: its kind, its seal, its versions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from planner.assumptions.file_kinds import with_command
from planner.base.errors import InputError
from planner.base.files import path_as_text
from planner.base.jsonfile import SEAL, digest_of
from planner.base.messages import shown
from planner.base.version import SCHEMA_VERSION
from planner.question.files.front_file import read_content
from planner.question.files.result_layout import RESULT_VERSION, is_solved
from planner.question.provenance import versions

Kind = Literal["solve", "front", "evaluate", "run"]
STDIN = Path("-")
_OF_FRONT = frozenset({"objectives", "complete", "front", "plan_job"})
_OF_EVALUATE = frozenset({"breakdown", "fits", "mesh"})
WANTED = (
    "what planner solve --json, planner evaluate --json, planner explain --json or solve --pareto "
    "front.json write"
)


def kind_of_document(data: Mapping[str, Any], name: str) -> Kind:
    """Which answer a document is.

    Raises:
        InputError: None that is known.
    """
    if data.keys() >= _OF_EVALUATE:
        return "evaluate"
    if data.keys() >= _OF_FRONT:
        return "front"
    if is_solved(data):
        return "solve"
    other = with_command(data, "an answer that a report is of", "front", "evaluation")
    raise InputError(f"{name}: {other or 'is no answer of this planner'}; a report needs {WANTED}")


def of_another_kind(path: Path, name: str) -> InputError | None:
    """What a file is that is no JSON, where that can be told: a plan, a job file, a front."""
    if path == STDIN or path.suffix.lower() == ".json":  # its fault as JSON says more
        return None
    try:
        other = with_command(read_content(path)[0], "an answer")
    except InputError:
        return None
    if "is a plan" in other:
        other += f"; planner evaluate {quote(path_as_text(name))} --plot report.html reports it"
    return InputError(f"{name}: {other}; a report needs {WANTED}") if other else None


def check_seal(data: Mapping[str, Any], name: str) -> None:
    """Refuses an answer that is not, to the letter, the one that was written.

    Raises:
        InputError: It is not, or has no digest.
    """
    if SEAL not in data:
        raise InputError(
            f"{name}: {SEAL}: is missing; an older planner wrote it, or it was edited: solve again"
        )
    if data[SEAL] != digest_of(data):
        raise InputError(
            f"{name}: was edited since it was written, or is damaged ({SEAL} is of other content): "
            "solve again"
        )


def check_versions(data: Mapping[str, Any], name: str, kind: Kind) -> None:
    """Refuses an answer that this installation would not give.

    Raises:
        InputError: One line per difference.
    """
    here, there = versions(), data.get("versions")
    del here["constants"]  # the hash of the hardware database holds them
    if not isinstance(there, dict):
        raise InputError(f"{name}: versions: is missing, so nothing says which planner wrote it")
    again = "solve again with this one"
    given = str(data.get("schema_version", "missing"))
    if kind == "solve":
        old, new = str(SCHEMA_VERSION), str(RESULT_VERSION)
        here["schema"] = given if given in (old, new) else f"{old} or {new}"
    found = {**there, "schema": given}
    words = {
        "planner": "was written by planner {0}, this is planner {1}",
        "schema": "schema_version is {0}, this planner reads version {1}",
        "hardware_db": "the hardware database has changed since (hash {0} then, {1} now)",
        "models_db": "the model database has changed since (hash {0} then, {1} now)",
    }
    lines = [
        f"{name}: {words[key].format(_plain(found.get(key, 'unknown')), mine)}; {again}"
        for key, mine in here.items()
        if found.get(key) != mine
    ]
    if lines:
        raise InputError("\n".join(lines))


def _plain(value: object) -> str:
    """A version without quotes, whatever the file holds."""
    return value if isinstance(value, str) and value.isalnum() else shown(value).strip("'")

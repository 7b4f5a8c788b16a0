"""What a document of an answer says it is: its version, its kind, its seal, who wrote it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from frozen_records import dataclass
from planner.assumptions.file_kinds import kind_of, with_command
from planner.base.commands import path_typed
from planner.base.errors import InputError
from planner.base.files import LARGEST_FILE_BYTES, read_bytes
from planner.base.jsonfile import SEAL, digest_of, json_object
from planner.base.messages import Origin, shown
from planner.question.files.front_file import read_content
from planner.question.files.result_layout import is_solved
from planner.question.files.versions import check_given_version, check_version
from planner.question.provenance import versions, versions_in
from strict_yaml.limits import larger_than, largest

Kind = Literal["solve", "front", "evaluate", "run"]
STDIN = Path("-")
_OF_FRONT = frozenset({"objectives", "complete", "front", "plan_job"})
_OF_EVALUATE = frozenset({"breakdown", "fits", "mesh"})
WANTED = (
    "what planner solve --json, planner evaluate --json, planner explain --json or solve --pareto "
    "front.json write"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A JSON object that was read.

    Attributes:
        path: Where it is; `-`: it came from another program.
        name: What messages call it.
        data, text: The object, and as it is written.
    """

    path: Path
    name: str
    data: dict[str, Any]
    text: str

    @property
    def origin(self) -> Origin:
        """Names its fields in messages."""
        return Origin(file=self.name)


def read_document(path: Path) -> Document:
    """What a file holds; `-`: standard input.

    Raises:
        InputError: It cannot be read, is no JSON object, or of a version that is not known.
    """
    content = _standard_input() if path == STDIN else read_bytes(path)
    try:
        document = document_in(path, content)
    except InputError as error:
        raise _of_another_kind(path, content) or error from error
    check_given_version(document.data, document.origin)
    return document


def document_in(path: Path, content: bytes) -> Document:
    """The JSON object in what a file holds, of whatever version.

    Raises:
        InputError: It is none.
    """
    name = "standard input" if path == STDIN else str(path)
    data, text = json_object(content, name)
    return Document(path=path, name=name, data=data, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Files that are compared, each of which was read once.

    Attributes:
        answers: The answers of `planner solve`, where all files are such.
        contents: What each file holds, as far as it could be read.
    """

    answers: tuple[Document, ...] = ()
    contents: Mapping[Path, bytes] = field(default_factory=dict)


def read_compared(paths: Sequence[Path]) -> Compared:
    """Files that are compared, told by what they hold: whole answers, or plans.

    Raises:
        InputError: One of them is an answer, and another cannot be read, or is no plan either; one
            line per such file.
    """
    contents: dict[Path, bytes] = {}
    unread: list[str] = []
    for path in dict.fromkeys(paths):
        try:
            contents[path] = read_bytes(path)
        except InputError as error:
            unread.append(str(error))
    answers = {path: _answer_in(path, content) for path, content in contents.items()}
    found = tuple(one for path in paths if (one := answers.get(path)) is not None)
    if found:
        others = (path for path, one in answers.items() if one is None)
        if lines := [*unread, *filter(None, (_no_plan(one, contents[one]) for one in others))]:
            raise InputError("\n".join(lines))
    return Compared(answers=found if len(found) == len(paths) else (), contents=contents)


def _answer_in(path: Path, content: bytes) -> Document | None:
    """The answer of `planner solve` in what a file holds, whatever else is wrong with it."""
    try:
        document = document_in(path, content)
    except InputError:
        return None
    return document if is_solved(document.data) else None


def _no_plan(path: Path, content: bytes) -> str:
    """What is wrong with a file beside an answer of which no row is named; nothing of a plan."""
    try:
        data, text = read_content(path, content)
        check_given_version(data, Origin(file=str(path), content=text.content))
    except InputError as error:
        return _fault_as_json(path, content) or str(error)
    if other := with_command(data, "an answer of planner solve or a plan", "plan", "front"):
        return f"{path}: {other}"
    if isinstance(data.get("front"), list) and not is_solved(data):
        return (
            f"{path}: is a front, not an answer of planner solve: name a row of it, such as "
            f"{path}:1, and one of the answer"
        )
    if "plan" in data:
        return ""
    none = "" if kind_of(data) else f"{path}: is neither an answer of planner solve nor a plan"
    return _fault_as_json(path, content) or none


def _fault_as_json(path: Path, content: bytes) -> str:
    """What is wrong with the JSON in a file that seems to hold JSON."""
    if path.suffix.lower() != ".json" and content.strip()[:1] not in (b"", b"{", b"["):
        return ""
    try:
        document_in(path, content)
    except InputError as error:
        return str(error)
    return ""


def _standard_input() -> bytes:
    """What another program sends.

    Raises:
        InputError: There is no standard input, or it cannot be read.
    """
    if sys.stdin is None:
        raise InputError("standard input: is closed; name a file")
    limit = largest(LARGEST_FILE_BYTES)
    content = sys.stdin.buffer.read(limit + 1)
    if len(content) > limit:
        raise InputError(f"standard input: {larger_than(limit)}")
    return content


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


def _of_another_kind(path: Path, content: bytes) -> InputError | None:
    """What a file is that is no JSON, where that can be told: a plan, a job file, a front."""
    if path == STDIN or path.suffix.lower() == ".json":  # its fault as JSON says more
        return None
    try:
        other = with_command(read_content(path, content)[0], "an answer")
    except InputError:
        return None
    if "is a plan" in other:
        file = path_typed(path)
        other += f"; planner evaluate {file} --plot report.html reports it"
    return InputError(f"{path}: {other}; a report needs {WANTED}") if other else None


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


def check_versions(data: Mapping[str, Any], name: str) -> None:
    """Refuses an answer that this installation would not give.

    Raises:
        InputError: One line per difference.
    """
    check_version(data, Origin(file=name))
    here, there = versions(), data.get("versions")
    del here["schema"]
    if not isinstance(there, dict):
        raise InputError(f"{name}: versions: is missing, so nothing says which planner wrote it")
    there = versions_in(there)
    words = {
        "planner": "was written by planner {0}, this is planner {1}",
        "hardware_db": "the hardware database has changed since (hash {0} then, {1} now)",
        "models_db": "the model database has changed since (hash {0} then, {1} now)",
        "constants": "the constants of the cost model have changed since (hash {0} then, {1} now)",
    }
    lines = [
        f"{name}: {words[key].format(_plain(there.get(key, 'unknown')), mine)}; "
        "solve again with this one"
        for key, mine in here.items()
        if there.get(key) != mine
    ]
    if lines:
        raise InputError("\n".join(lines))


def _plain(value: object) -> str:
    """A version without quotes, whatever the file holds."""
    return value if isinstance(value, str) and value.isalnum() else shown(value).strip("'")

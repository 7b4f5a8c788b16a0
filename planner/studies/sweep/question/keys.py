"""What answers are kept under: a question's digest, and the version of what answers it.

The digest is that of the question with the contents of the records and files that it names, so
that a changed file is another question, whatever its name. What else those files lead to, as a
launch does to a file that it sources, is kept with the result (`planner.studies.sweep.reads`). The
version is a digest of the program
that answers, with its fitted constants: a result of another version is stale.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import frozen_records
import hardware_db
import models_db
import solvers
import strict_yaml
from hardware_db import HardwareError
from hardware_db.loading import cluster_parts
from models_db import ModelError
from models_db.loading import model_data
from planner.base import version
from planner.base.errors import InputError, UnfinishedError
from planner.base.files import is_file, names_a_file, read_bytes, real_path
from planner.base.jsonfile import digest_of
from planner.base.version import __version__
from planner.question.asked import ASKED
from planner.question.records import record_mistakes
from planner.question.request import Request
from planner.studies.sweep.question.study import Study
from strict_yaml import contents

_FORM = 1  # of keys
_LENGTH = 12
_NOT_ANSWERING = ("cli", "report", "studies")
"""Rooms of `planner` that no answer depends on, but for what says which of it is kept."""
_KEPT = "studies/sweep/kept.py"
_EXTENDED = "planner."
"""What the groups begin with to which other packages add: frameworks, schedules, objectives."""
_FILES = frozenset(field.name for field in ASKED if field.names_a_file)
_LEADING = "resume_from"
"""Of these the one that leads to others, as a launch sources some: elsewhere it is another one."""
_PATHS = ("calibration",)
"""Of these those whose values are paths, whether or not a file is there, and never names."""
_RECORDS = ("chips", "clusters")
"""Folders of `hardware_db` whose files are part of the questions that name them."""


class Keys:
    """Digests of questions; each record and file is read once.

    Attributes:
        files: The files that were read, with notes of what they held (`strict_yaml.contents`).
    """

    def __init__(self) -> None:
        self.files = dict[str, str]()
        self._contents = dict[tuple[str, str], str]()

    def key(self, request: Request) -> str:
        """The digest of a question.

        Args:
            request: The question; it has been checked.

        Raises:
            InputError: A record or file that it names cannot be read.
        """
        fields = request.model_dump(mode="json")
        named = {name: self._content(name, value) for name, value in fields.items()}
        return digest_of({"form": _FORM, "fields": fields | named}).removeprefix("sha256:")

    def of_study(self, study: Study) -> str:
        """The digest of all questions of a study at once, far sooner than that of each."""
        groups = [
            [
                [self._content(name, value) for name, value in zip(group.names, row, strict=True)]
                for row in group.rows
            ]
            for group in study.groups
        ]
        fields = {
            "form": _FORM,
            "fixed": {name: self._content(name, value) for name, value in study.fixed.items()},
            "names": study.names,
            "groups": groups,
            "where": [one.text for one in study.conditions],
            "program": [__version__, hardware_db.database_hash(), models_db.database_hash()],
        }
        return digest_of(fields)

    def _content(self, name: str, value: Any) -> Any:
        """A value of a field, or the digest of what it names."""
        if name in ("model", "hardware") and isinstance(value, str):
            return self._record(name, value)
        if name == "pools" and isinstance(value, dict):
            pools = ((self._record("hardware", one), chips) for one, chips in value.items())
            return [list(pool) for pool in pools]
        if name not in _FILES or not isinstance(value, str):
            return value
        if name == _LEADING and (found := _leading(value)) is not None:
            path, row = found
            place = [self._digest("", str(path)), str(real_path(path))]
            return place if row is None else [*place, row]
        is_path = name in _PATHS or names_a_file(value) or is_file(Path(value))
        return self._digest("", value) if is_path else value

    def _record(self, kind: str, name: str) -> str:
        try:
            return self._digest(kind, name)
        except (HardwareError, ModelError) as error:
            raise InputError(record_mistakes(kind, name, error)) from error

    def _digest(self, kind: str, name: str) -> str:
        """The digest of a record of a kind; without a kind of a file."""
        if (kind, name) not in self._contents:
            with contents.noting() as notes:
                self._contents[kind, name] = (
                    digest_of({"record": _record_of(kind, name)})
                    if kind
                    else _digest(read_bytes(Path(name)))
                )
            for file, note in notes.items():
                if self.files.setdefault(file, note) != note:
                    raise UnfinishedError(f"{file}: changes while it is read")
        return self._contents[kind, name]


def _leading(value: str) -> tuple[Path, int | None] | None:
    """The file of a run to go on from, and its row; None: the text of a plan, or none at all."""
    from planner.question.files.front_file import file_and_row  # noqa: PLC0415  (few name a run)
    from planner.question.launch.resuming import is_text_of_plan  # noqa: PLC0415  (reads launches)

    return file_and_row(value) if value.strip() and not is_text_of_plan(value) else None


def _record_of(kind: str, name: str) -> Any:
    if kind == "model":
        return model_data(name.removeprefix("hf:"))[0]
    parts = cluster_parts(name)
    return {"chip": parts.chip.data, "cluster": parts.cluster.data}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@functools.cache
def answering_version() -> str:
    """`0.1.0+4f1c...`: this program's version, and the digest of all that its answers depend on.

    That is its own code and constants, and the packages that add frameworks, schedules or
    objectives, as they are there.
    """
    digest = hashlib.sha256()
    for name, path in _answering():
        content = path.read_bytes()
        digest.update(f"{name}:{len(content)}\n".encode())
        digest.update(content)
    for said in sorted({*map(_extension, distributions())}):
        digest.update(said.encode())
    return f"{__version__}+{digest.hexdigest()[:_LENGTH]}"


def _answering() -> Iterator[tuple[str, Path]]:
    """The files that answers depend on, but for the records of chips, clusters and models."""
    roots = [Path(version.__file__).parents[1]]
    for package in (solvers, frozen_records, strict_yaml, hardware_db, models_db):
        roots.append(Path(str(package.__file__)).parent)
    for root in roots:
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if _counts(root.name, name) and path.is_file():
                yield f"{root.name}/{name}", path


def _extension(package: Distribution) -> str:
    """A package that adds to the planner, with the contents of its files; empty: it does not."""
    points = [point for point in package.entry_points if point.group.startswith(_EXTENDED)]
    if not points:
        return ""
    modules = {point.module.partition(".")[0] for point in points}
    contents = [_digest(path.read_bytes()) for path in _files(modules)]
    return "\n".join([f"{package.name} {package.version}", *contents, ""])


def _files(names: Iterable[str]) -> Iterator[Path]:
    """The files of modules and packages, wherever they are installed."""
    for name in sorted(names):
        spec = find_spec(name)
        if spec is None:
            continue
        folders = spec.submodule_search_locations
        if folders is None:
            yield Path(str(spec.origin))
            continue
        for folder in folders:
            inside = sorted(Path(folder).rglob("*"))
            yield from (one for one in inside if one.is_file() and "__pycache__" not in one.parts)


def _counts(package: str, name: str) -> bool:
    room, *inside = name.split("/")
    if "__pycache__" in name:
        return False
    if package == "planner":
        return name == _KEPT or (room not in _NOT_ANSWERING and bool(inside))
    records = inside[:1] and inside[0] in _RECORDS if package == "hardware_db" else True
    return not (room == "data" and records)

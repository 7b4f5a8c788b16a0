"""The archive of a proof: `proof.json`, and an MPS file for every row that was solved."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, FiniteFloat, NonNegativeInt, ValidationError

from planner.base.errors import InputError
from planner.base.messages import mistakes
from planner.verification.document import LARGEST_BYTES, Point, sealed, text_of
from strict_yaml.limits import larger_than, largest

PROOF = "proof.json"
FORMAT = 1
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, OverflowError,
    RuntimeError,
)  # fmt: skip
"""What `zipfile` raises of damaged archives: RuntimeError where one is marked as encrypted, or as
packed in a way that is not known."""
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOMENT = (1980, 1, 1, 0, 0, 0)  # the same proof has the same bytes


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Program(_Part):
    """The integer program of a row: no plan of it takes less than `bound` times `unit_s`."""

    file: str
    sha256: str
    unit_s: FiniteFloat
    bound: NonNegativeInt


class Step(_Part):
    """What a bound of the funnel dropped; see `planner.results.certificate.FunnelStage`."""

    name: str
    rows: NonNegativeInt
    meshes: NonNegativeInt
    dropped: NonNegativeInt
    lowest: FiniteFloat | None
    unit: Literal["s"]


class StageClaim(_Part):
    """What is certified: the best plan takes `objective` seconds, and none less than `bound`."""

    status: Literal["optimal", "feasible"]
    objective: FiniteFloat
    bound: FiniteFloat
    gap: FiniteFloat
    left: NonNegativeInt
    lowest_left: FiniteFloat | None


class StageProof(_Part):
    """The whole document; `sha256` is over all else.

    `without_program` are rows of which it showed while their columns were made that no plan is
    better, and rows that are left.
    """

    stages: Literal[1]
    question: dict[str, Any]
    versions: dict[str, str]
    records: dict[str, str]
    funnel: list[Step]
    programs: list[Program]
    without_program: NonNegativeInt
    best: Point
    claim: StageClaim
    sha256: str


def archive(fields: Mapping[str, Any], programs: Mapping[str, str]) -> bytes:
    """The archive of a proof and its programs; the same of the same."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in {PROOF: text_of(sealed(fields)), **programs}.items():
            file.writestr(zipfile.ZipInfo(name, _MOMENT), text, zipfile.ZIP_DEFLATED)
    return kept.getvalue()


def digest(text: str) -> str:
    """SHA-256 of a program."""
    return hashlib.sha256(text.encode()).hexdigest()


def opened(content: bytes, name: str) -> tuple[dict[str, Any], StageProof, dict[str, str]]:
    """The document as plain data and with every part of its kind, and the programs by file.

    Raises:
        InputError: It is no such archive, or a part of it is missing or too large.
    """
    try:
        texts = _unpacked(content, name)
        found = json.loads(texts.pop(PROOF))
        return found, StageProof.model_validate_json(json.dumps(found), strict=True), texts
    except ValidationError as error:
        first = mistakes(error, lambda at: ".".join(map(str, at)), StageProof.model_fields)[0]
        raise InputError(f"{name}: is no certificate: {first}") from error
    except (*_DAMAGED, KeyError, RecursionError) as error:
        raise InputError(f"{name}: is no certificate: no archive with {PROOF}") from error


def _unpacked(content: bytes, name: str) -> dict[str, str]:
    """The texts of an archive by file.

    Raises:
        InputError: They are too large.
        BadZipFile: A file is not packed as `archive` does it. A damaged archive raises the others
            of `_DAMAGED` as well.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        limit = largest(LARGEST_BYTES)
        if sum(one.file_size for one in file.infolist()) > limit:
            raise InputError(f"{name}: is no certificate: unpacked {larger_than(limit)}")
        if any(one.compress_type not in _PACKED for one in file.infolist()):
            raise zipfile.BadZipFile("a file that is packed otherwise")
        return {one.filename: file.read(one).decode() for one in file.infolist()}

"""The archive of a proof: `proof.json`, and an MPS file for every row that was solved."""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, FiniteFloat, NonNegativeInt, ValidationError

from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.mistakes import mistakes
from planner.verification.document import LARGEST_BYTES, FirstFormat, Point, Rows, sealed, text_of
from strict_yaml.limits import HINT, larger_than, largest, raised

PROOF = "proof.json"
FORMAT = 1
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, OverflowError,
    RuntimeError,
)  # fmt: skip
"""What `zipfile` raises of damaged archives: RuntimeError where one is marked as encrypted, or as
packed in a way that is not known."""
LARGEST_PROOF_BYTES = 2**20
"""Of `proof.json`, which takes hundreds of times as much memory as it is long; one of two programs
has 3 kB, and each further one some 150 bytes."""
MOST_TIMES = 100
"""How many times as large as packed an archive may be; those of small jobs are 3 times."""
MOST_PARTS = 50_000
"""Objects and lists of `proof.json`, counted as opening brackets."""
_PROGRAM = re.compile(r"programs/[0-9]{1,9}\.mps")
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

    stages: FirstFormat
    question: dict[str, Any]
    versions: dict[str, str]
    records: dict[str, str]
    funnel: Rows[Step]
    programs: Rows[Program]
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
        InputError: They are too large or of other names.
        BadZipFile: A file is not packed as `archive` does it. A damaged archive raises the others
            of `_DAMAGED` as well.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        parts = file.infolist()
        _check_sizes(parts, len(content), name)
        if any(one.compress_type not in _PACKED for one in parts):
            raise zipfile.BadZipFile("a file that is packed otherwise")
        texts = {one.filename: file.read(one).decode() for one in parts}
    if not raised() and texts[PROOF].count("{") + texts[PROOF].count("[") > MOST_PARTS:
        most = f"more than {MOST_PARTS:,} objects and lists"
        raise InputError(f"{name}: is no certificate: {PROOF} has {most}; {HINT}")
    return texts


def _check_sizes(parts: Sequence[zipfile.ZipInfo], packed: int, name: str) -> None:
    """Looks at names and sizes as the archive states them, which bound what is unpacked of it.

    Args:
        parts: What is in the archive.
        packed: Bytes of the whole file.
        name: What messages call it.

    Raises:
        InputError: There is another file, or too much.
    """
    limit, size = largest(LARGEST_BYTES), sum(one.file_size for one in parts)
    for one in parts:
        if one.filename != PROOF and not _PROGRAM.fullmatch(one.filename):
            what = f"{shown(one.filename)} in it is neither {PROOF} nor programs/NUMBER.mps"
            raise InputError(f"{name}: is no certificate: {what}")
        most = largest(LARGEST_PROOF_BYTES)
        if one.filename == PROOF and one.file_size > most:
            raise InputError(f"{name}: is no certificate: {PROOF} is {larger_than(most)}")
    if size > limit:
        raise InputError(f"{name}: is no certificate: unpacked {larger_than(limit)}")
    if size > MOST_TIMES * packed and not raised():
        times = f"unpacked more than {MOST_TIMES} times as large as packed"
        raise InputError(f"{name}: is no certificate: {times}; {HINT}")

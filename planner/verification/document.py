"""The certificate as a document: its parts, how it is read, and the seal over it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    FiniteFloat,
    PositiveInt,
    ValidationError,
)

from planner.assumptions.file_kinds import with_command
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.mistakes import mistakes
from strict_yaml.limits import HINT, raised

LARGEST_BYTES = 256 * 2**20
LEAST_BYTES = 12
"""Of text for a list or object, each of which takes up to a kilobyte of memory; the shortest row,
of a mesh, has 14."""
_FEW_PARTS = 1000
FORMAT = 1
_Item = TypeVar("_Item")
Rows = Annotated[list[_Item], FailFast()]
"""A list whose first wrong item is said: each mistake takes a kilobyte, a wrong row a few bytes."""

MeshRow = tuple[PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt]
"""tp, cp, pp, dp, fsdp, ep."""
SplitMeshRow = tuple[
    PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt
]
"""The same with etp, where that is above 1. So are the next two."""
NodeRow = tuple[
    PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt,
    PositiveInt, str, PositiveInt, str,
]  # fmt: skip
"""A partial plan: tp, cp, pp, dp, fsdp, ep, micro-batch, schedule, interleave, split."""
SplitNodeRow = tuple[
    PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt,
    PositiveInt, str, PositiveInt, str,
]  # fmt: skip
BoundRow = tuple[
    PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt,
    PositiveInt, str, PositiveInt, str, str, FiniteFloat, FiniteFloat,
]  # fmt: skip
"""The same, with the recomputation that its bounds assume, least seconds and least joules."""
SplitBoundRow = tuple[
    PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt, PositiveInt,
    PositiveInt, str, PositiveInt, str, str, FiniteFloat, FiniteFloat,
]  # fmt: skip
PlanRow = tuple[int, str, bool, str, str, str]
"""A plan on a partial plan: its row among those searched, sharding, sequence parallelism,
context-parallel mode, recomputation, what is offloaded (`optimizer+weights`)."""
PlanBoundRow = tuple[int, str, bool, str, str, str, FiniteFloat, FiniteFloat]
"""The same, with least seconds and least joules."""


def is_number(stated: object) -> bool:
    """Whether a format is stated as a whole number, which `true` is not."""
    return isinstance(stated, int) and not isinstance(stated, bool)


def _number(stated: object) -> object:
    if not is_number(stated):
        raise ValueError("the format is a number")
    return stated


FirstFormat = Annotated[Literal[1], BeforeValidator(_number)]
"""Format 1 as a number; of itself `Literal[1]` takes `true` too."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SpacePart(_Part):
    """What was searched: its kind, numbers of chips, relative clocks, what has to run the plans."""

    kind: Literal["uniform"]
    chips: Rows[PositiveInt]
    clocks: Rows[FiniteFloat]
    runnable_in: Rows[str]


class Nodes(_Part):
    """Every partial plan, once.

    Attributes:
        no_memory: Meshes on which no plan fits in memory; their partial plans are not listed.
        closed: Whose bounds the front covers.
        searched: Whose plans are in `Plans`.
        begun, waiting: Left when the search ended, with plans looked at or without.
    """

    no_memory: Rows[MeshRow | SplitMeshRow]
    closed: Rows[BoundRow | SplitBoundRow]
    searched: Rows[NodeRow | SplitNodeRow]
    begun: Rows[BoundRow | SplitBoundRow]
    waiting: Rows[BoundRow | SplitBoundRow]


class Plans(_Part):
    """Every plan of the nodes that were searched that fits in memory, once."""

    closed: Rows[PlanBoundRow]
    costed: Rows[PlanRow]


class Point(_Part):
    """A plan as plan files have it, with its figures."""

    plan: dict[str, Any]
    step_time_s: FiniteFloat
    energy_j: FiniteFloat


class Claim(_Part):
    """What is certified of the best plan; see `planner.results.certificate.Certificate`."""

    status: Literal["optimal", "feasible", "infeasible", "time_limit"]
    objective_name: str
    objective: FiniteFloat | None
    bound: FiniteFloat | None
    gap: FiniteFloat | None
    front_complete: bool


class Certificate(_Part):
    """The whole document; `sha256` is over all else."""

    certificate: FirstFormat
    question: dict[str, Any]
    versions: dict[str, str]
    records: dict[str, str]
    space: SpacePart
    counts: dict[str, dict[str, int]]
    nodes: Nodes
    plans: Plans
    front: Rows[Point]
    best: Point | None
    claim: Claim
    sha256: str


def sealed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A document with its seal in place of an older one."""
    content = {name: value for name, value in fields.items() if name != "sha256"}
    return {**content, "sha256": seal(content)}


def seal(content: Mapping[str, Any]) -> str:
    """SHA-256 of a document without seal: keys ascending, no spaces, UTF-8."""
    plain = {name: value for name, value in content.items() if name != "sha256"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def text_of(document: Mapping[str, Any]) -> str:
    """The document as a file has it: a line for every row of its lists."""
    return _written(document, 0) + "\n"


def _written(value: Any, depth: int) -> str:
    nested = depth < 3 and value and isinstance(value, dict | list)
    if not nested or (isinstance(value, list) and not isinstance(value[0], dict | list)):
        return json.dumps(value, ensure_ascii=False)
    pad, end = " " * (depth + 1), " " * depth
    if isinstance(value, list):
        lines = (pad + json.dumps(row, ensure_ascii=False) for row in value)
        return "[\n" + ",\n".join(lines) + f"\n{end}]"
    rows = (f"{pad}{json.dumps(key)}: {_written(one, depth + 1)}" for key, one in value.items())
    return "{\n" + ",\n".join(rows) + f"\n{end}}}"


def parsed(content: str | bytes, name: str) -> tuple[dict[str, Any], Certificate]:
    """A certificate as plain data, and with every part of its kind.

    Args:
        content: Of the file.
        name: What messages call it.

    Raises:
        InputError: It is none, or of another format.
    """
    text = content.encode() if isinstance(content, str) else content
    most = len(text) // LEAST_BYTES + _FEW_PARTS
    if text.count(b"[") + text.count(b"{") > most and not raised():
        parts = f"more than {most:,} lists and objects in {len(text):,} bytes"
        raise InputError(f"{name}: is no certificate: it has {parts}; {HINT}")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: is no certificate: it is not JSON") from error
    fields = found if isinstance(found, dict) else {}
    stated = fields.get("certificate")
    if not is_number(stated):
        none = "is no certificate: it has no field 'certificate' with a number"
        raise InputError(f"{name}: {with_command(fields, 'a certificate', 'certificate') or none}")
    if stated != FORMAT:
        raise InputError(
            f"{name}: is a certificate of format {shown(stated)}; this version of "
            f"planner reads format {FORMAT}"
        )
    try:
        return found, Certificate.model_validate_json(content, strict=True)
    except ValidationError as error:
        first = mistakes(error, lambda path: ".".join(map(str, path)), Certificate.model_fields)[0]
        raise InputError(f"{name}: is no certificate: {first}") from error

"""Phases of a run as a question gives them: `14.8e12,seq_len=8192`, or a mapping in a file.

Each phase has its tokens, and what else it says in place of the question. `plan=same` keeps the
plan of the phase before, as a warm-up of the batch does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from planner.base.errors import InputError
from planner.base.fields import plain, refusal
from planner.base.messages import not_one_of, repeated, shown
from planner.base.numerals import beyond
from planner.base.units import parse_count

if TYPE_CHECKING:  # which takes its types from here
    from planner.question.request import Request

TOKENS, PLAN, SAME = "train_tokens", "plan", "same"
OWN = (TOKENS, "batch_tokens", "seq_len", "chips")
"""Fields of the question that a phase may say."""
_NAMES = (*OWN, PLAN)
_FORM = "14.8e12,seq_len=8192,batch_tokens=16Mi (the tokens of the phase first)"
_MOST = 64


def read_phases(given: Any) -> Any:
    """Texts of flags, or mappings of a file or of Python, as texts `NAME=VALUE,...`.

    >>> read_phases(["1e12, seq_len=8192", {"train_tokens": "100G", "plan": "same"}])
    ('train_tokens=1e12,seq_len=8192', 'train_tokens=100G,plan=same')
    """
    phases = [given] if isinstance(given, str | Mapping) else given
    if not isinstance(phases, list | tuple):
        return given
    if not len(phases) <= _MOST:
        raise refusal(f"{len(phases)} phases; allowed: up to {_MOST}")
    found, problems = [], []
    for at, phase in enumerate(phases):
        try:
            found.append(",".join(f"{name}={value}" for name, value in _fields(phase, at)))
        except InputError as error:
            problems.append(f"phase {at + 1}: {error}")
    if problems:
        raise refusal("\n".join(problems))
    return tuple(found)


def several_problems(request: Request) -> list[str]:
    """Fields that are about more than one plan, in a question about one; a line each."""
    lines = []
    if request.phases:
        lines.append(
            "phases: this is about one plan; planner solve takes phases, and planner.solve_phases"
        )
    if request.down is not None:
        lines.append("down: this is about one plan; planner solve takes it, and planner.solve_down")
    return lines


def fields_of(phase: str) -> dict[str, str]:
    """What a phase says, of a text that `read_phases` has made."""
    return dict(part.partition("=")[::2] for part in phase.split(","))


def phases_schema() -> dict[str, Any]:
    """The JSON Schema of phases."""
    value = {"type": ["number", "string"]}
    mapping = {
        "type": "object",
        "properties": {**dict.fromkeys(OWN, value), PLAN: {"enum": [SAME]}},
        "required": [TOKENS],
        "additionalProperties": False,
    }
    text = {
        "type": "string",
        "pattern": r"^[^,=]+(,[^,=]+=[^,=]+)*$|^[^,=]+=[^,=]+(,[^,=]+=[^,=]+)*$",
    }
    return {
        "anyOf": [{"type": "array", "items": {"anyOf": [mapping, text]}}, text],
        "examples": [["14.8e12,seq_len=8192", "800e9,seq_len=131072"]],
    }


def _fields(phase: Any, at: int) -> Iterator[tuple[str, str]]:
    """Names and values of a phase, in the order of the names.

    Raises:
        InputError: It is of another form, or a name or a value is none.
    """
    given = dict(_pairs(phase))
    if unknown := [name for name in given if name not in _NAMES]:
        raise InputError(not_one_of(unknown[0], _NAMES))
    if TOKENS not in given:
        raise InputError(f"{TOKENS}: is missing; e.g. {_FORM}")
    if given.get(PLAN, SAME) != SAME:
        raise InputError(f"{PLAN}: {shown(given[PLAN])} is not {SAME}; leave it out, or say {SAME}")
    if PLAN in given and not at:
        raise InputError(f"{PLAN}: {SAME} as which? No phase is before it; leave it out")
    if PLAN in given and "chips" in given:
        raise InputError(f"chips: {PLAN} {SAME} has those of the phase before; leave one out")
    for name in OWN[:2]:
        if name in given and (rule := beyond(parse_count(given[name], name))):
            raise InputError(f"{name}: {given[name]}: {rule}")
    yield from ((name, given[name]) for name in _NAMES if name in given)


def _pairs(phase: Any) -> list[tuple[str, str]]:
    """What is written, as texts.

    Raises:
        InputError: It is of another form, or names a field twice.
    """
    if isinstance(phase, Mapping):
        return [(str(plain(name)), _text(name, value)) for name, value in phase.items()]
    if not isinstance(phase, str):
        raise InputError(f"{shown(phase)} is not of the form {_FORM}")
    parts = [[word.strip() for word in part.split("=")] for part in phase.split(",")]
    if len(parts[0]) == 1:
        parts[0] = [TOKENS, *parts[0]]
    if any(len(part) != 2 or not all(part) for part in parts):
        raise InputError(f"{shown(phase)} is not of the form {_FORM}")
    names = [name.replace("-", "_") for name, _ in parts]
    if twice := repeated(names):
        raise InputError(f"{twice[0]}: is given twice")
    return [(name, value) for name, (_, value) in zip(names, parts, strict=True)]


def _text(name: Any, value: Any) -> str:
    """A value of a file as a flag has it.

    Raises:
        InputError: It is neither number nor text, or holds what ends a value.
    """
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(f"{name}: {shown(value)} is not a number or text")
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
    if not text or set(text) & {",", "="}:
        raise InputError(f"{name}: {shown(value)} is not one value")
    return text

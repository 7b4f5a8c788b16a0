"""JSON documents that people hand to the planner, read strictly; and the seal on our own."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Mapping
from typing import Any

from planner.base.errors import InputError
from planner.base.files import DEEPEST
from planner.base.messages import shown, too_long
from strict_yaml.json_text import DoubledNameError, depth, unique

SEAL = "digest"
_WHOLE = 2.0**53  # floats below it that are whole are exact as whole numbers


def sealed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A document with the digest of all that it says, by which an edit is noticed."""
    return {**fields, SEAL: digest_of(fields)}


def digest_of(fields: Mapping[str, Any]) -> str:
    """The SHA-256 of a document without its own digest, whatever its layout: `sha256:4f1c...`.

    It is that of its JSON in ASCII with sorted names and without blanks. Whole numbers are written
    without a point, as some programs that pass JSON on write them.
    """
    said = {name: _plain(value) for name, value in fields.items() if name != SEAL}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _plain(value: Any) -> Any:
    """A value in which whole numbers are integers, and sequences lists."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return int(value)
    return value


def json_object(content: bytes, name: str) -> tuple[dict[str, Any], str]:
    """The one JSON object in a file, and its text.

    Args:
        content: Bytes of the file.
        name: What messages call it.

    Raises:
        InputError: It is no text, no JSON, no object or cut off; it holds NaN or infinity, a name
            twice, or more levels than any of ours.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not a text file (byte {error.start} is not UTF-8)") from error
    if not text.strip():
        raise InputError(f"{name}: is empty")
    try:
        data = json.loads(
            text, object_pairs_hook=unique, parse_constant=_constant, parse_float=_finite,
            parse_int=whole,
        )  # fmt: skip
    except json.JSONDecodeError as error:
        raise InputError(f"{name}: {_mistake(error, text)}") from error
    except DoubledNameError as error:
        twice = shown(error.name)
        raise InputError(f"{name}: the name {twice} appears twice in one object") from error
    except RefusedError as error:
        raise InputError(f"{name}: {error}") from error
    except RecursionError as error:
        raise InputError(f"{name}: nested deeper than {DEEPEST} levels") from error
    if not isinstance(data, dict):
        raise InputError(f"{name}: must be one JSON object, not {shown(data)}")
    if depth(data) > DEEPEST:
        raise InputError(f"{name}: nested deeper than {DEEPEST} levels")
    return data, text


class RefusedError(ValueError):
    """A value that JSON, or we, do not have."""


def _mistake(error: json.JSONDecodeError, text: str) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "is cut off: the JSON in it has no end"
    return f"line {error.lineno}: not valid JSON: {error.msg[0].lower()}{error.msg[1:]}"


def _constant(word: str) -> Any:
    raise RefusedError(f"{word} is no number that JSON has")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise RefusedError(f"{shown(value)} is too large")
    return value


def whole(text: str) -> int:
    """A whole number that can be computed with; `parse_int` of `json.loads`.

    Raises:
        RefusedError: It has more digits than Python reads, or no floating-point number is as large.
    """
    if problem := too_long(text):
        raise RefusedError(problem)
    value = int(text)
    if abs(value) > sys.float_info.max:
        raise RefusedError(f"{shown(value)} is too large")
    return value

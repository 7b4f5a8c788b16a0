"""From the bytes of a JSON file to plain Python data, refusing what is not clean JSON."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from models_db.errors import ModelError
from strict_yaml.json_text import DoubledNameError, unique
from strict_yaml.limits import larger_than, largest

MAX_BYTES = 10 * 2**20
_SHOWN = 40
# What transformers writes for time steps of a state-space layer that have no upper bound.
_UNBOUNDED = re.compile(r'(?<="time_step_limit": \[)(\s*\d+(?:\.\d+)?,\s*)Infinity\s*\]')


def parse_json(content: bytes, origin: str, most: int = MAX_BYTES) -> dict[str, Any]:
    """Parse the content of a JSON file that holds one object.

    Args:
        content: the bytes of the file.
        origin: the file, as messages name it.
        most: bytes that it may have.

    Returns:
        The object; no key occurs twice in it, no number is NaN or infinite.

    Raises:
        ModelError: too large, empty, not UTF-8, not JSON, nested too deep, or no object.
    """
    limit = largest(most)
    if len(content) > limit:
        raise ModelError(f"{origin}: {larger_than(limit)}")
    if not content.strip():
        raise ModelError(f"{origin}: empty; a JSON object belongs here")
    try:
        text = _UNBOUNDED.sub(r"\1null]", content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ModelError(f"{origin}: not text (byte {error.start} is not UTF-8)") from None
    try:
        data = json.loads(text, parse_constant=_refused_constant, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise ModelError(f"{origin}: line {error.lineno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise ModelError(f"{origin}: nested too deep for a model's file") from None
    except DoubledNameError as error:
        twice = repr(error.name[:_SHOWN])
        raise ModelError(f"{origin}: not valid JSON: the key {twice} occurs twice") from None
    except ValueError as error:  # also a number of more digits than Python reads
        raise ModelError(f"{origin}: not valid JSON: {_short(error)}") from None
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else "a single value"
        raise ModelError(f"{origin}: holds {kind}; a JSON object of names and values belongs here")
    return data


def _refused_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _short(error: ValueError) -> str:
    """What is wrong, in a few words."""
    if "integer string conversion" in str(error):
        return "a number has too many digits"
    return str(error)

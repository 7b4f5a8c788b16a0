"""Lists as people type them on a command line: `2-12`, `2,4,8`."""

from __future__ import annotations

from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.numerals import is_digits
from planner.base.units import parse_count, parse_whole, texts_of

_MOST_VALUES = 1000


def whole_list(
    text: object,
    what: str,
    least: int,
    most: int,
    example: str = "2-12 or 4,8",
    *,
    values: int = _MOST_VALUES,
) -> tuple[int, ...]:
    """Whole numbers such as `2-12` or `2,4,8`, ascending, each once.

    Args:
        text: As typed; several texts if a flag was given several times.
        what: The field, for messages.
        least, most: What is allowed.
        example: How to write it, for messages.
        values: The most values.

    Raises:
        InputError: One is no whole number or out of bounds, or there are none or too many.
    """
    found: set[int] = set()
    for piece in texts_of(text):
        low, high = _ends(piece, what, (least, most), example)
        found |= set(range(low, min(high, low + values) + 1))
        if len(found) > values:
            raise InputError(f"{what}: more than {values:,} values; give fewer")
    return tuple(sorted(found))


def _ends(piece: str, what: str, allowed: tuple[int, int], example: str) -> tuple[int, int]:
    """Both ends of `2-12`, or twice `4`."""
    least, most = allowed
    if not piece:
        raise InputError(f"{what}: the list is empty or has an empty entry; write it like 2-12")
    low, dash, high = piece.partition("-")
    if not low:
        raise InputError(f"{what}: {shown(piece)}: must be at least {least:,}")
    if not all(_is_count(end) for end in ((low, high) if dash else (low,))):
        raise InputError(f"{what}: {shown(piece)} is no number or range; write it like {example}")
    ends = [parse_whole(end, what) for end in ((low, high) if dash else (low,))]
    for end in ends:
        if not least <= end <= most:
            rule = f"at least {least:,}" if end < least else f"at most {most:,}"
            raise InputError(f"{what}: {shown(end)}: must be {rule}")
    if ends[0] > ends[-1]:
        raise InputError(f"{what}: {shown(piece)} is empty; write it from {ends[1]} to {ends[0]}")
    return ends[0], ends[-1]


def _is_count(text: str) -> bool:
    """Whether it is written like a number, too large or not whole though it may be."""
    try:
        parse_count(text)
    except InputError:
        return is_digits(text.strip().replace("e", "").replace("+", ""))
    return True

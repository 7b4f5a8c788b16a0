"""Lists as people type them on a command line: `2-12`, `2,4,8`."""

from __future__ import annotations

from planner.errors import InputError
from planner.messages import shown
from planner.units import parse_whole, texts_of

_MOST_VALUES = 1000


def whole_list(text: object, what: str, least: int, most: int) -> tuple[int, ...]:
    """Whole numbers such as `2-12` or `2,4,8`, ascending, each once.

    Args:
        text: As typed.
        what: The field, for messages.
        least, most: What is allowed.

    Raises:
        InputError: One is no whole number or out of bounds, or there are none or too many.
    """
    found: set[int] = set()
    for piece in texts_of(text):
        low, high = _ends(piece, what, least, most)
        if high - low >= _MOST_VALUES or len(found) > _MOST_VALUES:
            raise InputError(f"{what}: more than {_MOST_VALUES:,} values; give fewer")
        found |= set(range(low, high + 1))
    return tuple(sorted(found))


def _ends(piece: str, what: str, least: int, most: int) -> tuple[int, int]:
    """Both ends of `2-12`, or twice `4`."""
    if not piece:
        raise InputError(f"{what}: the list is empty or has an empty entry; write it like 2-12")
    low, dash, high = piece.partition("-")
    if not low:
        raise InputError(f"{what}: {shown(piece)}: must be at least {least:,}")
    ends = [parse_whole(end, what) for end in ((low, high) if dash else (low,))]
    for end in ends:
        if not least <= end <= most:
            rule = f"at least {least:,}" if end < least else f"at most {most:,}"
            raise InputError(f"{what}: {shown(end)}: must be {rule}")
    if ends[0] > ends[-1]:
        raise InputError(f"{what}: {shown(piece)} is empty; write it from {ends[1]} to {ends[0]}")
    return ends[0], ends[-1]

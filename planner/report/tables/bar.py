"""Shares of a whole as one line of letters, with what each letter stands for."""

from __future__ import annotations

from collections.abc import Mapping

REST = "."
_MOST = 5
"""Parts that have a letter; what is left is the rest."""
_LEAST = 0.005
"""Share from which a part has one."""


def lettered(shares: Mapping[str, float]) -> list[tuple[str, str, float]]:
    """(letter, name, share) of the largest parts, the largest first, then of the rest.

    Args:
        shares: By name; they add up to one.
    """
    ranked = sorted(shares.items(), key=lambda part: -part[1])
    shown = [part for part in ranked if part[1] >= _LEAST][:_MOST]
    found: list[tuple[str, str, float]] = []
    for name, share in shown:
        taken = {letter for letter, _, _ in found}
        letters = [letter for letter in name if letter.isalpha() and letter not in taken]
        found.append(((letters or ["?"])[0], name, share))
    rest = 1 - sum(share for _, share in shown)
    return [*found, (REST, "rest", rest)] if len(shown) < len(ranked) and rest > 0 else found


def bar(parts: list[tuple[str, str, float]], columns: int) -> str:
    """`[ccccccccmmt.]`: as many letters as a part has columns, all together as many as there are.

    >>> bar([("c", "compute", 0.5), ("m", "memory", 0.3), (".", "rest", 0.2)], 12)
    '[cccccmmm..]'
    """
    room, drawn, so_far = columns - 2, "", 0.0
    for letter, _, share in parts:
        so_far += share
        drawn += letter * (min(round(so_far * room), room) - len(drawn))
    return f"[{drawn}]"

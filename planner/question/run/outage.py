"""What a run lost, as a question gives it: `3 nodes` or `24 chips`."""

from __future__ import annotations

import re
from typing import Any

from planner.base.fields import refusal
from planner.base.messages import shown

_FORM = re.compile(r"\s*0*([1-9][0-9]{0,8})\s*(node|chip)s?\s*", re.IGNORECASE)
DOWN = {"type": "string", "pattern": r"^\s*[0-9]+\s*([Nn][Oo][Dd][Ee]|[Cc][Hh][Ii][Pp])[Ss]?\s*$"}


def read_down(value: Any) -> Any:
    """The text in its plain form.

    >>> read_down("3nodes"), read_down(" 1 chip")
    ('3 nodes', '1 chip')
    """
    if not isinstance(value, str):
        return value if value is None else _refused(value)
    found = _FORM.fullmatch(value)
    if found is None:
        return _refused(value)
    count, unit = int(found[1]), found[2].lower()
    return f"{count} {unit}{'s' * (count > 1)}"


def lost_of(down: str, node_chips: int) -> tuple[int, int]:
    """Nodes that are hit, and chips that are lost.

    Args:
        down: What `read_down` has made.
        node_chips: Chips of a node.
    """
    number, unit = down.split()
    count = int(number)
    if unit.startswith("node"):
        return count, count * node_chips
    return -(-count // node_chips), count


def _refused(value: Any) -> Any:
    raise refusal(f"{shown(value)} is not a number of nodes or chips, e.g. 3 nodes or 24 chips")

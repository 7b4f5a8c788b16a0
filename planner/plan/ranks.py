"""Rank layouts: which part of which mesh axis every digit of a rank number belongs to.

An order of the axes gives each axis one place. A layout may cut an axis into parts:

    (("fsdp", 16), ("fsdp", 16), ("tp", 4), ("fsdp", 4))

says, innermost first, that 16 neighbours share fsdp, 16 rows of them too, and that four times tp
inside four more of fsdp come outermost. On a torus of 16 x 16 x 16 chips, whose ranks walk the
first physical axis first, these are the axes x, y and z. Plan files write a part as `fsdp 16`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from planner.base.errors import InputError
from planner.base.numerals import is_digits

Layout = tuple[tuple[str, int], ...]

_PART = re.compile(r"([a-z]+) ([1-9][0-9]{0,9})")


def part_pattern(axes: Sequence[str]) -> str:
    """The regular expression of one part of a layout, for JSON Schemas."""
    return f"^({'|'.join(axes)}) [1-9][0-9]{{0,9}}$"


def as_words(layout: Layout) -> list[str]:
    """`["fsdp 16", "tp 4"]`: the parts as plan files write them."""
    return [f"{axis} {size}" for axis, size in layout]


def as_layout(words: Sequence[str]) -> Layout | None:
    """The layout that some words write; None where they are no parts of axes.

    >>> as_layout(["fsdp 16", "tp 4"]), as_layout(["fsdp", "tp"])
    ((('fsdp', 16), ('tp', 4)), None)
    """
    found = [_PART.fullmatch(word) for word in words]
    if not found or not all(found):
        return None
    return tuple((part[1], int(part[2])) for part in found if part)


def axes_of(layout: Layout) -> list[str]:
    """The axes in the order of their parts above 1; parts side by side are one.

    >>> axes_of((("tp", 2), ("tp", 4), ("dp", 2))), axes_of((("dp", 2), ("tp", 4), ("dp", 2)))
    (['tp', 'dp'], ['dp', 'tp', 'dp'])
    """
    axes = [axis for axis, size in layout if size > 1]
    return [axis for at, axis in enumerate(axes) if at == 0 or axis != axes[at - 1]]


def regrouped(words: Sequence[str]) -> list[str]:
    """Words that were separated by blanks, with every size at its axis again.

    >>> regrouped(["fsdp", "16", "tp", "4"]), regrouped(["tp", "dp"])
    (['fsdp 16', 'tp 4'], ['tp', 'dp'])
    """
    whole: list[str] = []
    for word in words:
        if whole and is_digits(word) and not is_digits(whole[-1][-1:]):
            whole[-1] += f" {word}"
        else:
            whole.append(word)
    return whole


def check_layout(layout: Layout, mesh: Mapping[str, int]) -> None:
    """Refuses a layout that contradicts its mesh.

    Args:
        layout: Parts, innermost first.
        mesh: Size of every axis that ranks can be laid out along.

    Raises:
        InputError: An axis is unknown, a size is not positive, or the parts of an axis do not
            multiply to its size; one line per mistake.
    """
    lines = [
        f"placement: {axis!r} is not one of {', '.join(mesh)}"
        for axis in dict.fromkeys(axis for axis, _ in layout)
        if axis not in mesh
    ]
    lines += [
        f"placement: {axis} {size} is not a part; sizes are at least 1"
        for axis, size in layout
        if size < 1
    ]
    lines += [] if lines else _contradictions(layout, mesh)
    if lines:
        raise InputError("\n".join(lines))


def _contradictions(layout: Layout, mesh: Mapping[str, int]) -> Iterator[str]:
    """A line for every axis whose parts do not multiply to its size."""
    for axis, size in mesh.items():
        parts = [part for name, part in layout if name == axis]
        whole = math.prod(parts)
        if whole == size:
            continue
        *others, _ = parts or [1]
        rest, odd = divmod(size, math.prod(others))
        listed = " x ".join(map(str, parts)) if parts else "no part"
        product = f"{listed} = {whole}" if len(parts) > 1 else listed
        nearest = f"add {axis} {size}" if not parts else f"end with {axis} {rest}"
        hint = "" if odd or not rest else f"; {nearest}"
        yield f"placement: {axis} has {product}, but the mesh has {axis} {size}{hint}"


def moved(layout: Layout, mesh: Mapping[str, int]) -> Layout:
    """A layout of another mesh on as many ranks: what an axis loses, others get in its place.

    >>> moved((("fsdp", 16), ("tp", 4)), {"tp": 8, "fsdp": 8})
    (('fsdp', 8), ('tp', 2), ('tp', 4))
    """
    had = {axis: math.prod(size for name, size in layout if name == axis) for axis in mesh}
    lost = {axis: had[axis] // math.gcd(had[axis], size) for axis, size in mesh.items()}
    wanted = {axis: size // math.gcd(had[axis], size) for axis, size in mesh.items()}
    parts: list[tuple[str, int]] = []
    for axis, size in layout:
        freed = math.gcd(size, lost[axis])
        lost[axis] //= freed
        parts.append((axis, size // freed))
        for other, missing in wanted.items():
            part = math.gcd(freed, missing)
            freed, wanted[other] = freed // part, missing // part
            parts.append((other, part))
    return tuple((axis, size) for axis, size in parts if size > 1)

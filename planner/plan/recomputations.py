"""What the backward pass computes again: nothing, what the framework selects, modules, or all.

A recomputation is a word: `none`, `selective`, `full`, or the modules of a layer that run again,
`layernorm+moe_act`. Tables of plans keep its place in `RECOMPUTATIONS`. `selective` is what a
framework drops where it is told no modules, so core attention alone, which is that of the one
framework that can be told modules, is no word of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from planner.base.arrays import BoolArray, IntArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.vocabulary import ANY, MODULES, RECOMPUTES

NO_RECOMPUTE, SELECTIVE, FULL = range(3)
_CORE = ("core_attn",)
_SETS = tuple(
    some
    for size in range(1, len(MODULES) + 1)
    for some in combinations(MODULES, size)
    if some != _CORE
)
RECOMPUTATIONS = (*RECOMPUTES, *map("+".join, _SETS))
"""Every recomputation; sets of modules after those inside them."""
_BITS = np.array([0, 0, 0, *(sum(1 << MODULES.index(name) for name in some) for some in _SETS)])
ALL_CODES = frozenset(range(len(RECOMPUTATIONS)))


def modules_of(word: str) -> tuple[str, ...]:
    """The modules that a recomputation names; none for `none`, `selective` and `full`."""
    return () if word in RECOMPUTES else tuple(word.split("+"))


def modules_words(names: Iterable[str]) -> str:
    """The recomputation of some modules; none at all is `none`, core attention `selective`."""
    wanted = {*names}
    some = tuple(name for name in MODULES if name in wanted)
    return "selective" if some == _CORE else "+".join(some) or "none"


def recomputation(text: str, beside: tuple[str, ...] = ()) -> str:
    """A recomputation as it is kept, its modules in order and once.

    Args:
        text: As typed.
        beside: What else may be typed there, for what is said of a mistake.

    Raises:
        InputError: It is none.
    """
    if text in RECOMPUTATIONS:
        return text
    names = [name.strip() for name in text.split("+")]
    if len(names) < 2 or not {*names} <= {*MODULES}:
        name = next((name for name in names if name not in MODULES), text)
        if name == _CORE[0]:
            raise InputError(f"recompute: {name} alone is selective")
        if name in (*RECOMPUTES, *beside):
            raise InputError(
                f"recompute: {name} goes with nothing else; modules that go together: "
                f"{', '.join(MODULES)}"
            )
        raise InputError(
            f"recompute: {not_one_of(name, (*RECOMPUTES, *beside, *MODULES))} "
            "(several go as mlp+moe_act)"
        )
    return modules_words(names)


def recomputation_codes(text: str) -> frozenset[int]:
    """The codes of a recomputation, or of all where any is asked for.

    Raises:
        InputError: It is none.
    """
    if text == ANY:
        return ALL_CODES
    return frozenset({RECOMPUTATIONS.index(recomputation(text, (ANY,)))})


def has_modules(codes: IntArray) -> BoolArray:
    """Whether each recomputation names modules."""
    return np.asarray(_BITS[codes] > 0)


def names_module(codes: IntArray, name: str) -> BoolArray:
    """Whether each recomputation names a module."""
    return np.asarray(_BITS[codes] >> MODULES.index(name) & 1 > 0)


def contains(more: int, less: int) -> bool:
    """Whether a recomputation does all that another one does.

    Nothing is in each, each in the whole layer. What a framework selects without modules is core
    attention where it takes modules, and so in the sets that name it.
    """
    if less == NO_RECOMPUTE or more in (less, FULL):
        return True
    if more in (NO_RECOMPUTE, SELECTIVE) or less == FULL:
        return False
    inner = 1 << MODULES.index(_CORE[0]) if less == SELECTIVE else int(_BITS[less])
    return int(_BITS[more]) & inner == inner


def inner_first(codes: Iterable[int]) -> list[int]:
    """Codes in an order in which each comes after all that it contains."""
    return sorted({*codes}, key=lambda code: (code == FULL, code))

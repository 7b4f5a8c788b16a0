"""Flags of Megatron-LM in groups, and the scripts that print them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from frozen_records import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag with its values, none for a switch."""

    name: str
    values: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As one types it in a shell."""
        return " ".join((self.name, *map(shlex.quote, self.values)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Flags that belong together.

    Attributes:
        name: Name of the shell array that holds them.
        flags: The flags.
        comments: Lines above them.
    """

    name: str
    flags: tuple[Flag, ...]
    comments: tuple[str, ...] = ()


def flag(name: str, *values: object) -> Flag:
    """`--name` with its values.

    >>> flag("--num-layers", 40).text, flag("--bf16").text
    ('--num-layers 40', '--bf16')
    """
    return Flag(name, tuple(map(str, values)))


def switches(**wanted: bool) -> list[Flag]:
    """The flags without values whose condition holds.

    >>> [one.text for one in switches(swiglu=True, bf16=False)]
    ['--swiglu']
    """
    return [flag(f"--{name.replace('_', '-')}") for name, on in wanted.items() if on]


def argument_text(groups: Sequence[Group]) -> str:
    """All flags, one on a line; `shlex.split` makes arguments of it."""
    return "".join(f"{one.text}\n" for group in groups for one in group.flags)


def array_text(group: Group) -> str:
    """A group as a bash array with its comments."""
    lines = [f"# {comment}" for comment in group.comments]
    lines += [f"{group.name}=(", *(f"    {one.text}" for one in group.flags), ")"]
    return "\n".join(lines)

"""Commands that take each option once, unless it is meant to be repeated."""

from __future__ import annotations

from collections import Counter
from typing import Any

from typer.core import TyperCommand

from planner.errors import InputError


class Once(TyperCommand):
    """A command that refuses a second value of an option, which would replace the first one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses as usual, `--help` included, then counts how often each option was given."""
        given = list(args)
        rest = super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(args=given)
        times = Counter(option.name for option in order if _has_one_value(option))
        if lines := [_line(str(name), count) for name, count in times.items() if count > 1]:
            raise InputError("\n".join(lines))
        return rest


def _has_one_value(option: Any) -> bool:
    """Whether it matters how often an option is given: not for lists, nor for mere switches."""
    switch = getattr(option, "is_flag", False) and not option.secondary_opts
    return not (switch or getattr(option, "multiple", False))


def _line(name: str, count: int) -> str:
    often = "twice" if count == 2 else f"{count} times"
    return f"{name.replace('_', '-')}: is given {often}; give one value"

"""Commands that take each option once, unless it is meant to be repeated."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.core import TyperCommand

from planner.base.errors import InputError


class Once(TyperCommand):
    """A command that refuses a second value of an option, and a file without a name.

    The second value would replace the first one; an empty path would mean the current folder.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Shows help as usual, with names of frameworks in their places."""
        self._fill()
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Completes names of options as usual, with the same words of help."""
        self._fill()
        return super().shell_complete(ctx, incomplete)

    def _fill(self) -> None:
        """Puts names that only registries know into help."""
        from planner.question.asked.named import filled  # noqa: PLC0415  (only for --help)

        self.help = filled(self.help or "", self.name or "")
        parameters: list[Any] = [*self.params]
        for parameter in parameters:
            parameter.help = filled(parameter.help or "")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses as usual, `--help` included, then looks at what was given."""
        given = list(args)
        rest = super().parse_args(ctx, args)
        values, lines = values_of(self, ctx, given)
        lines += [
            f"{name.replace('_', '-')}: the name of the file is empty"
            for name in _parameters(self.callback, Path)
            if "" in (value if isinstance(value := values.get(name), list) else [value])
        ]
        if lines:
            raise InputError("\n".join(lines))
        return rest


def values_of(command: Any, ctx: Any, args: list[str]) -> tuple[Mapping[str, Any], list[str]]:
    """The values of options as they are given, and a line for each that has several."""
    values, _, order = command.make_parser(ctx).parse_args(args=list(args))
    times = Counter(option.name for option in order if _has_one_value(option))
    return values, [_line(str(name), count) for name, count in times.items() if count > 1]


@functools.cache
def _parameters(command: Any, kind: type) -> tuple[str, ...]:
    """The parameters of a command that are of a type, such as paths of files."""
    hints = get_type_hints(inspect.unwrap(command))
    return tuple(name for name, hint in hints.items() if _is_of(hint, kind))


def _is_of(hint: Any, kind: type) -> bool:
    """Whether a type is, or is made of, another: `Path | None`, `list[Path]`."""
    return hint is kind or any(_is_of(part, kind) for part in get_args(hint))


def _has_one_value(option: Any) -> bool:
    """Whether it matters how often an option is given: not for lists, nor for mere switches."""
    switch = getattr(option, "is_flag", False) and not option.secondary_opts
    return not (switch or getattr(option, "multiple", False))


def _line(name: str, count: int) -> str:
    often = "twice" if count == 2 else f"{count} times"
    return f"{name.replace('_', '-')}: is given {often}; give one value"

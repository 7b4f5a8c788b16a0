"""Options of every command: they stand anywhere, and click wants them before the command."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import takewhile

from planner.base.errors import InputError
from planner.base.messages import shown
from strict_yaml.limits import VARIABLE

_WITH_VALUE = ("--log-level", "--largest-file")
_WITHOUT = ("--log-json",)
_ALL = 1e18


def moved_first(arguments: Sequence[str]) -> list[str]:
    """The words of a command line with the options of every command before the command.

    >>> moved_first(["solve", "--chips", "8", "--log-level", "info"])
    ['--log-level=info', 'solve', '--chips', '8']
    """
    first: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word in _WITH_VALUE:
            first.append(f"{word}={next(words, '')}")
        elif word in _WITHOUT or word.startswith(tuple(f"{name}=" for name in _WITH_VALUE)):
            first.append(word)
        else:
            rest.append(word)
    return [*first, *rest]


def asks_for_json(arguments: Sequence[str]) -> bool:
    """Whether `--log-json` is among the options of a command line.

    >>> asks_for_json(["solve", "--log-json"]), asks_for_json(["check", "--", "--log-json"])
    (True, False)
    """
    return any(word in _WITHOUT for word in takewhile("--".__ne__, moved_first(arguments)))


def allowed(size: str, name: str = "largest-file") -> Callable[[], None]:
    """Has every reader allow files of a size, in the processes that this one starts too.

    Args:
        size: As typed, or as the variable says it.
        name: Of the option or the variable, for messages.

    Returns:
        What ends it.

    Raises:
        InputError: It is no size.
    """
    from planner.base.units import parse_bytes  # noqa: PLC0415  (a millisecond; only where asked for)

    most = parse_bytes(size, name)
    if not 1 <= most < _ALL:
        raise InputError(f"{name}: {shown(size)} is not from 1 byte to 1 EB")
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(int(most))

    def end() -> None:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before

    return end

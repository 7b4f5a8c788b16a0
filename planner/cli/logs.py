"""`--log-level` and `--log-json`: what the program does, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.cli.json_lines import JsonLines, json_line

if TYPE_CHECKING:
    from logging import Formatter, LogRecord

LEVELS = ("debug", "info", "warning", "error")


def logged(level: str | None, *, as_json: bool) -> Callable[[], None]:
    """Has everything said on standard error that is at least so important.

    Args:
        level: One of `LEVELS`; None: info.
        as_json: One JSON object per line, not text.

    Returns:
        What ends it.

    Raises:
        InputError: There is no such level.
    """
    import logging  # noqa: PLC0415  (a tenth of a short command; only where it is asked for)

    if level is not None and level.lower() not in LEVELS:
        raise InputError(f"log-level: {not_one_of(level, LEVELS)}")
    said = sys.stderr
    handler = logging.StreamHandler(said.stream if isinstance(said, JsonLines) else said)
    handler.setFormatter(_formatter(as_json=as_json))
    ours = logging.getLogger("planner")
    before = ours.level, ours.propagate
    ours.addHandler(handler)
    ours.setLevel((level or "info").upper())
    ours.propagate = False
    for name, one in logging.root.manager.loggerDict.items():
        if name.startswith("planner.") and isinstance(one, logging.Logger):
            one.disabled = False  # a library that sets up its own logging disables all others

    def end() -> None:
        ours.removeHandler(handler)
        ours.setLevel(before[0])
        ours.propagate = before[1]

    return end


def _formatter(*, as_json: bool) -> Formatter:
    import logging  # noqa: PLC0415  (see above)
    import time  # noqa: PLC0415

    from planner.base.log import FIELDS  # noqa: PLC0415
    from planner.base.messages import printable  # noqa: PLC0415

    class Text(logging.Formatter):
        """`12:00:00 info planner.answers.api: solve model=llama2-13b`, whatever a value holds."""

        def format(self, record: LogRecord) -> str:
            clock = time.strftime("%H:%M:%S", time.localtime(record.created))
            level = record.levelname.lower()
            return f"{clock} {level} {record.name}: {printable(record.getMessage())}"

    class Json(logging.Formatter):
        """One object, see `json_line`."""

        def format(self, record: LogRecord) -> str:
            fields = getattr(record, FIELDS, {"event": record.getMessage()})
            return json_line(record.created, record.levelname.lower(), record.name, fields)

    return Json() if as_json else Text()

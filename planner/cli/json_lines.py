"""`--log-json`: whatever is said on standard error is one JSON object per line."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

_LOGGER = "planner.cli"
_ERROR = "error: "
_INTERRUPTED = "interrupted"


def json_line(second: float, level: str, logger: str, fields: Mapping[str, Any]) -> str:
    """One object: when (UTC), how important, who, what, and its fields."""
    clock = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
    said = {"time": f"{clock}.{int(second % 1 * 1000):03d}Z", "level": level, "logger": logger}
    return json.dumps({**said, **fields}, default=str)


class JsonLines(io.TextIOBase):
    """Standard error whose lines become objects, whoever writes them.

    It is no terminal, so that nothing draws a bar.

    Attributes:
        stream: Standard error as it is, for who writes objects.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._begun = ""

    def write(self, text: str) -> int:
        """Writes the lines that are whole."""
        *lines, self._begun = f"{self._begun}{text}".split("\n")
        for line in lines:
            self._say(line)
        return len(text)

    def flush(self) -> None:
        """Has what is whole written."""
        self.stream.flush()

    def end(self) -> None:
        """Writes a line that was not ended."""
        if self._begun:
            self.write("\n")
        self.flush()

    def fileno(self) -> int:
        """That of standard error."""
        return self.stream.fileno()

    def _say(self, line: str) -> None:
        if not line.strip():
            return
        level, event = "info", "said"
        if line.startswith(_ERROR):
            level = event = "error"
        elif line == _INTERRUPTED or line.startswith(f"{_INTERRUPTED}: "):
            level, event = "warning", _INTERRUPTED
        fields = {"event": event, "message": line.removeprefix(_ERROR)}
        self.stream.write(f"{json_line(time.time(), level, _LOGGER, fields)}\n")


@contextmanager
def errors_as_asked(arguments: Sequence[str]) -> Iterator[None]:
    """Inside of it standard error takes lines of JSON, where the words of a command ask for it."""
    from planner.cli.leading import asks_for_json  # noqa: PLC0415  (other rooms; Ctrl-C may be early)

    if sys.stderr is None or not asks_for_json(arguments):
        yield
        return
    before = sys.stderr
    ours = JsonLines(before)
    sys.stderr = ours
    try:
        yield
    finally:
        try:
            ours.end()
        finally:
            sys.stderr = before

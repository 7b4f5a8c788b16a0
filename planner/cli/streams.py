"""Standard output and error, whose failures to write are told from those of files and pipes."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import Any

_STREAMS = {"stdout": "standard output", "stderr": "standard error"}


class StreamError(OSError):
    """A standard stream cannot be written to.

    Attributes:
        stream: `standard output`.
        left: Whether its reader has gone, as in `planner ... | head`: it has seen enough.
    """

    def __init__(self, stream: str, error: OSError) -> None:
        super().__init__(error.errno, error.strerror)
        self.stream = stream
        self.left = error.errno == errno.EPIPE


class _Raw(io.FileIO):
    """The file of a stream."""

    def __init__(self, descriptor: int, stream: str) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._stream = stream

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise StreamError(self._stream, error) from error


def keep_output() -> None:
    """Takes standard output for what we print alone.

    What a library of C writes there goes nowhere, at any moment and in any thread: HiGHS says a
    line when it mends a solution of integers, which would stand in front of the JSON.
    """
    with contextlib.suppress(OSError, AttributeError, ValueError):  # none, or no file
        if sys.stdout.fileno() != 1:
            return
        ours, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        sys.stdout = open(  # noqa: SIM115  (as long as the program, also under another object)
            ours, "w", buffering=1 if os.isatty(ours) else -1, encoding=sys.stdout.encoding,
            errors=sys.stdout.errors, closefd=False,
        )  # fmt: skip


def prepare_streams() -> None:
    """Makes both ready: closed ones (`>&-`) lead nowhere, others raise `StreamError`.

    A terminal without a character gets "?".
    """
    for name, words in _STREAMS.items():
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif type(stream) is io.TextIOWrapper and type(_file_of(stream)) is io.FileIO:
            setattr(sys, name, _watched(stream, words))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _file_of(stream: io.TextIOWrapper) -> object:
    return getattr(stream.buffer, "raw", stream.buffer)


def _watched(stream: io.TextIOWrapper, words: str) -> io.TextIOWrapper:
    """The same stream by way of `_Raw`, with a buffer where it had one."""
    raw: Any = _Raw(stream.fileno(), words)
    buffered = isinstance(stream.buffer, io.BufferedWriter)
    return io.TextIOWrapper(
        io.BufferedWriter(raw) if buffered else raw, stream.encoding, "replace",
        line_buffering=stream.line_buffering, write_through=not buffered,
    )  # fmt: skip


def drop_output(name: str) -> None:
    """Lets what is left in the buffer of a stream go nowhere when the program ends.

    Args:
        name: As of `StreamError.stream`.
    """
    stream = next(getattr(sys, one) for one, words in _STREAMS.items() if words == name)
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)

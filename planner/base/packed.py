"""Files that may be packed by gzip: unpacked within limits, as few bytes can stand for many."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from planner.base.errors import InputError
from planner.base.files import LARGEST_FILE_BYTES, read_bytes
from planner.base.messages import one_line
from strict_yaml.limits import HINT, larger_than, largest, raised


def read_unpacked(path: Path, usual: int = LARGEST_FILE_BYTES) -> bytes:
    """As `read_bytes`, unpacked where it begins as gzip files do; both sizes are limited.

    Raises:
        InputError: The file is missing, too large, or no whole gzip file.
    """
    return unpacked(read_bytes(path, usual), one_line(str(path)), usual)


def unpacked(content: bytes, name: str, usual: int, times: int | None = None) -> bytes:
    """The content of a file, unpacked where it begins as gzip files do.

    Args:
        content: Of the file.
        name: What messages call it.
        usual: Bytes above which it is not unpacked, unless more are allowed.
        times: How many times as large it may become, unless larger files are allowed.

    Raises:
        InputError: It becomes too large, or is no whole gzip file.
    """
    if content[:2] != b"\x1f\x8b":
        return content
    limit = largest(usual)
    most = limit if times is None or raised() else min(limit, times * len(content))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            text = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: not a whole gzip file") from error
    if len(text) > limit:
        raise InputError(f"{name}: unpacked {larger_than(limit)}")
    if len(text) > most:
        raise InputError(f"{name}: unpacked more than {times} times as large as packed; {HINT}")
    return text

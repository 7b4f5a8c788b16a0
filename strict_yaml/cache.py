"""Shipped files by way of a cache: ruamel.yaml takes some 5 ms for a kilobyte, JSON nearly nothing.

A file of the cache is named for the shipped file and holds fingerprints of that file's content and
of its own, then the data as JSON. Whatever does not fit both is read anew and replaced. So there
is one file for each shipped one, of a version of the package or a changed copy alike. It lies in
the folder where the system keeps what can be made again; where nothing can be written there, each
process reads YAML.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from hashlib import sha256
from pathlib import Path
from typing import Any

_RULES = "1"  # to be raised when `load` reads a file as other data than before
_FOLDER = "planner"


def load_shipped(content: bytes, name: str, **limits: int) -> Any:
    """The data of a shipped file, as `load` gives it.

    Args:
        content: Of the file.
        name: Of the file, as a relative path.
        limits: As those of `load`.

    Raises:
        YamlError: As `load` raises it.
    """
    place = _place(name)
    key = sha256(f"{_RULES} {name} {limits}\n".encode() + content).hexdigest()
    kept = _kept(place, key)
    if kept is not None:
        return kept
    from strict_yaml.reading import load  # noqa: PLC0415  (imports ruamel.yaml, seldom needed)

    data = load(content, **limits)
    _keep(place, key, data)
    return data


def _place(name: str) -> Path | None:
    """Where the cache of a file lies; None where the system names no folder."""
    from platformdirs import user_cache_path  # noqa: PLC0415  (not while names load: 4 ms)

    folder = user_cache_path(_FOLDER, appauthor=False)
    return folder / f"{name}.json" if folder.is_absolute() else None


def _heading(key: str, body: bytes) -> bytes:
    return f"{key} {sha256(body).hexdigest()}".encode()


def _kept(place: Path | None, key: str) -> Any:
    """The data in a file of the cache; None where there is none, or it is of other content."""
    if place is None:
        return None
    try:
        heading, _, body = place.read_bytes().partition(b"\n")
    except OSError:
        return None
    return json.loads(body) if heading == _heading(key, body) else None


def _keep(place: Path | None, key: str, data: Any) -> None:
    """Writes a file of the cache, whole or not at all; where that is not possible, none."""
    if place is None or data is None:
        return
    body = json.dumps(data, separators=(",", ":")).encode()
    temporary = place.with_name(f".{secrets.token_hex(8)}")
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(_heading(key, body) + b"\n" + body)
            os.replace(temporary, place)
        finally:
            temporary.unlink(missing_ok=True)

"""From a shipped or a user's YAML file to plain Python data, refusing what is not clean YAML."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hardware_db.errors import HardwareError, nearest
from strict_yaml import contents, inputs
from strict_yaml.errors import YamlError
from strict_yaml.limits import largest
from strict_yaml.text import YamlText

DATA = Path(__file__).with_name("data")
"""Of the records that the package ships."""
MAX_BYTES = 1024 * 1024
_LIMITS = {"max_bytes": MAX_BYTES, "max_depth": 30}


@functools.cache
def record_names(folder: str) -> tuple[str, ...]:
    """Names of the records that the package ships in a folder of its data, sorted."""
    entries = DATA.joinpath(folder).iterdir()
    names = (entry.name for entry in entries)
    return tuple(sorted(name[:-5] for name in names if name.endswith(".yaml")))


def record_bytes(folder: str, name: str) -> bytes:
    """The file of a record, as it is shipped."""
    return DATA.joinpath(folder, f"{name}.yaml").read_bytes()


def read_record(folder: str, name: object) -> dict[str, Any]:
    """The content of a shipped record.

    Raises:
        HardwareError: There is no record of that name; names the nearest.
    """
    names = record_names(folder)
    if not isinstance(name, str) or name not in names:
        what = {"chips": "chip", "clusters": "cluster"}.get(folder, folder)
        hint = nearest(name, names) or f"; known: {', '.join(names)}"
        raise HardwareError(f"{what}: unknown name {name!r}{hint}")
    from strict_yaml.cache import load_shipped  # noqa: PLC0415  (kept out of `import hardware_db`)

    content, kept_as = record_bytes(folder, name), f"hardware_db/{folder}/{name}"
    return _mapping(lambda: load_shipped(content, kept_as, **_LIMITS), f"{folder}/{name}.yaml")


def read_file(path: Path) -> tuple[dict[str, Any], YamlText]:
    """The content of a user's file, and its text.

    Raises:
        HardwareError: The file cannot be read or is not a YAML mapping.
    """
    inputs.read(path)
    try:
        with path.open("rb") as stream:
            content = stream.read(largest(MAX_BYTES) + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        contents.holds(path, None)
        reason = getattr(error, "strerror", None) or str(error)
        raise HardwareError(f"{path}: cannot be read ({reason})") from error
    contents.holds(path, content)
    return parse(content, str(path)), YamlText(str(path), content)


def parse(content: bytes, origin: str) -> dict[str, Any]:
    """The mapping in the bytes of a YAML file.

    Raises:
        HardwareError: Too large, not UTF-8, not YAML, a duplicate key, an alias, or no mapping.
    """
    from strict_yaml.reading import load  # noqa: PLC0415  (kept out of `import hardware_db`)

    return _mapping(lambda: load(content, **_LIMITS), origin)


def _mapping(load: Callable[[], Any], origin: str) -> dict[str, Any]:
    try:
        data = load()
    except YamlError as error:
        raise HardwareError([f"{origin}: {mistake}" for mistake in error.mistakes]) from None
    if not isinstance(data, dict):
        what = "empty" if data is None else "not a mapping of field names to values"
        raise HardwareError(f"{origin}: the file is {what}")
    return data

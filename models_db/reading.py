"""From the bytes of a YAML file to plain Python data, refusing what is not clean YAML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from models_db.errors import ModelError, mistakes_message
from strict_yaml import contents, inputs
from strict_yaml.errors import YamlError
from strict_yaml.limits import largest
from strict_yaml.text import YamlText

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
_LIMITS = {"max_bytes": MAX_BYTES, "max_depth": MAX_DEPTH}


def read_bytes(path: Path, usual: int) -> bytes:
    """Content of a user's file; of a very large one the beginning, which is too large as well.

    Args:
        path: the file.
        usual: bytes above which it is too large, unless more are allowed.

    Raises:
        ModelError: it cannot be read.
    """
    inputs.read(path)
    try:
        with path.open("rb") as file:
            content = file.read(largest(usual) + 1)
    except (OSError, ValueError) as error:
        contents.holds(path, None)
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"{path}: cannot read the file: {reason}") from None
    contents.holds(path, content)
    return content


def parse_yaml(content: bytes, origin: str) -> dict[str, Any]:
    """Parse the content of a model file.

    Args:
        content: the bytes of the file.
        origin: the file, as messages name it.

    Returns:
        The mapping at the top of the file; keys are strings.

    Raises:
        ModelError: too large, empty, not UTF-8, not YAML, duplicate keys, not a mapping.
    """
    from strict_yaml.reading import load  # noqa: PLC0415  (kept out of `import models_db`)

    return _read(lambda: load(content, **_LIMITS), origin)


def parse_shipped(content: bytes, name: str) -> dict[str, Any]:
    """Parse the content of a shipped model file, or find it in the cache.

    Raises:
        ModelError: see `parse_yaml`.
    """
    from strict_yaml.cache import load_shipped  # noqa: PLC0415  (kept out of `import models_db`)

    kept_as = f"models_db/{name}"
    return _read(lambda: load_shipped(content, kept_as, **_LIMITS), f"{name}.yaml")


def _read(load: Callable[[], Any], origin: str) -> dict[str, Any]:
    """What a reader gives, its mistakes as those of a model."""
    try:
        return _mapping(load(), origin)
    except YamlError as error:
        lines = [("", str(mistake)) for mistake in error.mistakes]
        raise ModelError(mistakes_message(YamlText(origin), lines)) from None


def _mapping(data: Any, origin: str) -> dict[str, Any]:
    """Refuse everything but a mapping."""
    if data is None:
        raise ModelError(f"{origin}: empty; a model file is a YAML mapping that starts with name:")
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else "a single value"
        raise ModelError(f"{origin}: a model file is a YAML mapping of names, not {kind}")
    return data

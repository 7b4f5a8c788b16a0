"""Writing files whole or not at all, and reading YAML with clear messages."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from planner.errors import InputError

LARGEST_FILE_BYTES = 10 * 2**20


def write_atomically(path: Path, text: str) -> None:
    """Writes a text file by way of a temporary one, so that it is never half there.

    Raises:
        InputError: The folder does not exist or cannot be written to.
    """
    folder = path.parent
    try:
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({_reason(error)})") from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written ({_reason(error)})") from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        InputError: The file is missing, too large, not text, not YAML, or not a mapping.
    """
    import yaml  # noqa: PLC0415  (not needed when all comes from flags)

    try:
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise InputError(f"{path}: larger than {LARGEST_FILE_BYTES // 2**20} MiB")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({_reason(error)})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from error
    try:
        data = yaml.load(text, Loader=_unique_key_loader())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{path}:{where} not valid YAML: {problem}") from error
    if not isinstance(data, dict):
        raise InputError(f"{path}: must be a mapping of fields to values")
    if odd := [key for key in data if not isinstance(key, str)]:
        raise InputError(f"{path}: field names must be text, not {odd[0]!r}")
    return data


def _unique_key_loader() -> Any:
    """PyYAML's safe loader, refusing keys that appear twice."""
    import yaml  # noqa: PLC0415

    class Loader(yaml.SafeLoader):
        """Safe loader with unique keys."""

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"field {key.value!r} appears twice", key.start_mark
                )
            seen.add(key.value)
        return loader.construct_mapping(node, deep=True)

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return Loader
